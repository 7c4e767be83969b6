//! The class `Bot`.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyString};

use getaway::bot::{self, BotOptions};
use getaway::game::Rules;
use getaway::planner;
use getaway::protocol::GameMessage;
use getaway::search::Budget;

use crate::convert::{
    action_dict, catch_panic, duration, from_python, milliseconds, optional_u64, value_error, variant, without_gil,
};
use crate::value::{from_rules, rules_options, to_value_of};

/// A player that receives the state before each tick and returns an action.
///
/// Several threads may share it; their calls are serialised.
///
/// Args:
///     planner: a planner's name (see `planners`) or an expression of the search grammar.
///     budget_ms: time per decision in milliseconds, including parsing the message.
///     budget_ticks: maximum number of ticks simulated per decision; with it, and a `budget_ms` that is
///         never reached, games are reproducible.
///     seed: the seed of the random number generator, from 0.
///     no_jump: whether the game is the no-jump variant, in which stepping onto a threat's tile loses.
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
        let player = &mut *self.lock();
        let options = player.bot.options().clone();
        match catch_panic(|| player.bot.next_action_since(&message, arrival)) {
            Ok(decision) => {
                let decision = decision.map_err(value_error)?;
                player.last = Some(decision);
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
    #[pyo3(signature = (planner = planner::DEFAULT_NAME, *, budget_ms = 75.0, budget_ticks = None, seed = None, no_jump = Rules::BLITZ_2025, rules = None),
        text_signature = "(planner='survival', *, budget_ms=75.0, budget_ticks=None, seed=0, no_jump=False, rules=None)")]
    fn new(
        planner: &str,
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
        let (planner, rules) = (planner.to_owned(), from_rules(&no_jump, rules)?);
        let options = BotOptions { planner, budget, seed, rules, ..BotOptions::default() };
        let bot = bot::Bot::new(options).map_err(value_error)?;
        Ok(Self { bot: Mutex::new(BotState { bot, last: None }) })
    }

    /// The action for a state, given as a frame or a dict; None to stay.
    ///
    /// A state with another map or an earlier tick starts a new game. Releases the interpreter lock;
    /// Ctrl-C is handled after the decision.
    ///
    /// Raises:
    ///     ValueError: for an invalid or inconsistent state, with the path of the field. The bot can be
    ///         used further.
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

    /// The last decision; None before the first.
    #[getter]
    fn last_decision<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let Some(decision) = py.detach(|| self.lock().last) else { return Ok(None) };
        let fields = (
            decision.tick,
            decision.source.name(),
            decision.planned_tick,
            decision.simulated_ticks,
            milliseconds(decision.elapsed),
        );
        to_value_of(py, "Decision", fields).map(Some)
    }

    /// For each threat, in message order, how often it did something other than predicted in this game.
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
