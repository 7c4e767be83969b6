//! Ratings of several planners from their pairs of games.
//!
//! The model is that of Bradley and Terry (*Rank Analysis of Incomplete Block Designs*, 1952): a
//! planner with rating r beats one with rating s with probability 1 / (1 + 10^((s - r) / 400)), and
//! a tie is half a win. Each planner also ties once with a planner of rating 0, so that a planner
//! that won or lost every pair has a finite rating (as in Bayeselo). The fit maximises the
//! likelihood by Newton's method, and the ratings are shifted to a mean of 0.
//!
//! Intervals are clustered by map (the *sandwich* of Liang and Zeger, *Longitudinal Data Analysis
//! Using Generalized Linear Models*, 1986): a planner's game counts in its pairs with all others,
//! and games on one map are alike, so pairs on a map are not independent. The intervals are never
//! narrower than the model's own.

use nalgebra::{DMatrix, DVector};

use super::stats::{CONFIDENCE, Interval, normal_quantile, students_quantile};

/// Rating points per unit of log odds.
const POINTS_PER_LOGIT: f64 = 400.0 / std::f64::consts::LN_10;
/// Weight of the tie with a planner of rating 0.
const PRIOR_PAIRS: f64 = 1.0;
/// Newton's method doubles the correct digits in each step; a few more are needed to get near.
const STEPS_MAX: usize = 200;
/// The longest step, in log odds: far from the maximum, Newton's steps are too long.
const STEP_MAX: f64 = 2.0;

/// Pairs of two planners on one map.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RatedPairs {
    /// Index of the map.
    pub map: usize,
    /// Indices of the two planners.
    pub sides: [usize; 2],
    /// Pairs that the first one won, ties as halves.
    pub points: f64,
    /// Number of pairs.
    pub pairs: f64,
}

/// The rating of each planner, in the order of the planners, with its confidence interval.
///
/// ```
/// use getaway_arena::{RatedPairs, ratings};
///
/// // Three wins in four pairs on each of twenty maps: 191 points apart.
/// let pairs: Vec<RatedPairs> =
///     (0..20).map(|map| RatedPairs { map, sides: [0, 1], points: 3.0, pairs: 4.0 }).collect();
/// let found = ratings(2, &pairs);
/// assert!((found[0].estimate - found[1].estimate - 191.0).abs() < 4.0);
/// assert!(found[0].low > 0.0 && found[1].high < 0.0);
/// ```
pub fn ratings(planners: usize, pairs: &[RatedPairs]) -> Vec<Interval> {
    let mut strengths = DVector::zeros(planners);
    let mut information = DMatrix::zeros(planners, planners);
    for _ in 0..STEPS_MAX {
        let gradient = gradient(&strengths, pairs) - prior_gradient(&strengths);
        information = information_matrix(&strengths, pairs);
        let solver = information.clone().cholesky().expect("the prior makes the matrix positive definite");
        let step = solver.solve(&gradient);
        let length = step.amax();
        strengths += &step * (STEP_MAX / length).min(1.0);
        if length < 1e-10 {
            break;
        }
    }
    let inverse = information.cholesky().expect("positive definite").inverse();
    let centre =
        DMatrix::identity(planners, planners) - DMatrix::from_element(planners, planners, 1.0 / planners as f64);
    let centred = &centre * &strengths;
    let of_model = (&centre * &inverse * centre.transpose()).diagonal() * normal_quantile(CONFIDENCE).powi(2);
    let clustered = clustered_scores(&strengths, pairs).map(|(scores, maps)| {
        let sandwich = &centre * &inverse * scores * &inverse * centre.transpose();
        sandwich.diagonal() * students_quantile(CONFIDENCE, maps as f64 - 1.0).powi(2)
    });
    let squared = |planner: usize| {
        let clustered = clustered.as_ref().map_or(0.0, |clustered: &DVector<f64>| clustered[planner]);
        of_model[planner].max(clustered)
    };
    let rating = |planner: usize| {
        let (estimate, half_width) = (centred[planner] * POINTS_PER_LOGIT, squared(planner).sqrt() * POINTS_PER_LOGIT);
        Interval { estimate, low: estimate - half_width, high: estimate + half_width }
    };
    (0..planners).map(rating).collect()
}

/// The probability that the first planner wins.
fn win_probability(strengths: &DVector<f64>, [one, other]: [usize; 2]) -> f64 {
    1.0 / (1.0 + (strengths[other] - strengths[one]).exp())
}

/// The derivative of the log-likelihood of the pairs.
fn gradient<'a>(strengths: &DVector<f64>, pairs: impl IntoIterator<Item = &'a RatedPairs>) -> DVector<f64> {
    let mut gradient = DVector::zeros(strengths.len());
    for &RatedPairs { sides, points, pairs, .. } in pairs {
        let surplus = points - pairs * win_probability(strengths, sides);
        gradient[sides[0]] += surplus;
        gradient[sides[1]] -= surplus;
    }
    gradient
}

/// The derivative of the negative log-likelihood of the prior's ties.
fn prior_gradient(strengths: &DVector<f64>) -> DVector<f64> {
    strengths.map(|strength| PRIOR_PAIRS * (1.0 / (1.0 + (-strength).exp()) - 0.5))
}

