//! External planners, such as Python callables. Their names contain a colon, as in `MODULE:NAME`.
//! Without a host, such a name is an error, so a name from an untrusted source cannot run external
//! code.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use super::Planner;

/// Finds external planners by name.
pub trait PlannerHost: Sync {
    /// Returns the factory of the planner named `name`, which contains a colon.
    ///
    /// # Errors
    /// If the planner cannot be found or loaded. The message should be one sentence.
    fn find(&self, name: &str) -> Result<Arc<dyn PlannerFactory>, PlannerFailure>;
}

/// Creates a new instance of an external planner for each game.
pub trait PlannerFactory: fmt::Debug + Send + Sync {
    /// Creates the planner. If this fails, [`Planner::failure`] of the result returns the error.
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

/// The error for an external planner that cannot be found, loaded or created, or that fails to
/// choose a move.
#[derive(Clone, Debug)]
pub struct PlannerFailure {
    text: String,
    source: Option<Arc<dyn Error + Send + Sync>>,
}

impl PlannerFailure {
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
        // A digit after the colon starts the parameter of a built-in planner.
        !name.is_empty()
            && !name.starts_with(|c: char| c.is_ascii_digit())
            && !module.is_empty()
            && module.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '.')
    })
}
