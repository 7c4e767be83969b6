//! The answer to a message, or the error.

use std::time::Duration;

use thiserror::Error;

use crate::game::{Action, Move, Position};
use crate::planner::{PlannerFailure, Source};
use crate::protocol::ProtocolError;

/// The reason a message gets no decision.
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
    Planner(#[from] PlannerFailure),
}

/// An answer to a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// The tick of the message.
    pub tick: u32,
    /// The chosen move.
    pub player_move: Move,
    /// The origin of the move.
    pub source: Source,
    /// The last tick that the bot's plan survives to, if the bot planned; 2001 for the whole game.
    pub planned_tick: Option<u16>,
    /// The number of mispredicted threats since the previous message.
    pub mispredictions: u32,
    /// States that the planner simulated for this decision.
    pub simulated_ticks: u64,
    /// The time from the arrival of the message to the decision.
    pub elapsed: Duration,
    /// The differences learnt from the expected rules, in sentences; empty if there are none.
    pub learnt: Vec<String>,
}

impl Decision {
    /// The action to send; `None` to stay.
    pub fn action(&self) -> Option<Action> {
        self.player_move.direction().map(Action::Move)
    }
}
