//! Narrow and wide sweeps take turns. A target up to `INSANE_TICK + WINDOW_TICKS` starts with a
//! *trial*, a short wide sweep with all threats, unless it takes over a wide sweep of an earlier
//! target. After the trial, wide sweeps over one or two threats come first, so that these threats
//! join larger sweeps with fewer states.

use std::io;

use serde::{Deserialize, Serialize};

use super::combination::Combination;
use super::join::Join;
use super::layer::Layer;
use super::model::Model;
use super::reach::{REACH_TICKS, Reach};
use super::saved::{LayersRead, LayersWritten};
use super::starts::Start;
use super::sweep::{AtTarget, End, SavedSweep, Sweep, SweepLimits};
use super::target::Target;
use super::tuning::{END_WORK, LARGE_LEN, NEAR_TICKS, SHORT_WORK, SLICE, WINDOW_TICKS};
use crate::game::LAST_TICK;
use crate::search::{BudgetMeter, StopReason};

/// The second tick of the server's insane phase.
const INSANE_TICK: usize = 903;

#[derive(Clone, Copy, Debug)]
pub(super) struct Situation<'a, const N: usize> {
    pub model: &'a Model<N>,
    pub memory_max_bytes: usize,
    pub final_tick: usize,
    pub bound: usize,
    pub work: u64,
}

