//! The filters: conditions that each step of a plan must meet, beyond the player's survival.

use std::cell::RefCell;

use crate::game::{Move, Personality, State, World};
use crate::inference::PeriodsAndClocks;
use crate::search::{Budget, BudgetMeter};
use crate::solve::Filter;

use super::lines::longest_survival;

/// Requires *slack*: that the player would survive this many threat moves if it stood still, so
/// that a few commands may be late or lost.
pub(super) struct Slack {
    pub moves: u8,
}

impl Filter for Slack {
    fn admits(&self, world: &World, _: &State, _: Move, after: &State) -> bool {
        let mut ahead = after.clone();
        world.wait(&mut ahead, self.moves);
        !ahead.is_caught()
    }
}

/// Requires that the player stays out of the threats' *reach*: after the player's move and before
/// the threats' moves, no threat may be on the player's tile or next to it.
pub(super) struct Guard {
    pub when: GuardedTicks,
    pub until_tick: u16,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum GuardedTicks {
    /// The ticks in which threats move, for threats that may move in any direction.
    OnMoves,
    /// All ticks, for threats that may move in any direction at any time.
    Always,
}

impl Filter for Guard {
    fn admits(&self, world: &World, before: &State, player_move: Move, _: &State) -> bool {
        let is_due = self.when == GuardedTicks::Always || world.threats_move(before);
        !is_due || before.tick() >= self.until_tick || !world.is_within_reach(before, player_move)
    }
}

const EARLY_SURVIVAL_TICKS: u16 = 40;
const READY_STATES_MAX: u64 = 400;
/// Maximum period of the next phase. [`Readiness`] needs one world for each tick of the period.
const PERIOD_MAX: u8 = 8;

/// Requires that states before `until_tick` are *ready*. A state is ready if a search finds a line
/// from it that survives for a while even if the threats' next quicker phase begins in the state's
/// tick. In a ready state, the bot can react to an early phase. Once the budget is used up, no
/// state counts as ready.
pub(super) struct Readiness {
    until_tick: u16,
    period_ticks: u8,
    /// Worlds in which the threats have the period of the next quicker phase from their first move on:
    /// one for each possible tick of this move, from 1 to the period.
    worlds: Vec<World>,
    meter: RefCell<BudgetMeter>,
}

impl Readiness {
    /// `None` if no quicker phase begins after `tick`, or if its period exceeds [`PERIOD_MAX`].
    pub fn new(world: &World, tick: u16, until_tick: u16, budget: Budget) -> Option<Self> {
        let clock = world.clock();
        let (phase, current) = (clock.personality_at(tick), clock.period_ticks_at(tick));
        let later = Personality::ALL.into_iter().filter(|&later| later as u8 > phase as u8);
        let quicker = later.map(|later| world.rules().period_ticks.of(later)).find(|&later| later < current);
        let period_ticks = quicker.filter(|&period_ticks| period_ticks <= PERIOD_MAX)?;
        let early = |first_tick: u8| {
            let clock = u16::from(first_tick) - 1;
            let periods = [first_tick, period_ticks, period_ticks, period_ticks, period_ticks];
            let rules = PeriodsAndClocks { periods, clocks: [clock; 4] }.apply(world.rules());
            world.rebuilt(world.layout(), &rules).ok()
        };
        let worlds = (1..=period_ticks).map(early).collect::<Option<Vec<World>>>()?;
        Some(Self { until_tick, period_ticks, worlds, meter: RefCell::new(BudgetMeter::new(budget)) })
    }

    /// The world in which the threats move as if the quicker phase began in the tick of `state`.
    fn world_from(&self, world: &World, state: &State) -> &World {
        let waiting = (self.period_ticks - 1).saturating_sub(world.ticks_since_move(state));
        let first_move = state.tick() + u16::from(waiting);
        &self.worlds[usize::from((first_move - 1) % u16::from(self.period_ticks))]
    }

    pub fn ticks(&self) -> u64 {
        self.meter.borrow().ticks()
    }

