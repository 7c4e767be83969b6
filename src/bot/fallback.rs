//! Fallback: decides from the map, the tick and the positions, without predictions.

use crate::game::{Layout, Position};
use crate::planner::{CautiousRules, Choice, ObservedThreat, Sighting};
use crate::protocol::MessageMap;

use super::observation::Decoded;

const WINDOW_SIDE: i32 = 64;

pub(super) fn decide_from_positions(
    cautious: &mut CautiousRules,
    decoded: &Decoded<'_>,
    layout: Option<&Layout>,
) -> Choice {
    let observation = &decoded.observation;
    let (layout, from) = match layout {
        Some(layout) => (layout.clone(), Position::new(0, 0)),
        None => window(decoded.map, observation.player),
    };
    // A message may report a threat at any coordinates, so a plain subtraction could overflow.
    let in_window = |at: Position| Position::new(at.x.saturating_sub(from.x), at.y.saturating_sub(from.y));
    let threats: Vec<ObservedThreat> =
        observation.threats.iter().map(|threat| ObservedThreat::at(in_window(threat.position))).collect();
    let player = in_window(observation.player);
    cautious.choose(&layout, &Sighting { tick: observation.tick, player, threats: &threats })
}

fn window(map: &MessageMap, player: Position) -> (Layout, Position) {
    let start = |at: i32, side: i32| (at - WINDOW_SIDE / 2).clamp(0, (side - WINDOW_SIDE).max(0));
    let from = Position::new(start(player.x, map.width), start(player.y, map.height));
    let size = (map.width.min(WINDOW_SIDE), map.height.min(WINDOW_SIDE));
    (map.window(from, size, player), from)
}
