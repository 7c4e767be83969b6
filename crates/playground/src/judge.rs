//! Judges each of the player's five moves in a state as surviving, doomed or undecided.
//!
//! Guarantees: a move is judged surviving only if a line that starts with it was played to the end
//! of the game. Doomed moves and bounds are proven.

use serde::Serialize;

use getaway::game::{Move, State, World};
use getaway::planner::{Budget, Decider, Outcome, Solution, SurvivalOptions};

/// Budget per move in each round, in simulated ticks.
const ROUNDS: [u64; 4] = [20_000, 100_000, 1_000_000, 4_000_000];
const MEMORY_MAX_BYTES: usize = 64 << 20;

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Judgement {
    pub tick: u16,
    pub moves: Vec<JudgedMove>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct JudgedMove {
    pub letter: char,
    /// True if the player cannot enter the target tile, so that the move has the effect of staying.
    pub is_blocked: bool,
    pub outcome: Outcome,
    /// The final tick of the longest line found; 2001 if the line survives.
    pub final_tick: u16,
    /// A proven bound: no line that starts with the move ends in a later tick.
    pub bound: u16,
}

/// Judges in rounds, and calls `report` after each round that does not decide all moves.
pub fn judge(world: &World, state: &State, mut report: impl FnMut(&Judgement)) -> Judgement {
    let distinct: Vec<Move> = world.moves(state).collect();
    let mut searches: Vec<Search> =
        distinct.iter().map(|&player_move| Search::new(world, state, player_move)).collect();
    for (round, ticks) in ROUNDS.into_iter().enumerate() {
        for search in searches.iter_mut().filter(|search| !search.is_decided(round)) {
            search.solution = search.decider.solve(world, &search.state, Budget::ticks(ticks));
        }
        if searches.iter().all(|search| search.is_decided(round + 1)) {
            break;
        }
        report(&judgement(state, &searches));
    }
    judgement(state, &searches)
}

struct Search {
    player_move: Move,
    state: State,
    decider: Decider,
    solution: Solution,
}

impl Search {
    fn new(world: &World, from: &State, player_move: Move) -> Self {
        let state = world.after(from, player_move);
        let options = SurvivalOptions { memory_max_bytes: MEMORY_MAX_BYTES, ..SurvivalOptions::default() };
        let mut decider = Decider::new(options);
        let solution = decider.solve(world, &state, Budget::ticks(0));
        Self { player_move, state, decider, solution }
    }

    /// A doomed move gets a second round if a longer line may exist.
    fn is_decided(&self, rounds: usize) -> bool {
        self.solution.is_optimal() || (rounds >= 2 && self.solution.outcome != Outcome::Undecided)
    }
}

fn judgement(state: &State, searches: &[Search]) -> Judgement {
    let judged = |player_move: Move| {
        let own = searches.iter().find(|search| search.player_move == player_move);
        let stay = searches.iter().find(|search| search.player_move == Move::Stay);
        let Solution { outcome, final_tick, bound, .. } = own.or(stay)?.solution;
        Some(JudgedMove { letter: player_move.letter(), is_blocked: own.is_none(), outcome, final_tick, bound })
    };
    Judgement { tick: state.tick(), moves: Move::ALL.into_iter().filter_map(judged).collect() }
}
