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
use super::knowledge::Knowledge;
use super::layer::{Cursor, Index, Layer};
use super::model::{Automaton, Model};
use super::options::SolverOptions;
use super::stepper::Stepper;
use super::tiles::TileSet;
use crate::game::{LAST_TICK, Move, State, Style, World};
use crate::search::{BudgetMeter, Random};

/// Width of the beam, in combinations, in the first rounds of starts. The last value holds for later
/// rounds, until it begins to double (see [`NARROW_DOUBLINGS`]). Each round uses every [`Feature`]
/// once. The width is small at first, because a narrow beam finds easy lines quickly.
const WIDTHS: [usize; 3] = [4, 16, 64];
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

/// Returns the width of the beam away from dead ends. The starts are numbered from 1.
fn width_at(start: usize) -> usize {
    let round = (start - 1) / Feature::TURNS.len();
    WIDTHS[round.min(WIDTHS.len() - 1)] << start.ilog2().saturating_sub(NARROW_DOUBLINGS)
}

/// Returns `width` items of `order`: equally many of each kind if possible, and the first ones of
/// each kind. `order` must have more than `width` items.
pub(super) fn keep_evenly(order: &[usize], width: usize, kind: impl Fn(usize) -> Combination) -> Vec<usize> {
    let (mut index, mut kinds, mut counts) = (Index::default(), Vec::new(), Vec::new());
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
    len_max: usize,
    /// True if memory has limited a layer's width since the last backtracking.
    is_limited: bool,
}

#[derive(Debug)]
pub(super) struct SetBeam<const N: usize> {
    root: State,
    slots: Vec<Slot>,
    random: Random,
    pace: Pace,
    stack: Stack<N>,
    stepper: Stepper<N>,
    /// No knowledge, for tracing lines back: a layer may be older than the known sets.
    nothing: Knowledge<N>,
}

impl<const N: usize> SetBeam<N> {
    /// One combination must be able to hold the keys of all threats.
    pub fn new(model: &Model<N>, world: &World, root: &State, options: SolverOptions, start: u32) -> Self {
        let slots = model.slots_in(Combination::MAX);
        let key = slots.iter().map(|slot| model.part_of(slot, world, root)).sum();
        let place = model.board.places[usize::from(world.tile_after(root, Move::Stay))];
        let first = Layer { keys: vec![key], sets: vec![TileSet::of(place)] };
        Self {
            root: root.clone(),
            slots,
            random: Random::from_seed(options.seed),
            pace: Pace::start(start as usize),
            stack: Stack {
                layers: vec![first],
                len_max: options.memory_part(1) / Layer::<N>::KEY_BYTES,
                is_limited: false,
            },
            stepper: Stepper::default(),
            nothing: Knowledge::nothing(model, LAST_TICK.into()),
        }
    }

    pub fn start(&self) -> u32 {
        self.pace.starts.try_into().unwrap_or(u32::MAX)
    }

    pub fn starts_at(&self, root: &State) -> bool {
        self.root == *root
    }

    /// Continues until the budget is used up. Returns the moves of a line if the beam dies out at
    /// `longest_tick` or later, or reaches the last tick.
    pub fn advance(
        &mut self,
        model: &Model<N>,
        knowledge: &Knowledge<N>,
        longest_tick: u16,
        meter: &mut BudgetMeter,
    ) -> Option<Vec<Move>> {
        while meter.check().is_ok() {
            let tick = self.tick();
            if tick < usize::from(LAST_TICK) {
                let context = knowledge.context(model, &self.slots, tick);
                let layer = &self.stack.layers[self.stack.layers.len() - 1];
                // An interrupted step is repeated, which is cheap because beams are narrow.
                let mut next = self.stepper.step(&context, layer, usize::MAX, meter).ok()?.expect("no limit");
                for known in knowledge.known(tick + 1) {
                    let mut cursor = Cursor::new(&known.lookup);
                    next.retain(|key| cursor.places(key & known.mask));
                }
                if !next.is_empty() {
                    self.push(model, next);
                    continue;
                }
            }
            let moves = (tick >= usize::from(longest_tick)).then(|| self.line(model));
            self.backtrack();
            if moves.is_some() {
                return moves;
            }
        }
        None
    }

    fn tick(&self) -> usize {
        usize::from(self.root.tick()) + self.stack.layers.len() - 1
    }

    fn push(&mut self, model: &Model<N>, next: Layer<N>) {
        let stored = self.stack.layers.iter().map(Layer::len).sum();
        let affordable = (self.stack.len_max.saturating_sub(stored) / 2).max(1);
        self.stack.is_limited |= affordable < self.pace.width;
        let (len, width) = (next.len(), self.pace.width.min(affordable));
        let mut order: Vec<usize> = (0..len).collect();
        if len > width {
            self.random.shuffle(&mut order);
            let wanted = Feature::TURNS[(self.pace.starts - 1) % Feature::TURNS.len()];
            let (keys, slots) = (&next.keys, &self.slots[..]);
            order = keep_evenly(&order, width, |place| wanted.of(model, slots, keys[place]));
            order.sort_unstable();
        }
        let layer = Layer {
            keys: order.iter().map(|&place| next.keys[place]).collect(),
            sets: order.iter().map(|&place| next.sets[place]).collect(),
        };
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
    }

    /// Returns the moves to a state of the last layer.
    fn line(&mut self, model: &Model<N>) -> Vec<Move> {
        let last = &self.stack.layers[self.stack.layers.len() - 1];
        let (mut key, mut place) = (last.keys[0], last.sets[0].iter().next().expect("no set is empty"));
        let position_of = |place: u16| model.board.positions[usize::from(model.board.tiles[usize::from(place)])];
        let mut moves = Vec::new();
        for depth in (0..self.stack.layers.len() - 1).rev() {
            let context = self.nothing.context(model, &self.slots, usize::from(self.root.tick()) + depth);
            let before = self.stepper.predecessor(&context, &self.stack.layers[depth], (key, place));
            let (key_before, place_before) = before.expect("every state has a predecessor");
            moves.push(position_of(place_before).move_to(position_of(place)).expect("a step"));
            (key, place) = (key_before, place_before);
        }
        moves.reverse();
        moves
    }
}
