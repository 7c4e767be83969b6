//! Why a command failed, and how that is reported.

use std::io;
use std::path::Path;

use getaway::map::{GeneratorError, MapError};
use getaway::recording::RecordingError;

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
pub enum CliError {
    /// Invalid usage or input: exit code 2.
    #[error("{0}")]
    Input(String),
    /// A check failed on valid input: exit code 1.
    #[error("{0}")]
    Check(String),
    /// Interrupted by the user: exit code 130, as shells report it.
    #[error("{0}")]
    Interrupted(String),
    /// Writing the output failed; a closed pipe ends the program silently.
    #[error("cannot write to standard output: {0}")]
    Output(#[from] io::Error),
}

impl CliError {
    /// The line for standard error, if any, and the exit code.
    pub(super) fn report(self) -> (Option<String>, u8) {
        match self {
            Self::Output(error) if error.kind() == io::ErrorKind::BrokenPipe => (None, 0),
            Self::Check(_) => (Some(self.to_string()), 1),
            Self::Interrupted(_) => (Some(self.to_string()), 130),
            Self::Input(_) | Self::Output(_) => (Some(self.to_string()), 2),
        }
    }
}

impl From<MapError> for CliError {
    fn from(error: MapError) -> Self {
        match error {
            MapError::Exists { path } => exists(&path),
            _ => Self::Input(error.to_string()),
        }
    }
}

impl From<RecordingError> for CliError {
    fn from(error: RecordingError) -> Self {
        match error {
            RecordingError::Exists { path } => exists(&path),
            _ => Self::Input(error.to_string()),
        }
    }
}

impl From<GeneratorError> for CliError {
    fn from(error: GeneratorError) -> Self {
        Self::Input(error.to_string())
    }
}

impl From<serde_json::Error> for CliError {
    /// Only errors of writing JSON are converted here; errors of parsing name the file or line.
    fn from(error: serde_json::Error) -> Self {
        Self::Output(error.into())
    }
}

/// The error of an output that already exists.
pub(super) fn exists(path: &Path) -> CliError {
    CliError::Input(format!("{} already exists (overwrite only with --force)", path.display()))
}

/// The error of a file that cannot be written.
pub(super) fn unwritable(path: &Path, error: &io::Error) -> CliError {
    let text = error.to_string();
    // tempfile adds the path of the temporary file, which is not the one that the user asked for.
    let cause = text.split(" at path \"").next().unwrap_or(&text);
    CliError::Input(format!("cannot write {}: {cause}", path.display()))
}

/// Escapes control characters: names and paths may contain anything and must not break the line or
/// control the terminal.
pub(super) fn one_line(text: &str) -> String {
    text.chars()
        .flat_map(|c| if c.is_control() { c.escape_default().collect::<Vec<char>>() } else { vec![c] })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_printed_on_one_line() {
        assert_eq!(one_line("a\nb\x1b[31m é"), "a\\nb\\u{1b}[31m é");
    }

    #[test]
    fn failures_have_their_exit_codes() {
        assert_eq!(CliError::Check("no".into()).report(), (Some("no".into()), 1));
        assert_eq!(CliError::Input("no".into()).report(), (Some("no".into()), 2));
        assert_eq!(CliError::Output(io::ErrorKind::BrokenPipe.into()).report(), (None, 0));
    }
}
