//! Fuzzes the server with frames and requests, which must not affect a concurrent game. The states
//! of this game are compared with the simulator's, and its ticks are timed.

use std::fmt;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle, sleep};
use std::time::{Duration, Instant};

use getaway::game::{Action, Move, Rules, World};
use getaway::map::Map;
use getaway::protocol::MessageWriter;
use getaway::search::Budget;
use getaway::solve::{Solver, SolverOptions};
use getaway_reference::lockstep::Dice;
use getaway_server::{Event, GameResult, Server, ServerOptions};
use serde_json::json;
use tungstenite::Message;

use super::{damage, json_like, mutate, noise};

const FUZZ_CONNECTIONS: usize = 4;
const FRAMES_MAX: usize = 110;
const READ_TIMEOUT: Duration = Duration::from_millis(10);
const STAY_TIME: Duration = Duration::from_millis(500);
const RECONNECT_DELAY: Duration = Duration::from_secs(1);
/// A limit that no operation in these tests should reach, even on a busy machine.
const TIMEOUT: Duration = Duration::from_secs(60);
const REFERENCE_TEAM: &str = "reference";
const CLIENT_STACK_BYTES: usize = 64 << 10;
const COMPLETE_SCORE: u32 = 10_005;

#[derive(Default)]
pub struct Counts {
    pub frames: u64,
    pub requests: u64,
    pub connections: u64,
    pub games: usize,
    pub fuzz_games: usize,
    /// The sorted times from a command to the next state.
    pub ticks: Vec<Duration>,
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { frames, requests, connections, games, fuzz_games, ticks } = self;
        write!(
            f,
            "{frames} frames and {requests} requests on {connections} connections, which played {fuzz_games} games; "
        )?;
        write!(f, "{games} games of the reference bot, time from a command to the next state: {}", Times(ticks))
    }
}

struct Times<'a>(&'a [Duration]);

impl fmt::Display for Times<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = |share: f64| ((self.0.len() as f64 * share) as usize).min(self.0.len().saturating_sub(1));
        let ms = |share: f64| self.0.get(place(share)).map_or(0.0, |time| time.as_secs_f64() * 1e3);
        let [p50, p99, p999, max] = [0.5, 0.99, 0.999, 1.0].map(ms);
        write!(f, "p50 {p50:.2} ms, p99 {p99:.2} ms, p99.9 {p999:.2} ms, max {max:.2} ms")
    }
}

/// Totals of all fuzz clients.
#[derive(Default)]
struct Sent {
    connections: AtomicU64,
    frames: AtomicU64,
    requests: AtomicU64,
}

/// Total number of panics. The server survives a panic in a thread, but each panic is a bug.
static PANICS: AtomicUsize = AtomicUsize::new(0);

struct TestServer {
    address: String,
    results: Arc<Mutex<Vec<GameResult>>>,
    serving: JoinHandle<()>,
    player: ReferenceBot,
}

impl TestServer {
    fn start(delay: Duration) -> Result<Self, String> {
        count_panics();
        let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).join("maps/roundabout");
        let map = Map::load(folder).map_err(|error| error.to_string())?;
        let player = ReferenceBot::new(&map, delay)?;
        let options = ServerOptions { tick_time: TIMEOUT, delay, ..ServerOptions::with_maps(vec![map]) };
        let server = Server::start("127.0.0.1", 0, options).map_err(|error| error.to_string())?;
        let address = server.address().to_string();
        let results: Arc<Mutex<Vec<GameResult>>> = Arc::default();
        let sink = Arc::clone(&results);
        let serving = thread::spawn(move || {
            for event in server.events() {
                if let (Event::End(result), Ok(mut results)) = (event, sink.lock()) {
                    results.push(*result);
                }
            }
        });
        Ok(Self { address, results, serving, player })
    }

    fn end(self) -> Result<usize, String> {
        if PANICS.load(Ordering::Relaxed) > 0 {
            return Err("a thread panicked".to_owned());
        }
        if self.serving.is_finished() {
            return Err("the server has stopped".to_owned());
        }
        let results = self.results.lock().map_err(|_| "a panic".to_owned())?;
        let (reference_games, other_games): (Vec<&GameResult>, Vec<&GameResult>) =
            results.iter().partition(|result| result.team == REFERENCE_TEAM);
        let is_whole = |result: &&&GameResult| {
            (result.score, result.missed_ticks, result.late_commands) == (COMPLETE_SCORE, 0, 0)
                && result.disconnect.is_none()
        };
        match reference_games.iter().find(|result| !is_whole(result)) {
            Some(result) => Err(format!("a game was affected: {result:?}")),
            None => Ok(other_games.len()),
        }
    }
}

