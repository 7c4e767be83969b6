//! Compares two planners on paired games.

use serde::Serialize;

use super::comparison::{Comparison, pairs};
use super::eval::distinct;
use super::external_summary::external_summary;
use super::record::GameRecord;
use super::series::{GameSlice, Series, SeriesMap};
use super::sprt::SprtReport;
use super::verdict::{Question, Verdict};

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
    /// Compares the two planners at the indices `sides`. `margin` is the smallest mean score difference
    /// that matters, in points; see [`MARGIN_DEFAULT`](super::MARGIN_DEFAULT).
    pub fn of(series: &Series, games: &GameSlice, sides: [usize; 2], sprt: Option<SprtReport>, margin: f64) -> Self {
        let name = |side: usize| series.names[side].clone();
        let [left, right] = sides.map(name);
        let deterministic = sides.into_iter().filter(|&side| is_deterministic(series, games, side)).map(name).collect();
        let overall = Comparison::of(pairs(series, games, sides, None));
        let bots = sides.map(|side| external_summary(series, games, side));
        let verdict = Question { sides: [&left, &right], margin, pairs: &overall }.verdict(&bots, sprt.as_ref());
        let on_map = |(map, SeriesMap { name, .. }): (usize, &SeriesMap)| {
            let comparison = Comparison::of(pairs(series, games, sides, Some(map)));
            MapComparison { map: name.clone(), comparison }
        };
        let maps = series.maps.iter().enumerate().map(on_map).collect();
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
}

