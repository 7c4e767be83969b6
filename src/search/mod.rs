//! A grammar of Monte Carlo searches for one-player problems (see [`Problem`]). An [`Expression`]
//! composes a search from components. Five components come from Maes, Lupien St-Pierre and Ernst,
//! *Monte Carlo Search Algorithm Discovery for One Player Games* (arXiv 1208.4692):
//!
//! - `simulate(P)`, `simulate(P, H)`: follows policy `P` (`random` or `greedy`) to a final state or
//!   for at most `H` actions, and evaluates the last state.
//! - `repeat(N, S)`: invokes `S` `N` times from the same state.
//! - `lookahead(S)`: invokes `S` from every successor of the state.
//! - `step(S)`: until the best sequence ends, invokes `S` and plays the sequence's next action.
//! - `select(C, S)`: keeps a tree for the entire search. Descends to an unvisited node, invokes `S`
//!   from this node, and backs up the reward. If all children of a node are visited, chooses the
//!   child with the highest mean + `C` sqrt(ln n / n_k), where the node has n visits and the child
//!   n_k, and rewards are scaled to 0..1. Skips children below which no state is left to explore.
//!
//! Three others come from other papers, which the page `search.md` of the repository's folder `docs`
//! names.
//!
//! - `adapt(L, N, A)`: nested rollout policy adaptation with `L` levels, `N` iterations per level
//!   and step size `A`. Two more arguments are optional: `R`, the number of rollouts per adaptation
//!   on the lowest level (1 by default), and finally `prior`, which adds the problem's prior
//!   weights.
//! - `anneal(N, T, U)`: plays `N` sequences, each a random change of the current one. Starts from
//!   the best known sequence if it passes through the state; otherwise, the first sequence is
//!   random. Accepts a worse sequence with a probability that depends on the temperature, which
//!   goes from `T` to `U`.
//! - `beam(W, S)`: like `step(lookahead(S))`, but keeps the best `W` states at each step instead of
//!   one.
//!
//! `simulate` alone means `simulate(random)`. Iterative sampling is `step(repeat(100, simulate))`,
//! nested Monte Carlo search of level 1 is `step(lookahead(simulate))`, and UCT is
//! `step(repeat(100, select(0.5, simulate)))`.
//!
//! **Guarantees.** The result is the best of *all* sequences evaluated since the last reset. A
//! limit on evaluations is never exceeded. Without a time limit or deadline, equal seeds give equal
//! results on every platform. A deadline is checked about every 20 microseconds unless actions take
//! longer, and the interrupted rollout is discarded. The size of each tree is bounded, and rollouts
//! do not allocate per action.
//!
//! ```
//! use getaway::search::{Budget, Problem, Random, Search};
//!
//! /// Ten binary digits; the reward is the number that they form.
//! struct Digits;
//!
//! impl Problem for Digits {
//!     type State = (u32, u32); // the number of digits, and their value
//!     type Action = u32;
//!
//!     fn actions(&self, _: &Self::State, actions: &mut Vec<u32>) {
//!         actions.extend([0, 1]);
//!     }
//!     fn apply(&self, (count, number): &mut Self::State, digit: u32) {
//!         *count += 1;
//!         *number = *number * 2 + digit;
//!     }
//!     fn is_final(&self, &(count, _): &Self::State) -> bool {
//!         count == 10
//!     }
//!     fn reward(&self, &(_, number): &Self::State) -> f64 {
//!         f64::from(number)
//!     }
//!     fn best_possible(&self) -> f64 {
//!         1023.0
//!     }
//! }
//!
//! let mut search = Search::new("select(0.5, simulate)".parse()?, 1);
//! let outcome = search.run(&Digits, &(0, 0), Budget::evaluations(10_000));
//! assert_eq!(outcome.best.unwrap().actions, [1; 10]);
//! # Ok::<(), getaway::search::ParseError>(())
//! ```

mod adapt;
mod adapter;
mod anneal;
mod beam;
mod budget;
mod deadline;
mod expression;
mod parse;
mod policy;
mod problem;
mod run;
mod tree;

pub use budget::{Budget, BudgetMeter, StopReason};
pub(crate) use deadline::{Deadline, now};
#[doc(hidden)]
pub use deadline::{Installed, InterruptClock, ManualTimeSource, TimeSource, install};
pub use expression::{Component, Expression, ExpressionError, Policy};
pub use parse::ParseError;
#[doc(hidden)]
pub use problem::fold_seed;
pub use problem::{Problem, Random};
pub use run::{Line, Search, SearchOutcome};
