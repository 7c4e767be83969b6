//! Output files. Commands check their output paths before their main work, so that a wrong path
//! does not waste the work.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::Args;

use getaway::files::Existing;
use getaway_runs::partial_file;

use crate::Result;
use crate::error::{exists, unwritable};

#[derive(Args, Clone, Copy, Debug, Default)]
pub struct OutputArgs {
    /// Overwrite output files that exist
    #[arg(long)]
    force: bool,
}

impl OutputArgs {
    /// Returns the output file at `path`. Call this before computing its content. Fails like
    /// [`OutputFile::check`]; an existing file may be replaced only with `--force`.
    pub fn file(self, path: impl Into<PathBuf>) -> Result<OutputFile> {
        let file = OutputFile { path: path.into(), overwrite: self.force };
        file.check()?;
        Ok(file)
    }

    pub fn existing(self) -> Existing {
        if self.force { Existing::Overwrite } else { Existing::Keep }
    }
}

/// A file that is written completely or not at all, unless it is a device or pipe.
#[derive(Clone, Debug)]
pub struct OutputFile {
    path: PathBuf,
    overwrite: bool,
}

impl OutputFile {
    /// Returns an output file that replaces an existing one.
    pub fn over(path: &Path) -> Self {
        Self { path: path.to_owned(), overwrite: true }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes a temporary file and renames it, but writes to a device or pipe directly. Fails if
    /// the file exists and must not be replaced.
    pub fn write(&self, content: &[u8]) -> Result {
        self.try_write(content).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => exists(&self.path),
            _ => unwritable(&self.path, &error),
        })
    }

    fn try_write(&self, content: &[u8]) -> io::Result<()> {
        if fs::metadata(&self.path).is_ok_and(|metadata| !metadata.is_file()) {
            return OpenOptions::new().write(true).open(&self.path)?.write_all(content);
        }
        let target = self.target();
        let mut partial = partial_file(&target)?;
        partial.write_all(content)?;
        let renamed = if self.overwrite { partial.persist(&target) } else { partial.persist_noclobber(&target) };
        renamed.map(drop).map_err(|error| error.error)
    }

    /// Returns the file to write: the path or, if it links to an existing file that may be
    /// replaced, that file.
    fn target(&self) -> PathBuf {
        let linked = if self.overwrite { fs::canonicalize(&self.path).ok() } else { None };
        linked.unwrap_or_else(|| self.path.clone())
    }

    /// Fails if the path is a folder, if the file exists and must not be replaced, or if its folder
    /// is not writable. Does not check whether a device or pipe is writable.
    pub fn check(&self) -> Result {
        if self.path.symlink_metadata().is_ok() && !self.overwrite {
            return Err(exists(&self.path));
        }
        let checked = match fs::metadata(&self.path) {
            Ok(metadata) if metadata.is_dir() => Err(io::Error::other("expected a file, found a folder")),
            Ok(metadata) if !metadata.is_file() => Ok(()),
            // Test that the folder is writable. The temporary file is deleted at once.
            _ => partial_file(&self.target()).map(drop),
        };
        checked.map_err(|error| unwritable(&self.path, &error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEEP: OutputArgs = OutputArgs { force: false };
    const FORCE: OutputArgs = OutputArgs { force: true };

    fn error<T: std::fmt::Debug>(result: Result<T>) -> (String, u8) {
        let (line, code) = result.expect_err("an error").report();
        (line.expect("a message"), code)
    }

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").file_name());
        entries.map(|name| name.to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn existing_file_is_overwritten_only_with_force() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("report.html");
        KEEP.file(&path).expect("a new file").write(b"one").expect("written");
        let (line, code) = error(KEEP.file(&path));
        assert_eq!(code, 2);
        assert_eq!(line, format!("{} already exists (use --force to overwrite it)", path.display()));
        FORCE.file(&path).expect("a file").write(b"two").expect("written");
        assert_eq!(fs::read(&path).expect("a file"), b"two");
        assert_eq!(names(folder.path()), ["report.html"]);
    }

    #[test]
    fn file_created_since_the_check_is_kept() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a.png");
        let file = KEEP.file(&path).expect("a new file");
        fs::write(&path, "mine").expect("written");
        assert!(error(file.write(b"yours")).0.contains("already exists"));
        assert_eq!(fs::read(&path).expect("a file"), b"mine");
        assert_eq!(names(folder.path()), ["a.png"]);
    }

    #[test]
    fn output_that_cannot_be_written_is_refused_before_the_work() {
        let folder = tempfile::tempdir().expect("a folder");
        let missing = folder.path().join("nowhere/a.html");
        let (line, code) = error(FORCE.file(&missing));
        assert_eq!(code, 2);
        assert!(line.starts_with(&format!("cannot write {}: ", missing.display())), "{line}");
        assert!(!line.contains(".partial"), "{line}");
        assert!(error(FORCE.file(folder.path())).0.ends_with(": expected a file, found a folder"));
        assert!(names(folder.path()).is_empty());
    }

    #[test]
    fn check_leaves_nothing_behind() {
        let folder = tempfile::tempdir().expect("a folder");
        drop(KEEP.file(folder.path().join("a.html")).expect("a new file"));
        assert!(names(folder.path()).is_empty());
    }

    #[cfg(unix)]
    #[test]
    fn links_and_devices_are_written_through() {
        let folder = tempfile::tempdir().expect("a folder");
        let (target, link) = (folder.path().join("target"), folder.path().join("link"));
        fs::write(&target, "old").expect("written");
        std::os::unix::fs::symlink(&target, &link).expect("a link");
        FORCE.file(&link).expect("a file").write(b"new").expect("written");
        assert_eq!(fs::read(&target).expect("a file"), b"new");
        assert!(link.symlink_metadata().expect("a link").is_symlink());
        FORCE.file("/dev/null").expect("a device").write(b"gone").expect("written");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn link_may_be_in_a_folder_that_is_not_writable() {
        let folder = tempfile::tempdir().expect("a folder");
        let target = folder.path().join("target");
        let open = fs::File::create(&target).expect("a file");
        let link = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&open));
        FORCE.file(link).expect("a file").write(b"new").expect("written");
        assert_eq!(fs::read(&target).expect("a file"), b"new");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn failed_write_keeps_the_existing_file() {
        let (line, code) = error(FORCE.file("/dev/full").expect("a device").write(b"text"));
        assert_eq!(code, 2);
        assert!(line.starts_with("cannot write /dev/full: No space left"), "{line}");
    }
}
