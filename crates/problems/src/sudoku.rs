//! Sudoku as a game: fill as many cells as possible.
//!
//! A move fills the first of the cells that have the fewest possible values. The value is then
//! impossible in the other cells of the row, column and box. The game ends when a cell has no
//! possible value, or all cells are filled. The score is the number of filled cells, including the
//! given cells (Cazenave, *Nested Monte-Carlo Search*, 2009, section 5).

use getaway::search::{Problem, Random};

use crate::distribution::Distribution;

const ORDER_MAX: usize = 4;
const CELLS_MAX: usize = ORDER_MAX * ORDER_MAX * ORDER_MAX * ORDER_MAX;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sudoku {
    order: usize,
    /// The given value (from 0) of each cell, row by row; `None` if no value is given.
    givens: Vec<Option<u8>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fill {
    pub cell: u8,
    pub value: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grid {
    /// For each cell, a bit for each possible value. A filled cell has only the bit of its value,
    /// or no bit if a later given value conflicts with it.
    possible: [u16; CELLS_MAX],
    is_filled: [bool; CELLS_MAX],
    filled: u16,
    /// The cell that the next move fills; `None` if the game is over.
    next: Option<u8>,
}

impl Sudoku {
    /// A puzzle whose boxes are `order` (2 to 4) cells wide and high. Values start at 0.
    pub fn new(order: usize, givens: Vec<Option<u8>>) -> Result<Self, String> {
        let side = order * order;
        if !(2..=ORDER_MAX).contains(&order) || givens.len() != side * side {
            return Err(format!(
                "order {order} with {} cells: expected an order from 2 to {ORDER_MAX}, and order^4 cells",
                givens.len()
            ));
        }
        if let Some(value) = givens.iter().flatten().find(|&&value| usize::from(value) >= side) {
            return Err(format!("value {value}: expected 0 to {}", side - 1));
        }
        Ok(Self { order, givens })
    }

    /// Parses one digit per cell, row by row, with `.` or 0 for an empty cell. Ignores whitespace.
    /// Digits can represent all values only if `order` is 2 or 3.
    pub fn parse(order: usize, text: &str) -> Result<Self, String> {
        let cell = |character: char| match character {
            '.' | '0' => Ok(None),
            _ => character
                .to_digit(10)
                .map(|digit| Some(digit as u8 - 1))
                .ok_or_else(|| format!("{character}: expected a digit or .")),
        };
        Self::new(
            order,
            text.chars().filter(|character| !character.is_whitespace()).map(cell).collect::<Result<_, _>>()?,
        )
    }

    /// A puzzle in which each cell is given with probability `share`. The given values come from a
    /// cyclic pattern whose values, rows and columns are shuffled so that boxes stay valid.
    pub fn random(order: usize, share: f64, seed: u64) -> Self {
        let mut random = Random::from_seed(seed);
        let side = order * order;
        let values = permutation(side, &mut random);
        let (rows, columns) = (lines(order, &mut random), lines(order, &mut random));
        let mut givens = Vec::with_capacity(side * side);
        for &row in &rows {
            for &column in &columns {
                let value = values[(row % order * order + row / order + column) % side] as u8;
                givens.push((random.unit() < share).then_some(value));
            }
        }
        Self { order, givens }
    }

    pub fn side(&self) -> usize {
        self.order * self.order
    }

    pub fn start(&self) -> Grid {
        let cells = self.givens.len();
        let mut grid = Grid {
            possible: [(((1_u32 << self.side()) - 1) & 0xffff) as u16; CELLS_MAX],
            is_filled: [false; CELLS_MAX],
            filled: 0,
            next: Some(0),
        };
        for (cell, value) in (0..cells).zip(&self.givens) {
            if let Some(value) = *value {
                self.fill(&mut grid, Fill { cell: cell as u8, value });
            }
        }
        self.choose_next(&mut grid);
        grid
    }

    fn fill(&self, grid: &mut Grid, Fill { cell, value }: Fill) {
        let (side, cell) = (self.side(), usize::from(cell));
        let (row, column) = (cell / side, cell % side);
        let (top, left) = (row / self.order * self.order, column / self.order * self.order);
        let gone = !(1_u16 << value);
        for along in 0..side {
            grid.possible[row * side + along] &= gone;
            grid.possible[along * side + column] &= gone;
            grid.possible[(top + along / self.order) * side + left + along % self.order] &= gone;
        }
        grid.possible[cell] = 1 << value;
        grid.is_filled[cell] = true;
        grid.filled += 1;
    }

    fn choose_next(&self, grid: &mut Grid) {
        let cells = self.givens.len();
        let mut fewest = u32::MAX;
        grid.next = None;
        for cell in 0..cells {
            let count = grid.possible[cell].count_ones();
            if count == 0 {
                grid.next = None;
                return;
            }
            if count < fewest && !grid.is_filled[cell] {
                fewest = count;
                grid.next = Some(cell as u8);
            }
        }
    }
}

fn permutation(count: usize, random: &mut Random) -> Vec<usize> {
    let mut numbers: Vec<usize> = (0..count).collect();
    random.shuffle(&mut numbers);
    numbers
}

/// The row (or column) numbers in a random order that keeps the rows of each box together.
fn lines(order: usize, random: &mut Random) -> Vec<usize> {
    let bands = permutation(order, random);
    bands
        .into_iter()
        .flat_map(|band| permutation(order, random).into_iter().map(move |line| band * order + line))
        .collect()
}

impl Grid {
    pub fn filled(&self) -> u16 {
        self.filled
    }

    pub fn value(&self, cell: usize) -> Option<u8> {
        self.is_filled[cell].then(|| self.possible[cell].trailing_zeros() as u8)
    }
}

impl Problem for Sudoku {
    type State = Grid;
    type Action = Fill;

    fn actions(&self, grid: &Grid, actions: &mut Vec<Fill>) {
        let Some(cell) = grid.next else { return };
        let mut left = grid.possible[usize::from(cell)];
        while left != 0 {
            actions.push(Fill { cell, value: left.trailing_zeros() as u8 });
            left &= left - 1;
        }
    }

    fn apply(&self, grid: &mut Grid, fill: Fill) {
        self.fill(grid, fill);
        self.choose_next(grid);
    }

    fn is_final(&self, grid: &Grid) -> bool {
        grid.next.is_none()
    }

    fn reward(&self, grid: &Grid) -> f64 {
        f64::from(grid.filled)
    }

    fn best_possible(&self) -> f64 {
        self.givens.len() as f64
    }

    fn code(&self, _: &Grid, fill: Fill, _depth: usize, _index: usize) -> u64 {
        u64::from(fill.cell) << 8 | u64::from(fill.value)
    }
}

#[derive(Clone, Copy, Debug, Default)]
pub struct RandomGrids;

impl Distribution for RandomGrids {
    type Problem = Sudoku;

    fn draw(&self, number: u64) -> Sudoku {
        Sudoku::random(4, 1.0 / 3.0, number)
    }

    fn start(&self, problem: &Sudoku) -> Grid {
        problem.start()
    }

    fn scale(&self) -> f64 {
        256.0
    }
}
