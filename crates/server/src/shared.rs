//! The state that all connections of a server share.

use std::sync::atomic::{AtomicU64, Ordering};

use getaway_viewer::Page;
use tokio::sync::{Semaphore, mpsc, watch};

use super::event::Event;
use super::options::ServerOptions;
use super::viewer_server::LiveEndpoint;
use super::viewers::Viewers;

/// State shared by all connections.
pub(super) struct Shared {
    pub options: ServerOptions,
    pub on_loopback: bool,
    /// One game at a time, in order of arrival.
    pub turn: Semaphore,
    pub waiting: Semaphore,
    pub games_started: AtomicU64,
    pub viewers: Viewers,
    /// The replay of the game for the viewer page.
    pub live_endpoint: LiveEndpoint,
    pub page: Page,
    pub events: mpsc::UnboundedSender<Event>,
    /// Whether the last game has been played.
    pub all_played: watch::Sender<bool>,
}

impl Shared {
    /// The number of the next game, or `None` after the last one. Must be called while holding the
    /// turn.
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
        // The receiver is dropped when the server shuts down.
        let _ = self.events.send(event);
    }
}

/// Waits until all games have been played.
pub(super) async fn wait_for_end(all_played: &mut watch::Receiver<bool>) {
    // The sender outlives all receivers.
    let _ = all_played.wait_for(|all_played| *all_played).await;
}
