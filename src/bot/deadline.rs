//! When the stages of a decision must stop.

use std::time::Instant;

use crate::search::TimeSource;

/// When the stages of a decision must stop.
#[derive(Clone, Copy, Debug)]
pub(super) struct Deadlines {
    /// For gap reconstruction and style identification.
    pub inference: Deadline,
    /// For the whole decision.
    pub decision: Deadline,
}

/// A point in time, and the clock to compare it with.
#[derive(Clone, Copy, Debug)]
pub(super) struct Deadline {
    pub at: Instant,
    pub time_source: &'static dyn TimeSource,
}
