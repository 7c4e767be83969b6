//! Search and proof side by side: the beam looks for a line that reaches the target, sweeps look
//! for a proof that there is none, and each uses the other's results.

use super::Proof;
use super::beam::SetBeam;
use super::combination::{Combination, slots_of};
use super::join::Join;
use super::layer::Layer;
use super::model::{Automaton, Model};
use super::reach::{REACH_TICKS, Reach};
use super::sweep::{End, Sweep, SweepLimits};
use super::target::{DeepStart, Pruner, Target};
use crate::game::{LAST_TICK, Move, State, Style, World};
use crate::planner::{Budget, Outcome, Solution, SurvivalOptions, SurvivalSearch};
use crate::search::BudgetMeter;

/// Work per slice of either side, in states stepped or combinations of keys.
const SLICE: u64 = 50_000;
/// A threat joins a running sweep if this gives at most this many combinations: one per this much
/// work on the target, within limits.
const JOIN_LEN_SHARE: u64 = 400;
const JOIN_LEN_MIN: u64 = 2_000;
const JOIN_LEN_MAX: u64 = 40_000;
/// Sweeps that would start with more states than this are not worthwhile.
const START_STATES_MAX: u64 = 8_000_000;
/// Initial amount of work on a target before the next target gets its turn.
const WORK_LIMIT_MIN: u64 = 400_000;
/// An interrupted sweep of more than this many bytes is dropped, and starts over after other
/// targets have had their turn.
const RESTING_SWEEP_MAX_BYTES: usize = 32 << 20;
/// Initial distance, in ticks, from the start of a sweep to the target; later sweeps start earlier.
const FLOOR_TICKS: usize = 100;
/// From this tick on threats move in every tick: the start of first attempts on targets far beyond
/// it.
const INSANE_TICK: usize = 903;
/// How much later than the last tick of what the game can reach the targets are at least whose sweeps
/// start from there.
const LATE_TICKS: usize = 50;
/// The first sweeps start at most this many ticks later than they could.
const WINDOW_TICKS: usize = 130;
/// Initial amount of work on a sweep.
const SWEEP_WORK_MIN: u64 = 40_000_000;
/// The work on a target before the first sweep of the whole game, and on the end of the game, which
/// other sweeps may prove out of reach sooner.
const WHOLE_DELAY: u64 = 1_000_000;
const WHOLE_DELAY_END: u64 = 6_000_000;
/// The work of a sweep of the whole game against all threats that is tried first for targets that
/// are near: at early ticks, few states can be reached.
const TRIAL_WORK_MAX: u64 = 500_000;
/// The combinations with which a deep sweep may start.
const DEEP_LEN: u64 = 100_000;
/// How long before threats begin to move in every tick deep sweeps may start.
const DEEP_TICKS: usize = 150;
/// While a sweep of the whole game runs, one in this many slices is for other sweeps, and these do
/// not start more than this many ticks earlier than the first of them.
const OTHERS_SHARE: u64 = 4;
const OTHERS_TICKS: usize = 240;
/// The same share while the end of the game is the target.
const OTHERS_SHARE_END: u64 = 2;
/// How much earlier sweeps may start once nothing is left to try.
const FLOOR_STEP_TICKS: usize = 120;
/// Initial amount of work on the end of the game.
const WORK_LIMIT_END: u64 = 3_000_000;
/// While no line reaches this tick, the end of the game is not the only target.
const LATE_TICK: usize = 1800;
/// How many times more work the lowest target gets than the others.
const LOW_SHARE: u64 = 4;
/// The same for the end of the game.
const END_SHARE: u64 = 6;
/// The targets of a round are closer than one over this of the distance from the line to the bound.
const BISECTION_SHARE: usize = 4;
/// A beam lasts for at least one over this of the work on its target before new knowledge restarts
/// it.
const BEAM_SHARE: u64 = 5;
/// Until then, every other slice looks for lines; afterwards, where lines are hard to find, one in
/// this many, and the others are for sweeps, unless these cannot hold all threats.
const EVEN_SLICES: u64 = 400;
const LINE_SHARE: u64 = 5;
/// The survival search gets one slice in this many of the slices for lines, the beam over
/// combinations the others.
const PLAIN_BEAM_SHARE: u64 = 8;
/// The survival search alone gets the first slices: on small maps it is exhaustive.
const PLAIN_BEAM_SLICES: u64 = 4;
/// Early targets are out of reach because of the threats that start near the player.
const EARLY_TICK: usize = 600;
/// Maximum number of undecided targets kept for later.
const RESTING_MAX: usize = 3;

