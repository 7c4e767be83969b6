//! Promise: over the socket a bot plays the very game that the simulator plays, to the byte of every frame; and whatever a connection does
//! that is late, wrong, rude or foreign costs at most its own game, in the way that the wire's description says.

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use futures_util::{SinkExt, StreamExt};
use getaway::game::{Action, Direction, Layout, Position, Rules, World};
use getaway::map::Map;
use getaway::protocol::{GameMessage, MessageWriter};
use getaway::recording::{Outcome, verify};
use getaway_server::{Event, GameEnd, GameResult, Server, ServerOptions, limits};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::http::StatusCode;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::tungstenite::{self, Message};

/// Longer than anything here takes, on a busy machine too.
const PATIENCE: Duration = Duration::from_secs(60);

/// A map on which nobody is ever caught: the shark lives on an island.
const SAFE: &str = "#######\n#P....#\n#.#.###\n#...#s#\n#######";
/// A map on which a player that stays is caught within a few moves: the shark is five steps away.
const DEADLY: &str = "########\n#P....s#\n########";

fn map(name: &str, drawing: &str) -> Map {
    let layout = Layout::parse(drawing).unwrap();
    Map { name: name.into(), kind: "challenge".into(), difficulty: "easy".into(), layout }
}

fn safe_map() -> Map {
    map("safe", SAFE)
}

fn deadly_map() -> Map {
    map("deadly", DEADLY)
}

fn our_map(name: &str) -> Map {
    Map::load(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).join("maps").join(name)).unwrap()
}

fn options(maps: Vec<Map>) -> ServerOptions {
    ServerOptions { seed: 1, tick_time: PATIENCE, ..ServerOptions::on(maps) }
}

/// A server in this process.
struct Running {
    address: String,
    events: Arc<Mutex<Vec<Event>>>,
    task: JoinHandle<()>,
}

impl Running {
    async fn start(options: ServerOptions) -> Self {
        let server = Server::bind("127.0.0.1", 0, options).await.unwrap();
        let address = server.local_addr().unwrap().to_string();
        let events = Arc::new(Mutex::new(Vec::new()));
        let sink = Arc::clone(&events);
        let task = tokio::spawn(async move {
            let told = server.run(|event| {
                sink.lock().unwrap().push(event);
                Ok::<(), ()>(())
            });
            told.await.unwrap();
        });
        Self { address, events, task }
    }

    async fn connect(&self) -> Client {
        connect(&self.address).await
    }

    async fn register(&self) -> Client {
        let mut client = self.connect().await;
        client.send(json!({"type": "REGISTER", "teamName": "tester"})).await;
        client
    }

    fn results(&self) -> Vec<GameResult> {
        let ended = |event: &Event| match event {
            Event::End(result) => Some((**result).clone()),
            _ => None,
        };
        self.events.lock().unwrap().iter().filter_map(ended).collect()
    }

    /// The result of the game with this number, once it is there.
    async fn result(&self, number: usize) -> GameResult {
        let wait = async {
            loop {
                if let Some(result) = self.results().get(number - 1) {
                    return result.clone();
                }
                sleep(Duration::from_millis(5)).await;
            }
        };
        timeout(PATIENCE, wait).await.expect("the game ends")
    }

    fn notes(&self) -> Vec<String> {
        let note = |event: &Event| match event {
            Event::Note { text, .. } => Some(text.clone()),
            _ => None,
        };
        self.events.lock().unwrap().iter().filter_map(note).collect()
    }

    async fn ended(self) {
        timeout(PATIENCE, self.task).await.expect("the server ends").unwrap();
    }
}

/// A scripted client.
struct Client {
    socket: WebSocketStream<TcpStream>,
}

async fn connect(address: &str) -> Client {
    try_connect(address, &[]).await.unwrap()
}