pub fn run(seed: u64, count: u64) -> Result<Counts, String> {
    let server = TestServer::start(Duration::ZERO)?;
    let sent = Arc::new(Sent::default());
    let start = |_| {
        let (address, sent) = (server.address.clone(), Arc::clone(&sent));
        thread::spawn(move || fuzz(&address, seed, count, &sent))
    };
    let clients: Vec<_> = (0..FUZZ_CONNECTIONS).map(start).collect();
    let (mut games, mut ticks) = (0, Vec::new());
    loop {
        let is_last = clients.iter().all(|thrower| thrower.is_finished());
        server.player.play(&server.address, &mut ticks).map_err(|error| format!("game {}: {error}", games + 1))?;
        games += 1;
        if is_last {
            break;
        }
    }
    ticks.sort();
    let fuzz_games = server.end()?;
    let [frames, requests, connections] =
        [&sent.frames, &sent.requests, &sent.connections].map(|number| number.load(Ordering::Relaxed));
    Ok(Counts { frames, requests, connections, games, fuzz_games, ticks })
}

pub struct Flood {
    /// Number of idle clients that try to keep a connection open.
    pub sockets: usize,
    /// Number of attempts to connect. A client that is rejected or disconnected tries again.
    pub connections: u64,
    /// The sorted tick times of a game without (`quiet`) and with (`flooded`) idle clients.
    pub quiet: Vec<Duration>,
    pub flooded: Vec<Duration>,
}

impl fmt::Display for Flood {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { sockets, connections, quiet, flooded } = self;
        write!(
            f,
            "a tick of a game alone: {}; with {sockets} idle clients and {connections} attempts to connect: {}",
            Times(quiet),
            Times(flooded)
        )
    }
}

/// Plays one game alone, and one while `sockets` idle clients try to keep connections open. A
/// client sends nothing, part of a request, or a WebSocket request with or without a viewer's
/// registration.
pub fn flood(sockets: usize) -> Result<Flood, String> {
    const DELAY: Duration = Duration::from_millis(2);
    // Opens files to enlarge the file table of this process now, not during a timed game.
    let files: Vec<_> = (0..4 * sockets).map_while(|_| std::fs::File::open("/dev/null").ok()).collect();
    drop(files);
    let server = TestServer::start(DELAY)?;
    let (mut quiet, mut flooded) = (Vec::new(), Vec::new());
    server.player.play(&server.address, &mut quiet)?;
    let idle_clients = IdleClients::start(server.address.clone(), sockets, DELAY * 100);
    let game = server.player.play(&server.address, &mut flooded);
    let connections = idle_clients.end();
    game?;
    quiet.sort();
    flooded.sort();
    server.end()?;
    Ok(Flood { sockets, connections, quiet, flooded })
}

/// Idle clients, each on a thread.
struct IdleClients {
    connections: Arc<AtomicU64>,
    is_over: Arc<AtomicBool>,
}

impl IdleClients {
    /// Starts the clients after `pause`, so that the bot connects before they use all connections.
    fn start(address: String, sockets: usize, pause: Duration) -> Self {
        let clients = Self { connections: Arc::default(), is_over: Arc::default() };
        let (connections, is_over) = (Arc::clone(&clients.connections), Arc::clone(&clients.is_over));
        thread::spawn(move || {
            sleep(pause);
            for number in 0..sockets {
                let (address, connections, is_over) = (address.clone(), Arc::clone(&connections), Arc::clone(&is_over));
                let client = thread::Builder::new().stack_size(CLIENT_STACK_BYTES);
                let _ = client.spawn(move || hold(&address, number, &connections, &is_over));
            }
        });
        clients
    }

    fn end(self) -> u64 {
        self.is_over.store(true, Ordering::Relaxed);
        self.connections.load(Ordering::Relaxed)
    }
}

