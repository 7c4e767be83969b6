//! Reachable layers. Before the phase in which threats move in every tick, the knowledge about a
//! late target excludes few states. So these layers ignore the target, and are built once for all
//! late targets.

use std::io;

use serde::{Deserialize, Serialize};

use super::combination::{Combination, Slot};
use super::join::Join;
use super::layer::Layer;
use super::model::Model;
use super::moves::JoinContext;
use super::projection::Projection;
use super::saved::{LayersRead, LayersWritten, SavedLayer, invalid};
use super::target::Target;
use super::tile_set::TileSet;
use super::tuning::LARGE_LEN;
use crate::search::BudgetMeter;

/// Ticks of the kept layers. In ticks 906, 606 and 306, layers are small, because owls have just
/// looked.
pub(super) const REACH_TICKS: [usize; 6] = [906, 756, 606, 456, 306, 156];

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SavedReach {
    layer: SavedLayer,
    kept: Vec<SavedLayer>,
}

#[derive(Debug)]
pub(super) struct Reach<const N: usize> {
    pub mask: Combination,
    slots: Vec<Slot>,
    tick: usize,
    layer: Layer<N>,
    next: Layer<N>,
    kept: Vec<(usize, Layer<N>)>,
    join: Join<N>,
    allowed: Vec<TileSet<N>>,
    projections: Vec<Projection<N>>,
}

impl<const N: usize> Reach<N> {
    /// Starts at the model's first tick. `slots` must be the slots of the threats in `mask`.
    pub fn new(model: &Model<N>, mask: Combination, slots: Vec<Slot>) -> Self {
        let key = slots.iter().map(|slot| slot.place(model.origins[slot.automaton].key)).sum();
        Self {
            mask,
            slots,
            tick: model.first_tick,
            layer: Layer { keys: vec![key], sets: vec![TileSet::of(model.player)] },
            next: Layer::default(),
            kept: Vec::new(),
            join: Join::default(),
            allowed: model.free_places(),
            projections: vec![Projection::new(); model.automata.len()],
        }
    }

    /// Processes about `slice` combinations, or fewer if the work ends or the budget is used up.
    /// Returns true once tick `REACH_TICKS[0]` is reached or a layer has more than `max_len`
    /// combinations.
    pub fn advance(&mut self, model: &Model<N>, max_len: usize, slice: u64, meter: &mut BudgetMeter) -> bool {
        let stop = meter.ticks() + slice;
        while self.tick < REACH_TICKS[0] && self.layer.len().max(self.join.len()) <= max_len {
            if meter.check().is_err() || meter.ticks() >= stop {
                return false;
            }
            let (slots, tick) = (&self.slots[..], self.tick);
            let context = JoinContext { model, slots, tick, allowed: &self.allowed, projections: &self.projections };
            if self.join.advance(&context, &self.layer, &mut self.next, meter) {
                self.tick += 1;
                std::mem::swap(&mut self.layer, &mut self.next);
                let is_last = self.tick == REACH_TICKS[0];
                if is_last || REACH_TICKS.contains(&self.tick) && self.layer.len() <= LARGE_LEN {
                    self.kept.push((self.tick, self.layer.clone()));
                }
            }
        }
        self.tick = REACH_TICKS[0];
        (self.layer, self.next, self.join) = (Layer::default(), Layer::default(), Join::default());
        true
    }

    pub fn layer_at(&self, tick: usize) -> Option<&Layer<N>> {
        self.kept.iter().find(|(kept, _)| *kept == tick).map(|(_, layer)| layer)
    }

    pub fn saved<'a>(&'a self, layers: &mut LayersWritten<'a, N>) -> SavedReach {
        let layer = layers.add(self.tick, self.mask, &self.layer);
        let kept = self.kept.iter().map(|(tick, layer)| layers.add(*tick, self.mask, layer));
        SavedReach { layer, kept: kept.collect() }
    }

    pub fn restored(
        model: &Model<N>,
        target: &Target<N>,
        saved: SavedReach,
        layers: &mut LayersRead<N>,
    ) -> io::Result<Self> {
        let SavedLayer { tick, mask, .. } = saved.layer;
        if !(model.first_tick..=REACH_TICKS[0]).contains(&tick) || !target.reach_masks().contains(&mask) {
            return Err(invalid("reachable layers of other ticks or threats"));
        }
        let layer = layers.take(model, target, saved.layer)?;
        let kept = saved.kept.into_iter().map(|kept| {
            let layer = layers.take(model, target, SavedLayer { mask, ..kept })?;
            Ok((kept.tick, layer))
        });
        let kept = kept.collect::<io::Result<_>>()?;
        Ok(Self { tick, layer, kept, ..Self::new(model, mask, target.slots_in(model, mask)) })
    }
}
