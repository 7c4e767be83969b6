//! What plays this game: from the first rule of thumb that people try to the search that solves the whole game before the first move.
//!
//! A [`Planner`] is asked once a tick, with the state as it is predicted or observed. It keeps what it likes from tick to tick, and finds out by
//! itself, from the state, whether the game went on as it thought. [`by_name`] finds one by its name, or makes one of an expression of the search
//! grammar. `search` and `game` do not know each other; they meet here.

mod cautious;
mod course;
mod grammar;
mod ladder;
mod lookahead;
mod paranoid;
mod problem;
mod random;
mod safest;
mod show_off;
mod signature;
mod streets;
mod survival;
mod survivor;

pub use cautious::{Caution, Cautious, Pursuer, Sighting};
pub use grammar::Grammar;
pub use ladder::{DEFAULT_NAME, NAMES, PlannerError, by_name};
pub use lookahead::Lookahead;
pub use paranoid::Paranoid;
pub use problem::Chase;
pub use random::Random;
pub use safest::Safest;
pub use show_off::ShowOff;
pub use signature::signature;
pub use survival::{Outcome, Solution, Survival, SurvivalOptions};
pub use survivor::Survivor;

use crate::game::{LAST_TICK, Move, State, World};
pub use crate::search::Budget;
use crate::search::BudgetMeter;

/// Where a move came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// A plan that was ready.
    Plan,
    /// A search made in this tick.
    Search,
    /// A rule that needs no search, because there was no time for one or it found nothing.
    Fallback,
}

impl Source {
    /// The word that reports print.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Plan => "plan",
            Self::Search => "search",
            Self::Fallback => "fallback",
        }
    }
}

/// A planner's answer for one tick.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The move to play.
    pub player_move: Move,
    /// Where it came from.
    pub source: Source,
    /// The tick up to which the planner knows how to live, if it looked: 2001 when it knows the whole game.
    pub planned_tick: Option<u16>,
    /// States stepped in this call, whatever the planner: the unit of [`Budget::ticks`].
    pub simulated_ticks: u64,
}

impl Choice {
    /// Whether the planner knows how to live to the end of the game.
    pub fn survives(&self) -> bool {
        self.planned_tick.is_some_and(|tick| tick > LAST_TICK)
    }
}

/// Something that decides on moves, tick by tick.
pub trait Planner: Send {
    /// Decides on a move in a state that is not over, within the limit. A limit that has run out already still gets a move.
    fn decide(&mut self, world: &World, state: &State, budget: Budget) -> Choice;
}

/// Ticks that planners without a natural end simulate if the budget has no limit that they know.
const TICKS_DEFAULT: u64 = 100_000;

/// A meter for a planner without a natural end: counts against `budget`, or against a default if it has no limit.
fn meter_with_default(budget: Budget) -> BudgetMeter {
    let has_limit = budget.ticks.is_some() || budget.has_time();
    BudgetMeter::new(if has_limit { budget } else { budget.and(Budget::ticks(TICKS_DEFAULT)) })
}
