//! Compares the solver with a table of known best ticks, `tests/known_ticks.csv`: for 60 pairs of a
//! map and a variant of the rules, the last tick that any line reaches. Every value is certified:
//! the verifier, which shares no game logic with the solver, accepts its proof. To fill an empty
//! table, run `GETAWAY_UPDATE_KNOWN=1 cargo test --release --package getaway-tests known_ticks`.

use std::fmt::Write as _;
use std::path::Path;

use crate::common;
use getaway::game::{Layout, Rules, World};
use getaway::map::{GeneratorKind, GeneratorOptions, generate_nth};
use getaway::search::Budget;
use getaway::solve::{Certificate, Solver, SolverOptions};
use getaway_verifier::verify;

const HEADER: &str = "map,variant,final_tick";
const MAPS: usize = 60;
const TICKS: u64 = 2_000_000;

/// Returns a bundled map, or the generated map `KIND-WIDTHxHEIGHT-THREATS-INDEX`.
fn layout(name: &str) -> Layout {
    if let Some(map) = common::our_maps().into_iter().find(|map| map.name == name) {
        return map.layout;
    }
    let parts: Vec<&str> = name.split(['-', 'x']).collect();
    let [kind, width, height, threats, index] = parts[..] else { panic!("{name}: expected a map") };
    let kinds = [GeneratorKind::Maze, GeneratorKind::Labyrinth, GeneratorKind::City];
    let number = |text: &str| text.parse::<u64>().expect("a number");
    let options = GeneratorOptions {
        kind: kinds.into_iter().find(|other| other.to_string() == kind).expect("a kind"),
        width: number(width) as i32,
        height: number(height) as i32,
        threats: number(threats) as usize,
        braid_permille: [0, 250, 500][number(index) as usize % 3],
        ..GeneratorOptions::default()
    };
    generate_nth(&options, 57, number(index)).expect("a map").layout
}

/// Returns the best tick, or `None` if it is not proven within the budget.
fn best_tick(name: &str, variant: &str) -> Option<u16> {
    let rules = if variant == "no-jump" { Rules::NO_JUMP } else { Rules::BLITZ_2025 };
    let layout = layout(name);
    let world = World::new(&layout, &rules).expect("a map within the limits");
    let mut solver = Solver::new(SolverOptions::default());
    let solution = solver.solve(&world, &world.start(), Budget::ticks(TICKS));
    assert_eq!(
        verify(&Certificate::new(&world, &solution).expect("a solution for the start"), &layout),
        Ok(()),
        "{name}, {variant}"
    );
    solution.is_optimal().then_some(solution.final_tick)
}

#[test]
fn best_ticks_are_the_known_ones() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("known_ticks.csv");
    if std::env::var_os("GETAWAY_UPDATE_KNOWN").is_some_and(|value| value == "1") {
        let bundled = common::our_maps().into_iter().map(|map| map.name);
        let sizes = ["9x7", "11x9", "13x11"];
        let generated = (0..1000).map(|index| {
            format!("{}-{}-{}-{index}", ["maze", "labyrinth", "city"][index % 3], sizes[index / 3 % 3], 3 + index % 4)
        });
        let mut table = format!("{HEADER}\n");
        let names = bundled.flat_map(|name| [(name.clone(), "jump"), (name, "no-jump")]);
        let names =
            names.chain(generated.enumerate().map(|(at, name)| (name, ["no-jump", "no-jump", "jump"][at / 2 % 3])));
        let known = names.filter_map(|(name, variant)| Some((best_tick(&name, variant)?, name, variant)));
        for (tick, name, variant) in known.take(MAPS) {
            writeln!(table, "{name},{variant},{tick}").expect("text");
        }
        std::fs::write(&path, table).expect("the table can be written");
        return;
    }
    let table = std::fs::read_to_string(&path).expect("the table");
    let rows: Vec<Vec<&str>> = table.lines().skip(1).map(|line| line.split(',').collect()).collect();
    assert_eq!((table.lines().next(), rows.len()), (Some(HEADER), MAPS));
    for row in rows {
        let [name, variant, tick] = row[..] else { panic!("{row:?}: expected {HEADER}") };
        assert_eq!(best_tick(name, variant).map(|tick| tick.to_string()).as_deref(), Some(tick), "{name}, {variant}");
    }
}
