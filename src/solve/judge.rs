//! The judge of moves.

use super::options::SolverOptions;
use super::solution::Solution;
use super::solver::Solver;
use crate::game::{Move, State, World};
use crate::search::Budget;

/// The verdict on a move.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Verdict {
    /// The move.
    pub player_move: Move,
    /// The longest known line that begins with the move, with its outcome and bound. The bound holds
    /// for lines that begin with the move, so there is no certificate of it.
    pub solution: Solution,
}

/// Judges all distinct moves in a state. A move is judged surviving only if a line that starts with
/// it was played to the end of the game. The outcome `Doomed` and every bound are proven.
#[derive(Debug)]
pub struct Judge {
    /// For each move: the state after it, the solver of this state, and its solution.
    moves: Vec<(Move, State, Solver, Solution)>,
}

impl Judge {
    /// Creates a judge of [`World::legal_moves`], in their order.
    pub fn new(world: &World, state: &State, options: SolverOptions) -> Self {
        let judged = |(player_move, next): (Move, State)| {
            let mut solver = Solver::new(options);
            let solution = solver.solve(world, &next, Budget::ticks(0));
            (player_move, next, solver, solution)
        };
        Self { moves: world.successors(state).map(judged).collect() }
    }

    /// Continues to judge each move that is not decided, with the full `budget` for each.
    pub fn advance(&mut self, world: &World, budget: Budget, is_decided: impl Fn(&Solution) -> bool) {
        for (_, next, solver, solution) in &mut self.moves {
            if !is_decided(solution) {
                *solution = solver.solve(world, next, budget);
            }
        }
    }

    /// Returns the verdicts so far.
    pub fn verdicts(&self) -> Vec<Verdict> {
        let verdict = |&(player_move, _, _, ref solution): &(Move, State, Solver, Solution)| {
            let mut solution = solution.clone();
            solution.moves.insert(0, player_move);
            Verdict { player_move, solution }
        };
        self.moves.iter().map(verdict).collect()
    }
}

/// Returns a verdict on each of [`World::legal_moves`]. Each move gets the full `budget`.
pub fn judge_moves(world: &World, state: &State, budget: Budget, options: SolverOptions) -> Vec<Verdict> {
    let mut judge = Judge::new(world, state, options);
    judge.advance(world, budget, |_| false);
    judge.verdicts()
}
