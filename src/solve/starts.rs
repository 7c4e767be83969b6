//! Where sweeps start.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};

use super::combination::{Combination, Slot};
use super::knowledge::{Knowledge, Known};
use super::model::Model;
use super::tuning::{KNOWN_TICKS, NEAR_TICKS, SHARE};
use crate::game::LAST_TICK;

/// Narrow sweeps begin to look for a start in a window of this many ticks.
const WINDOW_TICKS: usize = SHARE as usize * NEAR_TICKS;

/// A start of a narrow sweep: the tick and the mask of a known set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Start {
    pub tick: usize,
    pub mask: Combination,
    /// The limit that was too low for the sweep, or `u64::MAX` if the sweep is done.
    pub limit: u64,
}

impl<const N: usize> Model<N> {
    /// Returns the masks of wide sweeps, without duplicates, in this order (if the first threat is
    /// a hawk, it does not count as a hawk in items 1, 2, 3 and 5):
    ///
    /// 1. the first threat paired with each other threat except hawks;
    /// 2. each hawk alone, with counted draws;
    /// 3. each hawk paired with the first threat, with counted draws;
    /// 4. all threats except hawks, because the memories of hawks make layers wide;
    /// 5. the first threat, a hawk with counted draws, and one more threat that is not a hawk;
    /// 6. all threats, with counted draws.
    pub fn wide_masks(&self) -> Vec<Combination> {
        let Some((first, others)) = self.slots.split_first() else { return Vec::new() };
        let is_hawk = |slot: &&Slot| slot.draws_mask() != 0;
        let pair = |slot: &Slot| first.mask() | slot.mask();
        let (all, draws) = self.masks();
        let (hawks, others): (Vec<&Slot>, Vec<&Slot>) = others.iter().partition(is_hawk);
        let mut masks: Vec<Combination> = others.iter().map(|slot| pair(slot)).collect();
        masks.extend(hawks.iter().map(|hawk| hawk.mask() | hawk.draws_mask()));
        masks.extend(hawks.iter().map(|hawk| pair(hawk) | hawk.draws_mask()));
        masks.push(self.slots.iter().filter(|slot| !is_hawk(slot)).fold(0, |mask, slot| mask | slot.mask()));
        for hawk in &hawks {
            masks.extend(others.iter().map(|slot| pair(hawk) | hawk.draws_mask() | slot.mask()));
        }
        masks.push(all | draws);
        let mut found = HashSet::from([0]);
        masks.retain(|mask| found.insert(*mask));
        masks
    }

    /// Returns the masks of reachable layers: the first threat that is not a hawk, paired with each
    /// other such threat; then each hawk alone, with counted draws.
    pub fn reach_masks(&self) -> Vec<Combination> {
        let slots = self.slots.iter();
        let (hawks, others): (Vec<&Slot>, Vec<&Slot>) = slots.partition(|slot| slot.draws_mask() != 0);
        let pairs = others.iter().skip(1).map(|slot| others[0].mask() | slot.mask());
        pairs.chain(hawks.iter().map(|hawk| hawk.mask() | hawk.draws_mask())).collect()
    }

    /// Returns the ticks of the reachable layers, from the last to the first. Layers are small at the
    /// end of a period in which owls look. The last layer is the one at the end of the first such
    /// period after threats begin to move in every tick.
    pub fn reach_ticks(&self) -> Vec<usize> {
        let last = usize::from(LAST_TICK);
        let always = self.times.always_from;
        let is_end = |&tick: &usize| self.forgets(tick) && !self.forgets(tick + 1);
        let mut ticks = vec![(always..last).find(is_end).unwrap_or(always)];
        for tick in (self.times.first_tick..always).rev().filter(is_end) {
            if tick + 5 * NEAR_TICKS <= ticks[ticks.len() - 1] {
                ticks.push(tick);
            }
        }
        ticks
    }
}

impl<const N: usize> Knowledge<N> {
    /// Returns the bottleneck from which one more threat can join with the fewest states, as
    /// estimated. Skips bottlenecks less than `NEAR_TICKS` from a start with the same mask, unless
    /// that start's limit was lower.
    ///
    /// Starts at the beginning of the phase in which threats move in every tick, or shortly before
    /// an earlier target: early knowledge also restricts later ticks, but a sweep from an earlier
    /// phase takes too long. Goes back only if no such start is left.
    pub fn bottleneck(&self, model: &Model<N>, starts: &[Start], limit: u64) -> Option<Start> {
        let states = |tick: usize, known: &Known<N>| {
            let is_near = |start: &&Start| start.mask == known.mask && tick.abs_diff(start.tick) < NEAR_TICKS;
            if starts.iter().filter(is_near).any(|start| start.limit >= limit) {
                return None;
            }
            // If a known set over these and more threats follows soon, a sweep would probably turn
            // back at that set.
            let covers = |other: &Known<N>| known.mask & !other.mask == 0 && other.mask != known.mask;
            let mut soon = (tick + 1..=tick + KNOWN_TICKS).flat_map(|after| self.known(after));
            if soon.any(|other| covers(other)) {
                return None;
            }
            let missing = *model.slots.iter().find(|slot| slot.mask() & known.mask == 0)?;
            let sets = self.known(tick).iter();
            let with_missing = sets.filter(|other| other.mask & missing.mask() != 0);
            let joined = |other: &Known<N>| known.states * other.states / other.first_states.max(1);
            if let Some(states) = with_missing.map(|other| joined(other)).min() {
                return Some(states);
            }
            let keys = if tick == model.times.first_tick { 1 } else { model.closure(missing, tick).len() as u64 };
            self.can_join(model, missing, tick).then_some(known.states * keys)
        };
        let end = self.tick.saturating_sub(NEAR_TICKS);
        let sets = self.known_sets().filter(|(tick, _)| *tick < end);
        let sized = sets.filter_map(|(tick, known)| Some((states(tick, known)?, tick, known.mask)));
        let sized: Vec<(u64, usize, Combination)> = sized.collect();
        let first_tick = model.times.first_tick;
        let late = model.times.always_from;
        let mut floor = if self.tick > late + WINDOW_TICKS { late } else { self.tick.saturating_sub(WINDOW_TICKS) };
        loop {
            let after = sized.iter().filter(|(_, tick, _)| *tick >= floor);
            let is_later = |tick: usize| starts.is_empty() && tick >= floor + WINDOW_TICKS;
            if let Some(&(_, tick, mask)) = after.min_by_key(|&&(states, tick, _)| (is_later(tick), states)) {
                return Some(Start { tick, mask, limit: u64::MAX });
            }
            if floor <= first_tick {
                return None;
            }
            floor = floor.saturating_sub(WINDOW_TICKS);
        }
    }
}
