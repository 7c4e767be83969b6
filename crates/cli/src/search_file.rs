//! The file of `getaway solve --resume`. Its first line contains the kind and version of the file,
//! the map, the rules, and the number and total time of the runs. The compressed state of the
//! search follows, and then a checksum of everything before it. The checksum detects damage and
//! edits, not forgery, so the command verifies the proof of every search that it read from a file.
//!
//! Guarantees: the file is locked for the whole run, although each save replaces it. A file can
//! expand to at most [`EXPANSION_MAX`] times its size plus [`STATE_BYTES_MIN`].

use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;
use serde::{Deserialize, Serialize};

use getaway::files;
use getaway::game::{Layout, Rules, World};
use getaway::solve::{Solver, SolverOptions};
use getaway_runs::{FileKind, JournalError, fnv, lock, partial_file};

use crate::error::{unreadable, unwritable};
use crate::output::note;
use crate::{Result, invalid};

const KIND: FileKind = FileKind { name: "solve", version: 2 };
const FILE_BYTES_MAX: u64 = 1 << 30;
/// The state of a search compresses by a factor of 3 to 8 (measured on seven searches), and that of a
/// small one by more. In memory, a state takes up to nine times its bytes.
const EXPANSION_MAX: u64 = 16;
const STATE_BYTES_MIN: u64 = 1 << 24;
const CHECKSUM_BYTES: usize = 8;
const SAVE_INTERVAL: Duration = Duration::from_secs(120);

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    getaway: String,
    version: u32,
    /// The number of runs that have worked on the search.
    runs: u64,
    elapsed_ms: u64,
    #[serde(deserialize_with = "files::object")]
    rules: Rules,
    layout: Layout,
}

pub(crate) struct SearchFile {
    path: PathBuf,
    /// The locked file; `None` before the first save of a new search.
    locked: Option<File>,
    header: Header,
    /// Total time of earlier runs; `None` for a new search.
    pub before: Option<Duration>,
    started: Instant,
    /// The time of the last attempt to save.
    saved: Instant,
}

impl SearchFile {
    /// Opens or creates a file. Returns it with a solver that starts or continues the search.
    pub fn open(path: &Path, world: &World, options: SolverOptions) -> Result<(Self, Solver)> {
        KIND.check_replaceable(path, FILE_BYTES_MAX).map_err(|error| invalid!("{error}"))?;
        let (locked, header, solver) = match files::open(path, FILE_BYTES_MAX) {
            Ok(file) => {
                let (file, bytes) = read_locked(path, file)?;
                let restored = restore(&bytes, world, options);
                let (header, solver) = restored.map_err(|why| invalid!("{}{why}", path.display()))?;
                (Some(file), header, solver)
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {
                let (getaway, version) = (KIND.name.to_owned(), KIND.version);
                let (rules, layout) = (*world.rules(), world.layout().clone());
                let header = Header { getaway, version, runs: 0, elapsed_ms: 0, rules, layout };
                (None, header, Solver::new(options))
            }
            Err(error) => return Err(unreadable(path, &error)),
        };
        let before = locked.is_some().then(|| Duration::from_millis(header.elapsed_ms));
        let header = Header { runs: header.runs.wrapping_add(1), ..header };
        let now = Instant::now();
        let mut file = Self { path: path.to_owned(), locked, header, before, started: now, saved: now };
        // Fail now, not after the work, if the file cannot be written.
        file.save(&solver)?;
        Ok((file, solver))
    }

    /// Saves the search if the last attempt was over two minutes ago. An error is only noted,
    /// because the next attempt may succeed.
    pub fn update(&mut self, solver: &Solver) {
        if self.saved.elapsed() > SAVE_INTERVAL
            && let Err(error) = self.save(solver)
        {
            note(&format!("{error}; the search goes on"));
        }
    }

    /// Saves the search. If this fails or is interrupted, the file stays as it was.
    pub fn save(&mut self, solver: &Solver) -> Result {
        self.saved = Instant::now();
        let elapsed = self.before.unwrap_or_default() + self.started.elapsed();
        self.header.elapsed_ms = elapsed.as_millis().try_into().unwrap_or(u64::MAX);
        let written = encode(&self.header, solver).and_then(|bytes| self.replace(&bytes));
        written.map_err(|error| match error.kind() {
            ErrorKind::AlreadyExists => JournalError::InUse { path: self.path.clone() }.into(),
            _ => unwritable(&self.path, &error),
        })
    }

    /// Replaces the file. Locks the new file before it appears, and unlocks the old one afterwards
    /// (on Windows, before that).
    fn replace(&mut self, bytes: &[u8]) -> io::Result<()> {
        let target = fs::canonicalize(&self.path).unwrap_or_else(|_| self.path.clone());
        let mut partial = partial_file(&target)?;
        lock(&target, partial.as_file()).map_err(io::Error::other)?;
        partial.write_all(bytes)?;
        let old = self.locked.replace(partial.as_file().try_clone()?);
        let is_new = old.is_none();
        // Windows does not replace an open file.
        let old = old.filter(|_| !cfg!(windows));
        let persisted = if is_new { partial.persist_noclobber(&target) } else { partial.persist(&target) };
        persisted.map(drop).map_err(|error| {
            self.locked = old;
            error.error
        })
    }
}

/// Locks a file and reads it. Fails if another run has it locked, or has just replaced it.
fn read_locked(path: &Path, mut file: io::Take<File>) -> Result<(File, Vec<u8>)> {
    lock(path, file.get_ref())?;
    let mut bytes = Vec::new();
    let read = file.read_to_end(&mut bytes).and_then(|_| is_at(path, file.get_ref()));
    if read.map_err(|error| unreadable(path, &error))? {
        return Ok((file.into_inner(), bytes));
    }
    Err(JournalError::InUse { path: path.to_owned() }.into())
}

#[cfg(unix)]
fn is_at(path: &Path, file: &File) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt;
    let [found, expected] = [fs::metadata(path)?, file.metadata()?].map(|metadata| (metadata.dev(), metadata.ino()));
    Ok(found == expected)
}

