//! Pursuers are threats that see the player. A state ID encodes a pursuer's key (the part of its
//! state that determines its future) and the draw count of a hawk. An *exact* key stands for one
//! state, and a *merged* key of a hawk for several. The literal threat computes the steps between
//! state IDs.

use std::collections::{BTreeMap, HashMap};
use std::hash::BuildHasherDefault;

use getaway::game::{Direction, Layout, Position, Spawn, Style, View};
use getaway_reference::navigation::Navigation;
use getaway_reference::{Memory, Threat};

use super::Checked;
use super::bits::Tiles;
use super::board::{Board, Moment};
use super::layer::{Mixer, Slot};

const KEY_BITS: u32 = 18;
/// The bits above a hawk's key hold its draw count plus one, or 0 if its draws are not counted.
pub(super) const DRAW_BITS: u32 = 8;

/// Returns the size in bits of each threat's state ID. A deer has four keys per tile, a shark one.
pub(super) fn id_bits(layout: &Layout) -> Vec<u32> {
    let tiles = layout.open_positions().count();
    let bits_of = |keys: usize| keys.ilog2() + 1;
    let bits_of_style = |spawn: &Spawn| match spawn.style {
        Style::Bull | Style::Goldfish => 0,
        Style::Shark => bits_of(tiles),
        Style::Deer => bits_of(4 * tiles),
        Style::Owl => bits_of(tiles * (tiles + 1)),
        Style::Hawk => KEY_BITS + DRAW_BITS,
    };
    layout.threats.iter().map(bits_of_style).collect()
}

fn key_id(id: u32) -> u32 {
    id & ((1 << KEY_BITS) - 1)
}

fn at(id: u32, moment: Moment) -> u64 {
    let moment = u64::from(moment.moves_left) << 2 | u64::from(moment.looks) << 1 | u64::from(moment.is_off_grid);
    u64::from(key_id(id)) << u32::BITS | moment
}

/// The part of a threat's state that determines its future, apart from the posts that a hawk picks.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Key {
    Exact(Position, Direction, Memory),
    /// Exact state IDs of a hawk on one tile, in ascending order.
    Merged(Vec<u32>),
}

/// A step of a threat: its next state ID and tile, and the player's tiles that lead to them.
#[derive(Clone, Debug)]
pub(super) struct Step<const N: usize> {
    pub when: Tiles<N>,
    pub next: u32,
    pub tile: u16,
}

pub(super) struct Pursuer<const N: usize> {
    /// The threat's index in the map.
    pub threat: usize,
    pub slot: Slot,
    pub spawned: Threat,
    /// The key of each state ID, and its tile.
    keys: Vec<(Key, u16)>,
    ids: HashMap<Key, u32>,
    /// By state ID and moment (see `at`): the steps, computed for a player on the tiles of the set.
    computed: HashMap<u64, (Tiles<N>, Vec<Step<N>>), BuildHasherDefault<Mixer>>,
    /// For a hawk, the merged key of each tile, which stands for all memories possible there.
    pub merged_by_tile: Vec<u32>,
    /// For a shark or deer, the possible state IDs by tick. Extended on demand.
    pub ids_by_tick: Vec<Vec<u32>>,
}

impl<const N: usize> Pursuer<N> {
    /// Returns `None` for a bull or goldfish, which never sees the player.
    pub fn new(spawned: Threat, threat: usize, slot: Slot) -> Option<Self> {
        spawned.view()?;
        let (keys, ids, computed) = (Vec::new(), HashMap::new(), HashMap::default());
        let (merged_by_tile, ids_by_tick) = (Vec::new(), Vec::new());
        Some(Self { threat, slot, spawned, keys, ids, computed, merged_by_tile, ids_by_tick })
    }

    pub fn style(&self) -> Style {
        self.spawned.style
    }

    pub fn is_hawk(&self) -> bool {
        self.style() == Style::Hawk
    }

    pub fn is_stale(&self) -> bool {
        self.spawned.view() == Some(View::Stale)
    }

