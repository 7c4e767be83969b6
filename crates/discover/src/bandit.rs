//! A bandit that plays each arm once, and then always plays the arm with the highest index,
//! mean + C/t, where C is a constant and t is the number of plays of the arm so far (Maes, Lupien
//! St-Pierre and Ernst, section III-C).
//!
//! Guarantees: a parallel run records the same plays, in the same order, as a sequential run. The
//! reward of an arm's t-th play must depend only on the arm and t, so that threads can compute
//! plays ahead of the bandit.

use std::cmp::Ordering;
use std::collections::{BinaryHeap, HashMap};
use std::ops::ControlFlow;

use rayon::prelude::*;

/// An arm, and the number of its earlier plays.
type ArmPlay = (usize, u64);

/// Maximum number of plays per thread in a batch. Batches are large, because at the end of each
/// batch, all threads wait for the slowest play.
const AHEAD_PER_THREAD: usize = 32;

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Arm {
    pub plays: u64,
    pub sum: f64,
}

impl Arm {
    pub fn mean(&self) -> Option<f64> {
        (self.plays > 0).then(|| self.sum / self.plays as f64)
    }

    fn index(&self, c: f64) -> f64 {
        self.mean().map_or(f64::INFINITY, |mean| mean + c / self.plays as f64)
    }

    fn played(self, reward: f64) -> Self {
        Self { plays: self.plays + 1, sum: self.sum + reward }
    }
}

/// An arm in the queue, ordered by the bandit's index. Ties go to the earlier arm.
#[derive(Clone, Copy, Debug)]
struct Entry {
    index: f64,
    arm: usize,
}

impl Ord for Entry {
    fn cmp(&self, other: &Self) -> Ordering {
        self.index.total_cmp(&other.index).then(other.arm.cmp(&self.arm))
    }
}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Entry {}

#[derive(Clone, Debug)]
pub struct Bandit {
    c: f64,
    arms: Vec<Arm>,
    queue: BinaryHeap<Entry>,
}

impl Bandit {
    pub fn new(arms: usize, c: f64) -> Self {
        assert!(arms > 0, "a bandit has arms");
        let queue = (0..arms).map(|arm| Entry { index: f64::INFINITY, arm }).collect();
        Self { c, arms: vec![Arm::default(); arms], queue }
    }

    pub fn arms(&self) -> &[Arm] {
        &self.arms
    }

    pub fn next_arm(&self) -> usize {
        self.queue.peek().expect("every arm is in the queue").arm
    }

    /// Records the reward of playing [`Self::next_arm`]. The reward must be finite.
    pub fn record(&mut self, reward: f64) {
        let arm = self.next_arm();
        self.arms[arm] = self.arms[arm].played(reward);
        let index = self.arms[arm].index(self.c);
        *self.queue.peek_mut().expect("every arm is in the queue") = Entry { index, arm };
    }

