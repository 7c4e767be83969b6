use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::time::{Duration, Instant};

use pyo3::prelude::*;

use getaway::game::{self, LAST_TICK, Plan, Rules};
use getaway::search::{Budget, BudgetMeter, TimeSource, install};
use getaway::solve::{Certificate, Outcome, SolverOptions};

use crate::convert::{milliseconds, seed_or_0, to_budget, variant, without_gil};
use crate::game::Board;
use crate::value::to_value_of;

/// The same value as the default of [`SolverOptions`].
const MEMORY_MAX_BYTES: usize = 256 << 20;

/// Interval between two checks for Ctrl-C.
const SIGNALS_INTERVAL: Duration = Duration::from_millis(50);

/// Limits the time of every search, because only a search with such a limit reads the clock.
const TIME_MAX: Duration = Duration::from_secs(24 * 60 * 60);

/// A clock whose time is up after Ctrl-C, so that a search stops.
#[derive(Debug)]
struct SignalClock {
    checked: Cell<Instant>,
    interrupt: RefCell<Option<PyErr>>,
}

impl TimeSource for SignalClock {
    fn now(&self) -> Instant {
        let now = Instant::now();
        if now - self.checked.get() >= SIGNALS_INTERVAL {
            self.checked.set(now);
            if let Err(interrupt) = Python::attach(|py| py.check_signals()) {
                *self.interrupt.borrow_mut() = Some(interrupt);
            }
        }
        if self.interrupt.borrow().is_some() { now + Duration::from_secs(u32::MAX.into()) } else { now }
    }
}

/// A solver that can be continued: each call of `solve` improves the line and the bound.
///
/// Args:
///     map: a map, its name or path, to solve from the start, or a game or state to continue.
///     no_jump: whether to play the no-jump variant; a game or state keeps its own variant.
///     rules: a dict of the rules that differ from the server's; not for a game or state.
///     seed: the seed of the search.
///     memory_max_bytes: maximum memory of the first survival search, in bytes. The limits of all
///         other searches are proportional to it; together they may use several times as much.
///
/// Raises:
///     FileNotFoundError: if the map does not exist.
///     ValueError: if the map cannot be read or played, or another argument is invalid, for example
///         if `rules` is given for a game or a state, which has its own rules.
#[pyclass(module = "getaway")]
pub(crate) struct Solver {
    board: Arc<Board>,
    start: game::State,
    solver: getaway::solve::Solver,
}

#[pymethods]
impl Solver {
    #[new]
    #[pyo3(signature = (map, *, no_jump = Rules::BLITZ_2025, rules = None, seed = None, memory_max_bytes = MEMORY_MAX_BYTES),
        text_signature = "(map, *, no_jump=False, rules=None, seed=0, memory_max_bytes=268435456)")]
    fn new(
        map: &Bound<'_, PyAny>,
        #[pyo3(from_py_with = variant)] no_jump: Rules,
        rules: Option<&Bound<'_, PyAny>>,
        seed: Option<&Bound<'_, PyAny>>,
        memory_max_bytes: usize,
    ) -> PyResult<Self> {
        let seed = seed_or_0(seed)?;
        let board = Board::of(map, &no_jump, rules)?;
        let start = board.state_of(map)?;
        let solver = getaway::solve::Solver::new(SolverOptions { seed, memory_max_bytes });
        Ok(Self { board, start, solver })
    }

    /// Improve the line and the bound.
    ///
    /// The search ends when it finds a line that survives, when it proves that no line is longer
    /// than the longest one found, or at a limit. Unless a time limit is reached, the same calls give
    /// the same moves on every machine. The call releases the GIL and can be interrupted
    /// with Ctrl-C.
    ///
    /// Args:
    ///     budget_ms: time limit of this call in milliseconds; more than a day counts as a day. By
    ///         default 1000, or a day if `budget_ticks` is given.
    ///     budget_ticks: limit of this call in simulated ticks.
    ///
    /// Raises:
    ///     ValueError: if a limit is invalid.
    #[pyo3(signature = (*, budget_ms = None, budget_ticks = None))]
    fn solve<'py>(
        &mut self,
        py: Python<'py>,
        budget_ms: Option<f64>,
        budget_ticks: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let Self { board, start, solver } = self;
        let world = &board.world;
        let budget = to_budget(budget_ms, budget_ticks, 1000.0)?.and(Budget::time(TIME_MAX));
        let began = Instant::now();
        let (solution, decided, interrupt) = without_gil(py, || {
            let clock = install(SignalClock { checked: Cell::new(began), interrupt: RefCell::default() });
            let (mut meter, mut decided) = (BudgetMeter::new(budget), None);
            loop {
                let mut solution = solver.advance(world, start, meter.remaining());
                meter.add_search(solution.simulated_ticks);
                if solution.outcome != Outcome::Undecided {
                    decided = decided.or_else(|| Some(began.elapsed()));
                }
                if solution.is_optimal() || meter.check().is_err() {
                    let interrupt = clock.interrupt.take();
                    solution.simulated_ticks = meter.ticks();
                    return (solution, decided, interrupt);
                }
            }
        })?;
        if let Some(interrupt) = interrupt {
            return Err(interrupt);
        }
        let elapsed = began.elapsed();
        let is_certified = solution.bound_tick <= LAST_TICK && *start == world.start();
        let certificate = is_certified.then(|| Certificate::new(world, &solution)).flatten().map(|one| one.to_string());
        let fields = (
            solution.outcome.name(),
            Plan::from(&solution.moves[..]).to_string(),
            solution.final_tick,
            solution.bound_tick,
            solution.simulated_ticks,
            decided.map(milliseconds),
            milliseconds(elapsed),
            certificate,
        );
        to_value_of(py, "Solution", fields)
    }
}

/// Solve a game from the start of a map, or from the current state of a game.
///
/// `solve(map, ...)` is `Solver(map, ...).solve(...)`: see `Solver` and its method for the arguments
/// and errors.
#[pyfunction]
#[allow(clippy::too_many_arguments, reason = "the options of one call")]
#[pyo3(signature = (map, *, no_jump = Rules::BLITZ_2025, rules = None, budget_ms = None, budget_ticks = None, seed = None, memory_max_bytes = MEMORY_MAX_BYTES),
    text_signature = "(map, *, no_jump=False, rules=None, budget_ms=None, budget_ticks=None, seed=0, memory_max_bytes=268435456)")]
pub(crate) fn solve<'py>(
    map: &Bound<'py, PyAny>,
    #[pyo3(from_py_with = variant)] no_jump: Rules,
    rules: Option<&Bound<'py, PyAny>>,
    budget_ms: Option<f64>,
    budget_ticks: Option<&Bound<'py, PyAny>>,
    seed: Option<&Bound<'py, PyAny>>,
    memory_max_bytes: usize,
) -> PyResult<Bound<'py, PyAny>> {
    Solver::new(map, no_jump, rules, seed, memory_max_bytes)?.solve(map.py(), budget_ms, budget_ticks)
}
