//! The options of solvers.

const PLAY_MEMORY_MAX_BYTES: usize = 16 << 20;

/// The options of a [`Solver`](super::Solver).
#[derive(Clone, Copy, Debug)]
pub struct SolverOptions {
    /// The seed of the searches for lines.
    pub seed: u64,
    /// Maximum memory of the first survival search, in bytes. The limits of all other searches are
    /// proportional to it; together they may use several times as much.
    pub memory_max_bytes: usize,
}

impl Default for SolverOptions {
    fn default() -> Self {
        Self { seed: 0, memory_max_bytes: 256 << 20 }
    }
}

impl SolverOptions {
    /// Returns this many eighths of the memory, in bytes. These get one eighth each: the beam, a
    /// target's survival search, a target's known sets, and the layers of a narrow sweep. A target's
    /// projections and the layers of a wide or reaching sweep get two each. The exhaustive search,
    /// which stores single states, gets 32; in play, it gets none.
    pub(super) fn memory_part(self, eighths: usize) -> usize {
        (self.memory_max_bytes / 8).saturating_mul(eighths)
    }

    /// Returns these options with at most 16 MiB of memory. Budgets of milliseconds need small
    /// layers, because updating all layers after a move and freeing them cannot be interrupted.
    #[must_use]
    pub(super) fn for_play(self) -> Self {
        Self { memory_max_bytes: self.memory_max_bytes.min(PLAY_MEMORY_MAX_BYTES), ..self }
    }
}
