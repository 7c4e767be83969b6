//! The progress of long commands, on standard error: a bar on a terminal, and elsewhere one line
//! every 30 s, so that a log shows that the command is alive and how far it has come.

use std::borrow::Cow;
use std::io::{self, Write};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::error::one_line;

/// Redraws of the bar per second.
const REDRAWS_PER_SECOND: u8 = 5;
/// The interval between two lines where there is no terminal.
const LINE_INTERVAL: Duration = Duration::from_secs(30);

/// The progress of a command. It disappears from the terminal when it is dropped.
pub(super) struct Progress {
    bar: ProgressBar,
    lines: Option<Lines>,
}

impl Progress {
    /// Progress towards a known end: `total` steps, counted in `unit`, a plural such as `games`.
    pub fn of(total: u64, unit: &'static str) -> Self {
        let bar = bar(Some(total), &format!("{{pos}}/{{len}} {unit} {{wide_bar}} {{msg}}  {{eta}} left"));
        Self::of_bar(bar, move |bar| counted_line(bar, unit))
    }

    /// Progress of work whose end is not known; the message says how far it has come.
    pub fn open_ended() -> Self {
        let bar = bar(None, "{spinner} {msg}  {elapsed}");
        Self::of_bar(bar, |bar| format!("{}, after {}", bar.message(), HumanDuration(bar.elapsed())))
    }

    fn of_bar(bar: ProgressBar, line: impl Fn(&ProgressBar) -> String + Send + 'static) -> Self {
        let lines = bar.is_hidden().then(|| Lines::start(bar.clone(), LINE_INTERVAL, io::stderr(), line));
        Self { bar, lines }
    }

    /// Starts with some steps done before, which do not count for the estimate of the time left.
    pub fn with_done(self, steps: u64) -> Self {
        self.bar.set_position(steps);
        self.bar.reset_eta();
        self
    }

    /// Counts steps.
    pub fn inc(&self, steps: u64) {
        self.bar.inc(steps);
    }

    /// Sets the message: a few words on the result so far.
    pub fn set_message(&self, message: impl Into<Cow<'static, str>>) {
        self.bar.set_message(message);
    }

    /// Writes output while the bar is off the screen.
    pub fn suspend<T>(&self, write: impl FnOnce() -> T) -> T {
        self.bar.suspend(write)
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        drop(self.lines.take());
        self.bar.finish_and_clear();
    }
}

/// A bar on standard error, hidden where that is not a terminal.
fn bar(total: Option<u64>, template: &str) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(total, ProgressDrawTarget::stderr_with_hz(REDRAWS_PER_SECOND));
    let style = ProgressStyle::with_template(template);
    bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}

/// `12 of 60 games after 30 seconds, about 2 minutes left: mean score 9800`.
fn counted_line(bar: &ProgressBar, unit: &str) -> String {
    let (done, total) = (bar.position(), bar.length().unwrap_or_default());
    let mut line = format!("{done} of {total} {unit} after {}", HumanDuration(bar.elapsed()));
    if !bar.eta().is_zero() {
        line += &format!(", about {} left", HumanDuration(bar.eta()));
    }
    if !bar.message().is_empty() {
        line += &format!(": {}", bar.message());
    }
    line
}

/// A thread that writes a line at every interval, however long a step takes. Dropping it ends the
/// thread.
struct Lines {
    stop: Option<mpsc::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Lines {
    fn start(
        bar: ProgressBar,
        interval: Duration,
        mut out: impl Write + Send + 'static,
        line: impl Fn(&ProgressBar) -> String + Send + 'static,
    ) -> Self {
        let (stop, stopped) = mpsc::channel();
        let write_lines = move || {
            while stopped.recv_timeout(interval) == Err(RecvTimeoutError::Timeout) {
                // If standard error is closed, there is nowhere to report to.
                let _ = writeln!(out, "{}", one_line(&line(&bar)));
            }
        };
        // Without the thread the command works as well, only silently.
        let thread = thread::Builder::new().name("progress".to_owned()).spawn(write_lines).ok();
        Self { stop: Some(stop), thread }
    }
}

impl Drop for Lines {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    /// A log that a test can read while it is being written.
    #[derive(Clone, Default)]
    struct Log(Arc<Mutex<Vec<u8>>>);

    impl Log {
        fn text(&self) -> String {
            String::from_utf8(self.0.lock().expect("a log").clone()).expect("text")
        }
    }

    impl Write for Log {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().expect("a log").write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn log_gets_a_line_at_every_interval_until_the_end() {
        let bar = ProgressBar::with_draw_target(Some(60), ProgressDrawTarget::hidden());
        bar.inc(12);
        bar.set_message("mean score 9800");
        let log = Log::default();
        let line = |bar: &ProgressBar| counted_line(bar, "games");
        let lines = Lines::start(bar.clone(), Duration::from_millis(5), log.clone(), line);
        while log.text().lines().count() < 2 {
            thread::sleep(Duration::from_millis(1));
        }
        drop(lines);
        let text = log.text();
        for line in text.lines() {
            assert!(line.starts_with("12 of 60 games after ") && line.ends_with(": mean score 9800"), "{line}");
        }
        thread::sleep(Duration::from_millis(20));
        assert_eq!(log.text(), text, "the thread has ended");
    }

    #[test]
    fn short_command_writes_nothing() {
        let progress = Progress::of(2, "games");
        progress.inc(2);
        assert_eq!(progress.bar.position(), 2);
        assert!(LINE_INTERVAL > Duration::from_secs(10));
        drop(progress);
    }

    #[test]
    fn steps_done_before_are_not_part_of_the_estimate() {
        let progress = Progress::of(1000, "games").with_done(900);
        assert_eq!((progress.bar.position(), progress.bar.eta()), (900, Duration::ZERO));
    }
}
