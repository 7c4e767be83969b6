//! Kills the bots' processes if this program is killed.
//!
//! The guard is a shell that reads the process groups of the bots from a pipe. The system closes
//! the pipe when this program ends, in whatever way; the guard then kills the groups that are left.

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

    /// Lets the process of a command, which will lead a process group, add itself: this program
    /// might be killed before it could add the process.
    #[cfg(unix)]
    pub fn watch(&self, command: &mut Command) {
        use std::os::fd::{AsRawFd, BorrowedFd};
        use std::os::unix::process::CommandExt;

        let child = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let input = child.stdin.as_ref().expect("the guard's input is piped").as_raw_fd();
        let add = move || {
            let mut line = [0; 16];
            let mut rest = &mut line[..];
            writeln!(rest, "+ {}", std::process::id())?;
            let free = rest.len();
            // SAFETY: the caller keeps the guard, and so its input, open until the process has
            // begun.
            let input = unsafe { BorrowedFd::borrow_raw(input) };
            // One write, so that the guard never reads half a line.
            rustix::io::write(input, &line[..line.len() - free])?;
            Ok(())
        };
        // SAFETY: between fork and exec, `add` only asks for a number and writes to a pipe; it
        // neither allocates nor takes a lock.
        unsafe { command.pre_exec(add) };
    }

    /// Removes a process group that has ended.
    pub fn remove(&self, group: u32) {
        let mut child = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let input = child.stdin.as_mut().expect("the guard's input is piped");
        // One write, so that the guard never reads half a line. A write fails only if the guard was
        // killed, and then nothing has to be removed.
        let _ = input.write_all(format!("- {group}\n").as_bytes());
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        let child = self.0.get_mut().unwrap_or_else(PoisonError::into_inner);
        drop(child.stdin.take());
        let _ = child.wait();
    }
}
