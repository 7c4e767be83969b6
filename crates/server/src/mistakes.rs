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

/// Adds a mistake to those that have been reported. Returns true if it is the first of its kind.
pub(super) fn is_first(reported: &mut Vec<Mistake>, mistake: Mistake) -> bool {
    let is_first = !reported.contains(&mistake);
    reported.extend(is_first.then_some(mistake));
    is_first
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
