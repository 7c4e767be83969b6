//! The tuned constants of the solver. They decide how soon a result is found, not whether it is
//! correct. `docs/records/proofs.md` has the measurements.

/// The limit of a new job, in simulated ticks: enough work to decide easy targets, and about ten
/// milliseconds.
pub(super) const FIRST_WORK: u64 = 100_000;

/// Threats may join a narrow sweep as long as its layer has at most one combination per
/// `WORK_PER_KEY` simulated ticks of work on its target so far.
pub(super) const WORK_PER_KEY: u64 = 250;

/// Number of combinations in a large layer. A threat joins a sweep only if the layer stays smaller,
/// and reachable layers are kept only if they are smaller. A long backward pass ends at a large
/// layer, because few sweeps start there.
pub(super) const LARGE_LEN: usize = 20_000;

/// Sweeps that start closer together than this repeat each other, and a sweep that starts closer to
/// the target proves little.
pub(super) const NEAR_TICKS: usize = 30;

/// If less than one in `SAME_SHARE` of a layer's states was dropped, the layer counts as the same.
pub(super) const SAME_SHARE: u64 = 20;

/// Layers become known sets only once in this many ticks, but small ones in every tick.
pub(super) const KNOWN_TICKS: usize = 5;

/// A layer with fewer states than this is small.
pub(super) const SMALL_STATES: u64 = 512;

/// The work on the less important target, and that of the search over single states, counts this
/// many times. A sweep for the more important target may take this many times the work done
/// for it so far.
pub(super) const SHARE: u64 = 4;
