//! Maps on disk, and maps that are made: `layout.png` + `meta.json` to a named layout, and the generator.
//!
//! A map is a folder, and the folder's name is the map's name. [`Map::load`] reads one by path, [`MapLibrary`] finds
//! one by name, [`generate`] makes one, [`Map::save`] writes one in the format of the real challenge.

use std::ffi::OsStr;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::game::Layout;

mod generator;
mod image;
mod library;
mod picture;

pub use crate::game::{MAX_OPEN_TILES, MAX_THREATS};
pub use generator::{GeneratorError, GeneratorKind, GeneratorOptions, MIN_PLAYER_DISTANCE, generate, generate_nth};
pub use image::{LayoutError, MAX_SIDE, MIN_OPEN_TILES, decode_layout, encode_layout};
pub use library::{MapEntry, MapLibrary};

/// The picture in a map's folder.
const LAYOUT_FILE: &str = "layout.png";
/// The description in a map's folder.
const META_FILE: &str = "meta.json";
/// The largest picture within the limits takes 8 MB unpacked; a longer file is no map.
const MAX_LAYOUT_FILE_BYTES: u64 = 16 << 20;
/// Two short strings are expected; a longer file is no description of a map.
const MAX_META_FILE_BYTES: u64 = 64 << 10;

/// A map with its name and description.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Map {
    /// The name of its folder.
    pub name: String,
    /// `type` in `meta.json`; the real maps say `challenge`.
    pub kind: String,
    /// `difficulty` in `meta.json`; the real maps say `easy`.
    pub difficulty: String,
    /// Tiles and spawns.
    pub layout: Layout,
}

/// `meta.json`. Fields that we do not know are none of our business.
#[derive(Serialize, Deserialize)]
struct Meta {
    #[serde(rename = "type")]
    kind: String,
    difficulty: String,
}

/// Why a map could not be read, found or written. Every one names the path and what was expected there.
#[derive(Debug, Error)]
pub enum MapError {
    /// The map's folder, or a folder of maps, is not there or not a folder.
    #[error("{}: no such folder, expected {expected}", .path.display())]
    NoFolder {
        /// Where it was looked for.
        path: PathBuf,
        /// What the folder is for.
        expected: &'static str,
    },
    /// One of the two files is not there.
    #[error("{}: no such file, expected a map folder to hold {LAYOUT_FILE} and {META_FILE}", .path.display())]
    NoFile {
        /// Where it was looked for.
        path: PathBuf,
    },
    /// A file or folder is there but cannot be read.
    #[error("{}: cannot be read ({source})", .path.display())]
    Read {
        /// The file or folder.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// A file is larger than any map's can be.
    #[error("{}: the file is too large, expected at most {limit_bytes} bytes", .path.display())]
    FileTooLarge {
        /// The file.
        path: PathBuf,
        /// What would be accepted.
        limit_bytes: u64,
    },
    /// The picture is not a map.
    #[error("{}: {source}", .path.display())]
    Layout {
        /// The picture.
        path: PathBuf,
        /// Why not.
        source: LayoutError,
    },
    /// The description is not the expected JSON.
    #[error("{}: {source}, expected {{\"type\": \"challenge\", \"difficulty\": \"easy\"}}", .path.display())]
    Meta {
        /// The description.
        path: PathBuf,
        /// Where it goes wrong.
        source: serde_json::Error,
    },
    /// No map has this name.
    #[error("no map named {name}, expected {known}")]
    UnknownName {
        /// What was asked for.
        name: String,
        /// What there is.
        known: String,
    },
    /// Something of this name exists already; nothing was written.
    #[error("{}: exists already and is not overwritten", .path.display())]
    Exists {
        /// What is in the way.
        path: PathBuf,
    },
    /// A file or folder cannot be written.
    #[error("{}: cannot be written ({source})", .path.display())]
    Write {
        /// The file or folder.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
}

impl Map {
    /// Reads the map in a folder.
    pub fn load(folder: impl AsRef<Path>) -> Result<Self, MapError> {
        let folder = folder.as_ref();
        if !folder.is_dir() {
            let expected = "a map folder with layout.png and meta.json";
            return Err(MapError::NoFolder { path: folder.to_owned(), expected });
        }
        let path = folder.join(LAYOUT_FILE);
        let bytes = read_file(&path, MAX_LAYOUT_FILE_BYTES)?;
        let layout = decode_layout(&bytes).map_err(|source| MapError::Layout { path, source })?;

        let path = folder.join(META_FILE);
        let bytes = read_file(&path, MAX_META_FILE_BYTES)?;
        let meta: Meta = serde_json::from_slice(&bytes).map_err(|source| MapError::Meta { path, source })?;

        Ok(Self { name: folder_name(folder), kind: meta.kind, difficulty: meta.difficulty, layout })
    }

    /// Writes the map as a new folder; the folder's parents are made when missing. All of it is there or nothing:
    /// the files are written beside their place and moved there at once. An existing file or folder is never touched.
    pub fn save(&self, folder: impl AsRef<Path>) -> Result<(), MapError> {
        let folder = folder.as_ref();
        let picture = encode_layout(&self.layout)
            .map_err(|source| MapError::Layout { path: folder.join(LAYOUT_FILE), source })?;
        let failed = |source: io::Error| MapError::Write { path: folder.to_owned(), source };
        let meta = Meta { kind: self.kind.clone(), difficulty: self.difficulty.clone() };
        let mut description = serde_json::to_vec_pretty(&meta).map_err(|error| failed(error.into()))?;
        description.push(b'\n');

        if folder.symlink_metadata().is_ok() {
            return Err(MapError::Exists { path: folder.to_owned() });
        }
        let name = folder.file_name().ok_or_else(|| failed(io::ErrorKind::InvalidFilename.into()))?;
        let mut partial_name = OsStr::new(".").to_owned();
        partial_name.push(name);
        partial_name.push(format!(".partial-{}", std::process::id()));
        let partial = folder.with_file_name(partial_name);

        let write = || {
            fs::create_dir_all(&partial)?;
            fs::write(partial.join(LAYOUT_FILE), &picture)?;
            fs::write(partial.join(META_FILE), &description)?;
            // Fails, as it should, when somebody has put a map there since we looked.
            fs::rename(&partial, folder)
        };
        write().map_err(|source| {
            // What is left of it is only in the way; the error worth telling is the first one.
            let _ = fs::remove_dir_all(&partial);
            failed(source)
        })
    }
}

/// A file's bytes, unless there are more than a map's can be.
fn read_file(path: &Path, limit_bytes: u64) -> Result<Vec<u8>, MapError> {
    let failed = |source: io::Error| match source.kind() {
        io::ErrorKind::NotFound => MapError::NoFile { path: path.to_owned() },
        _ => MapError::Read { path: path.to_owned(), source },
    };
    let file = fs::File::open(path).map_err(failed)?;
    let mut bytes = Vec::new();
    file.take(limit_bytes + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > limit_bytes {
        return Err(MapError::FileTooLarge { path: path.to_owned(), limit_bytes });
    }
    Ok(bytes)
}

/// The folder's own name, also when it was named as `.` or `maps/..`.
fn folder_name(folder: &Path) -> String {
    let resolved = match folder.file_name() {
        Some(_) => None,
        None => folder.canonicalize().ok(),
    };
    let folder = resolved.as_deref().unwrap_or(folder);
    folder.file_name().unwrap_or_else(|| OsStr::new("map")).to_string_lossy().into_owned()
}
