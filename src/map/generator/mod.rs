//! Maps that are made: braided mazes and city blocks.
//!
//! The promise: the same options and seed give the same map, to the byte, on every machine; all open tiles hang
//! together; no threat starts within 5 steps of the player; and the limits of a map that is read hold too.
//!
//! Hence only whole numbers are drawn, by a generator and in ways that are written down here or in its paper, and
//! nothing depends on the order of a hash map.

use std::fmt;

use rand_pcg::Pcg32;
use rand_pcg::rand_core::Rng;
use thiserror::Error;

use crate::game::{BreadthFirst, Direction, Layout, Mover, Position, Spawn, StreetGraph, Style, Tile};

use super::Map;
use super::image::{LayoutError, MAX_SIDE, check_limits};

mod city;
mod maze;

/// A threat starts at least this many steps from the player: never within 5.
pub const MIN_PLAYER_DISTANCE: u16 = 6;

/// The smallest side: the ring of streets along the walls of a 7x7 map has tiles more than 5 steps apart.
const MIN_SIDE: i32 = 7;
/// Streets take about a quarter of the thinnest city, so anything larger is over the limit on open tiles anyway.
const MAX_AREA: i32 = 4 * super::MAX_OPEN_TILES as i32;

/// What the streets are like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GeneratorKind {
    /// A maze with many branches, of which dead ends are then opened. Both sides are odd.
    Maze,
    /// A maze of long corridors: few loops, and hard. Both sides are odd.
    Labyrinth,
    /// Streets around blocks of houses, with a few plazas, missing streets and alleys.
    City,
}

impl GeneratorKind {
    /// The name on the command line and in the names of maps.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Maze => "maze",
            Self::Labyrinth => "labyrinth",
            Self::City => "city",
        }
    }
}

impl fmt::Display for GeneratorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What to make.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GeneratorOptions {
    /// Mazes or cities.
    pub kind: GeneratorKind,
    /// Columns, the walls at the edge included.
    pub width: i32,
    /// Rows, the walls at the edge included.
    pub height: i32,
    /// Number of threats.
    pub threats: usize,
    /// Their mix: a deck that is shuffled, dealt to the threats and shuffled again when it is used up. A style that
    /// is in it twice comes twice as often.
    pub styles: Vec<Style>,
    /// Share of the dead ends that are removed, in thousandths.
    pub braid_permille: u32,
}

impl Default for GeneratorOptions {
    /// A fully braided maze of 21x17 with 6 threats of any style.
    fn default() -> Self {
        Self {
            kind: GeneratorKind::Maze,
            width: 21,
            height: 17,
            threats: 6,
            styles: Style::ALL.to_vec(),
            braid_permille: 1000,
        }
    }
}

/// Why no map can be made with these options.
#[derive(Debug, Error)]
pub enum GeneratorError {
    /// Below the smallest or above the largest size.
    #[error(
        "a size of {width}x{height} is out of range: expected {MIN_SIDE} to {MAX_SIDE} a side, at most {MAX_AREA} tiles in all"
    )]
    Size {
        /// Columns asked for.
        width: i32,
        /// Rows asked for.
        height: i32,
    },
    /// A maze alternates walls and streets.
    #[error("a maze cannot be {width}x{height}: expected odd numbers")]
    EvenMaze {
        /// Columns asked for.
        width: i32,
        /// Rows asked for.
        height: i32,
    },
    /// More than everything.
    #[error("a braid of {permille} thousandths is out of range: expected 0 to 1000")]
    Braid {
        /// The share asked for.
        permille: u32,
    },
    /// Threats, but nothing for them to be.
    #[error("no styles to choose from: expected at least one for {threats} threats")]
    NoStyles {
        /// Threats asked for.
        threats: usize,
    },
    /// Wherever the player starts, too few tiles are far enough away.
    #[error(
        "{width}x{height} has no room for {threats} threats at least {MIN_PLAYER_DISTANCE} steps from the player: \
         expected a larger size or fewer threats"
    )]
    NoRoom {
        /// Columns asked for.
        width: i32,
        /// Rows asked for.
        height: i32,
        /// Threats asked for.
        threats: usize,
    },
    /// The limits that hold for every map.
    #[error(transparent)]
    Limits(#[from] LayoutError),
}

