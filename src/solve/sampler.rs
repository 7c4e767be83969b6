//! Draws the moves of a layer of the survival search.

use crate::game::{Move, State, World};
use crate::search::Random;

/// After width / `TILE_DIVISOR` + 1 moves to a tile, further moves to the tile are deferred.
const TILE_DIVISOR: usize = 32;
/// In layers of at most this many states, a state on a tile of its own is new without a lookup.
const COMPARED_STATES_MAX: usize = 8;

/// The last move of a line, the player's tile after it, and the index of the state before it in the
/// previous layer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Node {
    pub parent: u32,
    pub player_move: Move,
    pub tile: u16,
}

/// Draws candidate moves in random order, but defers moves to a tile that a threat may reach in the
/// same tick, or that `share` moves already lead to. If all candidates fit into the layer, draws them
/// in order.
#[derive(Debug, Default)]
pub(super) struct CandidateSampler {
    candidates: Candidates,
    /// True if all candidates fit into the layer.
    fits: bool,
    /// True if the threats move in the layer's tick.
    threats_move: bool,
    share: u32,
    /// For each tile, the last layer for which moves to the tile were counted, and the count.
    shares: Vec<(u32, u32)>,
    layer: u32,
    known: Fingerprints,
}

/// In `nodes`: the deferred candidates, then those already drawn, then the rest, from `drawn` to
/// `count`.
#[derive(Debug, Default)]
struct Candidates {
    nodes: Vec<Node>,
    deferred: usize,
    drawn: usize,
    count: usize,
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
        self.candidates.nodes.capacity() * size_of::<Node>() + self.known.entries.capacity() * size_of::<(u64, u32)>()
    }

    pub fn begin(&mut self, world: &World, frontier: &[State], width: usize) {
        let most = Move::ALL.len() * frontier.len();
        let nodes = &mut self.candidates.nodes;
        if nodes.len() < most {
            nodes.resize(most, Node { parent: 0, player_move: Move::Stay, tile: 0 });
        }
        let mut count = 0;
        for (parent, state) in (0..).zip(frontier) {
            let (tiles, possible) = world.tiles_after(state);
            for (player_move, tile) in Move::ALL.into_iter().zip(tiles) {
                // Branchless: the node is always written, but it counts only if the move is possible.
                nodes[count] = Node { parent, player_move, tile };
                count += usize::from(possible >> player_move as u8 & 1);
            }
        }
        (self.candidates.deferred, self.candidates.drawn, self.candidates.count) = (0, 0, count);
        self.fits = count <= width;
        self.threats_move = world.threats_move(&frontier[0]);
        self.share = (width / TILE_DIVISOR + 1) as u32;
        self.layer += 1;
        self.known.states = 0;
        if self.shares.is_empty() {
            self.shares.resize(world.open_tile_count(), (0, 0));
        }
        let entries = 2 * count.min(width);
        if self.known.entries.len() < entries {
            self.known.entries = vec![(0, 0); entries.next_power_of_two()];
        }
    }

    pub fn is_empty(&self) -> bool {
        self.candidates.drawn == self.candidates.count && self.candidates.deferred == 0
    }

    #[inline]
    pub fn draw(&mut self, world: &World, frontier: &[State], random: &mut Random) -> Option<Node> {
        loop {
            let Candidates { nodes, deferred, drawn, count } = &mut self.candidates;
            if drawn == count {
                if *deferred == 0 {
                    return None;
                }
                (*count, *drawn, *deferred, self.share) = (*deferred, 0, 0, u32::MAX);
            }
            if !self.fits {
                let picked = *drawn + random.below(*count - *drawn);
                nodes.swap(*drawn, picked);
            }
            let candidate = nodes[*drawn];
            *drawn += 1;
            let is_last = self.fits || self.share == u32::MAX;
            if is_last || self.has_share(candidate.tile) && !self.is_risky(world, frontier, candidate) {
                return Some(candidate);
            }
            self.candidates.nodes[self.candidates.deferred] = candidate;
            self.candidates.deferred += 1;
        }
    }

    #[inline]
    fn has_share(&mut self, tile: u16) -> bool {
        let (layer, taken) = &mut self.shares[usize::from(tile)];
        *taken = if *layer == self.layer { *taken + 1 } else { 1 };
        *layer = self.layer;
        *taken <= self.share
    }

    #[inline]
    fn is_risky(&self, world: &World, frontier: &[State], candidate: Node) -> bool {
        self.threats_move && world.is_beside_threat(&frontier[candidate.parent as usize], candidate.tile)
    }

    #[inline]
    pub fn is_new(&mut self, world: &World, state: &State, states: &[State]) -> bool {
        let is_alone = || {
            let tile = |state| world.tile_after(state, Move::Stay);
            states.len() <= COMPARED_STATES_MAX && states.iter().all(|other| tile(other) != tile(state))
        };
        if self.share == 1 && !self.fits || is_alone() {
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
