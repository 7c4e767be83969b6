//! The question whether the player can be alive at the start of a tick, the *target*, and the
//! knowledge about its answer.

use std::ops::Range;
use std::sync::Arc;

use super::Step;
use super::combination::{Combination, MemorySlots, Slot, put_widest_last, run_mask, slots_of};
use super::join::Join;
use super::layer::{Cursor, Layer, Lookup};
use super::model::{Automaton, Closure, Memories, Model};
use super::moves::JoinContext;
use super::projection::Projection;
use super::sweep::{Sweep, SweepLimits};
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
/// How long before a later target what is known about a whole game is swept again.
const AGAIN_TICKS: usize = 300;
/// The keys of a hawk for each that it joins with: soon afterwards it can remember many things.
const HAWK_WEIGHT: usize = 8;
/// Minimum distance, in ticks, between the starts of sweeps over the same threats.
const START_DISTANCE_TICKS: usize = 30;

/// The states of a tick from which the target can be reached against the threats whose bits are in
/// the mask.
#[derive(Debug)]
pub(super) struct Known<const N: usize> {
    pub mask: Combination,
    pub states: u64,
    /// The states that are left without all threats but the first of the target's slots; all
    /// states if that one is not among them.
    first_states: u64,
    /// The combinations that are left then.
    first_len: usize,
    pub lookup: Lookup<N>,
}