    fn is_ready(&self, world: &World, state: &State) -> bool {
        let until = state.tick().saturating_add(EARLY_SURVIVAL_TICKS);
        let early = self.world_from(world, state);
        longest_survival(early, state, until, (READY_STATES_MAX, 0), &mut self.meter.borrow_mut()) >= until
    }
}

impl Filter for Readiness {
    fn admits(&self, world: &World, _: &State, _: Move, after: &State) -> bool {
        after.is_over() || after.tick() >= self.until_tick || self.is_ready(world, after)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::game::{LAST_TICK, Layout, PeriodTicks, PhaseClocks, Rules};
    use crate::solve::{Outcome, SolverOptions, SurvivalSearch};

    #[test]
    fn threats_of_the_early_world_move_as_if_the_next_phase_began_now() {
        let layout = Layout::parse("P..B").expect("a drawing");
        let world = World::new(&layout, &Rules::BLITZ_2025).expect("a map");
        let threats: Vec<_> = world.threats(&world.start()).collect();
        const NEVER: u16 = 3000;
        let expected = Rules::BLITZ_2025.phase_clocks;
        for tick in 2..=901 {
            let clock = tick - 2;
            let phase_clocks = match world.clock().personality_at(tick) {
                Personality::Lazy => PhaseClocks { tease: clock, awake: NEVER, hungry: NEVER, insane: NEVER },
                Personality::Tease => PhaseClocks { awake: clock, hungry: NEVER, insane: NEVER, ..expected },
                Personality::Awake => PhaseClocks { hungry: clock, insane: NEVER, ..expected },
                Personality::Hungry => PhaseClocks { insane: clock, ..expected },
                Personality::Insane => expected,
            };
            let begun = World::new(&layout, &Rules { phase_clocks, ..Rules::BLITZ_2025 }).expect("a map");
            let early = Readiness::new(&world, tick, 0, Budget::UNLIMITED).expect("a quicker phase");
            let state = world.state_at(tick, layout.player, &threats).expect("a state");
            for ahead in tick..tick + 20 {
                let [found, right] =
                    [early.world_from(&world, &state), &begun].map(|world| world.clock().threats_move(ahead));
                assert_eq!(found, right, "phase begun in tick {tick}, threats in tick {ahead}");
            }
        }
        assert!(Readiness::new(&world, 902, 0, Budget::UNLIMITED).is_none(), "no phase follows the last");
    }

    #[test]
    fn corner_is_not_ready_for_quick_threats_and_a_ring_is() {
        let rules =
            Rules { period_ticks: PeriodTicks { lazy: 5, tease: 1, awake: 1, hungry: 1, insane: 1 }, ..Rules::NO_JUMP };
        for (drawing, is_ready) in [("P....S", false), ("P....\n.###.\n.###S\n.###.\n.....", true)] {
            let world = World::new(&Layout::parse(drawing).expect("a drawing"), &rules).expect("a map");
            let readiness = Readiness::new(&world, 1, 100, Budget::UNLIMITED).expect("a quicker phase");
            assert_eq!(readiness.is_ready(&world, &world.start()), is_ready, "{drawing}");
        }
    }

    #[test]
    fn plan_with_slack_survives_waiting_at_any_time() {
        const SLACK_MOVES: u8 = 2;
        let layout = Layout::parse("P......\n.##.##.\n..S....\n.##.##.\n......B").expect("a drawing");
        let world = World::new(&layout, &Rules::NO_JUMP).expect("a map");
        let mut search = SurvivalSearch::new(SolverOptions::default());
        let (start, budget) = (world.start(), Budget::ticks(1_000_000));
        let solution = search.solve_filtered(&world, &start, LAST_TICK + 1, budget, &[&Slack { moves: SLACK_MOVES }]);
        assert_eq!(solution.outcome, Outcome::Survives);
        for state in world.states_along(&start, &solution.moves) {
            let mut waiting = state.clone();
            let mut moves = 0;
            while !waiting.is_over() && moves < SLACK_MOVES {
                moves += u8::from(world.threats_move(&waiting));
                world.step_unchecked(&mut waiting, Move::Stay);
            }
            assert!(!waiting.is_caught(), "waiting in tick {}", state.tick());
        }
    }
}
