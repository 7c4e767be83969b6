use std::sync::Arc;
use std::time::{Duration, Instant};

use getaway::protocol::GameMessage;
use getaway_server::ServerOptions;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::harness::*;

#[tokio::test]
async fn viewer_receives_the_states_of_the_bot_and_the_final_one() {
    let server = Running::start(ServerOptions { games: Some(1), ..options(vec![deadly_map()]) }).await;
    let mut viewer = server.connect().await;
    viewer.send(json!({"type": "VIEWER"})).await;
    viewer.send(json!({"type": "REGISTER", "teamName": "viewer"})).await;
    let mut bot = server.register().await;
    let (mut sent, mut seen) = (Vec::new(), Vec::new());
    let mut late_viewer = None;
    while let Ok(frame) = bot.next().await {
        let tick = GameMessage::parse(&frame).unwrap().tick;
        sent.push(frame);
        if tick == 1 {
            seen.push(viewer.next().await.unwrap());
        }
        if tick == 3 {
            let mut viewer = server.connect().await;
            viewer.send(json!({"type": "VIEWER"})).await;
            assert_eq!(&viewer.next().await.unwrap(), &sent[2], "a late viewer sees the latest state at once");
            late_viewer = Some(viewer);
        }
        bot.command(tick, json!([])).await;
    }
    let end = loop {
        match viewer.next().await {
            Ok(frame) => seen.push(frame),
            Err(end) => break end,
        }
    };
    assert_eq!(end.unwrap().reason.as_str(), "the server is shutting down");
    assert!(!server.task.is_finished(), "the server first closes the connections of all viewers");
    assert_eq!(seen[..sent.len()], sent[..]);
    assert_eq!(seen.len(), sent.len() + 1);
    let last = GameMessage::parse(&seen[sent.len()]).unwrap();
    assert_eq!(u16::try_from(last.tick).unwrap(), server.results()[0].tick);
    assert!(last.threats.iter().any(|threat| threat.position == last.your_character.position), "caught");
    drop(late_viewer);
    server.ended().await;
}

#[tokio::test]
async fn viewer_that_does_not_read_delays_nothing() {
    let map = our_map("metropolis");
    let server = Running::start(options(vec![safe_map(), map])).await;
    let mut stalled = Vec::new();
    for _ in 0..5 {
        let mut viewer = server.connect().await;
        viewer.send(json!({"type": "VIEWER"})).await;
        stalled.push(viewer);
    }
    for game in 1..=4 {
        let mut bot = server.register().await;
        while let Ok(frame) = bot.next().await {
            let message = GameMessage::parse(&frame).unwrap();
            bot.command(message.tick, json!([])).await;
        }
        let result = server.result(game).await;
        assert!(result.seconds < 10.0 && result.disconnect.is_none(), "{result:?}");
    }
    drop(stalled);
}

/// Returns a bot's median and maximum wait for its next state. The server pauses after each tick.
async fn tick_times(viewers: usize) -> (Duration, Duration) {
    const TICKS: u32 = 250;
    let server = Running::start(ServerOptions { delay: Duration::from_millis(4), ..options(vec![safe_map()]) }).await;
    let mut bot = server.register().await;
    bot.state().await;
    let stop = Arc::new(tokio::sync::Notify::new());
    let mut watching = Vec::new();
    for number in 0..viewers {
        let mut viewer = server.connect().await;
        viewer.send(json!({"type": "VIEWER"})).await;
        let (stop, address) = (Arc::clone(&stop), server.address.clone());
        watching.push(tokio::spawn(async move {
            let watch = async {
                // The first viewer never reads. The others also fetch the replay, as the page does.
                if number == 0 {
                    std::future::pending::<()>().await;
                }
                loop {
                    for _ in 0..20 {
                        viewer.next().await.unwrap();
                    }
                    let ask = page_request(&address, "/replay/1/0");
                    let mut stream = TcpStream::connect(&address).await.unwrap();
                    stream.write_all(ask.as_bytes()).await.unwrap();
                    let mut answer = Vec::new();
                    stream.read_to_end(&mut answer).await.unwrap();
                    assert!(answer.starts_with(b"HTTP/1.1 200"));
                }
            };
            tokio::select! { () = watch => {}, () = stop.notified() => {} }
        }));
    }
    let mut times = Vec::new();
    for tick in 1..=TICKS {
        let start = Instant::now();
        bot.command(tick, json!([])).await;
        bot.state().await;
        times.push(start.elapsed());
    }
    stop.notify_waiters();
    for task in watching {
        task.await.unwrap();
    }
    times.sort();
    (times[times.len() / 2], times[times.len() - 1])
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn twenty_viewers_one_of_them_stalled_do_not_delay_the_ticks() {
    let (alone, watched) = (tick_times(0).await, tick_times(20).await);
    println!("median and maximum tick: alone {alone:?}, with 20 viewers {watched:?}");
    // The bound allows for load from other tests. Waiting for viewers would add seconds to a tick.
    assert!(watched.0 < alone.0 * 2 + Duration::from_millis(10), "{watched:?} instead of {alone:?}");
}
