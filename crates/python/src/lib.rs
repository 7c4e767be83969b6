//! The extension module `getaway._getaway`: the only file that knows Python.
//!
//! It converts and nothing else; what the classes and functions mean is in `python/getaway/__init__.pyi`, which the tests hold against this module.
//! The promise: whoever searches lets go of the interpreter, errors are Python exceptions with a sentence, and a panic, which is a bug
//! of ours, comes out as a `RuntimeError`.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use pyo3::exceptions::{PyFileNotFoundError, PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyInt, PyString};

use getaway::bot::{self, BotOptions};
use getaway::game::{Action, Layout, Move, POINTS_PER_TICK, State, World};
use getaway::map::{Map, MapError, MapLibrary};
use getaway::planner::{self, Limit, Outcome, Survival, SurvivalOptions};
use getaway::protocol::{GameMessage, MessageWriter, parse_action, to_json};

/// How long a search goes on before it looks whether Ctrl-C was pressed.
const SIGNAL_PERIOD: Duration = Duration::from_millis(500);

/// Works without the interpreter.
fn detached<T: Send>(py: Python<'_>, work: impl FnOnce() -> T + Send) -> PyResult<T> {
    py.detach(|| caught(work))
}

/// Works; a panic becomes an exception.
fn caught<T>(work: impl FnOnce() -> T) -> PyResult<T> {
    // What was being worked on may be half done: a bot is replaced, and everything else is as plain as a number.
    catch_unwind(AssertUnwindSafe(work)).map_err(|panic| {
        let text = panic_text(panic.as_ref());
        PyRuntimeError::new_err(format!("a bug in getaway, please report it: {text}"))
    })
}

fn panic_text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message")
}

fn value_error(error: impl std::fmt::Display) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// A JSON value as Python reads it.
fn to_python<'py>(py: Python<'py>, json: &str) -> PyResult<Bound<'py, PyAny>> {
    py.import("json")?.call_method1("loads", (json,))
}

/// A Python value as JSON.
fn from_python(value: &Bound<'_, PyAny>) -> PyResult<String> {
    value.py().import("json")?.call_method1("dumps", (value,))?.extract()
}

/// An action as a dict; `None` to stay.
fn action_dict<'py>(py: Python<'py>, player_move: Move) -> PyResult<Option<Bound<'py, PyAny>>> {
    player_move.direction().map(|direction| to_python(py, &to_json(&Action::Move(direction)))).transpose()
}

/// A number of milliseconds as a duration.
fn duration(name: &str, milliseconds: f64) -> PyResult<Duration> {
    Duration::try_from_secs_f64(milliseconds / 1e3)
        .map_err(|_| PyValueError::new_err(format!("{name}: expected milliseconds from 0 on, found {milliseconds}")))
}

/// A seed, or a number of evaluations, if there is one.
fn whole(name: &str, value: Option<&Bound<'_, PyAny>>) -> PyResult<Option<u64>> {
    let Some(value) = value else { return Ok(None) };
    if !value.is_instance_of::<PyInt>() {
        let found = value.get_type();
        return Err(PyTypeError::new_err(format!("{name}: expected an int, found {}", found.name()?)));
    }
    let refused =
        |_: PyErr| value_error(format_args!("{name}: expected a whole number from 0 to 2**64 - 1, found {value}"));
    value.extract().map(Some).map_err(refused)
}

fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

fn name_repr(flag: bool) -> &'static str {
    if flag { "True" } else { "False" }
}

/// See `python/getaway/__init__.pyi`.
#[pyclass(module = "getaway", frozen)]
struct Bot {
    bot: Mutex<Player>,
}

/// A bot, and what it decided last.
struct Player {
    bot: bot::Bot,
    last: Option<bot::Decision>,
}

