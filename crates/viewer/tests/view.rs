//! Promise: what the viewer shows about a game is what the rules make of it, whatever map, recording or variant it is.

#[path = "../../../tests/common/mod.rs"]
mod common;

use std::io::Write;
use std::path::Path;

use getaway::game::{Layout, Move, Rules, State, Style, World};
use getaway::protocol::{GameMessage, MessageWriter};
use getaway::recording::{RecordingReader, RecordingWriter};
use getaway_viewer::{Ending, Film, MarkKind, Mode, Page, PageSource};

/// A game in which the player walks at random, a fixed one for each map.
fn stroll(world: &World, ticks: usize) -> (Vec<State>, Vec<Move>) {
    let (mut states, mut moves) = (vec![world.start()], Vec::new());
    let mut number = 12345_u32;
    while let Some(state) = states.last().filter(|state| !state.is_over() && moves.len() < ticks) {
        number = number.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let open: Vec<Move> = world.moves(state).collect();
        let player_move = open[(number >> 16) as usize % open.len()];
        let mut next = state.clone();
        world.step(&mut next, player_move);
        moves.push(player_move);
        states.push(next);
    }
    (states, moves)
}

fn after(world: &World, state: &State, player_move: Move) -> State {
    let mut next = state.clone();
    world.step(&mut next, player_move);
    next
}

