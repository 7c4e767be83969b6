//! Saves and restores a prover.

use std::io::{self, BufRead, Write};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::binary::{invalid, read_value, short_list, write_value};
use super::combination::{Combination, Slot};
use super::knowledge::{Knowledge, Known, index};
use super::layer::{Front, Layer};
use super::proof::Step;
use super::prover::{Prover, Target, Tried};
use super::queue::Queue;
use super::tiles::TileSet;
use crate::game::LAST_TICK;
use crate::search::{Budget, BudgetMeter};

/// A target, except for its projections, which are computed again.
#[derive(Debug, Serialize, Deserialize)]
struct SavedTarget<const N: usize> {
    tick: usize,
    tried: Tried,
    #[serde(deserialize_with = "short_list")]
    steps: Vec<Step>,
    #[serde(deserialize_with = "short_list")]
    known: Vec<SavedSet<N>>,
    allowed: Vec<TileSet<N>>,
}

#[derive(Debug, Serialize, Deserialize)]
struct SavedSet<const N: usize> {
    tick: usize,
    target: usize,
    mask: Combination,
    layer: Layer<N>,
}

impl<const N: usize> Prover<N> {
    /// Writes nothing if the automata are not complete.
    pub fn save(&self, out: &mut dyn Write) -> io::Result<()> {
        if self.builder.is_some() {
            return Ok(());
        }
        write_value(&(self.start, &self.reachable), out)?;
        let set = |(tick, known): (usize, &Arc<Known<N>>)| {
            let Known { target, mask, ref lookup, .. } = **known;
            SavedSet { tick, target, mask, layer: lookup.layer().clone() }
        };
        let saved = |target: &Target<N>| {
            let Knowledge { tick, ref steps, ref allowed, .. } = target.knowledge;
            let known = target.knowledge.known_sets().map(set).collect();
            SavedTarget { tick, tried: target.tried.clone(), steps: steps.clone(), known, allowed: allowed.clone() }
        };
        self.targets.iter().try_for_each(|target| write_value(&target.as_ref().map(saved), out))
    }

    /// Restores what [`Self::save`] wrote. Checks keys, places and ticks, so that later steps and
    /// lookups cannot panic. Only the verifier checks that the states are correct.
    pub fn restore(&mut self, queue: &Queue, input: &mut dyn BufRead) -> io::Result<()> {
        (self.start, self.reachable) = read_value(input)?;
        self.targets = [self.restored(input)?, self.restored(input)?];
        let ticks = self.model.reach_ticks();
        let is_valid = |front: &Front<N>| ticks.contains(&front.tick) && self.is_valid(front.mask, &front.layer);
        if !self.reachable.iter().flat_map(|(_, fronts)| fronts).all(is_valid) {
            return Err(invalid("invalid states"));
        }
        let mut masks = self.model.wide_masks();
        masks.extend(self.model.reach_masks());
        masks.extend(self.model.slots.first().map(Slot::mask));
        if queue.has_only(&masks) { Ok(()) } else { Err(invalid("jobs about other threats")) }
    }

    fn restored(&self, input: &mut dyn BufRead) -> io::Result<Option<Target<N>>> {
        let Some(SavedTarget { tick, tried, steps, known, allowed }) = read_value(input)? else { return Ok(None) };
        let first_tick = self.model.times.first_tick;
        if !(first_tick..=LAST_TICK.into()).contains(&tick) || tried.since > tick {
            return Err(invalid("a tick outside the game"));
        }
        let meter = &mut BudgetMeter::new(Budget::UNLIMITED);
        let knowledge = Knowledge::new(&self.model, tick, self.options, None, meter);
        let mut knowledge = knowledge.expect("the budget is unlimited");
        knowledge.steps = steps;
        for SavedSet { tick: at, target, mask, layer } in known {
            if !(first_tick..=tick).contains(&at) || target > tick || !self.is_valid(mask, &layer) {
                return Err(invalid("invalid states"));
            }
            knowledge.keep(at, Arc::new(Known::new(&self.model, target, mask, index(&self.model, layer, mask))));
        }
        knowledge.restrict_places(&allowed);
        Ok(Some(Target { knowledge, tried }))
    }

    /// Returns true if the mask consists of the keys of some threats, with or without the draws of
    /// each hawk, the layer's combinations have valid keys and no bits outside the mask, and all
    /// places are open.
    fn is_valid(&self, mask: Combination, layer: &Layer<N>) -> bool {
        let model = &self.model;
        let slots = model.slots_in(mask);
        let has_keys = |key: &Combination| {
            let has_key = |slot: &Slot| model.has_key(&model.automata[slot.automaton], slot.key(*key));
            key & !mask == 0 && slots.iter().all(has_key)
        };
        mask == slots.iter().fold(0, |all, slot| all | slot.counted_mask())
            && layer.keys.len() == layer.sets.len()
            && layer.keys.iter().all(has_keys)
            && layer.sets.iter().all(|set| set.without(&model.board.open).is_empty())
    }
}
