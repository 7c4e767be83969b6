//! The tuned constants of the queue and of the sweeps. They decide how soon a result is found, not
//! whether it is correct. `docs/records/proofs.md` has measurements. The searches for lines have
//! their own constants, in `beam`, `sampler` and `survival`. The estimated costs of jobs are in
//! `prover`, and the parts of the memory in `options`.

/// The unit of limits, in simulated ticks: about ten milliseconds, enough to decide easy targets. The
/// limit of a new job is a small multiple of it. Jobs with this limit are only tried out.
pub(super) const FIRST_WORK: u64 = 100_000;

/// A further threat may join a narrow sweep if the layer has at most `LARGE_LEN` combinations, and at
/// most one per `WORK_PER_KEY` simulated ticks of work on the sweep's target so far.
pub(super) const WORK_PER_KEY: u64 = 250;

/// Number of combinations in a large layer. Of the reachable layers, only the last one is kept even if
/// it is larger. A long backward pass ends at a layer of twice this size, or at a large layer from
/// which it drops few states, because few sweeps start there.
pub(super) const LARGE_LEN: usize = 20_000;

/// Sweeps that start closer together than this, with the same threats, repeat each other, and a sweep
/// that starts closer to the target proves little. Targets that are at most this far apart share the
/// list of sweeps that are done.
pub(super) const NEAR_TICKS: usize = 30;

/// If less than one in `SAME_SHARE` of a layer's states was dropped, the layer counts as the same.
pub(super) const SAME_SHARE: u64 = 20;

/// Layers become known sets only once in this many ticks, but small ones in every tick.
pub(super) const KNOWN_TICKS: usize = 5;

/// A layer with fewer states than this is small.
pub(super) const SMALL_STATES: u64 = 512;

/// Work on the less important target counts this many times and, once there are targets, so does
/// the work of the survival search. A sweep for the more important target may take this many times
/// the work done for it so far. Beyond its target, a sweep may do `1 / SHARE` of the work that it
/// took to get there, or `FIRST_WORK` if that is more.
/// Narrow sweeps look for a start in windows of this many times `NEAR_TICKS`.
pub(super) const SHARE: u64 = 4;
