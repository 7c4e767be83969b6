//! What `getaway eval` and `getaway battle` have in common: a series of games from the command line, played with a progress bar, a file of results and
//! Ctrl-C.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::Args;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde::Serialize;

use getaway::game::{Rules, variant};
use getaway_arena::{
    Battle, Budget, GameRecord, Games, ReportText, ResultsError, ResultsFile, Series, SeriesError, SeriesOptions,
    report,
};

use super::number::{ANY, whole};
use super::play::{MAX_BUDGET_MS, REDRAWS_PER_SECOND};
use super::{CliError, MapArgs, RulesArgs, unwritable};

/// Evaluations for a decision unless a budget is given: a series then ends within minutes and can be repeated exactly.
const DEFAULT_BUDGET_EVALS: u64 = 100;
const MAX_SAMPLES: u64 = 100_000;
const MAX_THREADS: u64 = 1024;
/// The exit code of a program that the user has interrupted twice.
const INTERRUPTED: i32 = 130;

/// A series of games.
#[derive(Args)]
pub(super) struct SeriesArgs {
    #[command(flatten)]
    pub maps: MapArgs,
    /// Games by each planner on each map
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = whole::<u32>(1..=MAX_SAMPLES))]
    samples: u32,
    /// Games at a time [default: one a physical core]
    #[arg(long, value_name = "N", value_parser = whole::<u16>(1..=MAX_THREADS))]
    threads: Option<u16>,
    /// Milliseconds for a decision; the machine then has a say in the results
    #[arg(long, value_name = "MS", value_parser = whole::<u64>(0..=MAX_BUDGET_MS))]
    budget_ms: Option<u64>,
    /// Evaluations for a decision at most; alone, it makes results that can be repeated exactly [default: 100, unless --budget-ms is given]
    #[arg(long, value_name = "N", value_parser = whole::<u64>(ANY))]
    budget_evals: Option<u64>,
    #[command(flatten)]
    rules: RulesArgs,
    /// Where the seeds of all games come from; every planner plays a sample with the same one
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = whole::<u64>(ANY))]
    seed: u64,
    /// Write each game to this file as it ends, a line of JSON, and leave out the games that it holds already; made when missing
    #[arg(long, value_name = "FILE")]
    resume: Option<PathBuf>,
    /// Write a page to look at, with everything in it; replaced when it exists
    #[arg(long, value_name = "FILE.html")]
    report: Option<PathBuf>,
    /// Print JSON: a line with one object
    #[arg(long)]
    pub json: bool,
}

/// What of a series is printed with its results.
#[derive(Serialize)]
pub(super) struct Setting {
    seed: u64,
    #[serde(rename = "no_jump", with = "variant")]
    rules: Rules,
    #[serde(flatten)]
    budget: Budget,
    samples: u32,
    /// Games that are in the results, and how many there would be.
    games: usize,
    games_max: usize,
}

/// A series as far as it was played.
pub(super) struct Session<'a> {
    args: &'a SeriesArgs,
    /// The maps as they were named, in the order of the series.
    map_arguments: Vec<String>,
    pub series: Series,
    pub games: Games,
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

impl<'a> Session<'a> {
    /// A series on the maps that are named, or else on all those of every `--maps DIR`, or else on our own.
    pub fn new(args: &'a SeriesArgs, names: &[String], planners: Vec<String>) -> Result<Self, CliError> {
        let maps = args.maps.load(names)?;
        if maps.is_empty() {
            return Err(CliError::Input("no map, expected MAP, or --maps DIR with maps in it (try --help)".to_owned()));
        }
        let map_arguments =
            if names.is_empty() { maps.iter().map(|map| map.name.clone()).collect() } else { names.to_vec() };
        let SeriesArgs { samples, seed, .. } = *args;
        let rules = args.rules.rules()?;
        let series = Series::new(&maps, SeriesOptions { planners, samples, seed, rules, budget: args.budget() })?;
        Ok(Self { args, map_arguments, series, games: Games::new(), interrupted: false })
    }

    /// Plays what is missing. After each game `status` is asked for the running score, or tells that enough is known.
    pub fn play(&mut self, mut status: impl FnMut(&Series, &Games) -> ControlFlow<(), String>) -> Result<(), CliError> {
        if let Some(path) = &self.args.report {
            // Better to know now than after hours of games.
            open_report(path)?;
        }
        let threads = self.args.threads();
        let mut file = None;
        if let Some(path) = &self.args.resume {
            let (opened, games) = ResultsFile::resume(path, &self.series)?;
            (file, self.games) = (Some(opened), games);
        }
        let stop = stop_on_interrupt()?;
        let bar = progress_bar(self.series.len() as u64, self.games.iter().flatten().count() as u64);
        let Self { series, games, .. } = self;
        if status(series, games).is_continue() {
            let flow = series.play(games, threads, &stop, |index, games| {
                let game = games[index].as_ref().expect("a game that has just ended");
                if let Some(Err(error)) = file.as_mut().map(|file| file.write(game)) {
                    return ControlFlow::Break(Err(error));
                }
                bar.inc(1);
                status(series, games).map_break(Ok).map_continue(|text| bar.set_message(text))
            });
            bar.finish_and_clear();
            if let ControlFlow::Break(result) = flow? {
                result?;
                return Ok(());
            }
        }
        self.games.resize(self.series.len(), None);
        self.interrupted = stop.load(Ordering::Relaxed) && self.played() < self.series.len();
        Ok(())
    }

