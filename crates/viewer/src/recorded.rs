//! The parts of a recording that need no replay: positions, title, team.

use std::path::Path;

use getaway::game::{Direction, Position};
use getaway::protocol::GameMessage;
use getaway::recording::VerifyReport;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Positions {
    pub player: Position,
    /// The threats and their directions, in the order of the replay.
    pub threats: Vec<(Position, Direction)>,
}

pub(super) fn note_on(report: &VerifyReport) -> Option<String> {
    let divergence = report.divergence.as_ref()?;
    let getaway::recording::Divergence { tick, path, expected, found, .. } = divergence;
    Some(format!(
        "diverges from the rules in tick {tick} ({path}: expected {expected}, found {found}); from there on shown as recorded"
    ))
}

/// The title of a file: `a` for `games/a.jsonl.gz`.
pub(super) fn file_title(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let name = name.strip_suffix(".gz").unwrap_or(&name);
    name.strip_suffix(".jsonl").unwrap_or(name).to_owned()
}

pub(super) fn team_of(message: &GameMessage) -> String {
    let team = message.your_character.team_id.as_ref().and_then(|team| team.as_str());
    team.map_or_else(|| "saved game".to_owned(), |team| format!("saved game of {team}"))
}
