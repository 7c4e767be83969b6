//! The mistakes of a client: each kind is reported once, so that a misbehaving client cannot flood
//! the log.

use getaway::protocol::ClientFrame;

/// A kind of mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mistake {
    /// A command for a tick that has been played.
    LateCommand,
    /// A second command for a tick.
    SecondCommand,
    /// A command for a tick that has not been played.
    OtherTick,
    /// A command that cannot be read.
    InvalidCommand,
    /// A command before the game.
    EarlyCommand,
    /// A frame that is neither a registration nor a command.
    OtherFrame,
}

/// The kinds of mistakes that a client has made.
#[derive(Debug, Default)]
pub(super) struct Mistakes {
    reported: Vec<Mistake>,
}

impl Mistakes {
    /// Records a mistake; returns whether it is the first one of its kind.
    pub fn is_first(&mut self, mistake: Mistake) -> bool {
        let is_first = !self.reported.contains(&mistake);
        if is_first {
            self.reported.push(mistake);
        }
        is_first
    }
}

/// The kind of mistake of a frame sent before the game, and a description of the frame.
pub(super) fn early_frame(frame: &ClientFrame) -> (Mistake, String) {
    match frame {
        ClientFrame::Command(_) => (Mistake::EarlyCommand, "a COMMAND".to_owned()),
        ClientFrame::InvalidCommand(error) => (Mistake::EarlyCommand, format!("a COMMAND ({error})")),
        ClientFrame::Unknown(what) => (Mistake::OtherFrame, what.clone()),
        ClientFrame::Viewer => (Mistake::OtherFrame, "a frame of type \"VIEWER\"".to_owned()),
        ClientFrame::Register(_) => (Mistake::OtherFrame, "a second REGISTER".to_owned()),
    }
}
