//! A sweep: the states of a relaxation, layer by layer, forwards from a tick on. If none is left
//! before the target, the target cannot be reached. Otherwise the sweep returns over its layers and
//! keeps the states from which its last layer can be reached.
//!
//! A sweep starts with the knowledge about its first tick, adds the missing threats as soon as few
//! enough states are left, and uses the knowledge about every tick that it reaches. Layers are
//! wide, so only some are kept on the way forwards; the others are rebuilt on the way back.

use super::Step;
use super::combination::Combination;
use super::join::{CHUNK, Join};
use super::layer::{Layer, Lookup};
use super::model::Model;
use super::target::{Known, Target};
use crate::search::BudgetMeter;

/// Number of layers between two that are kept on the way forwards.
const CHECKPOINT_TICKS: usize = 16;
/// Work beyond the target that is worthwhile after a sweep of little work.
const BEYOND_WORK_MIN: u64 = 200_000;
/// The share of its work after which a sweep of the whole game returns from beyond the target.
const WHOLE_BEYOND_SHARE: u64 = 4;
/// Once a sweep of the whole game that did more work than this drops less than one in so many states
/// on its way back, and has more combinations than this, it is over: few others could start there.
const RETURN_WORK_MIN: u64 = 1_000_000;
const DROPPED_SHARE: u64 = 20;
const RETURN_LEN: usize = 10_000;

/// How a sweep ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// No state is left at this tick: the target cannot be reached.
    Empty(usize),
    /// Its results have been recorded.
    Recorded,
    /// A layer did not fit into memory.
    TooBig,
    /// No state is left at this tick beyond the target. The sweep is not over: it turns back now.
    EmptyBeyond(usize),
}

impl End {
    /// Whether the sweep is over.
    pub fn is_over(self) -> bool {
        !matches!(self, Self::EmptyBeyond(_))
    }
}

/// The limits of a sweep.
#[derive(Clone, Copy, Debug)]
pub(super) struct SweepLimits {
    /// A threat joins on the way if this gives at most this many combinations; at 0, none does.
    pub join_len: usize,
    /// Combinations of a layer.
    pub layer_len: usize,
    /// Memory of the layers that are kept on the way forwards, and again of those between two of
    /// them.
    pub kept_bytes: usize,
    /// Before it returns, the sweep goes on beyond the target, up to this tick: where no state is
    /// left, a later target is out of reach. No further than the target if this is not beyond it.
    pub beyond_tick: usize,
    /// The bits of threats that do not join.
    pub left_out: Combination,
    /// Whether the sweep starts at the first tick with the threats as they stand there, and no other
    /// threat joins later.
    pub is_whole: bool,
    /// Whether such a sweep counts the random draws of hawks.
    pub counts_draws: bool,
}

impl SweepLimits {
    /// Twice the memory.
    pub fn doubled(self) -> Self {
        Self { layer_len: 2 * self.layer_len, kept_bytes: 2 * self.kept_bytes, ..self }
    }
}

/// A layer that waits for the way back.
#[derive(Debug)]
struct StoredLayer<const N: usize> {
    tick: usize,
    mask: Combination,
    layer: Layer<N>,
}

#[derive(Debug, PartialEq, Eq)]
enum Phase {
    /// Forwards, to new layers.
    Forwards,
    /// Forwards beyond the target, for as much work as this.
    Beyond { work_max: u64 },
    /// Forwards again, from a checkpoint to the tick before this one.
    Again { until: usize },
    /// Backwards over the rebuilt layers.
    Backwards,
}

/// A sweep that can be interrupted at any time.
#[derive(Debug)]
pub(super) struct Sweep<const N: usize> {
    from: usize,
    /// The tick in which its proof starts: earlier if what the game can reach by then is known.
    origin: usize,
    limits: SweepLimits,
    /// Combinations processed so far.
    pub work: u64,
    join: Join<N>,
    phase: Phase,
    tick: usize,
    /// The threats with which it starts.
    base: Combination,
    mask: Combination,
    layer: Layer<N>,
    /// On the way back: the layer under construction, and how many combinations of the one before
    /// its tick's moves have been processed.
    next: Layer<N>,
    done: usize,
    /// Whether the layer has been narrowed and widened.
    is_ready: bool,
    /// Tick and slot of each join, and whether a hawk's draws have been counted since.
    joins: Vec<(usize, usize, bool)>,
    /// Beyond the target: its layer, from which the sweep turns back, and the number of joins that
    /// came before.
    turning: Option<(StoredLayer<N>, usize)>,
    checkpoints: Vec<StoredLayer<N>>,
    checkpoint_bytes: usize,
    /// Ticks between two checkpoints: more for wide sweeps, which then rebuild their layers twice.
    checkpoint_ticks: usize,
    /// The layers from the last checkpoint on, rebuilt, and their bytes.
    segment: Vec<StoredLayer<N>>,
    segment_bytes: usize,
    /// On the way back, the states of the segment, and how many of them were kept.
    segment_states: u64,
    segment_kept: u64,
    /// The work when the target was reached.
    work_at_target: u64,
    /// On the way back: the layer after, and its mask.
    after: Option<(Combination, Lookup<N>)>,
}

