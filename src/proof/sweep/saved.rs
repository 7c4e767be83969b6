//! Saves a sweep, except for the layer under construction, which a restored sweep builds again.

use std::io;

use serde::{Deserialize, Serialize};

use super::{Begin, Joined, Phase, StoredLayer, Sweep, SweepLimits, Turning};
use crate::game::LAST_TICK;
use crate::proof::layer::Layer;
use crate::proof::model::Model;
use crate::proof::saved::{LayersRead, LayersWritten, SavedLayer, invalid};
use crate::proof::target::Target;

/// Exceeds all counts of states and of work, but is low enough that their sums do not overflow.
const COUNT_MAX: u64 = 1 << 60;

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::proof) struct SavedSweep {
    begin: Begin,
    limits: SweepLimits,
    work: u64,
    phase: Phase,
    front: SavedFront,
    joins: Vec<Joined>,
    turning: Option<SavedTurning>,
    kept: SavedKept,
    /// The layer of `Sweep::after`. Its tick is not used.
    after: Option<SavedLayer>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SavedFront {
    stored: SavedLayer,
    is_ready: bool,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SavedKept {
    checkpoints: Vec<SavedLayer>,
    checkpoint_ticks: usize,
    segment: Vec<SavedLayer>,
    segment_states: u64,
    segment_kept: u64,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SavedTurning {
    stored: SavedLayer,
    joins: usize,
    work: u64,
}

impl<const N: usize> Sweep<N> {
    pub fn saved<'a>(&'a self, layers: &mut LayersWritten<'a, N>) -> SavedSweep {
        let Self { front, kept, .. } = self;
        let mut save = |stored: &'a StoredLayer<N>| layers.add(stored.tick, stored.mask, &stored.layer);
        let turning = self.turning.as_ref();
        let turning = turning.map(|turning| {
            let Turning { stored, joins, work } = turning;
            SavedTurning { stored: save(stored), joins: *joins, work: *work }
        });
        let kept = SavedKept {
            checkpoints: kept.checkpoints.iter().map(&mut save).collect(),
            checkpoint_ticks: kept.checkpoint_ticks,
            segment: kept.segment.iter().map(save).collect(),
            segment_states: kept.segment_states,
            segment_kept: kept.segment_kept,
        };
        SavedSweep {
            begin: self.begin,
            limits: self.limits,
            work: self.work,
            phase: match self.phase {
                // The search stopped between recording `after` and building its replacement.
                // The replacement is not saved, so the restored backward pass ends here.
                Phase::Backwards if self.after.is_none() => Phase::Over,
                phase => phase,
            },
            front: SavedFront { stored: layers.add(front.tick, front.mask, &front.layer), is_ready: front.is_ready },
            joins: self.joins.clone(),
            turning,
            kept,
            after: self.after.as_ref().map(|(mask, after)| layers.add(0, *mask, after.layer())),
        }
    }

    pub fn restored(
        model: &Model<N>,
        target: &Target<N>,
        saved: SavedSweep,
        layers: &mut LayersRead<N>,
    ) -> io::Result<Self> {
        if !saved.is_consistent(model, target) {
            return Err(invalid("a sweep that cannot be continued"));
        }
        let SavedSweep { begin, limits, phase, joins, .. } = saved;
        let mut sweep = Self { phase, joins, ..Self::new(target, begin.from, begin.base, limits) };
        (sweep.begin, sweep.work) = (begin, saved.work.min(COUNT_MAX));
        if let Some(after) = saved.after {
            sweep.after = Some((after.mask, layers.lookup(model, target, after)?));
        }
        let mut stored = |saved: SavedLayer| -> io::Result<_> {
            let layer = layers.take(model, target, saved)?;
            Ok(StoredLayer { tick: saved.tick, mask: saved.mask, layer })
        };
        if let Some(SavedTurning { stored: saved, joins, work }) = saved.turning {
            sweep.turning = Some(Turning { stored: stored(saved)?, joins, work: work.min(COUNT_MAX) });
        }
        let bytes = |layers: &[StoredLayer<N>]| {
            layers.iter().map(|stored| stored.layer.len()).sum::<usize>() * Layer::<N>::KEY_BYTES
        };
        let (front, kept) = (&mut sweep.front, &mut sweep.kept);
        let SavedFront { stored: saved_front, is_ready } = saved.front;
        (front.tick, front.mask, front.is_ready) = (saved_front.tick, saved_front.mask, is_ready);
        front.layer = stored(saved_front)?.layer;
        let SavedKept { checkpoints, checkpoint_ticks, segment, segment_states, segment_kept } = saved.kept;
        kept.checkpoints = checkpoints.into_iter().map(&mut stored).collect::<io::Result<_>>()?;
        kept.checkpoint_bytes = bytes(&kept.checkpoints);
        kept.checkpoint_ticks = checkpoint_ticks.clamp(1, usize::from(LAST_TICK));
        kept.segment = segment.into_iter().map(stored).collect::<io::Result<_>>()?;
        kept.segment_bytes = bytes(&kept.segment);
        (kept.segment_states, kept.segment_kept) = (segment_states, segment_kept);
        Ok(sweep)
    }
}

impl SavedSweep {
    /// Returns true if the sweep's threats exist, its ticks and counts are in range, and the layers
    /// that its phase needs are present and have ticks in the required order.
    fn is_consistent<const N: usize>(&self, model: &Model<N>, target: &Target<N>) -> bool {
        let (from, tick, beyond) = (self.begin.from, self.front.stored.tick, self.limits.beyond_tick);
        let SavedKept { checkpoints, segment, segment_states, segment_kept, .. } = &self.kept;
        let is_ascending = |layers: &[SavedLayer]| layers.is_sorted_by(|one, other| one.tick < other.tick);
        let first = checkpoints.first().map(|checkpoint| checkpoint.tick);
        let last = checkpoints.last().map_or(from, |checkpoint| checkpoint.tick);
        // A backward pass at `tick` needs an earlier checkpoint to continue from.
        let can_return = |tick: usize| first.is_some() && from < tick && last <= tick && tick <= target.tick;
        let is_in_phase = match self.phase {
            Phase::Forwards => last <= tick && tick <= target.tick && (first.is_some() || tick == from),
            Phase::Beyond { work_max } => {
                let turning = self.turning.as_ref();
                turning.is_some_and(|turning| can_return(turning.stored.tick)) && tick <= beyond && work_max < COUNT_MAX
            }
            Phase::Rebuild { until } => self.after.is_some() && can_return(until) && last <= tick && tick < until,
            Phase::Backwards => self.after.is_some() && (can_return(tick) || !segment.is_empty()),
            Phase::Over => tick <= target.tick,
        };
        let is_in_segment = |stored: &SavedLayer| first.is_some() && last <= stored.tick && stored.tick < target.tick;
        is_in_phase
            && model.first_tick <= from
            && from <= tick
            && tick <= target.tick.max(beyond)
            && beyond <= usize::from(LAST_TICK)
            && first.is_none_or(|first| first == from)
            && is_ascending(checkpoints)
            && is_ascending(segment)
            && segment.iter().all(is_in_segment)
            && self.joins.iter().all(|joined| joined.slot < target.slots.len())
            && segment_kept <= segment_states
            && *segment_states < COUNT_MAX
    }
}
