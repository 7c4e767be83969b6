//! The choice of the next target.

use super::model::Model;
use super::orders::Orders;
use super::outcome::Bracket;
use super::schedule::Schedule;
use super::target::Target;
use crate::game::LAST_TICK;

/// Initial work on a target before another one gets its turn.
const WORK_LIMIT_MIN: u64 = 400_000;
/// Minimum work for the end of the game.
const WORK_LIMIT_END: u64 = 3_000_000;
/// Until a line reaches this tick, the end of the game is not the only target.
const LATE_TICK: usize = 1800;
/// Factors of the work on the lowest target, and on the end of the game.
const LOW_SHARE: u64 = 4;
const END_SHARE: u64 = 6;
/// A round bisects gaps larger than the distance from line to bound divided by this.
const BISECTION_SHARE: usize = 4;
/// Maximum number of undecided targets kept for later.
const RESTING_MAX: usize = 3;

/// A target that is being decided.
#[derive(Debug)]
pub(super) struct Attempt<const N: usize> {
    pub target: Target<N>,
    pub schedule: Schedule<N>,
    /// Work on the target so far, and the work at which another one gets its turn.
    pub work: u64,
    work_limit: u64,
}

#[derive(Debug)]
pub(super) struct Targets<const N: usize> {
    pub current: Option<Attempt<N>>,
    /// In ascending order.
    resting: Vec<Attempt<N>>,
    /// Work on a target in this round before the next one gets its turn.
    work_limit: u64,
    /// The targets left undecided in this round.
    stalled: Vec<usize>,
}

impl<const N: usize> Default for Targets<N> {
    fn default() -> Self {
        Self { current: None, resting: Vec::new(), work_limit: WORK_LIMIT_MIN, stalled: Vec::new() }
    }
}

impl<const N: usize> Targets<N> {
    /// Sets the current target; returns whether it has changed.
    pub fn choose(&mut self, model: &Model<N>, orders: &Orders, known_max_bytes: usize, best: &Bracket) -> bool {
        let tick = self.next(best);
        let share = self.share(tick, best);
        match self.current.as_mut().filter(|attempt| attempt.target.tick == tick) {
            Some(attempt) if attempt.work < attempt.work_limit => false,
            Some(attempt) => {
                attempt.work_limit = attempt.work.saturating_add(share);
                false
            }
            None => {
                self.set(model, orders, known_max_bytes, tick, best);
                true
            }
        }
    }

    /// The next target: the end of the game until that is decided. Afterwards, rounds look between
    /// line and bound for the earliest target that can be proven out of reach and the latest that a
    /// line reaches. Targets that stay undecided within the work limit wait for the next round.
    fn next(&mut self, best: &Bracket) -> usize {
        let (low, high) = (usize::from(best.final_tick), usize::from(best.bound));
        if best.bound > LAST_TICK {
            // Alternates with the tick after the line: sweeps to it are shorter and go on beyond
            // it.
            let end = usize::from(LAST_TICK);
            let Some(attempt) = &self.current else { return end };
            let is_end = attempt.target.tick == end;
            if attempt.work < attempt.work_limit {
                return if is_end { end } else { low };
            }
            if is_end && low < LATE_TICK {
                return low;
            }
            self.work_limit = self.work_limit.saturating_mul(2);
            return end;
        }
        if let Some(attempt) = self.current.as_ref().filter(|attempt| (low..high).contains(&attempt.target.tick)) {
            let tick = attempt.target.tick;
            if attempt.work < attempt.work_limit {
                return tick;
            }
            self.stalled.push(tick);
        }
        self.stalled.retain(|tick| (low..high).contains(tick));
        let Some((&first, &last)) = self.stalled.iter().min().zip(self.stalled.iter().max()) else { return low };
        if high - last > 1 && (high - last) * BISECTION_SHARE > high - low {
            return last.midpoint(high);
        }
        if first > low && (first - low) * BISECTION_SHARE > high - low {
            return low.midpoint(first);
        }
        // Knowledge about the lowest target holds for all others.
        self.stalled.clear();
        self.work_limit = self.work_limit.saturating_mul(2);
        low
    }

    /// The work on a target before the next one gets its turn. The lowest target gets more, because
    /// knowledge about it holds for all others and its sweeps go on beyond it.
    fn share(&self, tick: usize, best: &Bracket) -> u64 {
        if tick == usize::from(LAST_TICK) && best.bound > LAST_TICK {
            self.work_limit.saturating_mul(END_SHARE).max(WORK_LIMIT_END)
        } else if tick == usize::from(best.final_tick) {
            self.work_limit.saturating_mul(LOW_SHARE)
        } else {
            self.work_limit
        }
    }

    /// Switches to a target and keeps the undecided ones.
    pub fn set(&mut self, model: &Model<N>, orders: &Orders, known_max_bytes: usize, tick: usize, best: &Bracket) {
        let (low, high) = (usize::from(best.final_tick), usize::from(best.bound));
        let share = self.share(tick, best);
        if let Some(mut attempt) = self.current.take() {
            attempt.schedule.rest();
            self.resting.push(attempt);
        }
        self.resting.retain(|attempt| attempt.target.tick < high);
        self.resting.sort_by_key(|attempt| attempt.target.tick);
        if let Some(place) = self.resting.iter().position(|attempt| attempt.target.tick == tick) {
            let attempt = self.resting.remove(place);
            self.current = Some(Attempt { work_limit: attempt.work.saturating_add(share), ..attempt });
            return;
        }
        let order = orders.at(tick);
        let earlier = self.resting.iter_mut().rfind(|attempt| attempt.target.tick < tick);
        let (target, schedule) = match earlier.filter(|other| orders.at(other.target.tick) == order) {
            Some(earlier) => {
                let target = earlier.target.later(model, tick);
                let is_reached = earlier.target.tick < low;
                let schedule = earlier.schedule.later(model, &target, is_reached);
                (target, schedule)
            }
            None => {
                let target = Target::new(model, tick, order, known_max_bytes);
                let schedule = Schedule::new(model, &target);
                (target, schedule)
            }
        };
        self.resting.retain(|attempt| attempt.target.tick >= low);
        self.resting.truncate(RESTING_MAX);
        self.current = Some(Attempt { target, schedule, work: 0, work_limit: share });
    }

    /// Adds knowledge about the last target before the current one, between two sweeps.
    pub fn share_knowledge(&mut self, orders: &Orders) {
        let Some(attempt) = self.current.as_mut().filter(|attempt| attempt.schedule.is_between_sweeps()) else {
            return;
        };
        let tick = attempt.target.tick;
        let earlier = self.resting.iter().rfind(|other| other.target.tick < tick);
        if let Some(earlier) = earlier.filter(|other| orders.at(other.target.tick) == orders.at(tick))
            && attempt.target.adopt(&earlier.target)
        {
            attempt.schedule.revive();
        }
    }
}
