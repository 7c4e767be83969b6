//! A sweep steps a layer forwards from tick to tick, and drops the states outside the known sets. If
//! it runs out of states, its target is out of reach. Otherwise it goes back from its last layer and
//! drops the states that do not lead to that layer. The remaining states become known sets.

use super::combination::{Combination, Slot};
use super::knowledge::{Knowledge, Known, index};
use super::layer::{Front, Lookup};
use super::model::Model;
use super::proof::Step;
use super::stepper::Stepper;
use super::tiles::TileSet;
use super::tuning::{FIRST_WORK, KNOWN_TICKS, LARGE_LEN, SAME_SHARE, SHARE, SMALL_STATES};
use crate::search::{BudgetMeter, StopReason};

/// The threats that join a sweep, and the ticks in which they join.
#[derive(Clone, Copy, Debug)]
pub(super) enum Joins {
    /// The threats in the mask, at the model's first tick. Draws are counted if the mask has their
    /// bits.
    AtFirst(Combination),
    /// At the first tick, the threats in `base` (the mask of a known set, or 0) and one more.
    /// Later, the threats of a known set that covers the layer's threats. At any tick, others too,
    /// while the layer has at most `max_len` combinations after the join.
    WhileSmall { base: Combination, max_len: usize },
}

#[derive(Debug)]
pub(super) struct Plan<const N: usize> {
    /// The first layer, without the threats that `joins` adds to it.
    pub first: Front<N>,
    pub joins: Joins,
    /// A sweep that reaches its target continues beyond it, at most to this tick, to prove a later
    /// tick out of reach.
    pub beyond_tick: usize,
    /// If not empty, the sweep only goes forwards, and returns its layers at these ticks.
    pub kept_ticks: Vec<usize>,
    /// Approximate limit, in bytes, on a layer under construction, and also on all stored layers
    /// together.
    pub memory_max_bytes: usize,
}

#[derive(Debug)]
pub(super) enum End<const N: usize> {
    /// No state is left, so the target cannot be reached.
    Empty,
    /// The remaining states became known sets. The pass beyond the target, if it ran out of states,
    /// proves that its `target_tick` cannot be reached.
    Recorded { beyond: Option<Step> },
    /// The layers at `kept_ticks`.
    Reached(Vec<Front<N>>),
    /// A layer exceeds the memory.
    TooLarge,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Joined {
    tick: usize,
    slot: Slot,
}

/// Layers for the backward pass, at even intervals. The interval doubles whenever the layers take
/// too much memory. The backward pass repeats the forward pass between them.
#[derive(Debug)]
struct Checkpoints<const N: usize> {
    fronts: Vec<Front<N>>,
    max_bytes: usize,
    interval: usize,
}

impl<const N: usize> Checkpoints<N> {
    fn new(max_bytes: usize) -> Self {
        Self { fronts: Vec::new(), max_bytes, interval: 1 }
    }

    fn push(&mut self, front: Front<N>) {
        let from = self.fronts.first().map_or(front.tick, |first| first.tick);
        if !(front.tick - from).is_multiple_of(self.interval) {
            return;
        }
        self.fronts.push(front);
        // With only the first layer, the backward pass would keep repeating the same range of ticks.
        let bytes = |fronts: &[Front<N>]| fronts.iter().map(|front| front.layer.bytes()).sum::<usize>();
        while self.fronts.len() > 2 && bytes(&self.fronts) > self.max_bytes {
            self.interval *= 2;
            self.fronts.retain(|front| (front.tick - from).is_multiple_of(self.interval));
        }
    }
}

#[derive(Debug)]
pub(super) struct Sweep<'a, const N: usize> {
    pub model: &'a Model<N>,
    pub knowledge: &'a mut Knowledge<N>,
    pub plan: &'a Plan<N>,
    pub stepper: &'a mut Stepper<N>,
    /// The joins so far.
    pub joins: Vec<Joined>,
    pub meter: &'a mut BudgetMeter,
}

