//! Confidence intervals and significance tests, as pure functions of counts and scores.
//!
//! Games on one map are alike, because maps differ in difficulty. The functions for clustered data
//! therefore assume that clusters, such as the games on one map, are independent, but not that the
//! values within a cluster are. The unit tests compare results with published values and cite the
//! sources.

use serde::{Deserialize, Serialize};
use statrs::distribution::{Binomial, ContinuousCDF, DiscreteCDF, Normal, StudentsT};

pub const CONFIDENCE: f64 = 0.95;

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Interval {
    pub estimate: f64,
    pub low: f64,
    pub high: f64,
}

impl Interval {
    pub fn around(estimate: f64, half_width: f64) -> Self {
        Self { estimate, low: estimate - half_width, high: estimate + half_width }
    }

    /// Clips the bounds to the range from `least` to `most`.
    #[must_use]
    pub fn within(self, least: f64, most: f64) -> Self {
        Self { low: self.low.max(least), high: self.high.min(most), ..self }
    }

    /// `factor` must be positive.
    fn scaled(self, factor: f64, shift: f64) -> Self {
        let scale = |value: f64| value * factor + shift;
        Self { estimate: scale(self.estimate), low: scale(self.low), high: scale(self.high) }
    }
}

/// Returns the half-width, in standard errors, of a two-sided normal interval.
pub fn normal_quantile(confidence: f64) -> f64 {
    Normal::standard().inverse_cdf(f64::midpoint(1.0, confidence))
}

pub fn average(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// Returns the mean with Student's interval (Student, *The Probable Error of a Mean*, 1908), or
/// `None` if there are fewer than two values.
pub fn mean(values: &[f64], confidence: f64) -> Option<Interval> {
    clustered_mean(&[values.to_vec()], confidence)
}

/// Returns the mean of clustered values with Student's interval. The standard error comes from the
/// residual sums of the clusters. Clusters, not values, are assumed to be independent.
///
/// With clusters of equal size, this is Student's interval of the cluster means. At a confidence of
/// at least 95%, it is valid for normal means even if their variances differ (Ibragimov and Muller,
/// *t-Statistic Based Correlation and Heterogeneity Robust Inference*, 2010). With unequal sizes,
/// the degrees of freedom come from the effective number of clusters, on the assumption that values
/// agree within a cluster (Carter, Schnepel and Steigerwald, *Asymptotic Behavior of a t-Test
/// Robust to Cluster Heterogeneity*, 2017). Empty clusters are ignored. For a single cluster, the
/// result is that of [`mean`]. Returns `None` if there are fewer than two values.
pub fn clustered_mean(clusters: &[Vec<f64>], confidence: f64) -> Option<Interval> {
    Some(ClusteredMean::of(clusters)?.interval(confidence))
}

/// The mean of clustered values with its standard error; see [`clustered_mean`].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ClusteredMean {
    pub estimate: f64,
    pub error: f64,
    /// The part of the standard error that comes from the spread within clusters. More values per
    /// cluster would reduce it. `None` if there is one cluster, or if most have a single value.
    pub within_error: Option<f64>,
    pub degrees: f64,
}

impl ClusteredMean {
    /// Returns `None` if there are fewer than two values.
    pub fn of(clusters: &[Vec<f64>]) -> Option<Self> {
        let clusters: Vec<&Vec<f64>> = clusters.iter().filter(|values| !values.is_empty()).collect();
        match clusters[..] {
            [] => None,
            [values] if values.len() < 2 => None,
            [values] => Some(Self::of_clusters(values.iter().map(std::slice::from_ref))),
            _ => Some(Self::of_clusters(clusters.iter().map(|values| values.as_slice()))),
        }
    }

    /// Returns the mean of clustered values between `-reach` and `reach` after adding one cluster
    /// of `unit_size` values (at least one) at each end of this range. As in the adjusted interval
    /// of Bonett and Price ([`win_share`]), the two clusters represent unseen outcomes. Without
    /// them, equal values would give a standard error of 0.
    pub fn adjusted(clusters: &[Vec<f64>], reach: f64, unit_size: usize) -> Self {
        let ends = [reach, -reach].map(|end| vec![end; unit_size.max(1)]);
        let filled = clusters.iter().filter(|values| !values.is_empty());
        Self::of_clusters(filled.chain(&ends).map(|values| values.as_slice()))
    }

