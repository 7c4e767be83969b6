use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use numpy::{Element, PyArray1, PyArray2, PyArrayMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::exceptions::{PyIndexError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyMemoryView, PyTuple};

use getaway::batch::{self, BatchPart, Shape};
use getaway::game::{Move, Rules, World};

use crate::convert::{clearer, repr, seed_or_0, type_name, value_error, variant, without_gil};
use crate::game::{Board, Game, State};
use crate::value::{move_of_number, read_at_most, to_rules};

use super::helpers::Helpers;
use super::memory::SharedMemory;
use super::verdicts::{JUDGE_TICKS, judge_games, to_verdicts};

const MAX_GAMES: usize = 1 << 24;
const MAX_NUMBERS: usize = 1 << 32;
const MAX_THREADS: usize = 1024;

/// Maximum number of games per part of a batch. Small parts balance the load of the threads.
const PART_GAMES: usize = 256;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Output {
    Nothing,
    Compact,
    State,
    Features,
    Planes,
    Window,
}

impl Output {
    pub fn from_name(name: Option<&str>) -> PyResult<Self> {
        match name {
            None => Ok(Self::Nothing),
            Some("compact") => Ok(Self::Compact),
            Some("planes") => Ok(Self::Planes),
            Some("state") => Ok(Self::State),
            Some("window") => Ok(Self::Window),
            Some("features") => Ok(Self::Features),
            Some(name) => Err(PyValueError::new_err(format!(
                "observation: expected 'compact', 'features', 'planes', 'state', 'window' or None, found {name:?}"
            ))),
        }
    }

    pub fn name(self) -> Option<&'static str> {
        match self {
            Self::Nothing => None,
            Self::Compact => Some("compact"),
            Self::State => Some("state"),
            Self::Features => Some("features"),
            Self::Planes => Some("planes"),
            Self::Window => Some("window"),
        }
    }

    pub fn is_image(self) -> bool {
        matches!(self, Self::Planes | Self::Window)
    }

    pub fn shape(self, shape: batch::Shape) -> Vec<usize> {
        match self {
            Self::Nothing => vec![0],
            Self::Compact => vec![shape.compact()],
            Self::State => vec![shape.state()],
            Self::Features => vec![Shape::FEATURES],
            Self::Planes => shape.planes().to_vec(),
            Self::Window => shape.windows().to_vec(),
        }
    }

    /// Writes the observations of the part: planes and windows to `images`, others to `vectors`.
    pub fn write(self, part: &BatchPart<'_>, vectors: &mut [i16], images: &mut [u8]) {
        match self {
            Self::Nothing => {}
            Self::Compact => part.write_compact(vectors),
            Self::State => part.write_states(vectors),
            Self::Features => part.write_features(vectors),
            Self::Planes => part.write_planes(images),
            Self::Window => part.write_windows(images),
        }
    }
}

struct Observations {
    output: Output,
    /// Empty if the observations are planes or windows.
    vectors: SharedMemory<i16>,
    /// Empty unless the observations are planes or windows.
    images: SharedMemory<u8>,
}

impl Observations {
    fn new(py: Python<'_>, output: Output, shape: &[usize]) -> PyResult<Self> {
        let (vectors, images) = if output.is_image() { (&[0][..], shape) } else { (shape, &[0][..]) };
        Ok(Self {
            output,
            vectors: SharedMemory::new::<i16>(py, "observations", vectors)?,
            images: SharedMemory::new::<u8>(py, "observations", images)?,
        })
    }

    fn array(&self, py: Python<'_>) -> Py<PyAny> {
        if self.output.is_image() { self.images.array(py) } else { self.vectors.array(py) }
    }
}

