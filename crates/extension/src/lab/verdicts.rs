use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use numpy::{PyArray1, PyArrayMethods};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use getaway::game::{self, Move, Plan, Rules, World};
use getaway::search::Budget;
use getaway::solve::{self, Outcome, SolverOptions, Verdict};

use crate::convert::{seed_or_0, type_name, without_gil};
use crate::game::{Board, Game, State};
use crate::value::{to_move, to_value_of};

/// Default budget per move in simulated ticks, which take about ten milliseconds.
pub(super) const JUDGE_TICKS: u64 = 100_000;

/// Games per thread between two checks for Ctrl-C.
const SLICE_GAMES: usize = 8;

const MEMORY_MAX_BYTES: usize = 64 << 20;

fn judge(world: &World, state: &game::State, budget_ticks: u64, seed: u64) -> Vec<Verdict> {
    let options = SolverOptions { seed, memory_max_bytes: MEMORY_MAX_BYTES };
    solve::judge_moves(world, state, Budget::ticks(budget_ticks), options)
}

/// Judge every legal move of a state by solving the game after the move.
///
/// A move survives if the search finds a line that begins with the move and survives every tick. It
/// is doomed if a proof shows that no such line exists, and otherwise undecided. The answer is the
/// same on every machine.
///
/// Args:
///     state: the state, or a game in this state.
///     budget_ticks: maximum number of simulated ticks per move.
///     seed: the seed of the search.
///
/// Returns:
///     A dict from each of `state.legal_moves` to its `Verdict`; empty if the game is over.
#[pyfunction]
#[pyo3(signature = (state, *, budget_ticks = JUDGE_TICKS, seed = None),
    text_signature = "(state, *, budget_ticks=100000, seed=0)")]
pub(crate) fn judge_moves<'py>(
    state: &Bound<'py, PyAny>,
    budget_ticks: u64,
    seed: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let (py, seed) = (state.py(), seed_or_0(seed)?);
    if !state.is_instance_of::<Game>() && !state.is_instance_of::<State>() {
        let found = type_name(state);
        return Err(PyTypeError::new_err(format!("state: expected a Game or a State, found {found}")));
    }
    let board = Board::of(state, &Rules::BLITZ_2025, None)?;
    let state = board.state_of(state)?;
    let verdicts = without_gil(py, || judge(&board.world, &state, budget_ticks, seed))?;
    py.check_signals()?;
    let found = PyDict::new(py);
    for Verdict { player_move, solution, .. } in verdicts {
        let moves = Plan::from(&solution.moves[..]).to_string();
        let fields = (solution.outcome.name(), moves, solution.final_tick, solution.bound_tick);
        found.set_item(to_move(py, player_move)?, to_value_of(py, "Verdict", fields)?)?;
    }
    Ok(found)
}

/// Judges the moves of all games on up to `threads` threads. Returns the verdicts of each game, in
/// the order of `games`.
pub(super) fn judge_games(
    py: Python<'_>,
    games: &[(&World, &game::State)],
    threads: usize,
    budget_ticks: u64,
    seed: u64,
) -> PyResult<Vec<Vec<Verdict>>> {
    let mut verdicts = Vec::with_capacity(games.len());
    for slice in games.chunks(SLICE_GAMES * threads) {
        verdicts.extend(without_gil(py, || judge_slice(slice, threads, budget_ticks, seed))?);
        py.check_signals()?;
    }
    Ok(verdicts)
}

fn judge_slice(games: &[(&World, &game::State)], threads: usize, budget_ticks: u64, seed: u64) -> Vec<Vec<Verdict>> {
    let (next, found) = (AtomicUsize::new(0), Mutex::new(vec![Vec::new(); games.len()]));
    let work = || loop {
        let index = next.fetch_add(1, Ordering::Relaxed);
        let Some(&(world, state)) = games.get(index) else { break };
        let verdicts = judge(world, state, budget_ticks, seed);
        found.lock().unwrap_or_else(PoisonError::into_inner)[index] = verdicts;
    };
    thread::scope(|scope| {
        for _ in 1..threads.min(games.len()) {
            // If a thread cannot be started, the others judge all games.
            let _ = thread::Builder::new().spawn_scoped(scope, work);
        }
        work();
    });
    found.into_inner().unwrap_or_else(PoisonError::into_inner)
}

pub(super) fn to_verdicts<'py>(py: Python<'py>, verdicts: &[Vec<Verdict>]) -> PyResult<Bound<'py, PyAny>> {
    let moves = Move::ALL.len();
    let mut outcomes = vec![-1_i8; verdicts.len() * moves];
    let (mut final_ticks, mut bounds) = (vec![0_u16; outcomes.len()], vec![0_u16; outcomes.len()]);
    for (game, verdicts) in verdicts.iter().enumerate() {
        for Verdict { player_move, solution, .. } in verdicts {
            let index = game * moves + *player_move as usize;
            outcomes[index] = match solution.outcome {
                Outcome::Doomed => 0,
                Outcome::Undecided => 1,
                Outcome::Survives => 2,
            };
            (final_ticks[index], bounds[index]) = (solution.final_tick, solution.bound_tick);
        }
    }
    let shape = [verdicts.len(), moves];
    let fields = (
        PyArray1::from_vec(py, outcomes).reshape(shape)?,
        PyArray1::from_vec(py, final_ticks).reshape(shape)?,
        PyArray1::from_vec(py, bounds).reshape(shape)?,
    );
    to_value_of(py, "Verdicts", fields)
}
