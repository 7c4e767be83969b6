//! The tuned constants of the schedule. They decide how soon a result is found, not whether it is
//! correct. *Shared constants* in `docs/records/proofs.md` has the measurements.

/// Work after which another sweep or search gets its turn. Smaller slices use new knowledge sooner;
/// larger ones interrupt less often.
pub(super) const SLICE: u64 = 50_000;

/// Wherever one of two activities gets more of the work, the other gets one part in `SHARE`, or in
/// twice as many.
pub(super) const SHARE: u64 = 4;

/// Enough work to decide easy targets: the limit of a trial, of a target's first turn, and of a
/// sweep beyond the target. A wide sweep begins after this work on its target, and its backward
/// pass may end early after this work of its own.
pub(super) const SHORT_WORK: u64 = 500_000;

/// Work on the end of the game before other targets get a turn, and before its first wide sweep:
/// narrow sweeps often rule it out with less.
pub(super) const END_WORK: u64 = 4_000_000;

/// Number of combinations in a large layer. A threat joins a sweep only if the layer stays smaller,
/// and reachable layers are kept only if they are smaller. A wide sweep need not go back beyond a
/// large layer, because few narrow sweeps start there.
pub(super) const LARGE_LEN: usize = 20_000;

/// Narrow sweeps start in a window of this many ticks if they can. The window begins this many
/// ticks before the target, and moves back by as many when it has no starts left.
pub(super) const WINDOW_TICKS: usize = 120;

/// Sweeps that start closer together than this repeat each other, and a sweep that starts closer to
/// the target proves little.
pub(super) const NEAR_TICKS: usize = 30;

/// If less than one in `SAME_SHARE` of a layer's states was dropped, the layer counts as the same.
pub(super) const SAME_SHARE: u64 = 20;
