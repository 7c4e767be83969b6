//! Compares two planners on paired games: the same map and the same seed.

use serde::Serialize;

use super::game::GameRecord;
use super::series::{GameKey, Games, Series, SeriesMap};
use super::stats::{self, CONFIDENCE, Interval, Sprt, SprtDecision, WinDrawLoss};

/// The significance level of a difference.
const SIGNIFICANCE: f64 = 1.0 - CONFIDENCE;
/// Smaller p-values are printed as below this one.
const P_VALUE_MIN: f64 = 1e-4;

/// Statistics of paired games.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// Numbers of wins, ties and losses.
    #[serde(flatten)]
    pub counts: WinDrawLoss,
    /// The p-value of the exact two-sided sign test.
    pub p_value: f64,
    /// Wins plus half the ties, as a share of all pairs.
    pub win_share: Interval,
    /// Mean score difference, left minus right; `None` without pairs.
    pub score_difference_mean: Option<f64>,
    /// The mean score difference with its confidence interval; `None` with fewer than two pairs.
    pub score_difference: Option<Interval>,
}

impl Comparison {
    /// Compares pairs.
    pub fn of<'a>(pairs: impl Iterator<Item = (&'a GameRecord, &'a GameRecord)>) -> Self {
        let (mut counts, mut differences) = (WinDrawLoss::default(), Vec::new());
        for (left, right) in pairs {
            counts.add(left.score, right.score);
            differences.push(f64::from(left.score) - f64::from(right.score));
        }
        Self {
            counts,
            p_value: stats::sign_test(counts),
            win_share: stats::win_share(counts, CONFIDENCE),
            score_difference_mean: stats::average(&differences),
            score_difference: stats::mean(&differences, CONFIDENCE),
        }
    }
}

/// The pairs of two planners of a series, on one map or on all, for which both games were played,
/// in order.
pub fn pairs<'a>(
    series: &'a Series,
    games: &'a Games,
    [left, right]: [usize; 2],
    map: Option<usize>,
) -> impl Iterator<Item = (&'a GameRecord, &'a GameRecord)> {
    let is_selected = move |key: GameKey| key.planner == left && map.is_none_or(|map| key.map == map);
    let pair = move |(index, game): (usize, &'a Option<GameRecord>)| {
        let key = series.key(index);
        let other = games.get(series.index(GameKey { planner: right, ..key }));
        Some((game.as_ref()?, other?.as_ref()?)).filter(|_| is_selected(key))
    };
    games.iter().enumerate().filter_map(pair)
}

/// Monitors the sequential test over a series of two planners. Pairs are tested in the order of the
/// series, not in the order in which games finish, so the result does not depend on the number of
/// threads.
#[derive(Clone, Debug)]
pub struct SprtMonitor {
    sprt: Sprt,
    counts: WinDrawLoss,
    /// Pairs tested so far.
    tested: usize,
    decision: SprtDecision,
}

impl SprtMonitor {
    /// Creates a monitor.
    pub fn new(sprt: Sprt) -> Self {
        Self { sprt, counts: WinDrawLoss::default(), tested: 0, decision: SprtDecision::Undecided }
    }

    /// Tests the next pairs, up to the first one that is missing.
    pub fn update(&mut self, games: &Games) -> SprtDecision {
        while self.decision == SprtDecision::Undecided
            && let Some([Some(left), Some(right)]) = games.get(2 * self.tested..2 * self.tested + 2)
        {
            self.counts.add(left.score, right.score);
            self.tested += 1;
            self.decision = self.sprt.decision(self.counts);
        }
        self.decision
    }

    /// The current state of the test.
    pub fn report(&self) -> SprtReport {
        let (low, high) = self.sprt.bounds();
        let ratio = self.sprt.log_likelihood_ratio(self.counts);
        let pairs = self.tested;
        SprtReport { sprt: self.sprt, decision: self.decision, pairs, log_likelihood_ratio: ratio, low, high }
    }

