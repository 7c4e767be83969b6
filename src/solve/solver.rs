//! A solver, which can be continued. It takes one job after another from its queue, until the line
//! and the bound meet.

use std::io::{self, BufRead, Write};

use super::binary::{invalid, read_value, write_value};
use super::exhaustive::ExhaustiveSearch;
use super::neighbourhood::NeighbourhoodSearch;
use super::options::SolverOptions;
use super::prover::{Bounds, with_prover};
use super::queue::{Aim, Job, Queue, Task};
use super::root::{Progress, Root};
use super::solution::{Outcome, Solution};
use super::survival::SurvivalSearch;
use super::tuning::FIRST_WORK;
use crate::game::{FIRST_TICK, LAST_TICK, Move, State, World};
use crate::search::{Budget, BudgetMeter};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Full,
    /// With small layers, for budgets of a few milliseconds.
    Play,
    /// Only the survival search, which then has the whole memory.
    SurvivalSearch,
}

#[derive(Debug)]
struct Searches {
    /// The survival search before there are targets and, in play, at any time.
    first: SurvivalSearch,
    /// In play, the latest target for which the first search has skipped states.
    first_target: u16,
    /// For each target, its tick and its survival search.
    survival: [Option<(u16, SurvivalSearch)>; 2],
    /// The number of survival searches for targets so far, plus 1 if the first search is skipped.
    number: u64,
    /// The number of calls so far.
    calls: u64,
    neighbourhood: NeighbourhoodSearch,
    exhaustive: Option<ExhaustiveSearch>,
}

/// A solver that can be continued.
#[derive(Debug)]
pub struct Solver {
    mode: Mode,
    options: SolverOptions,
    root: Option<Root>,
    searches: Searches,
    bounds: Bounds,
    queue: Queue,
    best: Solution,
}

impl Solver {
    /// Creates a solver.
    pub fn new(options: SolverOptions) -> Self {
        Self::with(Mode::Full, options)
    }

    /// Creates a solver for budgets of a few milliseconds. It keeps the layers small, because some
    /// of the work on a layer cannot be interrupted.
    #[doc(hidden)]
    pub fn for_play(options: SolverOptions) -> Self {
        Self::with(Mode::Play, options.for_play())
    }

    /// Creates a solver that only runs the survival search.
    pub fn survival_search(options: SolverOptions) -> Self {
        Self::with(Mode::SurvivalSearch, options)
    }

    fn with(mode: Mode, options: SolverOptions) -> Self {
        Self {
            mode,
            options,
            root: None,
            searches: Searches {
                first: SurvivalSearch::new(options),
                first_target: 0,
                survival: [None, None],
                number: 0,
                calls: 0,
                neighbourhood: NeighbourhoodSearch::new(options),
                exhaustive: None,
            },
            bounds: Bounds::default(),
            queue: Queue::default(),
            best: Solution::unknown(FIRST_TICK),
        }
    }

    /// Skips the first survival search, so that tests can check proofs on maps that it decides.
    #[doc(hidden)]
    #[must_use]
    pub fn without_search(mut self) -> Self {
        self.searches.number = 1;
        self
    }

    /// Improves the line and the bound for `state` until they meet or the budget is used up. The
    /// next call continues this work if its world is the same and its state is the same or a direct
    /// successor, and otherwise starts afresh. If the budgets limit only simulated ticks, the same
    /// sequence of calls always gives the same answers. If the end of a budget interrupts a sweep,
    /// its forward pass is lost, so a few large budgets achieve more than many small ones.
    ///
    /// # Panics
    /// If the state belongs to another world; see [`World::step_unchecked`].
    pub fn solve(&mut self, world: &World, state: &State, budget: Budget) -> Solution {
        self.work(world, state, budget, usize::MAX)
    }

    /// Like [`Solver::solve`], but returns after one job of the queue, unless the solver only runs
    /// the survival search. Call it again until the solution [is optimal](Solution::is_optimal).
    pub fn advance(&mut self, world: &World, state: &State, budget: Budget) -> Solution {
        self.work(world, state, budget, 1)
    }

    fn work(&mut self, world: &World, state: &State, budget: Budget, jobs: usize) -> Solution {
        if self.mode == Mode::SurvivalSearch || state.is_over() {
            return self.searches.first.solve(world, state, budget);
        }
        let mut meter = BudgetMeter::new(budget);
        self.set_root(world, state);
        self.searches.calls += 1;
        // In play, a sweep or the preparation of a target may take more than a whole decision. So every
        // second decision begins with the survival search, which continues where it stopped.
        let is_search_due = self.mode == Mode::Play && self.searches.calls % 2 == 1 && !self.best.is_optimal();
        let is_over = is_search_due
            && !self.search(world, state, Aim::Near, Budget::ticks(FIRST_WORK), &mut meter)
            && meter.ticks() < FIRST_WORK;
        for _ in 0..if is_over { 0 } else { jobs } {
            if self.best.is_optimal() || meter.check().is_err() || !self.run(world, state, &mut meter) {
                break;
            }
        }
        self.best.outcome = match self.best.bound_tick {
            _ if self.best.final_tick > LAST_TICK => Outcome::Survives,
            bound if bound <= LAST_TICK => Outcome::Doomed,
            _ => Outcome::Undecided,
        };
        Solution { simulated_ticks: meter.ticks(), ..self.best.clone() }
    }

