//! Tries to decide a state: to find a line to the end of the game, or to prove that none exists and
//! find the longest line. Starts with the survival search, which is fastest on easy maps, and
//! continues with the prover in [`proof`](crate::proof). If the prover cannot combine all threats,
//! it takes turns with an exhaustive search and a large neighbourhood search. If it does not
//! support the map or the rules, the survival search takes its turns. If the budgets limit only
//! simulated ticks, the same sequence of calls always gives the same answers.

use std::io::{self, BufRead, Write};

use serde::{Deserialize, Serialize};

use super::exhaustive::ExhaustiveSearch;
use super::neighbourhood::NeighbourhoodSearch;
use super::root::{Progress, Root};
use super::{Budget, Outcome, Solution, SurvivalOptions, SurvivalSearch};
use crate::game::{FIRST_TICK, LAST_TICK, Move, Plan, State, World};
use crate::proof::{self, Bracket, Found, Hopeless, LineSearch, Proof, Prover, Resources, invalid, prover, read_line};
use crate::search::BudgetMeter;

/// Simulated ticks of the survival search before the prover starts: about ten milliseconds.
const SEARCH_TICKS: u64 = 100_000;

const PLAY_PROOF_MEMORY_MAX_BYTES: usize = 32 << 20;

/// Simulated ticks of each turn if there is no prover, or if it cannot combine all threats.
const TURN_TICKS: u64 = 1_000_000;
/// The exhaustive search has this many times the memory of the prover.
const EXHAUSTIVE_MEMORY_FACTOR: usize = 4;

/// A solver that can be interrupted and continued.
#[derive(Debug)]
pub struct Decider {
    options: SurvivalOptions,
    is_for_play: bool,
    root: Option<Root>,
    search: SurvivalSearch,
    search_ticks: u64,
    prover: Option<Box<dyn Prover>>,
    /// Used only if there is no prover, or if it cannot combine all threats.
    exhaustive: Option<ExhaustiveSearch>,
    /// Used only together with `exhaustive`.
    neighbourhood: NeighbourhoodSearch,
    turns: u64,
    is_unprovable: bool,
    best: Solution,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SavedLine {
    actions: Plan,
    final_tick: u16,
    bound_tick: u16,
}

impl Decider {
    /// Creates a decider.
    pub fn new(options: SurvivalOptions) -> Self {
        Self {
            options,
            is_for_play: false,
            root: None,
            search: SurvivalSearch::new(options),
            search_ticks: 0,
            prover: None,
            exhaustive: None,
            neighbourhood: NeighbourhoodSearch::new(options),
            turns: 0,
            is_unprovable: false,
            best: Solution::unknown(0),
        }
    }

    /// Creates a decider for budgets of a few milliseconds. It keeps the layers small, because some
    /// of the work on a layer cannot be interrupted.
    pub fn for_play(options: SurvivalOptions) -> Self {
        Self { is_for_play: true, ..Self::new(options.for_play()) }
    }

    /// Skips the survival search, so that tests can check proofs on maps that the search decides.
    #[doc(hidden)]
    #[must_use]
    pub fn without_search(self) -> Self {
        Self { search_ticks: SEARCH_TICKS, ..self }
    }

    /// Improves the line and the bound for `state` until they meet or the budget is used up. The
    /// next call continues this work if its world is the same and its state is the same or a direct
    /// successor, and otherwise starts afresh.
    pub fn solve(&mut self, world: &World, state: &State, budget: Budget) -> Solution {
        if state.is_over() {
            return self.search.solve(world, state, budget);
        }
        self.set_root(world, state);
        let mut meter = BudgetMeter::new(budget);
        if !self.best.is_optimal() && self.search_ticks < SEARCH_TICKS {
            self.search(world, state, Budget::ticks(SEARCH_TICKS - self.search_ticks), &mut meter);
        }
        if !self.best.is_optimal() && self.search_ticks >= SEARCH_TICKS && meter.check().is_ok() {
            self.prove(world, state, &mut meter);
        }
        self.best.outcome = match self.best.bound {
            _ if self.best.final_tick > LAST_TICK => Outcome::Survives,
            bound if bound <= LAST_TICK => Outcome::Doomed,
            _ => Outcome::Undecided,
        };
        Solution { simulated_ticks: meter.ticks(), ..self.best.clone() }
    }

