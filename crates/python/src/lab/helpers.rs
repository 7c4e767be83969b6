//! Threads that help with a short task, which completes even if threads cannot be started. A forked
//! process starts its own threads.

use std::mem;
use std::process;

use rayon::{ThreadPool, ThreadPoolBuilder};

/// The calling thread and its helpers. The helpers are started by the first task.
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

    /// Calls the task on every thread, with the thread's number (0 for the calling thread) and the
    /// number of threads. Panics if the task panics.
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
            // After a fork, the threads exist only in the parent. Dropping the pool would wait for
            // them for ever.
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
