//! The tuned constants of the schedule and of the searches for lines. The section *Shared
//! constants* of `docs/records/proofs.md` has the measurements. No result changes what is proven,
//! only when.

/// Work after which another sweep or search gets its turn. Less work reacts sooner to new
/// knowledge, but interrupts more often.
pub(super) const SLICE: u64 = 50_000;

/// The minor of two activities gets one slice in `SHARE`. The same factor, or its inverse, applies
/// wherever one kind of work gets more than another.
pub(super) const SHARE: u64 = 4;

/// Work that is too little to delay the result, but decides easy targets: the limit of a trial,
/// of a target's first turn, and of a sweep beyond the target. A wide sweep begins only after this
/// work on its target, and may end its backward pass early after this work of its own.
pub(super) const SHORT_WORK: u64 = 500_000;

/// Work on the end of the game before it waits for other targets, and before its first wide sweep:
/// narrow sweeps often rule it out sooner.
pub(super) const END_WORK: u64 = 4_000_000;

/// Number of combinations in a large layer. Threats join a sweep, and reachable layers are kept,
/// only below it. Wide sweeps need not go back beyond a large layer, because few narrow sweeps
/// start there.
pub(super) const LARGE_LEN: usize = 20_000;

/// The first narrow sweeps start in a window of this many ticks. The window begins this many ticks
/// before the target, and moves back by as many when it is exhausted.
pub(super) const WINDOW_TICKS: usize = 120;

/// Sweeps that start closer together than this repeat each other, and those that start closer to
/// the target prove little.
pub(super) const NEAR_TICKS: usize = 30;

/// A change of less than one in `SAME_SHARE` of a layer's states is too small to repeat a sweep, or
/// to go on with a backward pass.
pub(super) const SAME_SHARE: u64 = 20;
