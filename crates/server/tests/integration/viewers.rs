use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use getaway::protocol::GameMessage;
use getaway_server::ServerOptions;
use serde_json::json;

use super::harness::*;

#[test]
fn viewer_receives_the_states_of_the_bot_and_the_final_one() {
    let server = Running::start(ServerOptions { games: Some(1), ..options(vec![deadly_map()]) });
    let mut viewer = server.connect();
    viewer.send(json!({"type": "VIEWER"}));
    viewer.send(json!({"type": "REGISTER", "teamName": "viewer"}));
    let mut bot = server.register();
    let (mut sent, mut seen) = (Vec::new(), Vec::new());
    let mut late_viewer = None;
    while let Ok(frame) = bot.next() {
        let tick = GameMessage::parse(&frame).unwrap().tick;
        sent.push(frame);
        if tick == 1 {
            seen.push(viewer.next().unwrap());
        }
        if tick == 3 {
            let mut viewer = server.connect();
            viewer.send(json!({"type": "VIEWER"}));
            assert_eq!(&viewer.next().unwrap(), &sent[2], "a late viewer sees the latest state at once");
            late_viewer = Some(viewer);
        }
        bot.command(tick, json!([]));
    }
    let end = loop {
        match viewer.next() {
            Ok(frame) => seen.push(frame),
            Err(end) => break end,
        }
    };
    assert_eq!(end.unwrap().reason.as_str(), "the server is shutting down");
    assert!(!server.thread.is_finished(), "the server first closes the connections of all viewers");
    assert_eq!(seen[..sent.len()], sent[..]);
    assert_eq!(seen.len(), sent.len() + 1);
    let last = GameMessage::parse(&seen[sent.len()]).unwrap();
    assert_eq!(u16::try_from(last.tick).unwrap(), server.results()[0].tick);
    assert!(last.threats.iter().any(|threat| threat.position == last.your_character.position), "caught");
    drop(late_viewer);
    server.ended();
}

#[test]
fn viewer_that_does_not_read_delays_nothing() {
    let map = our_map("metropolis");
    let server = Running::start(options(vec![safe_map(), map]));
    let mut stalled = Vec::new();
    for _ in 0..5 {
        let mut viewer = server.connect();
        viewer.send(json!({"type": "VIEWER"}));
        stalled.push(viewer);
    }
    for game in 1..=4 {
        let mut bot = server.register();
        bot.play();
        let result = server.result(game);
        assert!(result.seconds < 60.0 && result.disconnect.is_none(), "{result:?}");
    }
    drop(stalled);
}

/// Returns a bot's median and maximum wait for its next state. The server pauses after each tick.
fn tick_times(viewers: usize) -> (Duration, Duration) {
    const TICKS: u32 = 250;
    let server = Running::start(ServerOptions { delay: Duration::from_millis(4), ..options(vec![safe_map()]) });
    let mut bot = server.register();
    bot.state();
    let stop = Arc::new(AtomicBool::new(false));
    let watch = |number| {
        let (stop, address) = (Arc::clone(&stop), server.address.clone());
        thread::spawn(move || {
            let mut viewer = connect(&address);
            viewer.send(json!({"type": "VIEWER"}));
            // The first viewer never reads. The others also fetch the replay, as the page does.
            while !stop.load(Ordering::Relaxed) {
                if number == 0 {
                    thread::sleep(Duration::from_millis(10));
                    continue;
                }
                (0..20).for_each(|_| drop(viewer.next().unwrap()));
                let request = page_request(&address, "live", "{\"number\":1,\"from\":0}");
                assert!(raw(&address, request.as_bytes()).starts_with("HTTP/1.1 200"));
            }
        })
    };
    let watching: Vec<_> = (0..viewers).map(watch).collect();
    let mut times = Vec::new();
    for tick in 1..=TICKS {
        let start = Instant::now();
        bot.command(tick, json!([]));
        bot.state();
        times.push(start.elapsed());
    }
    stop.store(true, Ordering::Relaxed);
    // The viewers receive the rest of the game.
    drop(bot);
    watching.into_iter().for_each(|viewer| viewer.join().unwrap());
    times.sort();
    (times[times.len() / 2], times[times.len() - 1])
}

#[test]
fn twenty_viewers_one_of_them_stalled_do_not_delay_the_ticks() {
    let (alone, watched) = (tick_times(0), tick_times(20));
    println!("median and maximum tick: alone {alone:?}, with 20 viewers {watched:?}");
    // The bound allows for load from other tests. Waiting for viewers would add seconds to a tick.
    assert!(watched.0 < alone.0 + Duration::from_secs(1), "{watched:?} instead of {alone:?}");
}
