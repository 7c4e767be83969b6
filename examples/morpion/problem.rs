//! Morpion Solitaire, the classic trial of nested Monte Carlo search: a problem that nobody here made, with published figures.
//!
//! On a grid, a cross of dots is given. A move adds one dot and draws a line through it along `LENGTH` consecutive dots, across, down or diagonally.
//! Lines of the same direction may touch at their ends in the *touching* variants (5T, 4T), and share no dot in the *disjoint* ones (5D, 4D). The score is
//! the number of moves.
//!
//! Everything that a move changes is kept as words of bits along the four directions, so that the moves through a new dot are found by
//! looking up nine dots at a time.

use getaway::search::{Generator, Problem, below};

/// Columns and rows; a random or nested game stays far from the border, and one that reached it would panic rather than be wrong.
const SIZE: usize = 32;
/// The most moves that are legal at once: far more than any game was seen to have.
const MOVES_MAX: usize = 128;
/// Words a direction: as many as there are diagonals.
const LANES: usize = 2 * SIZE;
/// The step of each direction: across, down, and the two diagonals.
const STEPS: [(i32, i32); 4] = [(1, 0), (0, 1), (1, 1), (1, -1)];

/// One of the four games.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Morpion {
    /// Dots of a line: 5 or 4.
    length: usize,
    /// Whether lines of the same direction may share an end.
    touching: bool,
}

/// A line of dots and which of them is new.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Move {
    /// Column and row of the line's first dot along its direction.
    x: u8,
    y: u8,
    /// Index in [`STEPS`].
    direction: u8,
    /// Which dot of the line is new.
    new: u8,
}

impl Move {
    /// Column and row of dot `index` of the line.
    pub fn dot(self, index: usize) -> (usize, usize) {
        let (dx, dy) = STEPS[usize::from(self.direction)];
        let along = |start: u8, step: i32| (i32::from(start) + step * index as i32) as usize;
        (along(self.x, dx), along(self.y, dy))
    }

    /// Column and row of the dot that the move adds.
    pub fn new_dot(self) -> (usize, usize) {
        self.dot(usize::from(self.new))
    }
}

/// A position: dots, lines, and the moves they allow.
#[derive(Clone, Copy)]
pub struct Board {
    /// For each direction and lane, a bit for each dot.
    dots: [[u32; LANES]; 4],
    /// For each direction and lane, a bit for each dot (disjoint) or each segment from a dot to the next (touching) that lines of this
    /// direction use.
    used: [[u32; LANES]; 4],
    legal: [Move; MOVES_MAX],
    legal_count: usize,
    played: u32,
}

/// The lane of a dot in a direction, and its bit there.
fn place(direction: usize, x: usize, y: usize) -> (usize, usize) {
    match direction {
        0 => (y, x),
        1 => (x, y),
        2 => (x + SIZE - 1 - y, x),
        _ => (x + y, x),
    }
}

impl Morpion {
    /// The variants, as they are named.
    pub const NAMES: [&str; 4] = ["5D", "5T", "4D", "4T"];

    /// The variant of this name.
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

    /// How many dots make a line.
    pub fn length(&self) -> usize {
        self.length
    }

    /// The sum of a column, or row, and its mirror image in the cross.
    pub fn mirror(&self) -> usize {
        2 * self.corner() + 3 * (self.length - 2)
    }

    /// The first column and row of the cross.
    fn corner(&self) -> usize {
        (SIZE - 3 * (self.length - 2)) / 2
    }

    /// The cross, before the first move.
    pub fn start(&self) -> Board {
        let nowhere = Move {
            x: 0,
            y: 0,
            direction: 0,
            new: 0,
        };
        let mut board = Board {
            dots: [[0; LANES]; 4],
            used: [[0; LANES]; 4],
            legal: [nowhere; MOVES_MAX],
            legal_count: 0,
            played: 0,
        };
        let cross = self.cross();
        for &(x, y) in &cross {
            board.add_dot(x, y);
        }
        // Every line that lacks one dot of the cross lacks it where it is not: ask all empty places.
        for (x, y) in (8..24)
            .flat_map(|x| (8..24).map(move |y| (x, y)))
            .filter(|dot| !cross.contains(dot))
        {
            let mut filled = board;
            filled.add_dot(x, y);
            for direction in 0..4 {
                for first in self.lines_through(&filled, direction, x, y, self.length) {
                    board.add_legal(line(direction, x, y, first, first));
                }
            }
        }
        board
    }

