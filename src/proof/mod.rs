//! Proves that a tick cannot be reached, and in parallel looks for lines that reach it.
//!
//! Threats ignore one another, and bulls and goldfish also the player: they are obstacles on fixed
//! paths. So the game is a product of small automata, one for each threat that sees the player. A
//! tick out of reach against some threats is out of reach against all.
//!
//! Terms:
//! * *Key*: the position and memory of one threat, packed into one number. *Combination*: the keys
//!   of some threats, packed into one number. *Mask*: a bit mask that selects the keys of some
//!   threats in a combination. It also denotes these threats.
//! * *Place*: a tile, as the index of a bit in a set of tiles.
//! * *State*: a combination and the player's place. It covers only the threats that a mask selects.
//! * *Layer*: the states of one tick: for each combination, the set of the player's places. *Run*:
//!   the combinations of a layer that differ only in the key of the *widest* threat, which has the
//!   most keys.
//! * *Target*: a tick. The prover decides whether the player can be alive at its start.
//! * *Known set*: a set of states of one tick over some threats. It contains every state from which
//!   the target can be reached. The known sets of all ticks are the *knowledge* about the target.
//! * *Join*: to add a threat to a layer, either in its known states or in all keys that it can have
//!   (its *closure*).
//! * *Sweep*: a computation that steps a layer forwards from tick to tick and drops states outside
//!   the known sets. A sweep that runs out of states proves that the target is out of reach. A
//!   sweep that reaches the target turns back and drops the states that do not lead to its last
//!   layer. The remaining states become known sets.
//! * *Bottleneck*: a tick and threats with few known states. A *narrow* sweep starts at a
//!   bottleneck, and threats join it on the way. A *wide* sweep has all of its threats from the
//!   start. A *whole* sweep is a wide sweep that covers the game from the first tick.
//! * *Reachable layer*: the states of one tick that the game can reach from the first tick. It does
//!   not depend on the target.
//! * *Projection*: the known states over a single shark.
//! * *Counted draws*: a sweep from the first tick can count the random draws of hawks, which
//!   determine the posts that they draw. Without the count, a hawk may draw any post.
//! * *Work*: the processed combinations, counted as the ticks of a [`BudgetMeter`].
//!
//! The [`engine`] divides the time between sweeps and two searches for lines: the survival search
//! and the [`beam`]. Functions that return a `StopReason` fail at the deadline.
//!
//! The approach follows merge-and-shrink heuristics for unsolvability (Hoffmann, Kissmann,
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
    /// Continues until line and bound meet or the budget is used up. `root` is the state for which
    /// the prover was built, or one that the game reaches from it. The bound holds for both.
    fn run(&mut self, world: &World, root: &State, best: &mut Bracket, meter: &mut BudgetMeter);

    fn proof(&self) -> Option<&Proof>;
}

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

/// Returns `None` if the map is too large or the automata do not implement its rules.
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
    // Each size adds 3% to the build time of the library, and 20 kB to the download of the
    // playground. Sizes 3 and 5 fit the maps of the bank.
    #[cfg(not(target_family = "wasm"))]
    let sizes = [sized::<3>, sized::<5>, sized::<8>, sized::<16>];
    #[cfg(target_family = "wasm")]
    let sizes = [sized::<5>, sized::<16>];
    sizes.into_iter().find_map(|sized| sized(world, root, &mut resources))
}
