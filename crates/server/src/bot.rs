//! The connection to a bot: sends states and accepts commands.

use std::time::Instant;

use tungstenite::protocol::frame::coding::CloseCode;
use tungstenite::{Message, Utf8Bytes};

use super::limits::MAX_FRAMES_PER_TICK;
use super::mistakes::{Mistake, early_frame, is_first};
use super::socket::{Disconnect, Incoming, Received, Socket, parse_incoming};
use getaway::game::{Action, FIRST_TICK};
use getaway::protocol::{ClientFrame, Command, Mistakes};
use getaway::recording::{CommandNote, UnreadableNote, WireNotes, milliseconds, shortened};

pub(super) enum Answer {
    Actions(Vec<Action>),
    /// No valid command for the tick arrived in time.
    None,
    /// The bot has disconnected, or must be disconnected, for example after a flood of frames.
    Disconnected(Disconnect),
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct CommandCounts {
    pub commands: u32,
    /// Commands for earlier ticks, except second commands for the last tick that the bot answered
    /// in time.
    pub late_commands: u32,
    pub invalid_commands: u32,
    /// Valid commands that contain invalid actions.
    pub invalid_actions: u32,
}

pub(super) struct BotConnection<'a> {
    socket: &'a mut Socket,
    answered_tick: Option<u32>,
    pub counts: CommandCounts,
    mistakes: Vec<Mistake>,
    invalid_actions: Mistakes,
}

impl<'a> BotConnection<'a> {
    pub fn new(socket: &'a mut Socket) -> Self {
        let (counts, invalid_actions) = (CommandCounts::default(), Mistakes::default());
        Self { socket, answered_tick: None, counts, mistakes: Vec::new(), invalid_actions }
    }

    pub fn send(&mut self, frame: Utf8Bytes) -> Result<(), Disconnect> {
        self.socket.send(Message::Text(frame))
    }

    /// Waits until `deadline` for the command for a tick. Returns [`Answer::Disconnected`] if the
    /// connection ends, or after a second REGISTER, a frame that is too long or is not valid JSON,
    /// or [`MAX_FRAMES_PER_TICK`] frames without a valid command for the tick. Ignores other
    /// frames, and reports the first mistake of each kind.
    pub fn answer(
        &mut self,
        tick: u32,
        sent: Instant,
        deadline: Instant,
        wire: &mut WireNotes,
        note: &impl Fn(String),
    ) -> Answer {
        for _ in 0..MAX_FRAMES_PER_TICK {
            let Some(received) = self.socket.receive(deadline) else { return Answer::None };
            let ms = milliseconds(sent.elapsed());
            let text = frame_text(&received);
            match parse_incoming(received) {
                Incoming::Frame(ClientFrame::Command(command)) if command.tick == tick => {
                    self.answered_tick = Some(tick);
                    self.counts.commands += 1;
                    let has_invalid = command.actions.iter().any(|action| action.invalid().is_some());
                    self.counts.invalid_actions += u32::from(has_invalid);
                    for what in self.invalid_actions.add_actions(tick, &command.actions) {
                        note(format!("ignored {what} (reported once per game)"));
                    }
                    wire.command = Some(CommandNote { ms, tick: None, actions: command.actions.clone() });
                    return Answer::Actions(command.actions);
                }
                Incoming::Frame(ClientFrame::Register(_)) => {
                    return Answer::Disconnected(Disconnect::new(CloseCode::Policy, "already registered"));
                }
                Incoming::Frame(frame) => {
                    let (mistake, what) = self.ignored(&frame, tick);
                    record_ignored(wire, mistake, frame, ms, text);
                    if is_first(&mut self.mistakes, mistake) {
                        note(format!("ignored {what} (reported once per game)"));
                    }
                }
                Incoming::Control => {}
                Incoming::Disconnected(disconnect) => return Answer::Disconnected(disconnect),
            }
        }
        Answer::Disconnected(Disconnect::new(
            CloseCode::Policy,
            format!("{MAX_FRAMES_PER_TICK} frames in one tick without a command for it"),
        ))
    }

    fn ignored(&mut self, frame: &ClientFrame, expected: u32) -> (Mistake, String) {
        match frame {
            ClientFrame::Command(Command { tick, .. }) => self.ignored_command(*tick, expected),
            ClientFrame::InvalidCommand(error) => {
                self.counts.invalid_commands += 1;
                (Mistake::InvalidCommand, format!("a command that cannot be read: {error}"))
            }
            other => {
                let (mistake, what) = early_frame(other);
                (mistake, format!(r#"{what}: expected {{"type":"COMMAND","tick":{expected},"actions":[...]}}"#))
            }
        }
    }

    fn ignored_command(&mut self, found: u32, expected: u32) -> (Mistake, String) {
        if self.answered_tick == Some(found) {
            return (Mistake::SecondCommand, format!("a second command for tick {found}: expected one per tick"));
        }
        if (u32::from(FIRST_TICK)..expected).contains(&found) {
            self.counts.late_commands += 1;
            return (Mistake::LateCommand, format!("a late command for tick {found}: expected tick {expected}"));
        }
        (Mistake::OtherTick, format!("a command for tick {found}: expected tick {expected}"))
    }
}

fn frame_text(received: &Received) -> String {
    match received {
        Ok(Message::Text(text)) => shortened(text.as_str()),
        Ok(Message::Binary(bytes)) => shortened(&String::from_utf8_lossy(bytes)),
        _ => String::new(),
    }
}

/// Records late commands and unreadable frames.
fn record_ignored(wire: &mut WireNotes, mistake: Mistake, frame: ClientFrame, ms: f64, text: String) {
    match frame {
        ClientFrame::Command(Command { tick, actions }) if mistake == Mistake::LateCommand => {
            wire.late.push(CommandNote { ms, tick: Some(tick), actions });
        }
        ClientFrame::InvalidCommand(error) => {
            wire.unreadable.push(UnreadableNote { ms, text, error: error.to_string() });
        }
        ClientFrame::Unknown(what) => {
            wire.unreadable.push(UnreadableNote { ms, text, error: format!("{what}: expected a COMMAND") });
        }
        _ => {}
    }
}
