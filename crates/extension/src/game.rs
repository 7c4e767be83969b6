use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::PathBuf;
use std::sync::Arc;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

#[cfg(feature = "lab")]
use getaway::game::Direction;
use getaway::game::{self, Action, Move, Plan, PlayError, Rules, World};
use getaway::protocol::MessageWriter;

use crate::convert::{catch_panic, clearer, to_python, type_name, value_error, variant, without_gil};
use crate::map::{Map, read_map};
use crate::value::{
    from_command, from_move, from_plan, from_rules, from_threats, other_rules, read, read_position, to_move,
    to_position, to_rules, to_threat,
};

/// A map, and the world that simulates games on it under fixed rules.
#[derive(Debug)]
pub(crate) struct Board {
    pub map: Map,
    pub world: Arc<World>,
}

impl Board {
    fn new(py: Python<'_>, map: Map, rules: &Rules) -> PyResult<Arc<Self>> {
        let world = without_gil(py, || World::new(&map.map.layout, rules))?;
        let world = world.map_err(|error| value_error(format_args!("{}: {error}", map.map.name)))?;
        Ok(Arc::new(Self { map, world: Arc::new(world) }))
    }

    pub fn of_world(world: World) -> Self {
        let layout = world.layout().clone();
        let (name, kind, difficulty) = ("game".to_owned(), "message".to_owned(), String::new());
        Self { map: Map { map: getaway::map::Map { name, kind, difficulty, layout } }, world: Arc::new(world) }
    }

    /// The board that a game or state uses, or a new board for a `Map` or for a map's name or path.
    /// With a game or state, fails if `rules` is given, or if `variant` is no-jump but the board is
    /// not.
    pub fn of(map: &Bound<'_, PyAny>, variant: &Rules, rules: Option<&Bound<'_, PyAny>>) -> PyResult<Arc<Self>> {
        let py = map.py();
        let given = if let Ok(game) = map.cast::<Game>() {
            Some(Arc::clone(&game.try_borrow()?.board))
        } else {
            map.cast::<State>().ok().map(|state| Arc::clone(&state.get().board))
        };
        if let Some(board) = given {
            if rules.is_some() {
                return Err(PyValueError::new_err("rules: expected none with a game or state, which has its own"));
            }
            if variant.no_jump && !board.world.rules().no_jump {
                return Err(PyValueError::new_err(
                    "no_jump: expected a game or state of the no-jump variant, found the standard variant",
                ));
            }
            return Ok(board);
        }
        let rules = from_rules(variant, rules)?;
        if let Ok(map) = map.cast::<Map>() {
            return Self::new(py, map.get().clone(), &rules);
        }
        let path: PathBuf = map.extract().map_err(|error| {
            clearer(py, error, || {
                PyTypeError::new_err(format!(
                    "map: expected a name, a path, a Map, a Game or a State, found {}",
                    type_name(map)
                ))
            })
        })?;
        Self::new(py, Map { map: read_map(py, &path)? }, &rules)
    }

    /// The board for games that begin at the start. Like [`Board::of`], but also fails for a game or
    /// state that is not at its start, because the new games would not continue it.
    pub fn at_start(map: &Bound<'_, PyAny>, variant: &Rules, rules: Option<&Bound<'_, PyAny>>) -> PyResult<Arc<Self>> {
        let board = Self::of(map, variant, rules)?;
        let state = board.state_of(map)?;
        if state != board.world.start() {
            return Err(PyValueError::new_err(format!(
                "map: expected a game or state at its start, found tick {} (to continue: Game.copy, State.play, solve)",
                state.tick()
            )));
        }
        Ok(board)
    }

    /// The current state of a game or state; for a map, the start.
    pub fn state_of(&self, map: &Bound<'_, PyAny>) -> PyResult<game::State> {
        if let Ok(game) = map.cast::<Game>() {
            return Ok(game.try_borrow()?.state.clone());
        }
        Ok(map.cast::<State>().map_or_else(|_| self.world.start(), |state| state.get().state.clone()))
    }

    /// True if a world has the layout and the rules of this board.
    pub fn is_same(&self, world: &World) -> bool {
        let own = &*self.world;
        std::ptr::eq(own, world) || (own.layout() == world.layout() && own.rules() == world.rules())
    }

