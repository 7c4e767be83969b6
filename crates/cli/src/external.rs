//! External bots on the command line: their options, and what is printed about them.

use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use getaway_arena::{ExternalBot, ExternalOptions, ExternalRecord, ExternalSummary, Failure, SeriesError};

use super::number::integer;
use super::{CliError, one_line};

/// An upper limit, so that a typing error does not cause a tick of several days.
const MAX_TICK_MS: u64 = 3_600_000;

/// Options of one external bot.
#[derive(Args)]
#[command(next_help_heading = "External bots")]
pub(super) struct BotArgs {
    /// Time limit of an external bot per tick, in milliseconds; after it, the tick is played
    /// without a command
    #[arg(long, default_value_t = 100, value_name = "MS", value_parser = integer::<u64>(1..=MAX_TICK_MS))]
    tick_ms: u64,
    /// Write the standard error of external bots into this folder, one file per game
    #[arg(long, value_name = "DIR")]
    logs: Option<PathBuf>,
}

impl BotArgs {
    /// The options; a single game has a process of its own.
    pub fn options(&self) -> ExternalOptions {
        let &Self { tick_ms, ref logs } = self;
        ExternalOptions { tick_time: Duration::from_millis(tick_ms), restart: true, logs: logs.clone() }
    }
}

/// Options of external bots in a series.
#[derive(Args)]
#[command(next_help_heading = "External bots")]
pub(super) struct ExternalArgs {
    #[command(flatten)]
    bot: BotArgs,
    /// Start a new process of each pipe: bot for every game; by default one process plays all games
    /// of a thread (exec: bots always have a process for each game)
    #[arg(long)]
    restart: bool,
}

impl ExternalArgs {
    /// The options.
    pub fn options(&self) -> ExternalOptions {
        ExternalOptions { restart: self.restart, ..self.bot.options() }
    }
}

/// The external bot that `--planner` names, if it is one.
pub(super) fn external_bot(planner: &str) -> Result<Option<ExternalBot>, CliError> {
    match ExternalBot::parse(planner) {
        Some(bot) if bot.command.is_empty() => Err(SeriesError::NoCommand(planner.to_owned()).into()),
        bot => Ok(bot),
    }
}

/// The error of a single game in which the bot failed.
pub(super) fn bot_failure(record: &ExternalRecord) -> Result<(), CliError> {
    match &record.failure {
        Some(Failure { kind, tick, detail }) => {
            Err(CliError::Check(one_line(&format!("the bot {kind} in tick {tick}: {detail}"))))
        }
        None => Ok(()),
    }
}

/// Writes a summary of the external bots, if there are any.
pub(super) fn write_summaries(summaries: &[ExternalSummary], out: &mut impl Write) -> Result<(), CliError> {
    if summaries.is_empty() {
        return Ok(());
    }
    writeln!(out, "\nexternal bots")?;
    for summary in summaries {
        writeln!(out, "  {}", one_line(&summary.sentence()))?;
        for failure in &summary.failures {
            writeln!(out, "    {}", one_line(failure))?;
        }
    }
    Ok(())
}
