//! Recorded games. A plain or gzipped file has one line per tick, `{"game_message": <the state as
//! sent>, "actions": [<the bot's actions>]}`. A line may also contain notes ([`TickNotes`]), and an
//! `error` if the bot failed in the tick. In a log of bare states, the actions follow from the
//! player's positions; after the last state, the player is assumed to stay.
//!
//! [`verify`] replays a recording and compares its states with the rules. If a crash truncates a
//! file, the complete lines remain readable. Memory use is bounded.

mod notes;
mod verify;

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;
use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer};
use thiserror::Error;

use crate::files::{self, Object, TextReader, object};
use crate::game::{Action, Direction, Rules, WorldError};
use crate::protocol::{ClientFrame, GameMessage, ProtocolError, from_json, limited, to_json};

pub use crate::files::Existing;
pub use notes::{CommandNote, DecisionNotes, GameNotes, TickNotes, UnreadableNote, WireNotes};
#[doc(hidden)]
pub use notes::{milliseconds, shortened};
pub use verify::{ContextTick, Divergence, VerifyReport, verify, verify_all};

const MAX_BLANK_BYTES: usize = 1 << 16;

/// Bytes at the end of a file that are not text: zeros from a crash, and the end mark of DOS.
const PADDING: [u8; 2] = [0, 0x1a];

/// The error for a recording that cannot be read, replayed or written.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RecordingError {
    /// The file cannot be opened, or its first bytes cannot be read or show another kind of file.
    #[error("cannot read {}: {source}", .path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// Reading the file failed.
    #[error("{}, line {line}: cannot read: {source}", .path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The line number, from 1.
        line: usize,
        /// The error of the system or the decompressor.
        source: io::Error,
    },
    /// A line, all blank lines together, or the recording is too long.
    #[error("{}, line {line}: {whole} too long: expected at most {limit_bytes} bytes", .path.display())]
    TooLong {
        /// The file.
        path: PathBuf,
        /// The line number, from 1.
        line: usize,
        /// The limit.
        limit_bytes: u64,
        /// The part that is too long: `line`, `blank lines` or `recording`.
        whole: &'static str,
    },
    /// A line is not a valid tick, or its tick is before the previous line's.
    #[error("{}, line {line}: {source}", .path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// The line number, from 1.
        line: usize,
        /// The reason.
        source: ProtocolError,
    },
    /// The file contains no valid tick.
    #[error("{}: no valid line: expected one {{\"game_message\": ..., \"actions\": [...]}} per tick", .path.display())]
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// No world can be created from the first state and the rules.
    #[error("{}: {source}", .path.display())]
    World {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: WorldError,
    },
    /// A file with this name already exists. It was not changed.
    #[error("{} already exists", .path.display())]
    Exists {
        /// The existing file.
        path: PathBuf,
    },
    /// The file cannot be written.
    #[error("cannot write {}: {source}", .path.display())]
    Write {
        /// The file, or its parent if the parent is not a folder.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
}

/// A line of a recording. Unknown fields are ignored.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct RecordedTick {
    /// The state as sent.
    #[serde(deserialize_with = "object")]
    pub game_message: GameMessage,
    /// The actions of the bot's command. Empty if there was no command.
    #[serde(deserialize_with = "actions")]
    pub actions: Vec<Action>,
    /// Notes on the entire game, usually only in the first line.
    #[serde(default, deserialize_with = "notes::game")]
    pub game: Option<Box<GameNotes>>,
    /// The server's notes on the bot's commands in the tick, if recorded.
    #[serde(default, deserialize_with = "notes::readable")]
    pub wire: Option<Box<WireNotes>>,
    /// The bot's decision, if recorded.
    #[serde(default, deserialize_with = "notes::readable")]
    pub decision: Option<Box<DecisionNotes>>,
}

impl RecordedTick {
    /// The rules in the notes on the game, or the server's rules if there are no notes.
    pub fn rules(&self) -> &Rules {
        self.game.as_ref().map_or(&Rules::BLITZ_2025, |notes| &notes.rules)
    }
}

