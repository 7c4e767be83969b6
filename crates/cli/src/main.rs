//! The program `getaway`; the implementation is in [`getaway_cli`].

use std::process::ExitCode;

fn main() -> ExitCode {
    getaway_cli::main()
}
