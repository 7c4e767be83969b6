//! The bot: turns each server message into a move.
//!
//! A [`Bot`] receives each server message and answers with a [`Decision`] within its budget. From
//! the first message it builds its own simulation of the game, on any map, and checks it against
//! every later message. A message passes through the stages in one direction; each stage is a file
//! with one entry point:
//!
//! | stage | file | result |
//! |---|---|---|
//! | decode | `observation` | the message, validated |
//! | observe | `game` | the game's record |
//! | predict, update | `tracker`, with `reconstruct` and `belief` | the tracked state |
//! | learn | `learning` | the rules, once the threats break the expected ones |
//! | plan, decide | `plan`, with `exploration` and `fallback` | the move |
//!
//! Guarantees: every message gets a decision or one clear error, never a panic, and no later than
//! the budget allows. Nothing runs in the background. Work that takes longer than a tick, such as
//! the tables of the largest maps, is done in slices; until it is finished, the bot plays with the
//! cautious planner.

use std::time::{Duration, Instant};

use crate::game::{Rules, Style};
use crate::planner::{self, Budget, CautiousRules, Choice};
use crate::protocol::GameMessage;

mod belief;
mod conformant;
mod deadline;
mod decision;
mod exploration;
mod fallback;
mod game;
mod hedge;
mod learning;
mod lines;
mod memory;
mod observation;
mod options;
mod plan;
mod readiness;
mod reconstruct;
mod records;
mod tracker;

use deadline::{Deadline, Deadlines};
pub use decision::{BotError, Decision};
use game::{Answer, Game, Observed};
pub use memory::Memory;
pub use options::{BUDGET_DEFAULT, BotOptions, OptionsError};
use tracker::Tracking;

/// The part of a budget held back as a safety margin (at most a quarter of a small one): planners
/// check the clock every few dozen microseconds, but the system may preempt the process for a time
/// slice.
const SAFETY_MARGIN: Duration = Duration::from_millis(5);
/// The longest budget: one day.
const BUDGET_MAX: Duration = Duration::from_secs(86_400);
/// A budget is divided by this: at most one part goes into reconstructing missed ticks.
const INFERENCE_SHARE: u32 = 4;

/// A player that receives the state before each tick and answers with a move.
///
/// ```
/// use getaway::bot::{Bot, BotOptions};
/// use getaway::game::{Layout, Rules, World};
/// use getaway::protocol::GameMessage;
///
/// let world = World::new(&Layout::parse("P...\n.##.\n...s")?, &Rules::BLITZ_2025)?;
/// let mut state = world.start();
/// let mut bot = Bot::new(BotOptions::default())?;
/// for _ in 0..100 {
///     let decision = bot.next_action(&GameMessage::of(&world, &state, "us"))?;
///     world.step(&mut state, decision.player_move);
/// }
/// assert!(!state.is_caught());
/// assert_eq!(bot.mispredictions_by_threat(), [0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Bot {
    options: BotOptions,
    /// The planner for decisions without predictions.
    cautious: CautiousRules,
    game: Option<Game>,
}

impl Bot {
    /// Creates a bot that has not seen a game.
    ///
    /// # Errors
    /// When the planner is unknown, does not know a limit of the budget, or the rules cannot be
    /// played.
    pub fn new(mut options: BotOptions) -> Result<Self, OptionsError> {
        options.rules.validate()?;
        options.budget.time = Some(options.budget.time.unwrap_or(BUDGET_MAX).min(BUDGET_MAX));
        options.planner.parse::<planner::PlannerSpec>()?.check_budget(&options.budget)?;
        Ok(Self { options, cautious: CautiousRules::new(), game: None })
    }

    /// The options it was created with.
    pub fn options(&self) -> &BotOptions {
        &self.options
    }

    /// Returns the next action for a message that has just arrived.
    ///
    /// # Errors
    /// As for [`Bot::next_action_since`].
    pub fn next_action(&mut self, message: &GameMessage) -> Result<Decision, BotError> {
        self.next_action_since(message, self.options.budget.time_source.now())
    }

