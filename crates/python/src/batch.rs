//! Many games, or one game, in arrays: the basis of the Gymnasium environments.

use std::sync::{Arc, Mutex, PoisonError};

use numpy::{Element, PyArray1, PyArrayDyn, PyArrayMethods, PyReadonlyArray1, PyUntypedArrayMethods};
use pyo3::exceptions::{PyIndexError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};

use getaway::batch::{self, BatchPart};
use getaway::game::{Move, Rules, World};

use crate::convert::{catch_panic, value_error, variant, without_gil};
use crate::game::{Board, State};
use crate::value::{move_of_number, to_rules};
use crate::workers::Workers;

/// The maximum number of games in a batch.
const MAX_GAMES: usize = 1 << 24;
/// The maximum number of elements in the observations of a batch.
const MAX_NUMBERS: usize = 1 << 32;
/// The maximum number of threads of a batch.
const MAX_THREADS: usize = 1024;

/// Number of games that a thread steps at a time: a few microseconds of work, so that no thread
/// waits long for the last one.
const PART_GAMES: usize = 256;

/// The kind of observation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Observation {
    Nothing,
    Compact,
    Planes,
    State,
}

impl Observation {
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
            Self::Planes => Some("planes"),
            Self::State => Some("state"),
        }
    }

    /// The shape of one game's observation.
    fn shape(self, shape: batch::Shape) -> Vec<usize> {
        match self {
            Self::Nothing => vec![0],
            Self::Compact => vec![shape.compact()],
            Self::Planes => shape.planes().to_vec(),
            Self::State => vec![shape.state()],
        }
    }
}

/// The array that observations are written to.
enum ObservationArray {
    Vectors(Py<PyArrayDyn<i16>>),
    Planes(Py<PyArrayDyn<u8>>),
}

impl ObservationArray {
    fn new(py: Python<'_>, observation: Observation, shape: &[usize]) -> Self {
        match observation {
            Observation::Planes => Self::Planes(PyArrayDyn::zeros(py, shape.to_vec(), false).unbind()),
            _ => Self::Vectors(PyArrayDyn::zeros(py, shape.to_vec(), false).unbind()),
        }
    }

    fn object(&self, py: Python<'_>) -> Py<PyAny> {
        match self {
            Self::Vectors(array) => array.clone_ref(py).into_any(),
            Self::Planes(array) => array.clone_ref(py).into_any(),
        }
    }
}

/// The memory of one of our own arrays, for the duration of a call. The array was created here,
/// contiguous, and is never resized: `refcheck` in NumPy and the references that we hold prevent
/// it.
fn memory<'py, T: Element>(array: &Bound<'py, PyArrayDyn<T>>) -> PyResult<&'py mut [T]> {
    if !array.is_c_contiguous() {
        return Err(PyValueError::new_err("the batch's own arrays are no longer contiguous"));
    }
    // SAFETY: the array is contiguous, as was checked, and lives as long as the reference that the
    // caller holds. Other Python threads may read it meanwhile, as NumPy allows for its own
    // functions, too.
    Ok(unsafe { std::slice::from_raw_parts_mut(array.data(), array.len()) })
}

