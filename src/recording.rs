//! Saved games: a line a tick, `{"game_message": <the state as sent>, "actions": [<what was answered>]}`, plain or gzipped.
//!
//! The promise: a recording is never better than it looks. [`verify`] plays it again from its first line and compares every field that
//! the rules determine; what it says about a file holds for every line up to the one it names. A file that was cut off by a crash is
//! good up to its last whole line. Memory is bounded by the longest line, and reading ends however much a file unpacks to.

mod verify;

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;
use serde::Deserialize;
use thiserror::Error;

use crate::game::{Action, WorldError};
use crate::protocol::{GameMessage, MAX_CLIENT_FRAME_BYTES, MAX_MESSAGE_BYTES, ProtocolError, from_json, to_json};

pub use verify::{Divergence, Report, verify};

/// Bytes of a line at most: a message, its actions, and some room for what clients add of their own.
pub const MAX_LINE_BYTES: usize = MAX_MESSAGE_BYTES + MAX_CLIENT_FRAME_BYTES + (1 << 20);
/// Bytes of a recording at most, unpacked: ten times a whole game on the largest square hall. A few kilobytes of gzip can unpack to more
/// than any disk holds.
pub const MAX_RECORDING_BYTES: u64 = 1 << 30;

/// The first bytes of a gzipped file.
const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

/// Why a recording cannot be read or written. Every one names the file.
#[derive(Debug, Error)]
pub enum RecordingError {
    /// The file cannot be opened.
    #[error("{}: cannot be read ({source})", .path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The file cannot be read on.
    #[error("{}, line {line}: cannot be read ({source})", .path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What the system or the decompressor says.
        source: io::Error,
    },
    /// More bytes than a recording can have.
    #[error("{}, line {line}: too long, expected at most {limit_bytes} bytes a {whole}", .path.display())]
    TooLong {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What would be accepted.
        limit_bytes: u64,
        /// Of what: a line, or a recording.
        whole: &'static str,
    },
    /// A line that is no tick of a game.
    #[error("{}, line {line}: {source}", .path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong with it.
        source: ProtocolError,
    },
    /// Not one whole line.
    #[error("{}: no whole line, expected one a tick of {{\"game_message\": ..., \"actions\": [...]}}", .path.display())]
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// A game that cannot be played again.
    #[error("{}: {source}", .path.display())]
    World {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: WorldError,
    },
    /// Something of this name exists already; it was not touched.
    #[error("{}: exists already and is not overwritten", .path.display())]
    Exists {
        /// What is in the way.
        path: PathBuf,
    },
    /// The file cannot be written.
    #[error("{}: cannot be written ({source})", .path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
}

/// A line of a recording. Fields that clients add of their own are passed over.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(expecting = "a tick: an object with game_message and actions")]
pub struct RecordedTick {
    /// The state as it was sent.
    pub game_message: GameMessage,
    /// What was answered.
    pub actions: Vec<Action>,
}

/// Reads a recording line by line.
pub struct RecordingReader {
    path: PathBuf,
    input: Box<dyn BufRead + Send>,
    line: usize,
    buffer: Vec<u8>,
    bytes_left: u64,
    truncated_line: Option<usize>,
    /// The end, or an error, after which nothing is read.
    ended: bool,
}

/// How reading a line ends.
enum Line {
    Whole,
    /// Without an end of line: the last one, or one that was cut off.
    Last,
    End,
}

impl RecordingReader {
    /// Opens a recording; whether it is gzipped is seen from its first bytes.
    ///
    /// # Errors
    /// When the file cannot be opened.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, RecordingError> {
        let path = path.as_ref();
        let failed = |source| RecordingError::Open { path: path.to_owned(), source };
        // Opening a pipe would wait for a writer, opening a folder goes well and reading it does not.
        if !fs::metadata(path).map_err(failed)?.is_file() {
            return Err(failed(io::Error::other("not a file")));
        }
        let mut file = BufReader::new(File::open(path).map_err(failed)?);
        let zipped = file.fill_buf().map_err(failed)?.starts_with(&GZIP_MAGIC);
        let input: Box<dyn BufRead + Send> = if zipped {
            Box::new(BufReader::with_capacity(1 << 16, MultiGzDecoder::new(file)))
        } else {
            Box::new(file)
        };
        Ok(Self {
            path: path.to_owned(),
            input,
            line: 0,
            buffer: Vec::new(),
            bytes_left: MAX_RECORDING_BYTES,
            truncated_line: None,
            ended: false,
        })
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The number of the line that was read last, from 1.
    pub fn line(&self) -> usize {
        self.line
    }

    /// The last line, if the file turned out to end in the middle of it; it counts for nothing.
    pub fn truncated_line(&self) -> Option<usize> {
        self.truncated_line
    }

