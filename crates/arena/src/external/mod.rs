//! External bots: programs in any language that play in place of a planner.
//!
//! `exec:COMMAND` starts a program that connects to a websocket, as in the competition. The
//! websocket's address is in the environment variable `SERVER_URL`, and replaces `{url}` in the
//! command.
//! `pipe:COMMAND` starts a program that reads messages from standard input and writes commands to
//! standard output, as lines of JSON.
//!
//! Guarantees: after the first tick, a bot has `tick_time` per tick, by default the server's
//! 100 ms. A bot that fails (see [`FailureKind`](super::FailureKind)) loses the game, and the
//! game's record names the reason. On Linux, no process started by a bot outlives the bot's games,
//! even if this program is killed. On other Unix systems, processes that leave the bot's process
//! group may survive. On Windows, any process of a bot may survive, because only the shell is
//! killed.

mod bridge;
mod connection;
mod game;
mod process;
mod socket;
mod usage;

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

pub use bridge::{BridgeError, BridgeReport, bridge};

pub(crate) use game::ExternalGame;
pub use game::ExternalHost;
pub use process::{Program, ProgramEnd};

/// The default of [`ExternalOptions::startup_time`]: twice the server's registration timeout, because a
/// program also needs time to start.
pub const STARTUP_TIME: Duration = Duration::from_secs(10);
/// Time to wait for a program that has not started within its limit, so that the error can name the
/// time that the program needs.
const LATE_START_TIME: Duration = Duration::from_secs(3);
/// A bot that sends no command for this many consecutive ticks loses: 2 s at the server's pace.
pub const SILENT_TICKS_MAX: u32 = 20;
/// Maximum number of messages from a bot per tick, as on the server.
const FRAMES_PER_TICK_MAX: usize = 100;
/// Time for a program to exit after its game, before the arena kills it.
const EXIT_TIME: Duration = Duration::from_millis(500);
/// Time for a program to exit after it has closed its connection: an interpreter on a busy
/// machine can take this long to print an error and exit.
const CRASH_TIME: Duration = Duration::from_secs(3);
const POLL_INTERVAL: Duration = Duration::from_millis(2);
/// Maximum size of a game's log; further output is dropped.
const LOG_BYTES_MAX: usize = 1 << 20;
const LOG_TAIL_CHARS: usize = 300;

#[derive(Debug)]
struct Stopped;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExternalOptions {
    /// The time limit per tick. If the command is late, the tick is played without it.
    pub tick_time: Duration,
    /// The time limit for a program to start and connect, and again to register. A new piped program
    /// instead has this time, plus `tick_time`, to start and send its first command.
    pub startup_time: Duration,
    /// True to start a new process for every game. Otherwise a piped program plays one game after
    /// another until it fails, exits, or does not answer the last state of a game in time. A
    /// websocket program always plays a single game.
    pub restart: bool,
    /// The folder for the bots' logs, one file per game whose log is not empty. If `None`, logs are
    /// discarded, except that the record of a failed game keeps one line of its log.
    #[serde(skip)]
    pub logs: Option<PathBuf>,
    /// Maximum total memory of a bot's processes in MiB, checked only on Linux. Exceeding this
    /// limit is a failure.
    pub memory_mb_max: Option<u64>,
    /// Maximum processor time of a bot's processes per game, checked only on Linux. Exceeding this
    /// limit is a failure.
    pub cpu_ms_max: Option<u64>,
}

impl Default for ExternalOptions {
    fn default() -> Self {
        Self {
            tick_time: Duration::from_millis(100),
            startup_time: STARTUP_TIME,
            restart: false,
            logs: None,
            memory_mb_max: None,
            cpu_ms_max: None,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// The bot connects to a websocket, as in the competition.
    Exec,
    /// The bot exchanges lines of JSON over its standard input and output.
    Pipe,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExternalBot {
    pub transport: Transport,
    pub command: String,
}

impl ExternalBot {
    /// Parses `exec:COMMAND` or `pipe:COMMAND`; returns `None` for any other text.
    ///
    /// ```
    /// use getaway_arena::{ExternalBot, Transport};
    ///
    /// let bot = ExternalBot::parse("pipe:python bot.py").expect("an external bot");
    /// assert_eq!((bot.transport, bot.command.as_str()), (Transport::Pipe, "python bot.py"));
    /// assert_eq!(ExternalBot::parse("lookahead:12"), None);
    /// ```
    pub fn parse(text: &str) -> Option<Self> {
        let (transport, command) = match text.trim().split_once(':')? {
            ("exec", command) => (Transport::Exec, command),
            ("pipe", command) => (Transport::Pipe, command),
            _ => return None,
        };
        Some(Self { transport, command: command.trim().to_owned() })
    }
}
