//! A beam search over combinations of keys: like the survival search, but an entry of a layer is a
//! combination of the keys of all threats, with every place where the player can be then, and one
//! step moves the player from all of these places at once. A layer so holds many times as many
//! states of the game.
//!
//! Combinations that the knowledge about the target rules out are dropped; of the others, a random
//! part is kept, spread evenly over features that the game seldom changes. Where no combination is
//! left, the search backtracks, further and with a wider beam each time that it dies near the same
//! place, and after a few times starts over: what decides over life and death often lies far before
//! the dead end.

use super::combination::{Combination, Slot};
use super::join::{CHUNK, Join};
use super::layer::{Cursor, Index, Layer};
use super::model::{Automaton, Model};
use super::moves::JoinContext;
use super::projection::Projection;
use super::target::Target;
use super::tile_set::TileSet;
use crate::game::{LAST_TICK, Move, State, Style, World};
use crate::search::{BudgetMeter, Generator};

/// The initial width of the beam, in combinations. The first starts find easy lines soon; from round
/// to round of the features it quadruples, up to the other width.
const WIDTH_MIN: usize = 4;
const WIDTH_LATER: usize = 64;
/// It doubles when the number of starts does, from this number of doublings on.
const NARROW_DOUBLINGS: u32 = 7;
/// How many ticks the search backtracks when it first dies at a place, and at most.
const BACKTRACK_TICKS_MIN: usize = 16;
const BACKTRACK_TICKS_MAX: usize = 256;
/// How many ticks past a dead end the beam stays wide.
const WIDE_TICKS: usize = 8;

/// What few moves of a threat change, so that a beam which has lost the right one does not find it
/// again. A layer keeps as many combinations of each kind, if there are as many. Hawks' draws always
/// count, because they decide which posts come next; the others take turns from start to start,
/// because more kinds at a time leave few combinations of each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Feature {
    HawkDraws,
    /// The colours of the tiles of hawks or of owls, as on a chessboard: every move changes them, and
    /// only a threat that waits falls behind.
    HawkColours,
    OwlColours,
    /// The tiles of sharks.
    SharkTiles,
}

impl Feature {
    const TURNS: [Self; 4] = [Self::HawkDraws, Self::HawkColours, Self::SharkTiles, Self::OwlColours];

    /// What a combination has of this feature, and its hawks' draws.
    fn of<const N: usize>(self, model: &Model<N>, slots: &[Slot], key: Combination) -> Combination {
        slots.iter().fold(0, |features, slot| {
            let automaton = &model.automata[slot.automaton];
            let tile = || model.tile(automaton, slot.key(key));
            let own = match (self, automaton) {
                (Self::HawkColours, Automaton::Hawk { .. }) | (Self::OwlColours, Automaton::Owl { .. }) => {
                    let position = model.board.positions[tile()];
                    (position.x + position.y) as u32 & 1
                }
                (Self::SharkTiles, Automaton::Chaser { style: Style::Shark, .. }) => tile() as u32,
                _ => 0,
            };
            features | slot.place(own) | key & slot.draws_mask()
        })
    }
}

/// The way back from the last layer to the root.
#[derive(Debug)]
struct Trace {
    /// A state of the layer at this depth: its combination, and the player's place.
    depth: usize,
    key: Combination,
    place: u16,
    /// The moves from there on, the last one first.
    moves: Vec<Move>,
    /// How many combinations of the layer before have been tried.
    done: usize,
}

/// The width of a start, the first of which has number 1, where nothing is known to be hard.
fn width_at(start: usize) -> usize {
    let round = (start - 1) / Feature::TURNS.len();
    let width = WIDTH_MIN.saturating_mul(4_usize.saturating_pow(round as u32)).min(WIDTH_LATER);
    width << start.ilog2().saturating_sub(NARROW_DOUBLINGS)
}

