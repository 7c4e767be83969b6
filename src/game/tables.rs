//! The lookup tables of a world. A *pose* is a tile and a direction: `tile * 4 + direction`.

use std::cmp::Reverse;
use std::sync::Arc;

use super::memory::Memory;
use super::picks::{Numbers, TWELFTHS};
use super::routes::{ROUTE_BYTES, Routes, first_nearer, for_each_visible};
use super::{Direction, Layout, Move, Mover, Position, Rules, StreetGraph};

/// The maximum number of open tiles on a map, including see-through tiles: 64 x 64. At this limit,
/// a pose takes 14 bits, and the routes table about 16 MiB.
pub const MAX_OPEN_TILES: usize = 4096;
/// The maximum number of threats on a map. The competition's maps have at most eight.
pub const MAX_THREATS: usize = 64;

pub(super) const NONE: u16 = u16::MAX;

pub(super) const DIRECTIONS: usize = 4;
/// The number of bearings: eight octants and the eight rays between them, after the bearing of an
/// offset of 0.
const BEARINGS: usize = 17;
/// Entries per pose in a table indexed by a pose and a bearing.
pub(super) const BEARING_ROW: usize = 32;
/// In an entry of [`Tables::bearings`]: the target is within the shy distance.
pub(super) const SHY: u8 = 1 << 7;

/// The player's previous position in the first tick: off the grid. Its tile is [`Tables::nowhere`].
pub(super) const NOWHERE: Position = Position::new(-1, -1);

pub(super) const fn pose(tile: u16, direction: Direction) -> u16 {
    tile * DIRECTIONS as u16 + direction as u16
}

/// The tables of the streets, and below them those that also depend on the rules. A copy of a
/// world, or a world rebuilt from it, shares those that are the same.
#[derive(Clone, Debug)]
pub(super) struct Tables {
    pub graph: StreetGraph,
    /// The player's tile after each [`Move`]; then one bit per move, set if the move is possible. The
    /// last two entries are not used.
    pub player_next: Arc<[[u16; 8]]>,
    /// For each pose, the pose after a step straight on; [`NONE`] if the way is blocked.
    pub straight: Arc<[u16]>,
    pub routes: Arc<Routes>,
    /// `2 * width * y + x` of each tile and, last, of [`NOWHERE`]. The difference of two entries
    /// identifies the offset between the positions.
    pub places: Arc<[i32]>,
    /// The tiles with at least three options that are not on the map's edge. Those from which the
    /// most tiles can be seen come first. Ties are broken by tile number.
    intersections: Arc<[u16]>,

    pub rules: Rules,
    pub numbers: Arc<Numbers>,
    pub first_direction: Direction,
    /// The pose after a random pick, at index `tile * 16 + twelfth` (see [`Numbers`]).
    pub random_option: Arc<[u16]>,
    /// The next pose on the shared path, or [`NONE`], at index `tile * 32 + route byte`.
    pub shared_step: Arc<[u16]>,
    /// The next pose on the shark path, or [`NONE`], at index `tile * 32 + route byte`.
    pub shark_step: Arc<[u16]>,
    /// The bearing of a target from a deer (0 to 16), with [`SHY`] within the shy distance, at index
    /// `places[target] - places[deer] + bearing_offset`.
    pub bearings: Arc<[u8]>,
    pub bearing_offset: i32,
    /// A deer's next pose, at index `pose * 32 + bearing`.
    pub deer_next: Arc<[u16]>,
}

impl Tables {
    /// Builds all tables. The layout must be within the limits.
    pub fn new(graph: StreetGraph, routes: Routes, rules: &Rules) -> Self {
        let mut straight = Vec::with_capacity(DIRECTIONS * graph.len());
        for (tile, ways) in (0..).zip(graph.neighbours(Mover::Threat)) {
            for (direction, &next) in Direction::ALL.into_iter().zip(ways) {
                straight.push(if next == tile { NONE } else { pose(next, direction) });
            }
        }
        let places = graph.positions().iter().chain(&[NOWHERE]).map(|&position| place(&graph, position));
        let mut tables = Self {
            player_next: player_next(&graph),
            straight: straight.into(),
            routes: Arc::new(routes),
            places: places.collect(),
            intersections: intersections(&graph),
            rules: *rules,
            numbers: Numbers::of(rules),
            first_direction: Direction::Up,
            random_option: Arc::default(),
            shared_step: Arc::default(),
            shark_step: Arc::default(),
            bearings: Arc::default(),
            bearing_offset: place(&graph, Position::new(graph.width(), graph.height())),
            deer_next: Arc::default(),
            graph,
        };
        tables.build(None);
        tables
    }

