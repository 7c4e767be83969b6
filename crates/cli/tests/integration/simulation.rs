use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Output, Stdio};

use crate::program::command;
use flate2::read::GzDecoder;
use getaway::protocol::{Trace, TraceTick, write_line};

pub fn start(args: &[&str]) -> Child {
    let mut command = command(&[&["simulate"], args].concat());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program starts")
}

pub fn simulate(args: &[&str], input: &[u8]) -> Output {
    let mut child = start(args);
    let mut stdin = child.stdin.take().expect("a pipe");
    let input = input.to_vec();
    let writer = std::thread::spawn(move || stdin.write_all(&input));
    let output = child.wait_with_output().expect("the program ends");
    let _ = writer.join().expect("the writer does not panic");
    output
}

pub fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("text")
}

/// Plays a trace's actions. Each output line must equal the trace's line without its actions.
pub fn replay(path: &Path, map_folder: &Path) {
    let mut recorded = String::new();
    let file = File::open(path).expect("a trace");
    GzDecoder::new(file).read_to_string(&mut recorded).expect("a trace");
    let trace = Trace::parse(&recorded).expect("a trace");
    let (mut input, mut expected) = (Vec::new(), Vec::new());
    for tick in trace.ticks {
        write_line(&mut input, tick.actions.as_ref().expect("actions")).expect("memory can be written to");
        write_line(&mut expected, &TraceTick { actions: None, ..tick }).expect("memory can be written to");
    }
    // If the game ends with a catch, the program must ignore further lines, even an invalid one.
    if text(&expected).trim_end().ends_with(r#""over":true,"caught":true}"#) {
        input.extend(b"no JSON\n");
    }
    let mut args = vec![map_folder.to_str().expect("a path that is text")];
    args.extend(trace.header.no_jump.then_some("--no-jump"));
    let output = simulate(&args, &input);
    // The traces contain invalid actions, which the program names.
    let is_note = |line: &str| line.contains("invalid ") && !line.starts_with("error");
    assert_eq!(
        (output.status.code(), text(&output.stderr).lines().all(is_note)),
        (Some(0), true),
        "{}",
        path.display()
    );
    for ((found, expected), line) in text(&output.stdout).lines().zip(text(&expected).lines()).zip(2..) {
        assert_eq!(found, expected, "{}, line {line}", path.display());
    }
    assert_eq!(output.stdout.len(), expected.len(), "{}", path.display());
}

pub fn map_name(trace: &Path, suffixes: &[&str]) -> String {
    let name = trace.file_name().expect("a file").to_string_lossy().replace(".trace.jsonl.gz", "");
    suffixes.iter().fold(name, |name, suffix| name.replace(suffix, ""))
}
