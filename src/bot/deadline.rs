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

impl Deadline {
    /// Whether it has passed.
    pub fn is_past(&self) -> bool {
        self.time_source.now() >= self.at
    }
}

/// The remaining time and ticks, divided by `parts`.
pub(super) fn part(budget: Budget, parts: u32) -> Budget {
    let now = budget.time_source.now();
    let early = |deadline: Instant| now + deadline.saturating_duration_since(now) / parts;
    Budget { deadline: budget.deadline.map(early), ticks: budget.ticks.map(|ticks| ticks / u64::from(parts)), ..budget }
}
