//! Checks certificates: replays the line in the literal model, and repeats every sweep of the proof
//! with the literal threats, state by state.
//!
//! What a sweep claims, and why repeating it is a proof:
//!
//! - A *relaxation* keeps some of the threats. Bulls and goldfish do not see the player, so all of
//!   them are always kept. A game that survives a tick survives it in every relaxation.
//! - For a target tick, the verifier *knows*, for some ticks, a set of states of a relaxation that
//!   holds every state of a game that reaches the target, and for every tick, the tiles where the
//!   player can be.
//! - A sweep begins at a tick with the states that are known there, or with all. It steps them with
//!   the literal threats, drops what is caught or known not to reach the target, and lets threats
//!   join in every state that they can ever have. So its layers hold every state of a game that
//!   reaches the target. From its last layer it goes back and drops the states that do not lead on;
//!   what is left is known from then on.
//! - If a layer is empty before the target, no game reaches the target.
//!
//! A hawk joins with every memory that it can have on its tile. While it does not see the player, a
//! key holds the memories that agree with the tiles it has taken since, and a state stands for
//! every state that differs from it only in which of these memories it is. A hawk's random pick
//! counts as any of its posts, unless a sweep from the first tick counts its draws. What an owl
//! remembers is replaced by the tile to which it leads before the owl looks again. Everything else
//! about the threats is as on the server. Since each step is repeated, a certificate cannot make a
//! false claim: a wrong one ends with states left over.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};
use std::rc::Rc;

use getaway::game::{Action, Direction, Layout, Move, Position, Rules, Style, Tile, View};
use getaway::planner::{Certificate, ProofEnd, Step};
use thiserror::Error;

use super::random::pick;
use super::sight::line_of_sight;
use super::ways::{Surveyed, Ways};
use super::{Game, Memory, Threat};

const LAST_TICK: usize = 2000;
/// Interval in ticks at which a layer becomes known; layers with few states always do.
const KNOWN_TICKS: usize = 5;
const KNOWN_STATES: usize = 512;
/// Maximum number of states in a layer; a certificate that needs more is refused.
const STATES_MAX: usize = 40_000_000;

/// Why a certificate is refused.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("line {line}: {message}")]
pub struct VerifyError {
    /// The line of the certificate, from 1.
    pub line: usize,
    /// What is wrong there.
    pub message: String,
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
    let refuse = |line: usize, message: String| VerifyError { line, message };
    certificate.rules.validate().map_err(|error| refuse(1, error.to_string()))?;
    if layout.tile(layout.player) != Tile::Open || layout.threats.iter().any(|spawn| !layout.is_open(spawn.position)) {
        return Err(refuse(1, "the map's player or a threat starts in a wall".to_owned()));
    }
    replay(certificate, layout).map_err(|message| refuse(1, message))?;
    let last_line = certificate.steps.len() + 2;
    let bound_tick = usize::from(certificate.bound_tick);
    if certificate.end == ProofEnd::None {
        let is_whole = bound_tick == LAST_TICK + 1;
        return if is_whole { Ok(()) } else { Err(refuse(last_line, "a bound without a proof".to_owned())) };
    }
    if !(2..=LAST_TICK).contains(&bound_tick) {
        return Err(refuse(1, format!("bound_tick {bound_tick}: expected 2 to {LAST_TICK}")));
    }
    let joined: Vec<usize> =
        certificate.steps.iter().flat_map(|step| &step.joins).map(|&(_, threat)| usize::from(threat)).collect();
    let mut verifier = Verifier::new(layout, &certificate.rules, &joined, states_max);
    // The literal threats may leave fewer states than the prover's: an earlier sweep may be enough.
    let mut is_proven = false;
    for (index, step) in certificate.steps.iter().enumerate() {
        // No sweep follows one that must run out of states, so its layers are not kept.
        let is_last = index + 1 == certificate.steps.len() && certificate.end == ProofEnd::Empty;
        let ran_out = verifier.sweep(step, is_last).map_err(|message| refuse(index + 2, message))?;
        is_proven |= ran_out == Some(bound_tick);
        verifier.check_keys().map_err(|message| refuse(index + 2, message))?;
    }
    match certificate.end {
        ProofEnd::Empty if is_proven => Ok(()),
        ProofEnd::Empty => Err(refuse(last_line, format!("no sweep proves a bound of {bound_tick}"))),
        _ => {
            verifier.search(bound_tick).map_err(|message| refuse(last_line, message))?;
            verifier.check_keys().map_err(|message| refuse(last_line, message))
        }
    }
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

/// A hasher for states, which are one number each.
#[derive(Default)]
struct StateHasher(u64);

impl Hasher for StateHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for part in bytes.chunks(size_of::<u64>()) {
            let mut word = [0; size_of::<u64>()];
            word[..part.len()].copy_from_slice(part);
            self.write_u64(u64::from_le_bytes(word));
        }
    }

    fn write_u64(&mut self, word: u64) {
        let product = u128::from(self.0 ^ word ^ 0x9e37_79b9_7f4a_7c15) * 0xff51_afd7_ed55_8ccd_u128;
        self.0 = product as u64 ^ (product >> 64) as u64;
    }

    fn write_u128(&mut self, word: u128) {
        self.write_u64(word as u64);
        self.write_u64((word >> 64) as u64);
    }
}

type States = HashSet<u128, BuildHasherDefault<StateHasher>>;
/// States of the whole game: the player's tile, the number of each threat that sees the player, and
/// for each of these how often it has drawn a post.
type Games = HashSet<Box<[u32]>, BuildHasherDefault<StateHasher>>;