/// The first places of each kind in an order: as many of each as there are, or as fit into `width`,
/// which is less than there are places.
pub(super) fn keep_evenly(order: &[usize], width: usize, kind: impl Fn(usize) -> Combination) -> Vec<usize> {
    let (mut index, mut kinds, mut counts) = (Index::default(), Vec::new(), Vec::new());
    index.clear(0);
    let ranked = order.iter().enumerate().map(|(position, &place)| {
        let kind = index.place(kind(place), &mut kinds);
        counts.resize(kinds.len(), 0);
        counts[kind] += 1;
        (counts[kind], position, place)
    });
    let mut ranked: Vec<(u32, usize, usize)> = ranked.collect();
    ranked.select_nth_unstable(width);
    ranked.truncate(width);
    ranked.into_iter().map(|(.., place)| place).collect()
}

/// A search that can be interrupted at any time.
#[derive(Debug)]
pub(super) struct SetBeam<const N: usize> {
    root: State,
    /// The slots of the target, with the draws of hawks counted.
    slots: Vec<Slot>,
    random: Generator,
    width: usize,
    /// How often the search has started at the root.
    starts: usize,
    backtrack_ticks: usize,
    /// The beam becomes narrow again beyond this layer.
    wide_until: usize,
    /// The layers from the root on, a stack.
    layers: Vec<Layer<N>>,
    /// Combinations in all layers, and how many fit.
    len: usize,
    len_max: usize,
    /// Whether memory limited the width of a layer since the last backtracking.
    is_memory_limited: bool,
    join: Join<N>,
    /// The layer under construction.
    next: Layer<N>,
    /// A line that is being traced.
    trace: Option<Trace>,
    /// What the trace needs: places and projections without knowledge, which may have grown since
    /// a layer was built.
    allowed: Vec<TileSet<N>>,
    projections: Vec<Projection<N>>,
}

impl<const N: usize> SetBeam<N> {
    /// A search from a state, or `None` if the threats do not fit into a combination.
    pub fn new(
        model: &Model<N>,
        target: &Target<N>,
        world: &World,
        root: &State,
        seed: u64,
        memory_max_bytes: usize,
    ) -> Option<Self> {
        let slots = target.slots_in(model, Combination::MAX);
        if slots.len() < model.automata.len() {
            return None;
        }
        let key = slots.iter().map(|slot| slot.part_of(model, world, root)).sum();
        let place = model.board.places[usize::from(world.tile_after(root, Move::Stay))];
        let first = Layer { keys: vec![key], sets: vec![TileSet::of(place)] };
        Some(Self {
            root: root.clone(),
            slots,
            random: Generator::from_seed(seed),
            width: width_at(1),
            starts: 1,
            backtrack_ticks: BACKTRACK_TICKS_MIN,
            wide_until: 0,
            layers: vec![first],
            len: 1,
            len_max: memory_max_bytes / Layer::<N>::KEY_BYTES,
            is_memory_limited: false,
            join: Join::default(),
            next: Layer::default(),
            trace: None,
            allowed: model.free_places(),
            projections: vec![Projection::new(); model.automata.len()],
        })
    }

    /// Whether this is the root of the search.
    pub fn starts_at(&self, root: &State) -> bool {
        self.root == *root
    }

    /// Continues for about this many combinations, or until the budget is used up. Returns the
    /// moves of a line as soon as one is alive at `longest_tick` or later; they end where every
    /// successor is caught or known not to reach the target.
    pub fn advance(
        &mut self,
        model: &Model<N>,
        target: &Target<N>,
        longest_tick: u16,
        slice: u64,
        meter: &mut BudgetMeter,
    ) -> Option<Vec<Move>> {
        let stop = meter.ticks() + slice;
        while meter.check().is_ok() && meter.ticks() < stop {
            if let Some(trace) = &mut self.trace {
                if trace.depth > 0 {
                    self.trace_back(model, meter);
                    continue;
                }
                trace.moves.reverse();
                let moves = std::mem::take(&mut trace.moves);
                self.trace = None;
                self.backtrack();
                return Some(moves);
            }
            if self.tick() < usize::from(LAST_TICK) && !self.step(model, target, meter) {
                continue;
            }
            if !self.next.is_empty() {
                self.push(model);
            } else if self.tick() >= usize::from(longest_tick) {
                let last = &self.layers[self.layers.len() - 1];
                let place = last.sets[0].iter().next().expect("no set is empty");
                let depth = self.layers.len() - 1;
                self.trace = Some(Trace { depth, key: last.keys[0], place, moves: Vec::new(), done: 0 });
            } else {
                self.backtrack();
            }
        }
        None
    }

