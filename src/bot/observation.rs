//! The decode stage: validates a message and turns it into an observation.

use crate::game::{
    Direction, FIRST_TICK, LAST_TICK, MAX_OPEN_TILES, MAX_THREATS, Personality, Position, Style, Threat,
};
use crate::protocol::{GameMessage, MessageMap, MessageThreat, MessageTile, Name};

use super::decision::BotError;

pub(super) struct Decoded<'a> {
    pub map: &'a MessageMap,
    pub observation: Observation,
    /// The threats' styles, in message order; `None` for an unknown word.
    pub styles: Vec<Option<Style>>,
    /// The message's words for the threats' styles, in message order.
    pub words: Vec<String>,
    /// False if the tick is out of range, a threat is not on an open tile, or the message has too
    /// many open tiles or threats for a world. The bot then plays without predictions.
    pub is_playable: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Observation {
    pub message_tick: u32,
    /// `message_tick`, clamped to the range from [`FIRST_TICK`] to [`LAST_TICK`].
    pub tick: u16,
    pub player: Position,
    pub threats: Vec<ObservedPose>,
    /// The reported personality, if it is known and the same for all threats.
    pub personality: Option<Personality>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ObservedPose {
    pub position: Position,
    /// The direction that the threat faces; `None` for an unknown word.
    pub direction: Option<Direction>,
}

impl ObservedPose {
    pub fn agrees(self, threat: &Threat) -> bool {
        self.position == threat.position && self.direction.is_none_or(|direction| direction == threat.direction)
    }
}

/// `words` are the server's non-standard names for styles. Fails if the message is inconsistent or
/// the player is not on an open tile, because the bot then cannot decide.
pub(super) fn decode<'a>(message: &'a GameMessage, words: &[(String, Style)]) -> Result<Decoded<'a>, BotError> {
    message.validate()?;
    let player = message.your_character.position;
    if message.map.tiles.get(player) != Some(MessageTile::Empty) {
        return Err(BotError::PlayerNotOpen(player));
    }
    let observe =
        |threat: &MessageThreat| ObservedPose { position: threat.position, direction: threat.direction.known() };
    let observation = Observation {
        message_tick: message.tick,
        tick: message.tick.clamp(FIRST_TICK.into(), LAST_TICK.into()) as u16,
        player,
        threats: message.threats.iter().map(observe).collect(),
        personality: personality(&message.threats),
    };
    let is_playable = is_playable(&message.map, &observation);
    let named = |threat: &MessageThreat| match &threat.style {
        Name::Known(style) => Some(*style),
        Name::Other(word) => words.iter().find(|(known, _)| known == word).map(|&(_, style)| style),
    };
    let styles: Vec<Option<Style>> = message.threats.iter().map(named).collect();
    let words = message.threats.iter().map(|threat| threat.style.to_string()).collect();
    Ok(Decoded { map: &message.map, observation, styles, words, is_playable })
}

fn personality(threats: &[MessageThreat]) -> Option<Personality> {
    let (first, others) = threats.split_first()?;
    let is_shared = others.iter().all(|threat| threat.personality == first.personality);
    first.personality.as_ref().filter(|_| is_shared)?.known()
}

fn is_playable(map: &MessageMap, observation: &Observation) -> bool {
    let is_open = |threat: &ObservedPose| map.tiles.get(threat.position) == Some(MessageTile::Empty);
    observation.message_tick == u32::from(observation.tick)
        && observation.threats.len() <= MAX_THREATS
        && observation.threats.iter().all(is_open)
        && map.tiles.iter().filter(|(_, tile)| tile.is_open()).count() <= MAX_OPEN_TILES
}
