use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use getaway_viewer::LiveReplay;
use tokio::sync::{Semaphore, mpsc, watch};

use super::event::Event;
use super::options::ServerOptions;
use super::viewers::Viewers;

pub(super) struct Shared {
    pub options: ServerOptions,
    /// The permit to play a game. Bots acquire it in the order in which they registered.
    pub turn: Semaphore,
    pub waiting: Semaphore,
    pub games_started: AtomicU64,
    pub viewers: Viewers,
    pub live: Arc<LiveReplay>,
    pub events: mpsc::UnboundedSender<Event>,
    pub all_played: watch::Sender<bool>,
}

impl Shared {
    /// Returns the next game's number, or `None` after the last game. The caller must hold the
    /// permit of `turn`.
    pub fn next_game(&self) -> Option<u64> {
        let number = self.games_started.load(Ordering::Relaxed) + 1;
        if self.options.games.is_some_and(|games| number > games) {
            return None;
        }
        self.games_started.store(number, Ordering::Relaxed);
        Some(number)
    }

    pub fn end_game(&self, number: u64) {
        if self.options.games == Some(number) {
            self.all_played.send_replace(true);
        }
    }

    pub fn report(&self, event: Event) {
        // Sending fails only after `Server::run` has ended, which drops the receiver.
        let _ = self.events.send(event);
    }
}

pub(super) async fn wait_for_end(all_played: &mut watch::Receiver<bool>) {
    // Waiting cannot fail, because the sender outlives all receivers.
    let _ = all_played.wait_for(|all_played| *all_played).await;
}
