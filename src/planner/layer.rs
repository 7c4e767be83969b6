//! The layers of breadth-first searches, with the first moves that lead to each state.

use std::collections::HashMap;

use crate::game::{Move, State, World};
use crate::search::Random;

/// The distinct states of one tick.
#[derive(Clone, Debug, Default)]
pub(super) struct Layer {
    nodes: Vec<Node>,
    next: Vec<Node>,
    /// Maps fingerprints to indices in `next`. The map's random order is never used.
    seen: HashMap<u64, u32>,
}

#[derive(Clone, Debug)]
struct Node {
    state: State,
    /// The first moves of the lines to the state, as a bit mask; 0 in the first layer.
    first_moves: u8,
}

impl Layer {
    pub fn start(&mut self, state: &State) {
        self.nodes.clear();
        self.nodes.push(Node { state: state.clone(), first_moves: 0 });
    }

    /// Replaces the layer with the successors in which the player is not caught. `admits` receives
    /// a state, a move, and the number of successors so far; it returns `None` to stop. `reach`
    /// receives a successor and the first moves that lead to it. Returns false and keeps the layer if
    /// there are no successors, or if `admits` stops.
    pub fn grow(
        &mut self,
        world: &World,
        mut admits: impl FnMut(&State, Move, usize) -> Option<bool>,
        mut reach: impl FnMut(&State, u8),
    ) -> bool {
        self.next.clear();
        self.seen.clear();
        for node in &self.nodes {
            for player_move in world.legal_moves(&node.state) {
                match admits(&node.state, player_move, self.next.len()) {
                    Some(true) => {}
                    Some(false) => continue,
                    None => return false,
                }
                let state = world.after(&node.state, player_move);
                if state.is_caught() {
                    continue;
                }
                let first_moves = if node.first_moves == 0 { 1 << player_move as u8 } else { node.first_moves };
                reach(&state, first_moves);
                let index = *self.seen.entry(world.fingerprint(&state)).or_insert(self.next.len() as u32) as usize;
                match self.next.get_mut(index) {
                    Some(seen) => seen.first_moves |= first_moves,
                    None => self.next.push(Node { state, first_moves }),
                }
            }
        }
        if self.next.is_empty() {
            return false;
        }
        std::mem::swap(&mut self.nodes, &mut self.next);
        true
    }

    /// Keeps a random sample of at most `len` states.
    pub fn sample(&mut self, len: usize, random: &mut Random) {
        if self.nodes.len() > len {
            for index in 0..len {
                let picked = index + random.below(self.nodes.len() - index);
                self.nodes.swap(index, picked);
            }
            self.nodes.truncate(len);
        }
    }

    /// Returns the states to which lines with this first move lead.
    pub fn after(&self, first_move: Move) -> impl Iterator<Item = &State> {
        let nodes = self.nodes.iter().filter(move |node| node.first_moves >> first_move as u8 & 1 == 1);
        nodes.map(|node| &node.state)
    }

    pub fn tick(&self) -> u16 {
        self.nodes[0].state.tick()
    }
}
