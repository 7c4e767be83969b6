//! Two searches for a line that reaches the target. Both skip states outside the known sets.

use std::fmt::Debug;

use super::beam::SetBeam;
use super::model::Model;
use super::outcome::Bracket;
use super::target::Target;
use super::tuning::{SHARE, SLICE};
use crate::game::{Move, State, World};
use crate::search::{Budget, BudgetMeter};

/// A function that returns true for states that no line to the target visits.
pub(crate) type Hopeless<'a> = &'a dyn Fn(&World, &State) -> bool;

#[derive(Clone, Debug)]
pub(crate) struct Found {
    pub moves: Vec<Move>,
    pub final_tick: u16,
    /// True if the search was exhaustive: every longer line visits a state that was skipped.
    pub is_exhausted: bool,
    pub simulated_ticks: u64,
}

pub(crate) trait LineSearch: Debug + Send {
    fn restart(&mut self);

    /// Continues the search. `root` is the root of the previous call or a later state of that game.
    fn search(&mut self, world: &World, root: &State, is_hopeless: Hopeless<'_>, budget: Budget) -> Found;
}

#[derive(Debug)]
pub(crate) struct Resources {
    pub seed: u64,
    pub memory_max_bytes: usize,
    pub lines: Box<dyn LineSearch>,
}

#[derive(Debug)]
pub(super) struct Lines<const N: usize> {
    plain: Box<dyn LineSearch>,
    /// The beam; `None` before its first slice, or if one combination cannot hold the keys of all
    /// threats. A new target does not invalidate the beam's layers.
    sets: Option<SetBeam<N>>,
    seed: u64,
    memory_max_bytes: usize,
    /// The number of the start at which a new beam begins.
    first_start: u32,
    slices: u64,
    work: u64,
}

impl<const N: usize> Lines<N> {
    pub fn new(resources: Resources) -> Self {
        let Resources { seed, memory_max_bytes, lines } = resources;
        let memory_max_bytes = memory_max_bytes / 8;
        Self { plain: lines, sets: None, seed, memory_max_bytes, first_start: 1, slices: 0, work: 0 }
    }

    pub fn start(&self) -> u32 {
        self.sets.as_ref().map_or(self.first_start, SetBeam::start)
    }

    pub fn begin_at(&mut self, start: u32) {
        self.first_start = start.max(1);
    }

    pub fn restart(&mut self) {
        self.plain.restart();
        self.work = 0;
    }

    /// Restarts if the two searches have done at least 1 / [`SHARE`] of all the `work` on the target
    /// since the last restart.
    pub fn restart_after(&mut self, work: u64) {
        if SHARE * self.work >= work {
            self.restart();
        }
    }

    /// Runs a slice of one of the searches. Returns true if this search was exhaustive.
    pub fn advance(
        &mut self,
        model: &Model<N>,
        target: &Target<N>,
        world: &World,
        root: &State,
        best: &mut Bracket,
        meter: &mut BudgetMeter,
    ) -> bool {
        self.slices += 1;
        // At first, only the search over single states runs: it can be exhaustive on small maps.
        let is_plain = self.slices <= SHARE || self.slices.is_multiple_of(2 * SHARE);
        if !is_plain && self.search_sets(model, target, world, root, best, meter) {
            return false;
        }
        let is_hopeless = |world: &World, state: &State| target.is_hopeless(model, world, state);
        let budget = meter.remaining().and(Budget::ticks(SLICE));
        let Found { moves, final_tick, is_exhausted, simulated_ticks } =
            self.plain.search(world, root, &is_hopeless, budget);
        meter.add_search(simulated_ticks);
        self.work += simulated_ticks;
        best.adopt(moves, final_tick);
        is_exhausted
    }

    /// Returns false if one combination cannot hold the keys of all threats.
    fn search_sets(
        &mut self,
        model: &Model<N>,
        target: &Target<N>,
        world: &World,
        root: &State,
        best: &mut Bracket,
        meter: &mut BudgetMeter,
    ) -> bool {
        if self.sets.as_ref().is_none_or(|beam| !beam.starts_at(root)) {
            let beam = SetBeam::new(model, target, world, root, self.seed, self.memory_max_bytes);
            self.sets = beam.map(|beam| beam.begin_at(self.first_start));
        }
        let Some(beam) = &mut self.sets else { return false };
        let before = meter.ticks();
        let found = beam.advance(model, target, best.final_tick, SLICE, meter);
        self.work += meter.ticks() - before;
        let Some(mut moves) = found else { return true };
        let mut state = root.clone();
        // Threats that the model omits may end the line earlier.
        let played = world.play_moves(&mut state, &moves);
        moves.truncate(played);
        while !state.is_over() {
            world.step(&mut state, Move::Stay);
            moves.push(Move::Stay);
        }
        best.adopt(moves, state.tick());
        true
    }
}
