//! The program `getaway-discover`.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use clap::{Parser, ValueEnum};
use serde::Serialize;

use getaway::game::Rules;
use getaway::map::GeneratorOptions;
use getaway::protocol::{to_json, write_line};
use getaway_cli::arguments::{ANY, MAX_THREADS, RulesArgs, float, integer, parse_permille, parse_size, seed};
use getaway_cli::output::{OutputArgs, Progress, count, one_line, or_dash, write_table};
use getaway_cli::{CliError, run_program, stop_on_interrupt};
use getaway_discover::{
    Budgets, Candidates, Discovery, DiscoveryError, DiscoveryReport, MapOptions, OPERATORS_MAX, Settings, Stage,
    Vocabulary, bank, page,
};
use getaway_runs::stats::Interval;

const MAX_BUDGET_EVALS: u64 = 1_000_000_000;
const MAX_PLAYS: u64 = 1_000_000;
const MAX_UNSEEN: u64 = 1_000_000;
/// The defaults of `--size`, `--threats` and `--braid`.
const SIZE: (i32, i32) = (15, 13);
const THREATS: usize = 6;
const BRAID_PERMILLE: u32 = 500;
const LEADERS: usize = 3;

const EXAMPLES: &str = "Examples:
  getaway-discover --count                                    3155 candidates
  getaway-discover --problem morpion-4d --budget-evals 50 --plays 2 \\
      --operators 2 --unseen 20
  getaway-discover --problem survival --no-jump --resume discovery.jsonl \\
      --report discovery.html";

/// Look for the best search algorithm for a problem: a bandit tries thousands of expressions
///
/// The leaders are then ranked on unseen problems, against random sampling, iterative sampling,
/// nested Monte Carlo search and UCT.
#[derive(Parser)]
#[command(version, after_help = EXAMPLES)]
struct Cli {
    /// Problem: survival, morpion-5d, morpion-5t, morpion-4d, morpion-4t, samegame, sudoku or
    /// regression
    #[arg(long, value_name = "NAME", default_value = "survival")]
    problem: String,
    /// Budget of each play: maximum number of complete sequences that a candidate evaluates
    #[arg(long, value_name = "B", default_value_t = 1000, value_parser = integer::<u64>(1..=MAX_BUDGET_EVALS))]
    budget_evals: u64,
    /// Mean number of plays per candidate
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = integer::<u64>(1..=MAX_PLAYS))]
    plays: u64,
    /// Constant C of the bandit's index, mean score / good score + C / plays, where the good
    /// score depends on the problem; a lower C abandons weak candidates earlier
    #[arg(long, value_name = "C", default_value_t = 5.0, value_parser = parse_exploration)]
    exploration: f64,
    /// Maximum number of search components around a rollout
    #[arg(long, value_name = "K", default_value_t = 4, value_parser = integer::<usize>(0..=OPERATORS_MAX as u64))]
    operators: usize,
    /// Grammar of the candidates: `paper` follows Maes et al. (2012); `grown` has fewer constants,
    /// but adds beams, nested rollout policy adaptation, simulated annealing and the policy
    /// `greedy`
    #[arg(long, value_enum, default_value_t = Grammar::Paper)]
    grammar: Grammar,
    /// Seed of the problems and the searches
    #[arg(long, value_name = "S", default_value_t = 0, value_parser = seed)]
    seed: u64,
    /// Only count the candidates
    #[arg(long)]
    count: bool,
    /// Number of unseen problems for the ranking
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = integer::<u64>(1..=MAX_UNSEEN))]
    unseen: u64,
    /// Maximum number of leaders to rank
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = integer::<usize>(1..=1000))]
    finalists: usize,
    /// With --problem survival: columns and rows of the maps [default: 15x13]
    #[arg(long, value_name = "WxH", value_parser = parse_size)]
    size: Option<(i32, i32)>,
    /// With --problem survival: number of threats [default: 6]
    #[arg(long, value_name = "K", value_parser = integer::<usize>(ANY))]
    threats: Option<usize>,
    /// With --problem survival: share of the dead ends to remove, from 0 to 1 [default: 0.5]
    #[arg(long, value_name = "SHARE", value_parser = parse_permille)]
    braid: Option<u32>,
    #[command(flatten)]
    rules: RulesArgs,
    /// Number of parallel plays; does not change results [default: number of physical cores]
    #[arg(long, value_name = "N", value_parser = integer::<usize>(1..=MAX_THREADS))]
    threads: Option<usize>,
    /// Append each play to this file as a line of JSON, and resume from it; created if missing
    #[arg(long, value_name = "FILE")]
    resume: Option<PathBuf>,
    /// Write a self-contained HTML page, including mean scores at other budgets
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

fn parse_exploration(text: &str) -> Result<f64, String> {
    let c = float(text).ok().filter(|c| *c >= 0.0);
    c.ok_or_else(|| "expected a number of at least 0".to_owned())
}

#[derive(Serialize)]
struct Count {
    operators: usize,
    candidates: usize,
    with_repeats_on_top: usize,
}

#[derive(Serialize)]
struct Output<'a> {
    #[serde(flatten)]
    report: &'a DiscoveryReport,
    elapsed_s: f64,
    plays_per_s: f64,
}

fn main() -> ExitCode {
    ExitCode::from(run_program(std::env::args_os().collect(), run))
}

