use std::thread;

use tokio::sync::oneshot;

/// Runs `work` on a new thread. If the thread cannot be started or panics, receiving fails.
pub(super) fn on_thread<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> oneshot::Receiver<T> {
    let (sender, receiver) = oneshot::channel();
    let _ = thread::Builder::new().spawn(move || drop(sender.send(work())));
    receiver
}
