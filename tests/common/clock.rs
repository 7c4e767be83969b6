//! Clocks for limits on time.

use std::sync::LazyLock;
use std::time::{Duration, Instant};

pub fn wall_time() -> Duration {
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    START.elapsed()
}

/// Processor time of this thread, which other processes hardly affect. Reading it takes longer.
#[cfg(unix)]
pub fn thread_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

#[cfg(not(unix))]
pub fn thread_time() -> Duration {
    wall_time()
}