    pub fn set_rules(&mut self, rules: &Rules) {
        let old = std::mem::replace(&mut self.rules, *rules);
        self.build(Some(&old));
    }

    /// Builds the tables that depend on a rule that differs from `old`.
    fn build(&mut self, old: Option<&Rules>) {
        let rules = self.rules;
        if old.is_none_or(|old| (old.first_seed, old.pick_scale) != (rules.first_seed, rules.pick_scale)) {
            self.numbers = Numbers::of(&rules);
        }
        let first_direction = rules.spawn_order[self.numbers.pick(0, DIRECTIONS)];
        let old_direction = std::mem::replace(&mut self.first_direction, first_direction);
        let is_other_order = old.is_none_or(|old| old.option_order != rules.option_order);
        if is_other_order || old_direction != first_direction {
            self.random_option = self.random_options();
        }
        if is_other_order {
            self.deer_next = self.deer_steps();
        }
        if old.is_none_or(|old| old.shared_path_order != rules.shared_path_order) {
            self.shared_step = self.path_steps(rules.shared_path_order);
        }
        if old.is_none_or(|old| old.shark_path_order != rules.shark_path_order) {
            self.shark_step = self.path_steps(rules.shark_path_order);
        }
        if old.is_none_or(|old| old.deer_shy_distance_squared != rules.deer_shy_distance_squared) {
            self.bearings = self.find_bearings();
        }
    }

    /// Rebuilds the player's tables for a layout with the same walls.
    pub fn set_layout(&mut self, layout: &Layout) {
        self.graph = self.graph.with_player_ways(layout);
        self.player_next = player_next(&self.graph);
    }

    pub fn len(&self) -> usize {
        self.player_next.len()
    }

    #[inline(always)]
    pub fn nowhere(&self) -> u16 {
        self.player_next.len() as u16
    }

    /// A random pick without options results in the tile itself and `first_direction`.
    fn random_options(&self) -> Arc<[u16]> {
        let mut poses = Vec::with_capacity(self.len() * TWELFTHS);
        for (tile, straight) in (0..).zip(self.straight.as_chunks::<DIRECTIONS>().0) {
            let (mut options, mut count) = ([pose(tile, self.first_direction); DIRECTIONS], 0);
            for direction in self.rules.option_order {
                if straight[direction as usize] != NONE {
                    options[count] = straight[direction as usize];
                    count += 1;
                }
            }
            poses.extend((0..TWELFTHS).map(|twelfth| options[twelfth * count / 12 % DIRECTIONS]));
        }
        poses.into()
    }

    fn path_steps(&self, order: [Direction; 4]) -> Arc<[u16]> {
        let choices: [u8; ROUTE_BYTES] = std::array::from_fn(|byte| first_choice(byte as u8, order));
        let mut poses = Vec::with_capacity(self.len() * ROUTE_BYTES);
        for straight in self.straight.as_chunks::<DIRECTIONS>().0 {
            let next = step_or(straight, NONE);
            poses.extend(choices.iter().map(|&choice| next[usize::from(choice % 8)]));
        }
        poses.into()
    }

    fn find_bearings(&self) -> Arc<[u8]> {
        let (width, height) = (self.graph.width(), self.graph.height());
        let mut bearings = Vec::with_capacity((4 * width * height) as usize);
        for dy in -height..height {
            bearings.extend((-width..width).map(|dx| {
                let is_shy = squared_length((dx, dy)) <= self.rules.deer_shy_distance_squared.into();
                bearing((dx, dy)) | if is_shy { SHY } else { 0 }
            }));
        }
        bearings.into()
    }

    /// For the neighbour in direction `d` and a target at offset `t`, the squared distance is
    /// `|t|^2 - 2 t.d + 1`, so the ranking of the neighbours depends only on the target's bearing.
    fn deer_steps(&self) -> Arc<[u16]> {
        let rankings = BEARING_OFFSETS.map(|(dx, dy)| {
            let mut ranking = self.rules.option_order;
            ranking.sort_by_key(|direction| -(dx * direction.delta().0 + dy * direction.delta().1));
            ranking
        });
        let mut choices = [[0; BEARINGS]; 16];
        for (options, choices) in (0..).zip(&mut choices) {
            choices.iter_mut().zip(rankings).for_each(|(choice, ranking)| *choice = first_choice(options, ranking));
        }
        let mut poses = vec![NONE; self.straight.len() * BEARING_ROW];
        let mut rows = poses.chunks_exact_mut(BEARING_ROW);
        for (tile, straight) in (0..).zip(self.straight.as_chunks::<DIRECTIONS>().0) {
            let options =
                (0..DIRECTIONS).fold(0, |bits, option| bits | usize::from(straight[option] != NONE) << option);
            for (facing, row) in Direction::ALL.into_iter().zip(rows.by_ref()) {
                // A deer does not turn back if it has several options.
                let back = if options.is_power_of_two() { 0 } else { 1 << facing.reverse() as usize };
                let next = step_or(straight, pose(tile, facing));
                for (step, &choice) in row.iter_mut().zip(&choices[options & !back]) {
                    *step = next[usize::from(choice % 8)];
                }
            }
        }
        poses.into()
    }

