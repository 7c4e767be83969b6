//! Observations: a game's state as numbers, in five forms of fixed size: compact, complete state,
//! image, window and features. If a map has fewer threats, rows or columns than the batch's
//! [`Shape`], the elements of missing threats are -1 in vectors, and missing tiles are walls in
//! planes.

use std::hint::black_box;
use std::sync::OnceLock;

use thiserror::Error;

use super::features::Features;
use super::values::{scaled_tick, ticks_until_move};
use crate::game::routes::NEARER;
use crate::game::{
    Direction, LAST_TICK, Move, Mover, PlacementError, Position, State, Style, Threat, Tile, UNREACHED, World,
};

impl Shape {
    /// The number of elements before the threats in a compact observation: the tick; the ticks until
    /// the threats move, 0 if they move in the next step; the player's x and y; and the clearances.
    pub const COMPACT_HEADER: usize = Self::CLEARANCE + Move::ALL.len();
    /// The index of the first *clearance* (one per move of [`Move::ALL`]): the steps along the streets
    /// from the nearest threat to the player's tile after the move; -1 if the move is blocked, and
    /// [`Self::FAR_STEPS`] if no threat can reach the tile.
    pub const CLEARANCE: usize = 4;
    /// Each threat, in map order, has this many elements: x, y, direction (0 to 3: left, right, up,
    /// down), style (index in `Style::ALL`), and steps to the player ([`Self::FAR_STEPS`] without a path).
    pub const COMPACT_THREAT: usize = 5;
    /// The number of elements before the threats in a complete state: the tick, the ticks since the
    /// threats' last move (or since the start), and the player's x and y.
    pub const STATE_HEADER: usize = 4;
    /// Each threat of a complete state, in map order, has this many elements: x, y, direction, style,
    /// draws, kind of remembered position (0: none, 1: a position of the player, 2: a hawk's post), x
    /// and y of the remembered position (-1 for none), and idle rounds. [`Threat`] defines draws and
    /// idle rounds.
    pub const STATE_THREAT: usize = 9;
    /// Number of planes of an image: tiles that the player may enter; tiles that threats may enter; the
    /// player; threats by style (six planes); threats by direction (four planes); a constant plane with
    /// the ticks until the threats move; and a constant plane with the tick, scaled to 0 to 255.
    pub const PLANES: usize = PLANE_TICK + 1;
}

const PLANE_PLAYER: usize = 2;
const PLANE_STYLES: usize = 3;
const PLANE_DIRECTIONS: usize = PLANE_STYLES + Style::ALL.len();
const PLANE_WAIT: usize = PLANE_DIRECTIONS + Direction::ALL.len();
const PLANE_TICK: usize = PLANE_WAIT + 1;

/// The dimensions of a batch's observations. All but `window` are maxima over the worlds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Columns.
    pub width: usize,
    /// Rows.
    pub height: usize,
    /// Threats.
    pub threats: usize,
    /// The side length of a window in tiles, an odd number.
    pub window: usize,
}

impl Shape {
    /// The smallest shape that fits all of these worlds, with [`Shape::WINDOW_SIDE`] as `window`.
    pub fn of<'a>(worlds: impl Iterator<Item = &'a World>) -> Self {
        let empty = Self { width: 0, height: 0, threats: 0, window: Shape::WINDOW_SIDE };
        worlds.fold(empty, |shape, world| Self {
            width: shape.width.max(world.layout().width as usize),
            height: shape.height.max(world.layout().height as usize),
            threats: shape.threats.max(world.threat_count()),
            ..shape
        })
    }

    /// The length of a compact observation: [`Shape::COMPACT_HEADER`], plus [`Shape::COMPACT_THREAT`] per threat.
    pub fn compact(self) -> usize {
        Shape::COMPACT_HEADER + Shape::COMPACT_THREAT * self.threats
    }

    /// The length of a complete state: [`Shape::STATE_HEADER`], plus [`Shape::STATE_THREAT`] for each threat.
    pub fn state(self) -> usize {
        Shape::STATE_HEADER + Shape::STATE_THREAT * self.threats
    }

    /// The numbers of planes, rows and columns of an image, which is stored plane by plane and row
    /// by row.
    pub fn planes(self) -> [usize; 3] {
        [Shape::PLANES, self.height, self.width]
    }

    /// The numbers of planes, rows and columns of a window, which is stored like an image.
    pub fn windows(self) -> [usize; 3] {
        [Shape::WINDOW_PLANES, self.window, self.window]
    }
}

