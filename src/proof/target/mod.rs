mod saved;

use std::sync::Arc;

use super::combination::{Combination, MemorySlots, Slot, put_widest_last, run_mask, slots_of};
use super::join::Join;
use super::known::{Knowledge, Known};
use super::layer::{Cursor, Layer, Lookup};
use super::memories::Memories;
use super::model::{Automaton, Model};
use super::moves::JoinContext;
use super::outcome::Step;
use super::projection::Projection;
use super::tile_set::TileSet;
use crate::game::{Move, State, Style, World};
use crate::search::{BudgetMeter, StopReason};
pub(super) use saved::SavedTarget;

/// Known sets are kept only once in this many ticks, but small ones in every tick, as far as the
/// memory limit allows.
pub(super) const KEPT_TICKS: usize = 5;
/// A known set with fewer states than this is small.
const SMALL_STATES: u64 = 512;

#[derive(Debug, Default)]
struct Projections<const N: usize> {
    /// One projection per automaton; empty unless the automaton is a shark and the projection fits
    /// into the rest of `max_bytes`.
    layers: Vec<Projection<N>>,
    max_bytes: usize,
    next: Option<(usize, usize)>,
    earlier_allowed: Vec<TileSet<N>>,
}

fn restrict<const N: usize>(allowed: &mut [TileSet<N>], by: &[TileSet<N>]) {
    allowed.iter_mut().zip(by).for_each(|(allowed, by)| *allowed = allowed.and(by));
}

#[derive(Debug)]
pub(super) struct Target<const N: usize> {
    pub tick: usize,
    /// For each tick up to the target, a superset of the places through which a line can reach the
    /// target. For later ticks, all open places without a bull or goldfish.
    pub allowed: Vec<TileSet<N>>,
    projections: Projections<N>,
    memories: Arc<Memories>,
    pub slots: Vec<Slot>,
    knowledge: Knowledge<N>,
    pub steps: Vec<Step>,
    /// The sweep that ran out of states beyond the target. With `steps`, it proves a bound.
    pub beyond: Option<Step>,
}

impl<const N: usize> Target<N> {
    /// Projections take at most `memory_max_bytes`, and known sets at most an eighth of this limit.
    pub fn new(model: &Model<N>, tick: usize, memory_max_bytes: usize) -> Self {
        let slots = slots_of(model);
        let mut target = Self {
            tick,
            allowed: Vec::new(),
            projections: Projections { max_bytes: memory_max_bytes, ..Projections::default() },
            memories: model.hawks.memories.clone(),
            slots,
            knowledge: Knowledge::new(tick, memory_max_bytes / 8),
            steps: Vec::new(),
            beyond: None,
        };
        target.begin_projections(model);
        target
    }

    /// Returns a later target, which inherits the knowledge: lines that reach the later target also
    /// reach this one.
    pub fn later(&self, model: &Model<N>, tick: usize) -> Self {
        let earlier_allowed = self.allowed[..=self.tick].to_vec();
        let mut later = Self {
            tick,
            allowed: Vec::new(),
            projections: Projections {
                earlier_allowed,
                max_bytes: self.projections.max_bytes,
                ..Projections::default()
            },
            memories: self.memories.clone(),
            slots: self.slots.clone(),
            knowledge: self.knowledge.clone(),
            steps: self.steps.clone(),
            beyond: None,
        };
        later.knowledge.extend(tick);
        later.begin_projections(model);
        later
    }

