//! Finds the last state of a game from which a surviving line is found.
//!
//! In a game that follows the rules, if no line survives from a state, none survives from any later
//! state. The search therefore solves single states (*probes*): first backwards from the end in
//! growing strides, then by bisection.

use std::collections::BTreeMap;
use std::ops::Range;

use super::options::SolverOptions;
use super::solution::Outcome;
use super::solver::Solver;
use crate::game::{Move, Position, State, World};
use crate::search::{Budget, BudgetMeter};

/// Maximum simulated ticks per probe in the first round. Each further round quadruples the limit.
const PROBE_TICKS: u64 = 250_000;
const PROBE_MEMORY_MAX_BYTES: usize = 128 << 20;

/// The boundary between the states of a game from which a line survives and those from which none
/// does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Savable {
    /// The index of the last state from which a surviving line was found, and this line.
    pub last: Option<(usize, Vec<Move>)>,
    /// The index of the first state from which it is proven that no line survives.
    pub doomed: Option<usize>,
    /// The final tick of the longest line found from the first state, if this state was probed.
    pub longest_tick: Option<u16>,
    /// The work done, in simulated ticks.
    pub simulated_ticks: u64,
}

impl Savable {
    /// How far [`room`](Self::room) looks ahead.
    pub const ROOM_TICKS: u16 = 16;

    /// Searches consecutive states of a lost game. Calls `go_on` with the work so far, and ends early
    /// if it returns false.
    pub fn find(world: &World, states: &[State], budget: Budget, go_on: &mut dyn FnMut(u64) -> bool) -> Self {
        let doomed = states.iter().position(State::is_caught);
        let found = Self { doomed, ..Self::default() };
        let mut search = SavableSearch { world, states, meter: BudgetMeter::new(budget), go_on, found };
        let mut probe_ticks = PROBE_TICKS;
        for seed in 0.. {
            let before = search.meter.ticks();
            let (mut undecided, mut stride) = (Vec::new(), 1_usize);
            while let Some(index) = search.next(&undecided, stride).filter(|_| search.goes_on()) {
                if !search.probe(index, probe_ticks, seed) {
                    undecided.push(index);
                }
                stride = stride.saturating_mul(2);
            }
            if search.meter.ticks() == before {
                break;
            }
            probe_ticks = probe_ticks.saturating_mul(4);
        }
        Self { simulated_ticks: search.meter.ticks(), ..search.found }
    }

    /// For each state, the *room left*: the number of tiles on which the player can be alive
    /// [`ROOM_TICKS`](Self::ROOM_TICKS) ticks later, or at the end of the game if that is earlier.
    /// The search for these tiles keeps one state per tile and tick, so it can miss some. If the
    /// player is alive at that time in the game, its tile is always counted. Otherwise, its tile on
    /// the surviving line is counted, unless the line begins before the state.
    pub fn room(&self, world: &World, states: &[State]) -> Vec<u16> {
        let ahead = usize::from(Self::ROOM_TICKS);
        // Only the first moves of the line matter.
        let (from, surviving) = self.last.as_ref().map_or((0, Vec::new()), |(index, line)| {
            (*index, world.states_along(&states[*index], &line[..line.len().min(ahead)]))
        });
        let alive = |index: usize| {
            let played = states.get(index + ahead).filter(|state| !state.is_caught());
            let on_line = || surviving.get((index + ahead).checked_sub(from)?).filter(|_| index <= from);
            played.or_else(on_line).map(|state| world.player(state))
        };
        (0..states.len()).map(|index| room(world, &states[index], alive(index))).collect()
    }
}

fn room(world: &World, state: &State, alive: Option<Position>) -> u16 {
    if state.is_caught() {
        return 0;
    }
    let mut layer = BTreeMap::from([(world.player(state), state.clone())]);
    for _ in 0..Savable::ROOM_TICKS {
        let mut next = BTreeMap::new();
        for (tile, state) in layer {
            for (_, successor) in world.successors(&state).filter(|(_, successor)| !successor.is_caught()) {
                next.entry(world.player(&successor)).or_insert(successor);
            }
            if state.is_over() {
                next.insert(tile, state);
            }
        }
        layer = next;
    }
    let is_missed = alive.is_some_and(|alive| !layer.contains_key(&alive));
    layer.len() as u16 + u16::from(is_missed)
}

