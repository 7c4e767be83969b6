//! Sends states to viewers. The game never waits for a viewer, and slow viewers are dropped.

use std::sync::{Mutex, MutexGuard, PoisonError};

use axum::extract::ws::Utf8Bytes;
use tokio::sync::mpsc;

use super::limits::{MAX_VIEWER_BACKLOG_BYTES, MAX_VIEWER_BACKLOG_STATES, MAX_VIEWERS};

#[derive(Default)]
pub(super) struct Viewers {
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    viewers: Vec<mpsc::Sender<Utf8Bytes>>,
    /// The latest state, which a viewer receives when it joins.
    latest: Option<Utf8Bytes>,
}

impl Viewers {
    /// Adds a viewer. Returns a channel with the latest state, if any, and all later states, or
    /// `None` if there are already [`MAX_VIEWERS`] viewers. The channel is closed if the viewer is
    /// too slow.
    pub fn join(&self) -> Option<mpsc::Receiver<Utf8Bytes>> {
        let mut inner = self.lock();
        inner.viewers.retain(|viewer| !viewer.is_closed());
        if inner.viewers.len() >= MAX_VIEWERS {
            return None;
        }
        let (sender, receiver) = mpsc::channel(MAX_VIEWER_BACKLOG_STATES);
        if let Some(latest) = &inner.latest {
            sender.try_send(latest.clone()).ok()?;
        }
        inner.viewers.push(sender);
        Some(receiver)
    }

    /// Sends a state to all viewers. Drops viewers whose queue is full.
    pub fn publish(&self, frame: Utf8Bytes) {
        let mut inner = self.lock();
        let most_waiting = (MAX_VIEWER_BACKLOG_BYTES / frame.as_str().len().max(1)).max(1);
        inner.viewers.retain(|viewer| {
            let waiting = viewer.max_capacity() - viewer.capacity();
            waiting < most_waiting && viewer.try_send(frame.clone()).is_ok()
        });
        inner.latest = Some(frame);
    }

    /// Ignores poisoning, because the data is consistent even after a panic.
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_viewer_is_dropped_and_others_are_not() {
        let viewers = Viewers::default();
        let (mut slow, mut quick) = (viewers.join().unwrap(), viewers.join().unwrap());
        let frame = Utf8Bytes::from("x".repeat(MAX_VIEWER_BACKLOG_BYTES / 4));
        for _ in 0..5 {
            viewers.publish(frame.clone());
            assert_eq!(quick.try_recv().unwrap(), frame);
        }
        let kept = std::iter::from_fn(|| slow.try_recv().ok()).count();
        assert_eq!(kept, 4, "queued states can still be read");
        assert_eq!(slow.try_recv(), Err(mpsc::error::TryRecvError::Disconnected));
        assert_eq!(quick.try_recv(), Err(mpsc::error::TryRecvError::Empty));
    }

    #[test]
    fn viewer_count_is_limited_and_freed_when_a_viewer_leaves() {
        let viewers = Viewers::default();
        let mut seats: Vec<_> = (0..MAX_VIEWERS).map(|_| viewers.join().unwrap()).collect();
        assert!(viewers.join().is_none());
        seats.pop();
        assert!(viewers.join().is_some());
    }

    #[test]
    fn late_viewer_receives_the_latest_state_at_once() {
        let viewers = Viewers::default();
        viewers.publish("one".into());
        viewers.publish("two".into());
        let mut late = viewers.join().unwrap();
        assert_eq!(late.try_recv().unwrap().as_str(), "two");
        assert!(late.try_recv().is_err());
    }
}
