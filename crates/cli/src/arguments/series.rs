use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use getaway::search::Budget;
use getaway_arena::{MARGIN_DEFAULT, SeriesOptions};
use getaway_runs::Workers;
use getaway_runs::stats::Sprt;

use super::{ANY, ExternalArgs, HOUR_MS, MapArgs, RulesArgs, cluster, float, integer, page_address, seed};
use crate::output::{OutputArgs, note};
use crate::{CliError, Result, invalid};

/// A limit in simulated ticks, not in time, so that results are reproducible.
const DEFAULT_BUDGET: Budget = Budget::ticks(20_000);
pub(crate) const MAX_SAMPLES: u64 = 100_000;
pub const MAX_THREADS: u64 = 1024;

#[derive(Args)]
pub(crate) struct BudgetArgs {
    /// Time limit per decision in milliseconds; makes results depend
    /// on the machine [default for play: 75 if no other limit is given]
    #[arg(long, value_name = "MS", value_parser = integer::<u64>(0..=HOUR_MS))]
    budget_ms: Option<u64>,
    /// Maximum simulated ticks per decision; results are reproducible
    /// if --budget-ms is not given [default of eval, battle, ladder
    /// and tournament: 20000 if no other limit is given]
    #[arg(long, value_name = "N", value_parser = integer::<u64>(ANY))]
    budget_ticks: Option<u64>,
    /// Maximum evaluations of complete sequences of moves per decision;
    /// only for search expressions
    #[arg(long, value_name = "N", value_parser = integer::<u64>(ANY))]
    budget_evals: Option<u64>,
}

impl BudgetArgs {
    pub fn given(&self) -> Option<Budget> {
        let time = self.budget_ms.map(Duration::from_millis);
        let budget = Budget { time, ticks: self.budget_ticks, evaluations: self.budget_evals, ..Budget::UNLIMITED };
        (budget != Budget::UNLIMITED).then_some(budget)
    }
}

/// Where the jobs of a long run are done.
#[derive(Args)]
pub(crate) struct WorkerArgs {
    /// Number of threads; does not change the results, unless there is
    /// a time limit [default: number of physical cores]
    #[arg(long, value_name = "N", value_parser = integer::<usize>(1..=MAX_THREADS))]
    threads: Option<usize>,
    /// Work on the Ray cluster at this address: HOST:PORT, auto for
    /// the one on this machine, or local for a new one; needs the
    /// Python package with its extra `cluster`
    #[arg(long, value_name = "ADDRESS", conflicts_with = "threads")]
    pub ray: Option<String>,
}

impl WorkerArgs {
    pub fn threads(&self) -> usize {
        self.threads.unwrap_or_else(num_cpus::get_physical)
    }

    /// Starts the cluster's process, if there is one.
    pub fn workers(&self) -> Result<Workers> {
        match &self.ray {
            Some(address) => Ok(Workers::Process(cluster::start(address).map_err(CliError::Input)?)),
            None => Ok(Workers::Threads(self.threads())),
        }
    }
}

/// The options that a series and a ladder share.
#[derive(Args)]
#[command(mut_arg("ray", |arg| arg.conflicts_with("logs")))]
pub(crate) struct GamesArgs {
    /// Map, by name or path; repeatable [default: all maps of every
    /// --maps DIR, or the bundled maps]
    #[arg(long = "map", value_name = "MAP")]
    pub map_names: Vec<String>,
    #[command(flatten)]
    pub maps: MapArgs,
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
        self.budget.given().unwrap_or(DEFAULT_BUDGET)
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
    pub margin: u32,
    /// Exit with 0 even if an external bot failed, or missed 5% of its ticks or more
    #[arg(long)]
    pub allow_failures: bool,
    #[command(flatten)]
    pub external: ExternalArgs,
}

#[derive(Args)]
#[command(next_help_heading = "Sequential test")]
pub(crate) struct SprtArgs {
    /// Stop the games of two entrants once Wald's sequential test decides; --samples is the maximum
    #[arg(long)]
    sprt: bool,
    /// Share of untied pairs of games that the first planner wins under H0
    #[arg(long, value_name = "SHARE", default_value_t = Sprt::default().p0, requires = "sprt", value_parser = float)]
    sprt_p0: f64,
    /// Share of untied pairs of games that the first planner wins under H1
    #[arg(long, value_name = "SHARE", default_value_t = Sprt::default().p1, requires = "sprt", value_parser = float)]
    sprt_p1: f64,
    /// Probability of accepting H1 when H0 is true
    #[arg(long, value_name = "RATE", default_value_t = Sprt::default().alpha, requires = "sprt", value_parser = float)]
    sprt_alpha: f64,
    /// Probability of accepting H0 when H1 is true
    #[arg(long, value_name = "RATE", default_value_t = Sprt::default().beta, requires = "sprt", value_parser = float)]
    sprt_beta: f64,
}

impl SprtArgs {
    pub fn sprt(&self) -> Result<Option<Sprt>> {
        let &Self { sprt, sprt_p0: p0, sprt_p1: p1, sprt_alpha: alpha, sprt_beta: beta } = self;
        let test = Sprt { p0, p1, alpha, beta };
        if !test.is_valid() {
            return Err(invalid!(
                "invalid test: --sprt-p0 {p0}, --sprt-p1 {p1}, --sprt-alpha {alpha}, --sprt-beta {beta}: \
                 expected 0 < p0 < p1 < 1 and positive error rates that add up to less than 1"
            ));
        }
        Ok(sprt.then_some(test))
    }
}
