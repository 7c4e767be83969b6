//! Measures how often the statistics of tournaments between equal planners are right.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::atomic::AtomicBool;

use getaway::game::{POINTS_PER_TICK, Plan, Rules};
use getaway::map::Map;
use getaway::search::Budget;
use getaway_arena::stats::Interval;
use getaway_arena::{Comparison, GameRecord, Games, Series, SeriesOptions, SourceCounts, Summary, Times};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

const SIGNIFICANCE: f64 = 0.05;
const END_TICK: u16 = 2001;

/// Counts of right and wrong statistics in tournaments between equal planners.
#[derive(Clone, Copy, Debug, Default)]
pub struct Calibration {
    pub tournaments: u32,
    /// Tournaments in which the sign test found a difference.
    pub false_positives: u32,
    /// Intervals of the mean score difference; the true value is 0.
    pub differences: Hits,
    /// Intervals of the win share; the true value is one half.
    pub win_shares: Hits,
    /// Intervals of one planner's mean score, where the true value is known.
    pub scores: Hits,
}

/// Counts intervals, and those that contain the true value.
#[derive(Clone, Copy, Debug, Default)]
pub struct Hits {
    pub intervals: u32,
    pub hits: u32,
}

impl Hits {
    fn add(&mut self, interval: Option<Interval>, truth: f64) {
        if let Some(interval) = interval {
            self.intervals += 1;
            self.hits += u32::from(interval.low <= truth && truth <= interval.high);
        }
    }

    /// The share of intervals that contain the true value.
    pub fn coverage(self) -> f64 {
        f64::from(self.hits) / f64::from(self.intervals.max(1))
    }
}

impl Calibration {
    /// Adds a tournament; `score_mean` is the left planner's true mean score, if known.
    pub fn add(&mut self, pairs: &[(GameRecord, GameRecord)], score_mean: Option<f64>) {
        let result = Comparison::of(pairs.iter().map(|(left, right)| (left, right)));
        self.tournaments += 1;
        self.false_positives += u32::from(result.p_value <= SIGNIFICANCE);
        self.differences.add(result.score_difference, 0.0);
        self.win_shares.add(Some(result.win_share), 0.5);
        if let Some(truth) = score_mean {
            self.scores.add(Summary::of(pairs.iter().map(|(left, _)| left)).score_interval, truth);
        }
    }

    pub fn sum(all: &[Self]) -> Self {
        let sum = |of: fn(&Self) -> Hits| {
            let hits = all.iter().map(of);
            hits.fold(Hits::default(), |sum, hits| Hits {
                intervals: sum.intervals + hits.intervals,
                hits: sum.hits + hits.hits,
            })
        };
        Self {
            tournaments: all.iter().map(|one| one.tournaments).sum(),
            false_positives: all.iter().map(|one| one.false_positives).sum(),
            differences: sum(|one| one.differences),
            win_shares: sum(|one| one.win_shares),
            scores: sum(|one| one.scores),
        }
    }

    pub fn false_positive_rate(self) -> f64 {
        f64::from(self.false_positives) / f64::from(self.tournaments.max(1))
    }
}

pub struct SyntheticPair {
    pub name: &'static str,
    maps: usize,
    samples: usize,
    /// Range of the probability that a game is complete; each map draws its own.
    survival: (f64, f64),
    /// Probability that the right planner plays the left one's game.
    tie: f64,
    /// Number of different games that a planner has per map: `[left, right]`; 0 for no limit.
    games: [usize; 2],
    /// True if the limit holds only on every other map.
    is_mixed: bool,
}

const COPY: SyntheticPair =
    SyntheticPair { name: "", maps: 15, samples: 10, survival: (0.5, 0.5), tie: 0.0, games: [0, 0], is_mixed: false };

