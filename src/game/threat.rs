//! The six styles: what a threat does on a tick on which it moves.
//!
//! Threats do not see one another, so their order among themselves does not matter. They are kept sorted by style in blocks of eight
//! *lanes*, and each style is a loop over its lanes without a branch on the style.

use std::hint::select_unpredictable;

use super::grid::{DIRECTIONS, Grid, NONE, STYLE_ORDER};
use super::layout::{Direction, Spawn, Style};
use super::random::{SEEDS, TWELFTHS};
use super::route::{ROUTE_BYTES, SEES};

/// Threats in a block.
pub(super) const LANES: usize = 8;
/// A hawk that waited for more moves than this goes to a post.
pub(super) const HAWK_PATIENCE_MOVES: i8 = 5;
/// What a hawk's idle rounds start from when it reaches a post.
const HAWK_REST_MOVES: i8 = -5;

/// The place that a threat remembers: a tile, or the number of tiles for none, and whether it is a hawk's post rather than
/// a place where the player was seen. [`Memory::tile`] alone leads to a number, so that a mark cannot reach a table's index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub(super) struct Memory(u16);

impl Memory {
    /// Marks a post; above every tile.
    const POST: u16 = 1 << 15;

    /// A place where the player was, or the number of tiles for none.
    #[inline(always)]
    pub const fn of_player(tile: u16) -> Self {
        Self(tile & !Self::POST)
    }

    /// An intersection that a hawk is sent to.
    pub const fn of_post(tile: u16) -> Self {
        Self(tile | Self::POST)
    }

    /// The tile, or the number of tiles for none.
    #[inline(always)]
    pub const fn tile(self) -> u16 {
        self.0 & !Self::POST
    }

    /// Whether the tile is a post.
    #[inline(always)]
    pub const fn is_post(self) -> bool {
        self.0 & Self::POST != 0
    }
}

/// Eight threats, a lane each. Lanes without a threat hold a pose that is nowhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Block {
    /// Tile and direction.
    pub poses: [u16; LANES],
    /// The next seed to draw with.
    pub seeds: [u16; LANES],
    /// Owl: where it last looked at the player. Hawk: the tile it makes for.
    pub memories: [Memory; LANES],
    /// Hawk: idle rounds.
    pub idle_rounds: [i8; LANES],
}

/// What does not change about a block: its lanes by style and the deer's homes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Roster {
    /// Lanes `ends[i - 1]..ends[i]` hold the threats of style `STYLE_ORDER[i]`.
    ends: [u8; STYLE_ORDER.len()],
    /// The row of `Grid::deer_next` for a deer on its way home.
    deer_homes: [u16; LANES],
    /// The bits of each pose that decide its future: only bulls and deer care where they look.
    pub pose_masks: [u16; LANES],
}

impl Roster {
    /// The roster of up to eight threats, sorted by style.
    pub fn new(threats: &[Spawn], grid: &mut Grid) -> Self {
        let mut roster = Self { ends: [0; STYLE_ORDER.len()], deer_homes: [0; LANES], pose_masks: [NONE; LANES] };
        for (end, style) in roster.ends.iter_mut().zip(STYLE_ORDER) {
            let last = threats.iter().rposition(|threat| rank(threat.style) <= rank(style));
            *end = last.map_or(0, |lane| lane as u8 + 1);
        }
        for (lane, threat) in threats.iter().enumerate() {
            if threat.style == Style::Deer {
                roster.deer_homes[lane] = grid.add_deer_home(threat.position);
            }
            if !matches!(threat.style, Style::Bull | Style::Deer) {
                roster.pose_masks[lane] = !(DIRECTIONS as u16 - 1);
            }
        }
        roster
    }
}

/// The place of a style in [`STYLE_ORDER`].
pub(super) fn rank(style: Style) -> usize {
    STYLE_ORDER.iter().position(|&other| other == style).expect("every style is in the order")
}

/// Eight lanes as two words.
#[inline(always)]
fn words(lanes: [u16; LANES]) -> [u64; 2] {
    let word = |from: usize| (0..4).fold(0, |word, lane| word | u64::from(lanes[from + lane]) << (16 * lane));
    [word(0), word(4)]
}

/// Folds a word into a hash: the halves of a 128-bit product, as in wyhash.
#[inline(always)]
pub(super) fn mix(hash: u64, word: u64) -> u64 {
    let product = u128::from(hash ^ 0x9e37_79b9_7f4a_7c15) * u128::from(word ^ 0xe703_7ed1_a0b4_28db);
    product as u64 ^ (product >> 64) as u64
}

