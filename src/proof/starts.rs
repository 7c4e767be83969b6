use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::combination::{Combination, Slot};
use super::known::Known;
use super::model::Model;
use super::target::{KEPT_TICKS, Target};
use super::tuning::NEAR_TICKS;
use crate::search::{BudgetMeter, StopReason};

/// The tick and the mask of the known set from which a narrow sweep starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Start {
    pub tick: usize,
    pub mask: Combination,
}

impl<const N: usize> Target<N> {
    /// Returns the masks of wide sweeps, without duplicates, in this order (if the first threat is
    /// a hawk, it does not count as a hawk in items 2, 3 and 5):
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

    /// Returns the masks of reachable layers: the first threat that is not a hawk, paired with each
    /// other such threat; then each hawk alone, with counted draws.
    pub fn reach_masks(&self) -> Vec<Combination> {
        let (hawks, others): (Vec<&Slot>, Vec<&Slot>) = self.slots.iter().partition(|slot| slot.draws_mask() != 0);
        let pairs = others.iter().skip(1).map(|slot| others[0].mask() | slot.mask());
        pairs.chain(hawks.iter().map(|hawk| hawk.mask() | hawk.draws_mask())).collect()
    }

    /// Of the bottlenecks in `ticks`, returns the one at which one more threat can join with the
    /// fewest states, as estimated. Skips bottlenecks less than `NEAR_TICKS` from a start
    /// in `tried` with the same mask.
    pub fn bottleneck(
        &self,
        model: &Model<N>,
        ticks: Range<usize>,
        tried: &[Start],
        meter: &mut BudgetMeter,
    ) -> Result<Option<Start>, StopReason> {
        let size = |tick: usize, known: &Known<N>| {
            let was_tried = |start: &Start| start.mask == known.mask && tick.abs_diff(start.tick) < NEAR_TICKS;
            if tried.iter().any(was_tried) {
                return None;
            }
            // If a known set over these and more threats follows soon, a sweep would probably turn
            // back at that set.
            let covers = |other: &Known<N>| known.mask & !other.mask == 0 && other.mask != known.mask;
            if (tick + 1..=(tick + KEPT_TICKS).min(self.tick)).any(|after| self.known(after).any(covers)) {
                return None;
            }
            let start = Start { tick, mask: known.mask };
            let missing = *self.slots.iter().find(|slot| slot.mask() & known.mask == 0)?;
            let with_missing = self.known(tick).filter(|other| other.mask & missing.mask() != 0);
            let joined = |other: &Known<N>| known.states * other.states / other.first_states.max(1);
            if let Some(states) = with_missing.map(joined).min() {
                return Some((start, states));
            }
            let keys = if tick == model.first_tick { 1 } else { self.closure_len(model, missing, tick) as u64 };
            self.can_join(model, missing, tick).then_some((start, known.states * keys))
        };
        let end = ticks.end.min(self.tick.saturating_sub(NEAR_TICKS));
        let starts = (ticks.start..end).flat_map(|tick| self.known(tick).map(move |known| (tick, known)));
        let mut result = Ok(());
        let sized = |(tick, known): (usize, &Known<N>)| {
            result = result.and_then(|()| meter.step(KEPT_TICKS));
            result.ok().and_then(|()| size(tick, known))
        };
        let best = starts.filter_map(sized).min_by_key(|&(_, states)| states);
        result.map(|()| best.map(|(start, _)| start))
    }
}