/// The error for numbers that do not describe a state of a world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum NumbersError {
    /// There are too few numbers.
    #[error("{found} numbers: expected at least {expected}")]
    Length {
        /// The length of a state.
        expected: usize,
        /// The length given.
        found: usize,
    },
    /// A number is out of range, or contradicts the world or another number.
    #[error("{name} {found}: expected {expected}")]
    Range {
        /// The name of the number.
        name: &'static str,
        /// The allowed values.
        expected: &'static str,
        /// The number given.
        found: i16,
    },
    /// [`World::state_at`] rejects the numbers.
    #[error(transparent)]
    Placement(#[from] PlacementError),
}

/// A number for each move. Three unused elements pad the array to the size of a vector register.
type ByMove = [i16; 8];

/// In [`Observer::reaches`]: there is no path. No other pair of tiles has this number, because no
/// move leads nearer to a threat on the player's own tile.
const NO_PATH: u16 = NEARER as u16;

#[derive(Clone, Debug)]
pub(super) struct Observer {
    pub shape: Shape,
    pub places: Vec<[i16; 2]>,
    /// For each tile, -1 for the player's moves that are blocked, and 0 for the others.
    blocked: Vec<ByMove>,
    /// For each pair of a player's and a threat's tile, at index `player * tiles + threat`: the steps
    /// between them times 16, plus a bit for each move of the player that leads nearer to the threat;
    /// [`NO_PATH`] if there is no path. The number is an index into `steps`.
    reaches: Vec<u16>,
    /// For each number in `reaches`, the steps between player and threat after each move.
    steps: Vec<ByMove>,
    /// For each tick, the ticks until the threats move, 0 if they move in that tick; and the scaled tick.
    pub ticks: Vec<[u8; 2]>,
    /// For each threat in map order, its lane and its style.
    pub threats: Vec<(u8, u8)>,
    /// An image with only the planes of streets; the other planes are 0.
    streets: Vec<u8>,
    /// For each tile, the two planes of streets of its window. Like the features, computed at their
    /// first use, because few batches need them.
    pub window_streets: OnceLock<Vec<u8>>,
    features: OnceLock<Features>,
}

impl Observer {
    pub fn new(world: &World, shape: Shape) -> Self {
        let graph = world.graph();
        let mut streets = vec![0; shape.planes().iter().product()];
        for &position in graph.positions() {
            let place = position.y as usize * shape.width + position.x as usize;
            streets[place] = u8::from(world.layout().tile(position) == Tile::Open);
            streets[shape.height * shape.width + place] = 1;
        }
        let blocked = |(tile, ways): (u16, &[u16; 4])| {
            let mut blocked = [0; 8];
            blocked.iter_mut().zip(ways).for_each(|(blocked, &next)| *blocked = -i16::from(next == tile));
            blocked
        };
        let reaches = |player| {
            let reach = move |(threat, steps)| match steps {
                UNREACHED => NO_PATH,
                steps => steps << 4 | u16::from(world.route_bits(threat, player) & NEARER),
            };
            (0..).zip(graph.distances(Mover::Threat, player)).map(reach)
        };
        let reaches: Vec<u16> = (0..graph.len() as u16).flat_map(reaches).collect();
        let reach_max = reaches.iter().fold(NO_PATH, |max, &reach| reach.max(max));
        let threats = world.layout().threats.iter().zip(world.lanes());
        let threats = threats.map(|(threat, &lane)| (lane, threat.style as u8)).collect();
        Self {
            shape,
            places: graph.positions().iter().copied().map(numbers_of).collect(),
            blocked: (0..).zip(graph.neighbours(Mover::Player)).map(blocked).collect(),
            reaches,
            steps: (0..=reach_max).map(steps_after_moves).collect(),
            ticks: (0..=LAST_TICK + 1).map(|tick| [ticks_until_move(world, tick), scaled_tick(tick)]).collect(),
            threats,
            streets,
            window_streets: OnceLock::new(),
            features: OnceLock::new(),
        }
    }

