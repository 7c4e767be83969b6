//! Plays one game, with a planner in this process or with an external bot.

use std::convert::Infallible;
use std::ops::ControlFlow;

use getaway::bot::{Bot, BotOptions, Decision};
use getaway::game::{Action, State, World};
use getaway::planner::PlannerSpec;
use getaway::recording::WireNotes;
use getaway_arena::{
    Entrant, ExternalBot, ExternalGame, ExternalOptions, ExternalRecord, ExternalTick, PlayedGame, SeriesError,
    play_external,
};

use crate::{CliError, Host};

pub(crate) enum Player {
    Bot(Box<Bot>),
    External { bot: ExternalBot, seed: u64, options: ExternalOptions },
}

/// A player's answer to a state.
pub(crate) enum Answer<'a> {
    Decision(&'a Decision),
    Command { actions: &'a [Action], wire: WireNotes },
}

impl Player {
    /// Finds the planner or bot, which replaces the planner of `options`.
    pub fn new(
        planner: &str,
        options: BotOptions,
        external: ExternalOptions,
        host: Host<'_>,
    ) -> Result<Self, CliError> {
        let entrant = Entrant::parse(planner);
        if let Some(bot) = entrant.bot()? {
            return Ok(Self::External { bot, seed: options.seed, options: external });
        }
        let planner = PlannerSpec::find(&entrant.spec, host)?;
        Ok(Self::Bot(Box::new(Bot::new(BotOptions { planner, ..options })?)))
    }

    /// Plays a game. `watch` gets each state except the last, which is returned. For an external bot,
    /// also returns its record.
    pub fn play(
        &mut self,
        world: &World,
        mut watch: impl FnMut(&State, Answer<'_>),
    ) -> Result<(State, Option<ExternalRecord>), CliError> {
        match self {
            Self::Bot(bot) => {
                let played = getaway_arena::play(world, bot, |state, decision| {
                    watch(state, Answer::Decision(decision));
                    ControlFlow::<Infallible>::Continue(())
                });
                let ControlFlow::Continue(last) = played.map_err(|error| CliError::Check(error.to_string()))?;
                Ok((last, None))
            }
            Self::External { bot, seed, options } => {
                let game = ExternalGame { bot, world, seed: *seed, log_name: "bot.log" };
                let played = play_external(game, options, &mut |ExternalTick { state, actions, wire }| {
                    watch(state, Answer::Command { actions, wire });
                });
                let PlayedGame { state, record, .. } = played.map_err(SeriesError::External)?;
                Ok((state, Some(record)))
            }
        }
    }
}
