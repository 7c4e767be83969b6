//! How a game ended, in the same words for every command.

use getaway::game::Status;

/// The end of a game whose last state is that of `tick`.
pub(super) fn ending(status: Status, tick: u16) -> String {
    match status {
        Status::Caught => format!("caught in tick {tick}"),
        Status::Complete => "complete".to_owned(),
        Status::Running => format!("ends in tick {tick}, before the game does"),
    }
}