/// What determines the future of a threat.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Key {
    position: Position,
    /// Deer: where it looks.
    direction: u8,
    remembered: Option<Position>,
    seen: Option<Position>,
    post: Option<Position>,
    idle_rounds: i32,
    /// Hawk: for a key that stands for several memories, their place in the list of these, from 1.
    several: usize,
}

/// A threat that sees the player: its keys by number, and what follows from them.
struct Pursuer {
    spawned: Threat,
    /// A clock at which owls do not look.
    blind_clock: u16,
    keys: Vec<Key>,
    tiles: Vec<u16>,
    numbers: HashMap<Key, u32>,
    /// Number -> the numbers that can follow, by the tile where it sees the player; for an owl, see
    /// [`Verifier::case`].
    next: Vec<Vec<Option<Rc<[u32]>>>>,
    /// Hawk: keys, by their numbers in ascending order, for which one key stands.
    several: Vec<Rc<[u32]>>,
    several_places: HashMap<Rc<[u32]>, usize>,
    /// By number of moves, every key that it can then have, as far as they have been needed.
    closures: Vec<Vec<u32>>,
    /// The numbers that can follow a number, wherever the player is.
    steps: HashMap<u32, Vec<u32>>,
}

/// States of some threats. A state is covered if the set contains one that may stand for the same
/// state of the game.
struct Cover {
    threats: Vec<usize>,
    states: States,
    /// The hawks among the threats, and the states by what is left of them without the hawks'
    /// memories.
    hawks: Vec<usize>,
    by_coarse: HashMap<u128, Vec<u128>, BuildHasherDefault<StateHasher>>,
}

/// A hawk's number in a state has the number of its draws above its key's number, plus one; zero if
/// they are not counted.
const KEY_BITS: u32 = 18;
const DRAW_BITS: u32 = 8;

/// The number of a hawk's key.
fn key_number(number: u32) -> u32 {
    number & ((1 << KEY_BITS) - 1)
}

struct Verifier {
    layout: Layout,
    rules: Rules,
    ways: Surveyed,
    positions: Vec<Position>,
    /// Tile -> where the player can be one tick later.
    landings: Vec<Vec<u16>>,
    start: u16,
    /// By tick: whether threats move, and whether owls that move look.
    moves: Vec<bool>,
    looks: Vec<bool>,
    /// By tick: how often owls move before they look again, and each of these numbers that occurs
    /// after a look.
    owl_moves: Vec<u16>,
    owl_moves_after_look: Vec<u16>,
    /// By tick, by tile: whether a threat stands there that does not see the player.
    taken: Vec<Vec<bool>>,
    /// By threat of the map.
    pursuers: Vec<Option<Pursuer>>,
    /// The target of the fields below.
    target_tick: usize,
    allowed: Vec<Vec<bool>>,
    /// By threat, by tick: alive pairs of the shark's tile and the player's, as `shark * tiles +
    /// player`.
    alone: Vec<Vec<Vec<bool>>>,
    known: Vec<Option<Cover>>,
    /// By threat, where its number begins in a state, and its length.
    shifts: Vec<u32>,
    bits: Vec<u32>,
    /// States that may still be stepped.
    states_left: u64,
}

/// Bits of the player's tile in a state, below those of the threats.
const PLAYER_BITS: u32 = 13;
const PLAYER_MASK: u128 = (1 << PLAYER_BITS) - 1;

impl Verifier {
    /// A verifier for sweeps that these threats join: their numbers come first in a state, which may
    /// not have room for those of all threats.
    fn new(layout: &Layout, rules: &Rules, joined: &[usize], states_max: u64) -> Self {
        let positions: Vec<Position> = layout.open_positions().collect();
        let tile_of = |position: Position| positions.binary_search(&position).ok().map(|tile| tile as u16);
        let landings = positions.iter().enumerate().map(|(tile, &position)| {
            let ways = Move::ALL.into_iter().filter_map(|player_move| {
                let next = position.towards(player_move.direction()?);
                (layout.tile(next) == Tile::Open).then(|| tile_of(next)).flatten()
            });
            ways.chain([tile as u16]).collect()
        });
        // A threat that is never able to leave its tile shows when threats move.
        let mut watch = Threat::new(
            layout
                .threats
                .first()
                .copied()
                .unwrap_or(getaway::game::Spawn { style: Style::Shark, position: layout.player }),
            rules,
        );
        let (mut moves, mut looks) = (vec![false; LAST_TICK + 2], vec![false; LAST_TICK + 2]);
        let ways = Surveyed::new(layout, rules);
        for tick in 1..=LAST_TICK {
            let clock = tick as u16 - 1;
            watch.update_by(&ways, layout, clock, layout.player);
            moves[tick] = watch.ticks_since_move == 0;
            looks[tick] = clock % rules.owl_minute_ticks < rules.owl_window_ticks;
        }
        let mut owl_moves = vec![0; LAST_TICK + 2];
        for tick in (1..=LAST_TICK).rev() {
            let is_overwritten = moves[tick] && looks[tick];
            owl_moves[tick] = if is_overwritten { 0 } else { owl_moves[tick + 1] + u16::from(moves[tick]) };
        }
        let after_looks = (1..=LAST_TICK).filter(|&tick| moves[tick] && looks[tick]).map(|tick| owl_moves[tick + 1]);
        let owl_moves_after_look = BTreeSet::from_iter(after_looks).into_iter().collect();
        let mut verifier = Self {
            layout: layout.clone(),
            rules: *rules,
            ways,
            landings: landings.collect(),
            start: tile_of(layout.player).expect("the player starts on an open tile"),
            moves,
            looks,
            owl_moves,
            owl_moves_after_look,
            taken: vec![vec![false; positions.len()]; LAST_TICK + 2],
            pursuers: Vec::new(),
            target_tick: 0,
            allowed: Vec::new(),
            alone: Vec::new(),
            known: (0..=LAST_TICK).map(|_| None).collect(),
            shifts: Vec::new(),
            bits: Vec::new(),
            states_left: states_max,
            positions,
        };
        verifier.add_threats();
        verifier.assign_bits(joined);
        verifier
    }

