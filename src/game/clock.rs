//! The clock of all threats. The server has one clock per threat, but all show the same time.

use std::sync::Arc;

use super::{FIRST_TICK, Personality, Rules};

/// The length of the table of ticks: a power of two above the last tick.
const TABLE_TICKS: usize = 2048;

/// The schedule of the threats' moves. From tick 2048 on, which no game reaches, the threats keep
/// the period of tick 2047. Clones share their memory.
#[derive(Clone, Debug)]
pub struct Clock {
    rules: Rules,
    ticks: Arc<[ClockTick; TABLE_TICKS]>,
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ClockTick {
    moves_before: u16,
    /// The number of ticks since the threats' last move, at the end of this tick. Before the first
    /// move, the number of ticks since the start.
    ticks_since_move: u8,
    pub owls_look: bool,
}

impl ClockTick {
    #[inline(always)]
    pub const fn threats_move(self) -> bool {
        self.ticks_since_move == 0
    }
}

impl Clock {
    /// Computes the schedule under these rules.
    pub fn new(rules: &Rules) -> Self {
        let mut ticks = [ClockTick::default(); TABLE_TICKS];
        let (mut moves, mut ticks_since_move, mut minute_ticks) = (0, 0, 0);
        for tick in FIRST_TICK..TABLE_TICKS as u16 {
            let clock = tick - 1;
            let moves_before = moves;
            ticks_since_move += 1;
            if ticks_since_move >= rules.period_ticks.of(rules.phase_clocks.personality(clock)) {
                ticks_since_move = 0;
                moves += 1;
            }
            let owls_look = minute_ticks < rules.owl_window_ticks;
            minute_ticks = if minute_ticks + 1 < rules.owl_minute_ticks { minute_ticks + 1 } else { 0 };
            ticks[usize::from(tick)] = ClockTick { moves_before, ticks_since_move, owls_look };
        }
        Self { rules: *rules, ticks: Arc::new(ticks) }
    }

    /// The schedule under other rules.
    pub(super) fn changed(&self, rules: &Rules) -> Self {
        let key = |of: &Rules| (of.period_ticks, of.phase_clocks, of.owl_minute_ticks, of.owl_window_ticks);
        if key(rules) == key(&self.rules) { Self { rules: *rules, ..self.clone() } } else { Self::new(rules) }
    }

    #[inline(always)]
    pub(super) fn tick(&self, tick: u16) -> ClockTick {
        self.ticks[usize::from(tick) % TABLE_TICKS]
    }

    /// The personality of the threats in a tick.
    pub const fn personality_at(&self, tick: u16) -> Personality {
        self.rules.phase_clocks.personality(tick.saturating_sub(FIRST_TICK))
    }

    /// The period of the threats' moves in a tick, in ticks.
    pub const fn period_ticks_at(&self, tick: u16) -> u8 {
        self.rules.period_ticks.of(self.personality_at(tick))
    }

    /// True if the threats move in a tick.
    pub fn threats_move(&self, tick: u16) -> bool {
        tick >= FIRST_TICK && self.ticks_since_move(tick) == 0
    }

    /// True if `tick` is in the owls' window: if owls move in this tick, they look at the player.
    pub fn owls_look(&self, tick: u16) -> bool {
        tick >= FIRST_TICK && self.rules.owls_look_at(tick - FIRST_TICK)
    }

    /// The number of ticks since the threats' last move, at the end of a tick. Before the first
    /// move, the number of ticks since the start.
    pub fn ticks_since_move(&self, tick: u16) -> u8 {
        match self.since_table_move(tick) {
            Some((ticks, period_ticks)) => (ticks % period_ticks) as u8,
            None => self.ticks[usize::from(tick)].ticks_since_move,
        }
    }

    /// The number of ticks before `tick` in which the threats move.
    pub(crate) fn moves_before(&self, tick: u16) -> u16 {
        let last = self.ticks[TABLE_TICKS - 1];
        match self.since_table_move(tick.saturating_sub(1)) {
            Some((ticks, period_ticks)) => last.moves_before + u16::from(last.threats_move()) + ticks / period_ticks,
            None => self.ticks[usize::from(tick)].moves_before,
        }
    }

