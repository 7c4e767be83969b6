//! The folder of a ladder, with its journal and the requests to add or retire entrants.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use tempfile::Builder;
use thiserror::Error;

use super::{Event, Settings};
use crate::entrant::Entrant;
use crate::results::same_in_run;
use crate::series::SeriesError;
use getaway::files;
use getaway_runs::{FileKind, Journal, JournalError};

const JOURNAL: FileKind = FileKind { name: "ladder", version: 1 };
const REQUEST: &str = "ladder request";
const REQUEST_BYTES_MAX: u64 = 1 << 16;

#[derive(Debug, Error)]
#[non_exhaustive]
pub enum LadderError {
    #[error("{}: another process is already running this ladder: expected --add or --retire to change it", .folder.display())]
    Running { folder: PathBuf },
    #[error("{}: {source}", .path.display())]
    Folder { path: PathBuf, source: io::Error },
    #[error(transparent)]
    Journal(JournalError),
    #[error(transparent)]
    Series(#[from] SeriesError),
    #[error("no entrants: expected --add NAME=PLANNER")]
    Empty,
}

/// A request to change the entrants of a ladder, whether or not the ladder is running.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LadderRequest {
    /// Adds an entrant, given as `NAME=SPEC` or `SPEC`.
    Add(String),
    Retire(String),
}

#[derive(Serialize, Deserialize)]
pub(super) struct RequestFile {
    getaway: String,
    version: u32,
    /// The folder in which an added bot runs; empty for the folder in which the ladder runs.
    #[serde(default)]
    pub from: PathBuf,
    #[serde(flatten)]
    pub request: LadderRequest,
}

#[derive(Serialize, Deserialize)]
struct Line<E> {
    event: E,
}

/// Stores a request for the current or next run of a ladder, and returns the path of its file. An
/// added bot runs in the folder `from`.
/// Removing the file before the request is carried out withdraws the request. Creates a missing
/// folder.
///
/// # Errors
/// When the folder cannot be created or written.
pub fn request(folder: &Path, from: &Path, request: LadderRequest) -> Result<PathBuf, LadderError> {
    let inbox = folder.join("inbox");
    let failed = |source| LadderError::Folder { path: inbox.clone(), source };
    fs::create_dir_all(&inbox).map_err(failed)?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let (getaway, version, from) = (REQUEST.to_owned(), JOURNAL.version, from.to_owned());
    let file = RequestFile { getaway, version, from, request };
    let mut partial = Builder::new().prefix(".getaway-").suffix(".partial").tempfile_in(&inbox).map_err(failed)?;
    let text = serde_json::to_string(&file).expect("a request is valid JSON");
    writeln!(partial, "{text}").map_err(failed)?;
    // The name starts with the time, because requests are carried out in the order of their names.
    let path = inbox.join(format!("{:020}-{}.json", now.as_nanos(), std::process::id()));
    partial.persist_noclobber(&path).map_err(|error| failed(error.error))?;
    Ok(path)
}

#[derive(Debug)]
pub(super) struct Store {
    folder: PathBuf,
    journal: Journal,
}

impl Store {
    /// Opens or creates the folder of a ladder, and passes each event in the journal to `read`.
    pub fn open(
        folder: &Path,
        settings: &Settings,
        mut read: impl FnMut(Event) -> Result<(), String>,
    ) -> Result<Self, LadderError> {
        fs::create_dir_all(folder).map_err(|source| LadderError::Folder { path: folder.to_owned(), source })?;
        let path = folder.join("ladder.jsonl");
        let journal = Journal::open(
            path,
            JOURNAL,
            settings,
            |found| check(&found, settings),
            |line: Line<Event>| read(line.event),
        );
        let journal = journal.map_err(|error| match error {
            JournalError::InUse { .. } => LadderError::Running { folder: folder.to_owned() },
            error => LadderError::Journal(error),
        })?;
        Ok(Self { folder: folder.to_owned(), journal })
    }

    /// Appends an event to the journal. If this fails, the event can be appended again.
    pub fn append(&mut self, event: &Event) -> Result<(), JournalError> {
        self.journal.append(&[Line { event }])
    }

    /// Returns the requests in the inbox. The id of a request is the name of its file.
    pub fn waiting(&self) -> Vec<(String, RequestFile)> {
        waiting(&self.folder)
    }

    /// Removes the file of a request that was carried out or refused.
    pub fn remove(&self, id: &str) {
        // If this fails, the run still does not answer the request again: the journal holds the ids
        // of the requests that were carried out, and the run remembers the ids of refused requests.
        let _ = fs::remove_file(self.folder.join("inbox").join(id));
    }
}

fn waiting(folder: &Path) -> Vec<(String, RequestFile)> {
    let Ok(entries) = fs::read_dir(folder.join("inbox")) else { return Vec::new() };
    let mut names: Vec<String> = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect();
    names.sort();
    let read = |id: String| {
        let text = files::read_text(folder.join("inbox").join(&id), REQUEST_BYTES_MAX).ok()?;
        let file: RequestFile = serde_json::from_str(&text).ok()?;
        let is_ours = file.getaway == REQUEST && file.version == JOURNAL.version;
        is_ours.then_some((id, file))
    };
    names.into_iter().filter(|name| name.ends_with(".json")).filter_map(read).collect()
}

/// The names of a ladder's entrants, including those whose requests wait. Reads the journal even while
/// another process runs the ladder. Ignores lines that cannot be read.
pub fn entrant_names(folder: &Path) -> Vec<String> {
    let lines = File::open(folder.join("ladder.jsonl")).map(|file| BufReader::new(file).split(b'\n'));
    let lines = lines.into_iter().flatten().map_while(Result::ok);
    let added =
        lines.filter(|line| line.starts_with(b"{\"event\":{\"add\"")).filter_map(
            |line| match serde_json::from_slice::<Line<Event>>(&line).ok()?.event {
                Event::Add { name, .. } => Some(name),
                _ => None,
            },
        );
    let waiting = waiting(folder).into_iter().filter_map(|(_, file)| match file.request {
        LadderRequest::Add(text) => Entrant::parse(&text).name,
        LadderRequest::Retire(_) => None,
    });
    added.chain(waiting).collect()
}

fn check(found: &Settings, expected: &Settings) -> Result<(), String> {
    found.games.check(&expected.games)?;
    same_in_run("the time per tick in ms", found.tick_ms, expected.tick_ms)?;
    let names =
        |settings: &Settings| settings.maps.iter().map(|map| map.name.clone()).collect::<Vec<String>>().join(" ");
    same_in_run("the list of maps", names(found), names(expected))?;
    let changed = found.maps.iter().zip(&expected.maps).find(|(found, expected)| found != expected);
    changed.map_or(Ok(()), |(map, _)| Err(format!("the map {} has changed", map.name)))
}
