//! Shared by `getaway eval` and `getaway battle`: plays a series of games with a progress bar, a
//! results file and Ctrl-C.

use getaway::game::{Rules, variant};
use std::io::{self, Write};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::process;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use clap::Args;
use serde::Serialize;

use getaway::search::Budget;
use getaway_arena::{
    GameRecord, Games, Match, ReportText, ResultsError, ResultsFile, Series, SeriesError, SeriesOptions, report,
};

use super::budget::BudgetArgs;
use super::external::ExternalArgs;
use super::number::{ANY, integer};
use super::output::{OutputArgs, OutputFile};
use super::progress::{Progress, rounded};
use super::{CliError, MapArgs, RulesArgs};

/// Default budget of a decision: it makes a series reproducible, and `survival` plays as well with
/// it as within 75 ms.
const DEFAULT_BUDGET: Budget = Budget::ticks(20_000);
const MAX_SAMPLES: u64 = 100_000;
pub(super) const MAX_THREADS: u64 = 1024;
/// The time to find out how long a series takes.
const ESTIMATE_LIMIT: Duration = Duration::from_secs(1);
/// A series that takes longer says so beforehand.
const LONG_SERIES: Duration = Duration::from_secs(60);
/// Exit code after a second Ctrl-C.
const INTERRUPTED: i32 = 130;

/// Options of a series of games.
#[derive(Args)]
pub(super) struct SeriesArgs {
    #[command(flatten)]
    pub maps: MapArgs,
    /// Number of games per planner and map
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = integer::<u32>(1..=MAX_SAMPLES))]
    samples: u32,
    /// Number of games played in parallel [default: number of physical cores]
    #[arg(long, value_name = "N", value_parser = integer::<u16>(1..=MAX_THREADS))]
    threads: Option<u16>,
    #[command(flatten)]
    budget: BudgetArgs,
    #[command(flatten)]
    rules: RulesArgs,
    /// Seed from which the seeds of all games are derived; all planners play a sample with the same
    /// seed
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = integer::<u64>(ANY))]
    seed: u64,
    /// Append each finished game to this file as a line of JSON, and skip the games that it
    /// contains; created if missing
    #[arg(long, value_name = "FILE")]
    resume: Option<PathBuf>,
    /// Write a self-contained HTML report
    #[arg(long, value_name = "FILE.html")]
    report: Option<PathBuf>,
    #[command(flatten)]
    output: OutputArgs,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    external: ExternalArgs,
}

/// The settings printed with the results.
#[derive(Serialize)]
pub(super) struct Settings {
    seed: u64,
    #[serde(rename = "no_jump", with = "variant")]
    rules: Rules,
    #[serde(flatten)]
    budget: Budget,
    samples: u32,
    /// Number of games in the results, and of the complete series.
    games: usize,
    games_max: usize,
}

/// A series and the games played so far.
pub(super) struct SeriesRun<'a> {
    args: &'a SeriesArgs,
    /// The maps as given on the command line, in the order of the series.
    map_arguments: Vec<String>,
    pub series: Series,
    pub games: Games,
    report: Option<OutputFile>,
    interrupted: bool,
}

impl From<SeriesError> for CliError {
    fn from(error: SeriesError) -> Self {
        match error {
            SeriesError::Game { .. } => Self::Check(error.to_string()),
            _ => Self::Input(error.to_string()),
        }
    }
}

impl From<ResultsError> for CliError {
    fn from(error: ResultsError) -> Self {
        Self::Input(error.to_string())
    }
}

impl<'a> SeriesRun<'a> {
    /// A series on the named maps; by default on all maps of every `--maps DIR`, or else on the
    /// bundled maps.
    pub fn new(args: &'a SeriesArgs, names: &[String], planners: Vec<String>) -> Result<Self, CliError> {
        let maps = args.maps.load(names)?;
        let map_arguments =
            if names.is_empty() { maps.iter().map(|map| map.name.clone()).collect() } else { names.to_vec() };
        let SeriesArgs { samples, seed, .. } = *args;
        let rules = args.rules.rules()?;
        let series = Series::new(
            &maps,
            SeriesOptions { planners, samples, seed, rules, budget: args.budget.or(DEFAULT_BUDGET) },
        )?
        .with_external(args.external.options());
        // Fail now rather than after hours of games.
        let report = args.report.as_ref().map(|path| args.output.file(path)).transpose()?;
        Ok(Self { args, map_arguments, series, games: Games::new(), report, interrupted: false })
    }

    /// Plays the missing games. `status` is called after each game; it returns the running score,
    /// or stops the series.
    pub fn play(&mut self, mut status: impl FnMut(&Series, &Games) -> ControlFlow<(), String>) -> Result<(), CliError> {
        let threads = self.args.threads();
        let mut file = None;
        if let Some(path) = &self.args.resume {
            let (opened, games) = ResultsFile::resume(path, &self.series)?;
            (file, self.games) = (Some(opened), games);
        }
        let stop = stop_on_interrupt()?;
        self.announce(threads)?;
        let progress = Progress::resumed(self.series.len() as u64, "games", self.played() as u64);
        let Self { series, games, .. } = self;
        if status(series, games).is_continue() {
            let flow = series.play(games, threads, &stop, |index, games| {
                let game = games[index].as_ref().expect("a game that has just ended");
                if let Some(Err(error)) = file.as_mut().map(|file| file.write(game)) {
                    return ControlFlow::Break(Err(error));
                }
                progress.inc(1);
                status(series, games).map_break(Ok).map_continue(|text| progress.set_message(text))
            });
            drop(progress);
            if let ControlFlow::Break(result) = flow? {
                result?;
                return Ok(());
            }
        }
        self.games.resize(self.series.len(), None);
        self.interrupted = stop.load(Ordering::Relaxed) && self.played() < self.series.len();
        Ok(())
    }

