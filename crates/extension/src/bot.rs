use std::process;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

use pyo3::PyTraverseError;
use pyo3::exceptions::{PyRuntimeError, PyTypeError, PyValueError};
use pyo3::gc::PyVisit;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyString};

use getaway::bot::{self, BotOptions, Decision};
use getaway::game::Rules;
use getaway::planner::PlannerSpec;
use getaway::protocol::{GameMessage, ProtocolError};

use crate::callables::{Callable, is_in_planner, planner_spec};
use crate::convert::{
    action_dict, library_error, milliseconds, repr, seed_or_0, to_budget, type_name, value_error, variant, without_gil,
};
use crate::game::Game;
use crate::value::{from_rules, from_value, rules_options, to_value_of};

const TEAM: &str = "getaway";
/// Maximum number of values in a message that is given as a dict: two per tile and 64 per threat,
/// for the maximum numbers of tiles and threats.
const MESSAGE_VALUES_MAX: usize = 2 * GameMessage::MAX_SIDE * GameMessage::MAX_SIDE + 64 * GameMessage::MAX_THREATS;
const TURN_POLL: Duration = Duration::from_micros(200);

/// A player that receives the state before each tick and returns an action, or None to stay.
///
/// Several threads may share a bot, which handles one call at a time.
///
/// Args:
///     planner: a planner's name (see `planners`), `model:FILE`, an expression of the search
///         grammar, or a Python planner: a callable that takes a `State` and returns a move, or its
///         name `MODULE:NAME`. The budgets do not limit a Python planner. A class is instantiated
///         for each game, and may be instantiated again during a game, for example when the
///         planner has failed.
///     budget_ms: time per decision in milliseconds, including parsing the message, but not
///         converting a dict to JSON; more than a day counts as a day. By default 75, or a day if
///         `budget_ticks` is given.
///     budget_ticks: limit on the simulated ticks per decision; without `budget_ms`, games are
///         reproducible.
///     seed: the seed of the random number generator, from 0 to 2**128 - 1.
///     no_jump: whether stepping onto a threat's tile loses (the no-jump variant).
///     rules: a dict of the rules that differ from the server's.
///
/// Raises:
///     ValueError: if the planner cannot be found or loaded, or if another argument has an invalid
///         value.
#[pyclass(module = "getaway", frozen)]
pub(crate) struct Bot {
    options: BotOptions,
    callable: Option<Arc<Callable>>,
    /// A thread that holds this lock stays attached to the interpreter and runs no Python code. So
    /// a planner cannot deadlock with the bot that runs it, and the lock is free in a forked
    /// process.
    turn: Mutex<Turn>,
}

struct Turn {
    /// `None` while a thread is deciding.
    bot: Option<Box<bot::Bot>>,
    /// The process and thread of the current or last decision.
    owner: (u32, ThreadId),
    last: Option<Decision>,
    mispredictions: Vec<u32>,
}

impl Bot {
    fn lock(&self, _py: Python<'_>) -> MutexGuard<'_, Turn> {
        self.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn new_bot(options: &BotOptions) -> PyResult<Box<bot::Bot>> {
        bot::Bot::new(options.clone()).map(Box::new).map_err(value_error)
    }

    fn begin(&self, py: Python<'_>) -> PyResult<Box<bot::Bot>> {
        let own = (process::id(), thread::current().id());
        loop {
            let owner = {
                let mut turn = self.lock(py);
                let owner = turn.owner;
                if let Some(bot) = turn.bot.take() {
                    turn.owner = own;
                    return Ok(bot);
                }
                if owner.0 != own.0 {
                    turn.owner = own;
                }
                owner
            };
            if owner.0 != own.0 {
                // This process is a fork, and the thread that was deciding exists only in its
                // parent, so this process continues with a new bot.
                return Self::new_bot(&self.options);
            }
            if owner == own || is_in_planner() {
                return Err(PyRuntimeError::new_err(
                    "the bot is deciding: a planner cannot call a bot while that bot is deciding",
                ));
            }
            py.check_signals()?;
            py.detach(|| thread::sleep(TURN_POLL));
        }
    }

    fn decide(
        &self,
        py: Python<'_>,
        message: impl FnOnce() -> Result<GameMessage, ProtocolError> + Send,
    ) -> PyResult<Decision> {
        let arrival = Instant::now();
        let message =
            without_gil(py, message)?.map_err(|error| value_error(format_args!("invalid message: {error}")))?;
        let mut bot = self.begin(py)?;
        let decided = without_gil(py, || bot.next_action_since(&message, arrival));
        if decided.is_err() {
            bot = Self::new_bot(&self.options)?;
        }
        let mispredictions = bot.mispredictions_by_threat();
        let decided = decided.and_then(|decided| decided.map_err(|error| library_error(py, &error)));
        let mut turn = self.lock(py);
        turn.bot = Some(bot);
        turn.mispredictions = mispredictions;
        if let Ok(decision) = &decided {
            turn.last = Some(decision.clone());
        }
        decided
    }
}

#[pymethods]
impl Bot {
    #[new]
    #[pyo3(signature = (planner = None, *, budget_ms = None, budget_ticks = None, seed = None, no_jump = Rules::BLITZ_2025, rules = None),
        text_signature = "(planner='survival', *, budget_ms=None, budget_ticks=None, seed=0, no_jump=False, rules=None)")]
    fn new(
        planner: Option<&Bound<'_, PyAny>>,
        budget_ms: Option<f64>,
        budget_ticks: Option<&Bound<'_, PyAny>>,
        seed: Option<&Bound<'_, PyAny>>,
        #[pyo3(from_py_with = variant)] no_jump: Rules,
        rules: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let (seed, budget) = (seed_or_0(seed)?, to_budget(budget_ms, budget_ticks, 75.0)?);
        let (planner, callable) = planner.map_or_else(|| Ok((PlannerSpec::default(), None)), planner_spec)?;
        let rules = from_rules(&no_jump, rules)?;
        let options = BotOptions { planner, budget, seed, rules, ..BotOptions::default() };
        let bot = Self::new_bot(&options)?;
        // `bot::Bot::new` may have lowered the time budget.
        let options = bot.options().clone();
        let owner = (process::id(), thread::current().id());
        let turn = Turn { bot: Some(bot), owner, last: None, mispredictions: Vec::new() };
        Ok(Self { options, callable, turn: Mutex::new(turn) })
    }

