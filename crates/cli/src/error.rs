use std::any::Any;
use std::error::Error;
use std::fmt;
use std::io;
use std::path::Path;

use getaway::map::MapError;
use getaway::recording::RecordingError;
use getaway_arena::{BridgeError, DatasetError, GameError, LadderError, SeriesError};

pub type Result<T = (), E = CliError> = std::result::Result<T, E>;

/// The error of a command. Every other error converts into it, so it is not a [`std::error::Error`].
#[derive(Debug)]
pub enum CliError {
    /// Invalid usage or input, or a file or other resource that cannot be used: exit code 2.
    Input(String),
    /// A failed check, planner or bot: exit code 1.
    Check(String),
    /// Interrupted by a signal: exit code 130, which shells use for Ctrl-C.
    Interrupted(String),
    /// Standard output cannot be written: exit code 2, or 0 without a message for a closed pipe.
    Output(io::Error),
}

impl fmt::Display for CliError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Input(text) | Self::Check(text) | Self::Interrupted(text) => f.write_str(text),
            Self::Output(error) => write!(f, "cannot write to standard output: {error}"),
        }
    }
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

impl<E: Error + 'static> From<E> for CliError {
    /// Treats an I/O or JSON error as a failure to write standard output. Code that reads files reports
    /// the file and line itself.
    fn from(error: E) -> Self {
        let (text, error): (String, &dyn Any) = (error.to_string(), &error);
        if let Some(MapError::Exists { path }) = error.downcast_ref() {
            return exists(path);
        }
        if let Some(RecordingError::Exists { path }) = error.downcast_ref() {
            return exists(path);
        }
        let of_json = |error: &serde_json::Error| error.io_error_kind().unwrap_or(io::ErrorKind::Other);
        let kind = error.downcast_ref().map(io::Error::kind).or_else(|| error.downcast_ref().map(of_json));
        if let Some(kind) = kind {
            return Self::Output(io::Error::new(kind, text));
        }
        let has_failed = matches!(error.downcast_ref(), Some(SeriesError::Game { .. }))
            || matches!(error.downcast_ref(), Some(LadderError::Series(SeriesError::Game { .. })))
            || matches!(error.downcast_ref(), Some(DatasetError::Series(SeriesError::Game { .. })))
            || matches!(error.downcast_ref(), Some(DatasetError::Planner { .. }))
            || matches!(error.downcast_ref(), Some(GameError::Bot { .. }))
            || matches!(error.downcast_ref(), Some(BridgeError::Ended { .. }));
        if has_failed { Self::Check(text) } else { Self::Input(text) }
    }
}

/// Formats the text of a [`CliError::Input`].
macro_rules! invalid {
    ($($text:tt)*) => { $crate::CliError::Input(format!($($text)*)) };
}
pub(crate) use invalid;

/// Formats the text of a [`CliError::Check`].
macro_rules! failed {
    ($($text:tt)*) => { $crate::CliError::Check(format!($($text)*)) };
}
pub(crate) use failed;

/// Returns the error of an invalid or unusable file.
pub(crate) fn at(path: &Path, error: impl fmt::Display) -> CliError {
    invalid!("{}: {error}", path.display())
}

pub(crate) fn exists(path: &Path) -> CliError {
    invalid!("{} already exists (use --force to overwrite it)", path.display())
}

/// Maximum size in bytes of files with rules, memories, certificates, requirements or the settings
/// of a ladder.
pub(crate) const TEXT_BYTES_MAX: u64 = 1 << 20;

pub(crate) fn unreadable(path: &Path, error: &io::Error) -> CliError {
    invalid!("cannot read {}: {error}", path.display())
}

pub(crate) fn unwritable(path: &Path, error: &io::Error) -> CliError {
    let text = error.to_string();
    // The crate tempfile appends the path of the temporary file, which does not help the user.
    let cause = text.split(" at path \"").next().unwrap_or(&text);
    invalid!("cannot write {}: {cause}", path.display())
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
