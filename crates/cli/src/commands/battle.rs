use std::io::Write;
use std::ops::ControlFlow;

use clap::Args;
use serde::Serialize;

use getaway_arena::{Comparison, Games, Match, ReportResult, SprtMonitor, p_value};
use getaway_runs::stats::{SprtDecision, WinDrawLoss};

use crate::arguments::{PositionalMaps, SeriesArgs, SprtArgs};
use crate::output::{format_interval, one_line, or_dash, write_table};
use crate::series::{EntrantResults, SeriesRun, write_costs};
use crate::{CliError, Invocation};

const EXAMPLES: &str = "Examples:
  getaway battle survival uct-greedy                      ten pairs on each bundled map
  getaway battle uct-greedy sampling --maps path/to/maps --samples 25 --report report.html
  getaway battle 'pipe:python examples/bots/walker.py' survival --samples 2
  getaway battle 'select(0.3, simulate(greedy))' uct-greedy --sprt --samples 1000";

/// Compare two planners in paired games (same map, same seed)
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct BattleArgs {
    /// Planner whose wins are counted: a name, an expression, exec:COMMAND, pipe:COMMAND, or a
    /// {n}planner in Python as MODULE:NAME; NAME=PLANNER names it,
    /// {n}where NAME is up to 64 letters, digits and ._@+-
    #[arg(value_name = "LEFT")]
    left: String,
    /// Planner to compare with LEFT
    #[arg(value_name = "RIGHT")]
    right: String,
    #[command(flatten)]
    positional: PositionalMaps,
    #[command(flatten)]
    series: SeriesArgs,
    #[command(flatten)]
    sprt: SprtArgs,
}

#[derive(Serialize)]
struct Report<'a> {
    #[serde(flatten)]
    result: &'a Match,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
    sentence: String,
}

pub(crate) fn run(args: &BattleArgs, invocation: &Invocation<'_>, out: &mut impl Write) -> Result<(), CliError> {
    args.positional.refuse()?;
    let mut monitor = args.sprt.sprt()?.map(SprtMonitor::new);
    let mut run = SeriesRun::new(&args.series, vec![args.left.clone(), args.right.clone()], invocation)?;
    run.play(|series, games| match monitor.as_mut().map(|monitor| monitor.update(series, games)) {
        Some(SprtDecision::H0 | SprtDecision::H1) => ControlFlow::Break(()),
        _ => ControlFlow::Continue(running_score(games)),
    })?;
    if let Some(monitor) = &monitor {
        monitor.discard_unused(&mut run.games);
    }
    let sprt = monitor.map(|monitor| monitor.report());
    let result = Match::with_margin(&run.series, &run.games, [0, 1], sprt, args.series.margin());
    let report = Report { result: &result, note: result.note(), sentence: result.sentence() };
    let (title, shown) = (
        format!("{} against {}", result.left, result.right),
        ReportResult { battle: Some(&result), ..ReportResult::default() },
    );
    run.finish(&title, report, shown, out, |run, entrants, out| {
        writeln!(out, "{}: {}", one_line(&title), run.heading())?;
        write_result(&result, entrants, out)
    })
}

fn running_score(games: &Games) -> String {
    let mut tally = WinDrawLoss::default();
    for pair in games.chunks_exact(2) {
        if let [Some(left), Some(right)] = pair {
            tally.add(left.rank(), right.rank());
        }
    }
    format!("{} won, {} tied, {} lost", tally.wins, tally.ties, tally.losses)
}

fn write_result(result: &Match, entrants: &EntrantResults, out: &mut impl Write) -> Result<(), CliError> {
    let headings =
        ["MAP", "WINS", "TIES", "LOSSES", "WIN SHARE", "95% INTERVAL", "SCORE DIFF", "95% INTERVAL", "SIGN TEST"];
    let maps = result.maps.iter().map(|map| row(&map.map, &map.comparison));
    writeln!(out)?;
    write_table(headings, &[0], maps.chain([row("all maps", &result.overall)]), out)?;
    write_costs(entrants, out)?;
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
    vec![
        name.to_owned(),
        wins.to_string(),
        ties.to_string(),
        losses.to_string(),
        format!("{:.3}", share.estimate),
        format!("{:.3} to {:.3}", share.low, share.high),
        or_dash(comparison.score_difference_mean.map(|mean| format!("{mean:.0}"))),
        or_dash(comparison.score_difference.map(format_interval)),
        p_value(comparison.p_value),
    ]
}
