//! Shared by `getaway eval` and `getaway battle`: plays a series of games with a progress bar, a
//! results file and Ctrl-C.

use getaway::game::{Rules, variant};
use std::io::{self, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};
use std::{env, fs, process};

use clap::Args;
use serde::Serialize;

use getaway::protocol::to_json;
use getaway::search::Budget;
use getaway_arena::{
    GameRecord, Games, Match, ReportResult, ReportText, ResultsError, ResultsFile, Series, SeriesError, SeriesOptions,
    Tournament, report,
};

use super::budget::BudgetArgs;
use super::cluster;
use super::external::ExternalArgs;
use super::number::{ANY, integer};
use super::output::{OutputArgs, OutputFile};
use super::progress::{Progress, rounded};
use super::report_replays::report_replays;
use super::{CliError, MapArgs, RulesArgs};

/// Default budget of a decision: it makes a series reproducible, and `survival` plays as well with
/// it as within 75 ms.
const DEFAULT_BUDGET: Budget = Budget::ticks(20_000);
const MAX_SAMPLES: u64 = 100_000;
pub(super) const MAX_THREADS: u64 = 1024;
/// Time limit for estimating how long a series takes.
const ESTIMATE_LIMIT: Duration = Duration::from_secs(1);
/// The estimate is printed for a series that takes longer than this.
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
    /// Write a self-contained HTML report in which every game can be watched, and with it the games
    /// as .csv and the result as .json
    #[arg(long, value_name = "FILE.html")]
    report: Option<PathBuf>,
    /// Play the games on the Ray cluster at this address: HOST:PORT, auto for the one on this
    /// machine, or local for a new one; needs the Python package with its extra `cluster`
    #[arg(long, value_name = "ADDRESS", conflicts_with_all = ["threads", "logs"])]
    ray: Option<String>,
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
    report: Option<ReportFiles>,
    interrupted: bool,
}

/// The files of a report.
struct ReportFiles {
    page: OutputFile,
    csv: OutputFile,
    json: OutputFile,
}

impl ReportFiles {
    fn new(path: &Path, output: OutputArgs) -> Result<Self, CliError> {
        let beside = |extension: &str| output.file(path.with_extension(extension));
        Ok(Self { page: output.file(path)?, csv: beside("csv")?, json: beside("json")? })
    }
}

/// The limits of a budget: "20000 simulated ticks".
fn budget_words(budget: &Budget) -> String {
    let limits = [(budget.ticks, "simulated ticks"), (budget.evaluations, "evaluations"), (budget.time_ms(), "ms")];
    let limits = limits.into_iter().filter_map(|(limit, unit)| limit.map(|limit| format!("{limit} {unit}")));
    limits.collect::<Vec<String>>().join(" and ")
}

