use std::io::{BufRead, BufReader, Write};
use std::path::Path;

use crate::common;
use crate::simulation::{map_name, replay, simulate, start, text};

#[test]
fn bundled_traces_are_reproduced() {
    let crate_folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    for trace in common::files_ending(&crate_folder.join("tests/golden"), ".trace.jsonl.gz") {
        replay(&trace, &crate_folder.join("maps").join(map_name(&trace, &["-nojump"])));
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
        ("", "expected a JSON array of actions: invalid JSON at column 0: EOF while parsing a value"),
        ("[{]", "expected a JSON array of actions: invalid JSON at column 3: key must be a string"),
        ("[] []", "expected a JSON array of actions: invalid JSON at column 4: trailing characters"),
        ("MOVE_UP", "expected a JSON array of actions: invalid JSON at column 1: expected value"),
        (&long, "line too long: expected at most 1048576 bytes"),
        (
            &"[".repeat(100_000),
            "expected a JSON array of actions: invalid JSON at column 128: recursion limit exceeded",
        ),
    ] {
        let output = simulate(&["roundabout"], format!("[]\n[]\n{line}\n[]\n").as_bytes());
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
        for end in ["\n", ""] {
            let line = format!("[{}]{end}", " ".repeat(bytes - 2 - end.len()));
            let output = simulate(&["roundabout"], line.as_bytes());
            assert_eq!(output.status.code(), Some(code), "{bytes} bytes, {end:?}: {}", text(&output.stderr));
        }
    }
}

#[test]
fn unknown_map_is_rejected_before_playing() {
    let folder = tempfile::tempdir().expect("a folder");
    let missing = folder.path().join("missing");
    for (args, expected) in [
        (vec![missing.to_str().expect("text")], "no such file or folder"),
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
