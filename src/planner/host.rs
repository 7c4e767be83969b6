//! External planners, named `MODULE:NAME`: a host that is registered at run time finds and builds
//! them. The Python package registers one for Python callables.

use std::fmt::Debug;
use std::sync::OnceLock;

use super::Planner;

/// Finds planners by name.
pub trait PlannerHost: Debug + Send + Sync {
    /// Checks that there is a planner with this name, which contains a colon.
    ///
    /// # Errors
    /// One sentence that says why there is none, and what was expected.
    fn check(&self, name: &str) -> Result<(), String>;

    /// Creates a planner whose name has been checked. If that fails now, the planner's
    /// [`failure`](Planner::failure) says so.
    fn build(&self, name: &str, seed: u64) -> Box<dyn Planner>;
}

static HOST: OnceLock<Box<dyn PlannerHost>> = OnceLock::new();

/// Registers the host of this process; returns whether it is the first.
pub fn set_planner_host(host: Box<dyn PlannerHost>) -> bool {
    HOST.set(host).is_ok()
}

/// The registered host.
pub(super) fn host() -> Option<&'static dyn PlannerHost> {
    HOST.get().map(AsRef::as_ref)
}

/// Whether a text has the form of a hosted planner's name.
pub(super) fn is_hosted_name(text: &str) -> bool {
    text.split_once(':').is_some_and(|(module, name)| {
        // A number is the parameter of a planner of this library.
        !name.is_empty()
            && !name.starts_with(|c: char| c.is_ascii_digit())
            && !module.is_empty()
            && module.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '.')
    })
}