/// A target that is being decided.
#[derive(Debug)]
struct Attempt<const N: usize> {
    target: Target<N>,
    sweep: Option<Sweep<N>>,
    /// Whether the first sweep has begun.
    has_begun: bool,
    /// The sweeps started so far: the tick, and the threats.
    tried: Vec<(usize, Combination)>,
    /// Sweeps start here or later; the first ones at a later tick.
    floor: usize,
    first_floor: usize,
    /// The work that a sweep may do before it is abandoned, and whether one was.
    sweep_work_max: u64,
    has_abandoned: bool,
    /// A sweep of the whole game or a deep one, beside the others.
    whole: Option<Sweep<N>>,
    /// Whether one against all threats is to be tried first, and whether this is that one.
    is_trial_due: bool,
    is_trial: bool,
    /// The threats of those that are still to be made, and of those made for an earlier target.
    wholes: Vec<Combination>,
    again: Vec<Combination>,
    /// Which of the kept ticks of what the game can reach sweeps start from now, and the threats of
    /// those that are still to be made.
    stage: usize,
    lates: Vec<Combination>,
    /// The deep sweeps so far: the tick where they start, and the threats; the combinations with
    /// which the next one may start; and whether one is running.
    deeps: Vec<(usize, Combination)>,
    deep_len: u64,
    is_deep: bool,
    /// The changes of what is known about the target after which no deep sweep could start, and
    /// whether hawks would have joined it.
    deepless_at: Option<(u64, bool)>,
    /// The slices of sweeps.
    slices: u64,
    /// Whether nothing is left to sweep.
    is_exhausted: bool,
    beam: SurvivalSearch,
    /// The work of the beams.
    beam_work: u64,
    /// The work spent on the target, and the limit before another target gets its turn.
    work: u64,
    work_limit: u64,
}

/// Decides targets until the longest line and the bound meet.
#[derive(Debug)]
pub(super) struct Engine<const N: usize> {
    model: Model<N>,
    /// The automata in the order in which they join, for early targets and for late ones.
    orders: [Vec<usize>; 2],
    /// Whether these are too many for one combination.
    is_crowd: bool,
    options: SurvivalOptions,
    attempt: Option<Attempt<N>>,
    /// The beam over combinations, once it has begun. Its layers serve all targets.
    set_beam: Option<SetBeam<N>>,
    /// What the game can reach against some of the threats, for all targets.
    reaches: Vec<Reach<N>>,
    resting: Vec<Attempt<N>>,
    beams: u64,
    /// The slices so far, and those of beams.
    slices: u64,
    beam_slices: u64,
    /// The work on a target in this round before the next one gets its turn.
    work_limit: u64,
    /// The targets of this round that were left undecided.
    stalled: Vec<usize>,
    proof: Option<Proof>,
}

impl<const N: usize> Engine<N> {
    pub fn new(model: Model<N>, options: SurvivalOptions) -> Self {
        let orders = orders(&model);
        let is_crowd = slots_of(&model, &orders[1]).len() < model.automata.len();
        Self {
            model,
            orders,
            is_crowd,
            options,
            attempt: None,
            set_beam: None,
            reaches: Vec::new(),
            resting: Vec::new(),
            beams: 0,
            slices: 0,
            beam_slices: 0,
            work_limit: WORK_LIMIT_MIN,
            stalled: Vec::new(),
            proof: None,
        }
    }

