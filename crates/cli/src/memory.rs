//! The memory of a bot from one game to the next: the rules that it has worked out.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use serde::{Deserialize, Serialize};

use getaway::bot::Bot;
use getaway::game::{Rules, Style};

use super::CliError;
use super::output::OutputFile;

/// The content of a memory file.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Memory {
    /// The rules of the server.
    pub rules: Rules,
    /// The unexpected words for styles, with their styles.
    #[serde(default)]
    pub words: Vec<(String, Style)>,
}

impl Memory {
    /// Reads a memory file; without one, the server's rules are assumed.
    pub fn read(path: &Path, no_jump: bool) -> Result<Self, CliError> {
        let fail = |error: &dyn std::fmt::Display| CliError::Input(format!("{}: {error}", path.display()));
        let memory: Self = match fs::read_to_string(path) {
            Ok(text) => serde_json::from_str(&text).map_err(|error| fail(&error))?,
            Err(error) if error.kind() == ErrorKind::NotFound => Self::default(),
            Err(error) => return Err(CliError::Input(format!("cannot read {}: {error}", path.display()))),
        };
        memory.rules.validate().map_err(|error| fail(&error))?;
        Ok(Self { rules: Rules { no_jump, ..memory.rules }, ..memory })
    }

    /// The memory of a bot after its game.
    pub fn of(bot: &Bot) -> Self {
        let (rules, words) = bot.memory();
        Self { rules, words }
    }

    /// Writes a memory file, replacing the one that was read.
    pub fn write(&self, path: &Path) -> Result<(), CliError> {
        let text = serde_json::to_string_pretty(self)? + "\n";
        OutputFile::over(path).write(text.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_round_trips_and_a_missing_file_means_the_servers_rules() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("memory.json");
        assert_eq!(Memory::read(&path, false).expect("a memory"), Memory::default());
        let rules = Rules { hawk_posts: 3, ..Rules::NO_JUMP };
        let memory = Memory { rules, words: vec![("taxi".to_owned(), Style::Bull)] };
        memory.write(&path).expect("a file");
        assert_eq!(Memory::read(&path, true).expect("a memory"), memory);
        fs::write(&path, "{}").expect("a file");
        assert!(Memory::read(&path, false).is_err());
    }
}
