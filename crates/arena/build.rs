//! Passes a hash of the sources that games and plays depend on, by which a cluster tells builds of
//! the same version apart.

use std::fs;
use std::path::{Path, PathBuf};

/// Relative to this crate: everything between a series, or a discovery, and its results. The lock
/// file stands for the dependencies.
const SOURCES: [&str; 5] = ["../../src", "src", "../discover/src", "../problems/src", "../../Cargo.lock"];

fn main() {
    // FNV-1a, which does not depend on the compiler's version.
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut add = |bytes: &[u8]| {
        for &byte in bytes {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    };
    for source in SOURCES {
        println!("cargo::rerun-if-changed={source}");
        for file in files(Path::new(source)) {
            add(file.to_string_lossy().replace('\\', "/").as_bytes());
            add(&fs::read(&file).unwrap_or_default());
        }
    }
    println!("cargo::rustc-env=GETAWAY_BUILD={hash:016x}");
}

/// The files below a path, or the path itself if it is one, in a fixed order.
fn files(path: &Path) -> Vec<PathBuf> {
    let Ok(folder) = fs::read_dir(path) else { return vec![path.to_owned()] };
    let mut entries: Vec<PathBuf> = folder.filter_map(|entry| Some(entry.ok()?.path())).collect();
    entries.sort();
    entries.iter().flat_map(|entry| files(entry)).collect()
}
