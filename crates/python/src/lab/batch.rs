//! Games in arrays: the basis of the Gymnasium environments.

use std::sync::{Arc, Mutex, PoisonError};

use numpy::{Element, PyArray1, PyArrayDyn, PyArrayMethods, PyUntypedArrayMethods};
use pyo3::exceptions::{PyIndexError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyMemoryView, PyTuple};

use getaway::batch::{self, BatchPart};
use getaway::game::{Move, Rules, World};

use crate::convert::{catch_panic, clearer, repr, type_name, variant, without_gil};
use crate::game::{Board, State};
use crate::value::{move_of_number, read_at_most, to_rules};

use super::helpers::Helpers;
use super::memory::SharedMemory;

const MAX_GAMES: usize = 1 << 24;
const MAX_NUMBERS: usize = 1 << 32;
const MAX_THREADS: usize = 1024;

/// Games that a thread steps at a time: a few microseconds of work, so that threads finish
/// together.
const PART_GAMES: usize = 256;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Output {
    Nothing,
    Compact,
    State,
    Planes,
}

impl Output {
    fn from_name(name: Option<&str>) -> PyResult<Self> {
        match name {
            None => Ok(Self::Nothing),
            Some("compact") => Ok(Self::Compact),
            Some("planes") => Ok(Self::Planes),
            Some("state") => Ok(Self::State),
            Some(name) => Err(PyValueError::new_err(format!(
                "observation: expected 'compact', 'planes', 'state' or None, found {name:?}"
            ))),
        }
    }

    fn name(self) -> Option<&'static str> {
        match self {
            Self::Nothing => None,
            Self::Compact => Some("compact"),
            Self::State => Some("state"),
            Self::Planes => Some("planes"),
        }
    }

    fn shape(self, shape: batch::Shape) -> Vec<usize> {
        match self {
            Self::Nothing => vec![0],
            Self::Compact => vec![shape.compact()],
            Self::State => vec![shape.state()],
            Self::Planes => shape.planes().to_vec(),
        }
    }

    /// Writes observations: planes to `images`, all others to `vectors`.
    fn write(self, part: &BatchPart<'_>, vectors: &mut [i16], images: &mut [u8]) {
        match self {
            Self::Nothing => {}
            Self::Compact => part.write_compact(vectors),
            Self::State => part.write_states(vectors),
            Self::Planes => part.write_planes(images),
        }
    }
}

struct Observations {
    output: Output,
    /// Empty for planes.
    vectors: SharedMemory<i16>,
    /// Empty for all others.
    images: SharedMemory<u8>,
}

impl Observations {
    fn new(py: Python<'_>, output: Output, shape: &[usize]) -> PyResult<Self> {
        let (vectors, images) = if output == Output::Planes { (&[0][..], shape) } else { (shape, &[0][..]) };
        Ok(Self {
            output,
            vectors: SharedMemory::new(py, "observations", "int16", vectors)?,
            images: SharedMemory::new(py, "observations", "uint8", images)?,
        })
    }

    fn array(&self, py: Python<'_>) -> Py<PyAny> {
        if self.output == Output::Planes { self.images.array(py) } else { self.vectors.array(py) }
    }
}

/// Many games in flat arrays, stepped together without the interpreter lock. Needs NumPy.
///
/// The games are divided evenly among the maps, in the order of the list. A game that is over
/// returns to its start in the next step, which ignores its action. Every step overwrites the same
/// arrays; do not read them from another thread during a step. `getaway.gymnasium` describes the
/// observations.
///
/// Args:
///     maps: one or several maps, as for `Game`.
///     games: number of games; by default one per map.
///     observation: the output per game and step: "compact", "state" (int16), "planes" (uint8), or
///         None for nothing.
///     threads: threads that step the games, including the calling one; they do not affect results.
///     no_jump: whether to play the no-jump variant.
///     rules: rules that differ from the server's.
///
/// Raises:
///     FileNotFoundError: if there is no such map.
///     ValueError: if a map cannot be read or played.
#[pyclass(module = "getaway")]
pub(crate) struct Batch {
    boards: Vec<Arc<Board>>,
    batch: batch::Batch,
    helpers: Helpers,
    /// Each game's move as a number; valid only after a successful check.
    actions: Vec<u8>,
    observations: Observations,
    rewards: SharedMemory<f32>,
    /// 1 for a game that has ended. NumPy's type is bool, but Python code may write other values.
    terminations: SharedMemory<u8>,
}

