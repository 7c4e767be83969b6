//! Passes a hash of the sources that games and plays depend on, by which a cluster tells builds of
//! the same version apart.

#[path = "../../src/fnv.rs"]
mod fnv;

use std::fs;
use std::hash::Hasher;
use std::path::{Path, PathBuf};

use fnv::FnvHasher;

/// Relative to this crate: everything between a series, or a discovery, and its results. The lock
/// file stands for the dependencies.
const SOURCES: [&str; 5] = ["../../src", "src", "../discover/src", "../problems/src", "../../Cargo.lock"];

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

/// The files below a path, or the path itself if it is one, in a fixed order.
fn files(path: &Path) -> Vec<PathBuf> {
    let Ok(folder) = fs::read_dir(path) else { return vec![path.to_owned()] };
    let mut entries: Vec<PathBuf> = folder.filter_map(|entry| Some(entry.ok()?.path())).collect();
    entries.sort();
    entries.iter().flat_map(|entry| files(entry)).collect()
}
