//! Files that keep a bot's [`Memory`] between games. [`read`] refuses a file whose first line does
//! not name this kind and version of file, so that [`write`] does not overwrite such a file.

use std::io::ErrorKind;
use std::path::Path;

use serde::{Deserialize, Serialize};

use getaway::bot::Memory;
use getaway::files::{self, Object};
use getaway::game::Rules;
use getaway_runs::FileKind;

use crate::error::{TEXT_BYTES_MAX, at, unreadable};
use crate::output::OutputFile;
use crate::{Result, invalid};

const KIND: FileKind = FileKind { name: "memory", version: 1 };

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct MemoryFile {
    getaway: String,
    version: u32,
    #[serde(deserialize_with = "files::object")]
    memory: Memory,
}

/// Returns a new memory if the file is missing. The memory's `no_jump` is that of `played`, not of
/// the file. Fails if the file cannot be read or written, or is not a valid memory.
pub(crate) fn read(path: &Path, played: &Rules) -> Result<Memory> {
    KIND.check_replaceable(path, TEXT_BYTES_MAX).map_err(|error| invalid!("{error}"))?;
    let memory = match files::read_text(path, TEXT_BYTES_MAX) {
        Ok(text) => serde_json::from_str::<Object<MemoryFile>>(&text).map_err(|error| at(path, error))?.0.memory,
        Err(error) if error.kind() == ErrorKind::NotFound => Memory::default(),
        Err(error) => return Err(unreadable(path, &error)),
    };
    memory.rules.validate().map_err(|error| at(path, error))?;
    OutputFile::over(path).check()?;
    Ok(Memory { rules: Rules { no_jump: played.no_jump, ..memory.rules }, ..memory })
}

pub(crate) fn write(memory: &Memory, path: &Path) -> Result {
    let file = MemoryFile { getaway: KIND.name.to_owned(), version: KIND.version, memory: memory.clone() };
    let text = serde_json::to_string(&file)? + "\n";
    OutputFile::over(path).write(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use getaway::game::Style;

    use super::*;

    #[test]
    fn missing_file_means_the_servers_rules() {
        let dir = tempfile::tempdir().expect("a folder");
        assert_eq!(read(&dir.path().join("memory.json"), &Rules::BLITZ_2025).expect("a memory"), Memory::default());
    }

    #[test]
    fn file_that_cannot_be_written_is_refused_before_the_game() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("nowhere/memory.json");
        let (line, code) = read(&path, &Rules::BLITZ_2025).expect_err("an error").report();
        let expected = format!("cannot write {}: ", path.display());
        assert!(code == 2 && line.as_ref().is_some_and(|line| line.starts_with(&expected)), "{line:?}");
    }

    #[test]
    fn other_files_are_refused() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("memory.json");
        let later = r#"{"getaway":"memory","version":2,"memory":{"rules":{}}}"#;
        for text in ["", "{}", r#"{"rules":{}}"#, r#"{"getaway":"games","version":1,"memory":{"rules":{}}}"#, later] {
            fs::write(&path, text).expect("a file");
            let (line, code) = read(&path, &Rules::BLITZ_2025).expect_err("an error").report();
            let expected = r#", line 1: expected {"getaway":"memory","version":1,...}, found "#;
            assert!(code == 2 && line.is_some_and(|line| line.contains(expected)), "{text}");
        }
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
