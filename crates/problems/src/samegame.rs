//! SameGame: remove large groups of connected blocks of the same colour.
//!
//! A *group* has at least two blocks, and a move removes a whole group. The blocks above fall down,
//! and the columns to the right of an empty column move left. Removing n blocks scores (n - 2)^2
//! points; emptying the board scores another 1,000. The game ends when no group is left.
//!
//! A board is stored as three sets of cells: one per bit of the cells' colour numbers, lowest bit
//! first. A set has a 16-bit lane for each of the 15 columns; the highest bit of a lane is always
//! clear. The sixteenth lane is always empty. *Corners* are cells with a neighbour of the same
//! colour above or to the right, but none below or to the left. Every group has at least one
//! corner, and usually only one, so a random group is found by drawing corners.

pub mod lanes;

use getaway::search::{Problem, Random};

use crate::distribution::Distribution;

pub const SIZE: usize = 15;
pub const COLOURS: usize = 5;
pub const EMPTY_BONUS: u32 = 1000;

const LANES: usize = SIZE + 1;
const WINDOW: usize = 4;
const COLUMN: u16 = (1 << SIZE) - 1;
/// Number of bits of a cell's colour number, which is the colour plus 1, or 0 for an empty cell.
const DIGITS: usize = 3;

/// A set of cells. Bit r of a column's lane is row r; row 0 is the bottom row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Cells([u16; LANES]);

impl Cells {
    pub fn of(column: usize, row: usize) -> Self {
        let mut cells = Self::default();
        cells.0[column] = 1 << row;
        cells
    }

    #[inline]
    pub fn is_empty(self) -> bool {
        self.words() == [0; 4]
    }

    pub fn meets(self, other: Self) -> bool {
        !self.and(other).is_empty()
    }

    #[inline]
    pub fn len(self) -> u32 {
        self.words().iter().map(|word| word.count_ones()).sum()
    }

    /// The set with four lanes per word: row r of column c is bit `16 (c % 4) + r` of word `c / 4`.
    #[inline]
    fn words(self) -> [u64; 4] {
        let lane = |at: usize| u64::from(self.0[at]);
        std::array::from_fn(|word| {
            lane(4 * word) | lane(4 * word + 1) << 16 | lane(4 * word + 2) << 32 | lane(4 * word + 3) << 48
        })
    }

    /// The column and row of the cell at `index`. Cells are ordered by column, then by row.
    #[inline]
    fn nth(self, index: usize) -> (usize, usize) {
        let mut index = index as u32;
        let words = self.words();
        let mut word = 0;
        loop {
            let count = words[word].count_ones();
            if index < count {
                break;
            }
            index -= count;
            word += 1;
        }
        let mut left = words[word];
        for _ in 0..index {
            left &= left - 1;
        }
        let bit = left.trailing_zeros() as usize;
        (4 * word + bit / LANES, bit % LANES)
    }

    #[inline]
    fn zip(self, other: Self, operation: impl Fn(u16, u16) -> u16) -> Self {
        Self(std::array::from_fn(|lane| operation(self.0[lane], other.0[lane])))
    }

    #[inline]
    fn and(self, other: Self) -> Self {
        self.zip(other, |left, right| left & right)
    }

    #[inline]
    fn or(self, other: Self) -> Self {
        self.zip(other, |left, right| left | right)
    }

    #[inline]
    fn xor(self, other: Self) -> Self {
        self.zip(other, |left, right| left ^ right)
    }

    #[inline]
    fn without(self, other: Self) -> Self {
        self.zip(other, |left, right| left & !right)
    }

    #[inline]
    fn up(self) -> Self {
        Self(self.0.map(|lane| lane << 1))
    }

    #[inline]
    fn down(self) -> Self {
        Self(self.0.map(|lane| lane >> 1))
    }

    #[inline]
    fn right(self) -> Self {
        let mut moved = [0; LANES];
        moved[1..].copy_from_slice(&self.0[..LANES - 1]);
        Self(moved)
    }

    #[inline]
    fn left(self) -> Self {
        let mut moved = [0; LANES];
        moved[..LANES - 1].copy_from_slice(&self.0[1..]);
        Self(moved)
    }

