//! External planners, such as Python callables, named `MODULE:NAME`. Without a host, no text names
//! an external planner, so a request cannot reach one.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use super::Planner;

/// Finds external planners by name.
pub trait PlannerHost: Sync {
    /// Finds the planner with this name, which contains a colon.
    ///
    /// # Errors
    /// If no planner has this name. The error is one sentence with the cause and the expected form.
    fn find(&self, name: &str) -> Result<Arc<dyn PlannerFactory>, PlannerFailure>;
}

/// Creates an external planner for each game.
pub trait PlannerFactory: fmt::Debug + Send + Sync {
    /// Creates the planner. If this fails, its [`failure`](Planner::failure) returns the error.
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

/// The error of an external planner: it was not found, or it failed to choose a move.
#[derive(Clone, Debug)]
pub struct PlannerFailure {
    text: String,
    source: Option<Arc<dyn Error + Send + Sync>>,
}

impl PlannerFailure {
    /// Creates a failure with this text.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), source: None }
    }

    /// Adds the underlying error.
    #[must_use]
    pub fn caused_by(self, source: impl Error + Send + Sync + 'static) -> Self {
        Self { source: Some(Arc::new(source)), ..self }
    }
}

impl PartialEq for PlannerFailure {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for PlannerFailure {}

impl fmt::Display for PlannerFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Error for PlannerFailure {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_deref().map(|source| source as &(dyn Error + 'static))
    }
}

pub(super) fn is_external_name(text: &str) -> bool {
    text.split_once(':').is_some_and(|(module, name)| {
        // A number after the colon is the parameter of a built-in planner.
        !name.is_empty()
            && !name.starts_with(|c: char| c.is_ascii_digit())
            && !module.is_empty()
            && module.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '.')
    })
}
