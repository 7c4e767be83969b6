//! Helpers of several test files: the shared folder of recordings, which is too large for the
//! repository.

#![allow(dead_code, reason = "each test file is its own crate and uses only a part of it")]

use std::path::{Path, PathBuf};

use getaway::map::{Map, MapLibrary};

/// The checkout: the nearest folder with a `Cargo.lock`, from whichever package a test belongs to.
pub fn root() -> PathBuf {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let root = package.ancestors().find(|folder| folder.join("Cargo.lock").is_file());
    root.unwrap_or(package).to_path_buf()
}

/// The shared folder: `GETAWAY_SHARED` if it is set, else `shared` beside the checkout.
pub fn shared_folder() -> PathBuf {
    let named = std::env::var_os("GETAWAY_SHARED").map(PathBuf::from);
    named.unwrap_or_else(|| root().join("../shared"))
}

/// The bundled maps, by name.
pub fn our_maps() -> Vec<Map> {
    maps_in(&root().join("maps"))
}

/// The maps of a folder, by name.
pub fn maps_in(folder: &Path) -> Vec<Map> {
    let entries = MapLibrary::new([folder]).list().unwrap_or_else(|error| panic!("{error}"));
    entries.iter().map(|entry| entry.load().unwrap_or_else(|error| panic!("{error}"))).collect()
}

/// The folder of a map: one of the challenge's, or one made for the recordings.
pub fn map_folder(shared: &Path, map: &str) -> PathBuf {
    let challenge = shared.join("maps").join(map);
    if challenge.is_dir() { challenge } else { shared.join("golden/maps").join(map) }
}

/// The files of a folder whose names end in `suffix`, by name.
pub fn files_ending(folder: &Path, suffix: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut files: Vec<PathBuf> = entries
        .map(|entry| entry.expect("a readable folder").path())
        .filter(|path| path.to_string_lossy().ends_with(suffix))
        .collect();
    files.sort();
    files
}