    /// The keyword argument `rules` with which a constructor restores the board's rules.
    fn options<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let options = PyDict::new(py);
        options.set_item("rules", other_rules(py, self.world.rules())?)?;
        Ok(options)
    }
}

macro_rules! state_getters {
    ($class:ident) => {
        #[pymethods]
        impl $class {
            /// The map.
            #[getter]
            fn map(&self) -> Map {
                self.board.map.clone()
            }

            /// All rules, as a dict.
            #[getter]
            fn rules<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
                to_rules(py, self.board.world.rules())
            }

            /// The current tick, from 1 to 2001.
            #[getter]
            fn tick(&self) -> u16 {
                self.state.tick()
            }

            /// The score if the game ends now: 5 times the current tick.
            #[getter]
            fn score(&self) -> u32 {
                self.board.world.score(&self.state)
            }

            /// `running`, `caught` or `complete`.
            #[getter]
            fn status(&self) -> &'static str {
                self.state.status().name()
            }

            /// True if the player is caught or the last tick has been played.
            #[getter]
            fn is_over(&self) -> bool {
                self.state.is_over()
            }

            /// True if a threat is on the player's tile, even if the game is complete.
            #[getter]
            fn is_caught(&self) -> bool {
                self.state.is_caught()
            }

            /// The player's position.
            #[getter]
            fn player(&self) -> (i32, i32) {
                to_position(self.board.world.player(&self.state))
            }

            /// The threats, in the map's order, with their memories and seeds.
            #[getter]
            fn threats(&self, py: Python<'_>) -> PyResult<Vec<Py<PyAny>>> {
                let world = &self.board.world;
                world.threats(&self.state).map(|threat| to_threat(py, &threat)).collect()
            }

            /// The moves to tiles that the player may enter, followed by staying. Empty if the game
            /// is over.
            #[getter]
            fn legal_moves(&self, py: Python<'_>) -> PyResult<Vec<Py<PyAny>>> {
                let moves = self.board.world.legal_moves(&self.state);
                moves.map(|player_move| to_move(py, player_move)).collect()
            }
        }
    };
}

/// A game's state at the start of a tick: a value, for what-if questions. `Game` plays a game.
///
/// States are immutable, and can be compared, hashed, copied and pickled. The constructor can
/// create any state that a game on the map can reach. It limits the threats' `draws` and
/// `idle_rounds` to values that occur in a game, and ignores memories that their styles do not use.
///
/// Args:
///     map: a map, its name or path, or a game or state whose map and rules are used.
///     tick: the tick, from 1 to 2001.
///     player: the player's position.
///     threats: the threats, in the map's order.
///     no_jump: whether to play the no-jump variant; a game or state keeps its own variant.
///     rules: a dict of the rules that differ from the server's; not for a game or state.
///
/// Raises:
///     FileNotFoundError: if the map does not exist.
///     ValueError: if the map cannot be read or played, or another argument is invalid.
#[pyclass(module = "getaway", frozen)]
pub(crate) struct State {
    pub board: Arc<Board>,
    pub state: game::State,
}

state_getters!(State);

impl State {
    fn with(&self, state: game::State) -> Self {
        Self { board: Arc::clone(&self.board), state }
    }
}