/// Where a deep sweep starts: one over many threats, in the first tick from which on the known sets,
/// joined, are small.
#[derive(Clone, Copy, Debug)]
pub(super) struct DeepStart {
    pub tick: usize,
    /// The threats of the largest known set there, and all that the sweep is over.
    known: Combination,
    pub wanted: Combination,
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
    /// By tick: sets over different threats.
    known: Vec<Vec<Arc<Known<N>>>>,
    known_bytes: usize,
    known_max_bytes: usize,
    /// How often that has changed.
    pub changes: u64,
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
            known: vec![Vec::new(); tick + 1],
            known_bytes: 0,
            known_max_bytes,
            changes: 0,
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
        known.resize(tick + 1, Vec::new());
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
        for (tick, sets) in earlier.known.iter().enumerate() {
            for known in sets {
                let is_new = self.known[tick].iter().all(|own| known.mask & !own.mask != 0);
                is_adopted |= is_new && self.keep(tick, known.clone());
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

    /// Adds a set to the knowledge about a tick, in place of those over fewer threats; returns
    /// whether there is room for it.
    fn keep(&mut self, tick: usize, known: Arc<Known<N>>) -> bool {
        let is_replaced = |other: &Arc<Known<N>>| other.mask & !known.mask == 0;
        let replaced = self.known[tick].iter().filter(|other| is_replaced(other));
        let replaced_bytes: usize = replaced.map(|other| other.lookup.bytes()).sum();
        let known_bytes = self.known_bytes + known.lookup.bytes() - replaced_bytes;
        let has_room = known_bytes <= self.known_max_bytes;
        if has_room {
            self.changes += 1;
            self.known_bytes = known_bytes;
            self.known[tick].retain(|other| !is_replaced(other));
            self.known[tick].push(known);
        }
        has_room
    }

    /// The slots whose bits are in a mask, with draws counted where it has the bits for these; the
    /// widest comes last.
    pub fn slots_in(&self, model: &Model<N>, mask: Combination) -> Vec<Slot> {
        let slots = self.slots.iter().filter(|slot| slot.mask() & mask != 0);
        let counted = |slot: &Slot| match slot.draws_mask() & mask {
            0 => *slot,
            _ => slot.counting(model.start_draws[slot.automaton]),
        };
        let mut slots: Vec<Slot> = slots.map(counted).collect();
        put_widest_last(&mut slots);
        slots
    }

    /// The bits of all threats, and of these the draws of hawks.
    fn masks(&self) -> (Combination, Combination) {
        let bits = self.slots.iter().map(|slot| (slot.mask(), slot.draws_mask()));
        bits.fold((0, 0), |(all, draws), (own, own_draws)| (all | own, draws | own_draws))
    }

    /// The masks of the sweeps of the whole game, in their order: the first threat with each other,
    /// hawks left out; each hawk, with draws counted, alone and then with the first threat; all but
    /// hawks, whose memories make layers wide; the first threat with a hawk and one more; and all.
    pub fn whole_sweeps(&self) -> Vec<Combination> {
        let Some((first, others)) = self.slots.split_first() else { return Vec::new() };
        let is_hawk = |slot: &&Slot| slot.draws_mask() != 0;
        let pair = |slot: &Slot| first.mask() | slot.mask();
        let (all, draws) = self.masks();
        let hawks = others.iter().filter(is_hawk);
        let mut masks: Vec<Combination> = others.iter().filter(|slot| !is_hawk(slot)).map(pair).collect();
        masks.extend(hawks.clone().map(|slot| slot.mask() | slot.draws_mask()));
        masks.extend(hawks.map(|slot| pair(slot) | slot.draws_mask()));
        masks.push(self.slots.iter().filter(|slot| !is_hawk(slot)).fold(0, |mask, slot| mask | slot.mask()));
        for hawk in others.iter().filter(is_hawk) {
            let with_hawk = |slot: &Slot| pair(hawk) | hawk.draws_mask() | slot.mask();
            masks.extend(others.iter().filter(|slot| !is_hawk(slot)).map(with_hawk));
        }
        masks.push(all | draws);
        let mut distinct = Vec::new();
        for mask in masks.into_iter().filter(|mask| *mask != 0) {
            if !distinct.contains(&mask) {
                distinct.push(mask);
            }
        }
        distinct
    }

    /// The masks of what the game can reach, in their order: the first threat with each other, hawks
    /// left out; then each hawk alone, with draws counted.
    pub fn reaches(&self) -> Vec<Combination> {
        let (hawks, others): (Vec<&Slot>, Vec<&Slot>) = self.slots.iter().partition(|slot| slot.draws_mask() != 0);
        let pairs = others.iter().skip(1).map(|slot| others[0].mask() | slot.mask());
        pairs.chain(hawks.iter().map(|hawk| hawk.mask() | hawk.draws_mask())).collect()
    }

    /// A sweep of the whole game against some of the threats, from a layer on that the game can
    /// reach.
    pub fn late_sweep(
        &self,
        model: &Model<N>,
        mask: Combination,
        tick: usize,
        layer: &Layer<N>,
        limits: SweepLimits,
    ) -> Sweep<N> {
        Sweep::onwards(model, self, mask, tick, layer, self.whole_limits(mask, limits))
    }

    /// A sweep of the whole game over the threats of a mask.
    pub fn whole_sweep(&self, model: &Model<N>, mask: Combination, limits: SweepLimits) -> Sweep<N> {
        Sweep::new(self, model.first_tick, 0, self.whole_limits(mask, limits))
    }

    fn whole_limits(&self, mask: Combination, limits: SweepLimits) -> SweepLimits {
        let (all, draws) = self.masks();
        SweepLimits { left_out: all & !mask, is_whole: true, counts_draws: mask & draws != 0, ..limits.doubled() }
    }

    /// A sweep of the whole game against all threats.
    pub fn exact_sweep(&self, model: &Model<N>, limits: SweepLimits) -> Sweep<N> {
        let (all, draws) = self.masks();
        self.whole_sweep(model, all | draws, limits)
    }

    /// Whether a mask has exactly two threats, and no hawk.
    pub fn is_pair_without_hawks(&self, mask: Combination) -> bool {
        let slots: Vec<&Slot> = self.slots.iter().filter(|slot| slot.mask() & mask != 0).collect();
        slots.len() == 2 && slots.iter().all(|slot| slot.draws_mask() == 0)
    }

    /// The start of a deep sweep: the first tick, not before `floor`, from which on the known sets,
    /// joined, give at most about this many combinations over all threats but hawks, or else over
    /// all if `hawks_join`. `tried` are the starts so far, with the threats.
    pub fn deep_start(
        &self,
        model: &Model<N>,
        floor: usize,
        max_len: u64,
        tried: &[(usize, Combination)],
        hawks_join: bool,
    ) -> Option<DeepStart> {
        let (all, draws) = self.masks();
        let hawks = self.slots.iter().filter(|slot| slot.draws_mask() != 0).fold(0, |mask, slot| mask | slot.mask());
        [all & !draws & !hawks, all & !draws].into_iter().take(if hawks_join { 2 } else { 1 }).find_map(|wanted| {
            let last = tried.iter().filter(|(_, mask)| *mask == wanted).map(|(tick, _)| *tick).min();
            let margin = self.tick.saturating_sub(START_MARGIN_TICKS);
            let end = last.map_or(margin, |tick| tick.saturating_sub(START_DISTANCE_TICKS));
            let joined = |tick| Some((tick, self.joined_len(model, tick, wanted)?));
            let narrow = (floor..margin).rev().filter_map(joined).take_while(|(_, (_, len))| *len <= max_len);
            let (tick, (known, _)) = narrow.filter(|(_, (known, _))| wanted & !known != 0).last()?;
            (tick < end).then_some(DeepStart { tick, known, wanted })
        })
    }

    /// Approximately the combinations of the known sets of a tick, joined over these threats, and the
    /// threats of the largest of them; `None` if nothing is known, or some owl is in none.
    fn joined_len(&self, model: &Model<N>, tick: usize, wanted: Combination) -> Option<(Combination, u64)> {
        let threats = |mask: Combination| self.slots.iter().filter(|slot| slot.mask() & mask != 0).count();
        let base = self.known(tick).max_by_key(|known| threats(known.mask & wanted))?;
        let mut len = base.lookup.layer().len() as u64;
        for slot in self.slots.iter().filter(|slot| slot.mask() & wanted & !base.mask != 0) {
            let sets = self.known(tick).filter(|known| known.mask & slot.mask() != 0);
            let per_first = |known: &Known<N>| (known.lookup.layer().len() / known.first_len.max(1)) as u64 + 1;
            let any = self.can_join(model, *slot, tick).then(|| self.closure_len(model, *slot, tick) as u64);
            len = len.saturating_mul(sets.map(per_first).min().or(any)?);
        }
        Some((base.mask, len))
    }

    /// A sweep from such a start on.
    pub fn deep_sweep(&self, start: DeepStart, limits: SweepLimits) -> Sweep<N> {
        let (all, _) = self.masks();
        let limits = SweepLimits { left_out: all & !start.wanted, join_len: limits.layer_len, ..limits.doubled() };
        Sweep::new(self, start.tick, start.known, limits)
    }

    /// A sweep over the threats of a mask, which have been swept for an earlier target, again: from
    /// the tick not long before the target in which the fewest states over them are known.
    pub fn sweep_again(&self, mask: Combination, limits: SweepLimits) -> Option<Sweep<N>> {
        let (all, _) = self.masks();
        let end = self.tick.saturating_sub(START_MARGIN_TICKS);
        let ticks = end.saturating_sub(AGAIN_TICKS)..end;
        let sets = ticks.flat_map(|tick| self.known(tick).map(move |known| (tick, known)));
        let own = sets.filter(|(_, known)| known.mask == mask);
        let (tick, _) = own.min_by_key(|(_, known)| known.states)?;
        let limits = SweepLimits { join_len: 0, left_out: all & !mask, ..limits };
        Some(Sweep::new(self, tick, mask, limits))
    }

    fn memory_slots(&self, mask: Combination) -> MemorySlots {
        MemorySlots::new(&self.memories, &self.slots, mask)
    }

    /// A layer over the threats of a mask with an index.
    pub fn index(&self, layer: Layer<N>, mask: Combination) -> Lookup<N> {
        Lookup::new(layer, run_mask(&self.slots, mask), self.memory_slots(mask))
    }

    /// The data that joins need.
    pub fn context<'a>(&'a self, model: &'a Model<N>, slots: &'a [Slot], tick: usize) -> JoinContext<'a, N> {
        JoinContext { model, slots, tick, allowed: &self.allowed, projections: &self.projections }
    }