    /// There must be at least two clusters, and none may be empty.
    fn of_clusters<'a>(clusters: impl Iterator<Item = &'a [f64]> + Clone) -> Self {
        let sizes = clusters.clone().map(|values| values.len() as f64);
        let (groups, count): (f64, f64) = (clusters.clone().count() as f64, sizes.clone().sum());
        let estimate = clusters.clone().map(|values| values.iter().sum::<f64>()).sum::<f64>() / count;
        let within = |values: &[f64]| {
            let (size, mean) = (values.len() as f64, average(values)?);
            let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
            (values.len() > 1).then(|| size / (size - 1.0) * squares)
        };
        let withins: Vec<f64> = clusters.clone().filter_map(within).collect();
        let is_separable = 2 * withins.len() >= groups as usize;
        let within_error = is_separable.then(|| withins.iter().sum::<f64>().sqrt() / count);
        let residuals = clusters.map(|values| values.iter().map(|value| value - estimate).sum::<f64>());
        let variance = groups / (groups - 1.0) * residuals.map(|residual| residual * residual).sum::<f64>();
        // Unequal cluster sizes reduce the degrees of freedom, but never below one.
        let sum = |power: i32| sizes.clone().map(|size| size.powi(power)).sum::<f64>();
        let degrees = (sum(2).powi(2) / sum(4)).max(2.0) - 1.0;
        Self { estimate, error: variance.sqrt() / count, within_error, degrees }
    }

    pub fn interval(self, confidence: f64) -> Interval {
        Interval::around(self.estimate, students_quantile(confidence, self.degrees) * self.error)
    }
}

/// Returns the mean of clustered values between `least` and `most`, with a Wilson interval inside
/// these bounds. The Wilson interval uses the number of trials for which a Wald interval would be
/// as wide as the interval of [`clustered_mean`].
///
/// If many values equal one of the bounds, the distribution of their mean is skewed, and Student's
/// interval would cover the true mean too rarely. If Student's interval has no width, as for equal
/// values, each cluster counts as one trial; if there is only one cluster, each value does. Returns
/// `None` if there are fewer than two values.
pub fn bounded_mean(clusters: &[Vec<f64>], least: f64, most: f64, confidence: f64) -> Option<Interval> {
    let plain = clustered_mean(clusters, confidence)?;
    let share = ((plain.estimate - least) / (most - least)).clamp(0.0, 1.0);
    let half_width = (plain.high - plain.estimate) / (most - least);
    let count = if half_width > 0.0 {
        share * (1.0 - share) * (normal_quantile(confidence) / half_width).powi(2)
    } else {
        let sizes: Vec<usize> = clusters.iter().map(Vec::len).filter(|&size| size > 0).collect();
        if let [size] = sizes[..] { size as f64 } else { sizes.len() as f64 }
    };
    let interval = wilson(share, count, confidence).scaled(most - least, least);
    Some(Interval { estimate: plain.estimate, ..interval })
}

/// Returns the half-width, in standard errors, of a two-sided interval of Student's distribution.
pub fn students_quantile(confidence: f64, degrees: f64) -> f64 {
    let students = StudentsT::new(0.0, 1.0, degrees).expect("at least one degree of freedom");
    students.inverse_cdf(f64::midpoint(1.0, confidence))
}

/// Returns a share with its score interval (Wilson, *Probable Inference, the Law of Succession, and
/// Statistical Inference*, 1927). Without trials, the interval is 0 to 1.
pub fn share(successes: u64, trials: u64, confidence: f64) -> Interval {
    if trials == 0 {
        return Interval { estimate: 0.5, low: 0.0, high: 1.0 };
    }
    wilson(successes as f64 / trials as f64, trials as f64, confidence)
}

/// Returns Wilson's interval of a share in `count` trials; `count` may be fractional.
fn wilson(estimate: f64, count: f64, confidence: f64) -> Interval {
    let z = normal_quantile(confidence);
    let shrink = 1.0 + z * z / count;
    let centre = (estimate + z * z / (2.0 * count)) / shrink;
    let half_width = z / shrink * (estimate * (1.0 - estimate) / count + (z / (2.0 * count)).powi(2)).sqrt();
    // If the share is 0 or 1, one bound equals the share, and rounding errors must not move it.
    let low = if estimate <= 0.0 { 0.0 } else { centre - half_width };
    let high = if estimate >= 1.0 { 1.0 } else { centre + half_width };
    Interval { estimate, low, high }
}

