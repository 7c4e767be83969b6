//! Checks the analysis of games that weak planners lose on survivable maps. An exhaustive search,
//! which shares only the simulator with the solver, checks the tick that lost each game, unless the
//! search reaches a limit of time or states.
//!
//! Usage: `cargo run --release --package getaway-viewer --example check_analysis -- [--games 60]
//! [--seconds 60] [--maps DIR]...`. The exit code is 1 if a check fails, or if fewer games are lost
//! than requested.

use std::collections::HashSet;
use std::hash::{Hash, Hasher};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use getaway::game::{LAST_TICK, Rules, State, Status, World};
use getaway::map::{Map, MapLibrary};
use getaway::planner::by_name;
use getaway::search::Budget;
use getaway::solve::{Outcome, Solver, SolverOptions};
use getaway_viewer::{ANALYSIS_TICKS, Analysis};

const PLANNERS: [&str; 3] = ["safest", "sampling", "cautious"];
/// Budget per decision in simulated ticks, small so that the planners play weakly.
const DECISION_TICKS: u64 = 2_000;
const MAP_TICKS: u64 = 20_000_000;
/// Maximum number of states per tick of the exhaustive search: about a gigabyte of memory.
const LAYER_STATES_MAX: usize = 3_000_000;

struct Key(u64, State);

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        self.1 == other.1
    }
}

impl Eq for Key {}

impl Hash for Key {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        self.0.hash(hasher);
    }
}

fn is_doomed(world: &World, state: &State, limit: Duration) -> Option<bool> {
    let start = Instant::now();
    let mut layer = vec![state.clone()];
    layer.retain(|state| !state.is_over());
    while !layer.is_empty() {
        let mut next = HashSet::new();
        for state in &layer {
            if start.elapsed() > limit || next.len() > LAYER_STATES_MAX {
                return None;
            }
            for (_, successor) in world.successors(state) {
                match successor.status() {
                    Status::Complete => return Some(false),
                    Status::Caught => {}
                    Status::Running => {
                        next.insert(Key(world.fingerprint(&successor), successor));
                    }
                }
            }
        }
        layer = next.into_iter().map(|key| key.1).collect();
    }
    Some(true)
}

struct Options {
    games: usize,
    limit: Duration,
    maps: Vec<String>,
}

fn options() -> Option<Options> {
    let mut options = Options { games: 60, limit: Duration::from_secs(60), maps: Vec::new() };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let value = words.next()?;
        match word.as_str() {
            "--games" => options.games = value.parse().ok()?,
            "--seconds" => options.limit = Duration::from_secs(value.parse().ok()?),
            "--maps" => options.maps.push(value),
            _ => return None,
        }
    }
    Some(options)
}

fn play(world: &World, planner: &str, seed: u64) -> Vec<State> {
    let mut planner = by_name(planner, seed).expect("a planner");
    let mut states = vec![world.start()];
    while let Some(state) = states.last().filter(|state| !state.is_over()) {
        let choice = planner.decide(world, state, Budget::ticks(DECISION_TICKS)).expect("a move");
        states.push(world.after(state, choice.player_move));
    }
    states
}

fn main() -> ExitCode {
    let Some(options) = options() else {
        eprintln!("usage: check_analysis [--games N] [--seconds S] [--maps DIR]...");
        return ExitCode::from(2);
    };
    let library = MapLibrary::with_bundled(&options.maps);
    let maps: Vec<Map> = library.list().expect("maps").iter().map(|entry| entry.load().expect("a map")).collect();
    let solvable: Vec<(String, World)> = maps
        .into_iter()
        .map(|map| (map.name, World::new(&map.layout, &Rules::BLITZ_2025).expect("a world")))
        .filter(|(_, world)| {
            let mut decider = Solver::new(SolverOptions::default());
            decider.solve(world, &world.start(), Budget::ticks(MAP_TICKS)).outcome == Outcome::Survives
        })
        .collect();
    println!("{} maps that can be survived", solvable.len());
    let (mut lost, mut proven, mut confirmed, mut open, mut failed) = (0, 0, 0, 0, 0);
    let mut slowest = Duration::ZERO;
    let mut seen = HashSet::new();
    let games =
        (0..).flat_map(|seed| solvable.iter().flat_map(move |map| PLANNERS.map(|planner| (map, planner, seed))));
    for ((name, world), planner, seed) in games.take(40 * options.games) {
        if lost == options.games {
            break;
        }
        let states = play(world, planner, seed);
        let Some(last) = states.last().filter(|last| last.status() == Status::Caught) else { continue };
        if !seen.insert((name, planner, world.fingerprint(last))) {
            continue;
        }
        lost += 1;
        let start = Instant::now();
        let analysis =
            Analysis::of_states(world, &states, Some(name.clone()), Budget::ticks(ANALYSIS_TICKS), &mut |_| true);
        slowest = slowest.max(start.elapsed());
        let id = format!("{name}, {planner}, seed {seed}, caught at tick {}", analysis.final_tick);
        let (Some(tick), Some(line), Status::Caught) = (analysis.last_savable_tick, &analysis.line, analysis.end)
        else {
            failed += 1;
            println!("FAILED: {id}: no savable tick was found: {}", analysis.sentence);
            continue;
        };
        proven += usize::from(analysis.is_proven);
        let index = usize::from(tick) - 1;
        let mut state = states[index].clone();
        world.play(&mut state, line);
        if state.tick() != LAST_TICK + 1 {
            failed += 1;
            println!("FAILED: {id}: the line from tick {tick} on ends at tick {}", state.tick());
        }
        let verdict = match is_doomed(world, &states[index + 1], options.limit) {
            Some(true) => {
                confirmed += 1;
                "confirmed"
            }
            Some(false) => {
                failed += 1;
                "FAILED: survival is possible from the next tick"
            }
            None => {
                open += 1;
                "not decided by exhaustive search"
            }
        };
        println!("{id}: lost at tick {tick}, proven {}, {verdict}", analysis.is_proven);
    }
    println!(
        "{lost} lost games: {proven} proven, {confirmed} confirmed by exhaustive search, {open} beyond its limits, {failed} failed checks; slowest analysis {:.2} s",
        slowest.as_secs_f64()
    );
    if failed == 0 && lost == options.games { ExitCode::SUCCESS } else { ExitCode::from(1) }
}
