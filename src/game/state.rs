//! The [`State`] of a game, which changes from tick to tick.

use serde::{Deserialize, Serialize};

use super::threats::{Block, LANES};
use super::{Direction, LAST_TICK, MAX_OPEN_TILES, MAX_THREATS, Position, Spawn, Style};

/// The state of a game: plain data that can be compared and hashed. Valid only in the
/// [`World`](super::World) that created it.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct State {
    pub(super) tick: u16,
    pub(super) player: u16,
    pub(super) is_caught: bool,
    pub(super) shape: Shape,
    pub(super) first: Block,
    /// Threats from the ninth on; empty, and so without an allocation, on every real map.
    pub(super) more: Box<[Block]>,
}

// A search keeps millions of states.
const _: () = assert!(size_of::<State>() <= 88);

impl Clone for State {
    #[inline]
    fn clone(&self) -> Self {
        // Written out because the search clones as often as it steps, and the general clone of a
        // box is not inlined.
        let more = if self.more.is_empty() { Box::default() } else { self.more.clone() };
        Self { more, ..*self }
    }
}

/// Whether a game goes on, or how it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// There is a tick to play.
    Running,
    /// A threat stands on the player's tile.
    Caught,
    /// The player has survived every tick. A catch in the last tick does not count: the score is
    /// the same.
    Complete,
}

/// The ranges of a state's indices: the number of tiles, and the number of threats of each style,
/// which are in the order of the lanes. It is packed, not hashed: when two shapes match, every
/// number in the state is a valid index into the world's tables and every lane holds the same
/// style, so the lookups of [`World::step`](super::World::step) need no bounds checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Shape(u64);

impl Shape {
    /// Bits that hold a number of tiles.
    const TILE_BITS: u32 = usize::BITS - MAX_OPEN_TILES.leading_zeros();
    /// Bits that hold a number of threats.
    const COUNT_BITS: u32 = usize::BITS - MAX_THREATS.leading_zeros();

    pub fn new(tiles: usize, threats: &[Spawn]) -> Self {
        const { assert!(Self::TILE_BITS + Style::ALL.len() as u32 * Self::COUNT_BITS <= u64::BITS) };
        let count = |style| threats.iter().filter(|threat| threat.style == style).count() as u64;
        Self(Style::ALL.into_iter().fold(tiles as u64, |shape, style| shape << Self::COUNT_BITS | count(style)))
    }
}

/// A threat in readable form: every field the server keeps that is not the same for all threats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Threat {
    /// How it chooses its moves.
    pub style: Style,
    /// Where it stands.
    pub position: Position,
    /// The direction it faces: that of its last step.
    pub direction: Direction,
    /// How many random numbers it has drawn, the first for its direction: its next seed is the
    /// first seed plus this number.
    pub draws: u16,
    /// Owl: where it last looked at the player.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remembered: Option<Position>,
    /// Hawk: where it last saw the player.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen: Option<Position>,
    /// Hawk: the intersection it is on its way to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub post: Option<Position>,
    /// Hawk: moves it has waited, from -5 on the server.
    #[serde(default)]
    pub idle_rounds: i8,
}

impl State {
    /// The tick that is about to be played, from 1; 2001 when the game is complete.
    pub fn tick(&self) -> u16 {
        self.tick
    }

    /// Whether the game goes on, or how it ended.
    #[inline]
    pub fn status(&self) -> Status {
        match (self.is_complete(), self.is_caught) {
            (true, _) => Status::Complete,
            (false, true) => Status::Caught,
            (false, false) => Status::Running,
        }
    }

    /// Whether the game is over: caught, or complete.
    #[inline]
    pub fn is_over(&self) -> bool {
        self.is_caught || self.is_complete()
    }

    /// Whether every tick has been survived. A catch in the last tick comes too late to change
    /// that.
    #[inline]
    pub fn is_complete(&self) -> bool {
        self.tick > LAST_TICK
    }

    /// Whether a threat stands on the player's tile, even if the game is complete.
    #[inline]
    pub fn is_caught(&self) -> bool {
        self.is_caught
    }

    #[inline(always)]
    pub(super) fn is_threat_on(&self, tile: u16) -> bool {
        self.first.stands_on(tile) || (!self.more.is_empty() && self.more.iter().any(|block| block.stands_on(tile)))
    }

    #[inline(always)]
    pub(super) fn check_caught(&mut self) {
        if self.is_threat_on(self.player) {
            self.is_caught = true;
        }
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

/// The block of a lane, and the lane's index in it.
pub(super) fn split_lane(lane: u8) -> (usize, usize) {
    (usize::from(lane) / LANES, usize::from(lane) % LANES)
}
