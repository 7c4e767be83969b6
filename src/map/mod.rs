//! Reads and generates maps. A map on disk is a folder with `layout.png` and `meta.json`, in the
//! format of the real challenge, or a text file `NAME.txt` with a letter per tile.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::files;
use crate::game::{DrawingError, Layout};

mod bundled;
mod generator;
mod image;
mod library;
mod limits;
mod picture;

pub use crate::game::{MAX_OPEN_TILES, MAX_THREATS};
pub use generator::{GeneratorError, GeneratorKind, GeneratorOptions, MIN_PLAYER_DISTANCE, generate, generate_nth};
pub use image::{decode_layout, encode_layout};
pub use library::{MapEntry, MapLibrary};
pub use limits::{LayoutError, MAX_SIDE, MIN_OPEN_TILES};

const LAYOUT_FILE: &str = "layout.png";
const META_FILE: &str = "meta.json";
const TEXT_EXTENSION: &str = "txt";
/// The largest valid image is 8 MB uncompressed.
const MAX_LAYOUT_FILE_BYTES: u64 = 16 << 20;
/// A description has two short strings.
const MAX_META_FILE_BYTES: u64 = 64 << 10;
/// Maximum size of a drawing. The largest drawing has a letter per tile, plus spaces and line ends.
const MAX_TEXT_FILE_BYTES: u64 = 4 << 20;

/// A map with its name and description.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Map {
    /// The name of the map's folder, or of its text file without `.txt`.
    pub name: String,
    /// `type` in `meta.json`; the real maps say `challenge`, and text files `drawing`.
    pub kind: String,
    /// `difficulty` in `meta.json`; the real maps say `easy`. Empty for text files.
    pub difficulty: String,
    /// Tiles and spawns.
    #[serde(flatten)]
    pub layout: Layout,
}

#[derive(Serialize, Deserialize)]
struct Meta {
    #[serde(rename = "type")]
    kind: String,
    difficulty: String,
}

