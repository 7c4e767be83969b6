//! What games of one planner come to.

use serde::Serialize;

use super::game::{GameRecord, Times};
use super::series::{Games, Series};
use super::stats::{self, CONFIDENCE, Interval};

/// Games in numbers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// How many games.
    pub games: u64,
    /// The mean score; nothing without games.
    pub score_mean: Option<f64>,
    /// The mean score with its interval; nothing with fewer than two games.
    pub score_interval: Option<Interval>,
    /// The lowest score.
    pub score_min: u32,
    /// The highest score.
    pub score_max: u32,
    /// Games that were complete.
    pub survived: u64,
    /// The share of games that were complete, with its interval.
    pub survived_share: Interval,
    /// Milliseconds that half of the decisions did not exceed.
    pub decision_p50_ms: f64,
    /// Milliseconds that 99 in 100 decisions did not exceed.
    pub decision_p99_ms: f64,
    /// Milliseconds of the longest decision.
    pub decision_max_ms: f64,
    /// Evaluations for a decision, on average.
    pub evaluations_per_tick: f64,
}

impl Summary {
    /// Sums up games.
    pub fn of<'a>(games: impl Iterator<Item = &'a GameRecord>) -> Self {
        let (mut scores, mut survived, mut times) = (Vec::new(), 0, Times::default());
        let (mut evaluations, mut decisions) = (0, 0);
        for game in games {
            scores.push(f64::from(game.score));
            survived += u64::from(game.survived());
            times.merge(&game.times);
            evaluations += game.evaluations;
            decisions += u64::from(game.decisions());
        }
        let games = scores.len() as u64;
        Self {
            games,
            score_mean: stats::average(&scores),
            score_interval: stats::mean(&scores, CONFIDENCE),
            score_min: scores.iter().copied().reduce(f64::min).unwrap_or(0.0) as u32,
            score_max: scores.iter().copied().fold(0.0, f64::max) as u32,
            survived,
            survived_share: stats::share(survived, games, CONFIDENCE),
            decision_p50_ms: times.quantile_ms(0.5),
            decision_p99_ms: times.quantile_ms(0.99),
            decision_max_ms: times.max_ms(),
            evaluations_per_tick: evaluations as f64 / decisions.max(1) as f64,
        }
    }
}

/// A planner in numbers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PlannerEvaluation {
    /// Its name, or its expression.
    pub planner: String,
    /// On all maps.
    pub overall: Summary,
    /// On each map.
    pub maps: Vec<MapEvaluation>,
}

/// A planner on a map in numbers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MapEvaluation {
    /// The name of the map.
    pub map: String,
    /// The games on it.
    #[serde(flatten)]
    pub summary: Summary,
}

/// Sums up a series, planner by planner.
pub fn evaluate(series: &Series, games: &Games) -> Vec<PlannerEvaluation> {
    let on_map = |planner: usize, map: usize| MapEvaluation {
        map: series.maps()[map].name.clone(),
        summary: Summary::of(series.games_of(games, planner, Some(map))),
    };
    let of_planner = |(planner, name): (usize, &String)| PlannerEvaluation {
        planner: name.clone(),
        overall: Summary::of(series.games_of(games, planner, None)),
        maps: (0..series.maps().len()).map(|map| on_map(planner, map)).collect(),
    };
    series.options().planners.iter().enumerate().map(of_planner).collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::game::{Budget, SourceCounts};
    use getaway::game::{POINTS_PER_TICK, Rules};

    fn game(final_tick: u16, evaluations: u64) -> GameRecord {
        let mut times = Times::default();
        times.add(Duration::from_millis(final_tick.into()));
        GameRecord {
            map: "hall".to_owned(),
            layout: String::new(),
            planner: "random".to_owned(),
            sample: 0,
            seed: 0,
            rules: Rules::BLITZ_2025,
            budget: Budget::evaluations(1),
            score: u32::from(final_tick) * POINTS_PER_TICK,
            final_tick,
            caught: true,
            evaluations,
            sources: SourceCounts { search: u32::from(final_tick) - 1, ..SourceCounts::default() },
            mispredictions: 0,
            times,
        }
    }

    #[test]
    fn games_are_summed_up() {
        let games = [game(101, 50), game(2001, 1000), game(301, 65), game(2001, 1000)];
        let summary = Summary::of(games.iter());
        assert_eq!((summary.games, summary.survived, summary.score_min, summary.score_max), (4, 2, 505, 10_005));
        assert_eq!((summary.score_mean, summary.survived_share.estimate), (Some(5505.0), 0.5));
        assert_eq!(summary.evaluations_per_tick, 2115.0 / 4400.0);
        assert_eq!(
            [summary.decision_p50_ms, summary.decision_p99_ms, summary.decision_max_ms],
            [300.0, 2000.0, 2001.0]
        );
        let interval = summary.score_interval.expect("four games");
        assert!(interval.low < 5505.0 && 5505.0 < interval.high);
    }

    #[test]
    fn no_games_are_summed_up_too() {
        let summary = Summary::of([].iter());
        assert_eq!((summary.games, summary.score_mean, summary.score_interval), (0, None, None));
        assert_eq!((summary.score_min, summary.score_max, summary.evaluations_per_tick), (0, 0, 0.0));
        assert_eq!(Summary::of([game(2, 3)].iter()).score_mean, Some(10.0));
    }
}
