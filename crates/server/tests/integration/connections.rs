use std::io::{Read, Write};
use std::net::Shutdown;
use std::time::Instant;

use getaway_server::{ServerOptions, limits};
use serde_json::json;
use tungstenite::Message;

use super::harness::*;

#[test]
fn connection_without_register_is_closed() {
    let server = Running::start(options(vec![safe_map()]));
    let start = Instant::now();
    let (mut silent, mut early) = (server.connect(), server.connect());
    early.command(1, json!([]));
    early.command(2, json!([]));
    early.send(json!({"type": "HELLO"}));
    early.send(json!({"type": "LEFT"}));
    assert!(early.ping());
    let malformed = {
        let mut client = server.connect();
        client.send_text("{");
        client.closed()
    };
    assert!(malformed.1.starts_with("sent invalid JSON at column "), "{malformed:?}");
    assert!(start.elapsed() < limits::REGISTRATION_TIMEOUT);
    let expected = Some("no REGISTER within 5 s");
    for client in [&mut silent, &mut early] {
        let frame = client.next().unwrap_err();
        assert_eq!(frame.as_ref().map(|frame| frame.reason.as_str()), expected);
    }
    assert!(start.elapsed() >= limits::REGISTRATION_TIMEOUT);
    assert!(server.results().is_empty());
    let expected = "expected {\"type\":\"REGISTER\",\"teamName\":\"...\"} or {\"type\":\"VIEWER\"} first";
    let mut notes = server.client_notes(5);
    assert!(notes.remove(2).starts_with("disconnected before its game: sent "), "{notes:?}");
    assert_eq!(
        notes,
        [
            format!("ignored a COMMAND before REGISTER: {expected}"),
            format!("ignored a frame of type \"HELLO\" before REGISTER: {expected}"),
            "disconnected before its game: no REGISTER within 5 s".to_owned(),
            "disconnected before its game: no REGISTER within 5 s".to_owned(),
        ]
    );
}

#[test]
fn too_long_frame_before_the_game_is_reported() {
    let server = Running::start(options(vec![safe_map()]));
    let mut client = server.connect();
    // The server may close the connection before reading the whole frame.
    let _ = client.socket.send(Message::text(" ".repeat(limits::MAX_FRAME_BYTES + 1)));
    let note = &server.client_notes(1)[0];
    assert!(note.starts_with("disconnected before its game: broke the connection: Space limit exceeded"), "{note}");
}

#[test]
fn length_of_a_team_name_is_limited() {
    let server = Running::start(options(vec![safe_map()]));
    for (chars, fine) in [(100, true), (101, false)] {
        let mut client = server.connect();
        client.send(json!({"type": "REGISTER", "teamName": "é".repeat(chars)}));
        assert_eq!(client.next().is_ok(), fine, "{chars}");
    }
}

#[test]
fn token_is_never_shown() {
    let server = Running::start(options(vec![deadly_map()]));
    let mut client = server.connect();
    client.send(json!({"type": "REGISTER", "token": "secret"}));
    assert!(!client.next().unwrap().contains("secret"));
    drop(client);
    server.result(1);
    assert!(!format!("{:?}", server.events.lock().unwrap()).contains("secret"));
}

#[test]
fn bots_play_in_order_of_arrival() {
    let server = Running::start(ServerOptions { games: Some(3), ..options(vec![deadly_map()]) });
    let mut waiting = Vec::new();
    for number in 0..5 {
        let mut client = server.connect();
        client.send(json!({"type": "REGISTER", "teamName": format!("bot {number}")}));
        // A bot is registered once it receives a state or its ping is answered.
        if number == 0 {
            client.state();
        } else {
            assert!(client.ping());
        }
        waiting.push(client);
    }
    let mut gone = waiting.remove(1);
    gone.socket.get_ref().shutdown(Shutdown::Write).unwrap();
    // The server closes the connection once the bot has lost its place.
    while gone.socket.read().is_ok() {}
    let mut rude = waiting.remove(1);
    waiting[0].command(1, json!([]));
    rude.send(json!({"type": "REGISTER", "teamName": "rude"}));
    assert_eq!(rude.closed().1, "already registered");
    for mut client in waiting {
        client.play();
    }
    server.result(3);
    let teams: Vec<String> = server.results().into_iter().map(|result| result.team).collect();
    assert_eq!(teams, ["bot 0", "bot 3", "bot 4"]);
    server.ended();
}

#[test]
fn surplus_connections_do_not_affect_the_game() {
    let server = Running::start(ServerOptions { games: Some(1), ..options(vec![safe_map()]) });
    let mut bot = server.register();
    bot.state();
    let mut crowd = Vec::new();
    for _ in 0..limits::MAX_CONNECTIONS + 50 {
        crowd.push(stream(&server.address));
    }
    bot.command(1, json!([]));
    bot.play();
    let result = server.result(1);
    assert_eq!((result.score, result.missed_ticks), (10_005, 0));
    drop(crowd);
    server.ended();
}

#[test]
fn idle_peers_may_send_100_frames_per_second() {
    let server = Running::start(options(vec![safe_map()]));
    for (frames, fine) in [(limits::MAX_IDLE_FRAMES_PER_SECOND, true), (limits::MAX_IDLE_FRAMES_PER_SECOND + 1, false)]
    {
        let mut client = server.connect();
        for _ in 1..frames {
            client.socket.write(Message::text("[]")).unwrap();
        }
        // The last frame.
        let is_answered = client.ping();
        assert_eq!(is_answered, fine);
        if !fine {
            assert_eq!(server.client_notes(3)[2], "disconnected before its game: too many frames");
        }
    }
}

#[test]
fn number_of_waiting_bots_is_limited() {
    let server = Running::start(options(vec![safe_map()]));
    let mut playing = server.register();
    playing.state();
    let mut waiting = Vec::new();
    for _ in 0..limits::MAX_WAITING_BOTS {
        waiting.push(server.register());
    }
    // A bot is registered once its ping is answered.
    assert!(waiting.iter_mut().all(Client::ping));
    let turned_away = server.register().closed();
    assert_eq!(turned_away, (1013, "too many waiting bots".to_owned()));
    drop(waiting.pop());
    // The place becomes free as soon as the server notices that the bot has left.
    wait_for("a free place", || server.register().ping().then_some(()));
}

#[test]
fn number_of_connections_is_limited() {
    let server = Running::start(options(vec![safe_map()]));
    let mut crowd = Vec::new();
    for _ in 0..limits::MAX_CONNECTIONS {
        crowd.push(stream(&server.address));
    }
    let start = Instant::now();
    let mut byte = [0];
    let read = stream(&server.address).read(&mut byte);
    assert!(matches!(read, Ok(0) | Err(_)) && start.elapsed() < limits::HTTP_TIMEOUT / 2, "{read:?}");
    let mut last = crowd.pop().unwrap();
    last.write_all(b"GET /nothing HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    last.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 404"), "{answer}");
}
