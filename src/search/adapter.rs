//! The parameters and the memory of an `adapt`.

use super::policy::{Rollout, Weights};

/// The parameters of an `adapt`.
#[derive(Clone, Copy)]
pub(super) struct AdaptOptions {
    pub(super) levels: u32,
    pub(super) iterations: u32,
    pub(super) alpha: f64,
    pub(super) rollouts: u32,
    pub(super) prior: bool,
}

/// The memory of an `adapt`, kept between its invocations.
#[derive(Clone, Default)]
pub(super) struct Adapter {
    /// By level, from 1; the first is unused.
    pub(super) policies: Vec<Weights>,
    pub(super) bests: Vec<Rollout>,
    /// The rollout being played.
    pub(super) current: Rollout,
    pub(super) scratch: Vec<f64>,
    pub(super) slots: Vec<usize>,
}
