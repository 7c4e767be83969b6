//! Measures the allocations and the peak memory of one thread, because other tests and the test
//! harness allocate at the same time.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

pub struct Counting;

thread_local! {
    static COUNTS: Cell<Counts> = const { Cell::new(Counts { allocations: 0, now_bytes: 0, peak_bytes: 0 }) };
}

/// Counts of one thread. `now_bytes` can be negative, because a thread may free memory that another
/// thread allocated.
#[derive(Clone, Copy)]
struct Counts {
    allocations: usize,
    now_bytes: isize,
    peak_bytes: isize,
}

fn count(change: impl FnOnce(&mut Counts)) {
    let _ = COUNTS.try_with(|cell| {
        let mut counts = cell.get();
        change(&mut counts);
        counts.peak_bytes = counts.peak_bytes.max(counts.now_bytes);
        cell.set(counts);
    });
}

// SAFETY: `alloc` and `dealloc` forward their arguments unchanged to the system allocator. The
// counters neither allocate nor need to be dropped.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(|counts| {
            counts.allocations += 1;
            counts.now_bytes += layout.size() as isize;
        });
        // SAFETY: the caller upholds the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(|counts| counts.now_bytes -= layout.size() as isize);
        // SAFETY: the caller upholds the contract of `dealloc`.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allocations {
    /// Includes reallocations.
    pub allocations: usize,
    /// Peak memory, minus the memory in use when the measurement began.
    pub peak_bytes: usize,
}

/// Returns the result and the allocations of `work`. Allocations in other threads do not count.
pub fn measure<T>(work: impl FnOnce() -> T) -> (T, Allocations) {
    count(|counts| counts.peak_bytes = counts.now_bytes);
    let before = COUNTS.get();
    let result = work();
    let after = COUNTS.get();
    let taken = Allocations {
        allocations: after.allocations - before.allocations,
        peak_bytes: usize::try_from(after.peak_bytes - before.now_bytes).unwrap_or(0),
    };
    (result, taken)
}
