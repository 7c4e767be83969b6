//! `getaway battle`: compares two planners and reports the confidence of the result.

use std::io::Write;
use std::ops::ControlFlow;

use clap::Args;
use serde::Serialize;

use getaway_arena::stats::{SprtDecision, WinDrawLoss};
use getaway_arena::{Comparison, ExternalSummary, Games, Match, SprtMonitor, external_summaries, p_value};

use super::arena::{SeriesArgs, SeriesRun, Settings};
use super::eval::format_interval;
use super::external::write_summaries;
use super::sprt::SprtArgs;
use super::table::write_table;
use super::{CliError, one_line};

const EXAMPLES: &str = "Examples:
  getaway battle survival uct-greedy                      ten pairs on each bundled map
  getaway battle uct-greedy sampling --maps path/to/maps --samples 25 --report report.html
  getaway battle 'pipe:python examples/bots/walker.py' survival --samples 2
  getaway battle 'select(0.3, simulate(greedy))' uct-greedy --sprt --samples 1000 --resume results.jsonl";

/// Compare two planners in paired games (same map, same seed)
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct BattleArgs {
    /// The planner whose wins are counted: a name, an expression, exec:COMMAND, pipe:COMMAND, or a
    /// planner in Python as MODULE:NAME
    #[arg(value_name = "LEFT")]
    left: String,
    /// Planner to compare it with
    #[arg(value_name = "RIGHT")]
    right: String,
    /// Maps, by name or path [default: all maps of every --maps DIR, or the bundled maps]
    #[arg(value_name = "MAP")]
    names: Vec<String>,
    #[command(flatten)]
    series: SeriesArgs,
    #[command(flatten)]
    sprt: SprtArgs,
}

/// The JSON output.
#[derive(Serialize)]
struct Report<'a> {
    #[serde(flatten)]
    settings: Settings,
    #[serde(flatten)]
    result: &'a Match,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    external: Vec<ExternalSummary>,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
    sentence: String,
}

pub(super) fn run(args: &BattleArgs, out: &mut impl Write) -> Result<(), CliError> {
    let mut monitor = args.sprt.sprt()?.map(SprtMonitor::new);
    let mut session = SeriesRun::new(&args.series, &args.names, vec![args.left.clone(), args.right.clone()])?;
    session.play(|series, games| match monitor.as_mut().map(|monitor| monitor.update(series, games)) {
        Some(SprtDecision::H0 | SprtDecision::H1) => ControlFlow::Break(()),
        _ => ControlFlow::Continue(running_score(games)),
    })?;
    if let Some(monitor) = &monitor {
        monitor.discard_unused(&mut session.games);
    }
    let result = Match::of(&session.series, &session.games, [0, 1], monitor.map(|monitor| monitor.report()));
    let external = external_summaries(&session.series, &session.games);
    let (note, sentence) = (result.note(), result.sentence());
    let report = Report { settings: session.settings(), result: &result, external: external.clone(), note, sentence };
    let json = serde_json::to_string(&report)?;
    session.write_report(&format!("{} against {}", args.left, args.right), Some(&result), None, &json)?;
    if args.series.json {
        writeln!(out, "{json}")?;
    } else {
        writeln!(out, "{} against {}: {}", one_line(&args.left), one_line(&args.right), session.heading())?;
        write_result(&result, &external, out)?;
    }
    session.end()
}

/// The result so far.
fn running_score(games: &Games) -> String {
    let mut tally = WinDrawLoss::default();
    for pair in games.chunks_exact(2) {
        if let [Some(left), Some(right)] = pair {
            tally.add(left.rank(), right.rank());
        }
    }
    format!("{} won, {} tied, {} lost", tally.wins, tally.ties, tally.losses)
}

fn write_result(result: &Match, external: &[ExternalSummary], out: &mut impl Write) -> Result<(), CliError> {
    let headings =
        ["MAP", "WINS", "TIES", "LOSSES", "WIN SHARE", "95% INTERVAL", "SCORE DIFF", "95% INTERVAL", "SIGN TEST"];
    let mut rows = vec![headings.map(str::to_owned).to_vec()];
    rows.extend(result.maps.iter().map(|map| row(&one_line(&map.map), &map.comparison)));
    rows.push(row("all maps", &result.overall));
    writeln!(out)?;
    write_table(&rows, &[0], out)?;
    write_summaries(external, out)?;
    writeln!(out)?;
    if let Some(sprt) = &result.sprt {
        let (ratio, low, high) = (sprt.log_likelihood_ratio, sprt.low, sprt.high);
        writeln!(out, "SPRT: log-likelihood ratio {ratio:.2}; H0 is accepted at {low:.2}, H1 at {high:.2}")?;
    }
    if let Some(note) = result.note() {
        writeln!(out, "{}", one_line(&note))?;
    }
    Ok(writeln!(out, "{}", one_line(&result.sentence()))?)
}

fn row(name: &str, comparison: &Comparison) -> Vec<String> {
    let WinDrawLoss { wins, ties, losses } = comparison.counts;
    let share = comparison.win_share;
    let points = |value: Option<String>| value.unwrap_or_else(|| "-".to_owned());
    vec![
        name.to_owned(),
        wins.to_string(),
        ties.to_string(),
        losses.to_string(),
        format!("{:.3}", share.estimate),
        format!("{:.3} to {:.3}", share.low, share.high),
        points(comparison.score_difference_mean.map(|mean| format!("{mean:.0}"))),
        points(comparison.score_difference.map(format_interval)),
        p_value(comparison.p_value),
    ]
}
