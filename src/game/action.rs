use thiserror::Error;

use super::{Direction, Position};

/// One action of a command, as received, before validation.
#[derive(Clone, Debug, PartialEq)]
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
    /// `MOVE_TO` without usable coordinates, as JSON.
    MoveNowhere(Box<str>),
    /// JSON without a known action type.
    Unknown(Box<str>),
}

impl Action {
    /// The JSON and the error of an action without a known type or usable coordinates; `None` for
    /// [`Action::Move`] and [`Action::MoveTo`].
    pub fn invalid(&self) -> Option<(&str, ActionError)> {
        match self {
            Self::Move(_) | Self::MoveTo { .. } => None,
            Self::MoveNowhere(json) => Some((json, ActionError::NoPosition)),
            Self::Unknown(json) => Some((json, ActionError::Unknown)),
        }
    }
}

/// The error for an invalid action. The server logs the error and tries the next action.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ActionError {
    /// The action is not an object with a known type.
    #[error("expected {{\"type\": T}}, where T is MOVE_LEFT, MOVE_RIGHT, MOVE_UP, MOVE_DOWN or MOVE_TO")]
    Unknown,
    /// `MOVE_TO` without a position of two finite numbers.
    #[error("expected {{\"type\": \"MOVE_TO\", \"position\": {{\"x\": number, \"y\": number}}}}")]
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