/// True if the planner played some map more than once, and its games on each map are identical.
pub(crate) fn is_deterministic(series: &Series, games: &GameSlice, planner: usize) -> bool {
    let on_map = |map: usize| series.games_of(games, planner, Some(map)).collect::<Vec<&GameRecord>>();
    let maps: Vec<Vec<&GameRecord>> = (0..series.maps.len()).map(on_map).collect();
    maps.iter().any(|games| games.len() > 1) && maps.iter().all(|games| distinct(games) <= 1)
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;
    use std::sync::atomic::AtomicBool;

    use super::*;
    use crate::series::{Games, SeriesOptions};
    use crate::sprt::SprtMonitor;
    use crate::verdict::{MARGIN_DEFAULT, Outcome};
    use getaway::game::{Layout, Rules};
    use getaway::map::Map;
    use getaway::search::Budget;
    use getaway_runs::stats::{Sprt, SprtDecision, WinDrawLoss};

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
                (game.score, game.moves) = (score, format!("{index}: {score}"));
            }
        }
        games
    }

    fn result_of(scores: &[(u32, u32)]) -> Match {
        let series = series(scores.len().div_ceil(2) as u32);
        let mut games = games(&series, scores);
        games.truncate(2 * scores.len());
        Match::of(&series, &games, [0, 1], None, MARGIN_DEFAULT)
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
        let [one, other] =
            [[0, 1], [1, 0]].map(|sides| Match::of(&series, &games, sides, None, MARGIN_DEFAULT).overall);
        assert_eq!(one.counts, other.counts.reversed());
        assert_eq!(one.score_difference_mean, other.score_difference_mean.map(|points| -points));
    }

    #[test]
    fn every_outcome_has_a_sentence() {
        assert_eq!(
            result_of(&[(2002, 1001); 10]).verdict.sentence,
            "random is better than safest: +1,001 points per game (+1,001 to +1,001), 10 wins, 0 ties and 0 losses in \
             10 paired games (sign test, p = 0.0020)."
        );
        assert!(
            result_of(&[(1, 2); 20]).verdict.sentence.starts_with("random is worse than safest: -1 points per game")
        );
        assert_eq!(
            result_of(&[(1, 1); 80]).verdict.sentence,
            "random and safest are equal within 500 points: +0 points per game (90% interval -289 to +289), 0 wins, \
             80 ties and 0 losses in 80 paired games (sign test, p = 1.00)."
        );
        assert_eq!(
            result_of(&[(1, 2), (3, 2)]).verdict.sentence,
            "Too few games to tell random from safest: +0 points per game, 1 win, 0 ties and 1 loss in 2 paired games \
             (sign test, p = 1.00); about 2,200 more pairs would show a difference of 500 points."
        );
        assert_eq!(
            result_of(&[]).verdict.sentence,
            "No pair of games was played, so random and safest cannot be compared."
        );
    }

    #[test]
    fn two_pairs_are_too_few_for_a_verdict() {
        let result = result_of(&[(6000, 100), (4000, 600)]);
        assert_eq!((result.verdict.outcome, result.overall.score_difference), (Outcome::Undecided, None));
        assert!(result.verdict.further.is_some_and(|further| further.count < 100), "{:?}", result.verdict);
    }

    #[test]
    fn further_games_come_from_the_observed_difference_and_spread() {
        let steady = [(5000, 400), (4964, 300)];
        for (ticks, further) in [
            (&steady[..1], "; about 5 more pairs would show this difference."),
            (&steady, "; about 4 more pairs would show this difference."),
            (&steady.map(|(left, right)| (right, left)), "; about 4 more pairs would show this difference."),
            (&[(9722, 10); 5], "; about 3 more pairs would show this difference."),
            (&[(9000, 1000), (1500, 236)], "; about 21 more pairs would show this difference."),
            (&[(3, 2), (2, 3), (3, 2)], "; about 210 more pairs would show this difference."),
            (
                &[(4000, 2000), (2000, 3900), (2300, 2000)],
                "; about 3,800 more pairs would show this difference; about 2,200 more pairs would show a difference of \
                 500 points.",
            ),
            (&[(3, 2), (2, 3)], "; about 2,200 more pairs would show a difference of 500 points."),
        ] {
            let sentence = result_of(ticks).verdict.sentence;
            assert!(sentence.ends_with(further), "{ticks:?}: {sentence}");
        }
        assert_eq!(result_of(&[(7, 7); 47]).verdict.outcome, Outcome::Equal);
    }

    #[test]
    fn identical_games_are_called_identical() {
        let series = series(20);
        let of = |differing: usize| {
            let mut games = games(&series, &[(7, 7); 40]);
            for (index, game) in games.iter_mut().flatten().enumerate() {
                game.moves = format!("{}", if index < 2 * differing { index } else { index / 2 });
            }
            Match::of(&series, &games, [0, 1], None, MARGIN_DEFAULT)
        };
        let result = of(0);
        assert_eq!(result.verdict.sentence, "random and safest played identical games in each of the 40 pairs.");
        assert_eq!((result.verdict.further, result.verdict.further_for_margin), (None, None));
        let sentence = of(3).verdict.sentence;
        assert!(sentence.contains("; 37 pairs have identical games; about "), "{sentence}");
        assert_eq!(of(39).overall.identical_pairs, 1);
        let sentence = of(40).verdict.sentence;
        assert!(
            sentence.ends_with("; about 20 more pairs would show that they are equal within 500 points."),
            "{sentence}"
        );
    }

    #[test]
    fn equal_pairs_count_once_and_the_report_says_so() {
        let series = series(20);
        // `random` wins on the first map and loses on the second. Both planners are deterministic.
        let mut games = games(&series, &[(2, 1), (1, 3)].repeat(20));
        games.iter_mut().flatten().for_each(|game| game.moves = "same".to_owned());
        let result = Match::of(&series, &games, [0, 1], None, MARGIN_DEFAULT);
        assert_eq!(result.overall.counts, WinDrawLoss { wins: 1, ties: 0, losses: 1 });
        assert_eq!((result.overall.pairs_played, result.overall.units), (40, 2));
        assert_eq!(result.note().as_deref(), Some("random and safest are deterministic: 2 distinct pairs of 40"));
        assert_eq!(result.maps[0].comparison.score_difference, None, "one game is not a sample");
        // Now only `safest` is deterministic, so all pairs on a map are still one unit.
        for (index, game) in games.iter_mut().enumerate().step_by(2) {
            game.as_mut().expect("a game").moves = index.to_string();
        }
        let result = Match::of(&series, &games, [0, 1], None, MARGIN_DEFAULT);
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
        let mut monitor = SprtMonitor::new(Some(Sprt::default()), [0, 1]);
        assert_eq!(monitor.update(&series, &games), SprtDecision::Undecided);
        // Of the first thirty pairs, only two are distinct, one on each map. The last ten pairs are
        // all distinct.
        let report = monitor.report().expect("a test");
        assert_eq!((report.pairs, report.ratios.len()), (12, 12));
        assert_eq!(monitor.pairs_needed(), None);
    }

    #[test]
    fn incomplete_pair_does_not_count() {
        let series = series(1);
        let mut games = games(&series, &[(3, 1), (4, 1)]);
        games[1] = None;
        assert_eq!(
            Match::of(&series, &games, [0, 1], None, MARGIN_DEFAULT).overall.counts,
            WinDrawLoss { wins: 1, ties: 0, losses: 0 }
        );
        games.truncate(3);
        assert_eq!(Match::of(&series, &games, [0, 1], None, MARGIN_DEFAULT).overall.counts.pairs(), 0);
    }

    #[test]
    fn monitor_stops_at_the_first_decision_and_tests_in_order() {
        let series = series(20);
        let all = games(&series, &[(2, 1); 40]);
        let mut monitor = SprtMonitor::new(Some(Sprt::default()), [0, 1]);
        // The game at index 3 is missing, so only the first pair can be tested.
        let mut seen = all.clone();
        seen[3] = None;
        assert_eq!(
            (monitor.update(&series, &seen), monitor.report().expect("a test").pairs),
            (SprtDecision::Undecided, 1)
        );
        assert_eq!(monitor.update(&series, &all), SprtDecision::H1);
        // The first 16 wins do not suffice, because ln 19 / ln 1.2 is 16.1.
        let report = monitor.report().expect("a test");
        assert_eq!(report.pairs, 17);
        assert_eq!(monitor.pairs_needed(), Some(17));
        let result = Match::of(&series, &all[..34], [0, 1], Some(report), MARGIN_DEFAULT);
        assert_eq!(
            result.verdict.sentence,
            "random is better than safest: H1 (wins 60% of decisive pairs) accepted over H0 (50%) after 17 wins, 0 ties and 0 losses in \
             17 paired games (SPRT, alpha 0.05, beta 0.05)."
        );
    }

    #[test]
    fn monitor_can_stay_undecided_or_accept_h0() {
        let series = series(20);
        let sentence = |scores: &[(u32, u32)]| {
            let games = games(&series, scores);
            let mut monitor = SprtMonitor::new(Some(Sprt::default()), [0, 1]);
            monitor.update(&series, &games);
            Match::of(&series, &games, [0, 1], monitor.report(), MARGIN_DEFAULT).verdict.sentence
        };
        assert!(
            sentence(&[(1, 1); 40]).contains("Too few games to tell random from safest: neither H0"),
            "{}",
            sentence(&[(1, 1); 40])
        );
        assert!(sentence(&[(1, 2); 40]).contains("is not better than safest by the margin tested: H0 (wins 50%"));
    }
}
