//! Rates planners by the results of paired games.
//!
//! The model is that of Bradley and Terry (*Rank Analysis of Incomplete Block Designs*, 1952): a
//! planner with rating r beats one with rating s with probability 1 / (1 + 10^((s - r) / 400)), and
//! a tie is half a win. Each planner also has one tie with an imaginary planner of rating 0, which
//! keeps all ratings finite. Newton's method maximises the likelihood; the ratings are then shifted
//! to a mean of 0.
//!
//! Pairs on one map are not independent, because they share the map and may share games. If there
//! are at least two maps, intervals are therefore clustered by map (the *sandwich* of Liang and
//! Zeger, *Longitudinal Data Analysis Using Generalized Linear Models*, 1986). The intervals are
//! never narrower than if all pairs were independent.

use std::collections::BTreeSet;

use getaway_runs::stats::{CONFIDENCE, Interval, WinDrawLoss, normal_quantile, students_quantile};

/// Rating points per unit of log odds.
const POINTS_PER_LOGIT: f64 = 400.0 / std::f64::consts::LN_10;
const PRIOR_PAIRS: f64 = 1.0;
const STEPS_MAX: usize = 200;
/// Maximum step in log odds: far from the maximum of the likelihood, Newton's steps can overshoot.
const STEP_MAX: f64 = 2.0;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RatedPairs {
    pub map: usize,
    /// Indices of the two planners.
    pub sides: [usize; 2],
    /// Counts of the pairs that the first planner won, tied and lost.
    pub counts: WinDrawLoss,
}

/// Returns the rating of each planner with its confidence interval.
///
/// ```
/// use getaway_arena::{RatedPairs, ratings};
/// use getaway_runs::stats::WinDrawLoss;
///
/// // Three wins in four pairs on each of twenty maps: 191 points apart.
/// let counts = WinDrawLoss { wins: 3, ties: 0, losses: 1 };
/// let pairs: Vec<RatedPairs> = (0..20).map(|map| RatedPairs { map, sides: [0, 1], counts }).collect();
/// let found = ratings(2, &pairs);
/// assert!((found[0].estimate - found[1].estimate - 191.0).abs() < 4.0);
/// assert!(found[0].low > 0.0 && found[1].high < 0.0);
/// ```
pub fn ratings(planners: usize, pairs: &[RatedPairs]) -> Vec<Interval> {
    let pairs: &Vec<RatedPairs> = &pairs.iter().copied().filter(|pairs| pairs.counts.pairs() > 0).collect();
    let mut strengths = vec![0.0; planners];
    for _ in 0..STEPS_MAX {
        let mut slope = gradient(&strengths, pairs);
        let of_prior = strengths.iter().map(|strength| PRIOR_PAIRS * (logistic(*strength) - 0.5));
        slope.iter_mut().zip(of_prior).for_each(|(slope, prior)| *slope -= prior);
        let inverse = inverse(information(&strengths, pairs));
        let step: Vec<f64> = inverse.iter().map(|row| dot(row, &slope)).collect();
        let length = step.iter().fold(0.0, |length: f64, part| length.max(part.abs()));
        let scale = (STEP_MAX / length).min(1.0);
        strengths.iter_mut().zip(&step).for_each(|(strength, part)| *strength += part * scale);
        if length < 1e-10 {
            break;
        }
    }
    let inverse = inverse(information(&strengths, pairs));
    let scores = scores_by_map(&strengths, pairs);
    let (maps, mean) = (scores.len() as f64, strengths.iter().sum::<f64>() / planners as f64);
    let rating = |planner: usize| {
        // In log odds, the rating is a contrast: the planner's strength minus the mean strength.
        let weight = |other| if other == planner { 1.0 - 1.0 / planners as f64 } else { -1.0 / planners as f64 };
        let contrast: Vec<f64> = (0..planners).map(weight).collect();
        let direction: Vec<f64> = inverse.iter().map(|row| dot(row, &contrast)).collect();
        let of_model = dot(&contrast, &direction) * normal_quantile(CONFIDENCE).powi(2);
        let clustered = if scores.len() < 2 {
            0.0
        } else {
            let squares: f64 = scores.iter().map(|score| dot(score, &direction).powi(2)).sum();
            squares * maps / (maps - 1.0) * students_quantile(CONFIDENCE, maps - 1.0).powi(2)
        };
        let estimate = (strengths[planner] - mean) * POINTS_PER_LOGIT;
        Interval::around(estimate, of_model.max(clustered).sqrt() * POINTS_PER_LOGIT)
    };
    (0..planners).map(rating).collect()
}

/// Returns the indices of the planners, best rating first.
pub(super) fn ranked(ratings: &[Interval]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..ratings.len()).collect();
    order.sort_by(|&one, &other| ratings[other].estimate.total_cmp(&ratings[one].estimate));
    order
}

fn logistic(log_odds: f64) -> f64 {
    1.0 / (1.0 + (-log_odds).exp())
}

fn dot(one: &[f64], other: &[f64]) -> f64 {
    one.iter().zip(other).map(|(one, other)| one * other).sum()
}

