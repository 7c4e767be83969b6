use std::io;

use serde::{Deserialize, Serialize};

use super::model::Model;
use super::outcome::Bracket;
use super::saved::{LayersRead, LayersWritten, invalid};
use super::schedule::{SavedSchedule, Schedule};
use super::target::{SavedTarget, Target};
use super::tuning::{END_WORK, SHARE, SHORT_WORK};
use crate::game::LAST_TICK;

const PAUSED_MAX: usize = 3;

#[derive(Debug)]
pub(super) struct Attempt<const N: usize> {
    pub target: Target<N>,
    pub schedule: Schedule<N>,
    pub work: u64,
    work_limit: u64,
}

#[derive(Debug)]
pub(super) struct Targets<const N: usize> {
    pub current: Option<Attempt<N>>,
    /// At most `PAUSED_MAX` other targets, in ascending order of their ticks.
    paused: Vec<Attempt<N>>,
    work_limit: u64,
    /// The ticks of the targets that have reached their work limit in this round.
    stalled: Vec<usize>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SavedAttempt<const N: usize> {
    target: SavedTarget<N>,
    schedule: SavedSchedule,
    work: u64,
    work_limit: u64,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SavedTargets<const N: usize> {
    /// The paused attempts, followed by the current one if there is one.
    attempts: Vec<SavedAttempt<N>>,
    has_current: bool,
    work_limit: u64,
    stalled: Vec<usize>,
}

impl<const N: usize> Default for Targets<N> {
    fn default() -> Self {
        Self { current: None, paused: Vec::new(), work_limit: SHORT_WORK, stalled: Vec::new() }
    }
}

impl<const N: usize> Targets<N> {
    pub fn saved<'a>(&'a self, layers: &mut LayersWritten<'a, N>) -> SavedTargets<N> {
        let attempts = self.paused.iter().chain(&self.current).map(|attempt| SavedAttempt {
            target: attempt.target.saved(layers),
            schedule: attempt.schedule.saved(layers),
            work: attempt.work,
            work_limit: attempt.work_limit,
        });
        SavedTargets {
            attempts: attempts.collect(),
            has_current: self.current.is_some(),
            work_limit: self.work_limit,
            stalled: self.stalled.clone(),
        }
    }

    pub fn restored(
        model: &Model<N>,
        memory_max_bytes: usize,
        saved: SavedTargets<N>,
        layers: &mut LayersRead<N>,
    ) -> io::Result<Self> {
        let SavedTargets { attempts, has_current, work_limit, stalled } = saved;
        if attempts.len() > PAUSED_MAX + 1 {
            return Err(invalid("too many targets"));
        }
        let attempts = attempts.into_iter().map(|SavedAttempt { target, schedule, work, work_limit }| {
            let target = Target::restored(model, memory_max_bytes, target, layers)?;
            let schedule = Schedule::restored(model, &target, schedule, layers)?;
            Ok(Attempt { target, schedule, work: work.min(u64::MAX / 2), work_limit })
        });
        let mut paused = attempts.collect::<io::Result<Vec<_>>>()?;
        Ok(Self { current: paused.pop_if(|_| has_current), paused, work_limit, stalled })
    }

    /// Chooses the target to work on. Returns true if it has changed.
    pub fn choose(&mut self, model: &Model<N>, memory_max_bytes: usize, best: &Bracket) -> bool {
        let tick = self.next(best);
        let share = self.share(tick, best);
        match self.current.as_mut().filter(|attempt| attempt.target.tick == tick) {
            Some(attempt) if attempt.work < attempt.work_limit => false,
            Some(attempt) => {
                attempt.work_limit = attempt.work.saturating_add(share);
                false
            }
            None => {
                self.set(model, memory_max_bytes, tick, best);
                true
            }
        }
    }

    /// Returns the tick of the next target. The end of the game is the first target. Once a bound
    /// excludes it, each round starts at the end of the best line. It then bisects the gap between
    /// the last stalled target and the bound, and the gap between the end of the line and the first
    /// stalled target. A target that reaches its work limit is stalled until the next round.
    fn next(&mut self, best: &Bracket) -> usize {
        let (low, high) = (usize::from(best.final_tick), usize::from(best.bound));
        if best.bound > LAST_TICK {
            // The end of the game takes turns with the end of the line, which has shorter sweeps.
            let end = usize::from(LAST_TICK);
            let Some(attempt) = &self.current else { return end };
            let is_end = attempt.target.tick == end;
            if attempt.work < attempt.work_limit {
                return if is_end { end } else { low };
            }
            if is_end {
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
        if high - last > 1 && (high - last) * SHARE as usize > high - low {
            return last.midpoint(high);
        }
        if first > low && (first - low) * SHARE as usize > high - low {
            return low.midpoint(first);
        }
        // A round starts with the earliest target, because the later ones inherit its knowledge.
        self.stalled.clear();
        self.work_limit = self.work_limit.saturating_mul(2);
        low
    }

    /// Returns the work for one turn of a target.
    fn share(&self, tick: usize, best: &Bracket) -> u64 {
        let is_end = tick == usize::from(LAST_TICK) && best.bound > LAST_TICK;
        if !is_end && tick != usize::from(best.final_tick) {
            return self.work_limit;
        }
        self.work_limit.saturating_mul(SHARE).max(if is_end { END_WORK } else { 0 })
    }

    pub fn set(&mut self, model: &Model<N>, memory_max_bytes: usize, tick: usize, best: &Bracket) {
        let (low, high) = (usize::from(best.final_tick), usize::from(best.bound));
        let share = self.share(tick, best);
        self.paused.extend(self.current.take());
        self.paused.retain(|attempt| attempt.target.tick < high);
        self.paused.sort_by_key(|attempt| attempt.target.tick);
        if let Some(place) = self.paused.iter().position(|attempt| attempt.target.tick == tick) {
            let attempt = self.paused.remove(place);
            self.current = Some(Attempt { work_limit: attempt.work.saturating_add(share), ..attempt });
            return;
        }
        let earlier = self.paused.iter_mut().rfind(|attempt| attempt.target.tick < tick);
        let (target, schedule) = match earlier {
            Some(earlier) => {
                let target = earlier.target.later(model, tick);
                let is_reached = earlier.target.tick < low;
                let schedule = earlier.schedule.later(model, &target, is_reached);
                (target, schedule)
            }
            None => {
                let target = Target::new(model, tick, memory_max_bytes);
                let schedule = Schedule::new(model, &target);
                (target, schedule)
            }
        };
        self.paused.retain(|attempt| attempt.target.tick >= low);
        self.paused.truncate(PAUSED_MAX);
        self.current = Some(Attempt { target, schedule, work: 0, work_limit: share });
    }

    /// Adds the knowledge about the nearest earlier target, unless a narrow sweep is running.
    pub fn share_knowledge(&mut self) {
        let Some(attempt) = self.current.as_mut().filter(|attempt| attempt.schedule.is_between_sweeps()) else {
            return;
        };
        let tick = attempt.target.tick;
        let earlier = self.paused.iter().rfind(|other| other.target.tick < tick);
        if earlier.is_some_and(|earlier| attempt.target.adopt(&earlier.target)) {
            attempt.schedule.revive();
        }
    }
}