/// What the threats know of the player when they move.
#[derive(Clone, Copy)]
pub(super) struct Prey {
    /// Where the player is, after its command.
    pub now: u16,
    /// Where the player was at the end of the previous tick.
    pub stale: u16,
    /// Whether owls look now.
    pub owls_look: bool,
}

impl Block {
    /// No threats at all.
    pub const EMPTY: Self = Self {
        poses: [NONE; LANES],
        seeds: [0; LANES],
        memories: [Memory::of_player(0); LANES],
        idle_rounds: [0; LANES],
    };

    /// Whether a threat stands on `tile`.
    #[inline(always)]
    pub fn stands_on(&self, tile: u16) -> bool {
        self.poses.iter().fold(false, |any, pose| any | (pose / DIRECTIONS as u16 == tile))
    }

    /// A hash of all that decides the threats' future.
    #[inline(always)]
    pub fn digest(&self, roster: &Roster) -> u64 {
        let mut poses = self.poses;
        for (pose, mask) in poses.iter_mut().zip(roster.pose_masks) {
            *pose &= mask;
        }
        let idle_rounds = u64::from_le_bytes(self.idle_rounds.map(|rounds| rounds as u8));
        let ([p0, p1], [s0, s1], [m0, m1]) =
            (words(poses), words(self.seeds), words(self.memories.map(|memory| memory.0)));
        mix(mix(p0, p1), idle_rounds) ^ mix(s0, m1).rotate_left(21) ^ mix(m0, s1).rotate_left(42)
    }

    /// Every threat chooses and makes a move. The block and the prey must be of a state whose shape is the grid's: see [`at`].
    #[inline(always)]
    pub fn advance(&mut self, roster: &Roster, grid: &Grid, prey: Prey) {
        let ends = roster.ends;
        let mut lane = 0;
        while lane < ends[0] {
            self.goldfish(grid, lane);
            lane += 1;
        }
        while lane < ends[1] {
            self.bull(grid, lane);
            lane += 1;
        }
        while lane < ends[2] {
            self.deer(grid, lane, roster, prey.stale);
            lane += 1;
        }
        while lane < ends[3] {
            self.shark(grid, lane, prey.stale);
            lane += 1;
        }
        while lane < ends[4] {
            self.owl(grid, lane, prey);
            lane += 1;
        }
        while lane < ends[5] {
            self.hawk(grid, lane, prey.now);
            lane += 1;
        }
    }

    /// The pose of a lane, and its tile.
    #[inline(always)]
    fn pose(&self, lane: u8) -> (u16, usize) {
        let pose = at(&self.poses, usize::from(lane));
        (pose, usize::from(pose / DIRECTIONS as u16))
    }

    #[inline(always)]
    fn set_pose(&mut self, lane: u8, pose: u16) {
        *at_mut(&mut self.poses, usize::from(lane)) = pose;
    }

    #[inline(always)]
    fn goldfish(&mut self, grid: &Grid, lane: u8) {
        let (_, tile) = self.pose(lane);
        let seed = at_mut(&mut self.seeds, usize::from(lane));
        let pose = random_option(grid, tile, *seed);
        *seed += 1;
        self.set_pose(lane, pose);
    }

    #[inline(always)]
    fn bull(&mut self, grid: &Grid, lane: u8) {
        let (pose, tile) = self.pose(lane);
        let straight = at(&grid.straight, usize::from(pose));
        let seed = at_mut(&mut self.seeds, usize::from(lane));
        let turn = random_option(grid, tile, *seed);
        let blocked = straight == NONE;
        *seed += u16::from(blocked);
        self.set_pose(lane, select_unpredictable(blocked, turn, straight));
    }

    #[inline(always)]
    fn deer(&mut self, grid: &Grid, lane: u8, roster: &Roster, stale: u16) {
        let (pose, tile) = self.pose(lane);
        let target = at(&grid.places, usize::from(stale)) + grid.bearing_offset;
        let bearing = at(&grid.bearings, (target - at(&grid.places, tile)) as usize);
        let row = select_unpredictable(bearing == 0, at(&roster.deer_homes, usize::from(lane)), u16::from(bearing));
        self.set_pose(lane, at(&grid.deer_next, usize::from(row) * grid.straight.len() + usize::from(pose)));
    }

    #[inline(always)]
    fn shark(&mut self, grid: &Grid, lane: u8, stale: u16) {
        let (pose, tile) = self.pose(lane);
        let step = at(&grid.shark_step, tile * ROUTE_BYTES + usize::from(route(grid, usize::from(stale), tile)));
        self.set_pose(lane, select_unpredictable(step == NONE, pose, step));
    }