/// Makes a map: the first of those that this seed gives.
pub fn generate(options: &GeneratorOptions, seed: u64) -> Result<Map, GeneratorError> {
    generate_nth(options, seed, 0)
}

/// Makes one of the maps that this seed gives, by its number, without making those before it. The map's name says how
/// to make it again, but for threats and braid.
pub fn generate_nth(options: &GeneratorOptions, seed: u64, index: u64) -> Result<Map, GeneratorError> {
    check_options(options)?;
    let mut dice = Dice::new(seed, index);
    let streets = match options.kind {
        GeneratorKind::Maze => maze::carve_maze(options, &mut dice),
        GeneratorKind::Labyrinth => maze::carve_labyrinth(options, &mut dice),
        GeneratorKind::City => city::carve(options, &mut dice),
    };
    let layout = populate(streets, options, &mut dice)?;
    check_limits(&layout)?;
    Ok(Map {
        name: format!("{}-{}x{}-s{seed}-{index:04}", options.kind, options.width, options.height),
        kind: "challenge".to_owned(),
        difficulty: difficulty(&layout).to_owned(),
        layout,
    })
}

fn check_options(options: &GeneratorOptions) -> Result<(), GeneratorError> {
    let GeneratorOptions { width, height, threats, braid_permille: permille, .. } = *options;
    let sides = MIN_SIDE..=MAX_SIDE as i32;
    if !sides.contains(&width) || !sides.contains(&height) || width * height > MAX_AREA {
        return Err(GeneratorError::Size { width, height });
    }
    if options.kind != GeneratorKind::City && (width % 2 == 0 || height % 2 == 0) {
        return Err(GeneratorError::EvenMaze { width, height });
    }
    if permille > 1000 {
        return Err(GeneratorError::Braid { permille });
    }
    if threats > super::MAX_THREATS {
        return Err(LayoutError::TooManyThreats { threats }.into());
    }
    if threats > 0 && options.styles.is_empty() {
        return Err(GeneratorError::NoStyles { threats });
    }
    Ok(())
}

/// How hard a map looks: our own guess, by the room there is for each threat.
fn difficulty(layout: &Layout) -> &'static str {
    let open_tiles = layout.tiles.iter().filter(|tile| tile.is_open()).count();
    match open_tiles / layout.threats.len().max(1) {
        0..20 => "hard",
        20..40 => "medium",
        _ => "easy",
    }
}

/// Puts the player on a tile with enough room around him, then the threats on tiles far enough away.
fn populate(streets: Streets, options: &GeneratorOptions, dice: &mut Dice) -> Result<Layout, GeneratorError> {
    let GeneratorOptions { width, height, threats, .. } = *options;
    let mut starts = streets.open_positions();
    // Before the searches below, which take the square of this number.
    if starts.len() > super::MAX_OPEN_TILES {
        return Err(LayoutError::TooManyOpenTiles { open_tiles: starts.len() }.into());
    }
    dice.shuffle(&mut starts);
    let mut layout = streets.layout();
    let graph = StreetGraph::new(&layout);
    let room = starts.into_iter().find_map(|player| {
        let far = positions_from(&graph, player, MIN_PLAYER_DISTANCE);
        (far.len() >= threats).then_some((player, far))
    });
    let Some((player, mut far)) = room else {
        return Err(GeneratorError::NoRoom { width, height, threats });
    };
    dice.shuffle(&mut far);
    far.truncate(threats);
    // The order of the server: row by row.
    far.sort_by_key(|position| (position.y, position.x));

    let styles = deal_styles(&options.styles, threats, dice);
    layout.player = player;
    layout.threats = far.into_iter().zip(styles).map(|(position, style)| Spawn { style, position }).collect();
    Ok(layout)
}

