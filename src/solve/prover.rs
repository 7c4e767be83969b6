//! The part of a solver that depends on the size of the map: the automata, what is known about the
//! targets, and the jobs that use both.

use serde::{Deserialize, Serialize};

use super::beam::SetBeam;
use super::binary::short_list;
use super::combination::Combination;
use super::knowledge::Knowledge;
use super::layer::Front;
use super::model::Model;
use super::model_builder::ModelBuilder;
use super::options::SolverOptions;
use super::proof::{Proof, Step};
use super::queue::{Aim, Job, Queue, Task};
use super::solution::Solution;
use super::starts::Start;
use super::stepper::Stepper;
use super::sweep::{End, Joins, Plan, Sweep};
use super::tuning::{FIRST_WORK, LARGE_LEN, NEAR_TICKS, WORK_PER_KEY};
use crate::game::{LAST_TICK, Move, State, World};
use crate::search::{BudgetMeter, StopReason};

#[derive(Debug)]
pub(super) struct Target<const N: usize> {
    pub knowledge: Knowledge<N>,
    pub tried: Tried,
}

/// The sweeps for a target so far.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Tried {
    /// The starts of narrow sweeps.
    #[serde(deserialize_with = "short_list")]
    pub starts: Vec<Start>,
    /// The wide sweeps that are done, for targets from the tick `since` on.
    #[serde(deserialize_with = "short_list")]
    pub done: Vec<Task>,
    pub since: usize,
}

#[derive(Debug)]
pub(super) struct Prover<const N: usize> {
    pub model: Model<N>,
    /// Present until the automata are complete.
    pub builder: Option<ModelBuilder>,
    pub options: SolverOptions,
    /// The targets, by [`Aim`].
    pub targets: [Option<Target<N>>; 2],
    /// For late targets: the reachable layers over the threats of some masks.
    pub reachable: Vec<(Combination, Vec<Front<N>>)>,
    stepper: Stepper<N>,
    beam: Option<SetBeam<N>>,
    /// The number of the beam's current start. A new beam begins at it.
    pub start: u32,
}

impl<const N: usize> Prover<N> {
    /// Returns `None` if the automata do not implement the rules, or the map is too large for `N`.
    pub fn new(world: &World, root: &State, options: SolverOptions) -> Option<Self> {
        let (model, builder) = ModelBuilder::begin(world, root)?;
        Some(Self {
            model,
            builder: Some(builder),
            options,
            targets: [None, None],
            reachable: Vec::new(),
            stepper: Stepper::default(),
            beam: None,
            start: 1,
        })
    }

    /// Continues to build the automata. Returns true once they are complete.
    pub fn build(&mut self, world: &World, meter: &mut BudgetMeter) -> bool {
        if self.builder.as_mut().is_some_and(|builder| builder.advance(&mut self.model, world, meter)) {
            self.builder = None;
        }
        self.builder.is_none()
    }

    fn target(&self, aim: Aim) -> Option<&Target<N>> {
        self.targets[aim as usize].as_ref()
    }