fn run(args: &Cli, command_line: String, out: &mut impl Write) -> Result<(), CliError> {
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
    let threads = args.threads.unwrap_or_else(num_cpus::get_physical);
    let stop = stop_on_interrupt()?;
    let start = Instant::now();
    let arms: Vec<String> = discovery.arms().iter().map(ToString::to_string).collect();
    let budgets = if file.is_some() { Budgets::Several } else { Budgets::Own };
    let mut shown: Option<(Stage, Progress)> = None;
    let result = discovery.run(threads, budgets, &stop, |at| {
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
    // Print the results even if the page cannot be written.
    let written = file.map_or(Ok(()), |file| file.write(page(&report, &command_line).as_bytes()));
    if args.json {
        write_line(&mut *out, &Output { report: &report, elapsed_s, plays_per_s })?;
    } else {
        write_report(&report, out)?;
        writeln!(out, "\n{elapsed_s:.0} s, {plays_per_s:.0} plays per second")?;
    }
    out.flush()?;
    written
}

impl Cli {
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
            let rules = match maps.rules {
                rules if rules == Rules::BLITZ_2025 => String::new(),
                rules if rules == Rules::NO_JUMP => " --no-jump".to_owned(),
                rules => format!(" --rules {}", to_json(&rules)),
            };
            format!("survival --size {width}x{height} --threats {threats} --braid {braid}{rules}")
        } else {
            self.problem.clone()
        };
        let &Self { operators, budget_evals, plays, exploration: c, seed, unseen, finalists, .. } = self;
        let grammar = self.grammar.name().to_owned();
        Settings { problem, grammar, operators, budget_evals, plays, c, seed, unseen, finalists }
    }

    fn stopped(&self, error: DiscoveryError) -> CliError {
        let advice =
            if self.resume.is_some() { "rerun the same command to continue" } else { "use --resume FILE to keep them" };
        match error {
            DiscoveryError::Stopped { .. } => CliError::Interrupted(format!("{error}; {advice}")),
            _ => error.into(),
        }
    }
}

fn write_count(args: &Cli, candidates: &Candidates, out: &mut impl Write) -> Result<(), CliError> {
    let &Candidates { ref expressions, with_repeats_on_top, .. } = candidates;
    let (operators, candidates) = (args.operators, expressions.len());
    if args.json {
        return Ok(write_line(out, &Count { operators, candidates, with_repeats_on_top })?);
    }
    Ok(writeln!(
        out,
        "{candidates} candidates with at most {} ({with_repeats_on_top} including those with an outermost repeat)",
        count(operators, "operator")
    )?)
}

fn leaders(at: &getaway_discover::Progress<'_>, arms: &[String]) -> String {
    if at.stage != Stage::Bandit {
        return String::new();
    }
    let leader = |arm: usize| format!("{:.2} {}", at.bandit.arms()[arm].mean().unwrap_or(0.0), arms[arm]);
    at.bandit.leaders().into_iter().take(LEADERS).map(leader).collect::<Vec<_>>().join(" | ")
}

fn write_report(report: &DiscoveryReport, out: &mut impl Write) -> Result<(), CliError> {
    let settings = &report.settings;
    writeln!(
        out,
        "{}: {} candidates, {} plays of at most {} evaluations, seed {}; ranked on {} unseen problems\n",
        one_line(&settings.problem),
        report.arms,
        report.plays_in_all,
        settings.budget_evals,
        settings.seed,
        settings.unseen
    )?;
    let ranking = report.ranking.iter().map(|row| {
        vec![
            ("MEAN", format!("{:.3}", row.mean)),
            ("LOW", format!("{:.3}", row.low)),
            ("HIGH", format!("{:.3}", row.high)),
            ("PLAYS", or_dash(row.plays.map(|plays| plays.to_string()))),
            ("TRAINING", or_dash(row.training_mean.map(|mean| format!("{mean:.3}")))),
            ("<NAME", row.name.clone().unwrap_or_else(|| "discovered".to_owned())),
            ("<EXPRESSION", row.expression.clone()),
        ]
    });
    write_table(ranking, out)?;
    let Some(first) = report.comparisons.first() else { return Ok(()) };
    writeln!(out, "\n{} against", first.left)?;
    let comparisons = report.comparisons.iter().map(|row| {
        let p = row.p_corrected;
        let bound = |bound: fn(&Interval) -> f64| {
            or_dash(row.difference.as_ref().map(|interval| format!("{:.3}", bound(interval))))
        };
        vec![
            ("<NAME", row.right.clone()),
            ("DIFFERENCE", bound(|interval| interval.estimate)),
            ("LOW", bound(|interval| interval.low)),
            ("HIGH", bound(|interval| interval.high)),
            ("WINS", row.wins.to_string()),
            ("TIES", row.ties.to_string()),
            ("LOSSES", row.losses.to_string()),
            ("P CORRECTED", if p < 0.01 { format!("{p:.1e}") } else { format!("{p:.2}") }),
        ]
    });
    write_table(comparisons, out)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;
    use getaway_discover::PROBLEMS;

    use super::*;

    #[test]
    fn documented_commands_are_valid() {
        let pages = [include_str!("../../../docs/discovery.md"), include_str!("../../../docs/records/discovery.md")];
        let (text, examples) = (pages.concat().replace("\\\n", ""), EXAMPLES.replace("\\\n      ", ""));
        let commands =
            text.lines().filter_map(|line| line.strip_prefix("cargo run --release --package getaway-discover -- "));
        let examples =
            examples.lines().filter_map(|line| line.trim().strip_prefix("getaway-discover ")?.split("   ").next());
        let commands: Vec<&str> = commands.chain(examples).collect();
        assert_eq!(commands.len(), 14);
        for command in commands {
            let words = ["getaway-discover"].into_iter().chain(command.split_whitespace());
            assert!(Cli::try_parse_from(words).is_ok(), "{command}");
        }
    }

    #[test]
    fn help_names_every_problem() {
        let help = Cli::command().render_long_help().to_string();
        for (name, _) in PROBLEMS {
            assert!(help.contains(name), "{name}");
        }
    }
}
