//! The answer of a solver. In JSON, a solution has the fields of [`Solution`], and its moves are
//! letters: `"LL.RU"`.

use serde::{Deserialize, Serialize};

use super::proof::Proof;
use crate::game::{LAST_TICK, Move, Plan, named};

named! {
    /// How a search ended.
    pub enum Outcome, "outcome" {
        /// The line survives to the end of the game.
        Survives = "survives",
        /// No line survives to the end of the game.
        Doomed = "doomed",
        /// The search stopped before the answer was known. The line is the longest found so far.
        Undecided = "undecided",
    }
}

/// The answer of a solver.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Solution {
    /// The outcome.
    pub outcome: Outcome,
    /// The moves of the longest line found.
    #[serde(with = "letters")]
    pub moves: Vec<Move>,
    /// The tick that the line reaches; 2001 if the player survives.
    pub final_tick: u16,
    /// A proven upper bound on the final tick of all lines; 2001 if nothing is proven.
    pub bound_tick: u16,
    /// The part of the budget that this call used, in simulated ticks.
    pub simulated_ticks: u64,
    /// The proof of the bound. `None` if the bound is 2001, or if a search that skips no states has
    /// proven it.
    pub proof: Option<Proof>,
}

mod letters {
    use super::{Deserialize, Move, Plan, Serialize};
    use serde::{Deserializer, Serializer};

    pub fn serialize<S: Serializer>(moves: &[Move], serializer: S) -> Result<S::Ok, S::Error> {
        Plan::from(moves).serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Move>, D::Error> {
        Plan::deserialize(deserializer).map(|plan| plan.0)
    }
}

impl Solution {
    pub(super) fn unknown(tick: u16) -> Self {
        Self {
            outcome: Outcome::Undecided,
            moves: Vec::new(),
            final_tick: tick,
            bound_tick: LAST_TICK + 1,
            simulated_ticks: 0,
            proof: None,
        }
    }

    /// Replaces the line if the new one is longer.
    pub(super) fn improve(&mut self, moves: Vec<Move>, final_tick: u16) {
        if final_tick > self.final_tick {
            (self.moves, self.final_tick) = (moves, final_tick);
        }
        if final_tick > LAST_TICK {
            self.bound_tick = final_tick;
        }
    }

    /// Replaces the bound and its proof if the new bound is lower.
    pub(super) fn lower_bound(&mut self, bound_tick: u16, proof: Option<Proof>) {
        if bound_tick < self.bound_tick {
            (self.bound_tick, self.proof) = (bound_tick, proof);
        }
    }

    /// Returns true if the line is proven to be the longest.
    pub fn is_optimal(&self) -> bool {
        self.final_tick == self.bound_tick
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn solutions_round_trip_as_json() {
        for (moves, letters) in [(&[][..], ""), (&Move::ALL, "LRUD.")] {
            let solution = Solution {
                outcome: Outcome::Doomed,
                moves: moves.to_vec(),
                final_tick: 12,
                bound_tick: 14,
                simulated_ticks: 345,
                proof: Some(Proof { bound_tick: 14, steps: Vec::new(), ends_with_search: true }),
            };
            let json = serde_json::to_string(&solution).expect("JSON");
            assert_eq!(serde_json::from_str::<Solution>(&json).expect("a solution"), solution);
            assert!(
                json.starts_with(&format!(r#"{{"outcome":"doomed","moves":"{letters}","final_tick":12,"#)),
                "{json}"
            );
        }
    }
}