    /// A search for the next attempt.
    fn new_beam(&mut self) -> SurvivalSearch {
        self.beams += 1;
        let seed = self.options.seed.wrapping_add(self.beams);
        SurvivalSearch::new(SurvivalOptions {
            seed,
            memory_max_bytes: self.options.memory_max_bytes / 8,
            ..self.options
        })
    }

    /// The limits of a sweep. One of the whole game may need twice the memory of another beside it;
    /// they share it with the knowledge about targets and the beams.
    fn limits(&self, join_len: usize, beyond_tick: usize) -> SweepLimits {
        let eighth = self.options.memory_max_bytes / 8;
        // A layer, and the one under construction.
        let layer_bytes = Layer::<N>::KEY_BYTES + Join::<N>::KEY_BYTES;
        SweepLimits {
            join_len,
            layer_len: eighth / layer_bytes,
            kept_bytes: eighth / 2,
            beyond_tick,
            left_out: 0,
            is_whole: false,
            counts_draws: false,
        }
    }

    /// The next target: the end of the game until that is decided. After that the engine looks for
    /// the earliest target that it can prove and the latest that a line reaches, in rounds: targets
    /// that stay undecided within the work limit are left for the next round.
    fn next_target(&mut self, best: &Solution) -> usize {
        let (low, high) = (usize::from(best.final_tick), usize::from(best.bound));
        if best.bound > LAST_TICK {
            // Alternates with the tick just beyond the longest line, which may be easier to decide:
            // sweeps to it are shorter, and go on beyond it.
            let end = usize::from(LAST_TICK);
            let Some(attempt) = &self.attempt else { return end };
            let is_end = attempt.target.tick == end;
            if attempt.work < attempt.work_limit {
                return if is_end { end } else { low };
            }
            if is_end && low < LATE_TICK {
                return low;
            }
            self.work_limit = self.work_limit.saturating_mul(2);
            return end;
        }
        if let Some(attempt) = self.attempt.as_ref().filter(|attempt| (low..high).contains(&attempt.target.tick)) {
            let tick = attempt.target.tick;
            if attempt.work < attempt.work_limit {
                return tick;
            }
            self.stalled.push(tick);
        }
        self.stalled.retain(|tick| (low..high).contains(tick));
        let Some((&first, &last)) = self.stalled.iter().min().zip(self.stalled.iter().max()) else { return low };
        if high - last > 1 && (high - last) * BISECTION_SHARE > high - low {
            return last.midpoint(high);
        }
        if first > low && (first - low) * BISECTION_SHARE > high - low {
            return low.midpoint(first);
        }
        // Knowledge about the lowest target holds for all others.
        self.stalled.clear();
        self.work_limit = self.work_limit.saturating_mul(2);
        low
    }

    /// The work on a target until the next one gets its turn: more on the lowest, because what is
    /// known about it holds for all others, and its sweeps go on beyond it.
    fn share(&self, tick: usize, best: &Solution) -> u64 {
        if tick == usize::from(LAST_TICK) && best.bound > LAST_TICK {
            self.work_limit.saturating_mul(END_SHARE).max(WORK_LIMIT_END)
        } else if tick == usize::from(best.final_tick) {
            self.work_limit.saturating_mul(LOW_SHARE)
        } else {
            self.work_limit
        }
    }

