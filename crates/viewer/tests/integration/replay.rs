//! Guarantees: in games on every bundled map, the annotations agree with the simulator. Recordings
//! are shown as recorded, even if they diverge from the rules.

use std::io::Write;
use std::path::Path;

use crate::common;
use getaway::game::{Layout, Move, Rules, State, Status, Style, World};
use getaway::protocol::{GameMessage, MessageWriter};
use getaway::recording::{RecordingReader, RecordingWriter};
use getaway_viewer::{IntentKind, MarkKind, Page, PageSource, Replay};

fn random_walk(world: &World, ticks: usize) -> (Vec<State>, Vec<Move>) {
    let (mut states, mut moves) = (vec![world.start()], Vec::new());
    let mut number = 12345_u32;
    while let Some(state) = states.last().filter(|state| !state.is_over() && moves.len() < ticks) {
        number = number.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let open: Vec<Move> = world.legal_moves(state).collect();
        let player_move = open[(number >> 16) as usize % open.len()];
        let next = world.after(state, player_move);
        moves.push(player_move);
        states.push(next);
    }
    (states, moves)
}

#[test]
fn deadly_tiles_are_those_where_a_move_is_fatal() {
    let (mut fatal, mut harmless) = (0, 0);
    for map in common::our_maps() {
        for rules in [Rules::BLITZ_2025, Rules::NO_JUMP] {
            let world = World::new(&map.layout, &rules).unwrap();
            let (states, _) = random_walk(&world, 400);
            let replay = Replay::of_states(&map.name, "", &world, &states);
            for (state, frame) in states.iter().zip(&replay.frames).filter(|(state, _)| !state.is_over()) {
                let deadly = &frame.annotation.as_ref().unwrap().deadly;
                for player_move in world.legal_moves(state) {
                    let next = world.after(state, player_move);
                    let tile = world.player(&next);
                    assert_eq!(deadly.contains(&tile), next.is_caught(), "{}, {}, {tile}", map.name, state.tick());
                    *if next.is_caught() { &mut fatal } else { &mut harmless } += 1;
                }
            }
        }
    }
    assert!(fatal > 20 && harmless > 1000, "{fatal} fatal moves, {harmless} others");
}

#[test]
fn threats_follow_their_annotated_intents() {
    let mut seen = std::collections::BTreeMap::new();
    for map in common::our_maps() {
        let world = World::new(&map.layout, &Rules::BLITZ_2025).unwrap();
        // On all maps together, these games contain every kind of intent except `Unknown`.
        let moves = getaway::solve::Solver::survival_search(Default::default())
            .solve(&world, &world.start(), Default::default())
            .moves;
        let states = world.states_along(&world.start(), &moves);
        let replay = Replay::of_states(&map.name, "", &world, &states);
        for (pair, frame) in states.windows(2).zip(&replay.frames) {
            for (index, intent) in frame.annotation.as_ref().unwrap().intents.iter().enumerate() {
                *seen.entry(intent.kind as u8).or_insert(0) += 1;
                let (was, is) = (world.threat(&pair[0], index), world.threat(&pair[1], index));
                let step = |direction| was.position.towards(direction);
                let end = intent.path.iter().fold(was.position, |at, &direction| at.towards(direction));
                assert!(intent.path.is_empty() || Some(end) == intent.target, "a path ends at its target");
                if !world.threats_move(&pair[0]) {
                    assert_eq!(was.position, is.position);
                    continue;
                }
                let first = intent.path.first().map_or(was.position, |&direction| step(direction));
                let sees = world.sees(was.position, world.player(&pair[1]));
                match intent.kind {
                    IntentKind::BullStraightOn => assert_eq!(is.position, step(was.direction)),
                    IntentKind::BullBlocked => assert_ne!(is.position, step(was.direction)),
                    IntentKind::SharkChasing | IntentKind::OwlReturning => assert_eq!(is.position, first),
                    IntentKind::HawkTracking | IntentKind::HawkPatrolling if !sees => assert_eq!(is.position, first),
                    IntentKind::OwlWaiting => assert_eq!(is.position, was.position),
                    IntentKind::HawkWaiting if !sees => {
                        assert_eq!(is.position, was.position);
                        assert_eq!(is.post.is_some(), intent.count == 1, "{was:?}");
                    }
                    _ => {}
                }
            }
        }
    }
    let missing: Vec<u8> = (IntentKind::BullStraightOn as u8..=IntentKind::HawkWaiting as u8)
        .filter(|kind| !seen.contains_key(kind))
        .collect();
    assert!(missing.is_empty(), "never seen: {missing:?}");
}

