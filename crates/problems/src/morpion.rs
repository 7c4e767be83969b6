//! Morpion Solitaire, the classic benchmark of nested Monte Carlo search.
//!
//! The game starts with a cross of dots on a grid. A move adds one dot and draws a straight line
//! through five (5T, 5D) or four (4T, 4D) consecutive dots, including the new one. Two lines in the
//! same direction may share an end point in the *touching* variants (5T, 4T), but not in the
//! *disjoint* variants (5D, 4D). The score is the number of moves.
//!
//! Bit masks store dots and lines by direction, so one lookup examines nine consecutive points.

use getaway::search::{Problem, Random};

use crate::distribution::Distribution;

const SIZE: usize = 32;
/// Maximum number of legal moves in a position. A position with more moves causes a panic.
const MOVES_MAX: usize = 128;
const LANES: usize = 2 * SIZE;
const STEPS: [(i32, i32); 4] = [(1, 0), (0, 1), (1, 1), (1, -1)];

/// Number of dot patterns in a window of nine consecutive points.
const WINDOWS: usize = 1 << 9;

/// Indexed by the line length minus 4, then by the dots of a window. Bit `start` is set if the line
/// that starts at bit `start` of the window lacks exactly one dot.
const COMPLETABLE: [[u8; WINDOWS]; 2] = [completable(4), completable(5)];

const fn completable(length: usize) -> [u8; WINDOWS] {
    let mut table = [0; WINDOWS];
    let mut window = 0;
    while window < WINDOWS {
        let mut start = 0;
        while start < length {
            let line = (window >> start) & ((1 << length) - 1);
            if line.count_ones() as usize == length - 1 {
                table[window] |= 1 << start;
            }
            start += 1;
        }
        window += 1;
    }
    table
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Morpion {
    length: usize,
    /// True if two lines of the same direction may share an end point.
    touching: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Move {
    x: u8,
    y: u8,
    direction: u8,
    /// The number of dots that precede the new dot in the line.
    before: u8,
}

impl Move {
    pub fn new_dot(self) -> (usize, usize) {
        (usize::from(self.x), usize::from(self.y))
    }

    /// Returns the column and row of the line's dot `index`, counted from 0.
    pub fn dot(self, index: usize) -> (usize, usize) {
        let (dx, dy) = STEPS[usize::from(self.direction)];
        let steps = index as i32 - i32::from(self.before);
        let along = |at: u8, step: i32| (i32::from(at) + step * steps) as usize;
        (along(self.x, dx), along(self.y, dy))
    }

    fn lane_and_bit(self) -> (usize, usize) {
        let (lane, bit) = lane_and_bit(usize::from(self.direction), usize::from(self.x), usize::from(self.y));
        (lane, bit - usize::from(self.before))
    }
}

#[derive(Clone, Copy)]
pub struct Board {
    /// For each direction and lane, a bit mask of dots. A lane is a row of points in a direction.
    dots: [[u32; LANES]; 4],
    /// The dots (disjoint) or segments (touching) that lines use, in the same form as `dots`.
    used: [[u32; LANES]; 4],
    legal: [Move; MOVES_MAX],
    legal_count: usize,
    played: u32,
}

fn lane_and_bit(direction: usize, x: usize, y: usize) -> (usize, usize) {
    match direction {
        0 => (y, x),
        1 => (x, y),
        2 => (x + SIZE - 1 - y, x),
        _ => (x + y, x),
    }
}

impl Morpion {
    pub const NAMES: [&str; 4] = ["5D", "5T", "4D", "4T"];

    pub fn named(name: &str) -> Option<Self> {
        let (length, touching) = match name {
            "5D" => (5, false),
            "5T" => (5, true),
            "4D" => (4, false),
            "4T" => (4, true),
            _ => return None,
        };
        Some(Self { length, touching })
    }

    pub fn length(&self) -> usize {
        self.length
    }

    /// Returns `s` such that reflecting the cross maps column (or row) `x` to `s - x`.
    pub fn mirror_sum(&self) -> usize {
        2 * self.corner() + 3 * (self.length - 2)
    }

    fn corner(&self) -> usize {
        (SIZE - 3 * (self.length - 2)) / 2
    }

    pub fn start(&self) -> Board {
        let unused = Move { x: 0, y: 0, direction: 0, before: 0 };
        let mut board = Board {
            dots: [[0; LANES]; 4],
            used: [[0; LANES]; 4],
            legal: [unused; MOVES_MAX],
            legal_count: 0,
            played: 0,
        };
        let cross = self.cross();
        for &(x, y) in &cross {
            board.add_dot(x, y);
        }
        // Only an empty point can complete a line.
        let points = (8..24).flat_map(|x| (8..24).map(move |y| (x, y)));
        for (x, y) in points.filter(|dot| !cross.contains(dot)) {
            self.add_moves_through(&mut board, x, y);
        }
        board
    }

    /// Returns the initial dots: the outline of a Greek cross with `length - 1` dots on each edge.
    pub fn cross(&self) -> Vec<(usize, usize)> {
        let edge = self.length - 2;
        let corner = self.corner();
        let mut dots = Vec::new();
        for (x, y) in (0..=3 * edge).flat_map(|x| (0..=3 * edge).map(move |y| (x, y))) {
            let (is_middle_x, is_middle_y) = ((edge..=2 * edge).contains(&x), (edge..=2 * edge).contains(&y));
            let is_outer = |at: usize| at == 0 || at == 3 * edge;
            let is_inner = |at: usize| at == edge || at == 2 * edge;
            let is_tip = is_middle_x && is_outer(y) || is_middle_y && is_outer(x);
            let is_side =
                is_inner(x) && !(edge + 1..2 * edge).contains(&y) || is_inner(y) && !(edge + 1..2 * edge).contains(&x);
            if is_tip || is_side {
                dots.push((corner + x, corner + y));
            }
        }
        dots
    }

    /// Returns a bit mask of the points in a window at which a playable line starts.
    fn lines(&self, window: Window) -> u32 {
        let used_length = self.length - usize::from(self.touching);
        let blocked = (0..used_length).fold(0, |blocked, segment| blocked | window.used >> segment);
        u32::from(COMPLETABLE[self.length - 4][window.dots as usize % WINDOWS]) & !blocked
    }

    fn uses(&self) -> u32 {
        (1 << (self.length - usize::from(self.touching))) - 1
    }

    fn add_moves_through(&self, board: &mut Board, x: usize, y: usize) {
        for (direction, (dx, dy)) in STEPS.into_iter().enumerate() {
            let window = board.window(self, direction, x, y);
            for start in ones(self.lines(window)) {
                let before = (window.dots >> start).trailing_ones() as usize;
                let steps = (start + before) as i32 - (self.length - 1) as i32;
                board.add_legal(Move {
                    x: (x as i32 + dx * steps) as u8,
                    y: (y as i32 + dy * steps) as u8,
                    direction: direction as u8,
                    before: before as u8,
                });
            }
        }
    }
}

/// Part of a lane, shifted so that the examined point is at bit `length - 1`.
#[derive(Clone, Copy)]
struct Window {
    dots: u32,
    used: u32,
}

fn ones(mut word: u32) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let lowest = (word != 0).then(|| word.trailing_zeros() as usize);
        word &= word.wrapping_sub(1);
        lowest
    })
}

