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
//!   apart from a picked post, must be the same (`Pursuer::compute_steps`). Bulls and goldfish
//!   notice nothing.
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

mod board;
mod layer;
mod pursuer;
mod target;
mod tiles;

use getaway::game::{Action, Layout, World};
use getaway::solve::{Certificate, ProofEnd, Step};
use getaway_reference::{Game, Threat};
use thiserror::Error;

use board::Board;
use layer::{Combination, Cover, Group, Hawk, Layer, Merger, Slot};
use pursuer::{DRAW_BITS, Pursuer, id_bits};
use target::{Target, Transition, Transitions};
use tiles::Tiles;

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
    let refuse = |message: String| VerifyError { line: 1, message };
    World::new(layout, &certificate.rules).map_err(|error| refuse(error.to_string()))?;
    let bound_tick = usize::from(certificate.bound_tick);
    let (expected, is_expected) = match certificate.end {
        ProofEnd::None => ("2001, as nothing is proven".to_owned(), bound_tick == LAST_TICK + 1),
        _ => (format!("1 to {LAST_TICK}"), (1..=LAST_TICK).contains(&bound_tick)),
    };
    if !is_expected {
        return Err(refuse(format!("bound_tick {bound_tick}: expected {expected}")));
    }
    // An exhaustive search combines the state IDs of all threats, which may exceed 128 bits.
    let bits = id_bits(layout).iter().sum::<u32>();
    let is_wide = certificate.end == ProofEnd::Search && bits > Combination::<2>::BITS;
    let words = layout.open_positions().count().div_ceil(64);
    let check = if words <= 6 && !is_wide { check::<6, 2> } else { check::<64, 32> };
    check(certificate, layout, steps_max)
}

fn check<const N: usize, const W: usize>(
    certificate: &Certificate,
    layout: &Layout,
    steps_max: u64,
) -> Result<u64, VerifyError> {
    let refuse = |line: usize| move |message: String| VerifyError { line, message };
    for (index, step) in certificate.steps.iter().enumerate() {
        check_ticks(step).map_err(refuse(index + 2))?;
    }
    let mut verifier = Verifier::<N, W>::new(certificate, layout, steps_max).map_err(refuse(1))?;
    verifier.replay(certificate).map_err(refuse(1))?;
    // The literal threats may leave fewer states than the prover's threats. So a sweep before the
    // last may already prove the bound, or, with an earlier target, a stronger bound.
    let bound_tick = usize::from(certificate.bound_tick);
    let mut is_proven = certificate.end == ProofEnd::None;
    for (index, step) in certificate.steps.iter().enumerate() {
        if is_proven {
            break;
        }
        let line = refuse(index + 2);
        match verifier.sweep(step).map_err(line)? {
            Some(tick) if verifier.is_reached(tick) => {
                return Err(line(format!("the sweep rules out tick {tick}, which the line reaches")));
            }
            Some(tick) => is_proven = tick <= bound_tick,
            None => {}
        }
    }
    let last_line = refuse(certificate.steps.len() + 2);
    match certificate.end {
        _ if is_proven => {}
        ProofEnd::Search => verifier.search(bound_tick).map_err(last_line)?,
        _ => return Err(last_line(format!("no sweep proves a bound of {bound_tick}"))),
    }
    Ok(verifier.board.steps())
}

fn check_ticks(step: &Step) -> Result<(), String> {
    let [from, until, target] = [step.from_tick, step.until_tick, step.target_tick].map(usize::from);
    if (1..=until).contains(&from) && until <= target && (2..=LAST_TICK).contains(&target) {
        let outside = step.known.iter().find(|&&tick| !(from..=until).contains(&tick.into()));
        return match outside {
            Some(tick) => Err(format!("known: tick {tick}: expected {from} to {until}")),
            None => Ok(()),
        };
    }
    Err(format!("ticks {from}, {until}, {target}: expected 1 <= from <= until <= target <= {LAST_TICK}, target > 1"))
}

/// A known set of one tick. It contains the state, in this tick, of every game that reaches the
/// target.
struct Known<const N: usize, const W: usize> {
    cover: Cover<N, W>,
    /// The bits of the set's threats. Includes a hawk's draw bits only if all states of the set
    /// count its draws.
    detail: Combination<W>,
    projection: Option<Cover<N, W>>,
}

