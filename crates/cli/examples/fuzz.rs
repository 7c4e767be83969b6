//! Long runs of the fuzzers in `tests/fuzzing`. `tests/integration/fuzz.rs` makes short runs of all
//! of them except `flood`.
//!
//! Run `cargo run --release --example fuzz -- messages --count 1000000`. The other targets are
//! `expressions`, `files`, `frames` and `flood`. A failure of `messages`, `expressions` or `files`
//! names a bot, text or file by its number N: `--seed N --count 1` repeats this case.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use clap::{Parser, ValueEnum};

#[path = "../../../tests/common/counting.rs"]
mod counting;
#[path = "../tests/fuzzing/mod.rs"]
mod fuzzing;

#[global_allocator]
static COUNTING: counting::Counting = counting::Counting;

/// Only every 50th file is passed to the program, because starting a process is slow.
const RUN_EVERY: u64 = 50;

/// Fuzz the code that reads messages, expressions, files and frames
#[derive(Parser)]
struct Args {
    /// What to fuzz
    target: Target,
    /// Number of messages, texts, files, frames or idle clients
    #[arg(long, default_value_t = 1_000_000, default_value_if("target", "flood", "1000"))]
    count: u64,
    /// Seed of the first case; unused by flood
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Do not fail on late answers (targets messages and expressions), for use on a busy machine
    #[arg(long)]
    untimed: bool,
    /// Path of the getaway program [default: getaway in the same target folder]
    #[arg(long)]
    program: Option<PathBuf>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Target {
    /// Messages to the bot
    Messages,
    /// Texts for the parser of the search grammar; every 50th valid expression is also run as a
    /// planner for one decision
    Expressions,
    /// Files with maps or saved games, read by the library; the program also reads every 50th
    Files,
    /// WebSocket frames and HTTP requests to a server with running games
    Frames,
    /// Idle clients (default 1,000) that hold connections open while tick times are measured
    Flood,
}

fn main() -> ExitCode {
    let args = Args::parse();
    let start = Instant::now();
    let result = match args.target {
        Target::Messages => {
            fuzzing::messages::run(args.seed, args.count, !args.untimed).map(|counts| counts.to_string())
        }
        Target::Expressions => {
            fuzzing::expressions::run(args.seed, args.count, !args.untimed).map(|counts| counts.to_string())
        }
        Target::Files => files(&args),
        Target::Frames => fuzzing::frames::run(args.seed, args.count).map(|counts| counts.to_string()),
        Target::Flood => fuzzing::frames::flood(args.count as usize).map(|flood| flood.to_string()),
    };
    let seconds = start.elapsed().as_secs_f64();
    match result {
        Ok(counts) => {
            println!("{counts}; {seconds:.0} s");
            ExitCode::SUCCESS
        }
        Err(failure) => {
            println!("{failure}");
            ExitCode::FAILURE
        }
    }
}

fn files(args: &Args) -> Result<String, String> {
    let default_program = || Some(std::env::current_exe().ok()?.parent()?.parent()?.join("getaway"));
    let program = args.program.clone().or_else(default_program).unwrap_or_default();
    if !program.is_file() {
        return Err(format!("{}: no such program (run `cargo build --release`)", program.display()));
    }
    fuzzing::files::run(args.seed, args.count, &program, RUN_EVERY).map(|counts| counts.to_string())
}
