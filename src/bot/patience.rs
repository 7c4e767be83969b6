//! Plans with slack. A plan that merely survives may pass a threat with nothing to spare, and then one command that comes late is the end.
//!
//! A world of patience `n` also catches a player who could not stand still through the threats' next `n` moves (see [`World::with_patience`]), so who
//! survives it can lose `n` commands in a row at any time. Nearly every map can be survived with a patience of 4. Here each
//! patience has a planner of its own; the plan of the most patient one that survives is followed, and the others wait.

use std::time::Instant;

use crate::game::{State, World};
use crate::planner::{Budget, Choice, Planner};

/// The most moves of threats that plans try to be able to wait.
pub(super) const PATIENCE_MOVES_MAX: u8 = 4;
/// States that the first attempt at the most patience may expand: several times what most maps take.
const FIRST_EXPANSIONS_MAX: u64 = 40_000;
/// Ticks from a failed attempt at more patience to the next; each failure makes it four times longer.
const RETRY_TICKS: u16 = 16;

/// Planners by patience: the first plans by the rules themselves.
pub(super) struct Patience {
    levels: Vec<Level>,
    /// The level whose plan is followed.
    at: usize,
    /// The tick from which on more patience is tried again, and how long the wait for it was.
    retry_tick: u16,
    retry_ticks: u16,
    has_begun: bool,
}

struct Level {
    world: World,
    planner: Box<dyn Planner>,
}

impl Patience {
    /// Planners for a world, one a patience from 0 to `moves_max`, each made by `planner`.
    pub fn new(world: &World, moves_max: u8, planner: impl Fn() -> Box<dyn Planner>) -> Self {
        let level = |moves| Level { world: world.clone().with_patience(moves), planner: planner() };
        Self {
            levels: (0..=moves_max).map(level).collect(),
            at: 0,
            retry_tick: 0,
            retry_ticks: RETRY_TICKS,
            has_begun: false,
        }
    }

    /// Decides by the most patient plan that survives; if none does, by the rules alone.
    pub fn decide(&mut self, state: &State, limit: Budget) -> Choice {
        let is_first = !std::mem::replace(&mut self.has_begun, true);
        if is_first && let Some(choice) = self.begin(state, limit) {
            return choice;
        }
        let choice = self.descend(state, limit);
        if choice.survives() && state.tick() >= self.retry_tick { self.climb(state, choice, limit) } else { choice }
    }

    /// Asks the most patient level, which saves asking the others where it survives; only a little, because it may not.
    fn begin(&mut self, state: &State, limit: Budget) -> Option<Choice> {
        let top = self.levels.len() - 1;
        let level = &mut self.levels[top];
        let share = halved(limit).and(Budget::ticks(FIRST_EXPANSIONS_MAX));
        let choice = level.planner.decide(&level.world, state, share);
        choice.survives().then(|| {
            self.at = top;
            choice
        })
    }

    /// Asks the level that is followed, and less patient ones as long as there is no survival.
    fn descend(&mut self, state: &State, limit: Budget) -> Choice {
        loop {
            let level = &mut self.levels[self.at];
            let share = if self.at > 0 { halved(limit) } else { limit };
            let choice = level.planner.decide(&level.world, state, share);
            if choice.survives() || self.at == 0 {
                return choice;
            }
            self.at -= 1;
            self.retry_tick = state.tick() + RETRY_TICKS;
            self.retry_ticks = RETRY_TICKS;
        }
    }

    /// Asks more patient levels as long as they survive, for at most half of the time that is left.
    fn climb(&mut self, state: &State, mut choice: Choice, limit: Budget) -> Choice {
        let limit = halved(limit);
        while self.at + 1 < self.levels.len() {
            let level = &mut self.levels[self.at + 1];
            let tried = level.planner.decide(&level.world, state, limit);
            if !tried.survives() {
                self.retry_tick = state.tick().saturating_add(self.retry_ticks);
                self.retry_ticks = self.retry_ticks.saturating_mul(4);
                break;
            }
            self.at += 1;
            choice = Choice { simulated_ticks: choice.simulated_ticks + tried.simulated_ticks, ..tried };
        }
        choice
    }
}

/// The limit with half of the time that is left.
fn halved(limit: Budget) -> Budget {
    let now = limit.time_source.now();
    let halfway = |deadline: Instant| now + deadline.saturating_duration_since(now) / 2;
    Budget { deadline: limit.deadline.map(halfway), ..limit }
}