/// Ten pairs of equal planners: copies on similar and on very different maps, with few and many
/// samples, and deterministic planners.
pub const SYNTHETIC: [SyntheticPair; 10] = [
    SyntheticPair { name: "copies on maps of one difficulty", ..COPY },
    SyntheticPair { name: "copies on maps from easy to hopeless", survival: (0.0, 1.0), ..COPY },
    SyntheticPair { name: "copies, one sample", samples: 1, survival: (0.0, 1.0), ..COPY },
    SyntheticPair { name: "copies, few maps and many samples", maps: 6, samples: 60, survival: (0.1, 0.9), ..COPY },
    SyntheticPair { name: "copies that mostly play alike", tie: 0.8, ..COPY },
    SyntheticPair { name: "no randomness", samples: 20, survival: (0.2, 0.8), games: [1, 1], ..COPY },
    SyntheticPair {
        name: "no randomness, maps from easy to hopeless",
        maps: 40,
        survival: (0.0, 1.0),
        games: [1, 1],
        ..COPY
    },
    SyntheticPair { name: "one planner without randomness", survival: (0.2, 0.8), games: [1, 0], ..COPY },
    SyntheticPair {
        name: "no randomness on every other map",
        survival: (0.2, 0.8),
        games: [1, 1],
        is_mixed: true,
        ..COPY
    },
    SyntheticPair { name: "three different games on each map", survival: (0.1, 0.9), games: [3, 3], ..COPY },
];

impl SyntheticPair {
    /// Calibrates over tournaments, each on its own maps.
    pub fn calibrate(&self, tournaments: u32, seed: u64) -> Calibration {
        let mut calibration = Calibration::default();
        let mut random = Pcg64Mcg::seed_from_u64(seed);
        (0..tournaments).for_each(|_| calibration.add(&self.tournament(&mut random), Some(self.score_mean())));
        calibration
    }

    fn score_mean(&self) -> f64 {
        let survival = f64::midpoint(self.survival.0, self.survival.1);
        let caught_tick = f64::midpoint(2.0, f64::from(END_TICK - 1));
        f64::from(POINTS_PER_TICK) * (survival * f64::from(END_TICK) + (1.0 - survival) * caught_tick)
    }

    fn tournament(&self, random: &mut Pcg64Mcg) -> Vec<(GameRecord, GameRecord)> {
        let mut pairs = Vec::new();
        for map in 0..self.maps {
            let survival = self.survival.0 + (self.survival.1 - self.survival.0) * random.random::<f64>();
            let game = |random: &mut Pcg64Mcg| synthetic_game(map, survival, random);
            let is_limited = !self.is_mixed || map % 2 == 0;
            let known: Vec<Vec<GameRecord>> =
                self.games.map(|games| (0..games).map(|_| game(random)).collect()).into_iter().collect();
            let draw = |side: usize, random: &mut Pcg64Mcg| match known[side].len() {
                games if games > 0 && is_limited => known[side][random.random_range(0..games)].clone(),
                _ => game(random),
            };
            for _ in 0..self.samples {
                let left = draw(0, random);
                let right = if random.random::<f64>() < self.tie { left.clone() } else { draw(1, random) };
                pairs.push((left, right));
            }
        }
        pairs
    }
}

/// A game that is complete with probability `survival`, and otherwise ends at a random tick.
fn synthetic_game(map: usize, survival: f64, random: &mut Pcg64Mcg) -> GameRecord {
    let final_tick = if random.random::<f64>() < survival { END_TICK } else { random.random_range(2..END_TICK) };
    GameRecord {
        map: map.to_string(),
        layout: String::new(),
        planner: String::new(),
        sample: 0,
        seed: 0,
        rules: Rules::BLITZ_2025,
        budget: Budget::ticks(1),
        score: u32::from(final_tick) * POINTS_PER_TICK,
        final_tick,
        caught: final_tick < END_TICK,
        moves: format!("{:016x}", random.random::<u64>()),
        line: Plan::default(),
        simulated_ticks: 0,
        sources: SourceCounts::default(),
        mispredictions: 0,
        times: Times::default(),
        external: None,
    }
}

