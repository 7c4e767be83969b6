//! How sure we are: intervals and tests, as pure functions of counts and scores. Nothing here has seen a game.
//!
//! Every function gives an answer for every count, none included; where there is nothing to say, it says so by an interval as wide as can be or by
//! `None`. The tests compare with published values and name them.

use serde::{Deserialize, Serialize};
use statrs::distribution::{Binomial, ContinuousCDF, DiscreteCDF, Normal, StudentsT};

/// The confidence of every interval that is printed.
pub const CONFIDENCE: f64 = 0.95;

/// An estimate, and between which bounds the truth is thought to lie.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Interval {
    /// The best guess.
    pub estimate: f64,
    /// The lower bound.
    pub low: f64,
    /// The upper bound.
    pub high: f64,
}

impl Interval {
    /// What becomes of the interval when the quantity is multiplied by `factor`, which is positive, and then shifted.
    fn scaled(self, factor: f64, shift: f64) -> Self {
        let scale = |value: f64| value * factor + shift;
        Self { estimate: scale(self.estimate), low: scale(self.low), high: scale(self.high) }
    }
}

/// How many standard errors a two-sided normal interval reaches.
fn normal_quantile(confidence: f64) -> f64 {
    Normal::standard().inverse_cdf(f64::midpoint(1.0, confidence))
}

/// The mean; nothing without values.
pub fn average(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// The mean, with Student's interval (Student, *The Probable Error of a Mean*, 1908). With one value nothing is known about the spread, with none
/// nothing at all.
pub fn mean(values: &[f64], confidence: f64) -> Option<Interval> {
    if values.len() < 2 {
        return None;
    }
    let (count, estimate) = (values.len() as f64, average(values)?);
    let variance = values.iter().map(|value| (value - estimate).powi(2)).sum::<f64>() / (count - 1.0);
    let students = StudentsT::new(0.0, 1.0, count - 1.0).expect("at least one degree of freedom");
    let reach = students.inverse_cdf(f64::midpoint(1.0, confidence)) * (variance / count).sqrt();
    Some(Interval { estimate, low: estimate - reach, high: estimate + reach })
}

/// A share, with the score interval (Wilson, *Probable Inference, the Law of Succession, and Statistical Inference*, 1927). Without trials it is
/// everything from 0 to 1.
pub fn share(successes: u64, trials: u64, confidence: f64) -> Interval {
    if trials == 0 {
        return Interval { estimate: 0.5, low: 0.0, high: 1.0 };
    }
    let (count, estimate) = (trials as f64, successes as f64 / trials as f64);
    let z = normal_quantile(confidence);
    let shrink = 1.0 + z * z / count;
    let centre = (estimate + z * z / (2.0 * count)) / shrink;
    let reach = z / shrink * (estimate * (1.0 - estimate) / count + (z / (2.0 * count)).powi(2)).sqrt();
    // At the ends the bound is the end, whatever rounding makes of it.
    let low = if successes == 0 { 0.0 } else { centre - reach };
    let high = if successes == trials { 1.0 } else { centre + reach };
    Interval { estimate, low, high }
}

/// How paired games ended, from the left side's point of view.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    /// Pairs that the left side won.
    pub wins: u64,
    /// Pairs with equal scores.
    pub ties: u64,
    /// Pairs that the right side won.
    pub losses: u64,
}

impl Tally {
    /// All pairs.
    pub fn pairs(self) -> u64 {
        self.wins + self.ties + self.losses
    }

    /// Pairs that somebody won.
    pub fn decisive(self) -> u64 {
        self.wins + self.losses
    }

    /// Counts one more pair.
    pub fn add(&mut self, left_score: u32, right_score: u32) {
        match left_score.cmp(&right_score) {
            std::cmp::Ordering::Greater => self.wins += 1,
            std::cmp::Ordering::Equal => self.ties += 1,
            std::cmp::Ordering::Less => self.losses += 1,
        }
    }

    /// The same pairs from the right side's point of view.
    #[must_use]
    pub fn reversed(self) -> Self {
        Self { wins: self.losses, losses: self.wins, ..self }
    }
}

/// The exact two-sided sign test: how likely pairs are to part at least so unevenly if each side wins a decisive pair with probability one half. Ties
/// say nothing about that and are left out (Dixon and Mood, *The Statistical Sign Test*, 1946). 1 without decisive pairs.
pub fn sign_test(tally: Tally) -> f64 {
    let (decisive, fewer) = (tally.decisive(), tally.wins.min(tally.losses));
    // As even as can be.
    if 2 * fewer + 1 >= decisive {
        return 1.0;
    }
    let coin = Binomial::new(0.5, decisive).expect("one half is a probability");
    2.0 * coin.cdf(fewer)
}

