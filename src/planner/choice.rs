use std::fmt;

use super::host::PlannerFailure;
use crate::game::{LAST_TICK, Move, State, World};
use crate::search::{Budget, BudgetMeter};

/// How a move was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Source {
    /// From an existing plan.
    Plan,
    /// From a search in this tick.
    Search,
    /// From a rule without a search, because there was no time or no result.
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

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A planner's answer for one tick.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The move to play.
    pub player_move: Move,
    /// How the move was found.
    pub source: Source,
    /// The last tick of the planner's line, if it searched; 2001 if the line survives.
    pub planned_tick: Option<u16>,
    /// States stepped in this call, the unit of [`Budget::ticks`].
    pub simulated_ticks: u64,
}

impl Choice {
    /// Returns true if the planner's line survives the game.
    pub fn survives(&self) -> bool {
        self.planned_tick.is_some_and(|tick| tick > LAST_TICK)
    }
}

/// Decides on a move in each tick.
pub trait Planner: Send {
    /// Returns a move for a state that is not over, even if the budget is used up. Only expressions
    /// honour limits on evaluations and passes; see
    /// [`PlannerSpec::check_budget`](super::PlannerSpec::check_budget).
    fn decide(&mut self, world: &World, state: &State, budget: Budget) -> Choice;

    /// The error of the last choice, which must then not be played. Only external planners fail.
    fn failure(&self) -> Option<&PlannerFailure> {
        None
    }
}

pub(super) const TICKS_DEFAULT: u64 = 100_000;

/// For planners that search until the budget is used up. Default limits replace a missing limit.
pub(super) fn meter_with_default(budget: Budget) -> BudgetMeter {
    let has_limit = budget.ticks.is_some() || budget.has_time();
    BudgetMeter::new(if has_limit { budget } else { budget.and(Budget::ticks(TICKS_DEFAULT)) })
}