impl<const N: usize> Situation<'_, N> {
    fn is_end_open(&self) -> bool {
        self.bound > usize::from(LAST_TICK)
    }

    /// Returns the limits of a narrow sweep, which shares the memory with the known sets, the line
    /// searches, and a wide sweep that may take twice as much.
    fn limits(&self) -> SweepLimits {
        let eighth = self.memory_max_bytes / 8;
        // The more work, the larger the layers that threats can join.
        let join_len = (self.work / (END_WORK / LARGE_LEN as u64)) as usize;
        let layer_bytes = Layer::<N>::KEY_BYTES + Join::<N>::KEY_BYTES;
        SweepLimits {
            join_len: join_len.clamp(LARGE_LEN / 10, LARGE_LEN),
            layer_len: eighth / layer_bytes,
            kept_bytes: eighth / 2,
            beyond_tick: self.bound - 1,
            left_out: 0,
            is_wide: false,
            counts_draws: false,
        }
    }
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SavedSchedule {
    narrow: SavedNarrow,
    wide: SavedWide,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SavedNarrow {
    sweep: Option<SavedSweep>,
    has_begun: bool,
    tried: Vec<Start>,
    floor: usize,
    is_exhausted: bool,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SavedWide {
    sweep: Option<SavedSweep>,
    is_trial_due: bool,
    is_trial: bool,
    stage: usize,
    /// The numbers of masks that have not been used.
    reach_masks: usize,
    wide_masks: usize,
}

#[derive(Debug)]
pub(super) struct Schedule<const N: usize> {
    narrow: Narrow<N>,
    wide: Wide<N>,
    slices: u64,
}

impl<const N: usize> Schedule<N> {
    pub fn new(model: &Model<N>, target: &Target<N>) -> Self {
        Self { narrow: Narrow::new(model, target.tick), wide: Wide::new(model, target), slices: 0 }
    }

    /// Returns the schedule for a later target, with the unused `wide_masks`. If a line reaches
    /// the earlier target (`is_reached`), the new schedule takes over the wide sweep of this one,
    /// unless the sweep has turned back or is a trial.
    pub fn later(&mut self, model: &Model<N>, target: &Target<N>, is_reached: bool) -> Self {
        let mut later = Self::new(model, target);
        let is_taken = is_reached && !self.wide.is_trial;
        later.wide.sweep = self.wide.sweep.take_if(|sweep| is_taken && !sweep.has_turned());
        later.wide.wide_masks = self.wide.wide_masks.clone();
        later
    }

    pub fn saved<'a>(&'a self, layers: &mut LayersWritten<'a, N>) -> SavedSchedule {
        let Self { narrow, wide, .. } = self;
        let mut saved = |sweep: &'a Option<Sweep<N>>| sweep.as_ref().map(|sweep| sweep.saved(layers));
        SavedSchedule {
            narrow: SavedNarrow {
                sweep: saved(&narrow.sweep),
                has_begun: narrow.has_begun,
                tried: narrow.tried.clone(),
                floor: narrow.floor,
                is_exhausted: narrow.is_exhausted,
            },
            wide: SavedWide {
                sweep: saved(&wide.sweep),
                is_trial_due: wide.is_trial_due,
                is_trial: wide.is_trial,
                stage: wide.stage,
                reach_masks: wide.reach_masks.len(),
                wide_masks: wide.wide_masks.len(),
            },
        }
    }

    pub fn restored(
        model: &Model<N>,
        target: &Target<N>,
        saved: SavedSchedule,
        layers: &mut LayersRead<N>,
    ) -> io::Result<Self> {
        let mut sweep =
            |sweep: Option<SavedSweep>| sweep.map(|sweep| Sweep::restored(model, target, sweep, layers)).transpose();
        let last = |masks: Vec<Combination>, count: usize| masks[masks.len().saturating_sub(count)..].to_vec();
        let first_floor = Narrow::<N>::new(model, target.tick).first_floor;
        let SavedSchedule { narrow, wide } = saved;
        let narrow = Narrow {
            sweep: sweep(narrow.sweep)?,
            has_begun: narrow.has_begun,
            tried: narrow.tried,
            floor: narrow.floor.clamp(model.first_tick, first_floor),
            first_floor,
            is_exhausted: narrow.is_exhausted,
        };
        let wide = Wide {
            sweep: sweep(wide.sweep)?,
            is_trial_due: wide.is_trial_due,
            is_trial: wide.is_trial,
            stage: wide.stage.min(REACH_TICKS.len() - 1),
            reach_masks: last(target.reach_masks(), wide.reach_masks),
            wide_masks: last(target.wide_masks(), wide.wide_masks),
        };
        Ok(Self { narrow, wide, slices: 0 })
    }

    pub fn is_between_sweeps(&self) -> bool {
        self.narrow.sweep.is_none()
    }

    /// Lets narrow sweeps try to start again. Must be called after knowledge is added.
    pub fn revive(&mut self) {
        self.narrow.is_exhausted = false;
    }

    /// Runs a slice of a sweep, or builds a part of a reachable layer. Returns the result of the
    /// sweep, or `None` if there is no result yet.
    pub fn advance(
        &mut self,
        situation: &Situation<'_, N>,
        target: &mut Target<N>,
        reachable: &mut Vec<Reach<N>>,
        meter: &mut BudgetMeter,
    ) -> Option<End> {
        let tick = target.tick;
        self.narrow.begin(situation, target);
        if self.wide.sweep.is_none()
            && !self.wide.begin_trial(situation, target)
            && self.is_wide_due(situation, tick)
            && !self.wide.begin(situation, target, reachable, meter)
        {
            return None;
        }
        self.slices += 1;
        // Before the wide sweep turns back, drop the narrow sweep unless it has turned back itself,
        // so that it can start again with the new known sets.
        if self.wide.sweep.as_ref().is_some_and(|wide| wide.tick() == tick && !wide.has_turned())
            && self.narrow.sweep.take_if(|sweep| !sweep.has_turned()).is_some()
        {
            self.narrow.tried.pop();
        }
        let is_due = !self.slices.is_multiple_of(2);
        let is_wide = self.wide.sweep.as_ref().is_some_and(|wide| match &self.narrow.sweep {
            None => is_due || wide.has_turned() || self.narrow.is_exhausted,
            Some(_) => is_due && wide.tick() < tick,
        });
        if !is_wide {
            return self.narrow.advance(situation, target, meter);
        }
        let at_target = if self.narrow.sweep.is_none() { AtTarget::TurnBack } else { AtTarget::Wait };
        let end = self.wide.advance(situation, target, at_target, meter);
        if end.is_some_and(End::is_over) {
            self.revive();
        }
        end
    }

    /// While the end of the game is open, only its own target begins wide sweeps other than trials.
    fn is_wide_due(&self, situation: &Situation<'_, N>, target_tick: usize) -> bool {
        if situation.is_end_open() {
            target_tick == usize::from(LAST_TICK) && situation.work >= END_WORK
        } else {
            situation.work >= SHORT_WORK
        }
    }
}

#[derive(Debug)]
struct Narrow<const N: usize> {
    sweep: Option<Sweep<N>>,
    /// True once the first narrow sweep, over a single threat, has begun.
    has_begun: bool,
    tried: Vec<Start>,
    /// All narrow sweeps but the first start at or after this tick.
    floor: usize,
    first_floor: usize,
    is_exhausted: bool,
}

impl<const N: usize> Narrow<N> {
    fn new(model: &Model<N>, target_tick: usize) -> Self {
        let far = if target_tick > INSANE_TICK + WINDOW_TICKS {
            INSANE_TICK
        } else {
            target_tick.saturating_sub(WINDOW_TICKS)
        };
        let floor = far.max(model.first_tick);
        Self { sweep: None, has_begun: false, tried: Vec::new(), floor, first_floor: floor, is_exhausted: false }
    }

    fn begin(&mut self, situation: &Situation<'_, N>, target: &Target<N>) {
        if !std::mem::replace(&mut self.has_begun, true) {
            let limits = SweepLimits { join_len: 0, beyond_tick: 0, ..situation.limits() };
            self.sweep = Some(Sweep::new(target, situation.model.first_tick, 0, limits));
        }
    }

    fn advance(
        &mut self,
        situation: &Situation<'_, N>,
        target: &mut Target<N>,
        meter: &mut BudgetMeter,
    ) -> Option<End> {
        if self.sweep.is_none() && !self.is_exhausted {
            let start = self.next_start(situation.model, target, meter).ok()?;
            self.is_exhausted = start.is_none();
            self.sweep = start.map(|start| Sweep::new(target, start.tick, start.mask, situation.limits()));
        }
        let sweep = self.sweep.as_mut()?;
        let end = sweep.advance(situation.model, target, SLICE, AtTarget::TurnBack, meter);
        if end.is_some_and(End::is_over) {
            self.sweep = None;
        }
        end
    }

    fn next_start(
        &mut self,
        model: &Model<N>,
        target: &Target<N>,
        meter: &mut BudgetMeter,
    ) -> Result<Option<Start>, StopReason> {
        loop {
            // An early start is better: knowledge about early ticks also restricts later ticks.
            let mut found = None;
            if self.tried.is_empty() {
                let early = self.floor..self.floor + WINDOW_TICKS;
                found = target.bottleneck(model, early, &self.tried, meter)?;
            }
            if found.is_none() {
                found = target.bottleneck(model, self.floor..usize::MAX, &self.tried, meter)?;
            }
            if let Some(start) = found {
                self.tried.push(start);
                return Ok(Some(start));
            }
            if self.floor == model.first_tick {
                return Ok(None);
            }
            self.floor = self.floor.saturating_sub(WINDOW_TICKS).max(model.first_tick);
        }
    }
}

#[derive(Debug)]
struct Wide<const N: usize> {
    sweep: Option<Sweep<N>>,
    is_trial_due: bool,
    is_trial: bool,
    wide_masks: Vec<Combination>,
    /// The index in `REACH_TICKS` of the reachable layers in use.
    stage: usize,
    reach_masks: Vec<Combination>,
}

impl<const N: usize> Wide<N> {
    fn new(model: &Model<N>, target: &Target<N>) -> Self {
        Self {
            sweep: None,
            is_trial_due: target.tick <= INSANE_TICK + WINDOW_TICKS,
            is_trial: false,
            wide_masks: target.wide_masks(),
            stage: 0,
            reach_masks: if is_late(model, target.tick) { target.reach_masks() } else { Vec::new() },
        }
    }

    fn begin_trial(&mut self, situation: &Situation<'_, N>, target: &Target<N>) -> bool {
        self.is_trial = std::mem::take(&mut self.is_trial_due);
        if self.is_trial {
            let (all, draws) = target.masks();
            let limits = situation.limits().doubled().over(target, all | draws);
            self.sweep = Some(Sweep::new(target, situation.model.first_tick, 0, limits));
        }
        self.is_trial
    }

    /// Begins the next wide sweep, if any. Returns false if it must wait for a reachable layer.
    fn begin(
        &mut self,
        situation: &Situation<'_, N>,
        target: &Target<N>,
        reachable: &mut Vec<Reach<N>>,
        meter: &mut BudgetMeter,
    ) -> bool {
        let model = situation.model;
        let limits = situation.limits().doubled();
        let is_late = is_late(model, target.tick);
        // The earlier reachable layers mainly help to extend the best line: use them only if this
        // line ends at the target.
        let is_early_due = target.tick == situation.final_tick;
        loop {
            if let Some(&mask) = self.reach_masks.first() {
                let place = reachable.iter().position(|reach| reach.mask == mask).unwrap_or_else(|| {
                    reachable.push(Reach::new(model, mask, target.slots_in(model, mask)));
                    reachable.len() - 1
                });
                if !reachable[place].advance(model, limits.layer_len, SLICE, meter) {
                    return false;
                }
                self.reach_masks.remove(0);
                let tick = REACH_TICKS[self.stage];
                if let Some(layer) = reachable[place].layer_at(tick) {
                    let limits = limits.over(target, mask);
                    self.sweep = Some(Sweep::onwards(model, target, mask, tick, layer, limits));
                    return true;
                }
            } else if is_late && is_early_due && self.stage + 1 < REACH_TICKS.len() {
                self.stage += 1;
                self.reach_masks = target.reach_masks();
            } else {
                if !self.wide_masks.is_empty() {
                    let limits = limits.over(target, self.wide_masks.remove(0));
                    self.sweep = Some(Sweep::new(target, model.first_tick, 0, limits));
                }
                return true;
            }
        }
    }

    fn advance(
        &mut self,
        situation: &Situation<'_, N>,
        target: &mut Target<N>,
        at_target: AtTarget,
        meter: &mut BudgetMeter,
    ) -> Option<End> {
        let sweep = self.sweep.as_mut()?;
        let mut end = sweep.advance(situation.model, target, SLICE, at_target, meter);
        if end.is_none() && self.is_trial && sweep.work > SHORT_WORK {
            end = Some(End::TooBig);
        }
        if end.is_some_and(End::is_over) {
            self.sweep = None;
        }
        end
    }
}

/// Returns true if reachable layers are of use: the last of them is near neither the target nor the
/// model's first tick.
fn is_late<const N: usize>(model: &Model<N>, tick: usize) -> bool {
    tick >= REACH_TICKS[0] + NEAR_TICKS && model.first_tick + NEAR_TICKS < REACH_TICKS[0]
}