    /// The outline of a Greek cross whose twelve edges have `length - 1` dots each.
    pub fn cross(&self) -> Vec<(usize, usize)> {
        let edge = self.length - 2;
        let corner = self.corner();
        let mut dots = Vec::new();
        for (x, y) in (0..=3 * edge).flat_map(|x| (0..=3 * edge).map(move |y| (x, y))) {
            let (is_middle_x, is_middle_y) = (
                (edge..=2 * edge).contains(&x),
                (edge..=2 * edge).contains(&y),
            );
            let is_outer = |at: usize| at == 0 || at == 3 * edge;
            let is_inner = |at: usize| at == edge || at == 2 * edge;
            let is_tip = is_middle_x && is_outer(y) || is_middle_y && is_outer(x);
            let is_side = is_inner(x) && !(edge + 1..2 * edge).contains(&y)
                || is_inner(y) && !(edge + 1..2 * edge).contains(&x);
            if is_tip || is_side {
                dots.push((corner + x, corner + y));
            }
        }
        dots
    }

    /// The lines of `direction` through the dot at `(x, y)` that have exactly `dots` dots and use nothing that is used: for each, how many of
    /// its dots come before that one.
    fn lines_through(
        &self,
        board: &Board,
        direction: usize,
        x: usize,
        y: usize,
        dots: usize,
    ) -> impl Iterator<Item = usize> + use<> {
        let length = self.length;
        let (lane, bit) = place(direction, x, y);
        // The place itself becomes bit `length - 1`, the places around it those before and after.
        let low = bit - (length - 1);
        let present = board.dots[direction][lane] >> low;
        let used = board.used[direction][lane] >> low;
        let line = (1_u32 << length) - 1;
        let uses = if self.touching { line >> 1 } else { line };
        (0..length)
            .filter(move |&start| {
                (present >> start & line).count_ones() as usize == dots && used >> start & uses == 0
            })
            .map(move |start| length - 1 - start)
    }

    /// The moves that the new dot at `(x, y)` makes possible.
    fn add_moves_through(&self, board: &mut Board, x: usize, y: usize) {
        for direction in 0..4 {
            let (lane, bit) = place(direction, x, y);
            let present = board.dots[direction][lane] >> (bit - (self.length - 1));
            for before in self.lines_through(board, direction, x, y, self.length - 1) {
                let new = (present >> (self.length - 1 - before)).trailing_ones() as usize;
                board.add_legal(line(direction, x, y, before, new));
            }
        }
    }
}

/// The line of `direction` on which `before` dots come before `(x, y)`, with its dot `new` the new one.
fn line(direction: usize, x: usize, y: usize, before: usize, new: usize) -> Move {
    let (dx, dy) = STEPS[direction];
    let back = |at: usize, step: i32| (at as i32 - step * before as i32) as u8;
    Move {
        x: back(x, dx),
        y: back(y, dy),
        direction: direction as u8,
        new: new as u8,
    }
}

impl Board {
    fn add_dot(&mut self, x: usize, y: usize) {
        assert!(
            (4..SIZE - 4).contains(&x) && (4..SIZE - 4).contains(&y),
            "the game has reached the border"
        );
        for direction in 0..4 {
            let (lane, bit) = place(direction, x, y);
            self.dots[direction][lane] |= 1 << bit;
        }
    }

    fn add_legal(&mut self, new: Move) {
        self.legal[self.legal_count] = new;
        self.legal_count += 1;
    }

    /// The moves that can be played.
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
        let (lane, first) = place(direction, usize::from(action.x), usize::from(action.y));
        let uses = (1_u32 << (self.length - usize::from(self.touching))) - 1;
        board.used[direction][lane] |= uses << first;
        board.played += 1;

        // Gone: the other moves that would have added this dot, and those that this line is in the way of.
        let used = board.used[direction][lane];
        let mut kept = 0;
        for index in 0..board.legal_count {
            let other = board.legal[index];
            let (other_lane, other_first) =
                place(direction, usize::from(other.x), usize::from(other.y));
            let is_crossed = other.direction == action.direction
                && other_lane == lane
                && used >> other_first & uses != 0;
            if !is_crossed && other.new_dot() != (x, y) {
                board.legal[kept] = other;
                kept += 1;
            }
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

    fn random(&self, board: &Board, _: &mut Vec<Move>, random: &mut Generator) -> Move {
        board.legal[below(random, board.legal_count)]
    }
}