impl<const N: usize> Sweep<N> {
    /// A sweep that starts with the threats that are known together in its first tick.
    pub fn new(target: &Target<N>, from: usize, known: Combination, limits: SweepLimits) -> Self {
        let layer = Layer { keys: vec![0], sets: vec![target.allowed[from]] };
        Self {
            from,
            origin: from,
            limits,
            work: 0,
            join: Join::default(),
            phase: Phase::Forwards,
            tick: from,
            base: known,
            mask: 0,
            layer,
            next: Layer::default(),
            done: 0,
            is_ready: false,
            joins: Vec::new(),
            turning: None,
            checkpoints: Vec::new(),
            checkpoint_bytes: 0,
            checkpoint_ticks: CHECKPOINT_TICKS,
            segment_bytes: 0,
            segment: Vec::new(),
            segment_states: 0,
            segment_kept: 0,
            work_at_target: 0,
            after: None,
        }
    }

    /// A sweep of the whole game, from a layer on that the game can reach. `limits` are those of a
    /// whole sweep against the same threats.
    pub fn onwards(
        model: &Model<N>,
        target: &Target<N>,
        mask: Combination,
        tick: usize,
        layer: &Layer<N>,
        limits: SweepLimits,
    ) -> Self {
        let mut layer = layer.clone();
        layer.retain(|_| target.allowed[tick]);
        let threats = (0..target.slots.len()).filter(|&index| target.slots[index].mask() & mask != 0);
        let joins = threats.map(|index| (model.first_tick, index, limits.counts_draws)).collect();
        let sweep = Self::new(target, tick, mask, limits);
        Self { origin: model.first_tick, mask, layer, joins, ..sweep }
    }

    /// The approximate bytes of its layers.
    pub fn bytes(&self) -> usize {
        let stored = self.segment.iter().chain(self.turning.iter().map(|(stored, _)| stored));
        let layers = [&self.layer, &self.next].into_iter().chain(stored.map(|stored| &stored.layer));
        let after = self.after.as_ref().map_or(0, |(_, after)| after.bytes());
        layers.map(|layer| layer.len() * Layer::<N>::KEY_BYTES).sum::<usize>() + self.checkpoint_bytes + after
    }

    /// The tick of its layer.
    pub fn tick(&self) -> usize {
        self.tick
    }

    /// Whether it has reached the target or turned back.
    pub fn has_turned(&self) -> bool {
        self.phase != Phase::Forwards
    }

    /// Continues until the sweep ends, for about this many combinations, or until the budget is
    /// used up.
    pub fn advance(
        &mut self,
        model: &Model<N>,
        target: &mut Target<N>,
        slice: u64,
        can_turn: bool,
        meter: &mut BudgetMeter,
    ) -> Option<End> {
        let (begin, work) = (meter.ticks(), self.work);
        let stop = begin + slice;
        while meter.check().is_ok() && meter.ticks() < stop {
            let end = match self.phase {
                Phase::Forwards if self.tick == target.tick && !can_turn => return None,
                Phase::Forwards => self.forwards(model, target, can_turn, meter),
                Phase::Beyond { work_max } => self.beyond(model, target, work_max, meter),
                Phase::Again { until } => self.again(model, target, until, meter),
                Phase::Backwards => self.backwards(model, target, meter),
            };
            // Until then, a phase sees the work up to its own start.
            self.work = work + meter.ticks() - begin;
            if end.is_some() {
                return end;
            }
        }
        None
    }

