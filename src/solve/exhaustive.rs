//! An exhaustive search: finds every state of a tick before it continues with the next tick.
//! Suits maps on which many threats leave few reachable states, even if lines are long.

use std::collections::HashSet;

use super::sampler::Node;
use super::solution::{Outcome, Solution};
use crate::game::{LAST_TICK, State, World};
use crate::search::BudgetMeter;

/// Bytes per state for the hash table and for unused capacity.
const OVERHEAD_BYTES: usize = 64;

/// A resumable search.
#[derive(Debug)]
pub(super) struct ExhaustiveSearch {
    /// Zero once the search is abandoned.
    memory_max_bytes: usize,
    /// The states of one tick whose successors have not all been tried.
    layer: Vec<State>,
    next: Vec<State>,
    fingerprints: HashSet<u64>,
    /// For each layer after the first, including `next`: the nodes of its states.
    nodes: Vec<Vec<Node>>,
    node_count: usize,
    /// The tick in which the longest line ends, the number of its layer, and its last node.
    longest: Option<(u16, usize, Node)>,
}

impl ExhaustiveSearch {
    /// Creates a search for the longest line from `root`, which must not be over.
    pub fn new(root: &State, memory_max_bytes: usize) -> Self {
        Self {
            memory_max_bytes,
            layer: vec![root.clone()],
            next: Vec::new(),
            fingerprints: HashSet::new(),
            nodes: vec![Vec::new()],
            node_count: 0,
            longest: None,
        }
    }

    /// Continues the search in the root's world. Returns a longest line, or `None` if the
    /// budget is used up. At the memory limit, abandons the search: this and later calls then
    /// return `None`.
    pub fn advance(&mut self, world: &World, meter: &mut BudgetMeter) -> Option<Solution> {
        while self.bytes(world) <= self.memory_max_bytes {
            let Some(state) = self.layer.last() else {
                if self.next.is_empty() {
                    return self.solution();
                }
                self.layer = std::mem::take(&mut self.next);
                self.fingerprints.clear();
                self.nodes.push(Vec::new());
                continue;
            };
            let (depth, parent) = (self.nodes.len() - 1, self.layer.len() as u32 - 1);
            for (player_move, successor) in world.successors(state) {
                meter.tick().ok()?;
                let node = Node { parent, player_move, tile: world.tile_after(state, player_move) };
                if successor.is_over() {
                    if self.longest.is_none_or(|(tick, ..)| successor.tick() > tick) {
                        self.longest = Some((successor.tick(), depth, node));
                    }
                    if successor.is_complete() {
                        return self.solution();
                    }
                } else if self.fingerprints.insert(world.fingerprint(&successor)) {
                    self.next.push(successor);
                    self.nodes[depth].push(node);
                    self.node_count += 1;
                }
            }
            self.layer.pop();
        }
        if let Some(state) = self.layer.pop().or_else(|| self.next.pop()) {
            *self = Self::new(&state, 0);
        }
        None
    }

    pub fn is_abandoned(&self) -> bool {
        self.memory_max_bytes == 0
    }

    fn solution(&self) -> Option<Solution> {
        let (final_tick, depth, last) = self.longest?;
        let mut moves = vec![last.player_move];
        let mut place = last.parent;
        for nodes in self.nodes[..depth].iter().rev() {
            let node = nodes[place as usize];
            moves.push(node.player_move);
            place = node.parent;
        }
        moves.reverse();
        let outcome = if final_tick > LAST_TICK { Outcome::Survives } else { Outcome::Doomed };
        Some(Solution { outcome, moves, final_tick, bound_tick: final_tick, ..Solution::unknown(0) })
    }

    fn bytes(&self, world: &World) -> usize {
        let states = self.layer.len() + self.next.len();
        states * (world.state_bytes() + OVERHEAD_BYTES) + self.node_count * size_of::<Node>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::game::{Layout, Rules};
    use crate::search::Budget;
    use crate::solve::{SolverOptions, SurvivalSearch};

    const MEMORY_BYTES: usize = 1 << 28;

    const LOOP: &str = "P....\n.##.#\n...HS";

    fn world(drawing: &str, rules: &Rules) -> World {
        World::new(&Layout::parse(drawing).expect("a drawing"), rules).expect("a map")
    }

    /// Returns the start state with its tick changed to `tick`.
    fn root(world: &World, tick: u16) -> State {
        let (start, threats) = (world.start(), world.threats(&world.start()).collect::<Vec<_>>());
        world.state_at(tick, world.player(&start), &threats).expect("a state")
    }

    #[test]
    fn longest_line_is_as_long_as_that_of_the_survival_search() {
        let mut outcomes = Vec::new();
        for (drawing, rules) in [(LOOP, Rules::BLITZ_2025), (LOOP, Rules::NO_JUMP), ("P....S", Rules::NO_JUMP)] {
            let world = world(drawing, &rules);
            for tick in [1970, 1990, 1998] {
                let root = root(&world, tick);
                let mut search = ExhaustiveSearch::new(&root, MEMORY_BYTES);
                let meter = &mut BudgetMeter::new(Budget::ticks(2_000_000));
                let found = search.advance(&world, meter).expect("a line");
                let judge = SurvivalSearch::new(SolverOptions::default()).solve(&world, &root, Budget::UNLIMITED);
                assert_eq!((found.outcome, found.final_tick), (judge.outcome, judge.final_tick));
                assert_eq!(found.bound_tick, found.final_tick);
                let mut end = root.clone();
                assert_eq!(world.play(&mut end, &found.moves), found.moves.len());
                assert_eq!((end.tick(), end.is_over()), (found.final_tick, true));
                outcomes.push(found.outcome);
            }
        }
        assert!(outcomes.contains(&Outcome::Survives) && outcomes.contains(&Outcome::Doomed));
    }

    #[test]
    fn interrupted_search_finds_the_same_line() {
        let world = world(LOOP, &Rules::NO_JUMP);
        let root = root(&world, 1980);
        let whole =
            ExhaustiveSearch::new(&root, MEMORY_BYTES).advance(&world, &mut BudgetMeter::new(Budget::ticks(2_000_000)));
        assert!(whole.is_some());
        let mut search = ExhaustiveSearch::new(&root, MEMORY_BYTES);
        let mut advance = || search.advance(&world, &mut BudgetMeter::new(Budget::ticks(7)));
        assert_eq!((0..2_000_000).find_map(|_| advance()), whole);
    }

    #[test]
    fn search_without_memory_is_abandoned() {
        let world = world(LOOP, &Rules::NO_JUMP);
        let mut search = ExhaustiveSearch::new(&root(&world, 1500), 4_000);
        let meter = &mut BudgetMeter::new(Budget::ticks(2_000_000));
        assert_eq!([search.advance(&world, meter), search.advance(&world, meter)], [None, None]);
        assert!(meter.ticks() < 1_000);
    }
}
