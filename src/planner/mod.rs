//! The planners for this game, from the one-step rule that most people write first to the search
//! that solves the whole game before the first move.
//!
//! A [`Planner`] is called once per tick with the predicted or observed state. It may keep data
//! between ticks, and checks by itself whether the game developed as it expected. [`by_name`] finds
//! a planner by its name, or builds one from an expression of the search grammar. `search` and
//! `game` do not depend on each other; this module connects them.

mod cautious;
mod follower;
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
mod survival_planner;

pub use cautious::{CautiousPlanner, CautiousRules, ObservedThreat, Sighting};
pub use grammar::ExpressionPlanner;
pub use ladder::{DEFAULT_NAME, NAMES, PlannerError, by_name};
pub use lookahead::LookaheadPlanner;
pub use paranoid::ParanoidPlanner;
pub use problem::SurvivalProblem;
pub use random::RandomPlanner;
pub use safest::SafestPlanner;
pub use show_off::ShowOffPlanner;
pub use signature::signature;
pub use survival::{Outcome, Solution, SurvivalOptions, SurvivalSearch};
pub use survival_planner::SurvivalPlanner;

use crate::game::{LAST_TICK, Move, State, World};
pub use crate::search::Budget;
use crate::search::BudgetMeter;

/// How a move was chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// From an existing plan.
    Plan,
    /// By a search in this tick.
    Search,
    /// By a rule without search, because there was no time for one or it found nothing.
    Fallback,
}

impl Source {
    /// The name that reports use.
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
    /// How it was chosen.
    pub source: Source,
    /// The last tick that the planner's line survives to, if it searched: 2001 for the whole game.
    pub planned_tick: Option<u16>,
    /// States stepped in this call, whatever the planner: the unit of [`Budget::ticks`].
    pub simulated_ticks: u64,
}

impl Choice {
    /// Whether the planner has a line that survives to the end of the game.
    pub fn survives(&self) -> bool {
        self.planned_tick.is_some_and(|tick| tick > LAST_TICK)
    }
}

/// A planner decides on the moves, tick by tick.
pub trait Planner: Send {
    /// Decides on a move in a state that is not over, within the limit. Returns a move even if the
    /// limit is already used up.
    fn decide(&mut self, world: &World, state: &State, budget: Budget) -> Choice;
}

/// Ticks that planners without a natural end simulate if the budget has no limit that they know.
const TICKS_DEFAULT: u64 = 100_000;

/// A meter for a planner without a natural end: counts against `budget`, or against a default if it
/// has no limit.
fn meter_with_default(budget: Budget) -> BudgetMeter {
    let has_limit = budget.ticks.is_some() || budget.has_time();
    BudgetMeter::new(if has_limit { budget } else { budget.and(Budget::ticks(TICKS_DEFAULT)) })
}
