//! Tests that read the folder that `GETAWAY_SHARED` names (default: `../shared`): recordings and
//! maps from the real server, and traces. The traces come from an independent implementation, which
//! runs on the server's JavaScript engine. If a rule and a recording disagree, the recording is
//! right.

use crate::batch_traces;
use crate::common::{self, shared_folder};
use crate::traces::{FastModel, Model, follow_traces, read_gz, round_trip};
use getaway::bot::{Bot, BotOptions};
use getaway::game::{Rules, World};
use getaway::map::{MapLibrary, decode_layout, encode_layout};
use getaway::protocol::GameMessage;
use getaway::search::Budget;
use getaway_reference as reference;

#[test]
#[ignore = "needs ../shared"]
fn game_agrees_with_every_trace() {
    follow_every_trace::<FastModel>();
}

#[test]
#[ignore = "needs ../shared"]
fn reference_agrees_with_every_trace() {
    follow_every_trace::<reference::Game>();
}

#[test]
#[ignore = "needs ../shared"]
fn traces_round_trip_byte_for_byte() {
    round_trip(&shared_folder().join("golden/traces"));
}

fn follow_every_trace<M: Model>() {
    let shared = &shared_folder();
    follow_traces::<M>(&shared.join("golden/traces"), &|map| common::map_folder(shared, map));
}

#[test]
#[ignore = "needs ../shared"]
fn batch_agrees_with_every_trace() {
    let shared = &shared_folder();
    batch_traces::check(&shared.join("golden/traces"), &|map| common::map_folder(shared, map));
}

#[test]
#[ignore = "needs ../shared"]
fn recorded_messages_round_trip() {
    let shared = &shared_folder();
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

#[test]
#[ignore = "needs ../shared"]
fn shared_maps_load_and_round_trip() {
    let shared = &shared_folder();
    let entries = MapLibrary::new([shared.join("maps"), shared.join("golden/maps")]).list().unwrap();
    assert!(entries.len() > 6);
    for entry in entries {
        let map = entry.load().unwrap();
        assert_eq!(map.name, entry.name);
        assert_eq!(decode_layout(&encode_layout(&map.layout).unwrap()).unwrap(), map.layout, "{}", map.name);
    }
}

#[test]
#[ignore = "needs ../shared"]
fn whole_games_are_survived_on_the_real_maps() {
    let shared = &shared_folder();
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
                world.step_unchecked(&mut state, decision.player_move);
            }
            let mispredictions: u32 = bot.mispredictions_by_threat().iter().sum();
            assert_eq!((world.score(&state), mispredictions), (10_005, 0), "{}, no-jump {}", map.name, rules.no_jump);
        }
    }
}
