//! The moves of the six styles. Threats do not interact, so they can move in any order. They are
//! sorted by style and stored in blocks of eight *lanes*, and each style has a loop over its lanes.

use std::hint::select_unpredictable;

use super::memory::Memory;
use super::picks::{DRAWS, TWELFTHS};
use super::routes::{ROUTE_BYTES, SEES};
use super::tables::{BEARING_ROW, DIRECTIONS, NONE, SHY, Tables, place};
use super::{Spawn, StreetGraph, Style, View};

pub(super) const LANES: usize = 8;

/// Up to eight threats, one per lane. An empty lane has the pose [`NONE`], which is on no tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Block {
    pub poses: [u16; LANES],
    pub draws: [u16; LANES],
    /// For an owl, the tile remembered from its last look; for a hawk, its target. Other styles do
    /// not use their memory.
    pub memories: [Memory; LANES],
    pub idle_rounds: [i8; LANES],
}

/// The data of a block's lanes that do not change during a game.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LaneMap {
    /// For each [`lane_rank`], the exclusive end of its lanes, which start at the previous rank's
    /// end.
    ends: [usize; Style::ALL.len()],
    /// For each lane, the number in [`Tables::places`] of the threat's spawn.
    homes: [i32; LANES],
    /// For each lane, a mask of the pose bits to hash: the direction affects only bulls and deer.
    pub pose_masks: [u16; LANES],
}

impl LaneMap {
    pub fn new(threats: &[Spawn], graph: &StreetGraph) -> Self {
        let mut map = Self { ends: [0; Style::ALL.len()], homes: [0; LANES], pose_masks: [NONE; LANES] };
        for (rank, end) in map.ends.iter_mut().enumerate() {
            let last = threats.iter().rposition(|threat| lane_rank(threat.style) <= rank);
            *end = last.map_or(0, |lane| lane + 1);
        }
        for (lane, threat) in threats.iter().enumerate() {
            map.homes[lane] = place(graph, threat.position);
            if !goes_by_direction(threat.style) {
                map.pose_masks[lane] = !(DIRECTIONS as u16 - 1);
            }
        }
        map
    }
}

pub(super) const fn lane_rank(style: Style) -> usize {
    match style {
        Style::Goldfish => 0,
        Style::Bull => 1,
        Style::Deer => 2,
        Style::Shark => 3,
        Style::Owl => 4,
        Style::Hawk => 5,
    }
}

const fn goes_by_direction(style: Style) -> bool {
    match style {
        Style::Bull | Style::Deer => true,
        Style::Goldfish | Style::Shark | Style::Owl | Style::Hawk => false,
    }
}

#[inline(always)]
fn words(lane: impl Fn(usize) -> u16) -> [u64; 2] {
    let word = |from: usize| (0..4).fold(0, |word, at| word | u64::from(lane(from + at)) << (16 * at));
    [word(0), word(4)]
}

/// Mixes a word into a hash with a 128-bit product, as wyhash does.
#[inline(always)]
pub(super) fn mix(hash: u64, word: u64) -> u64 {
    let product = u128::from(hash ^ 0x9e37_79b9_7f4a_7c15) * u128::from(word ^ 0xe703_7ed1_a0b4_28db);
    product as u64 ^ (product >> 64) as u64
}

#[derive(Clone, Copy)]
pub(super) struct PlayerView {
    pub present: u16,
    /// The player's tile at the end of the previous tick; [`Tables::nowhere`] in the first tick.
    pub stale: u16,
    pub owls_look: bool,
}

impl PlayerView {
    #[inline(always)]
    fn tile(self, view: View) -> u16 {
        select_unpredictable(matches!(view, View::Stale), self.stale, self.present)
    }
}

impl Block {
    pub const EMPTY: Self = Self {
        poses: [NONE; LANES],
        draws: [0; LANES],
        memories: [Memory::of_player(0); LANES],
        idle_rounds: [0; LANES],
    };

