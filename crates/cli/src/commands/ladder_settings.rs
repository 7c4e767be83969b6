//! The options that created a ladder, saved in its folder so that later commands need not repeat
//! them, and the folder in which its bots run.

use std::env;
use std::ffi::OsString;
use std::fmt::Display;
use std::path::{Path, PathBuf};

use clap::parser::ValueSource;
use clap::{ArgMatches, Command};
use serde::{Deserialize, Serialize};

use getaway::files::{self, Object};

use crate::error::{TEXT_BYTES_MAX, at};
use crate::output::{OutputFile, note};
use crate::{CliError, Result, invalid};

const FILE: &str = "settings.json";
const KIND: &str = "ladder settings";
const VERSION: u32 = 1;
/// The arguments that belong to a single run.
const OF_RUN: [&str; 9] = ["folder", "added", "retired", "minutes", "threads", "ray", "playground", "json", "logs"];

#[derive(Debug, Default)]
pub(crate) struct Settings {
    /// The settings on the command line, as `--NAME` or `--NAME=VALUE`.
    given: Vec<String>,
    saved: Option<SettingsFile>,
}

#[derive(Debug, Serialize, Deserialize)]
struct SettingsFile {
    getaway: String,
    version: u32,
    /// The folder in which the ladder was created.
    folder: PathBuf,
    arguments: Vec<String>,
}

impl Settings {
    /// Reads the settings of `getaway ladder` from its arguments and from the ladder's folder. Other
    /// commands have none.
    pub fn of_ladder(mut program: Command, arguments: &[OsString]) -> Self {
        let matches = program.try_get_matches_from_mut(arguments);
        let Ok(Some(("ladder", ladder))) = matches.as_ref().map(ArgMatches::subcommand) else { return Self::default() };
        let arguments = program.find_subcommand("ladder").into_iter().flat_map(Command::get_arguments);
        let is_given = |id: &str| ladder.value_source(id) == Some(ValueSource::CommandLine) && !OF_RUN.contains(&id);
        let words = arguments.filter(|argument| is_given(argument.get_id().as_str())).flat_map(|argument| {
            let option = format!("--{}", argument.get_long().unwrap_or_default());
            let values = ladder.get_raw(argument.get_id().as_str()).into_iter().flatten();
            if argument.get_action().takes_values() {
                values.map(|value| format!("{option}={}", value.to_string_lossy())).collect()
            } else {
                vec![option]
            }
        });
        let given = words.collect();
        let saved = ladder.get_one::<PathBuf>("folder").and_then(|folder| read(&folder.join(FILE), &mut program));
        Self { given, saved }
    }

    /// The saved settings that the command line does not replace.
    pub fn saved_words(&self) -> impl Iterator<Item = &String> {
        let is_given = |word: &&String| self.given.iter().any(|given| option_of(given) == option_of(word));
        self.saved.iter().flat_map(|saved| &saved.arguments).filter(move |word| !is_given(word))
    }

    /// True if all settings are those of the ladder's folder. Fails if the folder has another file
    /// in their place.
    pub fn are_saved(&self, ladder: &Path) -> Result<bool> {
        let path = ladder.join(FILE);
        if self.saved.is_none() && path.symlink_metadata().is_ok() {
            return Err(at(&path, "expected a file that a ladder wrote"));
        }
        Ok(self.given.is_empty() && self.saved.is_some())
    }

    /// Changes to the folder in which the ladder was created, because its entrants can have relative
    /// paths.
    pub fn enter(&self) {
        let Some(SettingsFile { folder, .. }) = &self.saved else { return };
        if let Err(error) = env::set_current_dir(folder) {
            note(&format!("{}: {error}; the ladder's bots run in the current folder instead", folder.display()));
        }
    }

    /// Saves the settings of a ladder in its folder, unless they are unchanged.
    pub fn save(&self, ladder: &Path) -> Result {
        if self.are_saved(ladder)? {
            return Ok(());
        }
        let folder = match &self.saved {
            Some(saved) => saved.folder.clone(),
            None => env::current_dir().map_err(unknown_folder)?,
        };
        let arguments = self.saved_words().chain(&self.given).cloned().collect();
        let file = SettingsFile { getaway: KIND.to_owned(), version: VERSION, folder, arguments };
        OutputFile::over(&ladder.join(FILE)).write(format!("{}\n", serde_json::to_string(&file)?).as_bytes())
    }
}

pub(crate) fn unknown_folder(error: impl Display) -> CliError {
    invalid!("cannot determine the current folder: {error}")
}

fn option_of(word: &str) -> &str {
    word.split('=').next().unwrap_or_default()
}

/// Reads the settings of a ladder. Returns `None` if the file cannot be read, or if `program` does
/// not accept its settings.
fn read(path: &Path, program: &mut Command) -> Option<SettingsFile> {
    let Object::<SettingsFile>(file) = serde_json::from_str(&files::read_text(path, TEXT_BYTES_MAX).ok()?).ok()?;
    let words = ["getaway", "ladder", "."].into_iter().chain(file.arguments.iter().map(String::as_str));
    let is_accepted = program.try_get_matches_from_mut(words).is_ok();
    (is_accepted && file.getaway == KIND && file.version == VERSION).then_some(file)
}
