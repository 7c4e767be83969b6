use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use serde::Serialize;

use getaway::game::Rules;
use getaway::map;
use getaway_arena::{Dataset, GameRecord, Games, MARGIN_DEFAULT, Match, Series, SeriesError, SeriesOptions, evaluate};
use getaway_benchmark::attempts;
use getaway_runs::Workers;

use crate::callables::Host;
use crate::convert::{library_error, seed_or_0, to_budget, value_error, variant, without_gil};
use crate::map::Map;
use crate::value::{from_rules, to_value};

/// Play a series. `callables` maps names to Python planners. Return a dict with the games, the
/// planners' evaluations and, if `battle` is true, the match of the first two planners and a
/// sentence that sums it up.
#[pyfunction]
#[pyo3(signature = (planners, callables, maps, *, samples, seed, budget_ticks, budget_ms, no_jump, rules, threads, battle))]
#[allow(clippy::too_many_arguments, reason = "the options of one call")]
pub(crate) fn play_series<'py>(
    py: Python<'py>,
    planners: Vec<String>,
    callables: HashMap<String, Py<PyAny>>,
    maps: Vec<PyRef<'py, Map>>,
    samples: u32,
    seed: &Bound<'py, PyAny>,
    budget_ticks: Option<&Bound<'py, PyAny>>,
    budget_ms: Option<f64>,
    #[pyo3(from_py_with = variant)] no_jump: Rules,
    rules: Option<&Bound<'py, PyAny>>,
    threads: usize,
    battle: bool,
) -> PyResult<Bound<'py, PyDict>> {
    let rules = from_rules(&no_jump, rules)?;
    let budget = to_budget(budget_ms, budget_ticks, 0.0)?;
    let seed = seed_or_0(Some(seed))?;
    let maps: Vec<map::Map> = maps.iter().map(|map| map.map.clone()).collect();
    let options = SeriesOptions { planners, samples, seed, rules, budget };
    let host = Host::new(callables);
    let (stop, mut interrupted) = (AtomicBool::new(false), Ok(()));
    let played = without_gil(py, || {
        let series = Series::with_host(&maps, options, Some(&host))?;
        let mut games = Games::new();
        // Checks for Ctrl-C.
        let mut wait = || {
            if interrupted.is_ok() {
                interrupted = Python::attach(|py| py.check_signals());
                stop.store(interrupted.is_err(), Ordering::Relaxed);
            }
        };
        let go_on = |_, _: &Games| ControlFlow::<()>::Continue(());
        let _ = series.play_wanted(&mut games, Workers::Threads(threads), &stop, &|_| true, &mut wait, go_on)?;
        Ok((series, games))
    })?;
    interrupted?;
    let (series, games) = played.map_err(|error: SeriesError| library_error(py, &error))?;
    let results = PyDict::new(py);
    let rows: Vec<Bound<'py, PyDict>> = games.iter().flatten().map(|game| row(py, game)).collect::<PyResult<_>>()?;
    results.set_item("games", PyList::new(py, rows)?)?;
    results.set_item("planners", plain(py, &evaluate(&series, &games))?)?;
    if battle {
        let result = Match::of(&series, &games, [0, 1], None, MARGIN_DEFAULT);
        results.set_item("sentence", &result.verdict.sentence)?;
        results.set_item("match", plain(py, &result)?)?;
    }
    Ok(results)
}

fn plain<'py>(py: Python<'py>, data: &impl Serialize) -> PyResult<Bound<'py, PyAny>> {
    to_value(py, &serde_json::to_value(data).map_err(value_error)?)
}

