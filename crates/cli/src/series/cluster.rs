//! Ray is a Python library, so a Python process with `getaway.cluster` of the same version connects
//! to the cluster.

use std::env;
use std::io::BufReader;
use std::process::{Child, Command, Stdio};

use getaway_arena::Channel;

/// The path of a Python with the package `getaway`, whose own command sets this variable.
const PYTHON: &str = "GETAWAY_PYTHON";

struct Driver(Child);

impl Drop for Driver {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts the process that connects to the cluster at `address`. Ray defines `auto` and `local`.
pub(crate) fn start(address: &str) -> Result<Channel, String> {
    let python = env::var_os(PYTHON).unwrap_or_else(|| "python3".into());
    let mut command = Command::new(&python);
    command.args(["-m", "getaway.cluster", address]).stdin(Stdio::piped()).stdout(Stdio::piped());
    // Ctrl-C must reach only this program, which then ends the process.
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let mut child = command
        .spawn()
        .map_err(|error| format!("cannot start {}: {error}: expected Python in {PYTHON}", python.to_string_lossy()))?;
    let (input, output) = (child.stdout.take().expect("piped"), child.stdin.take().expect("piped"));
    Ok(Channel { input: Box::new(BufReader::new(input)), output: Box::new(output), process: Box::new(Driver(child)) })
}
