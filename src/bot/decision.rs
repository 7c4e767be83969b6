//! The answer to a message, and why there may be none.

use std::time::Duration;

use thiserror::Error;

use crate::game::{Action, Move, Position};
use crate::planner::Source;
use crate::protocol::ProtocolError;

/// Why a message cannot be answered with a decision.
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
    #[error("{0}")]
    Planner(String),
}

/// An answer to a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// The tick of the message.
    pub tick: u32,
    /// The move.
    pub player_move: Move,
    /// How it was chosen.
    pub source: Source,
    /// The last tick that the bot's plan survives to, if it planned: 2001 for the whole game.
    pub planned_tick: Option<u16>,
    /// How many threats moved differently from the prediction since the previous message.
    pub mispredictions: u32,
    /// States that the planner stepped for this decision.
    pub simulated_ticks: u64,
    /// The time from the message's arrival to the decision.
    pub elapsed: Duration,
    /// How the rules differ from the bot's options, as far as it has learnt, in sentences. Empty
    /// unless this message has changed what it has learnt.
    pub learnt: Vec<String>,
}

impl Decision {
    /// The action to send, or `None` to stay.
    pub fn action(&self) -> Option<Action> {
        self.player_move.direction().map(Action::Move)
    }
}
