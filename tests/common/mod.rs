//! Maps, folders and files that the tests of several packages use.

#![allow(dead_code, reason = "each package uses only a part of this module")]

use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use getaway::map::{Map, MapLibrary};

/// Waits until `condition` holds. After five minutes, which even a cold and busy machine does not
/// need, panics with the message `what`.
pub fn wait_until(what: &str, condition: impl Fn() -> bool) {
    let end = Instant::now() + Duration::from_secs(300);
    while !condition() {
        assert!(Instant::now() < end, "not within five minutes: {what}");
        sleep(Duration::from_millis(5));
    }
}

/// The root of the checkout: the nearest folder with a `Cargo.lock`, from the package's folder up,
/// or the package's folder if no folder has one.
pub fn root() -> PathBuf {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let root = package.ancestors().find(|folder| folder.join("Cargo.lock").is_file());
    root.unwrap_or(package).to_path_buf()
}

/// The folder of recordings, traces and maps that are not in the repository. Ignored tests need it.
pub fn shared_folder() -> PathBuf {
    let named = std::env::var_os("GETAWAY_SHARED").map(PathBuf::from);
    let folder = named.unwrap_or_else(|| root().join("../shared"));
    assert!(folder.is_dir(), "no folder {}: expected the shared recordings and maps", folder.display());
    folder
}

pub fn our_maps() -> Vec<Map> {
    maps_in(&root().join("maps"))
}

pub fn maps_in(folder: &Path) -> Vec<Map> {
    let entries = MapLibrary::new([folder]).list().unwrap_or_else(|error| panic!("{error}"));
    entries.iter().map(|entry| entry.load().unwrap_or_else(|error| panic!("{error}"))).collect()
}

pub fn map_folder(shared: &Path, map: &str) -> PathBuf {
    let challenge = shared.join("maps").join(map);
    if challenge.is_dir() { challenge } else { shared.join("golden/maps").join(map) }
}

pub fn files_ending(folder: &Path, suffix: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut files: Vec<PathBuf> = entries
        .map(|entry| entry.expect("a readable folder").path())
        .filter(|path| path.to_string_lossy().ends_with(suffix))
        .collect();
    files.sort();
    files
}