    fn tile(&self, position: Position) -> u16 {
        self.positions.binary_search(&position).expect("threats keep to open tiles") as u16
    }

    fn add_threats(&mut self) {
        for spawn in self.layout.threats.clone() {
            let mut threat = Threat::new(spawn, &self.rules);
            if !matches!(spawn.style, Style::Bull | Style::Goldfish) {
                self.pursuers.push(Some(Pursuer::new(threat, &self.rules)));
                continue;
            }
            self.pursuers.push(None);
            for tick in 1..=LAST_TICK + 1 {
                let tile = self.tile(threat.position);
                self.taken[tick][usize::from(tile)] = true;
                threat.update_by(&self.ways, &self.layout, tick as u16 - 1, self.layout.player);
            }
        }
    }

    /// Gives the threats their bits in a state, these first.
    fn assign_bits(&mut self, first: &[usize]) {
        // A key's bits in a state: deer have four times as many as sharks, owls a memory.
        let tiles = self.positions.len() as u128;
        let bits_of = |keys: u128| u128::BITS - keys.leading_zeros();
        let threats = &self.layout.threats;
        let bits_of_style = |style: Style| match style {
            Style::Bull | Style::Goldfish => 0,
            Style::Shark => bits_of(tiles),
            Style::Deer => bits_of(4 * tiles),
            Style::Owl => bits_of(tiles * (tiles + 1)),
            Style::Hawk => KEY_BITS + DRAW_BITS,
        };
        self.bits = threats.iter().map(|spawn| bits_of_style(spawn.style)).collect();
        self.shifts = vec![0; threats.len()];
        let mut order: Vec<usize> = (0..threats.len()).collect();
        order.sort_by_key(|threat| !first.contains(threat));
        let mut shift = PLAYER_BITS;
        for threat in order {
            self.shifts[threat] = shift;
            shift += self.bits[threat];
        }
    }

    /// Switches to a target; the knowledge about earlier targets holds for later ones.
    fn set_target(&mut self, target_tick: usize) {
        if target_tick < self.target_tick {
            self.known.iter_mut().for_each(|known| *known = None);
            self.allowed.clear();
        }
        let earlier = std::mem::take(&mut self.allowed);
        let earlier_tick = std::mem::replace(&mut self.target_tick, target_tick);
        let can_stand = |tile: usize| self.layout.tile(self.positions[tile]) == Tile::Open;
        self.allowed = self
            .taken
            .iter()
            .map(|taken| taken.iter().enumerate().map(|(tile, &taken)| can_stand(tile) && !taken).collect())
            .collect();
        for (tile, allowed) in self.allowed[1].iter_mut().enumerate() {
            *allowed &= tile == usize::from(self.start);
        }
        for tick in (1..target_tick).rev() {
            for tile in 0..self.positions.len() {
                let lives = self.landings[tile].iter().any(|&to| self.can_land(tick, to));
                self.allowed[tick][tile] &= lives;
            }
        }
        self.alone = (0..self.pursuers.len()).map(|threat| self.project(threat)).collect();
        for (tick, earlier) in earlier.iter().enumerate().take(earlier_tick + 1) {
            for (allowed, earlier) in self.allowed[tick].iter_mut().zip(earlier) {
                *allowed &= earlier;
            }
        }
    }

    /// Whether the player can move to a tile in a tick, considering only the threats that do not
    /// see it.
    fn can_land(&self, tick: usize, to: u16) -> bool {
        let to = usize::from(to);
        self.allowed[tick + 1][to] && !(self.rules.no_jump && self.taken[tick][to])
    }

    /// The pairs of a shark's tile and the player's from which the target can be reached against
    /// this shark alone; empty for other threats.
    fn project(&mut self, threat: usize) -> Vec<Vec<bool>> {
        let tiles = self.positions.len();
        if self.pursuers[threat].as_ref().is_none_or(|pursuer| pursuer.spawned.style != Style::Shark) {
            return Vec::new();
        }
        // Where the shark goes, by its tile and the player's.
        let mut steps = vec![0; tiles * tiles];
        for shark in 0..tiles {
            for player in 0..tiles {
                let mut moved = self.pursuers[threat].as_ref().expect("a shark").spawned.clone();
                (moved.position, moved.stale_player) = (self.positions[shark], self.positions[player]);
                moved.ticks_since_move = u8::MAX - 1;
                moved.update_by(&self.ways, &self.layout, 0, self.positions[player]);
                steps[shark * tiles + player] = self.tile(moved.position);
            }
        }
        let mut layers = vec![Vec::new(); self.target_tick + 1];
        layers[self.target_tick] = (0..tiles * tiles)
            .map(|pair| pair / tiles != pair % tiles && self.allowed[self.target_tick][pair % tiles])
            .collect();
        for tick in (1..self.target_tick).rev() {
            let next = &layers[tick + 1];
            let layer: Vec<bool> = (0..tiles * tiles)
                .map(|pair| {
                    let (shark, player) = (pair / tiles, pair % tiles);
                    let moved = if self.moves[tick] { usize::from(steps[pair]) } else { shark };
                    shark != player
                        && self.allowed[tick][player]
                        && self.landings[player].iter().any(|&to| {
                            let is_free = !(self.rules.no_jump && usize::from(to) == shark);
                            is_free && next[moved * tiles + usize::from(to)] && self.can_land(tick, to)
                        })
                })
                .collect();
            for player in 0..tiles {
                let lives = (0..tiles).any(|shark| layer[shark * tiles + player]);
                self.allowed[tick][player] &= lives;
            }
            layers[tick] = layer;
        }
        layers
    }

