//! The line to one bot: what it is sent, and what of its answers counts.

use axum::extract::ws::{CloseCode, Message, Utf8Bytes, WebSocket, close_code};
use tokio::time::{Instant, timeout, timeout_at};

use super::limits::{MAX_FRAMES_PER_TICK, WRITE_TIME};
use super::socket::{Incoming, incoming};
use getaway::game::{Action, FIRST_TICK};
use getaway::protocol::ClientFrame;

/// Why a bot is out. There is no coming back.
#[derive(Clone, Debug)]
pub(super) struct Leave {
    /// For the log.
    pub reason: String,
    /// What it is told, if it is still there to be told.
    pub code: CloseCode,
}

impl Leave {
    pub fn new(code: CloseCode, reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), code }
    }
}

/// What a bot did in a tick.
pub(super) enum Answer {
    /// A command.
    Actions(Vec<Action>),
    /// Nothing that counts, until the time was up.
    None,
    /// It went away, or did what gets it thrown out.
    Leave(Leave),
}

/// What a bot's frames came to.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tally {
    /// Commands that counted.
    pub commands: u32,
    /// Commands for a tick that had been played without one.
    pub late_commands: u32,
}

/// A registered bot.
pub(super) struct BotLine<'a> {
    socket: &'a mut WebSocket,
    /// The last tick that was answered.
    answered_tick: Option<u32>,
    pub tally: Tally,
}

impl<'a> BotLine<'a> {
    pub fn new(socket: &'a mut WebSocket) -> Self {
        Self { socket, answered_tick: None, tally: Tally::default() }
    }

    /// Sends a state. A bot that does not read is waited for, but not for long.
    pub async fn send(&mut self, frame: Utf8Bytes) -> Result<(), Leave> {
        match timeout(WRITE_TIME, self.socket.send(Message::Text(frame))).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => Err(Leave::new(close_code::ABNORMAL, error.to_string())),
            Err(_) => Err(Leave::new(close_code::POLICY, "does not read what it is sent")),
        }
    }

    /// Waits for the command of a tick. What else comes is noted and ignored.
    pub async fn answer(&mut self, tick: u32, deadline: Instant, note: &mut impl FnMut(String)) -> Answer {
        for _ in 0..MAX_FRAMES_PER_TICK {
            let Ok(received) = timeout_at(deadline, self.socket.recv()).await else { return Answer::None };
            match incoming(received) {
                Incoming::Frame(ClientFrame::Command(command)) if command.tick == tick => {
                    self.answered_tick = Some(tick);
                    self.tally.commands += 1;
                    return Answer::Actions(command.actions);
                }
                Incoming::Frame(ClientFrame::Command(command)) => note(self.ignored(command.tick, tick)),
                Incoming::Frame(ClientFrame::InvalidCommand(error)) => note(format!("ignored a command: {error}")),
                Incoming::Frame(ClientFrame::Register(_)) => {
                    return Answer::Leave(Leave::new(close_code::POLICY, "registered twice"));
                }
                Incoming::Frame(ClientFrame::Viewer | ClientFrame::Unknown) => {
                    note("ignored a frame: expected the type COMMAND".to_owned());
                }
                Incoming::Control => {}
                Incoming::Gone(leave) => return Answer::Leave(leave),
            }
        }
        Answer::Leave(Leave::new(close_code::POLICY, format!("more than {MAX_FRAMES_PER_TICK} frames in a tick")))
    }

    /// What is to be said about a command for another tick.
    fn ignored(&mut self, found: u32, expected: u32) -> String {
        if self.answered_tick == Some(found) {
            return format!("ignored a second command for tick {found}");
        }
        if (u32::from(FIRST_TICK)..expected).contains(&found) {
            self.tally.late_commands += 1;
            return format!("ignored a late command for tick {found}");
        }
        format!("ignored a command for tick {found}: expected {expected}")
    }
}
