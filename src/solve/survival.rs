//! The survival search: a beam search over the entire game for a *line* (a sequence of moves) that
//! survives, with exact predictions of the threats.
//!
//! A *layer* holds distinct states of one tick. Random moves from these states fill the next layer
//! up to the width of the beam. Moves to a tile that a threat may reach in the same tick come last,
//! and so do further moves to a tile that has had its share of moves. A beam of the best-scoring
//! states would instead tend to fill with similar states. While nothing goes wrong, the width is 1.
//!
//! At a dead end, the search backtracks. It then doubles the backtracking distance and, unless the
//! memory limits the beam, the width. Both are reset `WIDE_TICKS` past the dead end. If no layer
//! was cut to the width, the last layer holds *every* reachable state of its tick that the filters
//! admit. If none of these has a surviving successor, no admitted line is longer than the longest
//! line found. Without a time limit, the same sequence of calls always gives the same answers.

mod state_buffer;

use self::state_buffer::StateBuffer;
use super::options::SolverOptions;
use super::root::{Progress, Root};
use super::sampler::{CandidateSampler, Node};
use super::solution::{Outcome, Solution};
use crate::game::{LAST_TICK, Move, State, World};
use crate::search::{Budget, BudgetMeter, Random};

const BEAM_WIDTH_MIN: usize = 1;
/// Minimum number of ticks by which the search backtracks. A new layer is a *checkpoint* if its depth
/// is a multiple of this number. Apart from the last layer, only checkpoints keep their states.
const BACKTRACK_TICKS_MIN: usize = 8;
const WIDE_TICKS: usize = 4;

/// A condition that each step of a line must meet.
pub(crate) trait Filter {
    /// Returns true if a line may take the step from `before` to `after`, in which the player is not
    /// caught.
    fn admits(&self, world: &World, before: &State, player_move: Move, after: &State) -> bool;
}

impl<F: Fn(&World, &State, Move, &State) -> bool> Filter for F {
    fn admits(&self, world: &World, before: &State, player_move: Move, after: &State) -> bool {
        self(world, before, player_move, after)
    }
}

#[derive(Clone, Copy, Debug)]
struct Layer {
    first_node: usize,
    first_checkpoint_state: usize,
    is_checkpoint: bool,
    complete: bool,
}

#[derive(Clone, Copy, Debug)]
struct Death {
    final_tick: u16,
    last: Node,
}

/// The layers, and the states of some of them.
#[derive(Debug, Default)]
struct Tree {
    layers: Vec<Layer>,
    nodes: Vec<Node>,
    checkpoint_states: Vec<State>,
    frontier: StateBuffer,
    /// The layer under construction.
    next: StateBuffer,
}

impl Tree {
    /// Returns the nodes of the layer at `depth`; none if there is no such layer.
    fn nodes_at(&self, depth: usize) -> &[Node] {
        let first = |depth: usize| self.layers.get(depth).map_or(self.nodes.len(), |layer| layer.first_node);
        &self.nodes[first(depth)..first(depth + 1)]
    }
}

#[derive(Debug)]
struct Beam {
    width: usize,
    backtrack_ticks: usize,
    wide_until: usize,
    is_memory_limited: bool,
}

/// The end of the longest line: the part that its layers no longer hold.
#[derive(Debug, Default)]
struct Tail {
    /// The last one first.
    moves: Vec<Move>,
    /// The layer before the moves, and the state in it.
    parent: (usize, u32),
}

/// A resumable search.
#[derive(Debug)]
pub(crate) struct SurvivalSearch {
    options: SolverOptions,
    random: Random,
    root: Option<Root>,
    tree: Tree,
    sampler: CandidateSampler,
    beam: Beam,
    /// The longest line so far. If it was found in the current call, its moves are missing.
    best: Solution,
    tail: Tail,
}

enum Growth {
    Grown,
    Died(Death),
    Interrupted,
}

impl SurvivalSearch {
    /// Creates a search for budgets of a few milliseconds.
    pub fn for_play(seed: u64) -> Self {
        Self::new(SolverOptions { seed, ..SolverOptions::default() }.for_play())
    }