    /// The number of a threat in a state.
    fn number(&self, state: u128, threat: usize) -> u32 {
        (state >> self.shifts[threat] & ((1 << self.bits[threat]) - 1)) as u32
    }

    /// The tile of a threat in a state.
    fn place(&self, state: u128, threat: usize) -> u16 {
        self.tile_of(threat, self.number(state, threat))
    }

    /// The tile of a threat's number.
    fn tile_of(&self, threat: usize, number: u32) -> u16 {
        self.pursuers[threat].as_ref().expect("it sees the player").tiles[key_number(number) as usize]
    }

    /// Where a threat's bits end.
    fn end(&self, threat: usize) -> u32 {
        self.shifts[threat] + self.bits[threat]
    }

    /// The bits of some threats and of the player.
    fn mask(&self, threats: &[usize]) -> u128 {
        threats.iter().fold(PLAYER_MASK, |mask, &threat| mask | ((1 << self.bits[threat]) - 1) << self.shifts[threat])
    }

    /// Whether the player may stand here at the start of a tick with this threat where it is.
    fn lives(&self, tick: usize, player: u16, threat: usize, number: u32) -> bool {
        let place = self.tile_of(threat, number);
        if place == player {
            return false;
        }
        let alone = self.alone.get(threat).and_then(|layers| layers.get(tick)).filter(|layer| !layer.is_empty());
        alone.is_none_or(|layer| layer[usize::from(place) * self.positions.len() + usize::from(player)])
    }

    /// Every state that follows from a state of a relaxation and may reach the target.
    fn successors(&mut self, tick: usize, threats: &[usize], state: u128, found: &mut Vec<u128>) {
        found.clear();
        let player = (state & PLAYER_MASK) as u16;
        for index in 0..self.landings[usize::from(player)].len() {
            let to = self.landings[usize::from(player)][index];
            if !self.can_land(tick, to) {
                continue;
            }
            let is_on = |&threat: &usize| self.place(state, threat) == to;
            if self.rules.no_jump && threats.iter().any(is_on) {
                continue;
            }
            let first = found.len();
            found.push(u128::from(to));
            for &threat in threats {
                let number = self.number(state, threat);
                let numbers = self.next_counted(tick, threat, number, player, to);
                let before = found.split_off(first);
                for state in before {
                    for &next in numbers.iter() {
                        if self.lives(tick + 1, to, threat, next) {
                            found.push(state | u128::from(next) << self.shifts[threat]);
                        }
                    }
                }
            }
        }
    }

    /// The numbers that can follow a threat's number in a tick; if its draws are counted, it picks
    /// the post that it picks in the game.
    fn next_counted(&mut self, tick: usize, threat: usize, number: u32, from: u16, to: u16) -> Rc<[u32]> {
        let (key, counted) = (key_number(number), number >> KEY_BITS);
        let found = self.next_numbers(tick, threat, key, from, to);
        if counted == 0 {
            return found;
        }
        if !self.picks(threat, key, found[0]) {
            return found.iter().map(|&next| next | counted << KEY_BITS).collect();
        }
        let picked = self.picked_number(threat, counted as u16 - 1, found[0]);
        // Draws beyond what the bits can hold are not counted from here on.
        let counted = if counted + 1 < 1 << DRAW_BITS { counted + 1 } else { 0 };
        Rc::new([picked | counted << KEY_BITS])
    }

    /// The numbers of the keys that can follow a threat's key in a tick.
    fn next_numbers(&mut self, tick: usize, threat: usize, number: u32, from: u16, to: u16) -> Rc<[u32]> {
        let pursuer = self.pursuers[threat].as_mut().expect("it sees the player");
        if !self.moves[tick] {
            return Rc::new([number]);
        }
        let sees = match pursuer.view(&self.rules) {
            View::Stale => from,
            View::Present => to,
        };
        let is_owl = pursuer.spawned.style == Style::Owl;
        let case = if is_owl { self.case(tick, sees) } else { usize::from(sees) };
        let pursuer = self.pursuers[threat].as_mut().expect("it sees the player");
        if pursuer.next.len() <= number as usize {
            pursuer.next.resize(number as usize + 1, Vec::new());
        }
        let next = &mut pursuer.next[number as usize];
        if next.len() <= case {
            next.resize(case + 1, None);
        }
        if let Some(next) = &next[case] {
            return next.clone();
        }
        let clock = if self.looks[tick] { 0 } else { self.rules.owl_window_ticks };
        let context = (&self.ways, &self.layout, self.positions.as_slice());
        let moves_left = self.owl_moves[tick + 1];
        let next = pursuer.step(context, number, clock, self.positions[usize::from(sees)], moves_left);
        let next: Rc<[u32]> = next.into();
        pursuer.next[number as usize][case] = Some(next.clone());
        next
    }

    /// What an owl's step depends on in a tick: whether its memory matters afterwards if it does not
    /// look; otherwise the moves until it looks again, and the tile where it sees the player.
    fn case(&self, tick: usize, sees: u16) -> usize {
        let moves_left = self.owl_moves[tick + 1];
        if !self.looks[tick] {
            return usize::from(moves_left == 0);
        }
        let place = self.owl_moves_after_look.binary_search(&moves_left).expect("the moves after a look");
        2 + place * self.positions.len() + usize::from(sees)
    }

