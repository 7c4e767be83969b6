//! The file of `getaway solve --resume`. Its first line contains the kind and version of the file,
//! the map, the rules, and the number and total time of the runs. The compressed state of the
//! search follows, and then a checksum of everything before it. The checksum detects damage and
//! edits, not forgery, so the command verifies the proof of a continued search.

use std::hash::Hasher;
use std::io::{self, BufReader, BufWriter, ErrorKind, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;
use serde::{Deserialize, Serialize};

use getaway::files;
use getaway::fnv::FnvHasher;
use getaway::game::{Layout, Rules, World};
use getaway::planner::{Decider, SurvivalOptions};
use getaway_arena::FileKind;

use crate::CliError;
use crate::error::{unreadable, unwritable};
use crate::output::{OutputFile, rounded};
use crate::series::stop_on_interrupt;

const KIND: FileKind = FileKind { name: "solve", version: 1 };
const FILE_BYTES_MAX: u64 = 1 << 30;
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
    rules: Rules,
    layout: Layout,
}

pub(crate) struct SearchFile {
    file: OutputFile,
    header: Header,
    /// Total time of earlier runs.
    before: Duration,
    started: Instant,
    saved: Instant,
    /// Set by Ctrl-C.
    stop: Arc<AtomicBool>,
}

impl SearchFile {
    /// Opens or creates a file. Returns it with a decider that starts or continues the search.
    pub fn open(path: &Path, world: &World, options: SurvivalOptions) -> Result<(Self, Decider), CliError> {
        let failed = |why: String| CliError::Input(format!("{}{why}", path.display()));
        KIND.check_replaceable(path, FILE_BYTES_MAX).map_err(|error| CliError::Input(error.to_string()))?;
        let (mut header, decider) = match files::read(path, FILE_BYTES_MAX) {
            Ok(bytes) => restore(&bytes, world, options).map_err(failed)?,
            Err(error) if error.kind() == ErrorKind::NotFound => (Header::new(world), Decider::new(options)),
            Err(error) => return Err(unreadable(path, &error)),
        };
        header.runs += 1;
        let (now, stop) = (Instant::now(), stop_on_interrupt()?);
        let before = Duration::from_millis(header.elapsed_ms);
        let mut file = Self { file: OutputFile::over(path), header, before, started: now, saved: now, stop };
        // Fail now, not after the work, if the file cannot be written.
        file.save(&decider)?;
        Ok((file, decider))
    }

    /// Returns the total time of earlier runs, or `None` for a new search.
    pub fn time_before(&self) -> Option<Duration> {
        (self.header.runs > 1).then_some(self.before)
    }

    /// Saves the search if the last save was over two minutes ago. After Ctrl-C, saves and fails.
    pub fn update(&mut self, decider: &Decider) -> Result<(), CliError> {
        let is_interrupted = self.stop.load(Ordering::Relaxed);
        if is_interrupted || self.saved.elapsed() > SAVE_INTERVAL {
            self.save(decider)?;
        }
        if is_interrupted {
            let time = rounded(self.started.elapsed());
            return Err(CliError::Interrupted(format!("interrupted after {time}; rerun the same command to continue")));
        }
        Ok(())
    }

    /// Saves the search. If this fails or is interrupted, the file stays as it was.
    pub fn save(&mut self, decider: &Decider) -> Result<(), CliError> {
        self.header.elapsed_ms = (self.before + self.started.elapsed()).as_millis() as u64;
        let bytes = encode(&self.header, decider).map_err(|error| unwritable(self.file.path(), &error))?;
        self.file.write(&bytes)?;
        self.saved = Instant::now();
        Ok(())
    }
}

impl Header {
    fn new(world: &World) -> Self {
        Self {
            getaway: KIND.name.to_owned(),
            version: KIND.version,
            runs: 0,
            elapsed_ms: 0,
            rules: *world.rules(),
            layout: world.layout().clone(),
        }
    }
}

fn encode(header: &Header, decider: &Decider) -> io::Result<Vec<u8>> {
    let mut bytes = serde_json::to_vec(header)?;
    bytes.push(b'\n');
    let mut encoder = BufWriter::new(DeflateEncoder::new(bytes, Compression::fast()));
    decider.save(&mut encoder)?;
    encoder.flush()?;
    let mut bytes = encoder.into_inner()?.finish()?;
    let check = checksum(&bytes);
    bytes.extend(check);
    Ok(bytes)
}

fn restore(bytes: &[u8], world: &World, options: SurvivalOptions) -> Result<(Header, Decider), String> {
    let (content, check) = bytes.split_last_chunk::<CHECKSUM_BYTES>().ok_or(": the file is incomplete")?;
    if checksum(content) != *check {
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
    let options = SurvivalOptions { seed: options.seed.wrapping_add(header.runs), ..options };
    let decider = Decider::restore(options, world, &mut BufReader::new(DeflateDecoder::new(&state[1..])));
    Ok((header, decider.map_err(|error| format!(": {error}"))?))
}

fn checksum(content: &[u8]) -> [u8; CHECKSUM_BYTES] {
    let mut hash = FnvHasher::default();
    hash.write(content);
    hash.finish().to_le_bytes()
}
