//! `getaway eval`: measures how well planners play.

use std::io::Write;
use std::ops::ControlFlow;

use clap::Args;
use serde::Serialize;

use getaway::planner::DEFAULT_NAME;
use getaway_arena::stats::{Interval, average};
use getaway_arena::{ExternalSummary, Games, PlannerEvaluation, Summary, evaluate, external_summaries};

use super::arena::{SeriesArgs, SeriesRun, Settings};
use super::external::write_summaries;
use super::table::write_table;
use super::{CliError, one_line};

/// Maximum number of planners named in a report's title.
const TITLE_PLANNERS: usize = 3;

const EXAMPLES: &str = "Examples:
  getaway eval                                            the default planner on the bundled maps
  getaway eval roundabout harbour --planner safest --planner uct-greedy --samples 20 --report report.html
  getaway eval --maps path/to/maps --no-jump --budget-ms 20 --resume results.jsonl";

/// Evaluate planners on every map with many seeds, on all cores
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct EvalArgs {
    /// Maps, by name or path [default: all maps of every --maps DIR, or the bundled maps]
    #[arg(value_name = "MAP")]
    names: Vec<String>,
    /// Planner: a name, an expression, exec:COMMAND, pipe:COMMAND, or a planner in Python as
    /// MODULE:NAME; may be repeated
    #[arg(long = "planner", value_name = "NAME|EXPRESSION", default_value = DEFAULT_NAME)]
    planners: Vec<String>,
    /// Print a Markdown table with one row per planner, best mean score first
    #[arg(long, conflicts_with = "json")]
    markdown: bool,
    // Last, because it ends with options under a heading of their own, which is kept.
    #[command(flatten)]
    series: SeriesArgs,
}

/// The JSON output.
#[derive(Serialize)]
struct Report<'a> {
    #[serde(flatten)]
    settings: Settings,
    planners: &'a [PlannerEvaluation],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    external: Vec<ExternalSummary>,
}

pub(super) fn run(args: &EvalArgs, out: &mut impl Write) -> Result<(), CliError> {
    let mut session = SeriesRun::new(&args.series, &args.names, args.planners.clone())?;
    session.play(|_, games| ControlFlow::Continue(running_score(games)))?;
    let planners = evaluate(&session.series, &session.games);
    let external = external_summaries(&session.series, &session.games);
    let report = Report { settings: session.settings(), planners: &planners, external: external.clone() };
    let json = serde_json::to_string(&report)?;
    session.write_report(&args.title(), None, None, &json)?;
    if args.series.json {
        writeln!(out, "{json}")?;
    } else if args.markdown {
        write_standing(planners, out)?;
    } else {
        writeln!(out, "{}", session.heading())?;
        planners.iter().try_for_each(|planner| write_planner(planner, out))?;
        write_summaries(&external, out)?;
    }
    session.end()
}

impl EvalArgs {
    fn title(&self) -> String {
        let planners = match self.planners.as_slice() {
            few if few.len() <= TITLE_PLANNERS => few.join(", "),
            many => format!("{} planners", many.len()),
        };
        format!("evaluation of {planners}")
    }
}

fn running_score(games: &Games) -> String {
    let scores: Vec<f64> = games.iter().flatten().map(|game| f64::from(game.score)).collect();
    format!("mean score {:.0}", average(&scores).unwrap_or(0.0))
}

fn write_planner(planner: &PlannerEvaluation, out: &mut impl Write) -> Result<(), CliError> {
    let headings =
        ["MAP", "GAMES", "SCORE", "95% INTERVAL", "MIN", "MAX", "SURVIVE", "P50 MS", "P99 MS", "MAX MS", "SIMULATED"];
    let mut rows = vec![headings.map(str::to_owned).to_vec()];
    rows.extend(planner.maps.iter().map(|map| row(&one_line(&map.map), &map.summary)));
    rows.push(row("all maps", &planner.overall));
    writeln!(out, "\n{}", one_line(&planner.planner))?;
    write_table(&rows, &[0], out)
}

fn row(name: &str, summary: &Summary) -> Vec<String> {
    let mut row = vec![name.to_owned(), summary.games.to_string()];
    if summary.games == 0 {
        return row;
    }
    let interval = summary.score_interval.map_or_else(|| "-".to_owned(), format_interval);
    row.extend([
        score(summary),
        interval,
        summary.score_min.to_string(),
        summary.score_max.to_string(),
        percentage(summary.survived_share.estimate),
        milliseconds(summary.decision_p50_ms),
        milliseconds(summary.decision_p99_ms),
        milliseconds(summary.decision_max_ms),
        format!("{:.1}", summary.simulated_ticks_per_decision),
    ]);
    row
}

fn score(summary: &Summary) -> String {
    summary.score_mean.map_or_else(|| "-".to_owned(), |mean| format!("{mean:.0}"))
}

/// Formats an interval of scores.
pub(super) fn format_interval(interval: Interval) -> String {
    format!("{:.0} to {:.0}", interval.low, interval.high)
}

fn percentage(share: f64) -> String {
    format!("{:.0}%", 100.0 * share)
}

/// Times are printed with two significant digits.
fn milliseconds(ms: f64) -> String {
    let digits = match ms {
        ms if ms < 0.1 => 3,
        ms if ms < 1.0 => 2,
        ms if ms < 10.0 => 1,
        _ => 0,
    };
    format!("{ms:.digits$}")
}

fn write_standing(mut planners: Vec<PlannerEvaluation>, out: &mut impl Write) -> Result<(), CliError> {
    let mean = |planner: &PlannerEvaluation| planner.overall.score_mean.unwrap_or(0.0);
    planners.sort_by(|one, other| mean(other).total_cmp(&mean(one)));
    writeln!(
        out,
        "| planner | mean score (95% interval) | min | max | survive | decision ms p50, p99, max | simulated ticks per decision |"
    )?;
    writeln!(out, "|---|---|---|---|---|---|---|")?;
    for PlannerEvaluation { planner, overall, .. } in &planners {
        let interval =
            overall.score_interval.map_or_else(String::new, |interval| format!(" ({})", format_interval(interval)));
        let (share, times) = (overall.survived_share.estimate, [overall.decision_p50_ms, overall.decision_p99_ms]);
        let [p50, p99] = times.map(milliseconds);
        writeln!(
            out,
            "| `{}` | {}{interval} | {} | {} | {} | {p50}, {p99}, {} | {:.1} |",
            one_line(planner),
            score(overall),
            overall.score_min,
            overall.score_max,
            percentage(share),
            milliseconds(overall.decision_max_ms),
            overall.simulated_ticks_per_decision
        )?;
    }
    Ok(())
}
