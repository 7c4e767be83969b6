//! The bot: a [`Bot`] answers each server message with a [`Decision`] within its budget. It
//! simulates the game from the first message on, and checks the simulation against later messages.
//!
//! The stages, with their main modules, are decode (`observation`); observe (`game`); predict and
//! update (`tracker`, `reconstruct`, `belief`); learn (`learning`); plan and decide (`plan`,
//! `attempts`, `exploration`, `fallback`).
//!
//! Every message leads to a decision or an error. The bot does no work in the background. The
//! tables of the largest maps take longer than a tick to build, so the bot builds them over several
//! ticks. Until they are complete and all messages so far have been processed, the bot plays with
//! the cautious planner.

use std::time::{Duration, Instant};

use crate::game::{Rules, Style};
use crate::planner::{CautiousRules, Choice};
use crate::protocol::GameMessage;
use crate::search::{Budget, Deadline, now};

mod attempts;
mod belief;
mod deadline;
mod decision;
mod exploration;
mod fallback;
mod filters;
mod game;
mod hedge;
mod learning;
mod lines;
mod memory;
mod observation;
mod options;
mod plan;
mod prior;
mod reconstruct;
mod records;
mod threat_belief;
mod tracker;

use deadline::Deadlines;
pub use decision::{BotError, Decision};
use game::{Game, Observed};
pub use memory::Memory;
pub use options::{BUDGET_DEFAULT, BotOptions, OptionsError};
use tracker::Tracking;

/// Time held back from a budget (at most a quarter of it), in case the system preempts the process.
const SAFETY_MARGIN: Duration = Duration::from_millis(5);
const BUDGET_MAX: Duration = Duration::from_secs(86_400);
/// Gap reconstruction ends after 1 / `INFERENCE_DIVISOR` of the time budget, or at the decision's
/// deadline if the tracker is behind the game.
const INFERENCE_DIVISOR: u32 = 4;
/// Learning pauses after 1 / `LEARNING_DIVISOR` of the time budget. The rest is for planning.
const LEARNING_DIVISOR: u32 = 2;

/// A player that receives a message before each tick and answers with a move.
///
/// ```
/// use getaway::bot::{Bot, BotOptions};
/// use getaway::game::{Layout, Rules, World};
/// use getaway::protocol::GameMessage;
///
/// let world = World::new(&Layout::parse("P...\n.##.\n...S")?, &Rules::BLITZ_2025)?;
/// let mut state = world.start();
/// let mut bot = Bot::new(BotOptions::default())?;
/// for _ in 0..100 {
///     let decision = bot.next_action(&GameMessage::of(&world, &state, "us"))?;
///     world.step_unchecked(&mut state, decision.player_move);
/// }
/// assert!(!state.is_caught());
/// assert_eq!(bot.mispredictions_by_threat(), [0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Bot {
    options: BotOptions,
    cautious: CautiousRules,
    game: Option<Game>,
}

impl Bot {
    /// Creates a bot, which can play any number of games.
    ///
    /// # Errors
    /// If the rules are invalid, or the planner does not support a limit of the budget.
    pub fn new(mut options: BotOptions) -> Result<Self, OptionsError> {
        options.rules.validate()?;
        options.budget.time = Some(options.budget.time.unwrap_or(BUDGET_MAX).min(BUDGET_MAX));
        options.planner.check_budget(&options.budget)?;
        Ok(Self { options, cautious: CautiousRules::new(), game: None })
    }

    /// The options of the bot.
    pub fn options(&self) -> &BotOptions {
        &self.options
    }

    /// Like [`Bot::next_action_since`], for a message that has just arrived.
    pub fn next_action(&mut self, message: &GameMessage) -> Result<Decision, BotError> {
        self.next_action_since(message, now())
    }

