//! Planners that are Python callables, `(state) -> move`. A planner or bot keeps its callable
//! alive. A thread that holds a lock in this file stays attached to the interpreter and runs no
//! Python code, so the locks are free in a forked process.

use std::cell::Cell;
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pyo3::PyTraverseError;
use pyo3::exceptions::PyTypeError;
use pyo3::gc::PyVisit;
use pyo3::prelude::*;
use pyo3::types::{PyString, PyType};

use getaway::game::{Move, State, World};
use getaway::planner::{Choice, Model, Planner, PlannerError, PlannerFactory, PlannerHost, PlannerSpec};
use getaway::search::Budget;

use crate::convert::{PythonError, is_interruption, library_error, type_name};
use crate::game::{self, Board};
use crate::value::from_move;

const CALLABLES: &str = "getaway._callables";

pub(crate) fn planner_spec(planner: &Bound<'_, PyAny>) -> PyResult<(PlannerSpec, Option<Arc<Callable>>)> {
    let py = planner.py();
    let Ok(text) = planner.cast::<PyString>() else {
        if !planner.is_callable() {
            return Err(PyTypeError::new_err(format!(
                "planner: expected a name, an expression or a callable that takes a state, found {}",
                type_name(planner)
            )));
        }
        let name: String = py.import(CALLABLES)?.call_method1("name_of", (planner,))?.extract()?;
        let callable = Arc::new(Callable::new(name, planner.clone().unbind()));
        return Ok((callable.spec(), Some(callable)));
    };
    let host = Host::default();
    let spec = PlannerSpec::find(text.to_str()?, Some(&host)).map_err(|error| library_error(py, &error))?;
    let callable = host.lock(py).drain().next().map(|(_, callable)| callable);
    Ok((spec, callable))
}

/// Python planners by name: planners from the caller, and planners found as `MODULE:NAME`.
#[derive(Debug, Default)]
pub(crate) struct Host(Mutex<HashMap<String, Arc<Callable>>>);

impl Host {
    #[cfg(feature = "lab")]
    pub fn new(given: HashMap<String, Py<PyAny>>) -> Self {
        let named = |(name, callable): (String, Py<PyAny>)| (name.clone(), Arc::new(Callable::new(name, callable)));
        Self(Mutex::new(given.into_iter().map(named).collect()))
    }