    #[inline]
    fn connected(self, column: usize, row: usize) -> Self {
        let mut found = Self::default();
        found.0[column] = fill(1 << row, self.0[column]);
        let mut open = 1_u32 << column;
        while open != 0 {
            let column = open.trailing_zeros() as usize;
            open &= open - 1;
            // Wrapping around is safe, because the last lane is always empty.
            for next in [(column + LANES - 1) % LANES, (column + 1) % LANES] {
                let reached = found.0[column] & self.0[next] & !found.0[next];
                if reached != 0 {
                    found.0[next] |= fill(reached, self.0[next]);
                    open |= 1 << next;
                }
            }
        }
        found
    }

    /// The four lanes that start at column `first` (at most 12), as one word.
    #[inline]
    fn window(&self, first: usize) -> u64 {
        let lane = |at: usize| u64::from(self.0[first + at]);
        lane(0) | lane(1) << 16 | lane(2) << 32 | lane(3) << 48
    }

    #[inline]
    fn of_window(first: usize, window: u64) -> Self {
        let mut cells = Self::default();
        for (at, lane) in cells.0[first..first + WINDOW].iter_mut().enumerate() {
            *lane = (window >> (16 * at)) as u16;
        }
        cells
    }

    /// Finds the group of a cell, which must be in the group's leftmost column. Returns the first
    /// column of a window of four columns and the group's lanes in it, or `None` if the group may
    /// extend beyond the window. A shift by 1 bit is a step up or down, because the highest bit of
    /// each lane is clear; a shift by 16 bits is a step left or right.
    #[inline]
    fn connected_nearby(&self, column: usize, row: usize) -> Option<(usize, u64)> {
        let first = column.min(LANES - WINDOW);
        let cells = self.window(first);
        let grow = |from: u64| (from | from << 1 | from >> 1 | from << 16 | from >> 16) & cells;
        let mut found = grow(1 << (16 * (column - first) + row));
        loop {
            // Grows twice per iteration, because the branch of the loop is often mispredicted.
            let grown = grow(found);
            if grown == found {
                break;
            }
            found = grow(grown);
        }
        let is_complete = found >> 48 == 0 || first == LANES - WINDOW;
        is_complete.then_some((first, found))
    }

    #[inline]
    fn is_connected(self) -> bool {
        if self.is_empty() {
            return true;
        }
        let (column, row) = self.nth(0);
        self.connected(column, row) == self
    }
}

