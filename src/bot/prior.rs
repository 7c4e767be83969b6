//! The context in which priors of the threats' hidden states are computed, and limits on their
//! hypotheses.

use std::cell::OnceCell;

use crate::game::{Layout, Position, Threat, World};
use crate::search::Deadline;

/// Maximum hypotheses per threat. Initially, even a hawk on the largest map has fewer.
const HYPOTHESES_MAX: usize = 10_000;
/// Maximum predictions per observation, one per threat, hypothesis and tick. They take a few
/// milliseconds.
pub(super) const HYPOTHESES_TOTAL_MAX: usize = 50_000;
/// Maximum hypotheses per threat after the deadline. Sixty threats then take under a millisecond.
pub(super) const HYPOTHESES_MAX_LATE: usize = 64;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Hypothesis {
    pub threat: Threat,
    /// False if the draw count is unknown. The next draw then splits the hypothesis into one
    /// hypothesis per possible count.
    pub are_draws_known: bool,
    /// The assumed home of a deer whose spawn is unknown.
    pub home: Option<Position>,
}

#[derive(Clone, Debug)]
pub(super) struct PriorContext<'a> {
    pub layout: &'a Layout,
    pub world: &'a World,
    pub tick: u16,
    pub player: Position,
    pub limit: HypothesisLimit,
    pub tiles_by_distance: OnceCell<Vec<Position>>,
}

impl<'a> PriorContext<'a> {
    pub fn new(layout: &'a Layout, world: &'a World, tick: u16, player: Position, limit: HypothesisLimit) -> Self {
        Self { layout, world, tick, player, limit, tiles_by_distance: OnceCell::new() }
    }

    pub fn moves_before(&self, tick: u16) -> u16 {
        self.world.clock().moves_before(tick)
    }

    pub fn tiles_by_distance(&self) -> &[Position] {
        self.tiles_by_distance.get_or_init(|| {
            let mut tiles: Vec<Position> = self.layout.open_positions().collect();
            tiles.sort_by_key(|tile| tile.manhattan_distance(self.player));
            tiles
        })
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) struct HypothesisLimit {
    pub hypotheses_max: usize,
    pub deadline: Deadline,
}

impl HypothesisLimit {
    /// Divides the total limit by `threats`: the number of threats or, for a prediction, the number
    /// of threats times the number of predicted ticks.
    pub fn new(threats: usize, deadline: Deadline) -> Self {
        Self { hypotheses_max: (HYPOTHESES_TOTAL_MAX / threats.max(1)).clamp(1, HYPOTHESES_MAX), deadline }
    }

    pub fn now(&self) -> usize {
        let is_late = self.hypotheses_max > HYPOTHESES_MAX_LATE && self.deadline.is_past();
        if is_late { HYPOTHESES_MAX_LATE } else { self.hypotheses_max }
    }
}

/// An assumption about a threat's past moves.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Conduct {
    /// The threat has followed its style and the rules. The draw count of a goldfish is then known,
    /// and fewer memories of hawks are possible.
    ByTheRules,
    Unknown,
}