    fn lock(&self, _py: Python<'_>) -> MutexGuard<'_, HashMap<String, Arc<Callable>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PlannerHost for Host {
    fn find(&self, name: &str) -> Result<Arc<dyn PlannerFactory>, PlannerError> {
        if let Some(found) = Model::find(name) {
            return Ok(found?);
        }
        Python::attach(|py| {
            if let Some(callable) = self.lock(py).get(name) {
                return Ok(Arc::clone(callable) as _);
            }
            let find = || py.import(CALLABLES)?.call_method1("find", (name,));
            let found = find().map_err(|error| failure(py, "", error))?;
            let callable = Arc::new(Callable::new(name.to_owned(), found.unbind()));
            self.lock(py).insert(name.to_owned(), Arc::clone(&callable));
            Ok(callable as _)
        })
    }
}

/// A Python planner: a class whose instances are callable, or any other callable.
pub(crate) struct Callable {
    name: String,
    objects: Mutex<Objects>,
}

/// The Python objects that a [`Callable`] owns. The garbage collector must visit them.
struct Objects {
    /// `None` after the garbage collector has cleared it.
    callable: Option<Py<PyAny>>,
    /// The instances of a planner class, by number.
    players: HashMap<u64, Py<PyAny>>,
    made: u64,
}

impl fmt::Debug for Callable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Callable").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Callable {
    fn new(name: String, callable: Py<PyAny>) -> Self {
        let objects = Objects { callable: Some(callable), players: HashMap::new(), made: 0 };
        Self { name, objects: Mutex::new(objects) }
    }

    fn spec(self: &Arc<Self>) -> PlannerSpec {
        PlannerSpec::external(self.name.clone(), Arc::clone(self) as _)
    }

    fn failure(&self, py: Python<'_>, error: PyErr) -> PlannerError {
        failure(py, &format!("{}: ", self.name), error)
    }

    fn lock(&self, _py: Python<'_>) -> MutexGuard<'_, Objects> {
        self.objects.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Creates an instance and returns its number if the callable is a class; else returns `None`.
    fn make(&self, py: Python<'_>) -> PyResult<Option<u64>> {
        let callable = self.lock(py).callable.as_ref().map(|callable| callable.clone_ref(py));
        let Some(class) = callable.filter(|callable| callable.bind(py).is_instance_of::<PyType>()) else {
            return Ok(None);
        };
        let called = PlannerCall::new();
        let player = class.call0(py)?;
        drop(called);
        let objects = &mut *self.lock(py);
        objects.made += 1;
        objects.players.insert(objects.made, player);
        Ok(Some(objects.made))
    }

    fn player(&self, py: Python<'_>, number: Option<u64>) -> PyResult<Py<PyAny>> {
        let objects = self.lock(py);
        let player = match number {
            Some(number) => objects.players.get(&number),
            None => objects.callable.as_ref(),
        };
        let player = player.map(|player| player.clone_ref(py));
        player.ok_or_else(|| PyTypeError::new_err("the planner has been deleted"))
    }

    fn forget(&self, py: Python<'_>, number: u64) {
        // Dropping the player may run Python code, so the lock is released first.
        let player = self.lock(py).players.remove(&number);
        drop(player);
    }

    pub fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        // Does not wait: this thread may hold the lock. Objects that are not visited stay alive.
        let Ok(objects) = self.objects.try_lock() else { return Ok(()) };
        visit.call(&objects.callable)?;
        objects.players.values().try_for_each(|player| visit.call(player))
    }

    pub fn clear(&self, py: Python<'_>) {
        let (callable, players) = {
            let mut objects = self.lock(py);
            (objects.callable.take(), std::mem::take(&mut objects.players))
        };
        drop((callable, players));
    }
}

impl PlannerFactory for Callable {
    fn build(self: Arc<Self>, _seed: u64) -> Box<dyn Planner> {
        Python::attach(|py| {
            let number = self.make(py).map_err(|error| self.failure(py, error));
            Box::new(PythonPlanner { callable: self, number, board: None })
        })
    }
}

fn failure(py: Python<'_>, prefix: &str, error: PyErr) -> PlannerError {
    let describe = || -> PyResult<String> {
        py.import(CALLABLES)?.call_method1("sentence", (error.clone_ref(py).into_value(py),))?.extract()
    };
    let (text, error) = match describe() {
        Ok(text) => (text, error),
        Err(other) if is_interruption(py, &other) => (other.to_string(), other),
        Err(_) => (error.to_string(), error),
    };
    PlannerError::new(format!("{prefix}{text}")).caused_by(PythonError::from(error))
}

thread_local! {
    static PLANNER_CALLS: Cell<u32> = const { Cell::new(0) };
}

/// True if this thread is running a planner. Such a thread must not wait for a bot, because the bot
/// may be waiting for the planner.
pub(crate) fn is_in_planner() -> bool {
    PLANNER_CALLS.get() > 0
}

struct PlannerCall;

impl PlannerCall {
    fn new() -> Self {
        PLANNER_CALLS.set(PLANNER_CALLS.get() + 1);
        Self
    }
}

impl Drop for PlannerCall {
    fn drop(&mut self) {
        PLANNER_CALLS.set(PLANNER_CALLS.get() - 1);
    }
}

struct PythonPlanner {
    callable: Arc<Callable>,
    number: Result<Option<u64>, PlannerError>,
    board: Option<Arc<Board>>,
}

impl PythonPlanner {
    /// The board of a world. It is cached, because creating a board copies the map's layout.
    fn board(&mut self, world: &World) -> Arc<Board> {
        match &self.board {
            Some(board) if board.is_same(world) => Arc::clone(board),
            _ => Arc::clone(self.board.insert(Arc::new(Board::of_world(world.clone())))),
        }
    }

    fn ask(&mut self, py: Python<'_>, number: Option<u64>, world: &World, state: &State) -> PyResult<Move> {
        let state = game::State { board: self.board(world), state: state.clone() };
        let player = self.callable.player(py, number)?;
        let _called = PlannerCall::new();
        let answer = player.bind(py).call1((Bound::new(py, state)?,))?;
        from_move("the planner's move", &answer)
    }
}

impl Planner for PythonPlanner {
    fn decide(&mut self, world: &World, state: &State, _budget: Budget) -> Result<Choice, PlannerError> {
        let number = self.number.clone()?;
        let player_move =
            Python::attach(|py| self.ask(py, number, world, state).map_err(|error| self.callable.failure(py, error)))?;
        Ok(player_move.into())
    }
}

impl Drop for PythonPlanner {
    fn drop(&mut self) {
        let Ok(Some(number)) = self.number else { return };
        let _ = Python::try_attach(|py| self.callable.forget(py, number));
    }
}
