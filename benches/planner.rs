//! Measures the time to solve a whole game, and the rollouts per second of the search grammar.
//!
//! `solve/MAP` and `solve_no_jump/MAP` solve the map again and again, with [`SEEDS`] seeds in turn.
//! Before that, the bench solves the map with each seed, and prints quantiles of the times and of
//! the simulated ticks. A map is skipped if seed 0 finds no surviving line. The times exclude
//! building the [`World`]. `rollouts/MAP` measures evaluations per second of the planner
//! `uct-greedy`. The bench uses the bundled maps, and the challenge's own maps if their folder
//! exists. Every result is checked, so a fast search that finds nothing does not look like an
//! improvement.

use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use getaway::game::{Rules, World};
use getaway::map::{Map, MapLibrary};
use getaway::planner::SurvivalProblem;
use getaway::search::{Budget, Search};
use getaway::solve::{Outcome, Solution, Solver, SolverOptions};

const SEEDS: u64 = 200;
const SEEDS_IN_TEST: u64 = 2;
/// Maximum number of simulated ticks to solve a map.
const TICKS_MAX: u64 = 5_000_000;
const UCT_GREEDY: &str = "select(0.2, simulate(greedy))";
const EVALUATIONS: u64 = 200;

fn maps() -> Vec<Map> {
    let here = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
    let shared = std::env::var_os("GETAWAY_SHARED").map_or_else(|| here.join("../shared"), PathBuf::from);
    let folders = [here.join("maps"), shared.join("maps")].into_iter().filter(|folder| folder.is_dir());
    let entries = MapLibrary::new(folders).list().expect("folders of maps");
    entries.iter().map(|entry| entry.load().expect("a map")).collect()
}

fn solve(world: &World, seed: u64) -> Solution {
    let mut survival = Solver::survival_search(SolverOptions { seed, ..SolverOptions::default() });
    survival.solve(world, &world.start(), Budget::ticks(TICKS_MAX))
}

/// Prints statistics over all seeds, and returns true. If seed 0 finds no surviving line, prints
/// only that the map is skipped, and returns false.
fn report(id: &str, world: &World, seeds: u64) -> bool {
    if solve(world, 0).outcome != Outcome::Survives {
        println!("{id}: skipped, seed 0 finds no surviving line");
        return false;
    }
    let (mut times, mut simulated_ticks): (Vec<Duration>, Vec<u64>) = (0..seeds)
        .map(|seed| {
            let begun = Instant::now();
            let solution = black_box(solve(world, seed));
            let took = begun.elapsed();
            assert_eq!(solution.outcome, Outcome::Survives, "{id}, seed {seed}");
            (took, solution.simulated_ticks)
        })
        .unzip();
    times.sort();
    simulated_ticks.sort();
    let (median, p99) = (seeds as usize / 2, (seeds as usize * 99).div_ceil(100) - 1);
    println!(
        "{id}: median {:.2?}, p99 {:.2?}, max {:.2?}; simulated_ticks median {}, p99 {}",
        times[median],
        times[p99],
        times[seeds as usize - 1],
        simulated_ticks[median],
        simulated_ticks[p99]
    );
    true
}

fn solve_whole_games(criterion: &mut Criterion) {
    let is_bench = std::env::args().any(|argument| argument == "--bench");
    let seeds = if is_bench { SEEDS } else { SEEDS_IN_TEST };
    for (group, rules) in [("solve", Rules::BLITZ_2025), ("solve_no_jump", Rules::NO_JUMP)] {
        let mut benches = criterion.benchmark_group(group);
        benches.sample_size(10).warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_secs(1));
        for map in maps() {
            let world = World::new(&map.layout, &rules).expect("a map within the limits");
            if report(&format!("{group}/{}", map.name), &world, seeds) {
                let mut seed = 0;
                benches.bench_function(map.name, |bencher| {
                    bencher.iter(|| {
                        seed = (seed + 1) % seeds;
                        assert_eq!(solve(&world, seed).outcome, Outcome::Survives);
                    });
                });
            }
        }
    }
}

fn rollouts(criterion: &mut Criterion) {
    let mut benches = criterion.benchmark_group("rollouts");
    benches.sample_size(10).warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_secs(1));
    benches.throughput(Throughput::Elements(EVALUATIONS));
    for map in maps() {
        // In the no-jump variant, rollouts hardly ever survive, so searches use the whole budget.
        let world = World::new(&map.layout, &Rules::NO_JUMP).expect("a map within the limits");
        let mut seed = 0;
        benches.bench_function(map.name, |bencher| {
            bencher.iter(|| {
                seed += 1;
                let mut search = Search::new(UCT_GREEDY.parse().expect("an expression"), seed);
                let outcome =
                    search.run(&SurvivalProblem::new(&world), &world.start(), Budget::evaluations(EVALUATIONS));
                assert!(outcome.best.is_some_and(|line| line.reward > 1.0));
                assert!(outcome.evaluations <= EVALUATIONS);
            });
        });
    }
}

criterion_group!(benches, solve_whole_games, rollouts);
criterion_main!(benches);
