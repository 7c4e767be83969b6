//! The bridge: connects a bot that reads and writes lines to a websocket server.

use std::io;
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use thiserror::Error;
use tungstenite::client::IntoClientRequest;

use super::channel::{Channel, Received};
use super::guard::Guard;
use super::pipe::PipeChannel;
use super::process::{Process, Streams, exit_words};
use super::socket::SocketChannel;
use super::{EXIT_TIME, STARTUP_TIME};
use getaway::protocol::{ClientFrame, Register, to_json};

/// How long each side is polled in turn. A command is delayed by at most this much.
const TURN: Duration = Duration::from_millis(1);
/// Interval of attempts to connect.
const CONNECT_INTERVAL: Duration = Duration::from_millis(100);

/// Why the bridge gave up.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum BridgeError {
    /// The server cannot be reached.
    #[error("cannot connect to {url}: {reason}")]
    Connect {
        /// The address.
        url: String,
        /// The reason.
        reason: String,
    },
    /// The command cannot be started.
    #[error("cannot start {command}: {source}")]
    Start {
        /// The command.
        command: String,
        /// The system's error.
        source: io::Error,
    },
    /// The bot ended before the game.
    #[error("the bot ended before the game did ({status}) after {states} states")]
    Ended {
        /// How it ended.
        status: String,
        /// Number of states that it was sent.
        states: u32,
    },
}

/// The traffic over a bridge.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BridgeReport {
    /// States passed to the bot.
    pub states: u32,
    /// Messages passed to the server.
    pub commands: u32,
}

/// Connects to a server, registers, and passes states to a bot and its commands to the server until
/// the server closes the connection or `stop` is set.
///
/// # Errors
/// When the server cannot be reached, or the bot cannot be started or ends early.
pub fn bridge(url: &str, register: &Register, command: &str, stop: &AtomicBool) -> Result<BridgeReport, BridgeError> {
    let mut server = connect(url, stop)?;
    let start_error = |source| BridgeError::Start { command: command.to_owned(), source };
    let guard = Arc::new(Guard::start().map_err(start_error)?);
    let environment = [("SERVER_URL", String::new())];
    let mut process =
        Process::start(command, Streams::Bridged, &environment, Some(Arc::clone(&guard))).map_err(start_error)?;
    let child = process.child();
    let streams = (child.stdin.take().expect("piped"), child.stdout.take().expect("piped"));
    let mut bot = PipeChannel::new(streams.0, streams.1);
    server.send(&to_json(register));
    let mut report = BridgeReport::default();
    while !stop.load(Ordering::Relaxed) {
        match server.receive(Instant::now() + TURN) {
            Received::Message(state) => {
                report.states += 1;
                bot.send(&state);
            }
            Received::Nothing => {}
            Received::Closed | Received::Broken(_) => break,
        }
        match bot.receive(Instant::now() + TURN) {
            // The bridge has registered.
            Received::Message(message) if matches!(ClientFrame::parse(&message), Ok(ClientFrame::Register(_))) => {}
            Received::Message(message) => {
                report.commands += 1;
                server.send(&message);
            }
            Received::Nothing => {}
            Received::Closed | Received::Broken(_) => {
                let status = exit_words(process.wait(EXIT_TIME));
                server.close();
                return Err(BridgeError::Ended { status, states: report.states });
            }
        }
    }
    drop(bot);
    process.wait(EXIT_TIME);
    process.kill();
    Ok(report)
}

/// Connects; waits for a server that is still starting.
fn connect(url: &str, stop: &AtomicBool) -> Result<SocketChannel, BridgeError> {
    let error = |reason: String| BridgeError::Connect { url: url.to_owned(), reason };
    let deadline = Instant::now() + STARTUP_TIME / 2;
    let request = || url.into_client_request().map_err(|reason| error(reason.to_string()));
    let parsed = request()?;
    let uri = parsed.uri();
    let host = uri.host().filter(|_| uri.scheme_str() == Some("ws"));
    let host = host.ok_or_else(|| error("expected an address such as ws://127.0.0.1:8765".to_owned()))?;
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let stream = loop {
        match TcpStream::connect((host, uri.port_u16().unwrap_or(80))) {
            Ok(stream) => break stream,
            Err(_) if Instant::now() < deadline && !stop.load(Ordering::Relaxed) => {
                std::thread::sleep(CONNECT_INTERVAL);
            }
            Err(reason) => return Err(error(reason.to_string())),
        }
    };
    // Send small packets at once: waiting for more data would only delay the command.
    let _ = stream.set_nodelay(true);
    let opened = tungstenite::client(request()?, stream).map_err(|reason| error(reason.to_string()));
    opened.map(|(socket, _)| SocketChannel::new(socket))
}
