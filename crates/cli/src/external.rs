//! External bots on the command line: their options, and what is printed about them.

use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use getaway_arena::{ExternalOptions, ExternalSummary};

use super::number::integer;
use super::{CliError, one_line};

/// An upper limit, so that a typing error does not cause a tick of several days.
const MAX_TICK_MS: u64 = 3_600_000;

/// Options of external bots.
#[derive(Args)]
#[command(next_help_heading = "External bots")]
pub(super) struct ExternalArgs {
    /// Time limit of an external bot per tick, in milliseconds; after it, the tick is played without
    /// a command
    #[arg(long, default_value_t = 100, value_name = "MS", value_parser = integer::<u64>(1..=MAX_TICK_MS))]
    tick_ms: u64,
    /// Start a new process of each pipe: bot for every game; by default one process plays all games
    /// of a thread (exec: bots always have a process for each game)
    #[arg(long)]
    restart: bool,
    /// Write the standard error of external bots into this folder, one file per game
    #[arg(long, value_name = "DIR")]
    logs: Option<PathBuf>,
}

impl ExternalArgs {
    /// The options.
    pub fn options(&self) -> ExternalOptions {
        let &Self { tick_ms, restart, ref logs } = self;
        ExternalOptions { tick_time: Duration::from_millis(tick_ms), restart, logs: logs.clone() }
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
