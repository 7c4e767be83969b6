//! The lookup tables of a world. A *pose* is a tile and a direction: `tile * 4 + direction`.

use super::memory::Memory;
use super::picks::{DRAWS, Numbers, TWELFTHS};
use super::routes::{self, ROUTE_BYTES, RouteBuilder};
use super::{Direction, Layout, Mover, Position, Rules, StreetGraph, View};

/// The maximum number of open tiles on a map, including see-through tiles: 64 x 64. At this limit,
/// a pose takes 14 bits, and the routes table about 16 MiB.
pub const MAX_OPEN_TILES: usize = 4096;
/// The maximum number of threats on a map. The competition's maps have at most eight.
pub const MAX_THREATS: usize = 64;

pub(super) const NONE: u16 = u16::MAX;

pub(super) const DIRECTIONS: usize = 4;
/// The number of bearings: eight octants and the eight rays between them.
const BEARINGS: usize = 16;

/// The player's previous position in the first tick: off the grid. Its tile is [`Tables::nowhere`].
pub(super) const NOWHERE: Position = Position::new(-1, -1);

pub(super) const fn pose(tile: u16, direction: Direction) -> u16 {
    tile * DIRECTIONS as u16 + direction as u16
}

#[derive(Clone, Copy, Debug)]
pub(super) struct ThreatRules {
    pub deer_view: View,
    pub shark_view: View,
    pub owl_view: View,
    pub hawk_view: View,
    pub hawk_patience_moves: i8,
    pub hawk_rest_moves: i8,
}

impl ThreatRules {
    pub const fn new(rules: &Rules) -> Self {
        Self {
            deer_view: rules.deer_view,
            shark_view: rules.shark_view,
            owl_view: rules.owl_view,
            hawk_view: rules.hawk_view,
            hawk_patience_moves: rules.hawk_patience_moves as i8,
            hawk_rest_moves: rules.hawk_rest_moves as i8,
        }
    }

    pub fn clamp_idle_rounds(&self, rounds: i8) -> i8 {
        rounds.clamp(-self.hawk_rest_moves, self.hawk_patience_moves)
    }
}

#[derive(Clone, Debug)]
pub(super) struct Tables {
    pub graph: StreetGraph,
    pub rules: ThreatRules,
    option_order: [Direction; 4],
    shared_path_order: [Direction; 4],
    shark_path_order: [Direction; 4],
    deer_shy_distance_squared: i64,
    /// For each tile, the directions open to the player, from bit 0 (left) to bit 3 (down).
    pub player_exits: Vec<u8>,
    /// The player's tile after a move, at index `tile * 8 + move`.
    pub player_next: Vec<u16>,
    /// For each pose, the pose after a step straight on; [`NONE`] if the way is blocked.
    pub straight: Vec<u16>,
    /// The pose after a random pick, at index `tile * 16 + twelfth` (see `twelfths`).
    pub random_option: Vec<u16>,
    /// The route byte (see [`routes`]) at index `target * tiles + tile`. The row of
    /// [`Tables::nowhere`] holds zeros.
    pub routes: Vec<u8>,
    /// For each tile, the number of tiles that it sees, including itself.
    pub views: Vec<u16>,
    /// The next pose on the shared path, or [`NONE`], at index `tile * 32 + route byte`.
    pub shared_step: Vec<u16>,
    /// The next pose on the shark path, or [`NONE`], at index `tile * 32 + route byte`.
    pub shark_step: Vec<u16>,
    /// `2 * width * y + x` of each tile and, last, of [`NOWHERE`]. The difference of two entries
    /// identifies the offset between the positions.
    pub places: Vec<i32>,
    /// The bearing of a target from a deer (1 to 16), or 0 within the shy distance, at index
    /// `places[target] - places[deer] + bearing_offset`.
    pub bearings: Vec<u8>,
    pub bearing_offset: i32,
    /// A deer's next pose, at index `row * poses + pose`. Rows 1 to 16 are for bearings, and later
    /// rows for the spawns of deer.
    pub deer_next: Vec<u16>,
    /// For each number of earlier draws, the next random number times 12, rounded down (0 to 11).
    pub twelfths: Box<[u8; DRAWS]>,
    /// At most `hawk_posts` intersections: those from which the most tiles can be seen, best first.
    /// Ties are broken by tile number.
    pub best_intersections: Vec<u16>,
    /// For each number of earlier draws, the memory of a hawk after its next pick.
    pub hawk_posts: Box<[Memory; DRAWS]>,
}