    /// Every number that a threat can have in a tick.
    fn numbers_at(&mut self, threat: usize, tick: usize) -> Result<Vec<u32>, String> {
        let context = (&self.ways, &self.layout, self.positions.as_slice());
        let moves_left = self.owl_moves[tick];
        let moves = self.moves[..tick].iter().filter(|moves| **moves).count();
        let pursuer = self.pursuers.get_mut(threat).and_then(Option::as_mut);
        let pursuer = pursuer.ok_or_else(|| format!("threat {threat} does not see the player or does not exist"))?;
        if tick == 1 {
            let first = pursuer.spawned.clone();
            let is_owl = first.style == Style::Owl;
            let number =
                if is_owl { pursuer.add_ahead(context, first, moves_left) } else { pursuer.add(&first, 0, context.2) };
            return Ok(vec![number]);
        }
        match pursuer.spawned.style {
            Style::Owl => {}
            Style::Hawk => return Ok(pursuer.hawks_anywhere(context, &self.rules)),
            _ => return Ok(pursuer.closure(context, moves)),
        }
        if moves_left != 0 {
            return Err(format!("threat {threat} is an owl: it cannot join in tick {tick}, in which it remembers"));
        }
        let owls = context.2.iter().map(|&position| {
            let owl = Threat { position, ..pursuer.spawned.clone() };
            pursuer.add(&owl, 0, context.2)
        });
        Ok(owls.collect())
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
        if self.target_tick != target_tick {
            self.set_target(target_tick);
        }
        let (mut threats, mut states) = match &self.known[from] {
            Some(known) if step.absorbs => (known.threats.clone(), known.states.clone()),
            _ => (Vec::new(), self.players(from).map(u128::from).collect()),
        };
        let mut layers: Vec<(Vec<usize>, States)> = Vec::new();
        let mut found = Vec::new();
        for tick in from..=until {
            self.narrow(tick, step.absorbs, &mut threats, &mut states);
            for &(_, threat) in step.joins.iter().filter(|(at, _)| usize::from(*at) == tick) {
                self.join(tick, usize::from(threat), step.counts_draws, &mut threats, &mut states)?;
            }
            self.narrow(tick, false, &mut threats, &mut states);
            if states.is_empty() {
                return Ok(Some(target_tick));
            }
            if tick == until {
                break;
            }
            self.spend(2 * states.len())?;
            let mut next = States::default();
            for &state in &states {
                self.successors(tick, &threats, state, &mut found);
                next.extend(found.iter().copied());
            }
            if next.len() > STATES_MAX {
                return Err(format!("more than {STATES_MAX} states in tick {tick}"));
            }
            let before = std::mem::replace(&mut states, next);
            if !is_last {
                layers.push((threats.clone(), before));
            }
        }
        if is_last {
            return Ok(None);
        }
        self.go_back(until, threats, states, layers);
        Ok(None)
    }

