//! A beam search for lines, over combinations of the keys of all threats that see the player. A
//! step moves the player from all places of a combination at once, so even a narrow layer can hold
//! many states of the game.
//!
//! The beam drops states outside the known sets and keeps a random sample of the combinations that
//! remain. If none remains, the search backtracks, and doubles the width of the beam and the number
//! of ticks for the next backtracking. Both are reset once the beam is past the dead end. After a
//! few dead ends without a reset, the search starts over, because the decisive move often lies far
//! before them. It also starts over at a dead end if memory has limited the width.

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

/// Width of the beam, in combinations, in the first round of starts. Each round uses every
/// [`Feature`] once. The width is small at first, because a narrow beam finds easy lines quickly,
/// and quadruples from round to round, up to `WIDTH_LATER`.
const WIDTH_MIN: usize = 4;
const WIDTH_LATER: usize = 64;
/// After 2^`NARROW_DOUBLINGS` starts, the width doubles whenever the number of starts doubles.
const NARROW_DOUBLINGS: u32 = 7;

/// Minimum and maximum number of ticks by which the search backtracks from a dead end. The beam
/// counts as past a dead end `BACKTRACK_TICKS_MIN` ticks after it.
const BACKTRACK_TICKS_MIN: usize = 16;
const BACKTRACK_TICKS_MAX: usize = 256;

/// A property by which combinations are grouped. A beam rarely regains a value that it has lost, so
/// a layer keeps equally many combinations for each value, if possible. Every feature includes the
/// hawks' numbers of draws, because they decide the next posts. The starts use the features in
/// turn: all features at once would leave few combinations for each value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Feature {
    HawkDraws,
    /// The colours of the hawks' tiles, as on a chessboard. Each step changes the colour, so the
    /// colour shows whether a hawk has waited an odd number of times.
    HawkColours,
    OwlColours,
    SharkTiles,
}

