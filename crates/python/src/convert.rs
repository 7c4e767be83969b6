//! Conversions between Python and Rust: errors, numbers, JSON, and work without the interpreter
//! lock.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use pyo3::exceptions::{PyRuntimeError, PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyInt};

use getaway::game::{Direction, Move, Rules};

/// Runs `work` without the interpreter lock.
pub(crate) fn without_gil<T: Send>(py: Python<'_>, work: impl FnOnce() -> T + Send) -> PyResult<T> {
    py.detach(|| catch_panic(work))
}

/// Runs `work`; turns a panic into an exception.
pub(crate) fn catch_panic<T>(work: impl FnOnce() -> T) -> PyResult<T> {
    // After a panic the data may be inconsistent: a bot is then replaced; everything else is plain
    // data.
    catch_unwind(AssertUnwindSafe(work)).map_err(|panic| {
        let text = panic_text(panic.as_ref());
        PyRuntimeError::new_err(format!("a bug in getaway, please report it: {text}"))
    })
}

fn panic_text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message")
}

pub(crate) fn value_error(error: impl std::fmt::Display) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// Converts JSON to a Python value.
pub(crate) fn to_python<'py>(py: Python<'py>, json: &str) -> PyResult<Bound<'py, PyAny>> {
    py.import("json")?.call_method1("loads", (json,))
}

/// Converts a Python value to JSON.
pub(crate) fn from_python(value: &Bound<'_, PyAny>) -> PyResult<String> {
    value.py().import("json")?.call_method1("dumps", (value,))?.extract()
}

/// An action as a dict; `None` to stay.
pub(crate) fn action_dict<'py>(py: Python<'py>, player_move: Move) -> PyResult<Option<Bound<'py, PyDict>>> {
    let Some(direction) = player_move.direction() else { return Ok(None) };
    let kind = match direction {
        Direction::Left => intern!(py, "MOVE_LEFT"),
        Direction::Right => intern!(py, "MOVE_RIGHT"),
        Direction::Up => intern!(py, "MOVE_UP"),
        Direction::Down => intern!(py, "MOVE_DOWN"),
    };
    let action = PyDict::new(py);
    action.set_item(intern!(py, "type"), kind)?;
    Ok(Some(action))
}

/// Reads the argument `no_jump`: the server's rules, or its no-jump variant.
pub(crate) fn variant(no_jump: &Bound<'_, PyAny>) -> PyResult<Rules> {
    Ok(Rules { no_jump: no_jump.extract()?, ..Rules::BLITZ_2025 })
}

/// Converts milliseconds to a duration.
pub(crate) fn duration(name: &str, milliseconds: f64) -> PyResult<Duration> {
    Duration::try_from_secs_f64(milliseconds / 1e3).map_err(|_| {
        PyValueError::new_err(format!("{name}: expected a non-negative number of milliseconds, found {milliseconds}"))
    })
}

/// An optional integer argument: a seed or a number of evaluations.
pub(crate) fn optional_u64(name: &str, value: Option<&Bound<'_, PyAny>>) -> PyResult<Option<u64>> {
    let Some(value) = value else { return Ok(None) };
    if !value.is_instance_of::<PyInt>() {
        let found = value.get_type();
        return Err(PyTypeError::new_err(format!("{name}: expected an int, found {}", found.name()?)));
    }
    let refused =
        |_: PyErr| value_error(format_args!("{name}: expected a whole number from 0 to 2**64 - 1, found {value}"));
    value.extract().map(Some).map_err(refused)
}

pub(crate) fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}
