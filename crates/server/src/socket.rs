//! Websockets, as all who use them here need them.

use axum::extract::ws::{CloseCode, CloseFrame, Message, WebSocket, close_code};
use tokio::time::timeout;

use super::bot::Leave;
use super::limits::{CLOSE_TIME, WRITE_TIME};
use getaway::protocol::{ClientFrame, ProtocolError};

/// The longest reason that fits in a close frame.
const MAX_CLOSE_REASON_BYTES: usize = 123;

/// What came out of a socket.
pub(super) enum Incoming {
    /// A frame that can be read.
    Frame(ClientFrame),
    /// A ping or a pong; the library answers.
    Control,
    /// The peer has left, or has sent what ends the connection.
    Gone(Leave),
}

/// What a socket's `recv` means.
pub(super) fn incoming(received: Option<Result<Message, axum::Error>>) -> Incoming {
    let parsed = match received {
        Some(Ok(Message::Text(text))) => ClientFrame::parse(text.as_str()),
        Some(Ok(Message::Binary(bytes))) => ClientFrame::parse(&bytes),
        Some(Ok(Message::Ping(_) | Message::Pong(_))) => return Incoming::Control,
        Some(Ok(Message::Close(_))) | None => {
            return Incoming::Gone(Leave::new(close_code::NORMAL, "closed the connection"));
        }
        Some(Err(error)) => {
            return Incoming::Gone(Leave::new(close_code::PROTOCOL, format!("broke the connection: {error}")));
        }
    };
    match parsed {
        Ok(frame) => Incoming::Frame(frame),
        Err(error @ ProtocolError::TooLong { .. }) => Incoming::Gone(Leave::new(close_code::SIZE, error.to_string())),
        Err(error) => Incoming::Gone(Leave::new(close_code::INVALID, format!("sent {error}"))),
    }
}

/// Sends a message; `false` when the peer is gone or does not read.
pub(super) async fn send(socket: &mut WebSocket, message: Message) -> bool {
    matches!(timeout(WRITE_TIME, socket.send(message)).await, Ok(Ok(())))
}

/// Says goodbye and waits a little for the answer, so that the peer reads all that was sent before.
pub(super) async fn close(mut socket: WebSocket, code: CloseCode, reason: &str) {
    let mut end = reason.len().min(MAX_CLOSE_REASON_BYTES);
    while !reason.is_char_boundary(end) {
        end -= 1;
    }
    // There is no such thing as sending "abnormal"; it is what is said of peers that are gone.
    let code = if code == close_code::ABNORMAL { close_code::AWAY } else { code };
    let goodbye = Message::Close(Some(CloseFrame { code, reason: reason[..end].into() }));
    let farewell = async {
        // A peer that closed first is answered by the library while the rest is read.
        let _ = socket.send(goodbye).await;
        while let Some(Ok(_)) = socket.recv().await {}
    };
    let _ = timeout(CLOSE_TIME, farewell).await;
}
