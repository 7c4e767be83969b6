//! Finds the periods and phases that explain when the threats move. In each phase, the threats have
//! one personality. A hypothesis is the current phase, its period, and the ticks since the last
//! move. For each hypothesis, [`ClockFilter`] keeps the history nearest to the expected rules.
//! [`clock_sets`](super::clock_sets::clock_sets) finds all allowed values that explain a game.

use std::collections::BTreeMap;

use crate::game::{PeriodTicks, Personality, PhaseClocks, Rules};

/// The cost of a changed parameter is this number plus the size of the change.
const CHANGE_COST: u32 = 10_000;

/// The guessed start of an overdue phase is a multiple of this many ticks after its expected start.
const OVERDUE_TICKS: u16 = 200;

/// The evidence about the clock from one tick.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockEvidence {
    /// The played tick.
    pub tick: u16,
    /// True if the threats moved in this tick; `None` if that is unknown.
    pub moved: Option<bool>,
    /// The threats' personality in this tick; `None` if no message reports it.
    pub personality: Option<Personality>,
}

#[derive(Clone, Copy, Debug)]
struct History {
    cost: u32,
    periods: [u8; 5],
    /// For each phase after lazy, the clock value (tick - 1) after which the phase began or is
    /// expected to begin.
    clocks: [u16; 4],
}

/// The cheapest history for each number of ticks since the last move.
type Histories = BTreeMap<u8, History>;

const PERIODS: usize = u8::MAX as usize;

/// Whether a filter uses the personalities that messages report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reports {
    Trusted,
    Ignored,
}

/// A filter that keeps histories of periods and phases that explain when the threats moved in a
/// game. It prefers histories that are near to the expected rules.
#[derive(Clone, Debug)]
pub struct ClockFilter {
    pub(super) expected: Rules,
    pub(super) reports: Reports,
    /// The histories of each phase and period, at index `phase * PERIODS + period - 1`.
    alive: Vec<Histories>,
    clock: u16,
}

impl ClockFilter {
    /// Creates a filter for the start of a game, when the first phase can have any period.
    pub fn new(expected: &Rules, reports: Reports) -> Self {
        let mut filter = Self { expected: *expected, reports, alive: vec![Histories::new(); 5 * PERIODS], clock: 0 };
        let PeriodsAndClocks { periods, clocks } = PeriodsAndClocks::from_rules(expected);
        for (period, row) in (1..=u8::MAX).zip(&mut filter.alive) {
            let mut history = History { cost: 0, periods, clocks };
            history.periods[0] = period;
            history.cost = cost(period.into(), periods[0].into());
            row.insert(0, history);
        }
        filter
    }

    /// True if at least one history is left.
    pub fn explains(&self) -> bool {
        self.alive.iter().any(|row| !row.is_empty())
    }

    /// Advances the histories by one tick, and drops those that contradict the evidence. Disregards
    /// the reported personality if the filter ignores reports.
    pub fn update(&mut self, evidence: &ClockEvidence) {
        self.clock = evidence.tick - 1;
        let expected = PeriodsAndClocks::from_rules(&self.expected);
        let personality = evidence.personality.filter(|_| self.reports == Reports::Trusted);
        // The histories in which the next phase begins in this tick.
        let mut entries = Histories::new();
        for phase in 0..5 {
            let rows = &mut self.alive[phase * PERIODS..][..PERIODS];
            let before: Vec<Histories> = rows.iter_mut().map(std::mem::take).collect();
            if personality.is_none_or(|personality| personality as usize == phase) {
                for ((period, row), before) in (1..=u8::MAX).zip(rows).zip(&before) {
                    let entered = entries.iter().map(|(&since, history)| {
                        let mut history = *history;
                        history.periods[phase] = period;
                        history.cost += cost(period.into(), expected.periods[phase].into());
                        (since, history)
                    });
                    for (since, history) in before.iter().map(|(&since, history)| (since, *history)).chain(entered) {
                        if let Some(since) = after_tick(period, since, evidence.moved) {
                            keep_cheaper(row, since, history);
                        }
                    }
                }
            }
            if phase == 4 || self.clock == 0 {
                break;
            }
            before.iter().flatten().for_each(|(&since, history)| keep_cheaper(&mut entries, since, *history));
            for history in entries.values_mut() {
                history.clocks[phase] = self.clock - 1;
                history.cost += cost(self.clock - 1, expected.clocks[phase]);
            }
        }
    }

    /// Returns the expected rules with the periods and phase starts of the cheapest history, or
    /// `None` if no history is left. A phase that has not begun keeps its expected start, unless
    /// it or an earlier phase is overdue.
    pub fn best(&self) -> Option<Rules> {
        let expected = PeriodsAndClocks::from_rules(&self.expected);
        let total = |&(phase, history): &(usize, &History)| {
            let late = (phase..4).filter(|&index| expected.clocks[index] < self.clock).count();
            (history.cost + late as u32 * CHANGE_COST, phase)
        };
        let rows = self.alive.iter().enumerate();
        let histories = rows.flat_map(|(row, all)| all.values().map(move |history| (row / PERIODS, history)));
        let (phase, history) = histories.min_by_key(total)?;
        let mut found = PeriodsAndClocks { periods: history.periods, clocks: history.clocks };
        let mut least = self.clock;
        for index in phase..4 {
            least = self.next_guess(expected.clocks[index]).max(least);
            found.clocks[index] = least;
        }
        Some(found.apply(&self.expected))
    }

