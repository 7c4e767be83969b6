//! Why a connection ends.

use axum::extract::ws::CloseCode;

/// Why a bot was disconnected; it cannot reconnect to its game.
#[derive(Clone, Debug)]
pub(super) struct Disconnect {
    /// The reason, for the log.
    pub reason: String,
    /// The close code sent to the bot, if it is still connected.
    pub code: CloseCode,
}

impl Disconnect {
    pub fn new(code: CloseCode, reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), code }
    }
}