    #[inline(always)]
    pub fn digest(&self, map: &LaneMap) -> u64 {
        let mut poses = self.poses;
        for (pose, mask) in poses.iter_mut().zip(map.pose_masks) {
            *pose &= mask;
        }
        let idle_rounds = (0..LANES).fold(0, |word, lane| word | u64::from(self.idle_rounds[lane] as u8) << (8 * lane));
        let ([p0, p1], [s0, s1]) = (words(|lane| poses[lane]), words(|lane| self.draws[lane]));
        let [m0, m1] = words(|lane| self.memories[lane].digest());
        mix(mix(p0, p1), idle_rounds) ^ mix(s0, m1).rotate_left(21) ^ mix(m0, s1).rotate_left(42)
    }

    /// Moves every threat. The game state that contains this block must have the same shape as the
    /// world that owns `map` and `tables`, because [`at`] does not check bounds.
    #[inline(always)]
    pub fn advance(&mut self, map: &LaneMap, tables: &Tables, player: PlayerView) {
        let [goldfish, bull, deer, shark, owl, hawk] = map.ends;
        let mut lane = 0;
        while lane < goldfish {
            self.goldfish(tables, lane);
            lane += 1;
        }
        while lane < bull {
            self.bull(tables, lane);
            lane += 1;
        }
        while lane < deer {
            self.deer(tables, lane, map, player);
            lane += 1;
        }
        while lane < shark {
            self.shark(tables, lane, player);
            lane += 1;
        }
        while lane < owl {
            self.owl(tables, lane, player);
            lane += 1;
        }
        while lane < hawk {
            self.hawk(tables, lane, player);
            lane += 1;
        }
    }

    #[inline(always)]
    fn pose(&self, lane: usize) -> (u16, usize) {
        let pose = at(&self.poses, lane);
        (pose, usize::from(pose / DIRECTIONS as u16))
    }

    #[inline(always)]
    fn set_pose(&mut self, lane: usize, pose: u16) {
        *at_mut(&mut self.poses, lane) = pose;
    }

    #[inline(always)]
    fn goldfish(&mut self, tables: &Tables, lane: usize) {
        let (_, tile) = self.pose(lane);
        let draws = at_mut(&mut self.draws, lane);
        let pose = random_option(tables, tile, *draws);
        *draws += 1;
        self.set_pose(lane, pose);
    }

    #[inline(always)]
    fn bull(&mut self, tables: &Tables, lane: usize) {
        let (pose, tile) = self.pose(lane);
        let straight = at(&tables.straight, usize::from(pose));
        let draws = at_mut(&mut self.draws, lane);
        let turn = random_option(tables, tile, *draws);
        let blocked = straight == NONE;
        *draws += u16::from(blocked);
        self.set_pose(lane, select_unpredictable(blocked, turn, straight));
    }

    #[inline(always)]
    fn deer(&mut self, tables: &Tables, lane: usize, map: &LaneMap, player: PlayerView) {
        let (pose, tile) = self.pose(lane);
        let origin = tables.bearing_offset - at(&tables.places, tile);
        let target = at(&tables.places, usize::from(player.tile(tables.rules.deer_view)));
        let to_player = at(&tables.bearings, (target + origin) as usize);
        let to_home = at(&tables.bearings, (at(&map.homes, lane) + origin) as usize);
        let bearing = select_unpredictable(to_player & SHY != 0, to_home & !SHY, to_player);
        self.set_pose(lane, at(&tables.deer_next, usize::from(pose) * BEARING_ROW + usize::from(bearing)));
    }

    #[inline(always)]
    fn shark(&mut self, tables: &Tables, lane: usize, player: PlayerView) {
        let (pose, tile) = self.pose(lane);
        let target = player.tile(tables.rules.shark_view);
        let step = at(&tables.shark_step, tile * ROUTE_BYTES + usize::from(route(tables, usize::from(target), tile)));
        self.set_pose(lane, select_unpredictable(step == NONE, pose, step));
    }

    #[inline(always)]
    fn owl(&mut self, tables: &Tables, lane: usize, player: PlayerView) {
        let (pose, tile) = self.pose(lane);
        let memory = at_mut(&mut self.memories, lane);
        *memory =
            select_unpredictable(player.owls_look, Memory::of_player(player.tile(tables.rules.owl_view)), *memory);
        let byte = route(tables, usize::from(memory.tile()), tile);
        let step = at(&tables.shared_step, tile * ROUTE_BYTES + usize::from(byte));
        self.set_pose(lane, select_unpredictable(step == NONE, pose, step));
    }

