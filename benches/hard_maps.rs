//! Solves small maps that are hard to survive, each on one thread, and writes a CSV row for each:
//! `cargo bench --package getaway-benches --bench hard_maps -- --out hard_maps.csv`. Options:
//! - `--set SET`: `no-jump` or `jump` (192 maps in that variant), `crowd` (20 no-jump maps with 32
//!   threats), or `generated` (2,000 varied maps, each in one of the variants). Default: the first
//!   three.
//! - `--time-ms MS`: processor time per map (default: 10000).
//! - `--ticks N`: simulated ticks per map, in addition to the time (default: no limit).
//! - `--only WORDS`: only maps with one of the space-separated WORDS in their first five columns.
//! - `--part K/N`: only every Nth map, from the Kth on; the file keeps its rows for the other maps
//!   of the sets.
//! - `--threads N`: number of maps to solve at the same time (default: 1).
//! - `--out FILE`: the file to write (default: standard output).
//! - `--verify 1`: verify the certificates with the literal model (`crates/reference`).
//!
//! `cargo test --package getaway-benches --bench hard_maps` solves and verifies only every 64th map.
//!
//! Guarantees: the bench replays the line of every map before it writes the row. With `--verify 1`,
//! the run fails if the literal model refuses a certificate.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use getaway::game::{LAST_TICK, Layout, Mover, Rules, State, StreetGraph, Style, World};
use getaway::map::{GeneratorKind, GeneratorOptions, generate_nth};
use getaway::search::Budget;
use getaway::solve::{Certificate, Solution, Solver, SolverOptions};

const GENERATED: usize = 2000;
const GENERATED_SEED: u64 = 17;
const HEADER: &str = "set,kind,size,braid,index,tiles,loops,threats,verdict,score,bound,decided_ms,bound_ms,\
                      elapsed_ms,simulated_ticks,certificate_bytes,verify_ms";

struct Entry {
    name: String,
    options: GeneratorOptions,
    seed: u64,
    index: u64,
    rules: Rules,
}

/// Returns the maps of the set `generated`, without maps that are too small for their threats. The
/// lengths of the four lists are pairwise coprime, so the indices run through all combinations.
fn generated() -> Vec<Entry> {
    let kinds = GeneratorKind::ALL;
    let sizes = [(9, 7), (11, 9), (13, 11), (15, 13), (21, 17)];
    let (threats, braids) = ([3, 6, 9, 12], [0, 125, 250, 375, 500, 750, 1000]);
    let entry = |index: u64| {
        let place = index as usize;
        let ((width, height), kind) = (sizes[place % sizes.len()], kinds[place % kinds.len()]);
        let (threats, braid_permille) = (threats[place % threats.len()], braids[place % braids.len()]);
        let rules = if (place / 420).is_multiple_of(2) { Rules::NO_JUMP } else { Rules::BLITZ_2025 };
        let variant = if rules.no_jump { "no-jump" } else { "jump" };
        let name = format!("generated {variant},{kind},{width}x{height},{},{index}", f64::from(braid_permille) / 1e3);
        let styles = Style::ALL.to_vec();
        let options = GeneratorOptions { kind, width, height, threats, styles, braid_permille };
        let has_room = generate_nth(&options, GENERATED_SEED, index).is_ok();
        has_room.then_some(Entry { name, options, seed: GENERATED_SEED, index, rules })
    };
    (0..).filter_map(entry).take(GENERATED).collect()
}

fn entries(set: &str) -> Vec<Entry> {
    let rules = match set {
        "no-jump" | "crowd" => Rules::NO_JUMP,
        "jump" => Rules::BLITZ_2025,
        "generated" => return generated(),
        _ => panic!("--set {set}: expected no-jump, jump, crowd or generated"),
    };
    let mut entries = Vec::new();
    let mut add =
        |kind: GeneratorKind, size: (i32, i32), braid_permille: u32, threats: usize, seed: u64, count: u64| {
            let (width, height) = size;
            for index in 0..count {
                let name = format!("{set},{kind},{width}x{height},{},{index}", f64::from(braid_permille) / 1e3);
                let options =
                    GeneratorOptions { kind, width, height, threats, styles: Style::ALL.to_vec(), braid_permille };
                entries.push(Entry { name, options, seed, index, rules });
            }
        };
    if set == "crowd" {
        add(GeneratorKind::Labyrinth, (21, 17), 1000, 32, 11, 20);
        return entries;
    }
    for kind in [GeneratorKind::Maze, GeneratorKind::Labyrinth] {
        for size in [(15, 13), (21, 17)] {
            for braid_permille in [250, 500] {
                add(kind, size, braid_permille, 6, 7, 24);
            }
        }
    }
    entries
}

