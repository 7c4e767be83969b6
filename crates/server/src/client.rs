//! Serves a websocket client: a bot or a viewer.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::ws::{CloseCode, Message, WebSocket, close_code};
use tokio::sync::SemaphorePermit;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at, sleep, timeout};

use super::disconnect::Disconnect;
use super::event::Event;
use super::game::HostedGame;
use super::limits::{MAX_IDLE_FRAMES_PER_SECOND, PING_INTERVAL, REGISTRATION_TIMEOUT, VIEWER_SHUTDOWN_TIMEOUT};
use super::mistakes::{Mistakes, early_frame};
use super::recorder::Recorder;
use super::shared::{Shared, wait_for_end};
use super::socket::{Incoming, close, parse_incoming, send};
use getaway::protocol::{ClientFrame, MAX_TEAM_NAME_CHARS, Register};

const DEFAULT_TEAM: &str = "team";

enum Role {
    Bot(Register),
    Viewer,
}

pub(super) async fn serve(mut socket: WebSocket, shared: Arc<Shared>) {
    let too_late = || {
        let seconds = REGISTRATION_TIMEOUT.as_secs();
        Disconnect::new(close_code::POLICY, format!("no REGISTER within {seconds} s"))
    };
    let role = timeout(REGISTRATION_TIMEOUT, role(&mut socket, &shared)).await.unwrap_or_else(|_| Err(too_late()));
    let (code, reason) = match role {
        Ok(Role::Bot(register)) => bot(&mut socket, &shared, register).await,
        Ok(Role::Viewer) => viewer(&mut socket, &shared).await,
        Err(disconnect) => rejected(&shared, disconnect),
    };
    close(socket, code, &reason).await;
}

/// Reports the reason, unless the connection ended or failed, or the server is shutting down.
fn rejected(shared: &Shared, disconnect: Disconnect) -> (CloseCode, String) {
    let Disconnect { reason, code } = disconnect;
    if matches!(code, close_code::POLICY | close_code::INVALID | close_code::SIZE | close_code::AGAIN) {
        shared.report(Event::ClientNote { text: format!("disconnected before its game: {reason}") });
    }
    (code, reason)
}

/// Waits for the frame that determines the role. Reports the first mistake of each kind.
async fn role(socket: &mut WebSocket, shared: &Shared) -> Result<Role, Disconnect> {
    let (mut rate_limiter, mut mistakes) = (RateLimiter::new(), Mistakes::default());
    loop {
        match parse_incoming(socket.recv().await) {
            Incoming::Frame(ClientFrame::Register(register)) => return Ok(Role::Bot(register)),
            Incoming::Frame(ClientFrame::Viewer) => return Ok(Role::Viewer),
            Incoming::Frame(frame) => {
                let (mistake, what) = early_frame(&frame);
                if mistakes.is_first(mistake) {
                    let expected = r#"{"type":"REGISTER","teamName":"..."} or {"type":"VIEWER"}"#;
                    let text = format!("ignored {what} before REGISTER: expected {expected} first");
                    shared.report(Event::ClientNote { text });
                }
                rate_limiter.count_frame()?;
            }
            Incoming::Control => rate_limiter.count_frame()?,
            Incoming::Disconnected(disconnect) => return Err(disconnect),
        }
    }
}

async fn bot(socket: &mut WebSocket, shared: &Shared, register: Register) -> (CloseCode, String) {
    if team_of(&register).chars().count() > MAX_TEAM_NAME_CHARS {
        let reason = format!("teamName: expected at most {MAX_TEAM_NAME_CHARS} characters");
        return rejected(shared, Disconnect::new(close_code::POLICY, reason));
    }
    let turn = match wait_for_turn(socket, shared).await {
        Ok(turn) => turn,
        Err(disconnect) => return rejected(shared, disconnect),
    };
    let close = play(socket, shared, &register).await;
    drop(turn);
    close
}

fn team_of(register: &Register) -> &str {
    register.team_name.as_deref().unwrap_or(DEFAULT_TEAM)
}