    /// Guesses the start of a future phase. The guess rarely changes, so that plans stay valid.
    fn next_guess(&self, expected: u16) -> u16 {
        match self.clock.checked_sub(expected) {
            None | Some(0) => expected,
            Some(overdue) => expected.saturating_add(overdue.div_ceil(OVERDUE_TICKS) * OVERDUE_TICKS),
        }
    }
}

fn keep_cheaper(histories: &mut Histories, since: u8, history: History) {
    let known = histories.entry(since).or_insert(history);
    if history.cost < known.cost {
        *known = history;
    }
}

/// Returns the ticks since the last move after one more tick, or `None` if `moved` contradicts the
/// period.
pub(super) fn after_tick(period: u8, since: u8, moved: Option<bool>) -> Option<u8> {
    let since = since.saturating_add(1);
    let moves = since >= period;
    moved.is_none_or(|moved| moved == moves).then_some(if moves { 0 } else { since })
}

#[derive(Clone, Copy, Debug)]
pub struct PeriodsAndClocks {
    pub periods: [u8; 5],
    pub clocks: [u16; 4],
}

impl PeriodsAndClocks {
    pub fn from_rules(rules: &Rules) -> Self {
        let clocks = rules.phase_clocks;
        Self {
            periods: Personality::ALL.map(|personality| rules.period_ticks.of(personality)),
            clocks: [clocks.tease, clocks.awake, clocks.hungry, clocks.insane],
        }
    }

    pub fn apply(&self, rules: &Rules) -> Rules {
        let ([lazy, tease, awake, hungry, insane], clocks) = (self.periods, self.clocks);
        Rules {
            period_ticks: PeriodTicks { lazy, tease, awake, hungry, insane },
            phase_clocks: PhaseClocks { tease: clocks[0], awake: clocks[1], hungry: clocks[2], insane: clocks[3] },
            ..*rules
        }
    }
}

fn cost(found: u16, expected: u16) -> u32 {
    if found == expected { 0 } else { CHANGE_COST + u32::from(found.abs_diff(expected)) }
}

#[cfg(test)]
mod tests {
    use super::super::clock_sets::{ClockSets, clock_sets};
    use super::*;
    use crate::game::{Clock, PeriodTicks, PhaseClocks};

    fn evidence(rules: &Rules, ticks: u16, reports: bool) -> Vec<ClockEvidence> {
        let clock = Clock::new(rules);
        let tick = |tick| ClockEvidence {
            tick,
            moved: Some(clock.threats_move(tick)),
            personality: reports.then(|| clock.personality_at(tick)),
        };
        (1..=ticks).map(tick).collect()
    }

    #[test]
    fn clock_of_the_server_is_found_from_the_moves_alone() {
        let all = evidence(&Rules::BLITZ_2025, 1500, false);
        let sets = clock_sets(&all, Reports::Ignored, &ClockSets::any()).expect("an explanation");
        assert_eq!(
            sets.periods.clone().map(|periods| periods.into_iter().collect::<Vec<_>>()),
            [[5], [4], [3], [2], [1]]
        );
        for (clocks, expected) in sets.clocks.iter().zip([300, 500, 700, 900]) {
            assert!(clocks.contains(&expected) && clocks.len() <= 5, "{clocks:?}");
        }
        let sets = clock_sets(&evidence(&Rules::BLITZ_2025, 1500, true), Reports::Trusted, &ClockSets::any())
            .expect("an explanation");
        assert_eq!(sets.clocks.map(|clocks| clocks.into_iter().collect::<Vec<_>>()), [[300], [500], [700], [900]]);
    }

    #[test]
    fn guessed_start_of_an_overdue_phase_changes_rarely() {
        let rules =
            Rules { phase_clocks: PhaseClocks { insane: 1030, ..Rules::BLITZ_2025.phase_clocks }, ..Rules::BLITZ_2025 };
        let mut filter = ClockFilter::new(&Rules::BLITZ_2025, Reports::Trusted);
        let mut guesses = Vec::new();
        for tick in evidence(&rules, 1100, true) {
            filter.update(&tick);
            let best = filter.best().expect("an explanation");
            assert_eq!(best.validate(), Ok(()));
            guesses.push(best.phase_clocks.insane);
        }
        guesses.dedup();
        assert_eq!(guesses, [900, 1100, 1030]);
    }

    #[test]
    fn filter_finds_an_unexpected_clock_while_it_runs() {
        let rules = Rules {
            period_ticks: PeriodTicks { lazy: 3, ..Rules::BLITZ_2025.period_ticks },
            phase_clocks: PhaseClocks { tease: 40, awake: 90, ..Rules::BLITZ_2025.phase_clocks },
            ..Rules::BLITZ_2025
        };
        let clock = Clock::new(&rules);
        for reports in [false, true] {
            let trust = if reports { Reports::Trusted } else { Reports::Ignored };
            let mut filter = ClockFilter::new(&Rules::BLITZ_2025, trust);
            for tick in evidence(&rules, 200, reports) {
                filter.update(&tick);
                assert!(filter.explains(), "tick {}", tick.tick);
            }
            let best = Clock::new(&filter.best().expect("an explanation"));
            for tick in 1..=200 {
                assert_eq!(best.threats_move(tick), clock.threats_move(tick), "tick {tick}");
            }
            if reports {
                assert_eq!(filter.best(), Some(rules));
            }
        }
    }
}