/// Connects with these headers besides the usual ones.
async fn try_connect(address: &str, headers: &[(&'static str, &str)]) -> Result<Client, tungstenite::Error> {
    let mut request = format!("ws://{address}/").into_client_request().unwrap();
    for &(name, value) in headers {
        request.headers_mut().insert(name, value.parse().unwrap());
    }
    let stream = TcpStream::connect(address).await.unwrap();
    stream.set_nodelay(true).unwrap();
    tokio_tungstenite::client_async(request, stream).await.map(|(socket, _)| Client { socket })
}

impl Client {
    async fn send(&mut self, json: Value) {
        self.send_text(&json.to_string()).await;
    }

    async fn send_text(&mut self, text: &str) {
        self.socket.send(Message::text(text)).await.unwrap();
    }

    async fn command(&mut self, tick: u32, actions: Value) {
        self.send(json!({"type": "COMMAND", "tick": tick, "actions": actions})).await;
    }

    /// The next state as text, or how the connection was closed.
    async fn next(&mut self) -> Result<String, Option<CloseFrame>> {
        loop {
            match timeout(PATIENCE, self.socket.next()).await.expect("something comes") {
                Some(Ok(Message::Text(text))) => return Ok(text.to_string()),
                Some(Ok(Message::Close(frame))) => {
                    // The answer to a close is sent while reading on.
                    let _ = self.socket.next().await;
                    return Err(frame);
                }
                Some(Ok(_)) => {}
                Some(Err(_)) | None => return Err(None),
            }
        }
    }

    async fn state(&mut self) -> GameMessage {
        GameMessage::parse(self.next().await.expect("a state")).unwrap()
    }

    /// Why the connection is closed; states before that are passed over.
    async fn closed(mut self) -> (u16, String) {
        loop {
            match self.next().await {
                Ok(_) => {}
                Err(Some(frame)) => return (frame.code.into(), frame.reason.to_string()),
                Err(None) => panic!("closed without a word"),
            }
        }
    }
}

/// Something of everything that a bot may send, by tick.
fn drive(tick: u32) -> Vec<Action> {
    let direction = Direction::ALL[(tick / 3 * 7 % 4) as usize];
    match tick % 11 {
        0 => vec![],
        1 => vec![Action::Unknown, Action::Move(direction)],
        2 => vec![Action::MoveTo { x: f64::from(tick % 17), y: f64::from(tick % 13) }],
        3 => vec![Action::MoveNowhere, Action::MoveTo { x: 1.5, y: -0.5 }, Action::Move(direction.reverse())],
        _ => vec![Action::Move(direction), Action::Move(direction.reverse())],
    }
}

/// Plays a game with [`drive`] and compares every frame with what the simulator makes of it.
async fn play_along(server: &Running, map: &Map, rules: &Rules) -> (u32, u16) {
    let world = World::new(&map.layout, &rules).unwrap();
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

#[tokio::test]
async fn a_game_over_the_socket_is_the_simulators_game() {
    for map in [safe_map(), deadly_map(), our_map("roundabout"), our_map("harbour"), our_map("canal-quarter")] {
        for rules in [Rules::BLITZ_2025, Rules::NO_JUMP] {
            let folder = tempfile::tempdir().unwrap();
            let recording = Some(folder.path().join("new/game.jsonl.gz"));
            let options = ServerOptions { games: Some(1), rules, recording, ..options(vec![map.clone()]) };
            let server = Running::start(options).await;
            let (score, tick) = play_along(&server, &map, &rules).await;
            let result = server.result(1).await;
            assert_eq!((result.score, result.tick, result.map.as_str()), (score, tick, map.name.as_str()));
            assert_eq!((result.missed_ticks, result.late_commands, result.left.as_ref()), (0, 0, None));
            let over_in_same_tick = u32::from(rules.no_jump && result.end == GameEnd::Caught);
            assert!([u32::from(tick) - 1, u32::from(tick) - 1 + over_in_same_tick].contains(&result.commands));
            let report = verify(result.recording.unwrap(), &rules).unwrap();
            assert_eq!((report.divergence, report.tick, report.score), (None, tick, Some(score)));
            server.ended().await;
        }
    }
}

#[tokio::test]
async fn a_whole_game_is_2000_ticks_and_10005_points() {
    let server = Running::start(ServerOptions { games: Some(1), ..options(vec![safe_map()]) }).await;
    assert_eq!(play_along(&server, &safe_map(), &Rules::BLITZ_2025).await, (10_005, 2001));
    let result = server.result(1).await;
    assert_eq!((result.end, result.commands), (GameEnd::Complete, 2000));
    assert!(result.seconds < 10.0, "{} s", result.seconds);
    server.ended().await;
}

#[tokio::test]
async fn a_late_command_counts_for_nothing() {
    let options = ServerOptions { tick_time: Duration::from_millis(40), ..options(vec![safe_map()]) };
    let server = Running::start(options).await;
    let mut client = server.register().await;
    assert_eq!(client.state().await.tick, 1);
    // The second state says that the first tick has been played without a command.
    assert_eq!(client.state().await.tick, 2);
    client.command(1, json!([{"type": "MOVE_RIGHT"}])).await;
    let mut state = client.state().await;
    assert_eq!(state.your_character.position, Position::new(1, 1));
    // On a busy machine the next commands may be late as well; one will come in time.
    while state.your_character.position == Position::new(1, 1) {
        client.command(state.tick, json!([{"type": "MOVE_RIGHT"}])).await;
        state = client.state().await;
    }
    assert_eq!(state.your_character.position, Position::new(2, 1));
    drop(client);
    let result = server.result(1).await;
    assert!(result.late_commands >= 1 && result.missed_ticks >= 2 && result.commands >= 1, "{result:?}");
    let notes = server.notes();
    assert!(notes[0].ends_with("ignored a late command for tick 1"), "{notes:?}");
}

#[tokio::test]
async fn only_the_first_command_for_the_right_tick_counts() {
    let server = Running::start(options(vec![safe_map()])).await;
    let mut client = server.register().await;
    client.state().await;
    client.command(2, json!([{"type": "MOVE_DOWN"}])).await;
    client.command(0, json!([{"type": "MOVE_DOWN"}])).await;
    client.send(json!({"type": "COMMAND", "actions": [{"type": "MOVE_DOWN"}]})).await;
    client.send(json!({"type": "COMMAND", "tick": 1})).await;
    client.send(json!({"type": "DANCE", "tick": 1})).await;
    client.send(json!([1, 2])).await;
    client.command(1, json!([{"type": "MOVE_RIGHT"}])).await;
    client.command(1, json!([{"type": "MOVE_DOWN"}])).await;
    let state = client.state().await;
    assert_eq!((state.tick, state.your_character.position), (2, Position::new(2, 1)));
    client.command(2, json!([])).await;
    let state = client.state().await;
    assert_eq!((state.tick, state.your_character.position), (3, Position::new(2, 1)));
    let expected = [
        "tick 1: ignored a command for tick 2: expected 1",
        "tick 1: ignored a command for tick 0: expected 1",
        "tick 1: ignored a command: tick: expected the tick of a state, found nothing",
        "tick 1: ignored a command: actions: expected an array of actions, found nothing",
        "tick 1: ignored a frame: expected the type COMMAND",
        "tick 1: ignored a frame: expected the type COMMAND",
        "tick 2: ignored a second command for tick 1",
    ];
    assert_eq!(server.notes(), expected);
}

#[tokio::test]
async fn a_silent_bot_plays_to_the_end() {
    let options = ServerOptions { tick_time: Duration::from_millis(1), games: Some(1), ..options(vec![deadly_map()]) };
    let server = Running::start(options).await;
    let client = server.register().await;
    assert_eq!(client.closed().await.0, 1000);
    let result = server.result(1).await;
    assert_eq!((result.end, result.commands, result.left), (GameEnd::Caught, 0, None));
    assert_eq!(result.missed_ticks, u32::from(result.tick) - 1);
    server.ended().await;
}

/// What a game is without a bot.
fn score_without_a_bot(map: &Map) -> u32 {
    let world = World::new(&map.layout, &Rules::BLITZ_2025).unwrap();
    let mut state = world.start();
    while world.play(&mut state, &[]).is_ok() {}
    world.score(&state)
}

#[tokio::test]
async fn a_bot_that_misbehaves_is_out_and_its_game_goes_on_without_it() {
    let server = Running::start(options(vec![deadly_map()])).await;
    let long = "x".repeat(limits::MAX_FRAME_BYTES + 1);
    let huge = format!("\"{}\"", "x".repeat(10 << 20));
    let register = json!({"type": "REGISTER", "teamName": "again"}).to_string();
    let cases = [
        ("{\"type\": \"COMMAND\"", "sent no JSON (EOF while parsing an object at column 18)"),
        ("", "sent no JSON (EOF while parsing a value at column 0)"),
        (register.as_str(), "registered twice"),
        (long.as_str(), "broke the connection: "),
        (huge.as_str(), "broke the connection: "),
    ];
    for (game, (frame, reason)) in cases.into_iter().enumerate() {
        let mut client = server.register().await;
        client.state().await;
        // The server may hang up before it has read the whole frame.
        let _ = client.socket.send(Message::text(frame)).await;
        while client.next().await.is_ok() {}
        let result = server.result(game + 1).await;
        let left = result.left.unwrap();
        assert!(left.reason.starts_with(reason) && left.tick == 1, "{left:?}");
        assert_eq!((result.score, result.end), (score_without_a_bot(&deadly_map()), GameEnd::Caught));
    }
}

#[tokio::test]
async fn a_bot_that_is_gone_is_out() {
    let server = Running::start(options(vec![deadly_map()])).await;
    for game in 1..=4 {
        let mut client = server.register().await;
        client.state().await;
        match game {
            1 => client.socket.close(None).await.unwrap(),
            // Without a word, and with a reset.
            2 => drop(client),
            3 => {
                client.socket.get_ref().set_zero_linger().unwrap();
                drop(client);
            }
            _ => client.socket.get_mut().shutdown().await.unwrap(),
        }
        let result = server.result(game).await;
        assert_eq!(result.left.unwrap().tick, 1);
        assert_eq!(result.score, score_without_a_bot(&deadly_map()));
    }
}

#[tokio::test]
async fn a_flood_of_frames_is_out() {
    let server = Running::start(options(vec![deadly_map()])).await;
    let mut client = server.register().await;
    client.state().await;
    for _ in 0..=limits::MAX_FRAMES_PER_TICK {
        let _ = client.socket.feed(Message::text("{}")).await;
    }
    let _ = client.socket.flush().await;
    let result = server.result(1).await;
    assert!(result.left.unwrap().reason.starts_with("more than 100 frames in a tick"));
    assert_eq!(server.notes().len(), limits::MAX_NOTES_PER_GAME + 1, "notes are limited, the last one is not left out");
}

#[tokio::test]
async fn whoever_does_not_register_is_closed() {
    let server = Running::start(options(vec![safe_map()])).await;
    let start = Instant::now();
    let (mut silent, mut early) = (server.connect().await, server.connect().await);
    early.command(1, json!([])).await;
    early.send(json!({"type": "HELLO"})).await;
    let malformed = {
        let mut client = server.connect().await;
        client.send_text("{").await;
        client.closed().await
    };
    assert!(malformed.1.starts_with("sent no JSON ("), "{malformed:?}");
    assert!(start.elapsed() < limits::REGISTRATION_TIME);
    let expected = Some("no REGISTER within 5 s");
    for client in [&mut silent, &mut early] {
        let frame = client.next().await.unwrap_err();
        assert_eq!(frame.as_ref().map(|frame| frame.reason.as_str()), expected);
    }
    assert!(start.elapsed() >= limits::REGISTRATION_TIME);
    assert!(server.results().is_empty());
}

#[tokio::test]
async fn a_name_has_a_length() {
    let server = Running::start(options(vec![safe_map()])).await;
    for (chars, fine) in [(100, true), (101, false)] {
        let mut client = server.connect().await;
        client.send(json!({"type": "REGISTER", "teamName": "é".repeat(chars)})).await;
        assert_eq!(client.next().await.is_ok(), fine, "{chars}");
    }
}

#[tokio::test]
async fn a_token_is_told_to_nobody() {
    let server = Running::start(options(vec![deadly_map()])).await;
    let mut client = server.connect().await;
    client.send(json!({"type": "REGISTER", "token": "secret"})).await;
    assert!(!client.next().await.unwrap().contains("secret"));
    drop(client);
    server.result(1).await;
    assert!(!format!("{:?}", server.events.lock().unwrap()).contains("secret"));
}

#[tokio::test]
async fn bots_play_one_after_the_other_in_the_order_in_which_they_came() {
    let server = Running::start(ServerOptions { games: Some(3), ..options(vec![deadly_map()]) }).await;
    let mut waiting = Vec::new();
    for number in 0..5 {
        let mut client = server.connect().await;
        client.send(json!({"type": "REGISTER", "teamName": format!("bot {number}")})).await;
        waiting.push(client);
        // In turn, as far as the server can tell.
        sleep(Duration::from_millis(50)).await;
    }
    // The second in the queue gives up, the third registers twice, and neither costs a game.
    let gone = waiting.remove(1);
    drop(gone);
    let mut rude = waiting.remove(1);
    rude.send(json!({"type": "REGISTER", "teamName": "rude"})).await;
    assert_eq!(rude.closed().await.1, "registered twice");
    for mut client in waiting {
        while let Ok(state) = client.next().await {
            client.command(GameMessage::parse(state).unwrap().tick, json!([])).await;
        }
    }
    let teams: Vec<String> = server.results().into_iter().map(|result| result.team).collect();
    assert_eq!(teams, ["bot 0", "bot 3", "bot 4"]);
    server.ended().await;
}

#[tokio::test]
async fn a_viewer_sees_what_the_bot_sees_and_the_end() {
    let server = Running::start(ServerOptions { games: Some(1), ..options(vec![deadly_map()]) }).await;
    let mut viewer = server.connect().await;
    viewer.send(json!({"type": "VIEWER"})).await;
    // A viewer that registers, commands or chats is only heard out.
    viewer.send(json!({"type": "REGISTER", "teamName": "viewer"})).await;
    let mut bot = server.register().await;
    let (mut sent, mut seen) = (Vec::new(), Vec::new());
    let mut late_viewer = None;
    while let Ok(frame) = bot.next().await {
        let tick = GameMessage::parse(&frame).unwrap().tick;
        sent.push(frame);
        if tick == 1 {
            seen.push(viewer.next().await.unwrap());
        }
        if tick == 3 {
            let mut viewer = server.connect().await;
            viewer.send(json!({"type": "VIEWER"})).await;
            assert_eq!(&viewer.next().await.unwrap(), &sent[2], "a late viewer sees the latest state at once");
            late_viewer = Some(viewer);
        }
        bot.command(tick, json!([])).await;
    }
    let end = loop {
        match viewer.next().await {
            Ok(frame) => seen.push(frame),
            Err(end) => break end,
        }
    };
    assert_eq!(end.unwrap().reason.as_str(), "the server ends");
    assert_eq!(seen[..sent.len()], sent[..]);
    assert_eq!(seen.len(), sent.len() + 1);
    let last = GameMessage::parse(&seen[sent.len()]).unwrap();
    assert_eq!(u16::try_from(last.tick).unwrap(), server.results()[0].tick);
    assert!(last.threats.iter().any(|threat| threat.position == last.your_character.position), "caught");
    drop(late_viewer);
    server.ended().await;
}

#[tokio::test]
async fn a_viewer_that_does_not_read_slows_nobody_down() {
    let map = our_map("metropolis");
    let server = Running::start(options(vec![safe_map(), map])).await;
    let mut stalled = Vec::new();
    for _ in 0..5 {
        let mut viewer = server.connect().await;
        viewer.send(json!({"type": "VIEWER"})).await;
        stalled.push(viewer);
    }
    for game in 1..=4 {
        let mut bot = server.register().await;
        while let Ok(frame) = bot.next().await {
            let message = GameMessage::parse(&frame).unwrap();
            bot.command(message.tick, json!([])).await;
        }
        let result = server.result(game).await;
        assert!(result.seconds < 10.0 && result.left.is_none(), "{result:?}");
    }
    drop(stalled);
}

#[tokio::test]
async fn foreign_pages_are_refused() {
    let server = Running::start(options(vec![safe_map()])).await;
    let own = format!("http://{}", server.address);
    for (headers, fine) in [
        (vec![], true),
        (vec![("origin", own.as_str())], true),
        (vec![("origin", "http://localhost:1234")], true),
        (vec![("origin", "https://evil.example")], false),
        (vec![("origin", "null")], false),
        (vec![("origin", "http://evil.example"), ("host", "evil.example")], false),
        (vec![("host", "evil.example")], false),
    ] {
        match try_connect(&server.address, &headers).await {
            Ok(_) => assert!(fine, "{headers:?}"),
            Err(tungstenite::Error::Http(response)) => {
                assert!(!fine, "{headers:?}");
                assert_eq!(response.status(), StatusCode::FORBIDDEN);
            }
            Err(error) => panic!("{headers:?}: {error}"),
        }
    }
}

/// Sends raw bytes and returns all that comes back until the server closes.
async fn raw(address: &str, request: &[u8]) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(request).await.unwrap();
    let mut answer = Vec::new();
    let _ = timeout(PATIENCE, stream.read_to_end(&mut answer)).await.expect("the server closes");
    String::from_utf8_lossy(&answer).into_owned()
}

#[tokio::test]
async fn the_same_port_serves_the_page_and_nothing_else() {
    let server = Running::start(options(vec![safe_map()])).await;
    let get = |path: &str| format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    let page = raw(&server.address, get("/").as_bytes()).await;
    assert!(page.starts_with("HTTP/1.1 200") && page.contains("<title>getaway</title>"), "{page}");
    assert!(page.contains("frame-ancestors 'none'") && page.contains("connect-src 'self'"), "{page}");
    assert!(raw(&server.address, get("/film/0/0").as_bytes()).await.starts_with("HTTP/1.1 204"), "no game yet");
    let foreign = "GET /film/0/0 HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n";
    assert!(raw(&server.address, foreign.as_bytes()).await.starts_with("HTTP/1.1 403"));
    for path in ["/Cargo.toml", "/../Cargo.toml", "/%2e%2e/Cargo.toml", "//etc/passwd", "/maps"] {
        let answer = raw(&server.address, get(path).as_bytes()).await;
        assert!(answer.starts_with("HTTP/1.1 404"), "{path}: {answer}");
    }
    let post = "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    assert!(raw(&server.address, post.as_bytes()).await.starts_with("HTTP/1.1 405"));
    let no_key = "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n";
    let answer = raw(&server.address, no_key.as_bytes()).await;
    assert!(answer.starts_with("HTTP/1.1 4"), "{answer}");
    let head = format!("GET / HTTP/1.1\r\nX: {}\r\n\r\n", "x".repeat(limits::MAX_REQUEST_HEAD_BYTES));
    let answer = raw(&server.address, head.as_bytes()).await;
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 4"), "{answer}");
    assert!(raw(&server.address, b"\0\xff nonsense\r\n\r\n").await.starts_with("HTTP/1.1 400"));
}

#[tokio::test]
async fn half_said_requests_do_not_stay() {
    let server = Running::start(options(vec![safe_map()])).await;
    let start = Instant::now();
    let halves = [&b""[..], b"GET / HT", b"GET / HTTP/1.1\r\nHost: localhost\r\n"];
    let answers = halves.map(|half| raw(&server.address, half));
    for answer in futures_util::future::join_all(answers).await {
        assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 408"), "{answer}");
    }
    assert!(start.elapsed() < limits::HTTP_TIME * 3);
}

#[tokio::test]
async fn a_crowd_at_the_door_does_not_disturb_the_game() {
    let server = Running::start(ServerOptions { games: Some(1), ..options(vec![safe_map()]) }).await;
    let mut bot = server.register().await;
    bot.state().await;
    let mut crowd = Vec::new();
    for _ in 0..limits::MAX_CONNECTIONS + 50 {
        crowd.push(TcpStream::connect(&server.address).await.unwrap());
    }
    bot.command(1, json!([])).await;
    while let Ok(frame) = bot.next().await {
        bot.command(GameMessage::parse(&frame).unwrap().tick, json!([])).await;
    }
    let result = server.result(1).await;
    assert_eq!((result.score, result.missed_ticks), (10_005, 0));
    drop(crowd);
    server.ended().await;
}

/// The median and the slowest of the times that a bot waits for its next state, on a server that rests a little after each tick.
async fn tick_times(viewers: usize) -> (Duration, Duration) {
    const TICKS: u32 = 250;
    let server = Running::start(ServerOptions { delay: Duration::from_millis(4), ..options(vec![safe_map()]) }).await;
    let mut bot = server.register().await;
    bot.state().await;
    let stop = Arc::new(tokio::sync::Notify::new());
    let mut watching = Vec::new();
    for number in 0..viewers {
        let mut viewer = server.connect().await;
        viewer.send(json!({"type": "VIEWER"})).await;
        let (stop, address) = (Arc::clone(&stop), server.address.clone());
        watching.push(tokio::spawn(async move {
            let watch = async {
                // The first one never reads; the others do, and ask what there is to know, as the page does.
                if number == 0 {
                    std::future::pending::<()>().await;
                }
                loop {
                    for _ in 0..20 {
                        viewer.next().await.unwrap();
                    }
                    let ask = "GET /film/1/0 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
                    let mut stream = TcpStream::connect(&address).await.unwrap();
                    stream.write_all(ask.as_bytes()).await.unwrap();
                    let mut answer = Vec::new();
                    stream.read_to_end(&mut answer).await.unwrap();
                    assert!(answer.starts_with(b"HTTP/1.1 200"));
                }
            };
            tokio::select! { () = watch => {}, () = stop.notified() => {} }
        }));
    }
    let mut times = Vec::new();
    for tick in 1..=TICKS {
        let start = Instant::now();
        bot.command(tick, json!([])).await;
        bot.state().await;
        times.push(start.elapsed());
    }
    stop.notify_waiters();
    for task in watching {
        task.await.unwrap();
    }
    times.sort();
    (times[times.len() / 2], times[times.len() - 1])
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn twenty_viewers_one_of_them_stalled_leave_the_ticks_as_they_are() {
    let (alone, watched) = (tick_times(0).await, tick_times(20).await);
    println!("median and slowest tick: alone {alone:?}, with 20 viewers {watched:?}");
    // Other tests run at the same time; a tick that waited for a viewer would take seconds.
    assert!(watched.0 < alone.0 * 2 + Duration::from_millis(10), "{watched:?} instead of {alone:?}");
}

#[tokio::test]
async fn a_recording_that_fails_does_not_end_the_game() {
    let folder = tempfile::tempdir().unwrap();
    let taken = folder.path().join("game.jsonl");
    std::fs::write(&taken, "mine").unwrap();
    let options = ServerOptions { games: Some(1), recording: Some(taken.clone()), ..options(vec![deadly_map()]) };
    let server = Running::start(options).await;
    play_along(&server, &deadly_map(), &Rules::BLITZ_2025).await;
    assert_eq!(server.result(1).await.recording, None);
    let expected = format!("{}: exists already and is not overwritten; this game is not recorded", taken.display());
    assert_eq!(server.notes(), [expected]);
    assert_eq!(std::fs::read_to_string(&taken).unwrap(), "mine");
    server.ended().await;
}

#[tokio::test]
async fn two_servers_that_record_into_one_file_do_not_mix_their_games() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("game.jsonl");
    let options = || ServerOptions { games: Some(1), recording: Some(file.clone()), ..options(vec![deadly_map()]) };
    let (one, other) = (Running::start(options()).await, Running::start(options()).await);
    let map = deadly_map();
    tokio::join!(play_along(&one, &map, &Rules::BLITZ_2025), play_along(&other, &map, &Rules::BLITZ_2025));
    let (first, second) = (one.result(1).await, other.result(1).await);
    let recorded: Vec<_> = [&first, &second].iter().filter_map(|result| result.recording.as_ref()).collect();
    assert_eq!(recorded, [&file]);
    let expected = format!("{}: exists already and is not overwritten; this game is not recorded", file.display());
    assert_eq!([one.notes(), other.notes()].concat(), [expected]);
    let report = verify(&file, &Rules::BLITZ_2025).unwrap();
    assert_eq!((report.divergence, report.outcome), (None, Outcome::Caught));
    one.ended().await;
    other.ended().await;
}

/// The program itself, killed when the test is done with it.
struct Program {
    child: Child,
    stdout: BufReader<ChildStdout>,
    stderr: BufReader<ChildStderr>,
    address: String,
}

impl Program {
    /// Starts `getaway serve` on a free port and reads which one.
    fn serve(args: &[&str]) -> Self {
        Self::start(Command::new(env!("CARGO_BIN_EXE_getaway")), args)
    }

    fn start(mut command: Command, args: &[&str]) -> Self {
        command.args(["serve", "--port", "0"]).args(args).current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        let first: &mut dyn BufRead = if args.contains(&"--json") { &mut stderr } else { &mut stdout };
        first.read_line(&mut line).unwrap();
        let address = line.strip_prefix("listening on ws://").unwrap_or_else(|| panic!("{line}"));
        let address = address.split(' ').next().unwrap().to_owned();
        Self { child, stdout, stderr, address }
    }

    /// Plays a game in which the bot stays where it is.
    async fn play(&self) {
        let mut bot = connect(&self.address).await;
        bot.send(json!({"type": "REGISTER", "teamName": "tester"})).await;
        while let Ok(frame) = bot.next().await {
            bot.command(GameMessage::parse(&frame).unwrap().tick, json!([])).await;
        }
    }

    /// What is left of the output once the program has ended by itself.
    fn end(mut self) -> (Option<i32>, Vec<String>) {
        let lines = self.stdout.by_ref().lines().collect::<Result<_, _>>().unwrap();
        (self.child.wait().unwrap().code(), lines)
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[tokio::test]
async fn the_command_plays_its_games_and_ends() {
    let folder = tempfile::tempdir().unwrap();
    let recording = folder.path().join("game.jsonl");
    let record = recording.to_str().unwrap();
    let program = Program::serve(&["roundabout", "--games", "2", "--record", record]);
    program.play().await;
    program.play().await;
    let score = score_without_a_bot(&our_map("roundabout"));
    let (code, lines) = program.end();
    assert_eq!((code, lines.len()), (Some(0), 2), "{lines:?}");
    for (number, line) in (1..).zip(&lines) {
        let start = format!("game {number}: roundabout, score {score}, caught in tick {}, 0 late commands", score / 5);
        assert!(line.starts_with(&start), "{line}");
    }
    let second = folder.path().join("game-2.jsonl");
    assert!(lines[1].ends_with(&format!("recorded in {}", second.display())));
    for path in [recording, second] {
        let report = verify(path, &Rules::BLITZ_2025).unwrap();
        assert_eq!((report.divergence, report.outcome, report.score), (None, Outcome::Caught, Some(score)));
    }
}

#[cfg(target_os = "linux")]
#[test]
fn the_table_of_files_has_room_for_every_connection_before_the_first_one_comes() {
    let program = Program::serve(&["roundabout"]);
    let status = std::fs::read_to_string(format!("/proc/{}/status", program.child.id())).unwrap();
    let size = status.lines().find_map(|line| line.strip_prefix("FDSize:")).unwrap();
    assert!(size.trim().parse::<usize>().unwrap() > limits::MAX_CONNECTIONS, "{size}");
}

#[cfg(unix)]
#[tokio::test]
async fn a_full_disk_is_one_note_and_the_game_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let recording = folder.path().join("game.jsonl");
    let mut shell = Command::new("sh");
    // No file may grow beyond 32 blocks of 512 bytes; the signal that comes with it is ignored, which leaves the error.
    shell.args(["-c", r#"trap "" XFSZ; ulimit -f 32; exec "$0" "$@""#, env!("CARGO_BIN_EXE_getaway")]);
    let mut program = Program::start(shell, &["roundabout", "--games", "1", "--record", recording.to_str().unwrap()]);
    program.play().await;
    let mut notes = String::new();
    program.stderr.read_to_string(&mut notes).unwrap();
    let (code, lines) = program.end();
    assert_eq!(code, Some(0));
    assert!(lines[0].contains(&format!("score {}", score_without_a_bot(&our_map("roundabout")))), "{lines:?}");
    assert_eq!(notes.matches("cannot be written").count(), 1, "{notes}");
    assert!(notes.contains("the recording ends there and the game is played to its end"), "{notes}");
    let report = verify(&recording, &Rules::BLITZ_2025).unwrap();
    assert!(report.divergence.is_none() && report.ticks > 0 && report.truncated_line.is_some(), "{report:?}");
}

#[tokio::test]
async fn the_command_prints_json_and_nothing_else() {
    let program = Program::serve(&["--seed", "7", "--games", "3", "--json"]);
    for _ in 0..3 {
        program.play().await;
    }
    let (code, lines) = program.end();
    assert_eq!(code, Some(0));
    let results: Vec<Value> = lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    let games: Vec<u64> = results.iter().map(|result| result["game"].as_u64().unwrap()).collect();
    assert_eq!(games, [1, 2, 3]);
    for result in &results {
        let map = our_map(result["map"].as_str().unwrap());
        assert_eq!(result["score"], score_without_a_bot(&map), "{result}");
        assert_eq!((&result["team"], &result["left"]), (&json!("tester"), &Value::Null));
    }
}

#[test]
fn the_command_refuses_bad_usage_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let taken: PathBuf = folder.path().join("taken.jsonl");
    std::fs::write(&taken, "mine").unwrap();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    for (args, expected) in [
        (vec!["nowhere"], "no map named nowhere"),
        (vec!["--record", taken.to_str().unwrap()], "exists already and is not overwritten"),
        (vec!["--port", &port], "cannot be listened on"),
        (vec!["--host", "no.such.host.invalid"], "no.such.host.invalid:8765: cannot be listened on"),
        (vec!["--tick-ms", "0"], "invalid value '0' for '--tick-ms <MS>'"),
        (vec!["--games", "0"], "invalid value '0' for '--games <N>'"),
    ] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_getaway"));
        let output = command
            .arg("serve")
            .args(&args)
            .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
            .output()
            .unwrap();
        let line = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), output.stdout.len(), line.lines().count()), (Some(2), 0, 1), "{line}");
        assert!(line.contains(expected), "{args:?}: {line}");
    }
}