    /// Returns the decision for a message. The budget's time counts from `arrival`. If the message
    /// repeats the last answered one, returns the same decision, apart from [`Decision::elapsed`],
    /// unless the game cannot be simulated. A message with an earlier tick, another map or another
    /// number of threats starts a new game.
    ///
    /// # Errors
    /// If the message is inconsistent, the player is not on an open tile, or an external planner
    /// fails. After an error, the bot can still answer the next message.
    pub fn next_action_since(&mut self, message: &GameMessage, arrival: Instant) -> Result<Decision, BotError> {
        let options = &self.options;
        let time = options.budget.time.unwrap_or(BUDGET_MAX);
        let end = arrival + time.saturating_sub(SAFETY_MARGIN.min(time / 4));
        let start = now();
        let deadline = |at| Deadline::new(at, start);
        let deadlines = Deadlines {
            inference: deadline(arrival + time / INFERENCE_DIVISOR),
            learning: deadline(arrival + time / LEARNING_DIVISOR),
            decision: deadline(end),
        };
        let elapsed = || now().saturating_duration_since(arrival);

        let decoded = observation::decode(message, &options.words)?;
        let counted: u32 = self.mispredictions_by_threat().iter().sum();
        let learnt = match game::observe(&mut self.game, &decoded, options, deadlines) {
            Observed::Repeated(decision) => return Ok(Decision { elapsed: elapsed(), ..decision }),
            Observed::New { learnt } => learnt,
        };
        let budget = Budget { time: None, deadline: Some(end), ..options.budget };
        let tracked = self.game.as_mut().and_then(|game| game.tracked(&decoded));
        let choice = plan::decide(tracked, &mut self.cautious, &decoded, options, budget)?;

        let Choice { player_move, source, planned_tick, simulated_ticks } = choice;
        let elapsed = elapsed();
        // The sum can fall: a new game starts at 0, and new rules may explain old mispredictions.
        let mispredictions = self.mispredictions_by_threat().iter().sum::<u32>().saturating_sub(counted);
        let tick = message.tick;
        let decision =
            Decision { tick, player_move, source, planned_tick, mispredictions, simulated_ticks, elapsed, learnt };
        if let Some(game) = &mut self.game {
            game.keep_answer(decoded.observation, decision.clone(), elapsed <= time);
        }
        Ok(decision)
    }

    /// The rules of the best explanation that differ from the expected rules, and the inferred
    /// style names, as sentences. Empty if the bot has inferred nothing.
    pub fn learnt(&self) -> Vec<String> {
        self.game.as_ref().map_or_else(Vec::new, |game| game.learning.conclusions(&self.options.rules))
    }

    /// The rules that best explain the game, or those of the options if the bot has inferred none.
    pub fn rules(&self) -> Rules {
        self.best_explanation().map_or(self.options.rules, |(rules, _)| rules)
    }

    /// The knowledge for the next game: the options, updated with the findings of this game.
    pub fn memory(&self) -> Memory {
        let doubts_rules = self.options.doubts_rules
            || self.game.as_ref().is_some_and(|game| game.learning.has_learnt() || game.has_ended_unexpectedly());
        let (rules, words) = self.best_explanation().unwrap_or((self.options.rules, Vec::new()));
        let known = self.options.words.iter().filter(|(word, _)| words.iter().all(|(other, _)| other != word));
        let words = known.cloned().chain(words.iter().cloned()).collect();
        Memory { rules, words, doubts_rules }
    }

    fn best_explanation(&self) -> Option<(Rules, Vec<(String, Style)>)> {
        self.game.as_ref().and_then(|game| game.learning.best.clone())
    }

    /// For each threat, in message order, the number of mispredictions in this game. After the bot
    /// has adopted other rules, the number of mispredictions under those rules.
    pub fn mispredictions_by_threat(&self) -> Vec<u32> {
        match &self.game {
            Some(Game { tracking: Some(Tracking::Following(tracker)), .. }) => tracker.beliefs.mispredictions(),
            Some(game) => vec![0; game.history.named.len()],
            None => Vec::new(),
        }
    }
}
