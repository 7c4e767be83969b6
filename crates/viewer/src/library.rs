//! The recorded games of a viewer, with their replays and analyses.

use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use serde::Serialize;

use super::analysis::{ANALYSIS_TICKS, Analysis, LossKind, catchers, serialize_end};
use super::game_log::{GameLog, RecordingSource};
use super::live::GameStates;
use super::pack::pack;
use super::page::{Page, PageSource};
use super::recorded::file_stem;
use super::replay::{Replay, score_at};
use getaway::game::{Rules, State, Status};
use getaway::map::Map;
use getaway::planner::Budget;
use getaway::protocol::to_json;
use getaway::recording::RecordingError;

const ANALYSIS_TIME: Duration = Duration::from_secs(4);
/// Maximum number of games. A game takes a few megabytes of memory once it has been viewed.
const GAMES_MAX: usize = 1000;
const INDEX: &str = "index";

#[derive(Debug, Default)]
pub struct GameLibrary {
    entries: Mutex<Vec<Entry>>,
    maps: Vec<Map>,
    rules: Option<Rules>,
}

#[derive(Clone, Debug)]
struct Entry {
    /// The recording's name without `.jsonl` and `.gz`. A number is appended if the name is `index`
    /// or is taken.
    name: String,
    game: Result<Arc<LibraryGame>, String>,
}

#[derive(Debug)]
struct LibraryGame {
    log: GameLog,
    replay: OnceLock<Replay>,
    analysis: OnceLock<Analysis>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
struct ListEntry {
    game: u64,
    name: String,
    #[serde(flatten)]
    content: ListContent,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
enum ListContent {
    Game(ListGame),
    Unreadable { error: String },
}

#[derive(Clone, Debug, PartialEq, Serialize)]
struct ListGame {
    map: String,
    player: String,
    score: u32,
    #[serde(serialize_with = "serialize_end")]
    status: Status,
    tick: u32,
    catchers: Vec<String>,
    rows: Vec<String>,
    place: [i32; 2],
    has_incidents: bool,
    /// Present only if the game has been analysed.
    #[serde(skip_serializing_if = "Option::is_none")]
    analysis: Option<ListAnalysis>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
struct ListAnalysis {
    kind: Option<LossKind>,
    last_savable_tick: Option<u16>,
}

impl GameLibrary {
    /// If given, `rules` override the rules that the recordings name.
    pub fn new(rules: Option<Rules>, maps: Vec<Map>) -> Self {
        Self { entries: Mutex::default(), maps, rules }
    }

    pub fn add(&self, source: &RecordingSource) -> Result<u64, LibraryError> {
        self.add_log(GameLog::read(source, self.rules.as_ref(), &self.maps)?)
    }