#[pymethods]
impl State {
    #[new]
    #[pyo3(signature = (map, *, tick, player, threats, no_jump = Rules::BLITZ_2025, rules = None),
        text_signature = "(map, *, tick, player, threats, no_jump=False, rules=None)")]
    fn new(
        map: &Bound<'_, PyAny>,
        tick: &Bound<'_, PyAny>,
        player: &Bound<'_, PyAny>,
        threats: &Bound<'_, PyAny>,
        #[pyo3(from_py_with = variant)] no_jump: Rules,
        rules: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let board = Board::of(map, &no_jump, rules)?;
        let tick = read("tick", "an integer from 1 to 2001", tick)?;
        let (player, threats) = (read_position("player", player)?, from_threats(&board.world, threats)?);
        let state = catch_panic(|| board.world.state_at(tick, player, &threats))?.map_err(value_error)?;
        Ok(Self { board, state })
    }

    /// The state after one tick in which the player makes this move. A blocked move counts as
    /// staying.
    ///
    /// Raises:
    ///     TypeError: if the move is not a `Move`, a number or a letter.
    ///     ValueError: if the game is over, or there is no move with this number or letter.
    #[pyo3(signature = (player_move, /), text_signature = "($self, move, /)")]
    fn after(&self, player_move: &Bound<'_, PyAny>) -> PyResult<Self> {
        let player_move = from_move("move", player_move)?;
        if self.state.is_over() {
            return Err(value_error(PlayError::GameOver));
        }
        let mut state = self.state.clone();
        catch_panic(|| self.board.world.step_unchecked(&mut state, player_move))?;
        Ok(self.with(state))
    }

    /// The state after these moves, one per tick. A blocked move counts as staying. Moves after the
    /// end of the game are ignored.
    ///
    /// Raises:
    ///     TypeError: if an item is not a `Move`, a number or a letter.
    ///     ValueError: if there is no move with this number or letter.
    #[pyo3(signature = (moves, /))]
    fn play(&self, py: Python<'_>, moves: &Bound<'_, PyAny>) -> PyResult<Self> {
        let moves = from_plan("moves", moves)?;
        let mut state = self.state.clone();
        without_gil(py, || self.board.world.play(&mut state, &moves))?;
        Ok(self.with(state))
    }

    /// The state as a picture.
    #[cfg(feature = "lab")]
    fn _repr_svg_(&self) -> PyResult<String> {
        catch_panic(|| getaway_viewer::svg(&self.board.world, &self.state, Direction::Right))
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        let same = |other: &Self| self.board.is_same(&other.board.world) && self.state == other.state;
        other.cast::<Self>().is_ok_and(|other| same(other.get()))
    }

    fn __hash__(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.state.hash(&mut hasher);
        hasher.finish()
    }

    fn __copy__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    #[pyo3(signature = (memo, /))]
    fn __deepcopy__(slf: Py<Self>, memo: &Bound<'_, PyAny>) -> Py<Self> {
        let _ = memo;
        slf
    }

    fn __getnewargs_ex__<'py>(&self, py: Python<'py>) -> PyResult<((Map,), Bound<'py, PyDict>)> {
        let options = self.board.options(py)?;
        options.set_item("tick", self.tick())?;
        options.set_item("player", self.player())?;
        options.set_item("threats", self.threats(py)?)?;
        Ok(((self.map(),), options))
    }

    fn __repr__(&self) -> String {
        let (name, tick, (x, y)) = (&self.board.map.map.name, self.tick(), self.player());
        format!("<State of {name}, tick {tick}, player at ({x}, {y}), {}>", self.status())
    }
}

/// A game played step by step, with its moves so far. `State` is a value without a past.
///
/// Games can be compared, copied and pickled; their moves are included. Games are mutable and
/// cannot be hashed, but their states can.
///
/// Args:
///     map: a map, its name or path, or a game or state at its start.
///     no_jump: whether to play the no-jump variant; a game or state keeps its own variant.
///     rules: a dict of the rules that differ from the server's; not for a game or state.
///     moves: the first moves of the game.
///
/// Raises:
///     FileNotFoundError: if the map does not exist.
///     ValueError: if the map cannot be read or played, or another argument is invalid, for example
///         if there are moves after the end of the game.
#[pyclass(module = "getaway")]
pub(crate) struct Game {
    pub board: Arc<Board>,
    pub state: game::State,
    pub moves: Vec<Move>,
}

state_getters!(Game);

impl Game {
    pub fn start(board: Arc<Board>) -> Self {
        Self { state: board.world.start(), board, moves: Vec::new() }
    }

    pub fn play_plan(&mut self, plan: &[Move]) -> usize {
        let before = self.moves.len();
        for player_move in plan {
            let command = player_move.direction().map(Action::Move);
            let Ok(made) = self.board.world.step_command(&mut self.state, command.as_slice()) else { break };
            self.moves.push(made);
        }
        self.moves.len() - before
    }
}

