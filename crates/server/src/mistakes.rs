//! Mistakes of a client. Each kind is reported at most once before REGISTER, once while the bot
//! waits, and once in its game, so that a connection cannot flood the log.

use getaway::protocol::ClientFrame;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mistake {
    LateCommand,
    SecondCommand,
    OtherTick,
    InvalidCommand,
    EarlyCommand,
    OtherFrame,
}

#[derive(Debug, Default)]
pub(super) struct Mistakes {
    reported: Vec<Mistake>,
}

impl Mistakes {
    /// Records a mistake. Returns true if it is the first of its kind.
    pub fn is_first(&mut self, mistake: Mistake) -> bool {
        let is_first = !self.reported.contains(&mistake);
        if is_first {
            self.reported.push(mistake);
        }
        is_first
    }
}

pub(super) fn early_frame(frame: &ClientFrame) -> (Mistake, String) {
    match frame {
        ClientFrame::Command(_) => (Mistake::EarlyCommand, "a COMMAND".to_owned()),
        ClientFrame::InvalidCommand(error) => (Mistake::EarlyCommand, format!("a COMMAND ({error})")),
        ClientFrame::Unknown(what) => (Mistake::OtherFrame, what.clone()),
        ClientFrame::Viewer => (Mistake::OtherFrame, "a frame of type \"VIEWER\"".to_owned()),
        ClientFrame::Register(_) => (Mistake::OtherFrame, "a second REGISTER".to_owned()),
    }
}
