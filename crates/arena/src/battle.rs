//! Two planners against each other, in pairs: the same map and the same seed.

use serde::Serialize;

use super::game::GameRecord;
use super::series::{Games, Place, Series};
use super::stats::{self, CONFIDENCE, Interval, Sprt, Tally, Verdict};

/// The chance of an error below which a difference counts as shown.
const SIGNIFICANCE: f64 = 1.0 - CONFIDENCE;
/// Below this a p-value is not printed, but said to be below it.
const P_VALUE_MIN: f64 = 1e-4;

/// Pairs in numbers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// How the pairs ended.
    #[serde(flatten)]
    pub tally: Tally,
    /// Of the two-sided exact sign test.
    pub p_value: f64,
    /// Wins and half the ties, as a share of the pairs.
    pub win_share: Interval,
    /// By how many points the left side scores more, on average; nothing without pairs.
    pub score_difference_mean: Option<f64>,
    /// The same with its interval; nothing with fewer than two pairs.
    pub score_difference: Option<Interval>,
}

impl Comparison {
    /// Compares pairs.
    pub fn of<'a>(pairs: impl Iterator<Item = (&'a GameRecord, &'a GameRecord)>) -> Self {
        let (mut tally, mut differences) = (Tally::default(), Vec::new());
        for (left, right) in pairs {
            tally.add(left.score, right.score);
            differences.push(f64::from(left.score) - f64::from(right.score));
        }
        Self {
            tally,
            p_value: stats::sign_test(tally),
            win_share: stats::win_share(tally, CONFIDENCE),
            score_difference_mean: stats::average(&differences),
            score_difference: stats::mean(&differences, CONFIDENCE),
        }
    }
}

/// The pairs of two planners of a series, on one map or on all: those of which both games were played, in order.
pub fn pairs<'a>(
    series: &'a Series,
    games: &'a Games,
    [left, right]: [usize; 2],
    map: Option<usize>,
) -> impl Iterator<Item = (&'a GameRecord, &'a GameRecord)> {
    let is_asked = move |place: Place| place.planner == left && map.is_none_or(|map| place.map == map);
    let pair = move |(index, game): (usize, &'a Option<GameRecord>)| {
        let place = series.place(index);
        let other = games.get(series.index(Place { planner: right, ..place }));
        Some((game.as_ref()?, other?.as_ref()?)).filter(|_| is_asked(place))
    };
    games.iter().enumerate().filter_map(pair)
}

/// The sequential test over a series of two planners. It asks after each pair in the order of the series, not of arrival, so that its answer
/// does not depend on how many threads there are.
#[derive(Clone, Debug)]
pub struct Referee {
    sprt: Sprt,
    tally: Tally,
    /// Pairs that have been asked about.
    asked: usize,
    verdict: Verdict,
}

impl Referee {
    /// A referee who has seen nothing.
    pub fn new(sprt: Sprt) -> Self {
        Self { sprt, tally: Tally::default(), asked: 0, verdict: Verdict::Open }
    }

    /// Asks about the next pairs, as far as they are there without a gap.
    pub fn look(&mut self, games: &Games) -> Verdict {
        while self.verdict == Verdict::Open
            && let Some([Some(left), Some(right)]) = games.get(2 * self.asked..2 * self.asked + 2)
        {
            self.tally.add(left.score, right.score);
            self.asked += 1;
            self.verdict = self.sprt.verdict(self.tally);
        }
        self.verdict
    }

    /// What has been found out.
    pub fn report(&self) -> SprtReport {
        let (low, high) = self.sprt.bounds();
        let ratio = self.sprt.log_likelihood_ratio(self.tally);
        let pairs = self.asked;
        SprtReport { sprt: self.sprt, verdict: self.verdict, pairs, log_likelihood_ratio: ratio, low, high }
    }

    /// Takes away the games that the verdict was not made on.
    pub fn dismiss(&self, games: &mut Games) {
        if self.verdict != Verdict::Open {
            games.iter_mut().skip(2 * self.asked).for_each(|game| *game = None);
        }
    }
}

/// A sequential test and its answer.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct SprtReport {
    /// The test.
    #[serde(flatten)]
    pub sprt: Sprt,
    /// Who won.
    pub verdict: Verdict,
    /// After how many pairs, ties among them.
    pub pairs: usize,
    /// The logarithm of the likelihood ratio at the end.
    pub log_likelihood_ratio: f64,
    /// Where H0 wins.
    pub low: f64,
    /// Where H1 wins.
    pub high: f64,
}

