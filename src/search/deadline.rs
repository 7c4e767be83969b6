//! Deadlines on a busy machine. The system can preempt a thread for entire time slices, so that
//! microseconds of work take milliseconds. After one such stall, others are likely. So a deadline
//! counts as reached once the time left is at most the longest recent stall, but never in the first
//! quarter of the available time.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::ops::Deref;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// A clock that replaces the system clock for budgets and deadlines; see [`install`].
pub trait TimeSource: fmt::Debug {
    /// The current time, which must never go backwards.
    fn now(&self) -> Instant;
}

thread_local! {
    static TIME_SOURCE: RefCell<Option<Rc<dyn TimeSource>>> = const { RefCell::new(None) };
}

pub(crate) fn now() -> Instant {
    TIME_SOURCE.with_borrow(|source| source.as_ref().map_or_else(Instant::now, |source| source.now()))
}

/// The guard that [`install`] returns. Gives access to the installed time source.
#[derive(Debug)]
pub struct Installed<T> {
    time_source: Rc<T>,
    before: Option<Rc<dyn TimeSource>>,
}

/// Makes a time source the clock of this thread until the returned guard is dropped.
///
/// ```
/// use std::time::Duration;
/// use getaway::search::{ManualTimeSource, TimeSource, install};
///
/// let clock = install(ManualTimeSource::new());
/// let start = clock.now();
/// clock.advance(Duration::from_millis(5));
/// assert_eq!(clock.now() - start, Duration::from_millis(5));
/// ```
pub fn install<T: TimeSource + 'static>(time_source: T) -> Installed<T> {
    let time_source = Rc::new(time_source);
    let before = TIME_SOURCE.replace(Some(time_source.clone()));
    Installed { time_source, before }
}

impl<T> Drop for Installed<T> {
    fn drop(&mut self) {
        TIME_SOURCE.set(self.before.take());
    }
}

impl<T> Deref for Installed<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.time_source
    }
}

/// A clock for tests. It moves only when it is advanced and, on request, when it is read.
#[derive(Debug)]
pub struct ManualTimeSource {
    now: Cell<Instant>,
    reading: Duration,
    readings: Cell<u64>,
}

impl Default for ManualTimeSource {
    fn default() -> Self {
        Self::new()
    }
}

impl ManualTimeSource {
    /// Creates a clock that moves only when [`advance`](Self::advance) is called.
    pub fn new() -> Self {
        Self::with_reading(Duration::ZERO)
    }

    /// Creates a clock that also advances by `reading` each time it is read.
    pub fn with_reading(reading: Duration) -> Self {
        Self { now: Cell::new(Instant::now()), reading, readings: Cell::new(0) }
    }

    /// Moves the clock forward.
    pub fn advance(&self, duration: Duration) {
        self.now.set(self.now.get() + duration);
    }

    /// The number of times that the clock has been read.
    pub fn readings(&self) -> u64 {
        self.readings.get()
    }
}

impl TimeSource for ManualTimeSource {
    fn now(&self) -> Instant {
        self.readings.set(self.readings.get() + 1);
        self.now.replace(self.now.get() + self.reading)
    }
}

/// A clock on which every time limit is reached once the flag is set, for example by Ctrl-C.
#[derive(Clone, Debug)]
pub struct InterruptClock(
    /// The flag.
    pub Arc<AtomicBool>,
);

impl TimeSource for InterruptClock {
    fn now(&self) -> Instant {
        let is_over = self.0.load(Ordering::Relaxed);
        Instant::now() + Duration::from_secs(if is_over { u32::MAX.into() } else { 0 })
    }
}

/// A longer time between two checks counts as a stall.
const CHECK_MAX: Duration = Duration::from_millis(1);
/// A stall is forgotten at the first check after this time.
const MEMORY: Duration = Duration::from_secs(10);

thread_local! {
    /// The longest recent stall. It outlives a search, because a decision may run many searches.
    static STALL: Cell<Option<Stall>> = const { Cell::new(None) };
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Stall {
    time: Duration,
    at: Instant,
}

impl Stall {
    fn after(known: Option<Self>, elapsed: Duration, now: Instant) -> Option<Self> {
        let known = known.filter(|stall| now.saturating_duration_since(stall.at) < MEMORY);
        let is_longest = known.is_none_or(|stall| elapsed >= stall.time);
        if elapsed > CHECK_MAX && is_longest { Some(Self { time: elapsed, at: now }) } else { known }
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Deadline {
    at: Option<Instant>,
    /// Maximum time reserved for stalls: three quarters of the available time.
    reserve_max: Duration,
}

impl Deadline {
    pub const NEVER: Self = Self { at: None, reserve_max: Duration::ZERO };

    pub fn new(at: Instant, now: Instant) -> Self {
        Self { at: Some(at), reserve_max: at.saturating_duration_since(now) / 4 * 3 }
    }

    pub fn is_past(&self) -> bool {
        self.at.is_some() && self.is_past_at(now())
    }

    fn is_past_at(&self, now: Instant) -> bool {
        let reserve = STALL.get().map_or(Duration::ZERO, |stall| stall.time).min(self.reserve_max);
        self.at.is_some_and(|at| now + reserve >= at)
    }
}

#[derive(Clone, Debug)]
pub(super) struct DeadlineWatch {
    deadline: Deadline,
    last_check: Option<Instant>,
}

impl DeadlineWatch {
    pub fn new(at: Instant) -> Self {
        let now = now();
        Self { deadline: Deadline::new(at, now), last_check: Some(now) }
    }

    pub fn check(&mut self) -> Option<Duration> {
        let now = now();
        let elapsed = self.last_check.replace(now).map_or(Duration::ZERO, |last| now.saturating_duration_since(last));
        STALL.set(Stall::after(STALL.get(), elapsed, now));
        (!self.deadline.is_past_at(now)).then_some(elapsed)
    }

    /// Ignores the time from the last check to the next one, because a nested search has used it.
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
        let clock = install(ManualTimeSource::new());
        let mut deadline = DeadlineWatch::new(clock.now() + 60_000 * MS);
        assert_eq!(deadline.check(), Some(Duration::ZERO));
        clock.advance(30 * MS);
        assert_eq!(deadline.check(), Some(30 * MS), "a minute is left");
        let mut next = DeadlineWatch::new(clock.now() + 20 * MS);
        clock.advance(4 * MS);
        assert!(next.check().is_some(), "the first quarter of the time is never reserved");
        clock.advance(MS);
        assert_eq!(next.check(), None, "another stall could take the 15 ms that are left");
    }

    #[test]
    fn stalls_are_forgotten_after_ten_seconds() {
        let clock = install(ManualTimeSource::new());
        let mut deadline = DeadlineWatch::new(clock.now() + 60_000 * MS);
        clock.advance(30 * MS);
        assert!(deadline.check().is_some());
        clock.advance(MEMORY);
        deadline.pause();
        let mut next = DeadlineWatch::new(clock.now() + 20 * MS);
        clock.advance(MS);
        assert!(next.check().is_some());
        clock.advance(18 * MS - MS / 2);
        next.pause();
        assert!(next.check().is_some(), "half a millisecond is left");
    }

    #[test]
    fn another_search_is_not_a_stall() {
        let clock = install(ManualTimeSource::new());
        let mut deadline = DeadlineWatch::new(clock.now() + 60_000 * MS);
        deadline.pause();
        clock.advance(5 * MS);
        assert_eq!(deadline.check(), Some(Duration::ZERO));
        assert_eq!(STALL.get(), None);
    }
}