    /// Switches to a target, and keeps the knowledge about others.
    fn set_target(&mut self, tick: usize, best: &Solution) {
        let (low, high) = (usize::from(best.final_tick), usize::from(best.bound));
        if let Some(mut attempt) = self.attempt.take() {
            (attempt.beam, attempt.beam_work) = (self.new_beam(), 0);
            if attempt.sweep.as_ref().is_some_and(|sweep| sweep.bytes() > RESTING_SWEEP_MAX_BYTES) {
                attempt.sweep = None;
                attempt.tried.pop();
            }
            self.resting.push(attempt);
        }
        self.resting.retain(|attempt| attempt.target.tick < high);
        self.resting.sort_by_key(|attempt| attempt.target.tick);
        if let Some(place) = self.resting.iter().position(|attempt| attempt.target.tick == tick) {
            let mut attempt = self.resting.remove(place);
            attempt.work_limit = attempt.work.saturating_add(self.share(tick, best));
            self.attempt = Some(attempt);
            return;
        }
        let beam = self.new_beam();
        let (memory_max_bytes, orders) = (self.options.memory_max_bytes / 8, &self.orders);
        let order = |tick| order(orders, tick);
        let earlier = self.resting.iter_mut().rfind(|attempt| attempt.target.tick < tick);
        let (target, whole, wholes, again) = match earlier.filter(|other| order(other.target.tick) == order(tick)) {
            Some(earlier) => {
                let target = earlier.target.later(&self.model, tick);
                // One that has not turned back goes on to the new target.
                let is_reached = earlier.target.tick < low;
                let is_taken = is_reached && !earlier.is_trial;
                let whole = earlier.whole.take_if(|whole| is_taken && !whole.has_turned());
                let mut again = target.whole_sweeps();
                again.retain(|mask| !earlier.wholes.contains(mask));
                (target, whole, earlier.wholes.clone(), again)
            }
            None => {
                let target = Target::new(&self.model, tick, order(tick), memory_max_bytes);
                let wholes = target.whole_sweeps();
                (target, None, wholes, Vec::new())
            }
        };
        let lates = if is_late(&self.model, tick) { target.reaches() } else { Vec::new() };
        self.resting.retain(|attempt| attempt.target.tick >= low);
        self.resting.truncate(RESTING_MAX);
        let far = if tick > INSANE_TICK + FLOOR_TICKS { INSANE_TICK } else { tick.saturating_sub(FLOOR_TICKS) };
        let floor = far.max(self.model.first_tick);
        self.attempt = Some(Attempt {
            target,
            sweep: None,
            has_begun: false,
            tried: Vec::new(),
            floor,
            first_floor: floor,
            sweep_work_max: SWEEP_WORK_MIN,
            has_abandoned: false,
            whole,
            is_trial_due: tick <= INSANE_TICK + FLOOR_TICKS,
            is_trial: false,
            wholes,
            again,
            stage: 0,
            lates,
            deeps: Vec::new(),
            deep_len: DEEP_LEN,
            is_deep: false,
            deepless_at: None,
            slices: 0,
            is_exhausted: false,
            beam,
            beam_work: 0,
            work: 0,
            work_limit: self.share(tick, best),
        });
    }

    /// Continues until the longest line and the bound meet or the budget is used up.
    pub fn run(&mut self, world: &World, root: &State, best: &mut Solution, meter: &mut BudgetMeter) {
        while best.final_tick < best.bound && meter.check().is_ok() {
            let tick = self.next_target(best);
            let share = self.share(tick, best);
            match self.attempt.as_mut().filter(|attempt| attempt.target.tick == tick) {
                Some(attempt) if attempt.work < attempt.work_limit => {}
                Some(attempt) => attempt.work_limit = attempt.work.saturating_add(share),
                None => self.set_target(tick, best),
            }
            let before = meter.ticks();
            if self.attempt.as_mut().is_some_and(|attempt| attempt.target.project(&self.model, meter)) {
                self.slices += 1;
                let line_share = if self.slices <= EVEN_SLICES || self.is_crowd { 2 } else { LINE_SHARE };
                if self.slices % line_share == 1 {
                    self.search(world, root, best, meter);
                } else {
                    self.prove(best, meter);
                }
            }
            if let Some(attempt) = &mut self.attempt {
                attempt.work += meter.ticks() - before;
            }
        }
    }

