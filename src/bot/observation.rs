//! What a message says, checked once: everything behind it may take positions for tiles and ticks for ticks.

use crate::game::{
    Direction, FIRST_TICK, LAST_TICK, Layout, MAX_OPEN_TILES, MAX_THREATS, Position, Spawn, Style, Tile,
};
use crate::protocol::{GameMessage, MessageThreat};

use super::BotError;

/// Where a threat was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Seen {
    pub position: Position,
    /// Where it looks; `None` for a word that we do not know.
    pub direction: Option<Direction>,
}

/// Who is where at the start of a tick. The player stands on an open tile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Observation {
    pub tick: u32,
    pub player: Position,
    /// In the order of the message.
    pub threats: Vec<Seen>,
}

impl Observation {
    /// Reads a message.
    ///
    /// # Errors
    /// When the sizes disagree or the player stands on no open tile: then there is nothing to decide.
    pub fn of(message: &GameMessage) -> Result<Self, BotError> {
        message.validate()?;
        let player = message.your_character.position;
        if message.map.tiles.get(player) != Some(Tile::Open) {
            return Err(BotError::PlayerOffStreet(player));
        }
        let see = |threat: &MessageThreat| Seen { position: threat.position, direction: threat.direction.known() };
        Ok(Self { tick: message.tick, player, threats: message.threats.iter().map(see).collect() })
    }

    /// The tick as the rules count it; a clock that no game has stands still at its end.
    pub fn clock_tick(&self) -> u16 {
        self.tick.clamp(FIRST_TICK.into(), LAST_TICK.into()) as u16
    }
}

/// Whether the rules can be applied to what a message says: a tick that is played, threats on the streets, and no more than a world holds.
/// What fails here is played without predictions.
pub(super) fn is_playable(message: &GameMessage, observation: &Observation) -> bool {
    let tiles = &message.map.tiles;
    let on_street = |seen: &Seen| tiles.get(seen.position) == Some(Tile::Open);
    (u32::from(FIRST_TICK)..=LAST_TICK.into()).contains(&observation.tick)
        && observation.threats.len() <= MAX_THREATS
        && observation.threats.iter().all(on_street)
        && tiles.iter().filter(|(_, tile)| tile.is_open()).count() <= MAX_OPEN_TILES
}

/// The streets of a message, with everybody spawning where they stand; a threat of unknown style gets one that is not asked for.
pub(super) fn layout_of(message: &GameMessage) -> Layout {
    let tiles = &message.map.tiles;
    let (width, height) = (message.map.width, message.map.height);
    let rows = (0..height).flat_map(|y| (0..width).map(move |x| Position::new(x, y)));
    let spawn = |threat: &MessageThreat| Spawn {
        style: threat.style.known().unwrap_or(Style::Goldfish),
        position: threat.position,
    };
    Layout {
        width,
        height,
        tiles: rows.map(|position| tiles.get(position).unwrap_or(Tile::Wall)).collect(),
        player: message.your_character.position,
        threats: message.threats.iter().map(spawn).collect(),
    }
}

/// Sides of the piece of a map that is looked at where the whole is too large.
const WINDOW_SIDE: i32 = 64;

/// The streets around the player, at most 64 x 64 tiles, and the position of the window's first tile. A map that fits is its own window.
pub(super) fn window(message: &GameMessage) -> (Layout, Position) {
    let player = message.your_character.position;
    let corner = |at: i32, side: i32| (at - WINDOW_SIDE / 2).clamp(0, (side - WINDOW_SIDE).max(0));
    let from = Position::new(corner(player.x, message.map.width), corner(player.y, message.map.height));
    let (width, height) = (message.map.width.min(WINDOW_SIDE), message.map.height.min(WINDOW_SIDE));
    let rows = (from.y..from.y + height).flat_map(|y| (from.x..from.x + width).map(move |x| Position::new(x, y)));
    let tiles = rows.map(|position| message.map.tiles.get(position).unwrap_or(Tile::Wall)).collect();
    let player = Position::new(player.x - from.x, player.y - from.y);
    (Layout { width, height, tiles, player, threats: Vec::new() }, from)
}
