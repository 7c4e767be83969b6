//! Journals: files from which an interrupted run can continue.
//!
//! The first line holds the kind of file, the version of its format and the settings of the run.
//! Each further line is a record, a JSON object. Each line ends with a checksum of its own text and
//! of all lines before it.
//!
//! Guarantees: an existing file is changed only if its first line names this kind and version. A
//! new journal appears with its first line complete. A killed process loses at most the records
//! that it is writing. An edited, moved or removed line is an error with a line number, but
//! missing lines at the end and an incomplete last line go unnoticed. The checksum detects damage
//! and edits, not forgery.

use std::fmt;
use std::fs::{File, OpenOptions, TryLockError};
use std::hash::Hasher;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tempfile::{Builder, NamedTempFile};
use thiserror::Error;

use fnv::FnvHasher;
use getaway::files::{self, Object, TextReader};

/// Every line must be shorter than this limit.
const LINE_BYTES_MAX: u64 = 1 << 20;
const FILE_BYTES_MAX: u64 = 1 << 36;
/// Size of the end of a line, such as `,"check":"0123456789abcdef"}` and the line break.
const ENDING_BYTES: usize = 29;
const QUOTE_CHARS_MAX: usize = 60;

/// A kind of file that the program may change, identified by the JSON object in its first line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileKind {
    pub name: &'static str,
    pub version: u32,
}

impl fmt::Display for FileKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{{\"getaway\":\"{}\",\"version\":{},...}}", self.name, self.version)
    }
}

impl FileKind {
    fn is_of(self, line: &[u8]) -> bool {
        let is_same = |Object(tag): Object<Tag>| tag.getaway == self.name && tag.version == self.version;
        serde_json::from_slice(line).is_ok_and(is_same)
    }

    /// Checks that a path may be written: it does not exist, or it is a readable file of this kind
    /// and version with at most `limit_bytes`. The error names the path.
    pub fn check_replaceable(self, path: &Path, limit_bytes: u64) -> io::Result<()> {
        let first_line = || -> io::Result<Vec<u8>> {
            let mut line = Vec::new();
            let file = files::open(path, limit_bytes)?.take(LINE_BYTES_MAX);
            TextReader::new(BufReader::new(file)).read_until(b'\n', &mut line)?;
            Ok(line)
        };
        let line = match first_line() {
            Ok(line) => line,
            Err(error) if error.kind() == io::ErrorKind::NotFound && path.symlink_metadata().is_err() => return Ok(()),
            Err(error) => return Err(io::Error::new(error.kind(), format!("{}: {error}", path.display()))),
        };
        if self.is_of(&line) {
            return Ok(());
        }
        let (path, found) = (path.display(), quoted(&line));
        Err(io::Error::other(format!("{path}, line 1: expected {self}, found {found}; the file was not overwritten")))
    }
}

#[derive(Debug, Error)]
#[non_exhaustive]
pub enum JournalError {
    #[error("{}: cannot read or write: {source}", .path.display())]
    File { path: PathBuf, source: io::Error },
    #[error("{}: in use by another run", .path.display())]
    InUse { path: PathBuf },
    /// The file is not a journal of this kind and version; it was not changed.
    #[error(
        "{}, line 1: expected {expected}, found {found}: this version cannot continue the file (use another one)",
        .path.display()
    )]
    Foreign {
        path: PathBuf,
        expected: FileKind,
        /// The start of the file's first line, the kind of a binary file, or `nothing`.
        found: String,
    },
    /// A line is damaged or does not belong to this run; the file was not changed.
    #[error("{}, line {line}: {why}", .path.display())]
    Line {
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        why: String,
    },
}

#[derive(Serialize, Deserialize)]
struct Header<S> {
    getaway: String,
    version: u32,
    settings: S,
}

#[derive(Deserialize)]
struct Tag {
    getaway: String,
    version: u32,
}

/// An open journal, locked against other processes.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: File,
    /// The total size of the complete lines in bytes. After a failed append, the file can be
    /// longer.
    size_bytes: u64,
    hash: u64,
}

impl Journal {
    /// Opens or creates a journal. Passes the settings of an existing file to `check`, and then
    /// each record to `read`; either may fail with an error message. Removes an incomplete last
    /// line.
    pub fn open<S: Serialize + DeserializeOwned, R: DeserializeOwned>(
        path: impl AsRef<Path>,
        kind: FileKind,
        settings: &S,
        check: impl FnOnce(S) -> Result<(), String>,
        read: impl FnMut(R) -> Result<(), String>,
    ) -> Result<Self, JournalError> {
        let path = path.as_ref().to_owned();
        if path.symlink_metadata().is_err() {
            match Self::create(&path, kind, settings) {
                Err(JournalError::File { source, .. }) if source.kind() == io::ErrorKind::AlreadyExists => {}
                created => return created,
            }
        }
        let failed = |source| JournalError::File { path: path.clone(), source };
        files::check(&path, FILE_BYTES_MAX).map_err(failed)?;
        let file = OpenOptions::new().read(true).write(true).open(&path).map_err(failed)?;
        lock(&path, &file)?;
        let mut journal = Self { path: path.clone(), file, size_bytes: 0, hash: FnvHasher::default().finish() };
        journal.read(kind, check, read)?;
        journal.truncate().map_err(failed)?;
        Ok(journal)
    }

