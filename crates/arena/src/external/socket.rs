//! A websocket connection from a bot, as on the real server, or from the bridge to a server.

use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use tungstenite::client::IntoClientRequest;
use tungstenite::error::ProtocolError;
use tungstenite::handshake::server::{Callback, ErrorResponse, Request, Response};
use tungstenite::handshake::{HandshakeError, HandshakeRole};
use tungstenite::http::StatusCode;
use tungstenite::http::header::{HeaderValue, ORIGIN};
use tungstenite::protocol::{Role, WebSocketConfig};
use tungstenite::{Error, Message, WebSocket};

use super::POLL_INTERVAL;
use super::connection::{Connection, Received};
use super::process::Program;
use getaway::protocol::ClientFrame;

const HANDSHAKE_TIME: Duration = Duration::from_secs(3);
const HEAD_END: &[u8; 4] = b"\r\n\r\n";

#[derive(Debug)]
pub(super) struct Port(TcpListener);

impl Port {
    pub fn open() -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        listener.set_nonblocking(true)?;
        Ok(Self(listener))
    }

    pub fn url(&self) -> io::Result<String> {
        Ok(format!("ws://{}", self.0.local_addr()?))
    }

    /// Waits for the bot to connect. Fails if `deadline` passes, the process exits or `is_stopped`
    /// returns true before that. The error is empty, or a suffix that says how often the bot tried,
    /// and why its last handshake failed.
    pub fn accept(
        &self,
        process: &mut Program,
        deadline: Instant,
        is_stopped: &dyn Fn() -> bool,
    ) -> Result<Connection, String> {
        let (mut tries, mut reason) = (0, String::new());
        while Instant::now() < deadline && !is_stopped() {
            if let Ok((connection, _)) = self.0.accept() {
                let deadline = deadline.min(Instant::now() + HANDSHAKE_TIME);
                match accept(connection, deadline, is_stopped) {
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

/// A socket that both threads of a connection write to. In the head of an HTTP message, reads end at
/// the end of the head, because the websocket library rejects a handshake that is read together
/// with the next message.
struct Socket {
    input: BufReader<TcpStream>,
    output: Arc<Mutex<TcpStream>>,
    /// The number of bytes of `HEAD_END` that the input so far ends with, or `None` after the head.
    head: Option<usize>,
}

impl Read for Socket {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut count = self.input.fill_buf()?.read(buffer)?;
        if let Some(matched) = &mut self.head {
            for (index, &byte) in buffer[..count].iter().enumerate() {
                *matched = if byte == HEAD_END[*matched] { *matched + 1 } else { usize::from(byte == HEAD_END[0]) };
                if *matched == HEAD_END.len() {
                    (*matched, count) = (0, index + 1);
                    break;
                }
            }
        }
        self.input.consume(count);
        Ok(count)
    }
}

impl Write for Socket {
    /// Writes all bytes, so that the messages of two threads do not mix.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.output.lock().unwrap_or_else(PoisonError::into_inner).write_all(bytes).map(|()| bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Connects to a server.
pub(super) fn connect(
    request: impl IntoClientRequest + Send + 'static,
    connection: TcpStream,
    is_stopped: &dyn Fn() -> bool,
) -> Result<Connection, Error> {
    let shake_hands = |socket| tungstenite::client(request, socket).map(|(socket, _)| socket).map_err(failure);
    shaken(connection, Role::Client, Instant::now() + HANDSHAKE_TIME, is_stopped, shake_hands)
}

fn accept(connection: TcpStream, deadline: Instant, is_stopped: &dyn Fn() -> bool) -> Result<Connection, Error> {
    connection.set_nonblocking(false)?;
    let port = connection.local_addr()?.port();
    let limits = WebSocketConfig::default()
        .max_message_size(Some(ClientFrame::MAX_BYTES))
        .max_frame_size(Some(ClientFrame::MAX_BYTES));
    let shake_hands =
        move |socket| tungstenite::accept_hdr_with_config(socket, refuse_pages(port), Some(limits)).map_err(failure);
    shaken(connection, Role::Server, deadline, is_stopped, shake_hands)
}

fn failure<R: HandshakeRole>(error: HandshakeError<R>) -> Error {
    match error {
        HandshakeError::Failure(error) => error,
        HandshakeError::Interrupted(_) => Error::Io(ErrorKind::TimedOut.into()),
    }
}

/// Performs the handshake on a thread of its own, because reads have no deadline.
fn shaken(
    connection: TcpStream,
    role: Role,
    deadline: Instant,
    is_stopped: &dyn Fn() -> bool,
    shake_hands: impl FnOnce(Socket) -> Result<WebSocket<Socket>, Error> + Send + 'static,
) -> Result<Connection, Error> {
    connection.set_nodelay(true)?;
    let output = Arc::new(Mutex::new(connection.try_clone()?));
    let input = BufReader::new(connection.try_clone()?);
    let socket = Socket { input, output: Arc::clone(&output), head: Some(0) };
    let (sender, result) = mpsc::sync_channel(1);
    thread::Builder::new().spawn(move || drop(sender.send(shake_hands(socket))))?;
    let mut socket = loop {
        match result.recv_timeout(POLL_INTERVAL) {
            Ok(result) => break result?,
            Err(_) if is_stopped() || Instant::now() >= deadline => {
                connection.shutdown(Shutdown::Both)?;
                return Err(Error::Io(ErrorKind::TimedOut.into()));
            }
            Err(_) => {}
        }
    };
    socket.get_mut().head = None;
    let second = Socket { input: BufReader::new(connection.try_clone()?), output, head: None };
    let mut writer = WebSocket::from_raw_socket(second, role, None);
    let write = move |message: Option<&str>| {
        let sent = match message {
            Some(message) => writer.send(Message::text(message)),
            None => writer.close(None).and_then(|()| writer.flush()),
        };
        sent.map_err(io::Error::other)
    };
    Ok(Connection::new(write, move || read(&mut socket), Some(connection))?)
}

fn read(socket: &mut WebSocket<Socket>) -> Received {
    loop {
        return match socket.read() {
            Ok(Message::Text(text)) => Received::message(&text),
            Ok(Message::Binary(bytes)) => Received::message(&String::from_utf8_lossy(&bytes)),
            // The library answers pings and close frames.
            Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_)) => continue,
            Ok(Message::Close(_)) => {
                let _ = socket.flush();
                Received::Closed
            }
            Err(Error::Io(_) | Error::ConnectionClosed | Error::AlreadyClosed) => Received::Closed,
            Err(Error::Protocol(ProtocolError::ResetWithoutClosingHandshake)) => Received::Closed,
            Err(error) => Received::Broken(error.to_string()),
        };
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
/// address, or an address of this machine without a port, which Go libraries require.
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
