//! The long audit of proofs: `cargo run --release --package getaway-verifier --example audit`.
//! Solves many small maps, each with its own rules, and verifies the certificates. Then checks that
//! the verifier refuses changed and forged certificates if a known line exceeds their bound. After
//! a failure, the exit code is 1. `--seed S --games 1 --changed 0 --forged 0` repeats the check of
//! a single game.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use audit::{Audit, Counts, Failure};
use clap::Parser;

#[path = "../tests/audit/mod.rs"]
mod audit;

/// Solve random small maps under random rules, verify every certificate, and compare the claims
/// with one another and with exhaustive searches
#[derive(Parser)]
struct Args {
    /// Number of random games
    #[arg(long, default_value_t = 100_000)]
    games: u64,
    /// Number of changed certificates
    #[arg(long, default_value_t = 10_000)]
    changed: u64,
    /// Number of forged certificates
    #[arg(long, default_value_t = 500)]
    forged: u64,
    /// The seed of the first game; the next game has the next seed
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Number of times each map is solved
    #[arg(long, default_value_t = 4)]
    solves: u64,
    /// Print all failures instead of stopping at the first
    #[arg(long)]
    go_on: bool,
}

const CHANGES: u64 = 10;

fn main() -> ExitCode {
    let args = Args::parse();
    let start = Instant::now();
    let audit = Audit { solves: args.solves, ..Audit::SMALL };
    let (mut counts, mut failures, mut slowest) = (Counts::default(), 0, Duration::ZERO);
    let mut has_failed = |result: Result<(), Failure>| {
        if let Err(failure) = &result {
            println!("{failure}\n");
            failures += 1;
        }
        result.is_err() && !args.go_on
    };
    let mut stopped = (0..args.games).any(|index| has_failed(audit.check(args.seed + index, &mut counts)));
    stopped = stopped
        || (0..args.changed.div_ceil(CHANGES)).any(|index| {
            let changes = CHANGES.min(args.changed - index * CHANGES) as usize;
            has_failed(audit.check_changed(args.seed + index, changes, &mut counts))
        });
    stopped = stopped
        || (0..args.forged).any(|index| {
            let begun = Instant::now();
            let is_over = has_failed(audit.check_forged(args.seed + index, &mut counts));
            slowest = slowest.max(begun.elapsed());
            is_over
        });
    println!("from seed {}: {failures} failures{}", args.seed, if stopped { ", stopped" } else { "" });
    println!("{counts}");
    println!("{:.1} s, {:.1} s for the slowest forgery", start.elapsed().as_secs_f64(), slowest.as_secs_f64());
    if failures == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