    /// Discards the games after the pair that decided the test.
    pub fn discard_unused(&self, games: &mut Games) {
        if self.decision != SprtDecision::Undecided {
            games.iter_mut().skip(2 * self.tested).for_each(|game| *game = None);
        }
    }
}

/// A sequential test and its result.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct SprtReport {
    /// The test.
    #[serde(flatten)]
    pub sprt: Sprt,
    /// The decision.
    #[serde(rename = "verdict")]
    pub decision: SprtDecision,
    /// Number of pairs at the decision, including ties.
    pub pairs: usize,
    /// The log-likelihood ratio at the end.
    pub log_likelihood_ratio: f64,
    /// The bound at which H0 is accepted.
    pub low: f64,
    /// The bound at which H1 is accepted.
    pub high: f64,
}

/// The result of a match between two planners.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Match {
    /// The planner whose wins are counted.
    pub left: String,
    /// The other one.
    pub right: String,
    /// On all maps.
    pub overall: Comparison,
    /// On each map.
    pub maps: Vec<MapComparison>,
    /// The sequential test, if one was requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sprt: Option<SprtReport>,
}

/// Statistics of the pairs on one map.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MapComparison {
    /// The name of the map.
    pub map: String,
    /// The pairs on it.
    #[serde(flatten)]
    pub comparison: Comparison,
}

impl Match {
    /// Compares two planners of a series.
    pub fn of(series: &Series, games: &Games, sides: [usize; 2], sprt: Option<SprtReport>) -> Self {
        let [left, right] = sides.map(|side| series.options().planners[side].clone());
        let on_map = |(map, series_map): (usize, &SeriesMap)| MapComparison {
            map: series_map.name.clone(),
            comparison: Comparison::of(pairs(series, games, sides, Some(map))),
        };
        Self {
            left,
            right,
            overall: Comparison::of(pairs(series, games, sides, None)),
            maps: series.maps().iter().enumerate().map(on_map).collect(),
            sprt,
        }
    }

    /// The result as one quotable sentence.
    pub fn sentence(&self) -> String {
        let Self { left, right, overall, .. } = self;
        let counts = overall.counts;
        if counts.pairs() == 0 {
            return format!("No pair of games was played, so {left} and {right} cannot be compared.");
        }
        if let Some(sprt) = self.sprt {
            return self.sequential_sentence(sprt);
        }
        let (winner, loser, winner_counts) =
            if counts.losses > counts.wins { (right, left, counts.reversed()) } else { (left, right, counts) };
        let games = paired_games(counts.pairs());
        let test = format!("two-sided sign test, {}", p_value(overall.p_value));
        match counts.decisive() {
            0 => format!("{left} and {right} are tied: {} in {games}.", wins_ties_losses(counts)),
            _ if overall.p_value <= SIGNIFICANCE => {
                format!("{winner} beats {loser}: {} in {games} ({test}).", wins_ties_losses(winner_counts))
            }
            _ => format!(
                "No significant difference between {left} and {right}: {} for {left} in {games} ({test}).",
                wins_ties_losses(counts)
            ),
        }
    }

    fn sequential_sentence(&self, report: SprtReport) -> String {
        let Self { left, right, overall, .. } = self;
        let Sprt { p0, p1, alpha, beta } = report.sprt;
        let (zero, one) = (percent(p0), percent(p1));
        let what = match report.decision {
            SprtDecision::H1 => {
                format!("{left} beats {right}: H1 (wins {one} of decisive pairs) accepted over H0 ({zero})")
            }
            SprtDecision::H0 => {
                format!(
                    "{left} does not beat {right} by the margin tested: H0 (wins {zero} of decisive pairs) accepted over H1 ({one})"
                )
            }
            SprtDecision::Undecided => {
                format!(
                    "{left} against {right} is undecided: neither H0 (wins {zero} of decisive pairs) nor H1 ({one}) is accepted"
                )
            }
        };
        let (counts, games) = (wins_ties_losses(overall.counts), paired_games(overall.counts.pairs()));
        format!("{what} after {counts} in {games} (SPRT, alpha {alpha}, beta {beta}).")
    }
}