    /// Returns the next action for a message that arrived at `arrival`, from which the budget is
    /// counted.
    ///
    /// A repeated message gets the same decision again. A message with an earlier tick, another map
    /// or another number of threats starts a new game.
    ///
    /// # Errors
    /// When the message is inconsistent, or the player is not on an open tile; the bot can still
    /// answer the next message. When an external planner fails.
    pub fn next_action_since(&mut self, message: &GameMessage, arrival: Instant) -> Result<Decision, BotError> {
        let (options, time_source) = (&self.options, self.options.budget.time_source);
        let time = options.budget.time.unwrap_or(BUDGET_MAX);
        let deadline = |after: Duration| Deadline { at: arrival + after, time_source };
        let deadlines = Deadlines {
            inference: deadline(time / INFERENCE_SHARE),
            decision: deadline(time.saturating_sub(SAFETY_MARGIN.min(time / 4))),
        };
        let elapsed = || time_source.now().saturating_duration_since(arrival);

        let decoded = observation::decode(message, &options.words)?;
        let counted: u32 = self.mispredictions_by_threat().iter().sum();
        let learnt = match game::observe(&mut self.game, &decoded, options, deadlines) {
            Observed::Repeated(decision) => return Ok(Decision { elapsed: elapsed(), ..decision }),
            Observed::New { learnt } => learnt,
        };
        let budget = Budget { time: None, deadline: Some(deadlines.decision.at), ..options.budget };
        let tracked = self.game.as_mut().and_then(|game| game.tracked(&decoded));
        let choice = plan::decide(tracked, &mut self.cautious, &decoded, options, budget)?;

        let Choice { player_move, source, planned_tick, simulated_ticks } = choice;
        let elapsed = elapsed();
        // A new game, or rules that explain more, begin with fewer.
        let mispredictions = self.mispredictions_by_threat().iter().sum::<u32>().saturating_sub(counted);
        let tick = message.tick;
        let decision =
            Decision { tick, player_move, source, planned_tick, mispredictions, simulated_ticks, elapsed, learnt };
        if let Some(game) = &mut self.game {
            let (observation, decision) = (decoded.observation, decision.clone());
            game.answer = Some(Answer { observation, decision, is_timely: elapsed <= time });
        }
        Ok(decision)
    }

    /// What the bot has learnt in this game that differs from its options, in sentences; empty as
    /// long as every threat does what was predicted.
    pub fn learnt(&self) -> Vec<String> {
        self.game.as_ref().map_or_else(Vec::new, |game| game.learning.sentences(&self.options.rules))
    }

    /// The rules by which the bot explains the game so far: those of its options as long as every
    /// threat does what was predicted.
    pub fn rules(&self) -> Rules {
        self.best_explanation().map_or(self.options.rules, |(rules, _)| rules)
    }

    /// What to keep for the next game: as in the options, unless a threat did something else.
    pub fn memory(&self) -> Memory {
        self.memory_with(self.best_explanation())
    }

    /// What to keep for the next game after one in which a threat has caught the player: if the bot
    /// had a plan, rules that explain the catch, if any do. No message follows a catch, so the bot
    /// has not seen it.
    pub fn memory_after_catch(&self) -> Memory {
        let planned = self.game.as_ref().filter(|game| game.has_ended_unexpectedly());
        let explained = planned.and_then(|game| game.explain_loss(&self.options));
        self.memory_with(explained.or_else(|| self.best_explanation()))
    }

    /// The rules and words of the best explanation, once a threat did something else.
    fn best_explanation(&self) -> Option<(Rules, Vec<(String, Style)>)> {
        self.game.as_ref().and_then(|game| game.learning.memory())
    }

    fn memory_with(&self, learnt: Option<(Rules, Vec<(String, Style)>)>) -> Memory {
        let doubts_rules = self.options.doubts_rules
            || self.game.as_ref().is_some_and(|game| game.learning.is_learning() || game.has_ended_unexpectedly());
        let (rules, words) = learnt.unwrap_or((self.options.rules, Vec::new()));
        let known = self.options.words.iter().filter(|(word, _)| words.iter().all(|(other, _)| other != word));
        let words = known.cloned().chain(words.iter().cloned()).collect();
        Memory { rules, words, doubts_rules }
    }

    /// How often each threat, in message order, did something other than predicted in this game.
    pub fn mispredictions_by_threat(&self) -> Vec<u32> {
        match &self.game {
            Some(Game { tracking: Some(Tracking::Following(tracker)), .. }) => tracker.beliefs.mispredictions(),
            Some(game) => vec![0; game.history.styles.len()],
            None => Vec::new(),
        }
    }
}
