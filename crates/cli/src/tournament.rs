//! `getaway tournament`: every entrant against every other, on the same maps and seeds.

use std::io::Write;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};

use clap::Args;
use serde::Serialize;

use getaway_arena::stats::{SprtDecision, WinDrawLoss};
use getaway_arena::{
    ExternalSummary, Standing, Tournament, TournamentMonitor, TournamentOptions, TournamentPair, external_summaries,
    p_value,
};

use super::arena::{SeriesArgs, SeriesRun, Settings};
use super::eval::format_interval;
use super::external::write_summaries;
use super::sprt::SprtArgs;
use super::table::write_table;
use super::{CliError, one_line};

const EXAMPLES: &str = "Examples:
  getaway tournament survival uct-greedy cautious 'pipe:sh examples/bots/walker.sh' --samples 2
  getaway tournament survival uct-greedy sampling random --resume games.jsonl --report tournament.html
  getaway tournament 'exec:python my_bot.py' survival uct-greedy --gauntlet --sprt --samples 1000";

/// Play a tournament: every entrant against every other, on the same maps and seeds
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct TournamentArgs {
    /// Entrants: names, expressions, exec:COMMAND, pipe:COMMAND, or planners in Python as
    /// MODULE:NAME
    #[arg(value_name = "ENTRANT", num_args = 2.., required = true)]
    entrants: Vec<String>,
    /// Map, by name or path; may be repeated [default: all maps of every --maps DIR, or the bundled
    /// maps]
    #[arg(long = "map", value_name = "MAP")]
    names: Vec<String>,
    /// Compare only the first entrant with every other
    #[arg(long)]
    gauntlet: bool,
    #[command(flatten)]
    series: SeriesArgs,
    #[command(flatten)]
    sprt: SprtArgs,
}

/// The JSON output.
#[derive(Serialize)]
pub(super) struct Report<'a> {
    #[serde(flatten)]
    pub settings: Settings,
    #[serde(flatten)]
    pub result: &'a Tournament,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub external: Vec<ExternalSummary>,
    pub sentence: String,
}

pub(super) fn run(args: &TournamentArgs, out: &mut impl Write) -> Result<(), CliError> {
    let options = TournamentOptions { gauntlet: args.gauntlet, sprt: args.sprt.sprt()? };
    let mut session = SeriesRun::new(&args.series, &args.names, args.entrants.clone())?;
    let mut monitor = TournamentMonitor::new(&session.series, options);
    // Read by the playing threads while the monitor is updated.
    let needed: Vec<AtomicUsize> = monitor.needed().iter().map(|_| AtomicUsize::new(usize::MAX)).collect();
    let is_wanted = |index: usize| index / needed.len() < needed[index % needed.len()].load(Ordering::Relaxed);
    session.play_wanted(&is_wanted, |series, games| {
        // Without a sequential test every game is needed, so the monitor need not be updated.
        let goes_on = options.sprt.is_none() || monitor.update(series, games);
        needed.iter().zip(monitor.needed()).for_each(|(shared, count)| {
            shared.store(count.load(Ordering::Relaxed), Ordering::Relaxed);
        });
        let (decided, pairs) = monitor.decided();
        let status = if options.sprt.is_some() { format!("{decided} of {pairs} pairs decided") } else { String::new() };
        if goes_on { ControlFlow::Continue(status) } else { ControlFlow::Break(()) }
    })?;
    monitor.update(&session.series, &session.games);
    session.discard(|series, index| !monitor.is_wanted(series, index));
    let result = Tournament::of(&session.series, &session.games, &monitor);
    let external = external_summaries(&session.series, &session.games);
    let report = Report {
        settings: session.settings(),
        result: &result,
        external: external.clone(),
        sentence: result.sentence(),
    };
    let json = serde_json::to_string(&report)?;
    session.write_report(&format!("tournament of {} entrants", args.entrants.len()), None, Some(&result), &json)?;
    if args.series.json {
        writeln!(out, "{json}")?;
    } else {
        let kind = if args.gauntlet { "gauntlet" } else { "tournament" };
        writeln!(out, "{kind} of {} entrants: {}", args.entrants.len(), session.heading())?;
        write_result(&result, &external, out)?;
    }
    session.end()
}

fn write_result(result: &Tournament, external: &[ExternalSummary], out: &mut impl Write) -> Result<(), CliError> {
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
    let mut rows = vec![headings.map(str::to_owned).to_vec()];
    rows.extend(result.standing.iter().map(standing_row));
    writeln!(out)?;
    write_table(&rows, &[1], out)?;
    writeln!(out, "\nrow against column: wins - ties - losses in distinct pairs")?;
    write_table(&cross_table(result), &[1], out)?;
    let mut tests: Vec<Vec<String>> = result.pairs.iter().filter_map(sprt_row).collect();
    if !tests.is_empty() {
        tests.insert(0, ["SPRT", "", "PAIRS", "RATIO", ""].map(str::to_owned).to_vec());
        writeln!(out)?;
        write_table(&tests, &[0, 1, 4], out)?;
    }
    write_summaries(external, out)?;
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
    let score = |value: Option<String>| value.unwrap_or_else(|| "-".to_owned());
    vec![
        place.to_string(),
        one_line(planner),
        format!("{:+.0}", rating.estimate),
        format!("{:+.0} to {:+.0}", rating.low, rating.high),
        counts.wins.to_string(),
        counts.ties.to_string(),
        counts.losses.to_string(),
        score(games.score_mean.map(|mean| format!("{mean:.0}"))),
        score(games.score_interval.map(format_interval)),
        format!("{:.0}%", 100.0 * games.survived_share.estimate),
        games.games.to_string(),
    ]
}

/// The table of every entrant against every other, by place.
fn cross_table(result: &Tournament) -> Vec<Vec<String>> {
    let places = result.standing.iter().map(|standing| standing.place.to_string());
    let mut rows = vec![[String::new(), String::new()].into_iter().chain(places).collect()];
    for row in &result.standing {
        let cell = |column: &Standing| match pair(result, row.index, column.index) {
            Some((WinDrawLoss { wins, ties, losses }, p)) => {
                format!("{wins}-{ties}-{losses}{}", if p <= 0.05 { "*" } else { "" })
            }
            None => "-".to_owned(),
        };
        let names = [row.place.to_string(), one_line(&row.planner)];
        rows.push(names.into_iter().chain(result.standing.iter().map(cell)).collect());
    }
    rows
}

/// The pairs of one entrant against another, and the p-value of their difference.
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
    let (names, ratio) = ([one_line(left), format!("against {}", one_line(right))], sprt.log_likelihood_ratio);
    let decision = format!("{decision} (sign test, {})", p_value(pair.comparison.p_value));
    Some(names.into_iter().chain([sprt.pairs.to_string(), format!("{ratio:.2}"), decision]).collect())
}
