use std::time::Instant;

use crate::search::{Budget, Deadline, now};

#[derive(Clone, Copy, Debug)]
pub(super) struct Deadlines {
    pub inference: Deadline,
    pub learning: Deadline,
    pub decision: Deadline,
}

pub(super) fn part(budget: Budget, parts: u32) -> Budget {
    let now = now();
    let early = |deadline: Instant| now + deadline.saturating_duration_since(now) / parts;
    Budget { deadline: budget.deadline.map(early), ticks: budget.ticks.map(|ticks| ticks / u64::from(parts)), ..budget }
}