#[test]
fn no_threat_arrives_before_its_earliest_arrival() {
    for map in common::our_maps() {
        let world = World::new(&map.layout, &Rules::BLITZ_2025).unwrap();
        let (states, _) = random_walk(&world, 300);
        let replay = Replay::of_states(&map.name, "", &world, &states);
        let tiles: Vec<_> = map.layout.open_positions().collect();
        for (start, frame) in replay.frames.iter().enumerate().step_by(7) {
            let arrivals = &frame.annotation.as_ref().unwrap().arrivals;
            for (ticks, later) in replay.frames[start..].iter().take(40).enumerate() {
                for (at, _) in &later.positions.threats {
                    let arrival = arrivals[tiles.iter().position(|tile| tile == at).unwrap()];
                    assert!(arrival.is_some_and(|arrival| usize::from(arrival) <= ticks), "{}: {at}", map.name);
                }
            }
        }
    }
}

#[test]
fn recordings_are_shown_as_recorded() {
    for path in
        common::files_ending(&Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).join("games"), ".jsonl.gz")
    {
        let replay = Replay::of_recording(&path, &Rules::BLITZ_2025).unwrap();
        let ticks: Vec<_> = RecordingReader::open(&path).unwrap().map(Result::unwrap).collect();
        assert!(replay.note.is_none_or(|note| note.contains("invalid actions, the first ")));
        assert_eq!(replay.frames.len(), ticks.len() + 1, "includes the state after the last command");
        for (frame, tick) in replay.frames.iter().zip(&ticks) {
            let message = &tick.game_message;
            let threats: Vec<_> = message.threats.iter().map(|threat| threat.position).collect();
            assert_eq!((frame.tick, frame.positions.player), (message.tick, message.your_character.position));
            assert_eq!(frame.positions.threats.iter().map(|threat| threat.0).collect::<Vec<_>>(), threats);
            assert!(frame.annotation.is_some());
        }
        let catches = replay.marks.iter().filter(|mark| mark.kind == MarkKind::Catch).count();
        assert!(!replay.is_live);
        match replay.status {
            Status::Caught => assert_eq!((catches, replay.forecast.len()), (1, 0)),
            status => assert_eq!((status, catches, replay.forecast.is_empty()), (Status::Running, 0, false)),
        }
    }
}

#[test]
fn recording_that_diverges_from_the_rules_is_shown_to_its_end() {
    let world = World::new(&Layout::parse("P....\n.###.\n....S").unwrap(), &Rules::BLITZ_2025).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("odd.jsonl");
    let mut writer = RecordingWriter::create(&path).unwrap();
    let mut state = world.start();
    for tick in 1..=4 {
        let mut message = GameMessage::of(&world, &state, "me");
        if tick >= 3 {
            message.threats[0].position.x -= 1;
        }
        writer.write(&serde_json::to_string(&message).unwrap(), &[]).unwrap();
        world.step_unchecked(&mut state, Move::Stay);
    }
    writer.finish().unwrap();
    let replay = Replay::of_recording(&path, &Rules::BLITZ_2025).unwrap();
    let known: Vec<bool> = replay.frames.iter().map(|frame| frame.annotation.is_some()).collect();
    assert_eq!(known, [true, true, false, false]);
    assert_eq!(replay.frames[3].positions.threats[0].0.x, 3);
    assert!(
        replay.note.as_ref().is_some_and(|note| note.starts_with("diverges from the rules at tick 3")),
        "{replay:?}"
    );
    assert_eq!((replay.status, replay.is_live, replay.subtitle.as_str()), (Status::Running, false, "me"));
}

#[test]
fn recording_with_an_impossible_tick_is_shown() {
    let world = World::new(&Layout::parse("P....\n.###.\n....S").unwrap(), &Rules::BLITZ_2025).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("late.jsonl");
    let mut writer = RecordingWriter::create(&path).unwrap();
    for tick in [1, u32::MAX] {
        let mut message = GameMessage::of(&world, &world.start(), "me");
        message.tick = tick;
        writer.write(&serde_json::to_string(&message).unwrap(), &[]).unwrap();
    }
    writer.finish().unwrap();
    let replay = Replay::of_recording(&path, &Rules::BLITZ_2025).unwrap();
    let ticks: Vec<u32> = replay.frames.iter().map(|frame| frame.tick).collect();
    assert_eq!((ticks, replay.score()), (vec![1, u32::MAX], u32::MAX));
}

