//! `--ray ADDRESS`: plays the games of a series, or makes the plays of a discovery, on a Ray
//! cluster.
//!
//! Ray is a Python library, so a Python process talks to it: `getaway.cluster`, of the same
//! version.

use std::env;
use std::io::BufReader;
use std::ops::ControlFlow;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::AtomicBool;

use getaway_arena::{Games, Series};
use getaway_discover::{Channel, Cluster};

use super::CliError;

/// The environment variable with the Python interpreter that has the package; the package's own
/// command sets it.
const PYTHON: &str = "GETAWAY_PYTHON";

/// The process, killed when dropped.
struct Driver(Child);

impl Drop for Driver {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Plays as [`Series::play_wanted`] does, on the cluster at `address`; Ray defines `auto` and
/// `local`.
pub(super) fn play<B>(
    address: &str,
    series: &Series,
    games: &mut Games,
    stop: &AtomicBool,
    is_wanted: &dyn Fn(usize) -> bool,
    on_game: impl FnMut(usize, &Games) -> ControlFlow<B>,
) -> Result<ControlFlow<B>, CliError> {
    let (_driver, input, output) = start(address).map_err(CliError::Input)?;
    Ok(series.play_remotely(games, (BufReader::new(input), output), stop, is_wanted, on_game)?)
}

/// The cluster at `address`, for a discovery with these problems, a line of JSON.
pub(super) fn for_discovery(address: &str, spec: String) -> Cluster<'_> {
    let start = move || {
        let (driver, input, output) = start(address)?;
        Ok(Channel { input: Box::new(BufReader::new(input)), output: Box::new(output), process: Box::new(driver) })
    };
    Cluster { spec, start: Box::new(start) }
}

/// Starts the process that talks to the cluster.
fn start(address: &str) -> Result<(Driver, ChildStdout, ChildStdin), String> {
    let python = env::var_os(PYTHON).unwrap_or_else(|| "python3".into());
    let mut command = Command::new(&python);
    command.args(["-m", "getaway.cluster", address]).stdin(Stdio::piped()).stdout(Stdio::piped());
    // Ctrl-C reaches only this program, which then ends the other one.
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let child = command
        .spawn()
        .map_err(|error| format!("cannot start {}: {error}: expected Python in {PYTHON}", python.to_string_lossy()))?;
    let mut driver = Driver(child);
    let (input, output) = (driver.0.stdout.take().expect("piped"), driver.0.stdin.take().expect("piped"));
    Ok((driver, input, output))
}
