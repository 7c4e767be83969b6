//! Checks certificates. The verifier replays the line in the *literal model* of
//! `getaway_reference`. With the threats of this model, the *literal threats*, it repeats the sweeps
//! of the proof until the bound is proven.
//!
//! Repeating the sweeps proves the bound, for the following reasons:
//!
//! - A *relaxation* is the game without some of the threats that see the player. It always keeps
//!   the bulls and goldfish, which do not see the player. A line that survives in the game also
//!   survives in every relaxation.
//! - Every sweep has a *target tick*. A game reaches the target if the player is alive at the start
//!   of the target tick. For the target, the verifier collects *known sets*: sets of states of a
//!   relaxation at one tick. A known set contains the state, at this tick, of every game that
//!   reaches the target, and so does its projection to fewer threats. For every tick, the verifier
//!   also stores the *allowed* tiles, which contain the player's tile in every such game.
//! - A sweep computes one set of states per tick, called a *layer*. The first layer holds the
//!   allowed tiles, and the literal threats advance each layer to the next tick. A layer omits
//!   states in which the player is caught or is not on an allowed tile. It also omits states that
//!   lie outside a known set of the tick when both are projected to their common threats. A threat
//!   that joins in the first tick has its initial state. A threat that joins later has the states
//!   of a known set, or, if no known set contains it, all possible states. So the layers contain
//!   the state of every game that reaches the target. If the last layer is not empty, the sweep
//!   goes back from it to the first layer that the certificate lists, and drops states without a
//!   successor. The listed layers become known sets (see `Verifier::add_known`). A new known set
//!   replaces known sets over the same threats or some of them. If known sets over these and more
//!   threats exist, the new set restricts them instead.
//! - If a layer is empty, no game reaches the target. An exhaustive search is a sweep in which all
//!   threats that see the player join in the first tick.
//!
//! A *state ID* encodes the state of a threat, or several states in which a hawk may be. A layer
//! maps each combination of state IDs to the tiles where the player can be. The literal threats
//! choose a move for each tile of the player, and tiles for which all threats have the same next
//! state IDs stay together. The layers of a long sweep may not fit into memory. The sweep then
//! keeps only some layers, called *checkpoints*, and the backward pass computes the others again.
//!
//! A *key* is the part of a threat's state that, together with the player's moves, determines its
//! future, apart from the posts that a hawk picks, which also depend on its seed. If a hawk joins
//! after the first tick and no known set contains it, its key stands for all memories that are
//! possible on its tile. Until the hawk sees the player, one key merges all memories that fit its
//! path since it joined. When a hawk picks a post, any post is possible, unless its draws have been
//! counted since the first tick. Known sets keep these counts. Counting ends when a count would not
//! fit into its bits. An owl's remembered position is replaced by the tile that the owl reaches
//! before it looks again.
//!
//! The method relies on the following assumptions. The third and fourth follow from the rules. The
//! verifier checks the others against the literal model where it uses them, and refuses the
//! certificate if a check fails.
//!
//! - All threats move in the same ticks, and the player can reverse its moves (`Board::new`
//!   checks both).
//! - A move depends only on the key of the threat and on whether and where it notices the player,
//!   except that a hawk's seed may decide which post it picks. To check this, each step is repeated
//!   with a *twin* that differs in fields outside the key, such as the seed. The twin's next key,
//!   apart from a picked post, must be the same (`Pursuer::step`). Bulls and goldfish notice
//!   nothing.
//! - A stale view is the player's tile at the start of the tick. In the first tick, it is a
//!   position off the grid.
//! - When a threat with a stale view moves, it is not on the tile where it sees the player:
//!   otherwise the game would already be over. If jumps are forbidden, the same holds for a threat
//!   with a present view.
//! - Until an owl looks again, it takes the same path with its original memory and with the
//!   replacement.
//! - A hawk's initial memory, and its memory after a step, are among the memories with which it can
//!   join on its tile.
//! - A hawk picks one of its posts. Where draws are counted, the literal hawk picks the post.
//!
//! In addition, the verifier follows the state IDs of the threats along the certificate's line,
//! together with the literal game. If the line reaches a target, all known sets for this target
//! must contain the states of the line.
//!
//! The verifier accepts a bound below 2001 only if one of its own sweeps, with a target of at most
//! the bound, runs out of states. If a game reaches a target, no sweep for this target runs out of
//! states. The total work, counted in steps, is limited.

mod bits;
mod board;
mod layer;
mod possible;
mod pursuer;
mod target;
mod verifier;

use getaway::game::{Layout, World};
use getaway::solve::{Certificate, ProofEnd, Step};
use thiserror::Error;

use layer::Combination;
use pursuer::id_bits;
use verifier::Verifier;

