//! The extension module `getaway._getaway`: the only crate that depends on Python.
//!
//! It only converts values. The doc comments here are the docstrings; `tools/stub.py` copies them
//! to `python/getaway/__init__.pyi`, and the tests compare the two. Guarantees: a search releases
//! the interpreter lock, errors are Python exceptions with a clear message, and a panic, which is a
//! bug in getaway, is raised as a `RuntimeError`.

#[cfg(feature = "lab")]
mod arena;
#[cfg(feature = "lab")]
mod batch;
mod bot;
mod callables;
mod convert;
mod game;
mod map;
mod planner;
#[cfg(feature = "lab")]
mod replay;
#[cfg(feature = "cli")]
mod series;
#[cfg(feature = "lab")]
mod solve;
mod value;
#[cfg(feature = "lab")]
mod workers;

use pyo3::prelude::*;

/// Runs the command `getaway` with these arguments, the first of which is the program's name;
/// returns the exit code.
#[cfg(feature = "cli")]
#[pyfunction]
fn run_command_line(py: Python<'_>, arguments: Vec<std::ffi::OsString>) -> u8 {
    py.detach(|| getaway_cli::run_main(arguments))
}

/// Coveo's Blitz 2025 car chase, reimplemented exactly, searched, and solved before the first move.
#[pymodule]
mod _getaway {
    use pyo3::prelude::*;

    #[cfg(feature = "lab")]
    #[pymodule_export]
    use crate::arena::play_series;
    #[cfg(feature = "lab")]
    #[pymodule_export]
    use crate::batch::{Batch, Single};
    #[pymodule_export]
    use crate::bot::Bot;
    #[pymodule_export]
    use crate::game::{Game, State};
    #[pymodule_export]
    use crate::map::{Map, generate_map, load_map, maps};
    #[pymodule_export]
    use crate::planner::{planners, signature};
    #[cfg(feature = "lab")]
    #[pymodule_export]
    use crate::replay::Replay;
    #[cfg(feature = "lab")]
    #[pymodule_export]
    use crate::solve::solve;

    #[cfg(feature = "cli")]
    #[pymodule_export]
    use super::run_command_line;
    #[cfg(feature = "cli")]
    #[pymodule_export]
    use crate::series::{play_games, play_searches};

    /// Registers Python callables as planners.
    #[pymodule_init]
    fn init(_module: &Bound<'_, PyModule>) -> PyResult<()> {
        crate::callables::register();
        Ok(())
    }

    #[pymodule_export]
    #[allow(non_upper_case_globals)]
    const __version__: &str = env!("CARGO_PKG_VERSION");

    #[cfg(feature = "cli")]
    #[pymodule_export]
    #[allow(non_upper_case_globals)]
    const __build__: &str = getaway_arena::BUILD;
}
