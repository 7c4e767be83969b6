use std::io::ErrorKind;
use std::time::Instant;

use tungstenite::protocol::frame::coding::CloseCode;
use tungstenite::protocol::{CloseFrame, Role, WebSocketConfig};
use tungstenite::{Error, Message, WebSocket};

use super::limits::{CLOSE_TIMEOUT, MAX_FRAME_BYTES, READ_BUFFER_BYTES, WRITE_TIMEOUT};
use super::stream::{Stream, Waker};
use getaway::protocol::ClientFrame;

const MAX_CLOSE_REASON_BYTES: usize = 123;

#[derive(Clone, Debug)]
pub(super) struct Disconnect {
    /// The reason, for the log and the close frame.
    pub reason: String,
    /// The code for the close frame, which is sent if the client is still connected.
    pub code: CloseCode,
}

impl Disconnect {
    pub fn new(code: CloseCode, reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), code }
    }

    pub fn too_slow() -> Self {
        Self::new(CloseCode::Policy, "too slow to read")
    }
}

pub(super) enum Incoming {
    Frame(ClientFrame),
    /// A pong, or a ping, which the library answers.
    Control,
    Disconnected(Disconnect),
}

pub(super) type Received = Result<Message, Error>;

pub(super) fn parse_incoming(received: Received) -> Incoming {
    let parsed = match received {
        Ok(Message::Text(text)) => ClientFrame::parse(text.as_str()),
        Ok(Message::Binary(bytes)) => ClientFrame::parse(&bytes),
        Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_)) => return Incoming::Control,
        Ok(Message::Close(_)) | Err(Error::ConnectionClosed | Error::AlreadyClosed) => {
            return Incoming::Disconnected(Disconnect::new(CloseCode::Normal, "closed the connection"));
        }
        Err(error) => {
            let code = if matches!(error, Error::Capacity(_)) { CloseCode::Size } else { CloseCode::Protocol };
            return Incoming::Disconnected(Disconnect::new(code, format!("broke the connection: {error}")));
        }
    };
    match parsed {
        Ok(frame) => Incoming::Frame(frame),
        Err(error) => Incoming::Disconnected(Disconnect::new(CloseCode::Invalid, format!("sent {error}"))),
    }
}

pub(super) struct Socket(WebSocket<Stream>);

impl Socket {
    /// A websocket after its handshake. `unread` are the bytes that followed the request.
    pub fn new(stream: Stream, unread: Vec<u8>) -> Self {
        let limits = WebSocketConfig::default()
            .max_message_size(Some(MAX_FRAME_BYTES))
            .max_frame_size(Some(MAX_FRAME_BYTES))
            .read_buffer_size(READ_BUFFER_BYTES);
        Self(WebSocket::from_partially_read(stream, unread, Role::Server, Some(limits)))
    }

    pub fn waker(&self) -> Waker {
        self.0.get_ref().waker()
    }

    /// Fails if the connection is broken, or if sending takes longer than [`WRITE_TIMEOUT`].
    pub fn send(&mut self, message: Message) -> Result<(), Disconnect> {
        self.send_before(Instant::now() + WRITE_TIMEOUT, message).map_err(|error| match error {
            Error::Io(error) if error.kind() == ErrorKind::WouldBlock => Disconnect::too_slow(),
            error => Disconnect::new(CloseCode::Abnormal, error.to_string()),
        })
    }

    fn send_before(&mut self, deadline: Instant, message: Message) -> Result<(), Error> {
        self.0.get_mut().set_deadline(deadline);
        self.0.send(message)
    }

    /// Waits for a message until the deadline, or until a [`Waker`] calls.
    pub fn wait(&mut self, deadline: Instant) -> Option<Received> {
        self.0.get_mut().set_deadline(deadline);
        match self.0.read() {
            Err(Error::Io(error)) if error.kind() == ErrorKind::WouldBlock => None,
            received => Some(received),
        }
    }

    /// Waits for a message until the deadline.
    pub fn receive(&mut self, deadline: Instant) -> Option<Received> {
        loop {
            let received = self.wait(deadline);
            if received.is_some() || Instant::now() >= deadline {
                return received;
            }
        }
    }

    /// Closes the connection. Waits briefly for the peer's close frame, a sign that all data
    /// arrived.
    pub fn close(mut self, Disconnect { code, reason }: Disconnect) {
        let mut end = reason.len().min(MAX_CLOSE_REASON_BYTES);
        while !reason.is_char_boundary(end) {
            end -= 1;
        }
        // RFC 6455 forbids sending `Abnormal`, which stands for the lack of a close frame.
        let code = if code == CloseCode::Abnormal { CloseCode::Away } else { code };
        let deadline = Instant::now() + CLOSE_TIMEOUT;
        // Sending fails if the peer closed first. The library then answers the peer's close frame
        // while `receive` reads.
        let _ = self.send_before(deadline, Message::Close(Some(CloseFrame { code, reason: reason[..end].into() })));
        while Instant::now() < deadline && matches!(self.receive(deadline), Some(Ok(_))) {}
    }
}
