//! Research features: batches, series, drawings and the command line. The competition's upload
//! omits them.

mod arena;
mod batch;
mod helpers;
mod memory;
mod replay;
mod solver;

pub(crate) use arena::{play_games, play_searches, play_series};
pub(crate) use batch::{Batch, Single};
pub(crate) use replay::Replay;
pub(crate) use solver::solve;

use pyo3::prelude::*;

use crate::callables::Host;

/// Runs the command `getaway` with these arguments, the first of which is the program's name;
/// returns the exit code. Python callables can be planners.
#[pyfunction]
pub(crate) fn run_command_line(py: Python<'_>, arguments: Vec<std::ffi::OsString>) -> u8 {
    py.detach(|| getaway_cli::run_main(arguments, Some(&Host::default())))
}
