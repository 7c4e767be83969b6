//! The standing of a ladder, as data.

use serde::Serialize;

use super::{EntrantState, Ladder, Member, PairResult, base_name};
use crate::eval::MeanCost;
use crate::game::GameRecord;
use crate::stats::{Interval, WinDrawLoss};

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LadderStanding {
    pub games: u64,
    /// Number of pairs of neighbours that are not decided.
    pub open_pairs: usize,
    /// The active entrants, best rating first, followed by the other entrants.
    pub entrants: Vec<LadderRow>,
    /// The tests between successive versions of an entrant.
    pub versions: Vec<VersionTest>,
    /// The last games, newest first.
    pub recent: Vec<LadderGame>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LadderRow {
    /// Its place among the active entrants, from 1; `None` for others.
    pub place: Option<usize>,
    pub name: String,
    pub spec: String,
    pub state: EntrantState,
    /// When it was added, in seconds since 1970.
    pub added: u64,
    /// Its rating in Elo points.
    pub rating: Interval,
    /// Wins, ties and losses in its distinct pairs.
    #[serde(flatten)]
    pub counts: WinDrawLoss,
    pub games: u64,
    pub failed: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_failure: Option<String>,
    /// Mean score; 0 points for failed games.
    pub score_mean: f64,
    pub survived_share: f64,
    pub cost: MeanCost,
    pub decision_p50_ms: f64,
    pub decision_p99_ms: f64,
    pub decision_max_ms: f64,
    /// The result of the pair with the next active entrant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<PairResult>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct VersionTest {
    pub newer: String,
    pub older: String,
    /// The verdict of the sequential tests on the newer version.
    pub result: PairResult,
    /// Wins, ties and losses of the newer version in distinct pairs.
    #[serde(flatten)]
    pub counts: WinDrawLoss,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LadderGame {
    /// Its number, from 1.
    pub number: u64,
    pub name: String,
    pub map: String,
    /// The points of the game: 0 if the bot failed.
    pub points: u32,
    /// The last tick: 2001 if the game is complete.
    pub final_tick: u16,
    /// The failure, if the bot failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
}

impl LadderGame {
    pub(super) const KEPT: usize = 100;

    pub(super) fn of(number: u64, game: &GameRecord) -> Self {
        let failure =
            game.failure().map(|failure| format!("{} in tick {}: {}", failure.kind, failure.tick, failure.detail));
        let (name, map) = (game.planner.clone(), game.map.clone());
        Self { number, name, map, points: game.points(), final_tick: game.final_tick, failure }
    }
}

impl Ladder {
    pub fn standing(&self) -> LadderStanding {
        let mut now = self.current_ratings();
        now.resize(self.members.len(), Interval { estimate: 0.0, low: 0.0, high: 0.0 });
        let by_rating = |one: &usize, other: &usize| now[*other].estimate.total_cmp(&now[*one].estimate);
        let mut order: Vec<usize> = (0..self.members.len()).collect();
        order.sort_by(by_rating);
        let (active, others): (Vec<usize>, Vec<usize>) =
            order.into_iter().partition(|&index| self.members[index].is_active());
        let result = |left: usize, right: usize| oriented(self.pair(left, right).result(), left < right);
        let open = |pair: &(usize, usize)| result(pair.0, pair.1) == PairResult::Open;
        let open_pairs = if self.ratings.len() < self.members.len() {
            0
        } else {
            self.neighbours().iter().filter(|pair| open(pair)).count()
        };
        let row = |index: usize, place: Option<usize>, next: Option<usize>| {
            let counts = (0..self.members.len()).filter(|&other| other != index).map(|other| {
                let counts = self.pair(index, other).counts();
                if index < other { counts } else { counts.reversed() }
            });
            LadderRow {
                place,
                rating: now[index],
                counts: counts.fold(WinDrawLoss::default(), WinDrawLoss::plus),
                next: next.map(|next| result(index, next)),
                ..self.members[index].row()
            }
        };
        let ranked = active
            .iter()
            .enumerate()
            .map(|(place, &index)| row(index, Some(place + 1), active.get(place + 1).copied()));
        let entrants = ranked.chain(others.iter().map(|&index| row(index, None, None))).collect();
        let recent = self.recent.iter().rev().cloned().collect();
        LadderStanding { games: self.games, open_pairs, entrants, versions: self.version_tests(), recent }
    }

    /// The test of each entrant against the latest earlier version with the same name.
    fn version_tests(&self) -> Vec<VersionTest> {
        let test = |newer: usize| {
            let base = base_name(&self.members[newer].name);
            let older = (0..newer).rev().find(|&older| base_name(&self.members[older].name) == base)?;
            let pair = self.pair(older, newer);
            let (newer, older) = (self.members[newer].name.clone(), self.members[older].name.clone());
            Some(VersionTest { newer, older, result: oriented(pair.result(), false), counts: pair.counts().reversed() })
        };
        (0..self.members.len()).filter_map(test).collect()
    }
}

/// Converts the result of a pair to the view of its earlier or its later entrant.
fn oriented(result: PairResult, is_earlier: bool) -> PairResult {
    match result {
        PairResult::Better if !is_earlier => PairResult::Worse,
        PairResult::Worse if !is_earlier => PairResult::Better,
        same => same,
    }
}

impl Member {
    fn row(&self) -> LadderRow {
        let sums = &self.sums;
        let games = sums.games.max(1) as f64;
        LadderRow {
            place: None,
            name: self.name.clone(),
            spec: self.spec.clone(),
            state: self.state.clone(),
            added: self.added,
            rating: Interval { estimate: 0.0, low: 0.0, high: 0.0 },
            counts: WinDrawLoss::default(),
            games: sums.games,
            failed: sums.failed,
            last_failure: sums.last_failure.clone(),
            score_mean: sums.points as f64 / games,
            survived_share: sums.survived as f64 / games,
            cost: MeanCost {
                cpu_ms_mean: sums.cpu_ms as f64 / games,
                memory_mb_max: sums.memory_kib_max.div_ceil(1 << 10),
            },
            decision_p50_ms: sums.times.quantile_ms(0.5),
            decision_p99_ms: sums.times.quantile_ms(0.99),
            decision_max_ms: sums.times.max_ms(),
            next: None,
        }
    }
}