    /// A slice of the beam over combinations; returns false if the map has none.
    fn search_sets(&mut self, world: &World, root: &State, best: &mut Solution, meter: &mut BudgetMeter) -> bool {
        let Some(attempt) = &mut self.attempt else { return false };
        if self.set_beam.as_ref().is_none_or(|beam| !beam.starts_at(root)) {
            let memory_max_bytes = self.options.memory_max_bytes / 8;
            let seed = self.options.seed;
            self.set_beam = SetBeam::new(&self.model, &attempt.target, world, root, seed, memory_max_bytes);
        }
        let Some(beam) = &mut self.set_beam else { return false };
        let before = meter.ticks();
        let found = beam.advance(&self.model, &attempt.target, best.final_tick, SLICE, meter);
        attempt.beam_work += meter.ticks() - before;
        let Some(mut moves) = found else { return true };
        let mut state = root.clone();
        // Threats that the model leaves out may end the line earlier.
        let played = world.play_moves(&mut state, &moves);
        moves.truncate(played);
        while !state.is_over() {
            world.step(&mut state, Move::Stay);
            moves.push(Move::Stay);
        }
        adopt(best, moves, state.tick());
        true
    }

    /// A slice of the beam.
    fn search(&mut self, world: &World, root: &State, best: &mut Solution, meter: &mut BudgetMeter) {
        self.beam_slices += 1;
        let is_plain = self.beam_slices <= PLAIN_BEAM_SLICES || self.beam_slices.is_multiple_of(PLAIN_BEAM_SHARE);
        if !is_plain && self.search_sets(world, root, best, meter) {
            return;
        }
        let Some(attempt) = &mut self.attempt else { return };
        let pruner = Pruner { model: &self.model, target: &attempt.target };
        let budget = meter.remaining().and(Budget::ticks(SLICE));
        let found = attempt.beam.solve_pruned(world, root, LAST_TICK + 1, budget, Some(&pruner));
        meter.add_search(found.simulated_ticks);
        attempt.beam_work += found.simulated_ticks;
        let (target_tick, outcome) = (attempt.target.tick as u16, found.outcome);
        adopt(best, found.moves, found.final_tick);
        if outcome == Outcome::Doomed && best.final_tick <= target_tick {
            self.bound(best, target_tick, true);
        }
    }

    /// Records that the target cannot be reached, with the proof.
    fn bound(&mut self, best: &mut Solution, target_tick: u16, by_search: bool) {
        best.bound = target_tick;
        let Some(attempt) = &mut self.attempt else { return };
        let mut steps = attempt.target.steps.clone();
        if usize::from(target_tick) > attempt.target.tick {
            steps.extend(attempt.target.beyond.take());
        }
        self.proof = Some(Proof { bound_tick: target_tick, steps, ends_with_search: by_search });
    }