fn hold(address: &str, number: usize, connections: &AtomicU64, is_over: &AtomicBool) {
    let viewer = frame(0x81, br#"{"type": "VIEWER"}"#, &mut Dice::from_seed(1));
    let words = [Vec::new(), b"GET / HT".to_vec(), upgrade().into_bytes(), [upgrade().into_bytes(), viewer].concat()];
    while !is_over.load(Ordering::Relaxed) {
        connections.fetch_add(1, Ordering::Relaxed);
        let _ = hold_once(address, &words[number % words.len()]);
        sleep(RECONNECT_DELAY);
    }
}

fn hold_once(address: &str, word: &[u8]) -> std::io::Result<()> {
    let mut stream = TcpStream::connect(address)?;
    stream.write_all(word)?;
    std::io::copy(&mut stream, &mut std::io::sink()).map(drop)
}

fn count_panics() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            PANICS.fetch_add(1, Ordering::Relaxed);
            before(panic);
        }));
    });
}

struct ReferenceBot {
    world: World,
    moves: Vec<Move>,
    /// The server's pause after each tick, which is subtracted from the measured times.
    delay: Duration,
}

impl ReferenceBot {
    fn new(map: &Map, delay: Duration) -> Result<Self, String> {
        let world = World::new(&map.layout, &Rules::BLITZ_2025).map_err(|error| error.to_string())?;
        let solution =
            Solver::survival_search(SolverOptions::default()).solve(&world, &world.start(), Budget::UNLIMITED);
        Ok(Self { world, moves: solution.moves, delay })
    }

    fn play(&self, address: &str, ticks: &mut Vec<Duration>) -> Result<(), String> {
        let stream = TcpStream::connect(address).map_err(|error| error.to_string())?;
        stream.set_nodelay(true).map_err(|error| error.to_string())?;
        stream.set_read_timeout(Some(TIMEOUT)).map_err(|error| error.to_string())?;
        let connected = tungstenite::client(format!("ws://{address}/"), stream);
        let (mut socket, _) = connected.map_err(|error| error.to_string())?;
        let register = json!({"type": "REGISTER", "teamName": REFERENCE_TEAM}).to_string();
        socket.send(Message::text(register)).map_err(|error| error.to_string())?;
        let writer = MessageWriter::new(&self.world, REFERENCE_TEAM);
        let mut state = self.world.start();
        let mut sent: Option<Instant> = None;
        for &player_move in &self.moves {
            let frame = loop {
                match socket.read() {
                    Ok(Message::Text(frame)) => break frame,
                    Ok(_) => {}
                    other => return Err(format!("tick {}: expected a state, found {other:?}", state.tick())),
                }
            };
            ticks.extend(sent.map(|sent| sent.elapsed().saturating_sub(self.delay)));
            if frame.as_str() != writer.write(&state) {
                return Err(format!("tick {}: not the simulator's state: {frame:.300}", state.tick()));
            }
            let actions: Vec<Action> = player_move.direction().map(Action::Move).into_iter().collect();
            let command = json!({"type": "COMMAND", "tick": state.tick(), "actions": actions}).to_string();
            sent = Some(Instant::now());
            socket.send(Message::text(command)).map_err(|error| error.to_string())?;
            self.world.step_unchecked(&mut state, player_move);
        }
        while let Ok(message) = socket.read() {
            if let Message::Close(Some(frame)) = message {
                return if u16::from(frame.code) == 1000 { Ok(()) } else { Err(format!("closed with {frame}")) };
            }
        }
        Err("the connection ended without a close frame".to_owned())
    }
}

fn fuzz(address: &str, seed: u64, count: u64, sent: &Sent) {
    while sent.frames.load(Ordering::Relaxed) < count {
        let number = sent.connections.fetch_add(1, Ordering::Relaxed);
        let case = Case::new(&mut Dice::from_seed(seed.wrapping_add(number)));
        sent.frames.fetch_add(case.frames, Ordering::Relaxed);
        sent.requests.fetch_add(1, Ordering::Relaxed);
        // The server may reject the case. The concurrent game shows whether the server still works.
        let _ = case.send(address);
    }
}

struct Case {
    request: Vec<u8>,
    rest: Vec<u8>,
    frames: u64,
    hangs_up: bool,
}

impl Case {
    fn new(dice: &mut Dice) -> Self {
        let hangs_up = dice.one_in(3);
        if dice.one_in(8) {
            return Self { request: request(dice), rest: noise(dice, 200), frames: 0, hangs_up };
        }
        let mut rest = Vec::new();
        // Invalid JSON usually ends the connection, so only cases with valid JSON have many frames.
        let is_valid = !dice.one_in(4);
        let count = 1 + if is_valid { dice.below(FRAMES_MAX) } else { dice.below(6) };
        for place in 0..count {
            rest.extend(if is_valid { valid_frame(dice, place == 0) } else { arbitrary_frame(dice) });
        }
        Self { request: upgrade().into_bytes(), rest, frames: count as u64, hangs_up }
    }

