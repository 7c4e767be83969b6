use std::time::{Duration, Instant};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::deadline::{Deadline, DeadlineWatch, now};

/// The limits of a search or planner, which stops at the first limit that it reaches. A step of a
/// search from a state to a successor is a *simulated tick*. Replays of the played game, of a plan
/// that is followed or of the best sequence do not count, nor do the steps of `safest`. In JSON,
/// only the limits on ticks, time and evaluations are written, as `budget_ticks`, `budget_ms` and
/// `budget_evals`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Budget {
    /// Simulated ticks. The last step of the `greedy` policy or of a proof may exceed the limit.
    pub ticks: Option<u64>,
    /// Time, counted from the start of each call.
    pub time: Option<Duration>,
    /// The time at which to stop. If the system has recently stalled the thread, the search stops
    /// earlier by the length of the longest recent stall, but never in the first quarter of the
    /// available time.
    pub deadline: Option<Instant>,
    /// Evaluations of sequences, never exceeded. Only the search grammar uses this limit.
    pub evaluations: Option<u64>,
    /// Invocations of an expression's outermost component. Only the search grammar uses this limit.
    pub passes: Option<u64>,
}

impl Budget {
    /// No limit.
    pub const UNLIMITED: Self = Self { ticks: None, time: None, deadline: None, evaluations: None, passes: None };

    /// A budget of at most this many simulated ticks.
    pub const fn ticks(count: u64) -> Self {
        Self { ticks: Some(count), ..Self::UNLIMITED }
    }

    /// A budget of at most this much time, counted from the start of each call.
    pub const fn time(duration: Duration) -> Self {
        Self { time: Some(duration), ..Self::UNLIMITED }
    }

    /// A budget that ends at `deadline`.
    pub const fn until(deadline: Instant) -> Self {
        Self { deadline: Some(deadline), ..Self::UNLIMITED }
    }

    /// A budget of at most this many evaluations of sequences.
    pub const fn evaluations(count: u64) -> Self {
        Self { evaluations: Some(count), ..Self::UNLIMITED }
    }

    /// A budget of at most this many passes: invocations of an expression's outermost component.
    pub const fn passes(count: u64) -> Self {
        Self { passes: Some(count), ..Self::UNLIMITED }
    }

    /// Combines two budgets. Of each kind of limit, the stricter one applies.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        fn first<T: Ord>(one: Option<T>, other: Option<T>) -> Option<T> {
            one.into_iter().chain(other).min()
        }
        Self {
            ticks: first(self.ticks, other.ticks),
            time: first(self.time, other.time),
            deadline: first(self.deadline, other.deadline),
            evaluations: first(self.evaluations, other.evaluations),
            passes: first(self.passes, other.passes),
        }
    }

    /// The time limit in milliseconds, rounded down; `None` if there is no time limit.
    pub fn time_ms(&self) -> Option<u64> {
        self.time.map(|time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX))
    }

    /// The limits on time, ticks and evaluations as text, such as "20000 simulated ticks".
    pub fn words(&self) -> String {
        let limits = [(self.time_ms(), "ms"), (self.ticks, "simulated tick"), (self.evaluations, "evaluation")];
        let limits = limits.into_iter().filter_map(|(limit, unit)| {
            let plural = if limit? == 1 || unit == "ms" { "" } else { "s" };
            Some(format!("{} {unit}{plural}", limit?))
        });
        limits.collect::<Vec<String>>().join(" and ")
    }

    /// Returns true if there is a time limit or a deadline. Results then depend on the machine.
    pub const fn has_time(&self) -> bool {
        self.time.is_some() || self.deadline.is_some()
    }

    /// Converts the time limit to a deadline, counted from now. An earlier deadline is kept.
    #[must_use]
    pub fn started(self) -> Self {
        let Some(time) = self.time else { return self };
        let deadline = now().checked_add(time);
        Self { time: None, ..self }.and(Self { deadline, ..Self::UNLIMITED })
    }
}

impl From<Budget> for Deadline {
    fn from(budget: Budget) -> Self {
        budget.deadline.map_or(Self::NEVER, |at| Self::new(at, now()))
    }
}

#[derive(Serialize, Deserialize)]
struct BudgetText {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    budget_ticks: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    budget_ms: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    budget_evals: Option<u64>,
}

impl Serialize for Budget {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let text = BudgetText { budget_ticks: self.ticks, budget_ms: self.time_ms(), budget_evals: self.evaluations };
        text.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Budget {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let BudgetText { budget_ticks, budget_ms, budget_evals } = BudgetText::deserialize(deserializer)?;
        let time = budget_ms.map(Duration::from_millis);
        Ok(Self { ticks: budget_ticks, time, evaluations: budget_evals, ..Self::UNLIMITED })
    }
}

