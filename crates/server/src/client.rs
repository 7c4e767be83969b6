//! Serves a websocket client: a bot or a viewer.

use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, Instant};

use tungstenite::Message;
use tungstenite::protocol::frame::coding::CloseCode;

use super::event::Event;
use super::game::HostedGame;
use super::limits::{MAX_IDLE_FRAMES_PER_SECOND, PING_INTERVAL, REGISTRATION_TIMEOUT, VIEWER_SHUTDOWN_TIMEOUT};
use super::mistakes::{early_frame, is_first};
use super::recorder::Recorder;
use super::shared::{Place, Shared};
use super::socket::{Disconnect, Incoming, Socket, parse_incoming};
use getaway::protocol::{ClientFrame, Register};

const DEFAULT_TEAM: &str = "team";

enum Role {
    Bot(Register),
    Viewer,
}

pub(super) fn serve(mut socket: Socket, shared: &Shared) {
    let disconnect = match role(&mut socket, shared) {
        Ok(Role::Bot(register)) => bot(&mut socket, shared, &register),
        Ok(Role::Viewer) => viewer(&mut socket, shared),
        Err(disconnect) => rejected(shared, disconnect),
    };
    socket.close(disconnect);
}

/// Reports the reason, unless the connection ended or failed, or the server is shutting down.
fn rejected(shared: &Shared, disconnect: Disconnect) -> Disconnect {
    use CloseCode::{Again, Invalid, Policy, Size};
    if matches!(disconnect.code, Policy | Invalid | Size | Again) {
        shared.report(Event::ClientNote { text: format!("disconnected before its game: {}", disconnect.reason) });
    }
    disconnect
}

/// Waits for the frame that determines the role. Reports the first mistake of each kind.
fn role(socket: &mut Socket, shared: &Shared) -> Result<Role, Disconnect> {
    let deadline = Instant::now() + REGISTRATION_TIMEOUT;
    let (mut client, mut mistakes) = (IdleClient::new(socket), Vec::new());
    while Instant::now() < deadline {
        match client.wait(deadline)? {
            Some(ClientFrame::Register(register)) => return Ok(Role::Bot(register)),
            Some(ClientFrame::Viewer) => return Ok(Role::Viewer),
            Some(frame) => {
                let (mistake, what) = early_frame(&frame);
                if is_first(&mut mistakes, mistake) {
                    let expected = r#"{"type":"REGISTER","teamName":"..."} or {"type":"VIEWER"}"#;
                    let text = format!("ignored {what} before REGISTER: expected {expected} first");
                    shared.report(Event::ClientNote { text });
                }
            }
            None => {}
        }
    }
    let seconds = REGISTRATION_TIMEOUT.as_secs();
    Err(Disconnect::new(CloseCode::Policy, format!("no REGISTER within {seconds} s")))
}

fn bot(socket: &mut Socket, shared: &Shared, register: &Register) -> Disconnect {
    if team_of(register).chars().count() > Register::MAX_NAME_CHARS {
        let reason = format!("teamName: expected at most {} characters", Register::MAX_NAME_CHARS);
        return rejected(shared, Disconnect::new(CloseCode::Policy, reason));
    }
    match wait_for_turn(socket, shared) {
        Ok(_place) => play(socket, shared, register),
        Err(disconnect) => rejected(shared, disconnect),
    }
}

fn team_of(register: &Register) -> &str {
    register.team_name.as_deref().unwrap_or(DEFAULT_TEAM)
}