    fn set_root(&mut self, world: &World, state: &State) {
        let Some(root) = &mut self.root else { return self.begin(world, state) };
        let progress = root.advance(world, state);
        if !matches!(progress, Progress::Same) {
            self.searches.exhaustive = None;
        }
        match progress {
            Progress::Same => {}
            Progress::Played(player_move) if self.best.moves.first() == Some(&player_move) => {
                self.best.moves.remove(0);
            }
            // The bound of the old root also holds for its successors.
            Progress::Played(_) => {
                let (bound, proof) = (self.best.bound_tick, self.best.proof.take());
                self.best = Solution { bound_tick: bound, proof, ..Solution::unknown(state.tick()) };
            }
            Progress::Unrelated => {
                *self = Self::with(self.mode, self.options);
                self.begin(world, state);
            }
        }
    }

    fn begin(&mut self, world: &World, state: &State) {
        self.root = Some(Root::new(world, state));
        self.best = Solution::unknown(state.tick());
        if self.searches.number == 0 {
            self.queue.add(Task::Survival, Aim::Near, FIRST_WORK);
        }
        self.queue.add(Task::Model, Aim::Near, FIRST_WORK);
    }

    /// Runs the next job. Returns false if the queue is empty.
    fn run(&mut self, world: &World, root: &State, meter: &mut BudgetMeter) -> bool {
        if with_prover!(&mut self.bounds, prover => prover.aim(&self.best, &mut self.queue, meter), Ok(())).is_err() {
            return true;
        }
        let has_targets = self.target_tick(Aim::Near).is_some();
        let main = has_targets.then_some(if self.best.bound_tick > LAST_TICK { Aim::Far } else { Aim::Near });
        let Some(job) = self.queue.pop(main) else { return false };
        let mut own = BudgetMeter::new(meter.remaining().and(Budget::ticks(job.limit)));
        let is_done = self.run_job(world, root, &job, &mut own);
        meter.add_search(own.ticks());
        self.queue.count(&job, own.ticks());
        if !is_done {
            // A sweep that the budget interrupted keeps its limit. A search for lines continues.
            let left = job.limit.saturating_sub(own.ticks());
            let limit = match left {
                0 if job.task.is_search() => FIRST_WORK,
                0 => job.limit.saturating_mul(2),
                _ if job.task.is_search() => left,
                _ => job.limit,
            };
            self.queue.add(job.task, job.aim, limit);
        }
        true
    }

    /// Runs a job. Returns false if it is not done.
    fn run_job(&mut self, world: &World, root: &State, job: &Job, meter: &mut BudgetMeter) -> bool {
        match job.task {
            Task::Model => return self.build(world, root, meter),
            Task::Survival => return self.search(world, root, job.aim, Budget::UNLIMITED, meter),
            Task::Beam => {
                let longest = self.best.final_tick;
                let found =
                    with_prover!(&mut self.bounds, prover => prover.beam(job.aim, world, root, longest, meter), None);
                if let Some(moves) = found {
                    self.adopt(world, root, moves);
                }
            }
            Task::Neighbourhood => self.searches.neighbourhood.advance(world, root, &mut self.best, meter),
            Task::Exhaustive => {
                let memory_max_bytes = self.options.memory_part(if self.mode == Mode::Play { 0 } else { 32 });
                let search =
                    self.searches.exhaustive.get_or_insert_with(|| ExhaustiveSearch::new(root, memory_max_bytes));
                let found = search.advance(world, meter);
                let is_over = found.is_some() || search.is_abandoned();
                if let Some(solution) = found {
                    self.best = solution;
                }
                return is_over;
            }
            Task::Reach(_) | Task::Wide { .. } | Task::Narrow | Task::Trial => {
                let ended = with_prover!(&mut self.bounds, prover => prover.sweep(job, &self.best, &mut self.queue, meter), Ok(None));
                let Ok(proof) = ended else { return job.task == Task::Trial && meter.ticks() >= job.limit };
                if let Some(proof) = proof {
                    self.best.lower_bound(proof.bound_tick, Some(proof));
                }
                return true;
            }
        }
        false
    }

    fn build(&mut self, world: &World, root: &State, meter: &mut BudgetMeter) -> bool {
        if !self.bounds.build(world, root, self.options, meter) {
            return false;
        }
        let has_beam = with_prover!(&self.bounds, prover => !prover.model.has_excess_threats(), false);
        if !has_beam {
            self.queue.add(Task::Survival, Aim::Near, FIRST_WORK);
            self.queue.add(Task::Neighbourhood, Aim::Near, FIRST_WORK);
            self.queue.add(Task::Exhaustive, Aim::Near, FIRST_WORK);
        }
        true
    }