    /// A slice of the sweeps.
    fn prove(&mut self, best: &mut Solution, meter: &mut BudgetMeter) {
        let Some(mut attempt) = self.attempt.take() else { return };
        // Beyond the bound nothing is left to prove.
        let join_len = (attempt.work / JOIN_LEN_SHARE).clamp(JOIN_LEN_MIN, JOIN_LEN_MAX) as usize;
        let limits = self.limits(join_len, usize::from(best.bound) - 1);
        if !std::mem::replace(&mut attempt.has_begun, true) {
            // What the projections leave, without threats that join.
            attempt.sweep = Some(Sweep::new(&attempt.target, self.model.first_tick, 0, self.limits(0, 0)));
        }
        if attempt.sweep.is_none() {
            let tick = attempt.target.tick;
            let earlier = self.resting.iter().rfind(|other| other.target.tick < tick);
            let order = |tick| order(&self.orders, tick);
            if let Some(earlier) = earlier.filter(|other| order(other.target.tick) == order(tick))
                && attempt.target.adopt(&earlier.target)
            {
                attempt.is_exhausted = false;
            }
        }
        let tick = attempt.target.tick;
        let is_end = best.bound > LAST_TICK && usize::from(best.final_tick) > EARLY_TICK;
        let is_whole_due = if is_end {
            tick == usize::from(LAST_TICK) && attempt.work >= WHOLE_DELAY_END
        } else {
            attempt.work >= WHOLE_DELAY
        };
        if attempt.whole.is_none() && std::mem::take(&mut attempt.is_trial_due) {
            attempt.is_trial = true;
            attempt.whole = Some(attempt.target.exact_sweep(&self.model, limits));
        } else if attempt.whole.is_none() && is_whole_due {
            // What is found early in the game serves lines more than proofs.
            let is_early_due = tick == usize::from(best.final_tick);
            if !self.begin_whole(&mut attempt, limits, is_early_due, meter) {
                self.attempt = Some(attempt);
                return;
            }
        }
        attempt.slices += 1;
        // Another sweep starts over with what this one finds on its way back.
        let is_waiting = attempt.whole.as_ref().is_some_and(|whole| whole.tick() == tick && !whole.has_turned());
        if is_waiting && attempt.sweep.take_if(|sweep| !sweep.has_turned()).is_some() {
            attempt.tried.pop();
        }
        let is_due = !attempt.slices.is_multiple_of(if is_end { OTHERS_SHARE_END } else { OTHERS_SHARE });
        let is_whole = attempt.whole.as_ref().is_some_and(|whole| match &attempt.sweep {
            None => is_due || whole.has_turned() || attempt.is_exhausted,
            Some(_) => is_due && whole.tick() < tick,
        });
        if is_whole {
            self.sweep_whole(attempt, best, meter);
            return;
        }
        while attempt.sweep.is_none()
            && let Some(mask) = attempt.again.pop()
        {
            attempt.sweep = attempt.target.sweep_again(mask, limits);
        }
        if attempt.sweep.is_none() && !attempt.is_exhausted {
            let start = self.next_start(&mut attempt);
            attempt.is_exhausted = start.is_none();
            attempt.sweep = start.map(|(tick, known)| Sweep::new(&attempt.target, tick, known, limits));
        }
        let mut end = attempt
            .sweep
            .as_mut()
            .and_then(|sweep| sweep.advance(&self.model, &mut attempt.target, SLICE, true, meter));
        let work_max = attempt.sweep_work_max;
        if end.is_none() && attempt.sweep.as_ref().is_some_and(|sweep| sweep.work > work_max) {
            attempt.has_abandoned = true;
            end = Some(End::TooBig);
        }
        if end.is_some_and(End::is_over) {
            attempt.sweep = None;
        }
        self.conclude(attempt, end, best);
    }

    /// Begins the next deep sweep or sweep of the whole game, if any is left. Returns false if it has
    /// continued with what the game can reach, from which that one starts.
    fn begin_whole(
        &mut self,
        attempt: &mut Attempt<N>,
        limits: SweepLimits,
        is_early_due: bool,
        meter: &mut BudgetMeter,
    ) -> bool {
        (attempt.is_trial, attempt.is_deep) = (false, false);
        let is_late = is_late(&self.model, attempt.target.tick);
        loop {
            // Deep sweeps join what those against two threats, hawks left out, have found.
            let next = if is_late { attempt.lates.first() } else { attempt.wholes.first() };
            let is_pair_due = next.is_some_and(|&mask| attempt.target.is_pair_without_hawks(mask));
            if !is_pair_due && let Some(start) = self.deep_start(attempt, is_late) {
                attempt.is_deep = true;
                attempt.deeps.push((start.tick, start.wanted));
                attempt.whole = Some(attempt.target.deep_sweep(start, limits));
                return true;
            }
            if let Some(&mask) = attempt.lates.first() {
                let place = self.reaches.iter().position(|reach| reach.mask == mask).unwrap_or_else(|| {
                    let slots = attempt.target.slots_in(&self.model, mask);
                    self.reaches.push(Reach::new(&self.model, mask, slots));
                    self.reaches.len() - 1
                });
                let reach = &mut self.reaches[place];
                if !reach.advance(&self.model, limits.doubled().layer_len, SLICE, meter) {
                    return false;
                }
                attempt.lates.remove(0);
                let tick = REACH_TICKS[attempt.stage];
                if let Some(layer) = reach.layer_at(tick) {
                    attempt.whole = Some(attempt.target.late_sweep(&self.model, mask, tick, layer, limits));
                    return true;
                }
            } else if is_late && is_early_due && attempt.stage + 1 < REACH_TICKS.len() {
                attempt.stage += 1;
                attempt.lates = attempt.target.reaches();
                attempt.deepless_at = None;
            } else {
                if !attempt.wholes.is_empty() {
                    let mask = attempt.wholes.remove(0);
                    attempt.whole = Some(attempt.target.whole_sweep(&self.model, mask, limits));
                }
                return true;
            }
        }
    }

