//! Draws the moves of a layer of the survival search.

use crate::game::{Move, State, World};
use crate::search::Generator;

/// After width / `TILE_DIVISOR` + 1 moves to a tile, further moves to the tile are deferred.
const TILE_DIVISOR: usize = 32;

/// The last move of a line, and the index of the state before it in the previous layer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Node {
    pub parent: u32,
    pub player_move: Move,
}

/// Draws candidate moves in random order, but defers further moves to a tile that `share` moves
/// already lead to. If all candidates fit into the layer, draws them in order.
#[derive(Debug, Default)]
pub(super) struct CandidateSampler {
    candidates: Vec<Node>,
    deferred: Vec<Node>,
    drawn: usize,
    /// True if all candidates fit into the layer.
    fits: bool,
    share: u32,
    /// For each tile, the last layer for which moves to the tile were counted, and the count.
    shares: Vec<(u32, u32)>,
    layer: u32,
    known: Fingerprints,
}

/// A hash table of fingerprints and layer numbers. Entries with an old layer number are free.
#[derive(Debug, Default)]
struct Fingerprints {
    entries: Vec<(u64, u32)>,
    /// Number of the layer's states in the table. While at most one move per tile is drawn, the
    /// states differ, and none are added.
    states: usize,
}

impl CandidateSampler {
    #[cfg(test)]
    pub fn bytes(&self) -> usize {
        (self.candidates.capacity() + self.deferred.capacity()) * size_of::<Node>()
            + self.known.entries.capacity() * size_of::<(u64, u32)>()
    }

    pub fn begin(&mut self, world: &World, frontier: &[State], width: usize) {
        self.deferred.clear();
        self.drawn = 0;
        self.candidates.resize(Move::ALL.len() * frontier.len(), Node { parent: 0, player_move: Move::Stay });
        let mut count = 0;
        for (parent, state) in (0..).zip(frontier) {
            let possible = world.move_bits(state);
            for player_move in Move::ALL {
                // Branchless: the node is always written, but it counts only if the move is possible.
                self.candidates[count] = Node { parent, player_move };
                count += usize::from(possible >> player_move as u8 & 1);
            }
        }
        self.candidates.truncate(count);
        self.fits = self.candidates.len() <= width;
        self.share = (width / TILE_DIVISOR + 1) as u32;
        self.layer += 1;
        self.known.states = 0;
        self.shares.resize(world.open_tiles(), (0, 0));
        let entries = (2 * self.candidates.len().min(width)).next_power_of_two();
        if self.known.entries.len() < entries {
            self.known.entries = vec![(0, 0); entries];
        }
    }

    #[inline]
    pub fn draw(&mut self, world: &World, frontier: &[State], random: &mut Generator) -> Option<Node> {
        loop {
            if self.drawn == self.candidates.len() {
                if self.deferred.is_empty() {
                    return None;
                }
                std::mem::swap(&mut self.candidates, &mut self.deferred);
                self.deferred.clear();
                self.drawn = 0;
                self.share = u32::MAX;
            }
            if !self.fits {
                let picked = self.drawn + random.below(self.candidates.len() - self.drawn);
                self.candidates.swap(self.drawn, picked);
            }
            let candidate = self.candidates[self.drawn];
            self.drawn += 1;
            if self.fits || self.has_share(world, frontier, candidate) {
                return Some(candidate);
            }
            self.deferred.push(candidate);
        }
    }

    #[inline]
    fn has_share(&mut self, world: &World, frontier: &[State], candidate: Node) -> bool {
        let tile = world.tile_after(&frontier[candidate.parent as usize], candidate.player_move);
        let (layer, taken) = &mut self.shares[usize::from(tile)];
        if *layer != self.layer {
            (*layer, *taken) = (self.layer, 0);
        }
        *taken += 1;
        *taken <= self.share
    }

    #[inline]
    pub fn is_new(&mut self, world: &World, state: &State, states: &[State]) -> bool {
        if self.share == 1 && !self.fits {
            return true;
        }
        while self.known.states < states.len() {
            self.insert(world.fingerprint(&states[self.known.states]));
            self.known.states += 1;
        }
        let is_new = self.insert(world.fingerprint(state));
        self.known.states += usize::from(is_new);
        is_new
    }

    #[inline]
    fn insert(&mut self, fingerprint: u64) -> bool {
        let known = &mut self.known.entries;
        let mask = known.len() - 1;
        let mut place = fingerprint as usize & mask;
        while known[place].1 == self.layer {
            if known[place].0 == fingerprint {
                return false;
            }
            place = (place + 1) & mask;
        }
        known[place] = (fingerprint, self.layer);
        true
    }
}
