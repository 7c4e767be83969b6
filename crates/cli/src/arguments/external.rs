use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use clap::builder::{PathBufValueParser, TypedValueParser};

use getaway::game::{State, World};
use getaway_arena::{Answer, ExternalHost, ExternalOptions, ExternalRecord, Failure, PlayedGame, Player, STARTUP_TIME};

use super::{HOUR_MS, integer};
use crate::{Result, failed};

const MAX_MEMORY_MB: u64 = 1 << 20;

#[derive(Args, Clone)]
#[command(next_help_heading = "External bots")]
pub(crate) struct BotArgs {
    /// Time limit of an external bot per tick, in milliseconds; a new process of a
    /// `pipe:` bot also has --bot-start-ms for its first tick; if the bot is late,
    /// the tick is played without a command
    #[arg(long, default_value_t = 100, value_name = "MS", value_parser = integer::<u64>(1..=HOUR_MS))]
    tick_ms: u64,
    /// Time limit for an external bot to start and connect, and again to register; a
    /// `pipe:` bot has this time to start and send its first command
    #[arg(long, default_value_t = STARTUP_TIME.as_millis() as u64, value_name = "MS", value_parser = integer::<u64>(1..=HOUR_MS))]
    bot_start_ms: u64,
    /// Write the output of external bots into this folder, one file per game;
    /// for `pipe:` bots, only their standard error
    #[arg(long, value_name = "DIR", value_parser = PathBufValueParser::new().try_map(folder))]
    logs: Option<PathBuf>,
    /// Maximum total memory of an external bot's processes in MiB, sampled during
    /// the game (Linux only); a bot that exceeds it fails [default: no limit]
    #[arg(long, value_name = "MB", value_parser = integer::<u64>(1..=MAX_MEMORY_MB))]
    bot_memory_mb: Option<u64>,
    /// Maximum processor time of an external bot per game, in milliseconds (Linux
    /// only); a bot that exceeds it fails [default: no limit]
    #[arg(long, value_name = "MS", value_parser = integer::<u64>(1..=HOUR_MS))]
    bot_cpu_ms: Option<u64>,
}

fn folder(path: PathBuf) -> Result<PathBuf, &'static str> {
    if path.exists() && !path.is_dir() { Err("expected a folder, found a file") } else { Ok(path) }
}

impl BotArgs {
    /// Returns options that start a new process of the bot for every game.
    pub fn options(&self) -> ExternalOptions {
        ExternalOptions {
            tick_time: Duration::from_millis(self.tick_ms),
            startup_time: Duration::from_millis(self.bot_start_ms),
            restart: true,
            logs: self.logs.clone(),
            memory_mb_max: self.bot_memory_mb,
            cpu_ms_max: self.bot_cpu_ms,
        }
    }

    /// Plays a game. `watch` gets each state except the last with the player's answer.
    pub fn play(
        &self,
        player: &mut Player,
        world: &World,
        watch: &mut dyn FnMut(&State, Answer<'_>),
    ) -> Result<PlayedGame> {
        let host = ExternalHost::new(self.options());
        let played = player.play(world, (&host, "bot.log"), &|| false, watch)?;
        Ok(played.expect("the game was not stopped"))
    }
}

#[derive(Args)]
#[command(next_help_heading = "External bots")]
pub(crate) struct ExternalArgs {
    #[command(flatten)]
    bot: BotArgs,
    /// Start a new process of each `pipe:` bot for every game; by default, a
    /// process plays one game after another (`exec:` bots always get a new process)
    #[arg(long)]
    restart: bool,
}

impl ExternalArgs {
    pub fn options(&self) -> ExternalOptions {
        ExternalOptions { restart: self.restart, ..self.bot.options() }
    }
}

pub(crate) fn bot_failure(record: &ExternalRecord) -> Result {
    match &record.failure {
        Some(Failure { kind, tick, detail }) => Err(failed!("the bot {kind} at tick {tick}: {detail}")),
        None => Ok(()),
    }
}
