//! Any expression of the search grammar as a planner, and the known algorithms by their names.
//!
//! The search runs within each tick's limit; the best sequence and the trees are kept from tick to tick, and once a sequence reaches the end
//! of the game it is played without further search. A limit in expansions counts evaluations here: whole lives.

use super::course::{self, Course};
use super::problem::Chase;
use super::safest::Safest;
use super::{Budget, Choice, Planner, Source, TICKS_DEFAULT};
use crate::game::{LAST_TICK, Move, State, World};
use crate::search::{Expression, Search};

/// The most nodes of a tree. Taking the part below the move that was played copies them, and must not take longer than about a millisecond.
const TREE_NODES_MAX: usize = 1 << 16;

/// Plays what an expression finds.
pub struct Grammar {
    search: Search<Move>,
    /// The last move, and the state to which it leads.
    due: Option<(Move, State)>,
    /// A sequence to the end of the game.
    course: Option<Course>,
    safest: Safest,
}

impl Grammar {
    /// A planner that searches with `expression`, with all randomness from `seed`.
    pub fn new(expression: Expression, seed: u64) -> Self {
        let search = Search::new(expression, seed).with_tree_nodes_max(TREE_NODES_MAX);
        Self { search, due: None, course: None, safest: Safest::new() }
    }

    /// Tells the search what has become of the game since it last looked.
    fn follow(&mut self, state: &State) {
        match self.due.take() {
            Some((player_move, due)) if due == *state => {
                self.search.advance(player_move);
            }
            _ => self.search.forget(),
        }
    }
}

impl Planner for Grammar {
    fn decide(&mut self, world: &World, state: &State, budget: Budget) -> Choice {
        if let Some(player_move) = self.course.as_mut().and_then(|course| course.take(world, state)) {
            return Choice { player_move, source: Source::Plan, planned_tick: Some(LAST_TICK + 1), simulated_ticks: 0 };
        }
        self.follow(state);
        let outcome = self.search.run(&Chase::new(world), state, with_default(budget));
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
        self.due = Some((choice.player_move, course::successor(world, state, choice.player_move)));
        self.course = line.filter(|_| choice.planned_tick > Some(LAST_TICK)).map(|line| {
            let mut course = Course::new(state, line.actions);
            course.take(world, state);
            course
        });
        choice
    }
}

/// The budget, with a default limit where it has none.
fn with_default(budget: Budget) -> Budget {
    let has_limit = budget != Budget::UNLIMITED;
    if has_limit { budget } else { Budget { ticks: Some(TICKS_DEFAULT), ..budget } }
}
