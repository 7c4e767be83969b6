//! Reads, writes and generates maps. A map on disk is a folder with `layout.png` and `meta.json`,
//! in the format of the real challenge, a text file `NAME.txt` with one character per tile, or a
//! picture `NAME.png` with one pixel per tile.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::files::{self, Object};
use crate::game::{DrawingError, Layout};

pub(crate) mod bundled;
mod generator;
mod image;
mod library;
mod limits;
mod picture;

pub use generator::{GeneratorError, GeneratorKind, GeneratorOptions, generate, generate_nth};
pub use image::{decode_layout, encode_layout};
pub use library::{MapEntry, MapLibrary};
pub use limits::{LayoutError, MAX_SIDE};

const LAYOUT_FILE: &str = "layout.png";
const META_FILE: &str = "meta.json";
const TEXT_EXTENSION: &str = "txt";
const PICTURE_EXTENSION: &str = "png";
/// Twice the size of the largest valid image without compression.
const MAX_LAYOUT_FILE_BYTES: u64 = 16 << 20;
/// Far more than the two short strings of a `meta.json` need.
const MAX_META_FILE_BYTES: u64 = 64 << 10;
/// Far more than the largest drawing needs, with 1024 x 1024 tiles of one character each.
const MAX_TEXT_FILE_BYTES: u64 = 4 << 20;

/// A map with its name and description.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Map {
    /// For a map on disk, the name of its folder, or of its file without the extension.
    pub name: String,
    /// `type` in `meta.json`: `challenge` in the real maps. For a text file or a
    /// picture, `drawing`.
    pub kind: String,
    /// `difficulty` in `meta.json`: `easy` in the real maps. Empty for a text file or a
    /// picture.
    pub difficulty: String,
    /// The tiles, the player's start and the threats' starts.
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
    #[error("{}: no such file or folder: expected a map, as a folder with {LAYOUT_FILE} and {META_FILE}, a PNG or a text file", .path.display())]
    NoMap {
        /// The path that was tried.
        path: PathBuf,
    },
    /// A path that a [`MapLibrary`] searches does not exist or is not a folder.
    #[error("{}: no such folder: expected a folder with one subfolder or text file per map", .path.display())]
    NoFolder {
        /// The path that was tried.
        path: PathBuf,
    },
    /// `layout.png` or `meta.json` is missing.
    #[error("{}: no such file: expected the folder of one map, with {LAYOUT_FILE} and {META_FILE}", .path.display())]
    NoFile {
        /// The path that was tried.
        path: PathBuf,
    },
    /// A file or folder exists but cannot be read, for example because the file is too large.
    #[error("cannot read {}: {source}", .path.display())]
    Read {
        /// The file or folder.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// The image or drawing is not a valid map, or the map cannot be saved as an image.
    #[error("{}: {source}", .path.display())]
    Layout {
        /// The image or text file.
        path: PathBuf,
        /// The reason.
        source: LayoutError,
    },
    /// The text file is not a valid drawing.
    #[error("{}: {source}", .path.display())]
    Drawing {
        /// The text file.
        path: PathBuf,
        /// The reason.
        source: DrawingError,
    },
    /// `meta.json` does not contain the expected JSON.
    #[error("{}: {source}, expected {{\"type\": \"challenge\", \"difficulty\": \"easy\"}}", .path.display())]
    Meta {
        /// The path of `meta.json`.
        path: PathBuf,
        /// The parse error.
        source: serde_json::Error,
    },
    /// No map has this name.
    #[error("no map named {name}{hint}: expected {known}")]
    UnknownName {
        /// The requested name.
        name: String,
        /// A similar name, as ` (did you mean NAME?)`, or nothing.
        hint: String,
        /// A description of the expected input, with at most 20 known names.
        known: String,
    },
    /// [`Map::save`] wrote nothing, because the file or folder already exists.
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
        /// The reason.
        source: io::Error,
    },
}

