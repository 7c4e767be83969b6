use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::{Direction, PlacementError, Position, State, Style, Threat, World};

/// A copy of a [`State`] that can be read without the world, for bug reports, caches and tests. Its
/// text form is one line: the tick, the player, and each threat with its memory, in map order.
///
/// ```
/// use getaway::game::{Layout, Rules, Snapshot, World};
///
/// let world = World::new(&Layout::parse("P..H")?, &Rules::BLITZ_2025)?;
/// let text = world.snapshot(&world.start()).to_string();
/// assert_eq!(text, "tick 1 player 0,0; hawk 3,0 up draws 1");
/// assert_eq!(world.restore(&text.parse()?)?, world.start());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Snapshot {
    /// The tick, as in [`State::tick`].
    pub tick: u16,
    /// The player's position.
    pub player: Position,
    /// The threats in map order.
    pub threats: Vec<Threat>,
}

/// The error for text that is not a [`Snapshot`].
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("invalid state at {found:?}: expected {expected}")]
#[non_exhaustive]
pub struct SnapshotError {
    /// The invalid word; empty if a word is missing.
    pub found: String,
    /// A description of the expected text.
    pub expected: &'static str,
}

impl World {
    /// Returns a copy of the state that can be read without this world.
    ///
    /// # Panics
    /// If this world has more threats than the state, or lacks the tile of the player or a threat.
    pub fn snapshot(&self, state: &State) -> Snapshot {
        Snapshot { tick: state.tick(), player: self.player(state), threats: self.threats(state).collect() }
    }

    /// Rebuilds a state. Fails if [`World::state_at`] fails, or if a style differs from the map's.
    pub fn restore(&self, snapshot: &Snapshot) -> Result<State, PlacementError> {
        for (index, (spawn, threat)) in self.layout().threats.iter().zip(&snapshot.threats).enumerate() {
            if spawn.style != threat.style {
                return Err(PlacementError::Style { index, expected: spawn.style, found: threat.style });
            }
        }
        self.state_at(snapshot.tick, snapshot.player, &snapshot.threats)
    }
}

impl fmt::Display for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Position { x, y } = self.player;
        write!(f, "tick {} player {x},{y}", self.tick)?;
        for threat in &self.threats {
            let Threat { style, position: Position { x, y }, direction, draws, .. } = threat;
            write!(f, "; {style} {x},{y} {direction} draws {draws}")?;
            let memories = [("remembered", threat.remembered), ("seen", threat.seen), ("post", threat.post)];
            for (name, memory) in memories {
                if let Some(Position { x, y }) = memory {
                    write!(f, " {name} {x},{y}")?;
                }
            }
            if threat.idle_rounds != 0 {
                write!(f, " idle {}", threat.idle_rounds)?;
            }
        }
        Ok(())
    }
}

impl FromStr for Snapshot {
    type Err = SnapshotError;

    fn from_str(text: &str) -> Result<Self, SnapshotError> {
        let mut parts = text.split(';');
        let mut words = Words(parts.next().unwrap_or_default().split_whitespace());
        words.expect("tick", "the word tick")?;
        let tick = words.parse("a tick")?;
        words.expect("player", "the word player")?;
        let player = words.position()?;
        words.expect("", "a semicolon")?;
        let threats = parts.map(|part| parse_threat(Words(part.split_whitespace()))).collect::<Result<_, _>>()?;
        Ok(Self { tick, player, threats })
    }
}

fn parse_threat(mut words: Words<'_>) -> Result<Threat, SnapshotError> {
    let style: Style = words.parse("a style")?;
    let position = words.position()?;
    let direction: Direction = words.parse("a direction")?;
    words.expect("draws", "the word draws")?;
    let draws = words.parse("a number of draws")?;
    let mut threat =
        Threat { style, position, direction, draws, remembered: None, seen: None, post: None, idle_rounds: 0 };
    while let Some(name) = words.0.next() {
        match name {
            "remembered" => threat.remembered = Some(words.position()?),
            "seen" => threat.seen = Some(words.position()?),
            "post" => threat.post = Some(words.position()?),
            "idle" => threat.idle_rounds = words.parse("a number of idle rounds")?,
            _ => return Err(error(name, "remembered, seen, post or idle")),
        }
    }
    Ok(threat)
}

