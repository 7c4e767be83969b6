use std::ffi::OsStr;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, fs, io};

use super::contents::{Contents, REQUIREMENTS};
use crate::error::at;
use crate::output::note;
use crate::{Result, invalid};

const ZIP: &str = include_str!("../../../../../tools/zip_folder.py");
/// Prints the version, and the module for virtual environments: `venv`, `virtualenv` or `-` (none).
const PROBE: &str = "import sys, importlib.util as util
has = lambda name: util.find_spec(name) is not None
print(*sys.version_info[:3], 'venv' if has('venv') and has('ensurepip') else 'virtualenv' if has('virtualenv') else '-')";
const MINOR_MIN: u32 = 10;
const MINOR_MAX: u32 = 30;
const LOG_LINES: usize = 20;

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Python {
    minor: u32,
    micro: u32,
    path: PathBuf,
    /// The module for virtual environments: `venv` or `virtualenv`.
    module: String,
}

impl Python {
    /// Returns the given interpreter or, if none is given, the oldest suitable one found. Fails if
    /// the given interpreter is unsuitable, or none is found.
    pub fn find(given: Option<&Path>) -> Result<Self> {
        let wanted = format!("Python 3.{MINOR_MIN} or newer with venv or virtualenv");
        let Some(path) = given else {
            let oldest = candidates().iter().filter_map(|path| Self::probe(path)).min();
            return oldest.ok_or_else(|| invalid!("no {wanted} found (try --python FILE)"));
        };
        Self::probe(path).ok_or_else(|| at(path, format_args!("expected {wanted}")))
    }

    fn probe(path: &Path) -> Option<Self> {
        let output = isolated(path).args(["-c", PROBE]).stdin(Stdio::null()).output();
        let text = String::from_utf8(output.ok()?.stdout).ok()?;
        let words: Vec<&str> = text.split_whitespace().collect();
        let ["3", minor, micro, module] = words[..] else { return None };
        let (minor, micro, path) = (minor.parse().ok()?, micro.parse().ok()?, path.to_owned());
        (minor >= MINOR_MIN && module != "-").then(|| Self { minor, micro, path, module: module.to_owned() })
    }

    pub fn words(&self) -> String {
        let Self { minor, micro, path, .. } = self;
        let note = if *minor == MINOR_MIN { "as in the competition" } else { "the competition has 3.10" };
        format!("Python 3.{minor}.{micro} ({}), {note}", path.display())
    }

