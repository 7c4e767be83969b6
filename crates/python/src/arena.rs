//! Series of games, for `getaway.arena`.

use std::ops::ControlFlow;
use std::sync::atomic::AtomicBool;

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use serde::Serialize;

use getaway::game::Rules;
use getaway::map;
use getaway::search::Budget;
use getaway_arena::{GameRecord, Games, Match, Series, SeriesOptions, evaluate};

use crate::convert::{duration, value_error, variant, without_gil};
use crate::map::Map;
use crate::value::{from_rules, to_value};

/// Plays a series on several threads. Returns its games, the planners' evaluations and, if `battle`
/// is set, the match of the first two planners, as lists and dicts.
#[pyfunction]
#[pyo3(signature = (planners, maps, *, samples, seed, budget_ticks, budget_ms, no_jump, rules, threads, battle))]
#[allow(clippy::too_many_arguments, reason = "the options of one call, all given by name")]
pub(crate) fn play_series<'py>(
    py: Python<'py>,
    planners: Vec<String>,
    maps: Vec<PyRef<'py, Map>>,
    samples: u32,
    seed: u64,
    budget_ticks: Option<u64>,
    budget_ms: Option<f64>,
    #[pyo3(from_py_with = variant)] no_jump: Rules,
    rules: Option<&Bound<'py, PyAny>>,
    threads: usize,
    battle: bool,
) -> PyResult<Bound<'py, PyDict>> {
    let rules = from_rules(&no_jump, rules)?;
    let time = budget_ms.map(|budget_ms| duration("budget_ms", budget_ms)).transpose()?;
    let budget = Budget { time, ticks: budget_ticks, ..Budget::UNLIMITED };
    let maps: Vec<map::Map> = maps.iter().map(|map| map.map.clone()).collect();
    let options = SeriesOptions { planners, samples, seed, rules, budget };
    let played = without_gil(py, || {
        let series = Series::new(&maps, options)?;
        let mut games = Games::new();
        let flow = series.play(&mut games, threads, &AtomicBool::new(false), |_, _| {
            match Python::attach(|py| py.check_signals()) {
                Ok(()) => ControlFlow::Continue(()),
                Err(interrupted) => ControlFlow::Break(interrupted),
            }
        })?;
        Ok::<_, getaway_arena::SeriesError>((series, games, flow))
    })?;
    let (series, games, flow) = played.map_err(value_error)?;
    if let ControlFlow::Break(interrupted) = flow {
        return Err(interrupted);
    }
    let results = PyDict::new(py);
    let rows: Vec<Bound<'py, PyDict>> = games.iter().flatten().map(|game| row(py, game)).collect::<PyResult<_>>()?;
    results.set_item("games", PyList::new(py, rows)?)?;
    results.set_item("planners", plain(py, &evaluate(&series, &games))?)?;
    if battle {
        let result = Match::of(&series, &games, [0, 1], None);
        results.set_item("sentence", result.sentence())?;
        results.set_item("match", plain(py, &result)?)?;
    }
    Ok(results)
}

/// Serializable data as Python objects.
fn plain<'py>(py: Python<'py>, data: &impl Serialize) -> PyResult<Bound<'py, PyAny>> {
    to_value(py, &serde_json::to_value(data).map_err(value_error)?)
}

/// A game as a row of a table.
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
