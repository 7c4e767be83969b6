//! Infers a server's rules from the moves of its threats. A [`Learner`] processes the messages of
//! games. [`Learner::best`] returns the best explanation so far: rules close to the expected rules.

mod best;
mod clock;
mod clock_sets;
mod findings;
mod hawk;
mod identification;
mod learner;
mod observed_game;
mod orders;
mod paths;
mod picks;
mod posts;
mod sets;
mod streets;
mod variants;

pub(crate) use clock::PeriodsAndClocks;
pub use findings::{Conclusion, Finding, Findings, Open};
pub(crate) use learner::IDENTIFY_MOVES;
pub use learner::{Decided, Learner, Unexplained};
pub use orders::Orders;
pub(crate) use streets::Streets;
pub use streets::{ObservedPose, Sight, StyleWord};
pub use variants::{Difference, Parameter, differences, first_direction, variant};