impl<const N: usize, const W: usize> Known<N, W> {
    /// Returns the size of the set's groups in bytes. The groups of `projection` need at most as
    /// many bytes again.
    fn bytes(&self) -> usize {
        self.cover.layer().bytes()
    }
}

#[derive(Clone, Copy)]
struct Joins<'a> {
    joins: &'a [(u16, u16)],
    counts_draws: bool,
    /// The ticks of the layers that become known sets, in ascending order.
    known: &'a [u16],
}

/// Evenly spaced layers for the backward pass. The interval doubles while there are more than two
/// layers and their total size exceeds `bytes_max`.
struct Checkpoints<const N: usize, const W: usize> {
    layers: Vec<(usize, Layer<N, W>)>,
    interval: usize,
    bytes_max: usize,
}

impl<const N: usize, const W: usize> Checkpoints<N, W> {
    fn new(bytes_max: usize) -> Self {
        Self { layers: Vec::new(), interval: 1, bytes_max }
    }

    fn push(&mut self, tick: usize, layer: Layer<N, W>) {
        let from = self.layers.first().map_or(tick, |(from, _)| *from);
        if !(tick - from).is_multiple_of(self.interval) {
            return;
        }
        self.layers.push((tick, layer));
        // Keep at least two layers: with only the first, the backward pass would keep repeating
        // the same range of ticks.
        let bytes = |layers: &[(usize, Layer<N, W>)]| layers.iter().map(|(_, layer)| layer.bytes()).sum::<usize>();
        while self.layers.len() > 2 && bytes(&self.layers) > self.bytes_max {
            self.interval *= 2;
            let interval = self.interval;
            self.layers.retain(|(tick, _)| (tick - from).is_multiple_of(interval));
        }
    }
}

/// The state at the start of a tick on the line: the player's tile and the pursuers' state IDs.
struct LineTick {
    player: u16,
    ids: Vec<Option<u32>>,
}

struct Verifier<const N: usize, const W: usize> {
    board: Board<N>,
    /// For each threat of the map, its pursuer; `None` if the threat does not see the player.
    pursuers: Vec<Option<Pursuer<N>>>,
    /// For each threat of the map, the bits of its state ID in a combination.
    slots: Vec<Slot>,
    line: Vec<LineTick>,
    target: Target<N>,
    /// The known sets of each tick. No set's `detail` lies within the `detail` of another set of
    /// the same tick.
    known: Vec<Vec<Known<N, W>>>,
    known_bytes: usize,
    checkpoint_bytes_max: usize,
    merger: Merger,
    transitions: Transitions<N, W>,
}

impl<const N: usize, const W: usize> Verifier<N, W> {
    fn new(certificate: &Certificate, layout: &Layout, steps_max: u64) -> Result<Self, String> {
        let board = Board::new(layout, &certificate.rules, steps_max)?;
        let bits = id_bits(layout);
        let threats = layout.threats.iter().map(|&spawn| Threat::new(spawn, &certificate.rules));
        let pursuers: Vec<Option<Pursuer<N>>> =
            threats.zip(&bits).map(|(threat, &bits)| Pursuer::new(threat, bits)).collect();
        // A combination may be too small for all threats, so threats that join a sweep get the
        // lowest bits.
        let joined = |threat: usize| {
            certificate.steps.iter().flat_map(|step| &step.joins).any(|&(_, other)| usize::from(other) == threat)
        };
        let mut order: Vec<usize> = (0..pursuers.len()).collect();
        order.sort_by_cached_key(|&threat| !joined(threat));
        let row = Slot::adjacent(order.iter().map(|&threat| bits[threat]));
        let mut slots = row.clone();
        order.iter().zip(row).for_each(|(&threat, slot)| slots[threat] = slot);
        Ok(Self {
            pursuers,
            slots,
            line: Vec::new(),
            target: Target::none(),
            known: (0..=LAST_TICK).map(|_| Vec::new()).collect(),
            known_bytes: 0,
            checkpoint_bytes_max: BYTES_MAX,
            merger: Merger::default(),
            transitions: Transitions::default(),
            board,
        })
    }

