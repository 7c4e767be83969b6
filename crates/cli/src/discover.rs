//! `getaway discover`: finds the best expression of the search grammar for a distribution of
//! problems.

use std::io::Write;
use std::path::PathBuf;
use std::time::Instant;

use clap::{Args, ValueEnum};
use serde::Serialize;

use getaway::map::GeneratorOptions;
use getaway_discover::{
    Candidates, Discovery, DiscoveryError, JournalError, MapOptions, OPERATORS_MAX, ProblemError, RemoteError, Report,
    Settings, Stage, Vocabulary, bank, page, spec,
};

use super::arena::{MAX_THREADS, shell_quoted, stop_on_interrupt};
use super::cluster;
use super::mapgen::{parse_permille, parse_size};
use super::number::{ANY, float, integer};
use super::output::{OutputArgs, OutputFile};
use super::progress::Progress;
use super::table::write_table;
use super::{CliError, RulesArgs, arguments};

const MAX_BUDGET_EVALS: u64 = 1_000_000_000;
const MAX_PLAYS: u64 = 1_000_000;
const MAX_UNSEEN: u64 = 1_000_000;
/// The maps of survival by default: columns and rows, threats, and the share of the dead ends that
/// are removed.
const SIZE: (i32, i32) = (15, 13);
const THREATS: usize = 6;
const BRAID_PERMILLE: u32 = 500;
/// Leaders beside the progress bar.
const LEADERS: usize = 3;

const EXAMPLES: &str = "Examples:
  getaway discover --count                                    3155 candidates
  getaway discover --problem morpion-4d --budget-evals 50 --plays 2 --operators 2 --unseen 20
  getaway discover --problem survival --no-jump --resume discovery.jsonl --report discovery.html";

/// Discover the best search algorithm for a problem: a bandit plays thousands of expressions
///
/// The leaders are then ranked on unseen problems, against random sampling, iterative sampling,
/// nested Monte Carlo search and UCT.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct DiscoverArgs {
    /// Problem: survival, morpion-5d, morpion-5t, morpion-4d, morpion-4t, samegame, sudoku or
    /// regression
    #[arg(long, value_name = "NAME", default_value = "survival")]
    problem: String,
    /// Evaluations of whole sequences per play
    #[arg(long, value_name = "B", default_value_t = 1000, value_parser = integer::<u64>(1..=MAX_BUDGET_EVALS))]
    budget_evals: u64,
    /// Plays per candidate, on average
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = integer::<u64>(1..=MAX_PLAYS))]
    plays: u64,
    /// Constant of the bandit's index, the mean score plus this over the number of plays, in units of
    /// a good score: lower values leave weak candidates earlier
    #[arg(long, value_name = "C", default_value_t = 5.0, value_parser = parse_exploration)]
    exploration: f64,
    /// Operators around a rollout, at most
    #[arg(long, value_name = "K", default_value_t = 4, value_parser = integer::<usize>(0..=OPERATORS_MAX as u64))]
    operators: usize,
    /// Grammar of the candidates: that of the paper, or grown with beams, nested rollout policy
    /// adaptation, simulated annealing and the policy greedy
    #[arg(long, value_enum, default_value_t = Grammar::Paper)]
    grammar: Grammar,
    /// Seed of the problems and the searches
    #[arg(long, value_name = "S", default_value_t = 0, value_parser = integer::<u64>(ANY))]
    seed: u64,
    /// Only count the candidates
    #[arg(long)]
    count: bool,
    /// Unseen problems on which the leaders are ranked
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = integer::<u64>(1..=MAX_UNSEEN))]
    unseen: u64,
    /// Leaders that are ranked
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = integer::<usize>(1..=1000))]
    finalists: usize,
    /// Columns and rows of the maps of survival [default: 15x13]
    #[arg(long, value_name = "WxH", value_parser = parse_size)]
    size: Option<(i32, i32)>,
    /// Threats on the maps of survival [default: 6]
    #[arg(long, value_name = "K", value_parser = integer::<usize>(ANY))]
    threats: Option<usize>,
    /// Share of the dead ends that are removed from the maps of survival [default: 0.5]
    #[arg(long, value_name = "SHARE", value_parser = parse_permille)]
    braid: Option<u32>,
    #[command(flatten)]
    rules: RulesArgs,
    /// Number of plays in parallel; the answer does not depend on it [default: number of physical
    /// cores]
    #[arg(long, value_name = "N", value_parser = integer::<usize>(1..=MAX_THREADS))]
    threads: Option<usize>,
    /// Make the plays on the Ray cluster at this address: HOST:PORT, auto for the one of this
    /// machine, or local for a new one; needs the Python package with its extra `cluster`
    #[arg(long, value_name = "ADDRESS", conflicts_with = "threads")]
    ray: Option<String>,
    /// Append each play to this file as a line of JSON, and continue where it ends; created if
    /// missing
    #[arg(long, value_name = "FILE")]
    resume: Option<PathBuf>,
    /// Write a self-contained HTML page, with the ranking at other budgets too
    #[arg(long, value_name = "FILE.html")]
    report: Option<PathBuf>,
    #[command(flatten)]
    output: OutputArgs,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum Grammar {
    Paper,
    Grown,
}

