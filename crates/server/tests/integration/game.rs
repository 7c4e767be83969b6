use std::io::Write;
use std::net::Shutdown;
use std::time::Duration;

use getaway::files::Existing;
use getaway::game::{Position, Rules, Status};
use getaway::recording::{RecordingReader, verify};
use getaway_server::{Server, ServerOptions, limits};
use serde_json::{Value, json};
use tungstenite::Message;

use super::harness::*;

#[test]
fn game_over_the_websocket_is_the_simulators_game() {
    for map in [safe_map(), deadly_map(), our_map("roundabout"), our_map("harbour"), our_map("canal-quarter")] {
        for rules in [Rules::BLITZ_2025, Rules::NO_JUMP] {
            let folder = tempfile::tempdir().unwrap();
            let recording = Some(folder.path().join("new/game.jsonl.gz"));
            let options = ServerOptions { games: Some(1), rules, recording, ..options(vec![map.clone()]) };
            let server = Running::start(options);
            let (score, tick) = play_along(&server, &map, &rules);
            let result = server.result(1);
            assert_eq!((result.score, result.tick, result.map.as_str()), (score, tick, map.name.as_str()));
            assert_eq!((result.missed_ticks, result.late_commands, result.disconnect.as_ref()), (0, 0, None));
            let over_in_same_tick = u32::from(rules.no_jump && result.end == Status::Caught);
            assert!([u32::from(tick) - 1, u32::from(tick) - 1 + over_in_same_tick].contains(&result.commands));
            let report = verify(result.recording.unwrap(), &rules).unwrap();
            assert_eq!((report.divergence, report.tick, report.score), (None, tick, Some(score)));
            server.ended();
        }
    }
}

#[test]
fn whole_game_is_2000_ticks_and_10005_points() {
    let server = Running::start(ServerOptions { games: Some(1), ..options(vec![safe_map()]) });
    assert_eq!(play_along(&server, &safe_map(), &Rules::BLITZ_2025), (10_005, 2001));
    let result = server.result(1);
    assert_eq!((result.end, result.commands), (Status::Complete, 2000));
    assert!(result.seconds < 60.0, "{} s", result.seconds);
    server.ended();
}

#[test]
fn late_command_has_no_effect() {
    let options = ServerOptions { tick_time: Duration::from_millis(40), ..options(vec![safe_map()]) };
    let server = Running::start(options);
    let mut client = server.register();
    assert_eq!(client.state().tick, 1);
    // The second state shows that the first tick was played without a command.
    assert_eq!(client.state().tick, 2);
    client.command(1, json!([{"type": "MOVE_RIGHT"}]));
    let mut state = client.state();
    assert_eq!(state.your_character.position, Position::new(1, 1));
    // On a busy machine, several commands may be late, so the test repeats the command.
    while state.your_character.position == Position::new(1, 1) {
        client.command(state.tick, json!([{"type": "MOVE_RIGHT"}]));
        state = client.state();
    }
    assert_eq!(state.your_character.position, Position::new(2, 1));
    drop(client);
    let result = server.result(1);
    assert!(result.late_commands >= 1 && result.missed_ticks >= 2 && result.commands >= 1, "{result:?}");
    let notes = server.notes(0);
    assert!(notes[0].contains("ignored a late command for tick 1: expected tick "), "{notes:?}");
}

#[test]
fn only_the_first_command_for_the_current_tick_counts() {
    let server = Running::start(options(vec![safe_map()]));
    let mut client = server.register();
    client.state();
    client.command(2, json!([{"type": "MOVE_DOWN"}]));
    client.command(0, json!([{"type": "MOVE_DOWN"}]));
    client.send(json!({"type": "COMMAND", "actions": [{"type": "MOVE_DOWN"}]}));
    client.send(json!({"type": "COMMAND", "tick": 1}));
    client.send(json!({"type": "LEFT"}));
    client.send(json!([1, 2]));
    client.command(1, json!([{"type": "MOVE_RIGHT"}]));
    client.command(1, json!([{"type": "MOVE_DOWN"}]));
    let state = client.state();
    assert_eq!((state.tick, state.your_character.position), (2, Position::new(2, 1)));
    client.command(2, json!([]));
    let state: Value = serde_json::from_str(&client.next().expect("a state")).unwrap();
    assert_eq!((&state["tick"], &state["yourCharacter"]["position"]), (&json!(3), &json!({"x": 2, "y": 1})));
    assert_eq!(state["lastTickErrors"], json!([]), "empty, as on the real server");
    let expected = [
        "tick 1: ignored a command for tick 2: expected tick 1 (reported once per game)",
        "tick 1: ignored a command that cannot be read: tick: expected a whole number, 0 to 2^32 - 1, found nothing (reported once per game)",
        "tick 1: ignored a frame of type \"LEFT\": expected {\"type\":\"COMMAND\",\"tick\":1,\"actions\":[...]} (reported once per game)",
        "tick 2: ignored a second command for tick 1: expected one per tick (reported once per game)",
    ];
    assert_eq!(server.notes(4), expected);
    drop(client);
    assert_eq!(server.result(1).invalid_commands, 2);
}