#[test]
fn deadly_tiles_are_those_on_which_a_move_is_fatal() {
    let (mut fatal, mut harmless) = (0, 0);
    for map in common::our_maps() {
        for rules in [Rules::BLITZ_2025, Rules::NO_JUMP] {
            let world = World::new(&map.layout, &rules).unwrap();
            let (states, _) = stroll(&world, 400);
            let film = Film::of_states(&map.name, "", &world, &states);
            for (state, moment) in states.iter().zip(&film.moments).filter(|(state, _)| !state.is_over()) {
                let deadly = &moment.insight.as_ref().unwrap().deadly;
                for player_move in world.moves(state) {
                    let next = after(&world, state, player_move);
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
fn threats_do_what_they_are_said_to_do() {
    let mut seen = std::collections::BTreeMap::new();
    for map in common::our_maps() {
        let world = World::new(&map.layout, &Rules::BLITZ_2025).unwrap();
        // Nobody is caught in a plan that survives.
        let moves =
            getaway::planner::Survival::new(Default::default()).solve(&world, &world.start(), Default::default()).moves;
        let mut states = vec![world.start()];
        moves.iter().for_each(|&player_move| states.push(after(&world, states.last().unwrap(), player_move)));
        let film = Film::of_states(&map.name, "", &world, &states);
        for (pair, moment) in states.windows(2).zip(&film.moments) {
            for (index, doing) in moment.insight.as_ref().unwrap().doings.iter().enumerate() {
                *seen.entry(doing.mode as u8).or_insert(0) += 1;
                let (was, is) = (world.threat(&pair[0], index), world.threat(&pair[1], index));
                let step = |direction| was.position.towards(direction);
                let end = doing.path.iter().fold(was.position, |at, &direction| at.towards(direction));
                assert!(doing.path.is_empty() || Some(end) == doing.target, "a path ends at its target");
                if !world.threats_move(&pair[0]) {
                    assert_eq!(was.position, is.position);
                    continue;
                }
                let first = doing.path.first().map_or(was.position, |&direction| step(direction));
                let sees = world.sees(was.position, world.player(&pair[1]));
                match doing.mode {
                    Mode::StraightOn => assert_eq!(is.position, step(was.direction)),
                    Mode::Blocked => assert_ne!(is.position, step(was.direction)),
                    Mode::Hunt | Mode::Return => assert_eq!(is.position, first),
                    Mode::Track | Mode::Patrol if !sees => assert_eq!(is.position, first),
                    Mode::Perch => assert_eq!(is.position, was.position),
                    Mode::Idle if !sees => {
                        assert_eq!(is.position, was.position);
                        assert_eq!(is.post.is_some(), doing.count == 1, "{was:?}");
                    }
                    _ => {}
                }
            }
        }
    }
    let missing: Vec<u8> =
        (Mode::StraightOn as u8..=Mode::Idle as u8).filter(|mode| !seen.contains_key(mode)).collect();
    assert!(missing.is_empty(), "never seen: {missing:?}");
}

#[test]
fn no_threat_is_anywhere_before_its_timing() {
    for map in common::our_maps() {
        let world = World::new(&map.layout, &Rules::BLITZ_2025).unwrap();
        let (states, _) = stroll(&world, 300);
        let film = Film::of_states(&map.name, "", &world, &states);
        let tiles: Vec<_> = map.layout.open_positions().collect();
        for (start, moment) in film.moments.iter().enumerate().step_by(7) {
            let timings = &moment.insight.as_ref().unwrap().timings;
            for (ticks, later) in film.moments[start..].iter().take(40).enumerate() {
                for (at, _) in &later.frame.threats {
                    let timing = timings[tiles.iter().position(|tile| tile == at).unwrap()];
                    assert!(timing.is_some_and(|timing| usize::from(timing) <= ticks), "{}: {at}", map.name);
                }
            }
        }
    }
}

#[test]
fn our_recordings_are_shown_as_they_were_recorded() {
    for path in
        common::files_ending(&Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).join("games"), ".jsonl.gz")
    {
        let film = Film::of_recording(&path, &Rules::BLITZ_2025).unwrap();
        let ticks: Vec<_> = RecordingReader::open(&path).unwrap().map(Result::unwrap).collect();
        assert_eq!(film.note, None);
        assert_eq!(film.moments.len(), ticks.len() + 1, "and the state after the last command");
        for (moment, tick) in film.moments.iter().zip(&ticks) {
            let message = &tick.game_message;
            let threats: Vec<_> = message.threats.iter().map(|threat| threat.position).collect();
            assert_eq!((moment.tick, moment.frame.player), (message.tick, message.your_character.position));
            assert_eq!(moment.frame.threats.iter().map(|threat| threat.0).collect::<Vec<_>>(), threats);
            assert!(moment.insight.is_some());
        }
        let catches = film.marks.iter().filter(|mark| mark.kind == MarkKind::Catch).count();
        match film.ending {
            Ending::Caught => assert_eq!((catches, film.ahead.len()), (1, 0)),
            ending => assert_eq!((ending, catches, film.ahead.is_empty()), (Ending::Unfinished, 0, false)),
        }
    }
}

#[test]
fn a_recording_that_departs_from_the_rules_is_shown_to_its_end() {
    let world = World::new(&Layout::parse("P....\n.###.\n....s").unwrap(), &Rules::BLITZ_2025).unwrap();
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
        world.step(&mut state, Move::Stay);
    }
    writer.finish().unwrap();
    let film = Film::of_recording(&path, &Rules::BLITZ_2025).unwrap();
    let known: Vec<bool> = film.moments.iter().map(|moment| moment.insight.is_some()).collect();
    assert_eq!(known, [true, true, false, false]);
    assert_eq!(film.moments[3].frame.threats[0].0.x, 3);
    assert!(film.note.as_ref().is_some_and(|note| note.starts_with("departs from the rules in tick 3")), "{film:?}");
    assert_eq!((film.ending, film.subtitle.as_str()), (Ending::Unfinished, "saved game of me"));
}

#[test]
fn threats_of_unknown_style_are_shown_too() {
    let world = World::new(&Layout::parse("P....\n.###.\ng...s").unwrap(), &Rules::BLITZ_2025).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("zebra.jsonl");
    let frame = MessageWriter::new(&world, "me").write(&world.start()).replace("\"goldfish\"", "\"zebra\"");
    let mut file = std::fs::File::create(&path).unwrap();
    writeln!(file, "{{\"game_message\":{frame},\"actions\":[]}}").unwrap();
    let film = Film::of_recording(&path, &Rules::BLITZ_2025).unwrap();
    assert!(film.styles.contains(&"zebra".to_owned()) && film.styles.contains(&"shark".to_owned()));
    for (index, style) in film.styles.iter().enumerate() {
        let doing = &film.moments[0].insight.as_ref().unwrap().doings[index];
        assert_eq!(doing.mode == Mode::Unknown, style == "zebra");
    }
    assert_eq!(film.moments.len(), 2);
    assert_eq!(film.moments[1].frame.threats.len(), 2);
}

#[test]
fn jumps_catches_and_phases_are_marked() {
    // In a dead-end street the shark comes up to the player, who swaps tiles with it.
    let layout = Layout::parse("P.....s").unwrap();
    for rules in [Rules::BLITZ_2025, Rules::NO_JUMP] {
        let world = World::new(&layout, &rules).unwrap();
        let mut states = vec![world.start()];
        while let Some(state) = states.last().filter(|state| !state.is_over()) {
            let near = world.threat(state, 0).position.x - world.player(state).x == 1;
            let player_move = if near && world.threats_move(state) { Move::Right } else { Move::Stay };
            states.push(after(&world, state, player_move));
            assert!(states.len() < 100, "somebody is caught");
        }
        let film = Film::of_states("street", "", &world, &states);
        let kinds: Vec<MarkKind> = film.marks.iter().map(|mark| mark.kind).collect();
        let expected = if rules.no_jump { vec![MarkKind::Catch] } else { vec![MarkKind::Jump, MarkKind::Catch] };
        assert_eq!(kinds, expected);
        let catch = film.marks.last().unwrap();
        assert_eq!((catch.index, catch.text.as_str()), (states.len() - 1, "caught by the shark"));
        // Nobody jumps: the game ends before the tick does, and the tick is shown twice.
        let [.., before, last] = film.moments.as_slice() else { panic!("more than a moment") };
        assert_eq!(before.tick == last.tick, rules.no_jump);
        assert_eq!(film.index_of_tick(last.tick), Some(states.len() - 1));
    }
    let world = World::new(&Layout::parse("P#s").unwrap(), &Rules::BLITZ_2025).unwrap();
    let (states, _) = stroll(&world, 2000);
    let film = Film::of_states("apart", "", &world, &states);
    let marks: Vec<(u32, MarkKind)> =
        film.marks.iter().map(|mark| (film.moments[mark.index].tick, mark.kind)).collect();
    let phases = [302, 502, 702, 902].map(|tick| (tick, MarkKind::Phase));
    assert_eq!(marks, [&phases[..], &[(2001, MarkKind::Complete)]].concat());
    assert_eq!((film.ending, film.score()), (Ending::Complete, 10_005));
}

#[test]
fn a_page_of_a_whole_game_is_small() {
    let map = common::our_maps().into_iter().find(|map| map.name == "metropolis").unwrap();
    let world = World::new(&map.layout, &Rules::NO_JUMP).unwrap();
    let moves =
        getaway::planner::Survival::new(Default::default()).solve(&world, &world.start(), Default::default()).moves;
    let mut states = vec![world.start()];
    moves.iter().for_each(|&player_move| states.push(after(&world, states.last().unwrap(), player_move)));
    assert_eq!(states.len(), 2001);
    let film = Film::of_states(&map.name, "", &world, &states);
    assert!(
        film.styles.len() >= 6 && Style::ALL.iter().all(|style| film.styles.iter().any(|name| name == style.name()))
    );
    let bytes = Page::new(PageSource::Film(&film)).html.len();
    assert!(bytes < 1_000_000, "{bytes} bytes");
    println!("{bytes} bytes");
}
