use std::collections::HashSet;

use serde::Serialize;

use getaway_runs::stats::{Sprt, SprtDecision, WinDrawLoss};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Played {
    pub rank: (bool, u32),
    pub moves: u64,
}

/// The result of a pair's tests, from the point of view of one entrant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PairResult {
    /// The pair needs more games.
    Open,
    /// This entrant is better than the other.
    Better,
    Worse,
    /// Both tests accept H0: neither entrant is better.
    Equal,
    /// At least one test is undecided, and the entrants only repeat earlier pairs of games.
    Exhausted,
}

/// The results of two entrants on all units before the first that one of them has not played.
#[derive(Debug)]
pub(super) struct PairState {
    /// Wins, ties and losses, in distinct pairs of games, of the entrant that was added earlier.
    pub counts: WinDrawLoss,
    pub by_map: Vec<WinDrawLoss>,
    /// The first unit that has not been processed yet.
    next_unit: usize,
    /// Distinct pairs of games: the map and the hashes of the moves.
    seen: HashSet<(usize, u64, u64)>,
    /// Number of units processed since the last new pair of games.
    repeats: usize,
    /// The decisions of two tests: whether the entrant that was added earlier is better, and whether
    /// the other one is.
    tests: [SprtDecision; 2],
}

impl PairState {
    pub fn new(maps: usize) -> Self {
        let (counts, tests) = (WinDrawLoss::default(), [SprtDecision::Undecided; 2]);
        Self { by_map: vec![counts; maps], counts, next_unit: 0, seen: HashSet::new(), repeats: 0, tests }
    }

    /// Processes further units as long as both entrants have played them.
    pub fn update(&mut self, left: &[Option<Played>], right: &[Option<Played>]) {
        let both = |unit: usize| Some(((*left.get(unit)?)?, (*right.get(unit)?)?));
        while let Some((left, right)) = both(self.next_unit) {
            let map = self.next_unit % self.by_map.len();
            self.next_unit += 1;
            if !self.seen.insert((map, left.moves, right.moves)) {
                self.repeats += 1;
                continue;
            }
            self.repeats = 0;
            self.by_map[map].add(left.rank, right.rank);
            self.counts.add(left.rank, right.rank);
            for (test, counts) in self.tests.iter_mut().zip([self.counts, self.counts.reversed()]) {
                if *test == SprtDecision::Undecided {
                    *test = Sprt::default().decision(counts);
                }
            }
        }
    }

    /// Returns the result from the point of view of the entrant that was added earlier.
    pub fn result(&self) -> PairResult {
        match self.tests {
            [SprtDecision::H1, _] => PairResult::Better,
            [_, SprtDecision::H1] => PairResult::Worse,
            [SprtDecision::H0, SprtDecision::H0] => PairResult::Equal,
            // At least two units per map have passed without a new pair of games.
            _ if self.repeats >= 2 * self.by_map.len() => PairResult::Exhausted,
            _ => PairResult::Open,
        }
    }
}
