use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use getaway::game::{Action, Direction, Layout, Rules, World};
use getaway::map::Map;
use getaway::protocol::{GameMessage, MessageWriter};
use getaway_server::{Event, GameResult, Server, ServerOptions};
use serde_json::{Value, json};
use tungstenite::client::IntoClientRequest;
use tungstenite::protocol::CloseFrame;
use tungstenite::{Message, WebSocket};

/// Longer than any operation in these tests takes, even on a busy machine.
pub const TIMEOUT: Duration = Duration::from_secs(60);

/// The player is never caught: the shark is on an island.
pub const SAFE: &str = "#######\n#P....#\n#.#.###\n#...#S#\n#######";
/// A player that does not move is soon caught: the shark is five steps away.
pub const DEADLY: &str = "########\n#P....S#\n########";

pub fn map(name: &str, drawing: &str) -> Map {
    let layout = Layout::parse(drawing).unwrap();
    Map { name: name.into(), kind: "challenge".into(), difficulty: "easy".into(), layout }
}

pub fn safe_map() -> Map {
    map("safe", SAFE)
}

pub fn deadly_map() -> Map {
    map("deadly", DEADLY)
}

pub fn our_map(name: &str) -> Map {
    Map::load(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).join("maps").join(name)).unwrap()
}

pub fn options(maps: Vec<Map>) -> ServerOptions {
    ServerOptions { seed: 1, tick_time: TIMEOUT, ..ServerOptions::with_maps(maps) }
}

pub struct Running {
    pub address: String,
    pub events: Arc<Mutex<Vec<Event>>>,
    pub thread: JoinHandle<()>,
}

/// Waits until `value` returns something.
pub fn wait_for<T>(what: &str, mut value: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(value) = value() {
            return value;
        }
        assert!(start.elapsed() < TIMEOUT, "{what}");
        thread::sleep(Duration::from_millis(5));
    }
}

impl Running {
    pub fn start(options: ServerOptions) -> Self {
        let server = Server::start("127.0.0.1", 0, options).unwrap();
        let address = server.address().to_string();
        let events = Arc::new(Mutex::new(Vec::new()));
        let sink = Arc::clone(&events);
        let thread = thread::spawn(move || server.events().iter().for_each(|event| sink.lock().unwrap().push(event)));
        Self { address, events, thread }
    }

    pub fn connect(&self) -> Client {
        connect(&self.address)
    }

    pub fn register(&self) -> Client {
        let mut client = self.connect();
        client.send(json!({"type": "REGISTER", "teamName": "tester"}));
        client
    }

    pub fn results(&self) -> Vec<GameResult> {
        let ended = |event: &Event| match event {
            Event::End(result) => Some((**result).clone()),
            _ => None,
        };
        self.events.lock().unwrap().iter().filter_map(ended).collect()
    }

    pub fn result(&self, number: usize) -> GameResult {
        wait_for("the game ends", || self.results().get(number - 1).cloned())
    }

    /// Waits for at least `count` notes of games.
    pub fn notes(&self, count: usize) -> Vec<String> {
        self.texts(count, |event| match event {
            Event::Note { text, .. } => Some(text.clone()),
            _ => None,
        })
    }

    /// Waits for at least `count` notes about clients outside games.
    pub fn client_notes(&self, count: usize) -> Vec<String> {
        self.texts(count, |event| match event {
            Event::ClientNote { text } => Some(text.clone()),
            Event::Refused { reason, remedy } => Some(format!("refused: {reason}; {remedy}")),
            _ => None,
        })
    }

    fn texts(&self, count: usize, text: impl Fn(&Event) -> Option<String>) -> Vec<String> {
        wait_for("notes", || {
            let texts: Vec<_> = self.events.lock().unwrap().iter().filter_map(&text).collect();
            (texts.len() >= count).then_some(texts)
        })
    }

    pub fn ended(self) {
        wait_for("the server ends", || self.thread.is_finished().then_some(()));
        self.thread.join().unwrap();
    }
}

pub struct Client {
    pub socket: WebSocket<TcpStream>,
}

pub fn stream(address: &str) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_nodelay(true).unwrap();
    stream.set_read_timeout(Some(TIMEOUT)).unwrap();
    stream
}

pub fn connect(address: &str) -> Client {
    try_connect(address, &[]).unwrap()
}

