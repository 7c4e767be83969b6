//! Distributes jobs to another process. A job is a game of a series or a ladder, a shard of a
//! dataset, or an instance of the benchmark.
//!
//! The other process first reads a line that describes the work. It writes `{"want": COUNT}` and
//! reads an array of at most COUNT jobs. It writes `{"played": [JOB, RESULT]}` for each job, in any
//! order, or gives up with `{"error": TEXT}`. After an empty array, it repeats the request later if
//! it has jobs in progress; otherwise it closes its output.

use std::any::Any;
use std::fmt::Display;
use std::io::{BufRead, Write};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};

use getaway::protocol::write_line;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// The version, and a hash of all sources on which results depend. All machines of a cluster must
/// have the same build.
pub const BUILD: &str = concat!(env!("CARGO_PKG_VERSION"), "+", env!("GETAWAY_BUILD"));

/// Fails if `build`, which came with the description of the work, differs from [`BUILD`].
pub fn check_build(build: &str) -> Result<(), String> {
    if build == BUILD { Ok(()) } else { Err(format!("made by getaway {build}, but this is getaway {BUILD}")) }
}

pub struct Channel {
    pub input: Box<dyn BufRead + Send>,
    pub output: Box<dyn Write + Send>,
    /// Dropping this value kills the other process.
    pub process: Box<dyn Any + Send>,
}

/// An error in the other process, in its output, or in the connection to it.
#[derive(Debug, thiserror::Error)]
#[error("the cluster: {0}")]
pub struct RemoteError(pub String);

impl RemoteError {
    fn new(error: impl Display) -> Self {
        Self(error.to_string())
    }
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Message<Job, Result> {
    Want(usize),
    Played(Job, Result),
    Error(String),
}

impl Channel {
    /// Runs jobs. `work` is a line of JSON with the data that all jobs share. `next` gets the number of
    /// jobs that are wanted, and returns at most as many, or none if no job is available at present. An
    /// empty list for a positive number while no job is in progress means that there are no further
    /// jobs. `done` gets each job with its result.
    pub fn run<Job: Serialize + DeserializeOwned, R: DeserializeOwned, B>(
        mut self,
        work: &str,
        mut next: impl FnMut(usize) -> Vec<Job>,
        mut done: impl FnMut(Job, R) -> ControlFlow<B>,
    ) -> Result<ControlFlow<B>, RemoteError> {
        writeln!(self.output, "{work}").and_then(|()| self.output.flush()).map_err(RemoteError::new)?;
        let mut in_progress = 0_usize;
        for line in self.input.lines() {
            let line = line.map_err(RemoteError::new)?;
            let message: Message<Job, R> =
                serde_json::from_str(&line).map_err(|error| RemoteError(format!("{error} in {line:.200}")))?;
            match message {
                Message::Want(count) => {
                    let jobs = next(count);
                    in_progress += jobs.len();
                    let sent = write_line(&mut self.output, &jobs).and_then(|()| self.output.flush());
                    sent.map_err(RemoteError::new)?;
                }
                Message::Played(job, result) => {
                    in_progress = in_progress.saturating_sub(1);
                    if let ControlFlow::Break(result) = done(job, result) {
                        return Ok(ControlFlow::Break(result));
                    }
                }
                Message::Error(error) => return Err(RemoteError(error)),
            }
        }
        if in_progress == 0 && next(1).is_empty() {
            return Ok(ControlFlow::Continue(()));
        }
        Err(RemoteError("the other process ended before all jobs were done".to_owned()))
    }

    /// Like [`Channel::run`], but once `stop` is set, no more jobs start, errors are ignored, and
    /// the run ends after the next result. It then returns `Continue`, unless `done` breaks on that
    /// result.
    pub fn run_until<Job: Serialize + DeserializeOwned, R: DeserializeOwned, B>(
        self,
        work: &str,
        stop: &AtomicBool,
        mut next: impl FnMut(usize) -> Vec<Job>,
        mut done: impl FnMut(Job, R) -> ControlFlow<B>,
    ) -> Result<ControlFlow<B>, RemoteError> {
        let is_stopped = || stop.load(Ordering::Relaxed);
        let next = |count| next(if is_stopped() { 0 } else { count });
        let done = |job, result| {
            done(job, result).map_break(Some)?;
            if is_stopped() { ControlFlow::Break(None) } else { ControlFlow::Continue(()) }
        };
        match self.run(work, next, done) {
            Ok(ControlFlow::Break(Some(result))) => Ok(ControlFlow::Break(result)),
            Err(error) if !is_stopped() => Err(error),
            _ => Ok(ControlFlow::Continue(())),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn run(script: &'static str) -> (Result<Vec<(usize, f64)>, String>, String) {
        let file = tempfile::NamedTempFile::new().expect("a file");
        let output = Box::new(file.reopen().expect("the file"));
        let channel = Channel { input: Box::new(script.as_bytes()), output, process: Box::new(()) };
        let (mut jobs, mut results) = (0..3, Vec::new());
        let next = |count| jobs.by_ref().take(count).collect();
        let flow = channel.run("{}", next, |job: usize, result: f64| {
            results.push((job, result));
            ControlFlow::<()>::Continue(())
        });
        (flow.map(|_| results).map_err(|error| error.to_string()), fs::read_to_string(file.path()).expect("text"))
    }

    #[test]
    fn jobs_are_sent_when_they_are_wanted_and_taken_in_any_order() {
        let script = concat!(
            "{\"want\": 2}\n{\"played\": [1, 5.5]}\n{\"want\": 5}\n{\"want\": 5}\n",
            "{\"played\": [2, 7]}\n{\"played\": [0, 6]}\n"
        );
        let (results, sent) = run(script);
        assert_eq!(results, Ok(vec![(1, 5.5), (2, 7.0), (0, 6.0)]));
        assert_eq!(sent, "{}\n[0,1]\n[2]\n[]\n");
    }

    #[test]
    fn errors_of_the_other_process_are_reported() {
        let error = |script| run(script).0.expect_err("an error");
        assert_eq!(error("{\"error\": \"node 3 is gone\"}\n"), "the cluster: node 3 is gone");
        for early in ["", "{\"want\": 3}\n", "{\"want\": 1}\n{\"played\": [0, 1]}\n"] {
            assert_eq!(error(early), "the cluster: the other process ended before all jobs were done");
        }
        assert!(error("hello\n").contains("hello"));
    }
}
