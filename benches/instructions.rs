//! Guards the speed of the library: counts the instructions of fixed work with callgrind, which is
//! part of valgrind, and compares the counts with `benches/instructions.csv`. Fails if a count
//! differs by more than 3%. A slower library must be explained; a faster one needs a new table.
//!
//! `cargo bench --package getaway-benches --bench instructions`; the option `--update` writes the
//! table.

use std::collections::BTreeMap;
use std::fs;
use std::hint::black_box;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::time::Duration;

use getaway::batch::Batch;
use getaway::bot::{Bot, BotOptions};
use getaway::game::{Move, World};
use getaway::protocol::GameMessage;
use getaway::search::Budget;
use getaway::solve::{Outcome, Solver, SolverOptions};

#[allow(dead_code, reason = "only some games are needed")]
mod games;

const TOLERANCE_PERCENT: f64 = 3.0;
const MAP: &str = "old-town";
const SOLVE_TICKS: u64 = 5_000_000;
const BATCH_GAMES: usize = 256;
const BATCH_STEPS: usize = 100;
/// Number of the bot's decisions. The bot has plenty of time, so that they do not depend on the
/// time.
const DECISIONS: usize = 3;
const DECISION_TICKS: u64 = 20_000;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [flag, name] = &arguments[..]
        && flag == "--measure"
    {
        let (_, work) = WORK.iter().find(|(known, _)| known == name).expect("a name of the table");
        work();
        return ExitCode::SUCCESS;
    }
    let table = Path::new(env!("CARGO_MANIFEST_DIR")).join("instructions.csv");
    let found: BTreeMap<&str, u64> = WORK.iter().map(|&(name, _)| (name, count(name))).collect();
    if arguments.iter().any(|argument| argument == "--update") {
        let rows: String = found.iter().map(|(name, count)| format!("{name},{count}\n")).collect();
        fs::write(&table, rows).expect("a writable table");
        return ExitCode::SUCCESS;
    }
    let text = fs::read_to_string(&table).expect("the table of counts");
    let expected = |name| text.lines().find_map(|row| row.strip_prefix(name)?.strip_prefix(',')?.parse::<u64>().ok());
    let mut is_fine = true;
    for (name, count) in found {
        let expected = expected(name).unwrap_or_else(|| panic!("{name} is not in {}", table.display()));
        let percent = 100.0 * (count as f64 / expected as f64 - 1.0);
        let is_close = percent.abs() <= TOLERANCE_PERCENT;
        let verdict = if is_close { "" } else { ": expected at most 3% (--update writes the table)" };
        println!("{name:<12} {count:>13} instructions, {expected:>13} in the table, {percent:+.1}%{verdict}");
        is_fine &= is_close;
    }
    if is_fine { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Runs this program under valgrind, and returns the number of instructions that callgrind counts.
fn count(name: &str) -> u64 {
    let program = std::env::current_exe().expect("the path of this program");
    let options = ["--tool=callgrind", "--callgrind-out-file=/dev/null", "--toggle-collect=*measured*"];
    // A budget checks its deadline more often on a slower machine, so these checks are not counted.
    let uncounted = "--toggle-collect=*BudgetMeter::check*";
    let mut valgrind = Command::new("valgrind");
    valgrind.args(options).arg(uncounted).arg(program).args(["--measure", name]);
    let output = valgrind.output().unwrap_or_else(|error| panic!("valgrind: {error}: expected it to be installed"));
    let text = String::from_utf8_lossy(&output.stderr);
    let collected = text.lines().find_map(|line| line.split_once("Collected : ")?.1.trim().parse().ok());
    assert!(output.status.success() && collected.is_some(), "{valgrind:?}:\n{text}");
    collected.unwrap_or_default()
}

/// Only the instructions within calls of this function are counted, except for a budget's checks.
#[inline(never)]
fn measured<T>(work: impl FnOnce() -> T) -> T {
    black_box(work())
}

const WORK: [(&str, fn()); 6] =
    [("world", world), ("step", step), ("replay", replay), ("solve", solve), ("batch", batch), ("decision", decision)];

fn world() {
    let game = games::our_game(MAP);
    measured(|| World::new(&game.map.layout, game.jump.world.rules()).expect("a map"));
}

fn step() {
    for game in [games::our_game(MAP), games::our_game("metropolis")] {
        for planned in [game.jump, game.no_jump] {
            measured(|| planned.replay(&planned.world.start()));
        }
    }
}

fn replay() {
    for game in [games::our_game(MAP), games::our_game("metropolis")] {
        for games::PlannedGame { world, plan, checksum } in [game.jump, game.no_jump] {
            let mut state = world.start();
            measured(|| world.play(&mut state, &plan));
            assert_eq!(world.fingerprint(&state), checksum);
        }
    }
}

fn solve() {
    let world = games::our_game(MAP).jump.world;
    let solution = measured(|| {
        Solver::survival_search(SolverOptions::default()).solve(&world, &world.start(), Budget::ticks(SOLVE_TICKS))
    });
    assert_eq!(solution.outcome, Outcome::Survives);
}

fn batch() {
    let worlds = [MAP, "harbour"].map(|map| Arc::new(games::our_game(map).jump.world));
    let mut batch = Batch::new(worlds.into(), (0..BATCH_GAMES).map(|game| 2 * game / BATCH_GAMES).collect());
    let (mut rewards, mut terminations) = ([0.0; BATCH_GAMES], [false; BATCH_GAMES]);
    let mut compact = vec![0; BATCH_GAMES * batch.shape().compact()];
    let moves: Vec<Move> = (0..BATCH_GAMES * BATCH_STEPS).map(|index| Move::ALL[index * index / 7 % 5]).collect();
    measured(|| {
        for moves in moves.chunks(BATCH_GAMES) {
            batch.step(moves, &mut rewards, &mut terminations);
            batch.part(0..BATCH_GAMES).write_compact(&mut compact);
        }
    });
}

fn decision() {
    let world = games::our_game(MAP).jump.world;
    let budget = Budget::time(Duration::from_secs(600)).and(Budget::ticks(DECISION_TICKS));
    let mut bot = Bot::new(BotOptions { budget, ..BotOptions::default() }).expect("the default planner");
    let mut state = world.start();
    for _ in 0..DECISIONS {
        let message = GameMessage::of(&world, &state, "bench");
        let decision = measured(|| bot.next_action(&message)).expect("a decision");
        world.step_unchecked(&mut state, decision.player_move);
    }
}
