//! The sequential test of a match.

use std::collections::HashSet;

use serde::Serialize;

use super::record::GameRecord;
use super::series::{Games, Series};
use getaway_runs::stats::{Sprt, SprtDecision, WinDrawLoss};

/// Runs the sequential test on the pairs of two planners, in the order of the series, whatever the
/// order in which the games end. Repeated pairs are skipped.
#[derive(Clone, Debug)]
pub struct SprtMonitor {
    sprt: Sprt,
    sides: [usize; 2],
    counts: WinDrawLoss,
    /// Number of pairs processed so far, including repeated pairs.
    passed: usize,
    seen: HashSet<(usize, String, String)>,
    ratios: Vec<f64>,
    decision: SprtDecision,
}

impl SprtMonitor {
    pub fn new(sprt: Sprt, sides: [usize; 2]) -> Self {
        let (counts, decision) = (WinDrawLoss::default(), SprtDecision::Undecided);
        Self { sprt, sides, counts, passed: 0, seen: HashSet::new(), ratios: Vec::new(), decision }
    }

    /// Tests further pairs until a decision is reached or a game is missing. Returns the decision.
    pub fn update(&mut self, series: &Series, games: &Games) -> SprtDecision {
        while self.decision == SprtDecision::Undecided
            && let Some([left, right]) = self.next(series, games)
        {
            self.passed += 1;
            let map = (self.passed - 1) % series.maps().len();
            if self.seen.insert((map, left.moves.clone(), right.moves.clone())) {
                self.counts.add(left.rank(), right.rank());
                self.ratios.push(self.sprt.log_likelihood_ratio(self.counts));
                self.decision = self.sprt.decision(self.counts);
            }
        }
        self.decision
    }

    fn next<'a>(&self, series: &Series, games: &'a Games) -> Option<[&'a GameRecord; 2]> {
        let game = |planner: usize| games.get(series.options().planners.len() * self.passed + planner)?.as_ref();
        Some([game(self.sides[0])?, game(self.sides[1])?])
    }

    pub fn decision(&self) -> SprtDecision {
        self.decision
    }

    /// Number of pairs up to the decision, including repeated pairs; `None` if undecided.
    pub fn pairs_needed(&self) -> Option<usize> {
        (self.decision != SprtDecision::Undecided).then_some(self.passed)
    }

    pub fn report(&self) -> SprtReport {
        let (low, high) = self.sprt.bounds();
        let ratio = self.sprt.log_likelihood_ratio(self.counts);
        let (pairs, ratios) = (self.ratios.len(), self.ratios.clone());
        SprtReport { sprt: self.sprt, decision: self.decision, pairs, log_likelihood_ratio: ratio, ratios, low, high }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SprtReport {
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
