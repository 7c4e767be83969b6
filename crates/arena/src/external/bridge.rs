//! The bridge between a websocket server and a bot that reads states and writes commands as lines.

use std::io;
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use thiserror::Error;
use tungstenite::client::IntoClientRequest;

use super::EXIT_TIME;
use super::connection::{Connection, Received};
use super::process::{Program, Streams, exit_words};
use super::socket;
use crate::phrases::counted;
use getaway::protocol::{ClientFrame, Mistakes, Register, to_json};

/// The bridge alternately waits for the server and the bot, each time for at most this long.
const WAIT_TIME: Duration = Duration::from_millis(1);
/// Time limit for connecting to the server, which may still be starting.
const CONNECT_TIME: Duration = Duration::from_secs(5);
const CONNECT_INTERVAL: Duration = Duration::from_millis(100);

#[derive(Debug, Error)]
#[non_exhaustive]
pub enum BridgeError {
    #[error("cannot connect to {url}: {reason}")]
    Connect { url: String, reason: String },
    #[error("cannot start {command}: {source}")]
    Start { command: String, source: io::Error },
    /// `status` says how the bot exited, or how it broke the rules for its output.
    #[error("the bot ended before the game did ({status}) after {}", counted(u64::from(*.states), "state", "states"))]
    Ended { status: String, states: u32 },
    #[error("invalid data from the server: {0}")]
    Server(String),
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BridgeReport {
    pub states: u32,
    pub commands: u32,
}

/// Connects to a server, starts a bot, and registers. Passes states to the bot and commands to the
/// server until the connection ends or `stop` is set. Passes on invalid messages of the bot, too.
/// Fails if the bot cannot start, ends first or breaks the rules for its output, or if the server
/// cannot be reached or sends invalid data. `log` receives the bot's standard error, and notes on
/// the bot's mistakes.
pub fn bridge(
    url: &str,
    register: &Register,
    command: &str,
    stop: &AtomicBool,
    log: &mut dyn FnMut(&str),
) -> Result<BridgeReport, BridgeError> {
    let is_stopped = || stop.load(Ordering::Relaxed);
    let mut server = connect(url, &is_stopped)?;
    let start_error = |source| BridgeError::Start { command: command.to_owned(), source };
    let environment = [("SERVER_URL", String::new())];
    let mut process = Program::start_with(Streams::Piped, command, &environment).map_err(start_error)?;
    let mut bot = Connection::over_pipes(process.child()).map_err(start_error)?;
    server.send(to_json(register));
    let (mut report, mut failure) = (BridgeReport::default(), None);
    let mut mistakes = Mistakes::default();
    while !is_stopped() {
        log(&process.take_log());
        match server.receive(Instant::now() + WAIT_TIME) {
            Received::Message { text, .. } => {
                report.states += 1;
                bot.send(text);
            }
            Received::Nothing => {}
            Received::Closed => break,
            Received::Broken(what) => {
                failure = Some(BridgeError::Server(what));
                break;
            }
        }
        match bot.receive(Instant::now() + WAIT_TIME) {
            Received::Message { text, .. } => {
                let new = match ClientFrame::parse(&text) {
                    // Drops the bot's registration, because the bridge has already registered.
                    Ok(ClientFrame::Register(_)) => continue,
                    Ok(ClientFrame::Command(command)) => mistakes.add_actions(command.tick, &command.actions),
                    Ok(ClientFrame::InvalidCommand(error)) => invalid(&mut mistakes, report, &text, &error.to_string()),
                    Ok(_) => invalid(&mut mistakes, report, &text, "expected a COMMAND"),
                    Err(error) => {
                        let hint = "expected a COMMAND; print other text to standard error";
                        invalid(&mut mistakes, report, &text, &format!("{error}: {hint}"))
                    }
                };
                new.iter().for_each(|what| log(&format!("note: {what} (reported once)\n")));
                report.commands += 1;
                server.send(text);
            }
            Received::Nothing => {}
            end @ (Received::Closed | Received::Broken(_)) => {
                let status = match end {
                    Received::Broken(what) => what,
                    _ => exit_words(process.wait_unless(EXIT_TIME, &is_stopped).unwrap_or_default()),
                };
                process.kill();
                log(&process.take_log());
                server.close(&is_stopped);
                return Err(BridgeError::Ended { status, states: report.states });
            }
        }
    }
    drop(bot);
    let _ = process.wait_unless(EXIT_TIME, &is_stopped);
    process.kill();
    log(&process.take_log());
    if !mistakes.is_empty() {
        log(&format!("note: {}\n", mistakes.words()));
    }
    failure.map_or(Ok(report), Err)
}

fn invalid(mistakes: &mut Mistakes, report: BridgeReport, text: &str, error: &str) -> Vec<String> {
    mistakes.add("invalid message", report.states, text, error).into_iter().collect()
}

fn connect(url: &str, is_stopped: &dyn Fn() -> bool) -> Result<Connection, BridgeError> {
    let error = |reason: String| BridgeError::Connect { url: url.to_owned(), reason };
    let deadline = Instant::now() + CONNECT_TIME;
    let request = || url.into_client_request().map_err(|reason| error(reason.to_string()));
    let parsed = request()?;
    let uri = parsed.uri();
    let host = uri.host().filter(|_| uri.scheme_str() == Some("ws"));
    let host = host.ok_or_else(|| error("expected an address such as ws://127.0.0.1:8765".to_owned()))?;
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let stream = loop {
        match TcpStream::connect((host, uri.port_u16().unwrap_or(80))) {
            Ok(stream) => break stream,
            Err(_) if Instant::now() < deadline && !is_stopped() => {
                std::thread::sleep(CONNECT_INTERVAL);
            }
            Err(reason) => return Err(error(format!("{reason} (`getaway serve` starts a server)"))),
        }
    };
    socket::connect(request()?, stream, is_stopped).map_err(|reason| error(reason.to_string()))
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::io::Write;
    use std::net::TcpListener;
    use std::thread::JoinHandle;

    use tungstenite::{Message, WebSocket};

    use super::*;

    /// Accepts one connection on a thread, reads the registration and calls `serve`. Returns the address and
    /// the thread, whose result is that of `serve`.
    fn serve_one<T: Send + 'static>(
        serve: impl FnOnce(WebSocket<TcpStream>) -> T + Send + 'static,
    ) -> (String, JoinHandle<T>) {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
        let url = format!("ws://{}", listener.local_addr().expect("an address"));
        let server = std::thread::spawn(move || {
            let (connection, _) = listener.accept().expect("a connection");
            let mut socket = tungstenite::accept(connection).expect("a websocket");
            socket.read().expect("a registration");
            serve(socket)
        });
        (url, server)
    }

    #[test]
    fn invalid_data_from_the_server_is_an_error() {
        let (url, server) = serve_one(|mut socket| {
            socket.get_mut().write_all(&[0xff, 0]).expect("a connection");
            socket
        });
        let register = Register { token: None, team_name: None };
        let error = bridge(&url, &register, "cat", &AtomicBool::new(false), &mut |_| ()).expect_err("an error");
        assert!(error.to_string().starts_with("invalid data from the server: "), "{error}");
        // The connection stays open until here.
        drop(server.join().expect("a server"));
    }

    #[test]
    fn byte_order_mark_does_not_reach_the_bot() {
        let (url, server) = serve_one(|mut socket| {
            socket.send(Message::text("\u{feff}{}")).expect("a connection");
            socket.read().map(|answer| answer.to_string())
        });
        let register = Register { token: None, team_name: None };
        let bot = "read -r m; test \"$m\" = {} && echo bare; read -r m";
        let report = bridge(&url, &register, bot, &AtomicBool::new(false), &mut |_| ());
        assert_eq!(server.join().expect("a server").expect("an answer"), "bare", "{report:?}");
    }
}
