//! Threads that help the calling thread with a short task.
//!
//! A step of a batch takes a few tens of microseconds, about as long as it takes to wake a thread,
//! and far less than a busy machine may take to run it. The calling thread therefore does not wait
//! for its helpers to begin: it works on the task itself until nothing is left, and then waits only
//! for helpers that are in the middle of a part. A helper that has finished polls for the next task
//! for a moment before it sleeps.
//!
//! Guarantees: [`Workers::run`] returns when no thread is inside the task, also when it panics. In
//! a process that was forked there are no helpers, and the calling thread does all of the work.

use std::cell::UnsafeCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// How long a helper polls for the next task before it sleeps: longer than Python takes from one
/// step to the next.
const AWAKE: Duration = Duration::from_micros(50);
/// Polls of the task between two checks of the clock.
const LOOKS: usize = 64;

/// The bits of [`Shared::state`] that count the helpers inside the task.
const INSIDE: u64 = (1 << 16) - 1;
/// Helpers may enter the task.
const OPEN: u64 = 1 << 16;
/// The bits from here upwards hold the task's number.
const NUMBER: u64 = 1 << 17;

/// Helpers, which end when this is dropped.
pub(crate) struct Workers {
    shared: Arc<Shared>,
}

struct Shared {
    /// The number of the task, whether it is open, and how many helpers are inside.
    state: AtomicU64,
    /// Written by the calling thread while the task is closed and empty; read by helpers inside.
    task: UnsafeCell<Option<Task>>,
    has_panicked: AtomicBool,
    is_over: AtomicBool,
    sleepers: AtomicUsize,
    bed: Mutex<()>,
    wake: Condvar,
}

/// A task, without the lifetime of what it borrows.
type Task = *const (dyn Fn(usize) + Sync);

// SAFETY: `task` is written and read by different threads, but never at the same time: see its
// description. The task itself is `Sync`.
unsafe impl Send for Shared {}
// SAFETY: as above.
unsafe impl Sync for Shared {}

impl Workers {
    /// Starts helpers.
    ///
    /// # Errors
    /// When a thread cannot be started.
    pub fn new(count: usize) -> std::io::Result<Self> {
        let shared = Arc::new(Shared {
            state: AtomicU64::new(0),
            task: UnsafeCell::new(None),
            has_panicked: AtomicBool::new(false),
            is_over: AtomicBool::new(false),
            sleepers: AtomicUsize::new(0),
            bed: Mutex::new(()),
            wake: Condvar::new(),
        });
        let workers = Self { shared };
        for number in 1..=count {
            let shared = Arc::clone(&workers.shared);
            thread::Builder::new().name("getaway".to_owned()).spawn(move || shared.help(number))?;
        }
        Ok(workers)
    }

    /// Runs a task on the calling thread, and on every helper that is there in time. The task is
    /// called once by each of them with its number, 0 for the calling thread, and returns when
    /// nothing is left to do.
    ///
    /// # Panics
    /// When the task panics.
    pub fn run(&mut self, task: &(dyn Fn(usize) + Sync)) {
        let shared = &*self.shared;
        // SAFETY: the lifetime is erased only until `Closing` has been dropped below: from then on
        // no helper is inside, and none can enter.
        let erased: Task =
            unsafe { std::mem::transmute::<&(dyn Fn(usize) + Sync), &'static (dyn Fn(usize) + Sync)>(task) };
        // SAFETY: the last task is closed and empty, so no helper reads it.
        unsafe { *shared.task.get() = Some(erased) };
        let number = shared.state.load(Ordering::Relaxed) & !(NUMBER - 1);
        shared.state.store(number.wrapping_add(NUMBER) | OPEN, Ordering::SeqCst);
        let closing = Closing { shared };
        if shared.sleepers.load(Ordering::SeqCst) > 0 {
            drop(shared.lie_down());
            shared.wake.notify_all();
        }
        task(0);
        drop(closing);
        assert!(!shared.has_panicked.swap(false, Ordering::Relaxed), "a helper has panicked");
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::SeqCst);
        drop(self.shared.lie_down());
        // Not joined: in a forked process there is no thread to wait for.
        self.shared.wake.notify_all();
    }
}

/// Closes the task, and waits for the helpers inside, when it is dropped.
struct Closing<'a> {
    shared: &'a Shared,
}

impl Drop for Closing<'_> {
    fn drop(&mut self) {
        self.shared.state.fetch_and(!OPEN, Ordering::AcqRel);
        let mut looks = 0;
        while self.shared.state.load(Ordering::Acquire) & INSIDE != 0 {
            looks += 1;
            if looks % LOOKS == 0 { thread::yield_now() } else { std::hint::spin_loop() }
        }
    }
}

impl Shared {
    fn lie_down(&self) -> MutexGuard<'_, ()> {
        // The lock protects only the order of sleeping and waking.
        self.bed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The life of a helper.
    fn help(&self, helper: usize) {
        let mut done = 0;
        while let Some(number) = self.next_task(done) {
            done = number;
            let enter = |state: u64| (state / NUMBER == number && state & OPEN != 0).then_some(state + 1);
            if self.state.fetch_update(Ordering::Acquire, Ordering::Relaxed, enter).is_err() {
                continue;
            }
            // SAFETY: this thread is inside the task: the calling thread writes the next one, or
            // returns from `run`, only after it has left.
            let run = || unsafe { (*self.task.get()).map(|task| (*task)(helper)) };
            if catch_unwind(AssertUnwindSafe(run)).is_err() {
                self.has_panicked.store(true, Ordering::Relaxed);
            }
            self.state.fetch_sub(1, Ordering::Release);
        }
    }

    /// Waits for a task with another number; returns the number, or nothing at the end.
    fn next_task(&self, done: u64) -> Option<u64> {
        let other = || {
            let number = self.state.load(Ordering::SeqCst) / NUMBER;
            (number != done || self.is_over.load(Ordering::SeqCst)).then_some(number)
        };
        let start = Instant::now();
        let number = loop {
            if let Some(number) = (0..LOOKS).find_map(|_| {
                std::hint::spin_loop();
                other()
            }) {
                break number;
            }
            if start.elapsed() > AWAKE {
                let mut bed = self.lie_down();
                self.sleepers.fetch_add(1, Ordering::SeqCst);
                let number = loop {
                    match other() {
                        Some(number) => break number,
                        None => bed = self.wake.wait(bed).unwrap_or_else(PoisonError::into_inner),
                    }
                };
                self.sleepers.fetch_sub(1, Ordering::SeqCst);
                break number;
            }
        };
        (!self.is_over.load(Ordering::SeqCst)).then_some(number)
    }
}