    pub fn moment(&self, board: &Board<N>, tick: usize) -> Moment {
        board.moment(tick, self.style() == Style::Owl, self.is_stale())
    }

    pub fn tile(&self, id: u32) -> u16 {
        self.keys[key_id(id) as usize].1
    }

    /// Returns the exact state IDs that a state ID without a draw count stands for.
    pub fn exact_ids<'a>(&'a self, id: &'a u32) -> &'a [u32] {
        match &self.keys[*id as usize].0 {
            Key::Exact(..) => std::slice::from_ref(id),
            Key::Merged(ids) => ids,
        }
    }

    /// Returns the steps that `compute_steps` has computed so far. Ignores the draw count in the
    /// state ID.
    pub fn steps(&self, id: u32, moment: Moment) -> &[Step<N>] {
        &self.computed[&at(id, moment)].1
    }

    /// Ensures that the steps from a state ID are computed for a player on any of `player_tiles`.
    #[inline]
    pub fn compute_steps(&mut self, board: &Board<N>, id: u32, moment: Moment, player_tiles: &Tiles<N>) -> Checked {
        match self.computed.get(&at(id, moment)) {
            Some((covered, _)) if player_tiles.is_within(covered) => Ok(()),
            _ => self.add_steps(board, key_id(id), moment, player_tiles),
        }
    }

    #[cold]
    fn add_steps(&mut self, board: &Board<N>, id: u32, moment: Moment, player_tiles: &Tiles<N>) -> Checked {
        let (mut covered, mut steps) = self.computed.remove(&at(id, moment)).unwrap_or((Tiles::EMPTY, Vec::new()));
        // The possible observations of the threat, each with the player's tiles that cause it.
        let threat = self.threat(id);
        let mut noticed: Vec<(Option<Position>, Tiles<N>)> = Vec::new();
        if moment.is_off_grid {
            covered = board.open;
            noticed.push((threat.notices(&board.layout, moment.looks, self.spawned.stale_player), covered));
        }
        for tile in player_tiles.without(&covered).iter() {
            let position = threat.notices(&board.layout, moment.looks, board.positions[usize::from(tile)]);
            match noticed.iter_mut().find(|(other, _)| *other == position && position.is_none()) {
                Some((_, tiles)) => *tiles = tiles.or(&Tiles::single(tile)),
                None => noticed.push((position, Tiles::single(tile))),
            }
        }
        for (noticed, tiles) in noticed {
            for next in self.step(board, id, moment, noticed)? {
                match steps.iter_mut().find(|step| step.next == next) {
                    Some(step) => step.when = step.when.or(&tiles),
                    None => steps.push(Step { when: tiles, next, tile: self.tile(next) }),
                }
            }
        }
        self.computed.insert(at(id, moment), (covered.or(player_tiles), steps));
        Ok(())
    }

    /// Returns the state ID after a tick in which threats move. `seen` is the player's tile, and
    /// `literal` is the threat of the literal game after the tick: it determines the post that a hawk
    /// draws, unless draws are counted.
    pub fn follow(&mut self, board: &Board<N>, id: u32, tick: usize, seen: u16, literal: &Threat) -> Checked<u32> {
        let (moment, seen) = (self.moment(board, tick), Tiles::single(seen));
        self.compute_steps(board, id, moment, &seen)?;
        let step = self.steps(id, moment).iter().find(|step| seen.is_within(&step.when));
        let next = self.with_draw_count(board, id, step.ok_or("a step is missing")?.next)?;
        let key = self.key(literal);
        let is_literal = |&&exact: &&u32| !Self::is_counted(next) && self.keys[exact as usize].0 == key;
        Ok(self.exact_ids(&key_id(next)).iter().find(is_literal).copied().unwrap_or(next))
    }