#[tokio::test]
async fn a_frame_may_be_as_long_as_is_said_and_no_longer() {
    let server = Running::start(options(vec![safe_map()])).await;
    let mut client = server.register().await;
    client.state().await;
    let mut command = json!({"type": "COMMAND", "tick": 1, "actions": [{"type": "MOVE_RIGHT"}]}).to_string();
    command += &" ".repeat(limits::MAX_FRAME_BYTES - command.len());
    client.send_text(&command).await;
    let state = client.state().await;
    assert_eq!((state.tick, state.your_character.position), (2, Position::new(2, 1)));
    client.send_text(&(command + " ")).await;
    while client.next().await.is_ok() {}
    let left = server.result(1).await.left.unwrap();
    assert!(left.tick == 2 && left.reason.starts_with("broke the connection: "), "{left:?}");
}

#[tokio::test]
async fn a_bot_may_say_as_much_in_a_tick_as_is_said_and_no_more() {
    let server = Running::start(options(vec![safe_map()])).await;
    let mut client = server.register().await;
    for (tick, frames, fine) in [(1, limits::MAX_FRAMES_PER_TICK - 1, true), (2, limits::MAX_FRAMES_PER_TICK, false)] {
        assert_eq!(client.state().await.tick, tick);
        for _ in 0..frames {
            client.socket.feed(Message::text("{}")).await.unwrap();
        }
        let _ = client
            .socket
            .send(Message::text(json!({"type": "COMMAND", "tick": tick, "actions": []}).to_string()))
            .await;
        assert!(!fine || server.results().is_empty(), "the bot is still in");
    }
    let left = server.result(1).await.left.unwrap();
    assert_eq!((left.tick, left.reason), (2, "more than 100 frames in a tick".to_owned()));
}