    fn replay(&mut self, certificate: &Certificate) -> Result<(), String> {
        let Self { board, pursuers, line, .. } = self;
        let mut game = Game::new(&board.layout, &certificate.rules);
        let first = |pursuer: &mut Option<Pursuer<N>>| {
            let id = pursuer.as_mut().map(|pursuer| (pursuer.first(board), pursuer.is_hawk()));
            id.map(|(first, is_hawk)| {
                first.map(|first| if is_hawk { Pursuer::<N>::begin_counting(first) } else { first })
            })
        };
        let first: Vec<Option<u32>> =
            pursuers.iter_mut().map(|pursuer| first(pursuer).transpose()).collect::<Result<_, _>>()?;
        let mut ids = first;
        for (index, &player_move) in certificate.moves.iter().enumerate() {
            if game.over() {
                return Err(format!("the game is over before move {}", index + 1));
            }
            board.spend_acts(1 + game.threats.len())?;
            let (tick, from) = (usize::from(game.tick), board.tile(game.player));
            let action: Vec<Action> = player_move.direction().map(Action::Move).into_iter().collect();
            game.step_by(&action, |threat, layout, clock, player| {
                threat.update_by(&board.navigation, layout, clock, player)
            });
            let to = board.tile(game.player);
            line.push(LineTick { player: from, ids: ids.clone() });
            if usize::from(game.tick) == tick {
                continue;
            }
            for (threat, id) in ids.iter_mut().enumerate() {
                let (Some(id), Some(pursuer)) = (id, &mut pursuers[threat]) else { continue };
                if board.moves[tick] {
                    let seen = Tiles::single(if pursuer.is_stale() { from } else { to });
                    let next = pursuer.follow(board, *id, tick, &seen)?;
                    // If draws are not counted, the literal game's hawk determines the post.
                    *id = pursuer.resolve(next, &game.threats[threat]);
                }
                if board.positions[usize::from(pursuer.tile(*id))] != game.threats[threat].position {
                    return Err(format!("tick {tick}: threat {threat} is not on the tile that the verifier computed"));
                }
            }
        }
        let (found, claimed) = (game.tick, certificate.final_tick);
        if found != claimed {
            return Err(format!("the line ends in tick {found}, not in {claimed}"));
        }
        if claimed > certificate.bound_tick {
            return Err(format!("the line ends in tick {claimed}, after the bound of {}", certificate.bound_tick));
        }
        Ok(())
    }

    fn is_reached(&self, tick: usize) -> bool {
        tick <= self.line.len()
    }

    fn set_target(&mut self, tick: usize) -> Result<(), String> {
        if tick == self.target.tick {
            return Ok(());
        }
        let earlier = (tick > self.target.tick).then_some(&self.target);
        if earlier.is_none() {
            self.known.iter_mut().for_each(Vec::clear);
            self.known_bytes = 0;
        }
        self.target = Target::new(&self.board, &mut self.pursuers, tick, earlier)?;
        Ok(())
    }

    fn mask(&self, threat: usize) -> Combination<W> {
        Combination::mask([self.slots[threat]])
    }

    fn threats(&self, mask: Combination<W>) -> impl Iterator<Item = usize> {
        let sees = (0..self.pursuers.len()).filter(|&threat| self.pursuers[threat].is_some());
        sees.filter(move |&threat| {
            self.slots[threat].end() <= Combination::<W>::BITS && self.mask(threat).is_within(&mask)
        })
    }

    fn hawks(&self, mask: Combination<W>) -> Vec<Hawk> {
        let is_hawk = |&threat: &usize| self.pursuers[threat].as_ref().is_some_and(Pursuer::is_hawk);
        self.threats(mask).filter(is_hawk).map(|threat| Hawk { threat, slot: self.slots[threat] }).collect()
    }

    /// The bits of the layer's threats. Includes a hawk's draw bits only if all states of the layer
    /// count its draws.
    fn detail(&self, layer: &Layer<N, W>) -> Combination<W> {
        self.hawks(layer.mask).into_iter().fold(layer.mask, |detail, Hawk { slot, .. }| {
            let is_counted = layer.groups.iter().all(|(ids, _)| Pursuer::<N>::is_counted(ids.id(slot)));
            let draws = Combination::mask([slot.upper(DRAW_BITS)]);
            if is_counted { detail } else { detail.without(&draws) }
        })
    }

