//! The arguments of this process.

use std::ffi::OsString;
use std::sync::OnceLock;

/// Set once by [`run_main`](super::run_main): inside a Python process, the process's arguments are
/// not the program's.
pub(super) static ARGUMENTS: OnceLock<Vec<OsString>> = OnceLock::new();

/// The arguments of the program, without its name.
pub(super) fn arguments() -> Vec<String> {
    let arguments = ARGUMENTS.get().map(Vec::as_slice).unwrap_or_default();
    arguments.iter().skip(1).map(|argument| argument.to_string_lossy().into_owned()).collect()
}
