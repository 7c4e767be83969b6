//! The prover alternates between two tasks: proving that the player cannot be alive at a given
//! tick, and searching for *lines* (sequences of moves) that keep the player alive until that tick.
//!
//! Threats ignore one another. Bulls and goldfish also ignore the player, so they are obstacles on
//! fixed paths. The game is therefore a product of small automata, one for each threat that sees
//! the player. A tick that the player cannot reach against some of the threats cannot be reached
//! against all of them.
//!
//! Terms:
//! * *Key*: the tile of one threat and, for a deer, its direction or, for an owl or hawk, its
//!   memory, packed into one number. *Combination*: the keys and counted draws of some threats,
//!   packed into one number. *Mask*: a bit mask that selects the bits of some threats in a
//!   combination. These threats are *in* the mask.
//! * *Place*: the index of a tile's bit in a set of tiles.
//! * *State*: a combination over the threats in a mask, and the player's place.
//! * *Layer*: states of one tick over the same mask, stored as a set of the player's places for
//!   each combination. *Run*: the combinations of a layer that differ only in the key and the
//!   counted draws of the *widest* threat, the one whose keys take the most bits.
//! * *Target*: a tick. The prover tries to decide whether the player can be alive at its start.
//! * *Known set*: for one tick and some of the threats, a set that contains every state through
//!   which a line can reach the target. The known sets are the *knowledge* about the target.
//! * *Join*: adding a threat to a layer: at the first tick with its first key, later with its known
//!   states of the tick if it has any, otherwise with every key that it can have under some
//!   sequence of player moves (its *closure*).
//! * *Sweep*: a computation that steps a layer forwards from tick to tick and drops states outside
//!   the known sets. A sweep that runs out of states at or before the target proves that the target
//!   is out of reach. Any other sweep turns back at the target or earlier, unless it grows too
//!   large, and drops the states that do not lead to its last layer. In some ticks, the remaining
//!   states become known sets.
//! * *Bottleneck*: a tick at which a known set has few states. A *narrow* sweep starts at a
//!   bottleneck, and further threats can join it on the way. A target's first narrow sweep starts
//!   at the first tick instead, with a single threat. A *wide* sweep has all of its threats from
//!   the first tick.
//! * *Reachable layer*: the states of one tick that can be reached from the first tick, regardless
//!   of any target.
//! * *Projection*: for each tick and each tile of a shark, the places from which the player can
//!   survive against this shark until the target.
//! * *Counted draws*: a sweep from the first tick can count how often each hawk has drawn a post.
//!   The count determines the next post. Without counted draws, a hawk may draw any post.
//! * *Work*: processed combinations and simulated ticks. A [`BudgetMeter`] counts both as ticks.
//!
//! The [`engine`] divides the time between sweeps and two searches for lines: the survival search
//! and the [`beam`]. Functions that can fail with a `StopReason` do so at the deadline.
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
mod outcome;
mod projection;
mod reach;
mod saved;
mod schedule;
mod starts;
mod sweep;
mod target;
mod targets;
#[cfg(test)]
mod tests;
mod tile_set;
mod tuning;

use std::any::Any;
use std::fmt::Debug;
use std::io::{self, BufRead, Write};

use crate::game::{State, World};
use crate::search::{Budget, BudgetMeter};
use engine::Engine;
pub(crate) use lines::{Found, Hopeless, LineSearch, Resources};
use model_builder::ModelBuilder;
pub(crate) use outcome::Bracket;
pub use outcome::{Proof, Step};
pub(crate) use saved::{invalid, read_line};

pub(crate) trait Prover: Any + Debug + Send {
    /// Improves `best` until its line and bound meet or the budget is used up. `root` is the state
    /// for which the prover was built, or a later state of that game. The bound holds for `root`.
    fn run(&mut self, world: &World, root: &State, best: &mut Bracket, meter: &mut BudgetMeter);

    fn proof(&self) -> Option<&Proof>;

