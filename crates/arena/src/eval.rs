use std::collections::{BTreeMap, HashSet};

use rayon::prelude::*;
use serde::Serialize;

use super::record::{GameRecord, Times};
use super::series::{Games, Series};
use getaway::game::{FIRST_TICK, LAST_TICK, POINTS_PER_TICK};
use getaway_runs::stats::{self, CONFIDENCE, Interval};

pub(super) const SCORE_MIN: u32 = FIRST_TICK as u32 * POINTS_PER_TICK;
pub(super) const SCORE_MAX: u32 = (LAST_TICK as u32 + 1) * POINTS_PER_TICK;

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    pub games: u64,
    /// Number of distinct games on each map, summed over the maps.
    pub distinct_games: u64,
    /// The mean score; `None` without games.
    pub score_mean: Option<f64>,
    /// The mean score with its confidence interval, clustered by map. `None` with fewer than two
    /// games, or if all games are identical and on one map.
    pub score_interval: Option<Interval>,
    pub score_min: u32,
    pub score_max: u32,
    /// Number of complete games without a failure of the bot.
    pub survived: u64,
    /// The share of these games with its confidence interval, clustered by map.
    pub survived_share: Interval,
    pub decision_p50_ms: f64,
    pub decision_p99_ms: f64,
    pub decision_max_ms: f64,
    /// Number of ticks that the planner simulated, divided by the number of its decisions.
    pub simulated_ticks_per_decision: f64,
    pub cost: MeanCost,
}

/// The cost of games. A value that cannot be measured is 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct MeanCost {
    pub cpu_ms_mean: f64,
    /// Peak memory of an external bot's processes in any game, in MiB; 0 for planners, which share
    /// this program's memory.
    pub memory_mb_max: u64,
}

/// Sums over games, and the peak memory of any of them.
#[derive(Clone, Debug, Default)]
pub(super) struct Totals {
    pub games: u64,
    pub survived: u64,
    pub points: u64,
    simulated_ticks: u64,
    decisions: u64,
    cpu_ms: u64,
    memory_kib_max: u64,
    pub times: Times,
}

impl Totals {
    pub fn add(&mut self, game: &GameRecord) {
        self.games += 1;
        self.survived += u64::from(game.survived());
        self.points += u64::from(game.points());
        self.simulated_ticks += game.simulated_ticks;
        self.decisions += u64::from(game.decisions());
        self.cpu_ms += game.cost.cpu_ms;
        self.memory_kib_max = self.memory_kib_max.max(game.cost.memory_kib);
        self.times.merge(&game.times);
    }

    /// Returns a sum divided by the number of games; 0 without games.
    pub fn mean(&self, sum: u64) -> f64 {
        sum as f64 / self.games.max(1) as f64
    }

    pub fn cost(&self) -> MeanCost {
        MeanCost { cpu_ms_mean: self.mean(self.cpu_ms), memory_mb_max: self.memory_kib_max.div_ceil(1 << 10) }
    }
}

impl Summary {
    pub fn of<'a>(games: impl Iterator<Item = &'a GameRecord>) -> Self {
        let (mut maps, mut totals) = (BTreeMap::<_, Vec<_>>::new(), Totals::default());
        for game in games {
            maps.entry(&game.map).or_default().push(game);
            totals.add(game);
        }
        let maps: Vec<Vec<&GameRecord>> = maps.into_values().collect();
        let distinct: Vec<usize> = maps.iter().map(|games| distinct(games)).collect();
        let mut clusters: Vec<Vec<f64>> =
            maps.iter().map(|games| games.iter().map(|game| f64::from(game.points())).collect()).collect();
        let survived = |games: &[&GameRecord]| games.iter().filter(|game| game.survived()).count() as u64;
        let mut survivals: Vec<(u64, u64)> = maps.iter().map(|games| (survived(games), games.len() as u64)).collect();
        let scores = || maps.iter().flatten().map(|game| game.points());
        if let ([1], [scores], [survival]) = (&distinct[..], &mut clusters[..], &mut survivals[..]) {
            // Repetitions of a single game carry no information about the spread.
            scores.truncate(1);
            *survival = (survival.0.min(1), 1);
        }
        let has_failures = maps.iter().flatten().any(|game| game.failure().is_some());
        let least = if has_failures { 0.0 } else { f64::from(SCORE_MIN) };
        Self {
            games: totals.games,
            distinct_games: distinct.iter().sum::<usize>() as u64,
            score_mean: (totals.games > 0).then(|| totals.mean(totals.points)),
            score_interval: stats::bounded_mean(&clusters, least, f64::from(SCORE_MAX), CONFIDENCE),
            score_min: scores().min().unwrap_or(0),
            score_max: scores().max().unwrap_or(0),
            survived: totals.survived,
            survived_share: stats::clustered_share(&survivals, CONFIDENCE),
            decision_p50_ms: totals.times.quantile_ms(0.5),
            decision_p99_ms: totals.times.quantile_ms(0.99),
            decision_max_ms: totals.times.max_ms(),
            simulated_ticks_per_decision: totals.simulated_ticks as f64 / totals.decisions.max(1) as f64,
            cost: totals.cost(),
        }
    }
}

