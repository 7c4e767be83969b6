//! The standing of a ladder: its entrants, their ratings and the results of their tests, as data and
//! as an HTML page.
//!
//! Pairs of games with the same moves on the same map count once, as one *distinct pair*.

use serde::Serialize;

use super::{EntrantState, Ladder, Member, PairResult, base_name};
use crate::eval::MeanCost;
use crate::rating::ranked;
use crate::record::GameRecord;
use getaway::protocol::{Mistakes, to_json};
use getaway_runs::stats::{Interval, WinDrawLoss};
use getaway_viewer::{for_script, with_head};

const TEMPLATE: &str = include_str!("page.html");
const DATA: &str = "{{DATA}}";

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LadderStanding {
    pub games: u64,
    /// Number of [`PairResult::Open`] pairs of active entrants that are at most two places apart in
    /// the ranking by which the ladder chooses games.
    pub open_pairs: usize,
    /// The active entrants, best rating first, and then the other entrants, best rating first.
    pub entrants: Vec<LadderRow>,
    /// The tests of new versions, such as `bot@2`, against the versions before them.
    pub versions: Vec<VersionTest>,
    /// The last games, newest first; at most 100.
    pub recent: Vec<LadderGame>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct LadderRow {
    /// The place among the active entrants, from 1; `None` if the entrant is not active.
    pub place: Option<usize>,
    pub name: String,
    pub spec: String,
    pub state: EntrantState,
    /// The time at which the entrant was added, in seconds since 1970.
    pub added: u64,
    /// The rating in Elo points, with its 95% confidence interval.
    pub rating: Interval,
    /// Wins, ties and losses of the entrant in distinct pairs.
    #[serde(flatten)]
    pub counts: WinDrawLoss,
    pub games: u64,
    pub failed: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_failure: Option<String>,
    /// The mistakes in a bot's messages, by kind.
    #[serde(skip_serializing_if = "Mistakes::is_empty")]
    pub mistakes: Mistakes,
    /// Mean score; a failed game counts as 0 points.
    pub score_mean: f64,
    pub survived_share: f64,
    pub cost: MeanCost,
    pub decision_p50_ms: f64,
    pub decision_p99_ms: f64,
    pub decision_max_ms: f64,
    /// The result against the active entrant one place below; `None` for the last active entrant,
    /// and for entrants that are not active.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<PairResult>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct VersionTest {
    pub newer: String,
    pub older: String,
    /// The result of the sequential tests: `Better` if the newer version is better.
    pub result: PairResult,
    /// Wins, ties and losses of the newer version in distinct pairs of the two versions.
    #[serde(flatten)]
    pub counts: WinDrawLoss,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LadderGame {
    pub number: u64,
    pub name: String,
    pub map: String,
    /// The score of the game; 0 if the bot failed.
    pub points: u32,
    /// The tick in which the game ended; 2001 for a complete game.
    pub final_tick: u16,
    /// If the bot failed: the kind of failure, the tick and the details, as text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
}

impl LadderGame {
    pub(super) const KEPT: usize = 100;

    pub(super) fn new(number: u64, game: &GameRecord) -> Self {
        let failure =
            game.failure().map(|failure| format!("{} at tick {}: {}", failure.kind, failure.tick, failure.detail));
        let (name, map) = (game.planner.clone(), game.map.clone());
        Self { number, name, map, points: game.points(), final_tick: game.final_tick, failure }
    }
}

impl Ladder {
    pub fn standing(&self) -> LadderStanding {
        let now = self.current_ratings();
        let (active, others): (Vec<usize>, Vec<usize>) =
            ranked(&now).into_iter().partition(|&index| self.members[index].is_active());
        let is_open = |&(one, other): &(usize, usize)| self.pair(one, other).result() == PairResult::Open;
        let row = |index: usize, place: Option<usize>, next: Option<usize>| {
            let counts =
                (0..self.members.len()).filter(|&other| other != index).map(|other| self.seen_by(index, other).1);
            let Member { row, totals, .. } = &self.members[index];
            LadderRow {
                place,
                rating: now[index],
                counts: counts.fold(WinDrawLoss::default(), WinDrawLoss::plus),
                decision_p50_ms: totals.times.quantile_ms(0.5),
                decision_p99_ms: totals.times.quantile_ms(0.99),
                decision_max_ms: totals.times.max_ms(),
                next: next.map(|next| self.seen_by(index, next).0),
                ..row.clone()
            }
        };
        let placed = (0..active.len()).map(|at| row(active[at], Some(at + 1), active.get(at + 1).copied()));
        LadderStanding {
            games: self.games,
            open_pairs: self.neighbours().filter(is_open).count(),
            entrants: placed.chain(others.iter().map(|&index| row(index, None, None))).collect(),
            versions: self.version_tests(),
            recent: self.recent.iter().cloned().collect(),
        }
    }

    /// Returns the test of each newer version, such as `bot@2`, against the version before it.
    fn version_tests(&self) -> Vec<VersionTest> {
        let test = |newer: usize| {
            let base = base_name(&self.members[newer].row.name);
            let older = (0..newer).rev().find(|&older| base_name(&self.members[older].row.name) == base)?;
            let (result, counts) = self.seen_by(newer, older);
            let (newer, older) = (self.members[newer].row.name.clone(), self.members[older].row.name.clone());
            Some(VersionTest { newer, older, result, counts })
        };
        (0..self.members.len()).filter_map(test).collect()
    }

    /// Returns the result and the counts of a pair from the point of view of `one`.
    fn seen_by(&self, one: usize, other: usize) -> (PairResult, WinDrawLoss) {
        let pair = self.pair(one, other);
        match pair.result() {
            result if one < other => (result, pair.counts),
            PairResult::Better => (PairResult::Worse, pair.counts.reversed()),
            PairResult::Worse => (PairResult::Better, pair.counts.reversed()),
            same => (same, pair.counts.reversed()),
        }
    }
}

#[derive(Clone, Debug, Serialize)]
pub struct LadderText<'a> {
    pub title: &'a str,
    /// The settings of the ladder, shown below the title.
    pub heading: &'a str,
    /// The time of the standing, as shown on the page.
    pub updated: &'a str,
    /// True if the ladder is running, in which case the page updates itself.
    pub is_running: bool,
}

/// Renders the page, on which each listed game links to `game.html#NUMBER`.
pub fn ladder_page(standing: &LadderStanding, text: &LadderText<'_>) -> String {
    let data = serde_json::json!({ "text": text, "standing": standing });
    with_head(TEMPLATE).replace(DATA, &for_script(&to_json(&data)))
}