    /// Adds the known sets of an earlier target with the same slots, except those that exceed the
    /// memory limit and those whose masks lie within the mask of a known set of this target in the
    /// same tick. Returns true if any set was added.
    pub fn adopt(&mut self, earlier: &Self) -> bool {
        let is_adopted = self.knowledge.adopt(&earlier.knowledge);
        if is_adopted {
            restrict(&mut self.allowed, &earlier.allowed[..=earlier.tick]);
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
        self.projections.layers = vec![Projection::new(); model.automata.len()];
        self.projections.next = Some((0, self.tick));
    }

    fn has_room_to_project(&self, model: &Model<N>) -> bool {
        let layers = self.projections.layers.iter().map(Vec::len).sum::<usize>() + self.tick + 1;
        layers * model.tiles() * size_of::<TileSet<N>>() <= self.projections.max_bytes
    }

    #[cfg(test)]
    pub fn projection_bytes(&self) -> usize {
        self.projections.layers.iter().flatten().map(|layer| layer.len() * size_of::<TileSet<N>>()).sum()
    }

    /// Builds the projections. Returns true once they are complete; use the target only after that.
    pub fn project(&mut self, model: &Model<N>, meter: &mut BudgetMeter) -> bool {
        while let Some((automaton, tick)) = self.projections.next {
            if meter.check().is_err() {
                return false;
            }
            self.projections.next = match &model.automata.get(automaton) {
                Some(shark @ Automaton::Chaser { style: Style::Shark, .. })
                    if tick < self.tick || self.has_room_to_project(model) =>
                {
                    let projection = &mut self.projections.layers[automaton];
                    if projection.is_empty() {
                        *projection = vec![Vec::new(); self.tick + 1];
                    }
                    model.project_shark(shark, tick, projection, &mut self.allowed);
                    meter.add_ticks(1 + (model.tiles() / 16) as u64);
                    Some(if tick == model.first_tick { (automaton + 1, self.tick) } else { (automaton, tick - 1) })
                }
                Some(_) => Some((automaton + 1, self.tick)),
                None => None,
            };
            if self.projections.next.is_none() {
                restrict(&mut self.allowed, &std::mem::take(&mut self.projections.earlier_allowed));
            }
        }
        true
    }

    /// Returns the slots in a mask, the widest last. Draws are counted if the mask has their bits.
    pub fn slots_in(&self, model: &Model<N>, mask: Combination) -> Vec<Slot> {
        let slots = self.slots.iter().filter(|slot| slot.mask() & mask != 0);
        let counted = |slot: &Slot| match slot.draws_mask() & mask {
            0 => *slot,
            _ => slot.counting(model.origins[slot.automaton].draws),
        };
        let mut slots: Vec<Slot> = slots.map(counted).collect();
        put_widest_last(&mut slots);
        slots
    }

    /// Returns two masks: the bits of all threats' keys, and the bits of all hawks' draw counts.
    pub fn masks(&self) -> (Combination, Combination) {
        let bits = self.slots.iter().map(|slot| (slot.mask(), slot.draws_mask()));
        bits.fold((0, 0), |(all, draws), (own, own_draws)| (all | own, draws | own_draws))
    }

    fn memory_slots(&self, mask: Combination) -> MemorySlots {
        MemorySlots::new(&self.memories, &self.slots, mask)
    }

    /// Moves the combinations of a layer into a [`Lookup`], unless the deadline passes first.
    pub fn index(
        &self,
        layer: &mut Layer<N>,
        mask: Combination,
        meter: &mut BudgetMeter,
    ) -> Result<Arc<Lookup<N>>, StopReason> {
        let lookup = Lookup::new(layer, run_mask(&self.slots, mask), self.memory_slots(mask), meter)?;
        Ok(Arc::new(lookup))
    }

    pub fn context<'a>(&'a self, model: &'a Model<N>, slots: &'a [Slot], tick: usize) -> JoinContext<'a, N> {
        JoinContext { model, slots, tick, allowed: &self.allowed, projections: &self.projections.layers }
    }

    pub fn known(&self, tick: usize) -> impl Iterator<Item = &Known<N>> {
        self.knowledge.at(tick).iter().map(|known| &**known)
    }

    pub fn known_over(&self, tick: usize, mask: Combination) -> Option<&Known<N>> {
        self.known(tick).find(|known| known.mask == mask)
    }

    /// Returns true if a threat without known states can join after the first tick. An owl can do
    /// so only if its memory no longer matters (see [`Model::forgets`]).
    pub fn can_join(&self, model: &Model<N>, slot: Slot, tick: usize) -> bool {
        !matches!(model.automata[slot.automaton], Automaton::Owl { .. }) || model.forgets(tick)
    }

    pub fn closure_len(&self, model: &Model<N>, slot: Slot, tick: usize) -> usize {
        model.closures[slot.automaton].after(model.times.moves_before[tick]).len()
    }

    /// Returns each key that a threat can have, with the places where the player can be if the
    /// threat has this key. After the first tick, an owl's keys are valid only if its memory no
    /// longer matters (see [`Model::forgets`]).
    pub fn keys_at(&self, model: &Model<N>, slot: Slot, tick: usize) -> Vec<(u32, TileSet<N>)> {
        if tick == model.first_tick {
            return vec![(model.origins[slot.automaton].key, self.allowed[tick])];
        }
        let automaton = &model.automata[slot.automaton];
        let lives = |key: u32| match self.projections.layers[slot.automaton].get(tick) {
            Some(layer) => layer[key as usize].and(&self.allowed[tick]),
            None => self.allowed[tick].without(&TileSet::of(model.place(automaton, key))),
        };
        let keys =
            model.closures[slot.automaton].after(model.times.moves_before[tick]).iter().map(|&key| (key, lives(key)));
        keys.filter(|(_, set)| !set.is_empty()).collect()
    }

    /// Chooses a known set with the threat of `slot`, if possible with counted draws, and with as
    /// many bits of `mask` as possible. Returns its mask and layer, projected to `mask` and `slot`
    /// (without the draws of `slot` unless `counts_known` is true), or `None` if no set has the
    /// threat.
    fn candidates(
        &self,
        tick: usize,
        mask: Combination,
        slot: Slot,
        counts_known: bool,
        join: &mut Join<N>,
        meter: &mut BudgetMeter,
    ) -> Result<Option<(Combination, Layer<N>)>, StopReason> {
        let sets = self.known(tick).filter(|known| known.mask & slot.mask() != 0);
        let counts = |known: &Known<N>| known.mask & slot.draws_mask() != 0;
        let Some(known) = sets.max_by_key(|known| (counts(known), (known.mask & mask).count_ones())) else {
            return Ok(None);
        };
        let own = if counts_known { slot.mask() | slot.draws_mask() } else { slot.mask() };
        let kept = known.mask & (mask | own);
        let layer = known.lookup.layer();
        Ok(Some((kept, if kept == known.mask { layer.clone() } else { join.project(layer, kept, meter)? })))
    }

    pub fn is_known(&self, tick: usize, slot: Slot) -> bool {
        self.known(tick).any(|known| known.mask & slot.mask() != 0)
    }

    /// Adds a threat: at the first tick with its first key, later with its known states if it has
    /// any, otherwise with all keys that it can have. A hawk joins with counted draws if a known
    /// set has them and `counts_known` is true. Returns the new mask and layer, or `None` if the
    /// layer would have more than `max_len` combinations.
    pub fn join(
        &self,
        model: &Model<N>,
        (tick, slot, counts_known): (usize, Slot, bool),
        (mask, layer): (Combination, &Layer<N>),
        join: &mut Join<N>,
        max_len: usize,
        meter: &mut BudgetMeter,
    ) -> Result<Option<(Combination, Layer<N>)>, StopReason> {
        let candidates = match tick > model.first_tick {
            true => self.candidates(tick, mask, slot, counts_known, join, meter)?,
            false => None,
        };
        let (wide, mask) = if let Some((kept, known)) = candidates {
            let (common, added) = (kept & mask, kept & !mask);
            let memories = self.memory_slots(common);
            (join.join_known(layer, &known, (common, added), memories, max_len, meter)?, mask | added)
        } else {
            (layer.widen(slot, &self.keys_at(model, slot, tick), max_len, meter)?, mask | slot.mask())
        };
        let Some(mut wide) = wide else { return Ok(None) };
        wide.arrange(run_mask(&self.slots, mask), meter)?;
        Ok(Some((mask, wide)))
    }

    /// Drops the states outside the known sets of a tick. An interrupted call can be repeated.
    pub fn narrow(
        &self,
        tick: usize,
        mask: Combination,
        join: &mut Join<N>,
        layer: &mut Layer<N>,
        meter: &mut BudgetMeter,
    ) -> Result<(), StopReason> {
        for known in self.known(tick) {
            let common = known.mask & mask;
            if common == known.mask {
                let mut cursor = Cursor::new(&known.lookup);
                layer.retain(|key| cursor.places(key & common), meter)?;
            } else if common != 0 {
                let mut narrow = join.project(known.lookup.layer(), common, meter)?;
                let narrow = self.index(&mut narrow, common, meter)?;
                let mut cursor = Cursor::new(&narrow);
                layer.retain(|key| cursor.places(key & common), meter)?;
            }
        }
        Ok(())
    }

    /// Records that only states in `lookup` lead to the target. An interrupted call can be
    /// repeated.
    pub fn record(
        &mut self,
        tick: usize,
        mask: Combination,
        lookup: &Arc<Lookup<N>>,
        join: &mut Join<N>,
        meter: &mut BudgetMeter,
    ) -> Result<(), StopReason> {
        let layer = lookup.layer();
        self.allowed[tick] = self.allowed[tick].and(&layer.places());
        let states = layer.states();
        let is_wanted = tick % KEPT_TICKS == 1 || states < SMALL_STATES;
        if !is_wanted {
            return Ok(());
        }
        let covers = |known: &Known<N>| mask & !known.mask == 0 && known.mask != mask;
        if self.known(tick).any(covers) {
            // Instead of adding a set, restrict the known sets over these and more threats.
            for place in 0..self.knowledge.at(tick).len() {
                let known = &self.knowledge.at(tick)[place];
                if !covers(known) {
                    continue;
                }
                let (other, before) = (known.mask, known.states);
                let mut layer = known.lookup.layer().clone();
                let mut cursor = Cursor::new(lookup);
                layer.retain(|key| cursor.places(key & mask), meter)?;
                if layer.states() < before {
                    let known = self.describe(other, self.index(&mut layer, other, meter)?, join, meter)?;
                    self.knowledge.restrict(tick, place, known);
                }
            }
        } else {
            let known = self.describe(mask, lookup.clone(), join, meter)?;
            self.knowledge.keep(tick, Arc::new(known));
        }
        Ok(())
    }

    pub fn describe(
        &self,
        mask: Combination,
        lookup: Arc<Lookup<N>>,
        join: &mut Join<N>,
        meter: &mut BudgetMeter,
    ) -> Result<Known<N>, StopReason> {
        let layer = lookup.layer();
        let states = layer.states();
        let first = self.slots.first().map_or(0, Slot::mask);
        let first_states = match mask & first {
            0 => states,
            _ => join.project(layer, first, meter)?.states(),
        };
        Ok(Known { mask, states, first_states, lookup })
    }

    #[inline]
    pub fn is_hopeless(&self, model: &Model<N>, world: &World, state: &State) -> bool {
        let tick = usize::from(state.tick());
        if tick > self.tick {
            return false;
        }
        let place = model.board.places[usize::from(world.tile_after(state, Move::Stay))];
        if !self.allowed[tick].contains(place) {
            return true;
        }
        for (automaton, projection) in model.automata.iter().zip(&self.projections.layers) {
            if let Some(layer) = projection.get(tick)
                && !layer[model.key_in(world, state, automaton) as usize].contains(place)
            {
                return true;
            }
        }
        self.known(tick).any(|known| {
            let slots = self.slots.iter().filter(|slot| slot.mask() & known.mask != 0);
            let key = slots.fold(0, |key, slot| key | slot.part_of(model, world, state));
            !known.lookup.places(key & known.mask).contains(place)
        })
    }
}