    /// Returns the arms, sorted by mean reward, highest first. Arms without plays come last.
    pub fn leaders(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.arms.len()).collect();
        let mean = |arm: usize| self.arms[arm].mean().unwrap_or(f64::NEG_INFINITY);
        order.sort_by(|&left, &right| mean(right).total_cmp(&mean(left)));
        order
    }

    /// Predicts the next `count` plays, assuming that each reward equals its arm's mean so far (0
    /// for an arm without plays).
    fn forecast(&self, count: usize) -> Vec<ArmPlay> {
        let mut queue = self.queue.clone();
        let mut ahead: HashMap<usize, Arm> = HashMap::new();
        (0..count)
            .map(|_| {
                let mut top = queue.peek_mut().expect("every arm is in the queue");
                let arm = ahead.entry(top.arm).or_insert(self.arms[top.arm]);
                let play = (top.arm, arm.plays);
                *arm = arm.played(arm.mean().unwrap_or(0.0));
                top.index = arm.index(self.c);
                play
            })
            .collect()
    }

    /// Plays on the current rayon pool until `plays` plays have been made in total. `play` takes an arm
    /// and the number of its earlier plays, and returns the reward. After each batch, `report`
    /// receives the bandit and the newly recorded plays as pairs (arm, reward), and can return
    /// `Break` to end the run.
    pub fn run<B>(
        &mut self,
        plays: u64,
        play: impl Fn(usize, u64) -> f64 + Sync,
        mut report: impl FnMut(&Self, &[(usize, f64)]) -> ControlFlow<B>,
    ) -> ControlFlow<B> {
        let ahead = AHEAD_PER_THREAD * rayon::current_num_threads();
        let mut made: u64 = self.arms.iter().map(|arm| arm.plays).sum();
        let mut known: HashMap<ArmPlay, f64> = HashMap::new();
        while made < plays {
            let left = usize::try_from(plays - made).unwrap_or(usize::MAX);
            let mut tasks = self.forecast(ahead.min(left));
            tasks.retain(|task| !known.contains_key(task));
            known.par_extend(tasks.into_par_iter().map(|task| (task, play(task.0, task.1))));
            let mut taken = Vec::new();
            while made < plays {
                let arm = self.next_arm();
                let Some(reward) = known.remove(&(arm, self.arms[arm].plays)) else { break };
                self.record(reward);
                taken.push((arm, reward));
                made += 1;
            }
            report(self, &taken)?;
        }
        ControlFlow::Continue(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use getaway::search::Random;
    use std::convert::Infallible;

    use crate::seed::mix;

    struct Synthetic {
        means: Vec<f64>,
        seed: u64,
    }

    impl Synthetic {
        fn new(arms: usize, seed: u64) -> Self {
            let mut random = Random::from_seed(mix(&[seed, 1]));
            Self { means: (0..arms).map(|_| 0.2 + 0.6 * random.unit()).collect(), seed }
        }

        fn play(&self, arm: usize, play: u64) -> f64 {
            let noise = Random::from_seed(mix(&[self.seed, 2, arm as u64, play])).unit();
            self.means[arm] + 0.4 * (noise - 0.5)
        }

        fn run(&self, plays: u64, threads: usize) -> (Bandit, Vec<(usize, f64)>) {
            let mut bandit = Bandit::new(self.means.len(), 5.0);
            let mut taken = Vec::new();
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
            let _: ControlFlow<Infallible> = pool.install(|| {
                bandit.run(
                    plays,
                    |arm, play| self.play(arm, play),
                    |_, plays| {
                        taken.extend_from_slice(plays);
                        ControlFlow::Continue(())
                    },
                )
            });
            (bandit, taken)
        }
    }

    #[test]
    fn bandit_finds_an_arm_within_a_hundredth_of_the_best_in_95_of_100_runs() {
        let found = (0..100)
            .filter(|&seed| {
                let bank = Synthetic::new(200, seed);
                let (bandit, _) = bank.run(200 * 100, 2);
                let best = bank.means.iter().copied().fold(0.0, f64::max);
                bank.means[bandit.leaders()[0]] > best - 0.01
            })
            .count();
        assert!(found >= 95, "{found} of 100");
    }

    #[test]
    fn plays_match_the_sequential_bandit_on_any_number_of_threads() {
        let bank = Synthetic::new(50, 7);
        let mut bandit = Bandit::new(50, 5.0);
        let sequential: Vec<(usize, f64)> = (0..3000)
            .map(|_| {
                let arm = bandit.next_arm();
                let reward = bank.play(arm, bandit.arms()[arm].plays);
                bandit.record(reward);
                (arm, reward)
            })
            .collect();
        for threads in [1, 2, 5] {
            assert_eq!(bank.run(3000, threads).1, sequential, "{threads} threads");
        }
    }

    #[test]
    fn every_arm_is_played_once_before_any_is_played_twice() {
        let (bandit, taken) = Synthetic::new(30, 3).run(30, 2);
        assert!(bandit.arms().iter().all(|arm| arm.plays == 1));
        assert_eq!(taken.iter().map(|&(arm, _)| arm).collect::<Vec<_>>(), (0..30).collect::<Vec<_>>());
    }

    #[test]
    fn better_arms_are_played_more_often() {
        let bank = Synthetic { means: vec![0.1, 0.5, 0.9], seed: 1 };
        let (bandit, _) = bank.run(300, 1);
        let plays: Vec<u64> = bandit.arms().iter().map(|arm| arm.plays).collect();
        assert!(plays[0] < plays[1] && plays[1] < plays[2], "{plays:?}");
        assert_eq!(plays.iter().sum::<u64>(), 300);
    }
}
