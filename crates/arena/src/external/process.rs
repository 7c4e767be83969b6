//! A bot's process tree, its cost and its log.

use std::ffi::OsStr;
use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::usage::UsageMeter;
use super::{LOG_BYTES_MAX, LOG_TAIL_CHARS, POLL_INTERVAL, Stopped};
use crate::record::Cost;

/// Time limit for the supervisor to kill a bot's processes and exit. After that, the arena stops
/// waiting, but on Linux the supervisor continues to kill them.
const KILL_TIME: Duration = Duration::from_millis(500);
/// Time limit for reading the rest of a log. A surviving process may hold the log open.
const LOG_TIME: Duration = Duration::from_millis(100);

/// The processes of a bot or another shell command, represented by the shell that supervises them.
/// Dropping this value kills them all (on Linux; on Windows, only the shell; on other systems, only
/// the bot's process group).
#[derive(Debug)]
pub struct Program {
    child: Child,
    usage: UsageMeter,
    /// When this pipe closes, for example if this program is killed, the supervisor kills the bot.
    release_pipe: Option<PipeWriter>,
    released: Option<Instant>,
    log: Arc<Mutex<Vec<u8>>>,
    log_reader: Option<JoinHandle<()>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramEnd {
    /// The cost of the program's processes, as last sampled; zero on systems other than Linux.
    pub cost: Cost,
    pub log: String,
    /// The exit status or "still running", followed by the log line that most likely names an
    /// error, if any.
    pub words: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Streams {
    /// Standard input is empty; standard output and standard error go to the log.
    Logged,
    /// Standard input and output are pipes; standard error goes to the log.
    Piped,
}

/// Returns a shell that runs `command`, and a pipe. When the pipe closes, the shell kills the bot
/// and its descendants. On systems other than Linux, it kills only the bot's process group.
#[cfg(unix)]
fn supervisor(command: &str) -> io::Result<(Command, Option<PipeWriter>)> {
    use std::os::fd::AsRawFd;
    use std::os::unix::process::CommandExt;

    let (end, release_pipe) = io::pipe()?;
    let mut shell = Command::new("sh");
    shell.args(["-c", include_str!("supervisor.sh"), "sh", command, &end.as_raw_fd().to_string()]);
    // The bot gets its own process group, so that Ctrl-C does not reach it.
    shell.process_group(0);
    let prepare = move || {
        rustix::io::fcntl_setfd(&end, rustix::io::FdFlags::empty())?;
        #[cfg(target_os = "linux")]
        let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
        Ok(())
    };
    // SAFETY: between fork and exec, `prepare` only makes system calls; it neither allocates nor
    // takes a lock.
    unsafe { shell.pre_exec(prepare) };
    Ok((shell, Some(release_pipe)))
}

#[cfg(not(unix))]
fn supervisor(command: &str) -> io::Result<(Command, Option<PipeWriter>)> {
    let mut shell = Command::new("cmd");
    shell.args(["/C", command]);
    Ok((shell, None))
}

impl Program {
    /// Starts a shell command with these environment variables; an empty value unsets a variable.
    /// Standard output and standard error both go to the log.
    ///
    /// # Errors
    /// If the shell, its pipes or the thread that reads the log cannot be created.
    pub fn start(command: &str, environment: &[(&str, impl AsRef<OsStr>)]) -> io::Result<Self> {
        Self::start_with(Streams::Logged, command, environment)
    }

    pub(super) fn start_with(
        streams: Streams,
        command: &str,
        environment: &[(&str, impl AsRef<OsStr>)],
    ) -> io::Result<Self> {
        let (log_end, log_start) = io::pipe()?;
        let (mut shell, release_pipe) = supervisor(command)?;
        for (name, value) in environment {
            let value: &OsStr = value.as_ref();
            if value.is_empty() {
                shell.env_remove(name)
            } else {
                shell.env(name, value)
            };
        }
        match streams {
            Streams::Logged => shell.stdin(Stdio::null()).stdout(log_start.try_clone()?).stderr(log_start),
            Streams::Piped => shell.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(log_start),
        };
        let child = shell.spawn()?;
        // `shell` holds a writing end of the log's pipe. The log ends when all writing ends are
        // closed.
        drop(shell);
        let log = Arc::new(Mutex::new(Vec::new()));
        let shared = Arc::clone(&log);
        let usage = UsageMeter::new(child.id());
        let mut process = Self { child, usage, release_pipe, released: None, log, log_reader: None };
        process.log_reader = Some(thread::Builder::new().spawn(move || collect_log(log_end, &shared))?);
        Ok(process)
    }

    pub(super) fn child(&mut self) -> &mut Child {
        &mut self.child
    }

    /// The cost of the program's processes; zero on systems other than Linux.
    pub(super) fn usage(&mut self) -> &mut UsageMeter {
        &mut self.usage
    }

    /// Returns the exit status if the program has exited. Also updates the cost.
    pub fn status(&mut self) -> Option<ExitStatus> {
        self.usage.poll();
        self.child.try_wait().ok().flatten()
    }

    /// Waits at most `limit`, or until `is_stopped` returns true, for the program to exit. Returns
    /// the exit status if it has exited.
    pub fn wait(&mut self, limit: Duration, is_stopped: &dyn Fn() -> bool) -> Option<ExitStatus> {
        self.wait_unless(limit, is_stopped).unwrap_or_default()
    }

    /// Kills the program, and returns its cost, log and end.
    pub fn end(mut self) -> ProgramEnd {
        let cost = self.usage.poll();
        let status = self.status();
        self.kill();
        let log = self.take_log();
        let end = status.map_or_else(|| "still running".to_owned(), |status| exit_words(Some(status)));
        ProgramEnd { cost, words: format!("{end}{}", last_log_line(&log)), log }
    }

    /// Like [`Self::wait`], but fails once `is_stopped` returns true.
    pub(super) fn wait_unless(
        &mut self,
        limit: Duration,
        is_stopped: &dyn Fn() -> bool,
    ) -> Result<Option<ExitStatus>, Stopped> {
        let end = Instant::now() + limit;
        loop {
            match self.child.try_wait().ok().flatten() {
                None if is_stopped() => return Err(Stopped),
                None if Instant::now() < end => thread::sleep(POLL_INTERVAL),
                status => return Ok(status),
            }
        }
    }

    /// Tells the supervisor to kill the bot and its descendants, and does not wait for it. On
    /// Windows, kills only the shell.
    pub(super) fn release(&mut self) {
        if self.released.is_some() {
            return;
        }
        self.released = Some(Instant::now());
        match self.release_pipe.take() {
            // Another child process may hold the pipe open between fork and exec, so write a line
            // before closing the pipe. Writing may fail if the supervisor has already exited.
            Some(mut release_pipe) => drop(release_pipe.write_all(b"\n")),
            None => drop(self.child.kill()),
        }
    }

    /// Calls [`Self::release`], and waits briefly for the supervisor to exit and for the rest of
    /// the log.
    pub(super) fn kill(&mut self) {
        self.release();
        let passed = self.released.map(|released| released.elapsed()).unwrap_or_default();
        self.wait(KILL_TIME.saturating_sub(passed), &|| false);
        if let Some(reader) = self.log_reader.take() {
            let end = Instant::now() + LOG_TIME;
            while !reader.is_finished() && Instant::now() < end {
                thread::sleep(POLL_INTERVAL);
            }
        }
    }

    pub(super) fn log(&self) -> String {
        String::from_utf8_lossy(&self.log.lock().unwrap_or_else(PoisonError::into_inner)).into_owned()
    }

    pub(super) fn take_log(&self) -> String {
        let bytes = std::mem::take(&mut *self.log.lock().unwrap_or_else(PoisonError::into_inner));
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        self.kill();
    }
}

fn collect_log(mut output: PipeReader, log: &Mutex<Vec<u8>>) {
    let mut bytes = [0; 4096];
    while let Ok(count @ 1..) = output.read(&mut bytes) {
        let mut log = log.lock().unwrap_or_else(PoisonError::into_inner);
        let left = LOG_BYTES_MAX.saturating_sub(log.len());
        log.extend_from_slice(&bytes[..count.min(left)]);
    }
}

/// Returns the last line of a log, shortened, as a suffix `: LINE` for an error. Returns an empty
/// string if the log has no text. Skips the lines that Node.js and Java print after an error, such
/// as the stack trace, unless the log has no other lines.
pub(super) fn last_log_line(log: &str) -> String {
    let mut lines = log.lines().rev().filter(|line| !line.trim().is_empty());
    let last = lines.clone().next().unwrap_or_default();
    let line = lines.find(|line| !follows_error(line)).unwrap_or(last).trim();
    if line.is_empty() {
        return String::new();
    }
    format!(": {}", line.chars().take(LOG_TAIL_CHARS).collect::<String>())
}

fn follows_error(line: &str) -> bool {
    line.starts_with([' ', '\t', '}']) || line.starts_with("Emitted 'error' event") || line.starts_with("Node.js v")
}

pub(super) fn exit_words(status: Option<ExitStatus>) -> String {
    match status {
        Some(status) => match status.code() {
            // The shell reports death by signal N as exit code 128 + N.
            Some(code @ 129..160) => format!("exit code {code}, signal {}", code - 128),
            Some(code) => format!("exit code {code}"),
            None => status.to_string(),
        },
        None => "closed its connection".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::last_log_line;

    #[test]
    fn last_log_line_is_the_error() {
        let node = "node:events:502\n      throw er;\n      ^\n\nError: connect ECONNREFUSED 127.0.0.1:1\n    at afterConnect \
                    (node:net:1611:16)\nEmitted 'error' event on WebSocket instance at:\n    at emit (ws.js:1) {\n  errno: -111,\n  \
                    code: 'ECONNREFUSED'\n}\n\nNode.js v20.20.2\n";
        let java = "Exception in thread \"main\" java.lang.RuntimeException: oops\n\tat MyBot.main(MyBot.java:3)\n";
        let python =
            "Traceback (most recent call last):\n  File \"my_bot.py\", line 1, in <module>\nValueError: oops\n";
        let cases = [
            (node, ": Error: connect ECONNREFUSED 127.0.0.1:1"),
            (java, ": Exception in thread \"main\" java.lang.RuntimeException: oops"),
            (python, ": ValueError: oops"),
            ("started\noops\n\n", ": oops"),
            ("  indented\n", ": indented"),
            ("\n", ""),
        ];
        for (log, expected) in cases {
            assert_eq!(last_log_line(log), expected, "{log}");
        }
    }
}