    /// Returns the latest proof of a bound by the prover; `None` if the prover has proven no bound.
    pub fn proof(&self) -> Option<&Proof> {
        self.prover.as_ref()?.proof()
    }

    /// Saves the line, the bound, and the prover's sets, sweeps and schedule, but not the searches
    /// for lines: after [`Decider::restore`], they begin again.
    ///
    /// # Errors
    /// If writing fails.
    pub fn save(&self, out: &mut dyn Write) -> io::Result<()> {
        let Solution { moves, final_tick, bound, .. } = &self.best;
        // Before the first call of `solve`, `final_tick` is 0.
        let final_tick = *final_tick.max(&FIRST_TICK);
        let line = SavedLine { actions: moves.clone().into(), final_tick, bound_tick: *bound };
        serde_json::to_writer(&mut *out, &line)?;
        out.write_all(b"\n")?;
        self.prover.as_ref().map_or(Ok(()), |prover| proof::save(&**prover, out))
    }

    /// Restores a decider that was saved while it solved the start of the game. Pass a different
    /// seed, or the searches for lines repeat their earlier random choices. The bound and later
    /// proofs are only as sound as the saved data: verify their certificates.
    ///
    /// # Errors
    /// If reading fails, or the data is not that of a decider for this world.
    pub fn restore(options: SurvivalOptions, world: &World, input: &mut dyn BufRead) -> io::Result<Self> {
        let SavedLine { actions, final_tick, bound_tick: bound } = serde_json::from_slice(&read_line(input)?)?;
        let root = world.start();
        let mut end = root.clone();
        let played = world.play_moves(&mut end, &actions);
        if (played, end.tick()) != (actions.len(), final_tick) || !(final_tick..=LAST_TICK + 1).contains(&bound) {
            return Err(invalid("a line or a bound of another game"));
        }
        let mut decider = Self::new(options);
        decider.best = Solution { moves: actions.0, final_tick, bound, ..Solution::unknown(0) };
        if !input.fill_buf()?.is_empty() {
            decider.begin_proof(world, &root);
            let prover = decider.prover.as_mut().ok_or_else(|| invalid("a proof about another map"))?;
            proof::restore(&mut **prover, world, input)?;
            decider.search_ticks = SEARCH_TICKS;
        }
        if !input.fill_buf()?.is_empty() {
            return Err(invalid("more data than expected"));
        }
        decider.root = Some(Root::new(world, &root));
        Ok(decider)
    }

    fn set_root(&mut self, world: &World, state: &State) {
        let Some(root) = &mut self.root else {
            self.root = Some(Root::new(world, state));
            self.best = Solution::unknown(state.tick());
            return;
        };
        let progress = root.advance(world, state);
        if !matches!(progress, Progress::Same) {
            self.exhaustive = None;
        }
        match progress {
            Progress::Same => {}
            Progress::Played(player_move) if self.best.moves.first() == Some(&player_move) => {
                self.best.moves.remove(0);
            }
            // The bound of the old root also holds for its successors.
            Progress::Played(_) => {
                self.best = Solution { bound: self.best.bound, ..Solution::unknown(state.tick()) };
            }
            Progress::Unrelated => {
                *self = Self {
                    is_for_play: self.is_for_play,
                    root: self.root.take(),
                    best: Solution::unknown(state.tick()),
                    ..Self::new(self.options)
                };
            }
        }
    }

    fn search(&mut self, world: &World, state: &State, budget: Budget, meter: &mut BudgetMeter) {
        let found = self.search.solve(world, state, meter.remaining().and(budget));
        meter.add_search(found.simulated_ticks);
        self.search_ticks += found.simulated_ticks;
        let bound = found.bound.min(self.best.bound);
        if found.final_tick > self.best.final_tick || found.outcome != Outcome::Undecided {
            self.best = found;
        }
        self.best.bound = if self.best.final_tick > LAST_TICK { self.best.final_tick } else { bound };
    }

