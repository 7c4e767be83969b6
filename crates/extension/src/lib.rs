//! The extension module `getaway._getaway`. The doc comments of exported items become docstrings,
//! which `tools/stub.py` copies to `python/getaway/__init__.pyi`. Searches release the GIL.
//! Errors become Python exceptions, and panics become `RuntimeError`.

mod bot;
mod callables;
mod convert;
mod game;
#[cfg(feature = "lab")]
mod lab;
mod map;
mod planner;
mod value;

use pyo3::exceptions::PyImportError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

/// The car chase of Coveo's Blitz 2025: an exact simulator, a search library and a solver.
#[pymodule]
mod _getaway {
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::bot::Bot;
    #[pymodule_export]
    use crate::game::{Game, State};
    #[cfg(feature = "lab")]
    #[pymodule_export]
    use crate::lab::{
        Batch, Replay, Single, Solver, draw, judge_moves, play_games, play_series, play_shards, run_command_line,
        solve, solve_instances,
    };
    #[pymodule_export]
    use crate::map::{Map, generate_map, load_map, maps};
    #[pymodule_export]
    use crate::planner::{planners, signature};

    #[pymodule_export]
    #[allow(non_upper_case_globals)]
    const __version__: &str = env!("CARGO_PKG_VERSION");
    #[cfg(feature = "lab")]
    #[pymodule_export]
    #[allow(non_upper_case_globals)]
    const __build__: &str = getaway_runs::BUILD;

    /// Refuses all interpreters but the first, because the classes belong to it. Imports `json` now:
    /// if Ctrl-C interrupted a later import, CPython could keep `json` locked.
    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        super::refuse_other_interpreters(module.py())?;
        module.py().import("json").map(drop)
    }
}

fn refuse_other_interpreters(py: Python<'_>) -> PyResult<()> {
    static FIRST: PyOnceLock<i64> = PyOnceLock::new();
    // SAFETY: this thread holds the lock of the current interpreter.
    let current = unsafe { ffi::PyInterpreterState_GetID(ffi::PyInterpreterState_Get()) };
    if *FIRST.get_or_init(py, || current) == current {
        return Ok(());
    }
    Err(PyImportError::new_err(
        "getaway: another interpreter of this process has imported it: expected one interpreter per process",
    ))
}
