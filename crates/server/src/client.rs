//! A websocket from its first frame on: a bot that plays when its turn comes, or a viewer.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::ws::{CloseCode, Message, WebSocket, close_code};
use tokio::sync::SemaphorePermit;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at, sleep, timeout};

use super::bot::Leave;
use super::game::Game;
use super::limits::{MAX_IDLE_FRAMES_PER_SECOND, PING_PAUSE, REGISTRATION_TIME, VIEWER_FAREWELL_TIME};
use super::recorder::Recorder;
use super::socket::{Incoming, close, incoming, send};
use super::{Event, Shared, closed};
use getaway::protocol::{ClientFrame, MAX_TEAM_NAME_CHARS, Register};

/// What a team is called that gives a token, or nothing.
const NAMELESS: &str = "team";

/// What a connection turns out to be.
enum Role {
    Bot(Register),
    Viewer,
}

/// Serves a connection to its end.
pub(super) async fn serve(mut socket: WebSocket, shared: Arc<Shared>) {
    let (code, reason) = match timeout(REGISTRATION_TIME, role(&mut socket)).await {
        Ok(Ok(Role::Bot(register))) => bot(&mut socket, &shared, register).await,
        Ok(Ok(Role::Viewer)) => viewer(&mut socket, &shared).await,
        Ok(Err(leave)) => (leave.code, leave.reason),
        Err(_) => (close_code::POLICY, format!("no REGISTER within {} s", REGISTRATION_TIME.as_secs())),
    };
    close(socket, code, &reason).await;
}

/// Waits for the frame that says who this is; others are ignored.
async fn role(socket: &mut WebSocket) -> Result<Role, Leave> {
    let mut patience = Patience::new();
    loop {
        match incoming(socket.recv().await) {
            Incoming::Frame(ClientFrame::Register(register)) => return Ok(Role::Bot(register)),
            Incoming::Frame(ClientFrame::Viewer) => return Ok(Role::Viewer),
            Incoming::Frame(_) | Incoming::Control => patience.frame()?,
            Incoming::Gone(leave) => return Err(leave),
        }
    }
}

/// A bot: waits for its turn, plays its one game, and is told what to close with.
async fn bot(socket: &mut WebSocket, shared: &Shared, register: Register) -> (CloseCode, String) {
    let team = register.team_name.unwrap_or_else(|| NAMELESS.to_owned());
    if team.chars().count() > MAX_TEAM_NAME_CHARS {
        return (close_code::POLICY, format!("teamName: expected at most {MAX_TEAM_NAME_CHARS} characters"));
    }
    let turn = match wait_for_turn(socket, shared).await {
        Ok(turn) => turn,
        Err(leave) => return (leave.code, leave.reason),
    };
    let closing = play(socket, shared, &team).await;
    drop(turn);
    closing
}

/// Plays the next game; the caller has the turn.
async fn play(socket: &mut WebSocket, shared: &Shared, team: &str) -> (CloseCode, String) {
    let Some(number) = shared.next_game() else {
        return (close_code::AWAY, "the server has played its games".to_owned());
    };
    let note = |text: String| shared.tell(Event::Note { game: number, text });
    let map = shared.options.map_of_game(number);
    let world = match getaway::game::World::new(&map.layout, &shared.options.rules) {
        Ok(world) => Arc::new(world),
        Err(error) => {
            note(format!("{}: {error}", map.name));
            shared.end_game(number);
            return (close_code::ERROR, "the map cannot be played".to_owned());
        }
    };
    let recording = match shared.options.recording_of_game(number) {
        Some(path) => {
            let started = Recorder::start(path).await;
            started.inspect_err(|error| note(format!("{error}; this game is not recorded"))).ok()
        }
        None => None,
    };
    shared.tell(Event::Start { game: number, map: map.name.clone(), team: team.to_owned() });
    shared.booth.live.begin(&map.name, team, Arc::clone(&world));
    let game = Game {
        number,
        map: &map.name,
        world: &world,
        team,
        tick_time: shared.options.tick_time,
        delay: shared.options.delay,
        viewers: &shared.viewers,
        live: &shared.booth.live,
        recording,
        note: &note,
    };
    let (result, code, reason) = game.play(socket).await;
    shared.tell(Event::End(Box::new(result)));
    shared.end_game(number);
    (code, reason)
}