/// The negative second derivative of the log-likelihood, prior included.
fn information_matrix(strengths: &DVector<f64>, pairs: &[RatedPairs]) -> DMatrix<f64> {
    let mut information = DMatrix::from_diagonal(&strengths.map(|strength| {
        let probability = 1.0 / (1.0 + (-strength).exp());
        PRIOR_PAIRS * probability * (1.0 - probability)
    }));
    for &RatedPairs { sides: [one, other], pairs, .. } in pairs {
        let probability = win_probability(strengths, [one, other]);
        let weight = pairs * probability * (1.0 - probability);
        information[(one, one)] += weight;
        information[(other, other)] += weight;
        information[(one, other)] -= weight;
        information[(other, one)] -= weight;
    }
    information
}

/// The sum of the outer products of the maps' gradients, and the number of maps; `None` if there is
/// only one.
fn clustered_scores(strengths: &DVector<f64>, pairs: &[RatedPairs]) -> Option<(DMatrix<f64>, usize)> {
    let mut maps: Vec<usize> = pairs.iter().map(|pairs| pairs.map).collect();
    maps.sort_unstable();
    maps.dedup();
    let count = maps.len();
    if count < 2 {
        return None;
    }
    let mut sum = DMatrix::zeros(strengths.len(), strengths.len());
    for map in maps {
        let score = gradient(strengths, pairs.iter().filter(|pairs| pairs.map == map));
        sum += &score * score.transpose();
    }
    Some((sum * (count as f64 / (count as f64 - 1.0)), count))
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_pcg::Pcg64Mcg;

    use super::*;

    fn results(table: &[(usize, usize, f64, f64)]) -> Vec<RatedPairs> {
        table
            .iter()
            .map(|&(one, other, points, pairs)| RatedPairs { map: 0, sides: [one, other], points, pairs })
            .collect()
    }

    #[test]
    fn ratings_match_agrestis_baseball_data() {
        // Agresti, *Categorical Data Analysis* (1990), section 10.6: American League, 1987, wins of
        // the row over the column, Milwaukee, Detroit, Toronto, New York, Boston, Cleveland,
        // Baltimore; the fit that he prints: Milwaukee 1.58, Detroit 1.44, Toronto 1.29, New York
        // 1.25, Boston 1.11, Cleveland 0.68 against Baltimore. The prior ties are too few to matter
        // much in 273 games.
        let wins = [
            [0, 7, 9, 7, 7, 9, 11],
            [6, 0, 7, 5, 11, 9, 9],
            [4, 6, 0, 7, 7, 8, 12],
            [6, 8, 6, 0, 6, 7, 10],
            [6, 2, 6, 7, 0, 7, 12],
            [4, 4, 5, 6, 6, 0, 6],
            [2, 4, 1, 3, 1, 7, 0],
        ];
        let mut table = Vec::new();
        for (one, row) in wins.iter().enumerate() {
            for (other, &won) in row.iter().enumerate().skip(one + 1) {
                let (won, lost) = (f64::from(won), f64::from(wins[other][one]));
                table.push((one, other, won, won + lost));
            }
        }
        let found = ratings(7, &results(&table));
        let printed = [1.58, 1.44, 1.29, 1.25, 1.11, 0.68, 0.0];
        for (team, expected) in printed.into_iter().enumerate() {
            let logit = (found[team].estimate - found[6].estimate) / POINTS_PER_LOGIT;
            assert!((logit - expected).abs() < 0.06, "team {team}: {logit} is not {expected}");
        }
        assert!(found.iter().map(|rating| rating.estimate).sum::<f64>().abs() < 1e-6, "their mean is 0");
    }

    #[test]
    fn planner_that_wins_every_pair_has_a_finite_rating_and_a_wide_interval() {
        let found = ratings(2, &results(&[(0, 1, 10.0, 10.0)]));
        assert!(found[0].estimate > 100.0 && found[0].estimate < 2000.0, "{found:?}");
        assert!(found[0].high - found[0].low > 300.0, "{found:?}");
        assert_eq!(found[0].estimate, -found[1].estimate);
        let alone = ratings(3, &results(&[(0, 1, 1.0, 2.0)]));
        assert!(alone.iter().all(|rating| rating.estimate.abs() < 1e-6), "a planner without pairs is average");
    }

    #[test]
    fn intervals_of_equal_planners_contain_zero_when_games_on_a_map_are_alike() {
        const TOURNAMENTS: u32 = 500;
        let mut random = Pcg64Mcg::seed_from_u64(11);
        let (mut hits, mut intervals) = (0, 0);
        for _ in 0..TOURNAMENTS {
            // Four planners on fifteen maps. Their strengths on a map are drawn once for all of its
            // ten samples.
            let mut pairs = Vec::new();
            for map in 0..15 {
                let talents: [f64; 4] = random.random();
                for one in 0..4 {
                    for other in one + 1..4 {
                        let points = if talents[one] > talents[other] { 9.0 } else { 1.0 };
                        pairs.push(RatedPairs { map, sides: [one, other], points, pairs: 10.0 });
                    }
                }
            }
            for rating in ratings(4, &pairs) {
                intervals += 1;
                hits += u32::from(rating.low <= 0.0 && 0.0 <= rating.high);
            }
        }
        let coverage = f64::from(hits) / f64::from(intervals);
        assert!((0.93..=0.97).contains(&coverage), "{coverage}");
    }
}
