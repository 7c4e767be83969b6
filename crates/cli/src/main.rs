use std::process::ExitCode;

use getaway::planner::ModelHost;

fn main() -> ExitCode {
    ExitCode::from(getaway_cli::run_main(std::env::args_os().collect(), Some(&ModelHost)))
}