/// Maximum number of actions per line. A client's frame has no room for more.
const MAX_ACTIONS: usize = ClientFrame::MAX_BYTES / 2;

fn actions<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Action>, D::Error> {
    limited::list(deserializer, MAX_ACTIONS, "actions")
}

/// The line of a tick in which the bot failed.
#[derive(Deserialize)]
struct RefusedTick {
    #[serde(rename = "game_message")]
    _game_message: IgnoredAny,
    #[serde(rename = "error")]
    _error: String,
}

/// Reads a recording line by line.
pub struct RecordingReader {
    path: PathBuf,
    input: Box<dyn BufRead + Send>,
    /// The line that follows a bare state, read to find the state's actions. At the start, the
    /// error if the first read failed.
    ahead: Option<Result<Option<Line>, RecordingError>>,
    line: usize,
    lines_read: usize,
    /// The tick of the last state; 0 before the first, and `u32::MAX` after the end.
    tick: u32,
    buffer: Vec<u8>,
    bytes_left: u64,
    blank_bytes: usize,
    truncated_line: Option<usize>,
    ended: bool,
}

/// A valid line and its number.
struct Line {
    number: usize,
    content: Content,
}

enum Content {
    Tick(Box<RecordedTick>),
    /// A state without actions.
    State(Box<GameMessage>),
}

impl Line {
    fn state(&self) -> &GameMessage {
        match &self.content {
            Content::Tick(tick) => &tick.game_message,
            Content::State(state) => state,
        }
    }
}

enum LineEnd {
    Whole,
    /// The last line, which has no newline and may be truncated.
    Last,
    End,
}

impl RecordingReader {
    /// Maximum length of a line in bytes: a state message, the actions, and 1 MiB for other fields.
    pub const MAX_LINE_BYTES: usize = GameMessage::MAX_BYTES + ClientFrame::MAX_BYTES + (1 << 20);
    /// Maximum decompressed size in bytes: about ten times that of a complete game on 64 x 64 open
    /// tiles. The limit is needed because a gzip file can decompress to a thousand times its size.
    pub const MAX_BYTES: u64 = 1 << 30;

