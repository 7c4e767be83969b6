use std::fmt;

use serde::{Deserialize, Serialize};

use super::names::named;

/// A cell of the grid. `x` increases to the right and `y` **downwards**. Both are 0 at the top
/// left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Position {
    /// Column.
    pub x: i32,
    /// Row; increases downwards.
    pub y: i32,
}

impl Position {
    /// The position at column `x` and row `y`.
    pub const fn new(x: i32, y: i32) -> Self {
        Self { x, y }
    }

    /// The neighbouring position in `direction`. It may be off the grid.
    #[must_use]
    pub const fn towards(self, direction: Direction) -> Self {
        let (dx, dy) = direction.delta();
        Self::new(self.x + dx, self.y + dy)
    }

    /// The distance in steps, ignoring walls.
    pub const fn manhattan_distance(self, other: Self) -> i32 {
        (self.x - other.x).abs() + (self.y - other.y).abs()
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "({}, {})", self.x, self.y)
    }
}

named! {
    /// One of the four directions. Its discriminant, 0 to 3, indexes the tables of the game.
    pub enum Direction, "direction" {
        /// (-1, 0)
        Left = "left",
        /// (+1, 0)
        Right = "right",
        /// (0, -1)
        Up = "up",
        /// (0, +1)
        Down = "down",
    }
}

impl Direction {
    /// The step `(dx, dy)`.
    pub const fn delta(self) -> (i32, i32) {
        match self {
            Self::Left => (-1, 0),
            Self::Right => (1, 0),
            Self::Up => (0, -1),
            Self::Down => (0, 1),
        }
    }

    /// The opposite direction.
    #[must_use]
    pub const fn reverse(self) -> Self {
        match self {
            Self::Left => Self::Right,
            Self::Right => Self::Left,
            Self::Up => Self::Down,
            Self::Down => Self::Up,
        }
    }
}