pub struct RealPair {
    pub name: &'static str,
    /// One planner, which plays both sides with different seeds; or two planners whose sides are
    /// drawn per map, which makes the sides equal over all maps.
    planners: &'static [&'static str],
    samples: u32,
}

pub const REAL: [RealPair; 10] = [
    RealPair { name: "random and a copy", planners: &["random"], samples: 5 },
    RealPair { name: "sampling and a copy", planners: &["sampling"], samples: 3 },
    RealPair { name: "iterative-sampling and a copy", planners: &["iterative-sampling"], samples: 2 },
    RealPair { name: "nested and a copy", planners: &["nested"], samples: 2 },
    RealPair { name: "uct-greedy and a copy", planners: &["uct-greedy"], samples: 2 },
    RealPair { name: "survival and a copy", planners: &["survival"], samples: 1 },
    RealPair { name: "safest and cautious, by coin", planners: &["safest", "cautious"], samples: 3 },
    RealPair { name: "paranoid and lookahead, by coin", planners: &["paranoid", "lookahead"], samples: 3 },
    RealPair { name: "safest and random, by coin", planners: &["safest", "random"], samples: 4 },
    RealPair { name: "cautious and sampling, by coin", planners: &["cautious", "sampling"], samples: 3 },
];

impl RealPair {
    pub fn calibrate(&self, maps: &[Map], tournaments: u32, seed: u64, threads: usize) -> Calibration {
        let mut calibration = Calibration::default();
        let mut known = KnownGames::new();
        for tournament in 0..tournaments {
            let seeds = [2 * tournament, 2 * tournament + 1].map(|side| seed.wrapping_add(u64::from(side)));
            let names = [self.planners[0], self.planners[self.planners.len() - 1]];
            let [left, right] = [0, 1].map(|side| self.games(&mut known, maps, names[side], seeds[side], threads));
            let mut coin = Pcg64Mcg::seed_from_u64(seeds[0]);
            let flips: Vec<bool> = maps.iter().map(|_| self.planners.len() > 1 && coin.random()).collect();
            let pairs =
                left.into_iter().zip(right).enumerate().map(|(index, (left, right))| {
                    if flips[index % maps.len()] { (right, left) } else { (left, right) }
                });
            calibration.add(&pairs.collect::<Vec<_>>(), None);
        }
        calibration
    }

    fn games(
        &self,
        known: &mut KnownGames,
        maps: &[Map],
        planner: &'static str,
        seed: u64,
        threads: usize,
    ) -> Vec<GameRecord> {
        if !DETERMINISTIC.contains(&planner) {
            return play(maps, planner, self.samples, seed, threads);
        }
        let games = known.entry(planner).or_insert_with(|| {
            let [games, others] = [seed, !seed].map(|seed| play(maps, planner, 1, seed, threads));
            let same = games.iter().zip(&others).all(|(game, other)| game.moves == other.moves);
            assert!(same, "{planner} is random, so its games must be played for every seed");
            games
        });
        (0..self.samples).flat_map(|_| games.iter().cloned()).collect()
    }
}

/// Planners in [`REAL`] whose games do not depend on the seed.
const DETERMINISTIC: [&str; 4] = ["safest", "cautious", "paranoid", "lookahead"];

/// The games of the deterministic planners, one per map.
type KnownGames = BTreeMap<&'static str, Vec<GameRecord>>;

fn play(maps: &[Map], planner: &str, samples: u32, seed: u64, threads: usize) -> Vec<GameRecord> {
    let options = SeriesOptions {
        planners: vec![planner.to_owned()],
        samples,
        seed,
        rules: Rules::BLITZ_2025,
        budget: Budget::ticks(40),
    };
    let series = Series::new(maps, options).expect("a series");
    let mut games = Games::new();
    let played = series.play(&mut games, threads, &AtomicBool::new(false), |_, _| ControlFlow::<()>::Continue(()));
    assert!(matches!(played, Ok(ControlFlow::Continue(()))));
    games.into_iter().map(|game| game.expect("every game")).collect()
}
