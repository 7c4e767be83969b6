//! Measures how often statistics and verdicts are right when the true score difference is known.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::atomic::AtomicBool;

use getaway::game::{POINTS_PER_TICK, Rules};
use getaway::map::Map;
use getaway::search::Budget;
use getaway_arena::{
    Comparison, FurtherGames, GameRecord, GameUnit, Games, MARGIN_DEFAULT, Outcome, Question, Series, SeriesOptions,
    Summary, Verdict,
};
use getaway_runs::stats::Interval;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

const SIGNIFICANCE: f64 = 0.05;
const END_TICK: u16 = 2001;

/// Counts of correct intervals and false results in tournaments between equal planners.
#[derive(Clone, Copy, Debug, Default)]
pub struct Calibration {
    pub tournaments: u32,
    /// Number of tournaments in which the sign test wrongly found a difference.
    pub false_positives: u32,
    /// Intervals of the mean score difference, whose true value is 0.
    pub differences: Hits,
    /// Intervals of the win share, whose true value is one half.
    pub win_shares: Hits,
    /// Intervals of the left planner's mean score, counted only if the true mean is known.
    pub scores: Hits,
    /// Number of tournaments with the wrong verdict *better* or *worse*.
    pub false_verdicts: u32,
}

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

    pub fn coverage(self) -> f64 {
        f64::from(self.hits) / f64::from(self.intervals.max(1))
    }
}

impl Calibration {
    /// Adds a tournament; `score_mean` is the left planner's true mean score, if known.
    pub fn add(&mut self, pairs: &[(GameRecord, GameRecord)], score_mean: Option<f64>) {
        let result = comparison_of(pairs);
        self.tournaments += 1;
        self.false_positives += u32::from(result.p_value <= SIGNIFICANCE);
        self.differences.add(result.score_difference, 0.0);
        self.win_shares.add(Some(result.win_share), 0.5);
        self.false_verdicts += u32::from(matches!(verdict_of(&result).outcome, Outcome::Better | Outcome::Worse));
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
            false_verdicts: all.iter().map(|one| one.false_verdicts).sum(),
            differences: sum(|one| one.differences),
            win_shares: sum(|one| one.win_shares),
            scores: sum(|one| one.scores),
        }
    }

    pub fn false_positive_rate(self) -> f64 {
        f64::from(self.false_positives) / f64::from(self.tournaments.max(1))
    }

    pub fn false_verdict_rate(self) -> f64 {
        f64::from(self.false_verdicts) / f64::from(self.tournaments.max(1))
    }
}

fn comparison_of(pairs: &[(GameRecord, GameRecord)]) -> Comparison {
    Comparison::of(pairs.iter().map(|(left, right)| (left, right)))
}

fn verdict_of(comparison: &Comparison) -> Verdict {
    Question { sides: ["left", "right"], margin: MARGIN_DEFAULT, pairs: comparison }.verdict(&[None, None], None)
}

/// Counts of verdicts in tournaments whose left planner is, on average, better by a known difference.
#[derive(Clone, Copy, Debug, Default)]
pub struct DifferenceCalibration {
    pub tournaments: u32,
    /// Number of verdicts *equal within the margin*, which are wrong if the difference is the margin.
    pub equal: u32,
    /// Number of wrong verdicts *worse*.
    pub worse: u32,
    /// Verdicts that plan at least one and at most [`FURTHER_MAX`] further pairs.
    pub promised: u32,
    /// Number of these verdicts that became *better* after the further pairs were played.
    pub kept: u32,
    /// Total number of further pairs that these verdicts planned.
    pub pairs_promised: u64,
}

/// The further games of a verdict that are played.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Promise {
    /// Those that would show a difference equal to the margin.
    Margin,
    /// Those that would show the observed difference. They are played only if the observed difference
    /// is within [`NEAR`] of the true difference.
    Observed,
}

/// Maximum number of further pairs to play for a verdict. More would take minutes.
const FURTHER_MAX: u64 = 50_000;
/// The largest ratio of two differences that count as about equal.
const NEAR: f64 = 1.25;

impl DifferenceCalibration {
    pub fn sum(all: &[Self]) -> Self {
        let sum = |of: fn(&Self) -> u32| all.iter().map(of).sum();
        Self {
            tournaments: sum(|one| one.tournaments),
            equal: sum(|one| one.equal),
            worse: sum(|one| one.worse),
            promised: sum(|one| one.promised),
            kept: sum(|one| one.kept),
            pairs_promised: all.iter().map(|one| one.pairs_promised).sum(),
        }
    }

    pub fn equal_rate(self) -> f64 {
        f64::from(self.equal) / f64::from(self.tournaments.max(1))
    }