    /// Continues the survival search for a target, or for none before there are targets and in play.
    /// Returns true if it is done.
    fn search(&mut self, world: &World, root: &State, aim: Aim, budget: Budget, meter: &mut BudgetMeter) -> bool {
        let target = self.target_tick(aim);
        let Searches { first, first_target, survival, number, .. } = &mut self.searches;
        let (search, target) = match target {
            Some(tick) if self.mode != Mode::Play => {
                let begin = || {
                    *number += 1;
                    let memory_max_bytes = self.options.memory_part(1);
                    let seed = self.options.seed.wrapping_add(*number);
                    (tick, SurvivalSearch::new(SolverOptions { seed, memory_max_bytes }))
                };
                let kept = survival[aim as usize].take().filter(|(kept, _)| *kept == tick);
                (&mut survival[aim as usize].insert(kept.unwrap_or_else(begin)).1, tick)
            }
            _ => {
                *first_target = target.unwrap_or(0).max(*first_target);
                (first, *first_target)
            }
        };
        let is_open = |world: &World, _: &State, _: Move, after: &State| with_prover!(&self.bounds, prover => !prover.excludes(aim, world, after), true);
        let found = search.solve_filtered(world, root, LAST_TICK + 1, meter.remaining().and(budget), &[&is_open]);
        meter.add_search(found.simulated_ticks);
        self.best.improve(found.moves, found.final_tick);
        if found.outcome == Outcome::Doomed {
            // Every longer line visits an excluded state, so it does not reach the target.
            let bound = target.max(self.best.final_tick);
            let proof = with_prover!(&self.bounds, prover => prover.proof_by_search(aim, bound), None);
            self.best.lower_bound(bound, proof);
        }
        found.outcome != Outcome::Undecided
    }

    fn target_tick(&self, aim: Aim) -> Option<u16> {
        with_prover!(&self.bounds, prover => prover.target_tick(aim), None)
    }

    fn adopt(&mut self, world: &World, root: &State, mut moves: Vec<Move>) {
        let mut state = root.clone();
        // Threats that the model omits may end the line earlier.
        let played = world.play(&mut state, &moves);
        moves.truncate(played);
        while !state.is_over() {
            world.step_unchecked(&mut state, Move::Stay);
            moves.push(Move::Stay);
        }
        self.best.improve(moves, state.tick());
    }

    /// Saves the line, the bound, the known sets and the queue, but not the searches for lines: after
    /// [`Solver::restore`], they begin again. The data has no header, and only the same version of the
    /// library can read it.
    ///
    /// # Errors
    /// If writing fails.
    pub fn save(&self, out: &mut dyn Write) -> io::Result<()> {
        write_value(&(&self.best, &self.queue), out)?;
        with_prover!(&self.bounds, prover => prover.save(out), Ok(()))
    }

    /// Restores a solver that was saved while it solved the start of the game. Pass a different
    /// seed, or the searches for lines repeat their earlier random choices. The bound and later
    /// proofs are only as sound as the saved data: verify their certificates.
    ///
    /// # Errors
    /// If reading fails, or the data is not that of a solver for this world.
    pub fn restore(options: SolverOptions, world: &World, input: &mut dyn BufRead) -> io::Result<Self> {
        let (best, queue): (Solution, Queue) = read_value(input)?;
        let root = world.start();
        let mut end = root.clone();
        let played = world.play(&mut end, &best.moves);
        let bounds = best.final_tick..=LAST_TICK + 1;
        if (played, end.tick()) != (best.moves.len(), best.final_tick) || !bounds.contains(&best.bound_tick) {
            return Err(invalid("a line or a bound of another game"));
        }
        let mut solver = Self::new(options);
        solver.begin(world, &root);
        if input.fill_buf()?.is_empty() {
            // There were no complete automata, so the queue has nothing else that would be lost.
            solver.searches.number = 0;
        } else {
            solver.searches.number = 1;
            solver.queue = queue;
            let meter = &mut BudgetMeter::new(Budget::UNLIMITED);
            solver.bounds.build(world, &root, options, meter);
            with_prover!(&mut solver.bounds, prover => prover.restore(&solver.queue, input), Err(invalid("a proof about another map")))?;
        }
        if !input.fill_buf()?.is_empty() {
            return Err(invalid("more data than expected"));
        }
        solver.best = best;
        Ok(solver)
    }
}

/// Finds out how long the player can live from `state`: like [`Solver::solve`] of a new solver with the
/// default options.
///
/// # Panics
/// Like [`Solver::solve`].
pub fn solve(world: &World, state: &State, budget: Budget) -> Solution {
    Solver::new(SolverOptions::default()).solve(world, state, budget)
}

#[cfg(test)]
mod tests;