    /// Adds a file. If the file cannot be read, the list shows the error in its place.
    pub fn add_file(&self, path: &Path) -> Result<(), LibraryError> {
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

    pub fn add_log(&self, log: GameLog) -> Result<u64, LibraryError> {
        let name = log.file.clone();
        self.add_entry(&name, Ok(Arc::new(LibraryGame { log, replay: OnceLock::new(), analysis: OnceLock::new() })))
    }

    fn add_entry(&self, name: &str, game: Result<Arc<LibraryGame>, String>) -> Result<u64, LibraryError> {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
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
        self.entries().into_iter().filter_map(|entry| entry.game.err()).collect()
    }

    pub fn list(&self) -> String {
        let entry = |(index, Entry { name, game }): (usize, Entry)| ListEntry {
            game: index as u64 + 1,
            name,
            content: game
                .map_or_else(|error| ListContent::Unreadable { error }, |game| ListContent::Game(game.entry())),
        };
        to_json(&self.entries().into_iter().enumerate().map(entry).collect::<Vec<_>>())
    }

    pub fn names(&self) -> Vec<(u64, String)> {
        let numbered = (1..).zip(self.entries());
        numbered.filter(|(_, entry)| entry.game.is_ok()).map(|(number, entry)| (number, entry.name)).collect()
    }

    pub fn page(&self, number: u64, budget: Budget, playground: Option<&str>) -> Option<Page> {
        let game = self.game(number)?;
        let log = &game.log;
        let analysis = game.analysis.get_or_init(|| Analysis::of_log(log, budget));
        let line = analysis.line_replay(&log.world, log.ticks.iter().filter_map(|logged| logged.state.as_ref()));
        Some(Page::new(PageSource::InGallery(&Replay::of_log(log), analysis, line.as_ref()), playground))
    }

    pub fn pack(&self, number: u64, from: usize) -> Option<(String, Vec<u8>)> {
        let game = self.game(number)?;
        let replay = game.replay.get_or_init(|| Replay::of_log(&game.log));
        Some(pack(replay, number, from))
    }

    /// The analysis of a game as JSON. The first call for a game takes up to a few seconds.
    pub fn analysis(&self, number: u64) -> Option<String> {
        let game = self.game(number)?;
        Some(to_json(game.analysis.get_or_init(|| Analysis::of_log(&game.log, analysis_budget()))))
    }

    /// The longest run of known states that ends at frame `index`; `None` if the state of frame
    /// `index` is unknown.
    pub fn states(&self, number: u64, index: usize) -> Option<GameStates> {
        let LibraryGame { log, .. } = &*self.game(number)?;
        let ticks = log.ticks.get(..=index).unwrap_or(&log.ticks);
        let last = log.last.as_ref().filter(|_| index == log.ticks.len());
        let known = ticks.iter().rev().map_while(|tick| tick.state.as_ref());
        let mut states: Vec<State> = last.into_iter().chain(known).cloned().collect();
        states.reverse();
        let is_known = index < log.ticks.len() && log.ticks[index].state.is_some() || last.is_some();
        let title = log.title().to_owned();
        is_known.then(|| GameStates { title, world: Arc::clone(&log.world), states })
    }

    fn entries(&self) -> Vec<Entry> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn game(&self, number: u64) -> Option<Arc<LibraryGame>> {
        let entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        entries.get(usize::try_from(number).ok()?.checked_sub(1)?)?.game.as_ref().ok().cloned()
    }
}

pub fn analysis_budget() -> Budget {
    Budget::time(ANALYSIS_TIME).and(Budget::ticks(ANALYSIS_TICKS))
}

impl LibraryGame {
    fn entry(&self) -> ListGame {
        let log = &self.log;
        let (layout, last) = (log.world.layout(), log.ticks.last());
        let row = |y: i32| (0..layout.width).map(|x| layout.tiles[(y * layout.width + x) as usize].letter()).collect();
        let tick = log.last.as_ref().map(|state| u32::from(state.tick()));
        let tick = tick.or(last.map(|tick| tick.tick)).unwrap_or(0);
        let place = log.last.as_ref().map(|state| log.world.player(state));
        let place = place.or(last.map(|tick| tick.positions.player)).unwrap_or(layout.player);
        let is_incident = |tick: &super::game_log::LoggedTick| match &tick.wire {
            Some(wire) => wire.command.is_none() || !wire.late.is_empty() || !wire.unreadable.is_empty(),
            None => tick.played.is_some() && tick.commanded != tick.played,
        };
        let caught = log.last.as_ref().filter(|state| state.is_caught());
        let shortened = |&Analysis { kind, last_savable_tick, .. }: &Analysis| ListAnalysis { kind, last_savable_tick };
        ListGame {
            map: log.title().to_owned(),
            player: log.player().to_owned(),
            score: score_at(tick),
            status: log.status(),
            tick,
            catchers: caught.map_or_else(Vec::new, |state| catchers(&log.world, state)),
            rows: (0..layout.height).map(row).collect(),
            place: [place.x, place.y],
            has_incidents: log.ticks.iter().any(is_incident),
            analysis: self.analysis.get().map(shortened),
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum LibraryError {
    #[error(transparent)]
    Recording(#[from] RecordingError),
    #[error("too many games: expected at most {GAMES_MAX}")]
    Full,
}