/// Where one part of a batch writes its observations.
enum PartOutput<'a> {
    Nothing,
    Compact(&'a mut [i16]),
    Planes(&'a mut [u8]),
    State(&'a mut [i16]),
}

impl<'a> PartOutput<'a> {
    /// Splits off the part for the first `games` games, `per_game` numbers each; returns it and the
    /// rest.
    fn split(self, games: usize, per_game: usize) -> (Self, Self) {
        match self {
            Self::Nothing => (Self::Nothing, Self::Nothing),
            Self::Compact(output) => {
                let (first, rest) = output.split_at_mut(games * per_game);
                (Self::Compact(first), Self::Compact(rest))
            }
            Self::Planes(output) => {
                let (first, rest) = output.split_at_mut(games * per_game);
                (Self::Planes(first), Self::Planes(rest))
            }
            Self::State(output) => {
                let (first, rest) = output.split_at_mut(games * per_game);
                (Self::State(first), Self::State(rest))
            }
        }
    }

    fn fill(self, part: &BatchPart<'_>) {
        match self {
            Self::Nothing => {}
            Self::Compact(output) => part.write_compact(output),
            Self::Planes(output) => part.write_planes(output),
            Self::State(output) => part.write_states(output),
        }
    }
}

/// Many games in flat arrays, stepped together without the interpreter lock. Needs NumPy.
///
/// A game that is over returns to its start in the next step, which ignores its action. Every step
/// writes into the same arrays: copy what you keep. `getaway.gymnasium` describes the observations.
/// The games start evenly divided among the maps, in the order of the list.
///
/// Args:
///     maps: one or several maps, as for `Game`.
///     games: number of games; by default one per map.
///     observation: what each step writes for each game: "compact", "state" (int16), "planes"
///         (uint8), or None for nothing.
///     threads: threads that step the games, including the calling one; results do not depend on
///         it.
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
    observation: Observation,
    threads: usize,
    /// The helper threads.
    workers: Option<Workers>,
    /// The move of every game, as its number; only valid after a check that succeeded.
    actions: Vec<u8>,
    observations: ObservationArray,
    rewards: Py<PyArrayDyn<f32>>,
    terminations: Py<PyArrayDyn<bool>>,
}

impl Batch {
    /// Runs a job on every part of the batch, on its threads.
    fn work(&mut self, py: Python<'_>, job: Job) -> PyResult<()> {
        let observations = match (&self.observations, self.observation) {
            (_, Observation::Nothing) => PartOutput::Nothing,
            (ObservationArray::Planes(array), _) => PartOutput::Planes(memory(array.bind(py))?),
            (ObservationArray::Vectors(array), Observation::State) => PartOutput::State(memory(array.bind(py))?),
            (ObservationArray::Vectors(array), _) => PartOutput::Compact(memory(array.bind(py))?),
        };
        let (mut rewards, mut terminations) = (memory(self.rewards.bind(py))?, memory(self.terminations.bind(py))?);
        let per_game = self.observation.shape(self.batch.shape()).iter().product();
        let (mut actions, workers, batch) = (&self.actions[..], self.workers.as_mut(), &mut self.batch);
        let threads = self.threads;
        without_gil(py, || {
            let count = batch.len().div_ceil(PART_GAMES);
            let mut output = observations;
            let parts = batch.parts(count).map(|part| {
                let games = part.len();
                let (part_actions, part_rewards, part_terminations, part_output);
                (part_actions, actions) = actions.split_at(games);
                (part_rewards, rewards) = std::mem::take(&mut rewards).split_at_mut(games);
                (part_terminations, terminations) = std::mem::take(&mut terminations).split_at_mut(games);
                (part_output, output) = std::mem::replace(&mut output, PartOutput::Nothing).split(games, per_game);
                (part, part_actions, part_rewards, part_terminations, part_output)
            });
            // Every thread begins with its own share, whose games are in its processor's cache since
            // the last step; a faster thread goes on with what the others have not begun.
            let parts: Vec<_> = parts.map(|part| Mutex::new(Some(part))).collect();
            let task = |thread: usize| {
                let first = parts.len() * thread / threads;
                let order = parts[first..].iter().chain(&parts[..first]);
                for part in order {
                    let part = part.lock().unwrap_or_else(PoisonError::into_inner).take();
                    let Some((mut part, actions, rewards, terminations, output)) = part else { continue };
                    if job == Job::Step {
                        let mut moves = [Move::Stay; PART_GAMES];
                        for (player_move, &action) in moves.iter_mut().zip(actions) {
                            *player_move = move_of_number(action.into()).unwrap_or(Move::Stay);
                        }
                        part.step(&moves[..actions.len()], rewards, terminations);
                    }
                    output.fill(&part);
                }
            };
            match workers {
                Some(workers) => workers.run(&task),
                None => task(0),
            }
        })
    }

    /// Reads one move per game.
    fn read_actions(&mut self, actions: &Bound<'_, PyAny>) -> PyResult<()> {
        if let Ok(array) = actions.extract::<PyReadonlyArray1<'_, i64>>() {
            return self.take_actions(&array, |number| number);
        }
        if let Ok(array) = actions.extract::<PyReadonlyArray1<'_, u8>>() {
            return self.take_actions(&array, i64::from);
        }
        if let Ok(array) = actions.extract::<PyReadonlyArray1<'_, i32>>() {
            return self.take_actions(&array, i64::from);
        }
        let py = actions.py();
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
        let array: PyReadonlyArray1<'_, i64> = array.call_method1("astype", ("int64",))?.extract()?;
        self.take_actions(&array, |number| number)
    }

    fn wrong_shape(&self, py: Python<'_>, found: &[usize]) -> PyErr {
        let found = PyTuple::new(py, found).map_or_else(|_| String::new(), |found| found.to_string());
        PyValueError::new_err(format!("actions: expected the shape ({},), found {found}", self.batch.len()))
    }

    fn take_actions<T: Element + Copy>(
        &mut self,
        array: &PyReadonlyArray1<'_, T>,
        number: impl Fn(T) -> i64,
    ) -> PyResult<()> {
        if array.len() != self.batch.len() {
            return Err(self.wrong_shape(array.py(), &[array.len()]));
        }
        let copied;
        let values = match array.as_slice() {
            Ok(values) => values,
            Err(_) => {
                copied = array.as_array().iter().copied().collect::<Vec<T>>();
                &copied
            }
        };
        // Combines all bits of all numbers, so that the loop needs no branch: 0 to 4, and these
        // plus 3, fit into three bits.
        let mut bits = 0;
        for (action, &value) in self.actions.iter_mut().zip(values) {
            let value = number(value);
            bits |= value | value.wrapping_add(3);
            *action = value as u8;
        }
        if !(0..8).contains(&bits) {
            let numbers = values.iter().map(|&value| number(value)).enumerate();
            let (index, value) = numbers.into_iter().find(|&(_, value)| !(0..=4).contains(&value)).unwrap_or_default();
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

/// A task for every part of a batch.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Job {
    Step,
    Observe,
}

/// The boards of a map, or of several.
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
        let observation = Observation::from_name(observation)?;
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
        let workers = if threads > 1 { Some(Workers::new(threads - 1).map_err(value_error)?) } else { None };
        let mut batch = Self {
            boards,
            batch,
            observation,
            threads,
            workers,
            actions: vec![0; games],
            observations: ObservationArray::new(py, observation, &shape),
            rewards: PyArrayDyn::zeros(py, vec![games], false).unbind(),
            terminations: PyArrayDyn::zeros(py, vec![games], false).unbind(),
        };
        batch.work(py, Job::Observe)?;
        Ok(batch)
    }

    /// Return games to their start, all or those that the mask marks; returns the observations.
    #[pyo3(signature = (mask = None, /))]
    fn reset(&mut self, py: Python<'_>, mask: Option<&Bound<'_, PyAny>>) -> PyResult<Py<PyAny>> {
        let games = self.batch.len();
        let marks = match mask {
            None => vec![true; games],
            Some(mask) => {
                let marks: PyReadonlyArray1<'_, bool> = mask.extract().map_err(|_| {
                    PyTypeError::new_err(format!(
                        "mask: expected a NumPy array of bool with one entry for each of {games} games"
                    ))
                })?;
                if marks.len() != games {
                    return Err(PyValueError::new_err(format!(
                        "mask: expected the shape ({games},), found ({},)",
                        marks.len()
                    )));
                }
                marks.as_array().iter().copied().collect()
            }
        };
        self.batch.reset(&marks);
        self.work(py, Job::Observe)?;
        Ok(self.observations.object(py))
    }

    /// Play a tick of every game; returns observations, rewards and terminations.
    ///
    /// A reward is the number of ticks gained: 1, or 0 for a game that was reset or whose player
    /// was caught in the no-jump variant.
    ///
    /// Raises:
    ///     TypeError: for actions that are not integers.
    ///     ValueError: for a shape other than (games,), or an action outside 0 to 4; no game has
    ///         changed then.
    #[pyo3(signature = (actions, /))]
    fn step(&mut self, actions: &Bound<'_, PyAny>) -> PyResult<(Py<PyAny>, Py<PyAny>, Py<PyAny>)> {
        let py = actions.py();
        self.read_actions(actions)?;
        self.work(py, Job::Step)?;
        let (rewards, terminations) = (self.rewards.clone_ref(py), self.terminations.clone_ref(py));
        Ok((self.observations.object(py), rewards.into_any(), terminations.into_any()))
    }

    /// The observations after the last step: games, then `observation_shape`.
    #[getter]
    fn observations(&self, py: Python<'_>) -> Py<PyAny> {
        self.observations.object(py)
    }

    /// The kind of observation.
    #[getter]
    fn observation(&self) -> Option<&'static str> {
        self.observation.name()
    }

    /// The shape of one game's observation: the same for all, with room for the largest map.
    #[getter]
    fn observation_shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.observation.shape(self.batch.shape()))
    }

    /// The number of threads that step the games.
    #[getter]
    fn threads(&self) -> usize {
        self.threads
    }

    /// The rules of each map.
    #[getter]
    fn rules<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        self.boards.iter().map(|board| to_rules(py, board.world.rules())).collect()
    }

    /// For each game, the tick about to be played.
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
        let (games, threads) = (self.batch.len(), self.threads);
        let observation = self.observation.name().map_or("None".to_owned(), |name| format!("'{name}'"));
        format!("<Batch of {games} games on {}, observation={observation}, threads={threads}>", maps.join(", "))
    }
}

/// One game for `getaway.gymnasium`: see `python/getaway/gymnasium.py`.
#[pyclass(module = "getaway")]
pub(crate) struct Single {
    board: Arc<Board>,
    batch: batch::Batch,
    observation: Observation,
    shape: Vec<usize>,
}

impl Single {
    fn observe<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let part = self.batch.parts(1).next().ok_or_else(|| PyIndexError::new_err("no game"))?;
        match self.observation {
            Observation::Planes => {
                let array = PyArrayDyn::<u8>::zeros(py, &self.shape[..], false);
                part.write_planes(memory(&array)?);
                Ok(array.into_any())
            }
            Observation::State => {
                let array = PyArray1::<i16>::zeros(py, self.shape[0], false);
                part.write_states(memory(array.to_dyn())?);
                Ok(array.into_any())
            }
            Observation::Compact | Observation::Nothing => {
                let array = PyArray1::<i16>::zeros(py, self.shape[0], false);
                part.write_compact(memory(array.to_dyn())?);
                Ok(array.into_any())
            }
        }
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
        let observation = Observation::from_name(Some(observation))?;
        // The other maps that the environment may be reset to: the observation's shape fits all of
        // them.
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