/// A battle and what it showed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Battle {
    /// The planner whose wins are counted.
    pub left: String,
    /// The other one.
    pub right: String,
    /// On all maps.
    pub overall: Comparison,
    /// On each map.
    pub maps: Vec<MapComparison>,
    /// The sequential test, if one was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sprt: Option<SprtReport>,
}

/// Pairs on a map in numbers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MapComparison {
    /// The name of the map.
    pub map: String,
    /// The pairs on it.
    #[serde(flatten)]
    pub comparison: Comparison,
}

impl Battle {
    /// Compares two planners of a series.
    pub fn of(series: &Series, games: &Games, sides: [usize; 2], sprt: Option<SprtReport>) -> Self {
        let [left, right] = sides.map(|side| series.options().planners[side].clone());
        let on_map = |(map, of): (usize, &super::series::SeriesMap)| MapComparison {
            map: of.name.clone(),
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

    /// The result in one sentence that can be quoted.
    pub fn sentence(&self) -> String {
        let Self { left, right, overall, .. } = self;
        let tally = overall.tally;
        if tally.pairs() == 0 {
            return format!("No pair of games was played, so nothing is known about {left} and {right}.");
        }
        if let Some(sprt) = self.sprt {
            return self.sequential_sentence(sprt);
        }
        let (winner, loser, counts) =
            if tally.losses > tally.wins { (right, left, tally.reversed()) } else { (left, right, tally) };
        let games = paired_games(tally.pairs());
        let test = format!("two-sided sign test, {}", p_value(overall.p_value));
        match tally.decisive() {
            0 => format!("{left} and {right} cannot be told apart: {} in {games}.", counted(tally)),
            _ if overall.p_value <= SIGNIFICANCE => {
                format!("{winner} beats {loser}: {} in {games} ({test}).", counted(counts))
            }
            _ => format!(
                "No difference between {left} and {right} is shown: {} for {left} in {games} ({test}).",
                counted(tally)
            ),
        }
    }

    fn sequential_sentence(&self, report: SprtReport) -> String {
        let Self { left, right, overall, .. } = self;
        let Sprt { p0, p1, alpha, beta } = report.sprt;
        let (zero, one) = (percent(p0), percent(p1));
        let what = match report.verdict {
            Verdict::H1 => format!("{left} beats {right}: H1 (wins {one} of decisive pairs) won over H0 ({zero})"),
            Verdict::H0 => {
                format!("{left} does not beat {right} as asked: H0 (wins {zero} of decisive pairs) won over H1 ({one})")
            }
            Verdict::Open => {
                format!(
                    "{left} against {right} is open: neither H0 (wins {zero} of decisive pairs) nor H1 ({one}) has won"
                )
            }
        };
        let (counts, games) = (counted(overall.tally), paired_games(overall.tally.pairs()));
        format!("{what} after {counts} in {games} (SPRT, alpha {alpha}, beta {beta}).")
    }
}

fn counted(tally: Tally) -> String {
    let count = |number: u64, one: &str, many: &str| format!("{number} {}", if number == 1 { one } else { many });
    let (wins, ties) = (count(tally.wins, "win", "wins"), count(tally.ties, "tie", "ties"));
    format!("{wins}, {ties} and {}", count(tally.losses, "loss", "losses"))
}

fn paired_games(pairs: u64) -> String {
    if pairs == 1 { "1 paired game".to_owned() } else { format!("{pairs} paired games") }
}

/// A share as a percentage, without digits that say nothing.
fn percent(share: f64) -> String {
    format!("{}%", (share * 1e6).round() / 1e4)
}

/// `p = 0.0123`, with more digits only where the number needs them.
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
    use crate::game::Budget;
    use crate::series::SeriesOptions;
    use getaway::game::{Layout, Rules};
    use getaway::map::Map;

    /// Two planners on two maps; nothing is played here, the scores are made up.
    fn series(samples: u32) -> Series {
        let map = |name: &str| Map {
            name: name.to_owned(),
            kind: String::new(),
            difficulty: String::new(),
            layout: Layout::parse("P....\n.###.\n....S").expect("a drawing"),
        };
        let planners = vec!["random".to_owned(), "safest".to_owned()];
        let options =
            SeriesOptions { planners, samples, seed: 1, rules: Rules::BLITZ_2025, budget: Budget::evaluations(1) };
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

    fn battle(scores: &[(u32, u32)]) -> Battle {
        let series = series(scores.len() as u32 / 2);
        Battle::of(&series, &games(&series, scores), [0, 1], None)
    }

    #[test]
    fn pairs_are_counted_by_map_and_overall() {
        let battle = battle(&[(30, 10), (5, 5), (20, 10), (5, 15)]);
        assert_eq!(battle.overall.tally, Tally { wins: 2, ties: 1, losses: 1 });
        assert_eq!(battle.overall.score_difference_mean, Some(5.0));
        assert_eq!(battle.overall.win_share.estimate, 0.625);
        assert_eq!(battle.maps[0].comparison.tally, Tally { wins: 2, ties: 0, losses: 0 });
        assert_eq!(battle.maps[1].comparison.tally, Tally { wins: 0, ties: 1, losses: 1 });
        assert_eq!((battle.maps[1].map.as_str(), battle.maps[1].comparison.p_value), ("two", 1.0));
    }

    #[test]
    fn the_other_side_sees_the_same_pairs_the_other_way() {
        let series = series(2);
        let games = games(&series, &[(30, 10), (5, 5), (20, 10), (5, 15)]);
        let [one, other] = [[0, 1], [1, 0]].map(|sides| Battle::of(&series, &games, sides, None).overall);
        assert_eq!(one.tally, other.tally.reversed());
        assert_eq!(one.score_difference_mean, other.score_difference_mean.map(|points| -points));
    }

    #[test]
    fn a_sentence_for_every_outcome() {
        assert_eq!(
            battle(&[(2, 1); 10]).sentence(),
            "random beats safest: 10 wins, 0 ties and 0 losses in 10 paired games (two-sided sign test, p = 0.0020)."
        );
        assert_eq!(
            battle(&[(1, 2); 20]).sentence(),
            "safest beats random: 20 wins, 0 ties and 0 losses in 20 paired games (two-sided sign test, p < 0.0001)."
        );
        assert_eq!(
            battle(&[(1, 1); 4]).sentence(),
            "random and safest cannot be told apart: 0 wins, 4 ties and 0 losses in 4 paired games."
        );
        assert_eq!(
            battle(&[(1, 2), (3, 2)]).sentence(),
            "No difference between random and safest is shown: 1 win, 0 ties and 1 loss for random in 2 paired games \
             (two-sided sign test, p = 1.00)."
        );
        assert_eq!(battle(&[]).sentence(), "No pair of games was played, so nothing is known about random and safest.");
    }

    #[test]
    fn a_half_pair_is_no_pair() {
        let series = series(1);
        let mut games = games(&series, &[(3, 1), (4, 1)]);
        games[1] = None;
        assert_eq!(Battle::of(&series, &games, [0, 1], None).overall.tally, Tally { wins: 1, ties: 0, losses: 0 });
        games.truncate(3);
        assert_eq!(Battle::of(&series, &games, [0, 1], None).overall.tally.pairs(), 0);
    }

    #[test]
    fn the_referee_stops_at_the_first_answer_and_goes_by_order() {
        let series = series(20);
        let all = games(&series, &[(2, 1); 40]);
        let mut referee = Referee::new(Sprt::default());
        // A gap: what comes after it must wait.
        let mut seen = all.clone();
        seen[3] = None;
        assert_eq!((referee.look(&seen), referee.report().pairs), (Verdict::Open, 1));
        assert_eq!(referee.look(&all), Verdict::H1);
        // ln 19 / ln 1.2 is 16.1.
        let report = referee.report();
        assert_eq!(report.pairs, 17);
        let mut kept = all.clone();
        referee.dismiss(&mut kept);
        assert_eq!(kept.iter().flatten().count(), 34);
        let battle = Battle::of(&series, &kept, [0, 1], Some(report));
        assert_eq!(
            battle.sentence(),
            "random beats safest: H1 (wins 60% of decisive pairs) won over H0 (50%) after 17 wins, 0 ties and 0 losses in \
             17 paired games (SPRT, alpha 0.05, beta 0.05)."
        );
    }

    #[test]
    fn the_referee_may_find_for_nobody_or_for_h0() {
        let series = series(20);
        let verdict = |scores: &[(u32, u32)]| {
            let games = games(&series, scores);
            let mut referee = Referee::new(Sprt::default());
            referee.look(&games);
            Battle::of(&series, &games, [0, 1], Some(referee.report())).sentence()
        };
        assert!(verdict(&[(1, 1); 40]).contains(" is open: neither H0"), "{}", verdict(&[(1, 1); 40]));
        assert!(verdict(&[(1, 2); 40]).contains("does not beat safest as asked: H0 (wins 50%"));
    }

    #[test]
    fn p_values_are_told_with_the_digits_that_count() {
        assert_eq!(
            [1.0, 0.35, 0.0312, 0.00021, 1e-9].map(p_value),
            ["p = 1.00", "p = 0.35", "p = 0.0312", "p = 0.0002", "p < 0.0001"]
        );
    }
}
