use std::fmt::Display;
use std::io;
use std::path::Path;

use getaway::bot::OptionsError;
use getaway::map::{GeneratorError, MapError};
use getaway::planner::PlannerError;
use getaway::recording::RecordingError;
use getaway_arena::{GameError, SeriesError};
use getaway_benchmark::BenchmarkError;
use getaway_runs::JournalError;
use getaway_viewer::{LibraryError, PictureError};

#[derive(Debug, thiserror::Error)]
pub enum CliError {
    /// Invalid usage or input, or a file or other resource that cannot be used: exit code 2.
    #[error("{0}")]
    Input(String),
    /// A failed check, planner or bot: exit code 1.
    #[error("{0}")]
    Check(String),
    /// Interrupted by the user: exit code 130, which shells use for Ctrl-C.
    #[error("{0}")]
    Interrupted(String),
    /// Standard output cannot be written: exit code 2, or 0 without a message for a closed pipe.
    #[error("cannot write to standard output: {0}")]
    Output(#[from] io::Error),
}

impl CliError {
    pub(crate) fn report(self) -> (Option<String>, u8) {
        match self {
            Self::Output(error) if error.kind() == io::ErrorKind::BrokenPipe => (None, 0),
            Self::Check(_) => (Some(self.to_string()), 1),
            Self::Interrupted(_) => (Some(self.to_string()), 130),
            Self::Input(_) | Self::Output(_) => (Some(self.to_string()), 2),
        }
    }
}

macro_rules! from_errors_of_saving {
    ($($error:ident),*) => {
        $(impl From<$error> for CliError {
            fn from(error: $error) -> Self {
                match error {
                    $error::Exists { path } => exists(&path),
                    _ => Self::Input(error.to_string()),
                }
            }
        })*
    };
}

from_errors_of_saving!(MapError, RecordingError);

impl From<SeriesError> for CliError {
    fn from(error: SeriesError) -> Self {
        match error {
            SeriesError::Game { .. } => Self::Check(error.to_string()),
            _ => Self::Input(error.to_string()),
        }
    }
}

impl From<GameError> for CliError {
    fn from(error: GameError) -> Self {
        match error {
            GameError::Bot { .. } => Self::Check(error.to_string()),
            GameError::Log(_) => Self::Input(error.to_string()),
        }
    }
}

macro_rules! from_input_errors {
    ($($error:ty),*) => {
        $(impl From<$error> for CliError {
            fn from(error: $error) -> Self {
                Self::Input(error.to_string())
            }
        })*
    };
}

from_input_errors!(
    BenchmarkError,
    GeneratorError,
    JournalError,
    LibraryError,
    OptionsError,
    PictureError,
    PlannerError
);

impl From<serde_json::Error> for CliError {
    /// Converts an error from writing JSON. Code that reads JSON reports the file and line itself.
    fn from(error: serde_json::Error) -> Self {
        Self::Output(error.into())
    }
}

/// Returns the error of an invalid or unusable file.
pub(crate) fn at(path: &Path, error: impl Display) -> CliError {
    CliError::Input(format!("{}: {error}", path.display()))
}

pub(crate) fn exists(path: &Path) -> CliError {
    CliError::Input(format!("{} already exists (use --force to overwrite it)", path.display()))
}

/// Maximum size in bytes of rules, memory, certificate and requirements files.
pub(crate) const TEXT_BYTES_MAX: u64 = 1 << 20;

pub(crate) fn unreadable(path: &Path, error: &io::Error) -> CliError {
    CliError::Input(format!("cannot read {}: {error}", path.display()))
}

pub(crate) fn unwritable(path: &Path, error: &io::Error) -> CliError {
    let text = error.to_string();
    // The crate tempfile appends the path of the temporary file, which does not help the user.
    let cause = text.split(" at path \"").next().unwrap_or(&text);
    CliError::Input(format!("cannot write {}: {cause}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_have_their_exit_codes() {
        assert_eq!(CliError::Check("no".into()).report(), (Some("no".into()), 1));
        assert_eq!(CliError::Input("no".into()).report(), (Some("no".into()), 2));
        assert_eq!(CliError::Output(io::ErrorKind::BrokenPipe.into()).report(), (None, 0));
    }
}