fn row<'py>(py: Python<'py>, game: &GameRecord) -> PyResult<Bound<'py, PyDict>> {
    let row = PyDict::new(py);
    row.set_item("planner", &game.planner)?;
    row.set_item("map", &game.map)?;
    row.set_item("sample", game.sample)?;
    row.set_item("seed", game.seed)?;
    row.set_item("no_jump", game.rules.no_jump)?;
    row.set_item("score", game.score)?;
    row.set_item("final_tick", game.final_tick)?;
    row.set_item("survived", game.survived())?;
    row.set_item("decisions", game.decisions())?;
    row.set_item("simulated_ticks", game.simulated_ticks)?;
    row.set_item("mispredictions", game.mispredictions)?;
    row.set_item("decision_p50_ms", game.times.quantile_ms(0.5))?;
    row.set_item("decision_max_ms", game.times.max_ms())?;
    Ok(row)
}

/// The last series or dataset with its spec. Workers often do many jobs in a row with the same spec.
/// A thread holds the mutex only while it holds the GIL, so the mutex is free in a
/// forked process.
type Latest<T> = Mutex<Option<(String, Arc<T>)>>;

static SERIES: Latest<Series> = Mutex::new(None);
static DATASET: Latest<Dataset> = Mutex::new(None);

/// Play the games in a JSON array, and return the record of each game as JSON. `series` is the spec
/// of a series or ladder as JSON. `callables` maps names to Python planners.
///
/// Releases the GIL. Raises ValueError if the series is invalid or comes from another
/// build, or if a game is malformed, does not exist or fails.
#[pyfunction]
pub(crate) fn play_games(
    py: Python<'_>,
    series: &str,
    games: &str,
    callables: HashMap<String, Py<PyAny>>,
) -> PyResult<Vec<String>> {
    let kept = callables.is_empty().then_some(&SERIES);
    let host = Host::new(callables);
    let work = work_of(py, kept, series, || Series::from_spec(series, Some(&host)))?;
    without_gil(py, || work.play_lines(games, Some(&host)))?.map_err(|error| library_error(py, &error))
}

/// Play and judge shards of a dataset. Return each shard's file in base64, as a JSON string.
///
/// Releases the GIL. `callables` maps names to Python planners. Raises ValueError if
/// the dataset is invalid or comes from a different build, a shard does not exist, or a game fails.
#[pyfunction]
pub(crate) fn play_shards(
    py: Python<'_>,
    dataset: &str,
    shards: Vec<usize>,
    callables: HashMap<String, Py<PyAny>>,
) -> PyResult<Vec<String>> {
    let kept = callables.is_empty().then_some(&DATASET);
    let host = Host::new(callables);
    let work = work_of(py, kept, dataset, || Dataset::from_spec(dataset, Some(&host)))?;
    without_gil(py, || work.encoded_shards(&shards))?.map_err(|error| library_error(py, &error))
}

/// Returns the series or dataset in `kept` if its spec is `spec`. Otherwise creates one with `read`
/// and stores it in `kept`. If `kept` is `None`, as in calls with `callables`, nothing is stored.
fn work_of<T: Send + Sync, E: std::error::Error + Send + 'static>(
    py: Python<'_>,
    kept: Option<&Latest<T>>,
    spec: &str,
    read: impl FnOnce() -> Result<T, E> + Send,
) -> PyResult<Arc<T>> {
    let latest = || kept.map(|kept| kept.lock().unwrap_or_else(PoisonError::into_inner));
    if let Some(Some((text, work))) = latest().as_deref()
        && text == spec
    {
        return Ok(Arc::clone(work));
    }
    let work = Arc::new(without_gil(py, read)?.map_err(|error| library_error(py, &error))?);
    drop(latest().and_then(|mut latest| latest.replace((spec.to_owned(), Arc::clone(&work)))));
    Ok(work)
}

/// Run a solver on the instances at these indices, and return each unchecked answer as JSON.
/// `benchmark` is the spec of the solver and the instances as JSON.
///
/// Releases the GIL. Raises ValueError if the spec is invalid or comes from another
/// build, an index is too high, or a temporary file or the shell cannot be used.
#[pyfunction]
pub(crate) fn solve_instances(py: Python<'_>, benchmark: &str, instances: Vec<usize>) -> PyResult<Vec<String>> {
    without_gil(py, || attempts(benchmark, &instances))?.map_err(value_error)
}