    pub fn write_compact(&self, _: &World, state: &State, out: &mut [i16]) {
        let (header, rows) = out.split_at_mut(Shape::COMPACT_HEADER);
        let rows = rows.as_chunks_mut::<{ Shape::COMPACT_THREAT }>().0;
        let (rows, missing) = rows.split_at_mut(self.threats.len());
        let player = usize::from(state.player_tile());
        let (places, steps) = (&self.places[..], &self.steps[..]);
        let reaches = &self.reaches[player * places.len()..][..places.len()];
        let mut clearance = [Shape::FAR_STEPS; 8];
        for (row, &(lane, style)) in rows.iter_mut().zip(&self.threats) {
            let pose = state.pose(lane);
            let (tile, direction) = (usize::from(pose / 4), pose % 4);
            let steps = &steps[usize::from(reaches[tile])];
            let [x, y] = places[tile];
            *row = [x, y, direction as i16, i16::from(style), steps[Move::Stay as usize]];
            clearance.iter_mut().zip(steps).for_each(|(clearance, &steps)| *clearance = steps.min(*clearance));
        }
        missing.fill([-1; Shape::COMPACT_THREAT]);
        clearance.iter_mut().zip(self.blocked[player]).for_each(|(clearance, blocked)| *clearance |= blocked);
        let [x, y] = self.places[player];
        let [wait, _] = self.ticks[usize::from(state.tick())];
        // The compiler keeps an array in a vector register only if all its elements are used.
        let [left, right, up, down, stay, ..] = black_box(clearance);
        header.copy_from_slice(&[state.tick() as i16, wait.into(), x, y, left, right, up, down, stay]);
    }

    pub fn write_state(&self, world: &World, state: &State, out: &mut [i16]) {
        let (header, threats) = out.split_at_mut(Shape::STATE_HEADER);
        let [x, y] = numbers_of(world.player(state));
        header.copy_from_slice(&[state.tick() as i16, world.ticks_since_move(state).into(), x, y]);
        let mut rows = threats.chunks_exact_mut(Shape::STATE_THREAT);
        // `rows` is the second iterator, because a zip first takes an item of the first one.
        for (threat, row) in world.threats(state).zip(rows.by_ref()) {
            let place = threat.remembered.or(threat.seen).or(threat.post);
            let kind = i16::from(place.is_some()) + i16::from(threat.post.is_some());
            let ([x, y], [place_x, place_y]) = (numbers_of(threat.position), place.map_or([-1; 2], numbers_of));
            let (direction, style, draws) = (threat.direction as i16, threat.style as i16, threat.draws as i16);
            row.copy_from_slice(&[x, y, direction, style, draws, kind, place_x, place_y, threat.idle_rounds.into()]);
        }
        rows.for_each(|row| row.fill(-1));
    }

    pub fn write_planes(&self, _: &World, state: &State, out: &mut [u8]) {
        out.copy_from_slice(&self.streets);
        let plane = self.shape.height * self.shape.width;
        let place = |tile: u16| {
            let [x, y] = self.places[usize::from(tile)];
            y as usize * self.shape.width + x as usize
        };
        out[PLANE_PLAYER * plane + place(state.player_tile())] = 1;
        for &(lane, style) in &self.threats {
            let pose = state.pose(lane);
            for number in [PLANE_STYLES + usize::from(style), PLANE_DIRECTIONS + usize::from(pose % 4)] {
                out[number * plane + place(pose / 4)] += 1;
            }
        }
        let [wait, tick] = self.ticks[usize::from(state.tick())];
        out[PLANE_WAIT * plane..][..plane].fill(wait);
        out[PLANE_TICK * plane..][..plane].fill(tick);
    }