    #[inline(always)]
    fn owl(&mut self, grid: &Grid, lane: u8, prey: Prey) {
        let (pose, tile) = self.pose(lane);
        let memory = at_mut(&mut self.memories, usize::from(lane));
        *memory = select_unpredictable(prey.owls_look, Memory::of_player(prey.now), *memory);
        let byte = route(grid, usize::from(memory.tile()), tile);
        let step = at(&grid.shared_step, tile * ROUTE_BYTES + usize::from(byte));
        self.set_pose(lane, select_unpredictable(step == NONE, pose, step));
    }

    #[inline(always)]
    fn hawk(&mut self, grid: &Grid, lane: u8, now: u16) {
        let (pose, tile) = self.pose(lane);
        let memory = at_mut(&mut self.memories, usize::from(lane));
        let idle_rounds = at_mut(&mut self.idle_rounds, usize::from(lane));
        // Both ways are looked up before it is known which counts: one look-up after another would be the longest wait of a tick.
        let to_player = route(grid, usize::from(now), tile);
        let to_memory = route(grid, usize::from(memory.tile()), tile);
        let sees = to_player & SEES != 0;
        *memory = select_unpredictable(sees, Memory::of_player(now), *memory);
        *idle_rounds = select_unpredictable(sees, 0, *idle_rounds);
        let target = usize::from(memory.tile());
        if (target == grid.len()) | (target == tile) {
            self.hawk_stays(grid, lane, target == tile);
            return;
        }
        let byte = select_unpredictable(sees, to_player, to_memory);
        let step = at(&grid.shared_step, tile * ROUTE_BYTES + usize::from(byte));
        self.set_pose(lane, select_unpredictable(step == NONE, pose, step));
    }

    /// A hawk that has reached what it made for, or makes for nothing.
    #[inline(always)]
    fn hawk_stays(&mut self, grid: &Grid, lane: u8, arrived: bool) {
        let memory = at_mut(&mut self.memories, usize::from(lane));
        let idle_rounds = at_mut(&mut self.idle_rounds, usize::from(lane));
        if arrived {
            *idle_rounds = if memory.is_post() { HAWK_REST_MOVES } else { 0 };
            *memory = Memory::of_player(grid.len() as u16);
            return;
        }
        *idle_rounds += 1;
        if *idle_rounds > HAWK_PATIENCE_MOVES {
            // Without an intersection the server draws all the same and the hawk goes on waiting.
            let seed = at_mut(&mut self.seeds, usize::from(lane));
            *memory = grid.hawk_posts[usize::from(*seed) % SEEDS];
            *seed += 1;
            *idle_rounds = 0;
        }
    }
}

/// The byte of [`Grid::routes`] for a target and a tile.
#[inline(always)]
fn route(grid: &Grid, target: usize, tile: usize) -> u8 {
    at(&grid.routes, target * grid.len() + tile)
}

/// The pose after a random pick from the options.
#[inline(always)]
fn random_option(grid: &Grid, tile: usize, seed: u16) -> u16 {
    let twelfth = grid.twelfths[usize::from(seed) % SEEDS];
    at(&grid.random_option, tile * TWELFTHS + usize::from(twelfth))
}

/// `table[index]` without a check, which a measurement paid for: with checks, replaying a plan is a third slower.
///
/// Every index is made of a block's lanes, the player's tile, and this grid's own tables. Only a world makes a
/// [`State`](super::State), and `World::step` refuses a state of another [`Shape`](super::state::Shape): with equal shapes both
/// worlds have as many tiles, and each lane holds a threat of the same style. Then each number in a state is in
/// range for this grid, whatever its streets: poses are below `4 * tiles`, the tile of a [`Memory`] is at most `tiles`, seeds
/// are taken modulo the length of their tables, and the tables hold nothing else. Debug builds, and so the tests and the
/// fuzzers, check every index.
#[inline(always)]
fn at<T: Copy>(table: &[T], index: usize) -> T {
    debug_assert!(index < table.len());
    // SAFETY: the index is in range, as explained above.
    unsafe { *table.get_unchecked(index) }
}

/// `table[index]` for writing, on the same grounds as [`at`].
#[inline(always)]
fn at_mut<T>(table: &mut [T], index: usize) -> &mut T {
    debug_assert!(index < table.len());
    // SAFETY: the index is in range, as explained at `at`.
    unsafe { table.get_unchecked_mut(index) }
}

/// The pose in which every threat starts: the first pick, from (up, down, left, right), is always up.
pub(super) const FIRST_DIRECTION: Direction = Direction::Up;
/// The seed after that pick.
pub(super) const FIRST_SEED: u16 = 1;

/// Idle rounds within what a hawk can have counted.
pub(super) fn clamp_idle_rounds(rounds: i8) -> i8 {
    rounds.clamp(HAWK_REST_MOVES, HAWK_PATIENCE_MOVES)
}
