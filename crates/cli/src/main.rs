//! The program `getaway`: everything it does is in [`getaway_cli`].

use std::process::ExitCode;

fn main() -> ExitCode {
    getaway_cli::main()
}