    fn cover_by(&self, layer: Layer<N, W>, by: Combination<W>) -> Cover<N, W> {
        Cover::new(layer, by, self.hawks(by), &self.pursuers)
    }

    fn cover(&self, layer: Layer<N, W>) -> Cover<N, W> {
        let by = layer.mask;
        self.cover_by(layer, by)
    }

    fn sweep(&mut self, step: &Step) -> Result<Option<usize>, String> {
        let (from, until) = (usize::from(step.from_tick), usize::from(step.until_tick));
        let target_tick = usize::from(step.target_tick);
        self.set_target(target_tick)?;
        let joins = Joins { joins: &step.joins, counts_draws: step.counts_draws, known: &step.known };
        self.run(from, until, joins).map(|ran_out| ran_out.then_some(target_tick))
    }

    /// Sweeps forwards and, if states are left, backwards to the first layer that becomes a known
    /// set. Returns true if the forward pass leaves no states.
    fn run(&mut self, from: usize, until: usize, joins: Joins<'_>) -> Result<bool, String> {
        let first_known = joins.known.first().map_or(usize::MAX, |&tick| tick.into());
        let mut checkpoints = Checkpoints::new(self.checkpoint_bytes_max);
        let mut layer = Layer::players(self.target.allowed[from]);
        self.prepare(from, joins, &mut layer)?;
        for tick in from..until {
            if layer.groups.is_empty() {
                break;
            }
            let next = self.forwards(tick, &layer)?;
            let before = std::mem::replace(&mut layer, next);
            if tick >= first_known {
                checkpoints.push(tick, before);
            }
            self.prepare(tick + 1, joins, &mut layer)?;
        }
        if layer.groups.is_empty() {
            return Ok(true);
        }
        if !joins.known.is_empty() {
            self.go_back(until, layer, checkpoints.layers, joins)?;
        }
        Ok(false)
    }

    /// Sweeps from the first tick to the target with all threats and counted draws. Fails if a
    /// state is left.
    fn search(&mut self, target_tick: usize) -> Result<(), String> {
        self.set_target(target_tick)?;
        let threats = (0..self.pursuers.len()).filter(|&threat| self.pursuers[threat].is_some());
        let joins: Vec<(u16, u16)> = threats.map(|threat| (1, threat as u16)).collect();
        let joins = Joins { joins: &joins, counts_draws: true, known: &[] };
        if self.run(1, target_tick, joins)? { Ok(()) } else { Err(format!("the search reaches tick {target_tick}")) }
    }

    fn prepare(&mut self, tick: usize, joins: Joins<'_>, layer: &mut Layer<N, W>) -> Result<(), String> {
        self.board.spend(1 + joins.joins.len())?;
        self.narrow(tick, layer)?;
        for &(_, threat) in joins.joins.iter().filter(|(at, _)| usize::from(*at) == tick) {
            self.join(tick, usize::from(threat), joins.counts_draws, layer)?;
            self.narrow(tick, layer)?;
        }
        Ok(())
    }

    /// Drops states in which the player is not on an allowed tile. Also drops states that lie
    /// outside a known set of the tick when both are projected to their common threats.
    fn narrow(&mut self, tick: usize, layer: &mut Layer<N, W>) -> Result<(), String> {
        let mut known = std::mem::take(&mut self.known[tick]);
        for known in &mut known {
            let own = known.cover.layer();
            let common = own.mask.and(&layer.mask);
            self.board.spend(layer.groups.len())?;
            if common != own.mask && known.projection.as_ref().is_none_or(|other| other.layer().mask != common) {
                self.board.spend(own.groups.len())?;
                let projection = own.project(common, &mut self.merger);
                known.projection = Some(self.cover(projection));
            }
        }
        let covers = known.iter().map(|known| {
            let is_within = known.cover.layer().mask.is_within(&layer.mask);
            if is_within { Some(&known.cover) } else { known.projection.as_ref() }
        });
        let covers: Vec<&Cover<N, W>> = covers.flatten().filter(|cover| !cover.layer().mask.is_empty()).collect();
        let allowed = self.target.allowed[tick];
        layer.retain(|ids, tiles| {
            covers.iter().fold(tiles.and(&allowed), |tiles, cover| {
                if tiles.is_empty() { tiles } else { tiles.and(&cover.tiles(ids, &self.pursuers)) }
            })
        });
        self.known[tick] = known;
        Ok(())
    }