impl Feature {
    const TURNS: [Self; 4] = [Self::HawkDraws, Self::HawkColours, Self::SharkTiles, Self::OwlColours];

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

#[derive(Debug)]
struct Trace {
    depth: usize,
    key: Combination,
    place: u16,
    moves: Vec<Move>,
    done: usize,
}

/// Returns the width of the beam away from dead ends. The starts are numbered from 1.
fn width_at(start: usize) -> usize {
    let round = (start - 1) / Feature::TURNS.len();
    let width = WIDTH_MIN.saturating_mul(4_usize.saturating_pow(round as u32)).min(WIDTH_LATER);
    width << start.ilog2().saturating_sub(NARROW_DOUBLINGS)
}

/// Returns `width` items of `order`: equally many of each kind if possible, and the first ones of
/// each kind. `order` must have more than `width` items.
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

#[derive(Debug)]
struct Pace {
    starts: usize,
    width: usize,
    backtrack_ticks: usize,
    wide_until: usize,
}

impl Pace {
    fn start(number: usize) -> Self {
        Self { starts: number, width: width_at(number), backtrack_ticks: BACKTRACK_TICKS_MIN, wide_until: 0 }
    }
}

#[derive(Debug)]
struct Stack<const N: usize> {
    layers: Vec<Layer<N>>,
    len: usize,
    len_max: usize,
    /// True if memory has limited a layer's width since the last backtracking.
    is_limited: bool,
}

#[derive(Debug)]
pub(super) struct SetBeam<const N: usize> {
    root: State,
    slots: Vec<Slot>,
    random: Generator,
    pace: Pace,
    stack: Stack<N>,
    join: Join<N>,
    next: Layer<N>,
    trace: Option<Trace>,
    /// The allowed places while a line is traced back. The known sets do not restrict them, because
    /// a layer may be older than the known sets.
    allowed: Vec<TileSet<N>>,
    projections: Vec<Projection<N>>,
}

impl<const N: usize> SetBeam<N> {
    /// Returns `None` if one combination cannot hold the keys of all threats.
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
            pace: Pace::start(1),
            stack: Stack {
                layers: vec![first],
                len: 1,
                len_max: memory_max_bytes / Layer::<N>::KEY_BYTES,
                is_limited: false,
            },
            join: Join::default(),
            next: Layer::default(),
            trace: None,
            allowed: model.free_places(),
            projections: vec![Projection::new(); model.automata.len()],
        })
    }

    pub fn start(&self) -> u32 {
        self.pace.starts.try_into().unwrap_or(u32::MAX)
    }

    pub fn begin_at(self, start: u32) -> Self {
        Self { pace: Pace::start(start as usize), ..self }
    }

    pub fn starts_at(&self, root: &State) -> bool {
        self.root == *root
    }

    /// Continues for about `slice` combinations, or until the budget is used up. Returns the moves
    /// of a line if the beam dies out at `longest_tick` or later, or reaches the last tick.
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
                let last = &self.stack.layers[self.stack.layers.len() - 1];
                let place = last.sets[0].iter().next().expect("no set is empty");
                let depth = self.stack.layers.len() - 1;
                self.trace = Some(Trace { depth, key: last.keys[0], place, moves: Vec::new(), done: 0 });
            } else {
                self.backtrack();
            }
        }
        None
    }

    fn tick(&self) -> usize {
        usize::from(self.root.tick()) + self.stack.layers.len() - 1
    }

    /// Builds a part of the next layer. Returns true once the layer is complete.
    fn step(&mut self, model: &Model<N>, target: &Target<N>, meter: &mut BudgetMeter) -> bool {
        let tick = self.tick();
        let layer = &self.stack.layers[self.stack.layers.len() - 1];
        let context = target.context(model, &self.slots, tick);
        if !self.join.advance(&context, layer, &mut self.next, meter) {
            return false;
        }
        if tick < target.tick {
            for known in target.known(tick + 1) {
                let mut cursor = Cursor::new(&known.lookup);
                // The next call builds this layer again, which is cheap because beams are narrow.
                if self.next.retain(|key| cursor.places(key & known.mask), meter).is_err() {
                    return false;
                }
            }
        }
        true
    }

    fn push(&mut self, model: &Model<N>) {
        let affordable = (self.stack.len_max.saturating_sub(self.stack.len) / 2).max(1);
        self.stack.is_limited |= affordable < self.pace.width;
        let (len, width) = (self.next.len(), self.pace.width.min(affordable));
        let mut order: Vec<usize> = (0..len).collect();
        if len > width {
            self.random.shuffle(&mut order);
            let wanted = Feature::TURNS[(self.pace.starts - 1) % Feature::TURNS.len()];
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
        self.stack.len += kept;
        self.stack.layers.push(layer);
        if self.stack.layers.len() > self.pace.wide_until {
            (self.pace.width, self.pace.backtrack_ticks) = (width_at(self.pace.starts), BACKTRACK_TICKS_MIN);
        }
    }

    fn backtrack(&mut self) {
        let depth = self.stack.layers.len() - 1;
        let is_memory_limited = std::mem::take(&mut self.stack.is_limited);
        if self.pace.backtrack_ticks > BACKTRACK_TICKS_MAX || is_memory_limited {
            self.pace = Pace::start(self.pace.starts + 1);
            self.stack.layers.truncate(1);
        } else {
            self.pace.wide_until = self.pace.wide_until.max(depth + BACKTRACK_TICKS_MIN);
            self.stack.layers.truncate(depth.saturating_sub(self.pace.backtrack_ticks) + 1);
            self.pace.width *= 2;
            self.pace.backtrack_ticks *= 2;
        }
        self.stack.len = self.stack.layers.iter().map(Layer::len).sum();
    }

    fn trace_back(&mut self, model: &Model<N>, meter: &mut BudgetMeter) {
        let Some(trace) = &mut self.trace else { return };
        let depth = trace.depth - 1;
        let layer = &self.stack.layers[depth];
        let end = layer.len().min(trace.done + CHUNK);
        let tick = usize::from(self.root.tick()) + depth;
        let (slots, allowed, projections) = (&self.slots[..], &self.allowed[..], &self.projections[..]);
        let context = JoinContext { model, slots, tick, allowed, projections };
        let state = (trace.key, trace.place);
        let Ok(before) = self.join.predecessor(&context, layer, trace.done..end, state, meter) else { return };
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