fn deal_styles(deck: &[Style], count: usize, dice: &mut Dice) -> Vec<Style> {
    let mut dealt = Vec::with_capacity(count + deck.len());
    while dealt.len() < count {
        let mut round = deck.to_vec();
        dice.shuffle(&mut round);
        dealt.extend(round);
    }
    dealt.truncate(count);
    dealt
}

/// Walls everywhere, and the streets that are cut into them.
struct Streets {
    width: i32,
    height: i32,
    open: Vec<bool>,
}

impl Streets {
    fn new(width: i32, height: i32) -> Self {
        Self { width, height, open: vec![false; (width * height) as usize] }
    }

    fn index(&self, position: Position) -> Option<usize> {
        let Position { x, y } = position;
        let is_on_grid = x >= 0 && y >= 0 && x < self.width && y < self.height;
        is_on_grid.then(|| (y * self.width + x) as usize)
    }

    fn is_open(&self, position: Position) -> bool {
        self.index(position).is_some_and(|index| self.open[index])
    }

    fn set(&mut self, position: Position, open: bool) {
        if let Some(index) = self.index(position) {
            self.open[index] = open;
        }
    }

    /// The streets alone, without threats and with a player that is still to be placed.
    fn layout(&self) -> Layout {
        let tiles = self.open.iter().map(|&open| if open { Tile::Open } else { Tile::Wall }).collect();
        let (width, height) = (self.width, self.height);
        Layout { width, height, tiles, player: Position::new(0, 0), threats: Vec::new() }
    }

    /// Open tiles row by row.
    fn open_positions(&self) -> Vec<Position> {
        (0..self.height)
            .flat_map(|y| (0..self.width).map(move |x| Position::new(x, y)))
            .filter(|&position| self.is_open(position))
            .collect()
    }

    fn open_neighbours(&self, position: Position) -> usize {
        Direction::ALL.into_iter().filter(|&direction| self.is_open(position.towards(direction))).count()
    }
}

/// The tiles that are at least `distance` steps away, nearest first.
fn positions_from(graph: &StreetGraph, start: Position, distance: u16) -> Vec<Position> {
    let (mut search, mut steps) = (BreadthFirst::default(), Vec::new());
    let sources = graph.tile(start).map(|tile| (tile, 0));
    let reached = search.fill(graph, Mover::Player, sources, &mut steps, |_, _| true);
    let far = reached.iter().filter(|&&tile| steps[usize::from(tile)] >= distance);
    far.map(|&tile| graph.position(tile)).collect()
}

/// The random numbers of one map: the stream `index` of the generator PCG32 (O'Neill, *PCG: A Family of Simple Fast
/// Space-Efficient Statistically Good Algorithms for Random Number Generation*, 2014) at `seed`.
///
/// Drawing from a range and shuffling are spelled out here because a crate may change its way with a new version.
struct Dice {
    rng: Pcg32,
}

impl Dice {
    fn new(seed: u64, index: u64) -> Self {
        let mut rng = Pcg32::new(seed, index);
        // Streams of neighbouring numbers start alike.
        for _ in 0..16 {
            rng.next_u32();
        }
        Self { rng }
    }

    /// A number from 0 to `count - 1`; 0 when `count` is 0. The bias of the product is below 1 in a million here.
    fn below(&mut self, count: usize) -> usize {
        ((u64::from(self.rng.next_u32()) * count as u64) >> 32) as usize
    }

    /// A number from `low` to `high`, both included.
    fn between(&mut self, low: i32, high: i32) -> i32 {
        low + self.below((high - low + 1) as usize) as i32
    }

    fn one_in(&mut self, count: usize) -> bool {
        self.below(count) == 0
    }

    /// Fisher and Yates, from the back.
    fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }
}
