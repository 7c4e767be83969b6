//! Verdicts: the result of a comparison, as text and as data.
//!
//! Without a sequential test, the verdicts *better* and *worse* require that the 95% interval of
//! the mean score difference excludes zero. Student's interval is too narrow if few games differ,
//! so the exact sign test or the adjusted interval
//! ([`ClusteredMean::adjusted`](super::stats::ClusteredMean::adjusted)) must confirm the result.
//! The verdict *equal within D points* requires that the adjusted 90% interval lies between -D and
//! D, which is equivalent to two one-sided tests at 5% (Schuirmann, *A Comparison of the Two
//! One-Sided Tests Procedure and the Power Approach*, 1987).

use serde::Serialize;

use super::comparison::Comparison;
use super::eval::SCORE_MAX;
use super::external_summary::ExternalSummary;
use super::phrases::{p_value, percent, wins_ties_losses};
use super::sprt::SprtReport;
use super::stats::{CONFIDENCE, ClusteredMean, Interval, Sprt, SprtDecision, normal_quantile, students_quantile};

/// The default of [`Verdict::margin`]: 500 points are 100 ticks, or 5% of a game.
pub const MARGIN_DEFAULT: f64 = 500.0;
const SIGNIFICANCE: f64 = 1.0 - CONFIDENCE;
/// Two one-sided tests at [`SIGNIFICANCE`] are equivalent to an interval with this confidence.
const EQUIVALENCE_CONFIDENCE: f64 = 1.0 - 2.0 * SIGNIFICANCE;
/// The further games that are planned should detect a difference as large as the margin with this
/// probability. `docs/records/benchmarks.md#calibration` shows how often they suffice.
const POWER: f64 = 0.9;
/// The variance of the difference of two independent scores is at most half the square of their
/// range.
const VARIANCE_MAX: f64 = SCORE_MAX as f64 * SCORE_MAX as f64 / 2.0;
/// Further pairs on the same maps do not reduce the part of the mean's variance that comes from
/// differences between maps. If that part exceeds this share of the largest variance at which the
/// margin can be detected, further maps are planned.
const BETWEEN_MAX: f64 = 0.7;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    Better,
    Worse,
    /// The sides are equal within the margin.
    Equal,
    /// The sequential test accepted H0: the left side is not better by the margin tested.
    NotBetter,
    Undecided,
    /// A bot failed so often that its games say little about its play.
    Failed,
}

