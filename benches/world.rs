//! Measures the speed of stepping games, loading maps and copying states. The benchmarks are named
//! `GROUP/MAP`. `cargo bench --package getaway-benches --bench world -- --test` runs each of them
//! once, with the same inputs and checks.
//!
//! `step` and `step_no_jump` replay a complete game, and `step_random` plays random moves. `load`
//! builds a world from the files of a map, or from a picture in memory (`open-64x64`). `routes`
//! builds a world from a layout, which mostly measures the route tables. `clone` copies states.

mod games;

use std::hint::black_box;

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use games::{BenchGame, PlannedGame, play_at_random};
use getaway::game::{Layout, Position, Rules, Spawn, State, Style, Tile, World};
use getaway::map::{Map, decode_layout, encode_layout};

const RANDOM_TICKS: u32 = 10_000;
const COPIES: usize = 1024;

fn step(criterion: &mut Criterion) {
    let games = games::all();
    replay(criterion, "step", &games, |game| &game.jump);
    replay(criterion, "step_no_jump", &games, |game| &game.no_jump);
    let mut group = criterion.benchmark_group("step_random");
    group.throughput(Throughput::Elements(u64::from(RANDOM_TICKS)));
    for BenchGame { name, jump: PlannedGame { world, .. }, .. } in &games {
        let start = world.start();
        let checksum = play_at_random(world, &start, RANDOM_TICKS);
        group.bench_function(name, |bencher| {
            bencher.iter(|| assert_eq!(play_at_random(world, black_box(&start), RANDOM_TICKS), checksum));
        });
    }
}

fn replay(criterion: &mut Criterion, name: &str, games: &[BenchGame], variant: impl Fn(&BenchGame) -> &PlannedGame) {
    let mut group = criterion.benchmark_group(name);
    for game in games {
        let planned = variant(game);
        let start = planned.world.start();
        group.throughput(Throughput::Elements(planned.plan.len() as u64));
        group.bench_function(&game.name, |bencher| bencher.iter(|| planned.replay(black_box(&start))));
    }
}

fn load(criterion: &mut Criterion) {
    let games = games::all();
    let mut group = criterion.benchmark_group("load");
    for BenchGame { name, folder, jump, .. } in &games {
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                let map = Map::load(black_box(folder)).expect("a map");
                let world = World::new(&map.layout, &Rules::BLITZ_2025).expect("a map");
                assert_eq!(world.open_tile_count(), jump.world.open_tile_count());
                world
            });
        });
    }
    let picture = encode_layout(&open_map()).expect("a map within the limits");
    group.sample_size(20).bench_function("open-64x64", |bencher| {
        bencher.iter(|| {
            let layout = decode_layout(black_box(&picture)).expect("a picture of the map");
            let world = World::new(&layout, &Rules::BLITZ_2025).expect("a map within the limits");
            assert_eq!(world.open_tile_count(), 4096);
            world
        });
    });
    group.finish();

    let mut group = criterion.benchmark_group("routes");
    for BenchGame { name, map, jump, .. } in &games {
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                let world = World::new(black_box(&map.layout), &Rules::BLITZ_2025).expect("a map");
                assert_eq!(world.open_tile_count(), jump.world.open_tile_count());
                world
            });
        });
    }
}

fn open_map() -> Layout {
    let threat = |(index, style)| Spawn { style, position: Position::new(40 + index, 60) };
    Layout {
        width: 64,
        height: 64,
        tiles: vec![Tile::Open; 64 * 64],
        player: Position::new(0, 0),
        threats: (0..).zip(Style::ALL).map(threat).collect(),
    }
}

fn clone(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("clone");
    group.throughput(Throughput::Elements(COPIES as u64));
    for BenchGame { name, jump: PlannedGame { world, .. }, .. } in &games::all() {
        let states = vec![world.start(); COPIES];
        group.bench_function(name, |bencher| {
            let target = || Vec::with_capacity(COPIES);
            bencher.iter_batched(
                target,
                |mut copies: Vec<State>| {
                    copies.extend(black_box(&states).iter().cloned());
                    assert_eq!(copies.last(), states.last());
                    copies
                },
                BatchSize::SmallInput,
            );
        });
    }
}

criterion_group!(benches, step, load, clone);
criterion_main!(benches);