/// Many games that are stepped together, without the GIL. Needs NumPy.
///
/// The games are divided as evenly as possible among the maps, in the order of `maps`. If a game is
/// over, the next step ignores its action and resets the game. `getaway.gymnasium` describes the
/// observations. Batches can be copied and pickled; a copy has its own arrays.
///
/// Args:
///     maps: one or several maps, as for `Game`.
///     games: number of games; by default one per map.
///     observation: the form of the observations: "compact", "features" or "state" (int16),
///         "planes" or "window" (uint8), or None for empty observations.
///     window: the side length of "window" observations in tiles, an odd number up to 63.
///     threads: number of threads, including the calling thread; it does not affect results.
///     copy: whether `step`, `reset` and `set_state` return new arrays. If not, they return the batch's
///         own arrays, which the next call overwrites; do not read these from another thread during a
///         call.
///     no_jump: whether to play the no-jump variant.
///     rules: a dict of the rules that differ from the server's.
///
/// Raises:
///     FileNotFoundError: if a map does not exist.
///     ValueError: if a map cannot be read or played, or another argument is invalid.
#[pyclass(module = "getaway")]
pub(crate) struct Batch {
    boards: Vec<Arc<Board>>,
    /// For each element of the argument `maps`, the index of its board.
    given: Vec<usize>,
    batch: batch::Batch,
    helpers: Helpers,
    /// Each game's move; valid only after `take_actions` succeeds.
    moves: Vec<Move>,
    observations: Observations,
    rewards: SharedMemory<f32>,
    /// Python code sees an array of bool, but may write bytes other than 0 and 1.
    terminations: SharedMemory<u8>,
    /// True if methods return copies of the arrays.
    copy: bool,
}

impl Batch {
    fn create(
        py: Python<'_>,
        (boards, given): (Vec<Arc<Board>>, Vec<usize>),
        batch: batch::Batch,
        output: Output,
        threads: usize,
        copy: bool,
    ) -> PyResult<Self> {
        let games = batch.len();
        let mut shape = vec![games];
        shape.extend(output.shape(batch.shape()));
        if shape.iter().product::<usize>() > MAX_NUMBERS {
            return Err(PyValueError::new_err(format!(
                "observations: expected at most {MAX_NUMBERS} numbers, found the shape {shape:?}"
            )));
        }
        Ok(Self {
            boards,
            given,
            batch,
            helpers: Helpers::new(threads),
            moves: vec![Move::Stay; games],
            observations: Observations::new(py, output, &shape)?,
            rewards: SharedMemory::new::<f32>(py, "rewards", &[games])?,
            terminations: SharedMemory::new::<bool>(py, "terminations", &[games])?,
            copy,
        })
    }

    /// Returns an array of the batch, or a copy of it.
    fn returned(&self, py: Python<'_>, array: Py<PyAny>) -> PyResult<Py<PyAny>> {
        if self.copy { array.call_method0(py, "copy") } else { Ok(array) }
    }

    /// Changes the states of `games` with `change`, then writes the observations of these games.
    fn observe(
        &mut self,
        py: Python<'_>,
        games: impl Iterator<Item = usize> + Send,
        change: impl FnOnce(&mut batch::Batch) + Send,
    ) -> PyResult<()> {
        let output = self.observations.output;
        let (vectors, images) = (self.observations.vectors.lend(py)?, self.observations.images.lend(py)?);
        let (vector, image) = (vectors.len() / self.batch.len(), images.len() / self.batch.len());
        let batch = &mut self.batch;
        without_gil(py, || {
            change(batch);
            for game in games {
                let vectors = &mut vectors[game * vector..][..vector];
                output.write(&batch.part(game..game + 1), vectors, &mut images[game * image..][..image]);
            }
        })
    }