impl Tables {
    /// Builds the tables that do not depend on the routes. The layout must be within the limits.
    pub fn new(layout: &Layout, rules: &Rules, numbers: &Numbers) -> Self {
        let mut tables = Self {
            graph: StreetGraph::new(layout),
            rules: ThreatRules::new(rules),
            option_order: rules.option_order,
            shared_path_order: rules.shared_path_order,
            shark_path_order: rules.shark_path_order,
            deer_shy_distance_squared: rules.deer_shy_distance_squared.into(),
            player_exits: Vec::new(),
            player_next: Vec::new(),
            straight: Vec::new(),
            random_option: Vec::new(),
            routes: Vec::new(),
            views: Vec::new(),
            shared_step: Vec::new(),
            shark_step: Vec::new(),
            places: Vec::new(),
            bearings: Vec::new(),
            bearing_offset: 0,
            deer_next: Vec::new(),
            twelfths: numbers.twelfths(),
            best_intersections: Vec::new(),
            hawk_posts: Box::new([Memory::of_player(0); DRAWS]),
        };
        tables.build_player_tables();
        tables.build_step_tables(numbers.first_direction(rules));
        tables.build_deer_tables();
        tables
    }

    pub fn finish(&mut self, routes: RouteBuilder, rules: &Rules, numbers: &Numbers) {
        (self.routes, self.views) = routes.into_tables();
        self.best_intersections = self.rank_intersections(rules.hawk_posts.into());
        self.build_hawk_posts(numbers);
    }

    pub fn len(&self) -> usize {
        self.graph.len()
    }

    #[inline(always)]
    pub fn nowhere(&self) -> u16 {
        self.graph.len() as u16
    }

    pub fn neighbours(&self) -> &[[u16; 4]] {
        self.graph.neighbours(Mover::Threat)
    }