    /// The action for a state, or None to stay. The state is the server's message: JSON or a dict.
    ///
    /// A state with an earlier tick, another map or another number of threats starts a new game.
    /// Releases the GIL; Ctrl-C is handled after the decision.
    ///
    /// Raises:
    ///     ValueError: if the state is invalid or inconsistent, or if a Python planner fails; the
    ///         planner's exception is then the cause. The bot remains usable. `KeyboardInterrupt`
    ///         and `SystemExit` in a planner are raised unchanged.
    ///     RuntimeError: if a planner calls this method while the bot is deciding.
    #[pyo3(signature = (game_message, /))]
    fn next_action<'py>(&self, game_message: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let py = game_message.py();
        let parse = |frame: &[u8]| self.decide(py, || GameMessage::parse(frame));
        let decision = if let Ok(text) = game_message.cast::<PyString>() {
            parse(text.to_str()?.as_bytes())
        } else if let Ok(bytes) = game_message.cast::<PyBytes>() {
            parse(bytes.as_bytes())
        } else if game_message.is_instance_of::<PyDict>() {
            let message = from_value("game_message", game_message, MESSAGE_VALUES_MAX)?;
            parse(message.to_string().as_bytes())
        } else {
            let found = type_name(game_message);
            Err(PyTypeError::new_err(format!("game_message: expected str, bytes or dict, found {found}")))
        }?;
        action_dict(py, decision.player_move)
    }

    /// Play a game to its end, message by message, and return the number of moves played.
    ///
    /// Releases the GIL; Ctrl-C is handled between decisions.
    ///
    /// Raises:
    ///     ValueError: if the game's rules differ from the bot's, or if a Python planner fails.
    ///     RuntimeError: if other code changes the game while the bot plays it, or if a planner
    ///         calls this method while the bot is deciding.
    #[pyo3(signature = (game, /))]
    fn play(&self, game: &Bound<'_, Game>) -> PyResult<usize> {
        let py = game.py();
        let (board, start) = {
            let game = game.try_borrow()?;
            (Arc::clone(&game.board), game.state.clone())
        };
        let (world, mut state) = (&board.world, start.clone());
        if self.options.rules != *world.rules() {
            return Err(PyValueError::new_err("game: its rules differ from those of the bot: expected the same"));
        }
        let mut moves = Vec::new();
        while !state.is_over() {
            let player_move = self.decide(py, || Ok(GameMessage::of(world, &state, TEAM)))?.player_move;
            world.step_unchecked(&mut state, player_move);
            moves.push(player_move);
            py.check_signals()?;
        }
        let mut game = game.try_borrow_mut()?;
        if game.state != start {
            return Err(PyRuntimeError::new_err("game: expected no change while the bot plays it"));
        }
        Ok(game.play_plan(&moves))
    }

    /// The last decision; None before the first.
    #[getter]
    fn last_decision<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let Some(decision) = self.lock(py).last.clone() else { return Ok(None) };
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

    /// For each threat, in message order, the number of mispredicted moves in the current game.
    #[getter]
    fn mispredictions(&self, py: Python<'_>) -> Vec<u32> {
        self.lock(py).mispredictions.clone()
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let BotOptions { ref planner, budget, seed, rules, .. } = self.options;
        let planner = repr(&PyString::new(py, &planner.to_string()))?;
        let budget_ms = budget.time.map_or_else(|| "None".to_owned(), |time| milliseconds(time).to_string());
        let budget_ticks = budget.ticks.map_or_else(String::new, |ticks| format!(", budget_ticks={ticks}"));
        let rules = rules_options(py, &rules)?;
        Ok(format!("Bot({planner}, budget_ms={budget_ms}{budget_ticks}, seed={seed}{rules})"))
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.callable.as_ref().map_or(Ok(()), |callable| callable.traverse(&visit))
    }

    fn __clear__(&self, py: Python<'_>) {
        if let Some(callable) = &self.callable {
            callable.clear(py);
        }
    }
}