    /// Says beforehand about how long a long series takes.
    fn announce(&self, threads: usize) -> Result<(), CliError> {
        let missing = self.series.len() - self.played();
        let planners = self.series.options().planners.len();
        if missing <= 2 * planners {
            // The estimate would take about as long as the games.
            return Ok(());
        }
        let time = self.series.estimate(&self.games, threads, ESTIMATE_LIMIT)?;
        if time > LONG_SERIES {
            let time = rounded(time);
            // If standard error is closed, there is nowhere to report to.
            let _ = writeln!(io::stderr(), "{missing} games on {threads} threads: this takes about {time}");
        }
        Ok(())
    }

    fn played(&self) -> usize {
        self.games.iter().flatten().count()
    }

    /// The settings printed with the results.
    pub fn settings(&self) -> Settings {
        let &SeriesOptions { samples, seed, rules, budget, .. } = self.series.options();
        Settings { seed, rules, budget, samples, games: self.played(), games_max: self.series.len() }
    }

    /// The settings as text.
    pub fn heading(&self) -> String {
        let Settings { seed, rules, budget, samples, games, games_max } = self.settings();
        let limits = [(budget.ticks, "simulated ticks"), (budget.evaluations, "evaluations"), (budget.time_ms(), "ms")];
        let limits = limits.into_iter().filter_map(|(limit, unit)| limit.map(|limit| format!("{limit} {unit}")));
        let budget = limits.collect::<Vec<String>>().join(" and ");
        let variant = if rules.no_jump { ", no jumping" } else { "" };
        let missing = if games < games_max { format!(", {games} of {games_max} games so far") } else { String::new() };
        let samples = if samples == 1 { "1 sample".to_owned() } else { format!("{samples} samples") };
        format!("{samples} per map, at most {budget} per decision{variant}, seed {seed}{missing}")
    }

    /// The command that replays a game; exactly, unless its budget has a time limit.
    fn replay_command(&self, map: usize, game: &GameRecord) -> String {
        let mut words = vec!["getaway".to_owned(), "play".to_owned(), shell_quoted(&self.map_arguments[map])];
        let mut option = |name: &str, value: &str| words.extend([format!("--{name}"), shell_quoted(value)]);
        for dir in &self.args.maps.dirs {
            option("maps", &dir.display().to_string());
        }
        option("planner", &game.planner);
        let budget = game.budget;
        let limits =
            [("budget-ms", budget.time_ms()), ("budget-ticks", budget.ticks), ("budget-evals", budget.evaluations)];
        for (name, limit) in limits {
            if let Some(limit) = limit {
                option(name, &limit.to_string());
            }
        }
        option("seed", &game.seed.to_string());
        words.extend(self.args.rules.words());
        words.join(" ")
    }

    /// Writes the report, if requested.
    pub fn write_report(&self, title: &str, battle: Option<&Match>) -> Result<(), CliError> {
        let Some(file) = &self.report else { return Ok(()) };
        let words = super::arguments().into_iter().map(|word| shell_quoted(&word));
        let command = ["getaway".to_owned()].into_iter().chain(words).collect::<Vec<String>>().join(" ");
        let text = ReportText { title, heading: &self.heading(), command: &command };
        let replay = |index: usize| {
            let game = self.games[index].as_ref()?;
            Some(self.replay_command(self.series.key(index).map, game))
        };
        let page = report(&self.series, &self.games, battle, text, replay);
        file.write(page.as_bytes())
    }

    /// Returns an error if the series was interrupted; the results so far have been printed.
    pub fn end(self) -> Result<(), CliError> {
        if !self.interrupted {
            return Ok(());
        }
        let advice = match (&self.args.resume, &self.report) {
            (Some(_), Some(_)) if !self.args.output.overwrites() => {
                "rerun the same command with --force to continue and to overwrite the report"
            }
            (Some(_), _) => "rerun the same command to continue",
            (None, _) => "use --resume FILE to keep them",
        };
        let (played, all) = (self.played(), self.series.len());
        Err(CliError::Interrupted(format!("interrupted after {played} of {all} games; {advice}")))
    }
}

impl SeriesArgs {
    /// The number of parallel games; warns if there are more than cores.
    fn threads(&self) -> usize {
        let cores = num_cpus::get_physical();
        let threads = self.threads.map_or(cores, usize::from);
        if self.budget.or(DEFAULT_BUDGET).has_time() && threads > cores {
            // If standard error is closed, the warning is lost, which is acceptable.
            let _ = writeln!(
                io::stderr(),
                "warning: {threads} threads on {cores} physical cores: games compete for time, which weakens a budget in milliseconds"
            );
        }
        threads
    }
}

/// A flag that is set by Ctrl-C; a second Ctrl-C ends the program.
pub(super) fn stop_on_interrupt() -> Result<Arc<AtomicBool>, CliError> {
    let stop = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&stop);
    ctrlc::set_handler(move || {
        if flag.swap(true, Ordering::Relaxed) {
            process::exit(INTERRUPTED);
        }
    })
    .map_err(|error| CliError::Input(format!("cannot install the Ctrl-C handler: {error}")))?;
    Ok(stop)
}

/// Quotes a word for the shell.
pub(super) fn shell_quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:,=+@%".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_for_the_shell() {
        assert_eq!(
            ["a-b/c.d", "", "a b", "it's", "step(x)"].map(shell_quoted),
            ["a-b/c.d", "''", "'a b'", r"'it'\''s'", "'step(x)'"]
        );
    }
}