    fn play(&mut self, py: Python<'_>) -> PyResult<()> {
        let games = self.batch.len();
        let output = self.observations.output;
        let (mut vectors, mut images) = (self.observations.vectors.lend(py)?, self.observations.images.lend(py)?);
        let (vector, image) = (vectors.len() / games, images.len() / games);
        let (mut rewards, mut terminations) = (self.rewards.lend(py)?, self.terminations.lend(py)?);
        let (mut moves, helpers, batch) = (&self.moves[..], &mut self.helpers, &mut self.batch);
        without_gil(py, || {
            let count = batch.len().div_ceil(PART_GAMES);
            let parts = batch.parts(count).map(|part| {
                let games = part.len();
                let moves = moves.split_off(..games).unwrap_or_default();
                let rewards = rewards.split_off_mut(..games).unwrap_or_default();
                let terminations = terminations.split_off_mut(..games).unwrap_or_default();
                let vectors = vectors.split_off_mut(..games * vector).unwrap_or_default();
                let images = images.split_off_mut(..games * image).unwrap_or_default();
                Mutex::new(Some((part, moves, rewards, terminations, vectors, images)))
            });
            // Each thread begins with its own share of the parts. A thread that finishes its share
            // continues with parts that no thread has begun.
            let parts: Vec<_> = parts.collect();
            helpers.run(&|thread: usize, threads: usize| {
                let first = parts.len() * thread / threads;
                let order = parts[first..].iter().chain(&parts[..first]);
                for part in order {
                    let part = part.lock().unwrap_or_else(PoisonError::into_inner).take();
                    let Some((mut part, moves, rewards, terminations, vectors, images)) = part else { continue };
                    part.step(moves, rewards, terminations);
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
            // NumPy is not used, because it hangs on a list that contains itself several times.
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
        // `astype` returns a contiguous copy.
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
        // neither freed nor resized while this thread holds the GIL. The values are
        // read through a pointer, not a slice, because other threads may write to the array.
        let value_at = |index: usize| number(unsafe { start.add(index).read() });
        // A value is from 0 to 4 if and only if both `value` and `value + 3` fit into three bits.
        // The loop only combines the bits of all games, so it needs no branch.
        let mut bits = 0;
        for (index, player_move) in self.moves.iter_mut().enumerate() {
            let value = value_at(index);
            bits |= value | value.wrapping_add(3);
            *player_move = move_of_number((value as u8).into()).unwrap_or(Move::Stay);
        }
        if !(0..8).contains(&bits) {
            let values = (0..array.len()).map(|index| (index, value_at(index)));
            let (index, value) = values.into_iter().find(|&(_, value)| !(0..=4).contains(&value)).unwrap_or_default();
            return Err(PyValueError::new_err(format!("actions[{index}]: expected a move from 0 to 4, found {value}")));
        }
        Ok(())
    }

    /// Returns true for each game that the mask marks, or for every game if there is no mask.
    fn marks(&self, mask: Option<&Bound<'_, PyAny>>) -> PyResult<Vec<bool>> {
        let games = self.batch.len();
        let Some(mask) = mask else { return Ok(vec![true; games]) };
        let Ok(mask) = mask.cast::<PyArray1<bool>>() else {
            let found = kind_of(mask);
            return Err(PyTypeError::new_err(format!(
                "mask: expected a 1D NumPy array of bool of length {games}, found {found}"
            )));
        };
        if mask.len() != games {
            let found = mask.len();
            return Err(PyValueError::new_err(format!("mask: expected the shape ({games},), found ({found},)")));
        }
        // The mask is read as numbers, because the bytes of an array of bool can have any value.
        let marks = mask.call_method1("astype", ("uint8",))?.cast_into::<PyArray1<u8>>()?;
        Ok(marks.to_vec()?.into_iter().map(|mark| mark != 0).collect())
    }

    fn board(&self, game: usize) -> PyResult<Arc<Board>> {
        let world = self.batch.world(game);
        let board = self.boards.iter().find(|board| Arc::ptr_eq(&board.world, world));
        board.map(Arc::clone).ok_or_else(|| PyIndexError::new_err("no such game"))
    }

    fn game(&self, index: isize) -> PyResult<usize> {
        let games = self.batch.len();
        let game = if index < 0 { index + games as isize } else { index };
        usize::try_from(game).ok().filter(|&game| game < games).ok_or_else(|| {
            PyIndexError::new_err(format!("game {index}: expected an index from -{games} to {}", games as isize - 1))
        })
    }
}

/// For error messages: the dimensions and dtype of a NumPy array, or the type of any other value.
fn kind_of(value: &Bound<'_, PyAny>) -> String {
    match value.cast::<PyUntypedArray>() {
        Ok(array) => format!("a {}D array of {}", array.ndim(), array.dtype()),
        Err(_) => type_name(value),
    }
}

fn is_plain<T: Element>(array: &Bound<'_, PyArray1<T>>) -> bool {
    array.is_c_contiguous() && array.is_aligned()
}

pub(super) fn boards(
    maps: &Bound<'_, PyAny>,
    variant: &Rules,
    rules: Option<&Bound<'_, PyAny>>,
) -> PyResult<Vec<Arc<Board>>> {
    if !maps.is_instance_of::<PyList>() && !maps.is_instance_of::<PyTuple>() {
        return Ok(vec![Board::at_start(maps, variant, rules)?]);
    }
    let boards: Vec<_> = maps.try_iter()?.map(|map| Board::at_start(&map?, variant, rules)).collect::<PyResult<_>>()?;
    if boards.is_empty() {
        return Err(PyValueError::new_err("maps: expected at least one"));
    }
    Ok(boards)
}

/// Returns one board per distinct `Arc<World>`, and for each board in `given`, an index into these.
fn distinct(given: Vec<Arc<Board>>) -> (Vec<Arc<Board>>, Vec<usize>) {
    let (mut boards, mut known) = (Vec::new(), HashMap::new());
    let indices = given.into_iter().map(|board| {
        *known.entry(Arc::as_ptr(&board.world)).or_insert_with(|| {
            boards.push(board);
            boards.len() - 1
        })
    });
    let indices = indices.collect();
    (boards, indices)
}

fn checked_threads(threads: usize) -> PyResult<usize> {
    if !(1..=MAX_THREADS).contains(&threads) {
        return Err(PyValueError::new_err(format!("threads: expected 1 to {MAX_THREADS}, found {threads}")));
    }
    Ok(threads)
}

pub(super) fn check_window(side: usize) -> PyResult<()> {
    if side.is_multiple_of(2) || side > Shape::WINDOW_SIDE_MAX {
        let most = Shape::WINDOW_SIDE_MAX;
        return Err(PyValueError::new_err(format!("window: expected an odd number from 1 to {most}, found {side}")));
    }
    Ok(())
}

#[pymethods]
impl Batch {
    #[new]
    #[pyo3(signature = (maps, games = None, *, observation = Some("compact"), window = Shape::WINDOW_SIDE, threads = 1, copy = true, no_jump = Rules::BLITZ_2025, rules = None),
        text_signature = "(maps, games=None, *, observation='compact', window=9, threads=1, copy=True, no_jump=False, rules=None)")]
    #[allow(clippy::too_many_arguments, reason = "the options of one call")]
    fn new(
        maps: &Bound<'_, PyAny>,
        games: Option<usize>,
        observation: Option<&str>,
        window: usize,
        threads: usize,
        copy: bool,
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
        checked_threads(threads)?;
        check_window(window)?;
        let (boards, given) = distinct(boards);
        let worlds: Vec<Arc<World>> = boards.iter().map(|board| Arc::clone(&board.world)).collect();
        let world_of = (0..games).map(|game| given[game * given.len() / games]).collect();
        let batch = without_gil(py, || batch::Batch::with_window(worlds, world_of, window))?;
        let mut batch = Self::create(py, (boards, given), batch, observation, threads, copy)?;
        batch.observe(py, 0..games, |_| {})?;
        Ok(batch)
    }

    /// Reset each game, or each game where `mask` is true. Return the observations of all games.
    ///
    /// Raises:
    ///     TypeError: if `mask` is not a 1D bool array.
    ///     ValueError: if the shape of `mask` is wrong, or an array of the batch was made read-only.
    #[pyo3(signature = (mask = None, /))]
    fn reset(&mut self, py: Python<'_>, mask: Option<&Bound<'_, PyAny>>) -> PyResult<Py<PyAny>> {
        let marks = self.marks(mask)?;
        let marked: Vec<usize> = (0..marks.len()).filter(|&game| marks[game]).collect();
        self.observe(py, marked.into_iter(), |batch| batch.reset(&marks))?;
        self.returned(py, self.observations.array(py))
    }

    /// Play one tick of every game that is not over, and reset the others. Return the observations,
    /// rewards and terminations.
    ///
    /// A reward is the number of ticks gained: 1, or 0 for a game that was reset or whose player
    /// stepped onto a threat in the no-jump variant. After an error, no game has changed.
    ///
    /// Raises:
    ///     TypeError: if the actions are not integers.
    ///     ValueError: if the shape of `actions` is not (games,), an action is not from 0 to 4, or
    ///         an array of the batch was made read-only.
    #[pyo3(signature = (actions, /))]
    fn step(&mut self, actions: &Bound<'_, PyAny>) -> PyResult<(Py<PyAny>, Py<PyAny>, Py<PyAny>)> {
        let py = actions.py();
        self.read_actions(actions)?;
        self.play(py)?;
        let arrays = [self.observations.array(py), self.rewards.array(py), self.terminations.array(py)];
        let [observations, rewards, terminations] = arrays.map(|array| self.returned(py, array));
        Ok((observations?, rewards?, terminations?))
    }

    /// The current observations of all games, of shape (games, *observation_shape): always the same
    /// array, which the next call overwrites.
    #[getter]
    fn observations(&self, py: Python<'_>) -> Py<PyAny> {
        self.observations.array(py)
    }

    /// The shape of one game's observation; it fits every map of the batch.
    #[getter]
    fn observation_shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.observations.output.shape(self.batch.shape()))
    }

    /// For each map, all rules as a dict. If `maps` contains a game and its states or copies, they
    /// count as one map.
    #[getter]
    fn rules<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        self.boards.iter().map(|board| to_rules(py, board.world.rules())).collect()
    }