    pub fn write_features(&self, world: &World, state: &State, out: &mut [i16]) {
        self.features.get_or_init(|| Features::new(world)).write(world, state, out);
    }

    pub fn action_mask(&self, tile: u16) -> Option<[i8; Move::ALL.len()]> {
        let blocked = self.blocked.get(usize::from(tile))?;
        Some(std::array::from_fn(|index| 1 + blocked[index] as i8))
    }
}

/// The steps between player and threat after each move, given their number in [`Observer::reaches`].
fn steps_after_moves(reach: u16) -> ByMove {
    if reach == NO_PATH {
        return [Shape::FAR_STEPS; 8];
    }
    let mut steps = [(reach >> 4) as i16; 8];
    for (bit, steps) in steps[..Direction::ALL.len()].iter_mut().enumerate() {
        *steps += if reach >> bit & 1 == 1 { -1 } else { 1 };
    }
    steps
}

pub(super) fn read_state(world: &World, numbers: &[i16]) -> Result<State, NumbersError> {
    let count = world.threat_count();
    let expected = Shape::STATE_HEADER + Shape::STATE_THREAT * count;
    // More numbers are allowed, because other maps of the batch may have more threats.
    if numbers.len() < expected {
        return Err(NumbersError::Length { expected, found: numbers.len() });
    }
    let (header, rows) = numbers[..expected].split_at(Shape::STATE_HEADER);
    let threats: Vec<Threat> = (0..)
        .zip(rows.chunks_exact(Shape::STATE_THREAT))
        .map(|(index, row)| read_threat(world, index, row))
        .collect::<Result<_, _>>()?;
    let tick = in_range("tick", "1 to 2001", header[0])?;
    let state = world.state_at(tick, position(header[2], header[3]), &threats)?;
    let since = i16::from(world.ticks_since_move(&state));
    if header[1] != since {
        return Err(range_error("ticks since the threats moved", "the number that follows from the tick", header[1]));
    }
    Ok(state)
}

fn read_threat(world: &World, index: usize, row: &[i16]) -> Result<Threat, NumbersError> {
    let &[x, y, direction, style, draws, kind, place_x, place_y, idle_rounds] = row else {
        return Err(NumbersError::Length { expected: Shape::STATE_THREAT, found: row.len() });
    };
    let expected = world.layout().threats[index].style;
    if style != expected as i16 {
        return Err(range_error("style", "that of the map's threat", style));
    }
    let known = Direction::ALL.into_iter().find(|&known| known as i16 == direction);
    let direction = known.ok_or(range_error("direction", "0 to 3", direction))?;
    if !(0..=2).contains(&kind) {
        return Err(range_error("kind of remembered position", "0 to 2", kind));
    }
    let place = (kind > 0).then(|| position(place_x, place_y));
    let is_post = kind == 2;
    Ok(Threat {
        style: expected,
        position: position(x, y),
        direction,
        draws: in_range("random numbers drawn", "at least 0", draws)?,
        remembered: place.filter(|_| !is_post && expected == Style::Owl),
        seen: place.filter(|_| !is_post && expected == Style::Hawk),
        post: place.filter(|_| is_post),
        idle_rounds: in_range("idle rounds", "-128 to 127", idle_rounds)?,
    })
}

fn numbers_of(position: Position) -> [i16; 2] {
    [position.x as i16, position.y as i16]
}

fn position(x: i16, y: i16) -> Position {
    Position::new(x.into(), y.into())
}

fn in_range<T: TryFrom<i16>>(name: &'static str, expected: &'static str, found: i16) -> Result<T, NumbersError> {
    T::try_from(found).map_err(|_| range_error(name, expected, found))
}

fn range_error(name: &'static str, expected: &'static str, found: i16) -> NumbersError {
    NumbersError::Range { name, expected, found }
}