/// Plays the next game. The caller must be the first in `Shared::bots`.
fn play(socket: &mut Socket, shared: &Shared, register: &Register) -> Disconnect {
    let Some(number) = shared.next_game() else {
        return Disconnect::new(CloseCode::Away, "all games have been played");
    };
    let note = |text: String| shared.report(Event::Note { game: number, text });
    let (team, has_token) = (team_of(register), register.token.as_ref().is_some_and(|token| !token.is_empty()));
    let map = shared.options.map_of_game(number);
    let world = match getaway::game::World::new(&map.layout, &shared.options.rules) {
        Ok(world) => Arc::new(world),
        Err(error) => {
            note(format!("{}: {error}", map.name));
            shared.end_game(number);
            return Disconnect::new(CloseCode::Error, "the map is not playable");
        }
    };
    let recording = shared.options.recording_of_game(number).and_then(|path| {
        let started = Recorder::start(path, shared.options.existing_recordings);
        started.inspect_err(|error| note(format!("{error}; this game is not recorded"))).ok()
    });
    shared.report(Event::Start { game: number, map: map.name.clone(), team: team.to_owned(), has_token });
    shared.live.begin(&map.name, team, Arc::clone(&world));
    let game = HostedGame {
        number,
        map: &map.name,
        world: &world,
        team,
        tick_time: shared.options.tick_time,
        delay: shared.options.delay,
        viewers: &shared.viewers,
        live: &shared.live,
        recording,
        note: &note,
    };
    let (result, disconnect) = game.play(socket);
    shared.report(Event::End(Box::new(result)));
    shared.end_game(number);
    disconnect
}

fn wait_for_turn<'a>(socket: &mut Socket, shared: &'a Shared) -> Result<Place<'a>, Disconnect> {
    let place = shared.bots.join(socket.waker());
    let place = place.ok_or_else(|| Disconnect::new(CloseCode::Again, "too many waiting bots"))?;
    let (mut client, mut mistakes) = (IdleClient::new(socket), Vec::new());
    while !place.is_first() {
        if shared.is_ending() {
            return Err(Disconnect::new(CloseCode::Away, "all games have been played"));
        }
        let Some(frame) = client.wait(Instant::now() + PING_INTERVAL)? else { continue };
        if matches!(frame, ClientFrame::Register(_)) {
            return Err(Disconnect::new(CloseCode::Policy, "already registered"));
        }
        let (mistake, what) = early_frame(&frame);
        if is_first(&mut mistakes, mistake) {
            let text = format!("ignored {what} from a waiting bot: expected no frame until the first state");
            shared.report(Event::ClientNote { text });
        }
    }
    Ok(place)
}

fn viewer(socket: &mut Socket, shared: &Shared) -> Disconnect {
    let Some(viewer) = shared.viewers.join(socket.waker()) else {
        return Disconnect::new(CloseCode::Again, "too many viewers");
    };
    let mut client = IdleClient::new(socket);
    let mut step = || {
        // The last state is published before `is_ending` is set, so the loop below sends it.
        let is_ending = shared.is_ending();
        while let Some(state) = viewer.next_state()? {
            client.socket.send(Message::Text(state))?;
        }
        if is_ending {
            sleep(VIEWER_SHUTDOWN_TIMEOUT);
            return Err(Disconnect::new(CloseCode::Away, "the server is shutting down"));
        }
        client.wait(Instant::now() + PING_INTERVAL)
    };
    loop {
        if let Err(disconnect) = step() {
            return disconnect;
        }
    }
}

/// A client that is not playing. Limits its frames, and detects that it has disappeared without
/// closing the connection.
struct IdleClient<'a> {
    socket: &'a mut Socket,
    /// The number of frames counted, and the time at which this count began.
    frames: (u32, Instant),
    next_ping: Instant,
    last_activity: Instant,
}

impl<'a> IdleClient<'a> {
    fn new(socket: &'a mut Socket) -> Self {
        let now = Instant::now();
        Self { socket, frames: (0, now), next_ping: now + PING_INTERVAL, last_activity: now }
    }

    /// Waits for a frame until the deadline, or until a ping is due or a waker calls. Fails if the
    /// client is disconnected, or must be.
    fn wait(&mut self, deadline: Instant) -> Result<Option<ClientFrame>, Disconnect> {
        let received = self.socket.wait(deadline.min(self.next_ping));
        let now = Instant::now();
        self.last_activity = if received.is_some() { now } else { self.last_activity };
        if now >= self.next_ping {
            self.ping(now)?;
        }
        let Some(received) = received else { return Ok(None) };
        let frame = match parse_incoming(received) {
            Incoming::Frame(frame) => Some(frame),
            Incoming::Control => None,
            Incoming::Disconnected(disconnect) => return Err(disconnect),
        };
        self.count_frame(now)?;
        Ok(frame)
    }

