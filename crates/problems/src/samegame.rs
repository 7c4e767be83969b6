//! SameGame: remove groups of blocks of one colour, as large as possible.
//!
//! A move removes a group of two or more blocks of one colour that touch at their sides; the blocks
//! above fall down, and empty columns close to the left. A move that removes n blocks scores
//! (n - 2)^2, and an empty board 1,000 more. The game ends when no group is left.
//!
//! A board is a bit set of cells for each colour. A column takes 16 bits, of which the highest is
//! always clear, so that a shift never moves a cell into the next column.

use getaway::search::{Generator, Problem};

use crate::distribution::Distribution;

/// Columns and rows.
pub const SIZE: usize = 15;
/// Number of colours.
pub const COLOURS: usize = 5;
/// Points for an empty board.
pub const EMPTY_BONUS: u32 = 1000;

/// Columns per word, and bits per column.
const COLUMNS_PER_WORD: usize = 4;
const COLUMN_BITS: usize = 16;
/// The bits of a full column.
const COLUMN: u64 = (1 << SIZE) - 1;

/// A set of cells; cell (column, row), rows counted from the bottom, is bit `16 column + row`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Cells([u64; 4]);

impl Cells {
    /// The set of one cell.
    pub fn of(column: usize, row: usize) -> Self {
        let mut cells = Self::default();
        cells.0[column / COLUMNS_PER_WORD] = 1 << (column % COLUMNS_PER_WORD * COLUMN_BITS + row);
        cells
    }

    /// Whether the set is empty.
    #[inline]
    pub fn is_empty(self) -> bool {
        self.0 == [0; 4]
    }

    /// Whether the sets have a cell in common.
    pub fn meets(self, other: Self) -> bool {
        !self.and(other).is_empty()
    }

    /// The number of cells.
    #[inline]
    pub fn len(self) -> u32 {
        self.0.iter().map(|word| word.count_ones()).sum()
    }

    #[inline]
    fn zip(self, other: Self, operation: impl Fn(u64, u64) -> u64) -> Self {
        let [a, b, c, d] = self.0;
        let [e, f, g, h] = other.0;
        Self([operation(a, e), operation(b, f), operation(c, g), operation(d, h)])
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
    fn without(self, other: Self) -> Self {
        self.zip(other, |left, right| left & !right)
    }

    /// The cells above each cell.
    #[inline]
    fn up(self) -> Self {
        Self(self.0.map(|word| word << 1))
    }

    /// The cells below each cell.
    #[inline]
    fn down(self) -> Self {
        Self(self.0.map(|word| word >> 1))
    }

    /// The cells to the right of each cell.
    #[inline]
    fn right(self) -> Self {
        let [a, b, c, d] = self.0;
        Self([a << 16, b << 16 | a >> 48, c << 16 | b >> 48, d << 16 | c >> 48])
    }

    /// The cells to the left of each cell.
    #[inline]
    fn left(self) -> Self {
        let [a, b, c, d] = self.0;
        Self([a >> 16 | b << 48, b >> 16 | c << 48, c >> 16 | d << 48, d >> 16])
    }

    /// The cells at the sides of each cell, and possibly bits outside of the board.
    #[inline]
    fn neighbours(self) -> Self {
        self.up().or(self.down()).or(self.right()).or(self.left())
    }

    /// The lowest cell of the leftmost column that has one.
    #[inline]
    fn first(self) -> Option<Self> {
        let word = self.0.iter().position(|&word| word != 0)?;
        let mut cells = Self::default();
        cells.0[word] = self.0[word] & self.0[word].wrapping_neg();
        Some(cells)
    }

    /// The 16 bits of a column.
    #[inline]
    fn column(self, column: usize) -> u64 {
        self.0[column / COLUMNS_PER_WORD] >> (column % COLUMNS_PER_WORD * COLUMN_BITS) & COLUMN
    }

    #[inline]
    fn set_column(&mut self, column: usize, bits: u64) {
        let shift = column % COLUMNS_PER_WORD * COLUMN_BITS;
        let word = &mut self.0[column / COLUMNS_PER_WORD];
        *word = *word & !(COLUMN << shift) | bits << shift;
    }
}

/// A group of blocks to remove.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Group {
    /// The cells.
    pub cells: Cells,
    /// The colour, from 0.
    pub colour: u8,
}

impl Group {
    /// The points for removing the group.
    pub fn points(self) -> u32 {
        (self.cells.len() - 2).pow(2)
    }
}

/// A board and the points so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Board {
    colours: [Cells; COLOURS],
    points: u32,
}

impl Board {
    /// A board with these colours, `colours[row][column]`, the top row first; 0 points.
    pub fn new(colours: &[[Option<u8>; SIZE]; SIZE]) -> Self {
        let mut board = Self { colours: [Cells::default(); COLOURS], points: 0 };
        for (row, line) in colours.iter().enumerate() {
            for (column, colour) in line.iter().enumerate() {
                if let Some(colour) = colour {
                    let cells = &mut board.colours[usize::from(*colour)];
                    *cells = cells.or(Cells::of(column, SIZE - 1 - row));
                }
            }
        }
        board
    }

