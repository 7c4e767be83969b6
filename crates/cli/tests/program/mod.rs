//! Runs the program and checks its output and exit code.

#![allow(dead_code, reason = "each test file is its own crate and uses only a part of it")]

use std::path::Path;
use std::process::{Command, Output};

/// The program with these arguments, in the project's folder, without the environment's colour
/// settings.
pub fn command(args: &[&str]) -> Command {
    command_in(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")), args)
}

/// The same in another folder.
pub fn command_in(dir: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_getaway"));
    command.args(args).current_dir(dir).env_remove("CLICOLOR_FORCE").env_remove("NO_COLOR");
    command
}

/// Runs the program to its end.
pub fn getaway(args: &[&str]) -> Output {
    command(args).output().unwrap()
}

/// Standard output of a run that must succeed with empty standard error (there is no progress bar
/// without a terminal).
pub fn succeeds(args: &[&str]) -> String {
    let output = getaway(args);
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), stderr.as_str()), (Some(0), ""), "{args:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// The same for a long series of games: standard error may say how long it takes, which depends on
/// how busy the machine is, and nothing else.
pub fn succeeds_in_time(args: &[&str]) -> String {
    let output = getaway(args);
    let stderr = String::from_utf8(output.stderr).unwrap();
    let says_how_long = |line: &str| line.contains(" games on ") && line.contains(": this takes about ");
    assert!(stderr.lines().count() <= 1 && stderr.lines().all(says_how_long), "{args:?}: {stderr}");
    assert_eq!(output.status.code(), Some(0), "{args:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// Error line, without `error: `, of a run that must fail with exit code 2 and no other output.
pub fn fails(args: &[&str]) -> String {
    let output = getaway(args);
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!((output.status.code(), stdout.as_str()), (Some(2), ""), "{args:?}: {stderr}");
    error_line(&output)
}

/// The one line on standard error, without `error: `.
pub fn error_line(output: &Output) -> String {
    let stderr = std::str::from_utf8(&output.stderr).unwrap();
    let line = stderr.strip_suffix('\n').unwrap();
    assert!(!line.contains('\n'), "more than one line: {line}");
    line.strip_prefix("error: ").unwrap_or_else(|| panic!("not an error: {line}")).to_owned()
}