    /// Opens a recording. Its first bytes show whether it is gzipped.
    ///
    /// # Errors
    /// If the file cannot be opened or read, is not a regular file, exceeds [`Self::MAX_BYTES`], or
    /// is of another kind, such as a PNG picture.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, RecordingError> {
        let path = path.as_ref();
        let opened = files::open(path, Self::MAX_BYTES);
        Self::new(path, opened.map_err(|source| RecordingError::Open { path: path.to_owned(), source })?)
    }

    /// Creates a reader for `source`. The reader's errors name `path`. Fails if the first bytes of
    /// `source` cannot be read, or show another kind of file.
    pub fn new(path: impl AsRef<Path>, source: impl Read + Send + 'static) -> Result<Self, RecordingError> {
        let path = path.as_ref();
        let mut file = BufReader::new(source);
        let failed = |source| RecordingError::Open { path: path.to_owned(), source };
        let mut input: Box<dyn BufRead + Send> = if file.fill_buf().map_err(failed)?.starts_with(files::GZIP_MAGIC) {
            Box::new(BufReader::with_capacity(1 << 16, MultiGzDecoder::new(file)))
        } else {
            Box::new(file)
        };
        let ahead = match input.fill_buf().map(files::binary_kind) {
            Ok(Some(kind)) => return Err(failed(io::Error::other(format!("expected a recording, found {kind}")))),
            Err(source) if source.kind() != io::ErrorKind::UnexpectedEof => {
                Some(Err(RecordingError::Read { path: path.to_owned(), line: 1, source }))
            }
            _ => None,
        };
        Ok(Self {
            path: path.to_owned(),
            input: Box::new(TextReader::new(input)),
            ahead,
            line: 0,
            lines_read: 0,
            tick: 0,
            buffer: Vec::new(),
            bytes_left: Self::MAX_BYTES,
            blank_bytes: 0,
            truncated_line: None,
            ended: false,
        })
    }

    /// The path of the recording.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The number of the line that [`Self::next_tick`] last returned or reported as an error, from 1;
    /// 0 before the first call. At the end, it may be one more than the number of the last line.
    pub fn line(&self) -> usize {
        self.line
    }

    /// The number of the last line, if this line was ignored because it has no newline and is not a
    /// valid tick.
    pub fn truncated_line(&self) -> Option<usize> {
        self.truncated_line
    }

    /// Reads the next tick; `None` at the end. Skips blank lines, an incomplete last line, and
    /// every line that is not a valid tick but has a `game_message` and an `error` text.
    ///
    /// # Errors
    /// If reading fails, a limit is exceeded, any other line is not a valid tick, or the tick is
    /// before the previous one.
    pub fn next_tick(&mut self) -> Result<Option<RecordedTick>, RecordingError> {
        let line = self.ahead.take().unwrap_or_else(|| self.next_line());
        self.line = match &line {
            Ok(Some(line)) => line.number,
            _ => self.lines_read,
        };
        let line = line?;
        let tick = line.as_ref().map_or(u32::MAX, |line| line.state().tick);
        let before = std::mem::replace(&mut self.tick, tick);
        if tick < before {
            let expected = format!("one game per file, so no tick before {before}");
            return Err(self.invalid(self.line, "tick", expected, tick.to_string()));
        }
        let game_message = match line {
            None => return Ok(None),
            Some(Line { content: Content::Tick(tick), .. }) => return Ok(Some(*tick)),
            Some(Line { content: Content::State(state), .. }) => *state,
        };
        let ahead = self.next_line();
        let next = ahead.as_ref().ok().and_then(Option::as_ref).map(Line::state);
        let (from, to) = (game_message.your_character.position, next.map(|next| next.your_character.position));
        self.ahead = Some(ahead);
        let step = Direction::ALL.into_iter().find(|&direction| to == Some(from.towards(direction)));
        let actions = step.map(Action::Move).into_iter().collect();
        Ok(Some(RecordedTick { game_message, actions, game: None, wire: None, decision: None }))
    }

    fn next_line(&mut self) -> Result<Option<Line>, RecordingError> {
        while !self.ended {
            let end = self.read_line().inspect_err(|_| self.ended = true)?;
            self.ended = !matches!(end, LineEnd::Whole);
            if self.buffer.iter().all(|byte| byte.is_ascii_whitespace() || PADDING.contains(byte)) {
                self.blank_bytes += self.buffer.len();
                if self.blank_bytes > MAX_BLANK_BYTES {
                    self.ended = true;
                    return Err(self.too_long("blank lines", MAX_BLANK_BYTES as u64));
                }
                continue;
            }
            let number = self.lines_read;
            let source = match from_json(&self.buffer) {
                Ok(Object(tick)) => return Ok(Some(Line { number, content: Content::Tick(Box::new(tick)) })),
                Err(source) => source,
            };
            if let Ok(Object(state)) = from_json(&self.buffer) {
                return Ok(Some(Line { number, content: Content::State(Box::new(state)) }));
            }
            let found = match (self.buffer.trim_ascii_start().first(), &end) {
                _ if number > 1 => None,
                (Some(b'['), _) => Some("an array"),
                (_, LineEnd::Whole) if source.is_incomplete() => Some("a part of one"),
                _ => None,
            };
            if let Some(found) = found {
                return Err(self.invalid(number, "JSON", "one object per line".to_owned(), found.to_owned()));
            }
            match end {
                LineEnd::Last => self.truncated_line = Some(number),
                _ if from_json::<Object<RefusedTick>>(&self.buffer).is_ok() => {}
                _ => return Err(RecordingError::Line { path: self.path.clone(), line: number, source }),
            }
        }
        Ok(None)
    }

    fn read_line(&mut self) -> Result<LineEnd, RecordingError> {
        self.buffer.clear();
        self.lines_read += 1;
        let limit_bytes = self.bytes_left.min(Self::MAX_LINE_BYTES as u64) + 1;
        let result = (&mut self.input).take(limit_bytes).read_until(b'\n', &mut self.buffer);
        let read_bytes = self.buffer.len() as u64;
        if read_bytes > Self::MAX_LINE_BYTES as u64 {
            return Err(self.too_long("line", Self::MAX_LINE_BYTES as u64));
        }
        if read_bytes > self.bytes_left {
            return Err(self.too_long("recording", Self::MAX_BYTES));
        }
        self.bytes_left -= read_bytes;
        match result {
            Ok(0) => Ok(LineEnd::End),
            Ok(_) if self.buffer.ends_with(b"\n") => Ok(LineEnd::Whole),
            Ok(_) => Ok(LineEnd::Last),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(LineEnd::Last),
            Err(source) => Err(RecordingError::Read { path: self.path.clone(), line: self.lines_read, source }),
        }
    }

    fn invalid(&self, line: usize, path: &str, expected: String, found: String) -> RecordingError {
        let source = ProtocolError::Field { path: path.to_owned(), expected, found };
        RecordingError::Line { path: self.path.clone(), line, source }
    }

    fn too_long(&self, whole: &'static str, limit_bytes: u64) -> RecordingError {
        RecordingError::TooLong { path: self.path.clone(), line: self.lines_read, limit_bytes, whole }
    }
}

