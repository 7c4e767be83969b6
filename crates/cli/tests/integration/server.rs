use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{Child, ChildStderr, ChildStdout, Command, Stdio};

use crate::harness::{connect, our_map, score_without_bot, try_connect};
use crate::program::getaway;
use getaway::game::{Rules, Status};
use getaway::protocol::GameMessage;
use getaway::recording::verify;
use getaway_server::limits;
use serde_json::{Value, json};

struct Program {
    child: Child,
    stdout: BufReader<ChildStdout>,
    stderr: BufReader<ChildStderr>,
    address: String,
}

impl Program {
    fn serve(args: &[&str]) -> Self {
        Self::start(Command::new(env!("CARGO_BIN_EXE_getaway")), args)
    }

    fn start(mut command: Command, args: &[&str]) -> Self {
        command
            .args(["serve", "--port", "0", "--tick-ms", "3600000"])
            .args(args)
            .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
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

    fn play(&self) {
        let mut bot = connect(&self.address);
        bot.send(json!({"type": "REGISTER", "teamName": "tester"}));
        bot.play();
    }

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

#[test]
fn command_exits_after_its_games() {
    let folder = tempfile::tempdir().unwrap();
    let recording = folder.path().join("game.jsonl");
    let record = recording.to_str().unwrap();
    let program = Program::serve(&["roundabout", "--games", "2", "--record", record]);
    program.play();
    program.play();
    let score = score_without_bot(&our_map("roundabout"));
    let (code, lines) = program.end();
    assert_eq!((code, lines.len()), (Some(0), 2), "{lines:?}");
    for (number, line) in (1..).zip(&lines) {
        let start = format!("game {number}: roundabout, score {score}, caught at tick {}, 0 late commands", score / 5);
        assert!(line.starts_with(&start), "{line}");
    }
    let second = folder.path().join("game-2.jsonl");
    assert!(lines[1].ends_with(&format!("recorded in {}", second.display())));
    for path in [recording, second] {
        let report = verify(path, &Rules::BLITZ_2025).unwrap();
        assert_eq!((report.divergence, report.status, report.score), (None, Status::Caught, Some(score)));
    }
}

#[cfg(target_os = "linux")]
#[test]
fn file_table_has_room_for_every_connection_from_the_start() {
    let program = Program::serve(&["roundabout"]);
    let status = std::fs::read_to_string(format!("/proc/{}/status", program.child.id())).unwrap();
    let size = status.lines().find_map(|line| line.strip_prefix("FDSize:")).unwrap();
    assert!(size.trim().parse::<usize>().unwrap() > limits::MAX_CONNECTIONS, "{size}");
}

#[cfg(unix)]
#[test]
fn full_disk_gives_one_note_and_the_game_continues() {
    let folder = tempfile::tempdir().unwrap();
    let recording = folder.path().join("game.jsonl");
    let mut shell = Command::new("sh");
    // Limits files to 32 blocks of 512 bytes. The program inherits the ignored SIGXFSZ, so a
    // write beyond the limit fails instead of killing the program.
    shell.args(["-c", r#"trap "" XFSZ; ulimit -f 32; exec "$0" "$@""#, env!("CARGO_BIN_EXE_getaway")]);
    let mut program = Program::start(shell, &["roundabout", "--games", "1", "--record", recording.to_str().unwrap()]);
    program.play();
    let mut notes = String::new();
    program.stderr.read_to_string(&mut notes).unwrap();
    let (code, lines) = program.end();
    assert_eq!(code, Some(0));
    assert!(lines[0].contains(&format!("score {}", score_without_bot(&our_map("roundabout")))), "{lines:?}");
    assert_eq!(notes.matches("cannot write").count(), 1, "{notes}");
    assert!(notes.contains("the recording ends here, the game continues"), "{notes}");
    let report = verify(&recording, &Rules::BLITZ_2025).unwrap();
    assert!(report.divergence.is_none() && report.ticks > 0 && report.truncated_line.is_some(), "{report:?}");
}

#[test]
fn json_output_contains_only_json() {
    let program = Program::serve(&["--seed", "7", "--games", "3", "--json"]);
    for _ in 0..3 {
        program.play();
    }
    let (code, lines) = program.end();
    assert_eq!(code, Some(0));
    let results: Vec<Value> = lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    let games: Vec<u64> = results.iter().map(|result| result["game"].as_u64().unwrap()).collect();
    assert_eq!(games, [1, 2, 3]);
    for result in &results {
        let map = our_map(result["map"].as_str().unwrap());
        assert_eq!(result["score"], score_without_bot(&map), "{result}");
        assert_eq!((&result["team"], &result["left"]), (&json!("tester"), &Value::Null));
    }
}

#[test]
fn command_reports_mistakes_and_refused_handshakes() {
    let mut program = Program::serve(&["roundabout", "--games", "1"]);
    let evil = try_connect(&program.address, &[("origin", "https://evil.example")]);
    assert!(evil.is_err());
    let mut bot = connect(&program.address);
    bot.command(1, json!([]));
    bot.send(json!({"type": "REGISTER", "teamName": "\u{202e}tester\n\u{9b}2J"}));
    while let Ok(frame) = bot.next() {
        let tick = GameMessage::parse(&frame).unwrap().tick;
        bot.send(json!({"type": "COMMAND", "tick": tick}));
        bot.send(json!({"type": "LEFT\u{2066}"}));
        bot.command(tick, json!([]));
    }
    let mut notes = String::new();
    program.stderr.read_to_string(&mut notes).unwrap();
    let (_, lines) = program.end();
    let ticks = score_without_bot(&our_map("roundabout")) / 5 - 1;
    assert!(lines[0].contains(&format!(", {ticks} commands that could not be read")), "{lines:?}");
    let notes: Vec<&str> = notes.lines().collect();
    let expected = [
        "refused a websocket: the Origin header is \"https://evil.example\": expected none, http://localhost, or this server's own page; ",
        "client: ignored a COMMAND before REGISTER: expected {\"type\":\"REGISTER\"",
        "game 1: \\u202etester\\n\\u009b2J plays roundabout",
        "game 1, tick 1: ignored a command that cannot be read: actions: expected an array of actions, found nothing",
        "game 1, tick 1: ignored a frame of type \"LEFT\\u2066\": expected {\"type\":\"COMMAND\",\"tick\":1,",
    ];
    assert_eq!(notes.len(), expected.len(), "{notes:#?}");
    for (note, expected) in notes.iter().zip(expected) {
        assert!(note.starts_with(expected), "{notes:#?}");
    }
}

#[test]
fn invalid_usage_gives_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let taken: PathBuf = folder.path().join("taken.jsonl");
    std::fs::write(&taken, "mine").unwrap();
    let below = taken.join("game.jsonl");
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    for (args, expected) in [
        (vec!["nowhere"], "no map named nowhere"),
        (vec!["--record", taken.to_str().unwrap()], "already exists (use --force to overwrite it)"),
        (vec!["--record", below.to_str().unwrap()], "taken.jsonl"),
        (vec!["--port", &port], "(try --port 0)"),
        (vec!["--host", "no.such.host.invalid"], "cannot listen on no.such.host.invalid:8765: "),
        (vec!["--tick-ms", "0"], "invalid value '0' for '--tick-ms <MS>'"),
        (vec!["--games", "0"], "invalid value '0' for '--games <N>'"),
    ] {
        let output = getaway(&[&["serve"], &args[..]].concat());
        let line = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), output.stdout.len(), line.lines().count()), (Some(2), 0, 1), "{line}");
        assert!(line.contains(expected), "{args:?}: {line}");
    }
}
