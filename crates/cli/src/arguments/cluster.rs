//! Connects to a Ray cluster. Ray is a Python library, so a Python process that runs the module
//! `getaway.cluster` makes the connection.

use std::env;
use std::io::BufReader;
use std::process::{Child, Command, Stdio};

use getaway_runs::Channel;

/// Environment variable with the path of a Python interpreter that has the package `getaway`.
const PYTHON: &str = "GETAWAY_PYTHON";

struct Driver(Child);

impl Drop for Driver {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts a process that connects to the cluster at `address`: `HOST:PORT`, `auto` or `local`.
pub(crate) fn start(address: &str) -> Result<Channel, String> {
    let python = env::var_os(PYTHON).unwrap_or_else(|| "python3".into());
    let mut command = Command::new(&python);
    command.args(["-m", "getaway.cluster", address]).stdin(Stdio::piped()).stdout(Stdio::piped());
    // In its own process group, the child does not receive Ctrl-C. This program kills it instead.
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let mut child = command.spawn().map_err(|error| {
        format!("cannot start {}: {error} (set {PYTHON} to a Python that has getaway)", python.to_string_lossy())
    })?;
    let (input, output) = (child.stdout.take().expect("piped"), child.stdin.take().expect("piped"));
    Ok(Channel { input: Box::new(BufReader::new(input)), output: Box::new(output), process: Box::new(Driver(child)) })
}