enum Job {
    Step,
    Reset(Vec<bool>),
}

impl Batch {
    fn work(&mut self, py: Python<'_>, job: &Job) -> PyResult<()> {
        let games = self.batch.len();
        let output = self.observations.output;
        let (mut vectors, mut images) = (self.observations.vectors.lend(py)?, self.observations.images.lend(py)?);
        let (vector, image) = (vectors.len() / games, images.len() / games);
        let (mut rewards, mut terminations) = (self.rewards.lend(py)?, self.terminations.lend(py)?);
        let (mut actions, helpers, batch) = (&self.actions[..], &mut self.helpers, &mut self.batch);
        without_gil(py, || {
            if let Job::Reset(marks) = job {
                batch.reset(marks);
            }
            let count = batch.len().div_ceil(PART_GAMES);
            let parts = batch.parts(count).map(|part| {
                let games = part.len();
                let actions = actions.split_off(..games).unwrap_or_default();
                let rewards = rewards.split_off_mut(..games).unwrap_or_default();
                let terminations = terminations.split_off_mut(..games).unwrap_or_default();
                let vectors = vectors.split_off_mut(..games * vector).unwrap_or_default();
                let images = images.split_off_mut(..games * image).unwrap_or_default();
                Mutex::new(Some((part, actions, rewards, terminations, vectors, images)))
            });
            // Every thread begins with its own share, whose games are in its processor's cache; a
            // faster thread continues with parts that others have not begun.
            let parts: Vec<_> = parts.collect();
            helpers.run(&|thread: usize, threads: usize| {
                let first = parts.len() * thread / threads;
                let order = parts[first..].iter().chain(&parts[..first]);
                for part in order {
                    let part = part.lock().unwrap_or_else(PoisonError::into_inner).take();
                    let Some((mut part, actions, rewards, terminations, vectors, images)) = part else { continue };
                    if matches!(job, Job::Step) {
                        step_part(&mut part, actions, rewards, terminations);
                    }
                    output.write(&part, vectors, images);
                }
            });
        })
    }

