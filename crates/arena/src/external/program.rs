use std::io;
use std::process::ExitStatus;

use super::process::{Process, Streams, exit_words, last_log_line};
use super::usage::UsageMeter;
use crate::game::Cost;

/// A running program that connects to a server. Dropping this value ends the program and all of
/// its descendants.
#[derive(Debug)]
pub struct Program {
    process: Process,
    usage: UsageMeter,
}

/// The results of a program that has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramEnd {
    /// Processor time and peak memory of the program's processes; measured only on Linux, otherwise
    /// zero.
    pub cost: Cost,
    /// The program's standard output and error.
    pub log: String,
    /// The exit code or "still running", and the last line of the log, in words.
    pub words: String,
}

impl Program {
    /// Starts a shell command with these variables; an empty value removes the variable.
    ///
    /// # Errors
    /// When the shell cannot be started.
    pub fn start(command: &str, environment: &[(&str, String)]) -> io::Result<Self> {
        let process = Process::start(command, Streams::Logged, environment)?;
        let usage = UsageMeter::new(process.id());
        Ok(Self { process, usage })
    }

    /// Returns the exit status, once the program has ended.
    pub fn status(&mut self) -> Option<ExitStatus> {
        self.usage.poll();
        self.process.status()
    }

    /// Ends the program if it is running.
    pub fn end(mut self) -> ProgramEnd {
        let cost = self.usage.poll();
        let status = self.process.status();
        self.process.kill();
        let log = self.process.take_log();
        let end = status.map_or_else(|| "still running".to_owned(), |status| exit_words(Some(status)));
        ProgramEnd { cost, words: format!("{end}{}", last_log_line(&log)), log }
    }
}
