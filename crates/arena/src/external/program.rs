use std::ffi::OsStr;
use std::io;
use std::process::ExitStatus;
use std::time::Duration;

use super::process::{Process, Streams, exit_words, last_log_line};
use super::usage::UsageMeter;
use crate::record::Cost;

/// A shell command that was started. Dropping this value kills the command (on Windows, only its
/// shell) and, on Linux, all its descendants.
#[derive(Debug)]
pub struct Program {
    process: Process,
    usage: UsageMeter,
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

impl Program {
    /// Starts a shell command with these environment variables; an empty value unsets a variable.
    ///
    /// # Errors
    /// When the shell, its pipes or the thread that reads the log cannot be created.
    pub fn start(command: &str, environment: &[(&str, impl AsRef<OsStr>)]) -> io::Result<Self> {
        let process = Process::start(command, Streams::Logged, environment)?;
        let usage = UsageMeter::new(process.id());
        Ok(Self { process, usage })
    }

    /// Returns the exit status if the program has exited. Also updates the cost.
    pub fn status(&mut self) -> Option<ExitStatus> {
        self.usage.poll();
        self.process.status()
    }

    /// Waits at most `limit` for the program to exit. Returns the exit status if it has exited.
    /// Does not update the cost, unlike [`Self::status`].
    pub fn wait(&mut self, limit: Duration) -> Option<ExitStatus> {
        self.process.wait(limit, &|| false).unwrap_or_default()
    }

    pub fn end(mut self) -> ProgramEnd {
        let cost = self.usage.poll();
        let status = self.process.status();
        self.process.kill();
        let log = self.process.take_log();
        let end = status.map_or_else(|| "still running".to_owned(), |status| exit_words(Some(status)));
        ProgramEnd { cost, words: format!("{end}{}", last_log_line(&log)), log }
    }
}