    /// Adjusts the targets to the best line and bound, and adds the jobs that are missing. Drops the
    /// jobs for the far target if there is none or it moves to an earlier tick. All other jobs stay
    /// in the queue for the new target.
    pub fn aim(&mut self, best: &Solution, queue: &mut Queue, meter: &mut BudgetMeter) -> Result<(), StopReason> {
        if self.builder.is_some() {
            return Ok(());
        }
        let (low, high) = (usize::from(best.final_tick), usize::from(best.bound_tick));
        let last = usize::from(LAST_TICK);
        let tick_of = |target: &Option<Target<N>>| target.as_ref().map(|target| target.knowledge.tick);
        let (mut is_changed, is_open) = (false, high > last);
        let (options, [near, far_target]) = (self.options, &mut self.targets);
        if tick_of(near) != Some(low) {
            // After a move that is not the best one, the old target is later.
            let earlier = near.as_ref().filter(|target| target.knowledge.tick < low);
            let target = Target::new(&self.model, low, options, earlier, meter)?;
            (*near, is_changed) = (Some(target), true);
        }
        let kept = tick_of(far_target).filter(|&tick| low < tick && tick < high);
        let far = if is_open { last } else { kept.unwrap_or(low.midpoint(high)) };
        if far <= low {
            is_changed |= far_target.take().is_some();
            queue.drop_all(Aim::Far);
        } else if tick_of(far_target) != Some(far) {
            let earlier = far_target.as_ref().filter(|target| target.knowledge.tick < far);
            if earlier.is_none() {
                queue.drop_all(Aim::Far);
            }
            let target = Target::new(&self.model, far, options, earlier.or(near.as_ref()), meter)?;
            (*far_target, is_changed) = (Some(target), true);
        }
        if is_changed {
            self.add_jobs(is_open, queue);
        }
        Ok(())
    }

    /// Adds the jobs for both targets that are neither in the queue nor done.
    fn add_jobs(&self, is_open: bool, queue: &mut Queue) {
        for aim in [Aim::Near, Aim::Far] {
            if let Some(target) = self.target(aim) {
                for (task, cost) in self.tasks(aim, target.knowledge.tick, is_open) {
                    if !target.tried.done.contains(&task) {
                        queue.add(task, aim, cost * FIRST_WORK);
                    }
                }
            }
        }
    }

    /// Returns the jobs for a target, each with its estimated cost in multiples of `FIRST_WORK`. While
    /// the end of the game is not ruled out, the near target has only the cheapest wide sweeps, because
    /// longer lines will probably replace it.
    fn tasks(&self, aim: Aim, target_tick: usize, is_open: bool) -> Vec<(Task, u64)> {
        let ticks = self.model.reach_ticks();
        let first_tick = self.model.times.first_tick;
        let is_late = target_tick >= ticks[0] + NEAR_TICKS && first_tick + NEAR_TICKS < ticks[0];
        let first = self.model.slots.first().map(|first| (Task::Wide { mask: first.mask(), from: None }, 1));
        let mut tasks: Vec<(Task, u64)> = first.into_iter().chain([(Task::Survival, 1), (Task::Narrow, 1)]).collect();
        if !self.model.has_excess_threats() {
            tasks.push((Task::Beam, 1));
        }
        if !is_late {
            tasks.push((Task::Trial, 1));
        }
        if aim == Aim::Near && is_open {
            return tasks;
        }
        for mask in self.model.reach_masks().into_iter().filter(|_| is_late) {
            let Some((_, fronts)) = self.reachable.iter().find(|(other, _)| *other == mask) else {
                // Both targets use the reachable layers, so only the more important one gets the job.
                tasks.extend(((aim == Aim::Far) == is_open).then_some((Task::Reach(mask), 3)));
                continue;
            };
            // The earlier layers mainly help to extend the best line.
            for front in fronts.iter().filter(|front| aim == Aim::Near || front.tick == ticks[0]) {
                let stage = ticks.iter().position(|&tick| tick == front.tick).unwrap_or(0) as u64;
                tasks.push((Task::Wide { mask, from: Some(front.tick) }, if stage == 0 { 2 } else { 3 + stage }));
            }
        }
        let rest = 4 + ticks.len() as u64;
        tasks.extend(self.model.wide_masks().into_iter().map(|mask| (Task::Wide { mask, from: None }, rest)));
        tasks
    }

