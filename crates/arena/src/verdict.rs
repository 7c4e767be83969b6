//! Verdicts: the result of a comparison, as text and as data.
//!
//! Without a sequential test, the verdicts *better* and *worse* require that the 95% interval of
//! the mean score difference excludes zero. Student's interval is too narrow if few games differ,
//! so the exact sign test or the adjusted interval
//! ([`ClusteredMean::adjusted`](ClusteredMean::adjusted)) must confirm the result.
//! The verdict *equal within D points* requires that the adjusted 90% interval lies between -D and
//! D, which is equivalent to two one-sided tests at 5% (Schuirmann, *A Comparison of the Two
//! One-Sided Tests Procedure and the Power Approach*, 1987).

use serde::Serialize;

use super::comparison::{Comparison, UNITS_MIN};
use super::eval::SCORE_MAX;
use super::external_summary::ExternalSummary;
use super::phrases::{counted, p_value, percent, wins_ties_losses};
use super::sprt::SprtReport;
use getaway_runs::stats::{
    CONFIDENCE, ClusteredMean, Interval, Sprt, SprtDecision, WinDrawLoss, normal_quantile, students_quantile,
};

/// The default of [`Verdict::margin`]: 500 points are 100 ticks, or 5% of a game.
pub const MARGIN_DEFAULT: f64 = 500.0;
const SIGNIFICANCE: f64 = 1.0 - CONFIDENCE;
/// Two one-sided tests at [`SIGNIFICANCE`] are equivalent to an interval with this confidence.
const EQUIVALENCE_CONFIDENCE: f64 = 1.0 - 2.0 * SIGNIFICANCE;
/// The further games that are planned should detect the difference with this probability.
/// `docs/records/measurements.md#calibration` shows how often they suffice.
const POWER: f64 = 0.9;
/// The variance of the difference of two independent scores is at most half the square of their
/// range.
const VARIANCE_MAX: f64 = SCORE_MAX as f64 * SCORE_MAX as f64 / 2.0;
/// Further pairs on the same maps do not reduce the part of the mean's variance that comes from
/// differences between maps. If that part exceeds this share of the largest variance at which the
/// difference can be detected, further maps are planned.
const BETWEEN_MAX: f64 = 0.7;
/// No larger number of further pairs or maps is planned.
const FURTHER_MAX: f64 = 100_000.0;

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

/// An estimate of how many further pairs or maps would show a difference.
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
    /// The further games that would show the observed difference or, if all pairs are ties, that the
    /// sides are equal within the margin. Set only if the outcome is `Undecided`, the two games of at
    /// least one pair differ, and no sequential test was run. `None` if more than 100,000 would be
    /// needed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub further: Option<FurtherGames>,
    /// Like `further`, but for a difference equal to the margin. `None` if it would take at least as many
    /// games as `further`, in the same unit, or if all pairs are ties.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub further_for_margin: Option<FurtherGames>,
    pub troubles: Vec<String>,
    /// The whole verdict as text in one line.
    pub sentence: String,
}

/// Asks which side is better.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// The names of the left and the right side.
    pub sides: [&'a str; 2],
    /// The smallest mean score difference that matters, in points.
    pub margin: f64,
    pub pairs: &'a Comparison,
}

