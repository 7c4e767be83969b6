use thiserror::Error;

use super::{Direction, Position};

/// One action of a command, as received, before validation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Action {
    /// `MOVE_LEFT`, `MOVE_RIGHT`, `MOVE_UP`, `MOVE_DOWN`.
    Move(Direction),
    /// `MOVE_TO` with the coordinates as sent. The game rounds them like JavaScript's `Math.round`.
    MoveTo {
        /// The column, which may be fractional or off the grid.
        x: f64,
        /// The row, which may be fractional or off the grid.
        y: f64,
    },
    /// `MOVE_TO` without usable coordinates.
    MoveNowhere,
    /// An action whose type is missing, empty or unknown.
    Unknown,
}

/// The error for an invalid action. The server logs the error and tries the next action.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ActionError {
    /// The action's type is missing, empty or unknown.
    #[error("unknown action type: expected MOVE_LEFT, MOVE_RIGHT, MOVE_UP, MOVE_DOWN or MOVE_TO")]
    Unknown,
    /// `MOVE_TO` without a position of two finite numbers.
    #[error("MOVE_TO without a position: expected {{\"x\": number, \"y\": number}}")]
    NoPosition,
    /// `MOVE_TO` off the grid.
    #[error("MOVE_TO off the grid")]
    OffGrid,
    /// `MOVE_TO` onto a wall.
    #[error("MOVE_TO {0}, which is a wall")]
    Wall(Position),
    /// `MOVE_TO` onto the player's own tile.
    #[error("MOVE_TO {0}, where the player already is")]
    AlreadyThere(Position),
    /// `MOVE_TO` onto a tile that no path reaches. Paths may cross see-through tiles.
    #[error("MOVE_TO {0}, which cannot be reached")]
    Unreachable(Position),
}
