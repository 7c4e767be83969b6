//! Throws broken input at everything that reads any, for as long as is wanted; `tests/fuzz.rs` does a little of it in every test run.
//!
//! `cargo run --release --example fuzz -- messages --count 1000000`, or `expressions`, `files`, `frames`. Case N is made of the number
//! `seed + N` alone, so a failure is shown again by `--seed NUMBER --count 1`. Times are judged on a machine that has nothing else to do.

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

/// Runs of commands, one for so many files: starting a program takes a hundred times as long as reading a file.
const RUN_EVERY: u64 = 50;

/// Throws broken input at everything that reads any
#[derive(Parser)]
struct Args {
    /// Where to throw
    target: Target,
    /// How many messages, texts, files or frames
    #[arg(long, default_value_t = 1_000_000, default_value_if("target", "flood", "1000"))]
    count: u64,
    /// The number of the first one
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Being late is no failure: for a machine that has other things to do
    #[arg(long)]
    untimed: bool,
    /// The program that reads files [default: the one beside this example's folder]
    #[arg(long)]
    program: Option<PathBuf>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Target {
    /// Messages into the bot
    Messages,
    /// Expressions of the search grammar into their parser, and what can be read into a planner
    Expressions,
    /// Maps and saved games into the readers and the commands
    Files,
    /// Frames and requests into a server on which games go on
    Frames,
    /// Connections, 1,000 unless told, all held open at once: what a tick takes beside them
    Flood,
}

fn main() -> ExitCode {
    let args = Args::parse();
    let start = Instant::now();
    let result = match args.target {
        Target::Messages => fuzzing::messages::run(args.seed, args.count, !args.untimed).map(|tally| tally.to_string()),
        Target::Expressions => {
            fuzzing::expressions::run(args.seed, args.count, !args.untimed).map(|tally| tally.to_string())
        }
        Target::Files => files(&args),
        Target::Frames => block_on(fuzzing::frames::run(args.seed, args.count)),
        Target::Flood => block_on(fuzzing::frames::flood(args.count as usize)),
    };
    let seconds = start.elapsed().as_secs_f64();
    match result {
        Ok(tally) => {
            println!("{tally}; {seconds:.0} s");
            ExitCode::SUCCESS
        }
        Err(what) => {
            println!("{what}");
            ExitCode::FAILURE
        }
    }
}

fn files(args: &Args) -> Result<String, String> {
    let beside = || Some(std::env::current_exe().ok()?.parent()?.parent()?.join("getaway"));
    let program = args.program.clone().or_else(beside).unwrap_or_default();
    if !program.is_file() {
        return Err(format!(
            "{}: no such program, expected `cargo build --release` to have made it",
            program.display()
        ));
    }
    fuzzing::files::run(args.seed, args.count, &program, RUN_EVERY).map(|tally| tally.to_string())
}

/// Runs with two threads, as `getaway serve` does.
fn block_on<T: ToString>(work: impl Future<Output = Result<T, String>>) -> Result<String, String> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    runtime.map_err(|error| error.to_string())?.block_on(work).map(|done| done.to_string())
}
