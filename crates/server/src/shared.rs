use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use getaway_viewer::LiveReplay;

use super::event::Event;
use super::limits::MAX_WAITING_BOTS;
use super::options::ServerOptions;
use super::stream::Waker;
use super::viewers::Viewers;

pub(super) struct Shared {
    pub options: ServerOptions,
    pub bots: BotQueue,
    pub games_started: AtomicU64,
    pub viewers: Viewers,
    pub live: Arc<LiveReplay>,
    /// `None` once the server has ended.
    pub events: Mutex<Option<Sender<Event>>>,
    pub is_ending: AtomicBool,
}

impl Shared {
    /// Returns the next game's number, or `None` after the last game. The caller must be the first
    /// in `bots`.
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
            self.disconnect_all();
        }
    }

    /// Tells viewers and waiting bots to leave.
    pub fn disconnect_all(&self) {
        self.is_ending.store(true, Ordering::SeqCst);
        self.bots.lock().iter().for_each(Waker::wake);
        self.viewers.wake();
    }

    pub fn is_ending(&self) -> bool {
        self.is_ending.load(Ordering::SeqCst)
    }

    pub fn report(&self, event: Event) {
        // Sending fails only after the server has been dropped.
        let _ = self.lock_events().as_ref().map(|events| events.send(event));
    }

    pub fn end(&self) {
        self.lock_events().take();
    }

    pub fn has_ended(&self) -> bool {
        self.lock_events().is_none()
    }

    fn lock_events(&self) -> MutexGuard<'_, Option<Sender<Event>>> {
        self.events.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Bots in the order in which they registered. The first one plays.
#[derive(Default)]
pub(super) struct BotQueue(Mutex<VecDeque<Waker>>);

/// Left when dropped.
pub(super) struct Place<'a> {
    queue: &'a BotQueue,
    waker: Waker,
}

impl BotQueue {
    /// Adds a bot, which is woken when it may play. Returns `None` if too many bots wait.
    pub fn join(&self, waker: Waker) -> Option<Place<'_>> {
        let mut bots = self.lock();
        if bots.len() > MAX_WAITING_BOTS {
            return None;
        }
        bots.push_back(waker.clone());
        Some(Place { queue: self, waker })
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Waker>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Place<'_> {
    pub fn is_first(&self) -> bool {
        self.queue.lock().front().is_some_and(|first| first.is_same(&self.waker))
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let mut bots = self.queue.lock();
        bots.retain(|bot| !bot.is_same(&self.waker));
        bots.front().inspect(|first| first.wake());
    }
}
