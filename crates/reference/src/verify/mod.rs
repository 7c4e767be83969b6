//! Checks certificates: replays the line in the literal model, and repeats every sweep of the proof
//! with the literal threats.
//!
//! What a sweep claims, and why repeating it is a proof:
//!
//! - A *relaxation* keeps some of the threats. Bulls and goldfish do not see the player, so all of
//!   them are always kept. A game that survives a tick survives it in every relaxation.
//! - For a target tick, the verifier *knows*, for some ticks, sets of states of relaxations. Each
//!   holds every state of a game that reaches the target, and so does its projection on fewer of
//!   its threats. For every tick, it knows the tiles where the player can be.
//! - A sweep begins at a tick with the tiles of the player. It steps its states with the literal
//!   threats, and drops what is caught or known not to reach the target: each known set of a tick
//!   is compared by the threats that it has in common with the sweep. A threat joins in the states
//!   in which it is known together with others, or else in every state that it can ever have; in
//!   the first tick, in the one that it has. So the layers hold every state of a game that reaches
//!   the target. From its last layer the sweep goes back and drops the states that do not lead on;
//!   what is left is known from then on. Where it covers fewer threats than a known set, it
//!   restricts that one; it replaces those that cover fewer.
//! - If a layer is empty before the target, no game reaches the target. An exhaustive search is a
//!   sweep from the first tick that all threats join there.
//!
//! A layer holds, for each combination of the threats' numbers, the tiles where the player can be:
//! a step splits these by what the threats do, each as the literal threat does it when it sees the
//! player on one of the tiles. Layers are too large to keep all of them for the way back of a long
//! sweep: some are kept, and the others repeated.
//!
//! A hawk joins with every memory that it can have on its tile. While it does not see the player, a
//! key holds the memories that agree with the tiles it has taken since, and a state stands for
//! every state that differs from it only in which of these memories it is. A hawk's random pick
//! counts as any of its posts, unless a sweep from the first tick counts its draws; what is known
//! from such a sweep keeps their number. What an owl remembers is replaced by the tile to which it
//! leads before the owl looks again. Everything else about the threats is as on the server. Since
//! each step is repeated, a certificate cannot make a false claim: a wrong one ends with states
//! left over.

mod board;
mod layer;
mod pursuer;
mod target;
mod tiles;

use getaway::game::{Action, Layout, Style, Tile};
use getaway::planner::{Certificate, ProofEnd, Step};
use thiserror::Error;

use super::{Game, Threat};
use board::{Board, sees_player};
use layer::{Combination, Cover, Hawk, Layer, Merger, Slot};
use pursuer::{DRAW_BITS, KEY_BITS, Pursuer};
use target::{Path, Paths, Target};
use tiles::Tiles;

const LAST_TICK: usize = 2000;
/// Interval in ticks at which a layer becomes known; layers with few states always do.
const KNOWN_TICKS: usize = 5;
const KNOWN_STATES: usize = 512;
/// Maximum number of combinations in a layer; a certificate that needs more is refused.
const COMBINATIONS_MAX: usize = 40_000_000;
/// Maximum number of open tiles.
const TILES_MAX: usize = 128 * 64;
/// Bytes of layers that wait for the way back.
const TRAIL_BYTES: usize = 1_000_000_000;

/// Why a certificate is refused.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("line {line}: {message}")]
pub struct VerifyError {
    /// The line of the certificate, from 1.
    pub line: usize,
    /// What is wrong there.
    pub message: String,
}

impl VerifyError {
    fn new(line: usize, message: impl Into<String>) -> Self {
        Self { line, message: message.into() }
    }
}

/// Checks a certificate for a map.
///
/// # Errors
/// When the line does not do what it says, or the proof does not prove the bound.
pub fn verify(certificate: &Certificate, layout: &Layout) -> Result<(), VerifyError> {
    verify_within(certificate, layout, u64::MAX)
}

