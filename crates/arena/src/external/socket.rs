//! A bot that connects to a websocket, as it would to the real server.

use std::io::ErrorKind;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use tungstenite::protocol::WebSocketConfig;
use tungstenite::{Error, Message, WebSocket};

use super::POLL_INTERVAL;
use super::channel::{Channel, Received};
use super::process::Process;
use getaway::protocol::MAX_CLIENT_FRAME_BYTES;

/// Time for the handshake of a connection, for a frame that the bot does not read, and for the
/// answer to the closing frame.
const SOCKET_TIME: Duration = Duration::from_secs(3);
const CLOSE_TIME: Duration = Duration::from_millis(300);

/// A port of this machine that waits for one bot.
#[derive(Debug)]
pub(super) struct Port(TcpListener);

impl Port {
    /// Opens a free port.
    pub fn open() -> std::io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        listener.set_nonblocking(true)?;
        Ok(Self(listener))
    }

    /// The address for the bot.
    pub fn url(&self) -> std::io::Result<String> {
        Ok(format!("ws://{}", self.0.local_addr()?))
    }

    /// Waits for the bot to connect, until `deadline`, its end or `is_stopped`; `None` if it did
    /// not.
    pub fn accept(
        &self,
        process: &mut Process,
        deadline: Instant,
        is_stopped: &dyn Fn() -> bool,
    ) -> Option<SocketChannel> {
        while Instant::now() < deadline && !is_stopped() {
            if let Ok((stream, _)) = self.0.accept() {
                if let Some(channel) = SocketChannel::accept(stream) {
                    return Some(channel);
                }
            } else if process.status().is_some() {
                return None;
            }
            thread::sleep(POLL_INTERVAL);
        }
        None
    }
}

/// A websocket.
#[derive(Debug)]
pub(super) struct SocketChannel(WebSocket<TcpStream>);

impl SocketChannel {
    fn accept(stream: TcpStream) -> Option<Self> {
        stream.set_nonblocking(false).ok()?;
        stream.set_nodelay(true).ok()?;
        stream.set_read_timeout(Some(SOCKET_TIME)).ok()?;
        stream.set_write_timeout(Some(SOCKET_TIME)).ok()?;
        let limits = WebSocketConfig::default()
            .max_message_size(Some(MAX_CLIENT_FRAME_BYTES))
            .max_frame_size(Some(MAX_CLIENT_FRAME_BYTES));
        tungstenite::accept_with_config(stream, Some(limits)).ok().map(Self)
    }

    /// A websocket that is already open.
    pub fn new(socket: WebSocket<TcpStream>) -> Self {
        Self(socket)
    }

    /// Closes the connection after the bot has received everything sent before.
    pub fn close(mut self) {
        let deadline = Instant::now() + CLOSE_TIME;
        let _ = self.0.close(None);
        while matches!(self.receive(deadline), Received::Message(_)) {}
    }
}

impl Channel for SocketChannel {
    fn send(&mut self, message: &str) {
        // A lost connection is noticed when receiving.
        let _ = self.0.send(Message::text(message));
    }

    fn receive(&mut self, deadline: Instant) -> Received {
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() || self.0.get_ref().set_read_timeout(Some(left)).is_err() {
                return Received::Nothing;
            }
            match self.0.read() {
                Ok(Message::Text(text)) => return Received::Message(text.to_string()),
                Ok(Message::Binary(bytes)) => {
                    return Received::Message(String::from_utf8_lossy(&bytes).into_owned());
                }
                // The library answers pings and closing frames.
                Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_)) => {}
                Ok(Message::Close(_)) => {
                    let _ = self.0.flush();
                    return Received::Closed;
                }
                Err(Error::Io(error)) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                    return Received::Nothing;
                }
                Err(Error::Io(_) | Error::ConnectionClosed | Error::AlreadyClosed) => return Received::Closed,
                Err(Error::Protocol(tungstenite::error::ProtocolError::ResetWithoutClosingHandshake)) => {
                    return Received::Closed;
                }
                Err(error) => return Received::Broken(error.to_string()),
            }
        }
    }
}
