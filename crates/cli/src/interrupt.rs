//! Ctrl-C (on Unix, also SIGTERM or SIGHUP) asks a command to stop. The second such signal ends the
//! program.

use std::fmt::Display;
use std::process;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::{CliError, Result, invalid};

const INTERRUPTED: i32 = 130;

/// Returns a flag that the first signal sets.
pub fn stop_on_interrupt() -> Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&stop);
    ctrlc::set_handler(move || {
        if flag.swap(true, Ordering::Relaxed) {
            process::exit(INTERRUPTED);
        }
    })
    .map_err(|error| invalid!("cannot install the Ctrl-C handler: {error}"))?;
    Ok(stop)
}

/// Fails with this text if the flag is set.
pub(crate) fn check_interrupt(stop: &AtomicBool, text: impl Display) -> Result {
    if stop.load(Ordering::Relaxed) { Err(CliError::Interrupted(text.to_string())) } else { Ok(()) }
}
