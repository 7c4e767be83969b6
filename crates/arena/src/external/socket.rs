//! A websocket connection from a bot, as on the real server, or from the bridge to a server.

use std::io::ErrorKind;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use tungstenite::client::IntoClientRequest;
use tungstenite::handshake::server::{Callback, ErrorResponse, Request, Response};
use tungstenite::handshake::{HandshakeError, HandshakeRole};
use tungstenite::http::StatusCode;
use tungstenite::http::header::{HeaderValue, ORIGIN};
use tungstenite::protocol::WebSocketConfig;
use tungstenite::{Error, Message, WebSocket};

use super::POLL_INTERVAL;
use super::channel::{Channel, Received};
use super::process::Process;
use super::stream::Stream;
use getaway::protocol::MAX_CLIENT_FRAME_BYTES;

const HANDSHAKE_TIME: Duration = Duration::from_secs(3);
const CLOSE_TIME: Duration = Duration::from_millis(300);
/// Capacity of the buffer for messages to a bot. A message that does not fit is dropped.
const UNSENT_BYTES_MAX: usize = 1 << 20;

#[derive(Debug)]
pub(super) struct Port(TcpListener);

impl Port {
    pub fn open() -> std::io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        listener.set_nonblocking(true)?;
        Ok(Self(listener))
    }

    pub fn url(&self) -> std::io::Result<String> {
        Ok(format!("ws://{}", self.0.local_addr()?))
    }

    /// Waits for the bot to connect. Fails if `deadline` passes, the process exits or `is_stopped`
    /// returns true before that. The error is empty, or a suffix that says how often the bot tried,
    /// and why its last handshake failed.
    pub fn accept(
        &self,
        process: &mut Process,
        deadline: Instant,
        is_stopped: &dyn Fn() -> bool,
    ) -> Result<SocketChannel, String> {
        let (mut tries, mut reason) = (0, String::new());
        while Instant::now() < deadline && !is_stopped() {
            if let Ok((connection, _)) = self.0.accept() {
                let deadline = deadline.min(Instant::now() + HANDSHAKE_TIME);
                match SocketChannel::accept(connection, deadline, is_stopped) {
                    Ok(channel) => return Ok(channel),
                    Err(error) => (tries, reason) = (tries + 1, handshake_words(&error)),
                }
            } else if process.status().is_some() {
                break;
            }
            thread::sleep(POLL_INTERVAL);
        }
        Err(match tries {
            0 => String::new(),
            1 => format!("; its handshake failed: {reason}"),
            _ => format!("; {tries} handshakes failed, the last because of this: {reason}"),
        })
    }
}

#[derive(Debug)]
pub(super) struct SocketChannel(WebSocket<Stream>);

impl SocketChannel {
    fn accept(connection: TcpStream, deadline: Instant, is_stopped: &dyn Fn() -> bool) -> Result<Self, Error> {
        connection.set_nonblocking(false)?;
        let limits = WebSocketConfig::default()
            .max_message_size(Some(MAX_CLIENT_FRAME_BYTES))
            .max_frame_size(Some(MAX_CLIENT_FRAME_BYTES))
            .max_write_buffer_size(UNSENT_BYTES_MAX);
        let port = connection.local_addr()?.port();
        let attempt = tungstenite::accept_hdr_with_config(Stream::over(connection)?, refuse_pages(port), Some(limits));
        let mut socket = shake_hands(attempt, deadline, is_stopped)?;
        socket.get_mut().end_head();
        Ok(Self(socket))
    }

    pub fn connect(
        request: impl IntoClientRequest,
        connection: TcpStream,
        is_stopped: &dyn Fn() -> bool,
    ) -> Result<Self, Error> {
        let attempt = tungstenite::client(request, Stream::over(connection)?);
        let (mut socket, _) = shake_hands(attempt, Instant::now() + HANDSHAKE_TIME, is_stopped)?;
        socket.get_mut().end_head();
        Ok(Self(socket))
    }

    /// Sends a close frame and waits briefly for the other side to close the connection.
    pub fn close(mut self, is_stopped: &dyn Fn() -> bool) {
        let deadline = Instant::now() + CLOSE_TIME;
        let _ = self.0.close(None);
        while !is_stopped() && Instant::now() < deadline {
            match self.receive(deadline.min(Instant::now() + POLL_INTERVAL)) {
                Received::Message { .. } | Received::Nothing => {}
                Received::Closed | Received::Broken(_) => return,
            }
        }
    }
}

