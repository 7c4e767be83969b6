//! Checks that the competition bot is never late, even if the server breaks the rules. If the
//! environment variable `GETAWAY_BUSY` adds load, one command in 10,000 may be late. The test's
//! server waits for each command from `bot/`, and measures the time from sending the state to
//! receiving the command.

use std::fmt;
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use getaway::game::{Action, LAST_TICK, Rules};
use getaway::inference::variant;
use getaway::search::Random;
use serde_json::Value;
use tungstenite::{Message, WebSocket};

use crate::common::root;
use crate::disturbed::{Disturbance, Maps, Server, draw_disturbances};
use crate::harness::TIMEOUT;

/// Games that take longer, for example if the bot often uses its whole budget, are cut short.
const GAME_MAX: Duration = Duration::from_secs(5);
/// Exclusive upper bounds of histogram bins. The last bound is the real server's time limit for a
/// command.
const BOUNDS_MS: [u128; 9] = [1, 2, 5, 10, 20, 50, 75, 80, 100];

/// The longest time in milliseconds that [`watch_stalls`] has overslept since the last reset.
static STALL_MS: AtomicU64 = AtomicU64::new(0);

/// Starts a thread that measures how much longer it sleeps than asked. A virtual machine can stall
/// for 100 ms.
fn watch_stalls() {
    std::thread::spawn(|| {
        let nap = Duration::from_millis(1);
        loop {
            let start = Instant::now();
            std::thread::sleep(nap);
            let overslept = start.elapsed().saturating_sub(nap).as_millis();
            STALL_MS.fetch_max(overslept as u64, Ordering::Relaxed);
        }
    });
}

struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn start_bot(folder: &Path, port: u16, no_jump: bool) -> Running {
    let mut command = Command::new(folder.join(".venv/bin/python"));
    command.arg(folder.join("bot/application.py")).args(["--url", &format!("ws://127.0.0.1:{port}")]);
    command.args(no_jump.then_some("--no-jump")).stdout(Stdio::null()).stderr(Stdio::null());
    Running(command.spawn().expect("a Python environment made by run.sh or test.sh"))
}

fn next_text(socket: &mut WebSocket<TcpStream>) -> String {
    loop {
        if let Message::Text(text) = socket.read().expect("a command") {
            return text.to_string();
        }
    }
}

fn accept(listener: &TcpListener) -> WebSocket<TcpStream> {
    let (stream, _) = listener.accept().expect("the bot connects");
    stream.set_nodelay(true).unwrap();
    stream.set_read_timeout(Some(TIMEOUT)).unwrap();
    let mut socket = tungstenite::accept(stream).unwrap();
    assert!(next_text(&mut socket).contains("REGISTER"));
    socket
}

#[derive(Default)]
struct Times {
    counts: [u64; BOUNDS_MS.len() + 1],
    longest: Vec<(Duration, String)>,
}

impl Times {
    fn add(&mut self, time: Duration, case: impl FnOnce() -> String) {
        self.counts[BOUNDS_MS.iter().take_while(|&&bound| time.as_millis() >= bound).count()] += 1;
        if self.longest.len() < 10 || time > self.longest[9].0 {
            self.longest.push((time, case()));
            self.longest.sort_by_key(|&(time, _)| std::cmp::Reverse(time));
            self.longest.truncate(10);
        }
    }
}

impl fmt::Display for Times {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} decisions", self.counts.iter().sum::<u64>())?;
        for (bound, count) in BOUNDS_MS.iter().zip(self.counts) {
            write!(f, ", {count} below {bound} ms")?;
        }
        writeln!(f, ", {} later", self.counts[BOUNDS_MS.len()])?;
        self.longest.iter().try_for_each(|(time, case)| writeln!(f, "{time:.1?}: {case}"))
    }
}

fn play(seed: u64, maps: &Maps, folder: &Path, times: &mut Times) {
    let mut random = Random::from_seed(seed);
    let (map, layout) = maps.draw(&mut random);
    let rules = if random.below(2) == 0 { Rules::BLITZ_2025 } else { Rules::NO_JUMP };
    let truth = if random.below(6) == 0 { variant(seed, 1 + random.below(3)) } else { rules };
    let truth = Rules { no_jump: rules.no_jump, ..truth };
    let mut disturbances = draw_disturbances(&mut random);
    let mut server = Server::new(layout, &truth, random);

    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let mut bot = start_bot(folder, port, rules.no_jump);
    let mut socket = accept(&listener);
    let (start, mut last) = (Instant::now(), None);
    while server.tick() <= LAST_TICK && start.elapsed() < GAME_MAX {
        if server.state.is_over() {
            server.revive();
            if server.state.is_over() {
                break;
            }
        }
        while let Some(&(_, disturbance)) = disturbances.first().filter(|&&(tick, _)| tick <= server.tick()) {
            disturbances.remove(0);
            server.disturb(disturbance);
            last = Some((disturbance, server.tick()));
            if disturbance == Disturbance::Rejoin {
                bot = start_bot(folder, port, rules.no_jump);
                socket = accept(&listener);
            }
        }
        if server.state.is_over() {
            continue;
        }
        let message = serde_json::to_string(&server.message()).unwrap();
        STALL_MS.store(0, Ordering::Relaxed);
        let sent = Instant::now();
        socket.send(Message::text(message)).unwrap();
        let text = next_text(&mut socket);
        times.add(sent.elapsed(), || {
            std::thread::sleep(Duration::from_millis(5));
            let stall_ms = STALL_MS.load(Ordering::Relaxed);
            format!("seed {seed}, {map}, tick {}, after {last:?}; longest stall {stall_ms} ms", server.tick())
        });
        let mut command: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(command["tick"], server.tick(), "seed {seed}: {text}");
        let actions: Vec<Action> = serde_json::from_value(command["actions"].take()).unwrap();
        let player_move = server.resolve(&actions);
        server.play(player_move);
    }
    drop(bot);
}

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

#[test]
#[ignore = "plays 1000 games of up to 5 s; needs the Python environment of run.sh"]
fn bot_is_never_late_in_many_disturbed_games() {
    let (folder, maps) = (root(), Maps::new());
    let busy: Vec<Running> = (0..number("GETAWAY_BUSY", 0))
        .map(|_| Running(Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap()))
        .collect();
    watch_stalls();
    let mut times = Times::default();
    let (first, games) = (number("GETAWAY_SEED", 1), number("GETAWAY_GAMES", 1000));
    for game in 0..games {
        play(first + game, &maps, &folder, &mut times);
        if (game + 1) % 50 == 0 || game + 1 == games {
            println!("{} games beside {} busy loops: {times}", game + 1, busy.len());
        }
    }
    let (decisions, late) = (times.counts.iter().sum::<u64>(), times.counts[BOUNDS_MS.len()]);
    let allowed = if busy.is_empty() { 0 } else { decisions / 10_000 };
    assert!(late <= allowed, "{late} of {decisions} commands were late");
}