    /// The current tick of each game, from 1 to 2001.
    #[getter]
    fn ticks<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u16>> {
        PyArray1::from_iter(py, self.batch.states().iter().map(getaway::game::State::tick))
    }

    /// For each game, true if it is over. The next step resets such a game.
    #[getter]
    fn is_over<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<bool>> {
        PyArray1::from_iter(py, self.batch.states().iter().map(getaway::game::State::is_over))
    }

    /// An int8 array of shape (games, 5): 0 for each blocked action, else 1. Staying is always 1.
    #[getter]
    fn action_mask<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<i8>>> {
        self.action_masks_at(&PyArray1::from_vec(py, self.batch.player_tiles()))
    }

    /// The numbers of the players' tiles, for `_action_masks_at`.
    #[getter]
    fn _player_tiles<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u16>> {
        PyArray1::from_vec(py, self.batch.player_tiles())
    }

    /// The `action_mask` of players on these tiles.
    #[pyo3(name = "_action_masks_at")]
    fn action_masks_at<'py>(&self, tiles: &Bound<'py, PyArray1<u16>>) -> PyResult<Bound<'py, PyArray2<i8>>> {
        let (py, games, tiles) = (tiles.py(), self.batch.len(), tiles.to_vec()?);
        if tiles.len() != games {
            return Err(PyValueError::new_err(format!("tiles: expected {games}, found {}", tiles.len())));
        }
        let masks = self.batch.action_masks(&tiles).ok_or_else(|| PyValueError::new_err("tiles: no such tile"))?;
        PyArray1::from_vec(py, masks).reshape([games, Move::ALL.len()])
    }

    /// Return the states of all games as a new int16 array of shape (games, 4 + 9 * threats), where
    /// `threats` is the largest number of threats on any map of the batch. Each row is a "state"
    /// observation of `getaway.gymnasium`; `set_state` accepts the array.
    fn get_state<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<i16>>> {
        let (games, length) = (self.batch.len(), self.batch.shape().state());
        let mut numbers = vec![0; games * length];
        let batch = &mut self.batch;
        without_gil(py, || batch.part(0..games).write_states(&mut numbers))?;
        PyArray1::from_vec(py, numbers).reshape([games, length])
    }

    /// Set each game, or each game where `mask` is true, to its row of `states` (see `get_state`).
    /// Return the observations of all games. After an error, no game has changed.
    ///
    /// Raises:
    ///     TypeError: if `states` is not a 2D int16 array, or `mask` is not a 1D bool array.
    ///     ValueError: if the shape of `states` or `mask` is wrong, a row is not a state of the
    ///         game's map, or an array of the batch was made read-only.
    #[pyo3(signature = (states, mask = None, /))]
    fn set_state(&mut self, states: &Bound<'_, PyAny>, mask: Option<&Bound<'_, PyAny>>) -> PyResult<Py<PyAny>> {
        let py = states.py();
        let (games, length) = (self.batch.len(), self.batch.shape().state());
        let marks = self.marks(mask)?;
        let Ok(states) = states.cast::<PyArray2<i16>>() else {
            let found = kind_of(states);
            return Err(PyTypeError::new_err(format!("states: expected a 2D NumPy array of int16, found {found}")));
        };
        if states.shape() != [games, length] {
            let found = repr(PyTuple::new(py, states.shape())?.as_any())?;
            return Err(PyValueError::new_err(format!(
                "states: expected the shape ({games}, {length}), found {found}"
            )));
        }
        // The numbers are copied, because other threads may write to the array.
        let numbers = states.call_method0("flatten")?.cast_into::<PyArray1<i16>>()?.to_vec()?;
        let batch = &self.batch;
        let read = |game: usize| {
            let state = batch.state_of_numbers(game, &numbers[game * length..][..length]);
            state.map(|state| (game, state)).map_err(|error| value_error(format_args!("states[{game}]: {error}")))
        };
        let read: Vec<_> = (0..games).filter(|&game| marks[game]).map(read).collect::<PyResult<_>>()?;
        let changed: Vec<usize> = read.iter().map(|&(game, _)| game).collect();
        let change = |batch: &mut batch::Batch| read.into_iter().for_each(|(game, state)| batch.set_state(game, state));
        self.observe(py, changed.into_iter(), change)?;
        self.returned(py, self.observations.array(py))
    }

    /// Judge every action of every game, like `getaway.judge_moves`.
    ///
    /// The call releases the GIL and can be interrupted with Ctrl-C. The result does
    /// not depend on the number of threads.
    ///
    /// Args:
    ///     threads: number of threads that solve games; by default the batch's number of threads.
    ///     budget_ticks: maximum number of simulated ticks per action.
    ///     seed: the seed of the search.
    ///
    /// Returns:
    ///     A named tuple `Verdicts` of three arrays of shape (games, 5).
    ///
    /// Raises:
    ///     ValueError: if `threads` or `seed` is out of range.
    #[pyo3(signature = (*, threads = None, budget_ticks = JUDGE_TICKS, seed = None),
        text_signature = "($self, *, threads=None, budget_ticks=100000, seed=0)")]
    fn judge_moves<'py>(
        &self,
        py: Python<'py>,
        threads: Option<usize>,
        budget_ticks: u64,
        seed: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let threads = checked_threads(threads.unwrap_or(self.helpers.threads()))?;
        let seed = seed_or_0(seed)?;
        let games: Vec<_> =
            (0..self.batch.len()).map(|game| (&**self.batch.world(game), &self.batch.states()[game])).collect();
        to_verdicts(py, &judge_games(py, &games, threads, budget_ticks, seed)?)
    }

    fn __copy__(&mut self, py: Python<'_>) -> PyResult<Self> {
        let (output, threads) = (self.observations.output, self.helpers.threads());
        let boards = (self.boards.clone(), self.given.clone());
        let mut copy = Self::create(py, boards, self.batch.clone(), output, threads, self.copy)?;
        copy.observations.vectors.lend(py)?.copy_from_slice(self.observations.vectors.lend(py)?);
        copy.observations.images.lend(py)?.copy_from_slice(self.observations.images.lend(py)?);
        copy.rewards.lend(py)?.copy_from_slice(self.rewards.lend(py)?);
        copy.terminations.lend(py)?.copy_from_slice(self.terminations.lend(py)?);
        Ok(copy)
    }

    #[pyo3(signature = (memo, /))]
    fn __deepcopy__(&mut self, memo: &Bound<'_, PyAny>) -> PyResult<Self> {
        self.__copy__(memo.py())
    }

    #[allow(clippy::type_complexity, reason = "the arguments of the constructor")]
    fn __getnewargs_ex__<'py>(&self, py: Python<'py>) -> PyResult<((Vec<Py<Game>>, usize), Bound<'py, PyDict>)> {
        let options = PyDict::new(py);
        options.set_item("observation", self.observations.output.name())?;
        options.set_item("window", self.batch.shape().window)?;
        options.set_item("threads", self.helpers.threads())?;
        options.set_item("copy", self.copy)?;
        let boards = self.boards.iter().map(|board| Py::new(py, Game::start(Arc::clone(board))));
        let boards: Vec<Py<Game>> = boards.collect::<PyResult<_>>()?;
        // Each distinct board becomes one object, because pickle writes the same object only once.
        let maps = self.given.iter().map(|&board| boards[board].clone_ref(py));
        Ok(((maps.collect(), self.batch.len()), options))
    }

    fn __getstate__<'py>(&mut self, py: Python<'py>) -> PyResult<[Py<PyAny>; 3]> {
        let states = self.get_state(py)?.into_any().unbind();
        Ok([states, self.rewards.array(py), self.terminations.array(py)])
    }

    fn __setstate__(&mut self, py: Python<'_>, state: [Bound<'_, PyAny>; 3]) -> PyResult<()> {
        let [states, rewards, terminations] = state;
        self.set_state(&states, None)?;
        for (ours, theirs) in [(self.rewards.array(py), rewards), (self.terminations.array(py), terminations)] {
            ours.bind(py).set_item(py.Ellipsis(), theirs)?;
        }
        Ok(())
    }

    fn __len__(&self) -> usize {
        self.batch.len()
    }

    fn __getitem__(&self, game: isize) -> PyResult<State> {
        let game = self.game(game)?;
        Ok(State { board: self.board(game)?, state: self.batch.states()[game].clone() })
    }

    fn __setitem__(&mut self, py: Python<'_>, game: isize, state: &Bound<'_, State>) -> PyResult<()> {
        let game = self.game(game)?;
        let state = state.get();
        if !state.board.is_same(self.batch.world(game)) {
            return Err(PyValueError::new_err(format!(
                "game {game}: expected a state with the map and the rules of this game"
            )));
        }
        let state = state.state.clone();
        self.observe(py, game..game + 1, |batch| batch.set_state(game, state))
    }

    fn __repr__(&self) -> String {
        let maps: Vec<&str> = self.boards.iter().map(|board| board.map.map.name.as_str()).collect();
        let (games, threads) = (self.batch.len(), self.helpers.threads());
        let observation = self.observations.output.name().map_or("None".to_owned(), |name| format!("'{name}'"));
        format!("<Batch of {games} games on {}, observation={observation}, threads={threads}>", maps.join(", "))
    }
}