    /// The ticks from `tick` on in which the threats move.
    pub(crate) fn move_ticks(&self, tick: u16) -> impl Iterator<Item = u16> + '_ {
        (tick..=u16::MAX).filter(|&tick| self.threats_move(tick))
    }

    /// From the last tick of the table on: the number of ticks from the last move in the table to
    /// `tick`, and the period.
    fn since_table_move(&self, tick: u16) -> Option<(u16, u16)> {
        const LAST: u16 = TABLE_TICKS as u16 - 1;
        let past = tick.checked_sub(LAST)?;
        let since = u16::from(self.ticks[usize::from(LAST)].ticks_since_move);
        Some((since + past, u16::from(self.period_ticks_at(LAST))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::game::{PeriodTicks, PhaseClocks};

    /// Rules with a last period of 3, so that the table ends between two moves.
    const SLOW: Rules = Rules {
        period_ticks: PeriodTicks { insane: 3, ..Rules::BLITZ_2025.period_ticks },
        phase_clocks: PhaseClocks { tease: 7, awake: 7, hungry: 20, insane: 33 },
        owl_minute_ticks: 7,
        owl_window_ticks: 2,
        ..Rules::BLITZ_2025
    };

    #[test]
    fn clock_counts_like_the_server_even_beyond_its_table() {
        for rules in [Rules::BLITZ_2025, SLOW] {
            let clock = Clock::new(&rules);
            let (mut moves, mut ticks_since_move) = (0, 0);
            assert!(!clock.threats_move(0) && clock.moves_before(0) == 0 && clock.ticks_since_move(0) == 0);
            for tick in 1..9000 {
                assert_eq!(clock.moves_before(tick), moves, "tick {tick}");
                ticks_since_move += 1;
                let threats_move = ticks_since_move >= clock.period_ticks_at(tick);
                if threats_move {
                    (moves, ticks_since_move) = (moves + 1, 0);
                }
                assert_eq!(clock.threats_move(tick), threats_move, "tick {tick}");
                assert_eq!(clock.ticks_since_move(tick), ticks_since_move, "tick {tick}");
                assert_eq!(clock.owls_look(tick), (tick - 1) % rules.owl_minute_ticks < rules.owl_window_ticks);
            }
        }
    }

    #[test]
    fn table_entries_agree_with_the_public_functions() {
        for rules in [Rules::BLITZ_2025, SLOW] {
            let clock = Clock::new(&rules);
            for tick in 1..TABLE_TICKS as u16 {
                let entry = clock.tick(tick);
                assert_eq!(entry.threats_move(), clock.threats_move(tick), "tick {tick}");
                assert_eq!(entry.owls_look, clock.owls_look(tick), "tick {tick}");
            }
        }
    }

    #[test]
    fn move_ticks_start_at_the_tick_itself() {
        let clock = Clock::new(&Rules::BLITZ_2025);
        assert_eq!(clock.move_ticks(1).take(3).collect::<Vec<_>>(), [5, 10, 15]);
        assert_eq!(clock.move_ticks(10).take(2).collect::<Vec<_>>(), [10, 15]);
        assert_eq!(clock.move_ticks(2000).take(3).collect::<Vec<_>>(), [2000, 2001, 2002]);
    }

    #[test]
    fn personalities_change_at_the_servers_ticks() {
        let clock = Clock::new(&Rules::BLITZ_2025);
        let at = |ticks: [u16; 5]| ticks.map(|at| clock.personality_at(at));
        assert_eq!(at([1, 302, 502, 702, 902]), Personality::ALL);
        assert_eq!(at([301, 501, 701, 901, 2000]), Personality::ALL);
        assert_eq!([1, 302, 502, 702, 902].map(|at| clock.period_ticks_at(at)), [5, 4, 3, 2, 1]);
    }
}
