//! Tests that need the shared folder: recordings of the real server and the challenge's maps.
//!
//! The traces were recorded by an independent implementation on the server's own JavaScript engine:
//! whole games on the real maps, on mazes, and on unusual maps, under unusual actions. A mismatch
//! reports the file, the line and the field; if rules and recordings disagree, the recordings are
//! right.

#[path = "traces/batch.rs"]
mod batch_traces;
mod common;
#[path = "common/shared.rs"]
mod harness;
mod traces;

use std::path::Path;
use std::process::ExitCode;

use getaway::bot::{Bot, BotOptions};
use getaway::game::{Rules, World};
use getaway::map::{MapLibrary, decode_layout, encode_layout};
use getaway::protocol::GameMessage;
use getaway::search::Budget;
use getaway_reference as reference;

use traces::{FastModel, Model, follow_traces, read_gz, round_trip};

fn main() -> ExitCode {
    harness::run(&[
        ("game_agrees_with_every_trace", follow_every_trace::<FastModel>),
        ("reference_agrees_with_every_trace", follow_every_trace::<reference::Game>),
        ("batch_agrees_with_every_trace", batch_agrees_with_every_trace),
        ("traces_round_trip_byte_for_byte", |shared| round_trip(&shared.join("golden/traces"))),
        ("recorded_messages_round_trip", recorded_messages_round_trip),
        ("shared_maps_load_and_round_trip", shared_maps_load_and_round_trip),
        ("whole_games_are_survived_on_the_real_maps", whole_games_are_survived_on_the_real_maps),
    ])
}

fn follow_every_trace<M: Model>(shared: &Path) {
    follow_traces::<M>(&shared.join("golden/traces"), &|map| common::map_folder(shared, map));
}

fn batch_agrees_with_every_trace(shared: &Path) {
    batch_traces::check(&shared.join("golden/traces"), &|map| common::map_folder(shared, map));
}

fn recorded_messages_round_trip(shared: &Path) {
    let recordings = common::files_ending(&shared.join("golden/recordings"), ".jsonl.gz");
    assert!(!recordings.is_empty());
    for path in recordings {
        for (line, number) in read_gz(&path).lines().zip(1..) {
            let start = r#"{"game_message":"#.len();
            let end = line.rfind(r#","actions":"#).unwrap();
            let recorded = &line[start..end];
            let message =
                GameMessage::parse(recorded).unwrap_or_else(|error| panic!("{}:{number}: {error}", path.display()));
            assert_eq!(serde_json::to_string(&message).unwrap(), recorded, "{}:{number}", path.display());
        }
    }
}

/// The real challenge's maps and those of the traces.
fn shared_maps_load_and_round_trip(shared: &Path) {
    let entries = MapLibrary::new([shared.join("maps"), shared.join("golden/maps")]).list().unwrap();
    assert!(entries.len() > 6);
    for entry in entries {
        let map = entry.load().unwrap();
        assert_eq!(map.name, entry.name);
        assert_eq!(decode_layout(&encode_layout(&map.layout).unwrap()).unwrap(), map.layout, "{}", map.name);
    }
}

fn whole_games_are_survived_on_the_real_maps(shared: &Path) {
    let maps = common::maps_in(&shared.join("maps"));
    assert!(!maps.is_empty());
    for map in maps {
        for rules in [Rules::BLITZ_2025, Rules::NO_JUMP] {
            let world = World::new(&map.layout, &rules).unwrap();
            let mut state = world.start();
            let options = BotOptions { budget: Budget::ticks(100_000), seed: 1, rules, ..BotOptions::default() };
            let mut bot = Bot::new(options).unwrap();
            while !state.is_over() {
                let decision = bot.next_action(&GameMessage::of(&world, &state, "team")).unwrap();
                world.step(&mut state, decision.player_move);
            }
            let mispredictions: u32 = bot.mispredictions_by_threat().iter().sum();
            assert_eq!((world.score(&state), mispredictions), (10_005, 0), "{}, no-jump {}", map.name, rules.no_jump);
        }
    }
}
