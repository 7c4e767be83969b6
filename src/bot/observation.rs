//! The decode stage: validates a message and turns it into an observation.

use crate::game::{FIRST_TICK, LAST_TICK, MAX_OPEN_TILES, MAX_THREATS, Style, Threat};
use crate::inference::{ObservedPose, Sight, StyleWord};
use crate::protocol::{GameMessage, MessageMap, MessageThreat, MessageTile, Name};

use super::decision::BotError;

pub(super) struct Decoded<'a> {
    pub map: &'a MessageMap,
    pub message_tick: u32,
    pub observation: Observation,
    /// The threats' styles and the message's words for them, in message order.
    pub named: Vec<StyleWord>,
    /// False if the tick is out of range, a threat is not on an open tile, or the message has too
    /// many open tiles or threats for a world. The bot then plays without predictions.
    pub is_playable: bool,
}

/// An observation. Its tick is that of the message, clamped to the range from [`FIRST_TICK`] to
/// [`LAST_TICK`].
pub(super) type Observation = Sight;

/// True if the threat has the observed position and direction.
pub(super) fn agrees(observed: ObservedPose, threat: &Threat) -> bool {
    observed.position == threat.position && observed.direction.is_none_or(|direction| direction == threat.direction)
}

/// `words` are the server's non-standard names for styles. Fails if the message is inconsistent or
/// the player is not on an open tile, because the bot then cannot decide.
pub(super) fn decode<'a>(message: &'a GameMessage, words: &[(String, Style)]) -> Result<Decoded<'a>, BotError> {
    message.validate()?;
    let player = message.your_character.position;
    if message.map.tiles.get(player) != Some(MessageTile::Empty) {
        return Err(BotError::PlayerNotOpen(player));
    }
    let tick = message.tick.clamp(FIRST_TICK.into(), LAST_TICK.into()) as u16;
    let observation = Sight::at(tick, message);
    let is_playable = message.tick == u32::from(tick) && is_playable(&message.map, &observation);
    let named = |threat: &MessageThreat| StyleWord {
        word: threat.style.to_string(),
        style: match &threat.style {
            Name::Known(style) => Some(*style),
            Name::Other(word) => words.iter().find(|(known, _)| known == word).map(|&(_, style)| style),
        },
    };
    let named = message.threats.iter().map(named).collect();
    Ok(Decoded { map: &message.map, message_tick: message.tick, observation, named, is_playable })
}

fn is_playable(map: &MessageMap, observation: &Observation) -> bool {
    let is_open = |threat: &ObservedPose| map.tiles.get(threat.position) == Some(MessageTile::Empty);
    observation.threats.len() <= MAX_THREATS
        && observation.threats.iter().all(is_open)
        && map.tiles.iter().filter(|(_, tile)| tile.is_open()).count() <= MAX_OPEN_TILES
}