/// The error for a map that cannot be read, found or written.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum MapError {
    /// The map does not exist.
    #[error("{}: no such map: expected a folder with {LAYOUT_FILE} and {META_FILE}, or a text file", .path.display())]
    NoMap {
        /// The path that was tried.
        path: PathBuf,
    },
    /// A folder of maps does not exist or is not a folder.
    #[error("{}: no such folder: expected a folder with one subfolder or text file per map", .path.display())]
    NoFolder {
        /// The path that was tried.
        path: PathBuf,
    },
    /// `layout.png` or `meta.json` is missing.
    #[error("{}: no such file: a map folder must contain {LAYOUT_FILE} and {META_FILE}", .path.display())]
    NoFile {
        /// The path that was tried.
        path: PathBuf,
    },
    /// A file or folder exists but cannot be read, or is too large for a map.
    #[error("cannot read {}: {source}", .path.display())]
    Read {
        /// The file or folder.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The image is not a map.
    #[error("{}: {source}", .path.display())]
    Layout {
        /// The image.
        path: PathBuf,
        /// The reason.
        source: LayoutError,
    },
    /// The text is not a drawing.
    #[error("{}: {source}", .path.display())]
    Drawing {
        /// The text file.
        path: PathBuf,
        /// The reason.
        source: DrawingError,
    },
    /// The description is not the expected JSON.
    #[error("{}: {source}, expected {{\"type\": \"challenge\", \"difficulty\": \"easy\"}}", .path.display())]
    Meta {
        /// The description.
        path: PathBuf,
        /// The parse error.
        source: serde_json::Error,
    },
    /// No map has this name.
    #[error("no map named {name}: expected {known}")]
    UnknownName {
        /// The requested name.
        name: String,
        /// The known names.
        known: String,
    },
    /// A file or folder of this name already exists. Nothing was written.
    #[error("{} already exists", .path.display())]
    Exists {
        /// The existing file or folder.
        path: PathBuf,
    },
    /// A file or folder cannot be written.
    #[error("cannot write {}: {source}", .path.display())]
    Write {
        /// The file or folder.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

impl Map {
    /// Reads the map in a folder, or in a text file of at most 4 MB.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, MapError> {
        let path = path.as_ref();
        if path.is_dir() {
            return Self::load_folder(path);
        }
        let text = files::read_text(path, MAX_TEXT_FILE_BYTES).map_err(|source| match source.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => MapError::NoMap { path: path.to_owned() },
            io::ErrorKind::InvalidData => {
                let source = io::Error::new(source.kind(), format!("expected a drawing: {source}"));
                MapError::Read { path: path.to_owned(), source }
            }
            _ => MapError::Read { path: path.to_owned(), source },
        })?;
        let layout = Layout::parse(&text).map_err(|source| MapError::Drawing { path: path.to_owned(), source })?;
        limits::check_text(&layout).map_err(|source| MapError::Layout { path: path.to_owned(), source })?;
        Ok(Self { name: text_name(path), kind: "drawing".to_owned(), difficulty: String::new(), layout })
    }

    fn load_folder(folder: &Path) -> Result<Self, MapError> {
        let path = folder.join(LAYOUT_FILE);
        let bytes = read_file(&path, MAX_LAYOUT_FILE_BYTES)?;
        let layout = decode_layout(&bytes).map_err(|source| MapError::Layout { path, source })?;

        let path = folder.join(META_FILE);
        let bytes = read_file(&path, MAX_META_FILE_BYTES)?;
        let meta: Meta = serde_json::from_slice(&bytes).map_err(|source| MapError::Meta { path, source })?;

        Ok(Self { name: folder_name(folder), kind: meta.kind, difficulty: meta.difficulty, layout })
    }

    /// Writes the map as a new folder, and creates missing parents. Atomic: renames a complete
    /// temporary folder. Never overwrites a file or folder.
    pub fn save(&self, folder: impl AsRef<Path>) -> Result<(), MapError> {
        let folder = folder.as_ref();
        if folder.symlink_metadata().is_ok() {
            return Err(MapError::Exists { path: folder.to_owned() });
        }
        self.write(folder, |partial| fs::rename(partial, folder))
    }

    /// Writes the map into an existing folder. Other files in the folder stay.
    ///
    /// # Errors
    /// If a file cannot be written. The old map stays intact, unless the disk fails between the
    /// renames of the two files.
    pub fn overwrite(&self, folder: impl AsRef<Path>) -> Result<(), MapError> {
        let folder = folder.as_ref();
        if !folder.is_dir() {
            let source = io::Error::new(io::ErrorKind::NotADirectory, "not a folder");
            return Err(MapError::Write { path: folder.to_owned(), source });
        }
        self.write(folder, |partial| {
            for file in [LAYOUT_FILE, META_FILE] {
                fs::rename(partial.join(file), folder.join(file))?;
            }
            fs::remove_dir(partial)
        })
    }

    /// Writes to a temporary folder next to `folder`. `finish` moves it or its files.
    fn write(&self, folder: &Path, finish: impl FnOnce(&Path) -> io::Result<()>) -> Result<(), MapError> {
        let picture = encode_layout(&self.layout)
            .map_err(|source| MapError::Layout { path: folder.join(LAYOUT_FILE), source })?;
        let failed = |source: io::Error| MapError::Write { path: folder.to_owned(), source };
        let meta = Meta { kind: self.kind.clone(), difficulty: self.difficulty.clone() };
        let mut description = serde_json::to_vec_pretty(&meta).map_err(|error| failed(error.into()))?;
        description.push(b'\n');

        let name = folder.file_name().ok_or_else(|| failed(io::ErrorKind::InvalidFilename.into()))?;
        let mut partial_name = OsStr::new(".").to_owned();
        partial_name.push(name);
        partial_name.push(format!(".partial-{}", std::process::id()));
        let partial = folder.with_file_name(partial_name);

        let write = || {
            fs::create_dir_all(&partial)?;
            fs::write(partial.join(LAYOUT_FILE), &picture)?;
            fs::write(partial.join(META_FILE), &description)?;
            finish(&partial)
        };
        write().map_err(|source| {
            // Removing the temporary folder may fail too. Only the first error is reported.
            let _ = fs::remove_dir_all(&partial);
            failed(source)
        })
    }
}

fn read_file(path: &Path, limit_bytes: u64) -> Result<Vec<u8>, MapError> {
    files::read(path, limit_bytes).map_err(|source| match source.kind() {
        io::ErrorKind::NotFound => MapError::NoFile { path: path.to_owned() },
        _ => MapError::Read { path: path.to_owned(), source },
    })
}

/// The real name of the folder, even for `.` or `maps/..`.
fn folder_name(folder: &Path) -> String {
    let resolved = match folder.file_name() {
        Some(_) => None,
        None => folder.canonicalize().ok(),
    };
    let folder = resolved.as_deref().unwrap_or(folder);
    folder.file_name().unwrap_or_else(|| OsStr::new("map")).to_string_lossy().into_owned()
}

fn text_name(path: &Path) -> String {
    path.file_stem().unwrap_or_else(|| OsStr::new("map")).to_string_lossy().into_owned()
}
