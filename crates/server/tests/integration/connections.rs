use std::time::{Duration, Instant};

use futures_util::{SinkExt, StreamExt};
use getaway::protocol::GameMessage;
use getaway_server::{ServerOptions, limits};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};
use tokio_tungstenite::tungstenite::Message;

use super::harness::*;

#[tokio::test]
async fn connection_without_register_is_closed() {
    let server = Running::start(options(vec![safe_map()])).await;
    let start = Instant::now();
    let (mut silent, mut early) = (server.connect().await, server.connect().await);
    early.command(1, json!([])).await;
    early.command(2, json!([])).await;
    early.send(json!({"type": "HELLO"})).await;
    early.send(json!({"type": "LEFT"})).await;
    // The pong arrives after the server has handled all earlier frames.
    early.socket.send(Message::Ping(Default::default())).await.unwrap();
    assert!(matches!(early.socket.next().await, Some(Ok(Message::Pong(_)))));
    let malformed = {
        let mut client = server.connect().await;
        client.send_text("{").await;
        client.closed().await
    };
    assert!(malformed.1.starts_with("sent invalid JSON at column "), "{malformed:?}");
    assert!(start.elapsed() < limits::REGISTRATION_TIMEOUT);
    let expected = Some("no REGISTER within 5 s");
    for client in [&mut silent, &mut early] {
        let frame = client.next().await.unwrap_err();
        assert_eq!(frame.as_ref().map(|frame| frame.reason.as_str()), expected);
    }
    assert!(start.elapsed() >= limits::REGISTRATION_TIMEOUT);
    assert!(server.results().is_empty());
    let expected = "expected {\"type\":\"REGISTER\",\"teamName\":\"...\"} or {\"type\":\"VIEWER\"} first";
    let mut notes = server.client_notes();
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

#[tokio::test]
async fn too_long_frame_before_the_game_is_reported() {
    let server = Running::start(options(vec![safe_map()])).await;
    let mut client = server.connect().await;
    // The server may close the connection before reading the whole frame.
    let _ = client.socket.send(Message::text(" ".repeat(limits::MAX_FRAME_BYTES + 1))).await;
    let reported = async {
        while server.client_notes().is_empty() {
            sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(TIMEOUT, reported).await.expect("a note");
    let note = &server.client_notes()[0];
    assert!(note.starts_with("disconnected before its game: broke the connection: Space limit exceeded"), "{note}");
}

#[tokio::test]
async fn length_of_a_team_name_is_limited() {
    let server = Running::start(options(vec![safe_map()])).await;
    for (chars, fine) in [(100, true), (101, false)] {
        let mut client = server.connect().await;
        client.send(json!({"type": "REGISTER", "teamName": "é".repeat(chars)})).await;
        assert_eq!(client.next().await.is_ok(), fine, "{chars}");
    }
}

#[tokio::test]
async fn token_is_never_shown() {
    let server = Running::start(options(vec![deadly_map()])).await;
    let mut client = server.connect().await;
    client.send(json!({"type": "REGISTER", "token": "secret"})).await;
    assert!(!client.next().await.unwrap().contains("secret"));
    drop(client);
    server.result(1).await;
    assert!(!format!("{:?}", server.events.lock().unwrap()).contains("secret"));
}

#[tokio::test]
async fn bots_play_in_order_of_arrival() {
    let server = Running::start(ServerOptions { games: Some(3), ..options(vec![deadly_map()]) }).await;
    let mut waiting = Vec::new();
    for number in 0..5 {
        let mut client = server.connect().await;
        client.send(json!({"type": "REGISTER", "teamName": format!("bot {number}")})).await;
        waiting.push(client);
        // Gives the server time to register the bots in this order.
        sleep(Duration::from_millis(50)).await;
    }
    let gone = waiting.remove(1);
    drop(gone);
    let mut rude = waiting.remove(1);
    rude.send(json!({"type": "REGISTER", "teamName": "rude"})).await;
    assert_eq!(rude.closed().await.1, "already registered");
    for mut client in waiting {
        while let Ok(state) = client.next().await {
            client.command(GameMessage::parse(state).unwrap().tick, json!([])).await;
        }
    }
    let teams: Vec<String> = server.results().into_iter().map(|result| result.team).collect();
    assert_eq!(teams, ["bot 0", "bot 3", "bot 4"]);
    server.ended().await;
}

#[tokio::test]
async fn surplus_connections_do_not_affect_the_game() {
    let server = Running::start(ServerOptions { games: Some(1), ..options(vec![safe_map()]) }).await;
    let mut bot = server.register().await;
    bot.state().await;
    let mut crowd = Vec::new();
    for _ in 0..limits::MAX_CONNECTIONS + 50 {
        crowd.push(TcpStream::connect(&server.address).await.unwrap());
    }
    bot.command(1, json!([])).await;
    while let Ok(frame) = bot.next().await {
        bot.command(GameMessage::parse(&frame).unwrap().tick, json!([])).await;
    }
    let result = server.result(1).await;
    assert_eq!((result.score, result.missed_ticks), (10_005, 0));
    drop(crowd);
    server.ended().await;
}

#[tokio::test]
async fn idle_peers_may_send_100_frames_per_second() {
    let server = Running::start(options(vec![safe_map()])).await;
    for (frames, fine) in [(limits::MAX_IDLE_FRAMES_PER_SECOND, true), (limits::MAX_IDLE_FRAMES_PER_SECOND + 1, false)]
    {
        let mut client = server.connect().await;
        for _ in 0..frames {
            client.socket.feed(Message::text("[]")).await.unwrap();
        }
        let _ = client.socket.send(Message::text(json!({"type": "VIEWER"}).to_string())).await;
        // Before the first game, a viewer receives only pings, or a close frame if it is
        // disconnected.
        let heard = timeout(Duration::from_millis(500), client.next()).await;
        match heard {
            Ok(Err(frame)) => assert!(!fine && frame.unwrap().reason.as_str() == "too many frames"),
            Ok(Ok(state)) => panic!("{state}"),
            Err(_) => assert!(fine),
        }
    }
}

#[tokio::test]
async fn number_of_waiting_bots_is_limited() {
    let server = Running::start(options(vec![safe_map()])).await;
    let mut playing = server.register().await;
    playing.state().await;
    let mut waiting = Vec::new();
    for _ in 0..limits::MAX_WAITING_BOTS {
        waiting.push(server.register().await);
    }
    // A bot is registered once its ping is answered.
    for bot in &mut waiting {
        bot.socket.send(Message::Ping(Default::default())).await.unwrap();
        let answer = timeout(TIMEOUT, bot.socket.next()).await.unwrap();
        assert!(matches!(answer, Some(Ok(Message::Pong(_)))), "{answer:?}");
    }
    let turned_away = server.register().await.closed().await;
    assert_eq!(turned_away, (1013, "too many waiting bots".to_owned()));
    drop(waiting.pop());
    let late = async {
        // The place becomes free as soon as the server notices that the bot has left.
        loop {
            let mut bot = server.register().await;
            bot.socket.send(Message::Ping(Default::default())).await.unwrap();
            match timeout(TIMEOUT, bot.socket.next()).await.unwrap() {
                Some(Ok(Message::Pong(_))) => break bot,
                _ => sleep(Duration::from_millis(10)).await,
            }
        }
    };
    drop(timeout(TIMEOUT, late).await.expect("a free place"));
}

#[tokio::test]
async fn number_of_connections_is_limited() {
    let server = Running::start(options(vec![safe_map()])).await;
    let mut crowd = Vec::new();
    for _ in 0..limits::MAX_CONNECTIONS {
        crowd.push(TcpStream::connect(&server.address).await.unwrap());
    }
    let start = Instant::now();
    let mut byte = [0];
    let mut further = TcpStream::connect(&server.address).await.unwrap();
    let read = timeout(TIMEOUT, further.read(&mut byte)).await.expect("closed unread");
    assert!(matches!(read, Ok(0) | Err(_)) && start.elapsed() < limits::HTTP_TIMEOUT / 2, "{read:?}");
    let mut last = crowd.pop().unwrap();
    last.write_all(b"GET /nothing HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").await.unwrap();
    let mut answer = String::new();
    timeout(TIMEOUT, last.read_to_string(&mut answer)).await.unwrap().unwrap();
    assert!(answer.starts_with("HTTP/1.1 404"), "{answer}");
}
