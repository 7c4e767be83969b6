//! The queue of jobs.

use serde::{Deserialize, Serialize};

use super::binary::short_list;
use super::combination::Combination;
use super::tuning::{FIRST_WORK, SHARE};

/// The goal of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) enum Aim {
    /// The tick in which the longest line ends: to prove that no line is longer, or to find one.
    Near,
    /// A later tick: the last one of the game, or the middle between the longest line and the bound.
    Far,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Task {
    /// Builds the automata.
    Model,
    /// Searches for lines over single states.
    Survival,
    /// Searches for lines over sets of states.
    Beam,
    /// This search and the next take the place of the beam if one combination cannot hold the keys
    /// of all threats, or there are no automata.
    Neighbourhood,
    Exhaustive,
    /// Finds the reachable states of some threats, whatever the target.
    Reach(Combination),
    /// A sweep with some threats from the first tick, or from reachable layers at a later tick.
    Wide {
        mask: Combination,
        from: Option<usize>,
    },
    /// A sweep that starts at a bottleneck.
    Narrow,
    /// A short wide sweep with all threats, which is given up at its limit.
    Trial,
}

impl Task {
    /// Returns true for jobs that continue where they were interrupted: all but sweeps.
    pub fn is_search(self) -> bool {
        !matches!(self, Self::Reach(_) | Self::Wide { .. } | Self::Narrow | Self::Trial)
    }

    fn kind(self) -> usize {
        match self {
            Self::Model | Self::Survival => 0,
            Self::Beam | Self::Neighbourhood => 1,
            Self::Exhaustive => 2,
            Self::Reach(_) | Self::Wide { .. } | Self::Trial => 3,
            Self::Narrow => 4,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Job {
    pub task: Task,
    pub aim: Aim,
    /// The limit of the job, in simulated ticks; at first its estimated cost.
    pub limit: u64,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Queue {
    #[serde(deserialize_with = "short_list")]
    jobs: Vec<Job>,
    /// The work so far, by aim and kind of task. The counts are not reset when a target moves.
    work: [[u64; 5]; 2],
}

impl Queue {
    /// Adds a job unless there is one for the same task and aim.
    pub fn add(&mut self, task: Task, aim: Aim, limit: u64) {
        if self.jobs.iter().all(|other| (other.task, other.aim) != (task, aim)) {
            self.jobs.push(Job { task, aim, limit });
        }
    }

    /// Takes a job of the kind that has taken the least work for its target so far. Of the jobs of a
    /// kind, takes the one with the lowest limit; of equal ones, the first that was added. `main` is the
    /// more important target, if there are targets. Raises the limit of a sweep to `SHARE` times the
    /// work of all jobs for its target so far; for the less important target, to this work. A limit of
    /// `FIRST_WORK` stays as it is.
    pub fn pop(&mut self, main: Option<Aim>) -> Option<Job> {
        let cost = |job: &Job| {
            let weight = match (job.task, main) {
                (_, None) | (Task::Neighbourhood | Task::Exhaustive, _) => 1,
                (task, Some(main)) => {
                    let aim_weight = if job.aim == main { 1 } else { SHARE };
                    aim_weight * if task == Task::Survival { SHARE } else { 1 }
                }
            };
            let work = self.work[job.aim as usize][job.task.kind()].saturating_add(FIRST_WORK);
            (work.saturating_mul(weight), job.limit)
        };
        let place = (0..self.jobs.len()).min_by_key(|&place| cost(&self.jobs[place]))?;
        let mut job = self.jobs.remove(place);
        if !job.task.is_search() && job.limit > FIRST_WORK {
            let share = if main == Some(job.aim) { SHARE } else { 1 };
            job.limit = job.limit.max(share.saturating_mul(self.total(job.aim)));
        }
        Some(job)
    }

    /// Returns true if the mask of every wide or reaching sweep in the queue is one of `masks`.
    pub fn has_only(&self, masks: &[Combination]) -> bool {
        self.jobs.iter().all(|job| match job.task {
            Task::Reach(mask) | Task::Wide { mask, .. } => masks.contains(&mask),
            _ => true,
        })
    }

    pub fn count(&mut self, job: &Job, work: u64) {
        let own = &mut self.work[job.aim as usize][job.task.kind()];
        *own = own.saturating_add(work);
    }

    pub fn total(&self, aim: Aim) -> u64 {
        self.work[aim as usize].iter().fold(0, |all: u64, work| all.saturating_add(*work))
    }

    pub fn drop_all(&mut self, aim: Aim) {
        self.jobs.retain(|job| job.aim != aim);
    }
}
