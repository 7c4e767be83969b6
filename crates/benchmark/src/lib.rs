//! The public benchmark for solvers of the game. Its instances are the same, byte for byte, on
//! every machine. Each [`Answer`] is checked: the literal model of the rules, `getaway_reference`,
//! replays the line of moves, and `getaway_verifier` repeats the proof. The crate prints nothing.

#[cfg(unix)]
mod external;
#[cfg(not(unix))]
mod external {
    use crate::{Benchmark, BenchmarkError, Instance, Limits};

    /// Always returns a failure, because a Unix shell is needed to limit processor time and memory.
    pub fn execute(
        _: &Benchmark,
        _: &Instance,
        _: &str,
        _: Limits,
        _: &dyn Fn() -> bool,
    ) -> Result<Result<String, String>, BenchmarkError> {
        Ok(Err("external solvers need a Unix system".to_owned()))
    }
}
mod instance;
mod record;
mod remote;
mod results;
mod run;
mod table;

use std::io;
use std::path::PathBuf;

use getaway::planner::PlannerSpecError;
use getaway_runs::{JournalError, WorkerError};
use thiserror::Error;

pub use instance::{Benchmark, Instance, InstanceWithMap, Limits, generate, write_instances};
pub use record::{Merge, Record};
pub use remote::{attempts, run_all};
pub use results::{RESULTS_FILE, Results, Settings};
pub use run::{Answer, Solver, run};
pub use table::{Row, cactus, rows};

#[derive(Debug, Error)]
pub enum BenchmarkError {
    #[error("{}: {source}", path.display())]
    File { path: PathBuf, source: io::Error },
    #[error("{}: {why}", path.display())]
    Content {
        path: PathBuf,
        /// The reason why the content is invalid.
        why: String,
    },
    #[error("{what} {name}: the benchmark has no such {what} (instances.jsonl lists all)")]
    Unknown {
        /// `instance` or `track`.
        what: &'static str,
        name: String,
    },
    /// The solver is `exec:` without a command.
    #[error("solver exec: expected a command after exec:")]
    NoCommand,
    #[error(transparent)]
    Planner(#[from] PlannerSpecError),
    /// Another process sent a description of a run, or the index of an instance, that this process
    /// cannot use.
    #[error("the benchmark: {0}")]
    Spec(String),
    #[error(transparent)]
    Workers(#[from] WorkerError),
    #[error("{0}")]
    Journal(#[from] JournalError),
}

pub(crate) fn failed(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> BenchmarkError {
    let path = path.into();
    |source| BenchmarkError::File { path, source }
}
