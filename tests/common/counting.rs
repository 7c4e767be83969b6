//! An allocator that counts: how often a piece of code allocates, and how much it holds at most.
//!
//! The counts are the process's own, so a test that measures must be alone in its process: one `#[test]` a file.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

/// The system's allocator with counters.
pub struct Counting;

static ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);
static NOW_BYTES: AtomicUsize = AtomicUsize::new(0);
static PEAK_BYTES: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call goes to the system's allocator as it came; the counters do not allocate.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        let now = NOW_BYTES.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        PEAK_BYTES.fetch_max(now, Ordering::Relaxed);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        NOW_BYTES.fetch_sub(layout.size(), Ordering::Relaxed);
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
    /// What is still held, in the result for example, on top of what was held before.
    pub kept_bytes: usize,
}

/// Runs `work` and says what it took, with its result still alive.
pub fn measure<T>(work: impl FnOnce() -> T) -> (T, Taken) {
    let (allocations, before) = (ALLOCATIONS.load(Ordering::Relaxed), NOW_BYTES.load(Ordering::Relaxed));
    PEAK_BYTES.store(before, Ordering::Relaxed);
    let result = work();
    let taken = Taken {
        allocations: ALLOCATIONS.load(Ordering::Relaxed) - allocations,
        peak_bytes: PEAK_BYTES.load(Ordering::Relaxed).saturating_sub(before),
        kept_bytes: NOW_BYTES.load(Ordering::Relaxed).saturating_sub(before),
    };
    (result, taken)
}