#[pymethods]
impl Game {
    #[new]
    #[pyo3(signature = (map, *, no_jump = Rules::BLITZ_2025, rules = None, moves = None),
        text_signature = "(map, *, no_jump=False, rules=None, moves='')")]
    fn new(
        map: &Bound<'_, PyAny>,
        #[pyo3(from_py_with = variant)] no_jump: Rules,
        rules: Option<&Bound<'_, PyAny>>,
        moves: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let mut game = Self::start(Board::at_start(map, &no_jump, rules)?);
        if let Some(moves) = moves {
            let plan = from_plan("moves", moves)?;
            let played = catch_panic(|| game.play_plan(&plan))?;
            if played < plan.len() {
                return Err(PyValueError::new_err(format!(
                    "moves: expected at most {played}, because the game is then over, found {}",
                    plan.len()
                )));
            }
        }
        Ok(game)
    }

    /// Play one tick with a move, an action, a list of actions (the first that moves the player
    /// counts), or None to stay. Return the move that the player made: `Move.STAY` if the way was
    /// blocked.
    ///
    /// Raises:
    ///     TypeError: if the argument or an item of the list has another type.
    ///     ValueError: if the game is over, or the move or an action is malformed.
    #[pyo3(signature = (action = None, /))]
    fn step(&mut self, py: Python<'_>, action: Option<&Bound<'_, PyAny>>) -> PyResult<Py<PyAny>> {
        let command = from_command(action)?;
        let (world, state) = (&self.board.world, &mut self.state);
        let player_move = catch_panic(|| world.step_command(state, &command))?.map_err(value_error)?;
        self.moves.push(player_move);
        to_move(py, player_move)
    }

    /// Play moves, one per tick, and stop if the game ends. Return the number of moves played. A
    /// blocked move counts as staying.
    ///
    /// Raises:
    ///     TypeError: if an item is not a `Move`, a number or a letter.
    ///     ValueError: if there is no move with this number or letter.
    #[pyo3(signature = (moves, /))]
    fn play(&mut self, py: Python<'_>, moves: &Bound<'_, PyAny>) -> PyResult<usize> {
        let plan = from_plan("moves", moves)?;
        without_gil(py, || self.play_plan(&plan))
    }

    /// Return to the start.
    fn reset(&mut self) {
        self.state = self.board.world.start();
        self.moves.clear();
    }

    /// A copy of the game that can be played independently.
    pub(crate) fn copy(&self) -> Self {
        Self { board: Arc::clone(&self.board), state: self.state.clone(), moves: self.moves.clone() }
    }

    /// The server's JSON message for the state.
    #[pyo3(signature = (team_id = "getaway"))]
    fn frame(&self, team_id: &str) -> PyResult<String> {
        catch_panic(|| MessageWriter::new(&self.board.world, team_id).write(&self.state))
    }

    /// The server's message for the state, as a dict.
    #[pyo3(signature = (team_id = "getaway"))]
    fn message<'py>(&self, py: Python<'py>, team_id: &str) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &self.frame(team_id)?)
    }

    /// The moves since the start, one letter per tick.
    #[getter]
    fn moves(&self) -> String {
        Plan::from(&self.moves[..]).to_string()
    }

    /// A snapshot of the current state.
    #[getter]
    fn state(&self) -> State {
        State { board: Arc::clone(&self.board), state: self.state.clone() }
    }

    /// The current state as a picture.
    #[cfg(feature = "lab")]
    fn _repr_svg_(&self) -> PyResult<String> {
        let heading = self.moves.iter().rev().find_map(|player_move| player_move.direction());
        catch_panic(|| getaway_viewer::svg(&self.board.world, &self.state, heading.unwrap_or(Direction::Right)))
    }

    fn __eq__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<bool> {
        let Ok(other) = other.cast::<Self>() else { return Ok(false) };
        let (one, two) = (slf.try_borrow()?, other.try_borrow()?);
        Ok(one.board.is_same(&two.board.world) && one.state == two.state && one.moves == two.moves)
    }

    fn __copy__(&self) -> Self {
        self.copy()
    }

    #[pyo3(signature = (memo, /))]
    fn __deepcopy__(&self, memo: &Bound<'_, PyAny>) -> Self {
        let _ = memo;
        self.copy()
    }

    fn __getnewargs_ex__<'py>(&self, py: Python<'py>) -> PyResult<((Map,), Bound<'py, PyDict>)> {
        let options = self.board.options(py)?;
        options.set_item("moves", self.moves())?;
        Ok(((self.map(),), options))
    }

    fn __repr__(&self) -> String {
        format!("<Game on {}, tick {}, {}>", self.board.map.map.name, self.tick(), self.status())
    }
}
