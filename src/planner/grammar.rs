//! Plays expressions of the search grammar. While the game stays in the predicted state, keeps the
//! best sequence and the search trees between ticks, and searches no further once a sequence
//! survives the game.

use super::follower::PlanFollower;
use super::problem::SurvivalProblem;
use super::safest::SafestPlanner;
use super::{Budget, Choice, Planner, PlannerError, Source, TICKS_DEFAULT};
use crate::game::{LAST_TICK, Move, State, World};
use crate::search::{Expression, Search};

/// With this limit, copying the subtree of the played move takes at most about a millisecond.
const TREE_NODES_MAX: usize = 1 << 16;

/// Plays the best sequence that an expression finds.
pub struct ExpressionPlanner {
    search: Search<Move>,
    expected: Option<(Move, State)>,
    follower: Option<PlanFollower>,
    safest: SafestPlanner,
}

impl ExpressionPlanner {
    /// Creates a planner that searches with `expression`. `seed` determines its random numbers.
    pub fn new(expression: Expression, seed: u64) -> Self {
        let search = Search::new(expression, seed).with_tree_nodes_max(TREE_NODES_MAX);
        Self { search, expected: None, follower: None, safest: SafestPlanner::new() }
    }

    fn synchronise(&mut self, state: &State) {
        match self.expected.take() {
            Some((player_move, expected)) if expected == *state => {
                self.search.advance(player_move);
            }
            _ => self.search.reset(),
        }
    }
}

impl Planner for ExpressionPlanner {
    fn decide(&mut self, world: &World, state: &State, budget: Budget) -> Result<Choice, PlannerError> {
        if let Some(player_move) = self.follower.as_mut().and_then(|follower| follower.next_move(world, state)) {
            let planned_tick = Some(LAST_TICK + 1);
            return Ok(Choice { player_move, source: Source::Plan, planned_tick, simulated_ticks: 0 });
        }
        let budget = with_default(budget).started();
        self.synchronise(state);
        let outcome = self.search.run(&SurvivalProblem::new(world), state, budget);
        let (evaluations, simulated_ticks) = (outcome.evaluations, outcome.simulated_ticks);
        let line = outcome.best.filter(|line| !line.actions.is_empty());
        let choice = match &line {
            Some(line) => Choice {
                player_move: line.actions[0],
                source: if evaluations > 0 { Source::Search } else { Source::Plan },
                planned_tick: Some(line.reward as u16),
                simulated_ticks,
            },
            None => self.safest.fall_back(world, state, simulated_ticks),
        };
        self.expected = Some((choice.player_move, world.after(state, choice.player_move)));
        self.follower = line.filter(|_| choice.planned_tick > Some(LAST_TICK)).map(|line| {
            let mut follower = PlanFollower::new(state, line.actions);
            follower.next_move(world, state);
            follower
        });
        Ok(choice)
    }
}

fn with_default(budget: Budget) -> Budget {
    let has_limit = budget != Budget::UNLIMITED;
    if has_limit { budget } else { Budget { ticks: Some(TICKS_DEFAULT), ..budget } }
}