pub fn try_connect(address: &str, headers: &[(&'static str, &str)]) -> Result<Client, tungstenite::Error> {
    let mut request = format!("ws://{address}/").into_client_request().unwrap();
    for &(name, value) in headers {
        request.headers_mut().insert(name, value.parse().unwrap());
    }
    match tungstenite::client(request, stream(address)) {
        Ok((socket, _)) => Ok(Client { socket }),
        Err(tungstenite::HandshakeError::Failure(error)) => Err(error),
        Err(tungstenite::HandshakeError::Interrupted(_)) => panic!("no answer"),
    }
}

impl Client {
    pub fn send(&mut self, json: Value) {
        self.send_text(&json.to_string());
    }

    pub fn send_text(&mut self, text: &str) {
        self.socket.send(Message::text(text)).unwrap();
    }

    pub fn command(&mut self, tick: u32, actions: Value) {
        self.send(json!({"type": "COMMAND", "tick": tick, "actions": actions}));
    }

    /// Waits until the server has handled all frames that were sent to it.
    pub fn ping(&mut self) -> bool {
        self.socket.send(Message::Ping(Default::default())).is_ok()
            && matches!(self.socket.read(), Ok(Message::Pong(_)))
    }

    pub fn next(&mut self) -> Result<String, Option<CloseFrame>> {
        loop {
            match self.socket.read() {
                Ok(Message::Text(text)) => return Ok(text.to_string()),
                Ok(Message::Close(frame)) => {
                    // The library answers the close frame during the next read.
                    let _ = self.socket.read();
                    return Err(frame);
                }
                Ok(_) => {}
                Err(tungstenite::Error::Io(error)) if error.kind() == std::io::ErrorKind::WouldBlock => {
                    panic!("expected a frame or a close")
                }
                Err(_) => return Err(None),
            }
        }
    }

    pub fn state(&mut self) -> GameMessage {
        GameMessage::parse(self.next().expect("a state")).unwrap()
    }

    /// Sends an empty command for each state until the connection is closed.
    pub fn play(&mut self) {
        while let Ok(state) = self.next() {
            self.command(GameMessage::parse(state).unwrap().tick, json!([]));
        }
    }

    pub fn closed(mut self) -> (u16, String) {
        loop {
            match self.next() {
                Ok(_) => {}
                Err(Some(frame)) => return (frame.code.into(), frame.reason.to_string()),
                Err(None) => panic!("closed without a close frame"),
            }
        }
    }
}

/// Returns the actions for a tick. Every kind of command occurs within 11 ticks.
pub fn drive(tick: u32) -> Vec<Action> {
    let direction = Direction::ALL[(tick / 3 * 7 % 4) as usize];
    match tick % 11 {
        0 => vec![],
        1 => vec![Action::Unknown("{}".into()), Action::Move(direction)],
        2 => vec![Action::MoveTo { x: f64::from(tick % 17), y: f64::from(tick % 13) }],
        3 => vec![
            Action::MoveNowhere(r#"{"type":"MOVE_TO"}"#.into()),
            Action::MoveTo { x: 1.5, y: -0.5 },
            Action::Move(direction.reverse()),
        ],
        _ => vec![Action::Move(direction), Action::Move(direction.reverse())],
    }
}

/// Plays a game with [`drive`], and compares every frame with the simulator's.
pub fn play_along(server: &Running, map: &Map, rules: &Rules) -> (u32, u16) {
    let world = World::new(&map.layout, rules).unwrap();
    let writer = MessageWriter::new(&world, "tester");
    let mut state = world.start();
    let mut client = server.register();
    while !state.is_over() {
        let frame = client.next().expect("a state");
        assert_eq!(frame, writer.write(&state), "{}, tick {}", map.name, state.tick());
        let actions = drive(state.tick().into());
        client.command(state.tick().into(), serde_json::to_value(&actions).unwrap());
        world.step_command(&mut state, &actions).unwrap();
    }
    assert_eq!(client.closed(), (1000, "the game is over".to_owned()));
    (world.score(&state), state.tick())
}

pub fn score_without_bot(map: &Map) -> u32 {
    let world = World::new(&map.layout, &Rules::BLITZ_2025).unwrap();
    let mut state = world.start();
    while world.step_command(&mut state, &[]).is_ok() {}
    world.score(&state)
}

/// A request of the page; `name` is that of the engine's request.
pub fn page_request(address: &str, name: &str, body: &str) -> String {
    let headers = format!("Host: {address}\r\nOrigin: http://{address}\r\nSec-Fetch-Site: same-origin");
    let length = body.len();
    format!("POST /engine/{name} HTTP/1.1\r\n{headers}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}")
}

pub fn raw(address: &str, request: &[u8]) -> String {
    let mut stream = stream(address);
    // The server may answer and close before it has read all of the request.
    let _ = stream.write_all(request);
    let mut answer = Vec::new();
    let is_late = stream.read_to_end(&mut answer).is_err_and(|error| error.kind() == std::io::ErrorKind::WouldBlock);
    assert!(!is_late, "the server closes the connection");
    String::from_utf8_lossy(&answer).into_owned()
}

pub fn first_line(address: &str, request: &[u8]) -> String {
    let mut stream = stream(address);
    stream.write_all(request).unwrap();
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line).expect("an answer");
    line
}
