use std::io::Write;
use std::ops::ControlFlow;

use clap::Args;
use serde::Serialize;

use getaway::planner::DEFAULT_NAME;
use getaway_arena::{Games, PlannerEvaluation, ReportResult, Series, Summary, evaluate};
use getaway_runs::stats::average;

use crate::arguments::{PositionalMaps, SeriesArgs};
use crate::output::{format_interval, milliseconds, one_line, or_dash, write_table};
use crate::series::{SeriesRun, write_costs};
use crate::{CliError, Invocation};

const TITLE_PLANNERS: usize = 3;

const EXAMPLES: &str = "Examples:
  getaway eval                                            the default planner on the bundled maps
  getaway eval --map roundabout --map harbour --planner safest --report report.html
  getaway eval --maps path/to/maps --no-jump --budget-ms 20 --resume results.jsonl";

/// Evaluate planners on several maps and seeds, in parallel
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct EvalArgs {
    #[command(flatten)]
    positional: PositionalMaps,
    /// Planner: a name, an expression, exec:COMMAND, pipe:COMMAND, or a
    /// {n}planner in Python as MODULE:NAME; NAME=PLANNER names it,
    /// {n}where NAME is up to 64 letters, digits and ._@+-; repeatable
    #[arg(long = "planner", value_name = "NAME|EXPRESSION", default_value = DEFAULT_NAME)]
    planners: Vec<String>,
    /// Print a Markdown table, one row per planner, highest mean score first
    #[arg(long, conflicts_with = "json")]
    markdown: bool,
    // Must be the last field: in the help, later options would appear under its last heading.
    #[command(flatten)]
    series: SeriesArgs,
}

#[derive(Serialize)]
struct Report<'a> {
    planners: &'a [PlannerEvaluation],
}

pub(crate) fn run(args: &EvalArgs, invocation: &Invocation<'_>, out: &mut impl Write) -> Result<(), CliError> {
    args.positional.refuse()?;
    let mut run = SeriesRun::new(&args.series, args.planners.clone(), invocation)?;
    run.play(|_, games| ControlFlow::Continue(running_score(games)))?;
    let planners = evaluate(&run.series, &run.games);
    let report = Report { planners: &planners };
    let title = args.title(&run.series);
    run.finish(&title, report, ReportResult::default(), out, |run, entrants, out| {
        if args.markdown {
            return write_standing(planners.clone(), out);
        }
        writeln!(out, "{}", run.heading())?;
        planners.iter().try_for_each(|planner| write_planner(planner, out))?;
        write_costs(entrants, out)?;
        let troubles = entrants.troubles();
        if troubles.is_empty() { Ok(()) } else { Ok(writeln!(out, "\n{}", one_line(&troubles.join("; ")))?) }
    })
}

impl EvalArgs {
    fn title(&self, series: &Series) -> String {
        let planners = match series.names() {
            few if few.len() <= TITLE_PLANNERS => few.join(", "),
            many => format!("{} planners", many.len()),
        };
        format!("evaluation of {planners}")
    }
}

fn running_score(games: &Games) -> String {
    let scores: Vec<f64> = games.iter().flatten().map(|game| f64::from(game.points())).collect();
    format!("mean score {:.0}", average(&scores).unwrap_or(0.0))
}

fn write_planner(planner: &PlannerEvaluation, out: &mut impl Write) -> Result<(), CliError> {
    let headings =
        ["MAP", "GAMES", "SCORE", "95% INTERVAL", "MIN", "MAX", "SURVIVE", "P50 MS", "P99 MS", "MAX MS", "SIMULATED"];
    let maps = planner.maps.iter().map(|map| row(&map.map, &map.summary));
    writeln!(out, "\n{}", one_line(&planner.planner))?;
    write_table(headings, &[0], maps.chain([row("all maps", &planner.overall)]), out)
}

fn row(name: &str, summary: &Summary) -> Vec<String> {
    let mut row = vec![name.to_owned(), summary.games.to_string()];
    if summary.games == 0 {
        return row;
    }
    row.extend([
        score(summary),
        or_dash(summary.score_interval.map(format_interval)),
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
    or_dash(summary.score_mean.map(|mean| format!("{mean:.0}")))
}

fn percentage(share: f64) -> String {
    format!("{:.0}%", 100.0 * share)
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
