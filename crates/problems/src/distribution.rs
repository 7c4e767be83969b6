//! Distributions of problems, on which search algorithms are tuned and judged.

use getaway::search::Problem;

/// A distribution from which problems are drawn by number.
pub trait Distribution: Send + Sync {
    /// A problem of the distribution.
    type Problem: Problem + Send + Sync;

    /// The problem with this number: a function of `number` alone.
    fn draw(&self, number: u64) -> Self::Problem;

    /// The state in which a search of the problem starts.
    fn start(&self, problem: &Self::Problem) -> <Self::Problem as Problem>::State;

    /// The score that reports print for a reward.
    fn score(&self, reward: f64) -> f64 {
        reward
    }

    /// Roughly the best score that a search can be expected to reach: scores are divided by it
    /// where rewards should lie between 0 and 1.
    fn scale(&self) -> f64;
}
