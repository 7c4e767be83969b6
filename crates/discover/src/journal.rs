//! The state file of a discovery: every play as a line, appended as it is made.
//!
//! Guarantees: a run that was killed at any moment resumes with every complete line of its file and
//! ends with the same answer; a file whose settings would have led to other plays, or one that was
//! edited, is an error.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::bank::Split;

/// One line of the file, after the settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Entry {
    /// A play of the bandit: arm and score.
    Play(usize, f64),
    /// A score of an expression outside the bandit.
    Score {
        /// The problems.
        split: Split,
        /// The number of the problem.
        number: u64,
        /// The budget in evaluations.
        budget_evals: u64,
        /// The expression.
        expression: String,
        /// The score.
        score: f64,
    },
}

/// Why a state file cannot be used.
#[derive(Debug, Error)]
pub enum JournalError {
    /// The file cannot be read or written.
    #[error("{path}: {error}")]
    File {
        /// The file.
        path: PathBuf,
        /// The system's error.
        error: std::io::Error,
    },
    /// Another process has it open.
    #[error("{path}: the file is in use by another discovery")]
    InUse {
        /// The file.
        path: PathBuf,
    },
    /// The file belongs to a discovery with other settings, or to no discovery.
    #[error("{path}: the settings differ: expected {expected}, found {found} (use another file)")]
    Settings {
        /// The file.
        path: PathBuf,
        /// The settings of this run.
        expected: String,
        /// The file's first line.
        found: String,
    },
    /// A line that this run would not have written.
    #[error("{path}: line {line}: {reason}")]
    Line {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong.
        reason: String,
    },
}

/// An open state file.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: File,
}

impl Journal {
    /// Opens or creates the file of a discovery with these settings, one line of JSON; `is_same`
    /// says whether a different line in an existing file is compatible. Returns the entries that
    /// the file contains; a last line that is incomplete is removed.
    ///
    /// # Errors
    /// When the file cannot be read or written, is in use, has other settings or an invalid line. A
    /// file that is not a journal stays as it is.
    pub fn open(
        path: &Path,
        settings: &str,
        is_same: impl Fn(&str) -> bool,
    ) -> Result<(Self, Vec<Entry>), JournalError> {
        let fail = |error| JournalError::File { path: path.to_owned(), error };
        let opened = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path);
        let mut file = opened.map_err(fail)?;
        file.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => JournalError::InUse { path: path.to_owned() },
            TryLockError::Error(error) => fail(error),
        })?;
        let mut text = String::new();
        file.read_to_string(&mut text).map_err(fail)?;
        let complete = text.rfind('\n').map_or(0, |end| end + 1);
        let mut lines = text[..complete].lines();
        let first = lines.next();
        // A file that is not a journal must not be truncated; a new journal may end in its first
        // line.
        let is_journal = first.map_or_else(|| settings.starts_with(&text), |found| found == settings || is_same(found));
        if !is_journal {
            let (expected, found) = (settings.to_owned(), first.unwrap_or(&text).to_owned());
            return Err(JournalError::Settings { path: path.to_owned(), expected, found });
        }
        file.set_len(complete as u64).and_then(|()| file.seek(SeekFrom::End(0))).map_err(fail)?;
        let mut journal = Self { path: path.to_owned(), file };
        if first.is_none() {
            journal.write_text(&format!("{settings}\n"))?;
        }
        let parse = |(index, line): (usize, &str)| {
            serde_json::from_str(line).map_err(|error| journal.invalid(index, error.to_string()))
        };
        let entries = lines.enumerate().map(parse).collect::<Result<_, _>>()?;
        Ok((journal, entries))
    }

    /// The error of the entry with this index.
    pub fn invalid(&self, index: usize, reason: String) -> JournalError {
        JournalError::Line { path: self.path.clone(), line: index + 2, reason }
    }

    /// Appends entries.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn append(&mut self, entries: &[Entry]) -> Result<(), JournalError> {
        let line = |entry| serde_json::to_string(entry).expect("an entry is valid JSON") + "\n";
        self.write_text(&entries.iter().map(line).collect::<String>())
    }

    fn write_text(&mut self, text: &str) -> Result<(), JournalError> {
        let written = self.file.write_all(text.as_bytes());
        written.map_err(|error| JournalError::File { path: self.path.clone(), error })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn open(path: &Path, settings: &str) -> Result<(Journal, Vec<Entry>), JournalError> {
        Journal::open(path, settings, |_| false)
    }

    fn entries() -> Vec<Entry> {
        let expression = "step(lookahead(simulate))".to_owned();
        let score = Entry::Score { split: Split::Unseen, number: 7, budget_evals: 1000, expression, score: 0.1 + 0.2 };
        vec![Entry::Play(3, 1.0 / 3.0), Entry::Play(0, 85.0), score]
    }

    #[test]
    fn entries_are_read_back_exactly() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("state");
        let (mut journal, none) = open(&path, "{}").expect("a new file");
        assert!(none.is_empty());
        journal.append(&entries()).expect("written");
        drop(journal);
        assert_eq!(open(&path, "{}").expect("the same file").1, entries());
    }

    #[test]
    fn file_cut_anywhere_gives_its_complete_lines() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("state");
        open(&path, "{}").expect("a new file").0.append(&entries()).expect("written");
        let text = fs::read(&path).expect("the file");
        for length in 0..text.len() {
            fs::write(&path, &text[..length]).expect("a shorter file");
            let (mut journal, found) = open(&path, "{}").expect("a file cut short");
            assert_eq!(found, entries()[..found.len()], "{length}");
            journal.append(&entries()[found.len()..]).expect("written");
            assert_eq!(fs::read(&path).expect("the file"), text, "{length}");
        }
    }

    #[test]
    fn other_settings_and_invalid_lines_are_errors() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("state");
        fs::write(&path, "{}\n[1,2]\n[1]\n").expect("a file");
        let error = |settings| open(&path, settings).expect_err("an error").to_string();
        assert!(error("{}").contains("state: line 3: "), "{}", error("{}"));
        assert!(error("[]").ends_with("state: the settings differ: expected [], found {} (use another file)"));
    }

    #[test]
    fn file_that_is_not_a_journal_stays_as_it_is() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("notes");
        for text in ["my notes", "my notes\n", "\n", "{} and more"] {
            fs::write(&path, text).expect("a file");
            assert!(matches!(open(&path, "{}"), Err(JournalError::Settings { .. })), "{text:?}");
            assert_eq!(fs::read_to_string(&path).expect("the file"), text);
        }
    }

    #[test]
    fn file_in_use_is_an_error() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("state");
        let first = open(&path, "{}").expect("a new file");
        assert!(matches!(open(&path, "{}"), Err(JournalError::InUse { .. })));
        drop(first);
        assert!(open(&path, "{}").is_ok());
    }
}
