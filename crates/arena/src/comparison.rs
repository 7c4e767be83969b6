//! Statistics of paired games: the games of a pair have the same map and seed.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde::Serialize;

use super::eval::SCORE_MAX;
use super::phrases::counted;
use super::record::GameRecord;
use super::series::{GameSlice, Series};
use getaway_runs::stats::{self, CONFIDENCE, ClusteredMean, Interval, WinDrawLoss};

/// Minimum number of units for an interval, and of maps for clustering by map. Five units cannot
/// show a difference: even if one side wins all of them, the sign test gives p = 0.06.
pub(super) const UNITS_MIN: usize = 6;

/// Statistics of paired games.
///
/// Pairs with the same moves on the same map count once, as one *distinct pair*, except in
/// `pairs_played`, in `identical_pairs` and in the score differences. A *unit* of the sign test is a
/// group of pairs on one map that are linked by identical games: usually a single pair if both
/// planners are randomised, and all pairs on the map if one planner is deterministic.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    #[serde(flatten)]
    pub counts: WinDrawLoss,
    /// Number of pairs played, including repeated pairs.
    pub pairs_played: u64,
    /// Number of pairs in which both sides played the same moves.
    pub identical_pairs: u64,
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
    /// The mean score difference with its standard error; `None` if there are fewer than two pairs.
    #[serde(skip)]
    pub observed: Option<ClusteredMean>,
    /// The mean score difference with two artificial clusters; see [`ClusteredMean::adjusted`].
    #[serde(skip)]
    pub adjusted: ClusteredMean,
}

type Pair<'a> = (&'a GameRecord, &'a GameRecord);

impl Comparison {
    pub fn of<'a>(pairs: impl Iterator<Item = Pair<'a>>) -> Self {
        let mut maps: BTreeMap<&str, Vec<Pair<'_>>> = BTreeMap::new();
        for pair in pairs {
            maps.entry(&pair.0.map).or_default().push(pair);
        }
        let maps: Vec<Vec<Pair<'_>>> = maps.into_values().collect();
        let sum =
            |units: &Vec<Unit>| units.iter().map(|unit| unit.counts).fold(WinDrawLoss::default(), WinDrawLoss::plus);
        let map_units: Vec<Vec<Unit>> = maps.iter().map(|pairs| units(pairs)).collect();
        let map_counts: Vec<WinDrawLoss> = map_units.iter().map(sum).collect();
        let units: Vec<Unit> = map_units.into_iter().flatten().collect();
        let nets: Vec<i64> = units.iter().map(|unit| unit.counts.wins as i64 - unit.counts.losses as i64).collect();
        let mut unit_counts = WinDrawLoss::default();
        nets.iter().for_each(|&net| unit_counts.add(net, 0));
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
            identical_pairs: maps.iter().flatten().filter(|(left, right)| left.moves == right.moves).count() as u64,
            units: nets.len() as u64,
            p_value: stats::weighted_sign_test(&nets),
            win_share: stats::clustered_win_share(&map_counts, unit_counts, CONFIDENCE),
            score_difference_mean: stats::average(&all),
            score_difference: interval.map(|interval| interval.within(-reach, reach)),
            maps: maps.len() as u64,
            observed: ClusteredMean::of(&clusters),
            adjusted: ClusteredMean::adjusted(&clusters, reach, unit_size),
        }
    }

    pub(super) fn pairs_text(&self) -> String {
        let is_distinct = self.has_repetitions();
        let (one, many) =
            if is_distinct { ("distinct pair", "distinct pairs") } else { ("paired game", "paired games") };
        counted(self.counts.pairs(), one, many)
    }

    /// True if all pairs are ties with equal scores.
    pub(super) fn is_tied(&self) -> bool {
        self.counts.wins + self.counts.losses == 0 && self.score_difference_mean == Some(0.0)
    }

    pub fn has_repetitions(&self) -> bool {
        self.counts.pairs() < self.pairs_played
    }
}

fn difference(&(left, right): &Pair<'_>) -> f64 {
    f64::from(left.points()) - f64::from(right.points())
}

/// A group of pairs on one map that are linked by identical games; see [`Comparison`].
#[derive(Default)]
struct Unit {
    /// Counts of distinct pairs.
    counts: WinDrawLoss,
    differences: Vec<f64>,
}

fn units(pairs: &[Pair<'_>]) -> Vec<Unit> {
    // For each pair, the index of the first pair in its unit.
    let mut unit_of: Vec<usize> = (0..pairs.len()).collect();
    // For each distinct game of a side, the index of the first pair with this game.
    let (mut of_left, mut of_right) = (HashMap::new(), HashMap::new());
    for (index, (left, right)) in pairs.iter().enumerate() {
        for first in [*of_left.entry(&left.moves).or_insert(index), *of_right.entry(&right.moves).or_insert(index)] {
            let (kept, merged) = (unit_of[index].min(unit_of[first]), unit_of[index].max(unit_of[first]));
            if kept < merged {
                unit_of[merged..=index].iter_mut().filter(|unit| **unit == merged).for_each(|unit| *unit = kept);
            }
        }
    }
    let mut seen = HashSet::new();
    let mut units: BTreeMap<usize, Unit> = BTreeMap::new();
    for (index, pair @ (left, right)) in pairs.iter().enumerate() {
        let unit = units.entry(unit_of[index]).or_default();
        unit.differences.push(difference(pair));
        if seen.insert((&left.moves, &right.moves)) {
            unit.counts.add(left.rank(), right.rank());
        }
    }
    units.into_values().collect()
}

/// Returns the complete pairs of two planners in the order of the series, on one map or all maps.
pub fn pairs<'a>(
    series: &'a Series,
    games: &'a GameSlice,
    [left, right]: [usize; 2],
    map: Option<usize>,
) -> impl Iterator<Item = (&'a GameRecord, &'a GameRecord)> {
    series.units(map).filter_map(move |unit| Some((series.game(games, unit, left)?, series.game(games, unit, right)?)))
}
