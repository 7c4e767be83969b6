use clap::Args;

use getaway_runs::Workers;

use super::integer;
use crate::series::cluster;
use crate::{CliError, Result};

pub const MAX_THREADS: u64 = 1024;

/// Where the jobs of a long run are done.
#[derive(Args)]
pub(crate) struct WorkerArgs {
    /// Number of threads; does not change the results, unless there is
    /// a time limit [default: number of physical cores]
    #[arg(long, value_name = "N", value_parser = integer::<usize>(1..=MAX_THREADS))]
    threads: Option<usize>,
    /// Work on the Ray cluster at this address: HOST:PORT, auto for
    /// the one on this machine, or local for a new one; needs the
    /// Python package with its extra `cluster`
    #[arg(long, value_name = "ADDRESS", conflicts_with = "threads")]
    pub ray: Option<String>,
}

impl WorkerArgs {
    pub fn threads(&self) -> usize {
        self.threads.unwrap_or_else(num_cpus::get_physical)
    }

    /// Starts the cluster's process, if there is one.
    pub fn workers(&self) -> Result<Workers> {
        match &self.ray {
            Some(address) => Ok(Workers::Process(cluster::start(address).map_err(CliError::Input)?)),
            None => Ok(Workers::Threads(self.threads())),
        }
    }
}
