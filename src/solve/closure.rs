//! The closure of a threat contains every key that it can have under some sequence of player moves.

use super::model::{Automaton, Closure, Model};
use super::tiles::TileSet;
use crate::game::FIRST_TICK;

/// In closures, owls' keys omit the memory. Hawks' keys hold all memories possible on the tile.
#[derive(Debug)]
pub(super) struct ClosureBuilder {
    pub closure: Closure,
    /// For each key, the index of the last layer that contains the key, apart from layer 0; 0 if
    /// there is none.
    found: Vec<usize>,
}

impl ClosureBuilder {
    pub fn new<const N: usize>(model: &Model<N>, automaton: &Automaton<N>, start: u32) -> Self {
        let mut closure = Closure { first: None, layers: Vec::new(), repeats_from: 0 };
        let tiles = model.tiles() as u32;
        let layer = match automaton {
            Automaton::Owl { .. } => (0..tiles).map(|tile| tile * (tiles + 1) + tiles).collect(),
            Automaton::Hawk { .. } => {
                let keys = model.hawks.memories.on.iter().enumerate();
                keys.map(|(tile, &memory)| model.hawk_key(tile, memory.into())).collect()
            }
            Automaton::Chaser { .. }
                if model.times.first_tick == usize::from(FIRST_TICK) && model.times.moves[model.times.first_tick] =>
            {
                closure.first = Some(vec![start]);
                vec![automaton.branches(model.times.first_tick, start)[0].key]
            }
            Automaton::Chaser { .. } => vec![start],
        };
        closure.layers.push(layer);
        let is_chaser = matches!(automaton, Automaton::Chaser { .. });
        Self { closure, found: if is_chaser { vec![0; model.keys(automaton)] } else { Vec::new() } }
    }

    pub fn advance<const N: usize>(&mut self, model: &Model<N>, automaton: &Automaton<N>) -> bool {
        let Automaton::Chaser { branches, .. } = automaton else { return true };
        // At the start of a tick, the player cannot be on the threat's tile, so ignore this place.
        let next = |key: u32| {
            let own = TileSet::of(model.place(automaton, key));
            let branches = branches[key as usize].iter();
            branches.filter(move |branch| !branch.when.without(&own).is_empty()).map(|branch| branch.key)
        };
        let (layers, found) = (&mut self.closure.layers, &mut self.found);
        let moves = layers.len();
        let mut layer = Vec::new();
        for key in layers[moves - 1].iter().flat_map(|&key| next(key)) {
            if std::mem::replace(&mut found[key as usize], moves) != moves {
                layer.push(key);
            }
        }
        layer.sort_unstable();
        if let Some(repeats_from) = layers.iter().rposition(|earlier| *earlier == layer) {
            self.closure.repeats_from = repeats_from;
            return true;
        }
        layers.push(layer);
        if layers.len() < Closure::LAYERS_MAX {
            return false;
        }
        let mut any: Vec<u32> = (0..).zip(&*found).filter(|(_, moves)| **moves > 0).map(|(key, _)| key).collect();
        let mut at = 0;
        while at < any.len() {
            for key in next(any[at]) {
                if std::mem::replace(&mut found[key as usize], moves) == 0 {
                    any.push(key);
                }
            }
            at += 1;
        }
        any.sort_unstable();
        self.closure.repeats_from = layers.len();
        layers.push(any);
        true
    }
}
