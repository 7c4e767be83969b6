//! The class `Bot`.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyString};

use getaway::bot::{self, BotOptions};
use getaway::game::Rules;
use getaway::planner;
use getaway::protocol::GameMessage;
use getaway::search::Budget;

use crate::callables::planner_name;
use crate::convert::{
    action_dict, catch_panic, duration, from_python, milliseconds, optional_u64, value_error, variant, without_gil,
};
use crate::game::Game;
use crate::value::{from_rules, rules_options, to_value_of};

/// The team in the messages of `Bot.play`.
const TEAM: &str = "getaway";

/// A player that receives the state before each tick and returns an action.
///
/// Several threads may share it; their calls are serialised.
///
/// Args:
///     planner: a planner's name (see `planners`), an expression of the search grammar, or a
///         planner in Python: a callable that takes a `State` and returns a move, or its name
///         `MODULE:NAME`. A class is instantiated once per game, and again when the bot learns more
///         about the map.
///     budget_ms: time per decision in milliseconds, including parsing the message.
///     budget_ticks: maximum number of ticks simulated per decision; with it, and a `budget_ms`
///         that is never reached, games are reproducible.
///     seed: the seed of the random number generator, from 0.
///     no_jump: whether the game is the no-jump variant, in which stepping onto a threat's tile
///         loses.
///     rules: rules that differ from the server's.
///
/// Raises:
///     ValueError: for an unknown planner, a negative budget, or rules out of range.
#[pyclass(module = "getaway", frozen)]
pub(crate) struct Bot {
    bot: Mutex<BotState>,
}

/// A bot and its last decision.
struct BotState {
    bot: bot::Bot,
    last: Option<bot::Decision>,
}

impl Bot {
    fn lock(&self) -> MutexGuard<'_, BotState> {
        // Panics are caught while the lock is held.
        self.bot.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn decide(&self, frame: &[u8]) -> PyResult<bot::Decision> {
        let arrival = Instant::now();
        let message =
            GameMessage::parse(frame).map_err(|error| value_error(format_args!("invalid message: {error}")))?;
        self.answer(&message, arrival)
    }

    /// Decides on a message that arrived at this time.
    fn answer(&self, message: &GameMessage, arrival: Instant) -> PyResult<bot::Decision> {
        let player = &mut *self.lock();
        let options = player.bot.options().clone();
        match catch_panic(|| player.bot.next_action_since(message, arrival)) {
            Ok(decision) => {
                let decision = decision.map_err(value_error)?;
                player.last = Some(decision.clone());
                Ok(decision)
            }
            Err(panic) => {
                player.bot = bot::Bot::new(options).map_err(value_error)?;
                Err(panic)
            }
        }
    }
}

#[pymethods]
impl Bot {
    #[new]
    #[pyo3(signature = (planner = None, *, budget_ms = 75.0, budget_ticks = None, seed = None, no_jump = Rules::BLITZ_2025, rules = None),
        text_signature = "(planner='survival', *, budget_ms=75.0, budget_ticks=None, seed=0, no_jump=False, rules=None)")]
    fn new(
        planner: Option<&Bound<'_, PyAny>>,
        budget_ms: f64,
        budget_ticks: Option<&Bound<'_, PyAny>>,
        seed: Option<&Bound<'_, PyAny>>,
        #[pyo3(from_py_with = variant)] no_jump: Rules,
        rules: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let (seed, budget_ticks) =
            (optional_u64("seed", seed)?.unwrap_or(0), optional_u64("budget_ticks", budget_ticks)?);
        let time = Some(duration("budget_ms", budget_ms)?);
        let budget = Budget { time, ticks: budget_ticks, ..Budget::UNLIMITED };
        let planner = planner.map_or_else(|| Ok(planner::DEFAULT_NAME.to_owned()), planner_name)?;
        let rules = from_rules(&no_jump, rules)?;
        let options = BotOptions { planner, budget, seed, rules, ..BotOptions::default() };
        // Checking the name may import a module, which may release the interpreter lock.
        let bot = bot::Bot::new(options).map_err(value_error)?;
        Ok(Self { bot: Mutex::new(BotState { bot, last: None }) })
    }

    /// The action for a state, given as a frame or a dict; None to stay.
    ///
    /// A state with another map or an earlier tick starts a new game. Releases the interpreter
    /// lock; Ctrl-C is handled after the decision.
    ///
    /// Raises:
    ///     ValueError: for an invalid or inconsistent state, with the path of the field. The bot
    ///         remains usable.
    #[pyo3(signature = (game_message, /))]
    fn next_action<'py>(&self, game_message: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let py = game_message.py();
        let decide = |frame: &[u8]| without_gil(py, || self.decide(frame))?;
        let decision = if let Ok(text) = game_message.cast::<PyString>() {
            decide(text.to_str()?.as_bytes())
        } else if let Ok(bytes) = game_message.cast::<PyBytes>() {
            decide(bytes.as_bytes())
        } else if game_message.is_instance_of::<PyDict>() {
            decide(from_python(game_message)?.as_bytes())
        } else {
            let found = game_message.get_type().name()?;
            Err(PyTypeError::new_err(format!("game_message: expected str, bytes or dict, found {found}")))
        }?;
        action_dict(py, decision.player_move)
    }

    /// Play a game to its end, message by message; returns how many moves were played.
    ///
    /// Releases the interpreter lock; Ctrl-C is handled between two decisions.
    ///
    /// Raises:
    ///     ValueError: if the game's rules are not the bot's, or if a planner in Python fails.
    #[pyo3(signature = (game, /))]
    fn play(&self, game: &Bound<'_, Game>) -> PyResult<usize> {
        let py = game.py();
        let (board, mut state) = {
            let game = game.try_borrow()?;
            (Arc::clone(&game.board), game.state.clone())
        };
        let world = &board.world;
        if py.detach(|| self.lock().bot.options().rules != *world.rules()) {
            return Err(PyValueError::new_err("game: expected one with the rules of the bot"));
        }
        let mut moves = Vec::new();
        while !state.is_over() {
            let player_move =
                without_gil(py, || self.answer(&GameMessage::of(world, &state, TEAM), Instant::now()))??.player_move;
            world.step(&mut state, player_move);
            moves.push(player_move);
            py.check_signals()?;
        }
        let mut game = game.try_borrow_mut()?;
        let played = game.play_plan(&moves);
        Ok(played)
    }

    /// The last decision; None before the first.
    #[getter]
    fn last_decision<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let Some(decision) = py.detach(|| self.lock().last.clone()) else { return Ok(None) };
        let fields = (
            decision.tick,
            decision.source.name(),
            decision.planned_tick,
            decision.simulated_ticks,
            milliseconds(decision.elapsed),
            decision.learnt,
        );
        to_value_of(py, "Decision", fields).map(Some)
    }

    /// For each threat, in message order, how often it did something other than predicted in this
    /// game.
    #[getter]
    fn mispredictions(&self, py: Python<'_>) -> Vec<u32> {
        py.detach(|| self.lock().bot.mispredictions_by_threat())
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let options = py.detach(|| self.lock().bot.options().clone());
        let BotOptions { planner, budget, seed, rules, .. } = options;
        let planner = PyString::new(py, &planner).repr()?;
        let budget_ms = milliseconds(budget.time.unwrap_or_default());
        let budget_ticks = budget.ticks.map_or_else(String::new, |ticks| format!(", budget_ticks={ticks}"));
        let rules = rules_options(py, &rules)?;
        Ok(format!("Bot({planner}, budget_ms={budget_ms}{budget_ticks}, seed={seed}{rules})"))
    }
}