    /// Zips a folder's files. If any Python file does not compile, writes no zip and returns the errors.
    pub fn zip(&self, folder: &Path, names: &[String], zip: &Path) -> Result<Vec<String>> {
        let mut command = isolated(&self.path);
        command.args(["-c", ZIP]).args([folder, zip]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let fail = |error: io::Error| invalid!("cannot run {}: {error}", self.path.display());
        let mut child = command.spawn().map_err(fail)?;
        let names: String = names.iter().flat_map(|name| [name, "\0"]).collect();
        let input = child.stdin.take().expect("piped").write_all(names.as_bytes());
        let output = input.and_then(|()| child.wait_with_output()).map_err(fail)?;
        let found = String::from_utf8_lossy(&output.stdout);
        if output.status.success() || !found.is_empty() {
            return Ok(found.lines().map(|line| format!("{line} (Python 3.{})", self.minor)).collect());
        }
        let error = String::from_utf8_lossy(&output.stderr);
        Err(invalid!("cannot zip {}: {}", folder.display(), error.lines().last().unwrap_or_default()))
    }

    pub fn unzip(&self, zip: &Path, folder: &Path) -> Result {
        self.run("cannot unpack the zip", &["-m", "zipfile", "--extract"], &[zip, folder])
    }

    /// Creates a virtual environment, installs the bot's requirements, and returns the interpreter of
    /// the environment. Returns the inner error if pip fails, and the outer error if the
    /// environment cannot be created or pip cannot start.
    pub fn install(&self, environment: &Path, bot: &Path) -> Result<Result<PathBuf, String>> {
        let has_requirements = Contents::has_requirements(bot);
        let pip: &[&str] = match self.module.as_str() {
            _ if has_requirements => &[],
            "venv" => &["--without-pip"],
            _ => &["--no-pip"],
        };
        let failure = format!("{} cannot create an environment", self.path.display());
        self.run(&failure, &[&["-m", &self.module], pip].concat(), &[environment])?;
        let python = environment.join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" });
        if !has_requirements {
            return Ok(Ok(python));
        }
        let mut pip = isolated(&python);
        pip.args(["-m", "pip", "install", "--disable-pip-version-check", "--no-input", "--quiet"]);
        pip.args(["--requirement", REQUIREMENTS]).current_dir(bot).stdin(Stdio::null());
        let output = pip.output().map_err(|error| invalid!("cannot run pip: {error}"))?;
        if output.status.success() {
            return Ok(Ok(python));
        }
        let log = String::from_utf8_lossy(&output.stderr);
        show_log(&log);
        let cause = log.lines().rev().find_map(|line| line.trim().strip_prefix("ERROR: "));
        let cause = cause.unwrap_or("pip failed").trim_end_matches('.');
        Ok(Err(format!("{REQUIREMENTS} cannot be installed under Python 3.{}: {cause}", self.minor)))
    }

    /// Runs the interpreter. If it fails, the error is `failure` with the last line of its output.
    fn run(&self, failure: &str, words: &[&str], paths: &[&Path]) -> Result {
        let output = isolated(&self.path).args(words).args(paths).stdin(Stdio::null()).output();
        let output = output.map_err(|error| invalid!("cannot run {}: {error}", self.path.display()))?;
        if output.status.success() {
            return Ok(());
        }
        let log = [&output.stderr[..], &output.stdout[..]].concat();
        let log = String::from_utf8_lossy(&log);
        let cause = log.lines().map(str::trim).rfind(|line| !line.is_empty()).unwrap_or_default();
        Err(invalid!("{failure}: {cause}"))
    }
}

/// Returns the command of an interpreter that imports nothing from the working directory, from the
/// folders that environment variables name, or from the user's packages. Starts it in the root
/// folder, because a file of the working directory may select the version that pyenv runs.
fn isolated(path: &Path) -> Command {
    // A bare name is looked up on PATH. Another path must not depend on the working directory.
    let is_bare = path.components().count() == 1;
    let absolute = if is_bare { None } else { std::path::absolute(path).ok() };
    let mut command = Command::new(absolute.as_deref().unwrap_or(path));
    command.arg("-I").current_dir("/");
    command
}

pub fn show_log(log: &str) {
    let lines: Vec<&str> = log.trim_end().lines().collect();
    lines[lines.len().saturating_sub(LOG_LINES)..].iter().for_each(|line| note(&format!("  | {line}")));
}

/// Returns interpreters to try, including those in pyenv's folders, because pyenv's shims run only
/// the selected versions.
fn candidates() -> Vec<PathBuf> {
    let versions = (MINOR_MIN..=MINOR_MAX).map(|minor| format!("python3.{minor}"));
    let mut paths: Vec<PathBuf> =
        ["python3", "python"].map(str::to_owned).into_iter().chain(versions).map(PathBuf::from).collect();
    let pyenv = env::var_os("PYENV_ROOT").map(PathBuf::from);
    let pyenv = pyenv.or_else(|| Some(PathBuf::from(env::var_os("HOME")?).join(".pyenv")));
    let installed = pyenv.and_then(|root| fs::read_dir(root.join("versions")).ok()).into_iter().flatten().flatten();
    let is_version = |name: &OsStr| name.to_str().is_some_and(|name| name.starts_with("3."));
    paths.extend(installed.filter(|entry| is_version(&entry.file_name())).map(|entry| entry.path().join("bin/python")));
    paths
}