/// Waits, in the order of arrival, until nobody else plays.
async fn wait_for_turn<'a>(socket: &mut WebSocket, shared: &'a Shared) -> Result<SemaphorePermit<'a>, Leave> {
    let Ok(_seat) = shared.waiting.try_acquire() else {
        return Err(Leave::new(close_code::AGAIN, "too many bots are waiting"));
    };
    let (mut patience, mut closing, mut pulse) = (Patience::new(), shared.closing.subscribe(), Pulse::new());
    let turn = shared.turn.acquire();
    tokio::pin!(turn);
    loop {
        tokio::select! {
            biased;
            turn = &mut turn => return turn.map_err(|_| Leave::new(close_code::AWAY, "the server ends")),
            () = closed(&mut closing) => {
                return Err(Leave::new(close_code::AWAY, "the server has played its games"));
            }
            received = socket.recv() => {
                pulse.heard();
                match incoming(received) {
                    Incoming::Frame(ClientFrame::Register(_)) => {
                        return Err(Leave::new(close_code::POLICY, "registered twice"));
                    }
                    Incoming::Frame(_) | Incoming::Control => patience.frame()?,
                    Incoming::Gone(leave) => return Err(leave),
                }
            }
            _ = pulse.next() => pulse.ping(socket).await?,
        }
    }
}

/// A viewer: is sent states until it leaves or falls behind.
async fn viewer(socket: &mut WebSocket, shared: &Shared) -> (CloseCode, String) {
    let Some(mut states) = shared.viewers.join() else {
        return (close_code::AGAIN, "too many viewers".to_owned());
    };
    let (mut patience, mut closing, mut pulse) = (Patience::new(), shared.closing.subscribe(), Pulse::new());
    let leave = loop {
        let step = tokio::select! {
            biased;
            state = states.recv() => match state {
                Some(state) => pass(send(socket, Message::Text(state)).await),
                None => pass(false),
            },
            () = closed(&mut closing) => {
                sleep(VIEWER_FAREWELL_TIME).await;
                Err(Leave::new(close_code::AWAY, "the server ends"))
            }
            received = socket.recv() => {
                pulse.heard();
                match incoming(received) {
                    Incoming::Frame(_) | Incoming::Control => patience.frame(),
                    Incoming::Gone(leave) => Err(leave),
                }
            }
            _ = pulse.next() => pulse.ping(socket).await,
        };
        if let Err(leave) = step {
            break leave;
        }
    };
    (leave.code, leave.reason)
}

/// Whether a viewer keeps up.
fn pass(keeps_up: bool) -> Result<(), Leave> {
    if keeps_up { Ok(()) } else { Err(Leave::new(close_code::POLICY, "reads too slowly")) }
}

/// Counts what a peer says that has nothing to say.
struct Patience {
    since: Instant,
    frames: u32,
}

impl Patience {
    fn new() -> Self {
        Self { since: Instant::now(), frames: 0 }
    }

    /// One more frame.
    fn frame(&mut self) -> Result<(), Leave> {
        if self.since.elapsed() > Duration::from_secs(1) {
            *self = Self::new();
        }
        self.frames += 1;
        if self.frames > MAX_IDLE_FRAMES_PER_SECOND {
            return Err(Leave::new(close_code::POLICY, "too many frames"));
        }
        Ok(())
    }
}

/// Finds out peers that have vanished without a word.
struct Pulse {
    pings: Interval,
    heard: Instant,
}

impl Pulse {
    fn new() -> Self {
        let mut pings = interval_at(Instant::now() + PING_PAUSE, PING_PAUSE);
        pings.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self { pings, heard: Instant::now() }
    }

