//! The results of a series as tables and sentences.

use std::io::Write;

use getaway_arena::{
    Comparison, ExternalSummary, Judgement, Match, PlannerEvaluation, Standing, Summary, Tournament, TournamentPair,
    p_value,
};
use getaway_runs::stats::{SprtDecision, WinDrawLoss};

use crate::Result;
use crate::output::{Say, count, format_interval, milliseconds, or_dash, points, signed, signed_interval, write_table};

/// Writes the tables and then the sentences.
pub fn write_results(
    judgement: &Judgement,
    planners: &[PlannerEvaluation],
    external: &[ExternalSummary],
    out: &mut impl Write,
) -> Result {
    let mut sentences: Vec<String> = match judgement {
        Judgement::Evaluation => {
            planners.iter().try_for_each(|planner| write_planner(planner, out))?;
            external.iter().filter_map(|bot| bot.trouble.clone()).collect()
        }
        Judgement::Battle(result) => {
            write_battle(result, out)?;
            let sprt = result.sprt.as_ref().map(|sprt| {
                let (ratio, low, high) = (sprt.log_likelihood_ratio, sprt.low, sprt.high);
                format!("SPRT: log-likelihood ratio {ratio:.2}; H0 is accepted at {low:.2}, H1 at {high:.2}")
            });
            sprt.into_iter().chain(result.note()).collect()
        }
        Judgement::Tournament(result) => {
            write_tournament(result, out)?;
            let deterministic = result.standing.iter().filter(|standing| standing.is_deterministic);
            let repeated = deterministic.map(|Standing { planner, games, .. }| {
                let distinct = count(games.distinct_games as usize, "distinct game");
                format!("{planner} is deterministic: {distinct} of {}", games.games)
            });
            [format!("ratings: {}", result.model)].into_iter().chain(repeated).collect()
        }
    };
    write_costs(planners, external, out)?;
    sentences.extend(judgement.sentence());
    if !sentences.is_empty() {
        writeln!(out)?;
    }
    sentences.iter().try_for_each(|sentence| out.say(sentence))
}

fn write_planner(planner: &PlannerEvaluation, out: &mut impl Write) -> Result {
    let row = |name: &str, summary: &Summary, below: Option<f64>| {
        let mut row = vec![("<MAP", name.to_owned()), ("GAMES", summary.games.to_string())];
        if summary.games > 0 {
            row.extend([
                ("SCORE", or_dash(summary.score_mean.map(points))),
                ("BELOW BEST", or_dash(below.map(points))),
                ("SCORE 95%", or_dash(summary.score_interval.map(format_interval))),
                ("MIN", summary.score_min.to_string()),
                ("MAX", summary.score_max.to_string()),
                ("SURVIVE", percentage(summary)),
                ("TICKS/MOVE", format!("{:.1}", summary.simulated_ticks_per_decision)),
            ]);
        }
        row
    };
    let maps = planner.maps.iter().map(|map| row(&map.map, &map.summary, map.points_below_best));
    writeln!(out)?;
    out.say(&planner.planner)?;
    write_table(maps.chain([row("all maps", &planner.overall, planner.points_below_best)]), out)
}

fn percentage(summary: &Summary) -> String {
    format!("{:.0}%", 100.0 * summary.survived_share.estimate)
}

