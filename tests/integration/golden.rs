//! Guarantees: the library and the reference model agree with every tick of the bundled traces. The
//! traces come from the reference model, which `shared.rs` checks against an independent
//! implementation. To record them for changed maps, run
//! `cargo test --release --package getaway-tests record_golden -- --ignored`.

use std::fs::File;
use std::path::{Path, PathBuf};

use crate::traces::{FastModel, Model, follow_traces, line_of, load_layout, round_trip};
use flate2::Compression;
use flate2::write::GzEncoder;
use getaway::game::{Action, Rules, World};
use getaway::protocol::{Trace, TraceHeader, TraceTick};
use getaway_reference as reference;
use getaway_reference::lockstep::{Dice, disguise, random_command, surviving_plan};

#[test]
fn game_agrees_with_the_bundled_traces() {
    check_our_traces::<FastModel>();
}

#[test]
fn reference_agrees_with_the_bundled_traces() {
    check_our_traces::<reference::Game>();
}

#[test]
fn bundled_traces_round_trip_byte_for_byte() {
    round_trip(&our_traces());
}

fn check_our_traces<M: Model>() {
    follow_traces::<M>(&our_traces(), &our_map);
}

fn our_traces() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("golden")
}

fn our_map(name: &str) -> PathBuf {
    crate::common::root().join("maps").join(name)
}

/// Map, rules, and the beam width of the search for surviving moves (0: the moves are random).
const RECORDED: [(&str, Rules, usize); 8] = [
    ("corner-shop", Rules::BLITZ_2025, 256),
    ("crossroads", Rules::NO_JUMP, 256),
    ("harbour", Rules::BLITZ_2025, 256),
    ("market-square", Rules::NO_JUMP, 256),
    ("old-town", Rules::NO_JUMP, 256),
    ("roundabout", Rules::BLITZ_2025, 0),
    ("stadium", Rules::NO_JUMP, 0),
    ("twin-bridges", Rules::BLITZ_2025, 256),
];

#[test]
#[ignore = "regenerates tests/golden/"]
fn record_golden() {
    for (name, rules, plan_width) in RECORDED {
        let trace = record(name, &rules, plan_width);
        let variant = if rules.no_jump { "-nojump" } else { "" };
        let path = our_traces().join(format!("{name}{variant}.trace.jsonl.gz"));
        let file = File::create(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let mut gz = GzEncoder::new(file, Compression::best());
        trace.write(&mut gz).and_then(|()| gz.finish()).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        println!("{}: {} ticks", path.display(), trace.ticks.len());
    }
}

fn record(name: &str, rules: &Rules, plan_width: usize) -> Trace {
    let layout = load_layout(&our_map(name));
    let world = World::new(&layout, rules).expect("our maps are within the limits");
    let (mut state, mut dice) = (world.start(), Dice::from_seed(2025));
    let mut plan = surviving_plan(&world, plan_width, 2025).into_iter();
    let mut game = reference::Game::new(&layout, rules);
    let mut trace = Trace { header: TraceHeader::new(name, &world), ticks: Vec::new() };
    while !game.over() {
        let command = match plan.next() {
            Some(planned) => disguise(planned, &world, &state, &mut dice),
            None => random_command(&world, &state, &mut dice),
        };
        // JSON has no infinite numbers and no NaN, so the command is played as JSON stores it.
        let command: Vec<Action> = serde_json::from_str(&line_of(&command)).expect("a list of actions");
        world.step_command(&mut state, &command).expect("the models end a game together");
        game.step(&command);
        trace.ticks.push(TraceTick { actions: Some(command), ..Model::observe(&game) });
    }
    trace
}
