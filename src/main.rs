//! The program `getaway`: everything it does is in [`getaway::cli`].

use std::process::ExitCode;

fn main() -> ExitCode {
    getaway::cli::main()
}