impl Question<'_> {
    /// Returns the verdict on the left side. `bots` summarises the games of external bots. `sprt`, if
    /// given, replaces the other tests.
    pub fn verdict(self, bots: &[Option<ExternalSummary>; 2], sprt: Option<&SprtReport>) -> Verdict {
        let Self { sides: [left, right], margin, pairs } = self;
        let bots: Vec<&ExternalSummary> = bots.iter().flatten().collect();
        let troubles: Vec<String> = bots.iter().filter_map(|bot| bot.trouble.clone()).collect();
        let is_broken = bots.iter().any(|bot| bot.is_broken());
        let outcome = match sprt.map(|report| report.decision) {
            _ if is_broken => Outcome::Failed,
            _ if pairs.counts.pairs() == 0 => Outcome::Undecided,
            Some(SprtDecision::H1) => Outcome::Better,
            Some(SprtDecision::H0) => Outcome::NotBetter,
            Some(SprtDecision::Undecided) => Outcome::Undecided,
            None => self.outcome(),
        };
        let is_planned = outcome == Outcome::Undecided && pairs.identical_pairs < pairs.pairs_played && sprt.is_none();
        let further = is_planned.then(|| FurtherGames::for_observed(pairs, margin)).flatten();
        let for_margin = is_planned.then(|| FurtherGames::plan(pairs, pairs.adjusted, margin, 0.0)).flatten();
        let helps = |one: &FurtherGames| further.is_none_or(|more| more.unit != one.unit || one.count < more.count);
        let further_for_margin = for_margin.filter(|one| !pairs.is_tied() && helps(one));
        let both = format!("{left} and {right}");
        let claim = match sprt {
            _ if is_broken => format!("So the games do not show how {both} compare."),
            _ if pairs.counts.pairs() == 0 => format!("No pair of games was played, so {both} cannot be compared."),
            Some(report) => self.sequential_claim(report),
            None => self.claim(outcome, [further, further_for_margin]),
        };
        let mut sentence: String = troubles.iter().map(|trouble| format!("{trouble}. ")).collect();
        if !is_broken && bots.iter().any(|bot| bot.failed() > 0) {
            sentence += "Failed games score 0 points and lose to any game that did not fail. ";
        }
        Verdict { outcome, margin, further, further_for_margin, troubles, sentence: sentence + &claim }
    }

    fn outcome(self) -> Outcome {
        let Self { margin, pairs, .. } = self;
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
        if -margin < low && high < margin { Outcome::Equal } else { Outcome::Undecided }
    }

    fn claim(self, outcome: Outcome, [further, for_margin]: [Option<FurtherGames>; 2]) -> String {
        let Self { sides: [left, right], pairs, .. } = self;
        let (both, margin) = (format!("{left} and {right}"), points(self.margin));
        let units = match counted(pairs.units, "independent unit", "independent units") {
            units if pairs.units < pairs.counts.pairs() => format!(" on {units}"),
            _ => String::new(),
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
                format!("{both} are equal within {margin} points: {size} (90% interval {interval}), {games}.")
            }
            _ if pairs.identical_pairs == pairs.pairs_played => match pairs.pairs_played {
                1 => format!("{both} played identical games in the only pair."),
                played => format!("{both} played identical games in each of the {played} pairs."),
            },
            _ => {
                let mut claim = format!("Too few games to tell {left} from {right}: {size}{interval}, {games}");
                if pairs.identical_pairs > 0 {
                    claim += &format!("; {} identical games", counted(pairs.identical_pairs, "pair has", "pairs have"));
                }
                for words in further_words(pairs, self.margin, [further, for_margin]) {
                    claim += &format!("; {words}");
                }
                claim + "."
            }
        }
    }

    fn sequential_claim(self, report: &SprtReport) -> String {
        let Self { sides: [left, right], pairs, .. } = self;
        let Sprt { p0, p1, alpha, beta } = report.sprt;
        let [zero, one] = [p0, p1].map(percent);
        let [h0, h1] =
            [("H0", &zero), ("H1", &one)].map(|(name, share)| format!("{name} (wins {share} of decisive pairs)"));
        let what = match report.decision {
            SprtDecision::H0 => {
                format!("{left} is not better than {right} by the margin tested: {h0} accepted over H1 ({one})")
            }
            SprtDecision::H1 => format!("{left} is better than {right}: {h1} accepted over H0 ({zero})"),
            SprtDecision::Undecided => {
                format!("Too few games to tell {left} from {right}: neither {h0} nor H1 ({one}) is accepted")
            }
        };
        let (counts, games) = (wins_ties_losses(pairs.counts), pairs.pairs_text());
        format!("{what} after {counts} in {games} (SPRT, alpha {alpha}, beta {beta}).")
    }
}

