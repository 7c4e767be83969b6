//! An allocator that counts: how often a piece of code allocates, and how much it holds at most.
//!
//! Every thread counts for itself: the test harness has threads of its own, which allocate when it pleases them.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// The system's allocator with counters.
pub struct Counting;

thread_local! {
    static COUNTS: Cell<Counts> = const { Cell::new(Counts { allocations: 0, now_bytes: 0, peak_bytes: 0 }) };
}

/// What this thread took so far. It may give back what another one took, so its bytes may be below zero.
#[derive(Clone, Copy)]
struct Counts {
    allocations: usize,
    now_bytes: isize,
    peak_bytes: isize,
}

/// Changes this thread's counts; a thread that is coming to its end counts no more.
fn count(change: impl FnOnce(&mut Counts)) {
    let _ = COUNTS.try_with(|cell| {
        let mut counts = cell.get();
        change(&mut counts);
        counts.peak_bytes = counts.peak_bytes.max(counts.now_bytes);
        cell.set(counts);
    });
}

// SAFETY: every call goes to the system's allocator as it came; the counters neither allocate nor need to be dropped.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(|counts| {
            counts.allocations += 1;
            counts.now_bytes += layout.size() as isize;
        });
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(|counts| counts.now_bytes -= layout.size() as isize);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.dealloc(pointer, layout) }
    }
}

/// What a piece of code took from the allocator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Taken {
    /// Calls that allocated, growing included.
    pub allocations: usize,
    /// The most that was held at once, on top of what was held before.
    pub peak_bytes: usize,
}

/// Runs `work`, which starts no threads, and says what it took.
pub fn measure<T>(work: impl FnOnce() -> T) -> (T, Taken) {
    count(|counts| counts.peak_bytes = counts.now_bytes);
    let before = COUNTS.get();
    let result = work();
    let after = COUNTS.get();
    let taken = Taken {
        allocations: after.allocations - before.allocations,
        peak_bytes: usize::try_from(after.peak_bytes - before.now_bytes).unwrap_or(0),
    };
    (result, taken)
}