    fn create<S: Serialize>(path: &Path, kind: FileKind, settings: &S) -> Result<Self, JournalError> {
        let failed = |source| JournalError::File { path: path.to_owned(), source };
        let partial = partial_file(path).map_err(failed)?;
        lock(path, partial.as_file())?;
        let (file, partial_path) = partial.into_parts();
        let mut journal = Self { path: path.to_owned(), file, size_bytes: 0, hash: FnvHasher::default().finish() };
        journal.append(&[Header { getaway: kind.name.to_owned(), version: kind.version, settings }])?;
        partial_path.persist_noclobber(path).map_err(|error| failed(error.error))?;
        Ok(journal)
    }

    /// Appends records, each a JSON object with at least one field. After an error, the caller can
    /// append the same records again.
    pub fn append<R: Serialize>(&mut self, records: &[R]) -> Result<(), JournalError> {
        let (mut text, hash) = (String::new(), self.hash);
        for record in records {
            let mut body = serde_json::to_string(record).expect("a record is valid JSON");
            assert_eq!(body.pop(), Some('}'), "a record is a JSON object");
            text.extend([&body, &*self.ending(body.as_bytes())]);
        }
        let is_valid = text.split_inclusive('\n').all(|line| (line.len() as u64) < LINE_BYTES_MAX);
        let checked = if is_valid { Ok(()) } else { Err(io::Error::other(line_too_long())) };
        let written = checked
            .and_then(|()| self.truncate())
            .and_then(|()| self.file.write_all(text.as_bytes()))
            .and_then(|()| self.file.flush());
        written.map_err(|source| {
            // If this fails too, the next append truncates the file, or the next run removes an
            // incomplete last line.
            let _ = self.truncate();
            self.hash = hash;
            JournalError::File { path: self.path.clone(), source }
        })?;
        self.size_bytes += text.len() as u64;
        Ok(())
    }

    /// Removes everything after the first `size_bytes` bytes.
    fn truncate(&mut self) -> io::Result<()> {
        self.file.set_len(self.size_bytes)?;
        self.file.seek(SeekFrom::Start(self.size_bytes)).map(drop)
    }

    /// Returns the end of a line with the checksum of all lines up to it.
    fn ending(&mut self, body: &[u8]) -> String {
        let mut hasher = FnvHasher::with_key(self.hash);
        hasher.write(body);
        hasher.write(b"\n");
        self.hash = hasher.finish();
        format!(",\"check\":\"{:016x}\"}}\n", self.hash)
    }

    fn read<S: DeserializeOwned, R: DeserializeOwned>(
        &mut self,
        kind: FileKind,
        check: impl FnOnce(S) -> Result<(), String>,
        mut read: impl FnMut(R) -> Result<(), String>,
    ) -> Result<(), JournalError> {
        let path = self.path.clone();
        let failed = |source| JournalError::File { path: path.clone(), source };
        // Never reads beyond the file's size: reading a kernel file, such as `/proc/kmsg`, may
        // block.
        let size_bytes = self.file.metadata().map_err(failed)?.len();
        let mut reader = BufReader::new(self.file.try_clone().map_err(failed)?.take(size_bytes));
        let (mut text, mut check) = (Vec::new(), Some(check));
        for line in 1.. {
            text.clear();
            let limited = &mut Read::take(&mut reader, LINE_BYTES_MAX);
            let length = limited.read_until(b'\n', &mut text).map_err(failed)? as u64;
            let wrong = |why: String| JournalError::Line { path: path.clone(), line, why };
            if line == 1 && is_converted(&text) {
                return Err(wrong(
                    "a byte order mark, UTF-16 or the line end CRLF, which an editor or git wrote: expected UTF-8 and LF"
                        .to_owned(),
                ));
            }
            if line == 1 && !(text.ends_with(b"\n") && kind.is_of(&text)) {
                return Err(JournalError::Foreign { path, expected: kind, found: quoted(&text) });
            }
            if length == LINE_BYTES_MAX {
                return Err(wrong(line_too_long()));
            }
            if !text.ends_with(b"\n") {
                return Ok(());
            }
            let (body, ending) = text.split_at(text.len().saturating_sub(ENDING_BYTES));
            if ending != self.ending(body).as_bytes() {
                let why = "the checksum is wrong: the line was edited, or lines before it were added, moved or removed";
                return Err(wrong(why.to_owned()));
            }
            let result = match check.take() {
                Some(check) => parse(&text).and_then(|header: Header<S>| check(header.settings)),
                None => parse(&text).and_then(&mut read),
            };
            result.map_err(wrong)?;
            self.size_bytes += length;
        }
        unreachable!("a file has finitely many lines")
    }
}

