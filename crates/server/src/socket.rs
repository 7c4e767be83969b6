use axum::extract::ws::{CloseCode, CloseFrame, Message, WebSocket, close_code};
use tokio::time::timeout;
use tungstenite::Error;

use super::disconnect::Disconnect;
use super::limits::{CLOSE_TIMEOUT, WRITE_TIMEOUT};
use getaway::protocol::ClientFrame;

const MAX_CLOSE_REASON_BYTES: usize = 123;

pub(super) enum Incoming {
    Frame(ClientFrame),
    /// A pong, or a ping, which the library answers.
    Control,
    Disconnected(Disconnect),
}

pub(super) fn parse_incoming(received: Option<Result<Message, axum::Error>>) -> Incoming {
    let parsed = match received {
        Some(Ok(Message::Text(text))) => ClientFrame::parse(text.as_str()),
        Some(Ok(Message::Binary(bytes))) => ClientFrame::parse(&bytes),
        Some(Ok(Message::Ping(_) | Message::Pong(_))) => return Incoming::Control,
        Some(Ok(Message::Close(_))) | None => {
            return Incoming::Disconnected(Disconnect::new(close_code::NORMAL, "closed the connection"));
        }
        Some(Err(error)) => {
            let reason = format!("broke the connection: {error}");
            let is_too_long = matches!(error.into_inner().downcast_ref::<Error>(), Some(Error::Capacity(_)));
            let code = if is_too_long { close_code::SIZE } else { close_code::PROTOCOL };
            return Incoming::Disconnected(Disconnect::new(code, reason));
        }
    };
    match parsed {
        Ok(frame) => Incoming::Frame(frame),
        Err(error) => Incoming::Disconnected(Disconnect::new(close_code::INVALID, format!("sent {error}"))),
    }
}

/// Sends a message. Returns false if the peer is gone or reads too slowly.
pub(super) async fn send(socket: &mut WebSocket, message: Message) -> bool {
    matches!(timeout(WRITE_TIMEOUT, socket.send(message)).await, Ok(Ok(())))
}

/// Closes a connection. Waits briefly for the peer's close frame, a sign that all data arrived.
pub(super) async fn close(mut socket: WebSocket, code: CloseCode, reason: &str) {
    let mut end = reason.len().min(MAX_CLOSE_REASON_BYTES);
    while !reason.is_char_boundary(end) {
        end -= 1;
    }
    // RFC 6455 forbids sending `ABNORMAL`, which stands for the lack of a close frame.
    let code = if code == close_code::ABNORMAL { close_code::AWAY } else { code };
    let close_frame = Message::Close(Some(CloseFrame { code, reason: reason[..end].into() }));
    let handshake = async {
        // Sending fails if the peer closed first. The library then answers the peer's close frame
        // while `recv` reads.
        let _ = socket.send(close_frame).await;
        while let Some(Ok(_)) = socket.recv().await {}
    };
    let _ = timeout(CLOSE_TIMEOUT, handshake).await;
}
