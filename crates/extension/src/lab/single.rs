use std::sync::Arc;

use numpy::{PyArray1, PyArray3, PyArrayDyn, PyArrayMethods};
use pyo3::exceptions::{PyIndexError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use getaway::batch;
use getaway::game::{Direction, Move, Rules, World};
use getaway_viewer as viewer;

use crate::convert::{catch_panic, value_error, without_gil};
use crate::game::{Board, Game, State};
use crate::value::move_of_number;

use super::batch::{Output, boards, check_window};

/// A single game for `getaway.gymnasium`. Each reset starts the game on the map with a given index.
/// Each observation is a new array, in a shape that fits every map.
#[pyclass(module = "getaway._getaway")]
pub(crate) struct Single {
    boards: Vec<Arc<Board>>,
    batch: batch::Batch,
    current: usize,
    heading: Direction,
    observation: Output,
    shape: Vec<usize>,
}

impl Single {
    fn state(&self) -> &getaway::game::State {
        &self.batch.states()[self.current]
    }

    fn observe<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let part = self.batch.part(self.current..self.current + 1);
        if self.observation.is_image() {
            let array = PyArrayDyn::<u8>::zeros(py, &self.shape[..], false);
            self.observation.write(&part, &mut [], array.try_readwrite()?.as_slice_mut()?);
            return Ok(array.into_any());
        }
        let array = PyArray1::<i16>::zeros(py, self.shape[0], false);
        self.observation.write(&part, array.try_readwrite()?.as_slice_mut()?, &mut []);
        Ok(array.into_any())
    }

    fn info<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let info = PyDict::new(py);
        info.set_item(pyo3::intern!(py, "tick"), self.state().tick())?;
        info.set_item(pyo3::intern!(py, "score"), self.boards[self.current].world.score(self.state()))?;
        info.set_item(pyo3::intern!(py, "action_mask"), self.action_mask(py))?;
        Ok(info)
    }

    fn result<'py>(&mut self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyDict>)> {
        Ok((self.observe(py)?, self.info(py)?))
    }
}

#[pymethods]
impl Single {
    #[new]
    fn new(games: &Bound<'_, PyAny>, observation: &str, window: usize) -> PyResult<Self> {
        let boards = boards(games, &Rules::BLITZ_2025, None)?;
        let observation = Output::from_name(Some(observation))?;
        check_window(window)?;
        let worlds: Vec<Arc<World>> = boards.iter().map(|board| Arc::clone(&board.world)).collect();
        let world_of = (0..worlds.len()).collect();
        let batch = catch_panic(|| batch::Batch::with_window(worlds, world_of, window))?;
        let shape = observation.shape(batch.shape());
        Ok(Self { boards, batch, current: 0, heading: Direction::Right, observation, shape })
    }