    /// Returns `next` with the draw count of `id`, plus one if the step draws a post. If draws
    /// are counted, the literal hawk picks this post.
    pub fn with_draw_count(&self, board: &Board<N>, id: u32, next: u32) -> Checked<u32> {
        let (key, counted) = (key_id(id), id >> KEY_BITS);
        if counted == 0 || matches!(self.keys[key as usize].0, Key::Merged(_)) {
            return Ok(next);
        }
        let has_post = |id: &u32| matches!(self.keys[*id as usize].0, Key::Exact(.., memory) if memory.post.is_some());
        if has_post(&key) || !self.exact_ids(&next).iter().all(has_post) {
            return Ok(next | counted << KEY_BITS);
        }
        board.spend_acts(1)?;
        let mut hawk = Threat { seed: self.spawned.seed + counted as i32 - 1, ..self.threat(key) };
        hawk.act(&board.navigation, &board.layout, None);
        let hawk = self.key(&hawk);
        let is_picked = |&&id: &&u32| self.keys[id as usize].0 == hawk;
        let picked = *self.exact_ids(&next).iter().find(is_picked).ok_or("a hawk picks none of its posts")?;
        // Counting ends when the count would not fit into its bits.
        let counted = if counted + 1 < 1 << DRAW_BITS { counted + 1 } else { 0 };
        Ok(picked | counted << KEY_BITS)
    }

    pub fn is_counted(id: u32) -> bool {
        id >> KEY_BITS != 0
    }

    /// Returns true if two state IDs may stand for the same state.
    pub fn overlap(&self, one: u32, other: u32) -> bool {
        if !self.is_hawk() {
            return one == other;
        }
        let [(key, draws), (other_key, other_draws)] = [one, other].map(|id| (key_id(id), id >> KEY_BITS));
        let has_same_draws = draws == other_draws || draws == 0 || other_draws == 0;
        let others = self.exact_ids(&other_key);
        has_same_draws && (key == other_key || self.exact_ids(&key).iter().any(|id| others.binary_search(id).is_ok()))
    }

    fn key(&self, threat: &Threat) -> Key {
        let Memory { remembered, seen, post, idle_rounds } = threat.memory;
        let nothing = Memory::default();
        let memory = match threat.style {
            Style::Owl => Memory { remembered, ..nothing },
            Style::Hawk => Memory { seen, post, idle_rounds, ..nothing },
            Style::Shark | Style::Deer | Style::Bull | Style::Goldfish => nothing,
        };
        let direction = if threat.style == Style::Deer { threat.direction } else { Direction::Up };
        Key::Exact(threat.position, direction, memory)
    }

    /// Returns a threat with the key or, for a merged key, with one of the keys that it stands for.
    fn threat(&self, id: u32) -> Threat {
        match &self.keys[id as usize].0 {
            &Key::Exact(position, direction, memory) => Threat { position, direction, memory, ..self.spawned.clone() },
            Key::Merged(ids) => self.threat(ids[0]),
        }
    }

    /// Returns a threat that differs from `threat` in fields outside the key, such as the seed. The
    /// twin of an owl that looks also remembers the owl's spawn, which the look overwrites.
    fn twin(&self, threat: &Threat, noticed: Option<Position>) -> Threat {
        let elsewhere = Some(self.spawned.spawn);
        let other = Memory { remembered: elsewhere, seen: elsewhere, post: elsewhere, idle_rounds: 1 };
        let memory = match threat.style {
            Style::Owl if noticed.is_none() => Memory { remembered: threat.memory.remembered, ..other },
            Style::Hawk => Memory { remembered: elsewhere, ..threat.memory },
            _ => other,
        };
        let (mut direction, mut spawn) = (threat.direction.reverse(), threat.position);
        if threat.style == Style::Deer {
            (direction, spawn) = (threat.direction, threat.spawn);
        }
        let (seed, stale_player) = (threat.seed + 1, self.spawned.spawn);
        Threat { direction, spawn, seed, stale_player, memory, ticks_since_move: 1, ..threat.clone() }
    }

    fn add(&mut self, key: Key, tile: u16) -> Checked<u32> {
        if let Some(&id) = self.ids.get(&key) {
            return Ok(id);
        }
        let keys_max = 1 << self.slot.bits.min(KEY_BITS);
        if self.keys.len() == keys_max {
            return Err(format!("the {} has more than {keys_max} keys", self.style()));
        }
        let id = self.keys.len() as u32;
        self.keys.push((key.clone(), tile));
        self.ids.insert(key, id);
        Ok(id)
    }

