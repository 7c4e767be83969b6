use serde::{Deserialize, Serialize};

use crate::game::Move;

/// The parameters of a sweep, from which it can be repeated.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// The target: it cannot be reached from the states that the sweep drops.
    pub target_tick: u16,
    /// The first tick of the sweep.
    pub from_tick: u16,
    /// The tick at which the sweep turned back or ran out of states.
    pub until_tick: u16,
    /// True if the sweep counts the random draws of hawks: a hawk then draws the same posts as in
    /// the game. Otherwise, it may draw any post.
    pub counts_draws: bool,
    /// The tick of each join, and the threat's index in the map. A threat joins in its known states
    /// of that tick if it has any, otherwise in all its possible states.
    pub joins: Vec<(u16, u16)>,
}

/// The proof of a bound.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proof {
    /// No line is alive at the start of this tick.
    pub bound_tick: u16,
    /// The sweeps in order. Each sweep may use the results of earlier sweeps.
    pub steps: Vec<Step>,
    /// True if an exhaustive search of the remaining states completes the proof.
    pub ends_with_search: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct Bracket {
    pub moves: Vec<Move>,
    /// The last tick of the line; 2001 if the player survives.
    pub final_tick: u16,
    /// No line ends after this tick; 2001 if nothing is proven.
    pub bound: u16,
}

impl Bracket {
    pub fn adopt(&mut self, moves: Vec<Move>, final_tick: u16) {
        if final_tick > self.final_tick {
            (self.moves, self.final_tick) = (moves, final_tick);
        }
    }
}