impl Bot {
    fn lock(&self) -> MutexGuard<'_, Player> {
        // Panics are caught while the lock is held.
        self.bot.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn decide(&self, frame: &[u8]) -> PyResult<bot::Decision> {
        let arrival = Instant::now();
        let message = GameMessage::parse(frame)
            .map_err(|error| value_error(format_args!("the message cannot be read: {error}")))?;
        let player = &mut *self.lock();
        let options = player.bot.options().clone();
        match caught(|| player.bot.next_action_since(&message, arrival)) {
            Ok(decision) => {
                let decision = decision.map_err(value_error)?;
                player.last = Some(decision);
                Ok(decision)
            }
            Err(panic) => {
                player.bot = bot::Bot::new(options).map_err(value_error)?;
                Err(panic)
            }
        }
    }
}

#[pymethods]
impl Bot {
    #[new]
    #[pyo3(signature = (planner = planner::DEFAULT_NAME, budget_ms = 75.0, seed = None, *, evaluations_max = None, no_jump = false),
        text_signature = "(planner='survival', budget_ms=75.0, seed=0, *, evaluations_max=None, no_jump=False)")]
    fn new(
        planner: &str,
        budget_ms: f64,
        seed: Option<&Bound<'_, PyAny>>,
        evaluations_max: Option<&Bound<'_, PyAny>>,
        no_jump: bool,
    ) -> PyResult<Self> {
        let (seed, evaluations_max) = (whole("seed", seed)?.unwrap_or(0), whole("evaluations_max", evaluations_max)?);
        let budget = duration("budget_ms", budget_ms)?;
        let planner = planner.to_owned();
        let options = BotOptions { planner, budget, evaluations_max, seed, no_jump, ..BotOptions::default() };
        let bot = bot::Bot::new(options).map_err(value_error)?;
        Ok(Self { bot: Mutex::new(Player { bot, last: None }) })
    }

    #[pyo3(signature = (game_message, /))]
    fn next_action<'py>(&self, game_message: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let py = game_message.py();
        let decide = |frame: &[u8]| detached(py, || self.decide(frame))?;
        let decision = if let Ok(text) = game_message.cast::<PyString>() {
            decide(text.to_str()?.as_bytes())
        } else if let Ok(bytes) = game_message.cast::<PyBytes>() {
            decide(bytes.as_bytes())
        } else if game_message.is_instance_of::<PyDict>() {
            decide(from_python(game_message)?.as_bytes())
        } else {
            let found = game_message.get_type().name()?;
            Err(PyTypeError::new_err(format!("game_message: expected str, bytes or dict, found {found}")))
        }?;
        action_dict(py, decision.player_move)
    }

    #[getter]
    fn last_decision(&self, py: Python<'_>) -> Option<Decision> {
        let last = py.detach(|| self.lock().last);
        last.map(|decision| Decision {
            tick: decision.tick,
            source: decision.source.name(),
            planned_tick: decision.planned_tick,
            evaluations: decision.evaluations,
            milliseconds: milliseconds(decision.elapsed),
        })
    }

    #[getter]
    fn mispredictions(&self, py: Python<'_>) -> Vec<u32> {
        py.detach(|| self.lock().bot.mispredictions())
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        let options = py.detach(|| self.lock().bot.options().clone());
        let BotOptions { planner, budget, seed, no_jump, .. } = options;
        let (budget_ms, no_jump) = (milliseconds(budget), name_repr(no_jump));
        format!("Bot({planner:?}, budget_ms={budget_ms}, seed={seed}, no_jump={no_jump})")
    }
}

/// See `python/getaway/__init__.pyi`.
#[pyclass(module = "getaway", frozen, get_all)]
struct Decision {
    tick: u32,
    source: &'static str,
    planned_tick: Option<u16>,
    evaluations: u64,
    milliseconds: f64,
}

#[pymethods]
impl Decision {
    fn __repr__(&self) -> String {
        let Self { tick, source, evaluations, milliseconds, .. } = self;
        let planned_tick = self.planned_tick.map_or_else(|| "None".to_owned(), |tick| tick.to_string());
        format!(
            "Decision(tick={tick}, source='{source}', planned_tick={planned_tick}, evaluations={evaluations}, milliseconds={milliseconds:.3})"
        )
    }
}

/// See `python/getaway/__init__.pyi`.
#[pyclass(module = "getaway")]
struct Game {
    name: String,
    world: Arc<World>,
    state: State,
}

