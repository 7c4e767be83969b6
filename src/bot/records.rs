use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::game::{Move, Position, Style};
use crate::inference::StyleWord;

use super::observation::Observation;

#[derive(Debug, Default)]
pub(super) struct History {
    /// The threats' styles and words in the last message.
    pub named: Vec<StyleWord>,
    /// The index and the new style of each threat whose style changed with the last message.
    pub restyled: Vec<(usize, Option<Style>)>,
    /// Observations that the tracker has not processed yet, oldest first.
    pub queue: VecDeque<Observation>,
    /// Sent moves whose effects the tracker has not observed yet.
    pub sent: Vec<Sent>,
}

impl History {
    /// Forgets the commands sent before this tick.
    pub fn forget_sent(&mut self, tick: u16) {
        self.sent.retain(|sent| sent.tick >= tick);
    }

    pub fn rename(&mut self, named: &[StyleWord]) {
        let styles = self.named.iter().zip(named).map(|(before, now)| (before.style, now.style)).enumerate();
        let changed = styles.filter(|(_, (before, now))| before != now);
        self.restyled = changed.map(|(index, (_, now))| (index, now)).collect();
        if self.named != named {
            self.named = named.to_vec();
        }
    }

    pub fn styles(&self) -> Vec<Option<Style>> {
        self.named.iter().map(|named| named.style).collect()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sent {
    pub tick: u16,
    pub player_move: Move,
    pub is_timely: bool,
}

#[derive(Debug)]
pub(super) struct KnownMap {
    /// The open tiles that the player has not visited, and so may turn out to be see-through.
    pub unvisited: BTreeSet<Position>,
    /// For each tile that the player has not visited, the number of timely commands to enter it that
    /// had no effect, if any.
    pub refusals: BTreeMap<Position, u32>,
}
