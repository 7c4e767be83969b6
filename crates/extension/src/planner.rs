use pyo3::prelude::*;

use getaway::game::Layout;
use getaway::map::Map;
use getaway::planner;

use crate::convert::{value_error, without_gil};
use crate::map::read_map;
use crate::value::read_items;

/// The search signature: a hash of search results on these maps, as 16 hexadecimal digits.
///
/// The survival search, the solver and a fixed set of planners run on each map, in the standard and
/// in the no-jump variant, with a fixed seed and fixed budgets. The signature changes if a code
/// change alters one of these results; it does not depend on the machine or the number of threads.
/// Computing it takes a few seconds for a dozen maps.
///
/// Raises:
///     FileNotFoundError: if a map does not exist.
///     ValueError: if a map cannot be read or played.
#[pyfunction]
#[pyo3(signature = (maps, *, threads = 1), text_signature = "(maps, *, threads=1)")]
pub(crate) fn signature(maps: &Bound<'_, PyAny>, threads: usize) -> PyResult<String> {
    let py = maps.py();
    let maps: Vec<Map> = read_items("maps", "a sequence of paths", maps, |_, map| read_map(py, &map.extract()?))?;
    let layouts: Vec<Layout> = maps.into_iter().map(|map| map.layout).collect();
    without_gil(py, || planner::signature(&layouts, threads))?.map_err(value_error)
}

/// The names of the built-in planners.
#[pyfunction]
pub(crate) fn planners() -> Vec<&'static str> {
    planner::names().map(|(name, _)| name).collect()
}