/// Plays the next game. The caller must hold the permit of `Shared::turn`.
async fn play(socket: &mut WebSocket, shared: &Shared, register: &Register) -> (CloseCode, String) {
    let Some(number) = shared.next_game() else {
        return (close_code::AWAY, "all games have been played".to_owned());
    };
    let note = |text: String| shared.report(Event::Note { game: number, text });
    let (team, has_token) = (team_of(register), register.token.as_ref().is_some_and(|token| !token.is_empty()));
    let map = shared.options.map_of_game(number);
    let world = match getaway::game::World::new(&map.layout, &shared.options.rules) {
        Ok(world) => Arc::new(world),
        Err(error) => {
            note(format!("{}: {error}", map.name));
            shared.end_game(number);
            return (close_code::ERROR, "the map is not playable".to_owned());
        }
    };
    let recording = match shared.options.recording_of_game(number) {
        Some(path) => {
            let started = Recorder::start(path, shared.options.existing_recordings).await;
            started.inspect_err(|error| note(format!("{error}; this game is not recorded"))).ok()
        }
        None => None,
    };
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
    let (result, Disconnect { code, reason }) = game.play(socket).await;
    shared.report(Event::End(Box::new(result)));
    shared.end_game(number);
    (code, reason)
}

async fn wait_for_turn<'a>(socket: &mut WebSocket, shared: &'a Shared) -> Result<SemaphorePermit<'a>, Disconnect> {
    let Ok(_permit) = shared.waiting.try_acquire() else {
        return Err(Disconnect::new(close_code::AGAIN, "too many waiting bots"));
    };
    let (mut rate_limiter, mut all_played, mut keepalive) =
        (RateLimiter::new(), shared.all_played.subscribe(), Keepalive::new());
    let mut mistakes = Mistakes::default();
    let turn = shared.turn.acquire();
    tokio::pin!(turn);
    loop {
        tokio::select! {
            biased;
            turn = &mut turn => return turn.map_err(|_| Disconnect::new(close_code::AWAY, "the server is shutting down")),
            () = wait_for_end(&mut all_played) => {
                return Err(Disconnect::new(close_code::AWAY, "all games have been played"));
            }
            received = socket.recv() => {
                keepalive.record_activity();
                match parse_incoming(received) {
                    Incoming::Frame(ClientFrame::Register(_)) => {
                        return Err(Disconnect::new(close_code::POLICY, "already registered"));
                    }
                    Incoming::Frame(frame) => {
                        let (mistake, what) = early_frame(&frame);
                        if mistakes.is_first(mistake) {
                            let text = format!("ignored {what} from a waiting bot: expected no frame until the first state");
                            shared.report(Event::ClientNote { text });
                        }
                        rate_limiter.count_frame()?;
                    }
                    Incoming::Control => rate_limiter.count_frame()?,
                    Incoming::Disconnected(disconnect) => return Err(disconnect),
                }
            }
            _ = keepalive.next() => keepalive.ping(socket).await?,
        }
    }
}

async fn viewer(socket: &mut WebSocket, shared: &Shared) -> (CloseCode, String) {
    let Some(mut states) = shared.viewers.join() else {
        return (close_code::AGAIN, "too many viewers".to_owned());
    };
    let (mut rate_limiter, mut all_played, mut keepalive) =
        (RateLimiter::new(), shared.all_played.subscribe(), Keepalive::new());
    let disconnect = loop {
        let step = tokio::select! {
            biased;
            state = states.recv() => match state {
                Some(state) => send(socket, Message::Text(state)).await.then_some(()).ok_or_else(too_slow),
                None => Err(too_slow()),
            },
            () = wait_for_end(&mut all_played) => {
                sleep(VIEWER_SHUTDOWN_TIMEOUT).await;
                Err(Disconnect::new(close_code::AWAY, "the server is shutting down"))
            }
            received = socket.recv() => {
                keepalive.record_activity();
                match parse_incoming(received) {
                    Incoming::Frame(_) | Incoming::Control => rate_limiter.count_frame(),
                    Incoming::Disconnected(disconnect) => Err(disconnect),
                }
            }
            _ = keepalive.next() => keepalive.ping(socket).await,
        };
        if let Err(disconnect) = step {
            break disconnect;
        }
    };
    (disconnect.code, disconnect.reason)
}

fn too_slow() -> Disconnect {
    Disconnect::new(close_code::POLICY, "too slow to read")
}

