//! Features for research. The bot that is uploaded to the competition is built without them.

mod arena;
mod batch;
mod helpers;
mod memory;
mod replay;
mod single;
mod solver;
mod verdicts;

pub(crate) use arena::{play_games, play_series, play_shards, solve_instances};
pub(crate) use batch::Batch;
pub(crate) use replay::Replay;
pub(crate) use single::{Single, draw};
pub(crate) use solver::{Solver, solve};
pub(crate) use verdicts::judge_moves;

use pyo3::prelude::*;

use crate::callables::Host;

/// Runs the command `getaway` and returns its exit code. `arguments` begins with the program name.
#[pyfunction]
pub(crate) fn run_command_line(py: Python<'_>, arguments: Vec<std::ffi::OsString>) -> u8 {
    py.detach(|| getaway_cli::run_main(arguments, Some(&Host::default())))
}
