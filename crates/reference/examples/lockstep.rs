//! The long lockstep run: compares `getaway::game` with the reference model in random games.
//!
//! `cargo run --release --example lockstep -- --ticks 10000000 --seed 1` plays games with the seeds
//! 1, 2, 3, ... until they have at least 10,000,000 ticks in total. `--seed S --games 1` plays a
//! single game. The first divergence ends the run with exit code 1.

use std::io::{IsTerminal, Write, stderr};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Parser;
use getaway_reference::lockstep::{Coverage, RulesDraw, play_seed};

/// Play random games in the fast and in the reference model and compare the full state after every
/// tick
#[derive(Parser)]
struct Args {
    /// Stop after the game that brings the total to this many ticks
    #[arg(long, default_value_t = 10_000_000)]
    ticks: u64,
    /// Stop after this many games
    #[arg(long, default_value_t = u64::MAX)]
    games: u64,
    /// The seed of the first game; the next game has the next seed
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Play only by the server's rules and their no-jump variant; by default, the rules are random
    #[arg(long)]
    server_rules: bool,
}

const PROGRESS_INTERVAL: Duration = Duration::from_millis(500);

fn main() -> ExitCode {
    let args = Args::parse();
    let start = Instant::now();
    let draw = if args.server_rules { RulesDraw::Server } else { RulesDraw::Any };
    let mut coverage = Coverage::default();
    let mut progress = Progress { last_shown: None };
    let mut seed = args.seed;
    while coverage.ticks < args.ticks && seed - args.seed < args.games {
        if let Err(failure) = play_seed(seed, draw, &mut coverage) {
            progress.clear();
            println!("{failure}");
            return ExitCode::FAILURE;
        }
        seed += 1;
        progress.show(start, &coverage, args.ticks);
    }
    progress.clear();
    println!("seeds {} to {}: no divergence", args.seed, seed - 1);
    println!("{coverage}");
    let seconds = start.elapsed().as_secs_f64();
    println!("{seconds:.1} s, {:.0} ticks per second", coverage.ticks as f64 / seconds);
    ExitCode::SUCCESS
}

struct Progress {
    last_shown: Option<Instant>,
}

impl Progress {
    fn show(&mut self, start: Instant, coverage: &Coverage, ticks: u64) {
        let is_due = self.last_shown.is_none_or(|shown| shown.elapsed() >= PROGRESS_INTERVAL);
        if is_due && stderr().is_terminal() {
            let seconds = start.elapsed().as_secs_f64();
            eprint!("\r{} of {ticks} ticks, {} games, {seconds:.0} s ", coverage.ticks, coverage.games);
            let _ = stderr().flush();
            self.last_shown = Some(Instant::now());
        }
    }

    fn clear(&self) {
        if self.last_shown.is_some() {
            eprint!("\r\x1b[K");
        }
    }
}