    /// Runs a sweep. Returns the proof if it proves a bound.
    pub fn sweep(
        &mut self,
        job: &Job,
        best: &Solution,
        queue: &mut Queue,
        meter: &mut BudgetMeter,
    ) -> Result<Option<Proof>, StopReason> {
        if let Task::Reach(mask) = job.task {
            self.reach(mask, meter)?;
            self.add_jobs(best.bound_tick > LAST_TICK, queue);
            return Ok(None);
        }
        if let (Aim::Far, [Some(near), Some(far)]) = (job.aim, &mut self.targets) {
            far.knowledge.adopt(&near.knowledge);
        }
        let first_tick = self.model.times.first_tick;
        let target = self.targets[job.aim as usize].as_mut().filter(|target| target.knowledge.tick > first_tick);
        let Some(target) = target else { return Ok(None) };
        let model = &self.model;
        let (all, draws) = model.masks();
        let task = if job.task == Task::Trial { Task::Wide { mask: all | draws, from: None } } else { job.task };
        let (first, joins, memory_max_bytes) = if let Task::Wide { mask, from } = task {
            let first = match from {
                None => target.knowledge.players(first_tick),
                Some(tick) => {
                    let fronts = self.reachable.iter().flat_map(|(_, fronts)| fronts);
                    let Some(front) = fronts.into_iter().find(|front| (front.mask, front.tick) == (mask, tick)) else {
                        return Ok(None);
                    };
                    let mut front = front.clone();
                    front.layer.retain(|_| target.knowledge.allowed[tick]);
                    front
                }
            };
            (first, Joins::AtFirst(mask), self.options.memory_part(2))
        } else {
            let Some(start) = target.knowledge.bottleneck(model, &target.tried.starts, job.limit) else {
                return Ok(None);
            };
            target.tried.starts.retain(|other| (other.tick, other.mask) != (start.tick, start.mask));
            target.tried.starts.push(start);
            // The more work, the larger the layers that threats can join.
            let max_len = ((queue.total(job.aim) / WORK_PER_KEY) as usize).min(LARGE_LEN);
            (
                target.knowledge.players(start.tick),
                Joins::WhileSmall { base: start.mask, max_len },
                self.options.memory_part(1),
            )
        };
        let beyond_tick = usize::from(best.bound_tick) - 1;
        let plan = Plan { first, joins, beyond_tick, kept_ticks: Vec::new(), memory_max_bytes };
        let (knowledge, stepper) = (&mut target.knowledge, &mut self.stepper);
        let end = Sweep { model, knowledge, plan: &plan, stepper, joins: Vec::new(), meter }.run();
        match (job.task, target.tried.starts.last_mut()) {
            (Task::Narrow, Some(start)) => start.limit = if end.is_ok() { u64::MAX } else { job.limit },
            (task, _) if end.is_ok() || task == Task::Trial && meter.ticks() >= job.limit => {
                target.tried.done.push(task);
            }
            _ => {}
        }
        let Knowledge { tick, steps, .. } = &target.knowledge;
        let proof = |bound_tick: u16, last: Option<Step>| {
            let steps = steps.iter().cloned().chain(last).collect();
            Ok(Some(Proof { bound_tick, steps, ends_with_search: false }))
        };
        let end = end?;
        queue.add(Task::Narrow, job.aim, 2 * FIRST_WORK);
        match end {
            End::Empty => proof(*tick as u16, None),
            End::Recorded { beyond: Some(step) } => proof(step.target_tick, Some(step)),
            _ => Ok(None),
        }
    }

    fn reach(&mut self, mask: Combination, meter: &mut BudgetMeter) -> Result<(), StopReason> {
        let kept_ticks = self.model.reach_ticks();
        let last_tick = kept_ticks[0];
        let mut nothing = Knowledge::nothing(&self.model, last_tick);
        let first = nothing.players(self.model.times.first_tick);
        let memory_max_bytes = self.options.memory_part(2);
        let plan = Plan { first, joins: Joins::AtFirst(mask), beyond_tick: 0, kept_ticks, memory_max_bytes };
        let (model, knowledge, stepper) = (&self.model, &mut nothing, &mut self.stepper);
        let end = Sweep { model, knowledge, plan: &plan, stepper, joins: Vec::new(), meter }.run()?;
        let mut fronts = if let End::Reached(fronts) = end { fronts } else { Vec::new() };
        fronts.retain(|front| front.tick == last_tick || front.layer.len() <= LARGE_LEN);
        self.reachable.push((mask, fronts));
        Ok(())
    }