    /// Builds the model, and returns true if one combination cannot hold the keys of all threats
    /// that see the player. Returns false if the budget does not suffice to build the model.
    fn has_excess_threats(&mut self, world: &World, meter: &mut BudgetMeter) -> bool;
}

#[derive(Debug)]
enum Stage<const N: usize> {
    Building(Option<(Box<ModelBuilder<N>>, Resources)>),
    Running(Box<Engine<N>>),
}

impl<const N: usize> Stage<N> {
    /// Continues to build the model. Returns `None` if the budget does not suffice to complete it.
    fn engine(&mut self, world: &World, meter: &mut BudgetMeter) -> Option<&mut Engine<N>> {
        if let Self::Building(building) = self {
            if !building.as_mut().is_some_and(|(builder, _)| builder.advance(world, meter)) {
                return None;
            }
            let (builder, resources) = building.take()?;
            *self = Self::Running(Box::new(Engine::new(builder.finish(), resources)));
        }
        match self {
            Self::Building(_) => None,
            Self::Running(engine) => Some(engine),
        }
    }

    fn save(&self, out: &mut dyn Write) -> io::Result<()> {
        match self {
            Self::Building(..) => Ok(()),
            Self::Running(engine) => engine.save(out),
        }
    }

    fn restore(&mut self, world: &World, input: &mut dyn BufRead) -> io::Result<()> {
        let engine = self.engine(world, &mut BudgetMeter::new(Budget::UNLIMITED));
        engine.expect("the budget is unlimited").restore(input)
    }
}

impl<const N: usize> Prover for Stage<N> {
    fn run(&mut self, world: &World, root: &State, best: &mut Bracket, meter: &mut BudgetMeter) {
        if let Some(engine) = self.engine(world, meter) {
            engine.run(world, root, best, meter);
        }
    }

    fn proof(&self) -> Option<&Proof> {
        match self {
            Self::Building(..) => None,
            Self::Running(engine) => engine.proof(),
        }
    }

    fn has_excess_threats(&mut self, world: &World, meter: &mut BudgetMeter) -> bool {
        self.engine(world, meter).is_some_and(|engine| engine.has_excess_threats)
    }
}

/// Returns `None` if the map is too large or if the automata do not implement the world's rules.
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
    // Sizes of tile sets, in 64-bit words. Each size makes the library slower to build, and the
    // playground larger to download. Size 6 suffices for the maps of `benches/bank.csv`.
    let sizes = [sized::<6>, sized::<16>];
    sizes.into_iter().find_map(|sized| sized(world, root, &mut resources))
}

// As methods of the trait, these two functions would be linked into every program with a prover.

/// Writes a prover's knowledge, schedule and proof. Writes nothing if its model is not complete.
pub(crate) fn save(prover: &dyn Prover, out: &mut dyn Write) -> io::Result<()> {
    fn sized<const N: usize>(prover: &dyn Any, out: &mut dyn Write) -> Option<io::Result<()>> {
        prover.downcast_ref::<Stage<N>>().map(|stage| stage.save(out))
    }
    let sizes = [sized::<6>, sized::<16>];
    sizes.into_iter().find_map(|sized| sized(prover, out)).expect("a prover of one of the sizes")
}

/// Restores what [`save`] wrote. Fails if the data cannot belong to this prover's game. Does not
/// check that known sets are correct: an incorrect set can lead to a false proof, which the
/// verifier refuses.
pub(crate) fn restore(prover: &mut dyn Prover, world: &World, input: &mut dyn BufRead) -> io::Result<()> {
    fn sized<const N: usize>(prover: &mut dyn Any, world: &World, input: &mut dyn BufRead) -> Option<io::Result<()>> {
        prover.downcast_mut::<Stage<N>>().map(|stage| stage.restore(world, input))
    }
    let sizes = [sized::<6>, sized::<16>];
    sizes.into_iter().find_map(|sized| sized(prover, world, input)).expect("a prover of one of the sizes")
}
