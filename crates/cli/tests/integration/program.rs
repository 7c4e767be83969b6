use std::path::Path;
use std::process::{Command, Output};

pub fn command(args: &[&str]) -> Command {
    command_in(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")), args)
}

pub fn command_in(dir: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(crate::PROGRAM);
    command.args(args).current_dir(dir).env_remove("CLICOLOR_FORCE").env_remove("NO_COLOR");
    command
}

pub fn getaway(args: &[&str]) -> Output {
    command(args).output().unwrap()
}

/// Omits the lines of progress that a command writes on a slow machine, such as `0 of 1 games after
/// 30 s`.
fn without_progress(stderr: &[u8]) -> String {
    let is_time = |text: &str| {
        let unit = text.trim_start_matches(|character: char| character.is_ascii_digit());
        unit != text && [" s", " min", " h"].iter().any(|known| unit.starts_with(known))
    };
    let is_progress = |line: &str| line.split(" after ").skip(1).any(is_time) && !line.starts_with("error: ");
    let text = std::str::from_utf8(stderr).unwrap();
    text.split_inclusive('\n').filter(|line| !is_progress(line)).collect()
}

/// Runs a command, which must succeed with an empty standard error. Returns its standard output.
pub fn succeeds(args: &[&str]) -> String {
    let output = getaway(args);
    let stderr = without_progress(&output.stderr);
    assert_eq!((output.status.code(), stderr.as_str()), (Some(0), ""), "{args:?}");
    String::from_utf8(output.stdout).unwrap()
}

pub fn fails(args: &[&str]) -> String {
    let output = getaway(args);
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!((output.status.code(), stdout.as_str()), (Some(2), ""), "{args:?}: {stderr}");
    error_line(&output)
}

pub fn error_line(output: &Output) -> String {
    let stderr = without_progress(&output.stderr);
    let line = stderr.strip_suffix('\n').unwrap();
    assert!(!line.contains('\n'), "more than one line: {line}");
    line.strip_prefix("error: ").unwrap_or_else(|| panic!("not an error: {line}")).to_owned()
}