    /// Adds a threat, unless the layer contains it already: in tick 1 with its initial state, later
    /// with the states of a known set, or with all possible states if no known set contains the
    /// threat.
    fn join(&mut self, tick: usize, threat: usize, counts_draws: bool, layer: &mut Layer<N, W>) -> Result<(), String> {
        let pursuer = self.pursuers.get_mut(threat).and_then(Option::as_mut);
        let pursuer = pursuer.ok_or_else(|| format!("threat {threat} does not see the player or does not exist"))?;
        let slot = self.slots[threat];
        if slot.end() > Combination::<W>::BITS {
            return Err(format!("threat {threat} does not fit into a combination"));
        }
        let mask = Combination::mask([slot]);
        if mask.is_within(&layer.mask) {
            return Ok(());
        }
        let ids = if tick == 1 {
            let first = pursuer.first(&self.board)?;
            let is_counting = pursuer.is_hawk() && counts_draws;
            vec![if is_counting { Pursuer::<N>::begin_counting(first) } else { first }]
        } else {
            let known = self.known[tick].iter().filter(|known| mask.is_within(&known.cover.layer().mask));
            let use_of = |known: &&Known<N, W>| {
                // Prefer counted draws, which determine a hawk's state exactly.
                let is_exact = mask.is_within(&known.detail);
                (is_exact, self.threats(known.cover.layer().mask.and(&layer.mask)).count())
            };
            if let Some(known) = known.max_by_key(use_of) {
                let common = known.cover.layer().mask.and(&layer.mask);
                let both = common.or(&mask);
                self.board.spend(known.cover.layer().groups.len())?;
                let known = known.cover.layer().project(both, &mut self.merger);
                return self.join_known(tick, slot, &self.cover_by(known, common), layer);
            }
            let pursuer = self.pursuers[threat].as_mut().expect("it sees the player");
            let ids = pursuer.possible_ids(&self.board, tick)?;
            let own = self.line.get(tick - 1).and_then(|place| place.ids[threat]);
            if own.is_some_and(|own| !ids.iter().any(|&id| pursuer.overlap(id, own))) {
                return Err(format!("tick {tick}: the state of threat {threat} on the line is not a possible state"));
            }
            ids
        };
        let pursuer = self.pursuers[threat].as_ref().expect("it sees the player");
        let with_tiles = |&id: &u32| (id, self.target.player_tiles(tick, threat, pursuer.tile(id)));
        let ids: Vec<(u32, Tiles<N>)> = ids.iter().map(with_tiles).collect();
        let mut groups = Vec::new();
        for (others, tiles) in &layer.groups {
            self.board.spend(ids.len())?;
            let wide = ids.iter().map(|(id, possible)| (others.with(slot, *id), tiles.and(possible)));
            groups.extend(wide.filter(|(_, tiles)| !tiles.is_empty()));
            check_size(tick, &groups)?;
        }
        *layer = Layer { mask: layer.mask.or(&mask), groups };
        Ok(())
    }

    fn join_known(
        &mut self,
        tick: usize,
        slot: Slot,
        known: &Cover<N, W>,
        layer: &mut Layer<N, W>,
    ) -> Result<(), String> {
        let mut groups = Vec::new();
        self.merger.begin();
        for (ids, tiles) in &layer.groups {
            self.board.spend(1)?;
            for (other, possible) in known.matches(ids, &self.pursuers) {
                self.board.spend(1)?;
                let tiles = tiles.and(possible);
                if !tiles.is_empty() {
                    self.merger.add(ids.with(slot, other.id(slot)), tiles, &mut groups);
                }
            }
            check_size(tick, &groups)?;
        }
        *layer = Layer { mask: layer.mask.or(&known.layer().mask), groups };
        Ok(())
    }

