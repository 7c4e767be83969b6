//! What every long run needs: journals from which it continues, jobs for other processes, statistics,
//! and the style of its pages.

mod jobs;
mod journal;
mod page;
pub mod stats;

pub use jobs::{BUILD, Channel, RemoteError, check_build};
pub use journal::{FileKind, Journal, JournalError, lock, partial_file};
pub use page::with_head;