#[test]
fn threats_of_unknown_style_are_shown() {
    let world = World::new(&Layout::parse("P....\n.###.\nG...S").unwrap(), &Rules::BLITZ_2025).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("zebra.jsonl");
    let positions = MessageWriter::new(&world, "me").write(&world.start()).replace("\"goldfish\"", "\"zebra\"");
    let mut file = std::fs::File::create(&path).unwrap();
    writeln!(file, "{{\"game_message\":{positions},\"actions\":[]}}").unwrap();
    let replay = Replay::of_recording(&path, &Rules::BLITZ_2025).unwrap();
    assert!(replay.styles.contains(&"zebra".to_owned()) && replay.styles.contains(&"shark".to_owned()));
    for (index, style) in replay.styles.iter().enumerate() {
        let intent = &replay.frames[0].annotation.as_ref().unwrap().intents[index];
        assert_eq!(intent.kind == IntentKind::Unknown, style == "zebra");
    }
    assert_eq!(replay.frames.len(), 2);
    assert_eq!(replay.frames[1].positions.threats.len(), 2);
}

#[test]
fn jumps_catches_and_phases_are_marked() {
    // In a dead-end street, the player tries to swap tiles with the shark.
    let layout = Layout::parse("P.....S").unwrap();
    for rules in [Rules::BLITZ_2025, Rules::NO_JUMP] {
        let world = World::new(&layout, &rules).unwrap();
        let mut states = vec![world.start()];
        while let Some(state) = states.last().filter(|state| !state.is_over()) {
            let near = world.threat(state, 0).position.x - world.player(state).x == 1;
            let player_move = if near && world.threats_move(state) { Move::Right } else { Move::Stay };
            states.push(world.after(state, player_move));
            assert!(states.len() < 100, "the player is caught");
        }
        let replay = Replay::of_states("street", "", &world, &states);
        let kinds: Vec<MarkKind> = replay.marks.iter().map(|mark| mark.kind).collect();
        let expected = if rules.no_jump { vec![MarkKind::Catch] } else { vec![MarkKind::Jump, MarkKind::Catch] };
        assert_eq!(kinds, expected);
        let catch = replay.marks.last().unwrap();
        assert_eq!((catch.index, catch.text.as_str()), (states.len() - 1, "caught by the shark"));
        // In the no-jump variant, the catch ends the game within its tick, which has two frames.
        let [.., before, last] = replay.frames.as_slice() else { panic!("at least two frames") };
        assert_eq!(before.tick == last.tick, rules.no_jump);
        assert_eq!(replay.index_of_tick(last.tick), Some(states.len() - 1));
    }
    let world = World::new(&Layout::parse("P#S").unwrap(), &Rules::BLITZ_2025).unwrap();
    let (states, _) = random_walk(&world, 2000);
    let replay = Replay::of_states("apart", "", &world, &states);
    let marks: Vec<(u32, MarkKind)> =
        replay.marks.iter().map(|mark| (replay.frames[mark.index].tick, mark.kind)).collect();
    let phases = [302, 502, 702, 902].map(|tick| (tick, MarkKind::Phase));
    assert_eq!(marks, [&phases[..], &[(2001, MarkKind::Complete)]].concat());
    assert_eq!((replay.status, replay.score()), (Status::Complete, 10_005));
}

#[test]
fn page_of_a_whole_game_is_below_400_kb() {
    let map = common::our_maps().into_iter().find(|map| map.name == "metropolis").unwrap();
    let world = World::new(&map.layout, &Rules::NO_JUMP).unwrap();
    let moves = getaway::solve::Solver::survival_search(Default::default())
        .solve(&world, &world.start(), Default::default())
        .moves;
    let states = world.states_along(&world.start(), &moves);
    assert_eq!(states.len(), 2001);
    let replay = Replay::of_states(&map.name, "", &world, &states);
    assert!(
        replay.styles.len() >= 6
            && Style::ALL.iter().all(|style| replay.styles.iter().any(|name| name == style.name()))
    );
    let bytes = Page::new(PageSource::Replay(&replay), None).html.len();
    assert!(bytes < 400_000, "{bytes} bytes");
    println!("{bytes} bytes");
}
