//! Summarises the games of a planner.

use serde::Serialize;

use super::game::{GameRecord, Times};
use super::series::{Games, Series};
use super::stats::{self, CONFIDENCE, Interval};

/// Statistics of a set of games.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// Number of games.
    pub games: u64,
    /// The mean score; `None` without games.
    pub score_mean: Option<f64>,
    /// The mean score with its confidence interval; `None` with fewer than two games.
    pub score_interval: Option<Interval>,
    /// The lowest score.
    pub score_min: u32,
    /// The highest score.
    pub score_max: u32,
    /// Number of complete games.
    pub survived: u64,
    /// Share of complete games, with its confidence interval.
    pub survived_share: Interval,
    /// Median decision time in milliseconds.
    pub decision_p50_ms: f64,
    /// 99th percentile of the decision time in milliseconds.
    pub decision_p99_ms: f64,
    /// Longest decision time in milliseconds.
    pub decision_max_ms: f64,
    /// Mean number of ticks that the planner simulated per decision.
    pub simulated_ticks_per_decision: f64,
}

impl Summary {
    /// Summarises games.
    pub fn of<'a>(games: impl Iterator<Item = &'a GameRecord>) -> Self {
        let (mut scores, mut survived, mut times) = (Vec::new(), 0, Times::default());
        let (mut simulated_ticks, mut decisions) = (0, 0);
        for game in games {
            scores.push(f64::from(game.score));
            survived += u64::from(game.survived());
            times.merge(&game.times);
            simulated_ticks += game.simulated_ticks;
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
            simulated_ticks_per_decision: simulated_ticks as f64 / decisions.max(1) as f64,
        }
    }
}

/// Statistics of a planner.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PlannerEvaluation {
    /// Its name, or its expression.
    pub planner: String,
    /// Statistics of its games on all maps.
    pub overall: Summary,
    /// Statistics of its games on each map.
    pub maps: Vec<MapEvaluation>,
}

/// Statistics of a planner on one map.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MapEvaluation {
    /// The name of the map.
    pub map: String,
    /// The games on it.
    #[serde(flatten)]
    pub summary: Summary,
}

/// Summarises a series by planner.
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
    use crate::game::SourceCounts;
    use getaway::game::{POINTS_PER_TICK, Rules};
    use getaway::search::Budget;

    fn game(final_tick: u16, simulated_ticks: u64) -> GameRecord {
        let mut times = Times::default();
        times.add(Duration::from_millis(final_tick.into()));
        GameRecord {
            map: "hall".to_owned(),
            layout: String::new(),
            planner: "random".to_owned(),
            sample: 0,
            seed: 0,
            rules: Rules::BLITZ_2025,
            budget: Budget::ticks(1),
            score: u32::from(final_tick) * POINTS_PER_TICK,
            final_tick,
            caught: true,
            simulated_ticks,
            sources: SourceCounts { search: u32::from(final_tick) - 1, ..SourceCounts::default() },
            mispredictions: 0,
            times,
        }
    }

    #[test]
    fn summary_of_games() {
        let games = [game(101, 50), game(2001, 1000), game(301, 65), game(2001, 1000)];
        let summary = Summary::of(games.iter());
        assert_eq!((summary.games, summary.survived, summary.score_min, summary.score_max), (4, 2, 505, 10_005));
        assert_eq!((summary.score_mean, summary.survived_share.estimate), (Some(5505.0), 0.5));
        assert_eq!(summary.simulated_ticks_per_decision, 2115.0 / 4400.0);
        assert_eq!(
            [summary.decision_p50_ms, summary.decision_p99_ms, summary.decision_max_ms],
            [300.0, 2000.0, 2001.0]
        );
        let interval = summary.score_interval.expect("four games");
        assert!(interval.low < 5505.0 && 5505.0 < interval.high);
    }

    #[test]
    fn summary_of_no_games_is_defined() {
        let summary = Summary::of([].iter());
        assert_eq!((summary.games, summary.score_mean, summary.score_interval), (0, None, None));
        assert_eq!((summary.score_min, summary.score_max, summary.simulated_ticks_per_decision), (0, 0, 0.0));
        assert_eq!(Summary::of([game(2, 3)].iter()).score_mean, Some(10.0));
    }
}
