//! Branches: what would have happened if the player had moved differently from some tick on.

use super::replay::Replay;
use getaway::game::{Move, State, World};
use getaway::planner::{Budget, PlannerSpec};

/// Only this many last frames of a branch are annotated, because only these are shown while it
/// grows.
const ANNOTATED_FRAMES: usize = 60;
/// Work of a planner per decision of a branch, in simulated ticks.
const DECISION_TICKS: u64 = 20_000;
/// Work of a planner for a whole branch, in simulated ticks: a few seconds.
const BRANCH_TICKS: u64 = 20_000_000;

/// The branch that plays `moves` from a state on; its first frame is that state. Moves after the
/// end of the game are left out.
pub fn branch(title: &str, subtitle: &str, world: &World, from: &State, moves: &[Move]) -> Replay {
    Replay::of_branch(title, subtitle, world, &world.states_along(from, moves), ANNOTATED_FRAMES)
}

/// The moves of a planner from a state to the end of the game, or until the work limit is reached.
pub fn planned_moves(world: &World, from: &State, planner: &PlannerSpec) -> Vec<Move> {
    let mut planner = planner.build(0);
    let (mut state, mut moves, mut spent) = (from.clone(), Vec::new(), 0);
    while !state.is_over() && spent < BRANCH_TICKS {
        let choice = planner.decide(world, &state, Budget::ticks(DECISION_TICKS));
        // Planners without simulation also take time.
        spent += choice.simulated_ticks + 100;
        world.step(&mut state, choice.player_move);
        moves.push(choice.player_move);
    }
    moves
}