    /// Returns the layer of the next tick: the successors that may still reach the target.
    fn forwards(&mut self, tick: usize, layer: &Layer<N, W>) -> Result<Layer<N, W>, String> {
        let threats: Vec<usize> = self.threats(layer.mask).collect();
        let context = self.target.context(&self.board, &self.pursuers, &self.slots, tick, &threats);
        let mut groups = Vec::new();
        self.merger.begin();
        for (ids, tiles) in &layer.groups {
            self.transitions.find(&context, &mut self.pursuers, ids, tiles)?;
            for transition in &self.transitions.found {
                self.merger.add(transition.ids, transition.to, &mut groups);
            }
            check_size(tick + 1, &groups)?;
        }
        Ok(Layer { mask: layer.mask, groups })
    }

    /// Drops states without a successor in the next layer, and passes the layers to `add_known`.
    /// Computes the layers between the checkpoints again.
    fn go_back(
        &mut self,
        until: usize,
        layer: Layer<N, W>,
        mut checkpoints: Vec<(usize, Layer<N, W>)>,
        joins: Joins<'_>,
    ) -> Result<(), String> {
        let (mut after_tick, mut after) = (until, self.cover(layer));
        while let Some((tick, mut layer)) = checkpoints.pop() {
            if tick + 1 == after_tick {
                (after_tick, after) = (tick, self.trim(tick, layer, after, joins.known)?);
                continue;
            }
            let mut repeated = Checkpoints::new(self.checkpoint_bytes_max);
            for tick in tick..after_tick - 1 {
                let next = self.forwards(tick, &layer)?;
                repeated.push(tick, std::mem::replace(&mut layer, next));
                self.prepare(tick + 1, joins, &mut layer)?;
            }
            repeated.push(after_tick - 1, layer);
            checkpoints.append(&mut repeated.layers);
        }
        self.add_known(after_tick, after, joins.known)?;
        Ok(())
    }

    /// Returns the states of `layer` that lead into `after`. Records `after` with `add_known` or,
    /// if `after` does not become a known set, its projection to the threats of `layer`.
    fn trim(
        &mut self,
        tick: usize,
        mut layer: Layer<N, W>,
        after: Cover<N, W>,
        known: &[u16],
    ) -> Result<Cover<N, W>, String> {
        let (mut after, mut is_added) = (after, false);
        if after.layer().mask != layer.mask {
            self.board.spend(after.layer().groups.len())?;
            let narrow = after.layer().project(layer.mask, &mut self.merger);
            let narrow = self.cover(narrow);
            is_added = self.add_known(tick + 1, std::mem::replace(&mut after, narrow), known)?;
        }
        let threats: Vec<usize> = self.threats(layer.mask).collect();
        let context = self.target.context(&self.board, &self.pursuers, &self.slots, tick, &threats);
        let mut found = Ok(());
        layer.retain(|ids, tiles| {
            if found.is_ok() {
                found = self.transitions.find(&context, &mut self.pursuers, ids, &tiles);
            }
            self.transitions.found.iter().fold(Tiles::EMPTY, |kept, Transition { ids, from, to }| {
                let to = to.and(&after.tiles(ids, &self.pursuers));
                if to.is_empty() { kept } else { kept.or(&self.board.reachable(&to).and(from)) }
            })
        });
        found?;
        if !is_added {
            self.add_known(tick + 1, after, known)?;
        }
        Ok(self.cover(layer))
    }