impl Grammar {
    const fn name(self) -> &'static str {
        match self {
            Self::Paper => "paper",
            Self::Grown => "grown",
        }
    }
}

impl From<ProblemError> for CliError {
    fn from(error: ProblemError) -> Self {
        Self::Input(error.to_string())
    }
}

/// Parses the constant of the bandit's index.
fn parse_exploration(text: &str) -> Result<f64, String> {
    let c = float(text).ok().filter(|c| *c >= 0.0);
    c.ok_or_else(|| "expected a number of at least 0".to_owned())
}

impl From<RemoteError> for CliError {
    fn from(error: RemoteError) -> Self {
        Self::Input(error.to_string())
    }
}

impl From<JournalError> for CliError {
    fn from(error: JournalError) -> Self {
        Self::Input(error.to_string())
    }
}

/// The JSON output of `--count`.
#[derive(Serialize)]
struct Count {
    operators: usize,
    candidates: usize,
    with_repeats_on_top: usize,
}

/// The JSON output of a discovery.
#[derive(Serialize)]
struct Output<'a> {
    #[serde(flatten)]
    report: &'a Report,
    elapsed_s: f64,
    plays_per_s: f64,
}

pub(super) fn run(args: &DiscoverArgs, out: &mut impl Write) -> Result<(), CliError> {
    let vocabulary = Vocabulary::named(args.grammar.name()).expect("every grammar has a vocabulary");
    let candidates = vocabulary.candidates(args.operators);
    if args.count {
        return write_count(args, &candidates, out);
    }
    let maps = args.map_options()?;
    let bank = bank(&args.problem, &maps, args.seed)?;
    let file = args.report.as_ref().map(|path| args.output.file(path)).transpose()?;
    let settings = args.settings(&maps);
    let mut discovery = Discovery::new(settings, candidates.expressions, &*bank, args.resume.as_deref())?;
    if let Some(address) = &args.ray {
        discovery = discovery.on_cluster(cluster::for_discovery(address, spec(&args.problem, &maps, args.seed)));
    }
    let threads = args.threads.unwrap_or_else(num_cpus::get_physical);
    let stop = stop_on_interrupt()?;
    let start = Instant::now();
    let arms: Vec<String> = discovery.arms().iter().map(ToString::to_string).collect();
    let mut shown: Option<(Stage, Progress)> = None;
    let result = discovery.run(threads, file.is_some(), &stop, |at| {
        if shown.as_ref().is_none_or(|(stage, _)| *stage != at.stage) {
            shown = None;
            shown = Some((at.stage, Progress::resumed(at.total, at.stage.unit(), at.done)));
        } else if let Some((_, progress)) = &shown {
            progress.inc(at.made);
            progress.set_message(leaders(at, &arms));
        }
    });
    drop(shown);
    let elapsed_s = start.elapsed().as_secs_f64();
    let report = result.map_err(|error| args.stopped(error))?;
    let plays_per_s = discovery.plays_per_s();
    if let Some(file) = &file {
        write_page(file, &report)?;
    }
    if args.json {
        serde_json::to_writer(&mut *out, &Output { report: &report, elapsed_s, plays_per_s })?;
        return Ok(writeln!(out)?);
    }
    write_report(&report, out)?;
    Ok(writeln!(out, "\n{plays_per_s:.0} plays per second in {elapsed_s:.0} s")?)
}

impl DiscoverArgs {
    /// The first of the given options of survival's maps.
    fn first_map_option(&self) -> Option<String> {
        let of_maps =
            [("--size", self.size.is_some()), ("--threats", self.threats.is_some()), ("--braid", self.braid.is_some())];
        let given = of_maps.into_iter().filter(|&(_, is_given)| is_given).map(|(name, _)| name.to_owned());
        given.chain(self.rules.words()).next()
    }

    fn map_options(&self) -> Result<MapOptions, CliError> {
        if self.problem != "survival"
            && let Some(name) = self.first_map_option()
        {
            return Err(CliError::Input(format!("{name}: expected --problem survival, found {}", self.problem)));
        }
        let (width, height) = self.size.unwrap_or(SIZE);
        let (threats, braid_permille) = (self.threats.unwrap_or(THREATS), self.braid.unwrap_or(BRAID_PERMILLE));
        let generator = GeneratorOptions { width, height, threats, braid_permille, ..GeneratorOptions::default() };
        Ok(MapOptions { generator, rules: self.rules.rules()? })
    }

