//! Deadlines on a machine that has other work to do.
//!
//! The system preempts a thread for whole time slices: milliseconds may pass between two checks of
//! the clock that are microseconds of work apart. A search that stops at the first check after its
//! deadline then stops late. Such stalls come in series, so a deadline counts as reached as soon as
//! the time left is no more than the longest recent stall of this thread. On an idle machine there
//! are none.

use std::cell::Cell;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The clock that deadlines are measured by: the system's, or a manual one in tests.
pub trait TimeSource: fmt::Debug + Send + Sync {
    /// The current time; it never goes backwards.
    fn now(&self) -> Instant;
}

/// The system's monotonic clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemTimeSource;

impl TimeSource for SystemTimeSource {
    fn now(&self) -> Instant {
        Instant::now()
    }
}

/// A clock that stands still until it is advanced, for tests of deadlines.
///
/// ```
/// use std::time::Duration;
/// use getaway::search::{ManualTimeSource, TimeSource};
///
/// let clock = ManualTimeSource::leak();
/// let start = clock.now();
/// clock.advance(Duration::from_millis(5));
/// assert_eq!(clock.now() - start, Duration::from_millis(5));
/// ```
#[derive(Debug)]
pub struct ManualTimeSource {
    start: Instant,
    elapsed_ns: AtomicU64,
    /// How far each reading advances the clock.
    reading_ns: u64,
    readings: AtomicU64,
}

impl ManualTimeSource {
    /// A clock that only [`advance`](Self::advance) moves. It lives for the rest of the process, as
    /// budgets require.
    pub fn leak() -> &'static Self {
        Self::leak_with_reading(Duration::ZERO)
    }

    /// A clock that also advances by `reading` whenever it is read: the work that a search does
    /// between two readings then takes that long.
    pub fn leak_with_reading(reading: Duration) -> &'static Self {
        let reading_ns = nanoseconds(reading);
        let (elapsed_ns, readings) = (AtomicU64::new(0), AtomicU64::new(0));
        Box::leak(Box::new(Self { start: Instant::now(), elapsed_ns, reading_ns, readings }))
    }

    /// Moves the clock forward.
    pub fn advance(&self, duration: Duration) {
        self.elapsed_ns.fetch_add(nanoseconds(duration), Ordering::Relaxed);
    }

    /// How often the clock has been read.
    pub fn readings(&self) -> u64 {
        self.readings.load(Ordering::Relaxed)
    }
}

impl TimeSource for ManualTimeSource {
    fn now(&self) -> Instant {
        self.readings.fetch_add(1, Ordering::Relaxed);
        let elapsed_ns = self.elapsed_ns.fetch_add(self.reading_ns, Ordering::Relaxed);
        self.start + Duration::from_nanos(elapsed_ns)
    }
}

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// The longest time between two checks when the thread is not preempted.
const CHECK_MAX: Duration = Duration::from_millis(1);
/// How long a stall is remembered.
const MEMORY: Duration = Duration::from_secs(10);

thread_local! {
    /// Stalls outlive searches, of which a decision may run many.
    static STALL: Cell<Option<Stall>> = const { Cell::new(None) };
}

/// The longest recent time between two checks.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Stall {
    time: Duration,
    at: Instant,
}

impl Stall {
    /// The stall to remember after `elapsed` has passed between two checks, the later one at `now`.
    fn after(known: Option<Self>, elapsed: Duration, now: Instant) -> Option<Self> {
        let known = known.filter(|stall| now.saturating_duration_since(stall.at) < MEMORY);
        let is_longest = known.is_none_or(|stall| elapsed >= stall.time);
        if elapsed > CHECK_MAX && is_longest { Some(Self { time: elapsed, at: now }) } else { known }
    }
}

/// A deadline that allows for preemption, as one search checks it.
#[derive(Clone, Debug)]
pub(super) struct Deadline {
    at: Instant,
    time_source: &'static dyn TimeSource,
    last_check: Option<Instant>,
    /// Maximum time kept in reserve for stalls: most of the available time, but never all of it.
    reserve_max: Duration,
}

impl Deadline {
    /// Starts watching the clock.
    pub fn new(at: Instant, time_source: &'static dyn TimeSource) -> Self {
        let now = time_source.now();
        let reserve_max = at.saturating_duration_since(now) / 4 * 3;
        Self { at, time_source, last_check: Some(now), reserve_max }
    }

    /// The time since the last check, or `None` if the deadline is reached.
    pub fn check(&mut self) -> Option<Duration> {
        let now = self.time_source.now();
        let elapsed = self.last_check.replace(now).map_or(Duration::ZERO, |last| now.saturating_duration_since(last));
        let stall = Stall::after(STALL.get(), elapsed, now);
        STALL.set(stall);
        let reserve = stall.map_or(Duration::ZERO, |stall| stall.time).min(self.reserve_max);
        (now + reserve < self.at).then_some(elapsed)
    }

    /// Notes that another search has run meanwhile, so that the time until the next check is not
    /// taken for a stall.
    pub fn pause(&mut self) {
        self.last_check = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn longest_recent_stall_is_remembered() {
        let start = Instant::now();
        let stall = Stall::after(None, MS / 2, start);
        assert_eq!(stall, None, "too short for a stall");
        let stall = Stall::after(stall, 4 * MS, start);
        assert_eq!(stall, Some(Stall { time: 4 * MS, at: start }));
        assert_eq!(Stall::after(stall, 3 * MS, start + MS), stall);
        assert_eq!(Stall::after(stall, 5 * MS, start + MS), Some(Stall { time: 5 * MS, at: start + MS }));
        let later = start + MEMORY;
        assert_eq!(Stall::after(stall, 2 * MS, later), Some(Stall { time: 2 * MS, at: later }));
        assert_eq!(Stall::after(stall, MS / 2, later), None);
    }

    #[test]
    fn deadline_is_reached_earlier_after_a_stall() {
        let clock = ManualTimeSource::leak();
        let mut deadline = Deadline::new(clock.now() + 60_000 * MS, clock);
        assert_eq!(deadline.check(), Some(Duration::ZERO));
        clock.advance(30 * MS);
        assert_eq!(deadline.check(), Some(30 * MS), "a minute is left");
        let mut next = Deadline::new(clock.now() + 20 * MS, clock);
        clock.advance(4 * MS);
        assert!(next.check().is_some(), "a quarter of the time is never kept in reserve");
        clock.advance(MS);
        assert_eq!(next.check(), None, "another stall could take the 15 ms that are left");
    }

    #[test]
    fn stalls_are_forgotten_after_ten_seconds() {
        let clock = ManualTimeSource::leak();
        let mut deadline = Deadline::new(clock.now() + 60_000 * MS, clock);
        clock.advance(30 * MS);
        assert!(deadline.check().is_some());
        clock.advance(MEMORY);
        deadline.pause();
        let mut next = Deadline::new(clock.now() + 20 * MS, clock);
        clock.advance(MS);
        assert!(next.check().is_some());
        clock.advance(18 * MS - MS / 2);
        next.pause();
        assert!(next.check().is_some(), "half a millisecond is left");
    }

    #[test]
    fn another_search_is_not_a_stall() {
        let clock = ManualTimeSource::leak();
        let mut deadline = Deadline::new(clock.now() + 60_000 * MS, clock);
        deadline.pause();
        clock.advance(5 * MS);
        assert_eq!(deadline.check(), Some(Duration::ZERO));
        assert_eq!(STALL.get(), None);
    }
}