    /// Where the next deep sweep can start.
    fn deep_start(&self, attempt: &mut Attempt<N>, is_late: bool) -> Option<DeepStart> {
        let target = &attempt.target;
        // Hawks join once they are known.
        let hawks_join = attempt.lates.is_empty();
        let now = Some((target.changes, hawks_join));
        if target.tick <= INSANE_TICK || attempt.deepless_at == now {
            return None;
        }
        let floor = if is_late { REACH_TICKS[attempt.stage] } else { INSANE_TICK - DEEP_TICKS };
        let floor = floor.max(self.model.first_tick + 1);
        let start = target.deep_start(&self.model, floor, attempt.deep_len, &attempt.deeps, hawks_join);
        if start.is_none() {
            attempt.deepless_at = now;
        }
        start
    }

    /// A slice of a sweep of the whole game.
    fn sweep_whole(&mut self, mut attempt: Attempt<N>, best: &mut Solution, meter: &mut BudgetMeter) {
        let Some(whole) = &mut attempt.whole else { return };
        let can_turn = attempt.sweep.is_none();
        let end = whole.advance(&self.model, &mut attempt.target, SLICE, can_turn, meter);
        if end.is_none() && attempt.is_trial && whole.work > TRIAL_WORK_MAX {
            attempt.whole = None;
        }
        if end == Some(End::TooBig) && attempt.is_deep {
            // The next one starts where fewer combinations are left.
            attempt.deep_len /= 4;
            attempt.deepless_at = None;
            attempt.deeps.pop();
        }
        if end.is_some_and(End::is_over) {
            attempt.whole = None;
            // With what it has found, more may be possible now.
            attempt.is_exhausted = false;
        }
        self.conclude(attempt, end, best);
    }

    /// Uses the end of a sweep.
    fn conclude(&mut self, mut attempt: Attempt<N>, end: Option<End>, best: &mut Solution) {
        if end == Some(End::Recorded) && BEAM_SHARE * attempt.beam_work >= attempt.work {
            // The beam restarts: its states may be hopeless now.
            (attempt.beam, attempt.beam_work) = (self.new_beam(), 0);
        }
        let target_tick = attempt.target.tick as u16;
        self.attempt = Some(attempt);
        match end {
            Some(End::Empty(_)) => self.bound(best, target_tick, false),
            // The bound may have come down since the sweep began.
            Some(End::EmptyBeyond(tick)) if tick < usize::from(best.bound) => self.bound(best, tick as u16, false),
            _ => {}
        }
    }

    /// The start of the next sweep.
    fn next_start(&self, attempt: &mut Attempt<N>) -> Option<(usize, Combination)> {
        loop {
            // Knowledge about early ticks holds for everything that follows.
            let early = attempt.floor..attempt.floor + WINDOW_TICKS;
            let found = (attempt.tried.is_empty())
                .then(|| attempt.target.bottleneck(&self.model, early, &attempt.tried))
                .flatten()
                .or_else(|| attempt.target.bottleneck(&self.model, attempt.floor..usize::MAX, &attempt.tried));
            if let Some((tick, mask, _)) = found.filter(|&(.., states)| states < START_STATES_MAX) {
                attempt.tried.push((tick, mask));
                return Some((tick, mask));
            }
            if attempt.whole.is_some() && attempt.floor + OTHERS_TICKS < attempt.first_floor {
                return None;
            }
            if attempt.floor == self.model.first_tick {
                if !std::mem::take(&mut attempt.has_abandoned) {
                    return None;
                }
                attempt.sweep_work_max = attempt.sweep_work_max.saturating_mul(4);
                attempt.tried.clear();
                continue;
            }
            attempt.floor = attempt.floor.saturating_sub(FLOOR_STEP_TICKS).max(self.model.first_tick);
        }
    }