    fn reset<'py>(&mut self, py: Python<'py>, map: usize) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyDict>)> {
        if map >= self.boards.len() {
            let maps = self.boards.len();
            return Err(PyIndexError::new_err(format!("map {map}: expected an index from 0 to {}", maps - 1)));
        }
        (self.current, self.heading) = (map, Direction::Right);
        self.batch.part(map..map + 1).reset(&[true]);
        self.result(py)
    }

    #[allow(clippy::type_complexity, reason = "the five values of Gymnasium")]
    fn step<'py>(
        &mut self,
        py: Python<'py>,
        player_move: i64,
    ) -> PyResult<(Bound<'py, PyAny>, f64, bool, bool, Bound<'py, PyDict>)> {
        let player_move = move_of_number(player_move).ok_or_else(|| {
            PyValueError::new_err(format!("action: expected a move from 0 to 4, found {player_move}"))
        })?;
        if self.state().is_over() {
            let error = py.import("gymnasium.error")?.getattr("ResetNeeded")?;
            return Err(PyErr::from_value(error.call1(("the episode is over: expected a reset before this step",))?));
        }
        let (mut reward, mut termination) = ([0.0], [false]);
        let mut part = self.batch.part(self.current..self.current + 1);
        catch_panic(|| part.step(&[player_move], &mut reward, &mut termination))?;
        self.heading = player_move.direction().unwrap_or(self.heading);
        let (observation, info) = self.result(py)?;
        Ok((observation, f64::from(reward[0]), termination[0], false, info))
    }

    fn set_state<'py>(
        &mut self,
        py: Python<'py>,
        state: &Bound<'py, State>,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyDict>)> {
        let state = state.get();
        let is_its = |board: &Arc<Board>| board.is_same(&state.board.world);
        // The current map is tried first, because `boards` may contain the same map several times.
        let found =
            if is_its(&self.boards[self.current]) { Some(self.current) } else { self.boards.iter().position(is_its) };
        self.current = found.ok_or_else(|| {
            let name = &state.board.map.map.name;
            value_error(format_args!("state: expected one of the environment's maps and rules, found {name}"))
        })?;
        self.batch.set_state(self.current, state.state.clone());
        self.result(py)
    }

    fn action_mask<'py>(&mut self, py: Python<'py>) -> Bound<'py, PyArray1<i8>> {
        let tiles = self.batch.player_tiles();
        let masks = self.batch.action_masks(&tiles).unwrap_or_default();
        let mask = masks.chunks_exact(Move::ALL.len()).nth(self.current).unwrap_or_default();
        PyArray1::from_slice(py, mask)
    }

    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, &self.shape)
    }

    /// The index of the map being played.
    #[getter]
    fn map(&self) -> usize {
        self.current
    }

    /// The direction (0 to 3) that the player faces in pictures: that of its last move other than
    /// staying, even if that move was blocked. After a reset, the player faces right.
    #[getter]
    fn heading(&self) -> u8 {
        self.heading as u8
    }

    #[getter(state)]
    fn current_state(&self) -> State {
        State { board: Arc::clone(&self.boards[self.current]), state: self.state().clone() }
    }

    fn __copy__(&self) -> Self {
        Self { boards: self.boards.clone(), batch: self.batch.clone(), shape: self.shape.clone(), ..*self }
    }

    #[pyo3(signature = (memo, /))]
    fn __deepcopy__(&self, memo: &Bound<'_, PyAny>) -> Self {
        let _ = memo;
        self.__copy__()
    }

    fn __getnewargs__(&self) -> (Vec<Game>, Option<&'static str>, usize) {
        let games = self.boards.iter().map(|board| Game::start(Arc::clone(board))).collect();
        (games, self.observation.name(), self.batch.shape().window)
    }

    fn __getstate__(&self) -> (State, usize, u8) {
        (self.current_state(), self.current, self.heading())
    }

    fn __setstate__(&mut self, py: Python<'_>, state: (Bound<'_, State>, usize, u8)) -> PyResult<()> {
        let (state, current, heading) = state;
        self.reset(py, current)?;
        self.set_state(py, &state)?;
        self.heading = Direction::ALL[usize::from(heading) % Direction::ALL.len()];
        Ok(())
    }
}

/// A picture of a state, as an RGB array of shape (height, width, 3). Each tile is a square with
/// sides of `tile` pixels. `heading` (0 to 3) is the direction that the player faces.
#[pyfunction]
pub(crate) fn draw<'py>(state: &Bound<'py, State>, heading: usize, tile: u32) -> PyResult<Bound<'py, PyArray3<u8>>> {
    let (py, state) = (state.py(), state.get());
    let heading = Direction::ALL[heading % Direction::ALL.len()];
    let pixels = without_gil(py, || viewer::pixels(&state.board.world, &state.state, heading, tile))?;
    let viewer::Pixels { width, height, rgb } =
        pixels.map_err(|error| value_error(format_args!("render_tile {tile}: {error}")))?;
    PyArray1::from_vec(py, rgb).reshape([height as usize, width as usize, 3])
}