#[tokio::test]
async fn whoever_has_nothing_to_say_may_say_so_a_hundred_times() {
    let server = Running::start(options(vec![safe_map()])).await;
    for (frames, fine) in [(limits::MAX_IDLE_FRAMES_PER_SECOND, true), (limits::MAX_IDLE_FRAMES_PER_SECOND + 1, false)]
    {
        let mut client = server.connect().await;
        for _ in 0..frames {
            client.socket.feed(Message::text("[]")).await.unwrap();
        }
        let _ = client.socket.send(Message::text(json!({"type": "VIEWER"}).to_string())).await;
        // A viewer of nothing is sent nothing, so that only the one who is out hears something.
        let heard = timeout(Duration::from_millis(500), client.next()).await;
        match heard {
            Ok(Err(frame)) => assert!(!fine && frame.unwrap().reason.as_str() == "too many frames"),
            Ok(Ok(state)) => panic!("{state}"),
            Err(_) => assert!(fine),
        }
    }
}

#[tokio::test]
async fn so_many_bots_may_wait_and_no_more() {
    let server = Running::start(options(vec![safe_map()])).await;
    let mut playing = server.register().await;
    playing.state().await;
    let mut waiting = Vec::new();
    for _ in 0..limits::MAX_WAITING_BOTS {
        waiting.push(server.register().await);
    }
    // All of them have been heard once the last one's ping is answered.
    for bot in &mut waiting {
        bot.socket.send(Message::Ping(Default::default())).await.unwrap();
        let answer = timeout(PATIENCE, bot.socket.next()).await.unwrap();
        assert!(matches!(answer, Some(Ok(Message::Pong(_)))), "{answer:?}");
    }
    let turned_away = server.register().await.closed().await;
    assert_eq!(turned_away, (1013, "too many bots are waiting".to_owned()));
    drop(waiting.pop());
    let late = async {
        // The seat is free as soon as the server has noticed.
        loop {
            let mut bot = server.register().await;
            bot.socket.send(Message::Ping(Default::default())).await.unwrap();
            match timeout(PATIENCE, bot.socket.next()).await.unwrap() {
                Some(Ok(Message::Pong(_))) => break bot,
                _ => sleep(Duration::from_millis(10)).await,
            }
        }
    };
    drop(timeout(PATIENCE, late).await.expect("a free seat"));
}