    /// Creates a search.
    pub fn new(options: SolverOptions) -> Self {
        let (width, backtrack_ticks) = (BEAM_WIDTH_MIN, BACKTRACK_TICKS_MIN);
        Self {
            options,
            random: Random::from_seed(options.seed),
            root: None,
            tree: Tree::default(),
            sampler: CandidateSampler::default(),
            beam: Beam { width, backtrack_ticks, wide_until: 0, is_memory_limited: false },
            best: Solution::unknown(0),
            tail: Tail::default(),
        }
    }

    /// Searches from `state` until the answer is known or the budget is used up. A further call
    /// with this state or a direct successor reuses the search where possible; with any other state
    /// or world, the search starts afresh.
    pub fn solve(&mut self, world: &World, state: &State, budget: Budget) -> Solution {
        self.solve_until(world, state, LAST_TICK + 1, budget)
    }

    /// Like [`SurvivalSearch::solve`], but also stops once a line reaches `enough_tick`.
    pub fn solve_until(&mut self, world: &World, state: &State, enough_tick: u16, budget: Budget) -> Solution {
        self.solve_filtered(world, state, enough_tick, budget, &[])
    }

    /// Like [`SurvivalSearch::solve_until`], but takes only steps that every filter admits. If the
    /// outcome is `Doomed`, only lines with a step that a filter refuses can be longer than the returned line.
    pub(crate) fn solve_filtered(
        &mut self,
        world: &World,
        state: &State,
        enough_tick: u16,
        budget: Budget,
        filters: &[&dyn Filter],
    ) -> Solution {
        if state.is_over() {
            let outcome = if state.is_complete() { Outcome::Survives } else { Outcome::Doomed };
            return Solution { outcome, bound_tick: state.tick(), ..Solution::unknown(state.tick()) };
        }
        self.set_root(world, state);
        let mut meter = BudgetMeter::new(budget);
        let mut has_grown = false;
        while self.best.outcome == Outcome::Undecided {
            match self.grow(world, &mut meter, filters) {
                Growth::Grown if self.tree.frontier[0].is_complete() => self.store_best(Outcome::Survives, None),
                Growth::Grown => {
                    has_grown = true;
                    if self.tree.layers.len() > self.beam.wide_until {
                        (self.beam.width, self.beam.backtrack_ticks) = (BEAM_WIDTH_MIN, BACKTRACK_TICKS_MIN);
                    }
                    if self.tree.frontier[0].tick() >= enough_tick {
                        break;
                    }
                }
                Growth::Died(death) => self.handle_dead_end(death),
                Growth::Interrupted => {
                    // This call did not complete a layer: narrow the beam for the next call.
                    if !has_grown {
                        self.beam.width = (self.beam.width / 2).max(BEAM_WIDTH_MIN);
                    }
                    break;
                }
            }
        }
        if self.best.outcome == Outcome::Undecided && self.tree.frontier[0].tick() > self.best.final_tick {
            self.store_best(Outcome::Undecided, None);
        }
        self.extend_tail(0);
        if !self.tail.moves.is_empty() {
            self.best.moves = self.tail.moves.drain(..).rev().collect();
        }
        Solution { simulated_ticks: meter.ticks(), ..self.best.clone() }
    }

    fn set_root(&mut self, world: &World, state: &State) {
        let continues = match self.root.as_mut().map(|root| root.advance(world, state)) {
            Some(Progress::Same) => true,
            Some(Progress::Played(player_move)) => self.follow(player_move, state),
            Some(Progress::Unrelated) | None => false,
        };
        if !continues {
            let (random, root) = (self.random.clone(), self.root.take());
            let root = root.unwrap_or_else(|| Root::new(world, state));
            *self = Self { random, root: Some(root), ..Self::new(self.options) };
            self.init_layers(state);
            self.best.final_tick = state.tick();
        }
    }

    fn follow(&mut self, player_move: Move, root: &State) -> bool {
        let on_plan = self.best.moves.first() == Some(&player_move);
        if on_plan {
            self.best.moves.remove(0);
        }
        if self.best.outcome != Outcome::Undecided {
            return on_plan;
        }
        if !on_plan {
            self.best.moves.clear();
            self.best.final_tick = root.tick();
        }
        self.keep_descendants(player_move, root)
    }