    /// The knowledge about a tick: sets over different threats. Nothing is known beyond the target.
    pub fn known(&self, tick: usize) -> impl Iterator<Item = &Known<N>> {
        self.known.get(tick).into_iter().flatten().map(|known| &**known)
    }

    /// The knowledge about a tick over exactly these threats.
    pub fn known_over(&self, tick: usize, mask: Combination) -> Option<&Known<N>> {
        self.known(tick).find(|known| known.mask == mask)
    }

    /// Whether a threat can join in a tick in which nothing is known about it: an owl only where its
    /// memory does not matter.
    pub fn can_join(&self, model: &Model<N>, slot: Slot, tick: usize) -> bool {
        !matches!(model.automata[slot.automaton], Automaton::Owl { .. }) || model.forgets(tick)
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

    /// The states of a known set with this threat in a tick, without the threats that neither a
    /// layer over the threats of a mask has nor is this one; of several sets, the one that has the
    /// most in common with the layer. Also returns their mask.
    fn candidates(
        &self,
        tick: usize,
        mask: Combination,
        slot: Slot,
        counts_known: bool,
        join: &mut Join<N>,
    ) -> Option<(Combination, Layer<N>)> {
        let sets = self.known(tick).filter(|known| known.mask & slot.mask() != 0);
        let counts = |known: &Known<N>| known.mask & slot.draws_mask() != 0;
        let known = sets.max_by_key(|known| (counts(known), (known.mask & mask).count_ones()))?;
        let own = if counts_known { slot.mask() | slot.draws_mask() } else { slot.mask() };
        let kept = known.mask & (mask | own);
        let layer = known.lookup.layer();
        Some((kept, if kept == known.mask { layer.clone() } else { join.project(layer, kept) }))
    }

    /// Whether a set over these threats is known in a tick.
    pub fn is_known(&self, tick: usize, slot: Slot) -> bool {
        self.known(tick).any(|known| known.mask & slot.mask() != 0)
    }

    /// Lets a threat join a layer over the threats of a mask: in the states in which it is known,
    /// or else in all that it can have. A hawk joins with the number of its draws if that is known
    /// and `counts_known`. Returns the new layer and its mask, or `None` if there would be more than
    /// `max_len` combinations.
    pub fn join(
        &self,
        model: &Model<N>,
        (tick, slot, counts_known): (usize, Slot, bool),
        (mask, layer): (Combination, &Layer<N>),
        join: &mut Join<N>,
        max_len: usize,
    ) -> Option<(Combination, Layer<N>)> {
        if tick > model.first_tick
            && let Some((kept, known)) = self.candidates(tick, mask, slot, counts_known, join)
        {
            let (common, added) = (kept & mask, kept & !mask);
            let mut wide = join.natural(layer, &known, (common, added), self.memory_slots(common), max_len)?;
            wide.arrange(run_mask(&self.slots, mask | added));
            return Some((mask | added, wide));
        }
        let mut wide = layer.widen(slot, &self.keys_at(model, slot, tick), max_len)?;
        wide.arrange(run_mask(&self.slots, mask | slot.mask()));
        Some((mask | slot.mask(), wide))
    }

    /// Applies the knowledge about a tick to a layer over the threats of a mask.
    pub fn narrow(&self, tick: usize, mask: Combination, join: &mut Join<N>, layer: &mut Layer<N>) {
        for known in self.known(tick) {
            let common = known.mask & mask;
            if common == known.mask {
                let mut cursor = Cursor::new(&known.lookup);
                layer.retain(|key| cursor.places(key & common));
            } else if common != 0 {
                let narrow = self.index(join.project(known.lookup.layer(), common), common);
                let mut cursor = Cursor::new(&narrow);
                layer.retain(|key| cursor.places(key & common));
            }
        }
    }

    /// Records the states of a tick from which the target can be reached, if that adds to the
    /// knowledge.
    pub fn record(&mut self, tick: usize, mask: Combination, lookup: Lookup<N>, join: &mut Join<N>) {
        let layer = lookup.layer();
        self.allowed[tick] = self.allowed[tick].and(&layer.places());
        let states = layer.states();
        let is_wanted = tick % KEPT_TICKS == 1 || states < SMALL_STATES;
        if !is_wanted {
            return;
        }
        let covers = |known: &Known<N>| mask & !known.mask == 0 && known.mask != mask;
        if self.known(tick).any(covers) {
            // Sets over more threats are restricted.
            for place in 0..self.known[tick].len() {
                let known = &self.known[tick][place];
                if !covers(known) {
                    continue;
                }
                let (other, before) = (known.mask, known.states);
                let mut layer = known.lookup.layer().clone();
                let mut cursor = Cursor::new(&lookup);
                layer.retain(|key| cursor.places(key & mask));
                if layer.states() < before {
                    self.known_bytes -= known.lookup.bytes();
                    let known = self.describe(other, self.index(layer, other), join);
                    self.known_bytes += known.lookup.bytes();
                    self.changes += 1;
                    self.known[tick][place] = Arc::new(known);
                }
            }
        } else {
            let known = self.describe(mask, lookup, join);
            self.keep(tick, Arc::new(known));
        }
    }

    /// The states of a set over the threats of a mask, counted.
    fn describe(&self, mask: Combination, lookup: Lookup<N>, join: &mut Join<N>) -> Known<N> {
        let layer = lookup.layer();
        let states = layer.states();
        let first = self.slots.first().map_or(0, Slot::mask);
        let (first_states, first_len) = match mask & first {
            0 => (states, layer.len()),
            _ => {
                let narrow = join.project(layer, first);
                (narrow.states(), narrow.len())
            }
        };
        Known { mask, states, first_states, first_len, lookup }
    }

    /// The start of the next sweep in a range of ticks: the one where one more threat gives the
    /// fewest states. Returns the tick, the mask known there, and the number of states.
    pub fn bottleneck(
        &self,
        model: &Model<N>,
        ticks: Range<usize>,
        tried: &[(usize, Combination)],
    ) -> Option<(usize, Combination, u64)> {
        let size = |tick: usize, known: &Known<N>| {
            let was_tried = |&(other, mask): &(usize, Combination)| {
                mask == known.mask && tick.abs_diff(other) < START_DISTANCE_TICKS
            };
            if tried.iter().any(was_tried) {
                return None;
            }
            // If more threats are known shortly after this tick, a sweep from here would end there.
            let covers = |other: &Known<N>| known.mask & !other.mask == 0 && other.mask != known.mask;
            if (tick + 1..=(tick + KEPT_TICKS).min(self.tick)).any(|after| self.known(after).any(covers)) {
                return None;
            }
            let missing = *self.slots.iter().find(|slot| slot.mask() & known.mask == 0)?;
            let with_missing = self.known(tick).filter(|other| other.mask & missing.mask() != 0);
            let joined = |other: &Known<N>| known.states * other.states / other.first_states.max(1);
            if let Some(states) = with_missing.map(joined).min() {
                return Some((tick, known.mask, states));
            }
            let keys = if tick == model.first_tick { 1 } else { self.closure_len(model, missing, tick) as u64 };
            self.can_join(model, missing, tick).then_some((tick, known.mask, known.states * keys))
        };
        let end = ticks.end.min(self.tick.saturating_sub(START_MARGIN_TICKS));
        let starts = (ticks.start..end).flat_map(|tick| self.known(tick).map(move |known| (tick, known)));
        starts.filter_map(|(tick, known)| size(tick, known)).min_by_key(|&(.., states)| states)
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
        target.known(tick).any(|known| {
            let slots = target.slots.iter().filter(|slot| slot.mask() & known.mask != 0);
            let key = slots.fold(0, |key, slot| key | slot.part_of(model, world, state));
            !known.lookup.places(key & known.mask).contains(place)
        })
    }
}
