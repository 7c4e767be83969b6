//! `survival`, the default planner: searches the entire game for a line that survives, and plays
//! the longest line found. It also tries to prove that no line is longer.

use super::follower::PlanFollower;
use super::safest::SafestPlanner;
use super::{Budget, Choice, Planner, PlannerFailure, Source};
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
    fn decide(&mut self, world: &World, state: &State, budget: Budget) -> Result<Choice, PlannerFailure> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::game::{LAST_TICK, Rules, Style};
    use crate::map::{GeneratorKind, GeneratorOptions, generate_nth};

    /// A labyrinth in which no line survives, with layers too wide for an exhaustive search.
    fn doomed(index: u64) -> World {
        let options = GeneratorOptions {
            kind: GeneratorKind::Labyrinth,
            width: 15,
            height: 13,
            threats: 6,
            styles: Style::ALL.to_vec(),
            braid_permille: 250,
        };
        World::new(&generate_nth(&options, 7, index).expect("a map").layout, &Rules::NO_JUMP).expect("a world")
    }

    #[test]
    fn doomed_game_lasts_as_long_as_possible_and_is_not_searched_again() {
        let world = doomed(19);
        let mut planner = SurvivalPlanner::new(SolverOptions::default());
        let mut state = world.start();
        let first = planner.decide(&world, &state, Budget::ticks(2_000_000)).expect("a move");
        let solution = Solver::new(SolverOptions::default()).solve(&world, &state, Budget::ticks(2_000_000));
        assert!(solution.is_optimal() && solution.bound <= LAST_TICK);
        assert_eq!(first.planned_tick, Some(solution.bound));
        world.step_unchecked(&mut state, first.player_move);
        while !state.is_over() {
            let choice = planner.decide(&world, &state, Budget::ticks(2_000_000)).expect("a move");
            assert_eq!((choice.source, choice.simulated_ticks), (Source::Plan, 0));
            world.step_unchecked(&mut state, choice.player_move);
        }
        assert_eq!(state.tick(), solution.bound);
    }

    #[test]
    fn proof_with_small_budgets_continues_while_moves_are_played() {
        let world = doomed(2);
        let mut planner = SurvivalPlanner::new(SolverOptions::default());
        let mut state = world.start();
        let mut last_tick_searched = 0;
        while !state.is_over() {
            let choice = planner.decide(&world, &state, Budget::ticks(20_000)).expect("a move");
            assert!(choice.simulated_ticks <= 20_000 + 1024, "{}", choice.simulated_ticks);
            if choice.source == Source::Search {
                last_tick_searched = state.tick();
            }
            world.step_unchecked(&mut state, choice.player_move);
        }
        assert!(last_tick_searched + 50 < state.tick(), "searched until tick {last_tick_searched} of {}", state.tick());
    }
}