    pub fn options(&self, tile: u16) -> impl Iterator<Item = Direction> + '_ {
        self.option_order.into_iter().filter(move |&direction| self.ahead(tile, direction).is_some())
    }

    fn option_bits(&self, tile: u16) -> u8 {
        self.options(tile).fold(0, |bits, direction| bits | 1 << direction as u8)
    }

    fn ahead(&self, tile: u16, direction: Direction) -> Option<u16> {
        let next = self.neighbours()[usize::from(tile)][direction as usize];
        (next != tile).then(|| pose(next, direction))
    }

    /// Rebuilds the player's tables for a layout with the same walls.
    pub fn set_layout(&mut self, layout: &Layout) {
        self.graph.set_player_ways(layout);
        self.build_player_tables();
    }

    fn build_player_tables(&mut self) {
        self.player_exits.clear();
        self.player_next.clear();
        for (tile, neighbours) in (0..).zip(self.graph.neighbours(Mover::Player)) {
            let mut next = [tile; 8];
            next[..DIRECTIONS].copy_from_slice(neighbours);
            let exits = self.graph.ways(Mover::Player, tile);
            self.player_exits.push(exits.fold(0, |bits, (direction, _)| bits | 1 << direction as u8));
            self.player_next.extend(next);
        }
    }

    /// Builds the tables of single steps. A random pick without options results in the tile itself
    /// and `first_direction`.
    fn build_step_tables(&mut self, first_direction: Direction) {
        let directions = |order: [Direction; 4]| -> [Option<Direction>; ROUTE_BYTES] {
            std::array::from_fn(|byte| routes::first_nearer(byte as u8, order))
        };
        let (shared_path, shark_path) = (directions(self.shared_path_order), directions(self.shark_path_order));
        for tile in 0..self.len() as u16 {
            let options: Vec<Direction> = self.options(tile).collect();
            let straight = Direction::ALL.map(|direction| self.ahead(tile, direction).unwrap_or(NONE));
            let step = |direction: Option<Direction>| direction.map_or(NONE, |direction| straight[direction as usize]);
            let random: [u16; TWELFTHS] = std::array::from_fn(|twelfth| match options.len() {
                0 => pose(tile, first_direction),
                len => step(options.get(twelfth * len / 12).copied()),
            });
            self.straight.extend(straight);
            self.random_option.extend(random);
            self.shared_step.extend(shared_path.map(step));
            self.shark_step.extend(shark_path.map(step));
        }
    }

    fn stride(&self) -> i32 {
        2 * self.graph.width()
    }

    fn place(&self, position: Position) -> i32 {
        position.y * self.stride() + position.x
    }

    /// For the neighbour in direction `d` and a target at offset `t`, the squared distance is
    /// `|t|^2 - 2 t.d + 1`, so the ranking of the neighbours depends only on the target's bearing.
    fn build_deer_tables(&mut self) {
        let stride = self.stride();
        let (width, height) = (self.graph.width(), self.graph.height());
        let nowhere = [NOWHERE];
        self.places = self.graph.positions().iter().chain(&nowhere).map(|&position| self.place(position)).collect();
        self.bearing_offset = height * stride + width;
        self.bearings = vec![0; (2 * height * stride) as usize];
        let row_length = DIRECTIONS * self.len();
        self.deer_next = vec![NONE; (1 + BEARINGS) * row_length];
        let options: Vec<u8> = (0..self.len() as u16).map(|tile| self.option_bits(tile)).collect();
        let mut known = [false; 1 + BEARINGS];
        for dy in -height..height {
            for dx in -width..width {
                if squared_length((dx, dy)) > self.deer_shy_distance_squared {
                    let bearing = bearing(dx, dy);
                    self.bearings[(dy * stride + dx + self.bearing_offset) as usize] = bearing;
                    if !std::mem::replace(&mut known[usize::from(bearing)], true) {
                        let choices: [_; 16] =
                            std::array::from_fn(|options| deer_choices(options as u8, self.option_order, (dx, dy)));
                        let row = &mut self.deer_next[usize::from(bearing) * row_length..][..row_length];
                        for (tile, (steps, &options)) in row.chunks_exact_mut(DIRECTIONS).zip(&options).enumerate() {
                            steps.copy_from_slice(&deer_poses(
                                &self.graph.neighbours(Mover::Threat)[tile],
                                tile as u16,
                                &choices[usize::from(options)],
                            ));
                        }
                    }
                }
            }
        }
    }

    /// For each direction that a deer on `tile` may face, its next pose with a target at `offset`.
    pub fn deer_steps(&self, tile: u16, offset: (i32, i32)) -> [u16; DIRECTIONS] {
        deer_poses(
            &self.neighbours()[usize::from(tile)],
            tile,
            &deer_choices(self.option_bits(tile), self.option_order, offset),
        )
    }

    /// Adds a row to `deer_next` for a deer with this spawn. Returns the row's index.
    pub fn add_deer_home(&mut self, spawn: Position) -> u16 {
        let row_length = DIRECTIONS * self.len();
        let place = self.place(spawn);
        for (tile, &position) in self.graph.positions().iter().enumerate() {
            let bearing = self.bearings[(place - self.places[tile] + self.bearing_offset) as usize];
            let steps = match usize::from(bearing) {
                0 => self.deer_steps(tile as u16, (spawn.x - position.x, spawn.y - position.y)),
                bearing => {
                    let known = &self.deer_next[bearing * row_length + DIRECTIONS * tile..];
                    [known[0], known[1], known[2], known[3]]
                }
            };
            self.deer_next.extend(steps);
        }
        (self.deer_next.len() / row_length - 1) as u16
    }

    pub fn clear_deer_homes(&mut self) {
        self.deer_next.truncate((1 + BEARINGS) * self.straight.len());
    }

    fn build_hawk_posts(&mut self, numbers: &Numbers) {
        let posts = &self.best_intersections;
        let nowhere = Memory::of_player(self.graph.len() as u16);
        for (memory, pick) in self.hawk_posts.iter_mut().zip(numbers.picks(posts.len())) {
            *memory = posts.get(pick).map_or(nowhere, |&post| Memory::of_post(post));
        }
    }

    /// Unlike the server, counts a tile in its own view, which does not change the ranking.
    fn rank_intersections(&self, posts_max: usize) -> Vec<u16> {
        let (width, height) = (self.graph.width(), self.graph.height());
        let is_inner = |p: Position| p.x >= 1 && p.x <= width - 2 && p.y >= 1 && p.y <= height - 2;
        let mut ranked: Vec<u16> = (0..self.len() as u16)
            .filter(|&tile| is_inner(self.graph.position(tile)) && self.options(tile).count() >= 3)
            .collect();
        ranked.sort_by_key(|&tile| std::cmp::Reverse(self.views[usize::from(tile)]));
        ranked.truncate(posts_max);
        ranked
    }

    pub fn route(&self, target: u16, tile: u16) -> u8 {
        self.routes[usize::from(target) * self.len() + usize::from(tile)]
    }
}

