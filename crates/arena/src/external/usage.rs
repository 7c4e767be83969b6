//! Processor time and memory of a bot's processes, from `/proc`; zero on systems other than Linux.

use std::fs;
use std::time::{Duration, Instant};

use crate::record::Cost;

/// Minimum age of a sample before [`UsageMeter::poll`] takes a new one.
const SAMPLE_INTERVAL: Duration = Duration::from_millis(50);
/// Maximum number of processes per sample, and of threads per process whose children are counted.
const PROCESSES_MAX: usize = 256;
/// The unit of processor time in `/proc`, for the usual `USER_HZ` of 100.
const TICK_MS: u64 = 10;

#[derive(Debug)]
pub(super) struct UsageMeter {
    /// The id of the process that supervises the bot. All processes of the bot descend from it.
    supervisor: u32,
    before_ms: u64,
    cost: Cost,
    sampled: Instant,
}

impl UsageMeter {
    pub fn new(supervisor: u32) -> Self {
        let before_ms = sample(supervisor).cpu_ms;
        Self { supervisor, before_ms, cost: Cost::default(), sampled: Instant::now() }
    }

    /// Measures the cost from now on.
    pub fn restart(&mut self) {
        *self = Self::new(self.supervisor);
    }

    /// Returns the cost so far, measured at most [`SAMPLE_INTERVAL`] ago.
    pub fn poll(&mut self) -> Cost {
        if self.sampled.elapsed() >= SAMPLE_INTERVAL { self.measure() } else { self.cost }
    }

    /// Measures the cost so far. Keeps the maximum: a sample may miss processes that have exited.
    pub fn measure(&mut self) -> Cost {
        let Cost { cpu_ms, memory_kib } = sample(self.supervisor);
        let cpu_ms = cpu_ms.saturating_sub(self.before_ms);
        self.cost = Cost { cpu_ms: self.cost.cpu_ms.max(cpu_ms), memory_kib: self.cost.memory_kib.max(memory_kib) };
        self.sampled = Instant::now();
        self.cost
    }
}

/// Total processor time of the supervisor and its descendants; current memory of the descendants.
fn sample(supervisor: u32) -> Cost {
    let mut cost = Cost::default();
    let mut processes = vec![supervisor];
    let mut next = 0;
    while let Some(&process) = processes.get(next) {
        next += 1;
        if let Ok(stat) = fs::read_to_string(format!("/proc/{process}/stat")) {
            // Fields 14 to 17: processor time of the process and its reaped children.
            let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields).split_whitespace();
            let ticks: u64 = fields.skip(11).take(4).filter_map(|field| field.parse::<u64>().ok()).sum();
            cost.cpu_ms += ticks * TICK_MS;
        }
        if process != supervisor {
            cost.memory_kib += memory_kib(process);
        }
        processes.extend(children(process));
        processes.truncate(PROCESSES_MAX);
    }
    cost
}

/// The children of all threads of a process, for at most [`PROCESSES_MAX`] threads.
fn children(process: u32) -> Vec<u32> {
    let threads = fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten().take(PROCESSES_MAX);
    let lists: Vec<String> =
        threads.filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok()).collect();
    lists.iter().flat_map(|list| list.split_whitespace()).filter_map(|child| child.parse().ok()).collect()
}

fn memory_kib(process: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let value = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    value.and_then(|value| value.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use std::process::{self, Command};
    use std::sync::mpsc;
    use std::thread;

    use super::children;

    #[test]
    fn processes_that_any_thread_has_started_are_counted() {
        let (started, ids) = mpsc::channel();
        let (end, ended) = mpsc::channel::<()>();
        let starter = thread::spawn(move || {
            let mut child = Command::new("sleep").arg("60").spawn().unwrap();
            started.send(child.id()).unwrap();
            let _ = ended.recv();
            child.kill().unwrap();
            child.wait().unwrap();
        });
        let child = ids.recv().unwrap();
        let found = children(process::id());
        drop(end);
        starter.join().unwrap();
        assert!(found.contains(&child), "{child}: {found:?}");
    }
}
