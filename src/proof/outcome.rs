use serde::{Deserialize, Serialize};

use crate::game::Move;

/// A sweep of a proof, described by the parameters that are needed to repeat it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// The target tick. It cannot be reached from the states that the sweep drops.
    pub target_tick: u16,
    /// The first tick of the sweep.
    pub from_tick: u16,
    /// The tick at which the sweep turned back or ran out of states.
    pub until_tick: u16,
    /// True if the sweep counts how often each hawk that joins at the prover's first tick has drawn
    /// a post, so that the hawk draws the same posts as in the game. If false, such a hawk may draw
    /// any post.
    pub counts_draws: bool,
    /// For each threat that joins the sweep, the tick and the threat's index in the map. At the
    /// prover's first tick, the threat joins with its state in the game; later, with its known
    /// states of this tick if it has any, otherwise with all possible states.
    pub joins: Vec<(u16, u16)>,
}

/// The proof of a bound.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Proof {
    /// The player cannot be alive at the start of this tick.
    pub bound_tick: u16,
    /// The sweeps, in order. Each sweep may use the results of earlier sweeps.
    pub steps: Vec<Step>,
    /// True if an exhaustive search of the states that the sweeps left completes the proof.
    pub ends_with_search: bool,
}

/// The longest known line, and an upper bound on the final tick of all lines.
#[derive(Clone, Debug)]
pub(crate) struct Bracket {
    pub moves: Vec<Move>,
    /// The tick in which the line ends; 2001 if the player survives the game.
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