    /// The tiles where the player can be.
    fn players(&self, tick: usize) -> impl Iterator<Item = u16> + '_ {
        self.allowed[tick].iter().enumerate().filter(|(_, allowed)| **allowed).map(|(tile, _)| tile as u16)
    }

    /// Counts states that are stepped.
    fn spend(&mut self, states: usize) -> Result<(), String> {
        let left = self.states_left.checked_sub(states as u64);
        self.states_left = left.ok_or_else(|| "more states than the limit allows".to_owned())?;
        Ok(())
    }

    /// Whether the numbers of keys fit into a state.
    fn check_keys(&self) -> Result<(), String> {
        let most = self.pursuers.iter().flatten().map(|pursuer| pursuer.keys.len()).max().unwrap_or(0);
        if most > 1 << KEY_BITS { Err(format!("a threat has more than {} keys", 1 << KEY_BITS)) } else { Ok(()) }
    }

    /// A set of states of some threats.
    fn cover(&self, threats: &[usize], states: States) -> Cover {
        let is_hawk = |&threat: &usize| self.layout.threats[threat].style == Style::Hawk;
        let hawks: Vec<usize> = threats.iter().copied().filter(is_hawk).collect();
        let mut by_coarse: HashMap<u128, Vec<u128>, _> = HashMap::default();
        for &state in states.iter().filter(|_| !hawks.is_empty()) {
            by_coarse.entry(self.coarse(state, &hawks)).or_default().push(state);
        }
        Cover { threats: threats.to_vec(), states, hawks, by_coarse }
    }

    /// The state without the memories of hawks.
    fn coarse(&self, state: u128, hawks: &[usize]) -> u128 {
        hawks.iter().fold(state, |state, &hawk| {
            let own = ((1 << self.bits[hawk]) - 1) << self.shifts[hawk];
            state & !own | u128::from(self.place(state, hawk)) << self.shifts[hawk]
        })
    }

    /// Whether a set has a state that may stand for the same state of the game.
    fn covers(&self, cover: &Cover, state: u128) -> bool {
        if cover.hawks.is_empty() || cover.states.contains(&state) {
            return cover.states.contains(&state);
        }
        let others = cover.by_coarse.get(&self.coarse(state, &cover.hawks));
        let may_be_same = |&other: &u128| {
            cover.hawks.iter().all(|&hawk| self.overlap(hawk, self.number(state, hawk), self.number(other, hawk)))
        };
        others.is_some_and(|others| others.iter().any(may_be_same))
    }

    /// Whether two of a hawk's numbers on the same tile may stand for the same of its states.
    fn overlap(&self, hawk: usize, one: u32, other: u32) -> bool {
        let (draws, other_draws) = (one >> KEY_BITS, other >> KEY_BITS);
        if draws != other_draws && draws != 0 && other_draws != 0 {
            return false;
        }
        let pursuer = self.pursuers[hawk].as_ref().expect("it sees the player");
        let (one, other) = (key_number(one), key_number(other));
        one == other || pursuer.exact(&one).iter().any(|number| pursuer.exact(&other).contains(number))
    }

    /// Applies the known states of a tick.
    fn narrow(&self, tick: usize, absorbs: bool, threats: &mut Vec<usize>, states: &mut States) {
        let player = |state: u128| (state & PLAYER_MASK) as usize;
        states.retain(|&state| self.allowed[tick][player(state)]);
        let Some(known) = &self.known[tick] else { return };
        let (own, theirs) = (self.mask(threats), self.mask(&known.threats));
        if theirs & !own == 0 {
            states.retain(|&state| self.covers(known, state & theirs));
        } else if own & !theirs == 0 && absorbs {
            let cover = self.cover(threats, std::mem::take(states));
            *states = known.states.iter().copied().filter(|&state| self.covers(&cover, state & own)).collect();
            threats.clone_from(&known.threats);
        } else if own & !theirs == 0 {
            let narrow = self.cover(threats, known.states.iter().map(|state| state & own).collect());
            states.retain(|&state| self.covers(&narrow, state));
        }
    }

    /// Lets a threat join in every state that it can have.
    fn join(
        &mut self,
        tick: usize,
        threat: usize,
        counts_draws: bool,
        threats: &mut Vec<usize>,
        states: &mut States,
    ) -> Result<(), String> {
        if threats.contains(&threat) {
            return Ok(());
        }
        let mut numbers = self.numbers_at(threat, tick)?;
        let is_hawk = self.layout.threats[threat].style == Style::Hawk;
        if is_hawk && counts_draws && tick == 1 {
            // It has not drawn yet.
            numbers.iter_mut().for_each(|number| *number |= 1 << KEY_BITS);
        }
        if self.end(threat) > u128::BITS {
            return Err(format!("threat {threat} does not fit into a state"));
        }
        if numbers.len() * states.len() > STATES_MAX {
            return Err(format!("threat {threat} makes more than {STATES_MAX} states in tick {tick}"));
        }
        self.spend(numbers.len() * states.len() / 8)?;
        let mut wide = States::default();
        for &state in states.iter() {
            let player = (state & PLAYER_MASK) as u16;
            let lives = numbers.iter().filter(|&&number| self.lives(tick, player, threat, number));
            wide.extend(lives.map(|&number| state | u128::from(number) << self.shifts[threat]));
        }
        *states = wide;
        threats.push(threat);
        threats.sort_unstable();
        Ok(())
    }

    /// Drops the states of each layer that do not lead into the next, and keeps what is left.
    fn go_back(&mut self, until: usize, threats: Vec<usize>, states: States, layers: Vec<(Vec<usize>, States)>) {
        let mut after = self.cover(&threats, states);
        let mut found = Vec::new();
        let from = until - layers.len();
        for (index, (threats, mut states)) in layers.into_iter().enumerate().rev() {
            let tick = from + index;
            let mask = self.mask(&threats);
            if after.threats != threats {
                let narrow = self.cover(&threats, after.states.iter().map(|state| state & mask).collect());
                self.note(tick + 1, std::mem::replace(&mut after, narrow));
            }
            states.retain(|&state| {
                self.successors(tick, &threats, state, &mut found);
                found.iter().any(|&state| self.covers(&after, state))
            });
            let states = self.cover(&threats, states);
            self.note(tick + 1, std::mem::replace(&mut after, states));
        }
        self.note(from, after);
    }

    /// Records the known states of a tick, if they are more restrictive than those known before.
    fn note(&mut self, tick: usize, cover: Cover) {
        let mut is_place = vec![false; self.positions.len()];
        cover.states.iter().for_each(|state| is_place[(state & PLAYER_MASK) as usize] = true);
        for (allowed, is_place) in self.allowed[tick].iter_mut().zip(is_place) {
            *allowed &= is_place;
        }
        let is_wanted = tick % KNOWN_TICKS == 1 || cover.states.len() < KNOWN_STATES;
        let is_better = self.known[tick]
            .as_ref()
            .is_none_or(|known| known.threats.iter().all(|threat| cover.threats.contains(threat)));
        if is_wanted && is_better {
            self.known[tick] = Some(cover);
        }
    }

    /// Searches the whole game, picks included, leaving out states known not to reach the target.
    fn search(&mut self, target_tick: usize) -> Result<(), String> {
        if target_tick != self.target_tick {
            self.set_target(target_tick);
        }
        let threats: Vec<usize> = (0..self.pursuers.len()).filter(|&threat| self.pursuers[threat].is_some()).collect();
        let mut start = vec![u32::from(self.start)];
        for &threat in &threats {
            start.push(self.numbers_at(threat, 1)?[0]);
        }
        start.extend(threats.iter().map(|_| 0));
        let mut layer: Games = Games::from_iter([start.into_boxed_slice()]);
        for tick in 1..target_tick {
            self.spend(layer.len())?;
            let mut next = Games::default();
            for game in layer {
                self.play(tick, &threats, &game, &mut next);
            }
            if next.is_empty() {
                return Ok(());
            }
            if next.len() > STATES_MAX {
                return Err(format!("more than {STATES_MAX} states in tick {tick}"));
            }
            layer = next;
        }
        Err(format!("the search reaches tick {target_tick} with {} states", layer.len()))
    }

    /// Adds every game that follows from one and may reach the target.
    fn play(&mut self, tick: usize, threats: &[usize], game: &[u32], games: &mut Games) {
        let player = game[0] as u16;
        let (numbers, draws) = game[1..].split_at(threats.len());
        for index in 0..self.landings[usize::from(player)].len() {
            let to = self.landings[usize::from(player)][index];
            let is_on = |(&threat, &number): (&usize, &u32)| self.tile_of(threat, number) == to;
            if !self.can_land(tick, to) || (self.rules.no_jump && threats.iter().zip(numbers).any(is_on)) {
                continue;
            }
            let mut next = vec![u32::from(to)];
            let mut next_draws = draws.to_vec();
            for (place, (&threat, &number)) in threats.iter().zip(numbers).enumerate() {
                let found = self.next_numbers(tick, threat, number, player, to)[0];
                let number = if self.picks(threat, number, found) {
                    next_draws[place] += 1;
                    self.picked_number(threat, draws[place] as u16, found)
                } else {
                    found
                };
                next.push(number);
            }
            let lives =
                threats.iter().zip(&next[1..]).all(|(&threat, &number)| self.lives(tick + 1, to, threat, number));
            if lives && self.is_open(tick + 1, threats, &next) {
                next.extend(next_draws);
                games.insert(next.into_boxed_slice());
            }
        }
    }

    /// Whether a game may still reach the target, according to the known states of its tick.
    fn is_open(&self, tick: usize, threats: &[usize], game: &[u32]) -> bool {
        let Some(known) = &self.known[tick] else { return true };
        let own = threats.iter().zip(&game[1..]).filter(|(threat, _)| known.threats.contains(threat));
        let state = own
            .fold(u128::from(game[0]), |state, (&threat, &number)| state | u128::from(number) << self.shifts[threat]);
        self.covers(known, state)
    }

    /// Whether a hawk draws a post between these two of its keys. Without posts, its draws do not
    /// matter.
    fn picks(&self, threat: usize, before: u32, after: u32) -> bool {
        let pursuer = self.pursuers[threat].as_ref().expect("it sees the player");
        let has_post = |number: &u32| pursuer.keys[*number as usize].post.is_some();
        !pursuer.exact(&before).iter().any(has_post) && pursuer.exact(&after).iter().all(has_post)
    }

    /// Of the keys that a hawk's pick can lead to, the one that this pick leads to.
    fn picked_number(&self, threat: usize, draws: u16, picked: u32) -> u32 {
        let pursuer = self.pursuers[threat].as_ref().expect("it sees the player");
        let mut seed = pursuer.spawned.seed + i32::from(draws);
        let post = pick(&mut seed, self.rules.pick_scale, &self.ways.posts());
        let is_picked = |&&number: &&u32| pursuer.keys[number as usize].post == post;
        *pursuer.exact(&picked).iter().find(is_picked).expect("a pick is one of the posts")
    }
}

