//! Plays games locally with the server's messages: with a planner's bot in this process, or with an
//! external bot.

use std::io;
use std::time::Duration;

use thiserror::Error;

use super::entrant::Entrant;
use super::external::{ExternalBot, ExternalGame, ExternalHost};
use super::record::GameRecord;
use super::series::SeriesError;
use getaway::bot::{Bot, BotError, BotOptions, Decision, OptionsError};
use getaway::game::{Action, Move, State, World};
use getaway::planner::{PlannerHost, PlannerSpec};
use getaway::protocol::GameMessage;
use getaway::recording::WireNotes;

pub const TEAM: &str = "local";

#[derive(Debug, Error)]
pub enum GameError {
    /// The bot rejects a message, or its external planner fails.
    #[error("tick {tick}: {source}")]
    Bot {
        /// The tick of the message that the bot could not answer.
        tick: u16,
        source: BotError,
    },
    /// The log of an external bot cannot be written.
    #[error("external bots: {0}")]
    Log(#[source] io::Error),
}

/// Finds external planners.
pub type Host<'a> = Option<&'a dyn PlannerHost>;

/// Describes a player.
#[derive(Clone, Debug)]
pub enum PlayerSpec {
    Planner(PlannerSpec),
    External(ExternalBot),
}

impl PlayerSpec {
    /// Finds the planner or external bot of an entrant. `host` finds external planners.
    ///
    /// # Errors
    /// If the planner is invalid, or the bot has no command.
    pub fn find(entrant: &Entrant, host: Host<'_>) -> Result<Self, SeriesError> {
        match entrant.bot()? {
            Some(bot) => Ok(Self::External(bot)),
            None => Ok(Self::Planner(PlannerSpec::find(&entrant.spec, host)?)),
        }
    }

    /// Returns a player for a new game. The planner replaces that of `options`. An external bot
    /// gets only the seed of `options`.
    pub fn player(&self, options: BotOptions) -> Result<Player, OptionsError> {
        match self.clone() {
            Self::Planner(planner) => Ok(Player::Bot(Box::new(Bot::new(BotOptions { planner, ..options })?))),
            Self::External(bot) => Ok(Player::External { bot, seed: options.seed }),
        }
    }
}

pub enum Player {
    Bot(Box<Bot>),
    External { bot: ExternalBot, seed: u64 },
}

/// A player's answer to a state.
pub enum Answer<'a> {
    Decision(&'a Decision),
    Command {
        /// The accepted command; empty if none arrived in time.
        actions: &'a [Action],
        wire: WireNotes,
    },
}

pub struct PlayedGame {
    /// The last state.
    pub state: State,
    /// The record, without the settings of the game.
    pub record: GameRecord,
}

impl PlayedGame {
    pub(super) fn new(world: &World) -> Self {
        Self { state: world.start(), record: GameRecord::default() }
    }

    /// Plays a tick; the game must not be over.
    pub(super) fn step(&mut self, world: &World, player_move: Move) {
        self.record.line.0.push(player_move);
        world.step_unchecked(&mut self.state, player_move);
    }

    /// Completes the record of a game that is over.
    pub(super) fn finish(self, world: &World) -> Self {
        let states = world.states_along(&world.start(), &self.record.line.0);
        Self { record: self.record.with_result(world, &states), ..self }
    }
}

impl Player {
    /// Plays a game. Returns `None` if it was stopped. `watch` gets each state except the last with
    /// the player's answer. `host` starts an external bot, and `log_name` is the name of its log.
    ///
    /// # Errors
    /// If the bot rejects a message, its external planner fails, or the log of an external bot
    /// cannot be written.
    pub fn play(
        &mut self,
        world: &World,
        (host, log_name): (&ExternalHost, &str),
        is_stopped: &dyn Fn() -> bool,
        watch: &mut dyn FnMut(&State, Answer<'_>),
    ) -> Result<Option<PlayedGame>, GameError> {
        let bot = match self {
            Self::Bot(bot) => bot,
            Self::External { bot, seed } => {
                let game = ExternalGame { bot, world, seed: *seed, log_name };
                return host.play(game, is_stopped, watch).map_err(GameError::Log);
            }
        };
        let (start, mut played) = (thread_time(), PlayedGame::new(world));
        while !played.state.is_over() {
            let (message, tick) = (GameMessage::of(world, &played.state, TEAM), played.state.tick());
            let decision = bot.next_action(&message).map_err(|source| GameError::Bot { tick, source })?;
            watch(&played.state, Answer::Decision(&decision));
            if is_stopped() {
                return Ok(None);
            }
            played.record.simulated_ticks += decision.simulated_ticks;
            played.record.sources.add(decision.source);
            played.record.times.add(decision.elapsed);
            played.step(world, decision.player_move);
        }
        played.record.mispredictions = bot.mispredictions_by_threat().iter().sum();
        played.record.cost.cpu_ms = u64::try_from(thread_time().saturating_sub(start).as_millis()).unwrap_or(u64::MAX);
        Ok(Some(played.finish(world)))
    }
}

#[cfg(unix)]
fn thread_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::try_from(time).unwrap_or_default()
}

#[cfg(not(unix))]
fn thread_time() -> Duration {
    Duration::ZERO
}
