use serde::{Deserialize, Serialize};

use crate::proof::combination::Combination;
use crate::proof::target::Target;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::proof) enum End {
    /// No state is left, so the target cannot be reached.
    Empty,
    /// The backward pass has recorded its known sets.
    Recorded,
    TooBig,
    /// No state is left at this tick, which is after the target. The sweep continues backwards.
    EmptyBeyond(usize),
}

impl End {
    pub fn is_over(self) -> bool {
        !matches!(self, Self::EmptyBeyond(_))
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::proof) enum AtTarget {
    TurnBack,
    Wait,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(in crate::proof) struct SweepLimits {
    /// Maximum number of combinations after a threat joins a layer. Does not apply to the first new
    /// threat of a sweep, nor to the threats of a known set that covers the layer's threats. If 0,
    /// only the first threat joins.
    pub join_len: usize,
    pub layer_len: usize,
    /// In the forward pass, the maximum bytes of a layer, and of all checkpoints together. In the
    /// backward pass, the maximum bytes of a segment without its last layer.
    pub kept_bytes: usize,
    /// A sweep that reaches the target continues beyond it, at most to this tick, to prove a later
    /// tick out of reach.
    pub beyond_tick: usize,
    /// The mask of the threats that never join.
    pub left_out: Combination,
    /// True if all threats not in `left_out` join in their initial states at the first tick.
    pub is_wide: bool,
    pub counts_draws: bool,
}

impl SweepLimits {
    pub fn doubled(self) -> Self {
        Self { layer_len: 2 * self.layer_len, kept_bytes: 2 * self.kept_bytes, ..self }
    }

    pub fn over<const N: usize>(self, target: &Target<N>, mask: Combination) -> Self {
        let (all, draws) = target.masks();
        Self { left_out: all & !mask, is_wide: true, counts_draws: mask & draws != 0, ..self }
    }
}
