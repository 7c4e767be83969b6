//! Measures how long the bot takes for a decision: one call of `Bot::next_action`.
//!
//! `decision/MAP` plays whole games and reports the mean decision time. Before that, the bench
//! prints the decision times of one game: the first, and the median, the 99th percentile and the
//! maximum of the others. The bench fails if the bot does not survive a game.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use criterion::{Criterion, criterion_group, criterion_main};
use getaway::bot::{Bot, BotOptions};
use getaway::game::{LAST_TICK, Rules, World};
use getaway::map::{Map, MapLibrary};
use getaway::protocol::GameMessage;

fn maps() -> Vec<Map> {
    let here = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
    let shared = std::env::var_os("GETAWAY_SHARED").map_or_else(|| here.join("../shared"), PathBuf::from);
    let folders = [here.join("maps"), shared.join("maps")].into_iter().filter(|folder| folder.is_dir());
    let entries = MapLibrary::new(folders).list().expect("folders of maps");
    entries.iter().map(|entry| entry.load().expect("a map")).collect()
}

fn decision_times(world: &World, seed: u64) -> Vec<Duration> {
    let mut bot = Bot::new(BotOptions { seed, ..BotOptions::default() }).expect("the default planner");
    let mut state = world.start();
    let mut times = Vec::new();
    while !state.is_over() {
        let message = GameMessage::of(world, &state, "bench");
        let begun = Instant::now();
        let decision = bot.next_action(&message).expect("a decision");
        times.push(begun.elapsed());
        world.step_unchecked(&mut state, decision.player_move);
    }
    assert_eq!(state.tick(), LAST_TICK + 1, "the bot must survive every measured game");
    times
}

fn report(map: &str, mut times: Vec<Duration>) {
    let first = times.remove(0);
    times.sort();
    let at = |percent: usize| times[(times.len() * percent).div_ceil(100) - 1];
    let (p50, p99, max) = (at(50), at(99), at(100));
    println!("decision/{map}: first {first:.2?}, then p50 {p50:.2?}, p99 {p99:.2?}, max {max:.2?}");
}

fn decision(criterion: &mut Criterion) {
    let mut benches = criterion.benchmark_group("decision");
    benches.sample_size(10).warm_up_time(Duration::from_millis(100)).measurement_time(Duration::from_millis(500));
    for map in maps() {
        let world = World::new(&map.layout, &Rules::BLITZ_2025).expect("a map within the limits");
        report(&map.name, decision_times(&world, 0));
        let mut seed = 0;
        benches.bench_function(map.name, |bencher| {
            bencher.iter_custom(|decisions| {
                seed += 1;
                let times = decision_times(&world, seed);
                // The mean over a whole game gives its slow first tick the right weight.
                times.iter().sum::<Duration>() * decisions as u32 / times.len() as u32
            });
        });
    }
    benches.finish();
}

criterion_group!(benches, decision);
criterion_main!(benches);
