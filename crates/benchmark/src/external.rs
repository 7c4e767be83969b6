use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::process::ExitStatus;
use std::time::Duration;

use getaway::files;
use getaway_arena::Program;
use tempfile::NamedTempFile;

use crate::{Benchmark, BenchmarkError, Instance, Limits, failed};

/// A solver that hangs is killed after this many times its time limit, plus [`START`].
const ELAPSED_FACTOR: u32 = 10;
const START: Duration = Duration::from_secs(1);
const ANSWER_BYTES_MAX: u64 = 1 << 22;
/// Exit codes of a shell whose last command was killed by SIGKILL or SIGXCPU: the system sends one
/// of these signals to a solver that exceeds its limit on processor time. SIGKILL may have another
/// cause, such as a lack of memory. In either case, the solver's output still counts.
const OUT_OF_TIME: [i32; 2] = [128 + 9, 128 + 24];

/// Runs a solver's shell command. Returns its output, or the reason why the output does not count.
/// Kills the solver once `is_stopped` returns true. Fails if a temporary file or the shell cannot be
/// used. On Linux, all processes of the solver are killed when this call ends or this program is
/// killed.
pub fn execute(
    benchmark: &Benchmark,
    instance: &Instance,
    command: &str,
    limits: Limits,
    is_stopped: &dyn Fn() -> bool,
) -> Result<Result<String, String>, BenchmarkError> {
    let temporary = |name: &str| NamedTempFile::with_prefix(name).map_err(failed(std::env::temp_dir()));
    let (rules, answer) = (temporary("rules")?, temporary("answer")?);
    let text = serde_json::to_string(&instance.rules).expect("rules are valid JSON");
    std::fs::write(rules.path(), text).map_err(failed(rules.path()))?;
    let seconds = limits.time.as_secs_f64().ceil() as u64;
    let script = format!(
        "ulimit -v {} && ulimit -t {seconds} && ulimit -f {} && exec >\"$GETAWAY_ANSWER\" && \
         set -- \"$GETAWAY_MAP\" \"$GETAWAY_RULES\" && {command} \"$@\"",
        limits.memory_mib * 1024,
        ANSWER_BYTES_MAX / 512,
    );
    let environment: [(&str, OsString); 4] = [
        ("GETAWAY_TIME_LIMIT_S", seconds.to_string().into()),
        ("GETAWAY_MAP", benchmark.map_path(instance).into()),
        ("GETAWAY_RULES", rules.path().into()),
        ("GETAWAY_ANSWER", answer.path().into()),
    ];
    let mut program = Program::start(&script, &environment).map_err(failed("sh"))?;
    let status = program.wait(limits.time * ELAPSED_FACTOR + START, is_stopped);
    let end = program.end();
    let text = read(answer.as_file()).map_err(failed(answer.path()))?;
    let is_empty = text.trim().is_empty();
    Ok(match status {
        None if is_empty => Err("hangs: no answer, although the solver had ten times its time limit".to_owned()),
        Some(status) if is_out_of_time(status) && is_empty => Err(format!("no answer: {}", end.words)),
        Some(status) if !is_out_of_time(status) && !status.success() => Err(format!("failed: {}", end.words)),
        _ => Ok(text),
    })
}

fn is_out_of_time(status: ExitStatus) -> bool {
    status.code().is_some_and(|code| OUT_OF_TIME.contains(&code))
}

/// Reads the file that was created for the answer, even if the solver has put another one, such as
/// a pipe, in its place.
fn read(answer: &File) -> io::Result<String> {
    let mut bytes = Vec::new();
    answer.take(ANSWER_BYTES_MAX).read_to_end(&mut bytes)?;
    Ok(files::text(&bytes).unwrap_or_else(|_| String::from_utf8_lossy(&bytes).into_owned()))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use getaway::game::Rules;

    /// A time limit that suffices on a busy machine for commands that exit by themselves.
    const LONG: Duration = Duration::from_secs(60);

    fn execute_in(folder: &Path, command: &str, time: Duration) -> Result<String, String> {
        let instance =
            Instance { name: "t/n".into(), map: "n.txt".into(), sha256: String::new(), rules: Rules::NO_JUMP };
        let benchmark = Benchmark { folder: folder.to_owned(), instances: Vec::new() };
        let limits = Limits { time, memory_mib: 1024 };
        execute(&benchmark, &instance, command, limits, &|| false).expect("a shell")
    }

    #[test]
    fn hanging_solver_is_named_and_its_last_line_counts() {
        let folder = tempfile::tempdir().expect("a folder");
        let hanging = |command: &str, time_ms: u64| execute_in(folder.path(), command, Duration::from_millis(time_ms));
        assert!(hanging("sleep 100 #", 20).expect_err("no answer").starts_with("hangs: "));
        assert_eq!(hanging("echo RRR; sleep 100 #", 200), Ok("RRR\n".to_owned()));
        let answer = |command: &str| execute_in(folder.path(), command, LONG);
        let map = folder.path().join("n.txt");
        assert_eq!(answer("test -s $2 && echo $1 #"), Ok(format!("{}\n", map.display())));
        assert_eq!(answer("printf '\\357\\273\\277RRR\\r\\n' #"), Ok("RRR\n".to_owned()));
        assert_eq!(answer("echo oops >&2; exit 3 #"), Err("failed: exit code 3: oops".to_owned()));
        let killed = "no answer: exit code 137, signal 9: oops";
        assert_eq!(answer("echo oops >&2; kill -9 $$ #"), Err(killed.to_owned()));
        assert_eq!(answer("echo RRR; kill -9 $$ #"), Ok("RRR\n".to_owned()));
        #[cfg(target_os = "linux")]
        {
            let file = folder.path().join("detached");
            let _ = answer(&format!("setsid sh -c 'sleep 1; touch {}' & #", file.display()));
            std::thread::sleep(Duration::from_millis(1500));
            assert!(!file.exists(), "a detached process outlived its solver");
        }
    }

    #[cfg(unix)]
    #[test]
    fn answer_counts_whatever_the_solver_puts_in_its_place() {
        let folder = tempfile::tempdir().expect("a folder");
        for instead in ["mkfifo $a", "ln -s /dev/zero $a", "mkdir $a", "ln -s /dev/tty $a", "cp /bin/sh $a", ":"] {
            let command = format!("echo RRR; a=$GETAWAY_ANSWER; rm $a; {instead} #");
            assert_eq!(execute_in(folder.path(), &command, LONG), Ok("RRR\n".to_owned()), "{instead}");
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn solver_finds_a_map_whose_path_is_not_utf_8() {
        use std::ffi::OsStr;
        use std::os::unix::ffi::OsStrExt;

        let outer = tempfile::tempdir().expect("a folder");
        let folder = outer.path().join(OsStr::from_bytes(b"caf\xe9"));
        std::fs::create_dir(&folder).expect("a folder");
        std::fs::write(folder.join("n.txt"), "P..\n").expect("a map");
        assert_eq!(execute_in(&folder, "cat \"$1\" #", LONG), Ok("P..\n".to_owned()));
    }
}
