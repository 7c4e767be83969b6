//! Compares two planners on paired games: the games of a pair have the same map and seed.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde::Serialize;

use super::eval::{ByMap, SCORE_MAX, distinct};
use super::external::external_summary;
use super::game::GameRecord;
use super::series::{GameKey, Games, Series, SeriesMap};
use super::stats::{self, CONFIDENCE, ClusteredMean, Interval, Sprt, SprtDecision, WinDrawLoss};
use super::verdict::{MARGIN_DEFAULT, Question, Verdict};

/// Minimum number of units for an interval, and of maps for clustering by map. Five units cannot
/// show a difference: even if one side wins all of them, the sign test gives p = 0.06.
const UNITS_MIN: usize = 6;
/// Smaller p-values are shown as `p < 0.0001`.
const P_VALUE_MIN: f64 = 1e-4;

/// Statistics of paired games.
///
/// Pairs with the same moves on the same map count once, as one *distinct pair*, except in
/// `pairs_played` and in the score differences. A *unit* of the sign test is a group of pairs on
/// one map that are linked by identical games: usually a single pair if both planners are
/// randomised, and all pairs on the map if one planner is deterministic.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    #[serde(flatten)]
    pub counts: WinDrawLoss,
    /// Number of pairs played, including repeated pairs.
    pub pairs_played: u64,
    /// Number of units of the sign test, including units with as many wins as losses.
    pub units: u64,
    /// The p-value of the exact two-sided sign test on the units.
    pub p_value: f64,
    /// The win share of the distinct pairs, or of the units if there is a single map or all maps
    /// have the same share; see [`stats::clustered_win_share`].
    pub win_share: Interval,
    /// Mean score difference over all pairs played, left minus right; `None` if there are no pairs.
    pub score_difference_mean: Option<f64>,
    /// The mean score difference with its interval; `None` if there are fewer than six units. The
    /// interval is clustered by map if there are at least six maps. Otherwise it is clustered by
    /// unit, and holds for these maps only.
    pub score_difference: Option<Interval>,
    pub maps: u64,
    /// The mean score difference with two artificial clusters; see [`ClusteredMean::adjusted`].
    #[serde(skip)]
    pub adjusted: ClusteredMean,
}

type MapPairs<'a> = Vec<(&'a GameRecord, &'a GameRecord)>;

impl Comparison {
    pub fn of<'a>(pairs: impl Iterator<Item = (&'a GameRecord, &'a GameRecord)>) -> Self {
        let mut maps = ByMap::default();
        for pair in pairs {
            maps.entry(&pair.0.map).push(pair);
        }
        let maps: Vec<MapPairs<'_>> = maps.into_clusters();
        let distinct: Vec<MapPairs<'_>> = maps.iter().map(|pairs| distinct_pairs(pairs)).collect();
        let map_counts: Vec<WinDrawLoss> = distinct.iter().map(|pairs| count(pairs)).collect();
        let units: Vec<Unit> = maps.iter().flat_map(units).collect();
        let nets: Vec<i64> = units.iter().map(|unit| unit.net).collect();
        let all: Vec<f64> = maps.iter().flatten().map(difference).collect();
        let clusters: Vec<Vec<f64>> = if maps.len() >= UNITS_MIN {
            maps.iter().map(|pairs| pairs.iter().map(difference).collect()).collect()
        } else {
            units.into_iter().map(|unit| unit.differences).collect()
        };
        let reach = f64::from(SCORE_MAX);
        let unit_size = all.len() / nets.len().max(1);
        let interval = stats::clustered_mean(&clusters, CONFIDENCE).filter(|_| nets.len() >= UNITS_MIN);
        Self {
            counts: map_counts.iter().copied().fold(WinDrawLoss::default(), WinDrawLoss::plus),
            pairs_played: all.len() as u64,
            units: nets.len() as u64,
            p_value: stats::weighted_sign_test(&nets),
            win_share: win_share(&map_counts, &nets),
            score_difference_mean: stats::average(&all),
            score_difference: interval.map(|interval| interval.within(-reach, reach)),
            maps: maps.len() as u64,
            adjusted: ClusteredMean::adjusted(&clusters, reach, unit_size),
        }
    }

    /// Returns the verdict on the left side, assuming that no game failed. `margin` is the smallest
    /// mean score difference that matters, in points.
    pub fn verdict(&self, sides: [&str; 2], margin: f64) -> Verdict {
        Question { sides, margin }.verdict(self, &[None, None], None)
    }

    pub(super) fn pairs_text(&self) -> String {
        match (self.counts.pairs(), self.has_repetitions()) {
            (1, true) => "1 distinct pair".to_owned(),
            (1, false) => "1 paired game".to_owned(),
            (pairs, true) => format!("{pairs} distinct pairs"),
            (pairs, false) => format!("{pairs} paired games"),
        }
    }

    pub fn has_repetitions(&self) -> bool {
        self.counts.pairs() < self.pairs_played
    }
}