    pub fn add_exact(&mut self, threat: &Threat, board: &Board<N>) -> Checked<u32> {
        self.add(self.key(threat), board.tile(threat.position))
    }

    pub fn add_merged(&mut self, mut ids: Vec<u32>, board: &Board<N>) -> Checked<u32> {
        ids.sort_unstable();
        ids.dedup();
        if ids.len() == 1 {
            return Ok(ids[0]);
        }
        board.spend(ids.len())?;
        let tile = self.tile(ids[0]);
        self.add(Key::Merged(ids), tile)
    }

    /// Returns the state ID at the start of the game.
    pub fn first(&mut self, board: &Board<N>, counts_draws: bool) -> Checked<u32> {
        let first = self.spawned.clone();
        match first.style {
            Style::Owl => self.add_owl(board, first, board.ticks[1].owl_moves),
            Style::Hawk if counts_draws => Ok(self.add_exact(&first, board)? | 1 << KEY_BITS),
            _ => self.add_exact(&first, board),
        }
    }

    /// Returns the next state IDs, one per tile. If a hawk draws, its ID merges all posts.
    fn step(&mut self, board: &Board<N>, id: u32, moment: Moment, noticed: Option<Position>) -> Checked<Vec<u32>> {
        let posts = board.navigation.posts();
        let mut found: Vec<u32> = Vec::new();
        for exact in self.exact_ids(&id).to_vec() {
            board.spend_acts(2)?;
            let mut threat = self.threat(exact);
            let mut twin = self.twin(&threat, noticed);
            let had_post = threat.memory.post.is_some();
            threat.act(&board.navigation, &board.layout, noticed);
            twin.act(&board.navigation, &board.layout, noticed);
            let draws = !had_post && threat.memory.post.is_some();
            if draws {
                if ![threat.memory.post, twin.memory.post].iter().flatten().all(|post| posts.contains(post)) {
                    return Err("a hawk is sent to a tile that is not one of its posts".to_owned());
                }
                twin.memory.post = threat.memory.post;
            }
            if self.key(&threat) != self.key(&twin) {
                return Err(format!("the step of the {} depends on more than its key", self.style()));
            }
            if draws {
                for &post in posts.iter() {
                    threat.memory.post = Some(post);
                    found.push(self.add_exact(&threat, board)?);
                }
            } else if threat.style == Style::Owl && (moment.looks || moment.moves_left == 0) {
                found.push(self.add_owl(board, threat, moment.moves_left)?);
            } else {
                found.push(self.add_exact(&threat, board)?);
            }
        }
        let mut by_tile: BTreeMap<u16, Vec<u32>> = BTreeMap::new();
        for id in found {
            by_tile.entry(self.tile(id)).or_default().push(id);
        }
        by_tile.into_values().map(|ids| self.add_merged(ids, board)).collect()
    }

    /// Returns the state ID of an owl with `moves_left` moves before it looks again. In its key,
    /// the tile where these moves end replaces the remembered position; without such moves, `None`
    /// does. Fails if the replacement changes the path.
    fn add_owl(&mut self, board: &Board<N>, owl: Threat, moves_left: u16) -> Checked<u32> {
        let mut same = owl.clone();
        same.memory.remembered = None;
        if moves_left == 0 {
            return self.add_exact(&same, board);
        }
        let mut ahead = owl.clone();
        let mut path = Vec::new();
        for _ in 0..moves_left {
            board.spend_acts(2)?;
            let before = ahead.position;
            ahead.act(&board.navigation, &board.layout, None);
            path.push(ahead.position);
            // An owl that did not move has arrived, has no path, or remembers nothing.
            if ahead.position == before {
                break;
            }
        }
        same.memory.remembered = Some(ahead.position);
        let key = self.key(&same);
        for position in path {
            same.act(&board.navigation, &board.layout, None);
            if same.position != position {
                return Err("an owl's path depends on more than the tile to which it leads".to_owned());
            }
        }
        self.add(key, board.tile(owl.position))
    }
}
