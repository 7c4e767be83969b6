//! Shows progress on standard error: a bar on a terminal, otherwise one line every 30 s.

use std::fmt;
use std::io::{self, Write};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

use super::{note, one_line};

const REDRAWS_PER_SECOND: u8 = 5;
const LINE_INTERVAL: Duration = Duration::from_secs(30);

pub struct Progress {
    bar: ProgressBar,
    lines: Option<Lines>,
}

impl Progress {
    /// Shows progress towards `total` steps. `unit` is a plural noun such as `games`.
    pub fn of(total: u64, unit: &'static str) -> Self {
        Self::resumed(total, unit, 0)
    }

    /// Starts at `before` steps, done by an earlier run. The estimated time left assumes the speed
    /// of this run.
    pub fn resumed(total: u64, unit: &'static str, before: u64) -> Self {
        let style = ProgressStyle::with_template(&format!("{{pos}}/{{len}} {unit} {{wide_bar}} {{msg}}  {{left}}"));
        let left = move |state: &ProgressState, out: &mut dyn fmt::Write| {
            let time = time_left(before, state.pos(), total, state.elapsed());
            let _ = time.map_or(Ok(()), |time| write!(out, "{} left", rounded(time)));
        };
        let bar =
            bar(Some(total)).with_style(style.expect("a valid template").with_key("left", left)).with_position(before);
        Self::of_bar(bar, move |bar| counted_line(bar, unit, before))
    }

    /// Shows the message and the elapsed time, for work with an unknown number of steps.
    pub fn open_ended() -> Self {
        let style = ProgressStyle::with_template("{spinner} {msg}  {elapsed}");
        let bar = bar(None).with_style(style.expect("a valid template"));
        if !bar.is_hidden() {
            // Update the elapsed time during long steps.
            bar.enable_steady_tick(Duration::from_secs(1) / REDRAWS_PER_SECOND.into());
        }
        Self::of_bar(bar, |bar| format!("{}, after {}", bar.message(), rounded(bar.elapsed())))
    }

    fn of_bar(bar: ProgressBar, line: impl Fn(&ProgressBar) -> String + Send + 'static) -> Self {
        let lines = bar.is_hidden().then(|| Lines::start(bar.clone(), LINE_INTERVAL, io::stderr(), line));
        Self { bar, lines }
    }

    pub fn inc(&self, steps: u64) {
        self.bar.inc(steps);
    }

    pub fn set_message(&self, message: impl AsRef<str>) {
        self.bar.set_message(one_line(message.as_ref()));
    }

    /// Like [`Self::set_message`], but without a terminal, also writes the message as a line.
    pub fn announce(&self, message: impl AsRef<str>) {
        self.set_message(message);
        if self.lines.is_some() {
            note(&format!("{}, after {}", self.bar.message(), rounded(self.bar.elapsed())));
        }
    }

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

fn bar(total: Option<u64>) -> ProgressBar {
    ProgressBar::with_draw_target(total, ProgressDrawTarget::stderr_with_hz(REDRAWS_PER_SECOND))
}

/// Estimates the time left from the mean time per step of this run. Returns `None` before the first
/// of these steps ends.
fn time_left(before: u64, done: u64, total: u64, elapsed: Duration) -> Option<Duration> {
    let steps = done.checked_sub(before).filter(|&steps| steps > 0)?;
    let seconds = elapsed.as_secs_f64() / steps as f64 * total.saturating_sub(done) as f64;
    Duration::try_from_secs_f64(seconds).ok()
}

pub(crate) fn rounded(time: Duration) -> String {
    match time.as_secs_f64() {
        seconds if seconds < 100.0 => format!("{seconds:.0} s"),
        seconds if seconds < 100.0 * 60.0 => format!("{:.0} min", seconds / 60.0),
        seconds => format!("{:.0} h", seconds / 3600.0),
    }
}

/// Returns a line such as `12 of 60 games after 30 s, about 2 min left: mean score 9800`.
fn counted_line(bar: &ProgressBar, unit: &str, before: u64) -> String {
    let (done, total, elapsed) = (bar.position(), bar.length().unwrap_or_default(), bar.elapsed());
    let mut line = format!("{done} of {total} {unit} after {}", rounded(elapsed));
    if let Some(left) = time_left(before, done, total, elapsed) {
        line += &format!(", about {} left", rounded(left));
    }
    if !bar.message().is_empty() {
        line += &format!(": {}", bar.message());
    }
    line
}

/// A thread that writes a line at every interval, even during long steps, until it is dropped.
struct Lines(Option<(mpsc::Sender<()>, JoinHandle<()>)>);

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
                // A failed write to standard error is ignored, because it cannot be reported.
                let _ = writeln!(out, "{}", one_line(&line(&bar)));
            }
        };
        // If the thread cannot be started, the command runs without progress lines.
        let thread = thread::Builder::new().name("progress".to_owned()).spawn(write_lines).ok();
        Self(thread.map(|thread| (stop, thread)))
    }
}

impl Drop for Lines {
    fn drop(&mut self) {
        if let Some((stop, thread)) = self.0.take() {
            drop(stop);
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

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
        let line = |bar: &ProgressBar| counted_line(bar, "games", 0);
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
    fn time_left_is_that_of_the_mean_step_since_the_start() {
        let minute = Duration::from_secs(60);
        assert_eq!(time_left(0, 10, 40, minute), Some(3 * minute));
        assert_eq!(time_left(30, 40, 60, minute), Some(2 * minute), "steps of an earlier run do not count");
        assert_eq!(time_left(0, 0, 60, minute), None);
        assert_eq!(time_left(0, 60, 60, minute), Some(Duration::ZERO));
        let progress = Progress::resumed(1000, "games", 900);
        assert_eq!(progress.bar.position(), 900);
    }

    #[test]
    fn times_are_rounded_in_their_natural_unit() {
        let times = [0.4, 99.0, 101.0, 5000.0, 7000.0].map(|seconds| rounded(Duration::from_secs_f64(seconds)));
        assert_eq!(times, ["0 s", "99 s", "2 min", "83 min", "2 h"]);
    }
}
