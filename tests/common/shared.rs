//! The runner of tests that need the shared folder, which is too large for the repository.
//!
//! Without the folder such a test is reported as ignored. With `GETAWAY_REQUIRE_SHARED=1` it fails
//! instead, so that a machine which should have the folder cannot pass by not testing.

use std::path::Path;
use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};

use crate::common::shared_folder;

/// A test that is given the shared folder.
pub type SharedTest = (&'static str, fn(&Path));

/// Runs the tests with the arguments of `cargo test`.
pub fn run(tests: &[SharedTest]) -> ExitCode {
    let is_required = std::env::var_os("GETAWAY_REQUIRE_SHARED").is_some_and(|value| value == "1");
    let is_ignored = !shared_folder().is_dir() && !is_required;
    let trial = |&(name, test): &SharedTest| {
        let run = move || {
            let folder = shared_folder();
            if !folder.is_dir() {
                return Err(format!("no folder {}: expected the shared recordings and maps", folder.display()).into());
            }
            test(&folder);
            Ok(())
        };
        Trial::test(name, run).with_kind("needs ../shared").with_ignored_flag(is_ignored)
    };
    libtest_mimic::run(&Arguments::from_args(), tests.iter().map(trial).collect()).exit_code()
}