/// What determines the steps of threats, apart from the player: the map.
type Map<'a> = (&'a Surveyed, &'a Layout, &'a [Position]);

impl Pursuer {
    fn new(spawned: Threat, rules: &Rules) -> Self {
        Self {
            spawned,
            blind_clock: rules.owl_window_ticks,
            keys: Vec::new(),
            tiles: Vec::new(),
            numbers: HashMap::new(),
            next: Vec::new(),
            several: Vec::new(),
            several_places: HashMap::new(),
            closures: Vec::new(),
            steps: HashMap::new(),
        }
    }

    fn view(&self, rules: &Rules) -> View {
        match self.spawned.style {
            Style::Shark => rules.shark_view,
            Style::Deer => rules.deer_view,
            Style::Owl => rules.owl_view,
            _ => rules.hawk_view,
        }
    }

    /// The number of a threat in its current state, without an owl's memory where no move is left
    /// before it looks.
    fn add(&mut self, threat: &Threat, moves_left: u16, positions: &[Position]) -> u32 {
        let memory = &threat.memory;
        let key = Key {
            position: threat.position,
            direction: if threat.style == Style::Deer { threat.direction as u8 } else { 0 },
            remembered: memory.remembered.filter(|_| moves_left > 0),
            seen: memory.seen,
            post: memory.post,
            idle_rounds: memory.idle_rounds,
            several: 0,
        };
        self.add_key(key, positions)
    }

    /// The keys for which one key stands, by their numbers.
    fn exact<'a>(&'a self, number: &'a u32) -> &'a [u32] {
        match self.keys[*number as usize].several {
            0 => std::slice::from_ref(number),
            place => &self.several[place - 1],
        }
    }

    /// The number of a key that stands for these, which are on one tile.
    fn add_several(&mut self, mut numbers: Vec<u32>, positions: &[Position]) -> u32 {
        numbers.sort_unstable();
        numbers.dedup();
        if numbers.len() == 1 {
            return numbers[0];
        }
        let position = self.keys[numbers[0] as usize].position;
        let numbers: Rc<[u32]> = numbers.into();
        let place = *self.several_places.entry(numbers.clone()).or_insert_with(|| {
            self.several.push(numbers);
            self.several.len()
        });
        let key =
            Key { position, direction: 0, remembered: None, seen: None, post: None, idle_rounds: 0, several: place };
        self.add_key(key, positions)
    }