/// Returns a share of clustered trials with Wilson's interval for the effective number of
/// independent trials (Korn and Graubard, *Confidence Intervals for Proportions with Small Expected
/// Number of Positive Counts Estimated from Survey Data*, 1998). Each cluster is a pair (successes,
/// trials). For a single cluster, the result is that of [`share`]. Otherwise, if all trials have
/// the same outcome, each cluster counts as one trial.
pub fn clustered_share(clusters: &[(u64, u64)], confidence: f64) -> Interval {
    let clusters: Vec<(u64, u64)> = clusters.iter().copied().filter(|&(_, trials)| trials > 0).collect();
    let (successes, trials) =
        clusters.iter().fold((0, 0), |(successes, trials), cluster| (successes + cluster.0, trials + cluster.1));
    if clusters.len() < 2 {
        return share(successes, trials, confidence);
    }
    let (count, groups) = (trials as f64, clusters.len() as f64);
    let estimate = successes as f64 / count;
    let squares = clusters.iter().map(|&(successes, trials)| (successes as f64 - trials as f64 * estimate).powi(2));
    let variance = groups / (groups - 1.0) * squares.sum::<f64>() / (count * count);
    let shrink = (normal_quantile(confidence) / students_quantile(confidence, groups - 1.0)).powi(2);
    let effective = match successes {
        none_or_all if none_or_all == 0 || none_or_all == trials => groups,
        _ if variance > 0.0 => (estimate * (1.0 - estimate) / variance * shrink).min(count),
        _ => count,
    };
    wilson(estimate, effective, confidence)
}

/// Counts of pairs that the left side won, tied and lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WinDrawLoss {
    pub wins: u64,
    pub ties: u64,
    pub losses: u64,
}

impl WinDrawLoss {
    pub fn pairs(self) -> u64 {
        self.wins + self.ties + self.losses
    }

    pub fn decisive(self) -> u64 {
        self.wins + self.losses
    }

    pub fn add<Score: Ord>(&mut self, left_score: Score, right_score: Score) {
        match left_score.cmp(&right_score) {
            std::cmp::Ordering::Greater => self.wins += 1,
            std::cmp::Ordering::Equal => self.ties += 1,
            std::cmp::Ordering::Less => self.losses += 1,
        }
    }

    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self { wins: self.wins + other.wins, ties: self.ties + other.ties, losses: self.losses + other.losses }
    }

    #[must_use]
    pub fn reversed(self) -> Self {
        Self { wins: self.losses, losses: self.wins, ..self }
    }
}

/// Returns the p-value of the exact two-sided sign test: the probability of a split at least this
/// uneven if each side wins a pair with probability 1/2. Ties are left out (Dixon and Mood, *The
/// Statistical Sign Test*, 1946). Returns 1 if all pairs are ties.
pub fn sign_test(counts: WinDrawLoss) -> f64 {
    let (decisive, fewer) = (counts.decisive(), counts.wins.min(counts.losses));
    if 2 * fewer + 1 >= decisive {
        return 1.0;
    }
    let coin = Binomial::new(0.5, decisive).expect("one half is a probability");
    2.0 * coin.cdf(fewer)
}

