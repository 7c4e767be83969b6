//! Runs the jobs of a long run: games of a series or a ladder, shards of a dataset, or instances of
//! the benchmark. [`Workers`] are threads of this process, or another process.
//!
//! Another process first reads a line that describes the work. It writes `{"want": COUNT}` and
//! reads an array of at most COUNT jobs. It writes `{"played": [JOB, RESULT]}` for each job, in any
//! order, or gives up with `{"error": TEXT}`. After an empty array, it repeats the request later if
//! it has jobs in progress; otherwise it closes its output.

use std::any::Any;
use std::fmt::Display;
use std::io::{self, BufRead, Write};
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::{self, Builder};
use std::time::Duration;

use getaway::protocol::write_line;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Longest wait for a result before the run asks for further jobs.
const ASK_INTERVAL: Duration = Duration::from_millis(50);

/// The version, and a hash of all sources on which results depend. All machines of a cluster must
/// have the same build.
pub const BUILD: &str = concat!(env!("CARGO_PKG_VERSION"), "+", env!("GETAWAY_BUILD"));

/// Fails if `build`, which came with the description of the work, differs from [`BUILD`].
pub fn check_build(build: &str) -> Result<(), String> {
    if build == BUILD { Ok(()) } else { Err(format!("made by getaway {build}, but this is getaway {BUILD}")) }
}

pub enum Workers {
    /// This many threads, at least one.
    Threads(usize),
    Process(Channel),
}

pub struct Channel {
    pub input: Box<dyn BufRead + Send>,
    pub output: Box<dyn Write + Send>,
    /// Dropping this value kills the other process.
    pub process: Box<dyn Any + Send>,
}

#[derive(Debug, Error)]
#[non_exhaustive]
pub enum WorkerError {
    #[error("cannot start threads: {0}")]
    Threads(#[source] io::Error),
    /// An error in the other process, in its output, or in the connection to it.
    #[error("the cluster: {0}")]
    Process(String),
}

impl WorkerError {
    fn process(error: impl Display) -> Self {
        Self::Process(error.to_string())
    }
}

/// Does a job on a thread of this process. May return `None` once its second argument returns true.
pub type Work<'a, Job, R, E> = dyn Fn(&Job, &dyn Fn() -> bool) -> Result<Option<R>, E> + Sync + 'a;

/// The jobs of a run.
pub struct Jobs<'a, Job, R, B, E> {
    /// The data that all jobs share, as the line of JSON that another process reads first.
    pub shared: String,
    /// Returns at most as many jobs as are wanted, or none if no job is available at present. Returning
    /// none while no job is in progress means that there are no further jobs. Called at least every
    /// 50 ms, with 0 if no job is wanted, so that a run can do other work.
    pub next: &'a mut dyn FnMut(usize) -> Vec<Job>,
    pub work: &'a Work<'a, Job, R, E>,
    /// Gets each job with its result. Like `next`, runs on the thread that calls [`Jobs::run`].
    /// Fails if another process returned an invalid job or result.
    pub done: &'a mut dyn FnMut(Job, R) -> Result<ControlFlow<B>, WorkerError>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Message<Job, Result> {
    Want(usize),
    Played(Job, Result),
    Error(String),
}

