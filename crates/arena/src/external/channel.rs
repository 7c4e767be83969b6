//! The connection to a bot, over any transport.

use std::time::Instant;

/// Input from a bot.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Received {
    /// A message: text that should be JSON.
    Message(String),
    /// Nothing before the deadline.
    Nothing,
    /// The bot has closed the connection.
    Closed,
    /// The bot broke the protocol; the text says how.
    Broken(String),
}

/// A connection to a bot.
pub(super) trait Channel: Send {
    /// Sends a message. A lost connection is noticed when receiving.
    fn send(&mut self, message: &str);

    /// Waits for a message until `deadline`.
    fn receive(&mut self, deadline: Instant) -> Received;
}