    fn count_frame(&mut self, now: Instant) -> Result<(), Disconnect> {
        if now - self.frames.1 > Duration::from_secs(1) {
            self.frames = (0, now);
        }
        self.frames.0 += 1;
        if self.frames.0 > MAX_IDLE_FRAMES_PER_SECOND {
            return Err(Disconnect::new(CloseCode::Policy, "too many frames"));
        }
        Ok(())
    }

    fn ping(&mut self, now: Instant) -> Result<(), Disconnect> {
        self.next_ping = now + PING_INTERVAL;
        let is_alive = now - self.last_activity < 2 * PING_INTERVAL + PING_INTERVAL / 2;
        let sent = is_alive.then(|| self.socket.send(Message::Ping(Default::default())));
        let is_sent = sent.is_some_and(|sent| sent.is_ok());
        is_sent.then_some(()).ok_or_else(|| Disconnect::new(CloseCode::Error, "ping timeout"))
    }
}

#[cfg(test)]
mod tests {
    use std::io::{ErrorKind, Read};
    use std::net::{SocketAddr, TcpStream};

    use serde_json::json;
    use tungstenite::WebSocket;

    use super::*;
    use crate::{Server, ServerOptions};
    use getaway::game::Layout;
    use getaway::map::Map;

    const TIMEOUT: Duration = Duration::from_secs(30);

    fn join(address: SocketAddr, frame: serde_json::Value) -> WebSocket<TcpStream> {
        let stream = TcpStream::connect(address).expect("a connection");
        stream.set_read_timeout(Some(TIMEOUT)).expect("a time limit");
        let (mut socket, _) = tungstenite::client(format!("ws://{address}/"), stream).expect("a socket");
        socket.send(Message::text(frame.to_string())).expect("a frame is sent");
        socket
    }

    fn read_without_pongs(mut socket: WebSocket<TcpStream>) -> Vec<u8> {
        let mut bytes = Vec::new();
        let timed_out =
            socket.get_mut().read_to_end(&mut bytes).is_err_and(|error| error.kind() == ErrorKind::WouldBlock);
        assert!(!timed_out, "the connection ends");
        bytes
    }

    #[test]
    fn vanished_peers_are_dropped_and_peers_that_answer_pings_are_kept() {
        let layout = Layout::parse("P....#S").expect("a drawing");
        let map = Map { name: "apart".into(), kind: "challenge".into(), difficulty: "easy".into(), layout };
        let options = ServerOptions { tick_time: TIMEOUT, ..ServerOptions::with_maps(vec![map]) };
        let server = Server::start("127.0.0.1", 0, options).expect("a free port");
        // The player receives a state. It sends no command, so the first tick takes `TIMEOUT`.
        let mut player = join(server.address(), json!({"type": "REGISTER", "teamName": "thinks"}));
        assert!(player.read().expect("a state").is_text());
        let silent_viewer = join(server.address(), json!({"type": "VIEWER"}));
        let silent_bot = join(server.address(), json!({"type": "REGISTER", "teamName": "waits"}));
        let mut viewer = join(server.address(), json!({"type": "VIEWER"}));
        let silent = [silent_viewer, silent_bot].map(|socket| std::thread::spawn(|| read_without_pongs(socket)));
        let (mut pings, mut states, mut pings_at_drop) = (0, 0, None);
        // The viewer that answers pings stays connected after the silent peers have been dropped.
        while pings_at_drop.is_none_or(|before| pings < before + 6) {
            match viewer.read().expect("the viewer stays") {
                Message::Ping(_) => pings += 1,
                _ => states += 1,
            }
            if silent.iter().all(|thread| thread.is_finished()) {
                pings_at_drop.get_or_insert(pings);
            }
        }
        assert_eq!(states, 1, "the game makes no progress");
        // The code is `Error`, because `Away` announces a shutdown.
        let closes = [&u16::from(CloseCode::Error).to_be_bytes()[..], b"ping timeout"].concat();
        for silent in silent {
            let bytes = silent.join().expect("no panic");
            assert!(bytes.ends_with(&closes), "{bytes:?}");
        }
        drop(player);
    }
}