fn gradient<'a>(strengths: &[f64], pairs: impl IntoIterator<Item = &'a RatedPairs>) -> Vec<f64> {
    let mut gradient = vec![0.0; strengths.len()];
    for &RatedPairs { sides: [one, other], counts, .. } in pairs {
        let points = counts.wins as f64 + counts.ties as f64 / 2.0;
        let surplus = points - counts.pairs() as f64 * logistic(strengths[one] - strengths[other]);
        gradient[one] += surplus;
        gradient[other] -= surplus;
    }
    gradient
}

fn information(strengths: &[f64], pairs: &[RatedPairs]) -> Vec<Vec<f64>> {
    let weight = |log_odds: f64| logistic(log_odds) * (1.0 - logistic(log_odds));
    let mut information = vec![vec![0.0; strengths.len()]; strengths.len()];
    for (planner, &strength) in strengths.iter().enumerate() {
        information[planner][planner] = PRIOR_PAIRS * weight(strength);
    }
    for &RatedPairs { sides: [one, other], counts, .. } in pairs {
        let weight = counts.pairs() as f64 * weight(strengths[one] - strengths[other]);
        information[one][one] += weight;
        information[other][other] += weight;
        information[one][other] -= weight;
        information[other][one] -= weight;
    }
    information
}

fn inverse(mut matrix: Vec<Vec<f64>>) -> Vec<Vec<f64>> {
    for pivot in 0..matrix.len() {
        let scale = 1.0 / std::mem::replace(&mut matrix[pivot][pivot], 1.0);
        matrix[pivot].iter_mut().for_each(|entry| *entry *= scale);
        let pivot_row = matrix[pivot].clone();
        for row in (0..matrix.len()).filter(|&row| row != pivot) {
            let factor = std::mem::replace(&mut matrix[row][pivot], 0.0);
            matrix[row].iter_mut().zip(&pivot_row).for_each(|(entry, above)| *entry -= factor * above);
        }
    }
    matrix
}

fn scores_by_map(strengths: &[f64], pairs: &[RatedPairs]) -> Vec<Vec<f64>> {
    let maps: BTreeSet<usize> = pairs.iter().map(|pairs| pairs.map).collect();
    maps.into_iter().map(|map| gradient(strengths, pairs.iter().filter(|pairs| pairs.map == map))).collect()
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_pcg::Pcg64Mcg;

    use super::*;

    fn pairs(map: usize, sides: [usize; 2], wins: u64, losses: u64) -> RatedPairs {
        RatedPairs { map, sides, counts: WinDrawLoss { wins, ties: 0, losses } }
    }

    #[test]
    fn ratings_match_agrestis_baseball_data() {
        // Agresti, *Categorical Data Analysis* (1990), section 10.6: the eastern division of the
        // American League in 1987. Each row lists a team's wins over Milwaukee, Detroit, Toronto,
        // New York, Boston, Cleveland and Baltimore; the rows have the same order. With 273 games,
        // the imaginary ties have little effect.
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
                table.push(pairs(0, [one, other], won, wins[other][one]));
            }
        }
        let found = ratings(7, &table);
        let printed = [1.58, 1.44, 1.29, 1.25, 1.11, 0.68, 0.0];
        for (team, expected) in printed.into_iter().enumerate() {
            let logit = (found[team].estimate - found[6].estimate) / POINTS_PER_LOGIT;
            assert!((logit - expected).abs() < 0.06, "team {team}: found {logit}, expected {expected}");
        }
        assert!(found.iter().map(|rating| rating.estimate).sum::<f64>().abs() < 1e-6, "the mean rating is 0");
    }

    #[test]
    fn planner_that_wins_every_pair_has_a_finite_rating_and_a_wide_interval() {
        let found = ratings(2, &[pairs(0, [0, 1], 10, 0)]);
        assert!(found[0].estimate > 100.0 && found[0].estimate < 2000.0, "{found:?}");
        assert!(found[0].high - found[0].low > 300.0, "{found:?}");
        assert_eq!(found[0].estimate, -found[1].estimate);
        let alone = ratings(3, &[pairs(0, [0, 1], 1, 1)]);
        assert!(alone.iter().all(|rating| rating.estimate.abs() < 1e-6), "a planner without pairs has the mean rating");
    }

    #[test]
    fn intervals_of_equal_planners_contain_zero_when_games_on_a_map_are_alike() {
        const TOURNAMENTS: u32 = 500;
        let mut random = Pcg64Mcg::seed_from_u64(11);
        let (mut hits, mut intervals) = (0, 0);
        for _ in 0..TOURNAMENTS {
            // Each of the four planners has one strength per map, for all ten samples.
            let mut results = Vec::new();
            for map in 0..15 {
                let talents: [f64; 4] = random.random();
                for one in 0..4 {
                    for other in one + 1..4 {
                        let wins = if talents[one] > talents[other] { 9 } else { 1 };
                        results.push(pairs(map, [one, other], wins, 10 - wins));
                    }
                }
            }
            for rating in ratings(4, &results) {
                intervals += 1;
                hits += u32::from(rating.low <= 0.0 && 0.0 <= rating.high);
            }
        }
        let coverage = f64::from(hits) / f64::from(intervals);
        assert!((0.93..=0.97).contains(&coverage), "{coverage}");
    }
}