/// The thread's processor time in milliseconds; if unavailable, the elapsed time since `since`.
fn thread_ms(since: Instant) -> f64 {
    let spent = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let spent_ns = spent.and_then(|text| text.split(' ').next()?.parse::<f64>().ok());
    spent_ns.map_or_else(|| since.elapsed().as_secs_f64() * 1e3, |spent_ns| spent_ns / 1e6)
}

/// The number of independent cycles of a connected street graph: 0 for a tree.
fn loops(layout: &Layout) -> usize {
    let graph = StreetGraph::new(layout);
    let ends: usize = (0..graph.len() as u16).map(|tile| graph.ways(Mover::Threat, tile).count()).sum();
    ends / 2 + 1 - graph.len()
}

fn verdict(solution: &Solution) -> &'static str {
    match solution {
        _ if solution.final_tick > LAST_TICK => "survives",
        _ if solution.is_optimal() => "optimal",
        _ if solution.bound_tick <= LAST_TICK => "doomed",
        _ => "undecided",
    }
}

fn decide(entry: &Entry, time_ms: f64, ticks: u64, is_verified: bool) -> String {
    let layout = generate_nth(&entry.options, entry.seed, entry.index).expect("a map").layout;
    let world = World::new(&layout, &entry.rules).expect("a world");
    let root: State = world.start();
    let begun = Instant::now();
    let begun_ms = thread_ms(begun);
    let elapsed_ms = || thread_ms(begun) - begun_ms;
    let mut solver = Solver::new(SolverOptions::default());
    let (mut simulated_ticks, mut decided_ms) = (0, None);
    let (mut bound, mut bound_ms) = (LAST_TICK + 1, 0.0);
    let solution = loop {
        let left = Duration::from_secs_f64((time_ms - elapsed_ms()).max(0.0) / 1e3);
        let solution = solver.advance(&world, &root, Budget::time(left).and(Budget::ticks(ticks - simulated_ticks)));
        simulated_ticks += solution.simulated_ticks;
        if solution.bound_tick < bound {
            (bound, bound_ms) = (solution.bound_tick, elapsed_ms());
        }
        if verdict(&solution) != "undecided" {
            decided_ms.get_or_insert_with(elapsed_ms);
        }
        if solution.is_optimal() || elapsed_ms() >= time_ms || simulated_ticks >= ticks {
            break solution;
        }
    };
    let elapsed = elapsed_ms();
    let mut state = root.clone();
    assert_eq!(world.play(&mut state, &solution.moves), solution.moves.len(), "{}", entry.name);
    assert_eq!(state.tick(), solution.final_tick, "{}", entry.name);

    let certificate = Certificate::new(&world, &solution).expect("a solution for the start");
    let verify_ms = is_verified.then(|| {
        let begun_ms = thread_ms(begun);
        let verified = getaway_verifier::verify(&certificate, &layout);
        assert_eq!(verified, Ok(()), "{}\n{certificate}", entry.name);
        thread_ms(begun) - begun_ms
    });
    let text = |time_ms: Option<f64>| time_ms.map_or(String::new(), |time_ms| format!("{time_ms:.1}"));
    format!(
        "{},{},{},{},{},{},{},{},{bound_ms:.1},{elapsed:.1},{simulated_ticks},{},{}",
        entry.name,
        world.open_tile_count(),
        loops(&layout),
        world.threat_count(),
        verdict(&solution),
        solution.final_tick,
        solution.bound_tick,
        text(decided_ms),
        certificate.to_string().len(),
        text(verify_ms),
    )
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let is_bench = arguments.iter().any(|argument| argument == "--bench");
    let value =
        |name: &str| arguments.iter().position(|argument| argument == name).and_then(|at| arguments.get(at + 1));
    let sets = value("--set").map_or_else(|| vec!["no-jump", "jump", "crowd"], |set| vec![set.as_str()]);
    let mut entries: Vec<Entry> = sets.into_iter().flat_map(entries).collect();
    let names: Vec<String> = entries.iter().map(|entry| entry.name.clone()).collect();
    if let Some(words) = value("--only") {
        entries.retain(|entry| words.split(' ').any(|word| format!("{},", entry.name).contains(word)));
    }
    if let Some(text) = value("--part") {
        let (part, parts) = text.split_once('/').unwrap_or_else(|| panic!("--part {text}: expected K/N"));
        let (part, parts): (usize, usize) = (part.parse().expect("a number"), parts.parse().expect("a number"));
        assert!((1..=parts).contains(&part), "--part {part}/{parts}: expected 1 to {parts}");
        let mut place = 0..;
        entries.retain(|_| place.next().expect("endless") % parts == part - 1);
    }
    if !is_bench {
        entries = entries.into_iter().step_by(64).collect();
    }
    let number = |name: &str, default: f64| value(name).map_or(default, |value| value.parse().expect("a number"));
    let time_ms = number("--time-ms", if is_bench { 10_000.0 } else { 100.0 });
    let ticks = number("--ticks", u64::MAX as f64) as u64;
    let is_verified = number("--verify", if is_bench { 0.0 } else { 1.0 }) > 0.0;
    let threads = number("--threads", 1.0) as usize;

    let jobs: Vec<(Entry, Mutex<String>)> = entries.into_iter().map(|entry| (entry, Mutex::default())).collect();
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some((entry, row)) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let found = decide(entry, time_ms, ticks, is_verified);
                    eprintln!("{found}");
                    *row.lock().expect("no thread panics") = found;
                }
            });
        }
    });
    let rows: Vec<String> = jobs.into_iter().map(|(_, row)| row.into_inner().expect("no thread panics")).collect();
    let path = value("--out").map(PathBuf::from);
    let mut text = format!("{HEADER}\n");
    let before =
        path.as_ref().filter(|_| value("--part").is_some()).and_then(|path| std::fs::read_to_string(path).ok());
    let before: Vec<&str> = before.iter().flat_map(|text| text.lines()).collect();
    for name in names {
        let name = format!("{name},");
        let own = rows.iter().map(String::as_str).chain(before.iter().copied()).find(|row| row.starts_with(&name));
        own.into_iter().for_each(|row| writeln!(text, "{row}").expect("text"));
    }
    summarize(&rows);
    match path {
        Some(path) => std::fs::write(&path, text).expect("a file that can be written"),
        None => print!("{text}"),
    }
}

