use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use getaway::game::{Action, Direction, Layout, Rules, World};
use getaway::map::Map;
use getaway::protocol::{GameMessage, MessageWriter};
use getaway_server::{Event, GameResult, Server, ServerOptions};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::tungstenite::{self, Message};

/// Longer than any operation in these tests takes, even on a busy machine.
pub const TIMEOUT: Duration = Duration::from_secs(60);

/// The player is never caught: the shark is on an island.
pub const SAFE: &str = "#######\n#P....#\n#.#.###\n#...#s#\n#######";
/// A player that does not move is soon caught: the shark is five steps away.
pub const DEADLY: &str = "########\n#P....s#\n########";

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
    pub task: JoinHandle<()>,
}

impl Running {
    pub async fn start(options: ServerOptions) -> Self {
        let server = Server::bind("127.0.0.1", 0, options).await.unwrap();
        let address = server.local_addr().unwrap().to_string();
        let events = Arc::new(Mutex::new(Vec::new()));
        let sink = Arc::clone(&events);
        let task = tokio::spawn(async move {
            let running = server.run(|event| {
                sink.lock().unwrap().push(event);
                Ok::<(), ()>(())
            });
            running.await.unwrap();
        });
        Self { address, events, task }
    }

    pub async fn connect(&self) -> Client {
        connect(&self.address).await
    }

    pub async fn register(&self) -> Client {
        let mut client = self.connect().await;
        client.send(json!({"type": "REGISTER", "teamName": "tester"})).await;
        client
    }

    pub fn results(&self) -> Vec<GameResult> {
        let ended = |event: &Event| match event {
            Event::End(result) => Some((**result).clone()),
            _ => None,
        };
        self.events.lock().unwrap().iter().filter_map(ended).collect()
    }

    pub async fn result(&self, number: usize) -> GameResult {
        let wait = async {
            loop {
                if let Some(result) = self.results().get(number - 1) {
                    return result.clone();
                }
                sleep(Duration::from_millis(5)).await;
            }
        };
        timeout(TIMEOUT, wait).await.expect("the game ends")
    }

    pub fn notes(&self) -> Vec<String> {
        let note = |event: &Event| match event {
            Event::Note { text, .. } => Some(text.clone()),
            _ => None,
        };
        self.events.lock().unwrap().iter().filter_map(note).collect()
    }

    pub fn client_notes(&self) -> Vec<String> {
        let note = |event: &Event| match event {
            Event::ClientNote { text } => Some(text.clone()),
            Event::Refused { reason, remedy } => Some(format!("refused: {reason}; {remedy}")),
            _ => None,
        };
        self.events.lock().unwrap().iter().filter_map(note).collect()
    }

    pub async fn ended(self) {
        timeout(TIMEOUT, self.task).await.expect("the server is shutting down").unwrap();
    }
}

pub struct Client {
    pub socket: WebSocketStream<TcpStream>,
}

pub async fn connect(address: &str) -> Client {
    try_connect(address, &[]).await.unwrap()
}

pub async fn try_connect(address: &str, headers: &[(&'static str, &str)]) -> Result<Client, tungstenite::Error> {
    let mut request = format!("ws://{address}/").into_client_request().unwrap();
    for &(name, value) in headers {
        request.headers_mut().insert(name, value.parse().unwrap());
    }
    let stream = TcpStream::connect(address).await.unwrap();
    stream.set_nodelay(true).unwrap();
    tokio_tungstenite::client_async(request, stream).await.map(|(socket, _)| Client { socket })
}

impl Client {
    pub async fn send(&mut self, json: Value) {
        self.send_text(&json.to_string()).await;
    }

    pub async fn send_text(&mut self, text: &str) {
        self.socket.send(Message::text(text)).await.unwrap();
    }

    pub async fn command(&mut self, tick: u32, actions: Value) {
        self.send(json!({"type": "COMMAND", "tick": tick, "actions": actions})).await;
    }

    pub async fn next(&mut self) -> Result<String, Option<CloseFrame>> {
        loop {
            match timeout(TIMEOUT, self.socket.next()).await.expect("a frame or a close") {
                Some(Ok(Message::Text(text))) => return Ok(text.to_string()),
                Some(Ok(Message::Close(frame))) => {
                    // The library answers the close frame during the next read.
                    let _ = self.socket.next().await;
                    return Err(frame);
                }
                Some(Ok(_)) => {}
                Some(Err(_)) | None => return Err(None),
            }
        }
    }

    pub async fn state(&mut self) -> GameMessage {
        GameMessage::parse(self.next().await.expect("a state")).unwrap()
    }

    pub async fn closed(mut self) -> (u16, String) {
        loop {
            match self.next().await {
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
        1 => vec![Action::Unknown, Action::Move(direction)],
        2 => vec![Action::MoveTo { x: f64::from(tick % 17), y: f64::from(tick % 13) }],
        3 => vec![Action::MoveNowhere, Action::MoveTo { x: 1.5, y: -0.5 }, Action::Move(direction.reverse())],
        _ => vec![Action::Move(direction), Action::Move(direction.reverse())],
    }
}

/// Plays a game with [`drive`], and compares every frame with the simulator's.
pub async fn play_along(server: &Running, map: &Map, rules: &Rules) -> (u32, u16) {
    let world = World::new(&map.layout, rules).unwrap();
    let writer = MessageWriter::new(&world, "tester");
    let mut state = world.start();
    let mut client = server.register().await;
    while !state.is_over() {
        let frame = client.next().await.expect("a state");
        assert_eq!(frame, writer.write(&state), "{}, tick {}", map.name, state.tick());
        let actions = drive(state.tick().into());
        client.command(state.tick().into(), serde_json::to_value(&actions).unwrap()).await;
        world.play(&mut state, &actions).unwrap();
    }
    assert_eq!(client.closed().await, (1000, "the game is over".to_owned()));
    (world.score(&state), state.tick())
}

pub fn score_without_bot(map: &Map) -> u32 {
    let world = World::new(&map.layout, &Rules::BLITZ_2025).unwrap();
    let mut state = world.start();
    while world.play(&mut state, &[]).is_ok() {}
    world.score(&state)
}

pub fn page_request(address: &str, path: &str) -> String {
    let headers = format!("Host: {address}\r\nOrigin: http://{address}\r\nSec-Fetch-Site: same-origin");
    format!("POST {path} HTTP/1.1\r\n{headers}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
}

pub async fn raw(address: &str, request: &[u8]) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(request).await.unwrap();
    let mut answer = Vec::new();
    let _ = timeout(TIMEOUT, stream.read_to_end(&mut answer)).await.expect("the server closes");
    String::from_utf8_lossy(&answer).into_owned()
}

pub async fn first_line(address: &str, request: &[u8]) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(request).await.unwrap();
    let mut line = Vec::new();
    while !line.ends_with(b"\n") {
        let byte = timeout(TIMEOUT, stream.read_u8()).await.expect("an answer").unwrap();
        line.push(byte);
    }
    String::from_utf8(line).unwrap()
}
