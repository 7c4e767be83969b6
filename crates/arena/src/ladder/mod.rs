//! A ladder rates entrants, which can be added and retired at any time. The first games of new
//! entrants have priority. Otherwise the ladder plays the game that it expects to be the most
//! informative.
//!
//! All entrants play the same sequence of *units*: each unit is a map and a seed. Two entrants are
//! compared on the units that both have played, so one game serves in many comparisons. A pair of
//! entrants is closed when sequential tests have decided it, or when the entrants only repeat
//! earlier games. After its first games, an entrant plays only for open pairs with entrants at most
//! two places away in the ranking.
//!
//! Guarantees: every finished game is in the journal before it counts. The standing depends only on
//! the journal. With one thread, built-in planners and a budget in simulated ticks, the next game
//! depends only on the options and the journal. Memory grows with the number of games.

mod pairs;
mod run;
mod standing;
mod store;

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::entrant::{Entrant, NAME_CHARS_MAX, shown_names, valid_name};
use super::eval::Totals;
use super::external_summary::ExternalSummary;
use super::rating::{RatedPairs, ranked, ratings};
use super::record::GameRecord;
use super::remote::LadderJob;
use super::results::GameSettings;
use super::series::Series;
use getaway_runs::fnv;
use getaway_runs::stats::Interval;

pub use pairs::PairResult;
use pairs::{PairState, Played};
pub use run::{LadderNews, LadderOptions, run_ladder};
pub use standing::{LadderGame, LadderRow, LadderStanding, LadderText, VersionTest, ladder_page};
pub use store::{LadderError, LadderRequest, entrant_names, request};

/// A new entrant plays this many games (all its games, if they are fewer) before its place in the
/// ranking matters.
const FIRST_GAMES: usize = 10;
/// A bot is set aside after this many failed games in a row.
const FAILURES_MAX: u64 = 3;
/// Maximum number of games in progress. A journal contains no unit that is further ahead of its
/// entrant's games, so that a number in a damaged journal cannot use up the memory.
const IN_PROGRESS_MAX: usize = 4096;
/// Further games are chosen only for pairs of entrants at most this many places apart.
const NEIGHBOURS: usize = 2;