    fn init_layers(&mut self, root: &State) {
        self.tree.layers.push(Layer { first_node: 0, first_checkpoint_state: 0, is_checkpoint: true, complete: true });
        self.tree.nodes.push(Node { parent: 0, player_move: Move::Stay, tile: 0 });
        self.tree.checkpoint_states.push(root.clone());
        self.tree.frontier.push_copy(root);
    }

    fn keep_descendants(&mut self, player_move: Move, root: &State) -> bool {
        let old = std::mem::take(&mut self.tree);
        self.init_layers(root);
        let of_move = |node: &Node| (node.player_move == player_move).then_some(0);
        let mut new_indices: Vec<Option<u32>> = old.nodes_at(1).iter().map(of_move).collect();
        for (depth, layer) in old.layers.iter().enumerate().skip(2) {
            let (first_node, first_checkpoint_state) = (self.tree.nodes.len(), self.tree.checkpoint_states.len());
            let of_layer = old.nodes_at(depth);
            let kept = |(index, node): (usize, &Node)| {
                let parent = new_indices[node.parent as usize]?;
                self.tree.nodes.push(Node { parent, ..*node });
                if layer.is_checkpoint {
                    let state = &old.checkpoint_states[layer.first_checkpoint_state + index];
                    self.tree.checkpoint_states.push(state.clone());
                }
                Some((self.tree.nodes.len() - first_node - 1) as u32)
            };
            let next_indices = of_layer.iter().enumerate().map(kept).collect();
            if self.tree.nodes.len() == first_node {
                break;
            }
            // A node has only one parent, even if several first moves lead to its state. A state
            // that is dropped here may still be reachable, so its layer is no longer complete.
            let complete = layer.complete && self.tree.nodes.len() - first_node == of_layer.len();
            self.tree.layers.push(Layer { first_node, first_checkpoint_state, complete, ..*layer });
            new_indices = next_indices;
        }
        self.beam.wide_until = self.beam.wide_until.saturating_sub(1);
        self.go_back_to(self.tree.layers.len() - 1);
        new_indices.iter().any(Option::is_some)
    }

    fn go_back_to(&mut self, depth: usize) {
        let depth = (0..=depth).rev().find(|&depth| self.tree.layers[depth].is_checkpoint).unwrap_or(0);
        self.extend_tail(depth);
        let tree = &mut self.tree;
        let layer = tree.layers[depth];
        let len = tree.nodes_at(depth).len();
        tree.nodes.truncate(layer.first_node + len);
        tree.layers.truncate(depth + 1);
        tree.checkpoint_states.truncate(layer.first_checkpoint_state + len);
        tree.frontier.clear();
        for state in &tree.checkpoint_states[layer.first_checkpoint_state..] {
            tree.frontier.push_copy(state);
        }
    }

    fn handle_dead_end(&mut self, death: Death) {
        let depth = self.tree.layers.len() - 1;
        let outcome = match self.tree.layers[depth].complete {
            // All ticks are played, so the player survives even if a threat is then on its tile.
            _ if death.final_tick > LAST_TICK => Outcome::Survives,
            true => Outcome::Doomed,
            false => Outcome::Undecided,
        };
        if outcome != Outcome::Undecided || death.final_tick > self.best.final_tick {
            self.store_best(outcome, Some(death));
        }
        if outcome != Outcome::Undecided {
            return;
        }
        self.beam.wide_until = self.beam.wide_until.max(depth + WIDE_TICKS);
        self.go_back_to(depth.saturating_sub(self.beam.backtrack_ticks));
        // A beam that fills the memory cannot widen, so it is narrowed instead.
        let is_memory_limited = std::mem::take(&mut self.beam.is_memory_limited);
        self.beam.width = if is_memory_limited {
            (self.beam.width / 4).max(BEAM_WIDTH_MIN)
        } else {
            self.beam.width.saturating_mul(2)
        };
        self.beam.backtrack_ticks = self.beam.backtrack_ticks.saturating_mul(2);
    }

