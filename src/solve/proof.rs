use serde::{Deserialize, Serialize};

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
    /// The ticks of the layers that become known sets, in ascending order. The sweep goes back to the
    /// first of them.
    #[serde(with = "ranges")]
    pub known: Vec<u16>,
}

/// Writes ascending ticks as ranges `[first, last, interval]`.
mod ranges {
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    pub fn serialize<S: Serializer>(ticks: &[u16], serializer: S) -> Result<S::Ok, S::Error> {
        let mut ranges: Vec<[u16; 3]> = Vec::new();
        for &tick in ticks {
            match ranges.last_mut() {
                Some([first, last, interval]) if first == last || tick - *last == *interval => {
                    (*last, *interval) = (tick, tick - *last);
                }
                _ => ranges.push([tick, tick, 1]),
            }
        }
        serializer.collect_seq(ranges)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u16>, D::Error> {
        let mut ticks: Vec<u16> = Vec::new();
        for [first, last, step] in Vec::<[u16; 3]>::deserialize(deserializer)? {
            let lasts = first..=crate::game::LAST_TICK + 1;
            if ticks.last() >= Some(&first) || !lasts.contains(&last) || (last - first).checked_rem(step) != Some(0) {
                let expected = "known: expected ascending ranges of a first tick, a last tick and an interval";
                return Err(D::Error::custom(format!("{expected}, found [{first}, {last}, {step}]")));
            }
            ticks.extend((first..=last).step_by(step.into()));
        }
        Ok(ticks)
    }
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
