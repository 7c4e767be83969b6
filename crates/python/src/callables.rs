//! Python callables as planners: `(state) -> move`, by name (`MODULE:NAME`) or passed by the
//! caller.

use std::sync::Arc;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyString;

use getaway::game::{Move, State, World};
use getaway::planner::{Choice, Planner, PlannerHost, Source, set_planner_host};
use getaway::search::Budget;

use crate::game::{self, Board};
use crate::value::from_move;

/// The module that finds callables by name, and assigns names to those passed directly.
const CALLABLES: &str = "getaway._callables";

/// Makes every part of the library that accepts a planner's name accept that of a Python callable.
pub(crate) fn register() {
    // The module may be initialised again, by another interpreter.
    set_planner_host(Box::new(PythonHost));
}

/// The name of a planner given as text or as a callable.
pub(crate) fn planner_name(planner: &Bound<'_, PyAny>) -> PyResult<String> {
    if let Ok(name) = planner.cast::<PyString>() {
        return Ok(name.to_str()?.to_owned());
    }
    if !planner.is_callable() {
        let found = planner.get_type();
        return Err(PyTypeError::new_err(format!(
            "planner: expected a name, an expression or a callable that takes a state, found {}",
            found.name()?
        )));
    }
    planner.py().import(CALLABLES)?.call_method1("name_of", (planner,))?.extract()
}

#[derive(Debug)]
struct PythonHost;

/// The callable with this name, or a new instance if it is a class.
fn find<'py>(py: Python<'py>, function: &str, name: &str) -> PyResult<Bound<'py, PyAny>> {
    py.import(CALLABLES)?.call_method1(function, (name,))
}

impl PlannerHost for PythonHost {
    fn check(&self, name: &str) -> Result<(), String> {
        Python::attach(|py| match find(py, "find", name) {
            Ok(_) => Ok(()),
            Err(error) => Err(sentence(py, &error)),
        })
    }

    fn build(&self, name: &str, _seed: u64) -> Box<dyn Planner> {
        Python::attach(|py| {
            let name = name.to_owned();
            match find(py, "make", &name) {
                Ok(callable) => {
                    Box::new(PythonPlanner { name, callable: Some(callable.unbind()), board: None, failure: None })
                }
                Err(error) => {
                    let failure = Some(format!("{name}: {}", sentence(py, &error)));
                    Box::new(PythonPlanner { name, callable: None, board: None, failure })
                }
            }
        })
    }
}

/// An exception as one sentence: its type and text, and where it was raised.
fn sentence(py: Python<'_>, error: &PyErr) -> String {
    let described = || -> PyResult<String> {
        py.import(CALLABLES)?.call_method1("sentence", (error.clone_ref(py).into_value(py),))?.extract()
    };
    described().unwrap_or_else(|_| error.to_string())
}

struct PythonPlanner {
    name: String,
    /// `None` if it could not be made.
    callable: Option<Py<PyAny>>,
    /// The world of the last state.
    board: Option<Arc<Board>>,
    failure: Option<String>,
}

impl PythonPlanner {
    /// The board of a world, whose tables are copied once.
    fn board(&mut self, world: &World) -> Arc<Board> {
        let is_same =
            |board: &Arc<Board>| board.world.layout() == world.layout() && board.world.rules() == world.rules();
        match &self.board {
            Some(board) if is_same(board) => Arc::clone(board),
            _ => Arc::clone(self.board.insert(Arc::new(Board::of_world(world.clone())))),
        }
    }

    fn ask(&mut self, py: Python<'_>, world: &World, state: &State) -> PyResult<Move> {
        let state = game::State { board: self.board(world), state: state.clone() };
        let Some(callable) = &self.callable else { return Ok(Move::Stay) };
        let answer = callable.bind(py).call1((Bound::new(py, state)?,))?;
        from_move("the planner's move", &answer)
    }
}

impl Planner for PythonPlanner {
    fn decide(&mut self, world: &World, state: &State, _budget: Budget) -> Choice {
        let player_move = if self.failure.is_some() {
            Move::Stay
        } else {
            Python::attach(|py| {
                self.ask(py, world, state).unwrap_or_else(|error| {
                    self.failure = Some(format!("{}: {}", self.name, sentence(py, &error)));
                    Move::Stay
                })
            })
        };
        Choice { player_move, source: Source::Search, planned_tick: None, simulated_ticks: 0 }
    }

    fn failure(&self) -> Option<&str> {
        self.failure.as_deref()
    }
}
