//! Games of a series, for processes that play part of it.

use std::sync::{Arc, Mutex, PoisonError};

use pyo3::prelude::*;

use getaway_arena::Series;
use getaway_discover::{Bank, bank_of_spec, scores};

use crate::convert::{value_error, without_gil};

/// The last series: a process usually plays many games of the same one.
static LAST: Mutex<Option<(String, Arc<Series>)>> = Mutex::new(None);

/// The series that a text describes.
fn series(spec: &str) -> Result<Arc<Series>, String> {
    let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((text, series)) = &*last
        && text == spec
    {
        return Ok(Arc::clone(series));
    }
    let series = Arc::new(Series::from_spec(spec).map_err(|error| error.to_string())?);
    *last = Some((spec.to_owned(), Arc::clone(&series)));
    Ok(series)
}

/// Play games of a series; returns a record of each as JSON.
///
/// Releases the interpreter lock.
///
/// Args:
///     series: the series as JSON, as the command line sends it to `getaway.cluster`.
///     indices: the places of the games in the series, from 0.
///
/// Raises:
///     ValueError: for a series of another build, or one that cannot be played.
#[pyfunction]
pub(crate) fn play_games(py: Python<'_>, series: &str, indices: Vec<usize>) -> PyResult<Vec<String>> {
    let played = without_gil(py, || self::series(series)?.play_lines(&indices).map_err(|error| error.to_string()))?;
    played.map_err(value_error)
}

/// The last problems, for the same reason.
static LAST_BANK: Mutex<Option<(String, Arc<dyn Bank>)>> = Mutex::new(None);

/// The problems that a text describes.
fn problems(spec: &str) -> Result<Arc<dyn Bank>, String> {
    let mut last = LAST_BANK.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((text, bank)) = &*last
        && text == spec
    {
        return Ok(Arc::clone(bank));
    }
    let bank: Arc<dyn Bank> = bank_of_spec(spec).map_err(|error| error.to_string())?.into();
    *last = Some((spec.to_owned(), Arc::clone(&bank)));
    Ok(bank)
}

/// Make plays of a discovery; returns the score of each as JSON.
///
/// Releases the interpreter lock.
///
/// Args:
///     discovery: the problems as JSON, as the command line sends them to `getaway.cluster`.
///     plays: expression, split, number and budget of each play, as JSON.
///
/// Raises:
///     ValueError: for problems of another build, or a malformed play.
#[pyfunction]
pub(crate) fn play_searches(py: Python<'_>, discovery: &str, plays: &str) -> PyResult<Vec<String>> {
    let played = without_gil(py, || {
        let bank = problems(discovery)?;
        scores(&*bank, plays).map_err(|error| error.to_string())
    })?;
    played.map_err(value_error)
}