    /// The peer said something.
    fn heard(&mut self) {
        self.heard = Instant::now();
    }

    /// Waits until it is time to ping.
    async fn next(&mut self) {
        self.pings.tick().await;
    }

    async fn ping(&mut self, socket: &mut WebSocket) -> Result<(), Leave> {
        if self.heard.elapsed() < 2 * PING_PAUSE + PING_PAUSE / 2
            && send(socket, Message::Ping(Default::default())).await
        {
            return Ok(());
        }
        Err(Leave::new(close_code::AWAY, "does not answer"))
    }
}

#[cfg(test)]
mod tests {
    use futures_util::{SinkExt, StreamExt};
    use serde_json::json;
    use tokio::io::AsyncReadExt;
    use tokio::net::TcpStream;
    use tokio::time::timeout;
    use tokio_tungstenite::WebSocketStream;
    use tokio_tungstenite::tungstenite::Message;

    use super::*;
    use crate::{Server, ServerOptions};
    use getaway::game::Layout;
    use getaway::map::Map;

    const PATIENCE: Duration = Duration::from_secs(30);

    async fn join(address: &str, frame: serde_json::Value) -> WebSocketStream<TcpStream> {
        let stream = TcpStream::connect(address).await.expect("a connection");
        let (mut socket, _) =
            tokio_tungstenite::client_async(format!("ws://{address}/"), stream).await.expect("a socket");
        socket.send(Message::text(frame.to_string())).await.expect("a frame is sent");
        socket
    }

    /// Everything that comes until the connection is closed, with the reason in it; read as bytes, so that nothing answers the pings.
    async fn heard_in_silence(mut socket: WebSocketStream<TcpStream>) -> String {
        let mut bytes = Vec::new();
        let _ = timeout(PATIENCE, socket.get_mut().read_to_end(&mut bytes)).await.expect("the connection ends");
        String::from_utf8_lossy(&bytes).into_owned()
    }

    #[tokio::test]
    async fn who_vanishes_without_a_word_is_dropped_and_who_answers_pings_is_not() {
        let layout = Layout::parse("P....#s").expect("a drawing");
        let map = Map { name: "apart".into(), kind: "challenge".into(), difficulty: "easy".into(), layout };
        let options = ServerOptions { tick_time: PATIENCE, ..ServerOptions::on(vec![map]) };
        let server = Server::bind("127.0.0.1", 0, options).await.expect("a free port");
        let address = server.local_addr().expect("an address").to_string();
        let running = tokio::spawn(server.run(|_| Ok::<(), ()>(())));
        // A game that stands still, since its bot thinks.
        let player = join(&address, json!({"type": "REGISTER", "teamName": "thinks"})).await;
        let silent_viewer = join(&address, json!({"type": "VIEWER"})).await;
        let silent_bot = join(&address, json!({"type": "REGISTER", "teamName": "waits"})).await;
        let mut viewer = join(&address, json!({"type": "VIEWER"})).await;
        let (mut pings, mut states) = (0, 0);
        let vanished = async { tokio::join!(heard_in_silence(silent_viewer), heard_in_silence(silent_bot)) };
        tokio::pin!(vanished);
        let (of_viewer, of_bot) = loop {
            tokio::select! {
                ended = &mut vanished => break ended,
                message = viewer.next() => match message.expect("the viewer stays").expect("a frame") {
                    Message::Ping(_) => pings += 1,
                    _ => states += 1,
                },
            }
        };
        assert!(of_viewer.contains("does not answer") && of_bot.contains("does not answer"), "{of_viewer}; {of_bot}");
        assert_eq!(states, 1, "the game stands still");
        // Long after the others were given up, who answers is pinged on.
        while pings < 6 {
            let message = timeout(PATIENCE, viewer.next())
                .await
                .expect("pings go on")
                .expect("the viewer stays")
                .expect("a frame");
            pings += u32::from(message.is_ping());
        }
        drop(player);
        running.abort();
    }
}