    /// The next tick, or `None` at the end. Blank lines are passed over.
    ///
    /// # Errors
    /// When the file cannot be read on, or the line is no tick.
    pub fn next_tick(&mut self) -> Result<Option<RecordedTick>, RecordingError> {
        while !self.ended {
            let end = self.read_line().inspect_err(|_| self.ended = true)?;
            self.ended = !matches!(end, Line::Whole);
            if self.buffer.trim_ascii().is_empty() {
                continue;
            }
            match from_json(&self.buffer) {
                Ok(tick) => return Ok(Some(tick)),
                Err(_) if matches!(end, Line::Last) => self.truncated_line = Some(self.line),
                Err(source) => return Err(RecordingError::Line { path: self.path.clone(), line: self.line, source }),
            }
        }
        Ok(None)
    }

    /// Reads a line into the buffer.
    fn read_line(&mut self) -> Result<Line, RecordingError> {
        self.buffer.clear();
        self.line += 1;
        let limit_bytes = self.bytes_left.min(MAX_LINE_BYTES as u64) + 1;
        let result = (&mut self.input).take(limit_bytes).read_until(b'\n', &mut self.buffer);
        let read_bytes = self.buffer.len() as u64;
        if read_bytes >= limit_bytes {
            return Err(self.too_long());
        }
        self.bytes_left -= read_bytes;
        match result {
            Ok(0) => Ok(Line::End),
            Ok(_) if self.buffer.ends_with(b"\n") => Ok(Line::Whole),
            Ok(_) => Ok(Line::Last),
            // A gzipped file that was cut off.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(Line::Last),
            Err(source) => Err(RecordingError::Read { path: self.path.clone(), line: self.line, source }),
        }
    }

    fn too_long(&self) -> RecordingError {
        let (limit_bytes, whole) = if self.buffer.len() > MAX_LINE_BYTES {
            (MAX_LINE_BYTES as u64, "line")
        } else {
            (MAX_RECORDING_BYTES, "recording")
        };
        RecordingError::TooLong { path: self.path.clone(), line: self.line, limit_bytes, whole }
    }
}

impl Iterator for RecordingReader {
    type Item = Result<RecordedTick, RecordingError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_tick().transpose()
    }
}

/// Writes a recording as the game goes on. Every tick is handed to the system at once: a crash loses nothing but the line being written.
pub struct RecordingWriter {
    path: PathBuf,
    output: Output,
}

enum Output {
    Plain(File),
    Gzip(Box<GzEncoder<File>>),
}

impl RecordingWriter {
    /// Starts a recording in a new file, gzipped if its name ends in `.gz`; folders on the way are made when missing.
    ///
    /// # Errors
    /// When there is such a file already, or it cannot be made.
    pub fn create(path: impl AsRef<Path>) -> Result<Self, RecordingError> {
        let path = path.as_ref().to_owned();
        let failed = |source| RecordingError::Write { path: path.clone(), source };
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            fs::create_dir_all(folder).map_err(|source| match source.kind() {
                io::ErrorKind::AlreadyExists => {
                    let source = io::Error::new(io::ErrorKind::NotADirectory, "not a folder");
                    RecordingError::Write { path: folder.to_owned(), source }
                }
                _ => failed(source),
            })?;
        }
        let file =
            OpenOptions::new().write(true).create_new(true).open(&path).map_err(|source| match source.kind() {
                io::ErrorKind::AlreadyExists => RecordingError::Exists { path: path.clone() },
                _ => failed(source),
            })?;
        let output = match path.extension() {
            Some(extension) if extension == "gz" => {
                Output::Gzip(Box::new(GzEncoder::new(file, Compression::default())))
            }
            _ => Output::Plain(file),
        };
        Ok(Self { path, output })
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Appends a tick: the frame as it was sent, and what was answered.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write(&mut self, frame: &str, actions: &[Action]) -> Result<(), RecordingError> {
        let line = format!("{{\"game_message\":{frame},\"actions\":{}}}\n", to_json(&actions));
        let result = match &mut self.output {
            Output::Plain(file) => file.write_all(line.as_bytes()),
            // A flush ends a block, so that everything up to here unpacks whatever comes after.
            Output::Gzip(file) => file.write_all(line.as_bytes()).and_then(|()| file.flush()),
        };
        result.map_err(|source| self.failed(source))
    }

    /// Ends the recording.
    ///
    /// # Errors
    /// When the end cannot be written.
    pub fn finish(mut self) -> Result<(), RecordingError> {
        let result = match &mut self.output {
            Output::Plain(file) => file.flush(),
            Output::Gzip(file) => file.try_finish(),
        };
        result.map_err(|source| self.failed(source))
    }

    fn failed(&self, source: io::Error) -> RecordingError {
        RecordingError::Write { path: self.path.clone(), source }
    }
}