    fn forwards(
        &mut self,
        model: &Model<N>,
        target: &mut Target<N>,
        can_turn: bool,
        meter: &mut BudgetMeter,
    ) -> Option<End> {
        if !self.is_ready {
            self.narrow(model, target);
            self.widen(model, target);
            if self.layer.is_empty() {
                self.record(model, target);
                return Some(End::Empty(self.tick));
            }
            // If the sweep would only repeat what is known, the following ticks yield nothing new.
            let is_repeating = self.limits.join_len > 0
                && can_turn
                && self.tick > self.from
                && target
                    .known_over(self.tick, self.mask)
                    .is_some_and(|known| known.states * 19 <= self.layer.states() * 20);
            if self.tick == target.tick && self.limits.beyond_tick > self.tick {
                let stored = StoredLayer { tick: self.tick, mask: self.mask, layer: self.layer.clone() };
                self.turning = Some((stored, self.joins.len()));
                self.work_at_target = self.work;
                let work = if self.limits.is_whole { self.work / WHOLE_BEYOND_SHARE } else { self.work };
                self.phase = Phase::Beyond { work_max: BEYOND_WORK_MIN.max(work) };
                self.is_ready = true;
                return None;
            }
            if self.tick == target.tick || is_repeating {
                self.record(model, target);
                self.after = Some((self.mask, target.index(std::mem::take(&mut self.layer), self.mask)));
                self.phase = Phase::Backwards;
                return None;
            }
            if !self.keep() {
                return Some(End::TooBig);
            }
            self.is_ready = true;
        }
        if self.step(model, target, meter) {
            self.tick += 1;
        }
        self.is_wide().then_some(End::TooBig)
    }

    /// Beyond the target nothing is known: all states that are alive there are left.
    fn beyond(
        &mut self,
        model: &Model<N>,
        target: &mut Target<N>,
        work_max: u64,
        meter: &mut BudgetMeter,
    ) -> Option<End> {
        let is_too_much = self.work > self.work_at_target + work_max || self.is_wide();
        if !self.is_ready && !is_too_much {
            self.widen(model, target);
            self.is_ready = true;
        }
        let is_empty = self.layer.is_empty();
        if !is_empty && !is_too_much && self.tick < self.limits.beyond_tick {
            if self.step(model, target, meter) {
                self.tick += 1;
            }
            return None;
        }
        let end = is_empty.then(|| {
            target.beyond = Some(self.parameters(model, target, self.tick));
            End::EmptyBeyond(self.tick)
        });
        let (stored, joins) = self.turning.take().expect("kept at the target");
        (self.tick, self.mask, self.layer) = (stored.tick, stored.mask, stored.layer);
        self.joins.truncate(joins);
        self.record(model, target);
        self.after = Some((self.mask, target.index(std::mem::take(&mut self.layer), self.mask)));
        self.join.restart();
        (self.is_ready, self.phase) = (false, Phase::Backwards);
        end
    }

    /// Whether the layer, or the one under construction, has more combinations than it may.
    fn is_wide(&self) -> bool {
        self.layer.len().max(self.join.len()) > self.limits.layer_len
    }

    /// Applies the knowledge about the tick where threats have moved. Between two of their moves the
    /// combinations stay as they are.
    fn narrow(&mut self, model: &Model<N>, target: &Target<N>) {
        if self.tick == self.from || model.moves[self.tick - 1] {
            target.narrow(self.tick, self.mask, &mut self.join, &mut self.layer);
        }
    }

    /// Adds missing threats: those with which it starts and one more at the first tick, those that
    /// are known together with all that it has, and the others once few enough states are left.
    fn widen(&mut self, model: &Model<N>, target: &Target<N>) {
        let limits = self.limits;
        if !limits.is_whole {
            let has_more = |known: &&Known<N>| self.mask & !known.mask == 0 && known.mask != self.mask;
            let more = target.known(self.tick).filter(|known| limits.join_len > 0 && has_more(known));
            let adopted = match more.min_by_key(|known| known.states) {
                _ if self.tick == self.from => self.base,
                Some(known) => known.mask,
                None => 0,
            };
            for index in 0..target.slots.len() {
                if target.slots[index].mask() & adopted & !self.mask != 0 {
                    self.join_slot(model, target, index, usize::MAX);
                }
            }
        }
        let mut is_first = self.tick == self.from;
        for index in 0..target.slots.len() {
            let slot = target.slots[index];
            if slot.mask() & (self.mask | limits.left_out) != 0 {
                continue;
            }
            let is_exact = self.tick == model.first_tick;
            let is_known = target.is_known(self.tick, slot);
            let can_join = is_exact || !limits.is_whole && (is_known || target.can_join(model, slot, self.tick));
            // Some of a threat's keys are dead for each place of the player.
            // At the first tick there is one key for each threat.
            let keys = if is_exact || is_known { 1 } else { target.closure_len(model, slot, self.tick) };
            if !can_join || !(is_first || self.layer.len() * keys / 4 <= limits.join_len) {
                return;
            }
            let max_len = if is_first { limits.layer_len } else { limits.join_len };
            if !self.join_slot(model, target, index, max_len) {
                return;
            }
            is_first = false;
        }
    }