/// Checks a certificate for a map, but steps at most about this many states.
///
/// # Errors
/// When the line does not do what it says, or the proof does not prove the bound, or not within the
/// limit.
pub fn verify_within(certificate: &Certificate, layout: &Layout, states_max: u64) -> Result<(), VerifyError> {
    certificate.rules.validate().map_err(|error| VerifyError::new(1, error.to_string()))?;
    if layout.tile(layout.player) != Tile::Open || layout.threats.iter().any(|spawn| !layout.is_open(spawn.position)) {
        return Err(VerifyError::new(1, "the map's player or a threat starts in a wall"));
    }
    replay(certificate, layout).map_err(|message| VerifyError::new(1, message))?;
    let last_line = certificate.steps.len() + 2;
    let bound_tick = usize::from(certificate.bound_tick);
    if certificate.end == ProofEnd::None {
        let is_whole = bound_tick == LAST_TICK + 1;
        return if is_whole { Ok(()) } else { Err(VerifyError::new(last_line, "a bound without a proof")) };
    }
    if !(2..=LAST_TICK).contains(&bound_tick) {
        return Err(VerifyError::new(1, format!("bound_tick {bound_tick}: expected 2 to {LAST_TICK}")));
    }
    // A search is over all threats, which may need wide combinations. Each size of a set of tiles
    // is compiled separately.
    let bits = bits(layout).iter().sum::<u32>();
    let is_wide = certificate.end == ProofEnd::Search && bits > Combination::<2>::BITS;
    let tiles = layout.open_positions().count();
    let check = match (is_wide, tiles.div_ceil(64)) {
        (false, 0..=2) => check::<2, 2>,
        (false, 3) => check::<3, 2>,
        (false, 4..=6) => check::<6, 2>,
        (false, 7..=16) => check::<16, 2>,
        (false, _) => check::<128, 2>,
        (true, 0..=6) => check::<6, 32>,
        (true, 7..=16) => check::<16, 32>,
        (true, _) => check::<128, 32>,
    };
    if tiles > TILES_MAX {
        return Err(VerifyError::new(1, format!("{tiles} open tiles: expected at most {TILES_MAX}")));
    }
    check(certificate, layout, states_max)
}