    fn read_actions(&mut self, actions: &Bound<'_, PyAny>) -> PyResult<()> {
        if let Ok(array) = actions.cast::<PyArray1<i64>>()
            && is_plain(array)
        {
            return self.take_actions(array, |number| number);
        }
        if let Ok(array) = actions.cast::<PyArray1<u8>>()
            && is_plain(array)
        {
            return self.take_actions(array, i64::from);
        }
        if let Ok(array) = actions.cast::<PyArray1<i32>>()
            && is_plain(array)
        {
            return self.take_actions(array, i64::from);
        }
        let py = actions.py();
        if !actions.hasattr("__array__")? && PyMemoryView::from(actions).is_err() {
            // NumPy would not finish on lists that contain themselves many times over.
            let number = |index, action: &Bound<'_, PyAny>| {
                action.extract::<i64>().map_err(|error| {
                    let found = type_name(action);
                    let expected = format!("actions[{index}]: expected an integer, found {found}");
                    clearer(py, error, || PyTypeError::new_err(expected))
                })
            };
            let numbers = read_at_most(self.batch.len(), "actions", "an array of integers", actions, number)?;
            return self.take_actions(&PyArray1::from_vec(py, numbers), |number| number);
        }
        let array = py.import("numpy")?.call_method1("asarray", (actions,))?;
        let kind: String = array.getattr("dtype")?.getattr("kind")?.extract()?;
        if !matches!(kind.as_str(), "i" | "u") {
            let found = array.getattr("dtype")?;
            return Err(PyTypeError::new_err(format!("actions: expected an array of integers, found {found}")));
        }
        let shape: Vec<usize> = array.getattr("shape")?.extract()?;
        if shape.len() != 1 {
            return Err(self.wrong_shape(py, &shape));
        }
        // The copy is contiguous.
        let array = array.call_method1("astype", ("int64", "C"))?;
        self.take_actions(array.cast::<PyArray1<i64>>()?, |number| number)
    }

    fn wrong_shape(&self, py: Python<'_>, found: &[usize]) -> PyErr {
        let found = PyTuple::new(py, found).and_then(|found| repr(&found)).unwrap_or_default();
        PyValueError::new_err(format!("actions: expected the shape ({},), found {found}", self.batch.len()))
    }

    fn take_actions<T: Element + Copy>(
        &mut self,
        array: &Bound<'_, PyArray1<T>>,
        number: impl Fn(T) -> i64,
    ) -> PyResult<()> {
        if array.len() != self.batch.len() {
            return Err(self.wrong_shape(array.py(), &[array.len()]));
        }
        let start = array.data();
        // SAFETY: `index` is below the array's length. The array is contiguous and aligned, and is
        // neither freed nor resized while this thread has the interpreter lock. It is read by
        // pointer, not as a slice, because other threads may write to it.
        let value_at = |index: usize| number(unsafe { start.add(index).read() });
        // Combines the bits of all numbers, so that the loop needs no branch: 0 to 4, and these
        // plus 3, fit into three bits.
        let mut bits = 0;
        for (index, action) in self.actions.iter_mut().enumerate() {
            let value = value_at(index);
            bits |= value | value.wrapping_add(3);
            *action = value as u8;
        }
        if !(0..8).contains(&bits) {
            let values = (0..array.len()).map(|index| (index, value_at(index)));
            let (index, value) = values.into_iter().find(|&(_, value)| !(0..=4).contains(&value)).unwrap_or_default();
            return Err(PyValueError::new_err(format!("actions[{index}]: expected a move from 0 to 4, found {value}")));
        }
        Ok(())
    }

    fn game(&self, index: isize) -> PyResult<usize> {
        let games = self.batch.len();
        let game = if index < 0 { index + games as isize } else { index };
        usize::try_from(game)
            .ok()
            .filter(|&game| game < games)
            .ok_or_else(|| PyIndexError::new_err(format!("game {index}: expected one of {games}")))
    }
}

fn step_part(part: &mut BatchPart<'_>, actions: &[u8], rewards: &mut [f32], terminations: &mut [u8]) {
    let mut moves = [Move::Stay; PART_GAMES];
    let mut has_ended = [false; PART_GAMES];
    for (player_move, &action) in moves.iter_mut().zip(actions) {
        *player_move = move_of_number(action.into()).unwrap_or(Move::Stay);
    }
    let games = part.len();
    part.step(&moves[..games], rewards, &mut has_ended[..games]);
    for (termination, has_ended) in terminations.iter_mut().zip(has_ended) {
        *termination = has_ended.into();
    }
}

fn is_plain<T: Element>(array: &Bound<'_, PyArray1<T>>) -> bool {
    array.is_c_contiguous() && array.is_aligned()
}

fn boards(maps: &Bound<'_, PyAny>, variant: &Rules, rules: Option<&Bound<'_, PyAny>>) -> PyResult<Vec<Arc<Board>>> {
    if !maps.is_instance_of::<PyList>() && !maps.is_instance_of::<PyTuple>() {
        return Ok(vec![Board::of(maps, variant, rules)?]);
    }
    let boards: Vec<_> = maps.try_iter()?.map(|map| Board::of(&map?, variant, rules)).collect::<PyResult<_>>()?;
    if boards.is_empty() {
        return Err(PyValueError::new_err("maps: expected at least one"));
    }
    Ok(boards)
}

