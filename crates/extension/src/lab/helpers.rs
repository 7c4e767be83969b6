//! Helper threads for short tasks. If they cannot be started, the calling thread does all the work.
//! A forked process starts its own helper threads.

use std::mem;
use std::process;

use rayon::{ThreadPool, ThreadPoolBuilder};

/// The calling thread and its helper threads. The first task starts the helpers.
pub(crate) struct Helpers {
    threads: usize,
    pool: Option<Pool>,
}

struct Pool {
    process: u32,
    threads: Option<ThreadPool>,
}

impl Helpers {
    pub fn new(threads: usize) -> Self {
        Self { threads, pool: None }
    }

    pub fn threads(&self) -> usize {
        self.threads
    }

    /// Calls `task(number, threads)` for each number below `threads`; number 0 runs in the calling
    /// thread. Without helper threads, calls `task(0, 1)`. Panics if a call panics.
    pub fn run(&mut self, task: &(dyn Fn(usize, usize) + Sync)) {
        let threads = self.threads;
        let Some(pool) = self.pool() else { return task(0, 1) };
        pool.in_place_scope(|scope| {
            for thread in 1..threads {
                scope.spawn(move |_| task(thread, threads));
            }
            task(0, threads);
        });
    }

    fn pool(&mut self) -> Option<&ThreadPool> {
        let process = process::id();
        if let Some(pool) = self.pool.take_if(|pool| pool.process != process) {
            // After a fork, the pool's threads exist only in the parent process. Dropping the pool
            // could wait for ever for a lock that such a thread held.
            mem::forget(pool);
        }
        if self.threads == 1 {
            return None;
        }
        let pool = self.pool.get_or_insert_with(|| {
            let builder = ThreadPoolBuilder::new().num_threads(self.threads - 1);
            Pool { process, threads: builder.thread_name(|_| "getaway".to_owned()).build().ok() }
        });
        pool.threads.as_ref()
    }
}

impl Drop for Helpers {
    fn drop(&mut self) {
        if let Some(pool) = self.pool.take_if(|pool| pool.process != process::id()) {
            mem::forget(pool);
        }
    }
}