impl Iterator for RecordingReader {
    type Item = Result<RecordedTick, RecordingError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_tick().transpose()
    }
}

/// Writes a recording during a game. Flushes every tick, so a crash of the process loses at most
/// one line. Dropping the writer removes a regular file to which no tick was written.
pub struct RecordingWriter {
    path: PathBuf,
    output: Output,
    lines: u64,
}

enum Output {
    Plain(File),
    Gzip(Box<GzEncoder<File>>),
}

impl RecordingWriter {
    /// Starts a new recording, gzipped if the name ends in `.gz`. Creates missing folders.
    ///
    /// # Errors
    /// If the file already exists or cannot be created.
    pub fn create(path: impl AsRef<Path>) -> Result<Self, RecordingError> {
        Self::open(path, Existing::Keep)
    }

    /// Like [`Self::create`], but `existing` determines what happens to an existing file.
    pub fn open(path: impl AsRef<Path>, existing: Existing) -> Result<Self, RecordingError> {
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
        let mut options = OpenOptions::new();
        if existing == Existing::Overwrite {
            options.write(true).create(true).truncate(true);
        } else {
            options.write(true).create_new(true);
        }
        let file = options.open(&path).map_err(|source| match source.kind() {
            io::ErrorKind::AlreadyExists => RecordingError::Exists { path: path.clone() },
            _ => failed(source),
        })?;
        let output = match path.extension() {
            Some(extension) if extension == "gz" => {
                Output::Gzip(Box::new(GzEncoder::new(file, Compression::default())))
            }
            _ => Output::Plain(file),
        };
        Ok(Self { path, output, lines: 0 })
    }

    /// The path of the recording.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Appends a tick: the state message as sent, which must be one line, and the actions. Fails if
    /// writing fails.
    pub fn write(&mut self, frame: &str, actions: &[Action]) -> Result<(), RecordingError> {
        self.write_with(frame, actions, &TickNotes::default())
    }

    /// Appends a tick with notes. Fails if writing fails.
    pub fn write_with(&mut self, frame: &str, actions: &[Action], notes: &TickNotes) -> Result<(), RecordingError> {
        let mut fields = to_json(notes);
        fields.remove(0);
        let separator = if fields == "}" { "" } else { "," };
        let line = format!("{{\"game_message\":{frame},\"actions\":{}{separator}{fields}\n", to_json(&actions));
        let result = match &mut self.output {
            Output::Plain(file) => file.write_all(line.as_bytes()),
            // A flushed block can be decompressed even if later data is lost.
            Output::Gzip(file) => file.write_all(line.as_bytes()).and_then(|()| file.flush()),
        };
        result.map_err(|source| self.failed(source))?;
        self.lines += 1;
        Ok(())
    }

    /// Finishes the recording. Fails if writing fails.
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

impl Drop for RecordingWriter {
    fn drop(&mut self) {
        // The path may be a device, which must not be removed.
        if self.lines == 0 && self.path.is_file() {
            // If this fails, a recording without ticks remains, which is harmless.
            let _ = fs::remove_file(&self.path);
        }
    }
}