    /// For each tile, a key that stands for every memory that a hawk can have there. It has seen the
    /// player in a straight line from there, or is sent to a post, or rests: for longer on a post.
    fn hawks_anywhere(&mut self, map: Map<'_>, rules: &Rules) -> Vec<u32> {
        let (ways, layout, positions) = map;
        let posts = ways.posts().into_owned();
        let (patience, rest) = (i32::from(rules.hawk_patience_moves), i32::from(rules.hawk_rest_moves));
        let on_tile = |&position: &Position| {
            let seen = positions.iter().copied();
            let seen = seen.filter(|&seen| seen == position || line_of_sight(layout, position, seen));
            let first = if posts.contains(&position) { -rest } else { 0 };
            let none = Memory { remembered: None, seen: None, post: None, idle_rounds: 0 };
            let seen = seen.map(|seen| Memory { seen: Some(seen), ..none.clone() });
            let sent = posts.iter().map(|&post| Memory { post: Some(post), ..none.clone() });
            let rests = (first..=patience).map(|idle_rounds| Memory { idle_rounds, ..none.clone() });
            let memories = seen.chain(sent).chain(rests);
            memories.map(|memory| Threat { position, memory, ..self.spawned.clone() }).collect()
        };
        let hawks: Vec<Vec<Threat>> = positions.iter().map(on_tile).collect();
        let number = |hawks: Vec<Threat>| {
            let numbers: Vec<u32> = hawks.iter().map(|hawk| self.add(hawk, 0, positions)).collect();
            self.add_several(numbers, positions)
        };
        hawks.into_iter().map(number).collect()
    }

    fn add_key(&mut self, key: Key, positions: &[Position]) -> u32 {
        *self.numbers.entry(key).or_insert_with(|| {
            self.keys.push(key);
            self.tiles.push(positions.binary_search(&key.position).expect("threats keep to open tiles") as u16);
            (self.keys.len() - 1) as u32
        })
    }

    /// The numbers that follow a number when the threat moves and sees the player at a position.
    fn step(&mut self, map: Map<'_>, number: u32, clock: u16, sees: Position, moves_left: u16) -> Vec<u32> {
        let mut found: Vec<u32> = Vec::new();
        for exact in self.exact(&number).to_vec() {
            found.extend(self.step_exact(map, exact, clock, sees, moves_left));
        }
        if self.spawned.style != Style::Hawk {
            return found;
        }
        // One key for each tile stands for all that the hawk may remember there.
        let mut by_tile: BTreeMap<u16, Vec<u32>> = BTreeMap::new();
        for number in found {
            by_tile.entry(self.tiles[number as usize]).or_default().push(number);
        }
        by_tile.into_values().map(|numbers| self.add_several(numbers, map.2)).collect()
    }

    /// The numbers that follow one exact key; for a hawk that draws, one for each post.
    fn step_exact(&mut self, map: Map<'_>, number: u32, clock: u16, sees: Position, moves_left: u16) -> Vec<u32> {
        let (ways, layout, positions) = map;
        let key = self.keys[number as usize];
        let mut threat = self.spawned.clone();
        threat.position = key.position;
        threat.direction =
            Direction::ALL.into_iter().find(|&direction| direction as u8 == key.direction).unwrap_or(Direction::Up);
        threat.memory =
            Memory { remembered: key.remembered, seen: key.seen, post: key.post, idle_rounds: key.idle_rounds };
        // High enough for a move under every period.
        threat.ticks_since_move = u8::MAX - 1;
        threat.stale_player = sees;
        threat.update_by(ways, layout, clock, sees);
        if key.post.is_none() && threat.memory.post.is_some() {
            let picks = ways.posts().into_owned().into_iter().map(|post| {
                let mut picked = threat.clone();
                picked.memory.post = Some(post);
                picked
            });
            return picks.map(|picked| self.add(&picked, 0, positions)).collect();
        }
        if threat.style == Style::Owl && clock != self.blind_clock {
            return vec![self.add_ahead(map, threat, moves_left)];
        }
        vec![self.add(&threat, moves_left, positions)]
    }

    /// The number of an owl that has this many moves left before it looks again, with the tile that
    /// these lead to in place of the one that it remembers: the moves are the same.
    fn add_ahead(&mut self, map: Map<'_>, mut threat: Threat, moves_left: u16) -> u32 {
        let (ways, layout, positions) = map;
        let mut ahead = threat.clone();
        for _ in 0..moves_left {
            ahead.ticks_since_move = u8::MAX - 1;
            ahead.update_by(ways, layout, self.blind_clock, ahead.position);
        }
        threat.memory.remembered = Some(ahead.position);
        self.add(&threat, moves_left, positions)
    }

    /// Every number that a shark or a deer can have after some moves, wherever the player goes. The
    /// player is never on its tile, or it is caught.
    fn closure(&mut self, map: Map<'_>, moves: usize) -> Vec<u32> {
        let positions = map.2;
        if self.closures.is_empty() {
            let spawned = self.spawned.clone();
            let first = self.add(&spawned, 0, positions);
            self.closures.push(vec![first]);
        }
        while self.closures.len() <= moves {
            let mut found: Vec<u32> = Vec::new();
            let mut is_found = Vec::new();
            for number in self.closures[self.closures.len() - 1].clone() {
                for next in self.steps_anywhere(map, number) {
                    is_found.resize(self.keys.len(), false);
                    if !std::mem::replace(&mut is_found[next as usize], true) {
                        found.push(next);
                    }
                }
            }
            self.closures.push(found);
        }
        self.closures[moves].clone()
    }

    /// The numbers that can follow a shark's or a deer's number, wherever the player is that it has
    /// not caught.
    fn steps_anywhere(&mut self, map: Map<'_>, number: u32) -> Vec<u32> {
        if let Some(steps) = self.steps.get(&number) {
            return steps.clone();
        }
        let own = self.keys[number as usize].position;
        let mut steps = Vec::new();
        for &sees in map.2.iter().filter(|&&sees| sees != own) {
            steps.extend(self.step(map, number, 0, sees, 0));
        }
        steps.sort_unstable();
        steps.dedup();
        self.steps.insert(number, steps.clone());
        steps
    }
}