    /// Restricts the allowed tiles to those of the set. Returns false if the tick is not in
    /// `known_ticks`. Otherwise, the set replaces known sets over its threats or some of them. If
    /// there are known sets over its threats and others, it restricts them. If not, it becomes a
    /// known set, unless all known sets would then exceed `BYTES_MAX`. Counted draws are treated
    /// like an additional threat.
    fn add_known(&mut self, tick: usize, cover: Cover<N, W>, known_ticks: &[u16]) -> Result<bool, String> {
        self.board.spend(cover.layer().groups.len())?;
        let allowed = &mut self.target.allowed[tick];
        *allowed = allowed.and(&cover.layer().tiles());
        if known_ticks.binary_search(&(tick as u16)).is_err() {
            return Ok(false);
        }
        let detail = self.detail(cover.layer());
        let known = std::mem::take(&mut self.known[tick]);
        let (replaced, mut known): (Vec<_>, Vec<_>) =
            known.into_iter().partition(|known| known.detail.is_within(&detail));
        self.known_bytes -= replaced.iter().map(Known::bytes).sum::<usize>();
        let mut is_covered = false;
        for known in known.iter_mut().filter(|known| detail.is_within(&known.detail)) {
            is_covered = true;
            let mut layer = known.cover.layer().clone();
            self.board.spend(2 * layer.groups.len())?;
            self.known_bytes -= known.bytes();
            if layer.retain(|ids, _| cover.tiles(ids, &self.pursuers)) {
                (known.cover, known.projection) = (self.cover(layer), None);
            }
            self.known_bytes += known.bytes();
        }
        if !is_covered && self.known_bytes + cover.layer().bytes() <= BYTES_MAX {
            known.push(Known { cover, detail, projection: None });
            self.known_bytes += known[known.len() - 1].bytes();
        }
        self.known[tick] = known;
        self.check_line(tick)?;
        Ok(true)
    }

    /// If the line reaches the target, checks that the tick's allowed tiles and known sets contain
    /// the line's state.
    fn check_line(&self, tick: usize) -> Result<(), String> {
        let Some(place) = self.line.get(tick - 1).filter(|_| self.is_reached(self.target.tick)) else { return Ok(()) };
        let player = Tiles::single(place.player);
        let mut is_kept = !self.target.allowed[tick].and(&player).is_empty();
        for known in &self.known[tick] {
            let mask = known.cover.layer().mask;
            let ids = self
                .threats(mask)
                .fold(Combination::EMPTY, |ids, threat| ids.with(self.slots[threat], place.ids[threat].unwrap_or(0)));
            is_kept &= !known.cover.tiles(&ids, &self.pursuers).and(&player).is_empty();
        }
        if is_kept { Ok(()) } else { Err(format!("the sweep rules out the line in tick {tick}")) }
    }
}

