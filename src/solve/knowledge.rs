//! The known sets of a target: supersets of the states through which a line can reach it.

use std::borrow::Cow;
use std::sync::Arc;

use super::combination::{Combination, Slot, run_mask};
use super::layer::{Cursor, Front, Layer, Lookup};
use super::model::{Automaton, Model, Projection, StepContext};
use super::options::SolverOptions;
use super::proof::Step;
use super::tiles::TileSet;
use crate::game::{Move, State, Style, World};
use crate::search::{BudgetMeter, StopReason};

/// A known set. For one tick and the threats in `mask`, it contains every state through which a
/// line can reach the target.
#[derive(Debug)]
pub(super) struct Known<const N: usize> {
    /// The target for which the set was found. It may be earlier than the target in question.
    pub target: usize,
    pub mask: Combination,
    pub states: u64,
    /// Number of states after projection to the model's first slot; `states` if the threat of this
    /// slot is not in `mask`.
    pub first_states: u64,
    pub lookup: Lookup<N>,
}

#[derive(Clone, Debug)]
pub(super) struct Knowledge<const N: usize> {
    pub tick: usize,
    /// For each tick up to the target, a superset of the places through which a line can reach the
    /// target. For later ticks, all open places without a bull or goldfish.
    pub allowed: Vec<TileSet<N>>,
    /// One projection per automaton; empty unless the automaton is a shark and the projection fits
    /// into the memory.
    projections: Arc<Vec<Projection<N>>>,
    sets: Vec<Vec<Arc<Known<N>>>>,
    bytes: usize,
    /// Maximum bytes of `sets`.
    max_bytes: usize,
    /// The sweeps that led to the known sets.
    pub steps: Vec<Step>,
}

impl<const N: usize> Knowledge<N> {
    /// Returns empty knowledge. Any state may lead to the target.
    pub fn nothing(model: &Model<N>, tick: usize) -> Self {
        let mut allowed = model.free_places();
        allowed[model.times.first_tick] = TileSet::of(model.board.player);
        let projections = Arc::new(vec![Projection::new(); model.automata.len()]);
        let sets = vec![Vec::new(); tick + 1];
        Self { tick, allowed, projections, sets, bytes: 0, max_bytes: 0, steps: Vec::new() }
    }

    /// Computes the places from which the player can survive the bulls, the goldfish and any one of
    /// the sharks until the target. Takes over the known sets of `earlier`, because lines that reach
    /// the target also reach an earlier one.
    pub fn new(
        model: &Model<N>,
        tick: usize,
        options: SolverOptions,
        earlier: Option<&Self>,
        meter: &mut BudgetMeter,
    ) -> Result<Self, StopReason> {
        let mut own = Self { max_bytes: options.memory_part(1), ..Self::nothing(model, tick) };
        for tick in (model.times.first_tick..tick).rev() {
            let landing = model.landing(tick, &own.allowed);
            own.allowed[tick] = own.allowed[tick].and(&model.board.reach(&landing));
        }
        let projection_bytes = (tick + 1) * model.tiles() * size_of::<TileSet<N>>();
        let mut projections = vec![Projection::new(); model.automata.len()];
        let is_shark = |automaton: &&Automaton<N>| matches!(automaton, Automaton::Chaser { style: Style::Shark, .. });
        let sharks = model.automata.iter().zip(&mut projections).filter(|(automaton, _)| is_shark(automaton));
        for (shark, projection) in sharks.take(options.memory_part(2) / projection_bytes) {
            *projection = vec![Vec::new(); tick + 1];
            for tick in (model.times.first_tick..=tick).rev() {
                meter.check()?;
                model.project(shark, tick, projection, &mut own.allowed);
                meter.add_ticks(1 + (model.tiles() / 16) as u64);
            }
        }
        own.projections = Arc::new(projections);
        if let Some(earlier) = earlier {
            own.adopt(earlier);
        }
        Ok(own)
    }

    /// Adds the known sets of an earlier target, except those that exceed the memory limit and those
    /// whose masks lie within the mask of a known set of this target in the same tick. Returns true
    /// if any set was added.
    pub fn adopt(&mut self, earlier: &Self) -> bool {
        let mut is_adopted = false;
        for (tick, sets) in earlier.sets.iter().enumerate() {
            for known in sets {
                let is_new = self.sets[tick].iter().all(|own| known.mask & !own.mask != 0);
                is_adopted |= is_new && self.keep(tick, known.clone());
            }
        }
        if is_adopted {
            self.restrict_places(&earlier.allowed[..=earlier.tick]);
            let own = std::mem::replace(&mut self.steps, earlier.steps.clone());
            let own: Vec<Step> = own.into_iter().filter(|step| !self.steps.contains(step)).collect();
            self.steps.extend(own);
            self.steps.sort_by_key(|step| step.target_tick);
        }
        is_adopted
    }

