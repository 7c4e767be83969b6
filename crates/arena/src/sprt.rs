//! The sequential test of a match.

use std::collections::HashSet;

use serde::Serialize;

use super::series::{Games, Series};
use getaway_runs::stats::{Sprt, SprtDecision, WinDrawLoss};

/// Runs the sequential test on the pairs of two planners, in the order of the series, whatever the
/// order in which the games end. Repeated pairs are skipped.
#[derive(Clone, Debug)]
pub struct SprtMonitor {
    pub(super) sides: [usize; 2],
    /// Without a test, the pair stays undecided.
    sprt: Option<Sprt>,
    counts: WinDrawLoss,
    /// Number of pairs processed so far, including repeated pairs.
    passed: usize,
    seen: HashSet<(usize, String, String)>,
    ratios: Vec<f64>,
    decision: SprtDecision,
}

impl SprtMonitor {
    pub fn new(sprt: Option<Sprt>, sides: [usize; 2]) -> Self {
        let (counts, decision) = (WinDrawLoss::default(), SprtDecision::Undecided);
        Self { sides, sprt, counts, passed: 0, seen: HashSet::new(), ratios: Vec::new(), decision }
    }

    /// Tests further pairs until a decision is reached or a game is missing. Returns the decision.
    pub fn update(&mut self, series: &Series, games: &Games) -> SprtDecision {
        while self.decision == SprtDecision::Undecided
            && let Some(sprt) = self.sprt
            && let [Some(left), Some(right)] = self.sides.map(|side| series.game(games, self.passed, side))
        {
            let map = self.passed % series.maps.len();
            self.passed += 1;
            if self.seen.insert((map, left.moves.clone(), right.moves.clone())) {
                self.counts.add(left.rank(), right.rank());
                self.ratios.push(sprt.log_likelihood_ratio(self.counts));
                self.decision = sprt.decision(self.counts);
            }
        }
        self.decision
    }

    /// Number of pairs up to the decision, including repeated pairs; `None` if undecided.
    pub fn pairs_needed(&self) -> Option<usize> {
        (self.decision != SprtDecision::Undecided).then_some(self.passed)
    }

    pub fn report(&self) -> Option<SprtReport> {
        let Self { sides, sprt, counts, ref ratios, decision, .. } = *self;
        let sprt = sprt?;
        let ((low, high), log_likelihood_ratio) = (sprt.bounds(), sprt.log_likelihood_ratio(counts));
        let (pairs, ratios) = (ratios.len(), ratios.clone());
        Some(SprtReport { sides, sprt, decision, pairs, log_likelihood_ratio, ratios, low, high })
    }
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SprtReport {
    /// The indices of the two planners. Wins of the first raise the likelihood ratio.
    #[serde(skip)]
    pub sides: [usize; 2],
    #[serde(flatten)]
    pub sprt: Sprt,
    #[serde(rename = "verdict")]
    pub decision: SprtDecision,
    /// Number of distinct pairs tested, including ties.
    pub pairs: usize,
    pub log_likelihood_ratio: f64,
    /// The log-likelihood ratio after each distinct pair.
    #[serde(skip)]
    pub ratios: Vec<f64>,
    pub low: f64,
    pub high: f64,
}