    /// Lets a threat join and notes that it did, unless there would be more combinations than this.
    fn join_slot(&mut self, model: &Model<N>, target: &Target<N>, index: usize, max_len: usize) -> bool {
        let has_joined = self.add_slot(model, target, (index, true), max_len);
        if has_joined {
            let counts = self.mask & target.slots[index].draws_mask() != 0;
            self.joins.push((self.tick, index, counts));
        }
        has_joined
    }

    /// Adds a threat to the layer, unless there would be more combinations than this; returns whether
    /// it did. A hawk's draws are counted from here on if they are known and `counts_known`.
    fn add_slot(
        &mut self,
        model: &Model<N>,
        target: &Target<N>,
        (index, counts_known): (usize, bool),
        max_len: usize,
    ) -> bool {
        let slot = target.slots[index];
        let layer = (self.mask, &self.layer);
        let joining = (self.tick, slot, counts_known);
        let Some((mask, wide)) = target.join(model, joining, layer, &mut self.join, max_len) else {
            return false;
        };
        // From the first tick on, draws can be counted.
        let counts = self.limits.counts_draws && self.tick == model.first_tick;
        (self.mask, self.layer) = (if counts { mask | slot.draws_mask() } else { mask }, wide);
        target.narrow(self.tick, self.mask, &mut self.join, &mut self.layer);
        true
    }

    /// Keeps the layer for the way back if one is due; returns false if there is no room.
    fn keep(&mut self) -> bool {
        let bytes = self.layer.len() * Layer::<N>::KEY_BYTES;
        let last = self.checkpoints.last().map(|checkpoint| checkpoint.tick);
        if last.is_none_or(|last| self.tick - last >= self.checkpoint_ticks) {
            self.checkpoint_bytes += bytes;
            self.checkpoints.push(StoredLayer { tick: self.tick, mask: self.mask, layer: self.layer.clone() });
        }
        while self.checkpoint_bytes > self.limits.kept_bytes && self.checkpoints.len() > 1 {
            self.thin();
        }
        bytes <= self.limits.kept_bytes
    }

    /// Drops every other checkpoint but the first.
    fn thin(&mut self) {
        self.checkpoint_ticks *= 2;
        let mut place = 0..;
        self.checkpoints.retain(|_| place.next().is_some_and(|place: usize| place.is_multiple_of(2)));
        let bytes = self.checkpoints.iter().map(|checkpoint| checkpoint.layer.len() * Layer::<N>::KEY_BYTES);
        self.checkpoint_bytes = bytes.sum();
    }

    /// Builds a part of the next layer, in the place of this one; returns true once it is complete.
    fn step(&mut self, model: &Model<N>, target: &Target<N>, meter: &mut BudgetMeter) -> bool {
        let slots = target.slots_in(model, self.mask);
        let context = target.context(model, &slots, self.tick);
        let is_complete = self.join.advance(&context, &mut self.layer, meter);
        self.is_ready &= !is_complete;
        is_complete
    }

    /// Rebuilds the layers from a checkpoint on.
    fn again(&mut self, model: &Model<N>, target: &Target<N>, until: usize, meter: &mut BudgetMeter) -> Option<End> {
        if !self.is_ready {
            self.narrow(model, target);
            // Draws that have become known since are not counted: the layers after would lack them.
            let now = self.joins.iter().filter(|(tick, ..)| *tick == self.tick);
            let joins: Vec<(usize, bool)> = now.map(|&(_, index, counts)| (index, counts)).collect();
            for (index, counts) in joins {
                if target.slots[index].mask() & self.mask == 0 {
                    assert!(self.add_slot(model, target, (index, counts), usize::MAX), "no limit is reached");
                    if counts != (self.mask & target.slots[index].draws_mask() != 0) {
                        // Its draws are not known any more: these layers would not match those after.
                        return Some(End::TooBig);
                    }
                }
            }
            self.is_ready = true;
        }
        let is_new = !self.join.is_advancing() && !self.segment.is_empty();
        if is_new && (self.segment.len() >= CHECKPOINT_TICKS || self.segment_bytes > self.limits.kept_bytes) {
            // The layers up to there do not fit: the segment starts over from here, and what comes
            // before is rebuilt once more.
            self.segment.clear();
            self.segment_bytes = 0;
            self.checkpoints.push(StoredLayer { tick: self.tick, mask: self.mask, layer: self.layer.clone() });
        }
        if self.tick + 1 == until {
            self.store();
            self.phase = Phase::Backwards;
            return None;
        }
        if !self.join.is_advancing() {
            let layer = self.layer.clone();
            self.segment_bytes += layer.len() * Layer::<N>::KEY_BYTES;
            self.segment.push(StoredLayer { tick: self.tick, mask: self.mask, layer });
        }
        if self.step(model, target, meter) {
            self.tick += 1;
        }
        None
    }

