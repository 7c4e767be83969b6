//! What a planner is: it is given a state and a budget, and returns a choice.

use std::fmt;

use crate::game::{LAST_TICK, Move, State, World};
use crate::search::{Budget, BudgetMeter};

/// How a move was chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
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
    /// Decides on a move in a state that is not over, within the budget. Returns a move even if the
    /// budget is already used up. Evaluations and passes limit the search grammar only; a caller
    /// that sets them should first ask
    /// [`PlannerSpec::check_budget`](super::PlannerSpec::check_budget).
    fn decide(&mut self, world: &World, state: &State, budget: Budget) -> Choice;

    /// Why the planner could not choose; `None` if it could. Its last choice must not be played
    /// then. Only external planners can fail.
    fn failure(&self) -> Option<&str> {
        None
    }
}

/// Ticks that planners without a natural end simulate if the budget has no limit that they know.
pub(super) const TICKS_DEFAULT: u64 = 100_000;

/// A meter for a planner without a natural end: counts against `budget`, or against a default if it
/// has no limit.
pub(super) fn meter_with_default(budget: Budget) -> BudgetMeter {
    let has_limit = budget.ticks.is_some() || budget.has_time();
    BudgetMeter::new(if has_limit { budget } else { budget.and(Budget::ticks(TICKS_DEFAULT)) })
}
