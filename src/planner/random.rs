//! `random`: plays a uniformly random possible move in each tick.

use super::problem::SurvivalProblem;
use super::{Budget, Choice, Planner, PlannerError, Source};
use crate::game::{State, World};
use crate::search::{Problem, Random};

/// Plays random moves.
#[derive(Clone, Debug)]
pub struct RandomPlanner {
    random: Random,
}

impl RandomPlanner {
    /// Creates a planner. `seed` determines its moves.
    pub fn new(seed: u64) -> Self {
        Self { random: Random::from_seed(seed) }
    }
}

impl Planner for RandomPlanner {
    fn decide(&mut self, world: &World, state: &State, _: Budget) -> Result<Choice, PlannerError> {
        let player_move = SurvivalProblem::new(world).random(state, &mut Vec::new(), &mut self.random);
        Ok(Choice { player_move, source: Source::Fallback, planned_tick: None, simulated_ticks: 0 })
    }
}
