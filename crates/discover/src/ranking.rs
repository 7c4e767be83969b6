//! Compares algorithms by the differences between their scores on the same problems.

use getaway_runs::stats::{CONFIDENCE, Interval, mean};
use serde::Serialize;
use statrs::distribution::{ContinuousCDF, StudentsT};

/// Returns the two-sided p-value of Student's paired t-test; 1 for fewer than two pairs.
pub fn paired_test(left: &[f64], right: &[f64]) -> f64 {
    let differences = differences(left, right);
    let count = differences.len() as f64;
    if differences.len() < 2 {
        return 1.0;
    }
    let estimate = differences.iter().sum::<f64>() / count;
    let variance = differences.iter().map(|value| (value - estimate).powi(2)).sum::<f64>() / (count - 1.0);
    if variance == 0.0 {
        return if estimate == 0.0 { 1.0 } else { 0.0 };
    }
    let students = StudentsT::new(0.0, 1.0, count - 1.0).expect("at least one degree of freedom");
    2.0 * students.cdf(-(estimate / (variance / count).sqrt()).abs())
}

fn differences(left: &[f64], right: &[f64]) -> Vec<f64> {
    left.iter().zip(right).map(|(left, right)| left - right).collect()
}

/// Returns the p-values, corrected for multiple tests by Holm's method.
///
/// Source: Holm, *A Simple Sequentially Rejective Multiple Test Procedure*, 1979.
pub fn holm(p_values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|&left, &right| p_values[left].total_cmp(&p_values[right]));
    let mut corrected = vec![0.0; p_values.len()];
    let mut highest = 0.0_f64;
    for (rank, &index) in order.iter().enumerate() {
        highest = highest.max((p_values[index] * (p_values.len() - rank) as f64).min(1.0));
        corrected[index] = highest;
    }
    corrected
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    pub left: String,
    pub right: String,
    pub right_expression: String,
    /// The mean of left minus right with its uncorrected interval; `None` for fewer than two pairs.
    pub difference: Option<Interval>,
    pub wins: usize,
    pub ties: usize,
    pub losses: usize,
    pub p: f64,
    pub p_corrected: f64,
}

impl Comparison {
    /// Compares two algorithms. `p_corrected` equals `p` until [`Comparison::correct`] corrects it.
    pub fn new(left: &str, right: &str, right_expression: &str, left_scores: &[f64], right_scores: &[f64]) -> Self {
        let differences = differences(left_scores, right_scores);
        let p = paired_test(left_scores, right_scores);
        Self {
            left: left.to_owned(),
            right: right.to_owned(),
            right_expression: right_expression.to_owned(),
            difference: mean(&differences, CONFIDENCE),
            wins: differences.iter().filter(|&&difference| difference > 0.0).count(),
            ties: differences.iter().filter(|&&difference| difference == 0.0).count(),
            losses: differences.iter().filter(|&&difference| difference < 0.0).count(),
            p,
            p_corrected: p,
        }
    }

    pub fn correct(comparisons: &mut [Self]) {
        let p_values: Vec<f64> = comparisons.iter().map(|comparison| comparison.p).collect();
        for (comparison, corrected) in comparisons.iter_mut().zip(holm(&p_values)) {
            comparison.p_corrected = corrected;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paired_test_gives_the_p_value_of_students_sleep_data() {
        // Source of the p-value: R, `t.test(extra ~ group, data = sleep, paired = TRUE)`.
        let first = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0];
        let second = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4];
        assert!((paired_test(&first, &second) - 0.002_833).abs() < 5e-7);
        assert_eq!(paired_test(&first, &second), paired_test(&second, &first));
        assert_eq!((paired_test(&first, &first), paired_test(&[1.0], &[2.0])), (1.0, 1.0));
    }

    #[test]
    fn holm_agrees_with_r() {
        // Source of the first result: R, `p.adjust(c(0.01, 0.02, 0.03, 0.04, 0.05), "holm")`.
        let corrected = |p_values: &[f64]| holm(p_values).iter().map(|p| (p * 1e6).round() / 1e6).collect::<Vec<_>>();
        assert_eq!(corrected(&[0.01, 0.02, 0.03, 0.04, 0.05]), [0.05, 0.08, 0.09, 0.09, 0.09]);
        assert_eq!(corrected(&[0.5, 0.001, 0.9]), [1.0, 0.003, 1.0]);
        assert!(holm(&[]).is_empty());
    }

    #[test]
    fn comparison_counts_problems_by_sign() {
        let comparison = Comparison::new("a", "b", "simulate", &[1.0, 2.0, 3.0, 4.0], &[0.0, 2.0, 4.0, 0.0]);
        assert_eq!((comparison.wins, comparison.ties, comparison.losses), (2, 1, 1));
        assert_eq!(comparison.difference.expect("four problems").estimate, 1.0);
    }
}
