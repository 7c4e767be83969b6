//! Tests of `getaway simulate` through the program: it reproduces recorded games, answers every
//! line before it reads the next, and reports bad input in one line with exit code 2.

#[path = "../../../tests/common/mod.rs"]
mod common;

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use flate2::read::GzDecoder;
use getaway::protocol::{Trace, TraceTick, write_line};

/// Starts the program in the crate's folder, which contains the bundled maps.
fn start(args: &[&str]) -> Child {
    Command::new(env!("CARGO_BIN_EXE_getaway"))
        .arg("simulate")
        .args(args)
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts")
}

/// Runs the program with this input. The program may stop before reading all of it.
fn simulate(args: &[&str], input: &[u8]) -> Output {
    let mut child = start(args);
    let mut stdin = child.stdin.take().expect("a pipe");
    let input = input.to_vec();
    let writer = std::thread::spawn(move || stdin.write_all(&input));
    let output = child.wait_with_output().expect("the program ends");
    let _ = writer.join().expect("the writer does not panic");
    output
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("text")
}

/// Plays a trace's actions and compares every output line with the trace, without its actions, byte
/// for byte.
fn replay(path: &Path, map_folder: &Path) {
    let mut recorded = String::new();
    let file = File::open(path).expect("a trace");
    GzDecoder::new(file).read_to_string(&mut recorded).expect("a trace");
    let trace = Trace::parse(&recorded).expect("a trace");
    let (mut input, mut expected) = (Vec::new(), Vec::new());
    for tick in trace.ticks {
        write_line(&mut input, tick.actions.as_ref().expect("actions")).expect("memory can be written to");
        write_line(&mut expected, &TraceTick { actions: None, ..tick }).expect("memory can be written to");
    }
    // Input after the end of the game is not read.
    if text(&expected).trim_end().ends_with(r#""over":true,"caught":true}"#) {
        input.extend(b"no JSON\n");
    }
    let mut args = vec![map_folder.to_str().expect("a path that is text")];
    args.extend(trace.header.rules.no_jump.then_some("--no-jump"));
    let output = simulate(&args, &input);
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), ""), "{}", path.display());
    for ((found, expected), line) in text(&output.stdout).lines().zip(text(&expected).lines()).zip(2..) {
        assert_eq!(found, expected, "{}, line {line}", path.display());
    }
    assert_eq!(output.stdout.len(), expected.len(), "{}", path.display());
}

#[test]
fn recorded_games_are_reproduced() {
    let crate_folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    let mut games: Vec<(PathBuf, PathBuf)> = Vec::new();
    let map_name = |path: &Path| {
        let name = path.file_name().expect("a file").to_string_lossy();
        name.replace(".trace.jsonl.gz", "").replace("-nojump", "").replace("-walk", "").replace("-beam1", "")
    };
    for trace in common::files_ending(&crate_folder.join("tests/golden"), ".trace.jsonl.gz") {
        games.push((trace.clone(), crate_folder.join("maps").join(map_name(&trace))));
    }
    if let Some(shared) = common::shared_folder() {
        for suffix in ["-nojump.trace.jsonl.gz", "-walk.trace.jsonl.gz", "-beam1.trace.jsonl.gz"] {
            for trace in common::files_ending(&shared.join("golden/traces"), suffix) {
                games.push((trace.clone(), common::map_folder(&shared, &map_name(&trace))));
            }
        }
    }
    for (trace, map_folder) in games {
        replay(&trace, &map_folder);
    }
}

#[test]
fn every_line_is_answered_before_the_next_is_read() {
    let mut child = start(&["roundabout"]);
    let mut stdin = child.stdin.take().expect("a pipe");
    let mut answers = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    for tick in 2..5 {
        stdin.write_all(b"[{\"type\":\"MOVE_LEFT\"}]\n").expect("the program reads");
        let answer = answers.next().expect("an answer while the input is still open").expect("text");
        assert!(answer.starts_with(&format!("{{\"tick\":{tick},\"player\":[")), "{answer}");
    }
    drop(stdin);
    assert!(answers.next().is_none());
    assert_eq!(child.wait().expect("the program ends").code(), Some(0));
}

#[test]
fn program_stops_at_the_end_of_the_input_and_of_the_game() {
    let nothing = simulate(&["roundabout"], b"");
    assert_eq!((nothing.status.code(), nothing.stdout.len(), nothing.stderr.len()), (Some(0), 0, 0));
    let without_newline = simulate(&["roundabout"], b"[]\n[]");
    assert_eq!((without_newline.status.code(), text(&without_newline.stdout).lines().count()), (Some(0), 2));
    let long = simulate(&["roundabout"], "[]\n".repeat(3000).as_bytes());
    assert_eq!((long.status.code(), text(&long.stderr)), (Some(0), ""));
    assert!(text(&long.stdout).trim_end().ends_with("\"over\":true,\"caught\":true}"));
    assert_eq!(text(&long.stdout).matches("\"over\":true").count(), 1);
}

#[test]
fn invalid_line_is_reported_after_the_lines_before_it_are_answered() {
    let long = format!("[{}]", " ".repeat(2 << 20));
    for (line, reason) in [
        ("{}", "actions: expected an array of actions, found an object"),
        ("null", "actions: expected an array of actions, found null"),
        ("", "expected a JSON array of actions: no JSON (EOF while parsing a value at column 0)"),
        ("[{]", "expected a JSON array of actions: no JSON (key must be a string at column 3)"),
        ("[] []", "expected a JSON array of actions: no JSON (trailing characters at column 4)"),
        ("MOVE_UP", "expected a JSON array of actions: no JSON (expected value at column 1)"),
        (&long, "line too long: expected at most 1048576 bytes"),
        (&"[".repeat(100_000), "expected a JSON array of actions: no JSON (recursion limit exceeded at column 128)"),
    ] {
        let output = simulate(&["roundabout"], format!("[]\n[{{}}]\n{line}\n[]\n").as_bytes());
        let expected = format!("error: standard input, line 3: {reason}\n");
        assert_eq!((output.status.code(), text(&output.stderr)), (Some(2), &*expected));
        assert_eq!(text(&output.stdout).lines().count(), 2, "{reason}");
    }
    let output = simulate(&["roundabout"], b"[\"\xff\"]\n");
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).starts_with("error: standard input, line 1: expected a JSON array of actions"));
}

#[test]
fn line_length_limit_is_exact() {
    for (bytes, code) in [(1 << 20, 0), ((1 << 20) + 1, 2)] {
        // Includes the newline.
        let line = format!("[{}]\n", " ".repeat(bytes - 3));
        let output = simulate(&["roundabout"], line.as_bytes());
        assert_eq!(output.status.code(), Some(code), "{bytes} bytes: {}", text(&output.stderr));
    }
}

#[test]
fn unknown_map_is_rejected_before_playing() {
    let folder = tempfile::tempdir().expect("a folder");
    let missing = folder.path().join("missing");
    for (args, expected) in [
        (vec![missing.to_str().expect("text")], "no such folder"),
        (vec!["nowhere-at-all"], "no map named nowhere-at-all"),
        (vec!["roundabout", "--maps", missing.to_str().expect("text")], "no such folder"),
        (vec!["roundabout", "--jump"], "unexpected argument '--jump'"),
    ] {
        let output = simulate(&args, b"[]\n");
        assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{args:?}");
        let line = text(&output.stderr);
        assert!(line.starts_with("error: ") && line.contains(expected) && line.matches('\n').count() == 1, "{line}");
    }
}