    /// The tick of the last layer.
    fn tick(&self) -> usize {
        usize::from(self.root.tick()) + self.layers.len() - 1
    }

    /// Builds a part of the next layer; returns true once it is complete.
    fn step(&mut self, model: &Model<N>, target: &Target<N>, meter: &mut BudgetMeter) -> bool {
        let tick = self.tick();
        let layer = &self.layers[self.layers.len() - 1];
        let context = target.context(model, &self.slots, tick);
        if !self.join.is_advancing() {
            self.next = layer.clone();
        }
        if !self.join.advance(&context, &mut self.next, meter) {
            return false;
        }
        if tick < target.tick {
            for known in target.known(tick + 1) {
                let mut cursor = Cursor::new(&known.lookup);
                self.next.retain(|key| cursor.places(key & known.mask));
            }
        }
        true
    }

    /// Keeps a random part of the new layer, spread evenly over the feature whose turn it is.
    fn push(&mut self, model: &Model<N>) {
        let affordable = (self.len_max.saturating_sub(self.len) / 2).max(1);
        self.is_memory_limited |= affordable < self.width;
        let (len, width) = (self.next.len(), self.width.min(affordable));
        let mut order: Vec<usize> = (0..len).collect();
        if len > width {
            self.random.shuffle(&mut order);
            let wanted = Feature::TURNS[(self.starts - 1) % Feature::TURNS.len()];
            let (keys, slots) = (&self.next.keys, &self.slots[..]);
            order = keep_evenly(&order, width, |place| wanted.of(model, slots, keys[place]));
            order.sort_unstable();
        }
        let kept = order.len();
        let layer = Layer {
            keys: order.iter().map(|&place| self.next.keys[place]).collect(),
            sets: order.iter().map(|&place| self.next.sets[place]).collect(),
        };
        self.next.clear();
        self.len += kept;
        self.layers.push(layer);
        if self.layers.len() > self.wide_until {
            (self.width, self.backtrack_ticks) = (width_at(self.starts), BACKTRACK_TICKS_MIN);
        }
    }

    fn backtrack(&mut self) {
        let depth = self.layers.len() - 1;
        let is_memory_limited = std::mem::take(&mut self.is_memory_limited);
        if self.backtrack_ticks > BACKTRACK_TICKS_MAX || is_memory_limited {
            self.starts += 1;
            (self.width, self.backtrack_ticks, self.wide_until) = (width_at(self.starts), BACKTRACK_TICKS_MIN, 0);
            self.layers.truncate(1);
        } else {
            self.wide_until = self.wide_until.max(depth + WIDE_TICKS);
            self.layers.truncate(depth.saturating_sub(self.backtrack_ticks) + 1);
            self.width *= 2;
            self.backtrack_ticks *= 2;
        }
        self.len = self.layers.iter().map(Layer::len).sum();
    }

    /// Looks for the state before the one that the trace has reached.
    fn trace_back(&mut self, model: &Model<N>, meter: &mut BudgetMeter) {
        let Some(trace) = &mut self.trace else { return };
        let depth = trace.depth - 1;
        let layer = &self.layers[depth];
        let end = layer.len().min(trace.done + CHUNK);
        let tick = usize::from(self.root.tick()) + depth;
        let (slots, allowed, projections) = (&self.slots[..], &self.allowed[..], &self.projections[..]);
        let context = JoinContext { model, slots, tick, allowed, projections };
        let before = self.join.predecessor(&context, layer, trace.done..end, (trace.key, trace.place));
        meter.add_ticks((end - trace.done) as u64);
        trace.done = end;
        let Some((key, place)) = before else {
            debug_assert!(end < layer.len(), "every state has a predecessor");
            if end == layer.len() {
                self.trace = None;
                self.backtrack();
            }
            return;
        };
        let position_of = |place: u16| model.board.positions[usize::from(model.board.tiles[usize::from(place)])];
        let player_move = position_of(place).move_to(position_of(trace.place)).expect("a step");
        trace.moves.push(player_move);
        (trace.depth, trace.key, trace.place, trace.done) = (depth, key, place, 0);
    }
}