impl Game {
    fn start(py: Python<'_>, name: String, layout: &Layout, no_jump: bool) -> PyResult<Self> {
        let world = detached(py, || World::new(layout, no_jump))?;
        let world = world.map_err(|error| value_error(format_args!("{name}: {error}")))?;
        let state = world.start();
        Ok(Self { name, world: Arc::new(world), state })
    }

    fn load(py: Python<'_>, map: &PathBuf, no_jump: bool) -> PyResult<Self> {
        let Map { name, layout, .. } = load_map(py, map)?;
        Self::start(py, name, &layout, no_jump)
    }
}

/// The map of this name, or in this folder.
fn load_map(py: Python<'_>, map: &PathBuf) -> PyResult<Map> {
    let loaded = detached(py, || match map.to_str() {
        Some(name_or_path) => MapLibrary::with_our_maps(Vec::<PathBuf>::new()).find(name_or_path),
        None => Map::load(map),
    })?;
    loaded.map_err(map_error)
}

fn map_error(error: MapError) -> PyErr {
    match error {
        MapError::NoFolder { .. } | MapError::NoFile { .. } | MapError::UnknownName { .. } => {
            PyFileNotFoundError::new_err(error.to_string())
        }
        _ => value_error(error),
    }
}

/// A command from Python: an action, several, or none.
fn actions(action: Option<&Bound<'_, PyAny>>) -> PyResult<Vec<Action>> {
    let Some(action) = action else { return Ok(Vec::new()) };
    let json: serde_json::Value = serde_json::from_str(&from_python(action)?).map_err(value_error)?;
    match &json {
        serde_json::Value::Array(actions) => Ok(actions.iter().map(parse_action).collect()),
        serde_json::Value::Object(_) => Ok(vec![parse_action(&json)]),
        _ => Err(PyTypeError::new_err(format!(
            "action: expected a dict, a list of dicts or None, found {}",
            action.get_type().name()?
        ))),
    }
}

#[pymethods]
impl Game {
    #[new]
    #[pyo3(signature = (map, *, no_jump = false))]
    fn new(py: Python<'_>, map: PathBuf, no_jump: bool) -> PyResult<Self> {
        Self::load(py, &map, no_jump)
    }

    #[staticmethod]
    #[pyo3(signature = (drawing, *, no_jump = false))]
    fn parse(py: Python<'_>, drawing: &str, no_jump: bool) -> PyResult<Self> {
        let layout = caught(|| Layout::parse(drawing))?.map_err(value_error)?;
        Self::start(py, "drawing".to_owned(), &layout, no_jump)
    }

    #[pyo3(signature = (action = None, /))]
    fn step<'py>(
        &mut self,
        py: Python<'py>,
        action: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let command = actions(action)?;
        let (world, state) = (&self.world, &mut self.state);
        let player_move = caught(|| world.play(state, &command))?.map_err(value_error)?;
        action_dict(py, player_move)
    }

    fn reset(&mut self) {
        self.state = self.world.start();
    }

    fn copy(&self) -> Self {
        Self { name: self.name.clone(), world: Arc::clone(&self.world), state: self.state.clone() }
    }

    #[pyo3(signature = (team_id = "getaway"))]
    fn frame(&self, team_id: &str) -> PyResult<String> {
        caught(|| MessageWriter::new(&self.world, team_id).write(&self.state))
    }

    #[pyo3(signature = (team_id = "getaway"))]
    fn message<'py>(&self, py: Python<'py>, team_id: &str) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &self.frame(team_id)?)
    }

    #[getter]
    fn name(&self) -> &str {
        &self.name
    }

    #[getter]
    fn no_jump(&self) -> bool {
        self.world.no_jump()
    }

    #[getter]
    fn rows(&self) -> Vec<String> {
        self.world.layout().rows()
    }

    #[getter]
    fn tick(&self) -> u16 {
        self.state.tick()
    }

    #[getter]
    fn score(&self) -> u32 {
        self.world.score(&self.state)
    }

    #[getter]
    fn is_over(&self) -> bool {
        self.state.is_over()
    }

    #[getter]
    fn is_caught(&self) -> bool {
        self.state.is_caught()
    }

    fn __repr__(&self) -> String {
        let (name, tick, score) = (&self.name, self.state.tick(), self.world.score(&self.state));
        format!("<Game {name:?}, tick {tick}, score {score}>")
    }
}

