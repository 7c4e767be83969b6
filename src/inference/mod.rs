//! Works out a server's rules from what its threats do.

mod variants;

pub use variants::{
    Difference, Parameter, differences, first_direction, parameters, phase_clock, sentence, variant, view_name,
};
