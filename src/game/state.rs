use serde::{Deserialize, Serialize};

use super::names::named;
use super::tables::DIRECTIONS;
use super::threats::{Block, LANES};
use super::{Direction, LAST_TICK, MAX_OPEN_TILES, MAX_THREATS, Position, Spawn, Style};

/// The state of a game. Use it only with the [`World`](super::World) that created it.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct State {
    pub(super) tick: u16,
    pub(super) player: u16,
    pub(super) is_caught: bool,
    pub(super) shape: Shape,
    pub(super) first: Block,
    /// The ninth and later threats. The competition's maps have at most eight threats, and an empty
    /// box needs no allocation.
    pub(super) more: Box<[Block]>,
}

// The size matters because a search keeps millions of states.
const _: () = assert!(size_of::<State>() <= 88);

impl Clone for State {
    #[inline]
    fn clone(&self) -> Self {
        // A derived `clone` would be slower, because the `clone` of a box is not inlined.
        let more = if self.more.is_empty() { Box::default() } else { self.more.clone() };
        Self { more, ..*self }
    }

    #[inline]
    fn clone_from(&mut self, source: &Self) {
        if !(self.more.is_empty() && source.more.is_empty()) {
            self.more.clone_from(&source.more);
        }
        (self.tick, self.player, self.is_caught) = (source.tick, source.player, source.is_caught);
        (self.shape, self.first) = (source.shape, source.first);
    }
}

named! {
    /// The status of a game.
    pub enum Status, "status" {
        /// The game continues.
        Running = "running",
        /// A threat is on the player's tile.
        Caught = "caught",
        /// All ticks have been played. A catch at the end of the last tick does not count.
        Complete = "complete",
    }
}

/// The tile count and the number of threats of each style, packed into one number. If a state and a
/// world have equal shapes, every table index computed from the state is in range, so
/// [`World::step_unchecked`](super::World::step_unchecked) needs no bounds checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Shape(u64);

impl Shape {
    const TILE_BITS: u32 = usize::BITS - MAX_OPEN_TILES.leading_zeros();
    const COUNT_BITS: u32 = usize::BITS - MAX_THREATS.leading_zeros();

    pub fn new(tiles: usize, threats: &[Spawn]) -> Self {
        const { assert!(Self::TILE_BITS + Style::ALL.len() as u32 * Self::COUNT_BITS <= u64::BITS) };
        let count = |style| threats.iter().filter(|threat| threat.style == style).count() as u64;
        Self(Style::ALL.into_iter().fold(tiles as u64, |shape, style| shape << Self::COUNT_BITS | count(style)))
    }
}

/// The state of one threat, including its memory. Values that are the same for all threats, such
/// as the number of ticks since the last move, are not included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Threat {
    /// The style, which determines how the threat moves.
    pub style: Style,
    /// The position of the threat.
    pub position: Position,
    /// The direction of the last step; before the first step, the direction picked at the start.
    pub direction: Direction,
    /// The number of picks so far. The next seed is `first_seed + draws`.
    pub draws: u16,
    /// For an owl: the player's position that it remembers from its last look.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remembered: Option<Position>,
    /// For a hawk: where it last saw the player. Cleared in the move after the hawk arrives there,
    /// unless the hawk sees the player again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen: Option<Position>,
    /// For a hawk: the intersection picked as its post. Cleared when the hawk sees the player, and
    /// in the move after it arrives there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub post: Option<Position>,
    /// For a hawk: the number of moves that it has waited, counted from 0, or from
    /// `-hawk_rest_moves` (-5 on the server) at a post.
    #[serde(default)]
    pub idle_rounds: i8,
}

impl State {
    /// The number of completed ticks plus 1, from 1 to 2001. While the game is running, this is the
    /// next tick to be played. With [`Rules::no_jump`](super::Rules::no_jump), a tick in which the
    /// player steps onto a threat's tile is not completed.
    pub fn tick(&self) -> u16 {
        self.tick
    }

    /// The status of the game.
    #[inline]
    pub fn status(&self) -> Status {
        match (self.is_complete(), self.is_caught) {
            (true, _) => Status::Complete,
            (false, true) => Status::Caught,
            (false, false) => Status::Running,
        }
    }

    /// True if the game is over: caught or complete.
    #[inline]
    pub fn is_over(&self) -> bool {
        self.is_caught || self.is_complete()
    }

    /// True if all ticks have been played, even if a threat is then on the player's tile.
    #[inline]
    pub fn is_complete(&self) -> bool {
        self.tick > LAST_TICK
    }

    /// True if a threat is on the player's tile, even if the game is complete.
    #[inline]
    pub fn is_caught(&self) -> bool {
        self.is_caught
    }

    #[inline(always)]
    pub(super) fn is_threat_on(&self, tile: u16) -> bool {
        self.is_any_threat(|at| at == tile)
    }

    /// True if `is_met` is true for the tile of a threat. In an empty lane, the tile is on no map.
    #[inline(always)]
    pub(super) fn is_any_threat(&self, is_met: impl Fn(u16) -> bool) -> bool {
        let met = |any, pose: &u16| any | is_met(pose / DIRECTIONS as u16);
        let is_met_in = |block: &Block| block.poses.iter().fold(false, met);
        is_met_in(&self.first) || (!self.more.is_empty() && self.more.iter().any(is_met_in))
    }

    #[inline(always)]
    pub(super) fn check_caught(&mut self) {
        self.is_caught |= self.is_threat_on(self.player);
    }

    pub(super) fn lane(&self, lane: u8) -> (&Block, usize) {
        let (block, lane) = split_lane(lane);
        (if block == 0 { &self.first } else { &self.more[block - 1] }, lane)
    }

    pub(super) fn lane_mut(&mut self, lane: u8) -> (&mut Block, usize) {
        let (block, lane) = split_lane(lane);
        (if block == 0 { &mut self.first } else { &mut self.more[block - 1] }, lane)
    }
}

pub(super) fn split_lane(lane: u8) -> (usize, usize) {
    (usize::from(lane) / LANES, usize::from(lane) % LANES)
}