    #[inline(always)]
    fn hawk(&mut self, tables: &Tables, lane: usize, player: PlayerView) {
        let player = player.tile(tables.rules.hawk_view);
        let (pose, tile) = self.pose(lane);
        let memory = at_mut(&mut self.memories, lane);
        let idle_rounds = at_mut(&mut self.idle_rounds, lane);
        // Neither lookup needs the other's result, so the processor can run both at the same time.
        let to_player = route(tables, usize::from(player), tile);
        let to_memory = route(tables, usize::from(memory.tile()), tile);
        let sees = to_player & SEES != 0;
        *memory = select_unpredictable(sees, Memory::of_player(player), *memory);
        *idle_rounds = select_unpredictable(sees, 0, *idle_rounds);
        let target = usize::from(memory.tile());
        if (target == tables.len()) | (target == tile) {
            self.hawk_stays(tables, lane, target == tile);
            return;
        }
        let byte = select_unpredictable(sees, to_player, to_memory);
        let step = at(&tables.shared_step, tile * ROUTE_BYTES + usize::from(byte));
        self.set_pose(lane, select_unpredictable(step == NONE, pose, step));
    }

    #[inline(always)]
    fn hawk_stays(&mut self, tables: &Tables, lane: usize, arrived: bool) {
        let memory = at_mut(&mut self.memories, lane);
        let idle_rounds = at_mut(&mut self.idle_rounds, lane);
        if arrived {
            *idle_rounds = if memory.is_post() { -(tables.rules.hawk_rest_moves as i8) } else { 0 };
            *memory = Memory::of_player(tables.len() as u16);
            return;
        }
        *idle_rounds += 1;
        if *idle_rounds > tables.rules.hawk_patience_moves as i8 {
            // If there are no posts to pick from, the hawk still draws a number, but gets no post.
            let draws = at_mut(&mut self.draws, lane);
            *memory = tables.hawk_post(*draws);
            *draws += 1;
            *idle_rounds = 0;
        }
    }
}

#[inline(always)]
fn route(tables: &Tables, target: usize, tile: usize) -> u8 {
    at(&tables.routes.table, tile * tables.routes.row + target)
}

#[inline(always)]
fn random_option(tables: &Tables, tile: usize, draws: u16) -> u16 {
    let twelfth = tables.numbers.twelfths[usize::from(draws) % DRAWS];
    at(&tables.random_option, tile * TWELFTHS + usize::from(twelfth))
}

/// Returns `table[index]` without a bounds check, which would slow down plan replays.
///
/// Every index is computed from numbers in the state, and in this world's own tables and lane maps.
/// Only a world creates a [`State`](super::State), and every function that moves the threats of a
/// state rejects a state whose [`Shape`](super::state::Shape) differs. Equal shapes mean the same
/// number of tiles, and the same style in each lane. So each number in a state is in range, even if
/// the state belongs to a world with other streets. `World::threat_after` builds its block itself,
/// with numbers in range. The pose of each threat is below `4 * tiles`. The tile of a [`Memory`]
/// and the player's previous tile are at most `tiles`, and the tables indexed by them cover
/// `tiles`. Draws are taken modulo the table length. The tables hold only numbers in these ranges
/// and [`NONE`], which never becomes a threat's pose. Debug builds check every index.
#[inline(always)]
fn at<T: Copy>(table: &[T], index: usize) -> T {
    debug_assert!(index < table.len());
    // SAFETY: the index is in range; the comment of this function explains why.
    unsafe { *table.get_unchecked(index) }
}

/// Returns `&mut table[index]` without a bounds check, for the same reasons as [`at`].
#[inline(always)]
fn at_mut<T>(table: &mut [T], index: usize) -> &mut T {
    debug_assert!(index < table.len());
    // SAFETY: the index is in range; the comment of `at` explains why.
    unsafe { table.get_unchecked_mut(index) }
}
