use std::process::ExitCode;

fn main() -> ExitCode {
    getaway_cli::main()
}
