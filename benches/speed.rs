//! Measures how many ticks per second the simulator reaches at best:
//! `cargo bench --package getaway-benches --bench speed`.
//!
//! On a shared machine, other processes distort an average, so this bench reports the speed of the
//! fastest of many short runs.

use std::hint::black_box;
use std::time::Instant;

#[allow(dead_code, reason = "loading is not measured here")]
mod games;

const RUNS: usize = 20_000;
const RANDOM_TICKS: u32 = 2_000;

fn main() {
    println!(
        "{:<14} {:>16} {:>16} {:>16}   (million ticks per second, best of {RUNS})",
        "map", "step", "no jump", "random"
    );
    for game in games::all() {
        let [step, no_jump] = [&game.jump, &game.no_jump].map(|game| {
            let start = game.world.start();
            best_rate(game.plan.len() as f64, || game.replay(black_box(&start)))
        });
        let world = &game.jump.world;
        let start = world.start();
        let random =
            best_rate(f64::from(RANDOM_TICKS), || games::play_at_random(world, black_box(&start), RANDOM_TICKS));
        println!("{:<14} {step:>16} {no_jump:>16} {random:>16}", game.name);
    }
}

fn best_rate(ticks: f64, work: impl Fn() -> u64) -> String {
    let expected = work();
    let time = || {
        let started = Instant::now();
        let checksum = work();
        let seconds = started.elapsed().as_secs_f64();
        assert_eq!(checksum, expected, "the same games must end the same way");
        seconds
    };
    let shortest = (0..RUNS).map(|_| time()).fold(f64::INFINITY, f64::min);
    format!("{:.0} ({:.2} ns)", ticks / shortest / 1e6, shortest / ticks * 1e9)
}