/// The win share, wins and half the ties of all pairs: one half means that the sides are even. The interval is that of Bonett and Price, *Adjusted Wald
/// Confidence Interval for a Difference of Binomial Proportions Based on Paired Data* (2012), for wins less losses, moved from -1 to 1 onto 0 to 1; it holds
/// what it promises with few pairs, and with nothing but wins, ties or losses.
pub fn win_share(tally: Tally, confidence: f64) -> Interval {
    let pairs = tally.pairs();
    if pairs == 0 {
        return Interval { estimate: 0.5, low: 0.0, high: 1.0 };
    }
    let estimate = (tally.wins as f64 + tally.ties as f64 / 2.0) / pairs as f64;
    let difference = paired_difference(tally, confidence).scaled(0.5, 0.5);
    Interval { estimate, low: difference.low.clamp(0.0, estimate), high: difference.high.clamp(estimate, 1.0) }
}

/// The adjusted difference of Bonett and Price, one more win and one more loss among two more pairs, and its interval.
fn paired_difference(tally: Tally, confidence: f64) -> Interval {
    let count = (tally.pairs() + 2) as f64;
    let (won, lost) = ((tally.wins + 1) as f64 / count, (tally.losses + 1) as f64 / count);
    let estimate = won - lost;
    let reach = normal_quantile(confidence) * ((won + lost - estimate * estimate) / count).sqrt();
    Interval { estimate, low: estimate - reach, high: estimate + reach }
}

/// Wald's sequential probability ratio test on decisive pairs (*Sequential Tests of Statistical Hypotheses*, 1945; for pairs, the double
/// dichotomy of *Sequential Analysis*, 1947, chapter 6, which leaves out ties as well). It is about the probability that the left side wins a decisive pair.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sprt {
    /// The probability under H0, which usually says that nothing is gained.
    pub p0: f64,
    /// The probability under H1, above `p0`: the least gain that matters.
    pub p1: f64,
    /// How often H1 may win though H0 is true.
    pub alpha: f64,
    /// How often H0 may win though H1 is true.
    pub beta: f64,
}

/// What a sequential test has found out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// The null hypothesis won.
    H0,
    /// The alternative won.
    H1,
    /// The games were not enough.
    Open,
}

impl Default for Sprt {
    fn default() -> Self {
        Self { p0: 0.5, p1: 0.6, alpha: 0.05, beta: 0.05 }
    }
}

impl Sprt {
    /// Whether the numbers make a test: `0 < p0 < p1 < 1`, and errors that are possible and less likely than the right answers.
    pub fn is_sound(&self) -> bool {
        let Self { p0, p1, alpha, beta } = *self;
        0.0 < p0 && p0 < p1 && p1 < 1.0 && alpha > 0.0 && beta > 0.0 && alpha + beta < 1.0
    }

    /// The logarithms of the likelihood ratio at which H0 and H1 win.
    pub fn bounds(&self) -> (f64, f64) {
        ((self.beta / (1.0 - self.alpha)).ln(), ((1.0 - self.beta) / self.alpha).ln())
    }

    /// The logarithm of how many times as likely these pairs are under H1 as under H0.
    pub fn log_likelihood_ratio(&self, tally: Tally) -> f64 {
        let (win, loss) = ((self.p1 / self.p0).ln(), ((1.0 - self.p1) / (1.0 - self.p0)).ln());
        tally.wins as f64 * win + tally.losses as f64 * loss
    }

    /// Who has won by now. The test must be asked after every pair, and no more once it has answered.
    pub fn verdict(&self, tally: Tally) -> Verdict {
        let (low, high) = self.bounds();
        match self.log_likelihood_ratio(tally) {
            ratio if ratio <= low => Verdict::H0,
            ratio if ratio >= high => Verdict::H1,
            _ => Verdict::Open,
        }
    }
}