/// Plays the line.
fn replay(certificate: &Certificate, layout: &Layout) -> Result<(), String> {
    let mut game = Game::new(layout, &certificate.rules);
    for (index, &player_move) in certificate.moves.iter().enumerate() {
        if game.over() {
            return Err(format!("the game is over before move {}", index + 1));
        }
        let action: Vec<Action> = player_move.direction().map(Action::Move).into_iter().collect();
        game.step(&action);
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

/// Checks the proof, with room for these numbers of words in a set of tiles and in a combination.
fn check<const N: usize, const W: usize>(
    certificate: &Certificate,
    layout: &Layout,
    states_max: u64,
) -> Result<(), VerifyError> {
    let last_line = certificate.steps.len() + 2;
    let bound_tick = usize::from(certificate.bound_tick);
    let mut verifier = Verifier::<N, W>::new(certificate, layout, states_max);
    // The literal threats may leave fewer states than the prover's: an earlier sweep may be enough,
    // and one for an earlier target, which then proves more.
    let mut is_proven = false;
    for (index, step) in certificate.steps.iter().enumerate() {
        // No sweep follows one that must run out of states, so its layers are not kept.
        let is_last = index + 1 == certificate.steps.len() && certificate.end == ProofEnd::Empty;
        let ran_out = verifier.sweep(step, is_last).map_err(|message| VerifyError::new(index + 2, message))?;
        is_proven |= ran_out.is_some_and(|tick| tick <= bound_tick);
        verifier.check_keys().map_err(|message| VerifyError::new(index + 2, message))?;
    }
    match certificate.end {
        ProofEnd::Empty if is_proven => Ok(()),
        ProofEnd::Empty => Err(VerifyError::new(last_line, format!("no sweep proves a bound of {bound_tick}"))),
        _ => {
            let searched = verifier.search(bound_tick).and_then(|()| verifier.check_keys());
            searched.map_err(|message| VerifyError::new(last_line, message))
        }
    }
}

/// By threat of the map, the bits of its number: deer have four times as many keys as sharks, owls
/// a memory.
fn bits(layout: &Layout) -> Vec<u32> {
    let tiles = layout.open_positions().count();
    let bits_of = |keys: usize| usize::BITS - keys.leading_zeros();
    let bits_of_style = |style: Style| match style {
        Style::Bull | Style::Goldfish => 0,
        Style::Shark => bits_of(tiles),
        Style::Deer => bits_of(4 * tiles),
        Style::Owl => bits_of(tiles * (tiles + 1)),
        Style::Hawk => KEY_BITS + DRAW_BITS,
    };
    layout.threats.iter().map(|spawn| bits_of_style(spawn.style)).collect()
}

/// What is known about a tick: every state of the game that reaches the target has one of these.
struct Known<const N: usize, const W: usize> {
    cover: Cover<N, W>,
    /// The bits of its threats, without those for the draws of hawks that are not counted.
    detail: Combination<W>,
    /// Its projection on fewer threats that was used last.
    projection: Option<Cover<N, W>>,
}

/// Threats that join a sweep, each in a tick.
#[derive(Clone, Copy)]
struct Joins<'a> {
    joins: &'a [(u16, u16)],
    /// Whether the draws of hawks that join in the first tick are counted.
    counts_draws: bool,
}

/// Layers of a sweep that wait for the way back, in equal distances.
struct Trail<const N: usize, const W: usize> {
    layers: Vec<(usize, Layer<N, W>)>,
    distance: usize,
    bytes_max: usize,
}

impl<const N: usize, const W: usize> Trail<N, W> {
    fn new(bytes_max: usize) -> Self {
        Self { layers: Vec::new(), distance: 1, bytes_max }
    }

    /// Adds the layer of the next tick, unless it is between two that are kept.
    fn push(&mut self, tick: usize, layer: Layer<N, W>) {
        let from = self.layers.first().map_or(tick, |(from, _)| *from);
        if !(tick - from).is_multiple_of(self.distance) {
            return;
        }
        self.layers.push((tick, layer));
        // With at least one layer behind the first, each repetition is shorter than the last.
        let bytes = |layers: &[(usize, Layer<N, W>)]| layers.iter().map(|(_, layer)| layer.bytes()).sum::<usize>();
        while self.layers.len() > 2 && bytes(&self.layers) > self.bytes_max {
            self.distance *= 2;
            let distance = self.distance;
            self.layers.retain(|(tick, _)| (tick - from).is_multiple_of(distance));
        }
    }
}

struct Verifier<const N: usize, const W: usize> {
    board: Board<N>,
    /// By threat of the map: those that see the player, and where their numbers are.
    pursuers: Vec<Option<Pursuer<N>>>,
    slots: Vec<Slot>,
    target: Target<N>,
    /// By tick, what is known over different threats: none of these sets of threats is part of
    /// another.
    known: Vec<Vec<Known<N, W>>>,
    /// States that may still be stepped.
    states_left: u64,
    /// Bytes of layers that wait for the way back; beyond them, only some are kept and the others
    /// repeated.
    trail_bytes: usize,
    merger: Merger,
    paths: Paths<N, W>,
}

impl<const N: usize, const W: usize> Verifier<N, W> {
    fn new(certificate: &Certificate, layout: &Layout, states_max: u64) -> Self {
        let board = Board::new(layout, &certificate.rules);
        let pursuer = |threat: Threat| sees_player(threat.style).then(|| Pursuer::new(threat));
        let threats = layout.threats.iter().map(|&spawn| Threat::new(spawn, &certificate.rules));
        let pursuers: Vec<Option<Pursuer<N>>> = threats.map(pursuer).collect();
        // Threats that join come first in a combination, which may not have room for all.
        let joined = |threat: usize| {
            certificate.steps.iter().flat_map(|step| &step.joins).any(|&(_, other)| usize::from(other) == threat)
        };
        let mut order: Vec<usize> = (0..pursuers.len()).collect();
        order.sort_by_key(|&threat| !joined(threat));
        let bits = bits(layout);
        let row = Slot::row(order.iter().map(|&threat| bits[threat]));
        let mut slots = row.clone();
        order.iter().zip(row).for_each(|(&threat, slot)| slots[threat] = slot);
        Self {
            pursuers,
            slots,
            target: Target::none(),
            known: (0..=LAST_TICK).map(|_| Vec::new()).collect(),
            states_left: states_max,
            trail_bytes: TRAIL_BYTES,
            merger: Merger::default(),
            paths: Paths::default(),
            board,
        }
    }

    /// Switches to a target; the knowledge about earlier targets holds for later ones.
    fn set_target(&mut self, tick: usize) {
        if tick == self.target.tick {
            return;
        }
        let earlier = (tick > self.target.tick).then_some(&self.target);
        if earlier.is_none() {
            self.known.iter_mut().for_each(Vec::clear);
        }
        self.target = Target::new(&self.board, &mut self.pursuers, tick, earlier);
    }

    /// Counts states that are stepped.
    fn spend(&mut self, states: usize) -> Result<(), String> {
        let left = self.states_left.checked_sub(states as u64);
        self.states_left = left.ok_or_else(|| "more states than the limit allows".to_owned())?;
        Ok(())
    }

    /// Whether the numbers of keys fit into a combination.
    fn check_keys(&self) -> Result<(), String> {
        let is_over = self.pursuers.iter().flatten().any(Pursuer::has_too_many_keys);
        if is_over { Err(format!("a threat has more than {} keys", 1 << KEY_BITS)) } else { Ok(()) }
    }

    /// The bits of a threat.
    fn mask(&self, threat: usize) -> Combination<W> {
        Combination::mask([self.slots[threat]])
    }

    /// The threats whose bits are in a mask.
    fn threats(&self, mask: Combination<W>) -> impl Iterator<Item = usize> {
        let sees = (0..self.pursuers.len()).filter(|&threat| self.pursuers[threat].is_some());
        sees.filter(move |&threat| {
            self.slots[threat].end() <= Combination::<W>::BITS && self.mask(threat).is_within(&mask)
        })
    }

    /// The hawks whose bits are in a mask.
    fn hawks(&self, mask: Combination<W>) -> Vec<Hawk> {
        let is_hawk = |&threat: &usize| self.pursuers[threat].as_ref().is_some_and(Pursuer::is_hawk);
        self.threats(mask).filter(is_hawk).map(|threat| Hawk { threat, slot: self.slots[threat] }).collect()
    }

    /// The bits of a layer's threats, without those for the draws of hawks that are not counted.
    fn detail(&self, layer: &Layer<N, W>) -> Combination<W> {
        self.hawks(layer.mask).into_iter().fold(layer.mask, |detail, Hawk { slot, .. }| {
            let is_counted = layer.groups.iter().all(|(numbers, _)| Pursuer::<N>::is_counted(numbers.number(slot)));
            let draws = Combination::mask([slot.upper(DRAW_BITS)]);
            if is_counted { detail } else { detail.without(&draws) }
        })
    }

    /// A layer for lookups by the numbers of its threats in a mask.
    fn cover_by(&self, layer: Layer<N, W>, by: Combination<W>) -> Cover<N, W> {
        Cover::new(layer, by, self.hawks(by), &self.pursuers)
    }

    /// A layer for lookups by all of its threats.
    fn cover(&self, layer: Layer<N, W>) -> Cover<N, W> {
        let by = layer.mask;
        self.cover_by(layer, by)
    }

    /// Repeats a sweep. Returns its target if it runs out of states.
    fn sweep(&mut self, step: &Step, is_last: bool) -> Result<Option<usize>, String> {
        let (from, until) = (usize::from(step.from_tick), usize::from(step.until_tick));
        let target_tick = usize::from(step.target_tick);
        if !(1..=until).contains(&from) || until > target_tick || !(2..=LAST_TICK).contains(&target_tick) {
            return Err(format!(
                "ticks {from}, {until}, {target_tick}: expected from <= until <= target <= {LAST_TICK}"
            ));
        }
        self.set_target(target_tick);
        let joins = Joins { joins: &step.joins, counts_draws: step.counts_draws };
        self.run(from, until, joins, is_last).map(|ran_out| ran_out.then_some(target_tick))
    }

    /// Steps from a tick until another one, and back unless it is the last sweep. Returns whether
    /// it runs out of states.
    fn run(&mut self, from: usize, until: usize, joins: Joins<'_>, is_last: bool) -> Result<bool, String> {
        let mut trail = Trail::new(self.trail_bytes);
        let mut layer = Layer::players(self.target.allowed[from]);
        self.prepare(from, joins, &mut layer)?;
        for tick in from..until {
            if layer.groups.is_empty() {
                break;
            }
            let next = self.forwards(tick, &layer)?;
            let before = std::mem::replace(&mut layer, next);
            if !is_last {
                trail.push(tick, before);
            }
            self.prepare(tick + 1, joins, &mut layer)?;
        }
        if layer.groups.is_empty() {
            return Ok(true);
        }
        if !is_last {
            self.go_back(until, layer, trail.layers, joins)?;
        }
        Ok(false)
    }

    /// Searches the whole game, picks included: a sweep that all threats join in the first tick.
    fn search(&mut self, target_tick: usize) -> Result<(), String> {
        self.set_target(target_tick);
        let threats = (0..self.pursuers.len()).filter(|&threat| self.pursuers[threat].is_some());
        let joins: Vec<(u16, u16)> = threats.map(|threat| (1, threat as u16)).collect();
        let joins = Joins { joins: &joins, counts_draws: true };
        let mut layer = Layer::players(self.target.allowed[1]);
        self.prepare(1, joins, &mut layer)?;
        for tick in 1..target_tick {
            layer = self.forwards(tick, &layer)?;
            self.prepare(tick + 1, joins, &mut layer)?;
            if layer.groups.is_empty() {
                return Ok(());
            }
        }
        Err(format!("the search reaches tick {target_tick} with {} states", layer.states()))
    }

    /// Applies what is known about a tick, and lets threats join.
    fn prepare(&mut self, tick: usize, joins: Joins<'_>, layer: &mut Layer<N, W>) -> Result<(), String> {
        self.narrow(tick, layer);
        for &(_, threat) in joins.joins.iter().filter(|(at, _)| usize::from(*at) == tick) {
            self.join(tick, usize::from(threat), joins.counts_draws, layer)?;
            self.narrow(tick, layer);
        }
        Ok(())
    }

    /// Applies the known states of a tick, each set by the threats that it has in common with the
    /// layer.
    fn narrow(&mut self, tick: usize, layer: &mut Layer<N, W>) {
        let mut known = std::mem::take(&mut self.known[tick]);
        for known in &mut known {
            let own = known.cover.layer();
            let common = own.mask.and(&layer.mask);
            if common != own.mask && known.projection.as_ref().is_none_or(|other| other.layer().mask != common) {
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
        layer.retain(|numbers, tiles| {
            covers.iter().fold(tiles.and(&allowed), |tiles, cover| {
                if tiles.is_empty() { tiles } else { tiles.and(&cover.tiles(numbers, &self.pursuers)) }
            })
        });
        self.known[tick] = known;
    }

    /// Lets a threat join: in the states in which it is known together with most of the others, or
    /// in every state that it can have.
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
        let numbers = if tick == 1 {
            let first = pursuer.first(&self.board);
            let is_counting = pursuer.is_hawk() && counts_draws;
            vec![if is_counting { Pursuer::<N>::begin_counting(first) } else { first }]
        } else {
            let known = self.known[tick].iter().filter(|known| mask.is_within(&known.cover.layer().mask));
            let use_of = |known: &&Known<N, W>| {
                // A hawk whose draws are counted is known exactly.
                let is_exact = mask.is_within(&known.detail);
                (is_exact, self.threats(known.cover.layer().mask.and(&layer.mask)).count())
            };
            if let Some(known) = known.max_by_key(use_of) {
                let common = known.cover.layer().mask.and(&layer.mask);
                let both = common.or(&mask);
                let known = known.cover.layer().project(both, &mut self.merger);
                return self.join_known(tick, threat, self.cover_by(known, common), layer);
            }
            let pursuer = self.pursuers[threat].as_mut().expect("it sees the player");
            let numbers = pursuer.anywhere(&self.board, tick);
            numbers.ok_or_else(|| {
                format!("threat {threat} is an owl: it cannot join in tick {tick}, in which it remembers")
            })?
        };
        if numbers.len() * layer.groups.len() > COMBINATIONS_MAX {
            return Err(format!("threat {threat} makes more than {COMBINATIONS_MAX} combinations in tick {tick}"));
        }
        self.spend(numbers.len() * layer.states() / 8)?;
        let pursuer = self.pursuers[threat].as_ref().expect("it sees the player");
        let lives = |&number: &u32| (number, self.target.lives(tick, threat, pursuer.tile(number)));
        let numbers: Vec<(u32, Tiles<N>)> = numbers.iter().map(lives).collect();
        let mut groups = Vec::new();
        for (others, tiles) in &layer.groups {
            let wide = numbers.iter().map(|(number, lives)| (others.with(slot, *number), tiles.and(lives)));
            groups.extend(wide.filter(|(_, tiles)| !tiles.is_empty()));
        }
        *layer = Layer { mask: layer.mask.or(&mask), groups };
        Ok(())
    }

    /// Lets a threat join in the states in which it is known.
    fn join_known(
        &mut self,
        tick: usize,
        threat: usize,
        known: Cover<N, W>,
        layer: &mut Layer<N, W>,
    ) -> Result<(), String> {
        let slot = self.slots[threat];
        let mut groups = Vec::new();
        self.merger.begin(layer.groups.len());
        for (numbers, tiles) in &layer.groups {
            for (other, lives) in known.matches(numbers, &self.pursuers) {
                let tiles = tiles.and(lives);
                if !tiles.is_empty() {
                    self.merger.add(numbers.with(slot, other.number(slot)), tiles, &mut groups);
                }
            }
            if groups.len() > COMBINATIONS_MAX {
                return Err(format!("threat {threat} makes more than {COMBINATIONS_MAX} combinations in tick {tick}"));
            }
        }
        *layer = Layer { mask: layer.mask.or(&known.layer().mask), groups };
        self.spend(layer.states())
    }

    /// The layer after another one: every state that follows and may reach the target.
    fn forwards(&mut self, tick: usize, layer: &Layer<N, W>) -> Result<Layer<N, W>, String> {
        self.spend(2 * layer.states())?;
        let threats: Vec<usize> = self.threats(layer.mask).collect();
        let moment = self.target.moment(&self.board, &self.pursuers, &self.slots, tick, &threats);
        let mut groups = Vec::new();
        self.merger.begin(layer.groups.len());
        for (numbers, tiles) in &layer.groups {
            self.paths.find(&moment, &mut self.pursuers, numbers, tiles);
            for path in &self.paths.found {
                self.merger.add(path.numbers, path.to, &mut groups);
            }
            if groups.len() > COMBINATIONS_MAX {
                return Err(format!("more than {COMBINATIONS_MAX} combinations in tick {tick}"));
            }
        }
        Ok(Layer { mask: layer.mask, groups })
    }

    /// Goes back from a layer, drops the states of each layer that do not lead into the next, and
    /// keeps what is left. Between the layers of the trail, the others are repeated.
    fn go_back(
        &mut self,
        until: usize,
        layer: Layer<N, W>,
        mut trail: Vec<(usize, Layer<N, W>)>,
        joins: Joins<'_>,
    ) -> Result<(), String> {
        let (mut after_tick, mut after) = (until, self.cover(layer));
        while let Some((tick, mut layer)) = trail.pop() {
            if tick + 1 == after_tick {
                (after_tick, after) = (tick, self.trim(tick, layer, after));
                continue;
            }
            let mut repeated = Trail::new(self.trail_bytes);
            for tick in tick..after_tick - 1 {
                let next = self.forwards(tick, &layer)?;
                repeated.push(tick, std::mem::replace(&mut layer, next));
                self.prepare(tick + 1, joins, &mut layer)?;
            }
            repeated.push(after_tick - 1, layer);
            trail.append(&mut repeated.layers);
        }
        self.note(after_tick, after);
        Ok(())
    }

    /// The states of a layer that lead into the layer after it, which is known from then on.
    fn trim(&mut self, tick: usize, mut layer: Layer<N, W>, after: Cover<N, W>) -> Cover<N, W> {
        let (mut after, mut is_noted) = (after, false);
        if after.layer().mask != layer.mask {
            // Threats that have joined between the two are left out again.
            let narrow = after.layer().project(layer.mask, &mut self.merger);
            let narrow = self.cover(narrow);
            is_noted = self.note(tick + 1, std::mem::replace(&mut after, narrow));
        }
        let threats: Vec<usize> = self.threats(layer.mask).collect();
        let moment = self.target.moment(&self.board, &self.pursuers, &self.slots, tick, &threats);
        layer.retain(|numbers, tiles| {
            self.paths.find(&moment, &mut self.pursuers, numbers, &tiles);
            self.paths.found.iter().fold(Tiles::EMPTY, |lives, Path { numbers, from, to }| {
                let to = to.and(&after.tiles(numbers, &self.pursuers));
                if to.is_empty() { lives } else { lives.or(&self.board.reach(&to).and(from)) }
            })
        });
        if !is_noted {
            self.note(tick + 1, after);
        }
        self.cover(layer)
    }

    /// Records the known states of a tick, in place of those over fewer threats; if some over more
    /// threats are known, these are restricted. Counted draws are more than others. Returns whether
    /// that was done.
    fn note(&mut self, tick: usize, cover: Cover<N, W>) -> bool {
        let allowed = &mut self.target.allowed[tick];
        *allowed = allowed.and(&cover.layer().tiles());
        if tick % KNOWN_TICKS != 1 && cover.layer().states() >= KNOWN_STATES {
            return false;
        }
        let detail = self.detail(cover.layer());
        let known = std::mem::take(&mut self.known[tick]);
        let kept = known.into_iter().filter(|known| !known.detail.is_within(&detail));
        let mut known: Vec<Known<N, W>> = kept.collect();
        let mut is_covered = false;
        for known in known.iter_mut().filter(|known| detail.is_within(&known.detail)) {
            is_covered = true;
            let mut layer = known.cover.layer().clone();
            if layer.retain(|numbers, _| cover.tiles(numbers, &self.pursuers)) {
                (known.cover, known.projection) = (self.cover(layer), None);
            }
        }
        if !is_covered {
            known.push(Known { cover, detail, projection: None });
        }
        self.known[tick] = known;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use getaway::game::Rules;
    use getaway::map::{GeneratorKind, GeneratorOptions, generate_nth};

    const TARGET_TICK: usize = 200;

    /// A verifier for a map with a shark, an owl, a deer and a hawk, in this order.
    fn verifier() -> Verifier<3, 2> {
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
        let mut verifier = Verifier::new(&certificate, &layout, u64::MAX);
        verifier.set_target(TARGET_TICK);
        verifier
    }

    /// Runs a sweep from tick 1 until another one, which these threats join at once.
    fn sweep(verifier: &mut Verifier<3, 2>, threats: &[u16], until: usize, counts_draws: bool) {
        let joins: Vec<(u16, u16)> = threats.iter().map(|&threat| (1, threat)).collect();
        let joins = Joins { joins: &joins, counts_draws };
        assert_eq!(verifier.run(1, until, joins, false), Ok(false), "the player lives until then");
    }

    /// By known set of a tick, its threats and the number of its states.
    fn known(verifier: &Verifier<3, 2>, tick: usize) -> Vec<(Vec<usize>, usize)> {
        let layers = verifier.known[tick].iter().map(|known| known.cover.layer());
        layers.map(|layer| (verifier.threats(layer.mask).collect(), layer.states())).collect()
    }

    #[test]
    fn way_back_with_few_layers_leaves_the_same_states() {
        let (mut all, mut few) = (verifier(), verifier());
        few.trail_bytes = 1;
        for verifier in [&mut all, &mut few] {
            sweep(verifier, &[0, 2], 100, false);
        }
        assert!(all.states_left > few.states_left, "layers are repeated");
        for tick in 1..=100 {
            assert_eq!(all.target.allowed[tick], few.target.allowed[tick], "tick {tick}");
            assert_eq!(known(&all, tick), known(&few, tick), "tick {tick}");
        }
        assert_eq!(known(&all, 101), [], "nothing is known beyond");
    }

    #[test]
    fn known_sets_over_different_threats_are_kept_until_one_covers_them() {
        let mut verifier = verifier();
        let threats = |verifier: &Verifier<3, 2>| -> Vec<Vec<usize>> {
            known(verifier, 61).into_iter().map(|(threats, _)| threats).collect()
        };
        sweep(&mut verifier, &[0], 81, false);
        sweep(&mut verifier, &[0, 1], 81, false);
        assert_eq!(threats(&verifier), [[0, 1]], "in place of the shark alone");
        sweep(&mut verifier, &[0, 2], 81, false);
        assert_eq!(threats(&verifier), [[0, 1], [0, 2]]);
        let joins = Joins { joins: &[(31, 0), (31, 1), (31, 2)], counts_draws: false };
        assert_eq!(verifier.run(31, 71, joins, false), Ok(false));
        assert_eq!(threats(&verifier), [[0, 1, 2]], "both are joined");
        sweep(&mut verifier, &[0, 2], 81, false);
        assert_eq!(threats(&verifier), [[0, 1, 2]], "a set over fewer threats is not added");
    }

    #[test]
    fn counted_draws_are_more_than_others() {
        let mut verifier = verifier();
        let is_counted = |verifier: &Verifier<3, 2>| {
            let (numbers, _) = verifier.known[41][0].cover.layer().groups[0];
            Pursuer::<3>::is_counted(numbers.number(verifier.slots[3]))
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
    fn owl_joins_while_it_remembers_if_it_is_known() {
        let mut verifier = verifier();
        let remembers = (21..60).find(|&tick| tick % KNOWN_TICKS == 1 && verifier.board.owl_moves[tick] > 0);
        let tick = remembers.expect("it looks in ten ticks of sixty");
        let joins = [(tick as u16, 1)];
        let joins = Joins { joins: &joins, counts_draws: false };
        let error = verifier.run(tick, 70, joins, false).expect_err("it can remember anything");
        assert!(error.contains("it cannot join in tick"), "{error}");
        sweep(&mut verifier, &[1], 80, false);
        assert_eq!(verifier.run(tick, 70, joins, false), Ok(false));
    }
}
