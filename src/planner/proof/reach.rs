//! What the game can reach against some of the threats, from the first tick on, whatever the target.
//!
//! Until threats begin to move in every tick, knowledge about a target rules out little. So the way
//! there is made once, and the sweeps for every later target start from its last layers.

use super::combination::{Combination, Slot};
use super::join::Join;
use super::layer::Layer;
use super::model::Model;
use super::moves::JoinContext;
use super::projection::Projection;
use super::tile_set::TileSet;
use crate::search::BudgetMeter;

/// The ticks of layers that are kept, the last one first. In every other one owls have just looked
/// and remember nothing else, so that their layers are at their smallest.
pub(super) const REACH_TICKS: [usize; 6] = [906, 756, 606, 456, 306, 156];
/// Combinations of a layer that is kept; the last one is kept in any case.
const KEPT_LEN: usize = 20_000;

/// The states that a game against some of the threats can reach.
#[derive(Debug)]
pub(super) struct Reach<const N: usize> {
    /// The bits of the threats, with those for the draws of hawks, which are counted.
    pub mask: Combination,
    slots: Vec<Slot>,
    tick: usize,
    layer: Layer<N>,
    /// Layers by tick.
    kept: Vec<(usize, Layer<N>)>,
    join: Join<N>,
    /// Places and projections without knowledge.
    allowed: Vec<TileSet<N>>,
    projections: Vec<Projection<N>>,
}

impl<const N: usize> Reach<N> {
    /// Starts at the first tick. `slots` are those of the mask.
    pub fn new(model: &Model<N>, mask: Combination, slots: Vec<Slot>) -> Self {
        let key = slots.iter().map(|slot| slot.place(model.start[slot.automaton])).sum();
        Self {
            mask,
            slots,
            tick: model.first_tick,
            layer: Layer { keys: vec![key], sets: vec![TileSet::of(model.player)] },
            kept: Vec::new(),
            join: Join::default(),
            allowed: model.free_places(),
            projections: vec![Projection::new(); model.automata.len()],
        }
    }

    /// Continues to the last of the ticks for about this many combinations, or until the budget is
    /// used up, or there are more combinations than fit: returns true once it is there or has too
    /// many.
    pub fn advance(&mut self, model: &Model<N>, max_len: usize, slice: u64, meter: &mut BudgetMeter) -> bool {
        let stop = meter.ticks() + slice;
        while self.tick < REACH_TICKS[0] && self.layer.len().max(self.join.len()) <= max_len {
            if meter.check().is_err() || meter.ticks() >= stop {
                return false;
            }
            let (slots, tick) = (&self.slots[..], self.tick);
            let context = JoinContext { model, slots, tick, allowed: &self.allowed, projections: &self.projections };
            if self.join.advance(&context, &mut self.layer, meter) {
                self.tick += 1;
                let is_last = self.tick == REACH_TICKS[0];
                if is_last || REACH_TICKS.contains(&self.tick) && self.layer.len() <= KEPT_LEN {
                    self.kept.push((self.tick, self.layer.clone()));
                }
            }
        }
        // Nothing is added from here on.
        self.tick = REACH_TICKS[0];
        (self.layer, self.join) = (Layer::default(), Join::default());
        true
    }

    /// The layer of a tick, if it was kept.
    pub fn layer_at(&self, tick: usize) -> Option<&Layer<N>> {
        self.kept.iter().find(|(kept, _)| *kept == tick).map(|(_, layer)| layer)
    }
}
