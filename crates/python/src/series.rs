//! Games of a series, for processes that play part of it.

use std::sync::{Arc, Mutex, PoisonError};

use pyo3::prelude::*;

use getaway_arena::Series;

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
///     ValueError: for a series of another version, or one that cannot be played.
#[pyfunction]
pub(crate) fn play_games(py: Python<'_>, series: &str, indices: Vec<usize>) -> PyResult<Vec<String>> {
    let played = without_gil(py, || self::series(series)?.play_lines(&indices).map_err(|error| error.to_string()))?;
    played.map_err(value_error)
}
