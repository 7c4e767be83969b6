//! Parts that all long runs share: journals to continue from, workers, statistics.

mod jobs;
mod journal;
pub mod stats;

pub use jobs::{BUILD, Channel, Jobs, WorkerError, Workers, check_build};
pub use journal::{FileKind, Journal, JournalError, lock, partial_file};
