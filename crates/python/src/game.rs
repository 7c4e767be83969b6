//! A game, its map and its commands.

use std::path::PathBuf;
use std::sync::Arc;

use pyo3::exceptions::{PyFileNotFoundError, PyTypeError};
use pyo3::prelude::*;

use getaway::game::{Action, Layout, Rules, State, World};
use getaway::map::{Map, MapError, MapLibrary};
use getaway::protocol::{MessageWriter, parse_action};

use crate::convert::{action_dict, catch_panic, from_python, to_python, value_error, variant, without_gil};

/// See `python/getaway/__init__.pyi`.
#[pyclass(module = "getaway")]
pub(crate) struct Game {
    pub(crate) name: String,
    pub(crate) world: Arc<World>,
    pub(crate) state: State,
}

impl Game {
    fn start(py: Python<'_>, name: String, layout: &Layout, rules: &Rules) -> PyResult<Self> {
        let world = without_gil(py, || World::new(layout, rules))?;
        let world = world.map_err(|error| value_error(format_args!("{name}: {error}")))?;
        let state = world.start();
        Ok(Self { name, world: Arc::new(world), state })
    }

    pub(crate) fn load(py: Python<'_>, map: &PathBuf, rules: &Rules) -> PyResult<Self> {
        let Map { name, layout, .. } = load_map(py, map)?;
        Self::start(py, name, &layout, rules)
    }
}

/// The map with this name, or in this folder.
pub(crate) fn load_map(py: Python<'_>, map: &PathBuf) -> PyResult<Map> {
    let loaded = without_gil(py, || match map.to_str() {
        Some(name_or_path) => MapLibrary::with_our_maps(Vec::<PathBuf>::new()).find(name_or_path),
        None => Map::load(map),
    })?;
    loaded.map_err(map_error)
}

fn map_error(error: MapError) -> PyErr {
    match error {
        MapError::NoFolder { .. } | MapError::NoFile { .. } | MapError::UnknownName { .. } => {
            PyFileNotFoundError::new_err(error.to_string())
        }
        _ => value_error(error),
    }
}

/// A command from Python: an action, several, or none.
fn actions(action: Option<&Bound<'_, PyAny>>) -> PyResult<Vec<Action>> {
    let Some(action) = action else { return Ok(Vec::new()) };
    let json: serde_json::Value = serde_json::from_str(&from_python(action)?).map_err(value_error)?;
    match &json {
        serde_json::Value::Array(actions) => Ok(actions.iter().map(parse_action).collect()),
        serde_json::Value::Object(_) => Ok(vec![parse_action(&json)]),
        _ => Err(PyTypeError::new_err(format!(
            "action: expected a dict, a list of dicts or None, found {}",
            action.get_type().name()?
        ))),
    }
}

#[pymethods]
impl Game {
    #[new]
    #[pyo3(signature = (map, *, no_jump = Rules::BLITZ_2025), text_signature = "(map, *, no_jump=False)")]
    fn new(py: Python<'_>, map: PathBuf, #[pyo3(from_py_with = variant)] no_jump: Rules) -> PyResult<Self> {
        Self::load(py, &map, &no_jump)
    }

    #[staticmethod]
    #[pyo3(signature = (drawing, *, no_jump = Rules::BLITZ_2025), text_signature = "(drawing, *, no_jump=False)")]
    fn parse(py: Python<'_>, drawing: &str, #[pyo3(from_py_with = variant)] no_jump: Rules) -> PyResult<Self> {
        let layout = catch_panic(|| Layout::parse(drawing))?.map_err(value_error)?;
        Self::start(py, "drawing".to_owned(), &layout, &no_jump)
    }

    #[pyo3(signature = (action = None, /))]
    fn step<'py>(
        &mut self,
        py: Python<'py>,
        action: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let command = actions(action)?;
        let (world, state) = (&self.world, &mut self.state);
        let player_move = catch_panic(|| world.play(state, &command))?.map_err(value_error)?;
        action_dict(py, player_move)
    }

    fn reset(&mut self) {
        self.state = self.world.start();
    }

    pub(crate) fn copy(&self) -> Self {
        Self { name: self.name.clone(), world: Arc::clone(&self.world), state: self.state.clone() }
    }

    #[pyo3(signature = (team_id = "getaway"))]
    fn frame(&self, team_id: &str) -> PyResult<String> {
        catch_panic(|| MessageWriter::new(&self.world, team_id).write(&self.state))
    }

    #[pyo3(signature = (team_id = "getaway"))]
    fn message<'py>(&self, py: Python<'py>, team_id: &str) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &self.frame(team_id)?)
    }

    #[getter]
    fn name(&self) -> &str {
        &self.name
    }

    #[getter]
    pub(crate) fn no_jump(&self) -> bool {
        self.world.rules().no_jump
    }

    #[getter]
    fn rows(&self) -> Vec<String> {
        self.world.layout().rows()
    }

    #[getter]
    fn tick(&self) -> u16 {
        self.state.tick()
    }

    #[getter]
    fn score(&self) -> u32 {
        self.world.score(&self.state)
    }

    #[getter]
    fn is_over(&self) -> bool {
        self.state.is_over()
    }

    #[getter]
    fn is_caught(&self) -> bool {
        self.state.is_caught()
    }

    fn __repr__(&self) -> String {
        let (name, tick, score) = (&self.name, self.state.tick(), self.world.score(&self.state));
        format!("<Game {name:?}, tick {tick}, score {score}>")
    }
}