    /// Parses a board: one line per row, the top row first, colours 0 to 4 or `.` for an empty
    /// cell, separated by spaces. Missing rows at the top and missing columns at the right are
    /// empty.
    ///
    /// # Errors
    /// The line and what was expected there.
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
        let mut random = Generator::from_seed(seed);
        Self::new(&std::array::from_fn(|_| std::array::from_fn(|_| Some(random.below(COLOURS) as u8))))
    }

    /// The colour of a cell, rows counted from the bottom.
    pub fn colour(&self, column: usize, row: usize) -> Option<u8> {
        let cell = Cells::of(column, row);
        (0..COLOURS as u8).find(|&colour| !self.colours[usize::from(colour)].and(cell).is_empty())
    }

    /// The points so far, with the bonus once the board is empty.
    pub fn points(&self) -> u32 {
        self.points
    }

    /// The number of blocks left.
    pub fn blocks(&self) -> u32 {
        self.colours.iter().map(|cells| cells.len()).sum()
    }

    /// Calls `found` for every group of two or more blocks, by colour, and then by its lowest cell
    /// in its leftmost column.
    #[inline]
    fn for_each_group(&self, mut found: impl FnMut(Group)) {
        for (colour, &cells) in self.colours.iter().enumerate() {
            let mut left = cells.and(cells.neighbours());
            while let Some(first) = left.first() {
                let mut group = first;
                loop {
                    let grown = group.or(group.neighbours().and(left));
                    if grown == group {
                        break;
                    }
                    group = grown;
                }
                left = left.without(group);
                found(Group { cells: group, colour: colour as u8 });
            }
        }
    }

    /// Whether no group is left.
    #[inline]
    fn is_over(&self) -> bool {
        self.colours.iter().all(|cells| cells.and(cells.up().or(cells.right())).is_empty())
    }

    /// Removes a group.
    fn remove(&mut self, group: Group) {
        self.points += group.points();
        let removed = group.cells;
        for colour in &mut self.colours {
            *colour = colour.without(removed);
        }
        let mut has_empty_column = false;
        for column in 0..SIZE {
            let mut gone = removed.column(column);
            if gone == 0 {
                continue;
            }
            // Close the gaps from the top, so that the rows below keep their numbers.
            while gone != 0 {
                let top = 63 - gone.leading_zeros();
                let run = (!(gone << (63 - top))).leading_zeros();
                let low = top + 1 - run;
                let below = (1_u64 << low) - 1;
                for colour in &mut self.colours {
                    let bits = colour.column(column);
                    colour.set_column(column, bits & below | (bits >> run) & !below);
                }
                gone &= below;
            }
            has_empty_column |= self.colours.iter().all(|colour| colour.column(column) == 0);
        }
        if has_empty_column {
            self.close_columns();
        }
        if self.colours.iter().all(|colour| colour.is_empty()) {
            self.points += EMPTY_BONUS;
        }
    }

    /// Moves the columns that have blocks to the left.
    fn close_columns(&mut self) {
        let occupied = self.colours.iter().fold(Cells::default(), |occupied, colour| occupied.or(*colour));
        let mut closed = [Cells::default(); COLOURS];
        let columns = (0..SIZE).filter(|&column| occupied.column(column) != 0);
        for (to, from) in columns.enumerate() {
            for (closed, colour) in closed.iter_mut().zip(&self.colours) {
                closed.set_column(to, colour.column(from));
            }
        }
        self.colours = closed;
    }
}

/// The prior weight of a group of the spared colour.
const SPARED_PRIOR: f64 = -5.0;

/// SameGame from one board.
#[derive(Clone, Debug)]
pub struct SameGame {
    start: Board,
    /// The most frequent colour at the start, the first one in a tie, which the policy `greedy`
    /// spares.
    spared: u8,
}

impl SameGame {
    /// The game that starts from this board.
    pub fn new(start: Board) -> Self {
        let count = |colour: u8| start.colours[usize::from(colour)].len();
        let spared = (0..COLOURS as u8).rev().max_by_key(|&colour| count(colour)).unwrap_or(0);
        Self { start, spared }
    }

    /// The board at the start.
    pub fn start(&self) -> &Board {
        &self.start
    }
}

impl Problem for SameGame {
    type State = Board;
    type Action = Group;

    fn actions(&self, board: &Board, actions: &mut Vec<Group>) {
        board.for_each_group(|group| actions.push(group));
    }

    fn apply(&self, board: &mut Board, group: Group) {
        board.remove(group);
    }

    fn is_final(&self, board: &Board) -> bool {
        board.is_over()
    }

    fn reward(&self, board: &Board) -> f64 {
        f64::from(board.points())
    }

    /// A random group, but not of the colour that was most frequent at the start as long as there
    /// are others: its blocks are collected into one large group (`TabuColorRandom` of Schadd and
    /// others, *Single-Player Monte-Carlo Tree Search*, 2008, with a fixed colour).
    fn greedy(&self, board: &Board, actions: &mut Vec<Group>, random: &mut Generator, _: &mut u64) -> Group {
        actions.clear();
        self.actions(board, actions);
        let others = actions.iter().filter(|group| group.colour != self.spared).count();
        if others == 0 {
            return actions[random.below(actions.len())];
        }
        let chosen = random.below(others);
        *actions.iter().filter(|group| group.colour != self.spared).nth(chosen).expect("an index below the count")
    }

    /// Cells and colour, whenever the group is removed.
    fn code(&self, _: &Board, group: Group, _depth: usize, _index: usize) -> u64 {
        const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
        let mix = |hash: u64, word: u64| ((hash ^ word).wrapping_mul(ODD)).rotate_left(29);
        group.cells.0.into_iter().fold(u64::from(group.colour), mix)
    }

    /// Groups of the colour that the policy `greedy` spares are unlikely, unless they are pairs,
    /// whose loss costs that colour little.
    fn prior(&self, _: &Board, group: Group) -> f64 {
        if group.colour == self.spared && group.cells.len() > 2 { SPARED_PRIOR } else { 0.0 }
    }
}

/// Random boards: each number gives a different board.
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

    /// Roughly the mean score per board of the best known sums for the twenty standard boards.
    fn scale(&self) -> f64 {
        4000.0
    }
}