#[cfg(not(unix))]
fn is_at(_: &Path, _: &File) -> io::Result<bool> {
    Ok(true)
}

fn encode(header: &Header, solver: &Solver) -> io::Result<Vec<u8>> {
    let mut bytes = serde_json::to_vec(header)?;
    bytes.push(b'\n');
    let mut encoder = BufWriter::new(DeflateEncoder::new(bytes, Compression::fast()));
    solver.save(&mut encoder)?;
    encoder.flush()?;
    let mut bytes = encoder.into_inner()?.finish()?;
    let check = fnv(&[&bytes]).to_le_bytes();
    bytes.extend(check);
    Ok(bytes)
}

fn restore(bytes: &[u8], world: &World, options: SolverOptions) -> Result<(Header, Solver), String> {
    let (content, check) = bytes.split_last_chunk::<CHECKSUM_BYTES>().ok_or(": the file is incomplete")?;
    if fnv(&[content]).to_le_bytes() != *check {
        return Err(": the checksum is wrong: the file was edited, or its end is missing".to_owned());
    }
    let header_bytes = content.iter().position(|&byte| byte == b'\n').ok_or(": the first line is incomplete")?;
    let (header, state) = content.split_at(header_bytes);
    let header: Header = serde_json::from_slice(header).map_err(|error| format!(", line 1: {error}"))?;
    if header.layout != *world.layout() {
        return Err(", line 1: this is the search of another map".to_owned());
    }
    if header.rules != *world.rules() {
        return Err(", line 1: this is the search of the same map under other rules".to_owned());
    }
    // Adds the number of earlier runs to the seed, so that this run makes other random choices.
    let options = SolverOptions { seed: options.seed.wrapping_add(header.runs), ..options };
    let bytes_max = STATE_BYTES_MIN + EXPANSION_MAX * state.len() as u64;
    let mut state = BufReader::new(DeflateDecoder::new(&state[1..]).take(bytes_max));
    let solver = Solver::restore(options, world, &mut state).map_err(|error| match state.get_ref().limit() {
        0 => format!(": the state expands to more than {bytes_max} bytes"),
        _ => format!(": {error}"),
    })?;
    Ok((header, solver))
}
