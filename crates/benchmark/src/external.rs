use std::fs::File;
use std::io::{self, Read};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use tempfile::NamedTempFile;

use crate::{Benchmark, BenchmarkError, Instance, Limits, failed};

const POLL: Duration = Duration::from_millis(5);
/// A solver that waits for ever is killed after this factor times its time limit, plus [`START`].
const ELAPSED_FACTOR: u32 = 10;
const START: Duration = Duration::from_secs(1);
const ANSWER_BYTES_MAX: u64 = 1 << 22;
/// The system kills a solver that exceeds its processor time with one of these two signals.
const SIGKILL: i32 = 9;
const SIGXCPU: i32 = 24;

/// Runs a solver's shell command. Returns its output, or the reason why the output does not count.
/// Fails if a temporary file or the shell cannot be used.
pub fn execute(
    benchmark: &Benchmark,
    instance: &Instance,
    command: &str,
    limits: Limits,
) -> Result<Result<String, String>, BenchmarkError> {
    let temporary = |name: &str| NamedTempFile::with_prefix(name).map_err(failed(std::env::temp_dir()));
    let (rules, output) = (temporary("rules")?, temporary("answer")?);
    let text = serde_json::to_string(&instance.rules).expect("rules are valid JSON");
    std::fs::write(rules.path(), text).map_err(failed(rules.path()))?;
    let seconds = limits.time.as_secs_f64().ceil() as u64;
    let script = format!(
        "ulimit -v {} && ulimit -t {seconds} && ulimit -f {} && {command} \"$@\"",
        limits.memory_mib * 1024,
        ANSWER_BYTES_MAX / 512,
    );
    let answer = output.reopen().map_err(failed(output.path()))?;
    let mut shell = Command::new("sh");
    shell.args(["-c", &script, "sh"]).arg(benchmark.map_path(instance)).arg(rules.path());
    shell.env("GETAWAY_TIME_LIMIT_S", seconds.to_string()).stdin(Stdio::null()).stdout(answer).process_group(0);
    let mut child = shell.spawn().map_err(failed("sh"))?;
    let ended = wait(&mut child, limits.time * ELAPSED_FACTOR + START).map_err(failed("sh"))?;
    let text = read(output.path()).map_err(failed(output.path()))?;
    Ok(match ended {
        None if text.trim().is_empty() => {
            Err("hangs: no answer, although the solver had ten times its time limit".to_owned())
        }
        Some(status) if !is_out_of_time(status) && !status.success() => Err(format!("failed: {status}")),
        _ => Ok(text),
    })
}

fn wait(child: &mut Child, limit: Duration) -> io::Result<Option<ExitStatus>> {
    let begun = Instant::now();
    let mut status = child.try_wait()?;
    while status.is_none() && begun.elapsed() < limit {
        thread::sleep(POLL);
        status = child.try_wait()?;
    }
    if let Some(group) = rustix::process::Pid::from_raw(child.id() as i32) {
        // Fails if the group has already ended, which is fine.
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
    if status.is_none() {
        child.wait()?;
    }
    Ok(status)
}

/// Returns true if the shell, or the last command that it ran, exceeded its processor time limit.
fn is_out_of_time(status: ExitStatus) -> bool {
    let signals = [SIGKILL, SIGXCPU];
    signals.iter().any(|&signal| status.signal() == Some(signal) || status.code() == Some(128 + signal))
}

fn read(path: &Path) -> io::Result<String> {
    let mut bytes = Vec::new();
    File::open(path)?.take(ANSWER_BYTES_MAX).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use getaway::game::Rules;

    #[test]
    fn hanging_solver_is_named_and_its_last_line_counts() {
        let folder = tempfile::tempdir().expect("a folder");
        let instance =
            Instance { name: "t/n".into(), map: "n.txt".into(), sha256: String::new(), rules: Rules::NO_JUMP };
        let benchmark = Benchmark { folder: folder.path().to_owned(), instances: Vec::new() };
        let limits = Limits { time: Duration::from_millis(20), memory_mib: 1024 };
        let answer = |command: &str| execute(&benchmark, &instance, command, limits).expect("a shell");
        assert!(answer("sleep 100 #").expect_err("no answer").starts_with("hangs: "));
        assert_eq!(answer("echo RRR; sleep 100 #"), Ok("RRR\n".to_owned()));
        assert_eq!(answer("exit 3 #"), Err("failed: exit status: 3".to_owned()));
    }
}