    fn played(&self) -> usize {
        self.games.iter().flatten().count()
    }

    /// What is printed with the results.
    pub fn setting(&self) -> Setting {
        let &SeriesOptions { samples, seed, rules, budget, .. } = self.series.options();
        Setting { seed, rules, budget, samples, games: self.played(), games_max: self.series.len() }
    }

    /// The setting in words.
    pub fn heading(&self) -> String {
        let Setting { seed, rules, budget, samples, games, games_max } = self.setting();
        let limits = [(budget.evaluations, "evaluations"), (budget.time_ms, "ms")];
        let limits = limits.into_iter().filter_map(|(limit, unit)| limit.map(|limit| format!("{limit} {unit}")));
        let budget = limits.collect::<Vec<String>>().join(" and ");
        let variant = if rules.no_jump { ", no jumping" } else { "" };
        let missing = if games < games_max { format!(", {games} of {games_max} games so far") } else { String::new() };
        let samples = if samples == 1 { "1 sample".to_owned() } else { format!("{samples} samples") };
        format!("{samples} a map, at most {budget} a decision{variant}, seed {seed}{missing}")
    }

    /// The command that plays a game again; exactly, if evaluations alone are its budget.
    fn replay_command(&self, map: usize, game: &GameRecord) -> String {
        let mut words = vec!["getaway".to_owned(), "play".to_owned(), quoted(&self.map_arguments[map])];
        let mut option = |name: &str, value: &str| words.extend([format!("--{name}"), quoted(value)]);
        for dir in &self.args.maps.dirs {
            option("maps", &dir.display().to_string());
        }
        option("planner", &game.planner);
        if let Some(ms) = game.budget.time_ms {
            option("budget-ms", &ms.to_string());
        }
        if let Some(count) = game.budget.evaluations {
            option("budget-evals", &count.to_string());
        }
        option("seed", &game.seed.to_string());
        words.extend(self.args.rules.words());
        words.join(" ")
    }

    /// Writes the page, if one was asked for.
    pub fn write_report(&self, title: &str, battle: Option<&Battle>) -> Result<(), CliError> {
        let Some(path) = &self.args.report else { return Ok(()) };
        let words = std::env::args().skip(1).map(|word| quoted(&word));
        let command = ["getaway".to_owned()].into_iter().chain(words).collect::<Vec<String>>().join(" ");
        let text = ReportText { title, heading: &self.heading(), command: &command };
        let replay = |index: usize| {
            let game = self.games[index].as_ref()?;
            Some(self.replay_command(self.series.place(index).map, game))
        };
        let page = report(&self.series, &self.games, battle, text, replay);
        let mut file = open_report(path)?;
        let written = file.set_len(0).and_then(|()| file.write_all(page.as_bytes()));
        written.map_err(|error| unwritable(path, &error))
    }

    /// An error if the user broke the series off: what is known has been printed by then.
    pub fn end(self) -> Result<(), CliError> {
        if !self.interrupted {
            return Ok(());
        }
        let advice = if self.args.resume.is_some() { "the same command goes on" } else { "--resume FILE keeps them" };
        let (played, all) = (self.played(), self.series.len());
        Err(CliError::Interrupted(format!("interrupted after {played} of {all} games; {advice}")))
    }
}

impl SeriesArgs {
    fn budget(&self) -> Budget {
        match (self.budget_ms, self.budget_evals) {
            (None, None) => Budget::evaluations(DEFAULT_BUDGET_EVALS),
            (time_ms, evaluations) => Budget { time_ms, evaluations },
        }
    }

    /// How many games are played at a time; warns of more than can be played fairly.
    fn threads(&self) -> usize {
        let cores = num_cpus::get_physical();
        let threads = self.threads.map_or(cores, usize::from);
        if self.budget_ms.is_some() && threads > cores {
            // Not worth failing for if nobody listens.
            let _ = writeln!(
                io::stderr(),
                "warning: {threads} threads on {cores} physical cores: games take time from each other, and a budget in time buys less"
            );
        }
        threads
    }
}

/// A flag that Ctrl-C sets. At the second Ctrl-C the program ends.
fn stop_on_interrupt() -> Result<Arc<AtomicBool>, CliError> {
    let stop = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&stop);
    ctrlc::set_handler(move || {
        if flag.swap(true, Ordering::Relaxed) {
            process::exit(INTERRUPTED);
        }
    })
    .map_err(|error| CliError::Input(format!("Ctrl-C cannot be caught ({error})")))?;
    Ok(stop)
}

/// A bar on standard error, which draws nothing unless that is a terminal.
fn progress_bar(games: u64, played: u64) -> ProgressBar {
    let target = ProgressDrawTarget::stderr_with_hz(REDRAWS_PER_SECOND);
    let bar = ProgressBar::with_draw_target(Some(games), target).with_position(played);
    // Games of the results file took no time now.
    bar.reset_eta();
    let style = ProgressStyle::with_template("{pos}/{len} games {wide_bar} {msg}  {eta} left");
    bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}

/// Opens the page without touching what it holds.
fn open_report(path: &Path) -> Result<File, CliError> {
    let opened = OpenOptions::new().write(true).create(true).truncate(false).open(path);
    opened.map_err(|error| unwritable(path, &error))
}

/// A word as a shell reads it.
pub(super) fn quoted(word: &str) -> String {
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
            ["a-b/c.d", "", "a b", "it's", "step(x)"].map(quoted),
            ["a-b/c.d", "''", "'a b'", r"'it'\''s'", "'step(x)'"]
        );
    }
}
