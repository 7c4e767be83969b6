//! The form of a game in the playground's addresses.

use std::sync::LazyLock;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::game_log::GameLog;
use getaway::game::{Layout, Rules, World};
use getaway::map::{MAX_SIDE, Map, MapLibrary};

const NAME_CHARS_MAX: usize = 80;

static BUNDLED: LazyLock<Vec<Map>> = LazyLock::new(|| {
    let entries = MapLibrary::with_bundled([""; 0]).list().unwrap_or_default();
    entries.iter().filter_map(|entry| entry.load().ok()).collect()
});

/// A compact form of a game, serialised as an object with these fields. Empty fields other than
/// `name` are omitted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SharedGame {
    pub name: String,
    /// The map; `None` if it is the bundled map with this name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub map: Option<Layout>,
    /// The rules that differ from the server's.
    #[serde(default, skip_serializing_if = "serde_json::Map::is_empty")]
    pub rules: serde_json::Map<String, Value>,
    #[serde(default, skip_serializing_if = "str::is_empty")]
    pub moves: String,
}

impl SharedGame {
    pub fn new(name: &str, map: &Layout, rules: &Rules) -> Self {
        let is_bundled = bundled(name) == Some(map);
        Self {
            name: name.to_owned(),
            map: (!is_bundled).then(|| map.clone()),
            rules: differing(rules),
            moves: String::new(),
        }
    }

    pub fn layout(&self) -> Option<&Layout> {
        self.map.as_ref().or_else(|| bundled(&self.name))
    }
}

fn bundled(name: &str) -> Option<&'static Layout> {
    BUNDLED.iter().find(|map| map.name == name).map(|map| &map.layout)
}

fn differing(rules: &Rules) -> serde_json::Map<String, Value> {
    let fields = |rules: &Rules| match serde_json::to_value(rules) {
        Ok(Value::Object(fields)) => fields,
        _ => serde_json::Map::new(),
    };
    let server = fields(&Rules::BLITZ_2025);
    fields(rules).into_iter().filter(|(name, value)| server.get(name) != Some(value)).collect()
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Shareable {
    #[serde(flatten)]
    game: SharedGame,
    /// For a recording, the number of moves before the first missing message or divergence.
    #[serde(skip_serializing_if = "Option::is_none")]
    move_count: Option<usize>,
}

impl Shareable {
    /// Describes a game that follows the rules from its first tick on. Returns `None` if the map is
    /// too large.
    pub(super) fn of_world(name: &str, world: &World) -> Option<Self> {
        let Layout { width, height, .. } = *world.layout();
        let name: String = name.chars().take(NAME_CHARS_MAX).collect();
        let fits = usize::try_from(width.max(height)).is_ok_and(|side| side <= MAX_SIDE as usize);
        fits.then(|| Self { game: SharedGame::new(&name, world.layout(), world.rules()), move_count: None })
    }

    /// Describes the part of a recorded game that follows the rules. Returns `None` if the
    /// recording does not begin with the start of the game, if a style is unknown, or if the map is
    /// too large.
    pub(super) fn of_log(log: &GameLog) -> Option<Self> {
        let is_known = log.styles.len() == log.world.threat_count();
        if !is_known || log.ticks.first()?.state.as_ref() != Some(&log.world.start()) {
            return None;
        }
        let followed = log.ticks.iter().take_while(|tick| tick.is_exact && tick.played.is_some()).count();
        Some(Self { move_count: Some(followed), ..Self::of_world(log.title(), &log.world)? })
    }
}
