//! The recorded games of a viewer, with their replays and analyses.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use serde_json::{Value, json};

use super::analysis::{Analysis, catchers};
use super::game_log::{GameLog, RecordingSource};
use super::page::{Page, PageSource};
use super::recorded::file_stem;
use super::replay::{Replay, score_at};
use getaway::game::Rules;
use getaway::map::Map;
use getaway::protocol::to_json;
use getaway::recording::RecordingError;
use getaway::search::Budget;

/// Maximum number of games. A game takes a few megabytes of memory once it has been viewed.
const GAMES_MAX: usize = 1000;
const INDEX: &str = "index";

#[derive(Debug, Default)]
pub struct GameLibrary {
    entries: Vec<Entry>,
    maps: Vec<Map>,
    rules: Option<Rules>,
}

#[derive(Debug)]
struct Entry {
    /// The recording's name without `.jsonl` and `.gz`. A number is appended if the name is `index`
    /// or is taken.
    name: String,
    game: Result<LibraryGame, String>,
}

#[derive(Debug)]
struct LibraryGame {
    log: Arc<GameLog>,
    analysis: OnceLock<Analysis>,
}

impl GameLibrary {
    /// If given, `rules` override the rules that the recordings name.
    pub fn new(rules: Option<Rules>, maps: Vec<Map>) -> Self {
        Self { entries: Vec::new(), maps, rules }
    }

    pub fn add(&mut self, source: &RecordingSource) -> Result<u64, LibraryError> {
        self.add_log(GameLog::read(source, self.rules.as_ref(), &self.maps)?)
    }

    /// Adds a file. If the file cannot be read, the list shows the error in its place.
    pub fn add_file(&mut self, path: &Path) -> Result<(), LibraryError> {
        let read = GameLog::read(&RecordingSource::File(path.to_owned()), self.rules.as_ref(), &self.maps);
        match read {
            Ok(log) => self.add_log(log).map(drop),
            Err(error) => {
                // A gallery may be published, so it must not show the folders of its files.
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                let error = error.to_string().replace(&path.display().to_string(), &name);
                self.add_entry(&file_stem(path), Err(error)).map(drop)
            }
        }
    }

    pub fn add_log(&mut self, log: GameLog) -> Result<u64, LibraryError> {
        let name = log.file.clone();
        self.add_entry(&name, Ok(LibraryGame { log: Arc::new(log), analysis: OnceLock::new() }))
    }

    fn add_entry(&mut self, name: &str, game: Result<LibraryGame, String>) -> Result<u64, LibraryError> {
        let entries = &mut self.entries;
        if entries.len() == GAMES_MAX {
            return Err(LibraryError::Full);
        }
        // In a gallery, names become file names, and some file systems ignore case.
        let is_free = |name: &str| {
            let name = name.to_lowercase();
            name != INDEX && entries.iter().all(|entry| entry.name.to_lowercase() != name)
        };
        let numbered = (2..).map(|number| format!("{name}-{number}"));
        let name = std::iter::once(name.to_owned()).chain(numbered).find(|name| is_free(name));
        entries.push(Entry { name: name.expect("a free name"), game });
        Ok(entries.len() as u64)
    }

    pub fn errors(&self) -> Vec<String> {
        self.entries.iter().filter_map(|entry| entry.game.as_ref().err().cloned()).collect()
    }

    pub fn list(&self) -> String {
        let entry = |(number, Entry { name, game }): (u64, &Entry)| {
            let mut entry = game.as_ref().map_or_else(|error| json!({ "error": error }), LibraryGame::entry);
            entry["game"] = number.into();
            entry["name"] = name.as_str().into();
            entry
        };
        to_json(&(1..).zip(&self.entries).map(entry).collect::<Vec<_>>())
    }

    pub fn names(&self) -> Vec<(u64, String)> {
        let numbered = (1..).zip(&self.entries);
        numbered.filter(|(_, entry)| entry.game.is_ok()).map(|(number, entry)| (number, entry.name.clone())).collect()
    }

    pub fn page(&self, number: u64, budget: Budget, playground: Option<&str>) -> Option<Page> {
        let game = self.game(number)?;
        let log = &*game.log;
        let analysis = game.analysis.get_or_init(|| Analysis::of_log(log, budget, &mut |_| true));
        let line = analysis.line_replay(&log.world, log.ticks.iter().filter_map(|logged| logged.state.as_ref()));
        Some(Page::new(PageSource::InGallery(&Replay::of_log(log), analysis, line.as_ref()), playground))
    }

    pub fn log(&self, number: u64) -> Option<Arc<GameLog>> {
        Some(Arc::clone(&self.game(number)?.log))
    }

    fn game(&self, number: u64) -> Option<&LibraryGame> {
        self.entries.get(usize::try_from(number).ok()?.checked_sub(1)?)?.game.as_ref().ok()
    }
}

impl LibraryGame {
    /// Returns the game's row in the page's list.
    fn entry(&self) -> Value {
        let log = &self.log;
        let (layout, last) = (log.world.layout(), log.ticks.last());
        let tick = log.last.as_ref().map(|state| u32::from(state.tick()));
        let tick = tick.or(last.map(|tick| tick.tick)).unwrap_or(0);
        let place = log.last.as_ref().map(|state| log.world.player(state));
        let place = place.or(last.map(|tick| tick.positions.player)).unwrap_or(layout.player);
        let is_incident = |tick: &super::game_log::LoggedTick| match &tick.wire {
            Some(wire) => wire.command.is_none() || !wire.late.is_empty() || !wire.unreadable.is_empty(),
            None => tick.played.is_some() && tick.commanded != tick.played,
        };
        let caught = log.last.as_ref().filter(|state| state.is_caught());
        let mut entry = json!({
            "map": log.title(),
            "player": log.player(),
            "score": score_at(tick),
            "status": log.status(),
            "tick": tick,
            "catchers": caught.map_or_else(Vec::new, |state| catchers(&log.world, state)),
            "rows": layout.rows(),
            "place": [place.x, place.y],
            "has_incidents": log.ticks.iter().any(is_incident),
        });
        if let Some(Analysis { kind, last_savable_tick, .. }) = self.analysis.get() {
            entry["analysis"] = json!({ "kind": kind, "last_savable_tick": last_savable_tick });
        }
        entry
    }
}

#[derive(Debug, thiserror::Error)]
pub enum LibraryError {
    #[error(transparent)]
    Recording(#[from] RecordingError),
    #[error("too many games: expected at most {GAMES_MAX}")]
    Full,
}