/// Computed in 64 bits, because 32 bits could overflow on very long maps.
pub(super) fn squared_length((dx, dy): (i32, i32)) -> i64 {
    let (dx, dy) = (i64::from(dx), i64::from(dy));
    dx * dx + dy * dy
}

/// For each direction that a deer may face, the option that it takes; `None` if it has no options.
/// If it has several, it does not turn back, and takes the option nearest to the target. The first
/// in `order` wins ties.
fn deer_choices(options: u8, order: [Direction; 4], (dx, dy): (i32, i32)) -> [Option<Direction>; DIRECTIONS] {
    let is_open = |direction: &Direction| options >> *direction as u8 & 1 == 1;
    let only = if options.count_ones() == 1 { Direction::ALL.into_iter().find(is_open) } else { None };
    let distance_squared = |direction: &Direction| {
        let (sx, sy) = direction.delta();
        squared_length((dx - sx, dy - sy))
    };
    Direction::ALL.map(|facing| {
        let forward = order.into_iter().filter(|&direction| direction != facing.reverse() && is_open(&direction));
        only.or_else(|| forward.min_by_key(distance_squared))
    })
}

fn deer_poses(neighbours: &[u16; 4], tile: u16, choices: &[Option<Direction>; DIRECTIONS]) -> [u16; DIRECTIONS] {
    Direction::ALL.map(|facing| match choices[facing as usize] {
        Some(direction) => pose(neighbours[direction as usize], direction),
        None => pose(tile, facing),
    })
}

/// Returns 1 to 16: odd on the rays at multiples of 45°, even in the octants between them.
fn bearing(dx: i32, dy: i32) -> u8 {
    let (across, along) = (dx.abs(), dy.abs());
    match (dx.signum(), dy.signum(), across.cmp(&along) as i8) {
        (1, 0, _) => 1,
        (1, 1, 1) => 2,
        (1, 1, 0) => 3,
        (1, 1, _) => 4,
        (0, 1, _) => 5,
        (-1, 1, -1) => 6,
        (-1, 1, 0) => 7,
        (-1, 1, _) => 8,
        (-1, 0, _) => 9,
        (-1, -1, 1) => 10,
        (-1, -1, 0) => 11,
        (-1, -1, _) => 12,
        (0, -1, _) => 13,
        (1, -1, -1) => 14,
        (1, -1, 0) => 15,
        (_, _, _) => 16,
    }
}
