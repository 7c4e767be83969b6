//! Judges each of the player's five moves in a state as surviving, doomed or undecided.
//!
//! Guarantees: a move is judged surviving only if a line that starts with it was played to the end
//! of the game. Doomed moves and bounds are proven.

use serde::Serialize;

use getaway::game::{Move, Plan, State, World};
use getaway::search::Budget;
use getaway::solve::{Judge, Outcome, Solution, SolverOptions, Verdict};

/// Budget per move in each round, in simulated ticks.
const ROUNDS: [u64; 4] = [20_000, 100_000, 1_000_000, 4_000_000];
const MEMORY_MAX_BYTES: usize = 64 << 20;
/// The page draws at most this many moves of a line.
const LINE_MOVES_MAX: usize = 40;

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
    pub bound_tick: u16,
    /// The first moves of the longest line found, from this move on.
    pub line: Plan,
}

/// Judges in rounds, and calls `report` after each round that does not decide all moves. Ends early
/// if `report` returns false.
pub fn judge(world: &World, state: &State, mut report: impl FnMut(&Judgement) -> bool) -> Judgement {
    let options = SolverOptions { memory_max_bytes: MEMORY_MAX_BYTES, ..SolverOptions::default() };
    let mut judge = Judge::new(world, state, options);
    for (round, ticks) in ROUNDS.into_iter().enumerate() {
        // A doomed move gets a second round if a longer line may exist.
        let is_decided = |rounds: usize| {
            move |solution: &Solution| solution.is_optimal() || (rounds >= 2 && solution.outcome != Outcome::Undecided)
        };
        judge.advance(world, Budget::ticks(ticks), is_decided(round));
        let verdicts = judge.verdicts();
        let is_done = verdicts.iter().all(|verdict| is_decided(round + 1)(&verdict.solution));
        if is_done || !report(&judgement(state, &verdicts)) {
            break;
        }
    }
    judgement(state, &judge.verdicts())
}

fn judgement(state: &State, verdicts: &[Verdict]) -> Judgement {
    let judged = |player_move: Move| {
        let of = |wanted: Move| verdicts.iter().find(|verdict| verdict.player_move == wanted);
        let own = of(player_move);
        let Solution { outcome, final_tick, bound_tick, ref moves, .. } = own.or(of(Move::Stay))?.solution;
        let line = std::iter::once(player_move).chain(moves.iter().copied().skip(1));
        let line = line.take(LINE_MOVES_MAX).collect::<Vec<_>>().into();
        let (letter, is_blocked) = (player_move.letter(), own.is_none());
        Some(JudgedMove { letter, is_blocked, outcome, final_tick, bound_tick, line })
    };
    Judgement { tick: state.tick(), moves: Move::ALL.into_iter().filter_map(judged).collect() }
}