/// The reason for stopping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StopReason {
    /// The simulated ticks are used up.
    Ticks,
    /// The evaluations are used up.
    Evaluations,
    /// The deadline was reached.
    Deadline,
    /// The passes are used up.
    Passes,
    /// The best reward reached the upper bound of the problem.
    Optimal,
    /// Nothing is left to explore. Unless rollouts have a horizon, the best sequence is optimal.
    Exhausted,
}

/// Counts the work of one call against its budget. Aims to read the clock only every 10 to
/// 20 microseconds, because one reading can take longer than a simulated tick.
#[derive(Clone, Debug)]
pub struct BudgetMeter {
    budget: Budget,
    deadline: Option<DeadlineWatch>,
    ticks: u64,
    evaluations: u64,
    next_check: u64,
    interval_ticks: u64,
    steps: usize,
    ending: Option<StopReason>,
}

impl BudgetMeter {
    /// The first interval is one tick, because a tick may take a long time.
    const INTERVAL_FIRST_TICKS: u64 = 1;
    const INTERVAL_MAX_TICKS: u64 = 512;
    const STEPS_MAX: usize = 256;
    const CHECK_MIN_US: u128 = 10;
    const CHECK_MAX_US: u128 = 20;

    /// Creates a meter for `budget`. The budget's time limit starts now.
    pub fn new(budget: Budget) -> Self {
        let budget = budget.started();
        Self {
            budget,
            deadline: budget.deadline.map(DeadlineWatch::new),
            ticks: 0,
            evaluations: 0,
            next_check: 0,
            interval_ticks: Self::INTERVAL_FIRST_TICKS,
            steps: 0,
            ending: None,
        }
    }

    /// Counts one simulated tick, unless a limit is reached. Does not check the deadline each time.
    ///
    /// # Errors
    /// If the ticks are used up, or a check finds that the deadline is reached.
    #[inline]
    pub fn tick(&mut self) -> Result<(), StopReason> {
        if self.ticks >= self.next_check {
            self.check()?;
        }
        self.ticks += 1;
        Ok(())
    }

    /// Checks the tick limit and the deadline without counting a tick.
    ///
    /// # Errors
    /// If the ticks are used up or the deadline is reached.
    #[cold]
    pub fn check(&mut self) -> Result<(), StopReason> {
        if let Some(ending) = self.ending {
            return Err(ending);
        }
        let left = self.budget.ticks.map_or(u64::MAX, |most| most.saturating_sub(self.ticks));
        let checked = self.deadline.as_mut().map(DeadlineWatch::check);
        self.ending = match checked {
            _ if left == 0 => Some(StopReason::Ticks),
            Some(None) => Some(StopReason::Deadline),
            _ => None,
        };
        if let Some(Some(elapsed)) = checked
            && self.ticks > 0
        {
            self.adapt_interval(elapsed);
        }
        let interval = if self.deadline.is_some() { self.interval_ticks } else { u64::MAX };
        self.next_check = self.ticks.saturating_add(left.min(interval));
        self.ending.map_or(Ok(()), Err)
    }

    /// Counts steps within a tick, each of which should take at most a microsecond. Only the
    /// deadline limits these steps, so they do not change the results of a search with a tick limit
    /// alone.
    ///
    /// # Errors
    /// [`StopReason::Deadline`] if a check finds that the deadline is reached.
    #[inline]
    pub(crate) fn step(&mut self, steps: usize) -> Result<(), StopReason> {
        self.steps += steps;
        if self.steps < Self::STEPS_MAX { Ok(()) } else { self.check_deadline() }
    }

    #[cold]
    fn check_deadline(&mut self) -> Result<(), StopReason> {
        self.steps = 0;
        let is_past = self.deadline.as_mut().is_some_and(|deadline| deadline.check().is_none());
        if !is_past {
            return Ok(());
        }
        self.ending = self.ending.or(Some(StopReason::Deadline));
        Err(StopReason::Deadline)
    }

    fn adapt_interval(&mut self, elapsed: Duration) {
        let elapsed_us = elapsed.as_micros();
        if elapsed_us < Self::CHECK_MIN_US {
            self.interval_ticks = (self.interval_ticks * 2).min(Self::INTERVAL_MAX_TICKS);
        } else if elapsed_us > Self::CHECK_MAX_US {
            self.interval_ticks = (self.interval_ticks / 2).max(1);
        }
    }

    /// Adds ticks that were simulated without checking the limits, such as trial steps of a policy.
    #[inline]
    pub(crate) fn add_ticks(&mut self, ticks: u64) {
        self.ticks += ticks;
    }

    /// Adds the ticks of a nested search. The time from the last check to the next one does not
    /// count as a stall.
    #[doc(hidden)]
    pub fn add_search(&mut self, ticks: u64) {
        self.ticks += ticks;
        if let Some(deadline) = &mut self.deadline {
            deadline.pause();
        }
    }

