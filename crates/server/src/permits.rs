use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Limits how many tasks run at the same time.
pub(crate) struct Permits(Arc<Pool>);

struct Pool {
    max: usize,
    free: Mutex<usize>,
    released: Condvar,
}

/// Returned when dropped.
pub(crate) struct Permit(Arc<Pool>);

impl Permits {
    pub fn new(max: usize) -> Self {
        Self(Arc::new(Pool { max, free: Mutex::new(max), released: Condvar::new() }))
    }

    /// Takes a permit; `None` if none becomes free in time.
    pub fn take(&self, time_limit: Duration) -> Option<Permit> {
        let mut free = self.wait_for(1, time_limit);
        *free = free.checked_sub(1)?;
        Some(Permit(Arc::clone(&self.0)))
    }

    /// Waits until all permits have been returned, for at most `time_limit`.
    pub fn wait_for_all(&self, time_limit: Duration) {
        drop(self.wait_for(self.0.max, time_limit));
    }

    fn wait_for(&self, count: usize, time_limit: Duration) -> MutexGuard<'_, usize> {
        let free = self.0.free.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.0.released.wait_timeout_while(free, time_limit, |free| *free < count);
        waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        *self.0.free.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        self.0.released.notify_all();
    }
}
