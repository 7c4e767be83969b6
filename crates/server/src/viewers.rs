//! Sends states to viewers. The game never waits for a viewer, and slow viewers are dropped.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use tungstenite::Utf8Bytes;

use super::limits::{MAX_VIEWER_BACKLOG_BYTES, MAX_VIEWER_BACKLOG_STATES, MAX_VIEWERS};
use super::socket::Disconnect;
use super::stream::Waker;

#[derive(Default)]
pub(super) struct Viewers {
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    viewers: Vec<Weak<Viewer>>,
    /// The latest state, which a viewer receives when it joins.
    latest: Option<Utf8Bytes>,
}

pub(super) struct Viewer {
    /// The states that have not been sent yet; `None` if there were too many.
    backlog: Mutex<Option<VecDeque<Utf8Bytes>>>,
    waker: Waker,
}

impl Viewer {
    /// Fails if the viewer was too slow.
    pub fn next_state(&self) -> Result<Option<Utf8Bytes>, Disconnect> {
        lock(&self.backlog).as_mut().map(VecDeque::pop_front).ok_or_else(Disconnect::too_slow)
    }

    fn push(&self, frame: &Utf8Bytes) {
        let mut backlog = lock(&self.backlog);
        let states_max = (MAX_VIEWER_BACKLOG_BYTES / frame.as_str().len().max(1)).clamp(1, MAX_VIEWER_BACKLOG_STATES);
        match &mut *backlog {
            Some(states) if states.len() < states_max => states.push_back(frame.clone()),
            _ => *backlog = None,
        }
    }
}

impl Viewers {
    /// Adds a viewer with the latest state, if any. Returns `None` if there are already
    /// [`MAX_VIEWERS`] viewers. The viewer is woken for each later state, and leaves when dropped.
    pub fn join(&self, waker: Waker) -> Option<Arc<Viewer>> {
        let mut inner = lock(&self.inner);
        inner.viewers.retain(|viewer| viewer.strong_count() > 0);
        if inner.viewers.len() >= MAX_VIEWERS {
            return None;
        }
        let backlog = Mutex::new(Some(inner.latest.iter().cloned().collect()));
        let viewer = Arc::new(Viewer { backlog, waker });
        inner.viewers.push(Arc::downgrade(&viewer));
        Some(viewer)
    }

    /// Sends a state to all viewers. A viewer with a full backlog is disconnected instead.
    pub fn publish(&self, frame: Utf8Bytes) {
        let mut inner = lock(&self.inner);
        for viewer in inner.viewers.iter().filter_map(Weak::upgrade) {
            viewer.push(&frame);
            viewer.waker.wake();
        }
        inner.latest = Some(frame);
    }

    pub fn wake(&self) {
        lock(&self.inner).viewers.iter().filter_map(Weak::upgrade).for_each(|viewer| viewer.waker.wake());
    }
}

/// Ignores poisoning, because the data is consistent even after a panic.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::slice::from_ref;

    use super::*;

    /// Takes all states of a viewer's backlog.
    fn backlog(viewer: &Viewer) -> Vec<Utf8Bytes> {
        std::iter::from_fn(|| viewer.next_state().unwrap()).collect()
    }

    #[test]
    fn slow_viewer_is_dropped_and_others_are_not() {
        for (bytes, states_max) in [(MAX_VIEWER_BACKLOG_BYTES / 4, 4), (1, MAX_VIEWER_BACKLOG_STATES)] {
            let viewers = Viewers::default();
            let [full, slow, quick] = std::array::from_fn(|_| viewers.join(Waker::default()).unwrap());
            let frame = Utf8Bytes::from("x".repeat(bytes));
            for _ in 0..states_max {
                viewers.publish(frame.clone());
                assert_eq!(backlog(&quick), from_ref(&frame));
            }
            assert_eq!(backlog(&full).len(), states_max);
            viewers.publish(frame.clone());
            assert_eq!(backlog(&full), from_ref(&frame));
            assert_eq!(backlog(&quick), from_ref(&frame));
            assert_eq!(slow.next_state().unwrap_err().reason, "too slow to read");
        }
    }

    #[test]
    fn viewer_count_is_limited_and_freed_when_a_viewer_leaves() {
        let viewers = Viewers::default();
        let mut seats: Vec<_> = (0..MAX_VIEWERS).map(|_| viewers.join(Waker::default()).unwrap()).collect();
        assert!(viewers.join(Waker::default()).is_none());
        seats.pop();
        assert!(viewers.join(Waker::default()).is_some());
    }

    #[test]
    fn late_viewer_receives_the_latest_state_at_once() {
        let viewers = Viewers::default();
        viewers.publish("one".into());
        viewers.publish("two".into());
        assert_eq!(backlog(&viewers.join(Waker::default()).unwrap()), ["two"]);
    }
}
