//! The file in which a bot's [`Memory`] is kept between games.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use getaway::bot::Memory;
use getaway::game::Rules;

use super::CliError;
use super::output::OutputFile;

/// Reads a memory file; without one, the server's rules are assumed. Whether the player may jump
/// comes from the command line: `played.no_jump` replaces the file's.
///
/// # Errors
/// When the file cannot be read, is not a memory, or has invalid rules.
pub(super) fn read(path: &Path, played: &Rules) -> Result<Memory, CliError> {
    let fail = |error: &dyn std::fmt::Display| CliError::Input(format!("{}: {error}", path.display()));
    let memory: Memory = match fs::read_to_string(path) {
        Ok(text) => serde_json::from_str(&text).map_err(|error| fail(&error))?,
        Err(error) if error.kind() == ErrorKind::NotFound => Memory::default(),
        Err(error) => return Err(CliError::Input(format!("cannot read {}: {error}", path.display()))),
    };
    memory.rules.validate().map_err(|error| fail(&error))?;
    Ok(Memory { rules: Rules { no_jump: played.no_jump, ..memory.rules }, ..memory })
}

/// Writes a memory file, replacing the one that was read.
///
/// # Errors
/// When the file cannot be written.
pub(super) fn write(memory: &Memory, path: &Path) -> Result<(), CliError> {
    let text = serde_json::to_string_pretty(memory)? + "\n";
    OutputFile::over(path).write(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use getaway::game::Style;

    use super::*;

    #[test]
    fn missing_file_means_the_servers_rules() {
        let dir = tempfile::tempdir().expect("a folder");
        assert_eq!(read(&dir.path().join("memory.json"), &Rules::BLITZ_2025).expect("a memory"), Memory::default());
    }

    #[test]
    fn file_without_rules_is_refused() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("memory.json");
        fs::write(&path, "{}").expect("a file");
        assert!(read(&path, &Rules::BLITZ_2025).is_err());
    }

    #[test]
    fn memory_round_trips() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("memory.json");
        let rules = Rules { hawk_posts: 3, ..Rules::NO_JUMP };
        let memory = Memory { rules, words: vec![("taxi".to_owned(), Style::Bull)], doubts_rules: true };
        write(&memory, &path).expect("a file");
        assert_eq!(read(&path, &Rules::NO_JUMP).expect("a memory"), memory);
    }
}