    pub fn worse_rate(self) -> f64 {
        f64::from(self.worse) / f64::from(self.tournaments.max(1))
    }

    /// Returns `kept` divided by `promised`, or 1 if both are 0.
    pub fn kept_rate(self) -> f64 {
        if self.promised == 0 { 1.0 } else { f64::from(self.kept) / f64::from(self.promised) }
    }
}

#[derive(Clone, Copy, Debug)]
pub struct SyntheticPair {
    pub name: &'static str,
    maps: usize,
    samples: usize,
    /// Range from which each map draws the probability that a game is played to the end.
    survival: (f64, f64),
    /// Probability that the right planner plays the same game as the left planner.
    tie: f64,
    /// Maximum number of different games per map of the left and of the right planner; 0 for no
    /// limit.
    games: [usize; 2],
    /// True if the limits in `games` apply only to every other map.
    is_mixed: bool,
}

const COPY: SyntheticPair =
    SyntheticPair { name: "", maps: 15, samples: 10, survival: (0.5, 0.5), tie: 0.0, games: [0, 0], is_mixed: false };

pub const SYNTHETIC: [SyntheticPair; 10] = [
    SyntheticPair { name: "copies on maps of one difficulty", ..COPY },
    SyntheticPair { name: "copies on maps from easy to hopeless", survival: (0.0, 1.0), ..COPY },
    SyntheticPair { name: "copies, one sample", samples: 1, survival: (0.0, 1.0), ..COPY },
    SyntheticPair { name: "copies, few maps and many samples", maps: 6, samples: 60, survival: (0.1, 0.9), ..COPY },
    SyntheticPair { name: "copies that mostly play identical games", tie: 0.8, ..COPY },
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
    /// Plays tournaments between equal planners, each on newly drawn maps.
    pub fn calibrate(&self, tournaments: u32, seed: u64) -> Calibration {
        let mut calibration = Calibration::default();
        let mut random = Pcg64Mcg::seed_from_u64(seed);
        (0..tournaments).for_each(|_| calibration.add(&self.tournament(&mut random), Some(self.score_mean())));
        calibration
    }

    /// A much smaller tournament between the same planners.
    pub fn small(self) -> Self {
        Self { maps: self.maps.div_ceil(5), samples: self.samples.min(2), ..self }
    }

    /// Like `calibrate`, but the right planner loses additional games, so that the true mean score
    /// difference is `difference`. If a verdict plans at most [`FURTHER_MAX`] further pairs, plays
    /// these pairs.
    pub fn calibrate_difference(
        &self,
        difference: f64,
        promise: Promise,
        tournaments: u32,
        seed: u64,
    ) -> DifferenceCalibration {
        let mut found = DifferenceCalibration { tournaments, ..DifferenceCalibration::default() };
        let mut random = Pcg64Mcg::seed_from_u64(seed);
        let handicap = Handicap::new(self, difference);
        for _ in 0..tournaments {
            let (maps, mut pairs) = self.handicapped(&handicap, self.maps, self.samples, &mut random);
            let result = comparison_of(&pairs);
            let verdict = verdict_of(&result);
            found.equal += u32::from(verdict.outcome == Outcome::Equal);
            found.worse += u32::from(verdict.outcome == Outcome::Worse);
            let pairs_of = |further: FurtherGames| match further.unit {
                GameUnit::Maps => further.count * self.samples as u64,
                GameUnit::Pairs => further.count,
            };
            let ratio = result.score_difference_mean.unwrap_or(0.0) / difference;
            let further = match promise {
                Promise::Margin => verdict.further_for_margin,
                Promise::Observed => verdict.further.filter(|_| (1.0 / NEAR..=NEAR).contains(&ratio)),
            };
            let Some(further) = further.filter(|&further| pairs_of(further) <= FURTHER_MAX) else { continue };
            found.promised += 1;
            found.pairs_promised += pairs_of(further);
            match further.unit {
                GameUnit::Maps => {
                    let more = self.handicapped(&handicap, further.count as usize, self.samples, &mut random).1;
                    // `Comparison` groups games by map name, so the new maps need new names.
                    pairs.extend(more.into_iter().map(|(left, right)| (renamed(left), renamed(right))));
                }
                GameUnit::Pairs => {
                    let samples = (further.count as usize).div_ceil(self.maps);
                    for map in &maps {
                        (0..samples).for_each(|_| pairs.push(map.pair(self, &handicap, &mut random)));
                    }
                }
            }
            let outcome = verdict_of(&comparison_of(&pairs)).outcome;
            found.kept += u32::from(outcome == Outcome::Better);
        }
        found
    }

    fn handicapped(
        &self,
        handicap: &Handicap,
        maps: usize,
        samples: usize,
        random: &mut Pcg64Mcg,
    ) -> (Vec<SyntheticMap>, Vec<(GameRecord, GameRecord)>) {
        let maps: Vec<SyntheticMap> = (0..maps).map(|index| SyntheticMap::new(self, handicap, index, random)).collect();
        let play = |map: &SyntheticMap| {
            let pairs = (0..samples).map(|_| map.pair(self, handicap, random));
            pairs.collect::<Vec<_>>()
        };
        let pairs = maps.iter().flat_map(play).collect();
        (maps, pairs)
    }

    fn score_mean(&self) -> f64 {
        let survival = f64::midpoint(self.survival.0, self.survival.1);
        let caught_tick = f64::midpoint(2.0, f64::from(END_TICK - 1));
        f64::from(POINTS_PER_TICK) * (survival * f64::from(END_TICK) + (1.0 - survival) * caught_tick)
    }

    fn tournament(&self, random: &mut Pcg64Mcg) -> Vec<(GameRecord, GameRecord)> {
        self.handicapped(&Handicap::NONE, self.maps, self.samples, random).1
    }
}