#[test]
fn game_of_a_silent_bot_is_played_to_the_end() {
    let options = ServerOptions { tick_time: Duration::from_millis(1), games: Some(1), ..options(vec![deadly_map()]) };
    let server = Running::start(options);
    let client = server.register();
    assert_eq!(client.closed().0, 1000);
    let result = server.result(1);
    assert_eq!((result.end, result.commands, result.disconnect), (Status::Caught, 0, None));
    assert_eq!(result.missed_ticks, u32::from(result.tick) - 1);
    server.ended();
}

#[test]
fn misbehaving_bot_is_disconnected_and_its_game_continues() {
    let server = Running::start(options(vec![deadly_map()]));
    let long = "x".repeat(limits::MAX_FRAME_BYTES + 1);
    let huge = format!("\"{}\"", "x".repeat(10 << 20));
    let register = json!({"type": "REGISTER", "teamName": "again"}).to_string();
    let cases = [
        ("{\"type\": \"COMMAND\"", "sent invalid JSON at column 18: EOF while parsing an object"),
        ("", "sent invalid JSON at column 0: EOF while parsing a value"),
        (register.as_str(), "already registered"),
        (long.as_str(), "broke the connection: "),
        (huge.as_str(), "broke the connection: "),
    ];
    for (game, (frame, reason)) in cases.into_iter().enumerate() {
        let mut client = server.register();
        client.state();
        // The server may close the connection before reading the whole frame.
        let _ = client.socket.send(Message::text(frame));
        while client.next().is_ok() {}
        let result = server.result(game + 1);
        let left = result.disconnect.unwrap();
        assert!(left.reason.starts_with(reason) && left.tick == 1, "{left:?}");
        assert_eq!((result.score, result.end), (score_without_bot(&deadly_map()), Status::Caught));
    }
}

#[test]
fn game_of_a_disconnected_bot_continues() {
    let server = Running::start(options(vec![deadly_map()]));
    for game in 1..=4 {
        let mut client = server.register();
        client.state();
        match game {
            1 => client.socket.close(None).unwrap(),
            2 => drop(client),
            3 => {
                // A connection that is closed with unread bytes is reset.
                client.socket.send(Message::Ping(Default::default())).unwrap();
                client.socket.get_ref().peek(&mut [0]).unwrap();
                drop(client);
            }
            _ => client.socket.get_ref().shutdown(Shutdown::Write).unwrap(),
        }
        let result = server.result(game);
        assert_eq!(result.disconnect.unwrap().tick, 1);
        assert_eq!(result.score, score_without_bot(&deadly_map()));
    }
}

#[test]
fn bot_that_floods_the_server_is_disconnected() {
    let server = Running::start(options(vec![deadly_map()]));
    let mut client = server.register();
    client.state();
    for _ in 0..=limits::MAX_FRAMES_PER_TICK {
        let _ = client.socket.write(Message::text("{}"));
    }
    let _ = client.socket.flush();
    let result = server.result(1);
    assert!(result.disconnect.unwrap().reason.starts_with("100 frames in one tick without a command for it"));
    let notes = server.notes(0);
    assert_eq!(notes.len(), 2, "one note for the mistake and one for the disconnect: {notes:?}");
}

