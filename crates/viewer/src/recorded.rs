//! The positions in a frame, and texts about a recording: its name, its team and its divergence.

use std::path::Path;

use getaway::game::{Direction, Position};
use getaway::protocol::GameMessage;
use getaway::recording::VerifyReport;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Positions {
    pub player: Position,
    pub threats: Vec<(Position, Direction)>,
}

pub(super) fn note_on(report: &VerifyReport) -> Option<String> {
    let divergence = report.divergence.as_ref()?;
    let getaway::recording::Divergence { tick, path, expected, found, .. } = divergence;
    Some(format!(
        "diverges from the rules at tick {tick} ({path}: expected {expected}, found {found}); the rest is shown as recorded"
    ))
}

/// The name of a file without `.jsonl` and `.gz`: `a` for `games/a.jsonl.gz`.
pub(super) fn file_stem(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let name = name.strip_suffix(".gz").unwrap_or(&name);
    name.strip_suffix(".jsonl").unwrap_or(name).to_owned()
}

pub(super) fn team_of(message: &GameMessage) -> Option<String> {
    Some(message.your_character.team_id.as_ref()?.as_str()?.to_owned())
}
