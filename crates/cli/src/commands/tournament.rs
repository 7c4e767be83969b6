use std::io::Write;
use std::ops::ControlFlow;

use clap::Args;
use serde::Serialize;

use getaway_arena::{
    ReportResult, Standing, Tournament, TournamentMonitor, TournamentOptions, TournamentPair, p_value,
};
use getaway_runs::stats::{SprtDecision, WinDrawLoss};

use crate::arguments::{SeriesArgs, SprtArgs};
use crate::output::{format_interval, one_line, or_dash, write_table};
use crate::series::{EntrantResults, SeriesRun, write_costs};
use crate::{CliError, Invocation};

const EXAMPLES: &str = "Examples:
  getaway tournament survival uct-greedy cautious 'walker=pipe:sh examples/bots/walker.sh' --samples 2
  getaway tournament survival uct-greedy sampling random --resume games.jsonl --report report.html
  getaway tournament 'mine=exec:python my_bot.py' survival uct-greedy --gauntlet --sprt --samples 1000";

/// Play a tournament: every entrant against every other, on the same maps and seeds
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct TournamentArgs {
    /// Entrants: names, expressions, exec:COMMAND, pipe:COMMAND, or planners in
    /// {n}Python as MODULE:NAME; NAME=PLANNER names an entrant, where NAME is up to
    /// {n}64 letters, digits and ._@+-
    #[arg(value_name = "ENTRANT", num_args = 2.., required = true)]
    entrants: Vec<String>,
    /// Compare only pairs that include the first entrant
    #[arg(long)]
    gauntlet: bool,
    #[command(flatten)]
    series: SeriesArgs,
    #[command(flatten)]
    sprt: SprtArgs,
}

#[derive(Serialize)]
struct Report<'a> {
    #[serde(flatten)]
    result: &'a Tournament,
    sentence: String,
}

pub(crate) fn run(args: &TournamentArgs, invocation: &Invocation<'_>, out: &mut impl Write) -> Result<(), CliError> {
    let options = TournamentOptions { gauntlet: args.gauntlet, sprt: args.sprt.sprt()? };
    let mut run = SeriesRun::new(&args.series, args.entrants.clone(), invocation)?;
    let mut monitor = TournamentMonitor::new(&run.series, options);
    let is_wanted = monitor.wanted();
    run.play_wanted(&is_wanted, |series, games| {
        let goes_on = options.sprt.is_none() || monitor.update(series, games);
        let (decided, pairs) = monitor.decided();
        let status = if options.sprt.is_some() { format!("{decided} of {pairs} pairs decided") } else { String::new() };
        if goes_on { ControlFlow::Continue(status) } else { ControlFlow::Break(()) }
    })?;
    monitor.update(&run.series, &run.games);
    run.discard(|index| !is_wanted(index));
    let result = Tournament::of(&run.series, &run.games, &monitor, args.series.margin());
    let report = Report { result: &result, sentence: result.sentence() };
    let shown = ReportResult { tournament: Some(&result), ..ReportResult::default() };
    let entrants = args.entrants.len();
    run.finish(&format!("tournament of {entrants} entrants"), report, shown, out, |run, results, out| {
        let kind = if args.gauntlet { "gauntlet" } else { "tournament" };
        writeln!(out, "{kind} of {entrants} entrants: {}", run.heading())?;
        write_result(&result, results, out)
    })
}

fn write_result(result: &Tournament, entrants: &EntrantResults, out: &mut impl Write) -> Result<(), CliError> {
    let headings = [
        "",
        "ENTRANT",
        "RATING",
        "95% INTERVAL",
        "WINS",
        "TIES",
        "LOSSES",
        "SCORE",
        "95% INTERVAL",
        "SURVIVE",
        "GAMES",
    ];
    writeln!(out)?;
    write_table(headings, &[1], result.standing.iter().map(standing_row), out)?;
    writeln!(out, "\nrow against column: wins - ties - losses in distinct pairs; * marks p <= 0.05")?;
    write_cross_table(result, out)?;
    let tests: Vec<Vec<String>> = result.pairs.iter().filter_map(sprt_row).collect();
    if !tests.is_empty() {
        writeln!(out)?;
        write_table(["SPRT", "", "PAIRS", "RATIO", ""], &[0, 1, 4], tests, out)?;
    }
    write_costs(entrants, out)?;
    writeln!(out)?;
    writeln!(out, "ratings: {}", result.model)?;
    for standing in result.standing.iter().filter(|standing| standing.is_deterministic) {
        let (name, distinct, games) = (&standing.planner, standing.games.distinct_games, standing.games.games);
        writeln!(out, "{} is deterministic: {distinct} distinct games of {games}", one_line(name))?;
    }
    Ok(writeln!(out, "{}", one_line(&result.sentence()))?)
}

fn standing_row(standing: &Standing) -> Vec<String> {
    let Standing { place, planner, rating, counts, games, .. } = standing;
    vec![
        place.to_string(),
        planner.clone(),
        format!("{:+.0}", rating.estimate),
        format!("{:+.0} to {:+.0}", rating.low, rating.high),
        counts.wins.to_string(),
        counts.ties.to_string(),
        counts.losses.to_string(),
        or_dash(games.score_mean.map(|mean| format!("{mean:.0}"))),
        or_dash(games.score_interval.map(format_interval)),
        format!("{:.0}%", 100.0 * games.survived_share.estimate),
        games.games.to_string(),
    ]
}

fn write_cross_table(result: &Tournament, out: &mut impl Write) -> Result<(), CliError> {
    let row = |row: &Standing| {
        let cell = |column: &Standing| match pair(result, row.index, column.index) {
            Some((WinDrawLoss { wins, ties, losses }, p)) => {
                format!("{wins}-{ties}-{losses}{}", if p <= 0.05 { "*" } else { "" })
            }
            None => "-".to_owned(),
        };
        let names = [row.place.to_string(), row.planner.clone()];
        names.into_iter().chain(result.standing.iter().map(cell)).collect()
    };
    let places = result.standing.iter().map(|standing| standing.place.to_string());
    let headings = [String::new(), String::new()].into_iter().chain(places);
    write_table(headings, &[1], result.standing.iter().map(row), out)
}

fn pair(result: &Tournament, one: usize, other: usize) -> Option<(WinDrawLoss, f64)> {
    result.pairs.iter().find_map(|TournamentPair { sides, comparison, .. }| match *sides {
        [left, right] if [left, right] == [one, other] => Some((comparison.counts, comparison.p_value)),
        [left, right] if [left, right] == [other, one] => Some((comparison.counts.reversed(), comparison.p_value)),
        _ => None,
    })
}

fn sprt_row(pair: &TournamentPair) -> Option<Vec<String>> {
    let sprt = pair.sprt.as_ref()?;
    let left = pair.sprt_left.as_ref()?;
    let right = if *left == pair.left { &pair.right } else { &pair.left };
    let decision = match sprt.decision {
        SprtDecision::H0 => "H0 accepted",
        SprtDecision::H1 => "H1 accepted",
        SprtDecision::Undecided => "undecided",
    };
    let (names, ratio) = ([left.clone(), format!("against {right}")], sprt.log_likelihood_ratio);
    let decision = format!("{decision} (sign test, {})", p_value(pair.comparison.p_value));
    Some(names.into_iter().chain([sprt.pairs.to_string(), format!("{ratio:.2}"), decision]).collect())
}
