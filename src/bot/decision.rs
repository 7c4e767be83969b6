use std::time::Duration;

use thiserror::Error;

use crate::game::{Action, Move, Position};
use crate::planner::{PlannerError, Source};
use crate::protocol::ProtocolError;

/// The error for a message that leads to no decision.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum BotError {
    /// The message is inconsistent.
    #[error("invalid message: {0}")]
    Message(#[from] ProtocolError),
    /// The player's position is not an open tile.
    #[error("invalid message: yourCharacter.position: expected an EMPTY tile, found {0}")]
    PlayerNotOpen(Position),
    /// An external planner failed.
    #[error(transparent)]
    Planner(#[from] PlannerError),
}

/// An answer to a message.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Decision {
    /// The tick of the message.
    pub tick: u32,
    /// The chosen move.
    pub player_move: Move,
    /// How the move was found.
    pub source: Source,
    /// The tick that the planner expects the game to reach, as in
    /// [`Choice::planned_tick`](crate::planner::Choice::planned_tick).
    pub planned_tick: Option<u16>,
    /// The increase in the number of mispredictions, over all threats, since the previous message;
    /// 0 if the number has fallen.
    pub mispredictions: u32,
    /// The number of simulated ticks (see [`Budget`](crate::search::Budget)) for this decision.
    pub simulated_ticks: u64,
    /// The time from the arrival of the message to the decision.
    pub elapsed: Duration,
    /// The conclusions about the server's rules and style names, as sentences. Empty unless the bot
    /// has just adopted new rules or styles, or has found that no rules explain a threat's move.
    pub learnt: Vec<String>,
}

impl Decision {
    /// The action to send; `None` to stay.
    pub fn action(&self) -> Option<Action> {
        self.player_move.direction().map(Action::Move)
    }
}