#[test]
fn message_without_end_delays_no_tick() {
    let options = ServerOptions { tick_time: Duration::from_millis(20), games: Some(1), ..options(vec![deadly_map()]) };
    let server = Running::start(options);
    let mut client = server.register();
    client.state();
    let empty_frame = |opcode: u8| [opcode, 0x80, 0, 0, 0, 0];
    client.socket.get_mut().write_all(&empty_frame(1)).unwrap();
    let stream = client.socket.get_ref().try_clone().unwrap();
    let flood = empty_frame(0).repeat(1000);
    let flooding = std::thread::spawn(move || while (&stream).write_all(&flood).is_ok() {});
    let result = server.result(1);
    assert_eq!((result.end, result.commands, result.disconnect), (Status::Caught, 0, None));
    server.ended();
    flooding.join().unwrap();
}

#[test]
fn failed_recording_does_not_end_the_game() {
    let folder = tempfile::tempdir().unwrap();
    let taken = folder.path().join("game.jsonl");
    let options = ServerOptions { games: Some(1), recording: Some(taken.clone()), ..options(vec![deadly_map()]) };
    let server = Running::start(options);
    std::fs::write(&taken, "mine").unwrap();
    play_along(&server, &deadly_map(), &Rules::BLITZ_2025);
    assert_eq!(server.result(1).recording, None);
    let expected = format!("{} already exists; this game is not recorded", taken.display());
    assert!(server.notes(0).contains(&expected));
    assert_eq!(std::fs::read_to_string(&taken).unwrap(), "mine");
    server.ended();
}

#[test]
fn servers_that_record_into_one_file_do_not_mix_their_games() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("game.jsonl");
    let options = || ServerOptions { games: Some(1), recording: Some(file.clone()), ..options(vec![deadly_map()]) };
    let (one, other) = (Running::start(options()), Running::start(options()));
    let map = deadly_map();
    std::thread::scope(|scope| {
        for server in [&one, &other] {
            scope.spawn(|| play_along(server, &map, &Rules::BLITZ_2025));
        }
    });
    let (first, second) = (one.result(1), other.result(1));
    let recorded: Vec<_> = [&first, &second].iter().filter_map(|result| result.recording.as_ref()).collect();
    assert_eq!(recorded, [&file]);
    let expected = format!("{} already exists; this game is not recorded", file.display());
    let notes = [one.notes(0), other.notes(0)].concat();
    assert_eq!(notes.iter().filter(|note| **note == expected).count(), 1, "{notes:?}");
    let report = verify(&file, &Rules::BLITZ_2025).unwrap();
    assert_eq!((report.divergence, report.status), (None, Status::Caught));
    one.ended();
    other.ended();
}

#[test]
fn length_of_a_frame_is_limited() {
    let server = Running::start(options(vec![safe_map()]));
    let mut client = server.register();
    client.state();
    let mut command = json!({"type": "COMMAND", "tick": 1, "actions": [{"type": "MOVE_RIGHT"}]}).to_string();
    command += &" ".repeat(limits::MAX_FRAME_BYTES - command.len());
    client.send_text(&command);
    let state = client.state();
    assert_eq!((state.tick, state.your_character.position), (2, Position::new(2, 1)));
    client.send_text(&(command + " "));
    while client.next().is_ok() {}
    let left = server.result(1).disconnect.unwrap();
    assert!(left.tick == 2 && left.reason.starts_with("broke the connection: "), "{left:?}");
}

#[test]
fn number_of_frames_per_tick_is_limited() {
    let server = Running::start(options(vec![safe_map()]));
    let mut client = server.register();
    for (tick, frames, fine) in [(1, limits::MAX_FRAMES_PER_TICK - 1, true), (2, limits::MAX_FRAMES_PER_TICK, false)] {
        assert_eq!(client.state().tick, tick);
        for _ in 0..frames {
            client.socket.write(Message::text("{}")).unwrap();
        }
        let _ = client.socket.send(Message::text(json!({"type": "COMMAND", "tick": tick, "actions": []}).to_string()));
        assert!(!fine || server.results().is_empty(), "the bot is still connected");
    }
    let left = server.result(1).disconnect.unwrap();
    assert_eq!((left.tick, left.reason), (2, "100 frames in one tick without a command for it".to_owned()));
}