#[pymethods]
impl Batch {
    #[new]
    #[pyo3(signature = (maps, games = None, *, observation = Some("compact"), threads = 1, no_jump = Rules::BLITZ_2025, rules = None),
        text_signature = "(maps, games=None, *, observation='compact', threads=1, no_jump=False, rules=None)")]
    fn new(
        maps: &Bound<'_, PyAny>,
        games: Option<usize>,
        observation: Option<&str>,
        threads: usize,
        #[pyo3(from_py_with = variant)] no_jump: Rules,
        rules: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let py = maps.py();
        let observation = Output::from_name(observation)?;
        let boards = boards(maps, &no_jump, rules)?;
        let games = games.unwrap_or(boards.len());
        if !(1..=MAX_GAMES).contains(&games) {
            return Err(PyValueError::new_err(format!("games: expected 1 to {MAX_GAMES}, found {games}")));
        }
        if !(1..=MAX_THREADS).contains(&threads) {
            return Err(PyValueError::new_err(format!("threads: expected 1 to {MAX_THREADS}, found {threads}")));
        }
        let worlds: Vec<Arc<World>> = boards.iter().map(|board| Arc::clone(&board.world)).collect();
        let world_of = (0..games).map(|game| game * worlds.len() / games).collect();
        let batch = without_gil(py, || batch::Batch::new(worlds, world_of))?;
        let mut shape = vec![games];
        shape.extend(observation.shape(batch.shape()));
        if shape.iter().product::<usize>() > MAX_NUMBERS {
            return Err(PyValueError::new_err(format!("observations of the shape {shape:?} are too large")));
        }
        let mut batch = Self {
            boards,
            batch,
            helpers: Helpers::new(threads),
            actions: vec![0; games],
            observations: Observations::new(py, observation, &shape)?,
            rewards: SharedMemory::new(py, "rewards", "float32", &[games])?,
            terminations: SharedMemory::new(py, "terminations", "bool", &[games])?,
        };
        batch.work(py, &Job::Reset(vec![false; games]))?;
        Ok(batch)
    }

    /// Reset all games, or those that the mask marks; returns the observations.
    #[pyo3(signature = (mask = None, /))]
    fn reset(&mut self, py: Python<'_>, mask: Option<&Bound<'_, PyAny>>) -> PyResult<Py<PyAny>> {
        let games = self.batch.len();
        let marks = match mask {
            None => vec![true; games],
            Some(mask) => {
                let Ok(mask) = mask.cast::<PyArray1<bool>>() else {
                    return Err(PyTypeError::new_err(format!(
                        "mask: expected a NumPy array of bool with one entry for each of {games} games"
                    )));
                };
                if mask.len() != games {
                    let found = mask.len();
                    return Err(PyValueError::new_err(format!(
                        "mask: expected the shape ({games},), found ({found},)"
                    )));
                }
                // Read as numbers, because an array of bool may hold any.
                let marks = mask.call_method1("astype", ("uint8",))?.cast_into::<PyArray1<u8>>()?;
                marks.to_vec()?.into_iter().map(|mark| mark != 0).collect()
            }
        };
        self.work(py, &Job::Reset(marks))?;
        Ok(self.observations.array(py))
    }

    /// Play a tick of every game; returns observations, rewards and terminations.
    ///
    /// A reward is the number of ticks gained: 1, or 0 for a game that was reset or whose player
    /// was caught in the no-jump variant.
    ///
    /// Raises:
    ///     TypeError: for actions that are not integers.
    ///     ValueError: for a shape other than (games,), an action outside 0 to 4, or an array of
    ///         the batch that was made read-only. No game changes in these cases.
    #[pyo3(signature = (actions, /))]
    fn step(&mut self, actions: &Bound<'_, PyAny>) -> PyResult<(Py<PyAny>, Py<PyAny>, Py<PyAny>)> {
        let py = actions.py();
        self.read_actions(actions)?;
        self.work(py, &Job::Step)?;
        Ok((self.observations.array(py), self.rewards.array(py), self.terminations.array(py)))
    }

    /// The observations after the last step, of shape (games, *observation_shape).
    #[getter]
    fn observations(&self, py: Python<'_>) -> Py<PyAny> {
        self.observations.array(py)
    }

    /// The kind of observation.
    #[getter]
    fn observation(&self) -> Option<&'static str> {
        self.observations.output.name()
    }

    /// The shape of one game's observation, with room for the largest map.
    #[getter]
    fn observation_shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.observations.output.shape(self.batch.shape()))
    }

    /// The number of threads that step the games.
    #[getter]
    fn threads(&self) -> usize {
        self.helpers.threads()
    }

    /// The rules of each map.
    #[getter]
    fn rules<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        self.boards.iter().map(|board| to_rules(py, board.world.rules())).collect()
    }

    /// The tick about to be played, per game.
    #[getter]
    fn ticks<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u16>> {
        PyArray1::from_iter(py, self.batch.states().iter().map(getaway::game::State::tick))
    }

    fn __len__(&self) -> usize {
        self.batch.len()
    }

    fn __getitem__(&self, game: isize) -> PyResult<State> {
        let game = self.game(game)?;
        let world = self.batch.world(game);
        let board = self.boards.iter().find(|board| Arc::ptr_eq(&board.world, world));
        let board = board.map(Arc::clone).ok_or_else(|| PyIndexError::new_err("no such game"))?;
        Ok(State { board, state: self.batch.states()[game].clone() })
    }

    fn __setitem__(&mut self, game: isize, state: &Bound<'_, State>) -> PyResult<()> {
        let game = self.game(game)?;
        let state = state.get();
        if state.board.world.layout() != self.batch.world(game).layout()
            || state.board.world.rules() != self.batch.world(game).rules()
        {
            return Err(PyValueError::new_err(format!("game {game}: expected a state of its map and rules")));
        }
        self.batch.set_state(game, state.state.clone());
        Ok(())
    }

    fn __repr__(&self) -> String {
        let maps: Vec<&str> = self.boards.iter().map(|board| board.map.map.name.as_str()).collect();
        let (games, threads) = (self.batch.len(), self.helpers.threads());
        let observation = self.observations.output.name().map_or("None".to_owned(), |name| format!("'{name}'"));
        format!("<Batch of {games} games on {}, observation={observation}, threads={threads}>", maps.join(", "))
    }
}