#[tokio::test]
async fn so_many_may_be_connected_and_no_more() {
    let server = Running::start(options(vec![safe_map()])).await;
    let mut crowd = Vec::new();
    for _ in 0..limits::MAX_CONNECTIONS {
        crowd.push(TcpStream::connect(&server.address).await.unwrap());
    }
    let start = Instant::now();
    let mut byte = [0];
    let mut further = TcpStream::connect(&server.address).await.unwrap();
    let read = timeout(PATIENCE, further.read(&mut byte)).await.expect("closed unread");
    assert!(matches!(read, Ok(0) | Err(_)) && start.elapsed() < limits::HTTP_TIME / 2, "{read:?}");
    // The last one within the limit is served, even now.
    let mut last = crowd.pop().unwrap();
    last.write_all(b"GET /nothing HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").await.unwrap();
    let mut answer = String::new();
    timeout(PATIENCE, last.read_to_string(&mut answer)).await.unwrap().unwrap();
    assert!(answer.starts_with("HTTP/1.1 404"), "{answer}");
}

#[tokio::test]
async fn a_request_may_be_as_long_as_is_said_and_no_longer() {
    let server = Running::start(options(vec![safe_map()])).await;
    for (bytes, status) in [(limits::MAX_REQUEST_HEAD_BYTES - 1, "404"), (limits::MAX_REQUEST_HEAD_BYTES + 1, "431")] {
        let (start, end) = ("GET /nothing HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nX: ", "\r\n\r\n");
        let request = format!("{start}{}{end}", "x".repeat(bytes - start.len() - end.len()));
        let answer = raw(&server.address, request.as_bytes()).await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{bytes} bytes: {answer}");
    }
}

