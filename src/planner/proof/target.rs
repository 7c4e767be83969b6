//! The question whether the player can be alive at the start of a tick, the *target*, and the
//! knowledge about its answer.

use std::ops::Range;
use std::sync::Arc;

use super::Step;
use super::join::{Combination, Join, JoinContext, Layer, Lookup, MemorySlots, Slot, slots_of};
use super::model::{Automaton, Closure, Memories, Model};
use super::projection::Projection;
use super::tile_set::TileSet;
use crate::game::{Move, State, Style, World};
use crate::planner::survival::Prune;
use crate::search::BudgetMeter;

/// Interval, in ticks, at which layers are kept; small layers are always kept.
const KEPT_TICKS: usize = 5;
/// A small layer has fewer states than this.
const SMALL_STATES: u64 = 512;
/// Minimum distance, in ticks, from the start of a sweep to the target: shorter sweeps prove
/// little.
const START_MARGIN_TICKS: usize = 20;
/// The keys of a hawk for each that it joins with: soon afterwards it can remember many things.
const HAWK_WEIGHT: usize = 32;
/// Minimum distance, in ticks, between the starts of sweeps over the same threats.
const START_DISTANCE_TICKS: usize = 30;

/// The states of a tick from which the target can be reached against the threats whose bits are in
/// the mask.
#[derive(Debug)]
pub(super) struct Known<const N: usize> {
    pub mask: Combination,
    pub states: u64,
    pub lookup: Lookup<N>,
}

/// A target, and for each tick what has been proven about the ways to it: states that are not in
/// these sets do not lead to it.
#[derive(Debug)]
pub(super) struct Target<const N: usize> {
    pub tick: usize,
    /// By tick, the places where the player can be.
    pub allowed: Vec<TileSet<N>>,
    /// By automaton, its projection; empty for those without one.
    projections: Vec<Projection<N>>,
    /// The layers of the projections that are still to be made: the automaton, and the tick.
    projecting: Option<(usize, usize)>,
    /// By tick, the places where the player can be on the way to an earlier target.
    earlier_allowed: Vec<TileSet<N>>,
    /// By automaton, the keys that it can have.
    closures: Arc<Vec<Closure>>,
    /// What hawks may remember.
    memories: Arc<Memories>,
    /// The threats that can be joined, in the order in which they join.
    pub slots: Vec<Slot>,
    known: Vec<Option<Arc<Known<N>>>>,
    known_bytes: usize,
    known_max_bytes: usize,
    /// The proof of all of it.
    pub steps: Vec<Step>,
    /// A sweep that ran out of states beyond the target: with the steps before it, the proof of a
    /// bound.
    pub beyond: Option<Step>,
}

impl<const N: usize> Target<N> {
    /// Starts with the projections on single sharks.
    pub fn new(model: &Model<N>, tick: usize, order: &[usize], known_max_bytes: usize) -> Self {
        let closures =
            model.automata.iter().zip(&model.start).map(|(automaton, &start)| model.closure(automaton, start));
        let closures = Arc::new(closures.collect());
        let slots = slots_of(model, order);
        let mut target = Self {
            tick,
            allowed: Vec::new(),
            projections: Vec::new(),
            projecting: None,
            earlier_allowed: Vec::new(),
            closures,
            memories: model.memories.clone(),
            slots,
            known: vec![None; tick + 1],
            known_bytes: 0,
            known_max_bytes,
            steps: Vec::new(),
            beyond: None,
        };
        target.begin_projections(model);
        target
    }

    /// A later target. The knowledge about this one holds for it, too, because every path to it
    /// leads through this tick.
    pub fn later(&self, model: &Model<N>, tick: usize) -> Self {
        let mut known = self.known.clone();
        known.resize(tick + 1, None);
        let mut later = Self {
            tick,
            allowed: Vec::new(),
            projections: Vec::new(),
            projecting: None,
            earlier_allowed: self.allowed[..=self.tick].to_vec(),
            closures: self.closures.clone(),
            memories: self.memories.clone(),
            slots: self.slots.clone(),
            known,
            steps: self.steps.clone(),
            beyond: None,
            ..*self
        };
        later.begin_projections(model);
        later
    }

    /// Adds the knowledge about an earlier target over the same slots, where it covers more threats.
    /// Returns whether there was any.
    pub fn adopt(&mut self, earlier: &Self) -> bool {
        let mut is_adopted = false;
        for (tick, known) in earlier.known.iter().enumerate() {
            let Some(known) = known else { continue };
            let own = self.known[tick].as_ref();
            if own.is_some_and(|own| own.mask == known.mask || own.mask & !known.mask != 0) {
                continue;
            }
            let known_bytes = self.known_bytes + known.lookup.bytes() - own.map_or(0, |own| own.lookup.bytes());
            if known_bytes <= self.known_max_bytes {
                self.known_bytes = known_bytes;
                self.known[tick] = Some(known.clone());
                is_adopted = true;
            }
        }
        if is_adopted {
            for (allowed, earlier) in self.allowed.iter_mut().zip(&earlier.allowed[..=earlier.tick]) {
                *allowed = allowed.and(earlier);
            }
            // What is known about earlier targets comes first in a proof.
            let own = std::mem::replace(&mut self.steps, earlier.steps.clone());
            let own: Vec<Step> = own.into_iter().filter(|step| !self.steps.contains(step)).collect();
            self.steps.extend(own);
            self.steps.sort_by_key(|step| step.target_tick);
        }
        is_adopted
    }