/// The error is the sentence with which the verifier refuses a certificate.
type Checked<T = ()> = Result<T, String>;

const LAST_TICK: usize = 2000;
/// Approximate limit in bytes on each of these: a layer, the checkpoints of a forward pass (except
/// that at least two are kept), the known sets, and the tables of `Target::project`. A certificate
/// with a larger layer is refused. Layers that are not kept are computed again. Known sets and
/// tables beyond the limit are left out.
const BYTES_MAX: usize = 1 << 29;
/// Maximum work of [`verify`] in steps. A step is about one operation on a set of up to 64 tiles.
pub const STEPS_MAX: u64 = 100_000_000_000;

#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("line {line}: {message}")]
pub struct VerifyError {
    /// The line number in the certificate, from 1.
    pub line: usize,
    pub message: String,
}

/// Checks a certificate for a map in at most [`STEPS_MAX`] steps. Fails if the map or a value in
/// the certificate is invalid, or if the verifier cannot confirm the line's final tick and the
/// bound within its limits.
pub fn verify(certificate: &Certificate, layout: &Layout) -> Result<(), VerifyError> {
    verify_within(certificate, layout, STEPS_MAX).map(drop)
}

/// Like [`verify`], but with a limit of `steps_max` steps. Returns the number of steps taken.
pub fn verify_within(certificate: &Certificate, layout: &Layout, steps_max: u64) -> Result<u64, VerifyError> {
    // An exhaustive search combines the state IDs of all threats, which may exceed 128 bits.
    let is_wide = certificate.end == ProofEnd::Search && id_bits(layout).iter().sum::<u32>() > Combination::<2>::BITS;
    let words = layout.open_positions().count().div_ceil(64);
    let check = if words <= 6 && !is_wide { check::<6, 2> } else { check::<64, 32> };
    let mut line = 1;
    check(certificate, layout, steps_max, &mut line).map_err(|message| VerifyError { line, message })
}

/// Checks a certificate. Sets `line` to the number of the line that it checks.
fn check<const N: usize, const W: usize>(
    certificate: &Certificate,
    layout: &Layout,
    steps_max: u64,
    line: &mut usize,
) -> Checked<u64> {
    World::new(layout, &certificate.rules).map_err(|error| error.to_string())?;
    let bound_tick = usize::from(certificate.bound_tick);
    let (expected, is_expected) = match certificate.end {
        ProofEnd::None => ("2001, as nothing is proven".to_owned(), bound_tick == LAST_TICK + 1),
        _ => (format!("1 to {LAST_TICK}"), (1..=LAST_TICK).contains(&bound_tick)),
    };
    if !is_expected {
        return Err(format!("bound_tick {bound_tick}: expected {expected}"));
    }
    for (number, step) in (2..).zip(&certificate.steps) {
        *line = number;
        check_ticks(step)?;
    }
    *line = 1;
    let mut verifier = Verifier::<N, W>::new(certificate, layout, steps_max)?;
    verifier.replay(certificate)?;
    // The literal threats may leave fewer states than the prover's threats. So a sweep before the
    // last may already prove the bound, or, with an earlier target, a stronger bound.
    let mut is_proven = certificate.end == ProofEnd::None;
    for step in &certificate.steps {
        *line += 1;
        if is_proven {
            break;
        }
        let tick = usize::from(step.target_tick);
        let is_empty = verifier.sweep(step)?;
        if is_empty && verifier.is_reached(tick) {
            return Err(format!("the sweep rules out tick {tick}, which the line reaches"));
        }
        is_proven = is_empty && tick <= bound_tick;
    }
    *line = certificate.steps.len() + 2;
    match certificate.end {
        _ if is_proven => Ok(verifier.board.steps()),
        ProofEnd::Search if verifier.sweep(&verifier.search(certificate.bound_tick))? => Ok(verifier.board.steps()),
        ProofEnd::Search => Err(format!("the search reaches tick {bound_tick}")),
        _ => Err(format!("no sweep proves a bound of {bound_tick}")),
    }
}

fn check_ticks(step: &Step) -> Checked {
    let [from, until, target] = [step.from_tick, step.until_tick, step.target_tick].map(usize::from);
    if !(1 <= from && from <= until && until <= target && (2..=LAST_TICK).contains(&target)) {
        let expected = format!("1 <= from <= until <= target <= {LAST_TICK}, target > 1");
        return Err(format!("ticks {from}, {until}, {target}: expected {expected}"));
    }
    match step.known.iter().find(|&&tick| !(from..=until).contains(&tick.into())) {
        Some(tick) => Err(format!("known: tick {tick}: expected {from} to {until}")),
        None => Ok(()),
    }
}
