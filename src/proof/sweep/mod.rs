//! A sweep. Missing threats join a narrow sweep when few states are left. The forward pass stores
//! some layers as *checkpoints*. The backward pass rebuilds one *segment* at a time: the layers
//! from the latest remaining checkpoint to the part that is already processed.

mod backwards;
mod limits;
mod saved;

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::combination::Combination;
use super::join::Join;
use super::known::Known;
use super::layer::{Layer, Lookup};
use super::model::Model;
use super::outcome::Step;
use super::target::Target;
use super::tuning::{SAME_SHARE, SHARE, SHORT_WORK};
use crate::search::{BudgetMeter, StopReason};
pub(super) use limits::{AtTarget, End, SweepLimits};
pub(super) use saved::SavedSweep;

/// Initial number of ticks between two checkpoints, and maximum number of layers in a segment.
const CHECKPOINT_TICKS: usize = 16;

#[derive(Debug)]
struct StoredLayer<const N: usize> {
    tick: usize,
    mask: Combination,
    layer: Layer<N>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Phase {
    Forwards,
    /// Forwards beyond the target, at most until the work beyond it exceeds `work_max`.
    Beyond {
        work_max: u64,
    },
    Rebuild {
        until: usize,
    },
    Backwards,
    /// The backward pass is complete or has ended early.
    Over,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Begin {
    from: usize,
    /// The sweep's `from_tick` in the proof. Below `from` if the sweep starts from a reachable
    /// layer.
    origin: usize,
    /// The mask of the known set or reachable layer from which the sweep starts, or 0.
    base: Combination,
}

#[derive(Debug)]
struct Front<const N: usize> {
    tick: usize,
    mask: Combination,
    layer: Layer<N>,
    /// The layer under construction. In the backward pass, this layer holds the states kept from
    /// the first `done` combinations of the segment's last layer.
    next: Layer<N>,
    done: usize,
    /// True once the layer can be stepped: known sets have restricted it, and the missing threats
    /// that can join have joined.
    is_ready: bool,
    /// True if the deadline interrupted the work on a layer. The next attempt ignores the deadline.
    is_interrupted: bool,
}

#[derive(Debug)]
struct Kept<const N: usize> {
    checkpoints: Vec<StoredLayer<N>>,
    checkpoint_bytes: usize,
    /// Ticks between two checkpoints, doubled whenever the checkpoints take too much memory.
    checkpoint_ticks: usize,
    segment: Vec<StoredLayer<N>>,
    segment_bytes: usize,
    /// Number of states in the processed layers of the segment, before and after the backward pass.
    segment_states: u64,
    segment_kept: u64,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Joined {
    tick: usize,
    slot: usize,
    counts_draws: bool,
}

/// The layer at the target, and the number of joins and the work up to it.
#[derive(Debug)]
struct Turning<const N: usize> {
    stored: StoredLayer<N>,
    joins: usize,
    work: u64,
}

#[derive(Debug)]
pub(super) struct Sweep<const N: usize> {
    begin: Begin,
    limits: SweepLimits,
    pub work: u64,
    join: Join<N>,
    phase: Phase,
    front: Front<N>,
    joins: Vec<Joined>,
    turning: Option<Turning<N>>,
    kept: Kept<N>,
    /// In the backward pass: the mask and the remaining states of the layer processed last.
    after: Option<(Combination, Arc<Lookup<N>>)>,
}

impl<const N: usize> Sweep<N> {
    /// Starts at the tick `from` with the threats in `known`: the mask of a known set of this tick,
    /// or 0.
    pub fn new(target: &Target<N>, from: usize, known: Combination, limits: SweepLimits) -> Self {
        let layer = Layer { keys: vec![0], sets: vec![target.allowed[from]] };
        Self {
            begin: Begin { from, origin: from, base: known },
            limits,
            work: 0,
            join: Join::default(),
            phase: Phase::Forwards,
            front: Front {
                tick: from,
                mask: 0,
                layer,
                next: Layer::default(),
                done: 0,
                is_ready: false,
                is_interrupted: false,
            },
            joins: Vec::new(),
            turning: None,
            kept: Kept {
                checkpoints: Vec::new(),
                checkpoint_bytes: 0,
                checkpoint_ticks: CHECKPOINT_TICKS,
                segment: Vec::new(),
                segment_bytes: 0,
                segment_states: 0,
                segment_kept: 0,
            },
            after: None,
        }
    }

    /// Creates a wide sweep that starts from a reachable layer over the threats in `mask`.
    pub fn onwards(
        model: &Model<N>,
        target: &Target<N>,
        mask: Combination,
        tick: usize,
        layer: &Layer<N>,
        limits: SweepLimits,
    ) -> Self {
        let layer = layer.within(&target.allowed[tick]);
        let threats = (0..target.slots.len()).filter(|&index| target.slots[index].mask() & mask != 0);
        let counts_draws = limits.counts_draws;
        let joins = threats.map(|slot| Joined { tick: model.first_tick, slot, counts_draws }).collect();
        let mut sweep = Self { joins, ..Self::new(target, tick, mask, limits) };
        sweep.begin.origin = model.first_tick;
        (sweep.front.mask, sweep.front.layer) = (mask, layer);
        sweep
    }

    pub fn tick(&self) -> usize {
        self.front.tick
    }

    pub fn has_turned(&self) -> bool {
        self.phase != Phase::Forwards
    }

    /// Processes about `slice` combinations, or fewer if the sweep has a result or the budget is
    /// used up. With [`AtTarget::Wait`], the sweep does not turn back.
    pub fn advance(
        &mut self,
        model: &Model<N>,
        target: &mut Target<N>,
        slice: u64,
        at_target: AtTarget,
        meter: &mut BudgetMeter,
    ) -> Option<End> {
        let (begin, work) = (meter.ticks(), self.work);
        let stop = begin + slice;
        while meter.check().is_ok() && meter.ticks() < stop {
            if self.phase == Phase::Forwards && self.front.tick == target.tick && at_target == AtTarget::Wait {
                return None;
            }
            meter.set_patient(std::mem::take(&mut self.front.is_interrupted));
            let end = match self.phase {
                Phase::Forwards => self.forwards(model, target, at_target, meter),
                Phase::Beyond { work_max } => self.beyond(model, target, work_max, meter),
                Phase::Rebuild { until } => self.rebuild(model, target, until, meter),
                Phase::Backwards => self.backwards(model, target, meter),
                Phase::Over => self.finish(target, meter),
            };
            meter.set_patient(false);
            let end = end.unwrap_or_else(|_| {
                self.front.is_interrupted = true;
                None
            });
            // The next phase reads the work of the earlier phases.
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
        at_target: AtTarget,
        meter: &mut BudgetMeter,
    ) -> Result<Option<End>, StopReason> {
        if !self.front.is_ready {
            self.narrow(model, target, meter)?;
            self.widen(model, target, meter)?;
            if self.front.layer.is_empty() {
                self.note(model, target);
                return Ok(Some(End::Empty));
            }
            // If almost all states of a known set with the same mask are left, going on would
            // mostly repeat an earlier sweep.
            let is_repeating = self.limits.join_len > 0
                && at_target == AtTarget::TurnBack
                && self.front.tick > self.begin.from
                && target
                    .known_over(self.front.tick, self.front.mask)
                    .is_some_and(|known| known.states * (SAME_SHARE - 1) <= self.front.layer.states() * SAME_SHARE);
            if self.front.tick == target.tick && self.limits.beyond_tick > self.front.tick {
                let stored =
                    StoredLayer { tick: self.front.tick, mask: self.front.mask, layer: self.front.layer.clone() };
                self.turning = Some(Turning { stored, joins: self.joins.len(), work: self.work });
                // Beyond the target, a wide sweep rules out fewer ticks for its work.
                let work = if self.limits.is_wide { self.work / SHARE } else { self.work };
                self.phase = Phase::Beyond { work_max: SHORT_WORK.max(work) };
                self.front.is_ready = true;
                return Ok(None);
            }
            if self.front.tick == target.tick || is_repeating {
                self.after = Some((self.front.mask, target.index(&mut self.front.layer, self.front.mask, meter)?));
                self.note(model, target);
                self.phase = Phase::Backwards;
                return Ok(None);
            }
            if !self.keep() {
                return Ok(Some(End::TooBig));
            }
            self.front.is_ready = true;
        }
        self.step(model, target, meter);
        Ok(self.is_large().then_some(End::TooBig))
    }

    /// Continues beyond the target, where no known sets restrict the layers.
    fn beyond(
        &mut self,
        model: &Model<N>,
        target: &mut Target<N>,
        work_max: u64,
        meter: &mut BudgetMeter,
    ) -> Result<Option<End>, StopReason> {
        let work_at_target = self.turning.as_ref().map_or(0, |turning| turning.work);
        let is_too_much = self.work > work_at_target + work_max || self.is_large();
        if !self.front.is_ready && !is_too_much {
            self.widen(model, target, meter)?;
            self.front.is_ready = true;
        }
        let is_empty = self.front.layer.is_empty();
        if !is_empty && !is_too_much && self.front.tick < self.limits.beyond_tick {
            self.step(model, target, meter);
            return Ok(None);
        }
        let end = is_empty.then(|| {
            target.beyond = Some(self.parameters(model, target, self.front.tick));
            End::EmptyBeyond(self.front.tick)
        });
        let Turning { stored, joins, .. } = self.turning.as_mut().expect("kept at the target");
        self.after = Some((stored.mask, target.index(&mut stored.layer, stored.mask, meter)?));
        (self.front.tick, self.front.mask) = (stored.tick, stored.mask);
        self.joins.truncate(*joins);
        self.note(model, target);
        (self.front.layer, self.turning) = (Layer::default(), None);
        self.join.restart();
        (self.front.is_ready, self.phase) = (false, Phase::Backwards);
        Ok(end)
    }

    fn is_large(&self) -> bool {
        self.front.layer.len().max(self.join.len()) > self.limits.layer_len
    }

    /// Restricts the layer to the known sets at the sweep's first tick and after threats have
    /// moved.
    fn narrow(&mut self, model: &Model<N>, target: &Target<N>, meter: &mut BudgetMeter) -> Result<(), StopReason> {
        if self.front.tick == self.begin.from || model.times.moves[self.front.tick - 1] {
            target.narrow(self.front.tick, self.front.mask, &mut self.join, &mut self.front.layer, meter)?;
        }
        Ok(())
    }

    /// Adds missing threats. A narrow sweep adds those in `begin.base` and one more at its first
    /// tick, later those of a known set that covers the layer's threats, and others while few
    /// states are left. A wide sweep adds threats only at the model's first tick.
    fn widen(&mut self, model: &Model<N>, target: &Target<N>, meter: &mut BudgetMeter) -> Result<(), StopReason> {
        let limits = self.limits;
        if !limits.is_wide {
            let has_more = |known: &&Known<N>| self.front.mask & !known.mask == 0 && known.mask != self.front.mask;
            let more = target.known(self.front.tick).filter(|known| limits.join_len > 0 && has_more(known));
            let adopted = match more.min_by_key(|known| known.states) {
                _ if self.front.tick == self.begin.from => self.begin.base,
                Some(known) => known.mask,
                None => 0,
            };
            for index in 0..target.slots.len() {
                if target.slots[index].mask() & adopted & !self.front.mask != 0 {
                    self.join_slot(model, target, index, usize::MAX, meter)?;
                }
            }
        }
        let is_base = |joined: &Joined| target.slots[joined.slot].mask() & self.begin.base != 0;
        let mut is_first = self.front.tick == self.begin.from && self.joins.iter().all(is_base);
        for index in 0..target.slots.len() {
            let slot = target.slots[index];
            if slot.mask() & (self.front.mask | limits.left_out) != 0 {
                continue;
            }
            let is_exact = self.front.tick == model.first_tick;
            let is_known = target.is_known(self.front.tick, slot);
            let can_join = is_exact || !limits.is_wide && (is_known || target.can_join(model, slot, self.front.tick));
            // The product of combinations and keys overestimates the size of the joined layer,
            // because each place of the player excludes many keys. So the product is divided by 4.
            let keys = if is_exact || is_known { 1 } else { target.closure_len(model, slot, self.front.tick) };
            if !can_join || !(is_first || self.front.layer.len() * keys / 4 <= limits.join_len) {
                return Ok(());
            }
            let max_len = if is_first { limits.layer_len } else { limits.join_len };
            if !self.join_slot(model, target, index, max_len, meter)? {
                return Ok(());
            }
            is_first = false;
        }
        Ok(())
    }

    /// Adds a threat, notes the join and applies the known sets. Returns false if the layer would
    /// have more than `max_len` combinations.
    fn join_slot(
        &mut self,
        model: &Model<N>,
        target: &Target<N>,
        index: usize,
        max_len: usize,
        meter: &mut BudgetMeter,
    ) -> Result<bool, StopReason> {
        let has_joined = self.add_slot(model, target, (index, true), max_len, meter)?;
        if has_joined {
            let counts_draws = self.front.mask & target.slots[index].draws_mask() != 0;
            self.joins.push(Joined { tick: self.front.tick, slot: index, counts_draws });
            target.narrow(self.front.tick, self.front.mask, &mut self.join, &mut self.front.layer, meter)?;
        }
        Ok(has_joined)
    }

    /// Like [`Self::join_slot`], but does not note the join or apply the known sets.
    fn add_slot(
        &mut self,
        model: &Model<N>,
        target: &Target<N>,
        (index, counts_known): (usize, bool),
        max_len: usize,
        meter: &mut BudgetMeter,
    ) -> Result<bool, StopReason> {
        let slot = target.slots[index];
        let layer = (self.front.mask, &self.front.layer);
        let joining = (self.front.tick, slot, counts_known);
        let Some((mask, wide)) = target.join(model, joining, layer, &mut self.join, max_len, meter)? else {
            return Ok(false);
        };
        // At the first tick, from which draws are counted, the draw bits are 0.
        let counts = self.limits.counts_draws && self.front.tick == model.first_tick;
        (self.front.mask, self.front.layer) = (if counts { mask | slot.draws_mask() } else { mask }, wide);
        Ok(true)
    }

    /// Makes a checkpoint if one is due. Returns false if the layer takes more than `kept_bytes`.
    fn keep(&mut self) -> bool {
        let bytes = self.front.layer.len() * Layer::<N>::KEY_BYTES;
        let last = self.kept.checkpoints.last().map(|checkpoint| checkpoint.tick);
        if last.is_none_or(|last| self.front.tick - last >= self.kept.checkpoint_ticks) {
            self.kept.checkpoint_bytes += bytes;
            self.kept.checkpoints.push(StoredLayer {
                tick: self.front.tick,
                mask: self.front.mask,
                layer: self.front.layer.clone(),
            });
        }
        while self.kept.checkpoint_bytes > self.limits.kept_bytes && self.kept.checkpoints.len() > 1 {
            self.thin();
        }
        bytes <= self.limits.kept_bytes
    }

    fn thin(&mut self) {
        self.kept.checkpoint_ticks *= 2;
        let mut place = 0..;
        self.kept.checkpoints.retain(|_| place.next().is_some_and(|place: usize| place.is_multiple_of(2)));
        let bytes = self.kept.checkpoints.iter().map(|checkpoint| checkpoint.layer.len() * Layer::<N>::KEY_BYTES);
        self.kept.checkpoint_bytes = bytes.sum();
    }

    fn step(&mut self, model: &Model<N>, target: &Target<N>, meter: &mut BudgetMeter) {
        let slots = target.slots_in(model, self.front.mask);
        let context = target.context(model, &slots, self.front.tick);
        // In the backward pass, the current layer can be in the segment instead of `front.layer`.
        let stored = self.kept.segment.last().filter(|stored| stored.tick == self.front.tick);
        let layer = stored.map_or(&self.front.layer, |stored| &stored.layer);
        if self.join.advance(&context, layer, &mut self.front.next, meter) {
            std::mem::swap(&mut self.front.layer, &mut self.front.next);
            self.front.next.clear();
            (self.front.tick, self.front.is_ready) = (self.front.tick + 1, false);
        }
    }

    fn note(&self, model: &Model<N>, target: &mut Target<N>) {
        let step = self.parameters(model, target, target.tick);
        target.steps.push(step);
    }

    fn parameters(&self, model: &Model<N>, target: &Target<N>, target_tick: usize) -> Step {
        let joins = self.joins.iter().map(|joined| {
            let automaton = target.slots[joined.slot].automaton;
            (joined.tick as u16, model.automata[automaton].index() as u16)
        });
        Step {
            target_tick: target_tick as u16,
            from_tick: self.begin.origin as u16,
            until_tick: self.front.tick as u16,
            counts_draws: self.limits.counts_draws,
            joins: joins.collect(),
        }
    }
}