/// The processor's name and its number of cores.
fn processor() -> String {
    let cores = num_cpus::get_physical();
    let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = info.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
    let name = name.map_or(env::consts::ARCH, |(_, name)| name.trim());
    format!("{name}, {cores} {}", if cores == 1 { "core" } else { "cores" })
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
        let report = args.report.as_ref().map(|path| ReportFiles::new(path, args.output)).transpose()?;
        Ok(Self { args, map_arguments, series, games: Games::new(), report, interrupted: false })
    }

    /// Plays the missing games. `status` is called after each game; it returns the running score,
    /// or stops the series.
    pub fn play(&mut self, status: impl FnMut(&Series, &Games) -> ControlFlow<(), String>) -> Result<(), CliError> {
        self.play_wanted(&|_| true, status)
    }

    /// Like [`SeriesRun::play`], but skips a game if `is_wanted` returns false when its turn comes.
    pub fn play_wanted(
        &mut self,
        is_wanted: &(dyn Fn(usize) -> bool + Sync),
        mut status: impl FnMut(&Series, &Games) -> ControlFlow<(), String>,
    ) -> Result<(), CliError> {
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
            let on_game = |index: usize, games: &Games| {
                let game = games[index].as_ref().expect("a game that has just ended");
                if let Some(Err(error)) = file.as_mut().map(|file| file.write(game)) {
                    return ControlFlow::Break(Err(error));
                }
                progress.inc(1);
                status(series, games).map_break(Ok).map_continue(|text| progress.set_message(text))
            };
            let flow = match &self.args.ray {
                Some(address) => cluster::play(address, series, games, &stop, is_wanted, on_game)?,
                None => series.play_wanted(games, threads, &stop, is_wanted, on_game)?,
            };
            drop(progress);
            if let ControlFlow::Break(result) = flow {
                result?;
                return Ok(());
            }
        }
        self.games.resize(self.series.len(), None);
        self.interrupted = stop.load(Ordering::Relaxed) && self.played() < self.series.len();
        Ok(())
    }

    /// Prints an estimate of the duration of a long series.
    fn announce(&self, threads: usize) -> Result<(), CliError> {
        if self.args.ray.is_some() {
            // The speed of a cluster is unknown here.
            return Ok(());
        }
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

    /// Discards games that are not part of the result.
    pub fn discard(&mut self, is_unused: impl Fn(&Series, usize) -> bool) {
        let Self { series, games, .. } = self;
        games.iter_mut().enumerate().filter(|(index, _)| is_unused(series, *index)).for_each(|(_, game)| *game = None);
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
        let budget = budget_words(&budget);
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

    /// Writes the report, if requested, together with the games as CSV and the result as JSON.
    pub fn write_report(
        &self,
        title: &str,
        battle: Option<&Match>,
        tournament: Option<&Tournament>,
        json: &str,
    ) -> Result<(), CliError> {
        let Some(ReportFiles { page, csv, json: json_file }) = &self.report else { return Ok(()) };
        let words = super::arguments().into_iter().map(|word| shell_quoted(&word));
        let command = ["getaway".to_owned()].into_iter().chain(words).collect::<Vec<String>>().join(" ");
        let facts = self.facts();
        let text = ReportText { title, heading: &self.heading(), command: &command, facts: &facts };
        let command_of = |index: usize| {
            // Its moves are those of a bot that `play` does not start.
            let game = self.games[index].as_ref().filter(|game| game.external.is_none())?;
            Some(self.replay_command(self.series.key(index).map, game))
        };
        let replays = report_replays(&self.series, &self.games, self.args.thread_count())?;
        let result = ReportResult { battle, tournament, replays: Some(&replays) };
        page.write(report(&self.series, &self.games, result, text, command_of).as_bytes())?;
        csv.write(getaway_arena::csv(&self.series, &self.games).as_bytes())?;
        json_file.write(format!("{json}\n").as_bytes())
    }

    /// The circumstances under which the numbers were measured.
    fn facts(&self) -> Vec<(&'static str, String)> {
        let Settings { rules, budget, .. } = self.settings();
        let commit = match env!("GETAWAY_COMMIT") {
            "" => "unknown".to_owned(),
            commit => commit.to_owned(),
        };
        let rules = match rules {
            rules if rules == Rules::BLITZ_2025 => "the server's".to_owned(),
            rules if rules == Rules::NO_JUMP => "the server's, without jumping".to_owned(),
            rules => to_json(&rules),
        };
        vec![
            ("date", httpdate::fmt_http_date(SystemTime::now())),
            ("version", env!("CARGO_PKG_VERSION").to_owned()),
            ("commit", commit),
            ("processor", processor()),
            match &self.args.ray {
                Some(address) => ("cluster", address.clone()),
                None => ("threads", self.args.thread_count().to_string()),
            },
            ("budget per decision", budget_words(&budget)),
            ("rules", rules),
        ]
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
    /// The number of parallel games.
    fn thread_count(&self) -> usize {
        self.threads.map_or_else(num_cpus::get_physical, usize::from)
    }

    /// The number of parallel games; warns if there are more than cores.
    fn threads(&self) -> usize {
        let (cores, threads) = (num_cpus::get_physical(), self.thread_count());
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