    /// A deer's next pose with a target at `offset`.
    pub fn deer_step(&self, pose: u16, offset: (i32, i32)) -> u16 {
        self.deer_next[usize::from(pose) * BEARING_ROW + usize::from(bearing(offset))]
    }

    /// At most [`Rules::hawk_posts`] intersections, best first.
    pub fn best_intersections(&self) -> &[u16] {
        &self.intersections[..self.intersections.len().min(self.rules.hawk_posts.into())]
    }

    /// The memory of a hawk after it picks a post.
    pub fn hawk_post(&self, draws: u16) -> Memory {
        let posts = self.best_intersections();
        let post = posts.get(self.numbers.pick(draws, posts.len()));
        post.map_or(Memory::of_player(self.nowhere()), |&post| Memory::of_post(post))
    }

    pub fn route(&self, target: u16, tile: u16) -> u8 {
        self.routes.table[usize::from(tile) * self.routes.row + usize::from(target)]
    }
}

/// The first direction in `order` among the options; 4 if there are none.
fn first_choice(options: u8, order: [Direction; 4]) -> u8 {
    first_nearer(options, order).map_or(4, |direction| direction as u8)
}

/// The poses for each result of [`first_choice`], with `other` if there are no options.
fn step_or(&[left, right, up, down]: &[u16; DIRECTIONS], other: u16) -> [u16; 8] {
    [left, right, up, down, other, other, other, other]
}

fn player_next(graph: &StreetGraph) -> Arc<[[u16; 8]]> {
    let next = |(tile, &[left, right, up, down]): (u16, &[u16; 4])| {
        let ways = graph.ways(Mover::Player, tile);
        let possible = ways.fold(1 << Move::Stay as u16, |bits, (direction, _)| bits | 1 << direction as u16);
        [left, right, up, down, tile, possible, 0, 0]
    };
    (0..).zip(graph.neighbours(Mover::Player)).map(next).collect()
}

fn intersections(graph: &StreetGraph) -> Arc<[u16]> {
    let is_intersection = |&tile: &u16| {
        let Position { x, y } = graph.position(tile);
        let is_inner = x >= 1 && x <= graph.width() - 2 && y >= 1 && y <= graph.height() - 2;
        is_inner && graph.ways(Mover::Threat, tile).count() >= 3
    };
    let mut ranked: Vec<u16> = (0..graph.len() as u16).filter(is_intersection).collect();
    ranked.sort_by_cached_key(|&tile| {
        // Unlike the server, counts a tile in its own view, which does not change the ranking.
        let mut visible = 0;
        for_each_visible(graph, tile.into(), |_| visible += 1);
        Reverse(visible)
    });
    ranked.into()
}

/// See [`Tables::places`].
pub(super) fn place(graph: &StreetGraph, position: Position) -> i32 {
    2 * graph.width() * position.y + position.x
}

/// Computed in 64 bits, because 32 bits could overflow on very long maps.
pub(super) fn squared_length((dx, dy): (i32, i32)) -> i64 {
    let (dx, dy) = (i64::from(dx), i64::from(dy));
    dx * dx + dy * dy
}

/// An offset with each bearing: from 1, odd on the rays at multiples of 45°, even in the octants
/// between them.
#[rustfmt::skip]
const BEARING_OFFSETS: [(i32, i32); BEARINGS] = [
    (0, 0), (1, 0), (2, 1), (1, 1), (1, 2), (0, 1), (-1, 2), (-1, 1), (-2, 1), (-1, 0), (-2, -1), (-1, -1), (-1, -2),
    (0, -1), (1, -2), (1, -1), (2, -1),
];

fn bearing((dx, dy): (i32, i32)) -> u8 {
    /// The bearings by the signs of `dx`, `dy` and `|dx| - |dy|`.
    const BY_SIGNS: [u8; 27] = {
        let (mut table, mut bearing) = ([0; 27], 0);
        while bearing < BEARINGS {
            table[signs(BEARING_OFFSETS[bearing])] = bearing as u8;
            bearing += 1;
        }
        table
    };
    BY_SIGNS[signs((dx, dy))]
}

const fn signs((dx, dy): (i32, i32)) -> usize {
    (9 * dx.signum() + 3 * dy.signum() + (dx.abs() - dy.abs()).signum() + 13) as usize
}
