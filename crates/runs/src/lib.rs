//! Parts that all long runs share: journals to continue from, workers, statistics.

mod jobs;
mod journal;
pub mod stats;

use std::hash::Hasher;

use fnv::FnvHasher;

pub use jobs::{BUILD, Channel, Jobs, Work, WorkerError, Workers, check_build};
pub use journal::{FileKind, Journal, JournalError, lock, partial_file};

/// Returns the 64-bit FNV-1a hash of the concatenated parts.
pub fn fnv(parts: &[&[u8]]) -> u64 {
    let mut hasher = FnvHasher::default();
    parts.iter().for_each(|part| hasher.write(part));
    hasher.finish()
}