fn difference(&(left, right): &(&GameRecord, &GameRecord)) -> f64 {
    f64::from(left.points()) - f64::from(right.points())
}

fn distinct_pairs<'a>(pairs: &MapPairs<'a>) -> MapPairs<'a> {
    let mut seen = HashSet::new();
    pairs.iter().copied().filter(|(left, right)| seen.insert((&left.moves, &right.moves))).collect()
}

fn count(pairs: &[(&GameRecord, &GameRecord)]) -> WinDrawLoss {
    let mut counts = WinDrawLoss::default();
    pairs.iter().for_each(|(left, right)| counts.add(left.rank(), right.rank()));
    counts
}

/// A group of pairs on one map that are linked by identical games; see [`Comparison`].
struct Unit {
    /// Wins minus losses of the left side in distinct pairs.
    net: i64,
    differences: Vec<f64>,
}

fn units(pairs: &MapPairs<'_>) -> Vec<Unit> {
    // A union-find forest: each pair points to an earlier pair of its unit, or to itself.
    let mut earlier: Vec<usize> = Vec::new();
    let root = |earlier: &[usize], mut pair: usize| {
        while earlier[pair] != pair {
            pair = earlier[pair];
        }
        pair
    };
    // For each distinct game of a side, the index of the first pair with this game.
    let (mut of_left, mut of_right) = (HashMap::new(), HashMap::new());
    for (index, (left, right)) in pairs.iter().enumerate() {
        earlier.push(index);
        for first in [*of_left.entry(&left.moves).or_insert(index), *of_right.entry(&right.moves).or_insert(index)] {
            let (one, other) = (root(&earlier, index), root(&earlier, first));
            earlier[one.max(other)] = one.min(other);
            earlier[index] = one.min(other);
        }
    }
    let mut seen = HashSet::new();
    let mut units: BTreeMap<usize, Unit> = BTreeMap::new();
    for (index, &pair) in pairs.iter().enumerate() {
        let unit = units.entry(root(&earlier, index)).or_insert(Unit { net: 0, differences: Vec::new() });
        unit.differences.push(difference(&pair));
        if seen.insert((&pair.0.moves, &pair.1.moves)) {
            let counts = count(&[pair]);
            unit.net += counts.wins as i64 - counts.losses as i64;
        }
    }
    units.into_values().collect()
}

fn win_share(map_counts: &[WinDrawLoss], units: &[i64]) -> Interval {
    let mut unit_counts = WinDrawLoss::default();
    units.iter().for_each(|unit| unit_counts.add(u32::from(*unit > 0), u32::from(*unit < 0)));
    stats::clustered_win_share(map_counts, unit_counts, CONFIDENCE)
}

/// Returns the complete pairs of two planners in the order of the series, on one map or all maps.
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

/// Runs the sequential test on the pairs of two planners, in the order of the series, whatever the
/// order in which the games end. Repeated pairs are skipped.
#[derive(Clone, Debug)]
pub struct SprtMonitor {
    sprt: Sprt,
    sides: [usize; 2],
    counts: WinDrawLoss,
    /// Number of pairs processed so far, including repeated pairs.
    passed: usize,
    seen: HashSet<(usize, String, String)>,
    ratios: Vec<f64>,
    decision: SprtDecision,
}

impl SprtMonitor {
    pub fn new(sprt: Sprt) -> Self {
        Self::of(sprt, [0, 1])
    }