impl<const N: usize> Sweep<'_, N> {
    /// Runs the sweep, and adds what it finds to the knowledge. If the budget of `meter` is used
    /// up, the forward pass is lost, and the known sets that a backward pass has found so far are kept.
    pub fn run(&mut self) -> Result<End<N>, StopReason> {
        let begin = self.meter.ticks();
        let joined = self.model.slots.iter().filter(|slot| slot.mask() & self.plan.first.mask != 0);
        self.joins = joined.map(|&slot| Joined { tick: self.model.times.first_tick, slot }).collect();
        let (mut front, target) = (self.plan.first.clone(), self.knowledge.tick);
        let mut checkpoints = Checkpoints::new(self.plan.memory_max_bytes);
        let mut reached = Vec::new();
        loop {
            self.restrict(&mut front)?;
            self.add_threats(&mut front)?;
            if front.layer.is_empty() {
                let step = self.step_of(target, front.tick);
                self.knowledge.steps.push(step);
                return Ok(End::Empty);
            }
            if self.plan.kept_ticks.contains(&front.tick) {
                reached.push(front.clone());
            }
            if front.tick == target || self.is_repeating(&front) {
                break;
            }
            let Some(next) = self.step(&front)? else { return Ok(End::TooLarge) };
            let front = std::mem::replace(&mut front, next);
            if self.plan.kept_ticks.is_empty() {
                checkpoints.push(front);
            }
        }
        if !self.plan.kept_ticks.is_empty() {
            return Ok(End::Reached(reached));
        }
        let work = FIRST_WORK.max((self.meter.ticks() - begin) / SHARE);
        let joins = self.joins.len();
        let beyond = if front.tick == target { self.beyond(&front, work) } else { None };
        self.joins.truncate(joins);
        let is_long = |sweep: &Self| sweep.meter.ticks() - begin > 5 * FIRST_WORK;
        match self.backwards(front, checkpoints, is_long) {
            Err(stop) if beyond.is_none() => Err(stop),
            _ => Ok(End::Recorded { beyond }),
        }
    }

    /// Continues from the target to ticks without known sets until it has done `work`. Returns the step
    /// if no state is left.
    fn beyond(&mut self, front: &Front<N>, work: u64) -> Option<Step> {
        let stop = self.meter.ticks() + work;
        let mut front = front.clone();
        while front.tick < self.plan.beyond_tick && self.meter.ticks() < stop {
            front = self.step(&front).ok()??;
            self.add_threats(&mut front).ok()?;
            if front.layer.is_empty() {
                return Some(self.step_of(front.tick, front.tick));
            }
        }
        None
    }

    fn step(&mut self, front: &Front<N>) -> Result<Option<Front<N>>, StopReason> {
        let slots = self.model.slots_in(front.mask);
        let context = self.knowledge.context(self.model, &slots, front.tick);
        let max_len = self.plan.memory_max_bytes / Stepper::<N>::KEY_BYTES;
        let layer = self.stepper.step(&context, &front.layer, max_len, self.meter)?;
        Ok(layer.map(|layer| Front { tick: front.tick + 1, mask: front.mask, layer }))
    }

    /// Restricts the layer to the known sets at the sweep's first tick and after threats have moved.
    fn restrict(&mut self, front: &mut Front<N>) -> Result<(), StopReason> {
        if front.tick == self.plan.first.tick || self.model.times.moves[front.tick - 1] {
            self.knowledge.restrict(self.model, front, self.meter)?;
        }
        Ok(())
    }

    /// Returns true if almost all states of a known set with the same mask are left: continuing
    /// would mostly repeat an earlier sweep for this target.
    fn is_repeating(&self, front: &Front<N>) -> bool {
        let is_same = |known: &Known<N>| {
            known.mask == front.mask
                && known.target == self.knowledge.tick
                && known.states * (SAME_SHARE - 1) <= front.layer.states() * SAME_SHARE
        };
        front.tick > self.plan.first.tick && self.knowledge.known(front.tick).iter().any(|known| is_same(known))
    }

    fn add_threats(&mut self, front: &mut Front<N>) -> Result<(), StopReason> {
        let (model, first_tick) = (self.model, self.plan.first.tick);
        let is_first = front.tick == first_tick;
        let (base, max_len) = match self.plan.joins {
            Joins::AtFirst(mask) => {
                for &slot in model.slots.iter().filter(|slot| is_first && slot.mask() & mask != 0) {
                    self.join(front, slot, usize::MAX)?;
                }
                return Ok(());
            }
            Joins::WhileSmall { base, max_len } => (base, max_len),
        };
        let covers = |known: &&Known<N>| front.mask & !known.mask == 0 && known.mask != front.mask;
        let covering = self.knowledge.known(front.tick).iter().map(|known| &**known).filter(covers);
        let adopted =
            if is_first { base } else { covering.min_by_key(|known| known.states).map_or(0, |known| known.mask) };
        for &slot in model.slots.iter().filter(|slot| slot.mask() & adopted != 0) {
            self.join(front, slot, usize::MAX)?;
        }
        let mut is_free = is_first;
        for &slot in model.slots.iter() {
            if slot.mask() & front.mask != 0 {
                continue;
            }
            let is_exact = front.tick == model.times.first_tick;
            let is_known = self.knowledge.is_known(front.tick, slot);
            if !is_exact && !is_known && !self.knowledge.can_join(model, slot, front.tick) {
                break;
            }
            // The product of combinations and keys overestimates the size of the joined layer,
            // because each place of the player excludes many keys. So the product is divided by 4.
            let keys = if is_exact || is_known { 1 } else { model.closure(slot, front.tick).len() };
            let is_small = front.layer.len() * keys / 4 <= max_len;
            let own_max = if is_free { self.plan.memory_max_bytes / Stepper::<N>::KEY_BYTES } else { max_len };
            if !(is_free || is_small) || !self.join(front, slot, own_max)? {
                break;
            }
            is_free = false;
        }
        Ok(())
    }

    /// Adds a threat unless the layer has it, notes the join if it is new, and applies the known sets.
    /// Returns false if the layer would have more than `max_len` combinations.
    fn join(&mut self, front: &mut Front<N>, slot: Slot, max_len: usize) -> Result<bool, StopReason> {
        if slot.mask() & front.mask != 0 {
            return Ok(true);
        }
        let joined = self.knowledge.join(self.model, front, slot, max_len, self.meter)?;
        let Some(joined) = joined else { return Ok(false) };
        // At the first tick, from which draws are counted, the draw bits are 0.
        let counted = if let Joins::AtFirst(counted) = self.plan.joins { slot.draws_mask() & counted } else { 0 };
        *front = Front { mask: joined.mask | counted, ..joined };
        if !self.joins.iter().any(|joined| (joined.tick, joined.slot.shift) == (front.tick, slot.shift)) {
            self.joins.push(Joined { tick: front.tick, slot });
        }
        self.knowledge.restrict(self.model, front, self.meter)?;
        Ok(true)
    }

    /// Goes back from the last layer, and records the states that lead to it.
    fn backwards(
        &mut self,
        last: Front<N>,
        mut checkpoints: Checkpoints<N>,
        is_long: impl Fn(&Self) -> bool,
    ) -> Result<(), StopReason> {
        let step = self.step_of(self.knowledge.tick, last.tick);
        self.knowledge.steps.push(step);
        let (mut tick, mut mask) = (last.tick, last.mask);
        let mut after = index(self.model, last.layer, mask);
        let mut allowed = Vec::new();
        self.record(tick, mask, &after, &mut allowed);
        while let Some(front) = checkpoints.fronts.pop() {
            if front.tick + 1 < tick {
                let mut repeated = self.repeat(front, tick)?;
                checkpoints.fronts.append(&mut repeated.fronts);
                continue;
            }
            if mask != front.mask {
                after = index(self.model, after.layer().project(front.mask), front.mask);
            }
            let slots = self.model.slots_in(front.mask);
            let context = self.knowledge.context(self.model, &slots, front.tick);
            let left = self.stepper.trim(&context, &front.layer, &after, self.meter)?;
            let (before, states) = (front.layer.states(), left.states());
            (tick, mask) = (front.tick, front.mask);
            after = index(self.model, left, mask);
            if self.record(tick, mask, &after, &mut allowed) && is_long(self) {
                // Few sweeps start before a large layer, so a long pass ends there. It
                // continues to a layer of twice the size while it drops states.
                let is_same = SAME_SHARE * (before - states) < before;
                let len = after.layer().len();
                if len > 2 * LARGE_LEN || is_same && len > LARGE_LEN {
                    break;
                }
            }
        }
        Ok(())
    }

    /// Repeats the forward pass from `front` to the layer before `until`.
    fn repeat(&mut self, mut front: Front<N>, until: usize) -> Result<Checkpoints<N>, StopReason> {
        let mut checkpoints = Checkpoints::new(self.plan.memory_max_bytes);
        while front.tick + 1 < until {
            let mut next = self.step(&front)?.expect("no layer is larger than before");
            checkpoints.push(front);
            self.restrict(&mut next)?;
            for place in 0..self.joins.len() {
                let Joined { tick, slot } = self.joins[place];
                if tick == next.tick {
                    self.join(&mut next, slot, usize::MAX)?;
                }
            }
            front = next;
        }
        checkpoints.push(front);
        Ok(checkpoints)
    }

    /// Records a layer of the backward pass if its tick or its size asks for it, and then also the
    /// allowed places of the layers since the last record. Returns true if it does.
    fn record(
        &mut self,
        tick: usize,
        mask: Combination,
        lookup: &Lookup<N>,
        allowed: &mut Vec<(usize, TileSet<N>)>,
    ) -> bool {
        if tick % KNOWN_TICKS != 1 && lookup.layer().states() >= SMALL_STATES {
            allowed.push((tick, lookup.layer().places()));
            return false;
        }
        if !self.knowledge.record(self.model, tick, mask, lookup) {
            return false;
        }
        for (tick, places) in allowed.drain(..) {
            self.knowledge.allowed[tick] = self.knowledge.allowed[tick].and(&places);
        }
        let step = self.knowledge.steps.last_mut().expect("the step of this sweep");
        step.known.insert(0, tick as u16);
        true
    }

    fn step_of(&self, target_tick: usize, until_tick: usize) -> Step {
        let index = |joined: &Joined| self.model.automata[joined.slot.automaton].index() as u16;
        let plan = self.plan;
        let (_, draws) = self.model.masks();
        let first_tick = if plan.first.mask == 0 { plan.first.tick } else { self.model.times.first_tick };
        Step {
            target_tick: target_tick as u16,
            from_tick: first_tick as u16,
            until_tick: until_tick as u16,
            counts_draws: matches!(plan.joins, Joins::AtFirst(mask) if mask & draws != 0),
            joins: self.joins.iter().map(|joined| (joined.tick as u16, index(joined))).collect(),
            known: Vec::new(),
        }
    }
}
