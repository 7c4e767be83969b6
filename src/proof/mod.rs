//! Proofs that a tick cannot be reached, found side by side with lines that reach it.
//!
//! Threats do not see one another, and bulls and goldfish do not see the player. So the game is a
//! product of small automata that share the player, among obstacles that move on known paths.
//! Leaving out a threat makes the game easier: a tick that cannot be reached against some of the
//! threats cannot be reached at all.
//!
//! Terms:
//! * *Key*: the position and memory of one threat, packed into one number. *Combination*: the keys
//!   of some threats, packed into one number. *Mask*: the bits of some threats in a combination; it
//!   stands for these threats.
//! * *Place*: a tile, as the index of a bit in a set of tiles.
//! * *State*: a combination and the player's place. It leaves out threats that are not in its mask.
//! * *Layer*: the states of one tick: for each combination, the set of the player's places. *Run*:
//!   the combinations of a layer that differ only in the key of the *widest* threat, the one with
//!   the most keys.
//! * *Target*: a tick, with the question whether the player can be alive at its start.
//! * *Known set*: states of one tick over some threats, among them every state from which the
//!   target can be reached. The known sets of all ticks are the *knowledge* about the target.
//! * *Join*: to add a threat to a layer, in its known states or in all keys that it can have (its
//!   *closure*).
//! * *Sweep*: steps a layer forwards from tick to tick and drops states outside the known sets. A
//!   sweep that runs out of states proves the target out of reach. Otherwise it turns back and
//!   drops the states that do not lead to its last layer; the rest becomes known.
//! * *Bottleneck*: a tick and threats with few known states. A *narrow* sweep starts there, and
//!   threats join on the way. A *wide* sweep has its threats from the start. A *whole* sweep is a
//!   wide one that covers the game from the first tick.
//! * *Reachable layer*: the states that the game can reach from the first tick, for any target.
//! * *Projection*: the known states over a single shark.
//! * *Counted draws*: a sweep from the first tick can count the random draws of hawks, and so knows
//!   the posts that they draw. Otherwise a hawk may draw any post.
//! * *Work*: the ticks of a [`BudgetMeter`], one per combination processed.
//!
//! The [`engine`] picks targets and shares the time between sweeps and two searches for lines, the
//! survival search and the [`beam`], which skip states outside the known sets. Functions of these
//! modules that return a `StopReason` fail when the deadline is reached.
//!
//! The approach is that of merge-and-shrink heuristics for unsolvability (Hoffmann, Kissmann,
//! Torralba: "Distance"? Who Cares? Tailoring Merge-and-Shrink Heuristics to Detect Unsolvability,
//! ECAI 2014), with time as a separate axis.

mod beam;
mod board;
mod builder;
mod closure;
mod combination;
mod engine;
mod hawk;
mod join;
mod known;
mod layer;
mod lines;
mod memories;
mod model;
mod model_builder;
mod moves;
mod orders;
mod outcome;
mod projection;
mod reach;
mod schedule;
mod starts;
mod sweep;
mod target;
mod targets;
#[cfg(test)]
mod tests;
mod tile_set;

use std::fmt::Debug;

use crate::game::{State, World};
use crate::search::BudgetMeter;
use engine::Engine;
pub(crate) use lines::{Found, Hopeless, LineSearch, Resources};
use model_builder::ModelBuilder;
pub(crate) use outcome::Bracket;
pub use outcome::{Proof, Step};

pub(crate) trait Prover: Debug + Send {
    /// Improves the line and the bound until they meet or the budget is used up. `root` is the
    /// state for which the prover was made, or a state that the game reaches from it. The bound
    /// holds for both.
    fn run(&mut self, world: &World, root: &State, best: &mut Bracket, meter: &mut BudgetMeter);

    fn proof(&self) -> Option<&Proof>;
}

/// The stages of a prover: it first builds its model.
#[derive(Debug)]
enum Stage<const N: usize> {
    Building(Option<(Box<ModelBuilder<N>>, Resources)>),
    Running(Box<Engine<N>>),
}

impl<const N: usize> Prover for Stage<N> {
    fn run(&mut self, world: &World, root: &State, best: &mut Bracket, meter: &mut BudgetMeter) {
        if let Self::Building(building) = self {
            if !building.as_mut().is_some_and(|(builder, _)| builder.advance(world, meter)) {
                return;
            }
            let Some((builder, resources)) = building.take() else { return };
            *self = Self::Running(Box::new(Engine::new(builder.finish(), resources)));
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

/// A prover for the games that continue from `root`. Returns `None` if the map is too large or the
/// automata do not implement its rules.
pub(crate) fn prover(world: &World, root: &State, resources: Resources) -> Option<Box<dyn Prover>> {
    fn sized<const N: usize>(
        world: &World,
        root: &State,
        resources: &mut Option<Resources>,
    ) -> Option<Box<dyn Prover>> {
        let builder = Box::new(ModelBuilder::<N>::new(world, root)?);
        Some(Box::new(Stage::Building(resources.take().map(|resources| (builder, resources)))))
    }
    let mut resources = Some(resources);
    // Each size adds 3% to the build time of the library. Sizes 3 and 5 fit the maps of the bank.
    let sizes = [sized::<3>, sized::<5>, sized::<8>, sized::<16>];
    sizes.into_iter().find_map(|sized| sized(world, root, &mut resources))
}
