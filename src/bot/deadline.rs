//! When the stages of a decision must stop.

use std::time::Instant;

use crate::search::{Budget, TimeSource};

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

/// One part of the remaining time and ticks, of as many as given.
pub(super) fn part(budget: Budget, parts: u32) -> Budget {
    let now = budget.time_source.now();
    let early = |deadline: Instant| now + deadline.saturating_duration_since(now) / parts;
    Budget { deadline: budget.deadline.map(early), ticks: budget.ticks.map(|ticks| ticks / u64::from(parts)), ..budget }
}