fn summarize(rows: &[String]) {
    let columns: Vec<&str> = HEADER.split(',').collect();
    let number = |row: &str, name: &str| {
        let place = columns.iter().position(|column| *column == name).expect("a column");
        row.split(',').nth(place).and_then(|text| text.parse::<f64>().ok())
    };
    for word in ["survives", "optimal", "doomed", "undecided"] {
        eprintln!("{word}: {}", rows.iter().filter(|row| row.split(',').any(|column| column == word)).count());
    }
    let is_late = |row: &&String| number(row, "decided_ms").is_none_or(|decided_ms| decided_ms > 1000.0);
    eprintln!("undecided after 1 s: {}", rows.iter().filter(is_late).count());
    let ratio = |row: &String| {
        let found_ms = number(row, "bound_ms").filter(|&bound_ms| bound_ms > 0.0).or(number(row, "elapsed_ms"))?;
        Some(number(row, "verify_ms")? / found_ms.max(1.0))
    };
    let ratios: Vec<f64> = rows.iter().filter_map(ratio).collect();
    if !ratios.is_empty() {
        eprintln!(
            "verified: {}; verification took at most {:.1} times as long as finding the bound",
            ratios.len(),
            ratios.iter().copied().fold(0.0, f64::max)
        );
    }
}
