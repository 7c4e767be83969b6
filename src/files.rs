//! Opens input files safely. Only regular files and symbolic links to them are opened, because a
//! pipe can block for ever and a device may have no end. A file above the size limit is refused
//! before anything is read. Data appended after the file has been opened is ignored.

use std::fs::{self, File};
use std::io::{self, Read, Take};
use std::path::Path;

/// What to do with an output file that already exists.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Existing {
    /// Keep it and fail.
    #[default]
    Keep,
    /// Overwrite it.
    Overwrite,
}

/// Opens a regular file of at most `limit_bytes` for reading.
///
/// # Errors
/// If the file cannot be opened, exceeds the limit, or is not a regular file.
pub fn open(path: impl AsRef<Path>, limit_bytes: u64) -> io::Result<Take<File>> {
    check(path.as_ref(), limit_bytes)?;
    let file = File::open(path)?;
    let size_bytes = file.metadata()?.len().min(limit_bytes);
    Ok(file.take(size_bytes))
}

/// Checks that a path leads to a regular file of at most `limit_bytes`, without opening the file.
///
/// # Errors
/// If the file is missing or inaccessible, exceeds the limit, or is not a regular file.
pub fn check(path: impl AsRef<Path>, limit_bytes: u64) -> io::Result<()> {
    let metadata = fs::metadata(path)?;
    let found = match metadata.len() {
        _ if metadata.is_dir() => "a folder".to_owned(),
        _ if !metadata.is_file() => "a device, pipe or socket".to_owned(),
        size_bytes if size_bytes > limit_bytes => format!("{size_bytes} bytes"),
        _ => return Ok(()),
    };
    Err(io::Error::other(format!("expected a regular file of at most {limit_bytes} bytes, found {found}")))
}

/// Reads a regular file of at most `limit_bytes`. Fails if [`open`] or reading the file fails.
pub fn read(path: impl AsRef<Path>, limit_bytes: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path, limit_bytes)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Reads a text file of at most `limit_bytes`. Fails if [`read`] fails or the text is not UTF-8.
pub fn read_text(path: impl AsRef<Path>, limit_bytes: u64) -> io::Result<String> {
    String::from_utf8(read(path, limit_bytes)?)
        .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.utf8_error()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_regular_files_within_the_limit_are_read() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("file");
        fs::write(&path, "text").expect("a file");
        assert_eq!(read_text(&path, 4).expect("text"), "text");
        let error = |path: &Path, limit_bytes| read(path, limit_bytes).expect_err("an error").to_string();
        assert_eq!(error(&path, 3), "expected a regular file of at most 3 bytes, found 4 bytes");
        assert_eq!(error(dir.path(), 3), "expected a regular file of at most 3 bytes, found a folder");
        File::create(&path).and_then(|file| file.set_len(1 << 40)).expect("a sparse file");
        assert!(error(&path, 1 << 20).ends_with(" 1048576 bytes, found 1099511627776 bytes"));
        fs::write(&path, b"\xff").expect("a file");
        assert!(read_text(&path, 4).expect_err("an error").to_string().contains("invalid utf-8"));
        assert_eq!(read(dir.path().join("none"), 3).expect_err("an error").kind(), io::ErrorKind::NotFound);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn devices_are_refused() {
        for path in ["/dev/zero", "/dev/null", "/dev/tty"] {
            assert!(read(path, 1 << 20).is_err(), "{path}");
        }
    }
}