struct Words<'a>(std::str::SplitWhitespace<'a>);

impl Words<'_> {
    /// Reads the next word; an empty word if none is left.
    fn read<T>(&mut self, expected: &'static str, parse: impl FnOnce(&str) -> Option<T>) -> Result<T, SnapshotError> {
        let found = self.0.next().unwrap_or_default();
        parse(found).ok_or_else(|| error(found, expected))
    }

    fn expect(&mut self, word: &str, expected: &'static str) -> Result<(), SnapshotError> {
        self.read(expected, |found| (found == word).then_some(()))
    }

    fn parse<T: FromStr>(&mut self, expected: &'static str) -> Result<T, SnapshotError> {
        self.read(expected, |found| found.parse().ok())
    }

    fn position(&mut self) -> Result<Position, SnapshotError> {
        self.read("a position, as in 3,4", |found| {
            let (x, y) = found.split_once(',')?;
            Some(Position::new(x.parse().ok()?, y.parse().ok()?))
        })
    }
}

fn error(found: &str, expected: &'static str) -> SnapshotError {
    SnapshotError { found: found.to_owned(), expected }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::game::{Layout, Move, Rules};

    const TEXT: &str =
        "tick 1001 player 1,0; owl 3,0 left draws 1 remembered 0,0; hawk 4,1 down draws 7 post 2,0 idle -3";

    fn world() -> World {
        World::new(&Layout::parse("P..O.\n....H").unwrap(), &Rules::BLITZ_2025).unwrap()
    }

    #[test]
    fn snapshots_round_trip_through_text_and_json() {
        let snapshot: Snapshot = TEXT.parse().unwrap();
        assert_eq!(snapshot.to_string(), TEXT);
        let json = serde_json::to_string(&snapshot).unwrap();
        assert_eq!(serde_json::from_str::<Snapshot>(&json).unwrap(), snapshot, "{json}");
        assert!(!json.contains("null"), "{json}");
        let world = world();
        assert_eq!(world.snapshot(&world.restore(&snapshot).unwrap()), snapshot);
    }

    #[test]
    fn every_state_of_a_game_round_trips_through_its_text() {
        let world = world();
        let mut state = world.start();
        while !state.is_over() {
            let text = world.snapshot(&state).to_string();
            assert_eq!(world.restore(&text.parse().unwrap()).unwrap(), state, "{text}");
            world.step_unchecked(&mut state, Move::Stay);
        }
    }

    #[test]
    fn invalid_text_is_quoted_where_it_goes_wrong() {
        let error = |text: &str| text.parse::<Snapshot>().unwrap_err().to_string();
        assert_eq!(error(""), "invalid state at \"\": expected the word tick");
        assert_eq!(error("tick x"), "invalid state at \"x\": expected a tick");
        assert_eq!(error("tick 1 player 3"), "invalid state at \"3\": expected a position, as in 3,4");
        assert_eq!(error("tick 1 player 3,4 5"), "invalid state at \"5\": expected a semicolon");
        assert_eq!(error(&TEXT.replace("owl", "cat")), "invalid state at \"cat\": expected a style");
        assert_eq!(
            error(&TEXT.replace("idle", "bored")),
            "invalid state at \"bored\": expected remembered, seen, post or idle"
        );
    }

    #[test]
    fn styles_of_another_map_are_rejected() {
        let snapshot: Snapshot = TEXT.replace("owl", "deer").parse().unwrap();
        assert_eq!(world().restore(&snapshot).unwrap_err().to_string(), "threat 0: expected the map's owl, found deer");
    }
}
