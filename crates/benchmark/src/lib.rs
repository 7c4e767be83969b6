//! The public benchmark of pursuit: its instances and records, and runs of solvers over a track.
//!
//! Guarantees: instances are the same, byte for byte, on every machine. Only checked answers enter
//! results and records: the literal model replays each line and repeats each proof. Functions
//! return data and print nothing.

#[cfg(unix)]
mod external;
#[cfg(not(unix))]
mod external {
    use crate::{Benchmark, BenchmarkError, Instance, Limits};

    /// Always fails: the limits of processor time and memory need a Unix shell.
    pub fn execute(_: &Benchmark, _: &Instance, _: &str, _: Limits) -> Result<Result<String, String>, BenchmarkError> {
        Ok(Err("external solvers need a Unix system".to_owned()))
    }
}
mod instance;
mod record;
mod results;
mod run;
mod table;

use std::io;
use std::path::PathBuf;

use thiserror::Error;

pub use instance::{Benchmark, GeneratedInstance, Instance, generate, write_instances};
pub use record::{Merge, Record};
pub use results::{RESULTS_FILE, Results, Settings};
pub use run::{Answer, Limits, Solver, run};
pub use table::{Row, cactus, rows};

/// An error of the benchmark.
#[derive(Debug, Error)]
pub enum BenchmarkError {
    /// A file cannot be read or written.
    #[error("{}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The content of a file is not as expected.
    #[error("{}: {why}", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// The value found, and the expected value.
        why: String,
    },
    /// No instance or track has this name.
    #[error("{what} {name}: the benchmark has no such {what}")]
    Unknown {
        /// `instance` or `track`.
        what: &'static str,
        /// The name.
        name: String,
    },
    /// The journal of the results cannot be used.
    #[error("{0}")]
    Journal(#[from] getaway_arena::JournalError),
}

pub(crate) fn failed(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> BenchmarkError {
    let path = path.into();
    |source| BenchmarkError::File { path, source }
}
