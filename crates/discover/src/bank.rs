//! A bank plays expressions of the search grammar on the problems of a distribution.

use std::collections::HashMap;
use std::sync::{Arc, RwLock};

use getaway::search::{Budget, Expression, Problem, Search};
use getaway_problems::Distribution;
use serde::{Deserialize, Serialize};

use crate::seed::mix;

/// Maximum number of problems kept in memory. Other problems are drawn again for each play.
const KEPT_MAX: usize = 4096;

/// A set of problems. Finalists are chosen on training problems, then ranked on unseen problems.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Split {
    Training,
    Unseen,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Play {
    pub split: Split,
    /// The number of the problem within the split, from 0.
    pub number: u64,
    /// Maximum number of complete action sequences that the search evaluates.
    pub budget_evals: u64,
}

pub trait Bank: Send + Sync {
    /// Searches the problem once within the budget, and returns the best score. The score depends
    /// only on the arguments and on the bank's distribution and seed. All searches of a problem use
    /// the same seed.
    fn play(&self, expression: &Expression, play: Play) -> f64;

    /// Returns roughly the best score that a search can reach.
    fn scale(&self) -> f64;
}

pub struct DistributionBank<D: Distribution> {
    distribution: D,
    seed: u64,
    kept: RwLock<Kept<D::Problem>>,
}

type Kept<P> = HashMap<(Split, u64), Arc<P>>;

impl<D: Distribution> DistributionBank<D> {
    /// Creates a bank that derives its problems and the seeds of its searches from `seed`.
    pub fn new(distribution: D, seed: u64) -> Self {
        Self { distribution, seed, kept: RwLock::default() }
    }

    fn problem(&self, split: Split, number: u64) -> Arc<D::Problem> {
        if let Some(problem) = self.kept.read().expect("the lock is not poisoned").get(&(split, number)) {
            return Arc::clone(problem);
        }
        let problem = Arc::new(self.distribution.draw(self.seed_of(split, number, 0)));
        let mut kept = self.kept.write().expect("the lock is not poisoned");
        if kept.len() < KEPT_MAX {
            kept.insert((split, number), Arc::clone(&problem));
        }
        problem
    }

    fn seed_of(&self, split: Split, number: u64, purpose: u64) -> u64 {
        mix(&[self.seed, split as u64, number, purpose])
    }
}

impl<D: Distribution> Bank for DistributionBank<D> {
    fn play(&self, expression: &Expression, play: Play) -> f64 {
        let Play { split, number, budget_evals } = play;
        let problem = self.problem(split, number);
        let start = self.distribution.start(&problem);
        let mut search =
            Search::<<D::Problem as Problem>::Action>::new(expression.clone(), self.seed_of(split, number, 1));
        let best = search.run(&*problem, &start, Budget::evaluations(budget_evals)).best;
        self.distribution.score(best.map_or(0.0, |line| line.reward))
    }

    fn scale(&self) -> f64 {
        self.distribution.scale()
    }
}
