//! The recorded games of a viewer, with their replays, analyses and branches.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use serde::Serialize;

use super::analysis::{ANALYSIS_TICKS, Analysis, serialize_end};
use super::game_log::{GameLog, RecordingSource};
use super::live::GameStates;
use super::pack::pack;
use super::replay::Replay;
use getaway::game::{POINTS_PER_TICK, Rules, State, Status};
use getaway::map::Map;
use getaway::planner::Budget;
use getaway::protocol::to_json;
use getaway::recording::RecordingError;

const ANALYSIS_TIME: Duration = Duration::from_secs(4);
/// Maximum number of games: each takes a few megabytes once it was viewed.
const GAMES_MAX: usize = 1000;

/// Recorded games, numbered from 1.
#[derive(Debug, Default)]
pub struct GameLibrary {
    games: Mutex<Vec<Arc<LibraryGame>>>,
    maps: Vec<Map>,
    rules: Option<Rules>,
}

#[derive(Debug)]
struct LibraryGame {
    log: GameLog,
    replay: OnceLock<Replay>,
    analysis: OnceLock<Analysis>,
}

/// An entry of the list. Serialized as an object with these fields.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct Entry {
    game: u64,
    title: String,
    map: Option<String>,
    planner: Option<String>,
    score: u32,
    #[serde(serialize_with = "serialize_end")]
    end: Status,
    tick: u32,
    rows: Vec<String>,
    player: [i32; 2],
    /// True if a command was late, missing, unreadable or ignored, or the bot disconnected.
    has_incidents: bool,
}

impl GameLibrary {
    /// Creates an empty library. `rules` override those of the recordings; `maps` are known maps.
    pub fn new(rules: Option<Rules>, maps: Vec<Map>) -> Self {
        Self { games: Mutex::default(), maps, rules }
    }

    /// Adds a recording and returns its number.
    ///
    /// # Errors
    /// If it cannot be read, or the library is full.
    pub fn add(&self, source: &RecordingSource) -> Result<u64, LibraryError> {
        self.add_log(GameLog::read(source, self.rules.as_ref(), &self.maps)?)
    }

    /// Adds a parsed recording and returns its number.
    ///
    /// # Errors
    /// If the library is full.
    pub fn add_log(&self, log: GameLog) -> Result<u64, LibraryError> {
        let mut games = self.games.lock().unwrap_or_else(PoisonError::into_inner);
        if games.len() == GAMES_MAX {
            return Err(LibraryError::Full);
        }
        games.push(Arc::new(LibraryGame { log, replay: OnceLock::new(), analysis: OnceLock::new() }));
        Ok(games.len() as u64)
    }

    /// The list of the games as JSON.
    pub fn list(&self) -> String {
        let games = self.games.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let entries: Vec<Entry> = games.iter().enumerate().map(|(index, game)| game.entry(index as u64 + 1)).collect();
        to_json(&entries)
    }

    /// The packed replay of a game from a frame on.
    pub fn pack(&self, number: u64, from: usize) -> Option<(String, Vec<u8>)> {
        let game = self.game(number)?;
        let replay = game.replay.get_or_init(|| Replay::of_log(&game.log));
        Some(pack(replay, number, from))
    }

    /// The analysis of a game as JSON; takes a few seconds the first time.
    pub fn analysis(&self, number: u64) -> Option<String> {
        let game = self.game(number)?;
        Some(to_json(game.analysis.get_or_init(|| Analysis::of_log(&game.log, analysis_budget()))))
    }

    /// The states of a game up to a frame, without those before a gap in the recording; `None`
    /// without such a game, or without a state in that frame.
    pub fn states(&self, number: u64, index: usize) -> Option<GameStates> {
        let LibraryGame { log, .. } = &*self.game(number)?;
        let ticks = log.ticks.get(..=index).unwrap_or(&log.ticks);
        let last = log.last.as_ref().filter(|_| index == log.ticks.len());
        let known = ticks.iter().rev().map_while(|tick| tick.state.as_ref());
        let mut states: Vec<State> = last.into_iter().chain(known).cloned().collect();
        states.reverse();
        let is_known = index < log.ticks.len() && log.ticks[index].state.is_some() || last.is_some();
        let title = log.map.clone().unwrap_or_else(|| log.title.clone());
        is_known.then(|| GameStates { title, world: Arc::clone(&log.world), states })
    }

    fn game(&self, number: u64) -> Option<Arc<LibraryGame>> {
        let games = self.games.lock().unwrap_or_else(PoisonError::into_inner);
        games.get(usize::try_from(number).ok()?.checked_sub(1)?).cloned()
    }
}

/// The default budget of an analysis.
pub fn analysis_budget() -> Budget {
    Budget::time(ANALYSIS_TIME).and(Budget::ticks(ANALYSIS_TICKS))
}

impl LibraryGame {
    fn entry(&self, game: u64) -> Entry {
        let log = &self.log;
        let (layout, last) = (log.world.layout(), log.ticks.last());
        let row = |y: i32| (0..layout.width).map(|x| layout.tiles[(y * layout.width + x) as usize].letter()).collect();
        let tick = log.last.as_ref().map(|state| u32::from(state.tick()));
        let tick = tick.or(last.map(|tick| tick.tick)).unwrap_or(0);
        let player = log.last.as_ref().map(|state| log.world.player(state));
        let player = player.or(last.map(|tick| tick.positions.player)).unwrap_or(layout.player);
        let is_incident = |tick: &super::game_log::LoggedTick| match &tick.wire {
            Some(wire) => wire.command.is_none() || !wire.late.is_empty() || !wire.unreadable.is_empty(),
            None => tick.played.is_some() && tick.said != tick.played,
        };
        Entry {
            game,
            title: log.title.clone(),
            map: log.map.clone(),
            planner: log.notes.as_ref().and_then(|notes| notes.planner.clone()),
            score: tick * POINTS_PER_TICK,
            end: log.status(),
            tick,
            rows: (0..layout.height).map(row).collect(),
            player: [player.x, player.y],
            has_incidents: log.ticks.iter().any(is_incident),
        }
    }
}

/// The reason for refusing a recording.
#[derive(Debug, thiserror::Error)]
pub enum LibraryError {
    /// The recording cannot be read.
    #[error(transparent)]
    Recording(#[from] RecordingError),
    /// The library has the maximum number of games.
    #[error("too many games: expected at most {GAMES_MAX}")]
    Full,
}
