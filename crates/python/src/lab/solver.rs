use std::time::Instant;

use pyo3::prelude::*;

use getaway::game::{self, LAST_TICK, Plan, Rules};
use getaway::planner::{Budget, Certificate, Decider, Outcome, SurvivalOptions};

use crate::convert::{duration, milliseconds, seed_or_0, variant, without_gil};
use crate::game::{Board, Game, State};
use crate::value::to_value_of;

/// The same value as the default of [`SurvivalOptions`].
const MEMORY_MAX_BYTES: usize = 256 << 20;

/// Simulated ticks per slice. A slice takes about 0.1 s. Slices of equal time would make the answer
/// depend on the machine.
const SLICE_TICKS: u64 = 1_000_000;

/// Solve a game from the start of a map, or from the current state of a game.
///
/// The search ends when it finds a line that survives, when it proves that no line is longer than
/// the longest one found, or at a limit. Unless the time limit is reached, the same arguments give
/// the same moves on every machine. The call releases the interpreter lock and can be interrupted
/// with Ctrl-C.
///
/// Args:
///     map: a map, its name or path, to solve from the start, or a game or state to continue.
///     no_jump: whether to play the no-jump variant.
///     rules: a dict of the rules that differ from the server's.
///     time_limit_ms: time limit in milliseconds.
///     budget_ticks: limit in simulated ticks.
///     seed: the seed of the search.
///     memory_max_bytes: maximum memory of the survival search, in bytes; the proof that follows
///         may use several times as much.
///
/// Raises:
///     FileNotFoundError: if the map does not exist.
///     ValueError: if the map cannot be read or played, or another argument is invalid, for example
///         if `rules` is given for a game or a state, which has its own rules.
#[pyfunction]
#[allow(clippy::too_many_arguments, reason = "the options of one call")]
#[pyo3(signature = (map, *, no_jump = Rules::BLITZ_2025, rules = None, time_limit_ms = 1000.0, budget_ticks = None, seed = None, memory_max_bytes = MEMORY_MAX_BYTES),
    text_signature = "(map, *, no_jump=False, rules=None, time_limit_ms=1000.0, budget_ticks=None, seed=0, memory_max_bytes=268435456)")]
pub(crate) fn solve<'py>(
    map: &Bound<'py, PyAny>,
    #[pyo3(from_py_with = variant)] no_jump: Rules,
    rules: Option<&Bound<'py, PyAny>>,
    time_limit_ms: f64,
    budget_ticks: Option<u64>,
    seed: Option<&Bound<'py, PyAny>>,
    memory_max_bytes: usize,
) -> PyResult<Bound<'py, PyAny>> {
    let py = map.py();
    let seed = seed_or_0(seed)?;
    let time_limit = duration("time_limit_ms", time_limit_ms)?;
    let board = Board::of(map, &no_jump, rules)?;
    let (world, start) = (&board.world, start_of(map, &board)?);
    let mut decider = Decider::new(SurvivalOptions { seed, memory_max_bytes, ..SurvivalOptions::default() });
    let began = Instant::now();
    let (mut simulated_ticks, mut decided) = (0, None);
    // Check for Ctrl-C after each slice. The next slice continues where the last one stopped.
    let solution = loop {
        let left_ticks =
            budget_ticks.map_or(SLICE_TICKS, |budget| SLICE_TICKS.min(budget.saturating_sub(simulated_ticks)));
        let limit = Budget::time(time_limit.saturating_sub(began.elapsed())).and(Budget::ticks(left_ticks));
        let solution = without_gil(py, || decider.solve(world, &start, limit))?;
        simulated_ticks += solution.simulated_ticks;
        py.check_signals()?;
        if solution.outcome != Outcome::Undecided {
            decided = decided.or_else(|| Some(began.elapsed()));
        }
        let is_used_up = budget_ticks.is_some_and(|budget| simulated_ticks >= budget);
        if solution.is_optimal() || is_used_up || began.elapsed() >= time_limit {
            break solution;
        }
    };
    let elapsed = began.elapsed();
    let is_certified = solution.bound <= LAST_TICK && start == world.start();
    let certificate = is_certified.then(|| Certificate::new(world.rules(), &solution, decider.proof()).to_string());
    let fields = (
        solution.outcome.name(),
        Plan::from(&solution.moves[..]).to_string(),
        solution.final_tick,
        solution.bound,
        simulated_ticks,
        decided.map(milliseconds),
        milliseconds(elapsed),
        certificate,
    );
    to_value_of(py, "Solution", fields)
}

fn start_of(map: &Bound<'_, PyAny>, board: &Board) -> PyResult<game::State> {
    if let Ok(game) = map.cast::<Game>() {
        return Ok(game.try_borrow()?.state.clone());
    }
    Ok(map.cast::<State>().map_or_else(|_| board.world.start(), |state| state.get().state.clone()))
}
