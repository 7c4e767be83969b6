//! Hashes the sources on which results depend. All machines of a cluster must have the same hash.

use std::fs;
use std::hash::Hasher;
use std::path::{Path, PathBuf};

use fnv::FnvHasher;

/// Paths relative to this crate. The lock file is included because it pins the dependencies.
const SOURCES: [&str; 6] =
    ["../../src", "src", "../arena/src", "../benchmark/src", "../reference/src", "../../Cargo.lock"];

fn main() {
    let mut hash = FnvHasher::default();
    for source in SOURCES {
        println!("cargo::rerun-if-changed={source}");
        for file in files(Path::new(source)) {
            hash.write(file.to_string_lossy().replace('\\', "/").as_bytes());
            hash.write(&fs::read(&file).unwrap_or_default());
        }
    }
    println!("cargo::rustc-env=GETAWAY_BUILD={:016x}", hash.finish());
}

fn files(path: &Path) -> Vec<PathBuf> {
    let Ok(folder) = fs::read_dir(path) else { return vec![path.to_owned()] };
    let mut entries: Vec<PathBuf> = folder.filter_map(|entry| Some(entry.ok()?.path())).collect();
    entries.sort();
    entries.iter().flat_map(|entry| files(entry)).collect()
}