/// Returns the number of units at which a test confirms the interval of the observed difference: the
/// sign test, or the interval with two opposite units. Assumes that further units have the same mean
/// and spread.
fn confirming_units(pairs: &Comparison, difference: f64) -> f64 {
    let (confidence, power) = (normal_quantile(CONFIDENCE), normal_quantile(2.0 * POWER - 1.0));
    let WinDrawLoss { wins, losses, .. } = pairs.counts;
    let is_left = pairs.score_difference_mean.is_some_and(|mean| mean > 0.0);
    let (for_it, decisive) = (if is_left { wins } else { losses } as f64, (wins + losses) as f64);
    let (share, decisive_share) = (for_it / decisive, decisive / pairs.counts.pairs() as f64);
    let by_sign = if share > 0.5 {
        let needed = (confidence + 2.0 * power * (share * (1.0 - share)).sqrt()) / (2.0 * share - 1.0);
        needed.powi(2).max(UNITS_MIN as f64) / decisive_share
    } else {
        f64::INFINITY
    };
    // Solves `units * difference = factor * error` for the units, where the square of the error is
    // `units * variance + 2 * SCORE_MAX^2`.
    let variance = pairs.observed.map_or(0.0, |observed| observed.error.powi(2) * (pairs.units + 2) as f64);
    let factor = (confidence + power).powi(2);
    let root = ((factor * variance).powi(2) + 8.0 * factor * (difference * f64::from(SCORE_MAX)).powi(2)).sqrt();
    let by_interval = (factor * variance + root) / (2.0 * difference.powi(2));
    by_sign.min(by_interval)
}

/// Says what `further` and `further_for_margin` of a verdict would show.
pub(super) fn further_words(
    pairs: &Comparison,
    margin: f64,
    [further, for_margin]: [Option<FurtherGames>; 2],
) -> impl Iterator<Item = String> {
    let margin = points(margin);
    let observed = if pairs.is_tied() {
        format!("that they are equal within {margin} points")
    } else {
        "this difference".to_owned()
    };
    let planned = [(further, observed), (for_margin, format!("a difference of {margin} points"))];
    planned.into_iter().filter_map(|(games, what)| Some(format!("about {} would show {what}", games?.words())))
}

impl FurtherGames {
    /// Plans further games to show the observed difference or, if all pairs are ties, that the sides
    /// are equal within `margin`. Assumes that these games have the same mean and spread. Returns
    /// `None` if too many games would be needed.
    fn for_observed(pairs: &Comparison, margin: f64) -> Option<Self> {
        if pairs.is_tied() {
            // The adjusted interval adds two opposite units.
            let units_min = normal_quantile(EQUIVALENCE_CONFIDENCE) * 2_f64.sqrt() * f64::from(SCORE_MAX) / margin;
            return Self::plan(pairs, ClusteredMean::default(), margin, units_min);
        }
        let difference = pairs.score_difference_mean?.abs();
        let units_min = confirming_units(pairs, difference).max(UNITS_MIN as f64);
        Self::plan(pairs, pairs.observed.unwrap_or_default(), difference, units_min)
    }

    /// Plans further games for a two-sided test of the mean that detects `difference` with probability
    /// [`POWER`], given the standard errors of `mean`, and for at least `units_min` units. Estimates
    /// the variance as if two more maps or pairs had been played, because a few games understate it.
    fn plan(pairs: &Comparison, mean: ClusteredMean, difference: f64, units_min: f64) -> Option<Self> {
        let ClusteredMean { error, within_error, degrees, .. } = mean;
        let allowed = |quantile: f64| (difference / (quantile + normal_quantile(2.0 * POWER - 1.0))).powi(2);
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
        let (unit, so_far, needed) = if repeats_games || between > BETWEEN_MAX * allowed(quantile) {
            let variance = ((maps + 2.0) * error.powi(2)).min(VARIANCE_MAX);
            (GameUnit::Maps, maps, variance / allowed(normal_quantile(CONFIDENCE)))
        } else {
            let variance = ((played + 2.0) * within).min(VARIANCE_MAX);
            (GameUnit::Pairs, played, variance / (allowed(quantile) - between))
        };
        let needed = needed.max(units_min * so_far / pairs.units as f64);
        // Plans at least half as many pairs or maps as were played, even if the estimate is lower.
        let count = (needed - so_far).max(so_far / 2.0);
        (count <= FURTHER_MAX).then(|| Self { count: two_digits_up(count), unit })
    }

    /// Returns the count and the unit as text, as in `40 more pairs`.
    pub fn words(self) -> String {
        let noun = if self.unit == GameUnit::Pairs { "pair" } else { "map" };
        format!("{} more {noun}{}", points(self.count as f64), if self.count == 1 { "" } else { "s" })
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
    let groups = digits.as_bytes().rchunks(3).rev().map(String::from_utf8_lossy);
    groups.collect::<Vec<_>>().join(",")
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