    pub fn of(sprt: Sprt, sides: [usize; 2]) -> Self {
        let (counts, decision) = (WinDrawLoss::default(), SprtDecision::Undecided);
        Self { sprt, sides, counts, passed: 0, seen: HashSet::new(), ratios: Vec::new(), decision }
    }

    /// Tests further pairs until a decision is reached or a game is missing. Returns the decision.
    pub fn update(&mut self, series: &Series, games: &Games) -> SprtDecision {
        while self.decision == SprtDecision::Undecided
            && let Some([left, right]) = self.next(series, games)
        {
            self.passed += 1;
            let map = (self.passed - 1) % series.maps().len();
            if self.seen.insert((map, left.moves.clone(), right.moves.clone())) {
                self.counts.add(left.rank(), right.rank());
                self.ratios.push(self.sprt.log_likelihood_ratio(self.counts));
                self.decision = self.sprt.decision(self.counts);
            }
        }
        self.decision
    }

    fn next<'a>(&self, series: &Series, games: &'a Games) -> Option<[&'a GameRecord; 2]> {
        let game = |planner: usize| games.get(series.options().planners.len() * self.passed + planner)?.as_ref();
        Some([game(self.sides[0])?, game(self.sides[1])?])
    }

    pub fn decision(&self) -> SprtDecision {
        self.decision
    }

    /// Number of pairs up to the decision, including repeated pairs; `None` if undecided.
    pub fn pairs_needed(&self) -> Option<usize> {
        (self.decision != SprtDecision::Undecided).then_some(self.passed)
    }

    pub fn report(&self) -> SprtReport {
        let (low, high) = self.sprt.bounds();
        let ratio = self.sprt.log_likelihood_ratio(self.counts);
        let (pairs, ratios) = (self.ratios.len(), self.ratios.clone());
        SprtReport { sprt: self.sprt, decision: self.decision, pairs, log_likelihood_ratio: ratio, ratios, low, high }
    }

    /// Discards all games after the deciding pair, if any. The series must have two planners.
    pub fn discard_unused(&self, games: &mut Games) {
        if let Some(pairs) = self.pairs_needed() {
            games.iter_mut().skip(2 * pairs).for_each(|game| *game = None);
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SprtReport {
    #[serde(flatten)]
    pub sprt: Sprt,
    #[serde(rename = "verdict")]
    pub decision: SprtDecision,
    /// Number of distinct pairs tested, including ties.
    pub pairs: usize,
    pub log_likelihood_ratio: f64,
    /// The log-likelihood ratio after each distinct pair.
    #[serde(skip)]
    pub ratios: Vec<f64>,
    pub low: f64,
    pub high: f64,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Match {
    /// The planner that the wins, the losses and the verdict refer to.
    pub left: String,
    pub right: String,
    pub overall: Comparison,
    pub maps: Vec<MapComparison>,
    /// Names of planners that played some map repeatedly and whose games on each map are identical.
    #[serde(rename = "draw_nothing")]
    pub deterministic: Vec<String>,
    pub verdict: Verdict,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sprt: Option<SprtReport>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MapComparison {
    pub map: String,
    #[serde(flatten)]
    pub comparison: Comparison,
}

impl Match {
    /// Compares the two planners at the indices `sides`, with the margin [`MARGIN_DEFAULT`].
    pub fn of(series: &Series, games: &Games, sides: [usize; 2], sprt: Option<SprtReport>) -> Self {
        Self::with_margin(series, games, sides, sprt, MARGIN_DEFAULT)
    }

    /// Like [`Match::of`], but with another margin, in points; see [`Verdict::margin`].
    pub fn with_margin(
        series: &Series,
        games: &Games,
        sides: [usize; 2],
        sprt: Option<SprtReport>,
        margin: f64,
    ) -> Self {
        let [left, right] = sides.map(|side| series.names()[side].clone());
        let on_map = |(map, series_map): (usize, &SeriesMap)| MapComparison {
            map: series_map.name.clone(),
            comparison: Comparison::of(pairs(series, games, sides, Some(map))),
        };
        let deterministic = sides
            .into_iter()
            .filter(|&side| is_deterministic(series, games, side))
            .map(|side| series.names()[side].clone());
        let deterministic: Vec<String> = deterministic.collect();
        let overall = Comparison::of(pairs(series, games, sides, None));
        let question = Question { sides: [&left, &right], margin };
        let bots = sides.map(|side| external_summary(series, games, side));
        let verdict = question.verdict(&overall, &bots, sprt.as_ref());
        let maps = series.maps().iter().enumerate().map(on_map).collect();
        Self { left, right, overall, maps, deterministic, verdict, sprt }
    }

    /// Returns a note with the number of distinct pairs and the names of any deterministic
    /// planners; `None` if all pairs are distinct.
    pub fn note(&self) -> Option<String> {
        if !self.overall.has_repetitions() {
            return None;
        }
        let (pairs, played) = (self.overall.pairs_text(), self.overall.pairs_played);
        Some(match &self.deterministic[..] {
            [] => format!("some games are identical: {} of {played} pairs are distinct", self.overall.counts.pairs()),
            [one] => format!("{one} is deterministic: {pairs} of {played}"),
            names => format!("{} are deterministic: {pairs} of {played}", names.join(" and ")),
        })
    }

    pub fn sentence(&self) -> String {
        self.verdict.sentence.clone()
    }
}

pub(super) fn wins_ties_losses(counts: WinDrawLoss) -> String {
    let (wins, ties) = (counted(counts.wins, "win", "wins"), counted(counts.ties, "tie", "ties"));
    format!("{wins}, {ties} and {}", counted(counts.losses, "loss", "losses"))
}

/// `1 loss`, `2 losses`.
pub(super) fn counted(number: u64, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

/// True if the planner played some map more than once, and its games on each map are identical.
pub(crate) fn is_deterministic(series: &Series, games: &Games, planner: usize) -> bool {
    let on_map = |map: usize| series.games_of(games, planner, Some(map)).collect::<Vec<&GameRecord>>();
    let maps: Vec<Vec<&GameRecord>> = (0..series.maps().len()).map(on_map).collect();
    maps.iter().any(|games| games.len() > 1) && maps.iter().all(|games| distinct(games) <= 1)
}

pub(super) fn percent(share: f64) -> String {
    format!("{}%", (share * 1e6).round() / 1e4)
}

/// Formats a p-value: as `p < 0.0001` if it is smaller than that, with four decimals below 0.1
/// (`p = 0.0123`), and otherwise with two (`p = 0.35`).
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
    use crate::verdict::Outcome;
    use getaway::game::{Layout, Rules};
    use getaway::map::Map;
    use getaway::search::Budget;

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

    fn games(series: &Series, scores: &[(u32, u32)]) -> Games {
        let mut games = Games::new();
        let flow = series.play(&mut games, 1, &AtomicBool::new(false), |_, _| ControlFlow::<()>::Continue(()));
        assert!(flow.is_ok());
        for (index, (pair, scores)) in games.chunks_mut(2).zip(scores).enumerate() {
            for (game, score) in pair.iter_mut().zip([scores.0, scores.1]) {
                let game = game.as_mut().expect("a game");
                (game.score, game.moves) = (score, index.to_string());
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
            result_of(&[(2002, 1001); 10]).sentence(),
            "random is better than safest: +1,001 points per game (+1,001 to +1,001), 10 wins, 0 ties and 0 losses in \
             10 paired games (sign test, p = 0.0020)."
        );
        assert!(result_of(&[(1, 2); 20]).sentence().starts_with("random is worse than safest: -1 points per game"));
        assert_eq!(
            result_of(&[(1, 1); 80]).sentence(),
            "random and safest are equal within 500 points: +0 points per game (90% interval -289 to +289), 0 wins, \
             80 ties and 0 losses in 80 paired games (sign test, p = 1.00)."
        );
        assert_eq!(
            result_of(&[(1, 2), (3, 2)]).sentence(),
            "Too few games to tell random from safest: +0 points per game, 1 win, 0 ties and 1 loss in 2 paired games \
             (sign test, p = 1.00); about 2,200 more pairs would show a difference of 500 points."
        );
        assert_eq!(result_of(&[]).sentence(), "No pair of games was played, so random and safest cannot be compared.");
    }

    #[test]
    fn two_pairs_are_too_few_for_a_verdict() {
        let result = result_of(&[(6000, 100), (4000, 600)]);
        assert_eq!((result.verdict.outcome, result.overall.score_difference), (Outcome::Undecided, None));
        assert!(result.verdict.further.is_some_and(|further| further.count > 100), "{:?}", result.verdict);
    }

    #[test]
    fn equal_pairs_count_once_and_the_report_says_so() {
        let series = series(20);
        // `random` wins on the first map and loses on the second. Both planners are deterministic.
        let mut games = games(&series, &[(2, 1), (1, 3)].repeat(20));
        games.iter_mut().flatten().for_each(|game| game.moves = "same".to_owned());
        let result = Match::of(&series, &games, [0, 1], None);
        assert_eq!(result.overall.counts, WinDrawLoss { wins: 1, ties: 0, losses: 1 });
        assert_eq!((result.overall.pairs_played, result.overall.units), (40, 2));
        assert_eq!(result.note().as_deref(), Some("random and safest are deterministic: 2 distinct pairs of 40"));
        assert_eq!(result.maps[0].comparison.score_difference, None, "one game is not a sample");
        // Now only `safest` is deterministic, so all pairs on a map are still one unit.
        for (index, game) in games.iter_mut().enumerate().step_by(2) {
            game.as_mut().expect("a game").moves = index.to_string();
        }
        let result = Match::of(&series, &games, [0, 1], None);
        assert_eq!((result.overall.counts.pairs(), result.overall.units), (40, 2));
        assert_eq!(
            (result.overall.p_value, result.note(), result.deterministic),
            (1.0, None, vec!["safest".to_owned()])
        );
    }

    #[test]
    fn sequential_test_skips_repeated_pairs() {
        let series = series(20);
        let mut games = games(&series, &[(2, 1); 40]);
        for game in games.iter_mut().take(60).flatten() {
            game.moves = "same".to_owned();
        }
        let mut monitor = SprtMonitor::new(Sprt::default());
        assert_eq!(monitor.update(&series, &games), SprtDecision::Undecided);
        // Of the first thirty pairs, only two are distinct, one on each map. The last ten pairs are
        // all distinct.
        assert_eq!((monitor.report().pairs, monitor.report().ratios.len()), (12, 12));
        assert_eq!(monitor.pairs_needed(), None);
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
        // The game at index 3 is missing, so only the first pair can be tested.
        let mut seen = all.clone();
        seen[3] = None;
        assert_eq!((monitor.update(&series, &seen), monitor.report().pairs), (SprtDecision::Undecided, 1));
        assert_eq!(monitor.update(&series, &all), SprtDecision::H1);
        // The first 16 wins do not suffice, because ln 19 / ln 1.2 is 16.1.
        let report = monitor.report();
        assert_eq!(report.pairs, 17);
        let mut kept = all.clone();
        monitor.discard_unused(&mut kept);
        assert_eq!(kept.iter().flatten().count(), 34);
        let result = Match::of(&series, &kept, [0, 1], Some(report));
        assert_eq!(
            result.sentence(),
            "random is better than safest: H1 (wins 60% of decisive pairs) accepted over H0 (50%) after 17 wins, 0 ties and 0 losses in \
             17 paired games (SPRT, alpha 0.05, beta 0.05)."
        );
    }

    #[test]
    fn monitor_can_stay_undecided_or_accept_h0() {
        let series = series(20);
        let sentence = |scores: &[(u32, u32)]| {
            let games = games(&series, scores);
            let mut monitor = SprtMonitor::new(Sprt::default());
            monitor.update(&series, &games);
            Match::of(&series, &games, [0, 1], Some(monitor.report())).sentence()
        };
        assert!(
            sentence(&[(1, 1); 40]).contains("Too few games to tell random from safest: neither H0"),
            "{}",
            sentence(&[(1, 1); 40])
        );
        assert!(sentence(&[(1, 2); 40]).contains("is not better than safest by the margin tested: H0 (wins 50%"));
    }

    #[test]
    fn p_values_have_significant_digits_only() {
        assert_eq!(
            [1.0, 0.35, 0.0312, 0.00021, 1e-9].map(p_value),
            ["p = 1.00", "p = 0.35", "p = 0.0312", "p = 0.0002", "p < 0.0001"]
        );
    }
}
