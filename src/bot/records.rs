//! The record of a game that the stages share: its messages, the moves sent, and its known map.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::game::{Layout, Move, Position, Style};

use super::observation::Observation;

/// The record of playable messages and of the moves sent.
#[derive(Debug, Default)]
pub(super) struct History {
    /// The threats' styles in the last message, and in the one before; `None` if unknown.
    pub styles: Vec<Option<Style>>,
    pub styles_before: Vec<Option<Style>>,
    /// Observations that the tracker has not processed yet, the latest last.
    pub queue: VecDeque<Observation>,
    /// The latest processed observations, of consecutive ticks.
    pub log: Vec<Observation>,
    /// Moves that were sent and whose effect the tracker has not seen yet.
    pub sent: Vec<Sent>,
}

impl History {
    /// The threats whose style the last message has changed, by message index, with the new style.
    pub fn restyled(&self) -> Vec<(usize, Option<Style>)> {
        let styles = self.styles_before.iter().zip(&self.styles).enumerate();
        styles.filter(|(_, (before, now))| before != now).map(|(index, (_, now))| (index, *now)).collect()
    }
}

/// A move that was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sent {
    pub tick: u16,
    pub player_move: Move,
    /// Whether it was sent within the budget while the bot was up to date.
    pub is_timely: bool,
}

/// The known map: where the player can go.
#[derive(Debug)]
pub(super) struct KnownMap {
    /// The map as known so far: tiles that refused the player are see-through. Its threats are the
    /// predictable ones.
    pub layout: Layout,
    /// Tiles where the player has been.
    pub visited: BTreeSet<Position>,
    /// For each tile, the number of consecutive commands into it that had no effect.
    pub refusals: BTreeMap<Position, u32>,
    /// Tiles treated as see-through only because the player has never visited them.
    pub excluded: Vec<Position>,
}
