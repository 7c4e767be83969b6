//! Infers a server's rules from the moves of its threats. A [`Learner`] processes the messages of
//! games. [`Learner::best`] returns the best explanation so far: rules close to the expected rules.

mod best;
mod clock;
mod findings;
mod hawk;
mod learner;
mod orders;
mod paths;
mod picks;
mod streets;
mod variants;

pub use clock::{ClockEvidence, ClockFilter, ClockSets, clock_sets};
pub use findings::{Finding, Findings};
pub(crate) use learner::IDENTIFY_MOVES;
pub use learner::{Decided, Learner, Unexplained};
pub use orders::Orders;
pub(crate) use streets::Streets;
pub use streets::{Sight, StyleWord};
pub use variants::{Difference, Parameter, differences, first_direction, variant};