    fn settings(&self, maps: &MapOptions) -> Settings {
        let problem = if self.problem == "survival" {
            let GeneratorOptions { width, height, threats, braid_permille, .. } = maps.generator;
            let braid = f64::from(braid_permille) / 1000.0;
            let rules: String = self.rules.words().iter().map(|word| format!(" {word}")).collect();
            format!("survival --size {width}x{height} --threats {threats} --braid {braid}{rules}")
        } else {
            self.problem.clone()
        };
        let &Self { operators, budget_evals, plays, exploration: c, seed, unseen, finalists, .. } = self;
        let grammar = self.grammar.name().to_owned();
        Settings { problem, grammar, operators, budget_evals, plays, c, seed, unseen, finalists }
    }

    fn stopped(&self, error: DiscoveryError) -> CliError {
        match error {
            DiscoveryError::Journal(error) => error.into(),
            DiscoveryError::Remote(error) => error.into(),
            DiscoveryError::Stopped { done, total } => {
                let advice = if self.resume.is_some() {
                    "rerun the same command to continue"
                } else {
                    "use --resume FILE to keep them"
                };
                CliError::Interrupted(format!("interrupted after {done} of {total} plays; {advice}"))
            }
        }
    }
}

fn write_count(args: &DiscoverArgs, candidates: &Candidates, out: &mut impl Write) -> Result<(), CliError> {
    let (operators, count) = (args.operators, candidates.expressions.len());
    let with_repeats_on_top = candidates.with_repeats_on_top;
    if args.json {
        serde_json::to_writer(&mut *out, &Count { operators, candidates: count, with_repeats_on_top })?;
        return Ok(writeln!(out)?);
    }
    Ok(writeln!(
        out,
        "{count} candidates with at most {operators} operator{} ({with_repeats_on_top} before repeats on top are dropped)",
        if operators == 1 { "" } else { "s" }
    )?)
}

/// The leading arms with their means.
fn leaders(at: &getaway_discover::Progress<'_>, arms: &[String]) -> String {
    if at.stage != Stage::Bandit {
        return String::new();
    }
    let leader = |arm: usize| format!("{:.2} {}", at.bandit.arms()[arm].mean().unwrap_or(0.0), arms[arm]);
    at.bandit.leaders().into_iter().take(LEADERS).map(leader).collect::<Vec<_>>().join(" | ")
}

fn write_page(file: &OutputFile, report: &Report) -> Result<(), CliError> {
    let words = arguments().into_iter().map(|word| shell_quoted(&word));
    let command = ["getaway".to_owned()].into_iter().chain(words).collect::<Vec<String>>().join(" ");
    file.write(page(report, &command).as_bytes())
}

fn write_report(report: &Report, out: &mut impl Write) -> Result<(), CliError> {
    let settings = &report.settings;
    writeln!(
        out,
        "{}: {} candidates, {} plays of {} evaluations, seed {}; ranked on {} unseen problems\n",
        settings.problem, report.arms, report.plays_in_all, settings.budget_evals, settings.seed, settings.unseen
    )?;
    let cells = |cells: &[&str]| cells.iter().map(|&cell| cell.to_owned()).collect::<Vec<String>>();
    let mut rows = vec![cells(&["MEAN", "LOW", "HIGH", "PLAYS", "TRAINING", "NAME", "EXPRESSION"])];
    rows.extend(report.ranking.iter().map(|row| {
        vec![
            format!("{:.3}", row.mean),
            format!("{:.3}", row.low),
            format!("{:.3}", row.high),
            row.plays.map_or("-".to_owned(), |plays| plays.to_string()),
            row.training_mean.map_or("-".to_owned(), |mean| format!("{mean:.3}")),
            row.name.clone().unwrap_or_else(|| "discovered".to_owned()),
            row.expression.clone(),
        ]
    }));
    write_table(&rows, &[5, 6], out)?;
    let Some(first) = report.comparisons.first() else { return Ok(()) };
    writeln!(out, "\n{} against", first.left)?;
    let mut rows = vec![cells(&["NAME", "DIFFERENCE", "LOW", "HIGH", "WINS", "TIES", "LOSSES", "P CORRECTED"])];
    rows.extend(report.comparisons.iter().map(|row| {
        let bound = |of: fn(&getaway_arena::stats::Interval) -> f64| {
            row.difference.as_ref().map_or("-".to_owned(), |interval| format!("{:.3}", of(interval)))
        };
        vec![
            row.right.clone(),
            bound(|interval| interval.estimate),
            bound(|interval| interval.low),
            bound(|interval| interval.high),
            row.wins.to_string(),
            row.ties.to_string(),
            row.losses.to_string(),
            format!("{:.2e}", row.p_corrected),
        ]
    }));
    write_table(&rows, &[0], out)
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, Parser};
    use getaway_discover::PROBLEMS;

    use super::*;

    #[derive(Parser)]
    struct Program {
        #[command(flatten)]
        args: DiscoverArgs,
    }

    #[test]
    fn help_names_every_problem() {
        let help = Program::command().render_long_help().to_string();
        for (name, _) in PROBLEMS {
            assert!(help.contains(name), "{name}");
        }
    }
}
