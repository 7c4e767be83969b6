//! How fast a tick is at best: `cargo bench --bench speed`.
//!
//! On a machine with other work to do, an average says more about the others. This takes the shortest of many short runs, which
//! is what the processor can do when it is let; criterion's estimates stand beside it.

use std::hint::black_box;
use std::time::Instant;

#[allow(dead_code, reason = "nothing is loaded here")]
mod games;

/// Runs of each kind, of some tens of microseconds.
const RUNS: usize = 20_000;
/// Ticks in a run of random games.
const RANDOM_TICKS: u32 = 2_000;

fn main() {
    println!(
        "{:<14} {:>16} {:>16} {:>16}   (million ticks a second, best of {RUNS})",
        "map", "step", "no jump", "random"
    );
    for game in games::all() {
        let [step, no_jump] = [&game.jump, &game.no_jump].map(|replay| {
            let start = replay.world.start();
            best_rate(replay.plan.len() as f64, || replay.run(black_box(&start)))
        });
        let world = &game.jump.world;
        let start = world.start();
        let random =
            best_rate(f64::from(RANDOM_TICKS), || games::play_at_random(world, black_box(&start), RANDOM_TICKS));
        println!("{:<14} {step:>16} {no_jump:>16} {random:>16}", game.name);
    }
}

/// Millions of ticks a second in the shortest run, and nanoseconds a tick.
fn best_rate(ticks: f64, work: impl Fn() -> u64) -> String {
    let expected = work();
    let time = || {
        let started = Instant::now();
        let checksum = work();
        let seconds = started.elapsed().as_secs_f64();
        assert_eq!(checksum, expected, "the same games end the same way");
        seconds
    };
    let shortest = (0..RUNS).map(|_| time()).fold(f64::INFINITY, f64::min);
    format!("{:.0} ({:.2} ns)", ticks / shortest / 1e6, shortest / ticks * 1e9)
}