impl<Job, R, B, E> Jobs<'_, Job, R, B, E>
where
    Job: Serialize + DeserializeOwned + Send,
    R: DeserializeOwned + Send,
    E: From<WorkerError> + Send,
{
    /// Runs jobs until there are no more, `done` breaks, or `stop` is set. Once `stop` is set, no
    /// more jobs start. Threads then abandon their jobs; errors of another process are ignored, and
    /// the run ends after its next result or within 50 ms. Panics if a job on a thread does.
    pub fn run(self, workers: Workers, stop: &AtomicBool) -> Result<ControlFlow<B>, E> {
        match workers {
            Workers::Threads(threads) => self.run_on_threads(threads.max(1), stop),
            Workers::Process(channel) => Ok(self.run_in_process(channel, stop)?),
        }
    }

    /// Runs each job on a thread of its own, and at most `threads` jobs at a time.
    fn run_on_threads(self, threads: usize, stop: &AtomicBool) -> Result<ControlFlow<B>, E> {
        let Self { next, work, done, .. } = self;
        let ended = AtomicBool::new(false);
        let is_stopped = || stop.load(Ordering::Relaxed) || ended.load(Ordering::Relaxed);
        let (sender, results) = mpsc::channel();
        thread::scope(|scope| {
            let mut in_progress = 0;
            let mut exchange = || {
                loop {
                    // Asks only for jobs that start at once, because later jobs may depend on their results.
                    let wanted = if is_stopped() { 0 } else { threads - in_progress };
                    for job in if wanted > 0 { next(wanted) } else { Vec::new() } {
                        let (sender, is_stopped) = (sender.clone(), &is_stopped);
                        let run = move || {
                            let result = catch_unwind(AssertUnwindSafe(|| work(&job, is_stopped)));
                            // Sending cannot fail, because the receiver outlives the threads.
                            let _ = sender.send((job, result));
                        };
                        // A planner in Python gets as much stack as on the main thread.
                        Builder::new().stack_size(8 << 20).spawn_scoped(scope, run).map_err(WorkerError::Threads)?;
                        in_progress += 1;
                    }
                    next(0);
                    if in_progress == 0 {
                        return Ok(ControlFlow::Continue(()));
                    }
                    let Ok((job, result)) = results.recv_timeout(ASK_INTERVAL) else { continue };
                    in_progress -= 1;
                    let result = result.unwrap_or_else(|panic| {
                        ended.store(true, Ordering::Relaxed);
                        resume_unwind(panic)
                    });
                    let Some(result) = result? else { continue };
                    let flow = done(job, result)?;
                    if flow.is_break() {
                        return Ok(flow);
                    }
                }
            };
            let flow = exchange();
            ended.store(true, Ordering::Relaxed);
            flow
        })
    }

    fn run_in_process(self, channel: Channel, stop: &AtomicBool) -> Result<ControlFlow<B>, WorkerError> {
        let Self { shared, next, done, .. } = self;
        let Channel { input, mut output, process } = channel;
        let is_stopped = || stop.load(Ordering::Relaxed);
        let (sender, lines) = mpsc::sync_channel(1);
        // Lines have no deadline, so a thread waits for them. It ends when the process does.
        let read = move || input.lines().try_for_each(|line| sender.send(line));
        Builder::new().spawn(read).map_err(WorkerError::Threads)?;
        let mut exchange = || {
            writeln!(output, "{shared}").and_then(|()| output.flush()).map_err(WorkerError::process)?;
            let mut in_progress = 0_usize;
            loop {
                let line = match lines.recv_timeout(ASK_INTERVAL) {
                    Ok(line) => line.map_err(WorkerError::process)?,
                    Err(RecvTimeoutError::Timeout) if !is_stopped() => {
                        next(0);
                        continue;
                    }
                    Err(RecvTimeoutError::Disconnected) if in_progress > 0 || !next(1).is_empty() => {
                        return Err(WorkerError::process("the other process ended before all jobs were done"));
                    }
                    Err(_) => return Ok(ControlFlow::Continue(())),
                };
                let message = serde_json::from_str::<Message<Job, R>>(&line);
                match message.map_err(|error| WorkerError::Process(format!("{error} in {line:.200}")))? {
                    Message::Want(count) => {
                        let jobs = next(if is_stopped() { 0 } else { count });
                        in_progress += jobs.len();
                        let sent = write_line(&mut output, &jobs).and_then(|()| output.flush());
                        sent.map_err(WorkerError::process)?;
                    }
                    Message::Played(job, result) => {
                        in_progress = in_progress.saturating_sub(1);
                        let flow = done(job, result)?;
                        if flow.is_break() || is_stopped() {
                            return Ok(flow);
                        }
                        next(0);
                    }
                    Message::Error(error) => return Err(WorkerError::Process(error)),
                }
            }
        };
        let flow = exchange();
        drop(process);
        if is_stopped() && flow.is_err() { Ok(ControlFlow::Continue(())) } else { flow }
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
        let jobs = Jobs {
            shared: "{}".to_owned(),
            next: &mut |count| jobs.by_ref().take(count).collect(),
            work: &|_, _| Ok(None),
            done: &mut |job: usize, result: f64| {
                results.push((job, result));
                Ok(ControlFlow::<()>::Continue(()))
            },
        };
        let flow: Result<_, WorkerError> = jobs.run(Workers::Process(channel), &AtomicBool::new(false));
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

    #[test]
    fn threads_do_every_job_and_end_at_the_first_error() {
        let run = |failing: Option<usize>| {
            let (mut jobs, mut sum) = (0..100_usize, 0);
            let work = |&job: &usize, _: &dyn Fn() -> bool| match failing {
                Some(failing) if failing == job => Err(WorkerError::process("no")),
                _ => Ok(Some(job)),
            };
            let mut done = |job, result: usize| {
                assert_eq!(job, result);
                sum += result;
                Ok(ControlFlow::<()>::Continue(()))
            };
            let mut next = |count| jobs.by_ref().take(count).collect();
            let jobs = Jobs { shared: String::new(), next: &mut next, work: &work, done: &mut done };
            let flow = jobs.run(Workers::Threads(3), &AtomicBool::new(false));
            flow.map(|_| sum).map_err(|error| error.to_string())
        };
        assert_eq!(run(None), Ok(4950));
        assert_eq!(run(Some(7)), Err("the cluster: no".to_owned()));
    }

    #[test]
    #[should_panic(expected = "job 7")]
    fn panic_of_a_job_ends_the_run() {
        let mut jobs = 0..100_usize;
        let work = |&job: &usize, is_stopped: &dyn Fn() -> bool| {
            assert_ne!(job, 7, "job 7");
            while job == 8 && !is_stopped() {
                thread::yield_now();
            }
            Ok(Some(job))
        };
        let mut next = |count| jobs.by_ref().take(count).collect();
        let mut done = |_, _: usize| Ok(ControlFlow::<()>::Continue(()));
        let jobs = Jobs { shared: String::new(), next: &mut next, work: &work, done: &mut done };
        let _: Result<_, WorkerError> = jobs.run(Workers::Threads(3), &AtomicBool::new(false));
    }
}
