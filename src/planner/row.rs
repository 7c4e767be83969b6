//! The rows of the table of planners.

use super::choice::Planner;
use super::survival::SurvivalOptions;

pub(super) struct PlannerEntry {
    pub name: &'static str,
    /// One line of help, which contains the expression if there is one.
    pub about: &'static str,
    /// The number after the name and a colon, if the planner takes one.
    pub parameter: Option<Parameter>,
    pub make: Make,
}

pub(super) struct Parameter {
    pub default: u16,
    pub max: u16,
}

/// The constructor, whose argument is the parameter or 0.
pub(super) enum Make {
    Planner(fn(u16, SurvivalOptions) -> Box<dyn Planner>),
    Expression(fn(u16) -> String),
}