    /// Checks, before a rollout starts, whether the budget allows another evaluation.
    ///
    /// # Errors
    /// [`StopReason::Evaluations`] if the evaluations are used up.
    #[inline]
    pub(crate) fn check_evaluation(&self) -> Result<(), StopReason> {
        let is_over = self.budget.evaluations.is_some_and(|most| self.evaluations >= most);
        if is_over { Err(StopReason::Evaluations) } else { Ok(()) }
    }

    /// Counts the evaluation of a sequence.
    #[inline]
    pub(crate) fn count_evaluation(&mut self) {
        self.evaluations += 1;
    }

    /// Simulated ticks so far.
    pub fn ticks(&self) -> u64 {
        self.ticks
    }

    /// Evaluations so far.
    pub fn evaluations(&self) -> u64 {
        self.evaluations
    }

    /// The remaining budget, for a nested search. The limit on passes is unchanged.
    pub fn remaining(&self) -> Budget {
        let left = |most: Option<u64>, used: u64| most.map(|most| most.saturating_sub(used));
        Budget {
            ticks: left(self.budget.ticks, self.ticks),
            evaluations: left(self.budget.evaluations, self.evaluations),
            ..self.budget
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::deadline::{ManualTimeSource, TimeSource, install};
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn lower_limit_of_two_budgets_counts() {
        let now = Instant::now();
        let later = now + Duration::from_secs(1);
        let both = Budget::evaluations(5).and(Budget::until(later)).and(Budget::passes(2));
        let expected = Budget { evaluations: Some(5), deadline: Some(later), passes: Some(2), ..Budget::UNLIMITED };
        assert_eq!(both, expected);
        assert_eq!(both.and(Budget::until(now)).deadline, Some(now));
        assert_eq!(both.and(Budget::evaluations(4)).evaluations, Some(4));
        assert_eq!(both.and(Budget::ticks(7)).and(Budget::ticks(8)).ticks, Some(7));
    }

    #[test]
    fn json_names_the_unit_of_each_limit() {
        let budget = Budget::ticks(20_000).and(Budget::time(75 * MS));
        let json = serde_json::to_string(&budget).expect("JSON");
        assert_eq!(json, r#"{"budget_ticks":20000,"budget_ms":75}"#);
        assert_eq!(serde_json::from_str::<Budget>(&json).expect("a budget"), budget);
        assert_eq!(serde_json::from_str::<Budget>("{}").expect("a budget"), Budget::UNLIMITED);
    }

    #[test]
    fn ticks_are_met_exactly() {
        for ticks in [0, 1, 15, 16, 17, 1000] {
            for budget in [Budget::ticks(ticks), Budget::ticks(ticks).and(Budget::time(Duration::from_secs(60)))] {
                let _clock = install(ManualTimeSource::new());
                let mut meter = BudgetMeter::new(budget);
                let counted = (0..).take_while(|_| meter.tick().is_ok()).count() as u64;
                assert_eq!((counted, meter.ticks(), meter.tick()), (ticks, ticks, Err(StopReason::Ticks)));
            }
        }
    }

    #[test]
    fn nested_search_gets_what_is_left() {
        let clock = install(ManualTimeSource::new());
        let mut meter = BudgetMeter::new(Budget::ticks(100).and(Budget::time(2 * MS)));
        meter.tick().expect("100 ticks");
        meter.add_search(30);
        clock.advance(MS / 2);
        let mut nested = BudgetMeter::new(meter.remaining());
        assert_eq!(nested.remaining().ticks, Some(69));
        clock.advance(MS / 2);
        assert_eq!(nested.tick(), Ok(()));
        clock.advance(MS);
        assert_eq!((nested.check(), meter.check()), (Err(StopReason::Deadline), Err(StopReason::Deadline)));
    }

    #[test]
    fn clock_is_checked_about_every_twenty_microseconds() {
        for tick_ns in [10, 100, 3_000, 50_000] {
            let clock = install(ManualTimeSource::new());
            let mut meter = BudgetMeter::new(Budget::time(10 * MS));
            let mut ticks = 0;
            while meter.tick().is_ok() {
                clock.advance(Duration::from_nanos(tick_ns));
                ticks += 1;
            }
            let elapsed_ns = ticks * tick_ns;
            // The meter may notice the deadline one interval late.
            let interval_ns = (BudgetMeter::INTERVAL_MAX_TICKS * tick_ns).min(20_000).max(tick_ns);
            assert!((10_000_000..=10_000_000 + interval_ns).contains(&elapsed_ns), "{tick_ns}: {elapsed_ns}");
            assert!(clock.readings() <= 10_000_000 / interval_ns * 2 + 20, "{tick_ns}: {}", clock.readings());
        }
    }

    #[test]
    fn reached_deadline_stops_at_once() {
        let clock = install(ManualTimeSource::new());
        let mut meter = BudgetMeter::new(Budget::until(clock.now()));
        assert_eq!((meter.tick(), meter.ticks()), (Err(StopReason::Deadline), 0));
    }
}
