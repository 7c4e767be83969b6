//! Distributions of problems for tuning and judging search algorithms.

use getaway::search::Problem;

pub trait Distribution: Send + Sync {
    type Problem: Problem + Send + Sync;

    /// The problem with this number. It depends only on `number`.
    fn draw(&self, number: u64) -> Self::Problem;

    fn start(&self, problem: &Self::Problem) -> <Self::Problem as Problem>::State;

    /// Converts a reward to the score that reports show.
    fn score(&self, reward: f64) -> f64 {
        reward
    }

    /// Roughly the best score that a search can reach. Scores are divided by it to become rewards.
    fn scale(&self) -> f64;
}