/// An estimate of how many further pairs or maps would show a difference as large as the margin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct FurtherGames {
    pub count: u64,
    pub unit: GameUnit,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum GameUnit {
    Pairs,
    /// Used if further pairs on the same maps would repeat games or tell little about other maps.
    Maps,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Verdict {
    /// The result from the left side's point of view.
    pub outcome: Outcome,
    /// The smallest mean score difference that matters, in points.
    pub margin: f64,
    /// Set only if the outcome is `Undecided`, a pair was played, and no sequential test was run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub further: Option<FurtherGames>,
    pub troubles: Vec<String>,
    /// The whole verdict as text in one line.
    pub sentence: String,
}

impl Comparison {
    /// Returns the verdict on the left side, assuming that no game failed. `margin` is the smallest
    /// mean score difference that matters, in points.
    pub fn verdict(&self, sides: [&str; 2], margin: f64) -> Verdict {
        Question { sides, margin }.verdict(self, &[None, None], None)
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Question<'a> {
    /// The names of the left and the right side.
    pub sides: [&'a str; 2],
    pub margin: f64,
}

impl Question<'_> {
    /// `bots` summarises the games of external bots. `sprt`, if given, replaces the other tests.
    pub fn verdict(
        &self,
        pairs: &Comparison,
        bots: &[Option<ExternalSummary>; 2],
        sprt: Option<&SprtReport>,
    ) -> Verdict {
        let bots: Vec<&ExternalSummary> = bots.iter().flatten().collect();
        let troubles: Vec<String> = bots.iter().filter_map(|bot| bot.trouble.clone()).collect();
        let is_broken = bots.iter().any(|bot| bot.is_broken());
        let has_failed = bots.iter().any(|bot| bot.failed() > 0);
        let outcome = match sprt {
            _ if is_broken => Outcome::Failed,
            _ if pairs.counts.pairs() == 0 => Outcome::Undecided,
            Some(report) => match report.decision {
                SprtDecision::H1 => Outcome::Better,
                SprtDecision::H0 => Outcome::NotBetter,
                SprtDecision::Undecided => Outcome::Undecided,
            },
            None => self.outcome(pairs),
        };
        let further = match outcome {
            Outcome::Undecided if pairs.counts.pairs() > 0 && sprt.is_none() => Some(self.further(pairs)),
            _ => None,
        };
        let claim = match sprt {
            _ if outcome == Outcome::Failed => self.failed_claim(),
            _ if pairs.counts.pairs() == 0 => self.unplayed_claim(),
            Some(report) => self.sequential_claim(report, pairs),
            None => self.claim(outcome, pairs, further),
        };
        let counted = (has_failed && !is_broken)
            .then(|| "Failed games score 0 points and lose to any game that did not fail.".to_owned());
        let sentences = troubles.iter().map(|trouble| format!("{trouble}.")).chain(counted).chain([claim]);
        let sentence = sentences.collect::<Vec<String>>().join(" ");
        Verdict { outcome, margin: self.margin, further, troubles, sentence }
    }

    fn outcome(&self, pairs: &Comparison) -> Outcome {
        let (mean, adjusted) = (pairs.score_difference, pairs.adjusted.interval(CONFIDENCE));
        let is_significant = pairs.p_value <= SIGNIFICANCE;
        let net = pairs.counts.wins.cmp(&pairs.counts.losses);
        if mean.is_some_and(|mean| mean.low > 0.0) && (adjusted.low > 0.0 || is_significant && net.is_gt()) {
            return Outcome::Better;
        }
        if mean.is_some_and(|mean| mean.high < 0.0) && (adjusted.high < 0.0 || is_significant && net.is_lt()) {
            return Outcome::Worse;
        }
        let Interval { low, high, .. } = pairs.adjusted.interval(EQUIVALENCE_CONFIDENCE);
        if -self.margin < low && high < self.margin { Outcome::Equal } else { Outcome::Undecided }
    }

    /// Estimates how many further pairs or maps a two-sided test of the mean needs to detect a
    /// difference equal to the margin with probability [`POWER`], given the standard errors so far.
    fn further(&self, pairs: &Comparison) -> FurtherGames {
        let ClusteredMean { error, within_error, degrees, .. } = pairs.adjusted;
        let allowed = |quantile: f64| (self.margin / (quantile + normal_quantile(2.0 * POWER - 1.0))).powi(2);
        let (played, maps) = (pairs.pairs_played as f64, pairs.maps as f64);
        let within = within_error.unwrap_or(error).min(error).powi(2);
        let between = error.powi(2) - within;
        // If most clusters are single pairs, further pairs add degrees of freedom, so Student's
        // quantile approaches the normal quantile.
        let quantile = match within_error {
            Some(_) => students_quantile(CONFIDENCE, degrees),
            None => normal_quantile(CONFIDENCE),
        };
        // True if a unit has at least two pairs on average: further games on the same maps would
        // then often repeat earlier ones.
        let repeats_games = 2 * pairs.units <= pairs.pairs_played;
        // Plans at least half as many pairs or maps as were played, even if the estimate is lower.
        let beyond = |needed: f64, so_far: f64| two_digits_up((needed - so_far).max(so_far / 2.0));
        if repeats_games || between > BETWEEN_MAX * allowed(quantile) {
            let variance = ((maps + 2.0) * error.powi(2)).min(VARIANCE_MAX);
            let needed = variance / allowed(normal_quantile(CONFIDENCE));
            return FurtherGames { count: beyond(needed, maps), unit: GameUnit::Maps };
        }
        let variance = ((played + 2.0) * within).min(VARIANCE_MAX);
        FurtherGames { count: beyond(variance / (allowed(quantile) - between), played), unit: GameUnit::Pairs }
    }

    fn failed_claim(&self) -> String {
        let [left, right] = self.sides;
        format!("So the games do not show how {left} and {right} compare.")
    }

    fn unplayed_claim(&self) -> String {
        let [left, right] = self.sides;
        format!("No pair of games was played, so {left} and {right} cannot be compared.")
    }

    fn claim(&self, outcome: Outcome, pairs: &Comparison, further: Option<FurtherGames>) -> String {
        let [left, right] = self.sides;
        let margin = points(self.margin);
        let units = if pairs.units < pairs.counts.pairs() {
            format!(" on {} independent units", pairs.units)
        } else {
            String::new()
        };
        let size = format!("{} points per game", signed_points(pairs.score_difference_mean.unwrap_or(0.0)));
        let (counts, games) = (wins_ties_losses(pairs.counts), pairs.pairs_text());
        let games = format!("{counts} in {games} (sign test{units}, {})", p_value(pairs.p_value));
        let interval = pairs.score_difference.map_or_else(String::new, |interval| format!(" ({})", range(interval)));
        match outcome {
            Outcome::Better => format!("{left} is better than {right}: {size}{interval}, {games}."),
            Outcome::Worse => format!("{left} is worse than {right}: {size}{interval}, {games}."),
            Outcome::Equal => {
                let interval = range(pairs.adjusted.interval(EQUIVALENCE_CONFIDENCE));
                format!(
                    "{left} and {right} are equal within {margin} points: {size} (90% interval {interval}), {games}."
                )
            }
            _ => {
                let further = further.map_or_else(String::new, |further| {
                    let count = further.words();
                    format!("; about {count} would show a difference of {margin} points")
                });
                format!("Too few games to tell {left} from {right}: {size}{interval}, {games}{further}.")
            }
        }
    }

    fn sequential_claim(&self, report: &SprtReport, pairs: &Comparison) -> String {
        let [left, right] = self.sides;
        let Sprt { p0, p1, alpha, beta } = report.sprt;
        let (zero, one) = (percent(p0), percent(p1));
        let what = match report.decision {
            SprtDecision::H1 => {
                format!("{left} is better than {right}: H1 (wins {one} of decisive pairs) accepted over H0 ({zero})")
            }
            SprtDecision::H0 => format!(
                "{left} is not better than {right} by the margin tested: H0 (wins {zero} of decisive pairs) accepted \
                 over H1 ({one})"
            ),
            SprtDecision::Undecided => format!(
                "Too few games to tell {left} from {right}: neither H0 (wins {zero} of decisive pairs) nor H1 ({one}) \
                 is accepted"
            ),
        };
        let (counts, games) = (wins_ties_losses(pairs.counts), pairs.pairs_text());
        format!("{what} after {counts} in {games} (SPRT, alpha {alpha}, beta {beta}).")
    }
}

impl FurtherGames {
    /// Returns the count and the unit as text, as in `40 more pairs`.
    pub fn words(self) -> String {
        let Self { count, unit } = self;
        let (one, many) = match unit {
            GameUnit::Pairs => ("pair", "pairs"),
            GameUnit::Maps => ("map", "maps"),
        };
        format!("{} more {}", points(count as f64), if count == 1 { one } else { many })
    }
}

fn two_digits_up(count: f64) -> u64 {
    let count = count.max(1.0);
    let unit = 10_f64.powf((count.log10().floor() - 1.0).max(0.0));
    ((count / unit).ceil() * unit) as u64
}

/// Formats the rounded absolute value, with commas as thousands separators.
fn points(value: f64) -> String {
    let digits = format!("{:.0}", value.abs());
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

fn signed_points(value: f64) -> String {
    let digits = points(value);
    let sign = if value < 0.0 && digits != "0" { "-" } else { "+" };
    format!("{sign}{digits}")
}

fn range(interval: Interval) -> String {
    format!("{} to {}", signed_points(interval.low), signed_points(interval.high))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        assert_eq!([0.0, 999.0, 1000.0, 12_345.6].map(points), ["0", "999", "1,000", "12,346"]);
        assert_eq!([-0.4, 0.4, -0.5, -1500.0].map(signed_points), ["+0", "+0", "+0", "-1,500"]);
        assert_eq!([0.2, 9.1, 10.0, 101.0, 1234.0].map(two_digits_up), [1, 10, 10, 110, 1300]);
        let maps = FurtherGames { count: 1, unit: GameUnit::Maps };
        assert_eq!(
            (maps.words().as_str(), FurtherGames { count: 1200, unit: GameUnit::Pairs }.words().as_str()),
            ("1 more map", "1,200 more pairs")
        );
    }
}
