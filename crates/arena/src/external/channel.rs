use std::time::Instant;

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Received {
    Message {
        text: String,
        /// The time at which the message's last byte arrived.
        arrived: Instant,
    },
    /// No complete message arrived before the deadline.
    Nothing,
    Closed,
    /// A message broke the rules of the transport; the text says how.
    Broken(String),
}

pub(super) trait Channel: Send {
    /// Sends a message without waiting. Drops the message if too much output is unsent. Only
    /// [`Self::receive`] reports a lost connection.
    fn send(&mut self, message: &str);

    /// Waits until `deadline` for a complete message. Keeps any further input for the next call.
    fn receive(&mut self, deadline: Instant) -> Received;
}
