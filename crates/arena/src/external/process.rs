//! The process of a bot: a process group of its own, killed when dropped, and its log.

use std::io::{self, PipeReader, Read};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::guard::Guard;
use super::{LOG_BYTES_MAX, LOG_TAIL_CHARS, POLL_INTERVAL};

/// A running bot.
#[derive(Debug)]
pub(super) struct Process {
    child: Child,
    guard: Option<Arc<Guard>>,
    log: Arc<Mutex<Vec<u8>>>,
    log_reader: Option<JoinHandle<()>>,
}

/// What a bot's standard streams are connected to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Streams {
    /// Standard input is empty, standard output goes to the log.
    Logged,
    /// Both are pipes of ours; standard error goes to the log.
    Piped,
    /// Both are pipes of ours; standard error is that of this program.
    Bridged,
}

/// The shell command that runs `command`.
fn shell(command: &str) -> Command {
    let (shell, option) = if cfg!(windows) { ("cmd", "/C") } else { ("sh", "-c") };
    let mut shell = Command::new(shell);
    shell.args([option, command]);
    shell
}

impl Process {
    /// Starts a command of the shell with these additions to the environment; an empty value
    /// removes the variable.
    pub fn start(
        command: &str,
        streams: Streams,
        environment: &[(&str, String)],
        guard: Option<Arc<Guard>>,
    ) -> io::Result<Self> {
        let (log_end, log_start) = io::pipe()?;
        let mut shell = shell(command);
        for (name, value) in environment {
            if value.is_empty() {
                shell.env_remove(name)
            } else {
                shell.env(name, value)
            };
        }
        match streams {
            Streams::Logged => shell.stdin(Stdio::null()).stdout(log_start.try_clone()?).stderr(log_start),
            Streams::Piped => shell.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(log_start),
            Streams::Bridged => shell.stdin(Stdio::piped()).stdout(Stdio::piped()),
        };
        #[cfg(unix)]
        {
            std::os::unix::process::CommandExt::process_group(&mut shell, 0);
            if let Some(guard) = &guard {
                guard.watch(&mut shell);
            }
        }
        let child = shell.spawn()?;
        // The command holds the writing end of the log; until it is dropped, the log cannot end.
        drop(shell);
        let log = Arc::new(Mutex::new(Vec::new()));
        let shared = Arc::clone(&log);
        let log_reader = Some(thread::spawn(move || collect_log(log_end, &shared)));
        Ok(Self { child, guard, log, log_reader })
    }

    /// The child, for its streams.
    pub fn child(&mut self) -> &mut Child {
        &mut self.child
    }

    /// The exit status, if the process has ended.
    pub fn status(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().ok().flatten()
    }

    /// Waits for the process to end.
    pub fn wait(&mut self, limit: Duration) -> Option<ExitStatus> {
        let end = Instant::now() + limit;
        loop {
            match self.status() {
                None if Instant::now() < end => thread::sleep(POLL_INTERVAL),
                status => return status,
            }
        }
    }

    /// Kills the process and all processes that it has started, and waits for their output to end.
    pub fn kill(&mut self) {
        kill_group(&mut self.child);
        let _ = self.child.wait();
        if let Some(guard) = self.guard.take() {
            guard.remove(self.child.id());
        }
        if let Some(reader) = self.log_reader.take() {
            // A process that has left the group may hold the log open: do not wait for it.
            let end = Instant::now() + Duration::from_millis(200);
            while !reader.is_finished() && Instant::now() < end {
                thread::sleep(POLL_INTERVAL);
            }
        }
    }

    /// What the bot has written since the last call.
    pub fn take_log(&self) -> String {
        let bytes = std::mem::take(&mut *self.log.lock().unwrap_or_else(PoisonError::into_inner));
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

#[cfg(unix)]
fn kill_group(child: &mut Child) {
    use rustix::process::{Pid, Signal, kill_process_group};
    // The group exists as long as its leader has not been waited for, or any other member runs.
    if let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        let _ = kill_process_group(group, Signal::KILL);
    }
}

#[cfg(not(unix))]
fn kill_group(child: &mut Child) {
    let _ = child.kill();
}

fn collect_log(mut output: PipeReader, log: &Mutex<Vec<u8>>) {
    let mut bytes = [0; 4096];
    while let Ok(count @ 1..) = output.read(&mut bytes) {
        let mut log = log.lock().unwrap_or_else(PoisonError::into_inner);
        let left = LOG_BYTES_MAX.saturating_sub(log.len());
        log.extend_from_slice(&bytes[..count.min(left)]);
    }
}

/// The line of a log that says what went wrong, shortened, as an addition to a sentence; empty for
/// an empty log. It is the last line, except for the stack and the version that Node.js and Java
/// print after the error.
pub(super) fn last_words(log: &str) -> String {
    let mut lines = log.lines().rev().filter(|line| !line.trim().is_empty());
    let last = lines.clone().next().unwrap_or_default();
    let line = lines.find(|line| !follows_error(line)).unwrap_or(last).trim();
    if line.is_empty() {
        return String::new();
    }
    format!(": {}", line.chars().take(LOG_TAIL_CHARS).collect::<String>())
}

/// Whether a runtime prints such a line after an error: the stack, its fields, or its version.
fn follows_error(line: &str) -> bool {
    line.starts_with([' ', '\t', '}']) || line.starts_with("Emitted 'error' event") || line.starts_with("Node.js v")
}

/// How a process ended, in words.
pub(super) fn exit_words(status: Option<ExitStatus>) -> String {
    match status {
        Some(status) => match status.code() {
            Some(code) => format!("exit code {code}"),
            None => status.to_string(),
        },
        None => "closed its output".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::last_words;

    #[test]
    fn last_words_name_the_error() {
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
            assert_eq!(last_words(log), expected, "{log}");
        }
    }
}