    /// Switches to a target without further checks, at the point where sweeps of the whole game are
    /// due.
    #[cfg(test)]
    pub fn begin(&mut self, target_tick: usize) {
        self.set_target(target_tick, &Solution::unknown(0));
        let attempt = self.attempt.as_mut().expect("just set");
        attempt.work = WHOLE_DELAY_END;
        assert!(attempt.target.project(&self.model, &mut BudgetMeter::new(Budget::UNLIMITED)));
    }

    /// Runs only a slice of the sweeps; returns the bound that it has proven.
    #[cfg(test)]
    pub fn prove_slice(&mut self, meter: &mut BudgetMeter) -> u16 {
        let attempt = self.attempt.as_ref().expect("a target is set");
        let tick = attempt.target.tick as u16;
        let mut best = Solution { final_tick: tick, bound: LAST_TICK.max(tick + 1), ..Solution::unknown(0) };
        self.prove(&mut best, meter);
        best.bound
    }

    /// Whether the knowledge about the target rules a state out.
    #[cfg(test)]
    pub fn is_hopeless(&self, world: &World, state: &State) -> bool {
        use crate::planner::survival::Prune;
        let attempt = self.attempt.as_ref().expect("a target is set");
        Pruner { model: &self.model, target: &attempt.target }.is_hopeless(world, state)
    }

    /// The proof of the bound, if the engine has found one.
    pub fn proof(&self) -> Option<&Proof> {
        self.proof.as_ref()
    }
}

/// Whether sweeps for a target start from what the game can reach.
fn is_late<const N: usize>(model: &Model<N>, tick: usize) -> bool {
    tick >= REACH_TICKS[0] + LATE_TICKS && model.first_tick + LATE_TICKS < REACH_TICKS[0]
}

/// The automata in the order in which they join for a target.
fn order(orders: &[Vec<usize>; 2], tick: usize) -> &[usize] {
    &orders[usize::from(tick > EARLY_TICK)]
}

/// Replaces the best line by a longer one.
fn adopt(best: &mut Solution, moves: Vec<Move>, final_tick: u16) {
    if final_tick <= best.final_tick {
        return;
    }
    (best.moves, best.final_tick) = (moves, final_tick);
    if final_tick > LAST_TICK {
        (best.outcome, best.bound) = (Outcome::Survives, LAST_TICK + 1);
    }
}

/// All sharks come first, because they follow the player most closely and soon one another; then
/// one threat of each other style, then the others, those with few keys first. If not all of them
/// fit into a combination, those that start next to the player come first for early targets.
fn orders<const N: usize>(model: &Model<N>) -> [Vec<usize>; 2] {
    let rank = |automaton: &Automaton<N>| match automaton {
        Automaton::Chaser { style: Style::Deer, .. } => 2,
        Automaton::Chaser { .. } => 0,
        Automaton::Owl { .. } => 1,
        Automaton::Hawk { .. } => 3,
    };
    let nth = |index: usize| {
        let own = rank(&model.automata[index]);
        model.automata[..index].iter().filter(|other| rank(other) == own).count()
    };
    let mut late: Vec<usize> = (0..model.automata.len()).collect();
    late.sort_by_key(|&index| {
        let rank = rank(&model.automata[index]);
        if rank == 0 { (0, rank) } else { (nth(index), rank) }
    });
    let mut early = late.clone();
    if slots_of(model, &late).len() < late.len() {
        let distances = model.distances(model.player);
        early.sort_by_key(|&index| distances[usize::from(model.place(&model.automata[index], model.start[index]))]);
    }
    [early, late]
}
