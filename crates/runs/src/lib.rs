//! Parts that all long runs share: journals to continue from, workers, statistics,
//! and the style of pages.

mod jobs;
mod journal;
mod page;
pub mod stats;

pub use jobs::{BUILD, Channel, Jobs, WorkerError, Workers, check_build};
pub use journal::{FileKind, Journal, JournalError, lock, partial_file};
pub use page::with_head;
