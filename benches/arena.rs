//! Measures the games per second of a series, and the overhead of a series over plain games, which
//! the bench plays by calling [`Player::play`] directly. Each round plays the plain games, the series on one
//! thread, and the series on two. On a shared machine, the ratio of two times in one round is more
//! stable than the times, so the bench prints the median of the rounds' ratios. All scores must
//! equal those of the plain games.

use std::ops::ControlFlow;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use getaway::bot::{Bot, BotOptions};
use getaway::game::{Rules, World};
use getaway::map::{Map, MapLibrary};
use getaway::search::Budget;
use getaway_arena::{ExternalHost, ExternalOptions, Games, Player, Series, SeriesOptions};

const MAPS: [&str; 4] = ["corner-shop", "crossroads", "roundabout", "snail"];
const PLANNERS: [&str; 2] = ["safest", "survival"];
const SAMPLES: u32 = 2;
const BUDGET: Budget = Budget::ticks(10_000);
const THREADS: [usize; 2] = [1, 2];
const ROUNDS: usize = 41;

fn maps() -> Vec<Map> {
    let library = MapLibrary::new([concat!(env!("CARGO_MANIFEST_DIR"), "/../maps")]);
    MAPS.iter().map(|name| library.find(name).expect("one of our maps")).collect()
}

fn series() -> Series {
    let planners = PLANNERS.map(str::to_owned).to_vec();
    let options = SeriesOptions { planners, samples: SAMPLES, seed: 1, rules: Rules::BLITZ_2025, budget: BUDGET };
    Series::new(&maps(), options).expect("a series")
}

fn scores_in_series(series: &Series, threads: usize) -> Vec<u32> {
    let mut games = Games::new();
    let flow = series.play(&mut games, threads, &AtomicBool::new(false), |_, _| ControlFlow::<()>::Continue(()));
    assert!(matches!(flow, Ok(ControlFlow::Continue(()))));
    games.into_iter().map(|game| game.expect("every game was played").score).collect()
}

fn plain_scores(series: &Series, worlds: &[World]) -> Vec<u32> {
    let host = ExternalHost::new(ExternalOptions::default());
    let score = |index| {
        let key = series.key(index);
        let planner = PLANNERS[key.planner].parse().expect("a planner");
        let seed = series.seed(key.map, key.sample);
        let options = BotOptions { planner, seed, budget: BUDGET, ..BotOptions::default() };
        let (world, mut player) = (&worlds[key.map], Player::Bot(Box::new(Bot::new(options).expect("a planner"))));
        match player.play(world, (&host, ""), &|| false, &mut |_, _| {}) {
            Ok(Some(played)) => world.score(&played.state),
            _ => panic!("the game was stopped"),
        }
    };
    (0..series.len()).map(score).collect()
}

fn run_alternately<const N: usize>(rounds: usize, variants: [&dyn Fn(); N]) -> Vec<[f64; N]> {
    let time = |variant: &dyn Fn()| {
        let begun = Instant::now();
        variant();
        begun.elapsed().as_secs_f64()
    };
    (0..rounds).map(|_| variants.map(time)).collect()
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn arena(criterion: &mut Criterion) {
    let is_bench = std::env::args().any(|argument| argument == "--bench");
    let series = series();
    let worlds: Vec<World> =
        maps().iter().map(|map| World::new(&map.layout, &Rules::BLITZ_2025).expect("a map")).collect();
    let expected = plain_scores(&series, &worlds);
    assert!(expected.contains(&10_005), "at least one game should survive: {expected:?}");
    let run_plain = || assert_eq!(plain_scores(&series, &worlds), expected);
    let run_series = |threads| assert_eq!(scores_in_series(&series, threads), expected);

    let rounds = run_alternately(if is_bench { ROUNDS } else { 1 }, [&run_plain, &|| run_series(1), &|| run_series(2)]);
    let games = |variant: usize| series.len() as f64 / median(rounds.iter().map(|seconds| seconds[variant]));
    let ratio = |variant: usize, to: usize| median(rounds.iter().map(|seconds| seconds[variant] / seconds[to]));
    println!(
        "arena: {:.0} games/s on one thread, {:.0} on two ({:.2} times as many); overhead over plain games {:+.1}%",
        games(1),
        games(2),
        ratio(1, 2),
        100.0 * (ratio(1, 0) - 1.0)
    );

    let mut benches = criterion.benchmark_group("series");
    benches.sample_size(10).warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_secs(2));
    benches.throughput(Throughput::Elements(series.len() as u64));
    for threads in THREADS {
        benches.bench_function(format!("threads-{threads}"), |bencher| bencher.iter(|| run_series(threads)));
    }
    benches.finish();
    let mut benches = criterion.benchmark_group("overhead");
    benches.sample_size(10).warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_secs(2));
    benches.throughput(Throughput::Elements(series.len() as u64));
    benches.bench_function("play", |bencher| bencher.iter(run_plain));
    benches.bench_function("series", |bencher| bencher.iter(|| run_series(1)));
}

criterion_group!(benches, arena);
criterion_main!(benches);