impl Board {
    fn add_dot(&mut self, x: usize, y: usize) {
        assert!((4..SIZE - 4).contains(&x) && (4..SIZE - 4).contains(&y), "the game has reached the border");
        for direction in 0..4 {
            let (lane, bit) = lane_and_bit(direction, x, y);
            self.dots[direction][lane] |= 1 << bit;
        }
    }

    fn window(&self, morpion: &Morpion, direction: usize, x: usize, y: usize) -> Window {
        let (lane, bit) = lane_and_bit(direction, x, y);
        let low = bit - (morpion.length - 1);
        Window { dots: self.dots[direction][lane] >> low, used: self.used[direction][lane] >> low }
    }

    fn add_legal(&mut self, new: Move) {
        self.legal[self.legal_count] = new;
        self.legal_count += 1;
    }

    pub fn legal(&self) -> &[Move] {
        &self.legal[..self.legal_count]
    }
}

impl Problem for Morpion {
    type State = Board;
    type Action = Move;

    fn actions(&self, board: &Board, actions: &mut Vec<Move>) {
        actions.extend_from_slice(board.legal());
    }

    fn apply(&self, board: &mut Board, action: Move) {
        let direction = usize::from(action.direction);
        let (x, y) = action.new_dot();
        board.add_dot(x, y);
        let (lane, first) = action.lane_and_bit();
        board.used[direction][lane] |= self.uses() << first;
        board.played += 1;

        let used = board.used[direction][lane];

        let mut kept = 0;
        for index in 0..board.legal_count {
            let other = board.legal[index];
            let is_same_dot = other.x == action.x && other.y == action.y;
            // Computes `other_lane` even if the directions differ, to avoid a mispredicted branch.
            let (other_lane, other_new) = lane_and_bit(direction, usize::from(other.x), usize::from(other.y));
            let other_first = other_new as u32 - u32::from(other.before);
            let is_blocked = (other.direction == action.direction)
                & (other_lane == lane)
                & ((used >> other_first) & self.uses() != 0);
            board.legal[kept] = other;
            kept += usize::from(!(is_same_dot | is_blocked));
        }
        board.legal_count = kept;
        self.add_moves_through(board, x, y);
    }

    fn is_final(&self, board: &Board) -> bool {
        board.legal_count == 0
    }

    fn reward(&self, board: &Board) -> f64 {
        f64::from(board.played)
    }

    fn random(&self, board: &Board, _: &mut Vec<Move>, random: &mut Random) -> Move {
        board.legal[random.below(board.legal_count)]
    }

    /// Returns a code of the line and its new dot, independent of when the move is played.
    fn code(&self, _: &Board, action: Move, _depth: usize, _index: usize) -> u64 {
        u64::from(u32::from_be_bytes([action.x, action.y, action.direction, action.before]))
    }
}

impl Distribution for Morpion {
    type Problem = Self;

    fn draw(&self, _: u64) -> Self {
        *self
    }

    fn start(&self, problem: &Self) -> Board {
        problem.start()
    }

    /// Returns the maximum length of a game for 4D and 4T, and a typical good length for 5D and 5T.
    fn scale(&self) -> f64 {
        match (self.length, self.touching) {
            (4, false) => 35.0,
            (4, true) => 62.0,
            (_, false) => 70.0,
            (_, true) => 100.0,
        }
    }
}
