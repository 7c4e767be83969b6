//! How long can the player live from here? A solver searches for *lines* (sequences of moves), and
//! for *bounds*: ticks after which no line can end. It ends when the two meet, or at the end of its
//! budget. [`solve`] makes one search, and a [`Solver`] can be continued. [`judge_moves`] solves the
//! game after each legal move of a state. A [`Certificate`] holds a line and the proof of its bound,
//! for an independent verifier.
//!
//! ```
//! use getaway::game::{Layout, Rules, World};
//! use getaway::search::Budget;
//! use getaway::solve::{Certificate, Solver, SolverOptions};
//!
//! let world = World::new(&Layout::parse("####\n#P.S\n####")?, &Rules::NO_JUMP)?;
//! let mut solver = Solver::new(SolverOptions::default());
//! let mut solution = solver.solve(&world, &world.start(), Budget::ticks(10));
//! while !solution.is_optimal() {
//!     println!("the best line ends between ticks {} and {}", solution.final_tick, solution.bound_tick);
//!     solution = solver.solve(&world, &world.start(), Budget::ticks(1_000_000));
//! }
//! let certificate = Certificate::new(&world, &solution).expect("a solution for the start");
//! assert_eq!((certificate.final_tick, certificate.bound_tick), (11, 11));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

// # The schedule
//
// A solver has one *queue* of *jobs*, and at most two *targets*. For each target, a tick, it
// determines whether the player can be alive at the start of this tick. The near target is the
// tick in which the longest line ends. The far target is the last tick of the game or, once a
// bound excludes it, the middle between the line and the bound; it stays until it is decided. The
// far target is the more important one until the last tick is excluded, and then the near one is.
//
// A job builds the automata, searches for lines, or runs one *sweep*. There are five kinds: the
// survival search (and building the automata); the beam search or, instead, the large neighbourhood
// search; the exhaustive search; wide and reaching sweeps; narrow sweeps. The queue runs a job of
// the kind that has cost the least work for its target so far, where every kind starts with
// `FIRST_WORK`. Of this kind, it runs the job with the lowest limit; the limit of a new job is its
// estimated cost. Each target has its own count of work, which is not reset when the target moves.
// Work on the less important target counts `SHARE` times, and so does the work of the survival
// search once there are targets; both factors apply to its work on the less important target. The
// large neighbourhood search and the exhaustive search have no target, and their work counts once.
// So cheap jobs run first, and expensive ones wait until the others have cost as much.
//
// A search continues where it stopped, but the survival search begins again when its target moves.
// A sweep with a limit of `FIRST_WORK` is only tried out. The limit of any other sweep rises to
// `SHARE` times the work done for its target so far or, for the less important target, to this work.
// If a sweep reaches its limit, its forward pass is lost, but not the known sets of an unfinished
// backward pass, and the sweep returns to the queue with twice its limit. The end of the budget
// interrupts a sweep in the same way, but the sweep keeps its limit. The *trial*, a cheap sweep for
// early targets with all threats, is given up at its limit, and so is a sweep with a layer that does
// not fit into the memory. A sweep that turns back leaves *known sets*, which make later sweeps and
// searches for the target cheaper.
//
// A sweep without states left lowers the bound. So does the end of a survival search, if it skipped
// only states that the known sets exclude, and the end of an exhaustive search.
//
// In play, a solver has milliseconds per call, at most 16 MiB of memory, and no exhaustive search.
// Every second call begins with a part of the survival search, which is one search for all targets.
// After a move, the automata and the known sets remain those of the first state.
//
// # Why bounds hold
//
// Threats ignore one another. Bulls and goldfish also ignore the player, so they are obstacles on
// fixed paths. The game is therefore a product of small automata, one for each threat that sees
// the player. A tick that the player cannot reach against some of the threats cannot be reached
// against all of them.
//
// # Terms, and the files that define them
//
// * *Key* (`model`): the tile of one threat and, for a deer, its direction or, for an owl or hawk,
//   its memory, packed into one number. *Combination* (`combination`): the keys and counted draws
//   of some threats, packed into one number. *Mask*: a bit mask that selects the bits of some
//   threats in a combination. These threats are *in* the mask.
// * *Place* (`tiles`): the index of a tile's bit in a set of tiles.
// * *Layer* (`layer`): states of one tick over the same mask, stored as a set of the player's places
//   for each combination. *Run*: the combinations of a layer that differ only in the key and the
//   counted draws of the *widest* threat, the one whose keys take the most bits.
// * *Known set* (`knowledge`): for one tick and some of the threats, a set that contains every state
//   through which a line can reach the target. Known sets of an earlier target also hold for a
//   later one.
// * *Join*: adding a threat to a layer: at the first tick with its first key, later with its known
//   states of the tick if it has any, otherwise with every key of its *closure*, which contains all
//   keys that it can have after any moves of the player.
// * *Sweep* (`sweep`): steps a layer forwards from tick to tick and drops states outside the known
//   sets. Without states left, the target is out of reach. Otherwise the sweep turns back at the
//   target, or earlier if it has almost all states of a known set for this target over the same
//   mask. Before it turns back at the target, it continues for a part of its work so far, to
//   exclude a later target. It drops the states that do not lead to its last layer. Of the layers
//   that are left, every fifth and the small ones become known sets, as far as the memory allows; a
//   long backward pass may end early. A *wide* sweep has all of its threats from its first tick. A
//   *narrow* sweep starts at a *bottleneck*, a tick at which a known set has few states, and
//   threats join it while it stays small. A *reaching* sweep has no target: its layers are the
//   states that can be reached at some ticks. Wide sweeps for late targets can start from these
//   layers.
// * *Projection* (`projection`): for each tick and each tile of a shark, the places from which the
//   player can survive against this shark until the target.
// * *Counted draws*: a wide sweep can count how often each hawk has drawn a post. The count
//   determines the next post. Without counted draws, a hawk may draw any post.
// * *Work*: processed combinations and simulated ticks. A `BudgetMeter` counts both as ticks.
//
// Lines come from the survival search over single states (`survival`) and a beam search over
// combinations (`beam`). These skip the states that the known sets exclude. If one combination
// cannot hold all threats, or there are no automata for the map, a large neighbourhood search
// (`neighbourhood`) and an exhaustive search (`exhaustive`) take the place of the beam.
//
// The approach follows merge-and-shrink heuristics for unsolvability (Hoffmann, Kissmann,
// Torralba: "Distance"? Who Cares? Tailoring Merge-and-Shrink Heuristics to Detect Unsolvability,
// ECAI 2014), with time as a separate axis.

mod beam;
mod binary;
mod certificate;
mod closure;
mod combination;
mod exhaustive;
mod hawk;
mod judge;
mod knowledge;
mod layer;
mod model;
mod model_builder;
mod neighbourhood;
mod options;
mod projection;
mod proof;
mod prover;
mod queue;
mod root;
mod sampler;
mod savable;
mod saved;
mod solution;
mod solver;
mod starts;
mod stepper;
mod survival;
mod sweep;
#[cfg(test)]
mod tests;
mod tiles;
mod tuning;

pub use certificate::{Certificate, CertificateError, ProofEnd};
#[doc(hidden)]
pub use judge::Judge;
pub use judge::{Verdict, judge_moves};
pub use options::SolverOptions;
pub use proof::{Proof, Step};
#[doc(hidden)]
pub use savable::Savable;
pub use solution::{Outcome, Solution};
pub use solver::{Solver, solve};
pub(crate) use survival::{Filter, SurvivalSearch};
