use std::error::Error;
use std::fmt;
use std::sync::Arc;

use crate::game::{LAST_TICK, Move, State, World, named};
use crate::search::{Budget, BudgetMeter};

named! {
    /// How a move was found.
    #[non_exhaustive]
    pub enum Source, "source" {
        /// The move follows an existing plan.
        Plan = "plan",
        /// A search in this tick found the move, or a planner in Python returned the move.
        Search = "search",
        /// The planner does not search, its search found no move in time, or simple rules, which
        /// keep away from the threats, chose the move.
        Fallback = "fallback",
    }
}

/// A planner's answer for one tick.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The move to play.
    pub player_move: Move,
    /// How the move was found.
    pub source: Source,
    /// The tick that the planner expects the game to reach; `None` if the planner makes no
    /// forecast. Above 2000 if the planner expects the player to survive the game.
    pub planned_tick: Option<u16>,
    /// The number of simulated ticks in this call, which [`Budget::ticks`] limits.
    pub simulated_ticks: u64,
}

impl From<Move> for Choice {
    /// A move found by a search that simulates no ticks and makes no forecast. To set the other
    /// fields, write `Choice { planned_tick, ..player_move.into() }`.
    fn from(player_move: Move) -> Self {
        Self { player_move, source: Source::Search, planned_tick: None, simulated_ticks: 0 }
    }
}

impl Choice {
    /// Returns true if the planner expects the player to survive the game.
    pub fn survives(&self) -> bool {
        self.planned_tick.is_some_and(|tick| tick > LAST_TICK)
    }
}

/// Chooses a move in each tick.
pub trait Planner: Send {
    /// Returns a move even if the budget is used up. The game must not be over in `state`. Only
    /// expressions of the search grammar observe limits on evaluations and passes; see
    /// [`PlannerSpec::check_budget`](super::PlannerSpec::check_budget).
    ///
    /// # Errors
    /// If the planner could not be created or chooses no move. Only external planners can fail.
    fn decide(&mut self, world: &World, state: &State, budget: Budget) -> Result<Choice, PlannerError>;
}

pub(super) const TICKS_DEFAULT: u64 = 100_000;

/// Returns a meter for the budget, limited to `TICKS_DEFAULT` if it has no limit on ticks or time.
pub(super) fn meter_with_default(budget: Budget) -> BudgetMeter {
    let has_limit = budget.ticks.is_some() || budget.has_time();
    BudgetMeter::new(if has_limit { budget } else { budget.and(Budget::ticks(TICKS_DEFAULT)) })
}

/// The error for an external planner that cannot be found, loaded or created, or that fails to
/// choose a move.
#[derive(Clone, Debug)]
pub struct PlannerError {
    text: String,
    source: Option<Arc<dyn Error + Send + Sync>>,
}

impl PlannerError {
    /// Creates an error with the message `text`.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), source: None }
    }

    /// Sets the underlying error, which [`Error::source`] returns.
    #[must_use]
    pub fn caused_by(self, source: impl Error + Send + Sync + 'static) -> Self {
        Self { source: Some(Arc::new(source)), ..self }
    }
}

impl PartialEq for PlannerError {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for PlannerError {}

impl fmt::Display for PlannerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Error for PlannerError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_deref().map(|source| source as &(dyn Error + 'static))
    }
}