#[tokio::test]
async fn no_path_leads_to_a_file() {
    let server = Running::start(options(vec![safe_map()])).await;
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
    let encoded = manifest.replace('/', "%2f");
    for path in [
        manifest,
        &format!("/{manifest}"),
        &format!("/{encoded}"),
        &format!("file://{manifest}"),
        &format!("http://localhost{manifest}"),
        &format!("/..{manifest}"),
        &format!("/?{manifest}"),
        &format!("/#{manifest}"),
        "/../../../../../../../../etc/passwd",
        "/..%2f..%2f..%2f..%2fetc%2fpasswd",
        "/%2e%2e/%2e%2e/%2e%2e/%2e%2e/etc/passwd",
        "/%252e%252e/etc/passwd",
        "/..\\..\\..\\etc\\passwd",
        "/..;/etc/passwd",
        "/%c0%ae%c0%ae/etc/passwd",
        "/etc/passwd%00.html",
        "/./Cargo.toml",
        "/maps/roundabout/meta.json",
        "/proc/self/environ",
    ] {
        let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
        let answer = raw(&server.address, request.as_bytes()).await;
        assert!(
            answer.starts_with("HTTP/1.1 4") || answer.starts_with("HTTP/1.1 200") || answer.is_empty(),
            "{path}: {answer}"
        );
        // The page itself may come, and nothing of the disk.
        for secret in ["[package]", "root:", "\"difficulty\"", "PATH="] {
            assert!(!answer.contains(secret), "{path}: {answer}");
        }
    }
}

#[tokio::test]
async fn a_bot_that_does_not_read_is_out_and_the_next_one_plays() {
    // Large states, so that what the system holds for a reader is soon full; the shark lives on an island.
    let mut hall = vec![".".repeat(50); 50];
    hall[0] = format!("{}#s", "P".to_owned() + &".".repeat(47));
    hall[1].replace_range(48..50, "##");
    let options = ServerOptions {
        tick_time: Duration::from_millis(1),
        games: Some(2),
        ..options(vec![map("hall", &hall.join("\n"))])
    };
    let server = Running::start(options).await;
    let asleep = server.register().await;
    let result = server.result(1).await;
    let left = result.left.expect("out in the middle of the game");
    assert_eq!((left.reason.as_str(), result.end), ("does not read what it is sent", GameEnd::Complete));
    drop(asleep);
    let mut awake = server.register().await;
    while awake.next().await.is_ok() {}
    assert_eq!(server.result(2).await.left, None);
    server.ended().await;
}