/// The settings of all games of a ladder. A run can continue a ladder only with equal settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Settings {
    #[serde(flatten)]
    pub games: GameSettings,
    pub tick_ms: u64,
    pub maps: Vec<LadderMap>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LadderMap {
    pub name: String,
    pub layout: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Event {
    Add { name: String, spec: String, at: u64, request: String },
    Retire { name: String, at: u64, request: String },
    SetAside { name: String, reason: String, at: u64 },
    Game(Box<GameRecord>),
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EntrantState {
    #[default]
    Active,
    Retired,
    /// The entrant failed in too many games in a row. The text gives the reason and the last
    /// failure.
    SetAside(String),
}

#[derive(Debug, Default)]
struct Member {
    /// The entrant's row in the standing, without the decision times and what depends on other
    /// entrants.
    row: LadderRow,
    games: Vec<Option<Played>>,
    /// Units in progress.
    pending: BTreeSet<usize>,
    failures_in_row: u64,
    totals: Totals,
}

impl Member {
    fn entrant(&self) -> String {
        format!("{}={}", self.row.name, self.row.spec)
    }

    fn next_unit(&self) -> usize {
        let is_free = |unit: &usize| self.games.get(*unit).is_none_or(Option::is_none) && !self.pending.contains(unit);
        (0..).find(is_free).expect("finitely many units are played")
    }

    fn count(&mut self, game: &GameRecord) {
        let (row, totals) = (&mut self.row, &mut self.totals);
        totals.add(game);
        row.games = totals.games;
        row.score_mean = totals.mean(totals.points);
        row.survived_share = totals.mean(totals.survived);
        row.cost = totals.cost();
        if let Some(external) = &game.external {
            row.mistakes.merge(&external.mistakes);
        }
        if game.failure().is_none() {
            self.failures_in_row = 0;
            return;
        }
        self.failures_in_row += 1;
        row.failed += 1;
        row.last_failure = ExternalSummary::of(row.name.clone(), std::iter::once(game)).failures.pop();
    }

    fn is_active(&self) -> bool {
        self.row.state == EntrantState::Active
    }
}

#[derive(Debug, Default)]
pub(crate) struct Ladder {
    maps: Vec<String>,
    /// Maximum number of games per entrant.
    units_max: usize,
    members: Vec<Member>,
    /// The pair of members `i < j` is `pairs[j][i]`.
    pairs: Vec<Vec<PairState>>,
    /// The ids of the requests that were carried out.
    requests: BTreeSet<String>,
    games: u64,
    /// The last games, newest first.
    recent: VecDeque<LadderGame>,
    ratings: Vec<Interval>,
    /// Total number of games at which the ratings are next recomputed.
    ratings_due: u64,
}

impl Ladder {
    pub fn entrants(&self) -> Vec<String> {
        self.members.iter().map(Member::entrant).collect()
    }

    /// The name of a new entrant: its given name, or its shortest name with hyphens in place of
    /// invalid characters. If the name is taken, the entrant gets the first free version of the
    /// name, from `@2`. A version number that the name already has is replaced.
    pub fn free_name(&self, entrant: &Entrant) -> String {
        let name = valid_name(&shown_names(std::slice::from_ref(entrant)).remove(0));
        if self.index(&name).is_none() {
            return name;
        }
        // Leaves room for a version such as `@12345`.
        let base: String = base_name(&name).chars().take(NAME_CHARS_MAX - 6).collect();
        let versions = (2..).map(|version| format!("{base}@{version}"));
        versions.into_iter().find(|name| self.index(name).is_none()).expect("finitely many versions")
    }

    /// The index of the entrant with this name.
    fn index(&self, name: &str) -> Option<usize> {
        self.members.iter().position(|member| member.row.name == name)
    }

    /// Fails if an event contradicts the ladder's maps or earlier events.
    pub fn check(&self, event: &Event) -> Result<(), String> {
        match event {
            Event::Add { name, .. } if self.index(name).is_some() => Err(format!("{name} is added twice")),
            Event::Retire { name, .. } | Event::SetAside { name, .. } if self.index(name).is_none() => {
                Err(format!("no entrant is named {name}"))
            }
            Event::Game(game) => self.place_of(game).map(drop),
            _ => Ok(()),
        }
    }

    /// Applies an event; fails if [`Self::check`] fails.
    pub fn apply(&mut self, event: &Event) -> Result<(), String> {
        self.check(event)?;
        if let Event::Add { request, .. } | Event::Retire { request, .. } = event {
            self.requests.insert(request.clone());
        }
        match event {
            Event::Add { name, spec, at, .. } => {
                let row = LadderRow { name: name.clone(), spec: spec.clone(), added: *at, ..LadderRow::default() };
                self.pairs.push(self.members.iter().map(|_| PairState::new(self.maps.len())).collect());
                self.members.push(Member { row, ..Member::default() });
                self.ratings_due = self.games;
                self.rate();
            }
            Event::Retire { name, .. } => self.set_state(name, EntrantState::Retired),
            Event::SetAside { name, reason, .. } => self.set_state(name, EntrantState::SetAside(reason.clone())),
            Event::Game(game) => self.apply_game(game)?,
        }
        Ok(())
    }

    fn set_state(&mut self, name: &str, state: EntrantState) {
        let index = self.index(name).expect("the event was checked");
        self.members[index].row.state = state;
    }

    /// The indices of the entrant and the unit of a game.
    fn place_of(&self, game: &GameRecord) -> Result<(usize, usize), String> {
        let unknown = || format!("found a game of {}, which is not an entrant", game.planner);
        let entrant = self.index(&game.planner).ok_or_else(unknown)?;
        let games = self.members[entrant].totals.games;
        let map = self.maps.iter().position(|map| *map == game.map);
        let map = map.ok_or_else(|| format!("found a game on {}, which is not a map of this ladder", game.map))?;
        let unit = game.sample as usize * self.maps.len() + map;
        if unit as u64 >= games + IN_PROGRESS_MAX as u64 {
            let (name, sample) = (&game.planner, game.sample);
            return Err(format!("found sample {sample} of {name} after {games} of its games: expected them in order"));
        }
        if self.members[entrant].games.get(unit).is_some_and(Option::is_some) {
            return Err(format!("unit {unit} of {} is played twice", game.planner));
        }
        Ok((entrant, unit))
    }

    fn apply_game(&mut self, game: &GameRecord) -> Result<(), String> {
        let (entrant, unit) = self.place_of(game)?;
        let member = &mut self.members[entrant];
        member.pending.remove(&unit);
        if member.games.len() <= unit {
            member.games.resize(unit + 1, None);
        }
        member.games[unit] = Some(Played { rank: game.rank(), moves: fnv(&[game.moves.as_bytes()]) });
        member.count(game);
        self.games += 1;
        for other in (0..self.members.len()).filter(|&other| other != entrant) {
            let (later, earlier) = (entrant.max(other), entrant.min(other));
            let (left, right) = (&self.members[earlier].games, &self.members[later].games);
            self.pairs[later][earlier].update(left, right);
        }
        self.rate();
        self.recent.push_front(LadderGame::new(self.games, game));
        self.recent.truncate(LadderGame::KEPT);
        Ok(())
    }

    /// The reason to set an entrant aside after its latest game; `None` to keep it.
    pub fn reason_to_set_aside(&self, name: &str) -> Option<String> {
        let member = &self.members[self.index(name)?];
        let is_failing = member.is_active() && member.failures_in_row >= FAILURES_MAX;
        let last = member.row.last_failure.as_deref().unwrap_or_default();
        is_failing.then(|| format!("failed in {FAILURES_MAX} games in a row; last: {last}"))
    }

    /// Chooses the next game and marks it as in progress; see [`Self::choice`]. `series` has the entrants
    /// of the ladder.
    pub fn next(&mut self, series: &Arc<Series>) -> Option<LadderJob> {
        let index = self.choice()?;
        let member = &mut self.members[index];
        let unit = member.next_unit();
        member.pending.insert(unit);
        let here = (Arc::clone(series), unit * series.names.len() + index);
        Some(LadderJob { entrant: member.entrant(), unit, here: Some(here) })
    }

    /// The entrant that plays the next game. Returns `None` if no further game is informative:
    /// neither a new entrant nor an open pair of neighbours has a unit left to play.
    pub fn choice(&self) -> Option<usize> {
        self.newcomer().or_else(|| self.open_entrant())
    }

    pub fn in_progress(&self) -> usize {
        self.members.iter().map(|member| member.pending.len()).sum()
    }

    fn newcomer(&self) -> Option<usize> {
        let first = FIRST_GAMES.min(self.units_max);
        let news = (0..self.members.len()).filter(|&index| self.members[index].is_active());
        let news = news.map(|index| (self.members[index].next_unit(), index)).filter(|&(unit, _)| unit < first);
        news.min().map(|(_, index)| index)
    }

    /// Selects the open pair of neighbours with the most informative next unit, and returns the
    /// entrant that has to play this unit.
    fn open_entrant(&self) -> Option<usize> {
        let gain = |(left, right): (usize, usize)| {
            let units = [left, right].map(|index| self.members[index].next_unit());
            let behind = if units[0] <= units[1] { left } else { right };
            let played = units[0].min(units[1]);
            // The variance of the next result, divided by one plus the number of results so far.
            let odds = (self.ratings[left].estimate - self.ratings[right].estimate) / 400.0;
            let share = 1.0 / (1.0 + 10_f64.powf(-odds));
            let is_open = played < self.units_max && self.pair(left, right).result() == PairResult::Open;
            is_open.then(|| (share * (1.0 - share) / (played + 1) as f64, behind))
        };
        // Of equal gains, the first.
        let best = self.neighbours().filter_map(gain).min_by(|one, other| other.0.total_cmp(&one.0));
        best.map(|(_, entrant)| entrant)
    }

    fn neighbours(&self) -> impl Iterator<Item = (usize, usize)> {
        let mut order = ranked(&self.ratings);
        order.retain(|&index| self.members[index].is_active());
        (1..=NEIGHBOURS).flat_map(move |gap| order.clone().into_iter().zip(order.clone().into_iter().skip(gap)))
    }

    fn pair(&self, one: usize, other: usize) -> &PairState {
        &self.pairs[one.max(other)][one.min(other)]
    }

    /// Recomputes the ratings if they are due. They are due when an entrant is added, and again
    /// after as many games as there are entrants, or after 2% more games if that is later. The
    /// schedule depends only on the events.
    fn rate(&mut self) {
        if self.games >= self.ratings_due {
            self.ratings = self.current_ratings();
            self.ratings_due = self.games + (self.members.len() as u64).max(self.games / 50);
        }
    }

    fn current_ratings(&self) -> Vec<Interval> {
        let mut rated = Vec::new();
        for (later, pairs) in self.pairs.iter().enumerate() {
            for (earlier, pair) in pairs.iter().enumerate() {
                let counts = pair.by_map.iter().copied().enumerate();
                rated.extend(counts.map(|(map, counts)| RatedPairs { map, sides: [earlier, later], counts }));
            }
        }
        ratings(self.members.len(), &rated)
    }
}

fn base_name(name: &str) -> &str {
    let version = name.rsplit_once('@').filter(|(_, version)| version.parse::<u32>().is_ok());
    version.map_or(name, |(base, _)| base)
}
