//! The context in which priors of the threats' hidden states are computed, and limits on their
//! hypotheses.

use std::cell::OnceCell;

use crate::game::{Direction, FIRST_TICK, Layout, Mover, Position, Threat, World};
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
    pub player_steps: OnceCell<Vec<u16>>,
    pub last_look: OnceCell<Option<u16>>,
}

impl<'a> PriorContext<'a> {
    pub fn new(layout: &'a Layout, world: &'a World, tick: u16, player: Position, limit: HypothesisLimit) -> Self {
        Self {
            layout,
            world,
            tick,
            player,
            limit,
            tiles_by_distance: OnceCell::new(),
            player_steps: OnceCell::new(),
            last_look: OnceCell::new(),
        }
    }

    pub fn moves_before(&self, tick: u16) -> u16 {
        self.world.clock().moves_before(tick)
    }

    /// True if a step along the shared path to `target` may have led the threat to this pose.
    pub fn is_led_to(&self, position: Position, direction: Direction, target: Position) -> bool {
        let (graph, before) = (self.world.graph(), position.towards(direction.reverse()));
        let (Some(before), Some(target)) = (graph.tile(before), graph.tile(target)) else { return false };
        let nearer = self.world.route_bits(target, before);
        let mut order = self.world.rules().shared_path_order.into_iter();
        order.find(|&step| nearer >> step as u8 & 1 == 1) == Some(direction)
    }

    /// True if the player may have been on this tile when the owls last looked.
    pub fn could_be_seen(&self, tile: Position) -> bool {
        let Some(looked) = *self.last_look.get_or_init(|| self.find_last_look()) else { return false };
        let graph = self.world.graph();
        let (Some(player), Some(tile)) = (graph.tile(self.player), graph.tile(tile)) else { return true };
        let steps = self.player_steps.get_or_init(|| graph.distances(Mover::Player, player));
        steps[usize::from(tile)] <= self.tick - looked
    }

    fn find_last_look(&self) -> Option<u16> {
        let clock = self.world.clock();
        (FIRST_TICK..self.tick).rev().find(|&tick| clock.threats_move(tick) && clock.owls_look(tick))
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
    /// and fewer memories of owls and hawks are possible.
    ByTheRules,
    Unknown,
}