struct RateLimiter {
    since: Instant,
    frames: u32,
}

impl RateLimiter {
    fn new() -> Self {
        Self { since: Instant::now(), frames: 0 }
    }

    fn count_frame(&mut self) -> Result<(), Disconnect> {
        if self.since.elapsed() > Duration::from_secs(1) {
            *self = Self::new();
        }
        self.frames += 1;
        if self.frames > MAX_IDLE_FRAMES_PER_SECOND {
            return Err(Disconnect::new(close_code::POLICY, "too many frames"));
        }
        Ok(())
    }
}

/// Detects peers that disappeared without closing the connection.
struct Keepalive {
    pings: Interval,
    last_activity: Instant,
}

impl Keepalive {
    fn new() -> Self {
        let mut pings = interval_at(Instant::now() + PING_INTERVAL, PING_INTERVAL);
        pings.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self { pings, last_activity: Instant::now() }
    }

    fn record_activity(&mut self) {
        self.last_activity = Instant::now();
    }

    async fn next(&mut self) {
        self.pings.tick().await;
    }

    async fn ping(&mut self, socket: &mut WebSocket) -> Result<(), Disconnect> {
        if self.last_activity.elapsed() < 2 * PING_INTERVAL + PING_INTERVAL / 2
            && send(socket, Message::Ping(Default::default())).await
        {
            return Ok(());
        }
        Err(Disconnect::new(close_code::ERROR, "ping timeout"))
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

    const TIMEOUT: Duration = Duration::from_secs(30);

    async fn join(address: &str, frame: serde_json::Value) -> WebSocketStream<TcpStream> {
        let stream = TcpStream::connect(address).await.expect("a connection");
        let (mut socket, _) =
            tokio_tungstenite::client_async(format!("ws://{address}/"), stream).await.expect("a socket");
        socket.send(Message::text(frame.to_string())).await.expect("a frame is sent");
        socket
    }

    async fn read_without_pongs(mut socket: WebSocketStream<TcpStream>) -> Vec<u8> {
        let mut bytes = Vec::new();
        let _ = timeout(TIMEOUT, socket.get_mut().read_to_end(&mut bytes)).await.expect("the connection ends");
        bytes
    }

    #[tokio::test]
    async fn vanished_peers_are_dropped_and_peers_that_answer_pings_are_kept() {
        let layout = Layout::parse("P....#s").expect("a drawing");
        let map = Map { name: "apart".into(), kind: "challenge".into(), difficulty: "easy".into(), layout };
        let options = ServerOptions { tick_time: TIMEOUT, ..ServerOptions::with_maps(vec![map]) };
        let server = Server::bind("127.0.0.1", 0, options).await.expect("a free port");
        let address = server.local_addr().expect("an address").to_string();
        let running = tokio::spawn(server.run(|_| Ok::<(), ()>(())));
        // The bot sends no command, so the first tick takes `TIMEOUT`.
        let player = join(&address, json!({"type": "REGISTER", "teamName": "thinks"})).await;
        let silent_viewer = join(&address, json!({"type": "VIEWER"})).await;
        let silent_bot = join(&address, json!({"type": "REGISTER", "teamName": "waits"})).await;
        let mut viewer = join(&address, json!({"type": "VIEWER"})).await;
        let (mut pings, mut states) = (0, 0);
        let vanished = async { tokio::join!(read_without_pongs(silent_viewer), read_without_pongs(silent_bot)) };
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
        // The page reconnects after `ERROR`, but not after `AWAY`, which announces a shutdown.
        let closes = [&close_code::ERROR.to_be_bytes()[..], b"ping timeout"].concat();
        assert!(of_viewer.ends_with(&closes) && of_bot.ends_with(&closes), "{of_viewer:?}; {of_bot:?}");
        assert_eq!(states, 1, "the game makes no progress");
        // The viewer that answers pings stays connected after the silent peers have been dropped.
        while pings < 6 {
            let message = timeout(TIMEOUT, viewer.next())
                .await
                .expect("pings continue")
                .expect("the viewer stays")
                .expect("a frame");
            pings += u32::from(message.is_ping());
        }
        drop(player);
        running.abort();
    }
}
