use std::fs;
use std::path::{Path, PathBuf};

use crate::Result;
use crate::error::{at, unreadable};

/// Replaces each folder by its files with one of these endings, sorted. With `is_deep`, includes those
/// of its subfolders. Skips hidden files, such as `._a.jsonl` on a Mac. Fails with the text `expected`
/// if a folder has no such file.
pub(crate) fn input_files(paths: &[PathBuf], endings: &[&str], is_deep: bool, expected: &str) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for path in paths {
        let before = files.len();
        if path.is_dir() {
            add_files(path, endings, is_deep, &mut files)?;
        } else {
            files.push(path.clone());
        }
        if files.len() == before {
            return Err(at(path, expected));
        }
        files[before..].sort();
    }
    Ok(files)
}

fn add_files(folder: &Path, endings: &[&str], is_deep: bool, files: &mut Vec<PathBuf>) -> Result {
    let failed = |error| unreadable(folder, &error);
    for entry in fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if name.starts_with('.') {
            continue;
        }
        if path.is_dir() && is_deep {
            add_files(&path, endings, is_deep, files)?;
        } else if path.is_file() && endings.iter().any(|ending| name.ends_with(ending)) {
            files.push(path);
        }
    }
    Ok(())
}