    fn begin_projections(&mut self, model: &Model<N>) {
        self.allowed = model.free_places();
        self.allowed[model.first_tick] = TileSet::of(model.player);
        for tick in (model.first_tick..self.tick).rev() {
            let landing = model.landing(tick, &self.allowed);
            self.allowed[tick] = self.allowed[tick].and(&model.board.reach(&landing));
        }
        self.projections = vec![Projection::new(); model.automata.len()];
        self.projecting = Some((0, self.tick));
    }

    /// Continues with the projections on single sharks until the budget is used up; returns true
    /// once they are complete. The target may not be used before.
    pub fn project(&mut self, model: &Model<N>, meter: &mut BudgetMeter) -> bool {
        while let Some((automaton, tick)) = self.projecting {
            if meter.check().is_err() {
                return false;
            }
            self.projecting = match &model.automata.get(automaton) {
                Some(Automaton::Chaser { style: Style::Shark, branches, .. }) => {
                    let projection = &mut self.projections[automaton];
                    if projection.is_empty() {
                        *projection = vec![Vec::new(); self.tick + 1];
                    }
                    model.project_shark(branches, tick, projection, &mut self.allowed);
                    meter.add_ticks(1 + (branches.len() / 16) as u64);
                    Some(if tick == model.first_tick { (automaton + 1, self.tick) } else { (automaton, tick - 1) })
                }
                Some(_) => Some((automaton + 1, self.tick)),
                None => None,
            };
            if self.projecting.is_none() {
                for (allowed, earlier) in self.allowed.iter_mut().zip(&std::mem::take(&mut self.earlier_allowed)) {
                    *allowed = allowed.and(earlier);
                }
            }
        }
        true
    }

    /// The slots whose bits are in a mask.
    pub fn slots_in(&self, mask: Combination) -> Vec<Slot> {
        self.slots.iter().copied().filter(|slot| slot.mask() & mask != 0).collect()
    }

    /// The bits of the threats that the n-th sweep of the whole game leaves out: none, the hawks,
    /// whose memories make layers wide, or these and one more style.
    pub fn whole_sweep_without(&self, model: &Model<N>, nth: usize) -> Combination {
        let is_left_out = |slot: &&Slot| match &model.automata[slot.automaton] {
            Automaton::Hawk { .. } => !nth.is_multiple_of(4),
            Automaton::Owl { .. } => nth % 4 == 2,
            Automaton::Chaser { style, .. } => nth % 4 == 3 && *style == Style::Deer,
        };
        self.slots.iter().filter(is_left_out).fold(0, |mask, slot| mask | slot.mask())
    }

    fn memory_slots(&self, mask: Combination) -> MemorySlots {
        MemorySlots::new(&self.memories, &self.slots, mask)
    }

    /// A layer over the threats of a mask with an index.
    pub fn index(&self, layer: Layer<N>, mask: Combination) -> Lookup<N> {
        Lookup::new(layer, self.memory_slots(mask))
    }

