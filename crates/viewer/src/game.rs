//! A game, represented by its map, its rules and its moves.

use serde::{Deserialize, Serialize};

use getaway::game::{Layout, Plan, Rules, World};
use getaway::map::{MAX_SIDE, Map};

use super::game_log::GameLog;

pub(super) const NAME_CHARS_MAX: usize = 80;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Game {
    pub name: String,
    pub map: Layout,
    #[serde(default)]
    pub rules: Rules,
    #[serde(default)]
    pub moves: Plan,
}

impl Game {
    pub fn on(map: Map, rules: Rules) -> Self {
        Self { name: map.name, map: map.layout, rules, moves: Plan::default() }
    }

    /// Returns the recorded game up to its first missing message or divergence from the rules, or
    /// `None` if the recording does not begin at the start of the game.
    pub fn of_log(log: &GameLog) -> Option<Self> {
        let first = log.ticks.first()?;
        if first.state.as_ref() != Some(&log.world.start()) {
            return None;
        }
        let followed = log.ticks.iter().take_while(|tick| tick.is_exact);
        let moves: Vec<_> = followed.map_while(|tick| tick.played).collect();
        let mut state = log.world.start();
        let count = log.world.play(&mut state, &moves);
        Some(Self {
            name: log.title().chars().take(NAME_CHARS_MAX).collect(),
            map: log.world.layout().clone(),
            rules: *log.world.rules(),
            moves: Plan::from(&moves[..count]),
        })
    }

    /// Creates the world. Fails if the name is too long, or if the map or the rules are invalid.
    pub fn world(&self) -> Result<World, String> {
        if self.name.chars().count() > NAME_CHARS_MAX {
            return Err(format!("the name of the map is too long: expected at most {NAME_CHARS_MAX} characters"));
        }
        let (width, height) = (self.map.width, self.map.height);
        let side = 1..=MAX_SIDE as i32;
        if !side.contains(&width) || !side.contains(&height) {
            return Err(format!("the map is {width}x{height} tiles: expected 1 to {MAX_SIDE} per side"));
        }
        World::new(&self.map, &self.rules).map_err(|error| error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RecordingSource;
    use getaway::protocol::MessageWriter;

    #[test]
    fn recording_with_a_long_name_can_be_continued() {
        let layout = Layout::parse("P..\n.#.\n..G").expect("a drawing");
        let world = World::new(&layout, &Rules::BLITZ_2025).expect("a map");
        let message = MessageWriter::new(&world, "me").write(&world.start());
        let line = format!("{{\"game_message\":{message},\"actions\":[]}}\n");
        let source = RecordingSource::Memory("n".repeat(200).into(), line.into_bytes().into());
        let log = GameLog::read(&source, None, &[]).expect("a recording");
        let game = Game::of_log(&log).expect("a game from its start");
        assert_eq!(game.name, "n".repeat(NAME_CHARS_MAX));
        game.world().expect("a game that the engine accepts");
    }
}
