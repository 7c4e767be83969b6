use super::policy::{Rollout, Weights};

#[derive(Clone, Copy)]
pub(super) struct AdaptOptions {
    pub(super) levels: u32,
    pub(super) iterations: u32,
    pub(super) alpha: f64,
    pub(super) rollouts: u32,
    pub(super) prior: bool,
}

#[derive(Clone, Default)]
pub(super) struct Adapter {
    /// The policies by level; index 0 is unused.
    pub(super) policies: Vec<Weights>,
    pub(super) bests: Vec<Rollout>,
    pub(super) current: Rollout,
    pub(super) scratch: Vec<f64>,
    pub(super) slots: Vec<usize>,
}