    fn begin_proof(&mut self, world: &World, state: &State) {
        let play_max_bytes = if self.is_for_play { PLAY_PROOF_MEMORY_MAX_BYTES } else { usize::MAX };
        let memory_max_bytes = self.options.memory_max_bytes.min(play_max_bytes);
        let lines = Lines::new(SurvivalOptions { memory_max_bytes: memory_max_bytes / 8, ..self.options });
        let resources = Resources { seed: self.options.seed, memory_max_bytes, lines: Box::new(lines) };
        self.prover = prover(world, state, resources);
        self.is_unprovable = self.prover.is_none();
    }

    fn prove(&mut self, world: &World, state: &State, meter: &mut BudgetMeter) {
        if self.prover.is_none() && !self.is_unprovable {
            self.begin_proof(world, state);
        }
        if let Some(prover) = &mut self.prover {
            self.search = SurvivalSearch::new(self.options);
            if !prover.has_excess_threats(world, meter) {
                self.run_prover(world, state, meter);
                return;
            }
        }
        // In play, each turn takes a whole decision. The survival search would start afresh after a
        // decision without it.
        if self.is_unprovable && self.is_for_play {
            return self.search(world, state, Budget::UNLIMITED, meter);
        }
        let mut idle_turns = 0;
        while !self.best.is_optimal() && idle_turns < 3 && meter.check().is_ok() {
            let mut own = BudgetMeter::new(meter.remaining().and(Budget::ticks(TURN_TICKS)));
            match self.turns % 3 {
                0 => self.neighbourhood.advance(world, state, &mut self.best, &mut own),
                1 if self.is_unprovable => self.search(world, state, Budget::UNLIMITED, &mut own),
                1 => self.run_prover(world, state, &mut own),
                _ => {
                    let factor = if self.is_for_play { 0 } else { EXHAUSTIVE_MEMORY_FACTOR };
                    let memory_max_bytes = factor * self.options.memory_max_bytes;
                    let search = self.exhaustive.get_or_insert_with(|| ExhaustiveSearch::new(state, memory_max_bytes));
                    if let Some(solution) = search.advance(world, &mut own) {
                        self.best = solution;
                    }
                }
            }
            meter.add_search(own.ticks());
            self.turns += 1;
            idle_turns = if own.ticks() > 0 { 0 } else { idle_turns + 1 };
        }
    }

    fn run_prover(&mut self, world: &World, state: &State, meter: &mut BudgetMeter) {
        let Some(prover) = &mut self.prover else { return };
        let Solution { moves, final_tick, bound, .. } = &mut self.best;
        let mut bracket = Bracket { moves: std::mem::take(moves), final_tick: *final_tick, bound: *bound };
        prover.run(world, state, &mut bracket, meter);
        (*moves, *final_tick, *bound) = (bracket.moves, bracket.final_tick, bracket.bound);
    }
}

#[derive(Debug)]
struct Lines {
    options: SurvivalOptions,
    search: SurvivalSearch,
}

impl Lines {
    fn new(options: SurvivalOptions) -> Self {
        Self { options, search: SurvivalSearch::new(options) }
    }
}

impl LineSearch for Lines {
    fn restart(&mut self) {
        *self = Self::new(SurvivalOptions { seed: self.options.seed.wrapping_add(1), ..self.options });
    }

