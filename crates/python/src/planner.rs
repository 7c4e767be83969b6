//! The planners' names and their `signature`.

use std::path::PathBuf;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use getaway::game::Layout;
use getaway::map::Map;
use getaway::planner;

use crate::convert::{value_error, without_gil};
use crate::map::read_map;

/// The search signature: 16 hexadecimal digits that identify what the planners do on these maps.
///
/// In both variants, with a fixed seed and budget. It does not depend on the machine or the number
/// of threads, and changes whenever a search changes. Takes about a second for a dozen maps.
///
/// Raises:
///     FileNotFoundError: if there is no such map.
///     ValueError: if a map cannot be read or played.
#[pyfunction]
#[pyo3(signature = (maps, *, threads = 1), text_signature = "(maps, *, threads=1)")]
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
