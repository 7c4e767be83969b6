use std::any::Any;
use std::error::Error;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use pyo3::exceptions::{PyException, PyOverflowError, PyRuntimeError, PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use getaway::game::{Direction, Move, Rules};
use getaway::search::{Budget, fold_seed};
use getaway::text::one_line;

pub(crate) fn without_gil<T: Send>(py: Python<'_>, work: impl FnOnce() -> T + Send) -> PyResult<T> {
    py.detach(|| catch_panic(work))
}

pub(crate) fn catch_panic<T>(work: impl FnOnce() -> T) -> PyResult<T> {
    // `AssertUnwindSafe` is correct: after a panic, `Bot` replaces its bot. Other data stay valid.
    catch_unwind(AssertUnwindSafe(work)).map_err(|panic| {
        let text = panic_text(panic.as_ref());
        PyRuntimeError::new_err(format!("a bug in getaway (please report it): {text}"))
    })
}

fn panic_text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message")
}

/// A `ValueError` with the error's text on one line: the text may quote input with line breaks.
pub(crate) fn value_error(error: impl std::fmt::Display) -> PyErr {
    PyValueError::new_err(one_line(&error.to_string()))
}

/// A `ValueError` for an error of the library. A Python exception that caused the error becomes the
/// `ValueError`'s cause, but an interruption is returned instead of the `ValueError`.
pub(crate) fn library_error(py: Python<'_>, error: &(dyn Error + 'static)) -> PyErr {
    let mut next = Some(error);
    let mut cause = None;
    while let Some(error) = next {
        let found = error.downcast_ref().and_then(|PythonError(cause)| cause.as_ref());
        cause = cause.or_else(|| found.map(|cause| cause.clone_ref(py)));
        next = error.source();
    }
    match cause {
        Some(cause) if is_interruption(py, &cause) => cause,
        cause => {
            let raised = PyValueError::new_err(error.to_string());
            raised.set_cause(py, cause);
            raised
        }
    }
}

/// A Python exception that caused an error of the library. `drop` first takes the GIL,
/// if possible: without that lock, PyO3 would lock a mutex to queue the exception, and the mutex
/// would stay locked in a process forked at that moment.
#[derive(Debug)]
pub(crate) struct PythonError(Option<PyErr>);

impl From<PyErr> for PythonError {
    fn from(error: PyErr) -> Self {
        Self(Some(error))
    }
}

impl std::fmt::Display for PythonError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.iter().try_for_each(|error| error.fmt(f))
    }
}

impl Error for PythonError {}

impl Drop for PythonError {
    fn drop(&mut self) {
        let error = self.0.take();
        let _ = Python::try_attach(|_| drop(error));
    }
}

/// True for an exception that should stop the program: `KeyboardInterrupt`, `SystemExit` or another
/// exception that is not a subclass of `Exception`.
pub(crate) fn is_interruption(py: Python<'_>, error: &PyErr) -> bool {
    !error.is_instance_of::<PyException>(py)
}

pub(crate) fn clearer(py: Python<'_>, error: PyErr, clear: impl FnOnce() -> PyErr) -> PyErr {
    if is_interruption(py, &error) { error } else { clear() }
}

/// A value's `repr`. Returns the exception if `repr` raises one; `Display` would suppress it.
pub(crate) fn repr(value: &Bound<'_, PyAny>) -> PyResult<String> {
    Ok(value.repr()?.to_string_lossy().into_owned())
}

pub(crate) fn type_name(value: &Bound<'_, PyAny>) -> String {
    value.get_type().name().map_or_else(|_| "an object".to_owned(), |name| name.to_string_lossy().into_owned())
}

pub(crate) fn to_python<'py>(py: Python<'py>, json: &str) -> PyResult<Bound<'py, PyAny>> {
    py.import("json")?.call_method1("loads", (json,))
}

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

pub(crate) fn variant(no_jump: &Bound<'_, PyAny>) -> PyResult<Rules> {
    Ok(Rules { no_jump: no_jump.extract()?, ..Rules::BLITZ_2025 })
}

/// The budget of one call. Without any limit, its time is limited to `default_ms`.
pub(crate) fn to_budget(
    budget_ms: Option<f64>,
    budget_ticks: Option<&Bound<'_, PyAny>>,
    default_ms: f64,
) -> PyResult<Budget> {
    let ticks = optional_integer("budget_ticks", budget_ticks, 64)?.map(|ticks| ticks as u64);
    let duration = |ms: f64| {
        Duration::try_from_secs_f64(ms / 1e3).map_err(|_| {
            PyValueError::new_err(format!("budget_ms: expected a number of milliseconds from 0 to 1e22, found {ms}"))
        })
    };
    let time = budget_ms.or(ticks.is_none().then_some(default_ms)).map(duration).transpose()?;
    Ok(Budget { time, ticks, ..Budget::UNLIMITED })
}

/// Returns a seed of up to 128 bits, folded into 64; 0 for `None`.
pub(crate) fn seed_or_0(value: Option<&Bound<'_, PyAny>>) -> PyResult<u64> {
    Ok(fold_seed(optional_integer("seed", value, 128)?.unwrap_or(0)))
}

/// Returns a whole number below 2^`bits`.
fn optional_integer(name: &str, value: Option<&Bound<'_, PyAny>>, bits: u32) -> PyResult<Option<u128>> {
    let Some(value) = value else { return Ok(None) };
    if !value.hasattr(intern!(value.py(), "__index__"))? {
        return Err(PyTypeError::new_err(format!("{name}: expected an int, found {}", type_name(value))));
    }
    let number = value.extract().and_then(|number: u128| match number >> (bits - 1) {
        0 | 1 => Ok(Some(number)),
        _ => Err(PyOverflowError::new_err(())),
    });
    number.map_err(|error| {
        clearer(value.py(), error, || match repr(value) {
            Ok(found) => {
                value_error(format_args!("{name}: expected a whole number from 0 to 2**{bits} - 1, found {found}"))
            }
            Err(error) => error,
        })
    })
}

pub(crate) fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}
