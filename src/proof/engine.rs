//! Alternates between searches for lines and sweeps for proofs, which use each other's results.

use std::io::{self, BufRead, Write};

use serde::{Deserialize, Serialize};

use super::combination::slots_of;
use super::lines::{Lines, Resources};
use super::model::Model;
use super::outcome::{Bracket, Proof};
use super::reach::{Reach, SavedReach};
use super::saved::{LayersRead, LayersWritten, read_line};
use super::schedule::Situation;
use super::sweep::End;
use super::target::Target;
use super::targets::{SavedTargets, Targets};
use super::tuning::{END_WORK, SHARE, SLICE};
use crate::game::{LAST_TICK, State, World};
use crate::search::BudgetMeter;

#[derive(Clone, Copy, PartialEq, Eq)]
enum LastStep {
    Sweep,
    Search,
}

/// Works on one target after another until the longest line and the bound meet.
#[derive(Debug)]
pub(super) struct Engine<const N: usize> {
    model: Model<N>,
    /// True if one combination cannot hold the keys of all threats.
    pub has_excess_threats: bool,
    memory_max_bytes: usize,
    lines: Lines<N>,
    targets: Targets<N>,
    reachable: Vec<Reach<N>>,
    slices: u64,
    proof: Option<Proof>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SavedEngine<const N: usize> {
    slices: u32,
    /// The number of the beam's current start, at which a restored search begins.
    start: u32,
    targets: SavedTargets<N>,
    reachable: Vec<SavedReach>,
    proof: Option<Proof>,
    /// The number of combinations in each saved layer.
    layers: Vec<usize>,
}

impl<const N: usize> Engine<N> {
    pub fn new(model: Model<N>, resources: Resources) -> Self {
        let has_excess_threats = slots_of(&model).len() < model.automata.len();
        let memory_max_bytes = resources.memory_max_bytes;
        Self {
            model,
            has_excess_threats,
            memory_max_bytes,
            lines: Lines::new(resources),
            targets: Targets::default(),
            reachable: Vec::new(),
            slices: 0,
            proof: None,
        }
    }

    pub fn run(&mut self, world: &World, root: &State, best: &mut Bracket, meter: &mut BudgetMeter) {
        while best.final_tick < best.bound && meter.check().is_ok() {
            if self.targets.choose(&self.model, self.memory_max_bytes, best) {
                self.lines.restart();
            }
            let before = meter.ticks();
            let Some(attempt) = &mut self.targets.current else { return };
            if attempt.target.project(&self.model, meter) {
                self.slices += 1;
                // At first, searches and sweeps take turns; later, most of the work is for sweeps.
                let divisor = if self.slices * SLICE <= SHARE * END_WORK { 2 } else { SHARE };
                if self.slices % divisor == 1 {
                    let is_ruled_out = self.lines.advance(&self.model, &attempt.target, world, root, best, meter);
                    let tick = attempt.target.tick;
                    if is_ruled_out && usize::from(best.final_tick) <= tick {
                        self.bound(best, tick, LastStep::Search);
                    }
                } else {
                    self.prove(best, meter);
                }
            }
            if let Some(attempt) = &mut self.targets.current {
                attempt.work += meter.ticks() - before;
            }
        }
    }

    fn bound(&mut self, best: &mut Bracket, tick: usize, last: LastStep) {
        best.bound = tick as u16;
        let Some(attempt) = &mut self.targets.current else { return };
        let mut steps = attempt.target.steps.clone();
        if tick > attempt.target.tick {
            steps.extend(attempt.target.beyond.take());
        }
        let ends_with_search = last == LastStep::Search;
        self.proof = Some(Proof { bound_tick: best.bound, steps, ends_with_search });
    }

    fn prove(&mut self, best: &mut Bracket, meter: &mut BudgetMeter) {
        self.targets.share_knowledge();
        let Some(attempt) = &mut self.targets.current else { return };
        let situation = Situation {
            model: &self.model,
            memory_max_bytes: self.memory_max_bytes,
            final_tick: best.final_tick.into(),
            bound: best.bound.into(),
            work: attempt.work,
        };
        let end = attempt.schedule.advance(&situation, &mut attempt.target, &mut self.reachable, meter);
        let (tick, work) = (attempt.target.tick, attempt.work);
        match end {
            Some(End::Recorded) => self.lines.restart_after(work),
            Some(End::Empty) => self.bound(best, tick, LastStep::Sweep),
            // If the bound has fallen to `tick` or below since the sweep began, keep the bound.
            Some(End::EmptyBeyond(tick)) if tick < usize::from(best.bound) => self.bound(best, tick, LastStep::Sweep),
            _ => {}
        }
    }

    pub fn proof(&self) -> Option<&Proof> {
        self.proof.as_ref()
    }

    /// Writes the targets, the sweeps, the reachable layers and the latest proof, but no layers
    /// under construction. Of the searches for lines, writes only the number of the beam's start.
    pub fn save(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut layers = LayersWritten::default();
        let saved = SavedEngine {
            slices: self.slices.try_into().unwrap_or(u32::MAX),
            start: self.lines.start(),
            targets: self.targets.saved(&mut layers),
            reachable: self.reachable.iter().map(|reach| reach.saved(&mut layers)).collect(),
            proof: self.proof.clone(),
            layers: layers.lens(),
        };
        serde_json::to_writer(&mut *out, &saved)?;
        out.write_all(b"\n")?;
        layers.write(out)
    }

    /// Restores what [`Self::save`] wrote. The model and the memory limit must not have changed.
    pub fn restore(&mut self, input: &mut dyn BufRead) -> io::Result<()> {
        let saved: SavedEngine<N> = serde_json::from_slice(&read_line(input)?)?;
        let (model, memory_max_bytes) = (&self.model, self.memory_max_bytes);
        let layers = &mut LayersRead::read(input, &saved.layers)?;
        let targets = Targets::restored(model, memory_max_bytes, saved.targets, layers)?;
        let last = Target::new(model, LAST_TICK.into(), memory_max_bytes);
        let reachable = saved.reachable.into_iter().map(|reach| Reach::restored(model, &last, reach, layers));
        self.reachable = reachable.collect::<io::Result<_>>()?;
        (self.targets, self.proof, self.slices) = (targets, saved.proof, saved.slices.into());
        self.lines.begin_at(saved.start);
        Ok(())
    }
}

#[cfg(test)]
impl<const N: usize> Engine<N> {
    /// Switches to a target, and skips the delay before its wide sweeps.
    pub fn begin(&mut self, target_tick: usize) {
        let best = Bracket { moves: Vec::new(), final_tick: 0, bound: LAST_TICK + 1 };
        self.targets.set(&self.model, self.memory_max_bytes, target_tick, &best);
        let attempt = self.targets.current.as_mut().expect("just set");
        attempt.work = END_WORK;
        let meter = &mut BudgetMeter::new(crate::search::Budget::UNLIMITED);
        assert!(attempt.target.project(&self.model, meter));
    }

    pub fn prove_slice(&mut self, meter: &mut BudgetMeter) -> u16 {
        let attempt = self.targets.current.as_ref().expect("a target is set");
        let tick = attempt.target.tick as u16;
        let mut best = Bracket { moves: Vec::new(), final_tick: tick, bound: (LAST_TICK + 1).max(tick + 1) };
        self.prove(&mut best, meter);
        best.bound
    }

    pub fn is_hopeless(&self, world: &World, state: &State) -> bool {
        let attempt = self.targets.current.as_ref().expect("a target is set");
        attempt.target.is_hopeless(&self.model, world, state)
    }
}