struct SavableSearch<'a> {
    world: &'a World,
    states: &'a [State],
    meter: BudgetMeter,
    go_on: &'a mut dyn FnMut(u64) -> bool,
    found: Savable,
}

impl SavableSearch<'_> {
    /// The states that may be the first doomed one, and may be probed.
    fn open(&self) -> Range<usize> {
        let start = self.found.last.as_ref().map_or(0, |&(index, _)| index + 1);
        start..self.found.doomed.unwrap_or(self.states.len())
    }

    fn goes_on(&mut self) -> bool {
        self.meter.check().is_ok() && (self.go_on)(self.meter.ticks())
    }

    /// Returns the next state to probe: `stride` before the end or the lowest undecided state, until
    /// a surviving line is found or the first state has been probed. After that, the middle of the
    /// range below the lowest undecided state or, if it is empty, above the highest.
    fn next(&self, undecided: &[usize], stride: usize) -> Option<usize> {
        let Range { start, end } = self.open();
        let inside = undecided.iter().copied().filter(|index| (start..end).contains(index));
        let (lowest, highest) = (inside.clone().min().unwrap_or(end), inside.max());
        if self.found.last.is_none() && lowest > 0 {
            return Some(lowest.saturating_sub(stride));
        }
        let above = highest.map_or(start, |highest| highest + 1);
        let range = if start < lowest { start..lowest } else { above..end };
        (!range.is_empty()).then(|| range.start.midpoint(range.end))
    }

    /// Solves a state within `ticks`. Returns false if it remains undecided.
    fn probe(&mut self, index: usize, ticks: u64, seed: u64) -> bool {
        let mut solver = Solver::new(SolverOptions { seed, memory_max_bytes: PROBE_MEMORY_MAX_BYTES });
        let mut spent = 0;
        while spent < ticks && self.goes_on() {
            let left = self.meter.remaining().and(Budget::ticks(ticks - spent));
            let solution = solver.advance(self.world, &self.states[index], left);
            self.meter.add_search(solution.simulated_ticks);
            // A job counts as at least one tick, so that the loop ends even without simulation.
            spent += solution.simulated_ticks.max(1);
            let found = &mut self.found;
            if index == 0 {
                found.longest_tick = found.longest_tick.max(Some(solution.final_tick));
            }
            match solution.outcome {
                Outcome::Survives => {
                    let last = self.last_shared(index, &solution.moves);
                    if last.0 >= self.open().start {
                        self.found.last = Some(last);
                    }
                    return true;
                }
                Outcome::Doomed => {
                    found.doomed = Some(found.doomed.map_or(index, |before| before.min(index)));
                    return true;
                }
                Outcome::Undecided => {}
            }
        }
        false
    }

    /// The last state that the line shares with the game, and the rest of the line.
    fn last_shared(&self, index: usize, line: &[Move]) -> (usize, Vec<Move>) {
        let along = self.world.states_along(&self.states[index], line);
        let played = along.iter().zip(&self.states[index..]).skip(1);
        let shared = played.take_while(|(state, played)| state == played && !state.is_over()).count();
        (index + shared, line[shared..].to_vec())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::game::{Layout, Rules};

    #[test]
    fn search_ends_when_it_may_not_go_on() {
        let layout = Layout::parse("#######\n#P....#\n#.###.#\n#....S#\n#######").expect("a drawing");
        let world = World::new(&layout, &Rules::NO_JUMP).expect("a map");
        let states = world.states_along(&world.start(), &[Move::Stay; 2000]);
        let found =
            |go_on: &mut dyn FnMut(u64) -> bool| Savable::find(&world, &states, Budget::ticks(1_000_000), go_on);
        let whole = found(&mut |_| true);
        assert!(whole.last.is_some() && whole.doomed.is_some(), "{whole:?}");
        let stopped = found(&mut |_| false);
        assert_eq!((stopped.last, stopped.simulated_ticks), (None, 0));
        assert_eq!(whole.room(&world, &states).len(), states.len());
    }
}