/// Creates a temporary file next to `path`. It is deleted when dropped. On Unix, sets the
/// permissions of an ordinary new file (0666 less the umask), because by default only the owner can
/// read a temporary file.
pub fn partial_file(path: &Path) -> io::Result<NamedTempFile> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut builder = Builder::new();
    builder.prefix(".getaway-").suffix(".partial");
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    builder.tempfile_in(folder)
}

/// Locks an open file against other processes until it is closed. `path` is for the error.
pub fn lock(path: &Path, file: &File) -> Result<(), JournalError> {
    file.try_lock().map_err(|error| match error {
        TryLockError::WouldBlock => JournalError::InUse { path: path.to_owned() },
        TryLockError::Error(source) => JournalError::File { path: path.to_owned(), source },
    })
}

/// True if the line is the first line of a file of this program in another encoding, or with
/// another line end.
fn is_converted(line: &[u8]) -> bool {
    let mut text = Vec::new();
    TextReader::new(line).read_to_end(&mut text).is_ok() && text != line && text.starts_with(b"{\"getaway\":")
}

fn parse<T: DeserializeOwned>(line: &[u8]) -> Result<T, String> {
    serde_json::from_slice(line).map(|Object(value)| value).map_err(|error| error.to_string())
}

fn line_too_long() -> String {
    format!("line too long: expected less than {LINE_BYTES_MAX} bytes")
}