    /// Stores the line that ends with `death` or, without it, with a state of the last layer.
    fn store_best(&mut self, outcome: Outcome, death: Option<Death>) {
        let final_tick = death.map_or_else(|| self.tree.frontier[0].tick(), |death| death.final_tick);
        self.tail.moves.clear();
        self.tail.moves.extend(death.map(|death| death.last.player_move));
        self.tail.parent = (self.tree.layers.len() - 1, death.map_or(0, |death| death.last.parent));
        let bound_tick = if outcome == Outcome::Doomed { final_tick } else { LAST_TICK + 1 };
        self.best = Solution { outcome, bound_tick, ..Solution::unknown(final_tick) };
    }

    /// Extends the tail of the best line to all of its moves after the layer at `depth`.
    fn extend_tail(&mut self, depth: usize) {
        let (mut from, mut place) = self.tail.parent;
        while from > depth {
            let node = self.tree.nodes[self.tree.layers[from].first_node + place as usize];
            self.tail.moves.push(node.player_move);
            (from, place) = (from - 1, node.parent);
        }
        self.tail.parent = (from, place);
    }

    fn grow(&mut self, world: &World, meter: &mut BudgetMeter, filters: &[&dyn Filter]) -> Growth {
        let width = self.affordable_width(world);
        self.beam.is_memory_limited |= width < self.beam.width;
        let first_node = self.tree.nodes.len();
        let mut longest: Option<Death> = None;
        let mut complete = self.tree.layers[self.tree.layers.len() - 1].complete;
        self.tree.next.clear();
        self.sampler.begin(world, &self.tree.frontier, width);
        while let Some(candidate) = self.sampler.draw(world, &self.tree.frontier, &mut self.random) {
            if meter.tick().is_err() {
                self.tree.nodes.truncate(first_node);
                return Growth::Interrupted;
            }
            let parent = &self.tree.frontier[candidate.parent as usize];
            let (state, others) = self.tree.next.push_copy(parent);
            world.step_unchecked(state, candidate.player_move);
            let state = &*state;
            let is_dead = state.is_caught()
                || !filters.iter().all(|filter| filter.admits(world, parent, candidate.player_move, state));
            if is_dead && longest.is_none_or(|death| state.tick() > death.final_tick) {
                longest = Some(Death { final_tick: state.tick(), last: candidate });
            }
            if is_dead || !self.sampler.is_new(world, state, others) {
                self.tree.next.pop();
                continue;
            }
            self.tree.nodes.push(candidate);
            if self.tree.next.len() == width {
                complete &= self.sampler.is_empty();
                break;
            }
        }
        if let Some(death) = longest.filter(|_| self.tree.next.is_empty()) {
            return Growth::Died(death);
        }
        std::mem::swap(&mut self.tree.frontier, &mut self.tree.next);
        let is_checkpoint = self.tree.layers.len().is_multiple_of(BACKTRACK_TICKS_MIN);
        let first_checkpoint_state = self.tree.checkpoint_states.len();
        self.tree.layers.push(Layer { first_node, first_checkpoint_state, is_checkpoint, complete });
        if is_checkpoint {
            self.tree.checkpoint_states.extend_from_slice(&self.tree.frontier);
        }
        Growth::Grown
    }

    /// Returns the width of the beam, or the maximum width within the memory limit. The layer under
    /// construction gets a quarter of the limit. Each of its states comes with a parent state, up
    /// to five candidates, and up to four fingerprint entries. A growing vector may allocate twice
    /// the size of its contents.
    fn affordable_width(&self, world: &World) -> usize {
        let building_bytes = self.options.memory_max_bytes / 4;
        let built_bytes = 2 * world.state_bytes() + 5 * size_of::<Node>() + 4 * size_of::<(u64, u32)>();
        let stored_bytes =
            self.tree.checkpoint_states.len() * world.state_bytes() + self.tree.nodes.len() * size_of::<Node>();
        let storing_bytes = (self.options.memory_max_bytes - building_bytes).saturating_sub(2 * stored_bytes);
        let layer_bytes = world.state_bytes() + size_of::<Node>();
        // Divisions would take a tenth of the time of a narrow layer.
        if self.beam.width.saturating_mul(2 * built_bytes) <= building_bytes
            && self.beam.width.saturating_mul(2 * layer_bytes) <= storing_bytes
        {
            return self.beam.width;
        }
        self.beam.width.min(building_bytes / (2 * built_bytes)).min(storing_bytes / (2 * layer_bytes)).max(1)
    }
}

#[cfg(test)]
mod tests;
