//! Kills the bots' processes if this program is killed.
//!
//! The guard is a shell that reads the process groups of the bots from a pipe. The system closes the
//! pipe when this program ends, in whatever way; the guard then kills the groups that are left.

use std::io::{self, Write};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};

/// Reads `+ GROUP` and `- GROUP`, and kills the remaining groups at the end of its input.
const SCRIPT: &str = r#"
groups=' '
while read -r change group; do
  case $change in
    +) groups="$groups$group " ;;
    -) groups="${groups%% "$group" *} ${groups#* "$group" }" ;;
  esac
done
for group in $groups; do kill -9 "-$group"; done
"#;

/// The guard of some bots.
#[derive(Debug)]
pub(super) struct Guard(Mutex<Child>);

impl Guard {
    /// Starts the guard, in a process group of its own: Ctrl-C does not reach it.
    pub fn start() -> io::Result<Self> {
        let mut command = Command::new("sh");
        command.args(["-c", SCRIPT]).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        Ok(Self(Mutex::new(command.spawn()?)))
    }

    /// Adds a process group.
    pub fn add(&self, group: u32) -> io::Result<()> {
        self.write('+', group)
    }

    /// Removes a process group that has ended.
    pub fn remove(&self, group: u32) {
        // If the guard was killed, there is nothing to remove the group from.
        let _ = self.write('-', group);
    }

    fn write(&self, change: char, group: u32) -> io::Result<()> {
        let mut child = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let input = child.stdin.as_mut().expect("the guard's input is piped");
        // One write, so that the guard never reads half a line.
        input.write_all(format!("{change} {group}\n").as_bytes())
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        let child = self.0.get_mut().unwrap_or_else(PoisonError::into_inner);
        drop(child.stdin.take());
        let _ = child.wait();
    }
}