/// Returns the p-value of the exact two-sided sign test for weighted units: the probability of a
/// sum at least this far from zero if the sign of each unit is random. Each unit is the number of
/// wins minus losses in an independent group of pairs. If all units are 1, 0 or -1, this is
/// [`sign_test`]; in general, it is Fisher's randomisation test (*The Design of Experiments*, 1935,
/// section 21). Returns 1 if there are no units.
pub fn weighted_sign_test(units: &[i64]) -> f64 {
    let sum: i64 = units.iter().sum();
    if sum == 0 {
        return 1.0;
    }
    let (light, heavy): (Vec<i64>, Vec<i64>) =
        units.iter().copied().filter(|&unit| unit != 0).partition(|unit| unit.abs() == 1);
    if heavy.is_empty() {
        let wins = light.iter().filter(|&&unit| unit > 0).count() as u64;
        return sign_test(WinDrawLoss { wins, ties: 0, losses: light.len() as u64 - wins });
    }
    // `heavy_sums[reach + s]` is the probability that the sum of the heavy units (those that are
    // not 1 or -1) is `s`.
    let reach = heavy.iter().map(|unit| unit.unsigned_abs() as usize).sum::<usize>();
    let mut heavy_sums = vec![0.0; 2 * reach + 1];
    heavy_sums[reach] = 1.0;
    for unit in &heavy {
        let weight = unit.unsigned_abs() as usize;
        let before = std::mem::replace(&mut heavy_sums, vec![0.0; 2 * reach + 1]);
        for (index, probability) in before.into_iter().enumerate().filter(|&(_, probability)| probability > 0.0) {
            heavy_sums[index + weight] += probability / 2.0;
            heavy_sums[index - weight] += probability / 2.0;
        }
    }
    let coins = Binomial::new(0.5, light.len() as u64).expect("one half is a probability");
    // The probability that the sum of the light units, 2 * wins - count, is at least `least`.
    let at_least = |least: i64| match (least + light.len() as i64 + 1).div_euclid(2) {
        wins if wins <= 0 => 1.0,
        wins => coins.sf(wins as u64 - 1),
    };
    let upper = |(index, probability): (usize, &f64)| probability * at_least(sum.abs() - (index as i64 - reach as i64));
    // The lower tail is as probable as the upper tail.
    (2.0 * heavy_sums.iter().enumerate().map(upper).sum::<f64>()).min(1.0)
}

/// Returns the win share: wins plus half the ties, over all pairs. The interval is that of Bonett
/// and Price for wins minus losses (*Adjusted Wald Confidence Interval for a Difference of Binomial
/// Proportions Based on Paired Data*, 2012), mapped from [-1, 1] to [0, 1] and clipped. It has a
/// positive width even if all pairs have the same result. Without pairs, the interval is 0 to 1.
pub fn win_share(counts: WinDrawLoss, confidence: f64) -> Interval {
    let pairs = counts.pairs();
    if pairs == 0 {
        return Interval { estimate: 0.5, low: 0.0, high: 1.0 };
    }
    let estimate = (counts.wins as f64 + counts.ties as f64 / 2.0) / pairs as f64;
    let difference = paired_difference(counts, confidence).scaled(0.5, 0.5);
    Interval { estimate, low: difference.low.clamp(0.0, estimate), high: difference.high.clamp(estimate, 1.0) }
}

/// Returns the win share of clustered pairs with the interval of [`clustered_mean`], clipped to the
/// range from 0 to 1. If fewer than two clusters have pairs, or all of them have the same share,
/// returns [`win_share`] of `units` instead.
pub fn clustered_win_share(clusters: &[WinDrawLoss], units: WinDrawLoss, confidence: f64) -> Interval {
    let values = |counts: &WinDrawLoss| {
        let share = |value: f64, count: u64| std::iter::repeat_n(value, count as usize);
        share(1.0, counts.wins).chain(share(0.5, counts.ties)).chain(share(0.0, counts.losses)).collect()
    };
    let clusters: Vec<Vec<f64>> = clusters.iter().filter(|counts| counts.pairs() > 0).map(values).collect();
    match clustered_mean(&clusters, confidence) {
        Some(interval) if clusters.len() > 1 && interval.low < interval.high => interval.within(0.0, 1.0),
        _ => win_share(units, confidence),
    }
}

/// Returns the difference between the shares of wins and losses after adding one win and one loss
/// (Bonett and Price), with its Wald interval.
fn paired_difference(counts: WinDrawLoss, confidence: f64) -> Interval {
    let count = (counts.pairs() + 2) as f64;
    let (won, lost) = ((counts.wins + 1) as f64 / count, (counts.losses + 1) as f64 / count);
    let estimate = won - lost;
    Interval::around(estimate, normal_quantile(confidence) * ((won + lost - estimate * estimate) / count).sqrt())
}

/// Wald's sequential probability ratio test (*Sequential Tests of Statistical Hypotheses*, 1945).
/// It tests the probability that the left side wins a pair that is not a tie. Ties are left out, as
/// in chapter 6 of Wald's *Sequential Analysis* (1947).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sprt {
    /// The probability of a win under H0: 0.5 if H0 is that the sides are equal.
    pub p0: f64,
    /// The probability of a win under H1: above `p0` by the smallest gain that matters.
    pub p1: f64,
    /// The nominal probability of accepting H1 when H0 is true.
    pub alpha: f64,
    /// The nominal probability of accepting H0 when H1 is true.
    pub beta: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SprtDecision {
    H0,
    H1,
    #[serde(rename = "open")]
    Undecided,
}

