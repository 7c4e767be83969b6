//! A row of the table of planners.

use super::choice::Planner;
use super::survival::SurvivalOptions;

/// A planner's row.
pub(super) struct PlannerEntry {
    pub name: &'static str,
    /// One line of help. An expression's row shows the expression.
    pub about: &'static str,
    /// The number that may follow the name after a colon.
    pub parameter: Option<Parameter>,
    pub make: Make,
}

/// A whole number from 1 to `max`.
pub(super) struct Parameter {
    pub default: u16,
    pub max: u16,
}

/// How a planner is made, from its parameter (0 if it has none).
pub(super) enum Make {
    Planner(fn(u16, SurvivalOptions) -> Box<dyn Planner>),
    /// The text of an expression of the search grammar.
    Expression(fn(u16) -> String),
}