#[test]
fn bot_that_does_not_read_is_disconnected_and_the_next_one_plays() {
    // Large states fill the socket's buffer quickly. The shark on its island cannot end the game.
    let mut hall = vec![".".repeat(50); 50];
    hall[0] = format!("{}#S", "P".to_owned() + &".".repeat(47));
    hall[1].replace_range(48..50, "##");
    let options = ServerOptions {
        tick_time: Duration::from_millis(1),
        games: Some(2),
        ..options(vec![map("hall", &hall.join("\n"))])
    };
    let server = Running::start(options);
    let asleep = server.register();
    let result = server.result(1);
    let left = result.disconnect.expect("disconnected during the game");
    assert_eq!((left.reason.as_str(), result.end), ("too slow to read", Status::Complete));
    drop(asleep);
    let mut awake = server.register();
    while awake.next().is_ok() {}
    assert_eq!(server.result(2).disconnect, None);
    server.ended();
}

#[test]
fn recording_that_cannot_be_written_is_rejected_at_the_start() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    std::fs::write(path("taken.jsonl"), "mine").unwrap();
    std::fs::write(path("second-2.jsonl"), "mine").unwrap();
    for (name, games, expected) in [
        ("taken.jsonl", None, Some("taken.jsonl already exists")),
        ("second.jsonl", Some(2), Some("second-2.jsonl already exists")),
        ("second.jsonl", Some(1), None),
        ("taken.jsonl/game.jsonl", None, Some("taken.jsonl")),
        ("new/game.jsonl.gz", Some(3), None),
    ] {
        let options = ServerOptions { games, recording: Some(path(name)), ..options(vec![safe_map()]) };
        let error = Server::start("127.0.0.1", 0, options).err().map(|error| error.to_string());
        match expected {
            None => assert_eq!(error, None, "{name}"),
            Some(expected) => {
                assert!(error.as_ref().is_some_and(|error| error.contains(expected)), "{name}: {error:?}")
            }
        }
    }
    for name in ["taken.jsonl", "new/game.jsonl"] {
        let recording = Some(path(name));
        let options =
            ServerOptions { recording, existing_recordings: Existing::Overwrite, ..options(vec![safe_map()]) };
        assert!(Server::start("127.0.0.1", 0, options).is_ok());
        assert_eq!(std::fs::read_to_string(path("taken.jsonl")).unwrap(), "mine", "kept until a game starts");
    }
    let mut left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["new", "second-2.jsonl", "taken.jsonl"], "no empty recordings");
    assert_eq!(std::fs::read_dir(path("new")).unwrap().count(), 0);
}

#[test]
fn recording_says_what_came_over_the_wire() {
    let folder = tempfile::tempdir().unwrap();
    let recording = Some(folder.path().join("game.jsonl"));
    let tick_time = Duration::from_secs(1);
    let server = Running::start(ServerOptions { games: Some(1), recording, tick_time, ..options(vec![safe_map()]) });
    let mut client = server.register();
    client.state();
    client.send(json!({"type": "COMMAND", "tick": 1}));
    client.command(1, json!([{"type": "MOVE_RIGHT"}]));
    // The second tick passes without a command. Its command arrives later.
    while client.state().tick < 3 {}
    client.command(2, json!([{"type": "MOVE_DOWN"}]));
    client.state();
    drop(client);
    let result = server.result(1);
    let ticks: Vec<_> = RecordingReader::open(result.recording.unwrap()).unwrap().map(Result::unwrap).collect();
    let game = ticks[0].game.as_ref().expect("a header");
    assert_eq!((game.map.as_deref(), game.rules, game.tick_ms), (Some("safe"), Rules::BLITZ_2025, Some(1000.0)));
    let wires: Vec<_> = ticks.iter().map(|tick| tick.wire.as_deref().expect("wire notes")).collect();
    let first = wires[0].command.as_ref().expect("a command");
    assert_eq!(first.actions, ticks[0].actions);
    assert!((0.0..1000.0).contains(&first.ms), "{first:?}");
    assert_eq!(wires[0].unreadable[0].text, r#"{"tick":1,"type":"COMMAND"}"#);
    assert_eq!((&wires[1].command, &ticks[1].actions[..]), (&None, &[][..]));
    let late: Vec<Option<u32>> = wires.iter().flat_map(|wire| &wire.late).map(|late| late.tick).collect();
    assert_eq!(late, [Some(2)]);
    let left = result.disconnect.expect("the bot left").tick;
    for (tick, wire) in ticks.iter().zip(&wires) {
        assert_eq!(wire.left.is_some(), tick.game_message.tick >= left.into(), "{wire:?}");
    }
}
