//! `survival`, the default planner: searches the entire game for a line that survives, and plays
//! the longest line found. It also tries to prove that no line is longer.

use super::follower::PlanFollower;
use super::safest::SafestPlanner;
use super::{Budget, Choice, Planner, PlannerError, Source};
use crate::game::{Move, State, World};
use crate::solve::{Solution, Solver, SolverOptions};

/// Plays the line that a [`Solver`] finds.
#[derive(Debug)]
pub struct SurvivalPlanner {
    solver: Solver,
    follower: Option<(PlanFollower, u16)>,
    safest: SafestPlanner,
}

impl SurvivalPlanner {
    /// Creates the planner.
    pub fn new(options: SolverOptions) -> Self {
        Self { solver: Solver::for_play(options), follower: None, safest: SafestPlanner::new() }
    }

    fn follow(&mut self, world: &World, state: &State) -> Option<Choice> {
        let (follower, final_tick) = self.follower.as_mut()?;
        let player_move = follower.next_move(world, state)?;
        Some(Choice { player_move, source: Source::Plan, planned_tick: Some(*final_tick), simulated_ticks: 0 })
    }

    pub(super) fn remaining(&self, state: &State) -> Option<&[Move]> {
        self.follower.as_ref()?.0.remaining(state)
    }

    pub(super) fn set_plan(&mut self, state: &State, moves: Vec<Move>, final_tick: u16) {
        self.follower = Some((PlanFollower::new(state, moves), final_tick));
    }
}

impl Planner for SurvivalPlanner {
    fn decide(&mut self, world: &World, state: &State, budget: Budget) -> Result<Choice, PlannerError> {
        if let Some(choice) = self.follow(world, state) {
            return Ok(choice);
        }
        self.follower = None;
        let solution = self.solver.solve(world, state, budget);
        let is_final = solution.is_optimal();
        let Solution { moves, final_tick, simulated_ticks, .. } = solution;
        let Some(&player_move) = moves.first() else {
            return Ok(self.safest.fall_back(world, state, simulated_ticks));
        };
        if is_final {
            self.set_plan(state, moves, final_tick);
            self.follow(world, state);
        }
        let source = if simulated_ticks > 0 { Source::Search } else { Source::Plan };
        Ok(Choice { player_move, source, planned_tick: Some(final_tick), simulated_ticks })
    }
}
