//! Finds maps by name, in folders and among the bundled maps.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::bundled;
use super::{LAYOUT_FILE, META_FILE, Map, MapError, TEXT_EXTENSION, file_name};
use crate::text::did_you_mean;

const MAX_NAMES_IN_ERROR: usize = 20;

/// Folders of maps, searched in order, and optionally the bundled maps after them.
#[derive(Clone, Debug)]
pub struct MapLibrary {
    dirs: Vec<PathBuf>,
    has_bundled: bool,
}

/// A map that a library has found but not read.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MapEntry {
    /// The map's name.
    pub name: String,
    /// The path of the map's folder or text file; `None` for a bundled map.
    pub path: Option<PathBuf>,
}

impl MapEntry {
    /// Reads the map.
    pub fn load(&self) -> Result<Map, MapError> {
        let unknown = || unknown(&self.name, bundled::names());
        match &self.path {
            Some(path) => Map::load(path),
            None => bundled::find(&self.name).ok_or_else(unknown),
        }
    }
}

/// The bundled maps.
impl Default for MapLibrary {
    fn default() -> Self {
        Self { dirs: Vec::new(), has_bundled: true }
    }
}

impl MapLibrary {
    /// Creates a library of folders. If several folders contain a map of the same name, the map in
    /// the first of them is used.
    pub fn new(dirs: impl IntoIterator<Item = impl Into<PathBuf>>) -> Self {
        Self { dirs: dirs.into_iter().map(Into::into).collect(), has_bundled: false }
    }

    /// Creates a library that searches `dirs`, and then the bundled maps.
    pub fn with_bundled(dirs: impl IntoIterator<Item = impl Into<PathBuf>>) -> Self {
        Self { dirs: Self::new(dirs).dirs, ..Self::default() }
    }

    /// The folders, in search order.
    pub fn dirs(&self) -> &[PathBuf] {
        &self.dirs
    }

    /// Returns the maps, sorted by name, without reading them. In a folder, these are subfolders
    /// with `layout.png` or `meta.json`, and files `NAME.txt`. Skips names that start with a dot.
    /// Fails if a folder is missing or cannot be read.
    pub fn list(&self) -> Result<Vec<MapEntry>, MapError> {
        let mut entries = BTreeMap::new();
        for dir in &self.dirs {
            for entry in list_dir(dir)? {
                entries.entry(entry.name.clone()).or_insert(entry);
            }
        }
        if self.has_bundled {
            for name in bundled::names() {
                let entry = MapEntry { name: name.to_owned(), path: None };
                entries.entry(entry.name.clone()).or_insert(entry);
            }
        }
        Ok(entries.into_values().collect())
    }

    /// Reads the map with this name or path. Looks for a bare name such as `hall` in the library
    /// first, and then in the working directory. Any other text (`./hall`) can only be a path.
    pub fn find(&self, name_or_path: &str) -> Result<Map, MapError> {
        let path = Path::new(name_or_path);
        let is_name = path.file_name() == Some(path.as_os_str());
        if !is_name {
            return Map::load(path);
        }
        let entries = self.list()?;
        match entries.iter().find(|entry| entry.name == name_or_path) {
            Some(entry) => entry.load(),
            None if path.exists() => Map::load(path),
            None => Err(unknown(name_or_path, entries.iter().map(|entry| entry.name.as_str()))),
        }
    }
}

fn list_dir(dir: &Path) -> Result<Vec<MapEntry>, MapError> {
    if !dir.is_dir() {
        return Err(MapError::NoFolder { path: dir.to_owned() });
    }
    let failed = |source| MapError::Read { path: dir.to_owned(), source };
    let mut entries = Vec::new();
    for entry in fs::read_dir(dir).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let name = if path.join(LAYOUT_FILE).exists() || path.join(META_FILE).exists() {
            path.file_name().unwrap_or_default().to_string_lossy().into_owned()
        } else if path.extension().is_some_and(|extension| extension == TEXT_EXTENSION) && path.is_file() {
            file_name(&path)
        } else {
            continue;
        };
        // A leading dot can mark the temporary folder of a map that is being written.
        if !name.starts_with('.') {
            entries.push(MapEntry { name, path: Some(path) });
        }
    }
    // If a folder and a text file have the same map name, the folder sorts first and so wins.
    entries.sort_by(|left, right| left.path.cmp(&right.path));
    Ok(entries)
}

fn unknown<'a>(name: &str, known: impl Iterator<Item = &'a str> + Clone) -> MapError {
    let hint = did_you_mean(name, known.clone());
    MapError::UnknownName { name: name.to_owned(), hint, known: known_names(known) }
}

fn known_names<'a>(mut known: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<&str> = known.by_ref().take(MAX_NAMES_IN_ERROR).collect();
    if names.is_empty() {
        return "the path of a map (no maps found)".to_owned();
    }
    let more = if known.next().is_some() { ", ..." } else { "" };
    format!("the path of a map or one of {}{more}", names.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn maps_in_the_program_are_those_in_the_folder() {
        let folder = MapLibrary::new([concat!(env!("CARGO_MANIFEST_DIR"), "/../../maps")]);
        let program = MapLibrary { dirs: Vec::new(), has_bundled: true };
        let load = |library: &MapLibrary| -> Vec<Map> {
            library.list().unwrap().iter().map(|entry| entry.load().unwrap()).collect()
        };
        assert_eq!(load(&program), load(&folder));
        assert_eq!(program.find("snail").unwrap().name, "snail");
        let unknown = MapEntry { name: "atlantis".to_owned(), path: None }.load().unwrap_err().to_string();
        assert!(unknown.contains("snail"), "{unknown}");
        assert_eq!(program.find("atlantis").unwrap_err().to_string(), unknown);
    }
}