    fn store(&mut self) {
        let layer = std::mem::take(&mut self.layer);
        self.segment.push(StoredLayer { tick: self.tick, mask: self.mask, layer });
        self.is_ready = false;
    }

    /// Processes a part of a layer on the way back.
    fn backwards(&mut self, model: &Model<N>, target: &mut Target<N>, meter: &mut BudgetMeter) -> Option<End> {
        let Some(stored) = self.segment.last() else {
            let until = self.tick;
            self.checkpoints.pop_if(|checkpoint| checkpoint.tick == until);
            let checkpoint = self.checkpoints.last().expect("the first layer is a checkpoint");
            (self.tick, self.mask, self.layer) = (checkpoint.tick, checkpoint.mask, checkpoint.layer.clone());
            self.segment_bytes = 0;
            (self.is_ready, self.phase) = (true, Phase::Again { until });
            return None;
        };
        let (tick, mask) = (stored.tick, stored.mask);
        if self.done == 0 {
            self.next.clear();
            let (after_mask, after) = self.after.take().expect("a layer comes after");
            // Threats that joined between the two are left out again.
            let narrow = (after_mask != mask).then(|| target.index(self.join.project(after.layer(), mask), mask));
            if let Some(narrow) = narrow {
                target.record(tick + 1, after_mask, after, &mut self.join);
                self.after = Some((mask, narrow));
            } else {
                self.after = Some((after_mask, after));
            }
        }
        let slots = target.slots_in(model, mask);
        let context = target.context(model, &slots, tick);
        let (_, after) = self.after.as_ref().expect("a layer comes after");
        let end = stored.layer.len().min(self.done + CHUNK);
        self.join.trim(&context, &stored.layer, self.done..end, after, &mut self.next);
        meter.add_ticks((end - self.done) as u64);
        self.done = end;
        if end < stored.layer.len() {
            return None;
        }
        self.segment_states += stored.layer.states();
        self.segment_kept += self.next.states();
        self.segment.pop();
        (self.done, self.tick) = (0, tick);
        let (after_mask, after) = self.after.take().expect("a layer comes after");
        target.record(tick + 1, after_mask, after, &mut self.join);
        let lookup = target.index(std::mem::take(&mut self.next), mask);
        let mut is_over = tick == self.from;
        if self.segment.is_empty() {
            let dropped = self.segment_states - self.segment_kept;
            let is_same = DROPPED_SHARE * dropped < self.segment_states;
            let len = lookup.layer().len();
            let is_wide = len > 2 * RETURN_LEN || is_same && len > RETURN_LEN;
            is_over |= self.limits.is_whole && is_wide && self.work > RETURN_WORK_MIN;
            (self.segment_states, self.segment_kept) = (0, 0);
        }
        if is_over {
            target.record(tick, mask, lookup, &mut self.join);
            return Some(End::Recorded);
        }
        self.after = Some((mask, lookup));
        None
    }

    /// Records the sweep's parameters.
    fn record(&self, model: &Model<N>, target: &mut Target<N>) {
        let step = self.parameters(model, target, target.tick);
        target.steps.push(step);
    }

    /// The parameters of the sweep up to where it is now, for a target.
    fn parameters(&self, model: &Model<N>, target: &Target<N>, target_tick: usize) -> Step {
        let joins = self.joins.iter().map(|&(tick, index, _)| {
            let automaton = target.slots[index].automaton;
            (tick as u16, model.automata[automaton].index() as u16)
        });
        Step {
            target_tick: target_tick as u16,
            from_tick: self.origin as u16,
            until_tick: self.tick as u16,
            counts_draws: self.limits.counts_draws,
            joins: joins.collect(),
        }
    }
}