fn quoted(line: &[u8]) -> String {
    let text = files::binary_kind(line).map_or_else(|| String::from_utf8_lossy(line), Into::into);
    let text = text.trim_end();
    match text.char_indices().nth(QUOTE_CHARS_MAX) {
        _ if text.is_empty() => "nothing".to_owned(),
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const KIND: FileKind = FileKind { name: "test", version: 3 };

    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    struct Record {
        number: u32,
        score: f64,
    }

    fn records(count: u32) -> Vec<Record> {
        (0..count).map(|number| Record { number, score: f64::from(number) / 3.0 }).collect()
    }

    fn open(path: &Path) -> Result<(Journal, Vec<Record>), JournalError> {
        let mut found = Vec::new();
        let check = |settings: u32| if settings == 7 { Ok(()) } else { Err(format!("settings {settings}")) };
        let journal = Journal::open(path, KIND, &7, check, |record| {
            found.push(record);
            Ok(())
        })?;
        Ok((journal, found))
    }

    fn new_journal(path: &Path, count: u32) -> Vec<u8> {
        open(path).expect("a new file").0.append(&records(count)).expect("written");
        fs::read(path).expect("the file")
    }

    #[test]
    fn records_are_read_back_exactly() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("journal");
        let text = new_journal(&path, 5);
        assert!(text.starts_with(br#"{"getaway":"test","version":3,"settings":7,"check":""#));
        let (mut journal, found) = open(&path).expect("the same file");
        assert_eq!(found, records(5));
        journal.append(&records(2)).expect("written");
        drop(journal);
        assert_eq!(open(&path).expect("the same file").1, [records(5), records(2)].concat());
        assert_eq!(fs::read_dir(dir.path()).expect("a folder").count(), 1, "no temporary file is left");
    }

    #[test]
    fn file_cut_anywhere_gives_its_complete_records() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("journal");
        let text = new_journal(&path, 5);
        let header_bytes = text.iter().position(|&byte| byte == b'\n').expect("a line") + 1;
        for length in 0..text.len() {
            fs::write(&path, &text[..length]).expect("a shorter file");
            if length < header_bytes {
                // An interrupted run cannot leave an incomplete first line, so the file is foreign.
                assert!(matches!(open(&path), Err(JournalError::Foreign { .. })), "{length}");
                continue;
            }
            let (mut journal, found) = open(&path).expect("a file cut short");
            assert_eq!(found, records(5)[..found.len()], "{length}");
            journal.append(&records(5)[found.len()..]).expect("written");
            assert_eq!(fs::read(&path).expect("the file"), text, "{length}");
        }
    }

    #[test]
    fn append_replaces_an_incomplete_line() {
        let dir = tempfile::tempdir().expect("a folder");
        let text = new_journal(&dir.path().join("complete"), 5);
        let path = dir.path().join("journal");
        let (mut journal, _) = open(&path).expect("a new file");
        journal.append(&records(5)[..2]).expect("written");
        journal.file.write_all(&text[..20]).expect("a failed append whose file could not be truncated");
        journal.append(&records(5)[2..]).expect("written");
        assert_eq!(fs::read(&path).expect("the file"), text);
    }

    #[test]
    fn line_that_is_too_long_is_not_written() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("journal");
        let (mut journal, _) = open(&path).expect("a new file");
        let long = serde_json::json!({ "text": "x".repeat(1 << 20) });
        let error = journal.append(&[long]).expect_err("an error").to_string();
        assert!(error.ends_with("line too long: expected less than 1048576 bytes"), "{error}");
        journal.append(&records(2)).expect("written");
        drop(journal);
        assert_eq!(open(&path).expect("the same file").1, records(2));
    }

    #[test]
    fn every_changed_byte_is_an_error_with_its_line() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("journal");
        let text = new_journal(&path, 3);
        for place in 0..text.len() {
            let line = 1 + text[..place].iter().filter(|&&byte| byte == b'\n').count();
            for mask in [1, 2, 16, 128] {
                let mut changed = text.clone();
                changed[place] ^= mask;
                fs::write(&path, &changed).expect("a file");
                // A file without its last newline ends in an incomplete line, which is removed.
                let Err(error) = open(&path) else {
                    assert_eq!(place, text.len() - 1);
                    continue;
                };
                let expected = format!("{}, line {line}: ", path.display());
                assert!(error.to_string().starts_with(&expected), "{place}: {error}");
                assert_eq!(fs::read(&path).expect("the file"), changed, "unchanged");
            }
        }
    }

    #[test]
    fn lines_that_are_moved_or_removed_are_errors() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("journal");
        let text = String::from_utf8(new_journal(&path, 4)).expect("text");
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        for (order, line) in [(&[0, 2, 3, 4][..], 2), (&[0, 1, 3, 2, 4], 3), (&[0, 1, 1, 2, 3, 4], 3)] {
            fs::write(&path, order.iter().map(|&index| lines[index]).collect::<String>()).expect("a file");
            let error = open(&path).expect_err("an error").to_string();
            assert!(error.contains(&format!("line {line}: the checksum is wrong")), "{error}");
        }
    }

    #[test]
    fn foreign_files_stay_as_they_are() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("notes");
        let long = "{".repeat(2 << 20);
        let other = r#"{"getaway":"test","version":2,"settings":7,"check":"0123456789abcdef"}"#;
        for text in ["", "\n", "{}", "{}\n", "[1]", "my notes", r#"{"notes":"mine"}"#, other, &long] {
            fs::write(&path, text).expect("a file");
            assert!(matches!(open(&path), Err(JournalError::Foreign { .. })), "{text:.80?}");
            assert_eq!(fs::read_to_string(&path).expect("the file"), text);
        }
        assert!(matches!(open(dir.path()), Err(JournalError::File { .. })));
        fs::write(&path, "{\"map\":\"snail\",\"planner\":\"survival\",\"sample\":0,\"score\":10005}\n")
            .expect("a file");
        let error = open(&path).expect_err("an error").to_string();
        assert_eq!(
            error.strip_prefix(&path.display().to_string()).unwrap_or(&error),
            ", line 1: expected {\"getaway\":\"test\",\"version\":3,...}, \
             found {\"map\":\"snail\",\"planner\":\"survival\",\"sample\":0,\"score\":10005…: \
             this version cannot continue the file (use another one)"
        );
    }

    /// The kernel reports this file as regular and empty, but reading it may block for ever.
    #[cfg(target_os = "linux")]
    #[test]
    fn files_of_the_kernel_are_refused() {
        let path = Path::new("/proc/kmsg");
        assert!(!path.exists() || open(path).is_err());
    }

    #[test]
    fn other_settings_are_an_error() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("journal");
        let other = Journal::open(&path, KIND, &8, |_: u32| Ok(()), |_: Record| Ok(()));
        other.expect("a new file").append(&records(1)).expect("written");
        let error = open(&path).expect_err("an error").to_string();
        assert!(error.ends_with("journal, line 1: settings 8"), "{error}");
    }

    #[test]
    fn journal_has_a_single_writer() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("journal");
        let first = open(&path).expect("a new file");
        assert!(matches!(open(&path), Err(JournalError::InUse { .. })));
        drop(first);
        let second = open(&path).expect("the same file");
        assert!(matches!(open(&path), Err(JournalError::InUse { .. })));
        drop(second);
    }
}
