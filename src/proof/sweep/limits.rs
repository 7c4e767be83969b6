use crate::proof::combination::Combination;
use crate::proof::target::Target;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::proof) enum End {
    /// No state is left at this tick, so the target cannot be reached.
    Empty(usize),
    /// The remaining states have been recorded.
    Recorded,
    /// A layer exceeded its limit, or the sweep used too much work.
    TooBig,
    /// No state is left at this tick, beyond the target. The sweep turns back and continues.
    EmptyBeyond(usize),
}

impl End {
    pub fn is_over(self) -> bool {
        !matches!(self, Self::EmptyBeyond(_))
    }
}

#[derive(Clone, Copy, Debug)]
pub(in crate::proof) struct SweepLimits {
    /// Maximum combinations after a threat joins on the way. At 0, no threat joins.
    pub join_len: usize,
    /// Maximum combinations of a layer.
    pub layer_len: usize,
    /// Maximum bytes of the checkpoints. The layers between two checkpoints have the same limit.
    pub kept_bytes: usize,
    /// The sweep continues beyond the target up to this tick. Without states beyond the target, it
    /// proves a later target out of reach.
    pub beyond_tick: usize,
    /// The mask of the threats that must not join.
    pub left_out: Combination,
    /// True if the threats start in their initial states at the first tick, and none joins later.
    pub is_whole: bool,
    /// True if a whole sweep counts the draws of hawks.
    pub counts_draws: bool,
}

impl SweepLimits {
    pub fn doubled(self) -> Self {
        Self { layer_len: 2 * self.layer_len, kept_bytes: 2 * self.kept_bytes, ..self }
    }

    pub fn over<const N: usize>(self, target: &Target<N>, mask: Combination) -> Self {
        let (all, draws) = target.masks();
        Self { left_out: all & !mask, is_whole: true, counts_draws: mask & draws != 0, ..self }
    }
}