fn shake_hands<R: HandshakeRole<InternalStream = Stream>>(
    mut attempt: Result<R::FinalResult, HandshakeError<R>>,
    deadline: Instant,
    is_stopped: &dyn Fn() -> bool,
) -> Result<R::FinalResult, Error> {
    loop {
        let mut started = match attempt {
            Ok(socket) => return Ok(socket),
            Err(HandshakeError::Failure(error)) => return Err(error),
            Err(HandshakeError::Interrupted(started)) => started,
        };
        if is_stopped() || Instant::now() >= deadline {
            return Err(Error::Io(ErrorKind::TimedOut.into()));
        }
        started.get_mut().get_mut().set_deadline(deadline.min(Instant::now() + POLL_INTERVAL));
        attempt = started.handshake();
    }
}

fn handshake_words(error: &Error) -> String {
    match error {
        Error::Http(response) => {
            let body = response.body().as_deref().unwrap_or_default();
            String::from_utf8_lossy(body).trim().to_owned()
        }
        Error::Io(error) if error.kind() == ErrorKind::TimedOut => format!("no request within {HANDSHAKE_TIME:?}"),
        error => error.to_string(),
    }
}

/// Rejects web pages. A browser sends the origin of the page. A program sends no origin, the server's
/// address, or an address of this machine without a port, which libraries for Go require.
#[allow(clippy::result_large_err, reason = "the library decides the type")]
fn refuse_pages(port: u16) -> impl Callback {
    move |request: &Request, response: Response| {
        let is_program = |origin: &HeaderValue| is_program(origin.to_str().unwrap_or_default(), port);
        let Some(origin) = request.headers().get_all(ORIGIN).iter().find(|&origin| !is_program(origin)) else {
            return Ok(response);
        };
        let reason = format!("the Origin header is {origin:?}: expected none, or \"http://localhost\"\n");
        let mut refusal = ErrorResponse::new(Some(reason));
        *refusal.status_mut() = StatusCode::FORBIDDEN;
        Err(refusal)
    }
}

fn is_program(origin: &str, port: u16) -> bool {
    let origin = origin.strip_suffix('/').unwrap_or(origin);
    let Some((_, host)) = origin.split_once("://").filter(|(scheme, _)| ["http", "https", "ws"].contains(scheme))
    else {
        return false;
    };
    let host = host.strip_suffix(&format!(":{port}")).unwrap_or(host);
    ["127.0.0.1", "localhost", "[::1]"].iter().any(|name| host.eq_ignore_ascii_case(name))
}

impl Channel for SocketChannel {
    fn send(&mut self, message: &str) {
        // Ignores errors: the next `send` sends buffered data, and `receive` reports a lost
        // connection.
        let _ = self.0.send(Message::text(message));
    }

    fn receive(&mut self, deadline: Instant) -> Received {
        self.0.get_mut().set_deadline(deadline);
        loop {
            let text = match self.0.read() {
                Ok(Message::Text(text)) => text.to_string(),
                Ok(Message::Binary(bytes)) => String::from_utf8_lossy(&bytes).into_owned(),
                // The library answers pings and close frames.
                Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_)) => continue,
                Ok(Message::Close(_)) => {
                    let _ = self.0.flush();
                    return Received::Closed;
                }
                Err(Error::Io(error)) if error.kind() == ErrorKind::WouldBlock => return Received::Nothing,
                Err(Error::Io(_) | Error::ConnectionClosed | Error::AlreadyClosed) => return Received::Closed,
                Err(Error::Protocol(tungstenite::error::ProtocolError::ResetWithoutClosingHandshake)) => {
                    return Received::Closed;
                }
                Err(error) => return Received::Broken(error.to_string()),
            };
            return Received::Message { text, arrived: self.0.get_ref().arrived() };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::is_program;

    #[test]
    fn programs_are_told_from_pages() {
        for (origin, is_accepted) in [
            ("http://localhost", true),
            ("http://localhost/", true),
            ("https://LOCALHOST", true),
            ("http://127.0.0.1", true),
            ("http://[::1]/", true),
            ("ws://127.0.0.1:8765", true),
            ("http://localhost:8765", true),
            ("http://localhost:3000", false),
            ("http://localhost.evil.example", false),
            ("http://localhost@evil.example", false),
            ("http://evil.example/localhost", false),
            ("https://evil.example", false),
            ("file://", false),
            ("null", false),
            ("", false),
        ] {
            assert_eq!(is_program(origin, 8765), is_accepted, "{origin}");
        }
    }
}
