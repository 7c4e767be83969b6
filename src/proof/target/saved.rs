use std::io;

use serde::{Deserialize, Serialize};

use super::{Target, restrict};
use crate::game::LAST_TICK;
use crate::proof::model::Model;
use crate::proof::outcome::Step;
use crate::proof::saved::{LayersRead, LayersWritten, SavedLayer, invalid};
use crate::proof::tile_set::TileSet;
use crate::search::{Budget, BudgetMeter};

/// A target without its projections, which are computed again when the target is restored.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::proof) struct SavedTarget<const N: usize> {
    tick: usize,
    allowed: Vec<TileSet<N>>,
    known: Vec<SavedLayer>,
    steps: Vec<Step>,
}

impl<const N: usize> Target<N> {
    pub fn saved<'a>(&'a self, layers: &mut LayersWritten<'a, N>) -> SavedTarget<N> {
        let mut allowed = self.allowed.clone();
        restrict(&mut allowed, &self.projections.earlier_allowed);
        let known = self.knowledge.iter();
        let known = known.map(|(tick, known)| layers.add(tick, known.mask, known.lookup.layer()));
        SavedTarget { tick: self.tick, allowed, known: known.collect(), steps: self.steps.clone() }
    }

    pub fn restored(
        model: &Model<N>,
        memory_max_bytes: usize,
        saved: SavedTarget<N>,
        layers: &mut LayersRead<N>,
    ) -> io::Result<Self> {
        let SavedTarget { tick, allowed, known, steps } = saved;
        if !(model.first_tick..=usize::from(LAST_TICK)).contains(&tick) || known.iter().any(|known| known.tick > tick) {
            return Err(invalid("a tick outside the game"));
        }
        let mut target = Self::new(model, tick, memory_max_bytes);
        target.projections.earlier_allowed = allowed;
        target.project(model, &mut BudgetMeter::new(Budget::UNLIMITED));
        target.steps = steps;
        for saved in known {
            let known = layers.known(model, &target, saved)?;
            target.knowledge.keep(saved.tick, known);
        }
        Ok(target)
    }
}