impl Default for Sprt {
    fn default() -> Self {
        Self { p0: 0.5, p1: 0.6, alpha: 0.05, beta: 0.05 }
    }
}

impl Sprt {
    pub fn is_valid(&self) -> bool {
        let Self { p0, p1, alpha, beta } = *self;
        0.0 < p0 && p0 < p1 && p1 < 1.0 && alpha > 0.0 && beta > 0.0 && alpha + beta < 1.0
    }

    /// Returns the log-likelihood ratios at which H0 and H1 are accepted.
    pub fn bounds(&self) -> (f64, f64) {
        ((self.beta / (1.0 - self.alpha)).ln(), ((1.0 - self.beta) / self.alpha).ln())
    }

    pub fn log_likelihood_ratio(&self, counts: WinDrawLoss) -> f64 {
        let (win, loss) = ((self.p1 / self.p0).ln(), ((1.0 - self.p1) / (1.0 - self.p0)).ln());
        counts.wins as f64 * win + counts.losses as f64 * loss
    }

    /// Returns the decision for these counts. Call this after every pair, and stop when H0 or H1 is
    /// accepted.
    pub fn decision(&self, counts: WinDrawLoss) -> SprtDecision {
        let (low, high) = self.bounds();
        match self.log_likelihood_ratio(counts) {
            ratio if ratio <= low => SprtDecision::H0,
            ratio if ratio >= high => SprtDecision::H1,
            _ => SprtDecision::Undecided,
        }
    }
}

