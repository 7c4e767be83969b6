//! Distributions of problems on which search algorithms are tuned and compared.

use getaway::search::Problem;

pub trait Distribution: Send + Sync {
    type Problem: Problem + Send + Sync;

    /// Returns problem `number`. The same number always gives the same problem.
    fn draw(&self, number: u64) -> Self::Problem;

    fn start(&self, problem: &Self::Problem) -> <Self::Problem as Problem>::State;

    /// Converts a reward to the score that reports show.
    fn score(&self, reward: f64) -> f64 {
        reward
    }

    /// Returns roughly the best score that a search can reach.
    fn scale(&self) -> f64;
}