/// One game for `getaway.gymnasium`.
#[pyclass(module = "getaway")]
pub(crate) struct Single {
    board: Arc<Board>,
    batch: batch::Batch,
    observation: Output,
    shape: Vec<usize>,
}

impl Single {
    fn observe<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let part = self.batch.parts(1).next().ok_or_else(|| PyIndexError::new_err("no game"))?;
        if self.observation == Output::Planes {
            let array = PyArrayDyn::<u8>::zeros(py, &self.shape[..], false);
            self.observation.write(&part, &mut [], array.try_readwrite()?.as_slice_mut()?);
            return Ok(array.into_any());
        }
        let array = PyArray1::<i16>::zeros(py, self.shape[0], false);
        self.observation.write(&part, array.try_readwrite()?.as_slice_mut()?, &mut []);
        Ok(array.into_any())
    }

    fn info<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let state = &self.batch.states()[0];
        let info = PyDict::new(py);
        info.set_item(pyo3::intern!(py, "tick"), state.tick())?;
        info.set_item(pyo3::intern!(py, "score"), self.board.world.score(state))?;
        Ok(info)
    }
}

#[pymethods]
impl Single {
    #[new]
    fn new(game: &Bound<'_, PyAny>, observation: &str, shaped_like: Option<&Bound<'_, PyList>>) -> PyResult<Self> {
        let board = Board::of(game, &Rules::BLITZ_2025, None)?;
        let observation = Output::from_name(Some(observation))?;
        // The observation's shape must fit all maps to which the environment may be reset.
        let others: Vec<Arc<Board>> = match shaped_like {
            None => Vec::new(),
            Some(others) => {
                others.iter().map(|other| Board::of(&other, &Rules::BLITZ_2025, None)).collect::<PyResult<_>>()?
            }
        };
        let worlds = std::iter::once(&board).chain(&others).map(|board| Arc::clone(&board.world)).collect();
        let batch = catch_panic(|| batch::Batch::new(worlds, vec![0]))?;
        let shape = observation.shape(batch.shape());
        Ok(Self { board, batch, observation, shape })
    }

    fn reset<'py>(&mut self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyDict>)> {
        self.batch.reset(&[true]);
        Ok((self.observe(py)?, self.info(py)?))
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
        let (mut reward, mut termination) = ([0.0], [false]);
        let batch = &mut self.batch;
        catch_panic(|| batch.step(&[player_move], &mut reward, &mut termination))?;
        let observation = self.observe(py)?;
        Ok((observation, f64::from(reward[0]), termination[0], false, self.info(py)?))
    }

    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, &self.shape)
    }

    #[getter]
    fn state(&self) -> State {
        State { board: Arc::clone(&self.board), state: self.batch.states()[0].clone() }
    }
}