/// Returns the index, from 0, of the `share` quantile of `len` sorted values by the nearest-rank
/// method; `len` must be positive.
pub fn nearest_rank(len: u64, share: f64) -> u64 {
    ((len as f64 * share).ceil() as u64).clamp(1, len) - 1
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};

    use super::*;
    use rand_pcg::Pcg64Mcg;

    fn counts(wins: u64, ties: u64, losses: u64) -> WinDrawLoss {
        WinDrawLoss { wins, ties, losses }
    }

    #[track_caller]
    fn assert_close(found: f64, expected: f64) {
        assert!((found - expected).abs() <= 1e-6 * expected.abs().clamp(1e-300, 1.0), "{found} is not {expected}");
    }

    /// The tolerance allows for published values that are rounded to seven decimals.
    #[track_caller]
    fn assert_interval(found: Interval, low: f64, high: f64) {
        assert!(
            (found.low - low).abs() <= 1e-7 && (found.high - high).abs() <= 1e-7,
            "{found:?} is not {low} to {high}"
        );
    }

    #[test]
    fn sign_test_is_exact() {
        // Zar, *Biostatistical Analysis* (1999), deer legs: 8 of 10 differences have the same sign.
        assert_close(sign_test(counts(8, 0, 2)), 0.109375);
        // Computed by hand: 2 * 2^-63, and 2 * (1 + 6) / 64.
        assert_close(sign_test(counts(63, 87, 0)), 2f64.powi(-62));
        assert_close(sign_test(counts(5, 3, 1)), 0.21875);
        // Conover, *Practical Nonparametric Statistics* (1971): 8 better, 1 worse, 1 equal.
        assert_close(sign_test(counts(8, 1, 1)), 2.0 * 10.0 / 512.0);
        assert_eq!(sign_test(counts(3, 9, 1)), sign_test(counts(1, 0, 3)));
        for even in [counts(0, 0, 0), counts(0, 150, 0), counts(4, 0, 4), counts(3, 1, 2), counts(1, 0, 0)] {
            assert_eq!(sign_test(even), 1.0);
        }
    }

    #[test]
    fn students_interval_matches_his_sleep_data() {
        // The data of Cushny and Peebles, quoted by Student (1908). Source of the interval: R,
        // `t.test(extra ~ group, sleep, paired = TRUE)`.
        let first = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0];
        let second = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4];
        let differences: Vec<f64> = first.iter().zip(second).map(|(one, two)| one - two).collect();
        let found = mean(&differences, 0.95).unwrap();
        assert_close(found.estimate, -1.58);
        assert_interval(found, -2.4598858, -0.7001142);
    }

    #[test]
    fn clustered_mean_of_equal_clusters_is_students_interval_of_their_means() {
        let clusters = [vec![1.0, 3.0], vec![5.0, 5.0], vec![2.0, 10.0], vec![]];
        let means = mean(&[2.0, 5.0, 6.0], 0.95).unwrap();
        let found = clustered_mean(&clusters, 0.95).unwrap();
        assert_close(found.estimate, means.estimate);
        assert_interval(found, means.low, means.high);
        let repeated = clusters.map(|values| values.repeat(100));
        assert_interval(clustered_mean(&repeated, 0.95).unwrap(), means.low, means.high);
        assert_eq!(clustered_mean(&[vec![1.0, 2.0, 4.0]], 0.95), mean(&[1.0, 2.0, 4.0], 0.95));
        assert_eq!((clustered_mean(&[], 0.95), clustered_mean(&[vec![1.0]], 0.95)), (None, None));
        assert_eq!(means.within(0.0, 6.0), Interval { low: 0.0, high: 6.0, ..means });
    }

    #[test]
    fn clustered_share_counts_clusters_and_not_trials_when_clusters_agree_within() {
        // The planner survives either all games on a map or none, so the 20 maps count as about 20 trials.
        let clusters: Vec<(u64, u64)> = (0..20).map(|map| (if map % 2 == 0 { 50 } else { 0 }, 50)).collect();
        let found = clustered_share(&clusters, 0.95);
        let by_map = share(10, 20, 0.95);
        assert_eq!(found.estimate, 0.5);
        assert!(found.low < by_map.low && found.low > by_map.low - 0.03, "{found:?}, {by_map:?}");
        assert_eq!(clustered_share(&[(50, 50); 20], 0.95), share(20, 20, 0.95));
        assert_eq!(clustered_share(&[(7, 9), (0, 0)], 0.95), share(7, 9, 0.95));
        assert_eq!(clustered_share(&[], 0.95), share(0, 0, 0.95));
    }

    #[test]
    fn weighted_sign_test_is_the_sign_test_for_equal_units_and_exact_for_others() {
        for (wins, losses) in [(10, 5), (5, 10), (7, 0), (3, 3), (1, 0)] {
            let units: Vec<i64> = [1].repeat(wins).into_iter().chain([-1].repeat(losses)).chain([0, 0]).collect();
            let expected = sign_test(counts(wins as u64, 2, losses as u64));
            assert_close(weighted_sign_test(&units), expected);
            let scaled: Vec<i64> = units.iter().map(|unit| 3 * unit).collect();
            assert_close(weighted_sign_test(&scaled), expected);
        }
        // Of the 16 ways to choose the signs of 5, 2, 1 and 1, six give a sum of at least 7 or at
        // most -7.
        assert_close(weighted_sign_test(&[5, 2, 1, -1]), 6.0 / 16.0);
        assert_eq!((weighted_sign_test(&[]), weighted_sign_test(&[4, -4])), (1.0, 1.0));
    }

    #[test]
    fn clustered_win_share_falls_back_to_its_units() {
        let split = [counts(5, 0, 0), counts(0, 0, 5), counts(5, 0, 0)];
        let found = clustered_win_share(&split, counts(2, 0, 1), 0.95);
        assert_close(found.estimate, 2.0 / 3.0);
        assert_eq!((found.low, found.high), (0.0, 1.0), "three maps show little");
        let units = counts(3, 0, 0);
        assert_eq!(clustered_win_share(&[counts(9, 0, 0); 3], units, 0.95), win_share(units, 0.95));
    }

    #[test]
    fn mean_of_too_few_values_has_no_interval_and_of_equal_values_one_of_zero_width() {
        assert_eq!((mean(&[], 0.95), mean(&[3.0], 0.95)), (None, None));
        assert_eq!(mean(&[5.0; 7], 0.95), Some(Interval { estimate: 5.0, low: 5.0, high: 5.0 }));
    }

    #[test]
    fn bounded_mean_of_equal_values_is_as_uncertain_as_a_share() {
        // All scores are equal, so each of the 15 maps counts as one trial.
        let found = bounded_mean(&vec![vec![10.0; 3]; 15], 0.0, 10.0, 0.95).expect("an interval");
        assert_eq!((found.estimate, found.high), (10.0, 10.0));
        assert_close(found.low, 10.0 * share(15, 15, 0.95).low);
        let found = bounded_mean(&[vec![0.0; 20]], 0.0, 10.0, 0.95).expect("an interval");
        assert_eq!((found.estimate, found.low), (0.0, 0.0));
        assert_close(found.high, 10.0 * share(0, 20, 0.95).high);
        let found = bounded_mean(&[vec![2.0], vec![2.0]], 0.0, 10.0, 0.95).expect("an interval");
        assert!(found.low > 0.0 && found.low < 1.0 && found.high > 6.0 && found.high < 10.0, "{found:?}");
        assert_eq!(bounded_mean(&[vec![2.0]], 0.0, 10.0, 0.95), None);
    }

    #[test]
    fn shares_agree_with_r() {
        // Computed by R's package binom, `binom.confint(x, n, methods = "wilson")`, and quoted by
        // statsmodels.
        for (successes, trials, low, high) in [
            (18, 20, 0.6989663547715128, 0.972133518786232),
            (4, 20, 0.0806576625797981, 0.4160174322518935),
            (4, 200, 0.00780442641634947, 0.05028708690582643),
            (190, 200, 0.910421851861224, 0.972617354399236),
            (0, 30, 0.0, 0.11351339),
            (30, 30, 0.8864866, 1.0),
        ] {
            assert_interval(share(successes, trials, 0.95), low, high);
        }
        // Newcombe, *Two-sided Confidence Intervals for the Single Proportion* (1998), method 3.
        for (successes, trials, low, high) in
            [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)]
        {
            let found = share(successes, trials, 0.95);
            assert!((found.low - low).abs() < 5.1e-5 && (found.high - high).abs() < 5.1e-5, "{found:?}");
        }
        assert_eq!(share(0, 0, 0.95), Interval { estimate: 0.5, low: 0.0, high: 1.0 });
    }

    #[test]
    fn win_share_is_the_adjusted_wald_interval() {
        // R, package statpsych (Bonett): `ci.prop.ps(.05, 12, 4, 26, 6)`.
        let found = paired_difference(counts(26, 18, 4), 0.95);
        assert_close(found.estimate, 0.44);
        assert_interval(found, 0.2548067, 0.6251933);
        let share = win_share(counts(26, 18, 4), 0.95);
        assert_interval(share, f64::midpoint(1.0, 0.2548067), f64::midpoint(1.0, 0.6251933));
        assert_close(share.estimate, 35.0 / 48.0);
    }

    #[test]
    fn win_share_of_one_sided_pairs_has_an_interval() {
        let all_wins = win_share(counts(20, 0, 0), 0.95);
        assert_eq!((all_wins.estimate, all_wins.high), (1.0, 1.0));
        assert!(all_wins.low > 0.5 && all_wins.low < 1.0, "{all_wins:?}");
        let all_losses = win_share(counts(0, 0, 20), 0.95);
        assert_eq!((all_losses.estimate, all_losses.low), (0.0, 0.0));
        assert_close(all_losses.high, 1.0 - all_wins.low);
        let all_ties = win_share(counts(0, 20, 0), 0.95);
        assert_eq!(all_ties.estimate, 0.5);
        assert!(all_ties.low < 0.5 && all_ties.high > 0.5 && all_ties.high < 1.0, "{all_ties:?}");
        assert_eq!(win_share(counts(0, 0, 0), 0.95), Interval { estimate: 0.5, low: 0.0, high: 1.0 });
    }

    #[test]
    fn sprt_bounds_match_wald_and_nist() {
        // Wald (1945), (3.26) and (3.27).
        let (low, high) = Sprt::default().bounds();
        assert_close(low, -2.9444389791664403);
        assert_close(high, 2.9444389791664403);
        // NIST/SEMATECH e-Handbook, 6.2.6, "sequential sampling": p from 0.01 to 0.10, alpha 0.05,
        // beta 0.10. Its table accepts at item 24 with no defects and at item 49 with one defect,
        // and rejects at item 2 with two defects.
        let sprt = Sprt { p0: 0.01, p1: 0.10, alpha: 0.05, beta: 0.10 };
        let decision = |bad: u64, all: u64| sprt.decision(counts(bad, 0, all - bad));
        assert_eq!((decision(0, 23), decision(0, 24)), (SprtDecision::Undecided, SprtDecision::H0));
        assert_eq!((decision(1, 2), decision(2, 2)), (SprtDecision::Undecided, SprtDecision::H1));
        assert_eq!((decision(1, 48), decision(1, 49)), (SprtDecision::Undecided, SprtDecision::H0));
        // The handbook's lines: x = -0.9389 + 0.0397 n and x = 1.2054 + 0.0397 n.
        let (low, high) = sprt.bounds();
        let step = (sprt.p1 * (1.0 - sprt.p0) / (sprt.p0 * (1.0 - sprt.p1))).ln();
        let slope = ((1.0 - sprt.p0) / (1.0 - sprt.p1)).ln() / step;
        for (found, printed) in [(low / step, -0.9389), (high / step, 1.2054), (slope, 0.0397)] {
            assert!((found - printed).abs() < 1e-4, "{found} is not {printed}");
        }
    }

    #[test]
    fn ties_do_not_affect_the_sequential_test_and_invalid_parameters_are_detected() {
        let sprt = Sprt::default();
        assert_eq!(sprt.log_likelihood_ratio(counts(7, 0, 4)), sprt.log_likelihood_ratio(counts(7, 99, 4)));
        assert_eq!(sprt.decision(counts(0, 10_000, 0)), SprtDecision::Undecided);
        assert!(sprt.is_valid());
        for invalid in [
            Sprt { p1: 0.5, ..sprt },
            Sprt { p0: 0.0, ..sprt },
            Sprt { p1: 1.0, ..sprt },
            Sprt { alpha: 0.0, ..sprt },
            Sprt { alpha: 0.5, beta: 0.5, ..sprt },
            Sprt { p0: f64::NAN, ..sprt },
        ] {
            assert!(!invalid.is_valid(), "{invalid:?}");
        }
    }

    /// Adds the result of a random pair of games of equal planners to `counts`: a tie with
    /// probability 1/2, and a win or a loss with probability 1/4 each.
    fn pair_of_equals(random: &mut Pcg64Mcg, counts: &mut WinDrawLoss) {
        let [tie, left] = random.random::<[bool; 2]>();
        counts.add(u32::from(!tie && left), u32::from(!tie && !left));
    }

    #[test]
    fn sign_test_has_its_nominal_error_rate() {
        const MATCHES: u32 = 20_000;
        const PAIRS: u32 = 150;
        let mut random = Pcg64Mcg::seed_from_u64(5);
        let (mut found, mut expected) = (0.0, 0.0);
        for _ in 0..MATCHES {
            let mut result = WinDrawLoss::default();
            (0..PAIRS).for_each(|_| pair_of_equals(&mut random, &mut result));
            found += f64::from(u8::from(sign_test(result) <= 0.05));
            // Counts are discrete, so the exact test rejects less often than the nominal 5%.
            let size = (0..=result.decisive())
                .filter(|&wins| sign_test(counts(wins, 0, result.decisive() - wins)) <= 0.05)
                .map(|wins| statrs::distribution::Discrete::pmf(&Binomial::new(0.5, result.decisive()).unwrap(), wins))
                .sum::<f64>();
            assert!(size <= 0.05);
            expected += size;
        }
        let error_bar = 4.0 * (expected * (1.0 - expected / f64::from(MATCHES))).sqrt();
        assert!((found - expected).abs() < error_bar, "{found} of {MATCHES}, expected {expected} +- {error_bar}");
    }

    #[test]
    fn sequential_test_has_its_nominal_error_rate() {
        const MATCHES: u32 = 20_000;
        const PAIRS_MAX: u32 = 100_000;
        let sprt = Sprt::default();
        let mut random = Pcg64Mcg::seed_from_u64(6);
        let mut wrong = 0;
        for _ in 0..MATCHES {
            let mut result = WinDrawLoss::default();
            let decision = (0..PAIRS_MAX).find_map(|_| {
                pair_of_equals(&mut random, &mut result);
                Some(sprt.decision(result)).filter(|&decision| decision != SprtDecision::Undecided)
            });
            wrong += u32::from(decision.expect("a decision") == SprtDecision::H1);
        }
        // Log-likelihood ratios overshoot Wald's bounds, so the error rate is a little below alpha.
        let rate = f64::from(wrong) / f64::from(MATCHES);
        assert!(rate > 0.03 && rate < 0.05 / 0.95, "{rate}");
    }

    #[test]
    fn nearest_rank_of_quantiles() {
        assert_eq!([0.0, 0.5, 0.99, 1.0].map(|share| nearest_rank(100, share)), [0, 49, 98, 99]);
        assert_eq!([0.5, 0.99, 1.0].map(|share| nearest_rank(1, share)), [0, 0, 0]);
    }
}