fn wins_ties_losses(counts: WinDrawLoss) -> String {
    let count = |number: u64, one: &str, many: &str| format!("{number} {}", if number == 1 { one } else { many });
    let (wins, ties) = (count(counts.wins, "win", "wins"), count(counts.ties, "tie", "ties"));
    format!("{wins}, {ties} and {}", count(counts.losses, "loss", "losses"))
}

fn paired_games(pairs: u64) -> String {
    if pairs == 1 { "1 paired game".to_owned() } else { format!("{pairs} paired games") }
}

/// A share as a percentage, rounded to its significant digits.
fn percent(share: f64) -> String {
    format!("{}%", (share * 1e6).round() / 1e4)
}

/// `p = 0.0123`, with more digits only for small values.
pub fn p_value(p_value: f64) -> String {
    match p_value {
        p if p < P_VALUE_MIN => format!("p < {P_VALUE_MIN}"),
        p if p < 0.1 => format!("p = {p:.4}"),
        p => format!("p = {p:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;
    use std::sync::atomic::AtomicBool;

    use super::*;
    use crate::series::SeriesOptions;
    use getaway::game::{Layout, Rules};
    use getaway::map::Map;
    use getaway::search::Budget;

    /// Two planners on two maps; the scores are made up.
    fn series(samples: u32) -> Series {
        let map = |name: &str| Map {
            name: name.to_owned(),
            kind: String::new(),
            difficulty: String::new(),
            layout: Layout::parse("P....\n.###.\n....S").expect("a drawing"),
        };
        let planners = vec!["random".to_owned(), "safest".to_owned()];
        let options = SeriesOptions { planners, samples, seed: 1, rules: Rules::BLITZ_2025, budget: Budget::ticks(1) };
        Series::new(&[map("one"), map("two")], options).expect("a series")
    }

    /// Games with these scores, pair by pair.
    fn games(series: &Series, scores: &[(u32, u32)]) -> Games {
        let mut games = Games::new();
        let flow = series.play(&mut games, 1, &AtomicBool::new(false), |_, _| ControlFlow::<()>::Continue(()));
        assert!(flow.is_ok());
        for (pair, scores) in games.chunks_mut(2).zip(scores) {
            for (game, score) in pair.iter_mut().zip([scores.0, scores.1]) {
                game.as_mut().expect("a game").score = score;
            }
        }
        games
    }

    fn result_of(scores: &[(u32, u32)]) -> Match {
        let series = series(scores.len() as u32 / 2);
        Match::of(&series, &games(&series, scores), [0, 1], None)
    }

    #[test]
    fn pairs_are_counted_by_map_and_overall() {
        let result = result_of(&[(30, 10), (5, 5), (20, 10), (5, 15)]);
        assert_eq!(result.overall.counts, WinDrawLoss { wins: 2, ties: 1, losses: 1 });
        assert_eq!(result.overall.score_difference_mean, Some(5.0));
        assert_eq!(result.overall.win_share.estimate, 0.625);
        assert_eq!(result.maps[0].comparison.counts, WinDrawLoss { wins: 2, ties: 0, losses: 0 });
        assert_eq!(result.maps[1].comparison.counts, WinDrawLoss { wins: 0, ties: 1, losses: 1 });
        assert_eq!((result.maps[1].map.as_str(), result.maps[1].comparison.p_value), ("two", 1.0));
    }

    #[test]
    fn swapping_the_sides_mirrors_the_result() {
        let series = series(2);
        let games = games(&series, &[(30, 10), (5, 5), (20, 10), (5, 15)]);
        let [one, other] = [[0, 1], [1, 0]].map(|sides| Match::of(&series, &games, sides, None).overall);
        assert_eq!(one.counts, other.counts.reversed());
        assert_eq!(one.score_difference_mean, other.score_difference_mean.map(|points| -points));
    }

    #[test]
    fn every_outcome_has_a_sentence() {
        assert_eq!(
            result_of(&[(2, 1); 10]).sentence(),
            "random beats safest: 10 wins, 0 ties and 0 losses in 10 paired games (two-sided sign test, p = 0.0020)."
        );
        assert_eq!(
            result_of(&[(1, 2); 20]).sentence(),
            "safest beats random: 20 wins, 0 ties and 0 losses in 20 paired games (two-sided sign test, p < 0.0001)."
        );
        assert_eq!(
            result_of(&[(1, 1); 4]).sentence(),
            "random and safest are tied: 0 wins, 4 ties and 0 losses in 4 paired games."
        );
        assert_eq!(
            result_of(&[(1, 2), (3, 2)]).sentence(),
            "No significant difference between random and safest: 1 win, 0 ties and 1 loss for random in 2 paired games \
             (two-sided sign test, p = 1.00)."
        );
        assert_eq!(result_of(&[]).sentence(), "No pair of games was played, so random and safest cannot be compared.");
    }

    #[test]
    fn incomplete_pair_does_not_count() {
        let series = series(1);
        let mut games = games(&series, &[(3, 1), (4, 1)]);
        games[1] = None;
        assert_eq!(
            Match::of(&series, &games, [0, 1], None).overall.counts,
            WinDrawLoss { wins: 1, ties: 0, losses: 0 }
        );
        games.truncate(3);
        assert_eq!(Match::of(&series, &games, [0, 1], None).overall.counts.pairs(), 0);
    }

    #[test]
    fn monitor_stops_at_the_first_decision_and_tests_in_order() {
        let series = series(20);
        let all = games(&series, &[(2, 1); 40]);
        let mut monitor = SprtMonitor::new(Sprt::default());
        // A gap: the pairs after it must wait.
        let mut seen = all.clone();
        seen[3] = None;
        assert_eq!((monitor.update(&seen), monitor.report().pairs), (SprtDecision::Undecided, 1));
        assert_eq!(monitor.update(&all), SprtDecision::H1);
        // ln 19 / ln 1.2 is 16.1.
        let report = monitor.report();
        assert_eq!(report.pairs, 17);
        let mut kept = all.clone();
        monitor.discard_unused(&mut kept);
        assert_eq!(kept.iter().flatten().count(), 34);
        let result = Match::of(&series, &kept, [0, 1], Some(report));
        assert_eq!(
            result.sentence(),
            "random beats safest: H1 (wins 60% of decisive pairs) accepted over H0 (50%) after 17 wins, 0 ties and 0 losses in \
             17 paired games (SPRT, alpha 0.05, beta 0.05)."
        );
    }

    #[test]
    fn monitor_can_stay_undecided_or_accept_h0() {
        let series = series(20);
        let sentence = |scores: &[(u32, u32)]| {
            let games = games(&series, scores);
            let mut monitor = SprtMonitor::new(Sprt::default());
            monitor.update(&games);
            Match::of(&series, &games, [0, 1], Some(monitor.report())).sentence()
        };
        assert!(sentence(&[(1, 1); 40]).contains(" is undecided: neither H0"), "{}", sentence(&[(1, 1); 40]));
        assert!(sentence(&[(1, 2); 40]).contains("does not beat safest by the margin tested: H0 (wins 50%"));
    }

    #[test]
    fn p_values_have_significant_digits_only() {
        assert_eq!(
            [1.0, 0.35, 0.0312, 0.00021, 1e-9].map(p_value),
            ["p = 1.00", "p = 0.35", "p = 0.0312", "p = 0.0002", "p < 0.0001"]
        );
    }
}
