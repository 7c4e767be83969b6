//! Works out a server's rules from what its threats do.
//!
//! A [`Learner`] is shown the messages of one or more games, as a bot receives them or as they were
//! recorded, and keeps every explanation of what the threats did; [`Learner::best`] is the one that
//! changes fewest of the expected rules.

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
pub use picks::{Effort, Pick, PickExplanation, PickExplanations, Picks};
pub use streets::{Named, Sight};
pub use variants::{Difference, Parameter, differences, first_direction, phase_clock, sentence, variant, view_name};