/// The bits of `column` that are connected to bits of `from`, which must be a subset of `column`.
#[inline]
fn fill(mut from: u16, column: u16) -> u16 {
    loop {
        let grown = (from | from << 1 | from >> 1) & column;
        if grown == from {
            return grown;
        }
        from = grown;
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Group {
    pub cells: Cells,
    pub colour: u8,
}

impl Group {
    pub fn points(self) -> u32 {
        (self.cells.len() - 2).pow(2)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Board {
    digits: [Cells; DIGITS],
    corners: Cells,
    points: u32,
    /// The tabu colour, which the policy `greedy` removes last.
    tabu: u8,
}

impl Board {
    /// A board with the colours `colours[row][column]`, top row first, and 0 points.
    pub fn new(colours: &[[Option<u8>; SIZE]; SIZE]) -> Self {
        let mut digits = [Cells::default(); DIGITS];
        for (row, line) in colours.iter().enumerate() {
            for (column, colour) in line.iter().enumerate() {
                for (digit, cells) in digits.iter_mut().enumerate() {
                    let number = colour.map_or(0, |colour| u16::from(colour) + 1);
                    cells.0[column] |= (number >> digit & 1) << (SIZE - 1 - row);
                }
            }
        }
        let mut board = Self { digits, corners: Cells::default(), points: 0, tabu: 0 };
        board.find_corners();
        board.tabu = board.most_frequent();
        board
    }

    /// Parses one line per row, top row first: colours 0 to 4, or `.` for an empty cell, separated
    /// by spaces. Rows missing at the top and cells missing on the right are empty.
    pub fn parse(text: &str) -> Result<Self, String> {
        let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
        if lines.len() > SIZE {
            return Err(format!("{} rows: expected at most {SIZE}", lines.len()));
        }
        let mut colours = [[None; SIZE]; SIZE];
        let missing = SIZE - lines.len();
        for (index, line) in lines.iter().enumerate() {
            let cells: Vec<&str> = line.split_whitespace().collect();
            if cells.len() > SIZE {
                return Err(format!("row {}: {} cells, expected at most {SIZE}", index + 1, cells.len()));
            }
            for (column, cell) in cells.iter().enumerate() {
                colours[missing + index][column] = match cell.parse::<u8>() {
                    Ok(colour) if usize::from(colour) < COLOURS => Some(colour),
                    _ if *cell == "." => None,
                    _ => return Err(format!("row {}: {cell}, expected a colour from 0 to {}", index + 1, COLOURS - 1)),
                };
            }
        }
        Ok(Self::new(&colours))
    }

    /// A full board with independent, uniformly random colours.
    pub fn random(seed: u64) -> Self {
        let mut random = Random::from_seed(seed);
        Self::new(&std::array::from_fn(|_| std::array::from_fn(|_| Some(random.below(COLOURS) as u8))))
    }

    /// The colour of a cell, or `None` if it is empty. Row 0 is the bottom row.
    pub fn colour(&self, column: usize, row: usize) -> Option<u8> {
        let number = (0..DIGITS).map(|digit| (self.digits[digit].0[column] >> row & 1) << digit).sum::<u16>();
        (number as u8).checked_sub(1)
    }

    pub fn points(&self) -> u32 {
        self.points
    }

    pub fn blocks(&self) -> u32 {
        self.occupied().len()
    }

    #[inline]
    fn occupied(&self) -> Cells {
        let [low, middle, high] = self.digits;
        low.or(middle).or(high)
    }

    #[inline]
    fn cells_of(&self, colour: u8) -> Cells {
        let number = u16::from(colour) + 1;
        // Each bit of the colour's number, copied to all bits of a lane.
        let wanted: [u16; DIGITS] = std::array::from_fn(|digit| (number >> digit & 1).wrapping_neg());
        let [low, middle, high] = &self.digits;
        let differs = |lane: usize| low.0[lane] ^ wanted[0] | middle.0[lane] ^ wanted[1] | high.0[lane] ^ wanted[2];
        Cells(std::array::from_fn(|lane| !differs(lane) & COLUMN))
    }

    #[inline]
    fn find_corners(&mut self) {
        let [low, middle, high] = self.digits;
        let occupied = self.occupied();
        let unlike_above = low.xor(low.down()).or(middle.xor(middle.down())).or(high.xor(high.down()));
        let unlike_right = low.xor(low.left()).or(middle.xor(middle.left())).or(high.xor(high.left()));
        let (like_above, like_right) = (occupied.without(unlike_above), occupied.without(unlike_right));
        self.corners = like_above.or(like_right).without(like_above.up()).without(like_right.right());
    }

    #[inline]
    fn group(&self, column: usize, row: usize) -> Group {
        let colour = self.colour(column, row).expect("the cell is occupied");
        Group { cells: self.cells_of(colour).connected(column, row), colour }
    }

    /// Draws a group uniformly at random from those with a corner in `corners`, which must contain
    /// either all or none of the corners of each group. A drawn corner is rejected unless it is the
    /// lowest cell in the leftmost column of its group, so every group is equally likely.
    #[inline]
    fn draw(&self, mut corners: Cells, random: &mut Random) -> Group {
        let mut count = corners.len() as usize;
        loop {
            let (column, row) = corners.nth(random.below(count));
            let group = self.group(column, row);
            let is_lowest = group.cells.0[column].trailing_zeros() as usize == row;
            if is_lowest && group.cells.0[(column + LANES - 1) % LANES] == 0 {
                return group;
            }
            corners.0[column] &= !(1 << row);
            count -= 1;
        }
    }

    /// Draws a random group. Includes groups of the colour `tabu` only if `until` allows it.
    #[inline]
    fn draw_with_tabu(&self, tabu: u8, until: Until, random: &mut Random) -> Group {
        let cells = self.cells_of(tabu);
        let others = self.corners.without(cells);
        let is_free = others.is_empty() || until == Until::Connected && cells.is_connected();
        self.draw(if is_free { self.corners } else { others }, random)
    }

    /// The most frequent colour, or the lowest of several equally frequent colours.
    fn most_frequent(&self) -> u8 {
        let count = |colour: u8| self.cells_of(colour).len();
        (0..COLOURS as u8).rev().max_by_key(|&colour| count(colour)).unwrap_or(0)
    }

    #[inline]
    fn is_over(&self) -> bool {
        self.corners.is_empty()
    }

    #[inline]
    fn remove(&mut self, group: Group) {
        let mut blocks = 0;
        let mut has_empty_column = false;
        for (column, &gone) in group.cells.0.iter().enumerate() {
            if gone == 0 {
                continue;
            }
            blocks += gone.count_ones();
            // Packs the column's three lanes into one word, so that one shift lowers all of them.
            let mut digits =
                (0..DIGITS).fold(0, |all, digit| all | u64::from(self.digits[digit].0[column]) << (16 * digit));
            let mut gone = u32::from(gone);
            // Closes the topmost gap first, because closing a gap renumbers the rows above it.
            while gone != 0 {
                let top = 32 - gone.leading_zeros();
                let gap = (gone << (32 - top)).leading_ones();
                let below = (1_u32 << (top - gap)) - 1;
                let kept = everywhere(below);
                let falling = everywhere(u32::from(COLUMN) & !((1 << top) - 1));
                digits = digits & kept | (digits & falling) >> gap;
                gone &= below;
            }
            has_empty_column |= digits == 0;
            for (digit, cells) in self.digits.iter_mut().enumerate() {
                cells.0[column] = (digits >> (16 * digit)) as u16;
            }
        }
        self.points += (blocks - 2).pow(2);
        if has_empty_column {
            self.close_columns();
        }
        self.find_corners();
    }

    #[cold]
    fn close_columns(&mut self) {
        let occupied = self.occupied();
        let mut closed = [Cells::default(); DIGITS];
        let columns = (0..SIZE).filter(|&column| occupied.0[column] != 0);
        for (to, from) in columns.enumerate() {
            for (closed, cells) in closed.iter_mut().zip(&self.digits) {
                closed.0[to] = cells.0[from];
            }
        }
        self.digits = closed;
        if occupied.is_empty() {
            self.points += EMPTY_BONUS;
        }
    }
}

#[inline]
fn everywhere(column: u32) -> u64 {
    u64::from(column) * 0x1_0001_0001
}

const TABU_PRIOR: f64 = -5.0;

/// The condition under which a rollout may remove groups of the tabu colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// No group of another colour is left.
    NoOthers,
    /// All blocks of the tabu colour are connected, or no group of another colour is left.
    Connected,
}

/// A variant of the policy `greedy`. The policy itself spares the colour that is most frequent when
/// the rollout starts, as long as a group of another colour is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tabu {
    /// True if the rollout's first board determines the tabu colour, false if the game's does.
    pub is_by_rollout: bool,
    pub until: Until,
}

#[derive(Clone, Debug)]
pub struct SameGame {
    start: Board,
    tabu: u8,
    is_selective: bool,
}

impl SameGame {
    pub fn new(start: Board) -> Self {
        Self { start, tabu: start.tabu, is_selective: false }
    }

    /// The variant with fewer legal moves (Cazenave, *Nested Rollout Policy Adaptation with
    /// Selective Policies*, 2016). A group of three or more blocks of the initially most frequent
    /// colour may be removed only when all blocks of this colour are connected, or when only such
    /// groups are left.
    #[must_use]
    pub fn selective(self) -> Self {
        Self { is_selective: true, ..self }
    }

    /// Plays a random rollout with a tabu colour, and appends its moves to `played`.
    pub fn play_with_tabu(&self, board: &mut Board, rule: Tabu, random: &mut Random, played: &mut Vec<Group>) {
        let tabu = if rule.is_by_rollout { board.most_frequent() } else { self.tabu };
        while !board.is_over() {
            let group = board.draw_with_tabu(tabu, rule.until, random);
            board.remove(group);
            played.push(group);
        }
    }

    pub fn start(&self) -> &Board {
        &self.start
    }
}

impl Problem for SameGame {
    type State = Board;
    type Action = Group;

    fn actions(&self, board: &Board, actions: &mut Vec<Group>) {
        let cells: [Cells; COLOURS] = std::array::from_fn(|colour| board.cells_of(colour as u8));
        let mut corners = board.corners;
        for column in 0..SIZE {
            while corners.0[column] != 0 {
                let row = corners.0[column].trailing_zeros() as usize;
                let colour = board.colour(column, row).expect("a corner is occupied");
                let cells = &cells[usize::from(colour)];
                // A group's first corner is in its leftmost column, as `connected_nearby` requires.
                if let Some((first, window)) = cells.connected_nearby(column, row) {
                    // Clears lane by lane, because converting lanes to words and back is slow.
                    for (at, lane) in corners.0[first..first + WINDOW].iter_mut().enumerate() {
                        *lane &= !((window >> (16 * at)) as u16);
                    }
                    actions.push(Group { cells: Cells::of_window(first, window), colour });
                } else {
                    let cells = cells.connected(column, row);
                    corners = corners.without(cells);
                    actions.push(Group { cells, colour });
                }
            }
        }
        if self.is_selective {
            let tabu = cells[usize::from(self.tabu)];
            let is_kept = |group: &Group| group.colour != self.tabu || group.cells.len() == 2;
            if !tabu.is_connected() && actions.iter().any(is_kept) {
                actions.retain(is_kept);
            }
        }
    }

    #[inline]
    fn apply(&self, board: &mut Board, group: Group) {
        board.remove(group);
    }

    #[inline]
    fn is_final(&self, board: &Board) -> bool {
        board.is_over()
    }

    fn reward(&self, board: &Board) -> f64 {
        f64::from(board.points())
    }

    #[inline]
    fn random(&self, board: &Board, actions: &mut Vec<Group>, random: &mut Random) -> Group {
        if !self.is_selective {
            return board.draw(board.corners, random);
        }
        actions.clear();
        self.actions(board, actions);
        actions[random.below(actions.len())]
    }

    fn begin_greedy(&self, board: &mut Board) {
        board.tabu = board.most_frequent();
    }

    /// Draws groups of the tabu colour last, so that they can combine into one large group
    /// (`TabuColorRandom` of Schadd and others, *Single-Player Monte-Carlo Tree Search*, 2008).
    /// Does so in selective games, too, so rollouts may remove groups that `actions` omits.
    fn greedy(&self, board: &Board, _: &mut Vec<Group>, random: &mut Random, _: &mut u64) -> Group {
        board.draw_with_tabu(board.tabu, Until::NoOthers, random)
    }

    /// The code depends on the cells and the colour of the group, but not on the board or the step.
    #[inline]
    fn code(&self, _: &Board, group: Group, _depth: usize, _index: usize) -> u64 {
        const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
        let mix = |hash: u64, word: u64| ((hash ^ word).wrapping_mul(ODD)).rotate_left(29);
        group.cells.words().into_iter().fold(u64::from(group.colour), mix)
    }

    /// A pair of the tabu colour has the usual prior 0, because removing it costs little.
    fn prior(&self, _: &Board, group: Group) -> f64 {
        if group.colour == self.tabu && group.cells.len() > 2 { TABU_PRIOR } else { 0.0 }
    }
}

#[derive(Clone, Copy, Debug, Default)]
pub struct RandomBoards;

impl Distribution for RandomBoards {
    type Problem = SameGame;

    fn draw(&self, number: u64) -> SameGame {
        SameGame::new(Board::random(number))
    }

    fn start(&self, problem: &SameGame) -> Board {
        problem.start
    }

    /// Approximately the published mean score of nested rollout policy adaptation on the twenty
    /// standard boards.
    fn scale(&self) -> f64 {
        4000.0
    }
}