impl Map {
    /// Reads a map from a folder, a PNG picture, or a text file of at most 4 MiB.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, MapError> {
        let path = path.as_ref();
        if path.is_dir() {
            return Self::load_folder(path);
        }
        let missing = || MapError::NoMap { path: path.to_owned() };
        let drawing =
            |layout| Self { name: file_name(path), kind: "drawing".to_owned(), difficulty: String::new(), layout };
        let is_picture = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case(PICTURE_EXTENSION));
        let limit_bytes = if is_picture { MAX_LAYOUT_FILE_BYTES } else { MAX_TEXT_FILE_BYTES };
        let content = files::read(path, limit_bytes).map_err(unread(path, missing()))?;
        if is_picture || content.starts_with(files::PNG_MAGIC) {
            return picture(path, &content).map(drawing);
        }
        let text = files::text(&content).map_err(unread(path, missing()))?;
        let layout = Layout::parse(&text).map_err(|source| MapError::Drawing { path: path.to_owned(), source })?;
        limits::check_text(&layout).map_err(|source| MapError::Layout { path: path.to_owned(), source })?;
        Ok(drawing(layout))
    }

    fn load_folder(folder: &Path) -> Result<Self, MapError> {
        let path = folder.join(LAYOUT_FILE);
        let missing = MapError::NoFile { path: path.clone() };
        let layout = picture(&path, &files::read(&path, MAX_LAYOUT_FILE_BYTES).map_err(unread(&path, missing))?)?;

        let path = folder.join(META_FILE);
        let text = files::read_text(&path, MAX_META_FILE_BYTES)
            .map_err(unread(&path, MapError::NoFile { path: path.clone() }))?;
        let Object::<Meta>(meta) = serde_json::from_str(&text).map_err(|source| MapError::Meta { path, source })?;

        Ok(Self { name: folder_name(folder), kind: meta.kind, difficulty: meta.difficulty, layout })
    }

    /// Saves the map as a new folder, and creates missing parent folders. Writes the files to a
    /// temporary folder and renames it at the end. Fails if `folder` already exists.
    pub fn save(&self, folder: impl AsRef<Path>) -> Result<(), MapError> {
        let folder = folder.as_ref();
        if folder.symlink_metadata().is_ok() {
            return Err(MapError::Exists { path: folder.to_owned() });
        }
        self.write(folder, |partial| fs::rename(partial, folder))
    }

    /// Replaces `layout.png` and `meta.json` in an existing folder. Keeps its other files.
    ///
    /// # Errors
    /// If `folder` is not a folder, its path does not end in a name, the map cannot be saved as an
    /// image, or a file cannot be written. The old map stays intact, unless a file was replaced
    /// before the failure.
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

    /// Writes the map to a temporary folder next to `folder`, and passes its path to `finish`.
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
            // Report the original error, even if the temporary folder cannot be removed.
            let _ = fs::remove_dir_all(&partial);
            failed(source)
        })
    }
}

fn picture(path: &Path, content: &[u8]) -> Result<Layout, MapError> {
    if let Some(kind) = files::binary_kind(content).filter(|_| !content.starts_with(files::PNG_MAGIC)) {
        let source = io::Error::other(format!("expected a PNG picture, found {kind}"));
        return Err(MapError::Read { path: path.to_owned(), source });
    }
    decode_layout(content).map_err(|source| MapError::Layout { path: path.to_owned(), source })
}

/// Returns `missing` for a file that does not exist.
fn unread(path: &Path, missing: MapError) -> impl FnOnce(io::Error) -> MapError {
    |source| match source.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => missing,
        _ => MapError::Read { path: path.to_owned(), source },
    }
}

/// Returns the folder's name. Resolves a path that does not end in a name, such as `maps/..`.
fn folder_name(folder: &Path) -> String {
    let resolved = match folder.file_name() {
        Some(_) => None,
        None => folder.canonicalize().ok(),
    };
    let folder = resolved.as_deref().unwrap_or(folder);
    folder.file_name().unwrap_or_else(|| OsStr::new("map")).to_string_lossy().into_owned()
}

fn file_name(path: &Path) -> String {
    path.file_stem().unwrap_or_else(|| OsStr::new("map")).to_string_lossy().into_owned()
}
