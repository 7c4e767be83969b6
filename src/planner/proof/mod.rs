//! Proofs that a tick cannot be reached, found side by side with lines that reach it.
//!
//! Threats do not see one another, and bulls and goldfish do not see the player: the game is a
//! product of small automata that share the player, among moving obstacles whose paths are known.
//! Leaving a threat out makes the game easier, so a tick that cannot be reached against some of the
//! threats cannot be reached at all.
//!
//! For a *target* tick the [`target`] module keeps, for each tick before it, sets of states, each
//! over some of the threats, that hold every state from which the target can be reached. *Sweeps*
//! make these sets smaller: forwards from a tick where few states are left, with one more threat in
//! any state in which it is known, and back again. The *bottlenecks* of one sweep are where the next
//! one starts. Others cover the whole game against two or three threats, which has few states; what
//! the game can [`reach`] until a target begins to matter is made once for all of them. A sweep that
//! runs out of states is the proof. The [`engine`] shares the time between sweeps, the
//! survival search and the [`beam`], which skip the states that the sets exclude, and picks the
//! targets.
//!
//! The approach is that of merge-and-shrink heuristics for unsolvability (Hoffmann, Kissmann,
//! Torralba: "Distance"? Who Cares? Tailoring Merge-and-Shrink Heuristics to Detect Unsolvability,
//! ECAI 2014), with time as an axis of its own.

mod beam;
mod builder;
mod combination;
mod engine;
mod join;
mod layer;
mod model;
mod moves;
mod projection;
mod reach;
mod sweep;
mod target;
#[cfg(test)]
mod tests;
mod tile_set;

use std::fmt::Debug;

use serde::{Deserialize, Serialize};

use super::{Solution, SurvivalOptions};
use crate::game::{State, World};
use crate::search::BudgetMeter;
use engine::Engine;
use model::ModelBuilder;

/// A sweep of a proof: the parameters that its result depends on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// The tick that cannot be reached from the states that the sweep leaves out.
    pub target_tick: u16,
    /// The first tick of the sweep.
    pub from_tick: u16,
    /// The tick at which it turned back or ran out of states.
    pub until_tick: u16,
    /// Whether it counts the random draws of hawks, which it can from the first tick on: a hawk's
    /// pick is then the one that it makes, and not any.
    pub counts_draws: bool,
    /// The threats that joined: the tick, and the place in the map. A threat joins in the states in
    /// which it is known then, or else in all that it can have.
    pub joins: Vec<(u16, u16)>,
}

/// How a bound was proven.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proof {
    /// No line is alive at the start of this tick.
    pub bound_tick: u16,
    /// The sweeps, in the order in which they build on one another.
    pub steps: Vec<Step>,
    /// Whether an exhaustive search came last, which skipped the states that the sweeps had
    /// excluded.
    pub ends_with_search: bool,
}

/// Searches and proves.
pub(super) trait Prover: Debug + Send {
    /// Improves the line and the bound until they meet or the budget is used up. `root` is the
    /// state for which the prover was made, or a state reached by a game from there; the bound then
    /// holds for both.
    fn run(&mut self, world: &World, root: &State, best: &mut Solution, meter: &mut BudgetMeter);

    /// How the bound was proven.
    fn proof(&self) -> Option<&Proof>;
}

/// A prover whose model may still be incomplete.
#[derive(Debug)]
enum Stage<const N: usize> {
    Building(Option<Box<ModelBuilder<N>>>, SurvivalOptions),
    Running(Box<Engine<N>>),
}

impl<const N: usize> Prover for Stage<N> {
    fn run(&mut self, world: &World, root: &State, best: &mut Solution, meter: &mut BudgetMeter) {
        if let Self::Building(builder, options) = self {
            if !builder.as_mut().is_some_and(|builder| builder.advance(world, meter)) {
                return;
            }
            let Some(builder) = builder.take() else { return };
            *self = Self::Running(Box::new(Engine::new(builder.finish(), *options)));
        }
        if let Self::Running(engine) = self {
            engine.run(world, root, best, meter);
        }
    }

    fn proof(&self) -> Option<&Proof> {
        match self {
            Self::Building(..) => None,
            Self::Running(engine) => engine.proof(),
        }
    }
}

/// A prover for the games from a state on; `None` if the map is too large for it, or the automata
/// do not implement its rules.
pub(super) fn prover(world: &World, root: &State, options: SurvivalOptions) -> Option<Box<dyn Prover>> {
    fn sized<const N: usize>(world: &World, root: &State, options: SurvivalOptions) -> Option<Box<dyn Prover>> {
        let builder = ModelBuilder::<N>::new(world, root)?;
        Some(Box::new(Stage::Building(Some(Box::new(builder)), options)))
    }
    // Sets of the smallest number of words that holds the map. Each size is compiled separately and
    // takes 3% of the time in which the library is built; 3 and 5 fit the maps of the bank.
    [sized::<3>, sized::<5>, sized::<8>, sized::<16>].into_iter().find_map(|sized| sized(world, root, options))
}