    /// Continues the beam. Returns the moves of a line that is alive at `longest_tick` or later.
    pub fn beam(
        &mut self,
        aim: Aim,
        world: &World,
        root: &State,
        longest_tick: u16,
        meter: &mut BudgetMeter,
    ) -> Option<Vec<Move>> {
        let target = self.targets[aim as usize].as_ref()?;
        if self.beam.as_ref().is_none_or(|beam| !beam.starts_at(root)) {
            self.beam = Some(SetBeam::new(&self.model, world, root, self.options, self.start));
        }
        let beam = self.beam.as_mut().expect("just set");
        let moves = beam.advance(&self.model, &target.knowledge, longest_tick, meter);
        self.start = beam.start();
        moves
    }

    pub fn excludes(&self, aim: Aim, world: &World, state: &State) -> bool {
        self.target(aim).is_some_and(|target| target.knowledge.excludes(&self.model, world, state))
    }

    pub fn target_tick(&self, aim: Aim) -> Option<u16> {
        self.target(aim).map(|target| target.knowledge.tick as u16)
    }

    /// Returns the proof that an exhaustive search completes.
    pub fn proof_by_search(&self, aim: Aim, bound_tick: u16) -> Option<Proof> {
        let knowledge = &self.target(aim)?.knowledge;
        Some(Proof { bound_tick, steps: knowledge.steps.clone(), ends_with_search: true })
    }
}

impl<const N: usize> Target<N> {
    fn new(
        model: &Model<N>,
        tick: usize,
        options: SolverOptions,
        earlier: Option<&Self>,
        meter: &mut BudgetMeter,
    ) -> Result<Self, StopReason> {
        let knowledge = Knowledge::new(model, tick, options, earlier.map(|one| &one.knowledge), meter)?;
        // Sweeps for a target that is only a little earlier are not repeated.
        let close = earlier.map(|earlier| &earlier.tried).filter(|tried| tick <= tried.since + NEAR_TICKS);
        let (done, since) = close.map_or((Vec::new(), tick), |tried| (tried.done.clone(), tried.since));
        Ok(Self { knowledge, tried: Tried { starts: Vec::new(), done, since } })
    }
}

/// Sizes of tile sets, in 64-bit words. Each size makes the library slower to build, and the
/// playground larger to download. The small size suffices for the maps of `benches/hard_maps.csv`.
pub(super) const SMALL: usize = 6;
pub(super) const LARGE: usize = 16;

#[derive(Debug, Default)]
pub(super) enum Bounds {
    #[default]
    Unknown,
    /// The map is too large, or the automata do not implement the world's rules.
    Impossible,
    Small(Box<Prover<SMALL>>),
    Large(Box<Prover<LARGE>>),
}

/// Evaluates an expression with the prover of either size, or `$otherwise` without a prover.
macro_rules! with_prover {
    ($bounds:expr, $prover:ident => $body:expr, $otherwise:expr) => {
        match $bounds {
            Bounds::Small($prover) => $body,
            Bounds::Large($prover) => $body,
            _ => $otherwise,
        }
    };
}
pub(super) use with_prover;

impl Bounds {
    /// Continues to build the automata. Returns true once they are complete, or if they are
    /// impossible.
    pub fn build(&mut self, world: &World, root: &State, options: SolverOptions, meter: &mut BudgetMeter) -> bool {
        if matches!(self, Self::Unknown) {
            let small = Prover::new(world, root, options).map(|prover| Self::Small(Box::new(prover)));
            let large = || Prover::new(world, root, options).map(|prover| Self::Large(Box::new(prover)));
            *self = small.or_else(large).unwrap_or(Self::Impossible);
        }
        with_prover!(self, prover => prover.build(world, meter), true)
    }
}
