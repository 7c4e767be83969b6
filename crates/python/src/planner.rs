//! The survival search: `solve`, `Solution`; the planners' names and their `signature`.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;

use getaway::game::{Layout, Move, POINTS_PER_TICK, Plan, Rules};
use getaway::map::Map;
use getaway::planner::{self, Budget, Outcome, SurvivalOptions, SurvivalSearch};

use crate::convert::{action_dict, duration, milliseconds, optional_u64, value_error, variant, without_gil};
use crate::game::{Board, Game};
use crate::map::read_map;

/// Interval at which a search checks for Ctrl-C.
const SIGNAL_PERIOD: Duration = Duration::from_millis(500);

/// The result of a search.
#[pyclass(module = "getaway", frozen, get_all)]
pub(crate) struct Solution {
    /// Whether the player survives to the end, provably cannot, or neither was shown.
    outcome: &'static str,
    /// The moves, one letter per tick: L, R, U, D, and . to stay.
    moves: String,
    /// The last tick of the moves.
    final_tick: u16,
    /// The score of that tick.
    score: u32,
    /// The ticks that the search simulated.
    simulated_ticks: u64,
    /// The search time, without building the map's tables.
    milliseconds: f64,
}

#[pymethods]
impl Solution {
    /// The moves as actions.
    #[getter]
    fn actions<'py>(&self, py: Python<'py>) -> PyResult<Vec<Option<Bound<'py, PyAny>>>> {
        let moves = self.moves.chars().filter_map(|letter| Move::try_from(letter).ok());
        moves.map(|player_move| action_dict(py, player_move)).collect()
    }

    fn __repr__(&self) -> String {
        let Self { outcome, final_tick, score, simulated_ticks, milliseconds, .. } = self;
        format!(
            "<Solution {outcome}, tick {final_tick}, score {score}, {simulated_ticks} ticks simulated, {milliseconds:.1} ms>"
        )
    }
}

/// Solve a whole game before the first move, from the start of a map or from the state of a game.
///
/// The same seed finds the same moves if the search takes less than half a second. Releases the interpreter
/// lock; Ctrl-C works.
///
/// Args:
///     map: a map or a game, as for `Game`.
///     no_jump: whether to play the no-jump variant.
///     rules: rules that differ from the server's.
///     time_limit_ms: time limit in milliseconds.
///     seed: the seed of the search.
///
/// Raises:
///     FileNotFoundError: if there is no such map.
///     ValueError: if the map cannot be read or played, for a negative time limit, or for rules beside a game,
///         which has its own.
#[pyfunction]
#[pyo3(signature = (map, *, no_jump = Rules::BLITZ_2025, rules = None, time_limit_ms = 1000.0, seed = None),
    text_signature = "(map, *, no_jump=False, rules=None, time_limit_ms=1000.0, seed=0)")]
pub(crate) fn solve(
    map: &Bound<'_, PyAny>,
    #[pyo3(from_py_with = variant)] no_jump: Rules,
    rules: Option<&Bound<'_, PyAny>>,
    time_limit_ms: f64,
    seed: Option<&Bound<'_, PyAny>>,
) -> PyResult<Solution> {
    let py = map.py();
    let seed = optional_u64("seed", seed)?.unwrap_or(0);
    let time_limit = duration("time_limit_ms", time_limit_ms)?;
    let game = match map.cast::<Game>() {
        Ok(game) => game.try_borrow()?.copy(),
        Err(_) => Game::start(Board::of(map, &no_jump, rules)?),
    };
    if no_jump.no_jump && !game.no_jump() {
        return Err(PyValueError::new_err("no_jump: the given game is of the standard variant"));
    }
    let mut survival = SurvivalSearch::new(SurvivalOptions { seed, ..SurvivalOptions::default() });
    let start = Instant::now();
    let mut simulated_ticks = 0;
    // In slices, so that Ctrl-C works: the search resumes where it stopped.
    let solution = loop {
        let left = time_limit.saturating_sub(start.elapsed());
        let limit = Budget::time(left.min(SIGNAL_PERIOD));
        let solution = without_gil(py, || survival.solve(&game.board.world, &game.state, limit))?;
        simulated_ticks += solution.simulated_ticks;
        py.check_signals()?;
        if solution.outcome != Outcome::Undecided || start.elapsed() >= time_limit {
            break solution;
        }
    };
    Ok(Solution {
        outcome: solution.outcome.name(),
        moves: Plan::from(&solution.moves[..]).to_string(),
        final_tick: solution.final_tick,
        score: u32::from(solution.final_tick) * POINTS_PER_TICK,
        simulated_ticks,
        milliseconds: milliseconds(start.elapsed()),
    })
}

/// The search signature: 16 hexadecimal digits that identify what the planners do on these maps.
///
/// In both variants, with a fixed seed and budget. It does not depend on the machine or the number of threads,
/// and changes whenever a search changes. Takes about a second for a dozen maps.
///
/// Raises:
///     FileNotFoundError: if there is no such map.
///     ValueError: if a map cannot be read or played.
#[pyfunction]
#[pyo3(signature = (maps, threads = 1), text_signature = "(maps, threads=1)")]
pub(crate) fn signature(maps: &Bound<'_, PyAny>, threads: usize) -> PyResult<String> {
    let py = maps.py();
    let maps: Vec<PathBuf> = maps.extract().map_err(|_| PyTypeError::new_err("maps: expected a sequence of paths"))?;
    let maps: Vec<Map> = maps.iter().map(|map| read_map(py, map)).collect::<PyResult<_>>()?;
    let layouts: Vec<Layout> = maps.into_iter().map(|map| map.layout).collect();
    without_gil(py, || planner::signature(&layouts, threads))?.map_err(value_error)
}

/// The names of the planners that a `Bot` accepts.
#[pyfunction]
pub(crate) fn planners() -> Vec<&'static str> {
    planner::NAMES.iter().map(|&(name, _)| name).collect()
}