    /// The data that joins need.
    pub fn context<'a>(&'a self, model: &'a Model<N>, slots: &'a [Slot], tick: usize) -> JoinContext<'a, N> {
        JoinContext { model, slots, tick, allowed: &self.allowed, projections: &self.projections }
    }

    /// The knowledge about a tick.
    pub fn known(&self, tick: usize) -> Option<&Known<N>> {
        self.known[tick].as_deref()
    }

    /// The number of keys of a threat that joins in a tick, as a measure of its cost.
    pub fn closure_len(&self, model: &Model<N>, slot: Slot, tick: usize) -> usize {
        let keys = self.closures[slot.automaton].after(model.moves_before[tick]).len();
        let is_hawk = matches!(model.automata[slot.automaton], Automaton::Hawk { .. });
        if is_hawk { keys * HAWK_WEIGHT } else { keys }
    }

    /// The keys that a threat may have in a tick, with the places from which the player can survive
    /// against it. For an owl these are the keys without memory, so they are complete only where
    /// its memory does not matter.
    pub fn keys_at(&self, model: &Model<N>, slot: Slot, tick: usize) -> Vec<(u32, TileSet<N>)> {
        if tick == model.first_tick {
            return vec![(model.start[slot.automaton], self.allowed[tick])];
        }
        let automaton = &model.automata[slot.automaton];
        let lives = |key: u32| match self.projections[slot.automaton].get(tick) {
            Some(layer) => layer[key as usize].and(&self.allowed[tick]),
            None => self.allowed[tick].without(&TileSet::of(model.place(automaton, key))),
        };
        let keys = self.closures[slot.automaton].after(model.moves_before[tick]).iter().map(|&key| (key, lives(key)));
        keys.filter(|(_, set)| !set.is_empty()).collect()
    }

    /// Applies the knowledge about a tick. If it covers more threats than the layer has, they join
    /// the layer if it `absorbs` them. Returns the layer's new mask.
    pub fn narrow(
        &self,
        tick: usize,
        mask: Combination,
        absorbs: bool,
        join: &mut Join<N>,
        layer: &mut Layer<N>,
    ) -> Combination {
        let Some(known) = self.known(tick) else { return mask };
        if known.mask & !mask == 0 {
            layer.retain(|key| known.lookup.places(key & known.mask));
            mask
        } else if mask & !known.mask != 0 {
            mask
        } else if absorbs {
            *layer = Join::natural(std::mem::take(layer), mask, self.memory_slots(mask), known.lookup.layer());
            known.mask
        } else {
            let narrow = self.index(join.project(known.lookup.layer(), mask), mask);
            layer.retain(|key| narrow.places(key & mask));
            mask
        }
    }

    /// Records the states of a tick from which the target can be reached, if that adds to the
    /// knowledge.
    pub fn record(&mut self, tick: usize, mask: Combination, lookup: Lookup<N>) {
        let layer = lookup.layer();
        self.allowed[tick] = self.allowed[tick].and(&layer.places());
        let states = layer.states();
        let is_wanted = tick % KEPT_TICKS == 1 || states < SMALL_STATES;
        let before = self.known[tick].as_ref();
        let is_better = before.is_none_or(|known| known.mask & !mask == 0);
        let known_bytes = self.known_bytes + lookup.bytes() - before.map_or(0, |known| known.lookup.bytes());
        if is_wanted && is_better && known_bytes <= self.known_max_bytes {
            self.known_bytes = known_bytes;
            self.known[tick] = Some(Arc::new(Known { mask, states, lookup }));
        }
    }

    /// The start of the next sweep in a range of ticks: the one where one more threat gives the
    /// fewest states. Returns the tick, the mask known there, and the number of states.
    pub fn bottleneck(
        &self,
        model: &Model<N>,
        ticks: Range<usize>,
        tried: &[(usize, Combination)],
    ) -> Option<(usize, Combination, u64)> {
        let size = |tick: usize| {
            let known = self.known(tick)?;
            let was_tried = |&(other, mask): &(usize, Combination)| {
                mask == known.mask && tick.abs_diff(other) < START_DISTANCE_TICKS
            };
            if tried.iter().any(was_tried) {
                return None;
            }
            // If more threats are known shortly after this tick, a sweep from here would end there.
            let is_covered = |after: usize| {
                self.known(after).is_some_and(|other| known.mask & !other.mask == 0 && other.mask != known.mask)
            };
            if (tick + 1..=(tick + KEPT_TICKS).min(self.tick)).any(is_covered) {
                return None;
            }
            let missing = *self.slots.iter().find(|slot| slot.mask() & known.mask == 0)?;
            let is_owl = matches!(model.automata[missing.automaton], Automaton::Owl { .. });
            let can_join = !is_owl || model.forgets(tick);
            let keys = if tick == model.first_tick { 1 } else { self.closure_len(model, missing, tick) as u64 };
            can_join.then_some((tick, known.mask, known.states * keys))
        };
        let end = ticks.end.min(self.tick.saturating_sub(START_MARGIN_TICKS));
        (ticks.start..end).filter_map(size).min_by_key(|&(.., states)| states)
    }
}

/// Lets a search skip the states that do not lead to the target.
pub(super) struct Pruner<'a, const N: usize> {
    pub model: &'a Model<N>,
    pub target: &'a Target<N>,
}

impl<const N: usize> Prune for Pruner<'_, N> {
    #[inline]
    fn is_hopeless(&self, world: &World, state: &State) -> bool {
        let (model, target) = (self.model, self.target);
        let tick = usize::from(state.tick());
        if tick > target.tick {
            return false;
        }
        let place = model.board.places[usize::from(world.tile_after(state, Move::Stay))];
        if !target.allowed[tick].contains(place) {
            return true;
        }
        for (automaton, projection) in model.automata.iter().zip(&target.projections) {
            if let Some(layer) = projection.get(tick)
                && !layer[model.key_in(world, state, automaton) as usize].contains(place)
            {
                return true;
            }
        }
        let Some(known) = target.known(tick) else { return false };
        let slots = target.slots.iter().filter(|slot| slot.mask() & known.mask != 0);
        let key =
            slots.fold(0, |key, slot| key | slot.place(model.key_in(world, state, &model.automata[slot.automaton])));
        !known.lookup.places(key).contains(place)
    }
}
