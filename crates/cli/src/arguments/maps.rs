//! The maps, the rules and the other files that a command reads.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use getaway::files::{self, Object};
use getaway::game::{Rules, World};
use getaway::map::{Map, MapEntry, MapLibrary};

use crate::error::{TEXT_BYTES_MAX, at, unreadable};
use crate::output::shell_quoted;
use crate::{Result, invalid};

#[derive(Args, Clone, Debug, Default)]
pub(crate) struct MapArgs {
    /// Search this folder for maps before the bundled ones; repeatable
    #[arg(long = "maps", value_name = "DIR")]
    pub(crate) dirs: Vec<PathBuf>,
}

impl MapArgs {
    /// Returns [`MapLibrary::with_bundled`] for the folders of `--maps`. Fails if a folder has no
    /// maps or cannot be listed. If its subfolder `maps` or its parent has some, the error says so.
    pub fn library(&self) -> Result<MapLibrary> {
        let has_maps = |dir: &Path| MapLibrary::new([dir]).list().map(|entries| !entries.is_empty());
        for dir in &self.dirs {
            if has_maps(dir)? {
                continue;
            }
            let mut near = [Some(dir.join("maps")), dir.parent().map(Path::to_path_buf)].into_iter().flatten();
            let advice = near.find(|near| matches!(has_maps(near), Ok(true)));
            let advice = advice.map_or_else(String::new, |near| format!("; there are maps in {}", near.display()));
            let dir = dir.display();
            return Err(invalid!(
                "no maps in {dir}: expected a folder with one subfolder or text file per map{advice}"
            ));
        }
        Ok(MapLibrary::with_bundled(&self.dirs))
    }

    /// Returns the maps with these names or paths. If `names` is empty, returns the maps of every
    /// `--maps DIR`, or those of [`MapLibrary::with_bundled`] if the option is not given.
    pub fn load(&self, names: &[String]) -> Result<Vec<Map>> {
        let library = self.library()?;
        if !names.is_empty() {
            return Ok(names.iter().map(|name| library.find(name)).collect::<Result<_, _>>()?);
        }
        let library = if self.dirs.is_empty() { library } else { MapLibrary::new(&self.dirs) };
        Ok(library.list()?.iter().map(MapEntry::load).collect::<Result<_, _>>()?)
    }

    pub fn find(&self, name_or_path: &str) -> Result<Map> {
        Ok(self.library()?.find(name_or_path)?)
    }
}

/// Maps given without `--map`. They are parsed only so that the error can suggest `--map`.
#[derive(Args, Clone, Debug)]
pub(crate) struct PositionalMaps {
    #[arg(hide = true, value_name = "MAP")]
    positional: Vec<String>,
}

impl PositionalMaps {
    /// Fails if there are positional maps.
    pub fn refuse(&self) -> Result {
        if self.positional.is_empty() {
            return Ok(());
        }
        let options: Vec<String> = self.positional.iter().map(|map| format!("--map {}", shell_quoted(map))).collect();
        Err(invalid!("{}: maps are given as {}, planners with --planner", self.positional.join(" "), options.join(" ")))
    }
}

pub(crate) fn world_of(map: &Map, rules: &Rules) -> Result<World> {
    World::new(&map.layout, rules).map_err(|error| invalid!("{}: {error}", map.name))
}

#[derive(Args, Clone, Debug, Default)]
pub struct RulesArgs {
    /// No-jump variant: stepping onto a threat's tile loses the game
    #[arg(long = "no-jump")]
    forbids_jumps: bool,
    /// JSON file with the rules of play; missing fields take the server's values
    #[arg(long = "rules", value_name = "FILE")]
    file: Option<PathBuf>,
}

impl RulesArgs {
    pub fn rules(&self) -> Result<Rules> {
        let rules = self.file.as_deref().map_or(Ok(Rules::BLITZ_2025), read_rules)?;
        Ok(Rules { no_jump: rules.no_jump || self.forbids_jumps, ..rules })
    }

    pub fn given(&self) -> Result<Option<Rules>> {
        if self.file.is_some() || self.forbids_jumps { self.rules().map(Some) } else { Ok(None) }
    }

    /// Returns the given options as quoted words of a shell command.
    pub fn words(&self) -> Vec<String> {
        let file = self.file.iter().flat_map(|path| ["--rules".to_owned(), shell_quoted(&path.display().to_string())]);
        self.forbids_jumps.then(|| "--no-jump".to_owned()).into_iter().chain(file).collect()
    }
}

pub(crate) fn read_rules(path: &Path) -> Result<Rules> {
    let text = files::read_text(path, TEXT_BYTES_MAX).map_err(|error| unreadable(path, &error))?;
    let Object::<Rules>(rules) = serde_json::from_str(&text).map_err(|error| at(path, error))?;
    rules.validate().map_err(|error| at(path, error))?;
    Ok(rules)
}

/// Replaces each folder with its files that have one of these endings, in sorted order. With
/// `is_deep`, also includes such files in its subfolders. Skips hidden files, such as `._a.jsonl`
/// on a Mac. Fails with the text `expected` if a folder has no such file.
pub(crate) fn input_files(paths: &[PathBuf], endings: &[&str], is_deep: bool, expected: &str) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for path in paths {
        let mut found = if path.is_dir() { folder_files(path, endings, is_deep)? } else { vec![path.clone()] };
        if found.is_empty() {
            return Err(at(path, expected));
        }
        found.sort();
        files.extend(found);
    }
    Ok(files)
}

fn folder_files(folder: &Path, endings: &[&str], is_deep: bool) -> Result<Vec<PathBuf>> {
    let (mut files, failed) = (Vec::new(), |error| unreadable(folder, &error));
    for entry in fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
        let is_hidden = name.starts_with('.');
        if is_deep && path.is_dir() && !is_hidden {
            files.extend(folder_files(&path, endings, is_deep)?);
        } else if path.is_file() && !is_hidden && endings.iter().any(|ending| name.ends_with(ending)) {
            files.push(path);
        }
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_come_from_the_file_and_the_flag() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("rules.json");
        let of = |json: &str, forbids_jumps| {
            fs::write(&path, json).expect("a file");
            RulesArgs { forbids_jumps, file: Some(path.clone()) }.rules().map_err(|error| error.report().0)
        };
        assert_eq!(RulesArgs::default().rules().ok(), Some(Rules::BLITZ_2025));
        let args = RulesArgs { forbids_jumps: true, file: None };
        assert_eq!((args.rules().ok(), args.words()), (Some(Rules::NO_JUMP), vec!["--no-jump".to_owned()]));
        let hawks = Rules { hawk_posts: 3, ..Rules::BLITZ_2025 };
        assert_eq!(of(r#"{"hawk_posts": 3}"#, false), Ok(hawks));
        assert_eq!(of(r#"{"hawk_posts": 3}"#, true), Ok(Rules { no_jump: true, ..hawks }));
        assert_eq!(of(r#"{"no_jump": true}"#, false), Ok(Rules::NO_JUMP));
        let error =
            |json| of(json, false).unwrap_err().expect("a message").replace(&path.display().to_string(), "FILE");
        assert_eq!(error(r#"{"owl_minute_ticks": 0}"#), "FILE: rules: owl_minute_ticks is 0: expected at least 1");
        assert_eq!(error("[]"), "FILE: expected an object, found an array at line 1 column 2");
        assert_eq!(error(r#"{"wire": []}"#), "FILE: expected an object, found an array at line 1 column 11");
        assert!(error(r#"{"owls": 3}"#).starts_with("FILE: unknown field `owls`, expected one of"));
    }
}