fn check_size<const N: usize, const W: usize>(tick: usize, groups: &[Group<N, W>]) -> Result<(), String> {
    if size_of_val(groups) <= BYTES_MAX {
        return Ok(());
    }
    Err(format!("tick {tick}: more than {} combinations of threat states", BYTES_MAX / size_of::<Group<N, W>>()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use getaway::game::{PeriodTicks, Rules, Style, View};
    use getaway::map::{GeneratorKind, GeneratorOptions, generate_nth};

    const TARGET_TICK: usize = 200;

    fn verifier() -> Verifier<6, 2> {
        let options = GeneratorOptions {
            kind: GeneratorKind::Maze,
            width: 15,
            height: 13,
            threats: 4,
            styles: vec![Style::Shark, Style::Owl, Style::Deer, Style::Hawk],
            braid_permille: 500,
        };
        let mut layout = generate_nth(&options, 5, 0).expect("a map").layout;
        layout.threats.sort_by_key(|spawn| options.styles.iter().position(|style| *style == spawn.style));
        let certificate = Certificate {
            rules: Rules::NO_JUMP,
            moves: Vec::new(),
            final_tick: 1,
            bound_tick: TARGET_TICK as u16,
            steps: Vec::new(),
            end: ProofEnd::Empty,
        };
        let mut verifier = Verifier::new(&certificate, &layout, u64::MAX).expect("a map");
        verifier.set_target(TARGET_TICK).expect("enough steps");
        verifier
    }

    fn sweep(verifier: &mut Verifier<6, 2>, threats: &[u16], until: usize, counts_draws: bool) {
        let joins: Vec<(u16, u16)> = threats.iter().map(|&threat| (1, threat)).collect();
        let known: Vec<u16> = (1..=until as u16).collect();
        let joins = Joins { joins: &joins, counts_draws, known: &known };
        assert_eq!(verifier.run(1, until, joins), Ok(false), "the player lives until then");
    }

    fn known(verifier: &Verifier<6, 2>, tick: usize) -> Vec<(Vec<usize>, usize)> {
        let layers = verifier.known[tick].iter().map(|known| known.cover.layer());
        layers.map(|layer| (verifier.threats(layer.mask).collect(), layer.states())).collect()
    }

    #[test]
    fn backward_pass_with_few_checkpoints_keeps_the_same_states() {
        let (mut all, mut few) = (verifier(), verifier());
        few.checkpoint_bytes_max = 1;
        for verifier in [&mut all, &mut few] {
            sweep(verifier, &[0, 2], 100, false);
        }
        assert!(all.board.steps() < few.board.steps(), "layers are repeated");
        for tick in 1..=100 {
            assert_eq!(all.target.allowed[tick], few.target.allowed[tick], "tick {tick}");
            assert_eq!(known(&all, tick), known(&few, tick), "tick {tick}");
        }
        assert_eq!(known(&all, 101), [], "nothing is known beyond");
    }

    #[test]
    fn known_sets_over_different_threats_are_kept_until_one_covers_them() {
        let mut verifier = verifier();
        let threats = |verifier: &Verifier<6, 2>| -> Vec<Vec<usize>> {
            known(verifier, 61).into_iter().map(|(threats, _)| threats).collect()
        };
        sweep(&mut verifier, &[0], 81, false);
        sweep(&mut verifier, &[0, 1], 81, false);
        assert_eq!(threats(&verifier), [[0, 1]], "in place of the shark alone");
        sweep(&mut verifier, &[0, 2], 81, false);
        assert_eq!(threats(&verifier), [[0, 1], [0, 2]]);
        let known: Vec<u16> = (31..=71).collect();
        let joins = Joins { joins: &[(31, 0), (31, 1), (31, 2)], counts_draws: false, known: &known };
        assert_eq!(verifier.run(31, 71, joins), Ok(false));
        assert_eq!(threats(&verifier), [[0, 1, 2]], "both are joined");
        sweep(&mut verifier, &[0, 2], 81, false);
        assert_eq!(threats(&verifier), [[0, 1, 2]], "a set over fewer threats is not added");
    }

    #[test]
    fn known_sets_with_counted_draws_replace_sets_without() {
        let mut verifier = verifier();
        let is_counted = |verifier: &Verifier<6, 2>| {
            let (ids, _) = verifier.known[41][0].cover.layer().groups[0];
            Pursuer::<6>::is_counted(ids.id(verifier.slots[3]))
        };
        sweep(&mut verifier, &[3], 61, false);
        assert!(!is_counted(&verifier));
        sweep(&mut verifier, &[3], 61, true);
        assert!(is_counted(&verifier));
        let counted = known(&verifier, 41);
        sweep(&mut verifier, &[3], 61, false);
        assert!(is_counted(&verifier), "they are not replaced");
        assert_eq!(known(&verifier, 41), counted);
    }

    #[test]
    fn threats_that_have_not_seen_the_player_are_at_their_spawns() {
        let layout = Layout::parse("P..S..").expect("a drawing");
        let period_ticks = PeriodTicks { lazy: 1, ..PeriodTicks::default() };
        for (shark_view, expected) in [(View::Stale, vec![3]), (View::Present, vec![2, 4])] {
            let rules = Rules { period_ticks, shark_view, ..Rules::NO_JUMP };
            let board = Board::<6>::new(&layout, &rules, u64::MAX).expect("a map");
            let mut shark = Pursuer::new(Threat::new(layout.threats[0], &rules), 3).expect("it sees the player");
            let ids = shark.possible_ids(&board, 2).expect("enough steps");
            let mut tiles: Vec<u16> = ids.into_iter().map(|id| shark.tile(id)).collect();
            tiles.sort_unstable();
            assert_eq!(tiles, expected, "{shark_view:?}");
        }
    }

    #[test]
    fn owl_whose_memory_matters_joins_only_from_a_known_set() {
        let mut verifier = verifier();
        let remembers = (21..60).find(|&tick| verifier.board.owl_moves[tick] > 0);
        let tick = remembers.expect("it looks in ten ticks of sixty");
        let joins = [(tick as u16, 1)];
        let joins = Joins { joins: &joins, counts_draws: false, known: &[] };
        let error = verifier.run(tick, 70, joins).expect_err("it can remember anything");
        assert!(error.contains("an owl cannot join in tick"), "{error}");
        sweep(&mut verifier, &[1], 80, false);
        assert_eq!(verifier.run(tick, 70, joins), Ok(false));
    }
}
