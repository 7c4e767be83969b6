//! External bots: programs in any language that play in place of a planner.
//!
//! `exec:COMMAND` starts a program that connects to a websocket, as in the competition: it finds
//! the address in the environment variable `SERVER_URL`, and in place of `{url}` in the command.
//! `pipe:COMMAND` starts a program that reads the server's messages as lines of JSON from standard
//! input, and writes its commands as lines to standard output.
//!
//! Guarantees: a bot has the time limits of the server; a bot that crashes, falls silent or sends
//! garbage loses the game, and the record says why; no process outlives the games, not even if the
//! program is killed.

mod bridge;
mod channel;
mod game;
mod guard;
mod pipe;
mod process;
mod socket;
mod summary;

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

pub use bridge::{BridgeError, BridgeReport, bridge};
pub use summary::{ExternalSummary, external_summaries};

pub(crate) use game::ExternalHost;
pub use game::{ExternalGame, ExternalTick, PlayedGame, play_external};

/// Time for a program to start and connect, and for the first command of a piped program: the time
/// that the server waits for a registration, plus as much for the start of the program.
pub const STARTUP_TIME: Duration = Duration::from_secs(10);
/// A bot that sends no command for this many ticks in a row has lost: 2 s at the server's pace.
pub const SILENT_TICKS_MAX: u32 = 20;
/// Maximum number of frames per tick, as on the server.
const FRAMES_PER_TICK_MAX: usize = 100;
/// Time for a program to end by itself after its game, before it is killed.
const EXIT_TIME: Duration = Duration::from_millis(500);
/// Time for a program that has closed its connection to end, and thereby to say why: an interpreter
/// on a busy machine needs a while.
const CRASH_TIME: Duration = Duration::from_secs(3);
/// Interval at which to check whether a program has ended or connected, or must be stopped.
const POLL_INTERVAL: Duration = Duration::from_millis(2);
/// Maximum size of a game's log: the rest of what the bot writes is dropped.
const LOG_BYTES_MAX: usize = 1 << 20;
/// Maximum length of the log's end that a record keeps.
const LOG_TAIL_CHARS: usize = 300;

/// How the arena treats external bots.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExternalOptions {
    /// The time limit per tick; after it, the tick is played without a command.
    pub tick_time: Duration,
    /// Whether every game has a process of its own. A program that connects to a websocket always
    /// has one; otherwise a piped program plays all games of a thread, and is restarted only after
    /// it has lost by a failure.
    pub restart: bool,
    /// The folder for the bots' standard error: one file per game. Without it, only the end of the
    /// output of a failed game is kept, in its record.
    pub logs: Option<PathBuf>,
}

impl Default for ExternalOptions {
    fn default() -> Self {
        Self { tick_time: Duration::from_millis(100), restart: false, logs: None }
    }
}

/// How an external bot is connected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// Over a websocket, as with the real server.
    Exec,
    /// Lines of JSON over standard input and output.
    Pipe,
}

/// An external bot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExternalBot {
    /// How it is connected.
    pub transport: Transport,
    /// The command that starts it, for the shell.
    pub command: String,
}

impl ExternalBot {
    /// The external bot that a text names; `None` if it names a planner.
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

/// How an external bot behaved in a game.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExternalRecord {
    /// The time limit per tick in milliseconds.
    pub tick_ms: u64,
    /// Ticks played with a command.
    pub commands: u32,
    /// Ticks played without a command.
    pub missed_ticks: u32,
    /// Commands that arrived after their tick had been played without one.
    pub late_commands: u32,
    /// Messages that are not commands.
    pub invalid_commands: u32,
    /// Why the bot lost, if it failed; the rest of the game was played without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<Failure>,
}

/// Why an external bot lost a game.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// What it did.
    pub kind: FailureKind,
    /// The first tick that it did not play.
    pub tick: u16,
    /// What was found, and the end of the bot's standard error.
    pub detail: String,
}

/// What a bot did wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FailureKind {
    /// It could not be started, or ended during the game.
    Crash,
    /// It did not connect, or sent nothing for [`SILENT_TICKS_MAX`] ticks.
    Silence,
    /// It sent no command: only invalid JSON, or messages of other kinds.
    Garbage,
}

impl FailureKind {
    /// Every kind.
    pub const ALL: [Self; 3] = [Self::Crash, Self::Silence, Self::Garbage];

    /// What a bot did, in words: "crashed".
    pub const fn verb(self) -> &'static str {
        match self {
            Self::Crash => "crashed",
            Self::Silence => "fell silent",
            Self::Garbage => "sent garbage",
        }
    }
}

impl fmt::Display for FailureKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.verb())
    }
}