    fn send(&self, address: &str) -> std::io::Result<()> {
        let mut stream = TcpStream::connect(address)?;
        stream.set_read_timeout(Some(TIMEOUT))?;
        stream.set_write_timeout(Some(TIMEOUT))?;
        stream.write_all(&self.request)?;
        let mut answer = [0; 4096];
        if self.frames > 0 {
            let _ = stream.read(&mut answer)?;
        }
        stream.write_all(&self.rest)?;
        stream.set_read_timeout(Some(READ_TIMEOUT))?;
        // A viewer receives states without end, so a time limit is needed.
        let until = Instant::now() + STAY_TIME;
        while !self.hangs_up && Instant::now() < until && stream.read(&mut answer)? > 0 {}
        Ok(())
    }
}

fn upgrade() -> String {
    "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
     Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
        .to_owned()
}

fn request(dice: &mut Dice) -> Vec<u8> {
    let path = dice.pick(&[
        "/",
        "/../../etc/passwd",
        "/%2e%2e/%2e%2e/etc/passwd",
        "//etc/passwd",
        "/..\\..\\x",
        "/%00",
        "*",
        "http://x/",
        "/?a=b",
        "/engine/live",
        "/engine/play",
    ]);
    let method = dice.pick(&["GET", "POST", "PUT", "DELETE", "OPTIONS", "CONNECT", "TRACE", "HEAD", "G E T"]);
    let header = dice.pick(&[
        "Content-Length: 99999999999999999999",
        "Transfer-Encoding: chunked",
        "Origin: null",
        "Origin: http://localhost",
        "Sec-Fetch-Site: cross-site",
        "Upgrade: h2c",
        "X: \x7f",
        "Expect: 100-continue",
    ]);
    let mut bytes = match dice.below(3) {
        0 => upgrade().into_bytes(),
        1 => format!("{method} {path} HTTP/1.1\r\nHost: localhost\r\n{header}\r\n\r\n").into_bytes(),
        _ => format!("{method} {path} HTTP/1.1\r\nHost: localhost\r\n{}\r\n\r\n", "X: y\r\n".repeat(dice.below(3000)))
            .into_bytes(),
    };
    (0..dice.below(4)).for_each(|_| damage(&mut bytes, dice));
    bytes
}

fn valid_frame(dice: &mut Dice, is_first: bool) -> Vec<u8> {
    let mut json = match dice.below(if is_first { 3 } else { 12 }) {
        0 => json!({"type": "REGISTER", "teamName": "fuzzer"}),
        1 => json!({"type": "VIEWER"}),
        _ => {
            json!({"type": "COMMAND", "tick": dice.below(4), "actions": [{"type": dice.pick(&["MOVE_UP", "MOVE_TO", "DANCE"])}]})
        }
    };
    if dice.one_in(2) {
        mutate(&mut json, dice);
    }
    frame(dice.pick(&[0x81, 0x82]), json.to_string().as_bytes(), dice)
}

fn arbitrary_frame(dice: &mut Dice) -> Vec<u8> {
    let payload = if dice.one_in(3) { noise(dice, 300) } else { json_like(dice) };
    let mut bytes = match dice.below(10) {
        0..=4 => frame(dice.pick(&[0x81, 0x82]), &payload, dice),
        5..=7 => {
            frame(dice.pick(&[0x00, 0x80, 0x01, 0x02, 0x88, 0x89, 0x8a, 0x09, 0x83, 0x8f, 0xc1, 0xf1]), &payload, dice)
        }
        8 => vec![0x81, 0xff, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff],
        _ => noise(dice, 100),
    };
    if dice.one_in(5) {
        damage(&mut bytes, dice);
    }
    bytes
}

fn frame(first_byte: u8, payload: &[u8], dice: &mut Dice) -> Vec<u8> {
    let mut bytes = vec![first_byte];
    match payload.len() {
        length @ ..126 => bytes.push(0x80 | length as u8),
        length @ ..0x1_0000 => {
            bytes.push(0xfe);
            bytes.extend((length as u16).to_be_bytes());
        }
        length => {
            bytes.push(0xff);
            bytes.extend((length as u64).to_be_bytes());
        }
    }
    let mask: [u8; 4] = std::array::from_fn(|_| dice.below(256) as u8);
    bytes.extend(mask);
    bytes.extend(payload.iter().zip(mask.iter().cycle()).map(|(byte, mask)| byte ^ mask));
    bytes
}