    pub fn restrict_places(&mut self, allowed: &[TileSet<N>]) {
        self.allowed.iter_mut().zip(allowed).for_each(|(own, other)| *own = own.and(other));
    }

    /// Returns the known sets of a tick; none for ticks after the target.
    pub fn known(&self, tick: usize) -> &[Arc<Known<N>>] {
        self.sets.get(tick).map_or(&[], |sets| &sets[..])
    }

    pub fn is_known(&self, tick: usize, slot: Slot) -> bool {
        self.known(tick).iter().any(|known| known.mask & slot.mask() != 0)
    }

    pub fn context<'a>(&'a self, model: &'a Model<N>, slots: &'a [Slot], tick: usize) -> StepContext<'a, N> {
        StepContext { model, slots, tick, landing: model.landing(tick, &self.allowed), projections: &self.projections }
    }

    #[cfg(test)]
    pub fn projection_bytes(&self) -> usize {
        self.projections.iter().flatten().map(|layer| layer.len() * size_of::<TileSet<N>>()).sum()
    }

    /// Adds a set, and removes the sets of this tick whose masks lie within the new set's mask.
    /// Returns false, and changes nothing, if the sets would exceed the memory limit.
    pub fn keep(&mut self, tick: usize, known: Arc<Known<N>>) -> bool {
        let is_replaced = |other: &Arc<Known<N>>| other.mask & !known.mask == 0;
        let replaced = self.sets[tick].iter().filter(|other| is_replaced(other));
        let replaced_bytes: usize = replaced.map(|other| other.lookup.bytes()).sum();
        let bytes = self.bytes + known.lookup.bytes() - replaced_bytes;
        let has_room = bytes <= self.max_bytes;
        if has_room {
            self.bytes = bytes;
            self.sets[tick].retain(|other| !is_replaced(other));
            self.sets[tick].push(known);
        }
        has_room
    }

    pub fn known_sets(&self) -> impl Iterator<Item = (usize, &Arc<Known<N>>)> {
        self.sets.iter().enumerate().flat_map(|(tick, sets)| sets.iter().map(move |known| (tick, known)))
    }

    /// Returns a layer without threats, with all allowed places of the player.
    pub fn players(&self, tick: usize) -> Front<N> {
        Front { tick, mask: 0, layer: Layer { keys: vec![0], sets: vec![self.allowed[tick]] } }
    }

    /// Returns true if a threat without known states can join at `tick`, after the first tick. An
    /// owl can do so only if its memory no longer matters (see [`Model::forgets`]).
    pub fn can_join(&self, model: &Model<N>, slot: Slot, tick: usize) -> bool {
        !matches!(model.automata[slot.automaton], Automaton::Owl { .. }) || model.forgets(tick)
    }

    /// Returns each key that a threat can have, with the places where the player can be if the
    /// threat has this key. After the first tick, an owl's keys are valid only if its memory no
    /// longer matters (see [`Model::forgets`]).
    fn keys_at(&self, model: &Model<N>, slot: Slot, tick: usize) -> Vec<(u32, TileSet<N>)> {
        if tick == model.times.first_tick {
            return vec![(model.origins[slot.automaton].key, self.allowed[tick])];
        }
        let automaton = &model.automata[slot.automaton];
        let lives = |key: u32| match self.projections[slot.automaton].get(tick) {
            Some(layer) => layer[key as usize].and(&self.allowed[tick]),
            None => self.allowed[tick].without(&TileSet::of(model.place(automaton, key))),
        };
        let keys = model.closure(slot, tick).iter().map(|&key| (key, lives(key)));
        keys.filter(|(_, set)| !set.is_empty()).collect()
    }

    /// Adds a threat: at the first tick with its first key, later with its known states if it has
    /// any, otherwise with all keys that it can have. A hawk joins with counted draws if a known
    /// set has them. Returns the new layer, or `None` if the layer would have more than
    /// `max_len` combinations.
    pub fn join(
        &self,
        model: &Model<N>,
        &Front { tick, mask, ref layer }: &Front<N>,
        slot: Slot,
        max_len: usize,
        meter: &mut BudgetMeter,
    ) -> Result<Option<Front<N>>, StopReason> {
        let sets =
            self.known(tick).iter().filter(|known| known.mask & slot.mask() != 0 && tick > model.times.first_tick);
        // Choose a set with counted draws if possible, and with as many bits of `mask` as possible.
        let counts = |known: &Known<N>| known.mask & slot.draws_mask() != 0;
        let (wide, mask) = match sets.max_by_key(|known| (counts(known), (known.mask & mask).count_ones())) {
            Some(known) => {
                let kept = known.mask & (mask | slot.mask() | slot.draws_mask());
                let (common, added) = (kept & mask, kept & !mask);
                let mut other = Cow::Borrowed(known.lookup.layer());
                if kept != known.mask {
                    meter.step(other.len())?;
                    other = Cow::Owned(other.project(kept));
                }
                let memories = model.memory_slots(common);
                (layer.join_known(&other, (common, added), memories, max_len, meter)?, mask | added)
            }
            None => (layer.widen(slot, &self.keys_at(model, slot, tick), max_len, meter)?, mask | slot.mask()),
        };
        let Some(mut wide) = wide else { return Ok(None) };
        wide.arrange(run_mask(&model.slots, mask));
        Ok(Some(Front { tick, mask, layer: wide }))
    }

    /// Drops the states of a layer outside the known sets of its tick.
    pub fn restrict(&self, model: &Model<N>, front: &mut Front<N>, meter: &mut BudgetMeter) -> Result<(), StopReason> {
        for known in self.known(front.tick) {
            let common = known.mask & front.mask;
            if common == 0 {
                continue;
            }
            meter.step(front.layer.len())?;
            let mut lookup = Cow::Borrowed(&known.lookup);
            if common != known.mask {
                meter.step(lookup.layer().len())?;
                lookup = Cow::Owned(index(model, lookup.layer().project(common), common));
            }
            let mut cursor = Cursor::new(&lookup);
            front.layer.retain(|key| cursor.places(key & common));
        }
        Ok(())
    }

    /// Records that only states in `lookup` lead to the target. If known sets over these and more
    /// threats exist, restricts them instead of adding a set. Returns false if the set does not fit
    /// into the memory.
    pub fn record(&mut self, model: &Model<N>, tick: usize, mask: Combination, lookup: &Lookup<N>) -> bool {
        self.allowed[tick] = self.allowed[tick].and(&lookup.layer().places());
        let covers = |known: &Known<N>| mask & !known.mask == 0 && known.mask != mask;
        if !self.known(tick).iter().any(|known| covers(known)) {
            return self.keep(tick, Arc::new(Known::new(model, self.tick, mask, lookup.clone())));
        }
        let target = self.tick;
        for known in self.sets[tick].iter_mut().filter(|known| covers(known)) {
            let mut layer = known.lookup.layer().clone();
            let mut cursor = Cursor::new(lookup);
            layer.retain(|key| cursor.places(key & mask));
            if layer.states() < known.states {
                self.bytes -= known.lookup.bytes();
                *known = Arc::new(Known::new(model, target, known.mask, index(model, layer, known.mask)));
                self.bytes += known.lookup.bytes();
            }
        }
        true
    }

    /// Returns true if, according to the knowledge, no line from the state reaches the target.
    #[inline]
    pub fn excludes(&self, model: &Model<N>, world: &World, state: &State) -> bool {
        let tick = usize::from(state.tick());
        if tick > self.tick {
            return false;
        }
        let place = model.board.places[usize::from(world.tile_after(state, Move::Stay))];
        if !self.allowed[tick].contains(place) {
            return true;
        }
        for (automaton, projection) in model.automata.iter().zip(&*self.projections) {
            let Some(layer) = projection.get(tick) else { continue };
            if model.key_in(world, state, automaton).is_some_and(|key| !layer[key as usize].contains(place)) {
                return true;
            }
        }
        self.known(tick).iter().any(|known| {
            let slots = model.slots.iter().filter(|slot| slot.mask() & known.mask != 0);
            let key = slots.fold(0, |key, slot| key | model.part_of(slot, world, state));
            !known.lookup.places(key & known.mask).contains(place)
        })
    }
}

impl<const N: usize> Known<N> {
    pub fn new(model: &Model<N>, target: usize, mask: Combination, lookup: Lookup<N>) -> Self {
        let layer = lookup.layer();
        let states = layer.states();
        let first = model.slots.first().map_or(0, Slot::mask);
        let first_states = if mask & first == 0 { states } else { layer.project(first).states() };
        Self { target, mask, states, first_states, lookup }
    }
}

/// Moves the combinations of a layer into a [`Lookup`].
pub(super) fn index<const N: usize>(model: &Model<N>, layer: Layer<N>, mask: Combination) -> Lookup<N> {
    Lookup::new(layer, run_mask(&model.slots, mask), model.memory_slots(mask))
}