pub(super) fn distinct(games: &[&GameRecord]) -> usize {
    games.iter().map(|game| game.moves.as_str()).collect::<HashSet<&str>>().len()
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PlannerEvaluation {
    pub planner: String,
    pub overall: Summary,
    /// The mean number of points by which the games fall short of the best possible score, on the
    /// maps where it is known.
    pub points_below_best: Option<f64>,
    pub maps: Vec<MapEvaluation>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MapEvaluation {
    pub map: String,
    /// The best possible score on the map, if it was found and proven.
    pub best_score: Option<u32>,
    /// The best possible score minus the mean score.
    pub points_below_best: Option<f64>,
    #[serde(flatten)]
    pub summary: Summary,
}

pub fn evaluate(series: &Series, games: &Games) -> Vec<PlannerEvaluation> {
    // Solves the maps in parallel; each keeps its best score.
    series.maps.par_iter().for_each(|map| {
        map.best_score();
    });
    let on_map = |planner: usize, map: usize| {
        let summary = Summary::of(series.games_of(games, planner, Some(map)));
        let best_score = series.maps[map].best_score();
        let points_below_best = best_score.zip(summary.score_mean).map(|(best, mean)| f64::from(best) - mean);
        MapEvaluation { map: series.maps[map].name.clone(), best_score, points_below_best, summary }
    };
    let of_planner = |(planner, name): (usize, &String)| {
        let maps: Vec<MapEvaluation> = (0..series.maps.len()).map(|map| on_map(planner, map)).collect();
        let known = maps.iter().filter_map(|map| Some((map.points_below_best?, map.summary.games as f64)));
        let (points, games_known) =
            known.fold((0.0, 0.0), |(points, games), (below, count)| (points + below * count, games + count));
        PlannerEvaluation {
            planner: name.clone(),
            overall: Summary::of(series.games_of(games, planner, None)),
            points_below_best: (games_known > 0.0).then(|| points / games_known),
            maps,
        }
    };
    series.names.iter().enumerate().map(of_planner).collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::record::{ExternalRecord, Failure, FailureKind, SourceCounts};

    use getaway::search::Budget;

    fn game(final_tick: u16, simulated_ticks: u64) -> GameRecord {
        let mut times = Times::default();
        times.add(Duration::from_millis(final_tick.into()));
        GameRecord {
            map: "hall".to_owned(),
            planner: "random".to_owned(),
            budget: Budget::ticks(1),
            score: u32::from(final_tick) * POINTS_PER_TICK,
            final_tick,
            caught: true,
            moves: format!("{final_tick:016x}"),
            simulated_ticks,
            sources: SourceCounts { search: u32::from(final_tick) - 1, ..SourceCounts::default() },
            times,
            ..GameRecord::default()
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
    fn failed_game_has_no_points_and_is_not_survived() {
        let failure = Failure { kind: FailureKind::Crash, tick: 1990, detail: String::new() };
        let external = ExternalRecord { failure: Some(failure), ..ExternalRecord::default() };
        let failed = GameRecord { external: Some(external), ..game(2001, 0) };
        let summary = Summary::of([game(2001, 0), failed].iter());
        assert_eq!((summary.survived, summary.score_min, summary.score_max), (1, 0, 10_005));
    }

    #[test]
    fn repeated_games_add_no_confidence() {
        let on_map = |map: &str, final_tick: u16| GameRecord { map: map.to_owned(), ..game(final_tick, 1) };
        let maps: Vec<GameRecord> =
            [("a", 101), ("b", 2001), ("c", 900), ("d", 1300)].map(|(map, tick)| on_map(map, tick)).into();
        let once = Summary::of(maps.iter());
        let often: Vec<GameRecord> = [&maps[..]; 50].concat();
        let often = Summary::of(often.iter());
        assert_eq!((often.games, often.distinct_games), (200, 4));
        let [one, many] = [once, often].map(|summary| summary.score_interval.expect("four maps"));
        assert!((one.low - many.low).abs() < 1e-6 && (one.high - many.high).abs() < 1e-6, "{one:?}, {many:?}");
        let same = Summary::of([&maps[0], &maps[0], &maps[0]].into_iter());
        assert_eq!((same.score_interval, same.survived_share), (None, stats::share(0, 1, CONFIDENCE)));
    }

    #[test]
    fn intervals_stay_within_the_possible_values() {
        let games: Vec<GameRecord> = (0..3)
            .map(|map| GameRecord { map: format!("{map}"), ..game(if map == 0 { 101 } else { 2001 }, 1) })
            .collect();
        let interval = Summary::of(games.iter()).score_interval.expect("three maps");
        assert!(interval.low > 5.0 && interval.high < 10_005.0, "{interval:?}");
        assert!(interval.low < 1000.0 && interval.high > 9000.0, "three maps show little: {interval:?}");
    }

    #[test]
    fn summary_of_no_games_is_defined() {
        let summary = Summary::of([].iter());
        assert_eq!((summary.games, summary.score_mean, summary.score_interval), (0, None, None));
        assert_eq!((summary.score_min, summary.score_max, summary.simulated_ticks_per_decision), (0, 0, 0.0));
        assert_eq!(Summary::of([game(2, 3)].iter()).score_mean, Some(10.0));
    }
}
