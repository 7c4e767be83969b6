//! The folder of a ladder, with its journal and the requests to add or retire entrants.

use std::fs;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::{Event, Settings};
use crate::entrant::Entrant;
use crate::results::same_in_run;
use crate::series::SeriesError;
use getaway::files;
use getaway::protocol::write_line;
use getaway_runs::{FileKind, Journal, JournalError, partial_file};

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
    #[error("no entrants: expected --add NAME=PLANNER, or the folder of an existing ladder")]
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
pub(super) struct Line<E> {
    pub event: E,
}

/// Stores a request for the current or next run of a ladder, and returns the path of its file. An
/// added bot runs in the folder `from`. Removing the file before the request is carried out
/// withdraws the request. Creates a missing folder.
///
/// # Errors
/// If the folder cannot be created or written.
pub fn request(folder: &Path, from: &Path, request: LadderRequest) -> Result<PathBuf, LadderError> {
    let inbox = folder.join("inbox");
    let failed = |source| LadderError::Folder { path: inbox.clone(), source };
    fs::create_dir_all(&inbox).map_err(failed)?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let (getaway, version, from) = (REQUEST.to_owned(), JOURNAL.version, from.to_owned());
    let file = RequestFile { getaway, version, from, request };
    // The name starts with the time, because requests are carried out in the order of their names.
    let path = inbox.join(format!("{:020}-{}.json", now.as_nanos(), std::process::id()));
    let mut partial = partial_file(&path).map_err(failed)?;
    write_line(&mut partial, &file).map_err(failed)?;
    partial.persist_noclobber(&path).map_err(|error| failed(error.error))?;
    Ok(path)
}

/// Opens or creates the folder of a ladder, and passes each event in the journal to `read`.
pub(super) fn open(
    folder: &Path,
    settings: &Settings,
    mut read: impl FnMut(Event) -> Result<(), String>,
) -> Result<Journal, LadderError> {
    fs::create_dir_all(folder).map_err(|source| LadderError::Folder { path: folder.to_owned(), source })?;
    let check = |found| check(&found, settings);
    let path = folder.join("ladder.jsonl");
    Journal::open(path, JOURNAL, settings, check, |line: Line<Event>| read(line.event)).map_err(|error| match error {
        JournalError::InUse { .. } => LadderError::Running { folder: folder.to_owned() },
        error => LadderError::Journal(error),
    })
}

/// Returns the path of each request in the inbox with the request. The name of the file is the id of
/// the request.
pub(super) fn waiting(folder: &Path) -> Vec<(PathBuf, RequestFile)> {
    let Ok(entries) = fs::read_dir(folder.join("inbox")) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort();
    let read = |path: PathBuf| {
        let file: RequestFile = serde_json::from_str(&files::read_text(&path, REQUEST_BYTES_MAX).ok()?).ok()?;
        (file.getaway == REQUEST && file.version == JOURNAL.version).then_some((path, file))
    };
    paths.into_iter().filter(|path| path.extension().is_some_and(|end| end == "json")).filter_map(read).collect()
}

/// The names of a ladder's entrants, including retired entrants and those whose requests wait (their
/// specs if they have no names). Reads the journal even while another process runs the ladder.
/// Ignores lines that cannot be read.
pub fn entrant_names(folder: &Path) -> Vec<String> {
    let lines = files::open(folder.join("ladder.jsonl"), u64::MAX).map(|file| BufReader::new(file).split(b'\n'));
    let lines = lines.into_iter().flatten().map_while(Result::ok);
    let added = lines.filter(|line| line.starts_with(b"{\"event\":{\"add\"")).filter_map(|line| {
        let Event::Add { name, .. } = serde_json::from_slice::<Line<Event>>(&line).ok()?.event else { return None };
        Some(name)
    });
    let waiting = waiting(folder).into_iter().filter_map(|(_, file)| match file.request {
        LadderRequest::Add(text) => Some(Entrant::parse(&text).label().to_owned()),
        LadderRequest::Retire(_) => None,
    });
    added.chain(waiting).collect()
}

fn check(found: &Settings, expected: &Settings) -> Result<(), String> {
    found.games.check(&expected.games)?;
    same_in_run("the time per tick in ms", found.tick_ms, expected.tick_ms)?;
    let names = |settings: &Settings| settings.maps.iter().map(|map| &*map.name).collect::<Vec<&str>>().join(" ");
    same_in_run("the list of maps", names(found), names(expected))?;
    let changed = found.maps.iter().zip(&expected.maps).find(|(found, expected)| found != expected);
    changed.map_or(Ok(()), |(map, _)| Err(format!("the map {} has changed", map.name)))
}