/// The place, from 0, of the smallest of `len` sorted values that this share of them does not exceed: the nearest rank. `len` is not 0.
pub fn nearest_rank(len: u64, share: f64) -> u64 {
    ((len as f64 * share).ceil() as u64).clamp(1, len) - 1
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};

    use super::*;
    use getaway::search::Generator;

    fn tally(wins: u64, ties: u64, losses: u64) -> Tally {
        Tally { wins, ties, losses }
    }

    #[track_caller]
    fn assert_close(found: f64, expected: f64) {
        assert!((found - expected).abs() <= 1e-6 * expected.abs().clamp(1e-300, 1.0), "{found} is not {expected}");
    }

    /// Published with seven digits, of which the last is rounded.
    #[track_caller]
    fn assert_interval(found: Interval, low: f64, high: f64) {
        assert!(
            (found.low - low).abs() <= 1e-7 && (found.high - high).abs() <= 1e-7,
            "{found:?} is not {low} to {high}"
        );
    }

    #[test]
    fn the_sign_test_is_exact() {
        // Zar, *Biostatistical Analysis* (1999), the deer's legs: 8 of 10 pairs.
        assert_close(sign_test(tally(8, 0, 2)), 0.109375);
        // Binomial coefficients by hand: 2 * 2^-63, and 2 * (1 + 6) / 64.
        assert_close(sign_test(tally(63, 87, 0)), 2f64.powi(-62));
        assert_close(sign_test(tally(5, 3, 1)), 0.21875);
        // Conover, *Practical Nonparametric Statistics* (1971), sign test: 8 better, 1 worse, 1 alike: one-sided 10/512.
        assert_close(sign_test(tally(8, 1, 1)), 2.0 * 10.0 / 512.0);
        assert_eq!(sign_test(tally(3, 9, 1)), sign_test(tally(1, 0, 3)));
        for even in [tally(0, 0, 0), tally(0, 150, 0), tally(4, 0, 4), tally(3, 1, 2), tally(1, 0, 0)] {
            assert_eq!(sign_test(even), 1.0);
        }
    }

    #[test]
    fn students_interval_is_that_of_his_sleepers() {
        // Student (1908), Cushny and Peebles' data; R, `t.test(extra ~ group, data = sleep, paired = TRUE)`: -2.4598858 to -0.7001142.
        let first = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0];
        let second = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4];
        let differences: Vec<f64> = first.iter().zip(second).map(|(one, two)| one - two).collect();
        let found = mean(&differences, 0.95).unwrap();
        assert_close(found.estimate, -1.58);
        assert_interval(found, -2.4598858, -0.7001142);
    }

    #[test]
    fn a_mean_of_too_few_has_no_interval_and_of_equals_no_width() {
        assert_eq!((mean(&[], 0.95), mean(&[3.0], 0.95)), (None, None));
        assert_eq!(mean(&[5.0; 7], 0.95), Some(Interval { estimate: 5.0, low: 5.0, high: 5.0 }));
    }

    #[test]
    fn shares_agree_with_r() {
        // R, package binom, `binom.confint(x, n, methods = "wilson")`, as kept in statsmodels' tests.
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
        // Newcombe, *Two-sided Confidence Intervals for the Single Proportion* (1998), table I, method 3, to the four digits printed there.
        for (successes, trials, low, high) in
            [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)]
        {
            let found = share(successes, trials, 0.95);
            assert!((found.low - low).abs() < 5.1e-5 && (found.high - high).abs() < 5.1e-5, "{found:?}");
        }
        assert_eq!(share(0, 0, 0.95), Interval { estimate: 0.5, low: 0.0, high: 1.0 });
    }

    #[test]
    fn the_win_share_is_the_adjusted_wald_interval() {
        // R, package statpsych (Bonett), `ci.prop.ps(.05, 12, 4, 26, 6)`: 0.44, 0.2548067 to 0.6251933.
        let found = paired_difference(tally(26, 18, 4), 0.95);
        assert_close(found.estimate, 0.44);
        assert_interval(found, 0.2548067, 0.6251933);
        let share = win_share(tally(26, 18, 4), 0.95);
        assert_interval(share, f64::midpoint(1.0, 0.2548067), f64::midpoint(1.0, 0.6251933));
        assert_close(share.estimate, 35.0 / 48.0);
    }

    #[test]
    fn the_win_share_of_one_sided_pairs_keeps_its_doubt() {
        let all_wins = win_share(tally(20, 0, 0), 0.95);
        assert_eq!((all_wins.estimate, all_wins.high), (1.0, 1.0));
        assert!(all_wins.low > 0.5 && all_wins.low < 1.0, "{all_wins:?}");
        let all_losses = win_share(tally(0, 0, 20), 0.95);
        assert_eq!((all_losses.estimate, all_losses.low), (0.0, 0.0));
        assert_close(all_losses.high, 1.0 - all_wins.low);
        let all_ties = win_share(tally(0, 20, 0), 0.95);
        assert_eq!(all_ties.estimate, 0.5);
        assert!(all_ties.low < 0.5 && all_ties.high > 0.5 && all_ties.high < 1.0, "{all_ties:?}");
        assert_eq!(win_share(tally(0, 0, 0), 0.95), Interval { estimate: 0.5, low: 0.0, high: 1.0 });
    }

    #[test]
    fn walds_bounds_and_lines() {
        // Wald (1945), (3.26) and (3.27): with errors of 0.05 the bounds are -ln 19 and ln 19.
        let (low, high) = Sprt::default().bounds();
        assert_close(low, -2.9444389791664403);
        assert_close(high, 2.9444389791664403);
        // NIST/SEMATECH e-Handbook, 6.2.6, "sequential sampling": p from 0.01 to 0.10, alpha 0.05, beta 0.10. Its table accepts a lot with the
        // 24th if none was bad and with the 49th if one was, and rejects it with the second if both were.
        let sprt = Sprt { p0: 0.01, p1: 0.10, alpha: 0.05, beta: 0.10 };
        let verdict = |bad: u64, all: u64| sprt.verdict(tally(bad, 0, all - bad));
        assert_eq!((verdict(0, 23), verdict(0, 24)), (Verdict::Open, Verdict::H0));
        assert_eq!((verdict(1, 2), verdict(2, 2)), (Verdict::Open, Verdict::H1));
        assert_eq!((verdict(1, 48), verdict(1, 49)), (Verdict::Open, Verdict::H0));
        // Its lines, x = -0.9389 + 0.0397 n and x = 1.2054 + 0.0397 n.
        let (low, high) = sprt.bounds();
        let step = (sprt.p1 * (1.0 - sprt.p0) / (sprt.p0 * (1.0 - sprt.p1))).ln();
        let slope = ((1.0 - sprt.p0) / (1.0 - sprt.p1)).ln() / step;
        for (found, printed) in [(low / step, -0.9389), (high / step, 1.2054), (slope, 0.0397)] {
            assert!((found - printed).abs() < 1e-4, "{found} is not {printed}");
        }
    }

    #[test]
    fn ties_do_not_move_the_sequential_test_and_unsound_ones_are_known() {
        let sprt = Sprt::default();
        assert_eq!(sprt.log_likelihood_ratio(tally(7, 0, 4)), sprt.log_likelihood_ratio(tally(7, 99, 4)));
        assert_eq!(sprt.verdict(tally(0, 10_000, 0)), Verdict::Open);
        assert!(sprt.is_sound());
        for unsound in [
            Sprt { p1: 0.5, ..sprt },
            Sprt { p0: 0.0, ..sprt },
            Sprt { p1: 1.0, ..sprt },
            Sprt { alpha: 0.0, ..sprt },
            Sprt { alpha: 0.5, beta: 0.5, ..sprt },
            Sprt { p0: f64::NAN, ..sprt },
        ] {
            assert!(!unsound.is_sound(), "{unsound:?}");
        }
    }

    /// A battle of a planner against itself: each pair is a tie as often as not, and otherwise anybody's.
    fn pair_of_equals(random: &mut Generator, tally: &mut Tally) {
        let [tie, left] = random.random::<[bool; 2]>();
        tally.add(u32::from(!tie && left), u32::from(!tie && !left));
    }

    #[test]
    fn equals_are_told_apart_as_rarely_as_promised() {
        const BATTLES: u32 = 20_000;
        const PAIRS: u32 = 150;
        let mut random = Generator::seed_from_u64(5);
        let (mut found, mut expected) = (0.0, 0.0);
        for _ in 0..BATTLES {
            let mut result = Tally::default();
            (0..PAIRS).for_each(|_| pair_of_equals(&mut random, &mut result));
            found += f64::from(u8::from(sign_test(result) <= 0.05));
            // Counts come in steps, so an exact test errs a little less often than it may.
            let size = (0..=result.decisive())
                .filter(|&wins| sign_test(tally(wins, 0, result.decisive() - wins)) <= 0.05)
                .map(|wins| statrs::distribution::Discrete::pmf(&Binomial::new(0.5, result.decisive()).unwrap(), wins))
                .sum::<f64>();
            assert!(size <= 0.05);
            expected += size;
        }
        let error_bar = 4.0 * (expected * (1.0 - expected / f64::from(BATTLES))).sqrt();
        assert!((found - expected).abs() < error_bar, "{found} of {BATTLES}, expected {expected} +- {error_bar}");
    }

    #[test]
    fn the_sequential_test_errs_as_rarely_as_promised() {
        const BATTLES: u32 = 20_000;
        const PAIRS_MAX: u32 = 100_000;
        let sprt = Sprt::default();
        let mut random = Generator::seed_from_u64(6);
        let mut wrong = 0;
        for _ in 0..BATTLES {
            let mut result = Tally::default();
            let verdict = (0..PAIRS_MAX).find_map(|_| {
                pair_of_equals(&mut random, &mut result);
                Some(sprt.verdict(result)).filter(|&verdict| verdict != Verdict::Open)
            });
            wrong += u32::from(verdict.expect("it ends") == Verdict::H1);
        }
        // Wald's bounds are overshot a little, which errs on the safe side: below alpha, but not far below.
        let rate = f64::from(wrong) / f64::from(BATTLES);
        assert!(rate > 0.03 && rate < 0.05 / 0.95, "{rate}");
    }

    #[test]
    fn ranks_are_the_nearest() {
        assert_eq!([0.0, 0.5, 0.99, 1.0].map(|share| nearest_rank(100, share)), [0, 49, 98, 99]);
        assert_eq!([0.5, 0.99, 1.0].map(|share| nearest_rank(1, share)), [0, 0, 0]);
    }
}