    fn search(&mut self, world: &World, root: &State, is_hopeless: Hopeless<'_>, budget: Budget) -> Found {
        let is_open = |world: &World, _: &State, _: Move, after: &State| !is_hopeless(world, after);
        let found = self.search.solve_filtered(world, root, LAST_TICK + 1, budget, &[&is_open]);
        let Solution { outcome, moves, final_tick, simulated_ticks, .. } = found;
        Found { moves, final_tick, is_exhausted: outcome == Outcome::Doomed, simulated_ticks }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::game::{Layout, Rules};

    fn world(drawing: &str) -> World {
        World::new(&Layout::parse(drawing).expect("a drawing"), &Rules::NO_JUMP).expect("a map")
    }

    /// A map on which no line survives. The survival search alone cannot prove this.
    const DOOMED: &str = "
        #############
        #P..#.......#
        ###.#.#####.#
        #...#.....#.#
        #.#######.#.#
        #.......#.#.#
        #######.#.#.#
        #.......#..S#
        #.#######.#.#
        #....D..O.H.#
        #############";

    #[test]
    fn bounds_only_come_down_and_lines_only_grow() {
        let world = world(DOOMED);
        let root = world.start();
        let mut decider = Decider::new(SurvivalOptions::default());
        let mut last = Solution::unknown(1);
        for _ in 0..40 {
            let solution = decider.solve(&world, &root, Budget::ticks(50_000));
            assert!(solution.final_tick >= last.final_tick && solution.bound <= last.bound);
            assert!(solution.final_tick <= solution.bound);
            let mut state = root.clone();
            assert_eq!(world.play_moves(&mut state, &solution.moves), solution.moves.len());
            assert_eq!(state.tick(), solution.final_tick);
            last = solution;
        }
        assert_eq!(last.outcome, Outcome::Doomed);
    }

    #[test]
    fn another_world_starts_afresh() {
        let layout = Layout::parse("P....S").expect("a drawing");
        let [with_jumps, without] =
            [Rules::BLITZ_2025, Rules::NO_JUMP].map(|rules| World::new(&layout, &rules).expect("a map"));
        assert_eq!(with_jumps.start(), without.start());
        let solve = |decider: &mut Decider, world: &World| decider.solve(world, &world.start(), Budget::ticks(200_000));
        let mut decider = Decider::new(SurvivalOptions::default());
        let first = solve(&mut decider, &with_jumps);
        let second = solve(&mut decider, &without);
        assert_ne!(first, second);
        assert_eq!(second, solve(&mut Decider::new(SurvivalOptions::default()), &without));
    }

    #[test]
    fn exhaustive_search_decides_maps_with_excess_threats() {
        let world = world("P.....HHHHHS");
        let root = world.start();
        let solve = |memory_max_bytes| {
            let options = SurvivalOptions { memory_max_bytes, ..SurvivalOptions::default() };
            Decider::new(options).without_search().solve(&world, &root, Budget::ticks(3_000_000))
        };
        let judge = SurvivalSearch::new(SurvivalOptions::default()).solve(&world, &root, Budget::UNLIMITED);
        for solution in [solve(256 << 20), solve(64 << 10)] {
            assert_eq!((solution.outcome, solution.final_tick), (Outcome::Doomed, judge.final_tick));
            assert!(solution.is_optimal());
        }
    }

    #[test]
    fn same_slices_and_seed_give_the_same_answer() {
        let world = world(DOOMED);
        let solve = |seed, slices: u64| {
            let mut decider = Decider::new(SurvivalOptions { seed, ..SurvivalOptions::default() });
            let solutions: Vec<Solution> =
                (0..slices).map(|_| decider.solve(&world, &world.start(), Budget::ticks(600_000 / slices))).collect();
            solutions
        };
        assert_eq!(solve(1, 1), solve(1, 1));
        assert_eq!(solve(2, 6), solve(2, 6));
    }

    #[test]
    fn bound_still_holds_after_moves_are_played() {
        let world = world(DOOMED);
        let mut state = world.start();
        let mut decider = Decider::new(SurvivalOptions::default());
        let first = decider.solve(&world, &state, Budget::ticks(2_000_000));
        assert_eq!(first.outcome, Outcome::Doomed);
        for &player_move in first.moves.iter().take(5) {
            world.step(&mut state, player_move);
            let next = decider.solve(&world, &state, Budget::ticks(1_000));
            assert_eq!((next.outcome, next.final_tick), (Outcome::Doomed, next.final_tick.max(first.final_tick)));
            assert!(next.bound <= first.bound);
        }
    }
}
