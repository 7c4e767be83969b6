use std::path::PathBuf;

use clap::Args;
use getaway::search::Budget;
use getaway_arena::{MARGIN_DEFAULT, SeriesOptions};
use getaway_runs::Workers;

use super::{BudgetArgs, ExternalArgs, RulesArgs, SeriesMapArgs, WorkerArgs, integer, page_address, seed};
use crate::Result;
use crate::output::{OutputArgs, note};

/// A limit in simulated ticks, not in time, so that results are reproducible.
const DEFAULT_BUDGET: Budget = Budget::ticks(20_000);
pub(crate) const MAX_SAMPLES: u64 = 100_000;

/// The options that a series and a ladder share.
#[derive(Args)]
#[command(mut_arg("ray", |arg| arg.conflicts_with("logs")))]
pub(crate) struct GamesArgs {
    #[command(flatten)]
    pub maps: SeriesMapArgs,
    #[command(flatten)]
    pub workers: WorkerArgs,
    #[command(flatten)]
    budget: BudgetArgs,
    #[command(flatten)]
    pub rules: RulesArgs,
    /// Seed from which the games' seeds are derived; in each sample of
    /// a map, all entrants play with the same seed
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = seed)]
    seed: u64,
    /// Link the pages to the playground at this address, where a game can
    /// be continued from the displayed tick
    #[arg(long, value_name = "URL", value_parser = page_address)]
    pub playground: Option<String>,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

impl GamesArgs {
    pub fn options(&self, planners: Vec<String>, samples: u32) -> Result<SeriesOptions> {
        Ok(SeriesOptions { planners, samples, seed: self.seed, rules: self.rules.rules()?, budget: self.budget() })
    }

    pub fn budget(&self) -> Budget {
        self.budget.or(DEFAULT_BUDGET)
    }

    /// Starts the workers. With a time limit, prints a warning if there are more threads than
    /// physical cores.
    pub fn workers(&self) -> Result<Workers> {
        let (cores, threads) = (num_cpus::get_physical(), self.workers.threads());
        if self.budget().has_time() && threads > cores {
            note(&format!(
                "warning: {threads} threads on {cores} physical cores: games compete for time, which weakens a budget in milliseconds"
            ));
        }
        self.workers.workers()
    }
}

#[derive(Args)]
pub(crate) struct SeriesArgs {
    #[command(flatten)]
    pub games: GamesArgs,
    /// Number of games per planner and map
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = integer::<u32>(1..=MAX_SAMPLES))]
    pub samples: u32,
    /// Append each finished game to this file as a line of JSON, and
    /// skip the games that the file already contains; created if missing
    #[arg(long, value_name = "FILE")]
    pub resume: Option<PathBuf>,
    /// Write a self-contained HTML report with replays, and next to it
    /// a .csv of the games and a .json of the result
    #[arg(long, value_name = "FILE.html")]
    pub report: Option<PathBuf>,
    #[command(flatten)]
    pub output: OutputArgs,
    /// Smallest mean score difference that matters, in points; a verdict of
    /// equal needs a 90% interval within this distance of zero
    #[arg(long, value_name = "POINTS", default_value_t = MARGIN_DEFAULT as u32, value_parser = integer::<u32>(1..=10_000))]
    margin: u32,
    /// Exit with 0 even if an external bot failed or was often late
    #[arg(long)]
    pub allow_failures: bool,
    #[command(flatten)]
    pub external: ExternalArgs,
}

impl SeriesArgs {
    pub fn margin(&self) -> f64 {
        self.margin.into()
    }
}