/// See `python/getaway/__init__.pyi`.
#[pyclass(module = "getaway", frozen, get_all)]
struct Solution {
    outcome: &'static str,
    moves: String,
    final_tick: u16,
    score: u32,
    expanded: u64,
    milliseconds: f64,
}

#[pymethods]
impl Solution {
    #[getter]
    fn actions<'py>(&self, py: Python<'py>) -> PyResult<Vec<Option<Bound<'py, PyAny>>>> {
        let moves = self.moves.chars().filter_map(Move::from_letter);
        moves.map(|player_move| action_dict(py, player_move)).collect()
    }

    fn __repr__(&self) -> String {
        let Self { outcome, final_tick, score, expanded, milliseconds, .. } = self;
        format!("<Solution {outcome}, tick {final_tick}, score {score}, {expanded} states, {milliseconds:.1} ms>")
    }
}

/// See `python/getaway/__init__.pyi`.
#[pyfunction]
#[pyo3(signature = (map, no_jump = false, time_limit_ms = 1000.0, seed = None),
    text_signature = "(map, no_jump=False, time_limit_ms=1000.0, seed=0)")]
fn solve(
    map: &Bound<'_, PyAny>,
    no_jump: bool,
    time_limit_ms: f64,
    seed: Option<&Bound<'_, PyAny>>,
) -> PyResult<Solution> {
    let py = map.py();
    let seed = whole("seed", seed)?.unwrap_or(0);
    let time_limit = duration("time_limit_ms", time_limit_ms)?;
    let game = match map.cast::<Game>() {
        Ok(game) => game.try_borrow()?.copy(),
        Err(_) => Game::load(py, &map.extract()?, no_jump)?,
    };
    if no_jump && !game.no_jump() {
        return Err(PyValueError::new_err("no_jump: the game given is of the other variant"));
    }
    let mut survival = Survival::new(SurvivalOptions { seed, ..SurvivalOptions::default() });
    let start = Instant::now();
    let mut expanded = 0;
    // In slices, so that Ctrl-C works: a search that is asked again goes on where it stopped.
    let solution = loop {
        let left = time_limit.saturating_sub(start.elapsed());
        let limit = Limit { deadline: Some(Instant::now() + left.min(SIGNAL_PERIOD)), expansions: None };
        let solution = detached(py, || survival.solve(&game.world, &game.state, limit))?;
        expanded += solution.expanded;
        py.check_signals()?;
        if solution.outcome != Outcome::Undecided || start.elapsed() >= time_limit {
            break solution;
        }
    };
    Ok(Solution {
        outcome: solution.outcome.name(),
        moves: solution.moves.iter().map(|player_move| player_move.letter()).collect(),
        final_tick: solution.final_tick,
        score: u32::from(solution.final_tick) * POINTS_PER_TICK,
        expanded,
        milliseconds: milliseconds(start.elapsed()),
    })
}

/// See `python/getaway/__init__.pyi`.
#[pyfunction]
#[pyo3(signature = (maps, threads = 1), text_signature = "(maps, threads=1)")]
fn signature(maps: &Bound<'_, PyAny>, threads: usize) -> PyResult<String> {
    let py = maps.py();
    let maps: Vec<PathBuf> = maps.extract().map_err(|_| PyTypeError::new_err("maps: expected a sequence of paths"))?;
    let maps: Vec<Map> = maps.iter().map(|map| load_map(py, map)).collect::<PyResult<_>>()?;
    let layouts: Vec<Layout> = maps.into_iter().map(|map| map.layout).collect();
    detached(py, || planner::signature(&layouts, threads))?.map_err(value_error)
}

/// Coveo's Blitz 2025 car chase, rebuilt exactly, searched and solved before the first move.
#[pymodule]
mod _getaway {
    #[pymodule_export]
    use super::{Bot, Decision, Game, Solution, signature, solve};

    #[pymodule_export]
    #[allow(non_upper_case_globals)]
    const __version__: &str = env!("CARGO_PKG_VERSION");
}
