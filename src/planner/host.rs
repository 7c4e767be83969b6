//! External planners, such as Python callables. Their names contain a colon, as in `MODULE:NAME`.
//! Without a host, such a name is an error, so a name from an untrusted source cannot run external
//! code.

use std::fmt;
use std::sync::Arc;

use super::{Planner, PlannerError};

/// Finds external planners by name.
pub trait PlannerHost: Sync {
    /// Returns the factory of the planner named `name`, which contains a colon.
    ///
    /// # Errors
    /// If the planner cannot be found or loaded. The message should be one sentence.
    fn find(&self, name: &str) -> Result<Arc<dyn PlannerFactory>, PlannerError>;
}

/// Creates a new instance of an external planner for each game.
pub trait PlannerFactory: fmt::Debug + Send + Sync {
    /// Creates the planner. If this fails, every [`Planner::decide`] of the result returns the error.
    fn build(self: Arc<Self>, seed: u64) -> Box<dyn Planner>;
}

#[derive(Clone, Debug)]
pub(super) struct ExternalPlanner {
    pub name: String,
    pub factory: Arc<dyn PlannerFactory>,
}

impl PartialEq for ExternalPlanner {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name && Arc::ptr_eq(&self.factory, &other.factory)
    }
}

pub(super) fn is_external_name(text: &str) -> bool {
    text.split_once(':').is_some_and(|(module, name)| {
        // A digit after the colon starts the parameter of a built-in planner.
        !name.is_empty()
            && !name.starts_with(|c: char| c.is_ascii_digit())
            && !module.is_empty()
            && module.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '.')
    })
}