fn counts(WinDrawLoss { wins, ties, losses }: WinDrawLoss) -> [(&'static str, String); 3] {
    [("WINS", wins.to_string()), ("TIES", ties.to_string()), ("LOSSES", losses.to_string())]
}

fn write_battle(result: &Match, out: &mut impl Write) -> Result {
    let row = |name: &str, comparison: &Comparison| {
        let share = comparison.win_share;
        let mut row = vec![("<MAP", name.to_owned())];
        row.extend(counts(comparison.counts));
        row.extend([
            ("WIN SHARE", format!("{:.3}", share.estimate)),
            ("SHARE 95%", format!("{:.3} to {:.3}", share.low, share.high)),
            ("SCORE DIFF", or_dash(comparison.score_difference_mean.map(points))),
            ("DIFF 95%", or_dash(comparison.score_difference.map(format_interval))),
            ("SIGN TEST", p_value(comparison.p_value)),
        ]);
        row
    };
    let maps = result.maps.iter().map(|map| row(&map.map, &map.comparison));
    writeln!(out)?;
    write_table(maps.chain([row("all maps", &result.overall)]), out)
}

fn write_tournament(result: &Tournament, out: &mut impl Write) -> Result {
    let row = |Standing { place, planner, rating, counts: all, games, .. }: &Standing| {
        let mut row = vec![
            ("", place.to_string()),
            ("<ENTRANT", planner.clone()),
            ("RATING", signed(rating.estimate)),
            ("RATING 95%", signed_interval(*rating)),
        ];
        row.extend(counts(*all));
        row.extend([
            ("SCORE", or_dash(games.score_mean.map(points))),
            ("SCORE 95%", or_dash(games.score_interval.map(format_interval))),
            ("SURVIVE", percentage(games)),
            ("GAMES", games.games.to_string()),
        ]);
        row
    };
    writeln!(out)?;
    write_table(result.standing.iter().map(row), out)?;
    writeln!(out)?;
    out.say("row against column: wins - ties - losses in distinct pairs; * marks p <= 0.05")?;
    let cross = |row: &Standing| {
        let cell = |column: &Standing| {
            let cell = match pair(result, row.index, column.index) {
                Some((WinDrawLoss { wins, ties, losses }, p)) => {
                    format!("{wins}-{ties}-{losses}{}", if p <= 0.05 { "*" } else { "" })
                }
                None => "-".to_owned(),
            };
            (column.place.to_string(), cell)
        };
        let names = [(String::new(), row.place.to_string()), ("<".to_owned(), row.planner.clone())];
        names.into_iter().chain(result.standing.iter().map(cell)).collect()
    };
    write_table(result.standing.iter().map(cross), out)?;
    let tests: Vec<Vec<(&str, String)>> = result.pairs.iter().filter_map(sprt_row).collect();
    if !tests.is_empty() {
        writeln!(out)?;
    }
    write_table(tests, out)
}

fn pair(result: &Tournament, one: usize, other: usize) -> Option<(WinDrawLoss, f64)> {
    result.pairs.iter().find_map(|TournamentPair { sides, comparison, .. }| match *sides {
        [left, right] if [left, right] == [one, other] => Some((comparison.counts, comparison.p_value)),
        [left, right] if [left, right] == [other, one] => Some((comparison.counts.reversed(), comparison.p_value)),
        _ => None,
    })
}

fn sprt_row(pair: &TournamentPair) -> Option<Vec<(&'static str, String)>> {
    let (sprt, left) = (pair.sprt.as_ref()?, pair.sprt_left.as_ref()?);
    let right = if *left == pair.left { &pair.right } else { &pair.left };
    let decision = match sprt.decision {
        SprtDecision::H0 => "H0 accepted",
        SprtDecision::H1 => "H1 accepted",
        SprtDecision::Undecided => "undecided",
    };
    Some(vec![
        ("<SPRT", left.clone()),
        ("<", format!("against {right}")),
        ("PAIRS", sprt.pairs.to_string()),
        ("RATIO", format!("{:.2}", sprt.log_likelihood_ratio)),
        ("<", format!("{decision} (sign test, {})", p_value(pair.comparison.p_value))),
    ])
}

fn write_costs(planners: &[PlannerEvaluation], external: &[ExternalSummary], out: &mut impl Write) -> Result {
    let row = |evaluation: &PlannerEvaluation| {
        let games = &evaluation.overall;
        let bot = external.iter().find(|bot| bot.planner == evaluation.planner);
        let of_bot = |value: fn(&ExternalSummary) -> u64| or_dash(bot.map(|bot| value(bot).to_string()));
        vec![
            ("<ENTRANT", evaluation.planner.clone()),
            ("GAMES", games.games.to_string()),
            ("FAILED", of_bot(ExternalSummary::failed)),
            ("MISSED", of_bot(|bot| bot.missed_ticks)),
            ("CPU MS", points(games.cost.cpu_ms_mean)),
            ("PEAK MIB", or_dash(bot.map(|_| games.cost.memory_mb_max.to_string()))),
            ("P50 MS", milliseconds(games.decision_p50_ms)),
            ("P99 MS", milliseconds(games.decision_p99_ms)),
            ("MAX MS", milliseconds(games.decision_max_ms)),
        ]
    };
    writeln!(out)?;
    write_table(planners.iter().map(row), out)?;
    for bot in external {
        // The first failure is in the verdict, and may list the mistakes that led to it.
        bot.failures.iter().skip(1).try_for_each(|failure| out.say(format!("{} {failure}", bot.planner)))?;
        let mistakes = bot.mistakes.words();
        if !bot.failures.iter().any(|failure| failure.contains(&mistakes)) && !mistakes.is_empty() {
            out.say(format!("{}: {mistakes}", bot.planner))?;
        }
    }
    Ok(())
}
