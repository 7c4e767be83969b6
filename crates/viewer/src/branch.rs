//! Branches: continuations of a game with different moves from some tick on.
//!
//! Guarantees: a page can run only this library's planners.

use thiserror::Error;

use super::replay::Replay;
use getaway::game::{Move, Plan, State, World};
use getaway::planner::{Budget, PlannerError, PlannerSpec};

/// Only this many frames at the end of a branch are annotated.
const ANNOTATED_FRAMES: usize = 60;
/// A planner's budget per decision, in simulated ticks.
const DECISION_TICKS: u64 = 20_000;
/// A planner's budget for a whole branch, in simulated ticks. Using it up takes a few seconds.
const BRANCH_TICKS: u64 = 20_000_000;

#[derive(Clone, Debug, PartialEq)]
pub struct Branch {
    pub moves: Vec<Move>,
    pub planner: Option<PlannerSpec>,
}

#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum BranchError {
    #[error("invalid moves: expected m, then moves written as L, R, U, D or \".\"")]
    Moves,
    #[error(transparent)]
    Planner(#[from] PlannerError),
}

impl Branch {
    /// Parses a page's request. `moves` is an `m` followed by the letters of the moves. Without the
    /// `m`, browsers would drop the single move `.` from the address. `planner` is a planner's name
    /// or expression, or `-` for no planner.
    pub fn parse(moves: &str, planner: &str) -> Result<Self, BranchError> {
        let moves = moves.strip_prefix('m').and_then(|moves| moves.parse::<Plan>().ok()).ok_or(BranchError::Moves)?.0;
        let planner = if planner == "-" { None } else { Some(planner.parse()?) };
        Ok(Self { moves, planner })
    }

    pub fn play(&self, world: &World, from: &State) -> Replay {
        let mut moves = self.moves.clone();
        let mut title = "another line".to_owned();
        if let Some(planner) = &self.planner {
            let mut state = from.clone();
            world.play_moves(&mut state, &moves);
            moves.extend(planned_moves(world, state, planner));
            title = planner.to_string();
        }
        branch(&title, world, from, &moves)
    }
}

pub(super) fn branch(title: &str, world: &World, from: &State, moves: &[Move]) -> Replay {
    Replay::of_branch(title, "branch", world, &world.states_along(from, moves), ANNOTATED_FRAMES)
}

fn planned_moves(world: &World, mut state: State, planner: &PlannerSpec) -> Vec<Move> {
    let mut planner = planner.build(0);
    let (mut moves, mut spent) = (Vec::new(), 0);
    while !state.is_over() && spent < BRANCH_TICKS {
        let Ok(choice) = planner.decide(world, &state, Budget::ticks(DECISION_TICKS)) else { break };
        // Even a decision without simulation takes time, so each decision costs 100 extra ticks.
        spent += choice.simulated_ticks + 100;
        world.step(&mut state, choice.player_move);
        moves.push(choice.player_move);
    }
    moves
}