/// Makes the right planner lose a game in tick 2 with probability `loss`.
struct Handicap {
    loss: f64,
}

impl Handicap {
    const NONE: Self = Self { loss: 0.0 };

    /// Chooses `loss` so that the mean score difference, which is
    /// `(1 - tie) * loss * (mean score - lowest score)`, equals `difference`.
    fn new(pair: &SyntheticPair, difference: f64) -> Self {
        let least = 2.0 * f64::from(POINTS_PER_TICK);
        Self { loss: difference / (1.0 - pair.tie) / (pair.score_mean() - least) }
    }

    fn apply(&self, game: GameRecord, random: &mut Pcg64Mcg) -> GameRecord {
        if self.loss > 0.0 && random.random::<f64>() < self.loss {
            return GameRecord {
                final_tick: 2,
                score: 2 * POINTS_PER_TICK,
                caught: true,
                moves: format!("{:016x}", random.random::<u64>()),
                ..game
            };
        }
        game
    }
}

fn renamed(game: GameRecord) -> GameRecord {
    GameRecord { map: format!("new {}", game.map), ..game }
}

/// A map, and the possible games of each planner that has a limit in [`SyntheticPair::games`].
struct SyntheticMap {
    index: usize,
    survival: f64,
    is_limited: bool,
    known: [Vec<GameRecord>; 2],
}

impl SyntheticMap {
    fn new(pair: &SyntheticPair, handicap: &Handicap, index: usize, random: &mut Pcg64Mcg) -> Self {
        let survival = pair.survival.0 + (pair.survival.1 - pair.survival.0) * random.random::<f64>();
        let is_limited = !pair.is_mixed || index.is_multiple_of(2);
        let [left, right] = pair
            .games
            .map(|games| (0..games).map(|_| synthetic_game(index, survival, random)).collect::<Vec<GameRecord>>());
        let right = right.into_iter().map(|game| handicap.apply(game, random)).collect();
        Self { index, survival, is_limited, known: [left, right] }
    }

    fn game(&self, side: usize, random: &mut Pcg64Mcg) -> (GameRecord, bool) {
        match self.known[side].len() {
            games if games > 0 && self.is_limited => (self.known[side][random.random_range(0..games)].clone(), true),
            _ => (synthetic_game(self.index, self.survival, random), false),
        }
    }

    fn pair(&self, pair: &SyntheticPair, handicap: &Handicap, random: &mut Pcg64Mcg) -> (GameRecord, GameRecord) {
        let (left, _) = self.game(0, random);
        if random.random::<f64>() < pair.tie {
            return (left.clone(), left);
        }
        match self.game(1, random) {
            (right, true) => (left, right),
            (right, false) => (left, handicap.apply(right, random)),
        }
    }
}

fn synthetic_game(map: usize, survival: f64, random: &mut Pcg64Mcg) -> GameRecord {
    let final_tick = if random.random::<f64>() < survival { END_TICK } else { random.random_range(2..END_TICK) };
    GameRecord {
        map: map.to_string(),
        budget: Budget::ticks(1),
        score: u32::from(final_tick) * POINTS_PER_TICK,
        final_tick,
        caught: final_tick < END_TICK,
        moves: format!("{:016x}", random.random::<u64>()),
        ..GameRecord::default()
    }
}

pub struct RealPair {
    pub name: &'static str,
    /// Either one planner, which plays both sides with different seeds, or two planners, whose
    /// sides are drawn at random for each map. In both cases, the sides are equal on average.
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

/// The games of each deterministic planner, one game per map.
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
