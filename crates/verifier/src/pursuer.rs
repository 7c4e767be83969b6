//! Pursuers are threats that see the player. A state ID encodes a pursuer's key, the part of its
//! state that determines its future, and the draw count of a hawk. An *exact* key stands for one
//! state, and a *merged* key of a hawk for several. The literal threat computes the steps between
//! state IDs.

use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use getaway::game::{Direction, Layout, Position, Style, View};
use getaway_reference::navigation::Navigation;
use getaway_reference::{Memory, Threat};

use super::board::{Board, Moment};
use super::tiles::Tiles;

const KEY_BITS: u32 = 18;
/// The bits above a hawk's key hold its draw count plus one, or 0 if its draws are not counted.
pub(super) const DRAW_BITS: u32 = 8;

/// Returns the size in bits of each threat's state ID. A deer has four keys per tile, a shark one.
pub(super) fn id_bits(layout: &Layout) -> Vec<u32> {
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

fn key_id(id: u32) -> u32 {
    id & ((1 << KEY_BITS) - 1)
}

/// The part of a threat's state that determines its future, apart from the posts that a hawk picks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Key {
    position: Position,
    direction: Direction,
    memory: Memory,
    /// 0 for an exact key. For a merged key of a hawk, one plus its index in [`Pursuer::merged`].
    merged: usize,
}

/// A step of a threat: its next state ID and tile, and the player's tiles that lead to them.
#[derive(Clone, Debug)]
pub(super) struct Step<const N: usize> {
    pub when: Tiles<N>,
    pub next: u32,
    pub tile: u16,
}

/// The steps from a key at a [`Moment`], computed for a player on the tiles `covered`.
#[derive(Clone, Debug)]
struct ComputedSteps<const N: usize> {
    covered: Tiles<N>,
    steps: Vec<Step<N>>,
}

/// A moment, and the index of its steps in [`Pursuer::computed`].
pub(super) type IndexedMoment = (Moment, usize);

pub(super) struct Pursuer<const N: usize> {
    spawned: Threat,
    is_stale: bool,
    keys: Vec<Key>,
    keys_max: usize,
    tiles: Vec<u16>,
    ids: HashMap<Key, u32>,
    computed: Vec<Vec<ComputedSteps<N>>>,
    /// For a hawk, the exact state IDs that each merged key stands for, in ascending order.
    merged: Vec<Rc<[u32]>>,
    merged_indices: HashMap<Rc<[u32]>, usize>,
    /// For a hawk, the merged key of each tile, which stands for all memories possible there.
    merged_by_tile: Vec<u32>,
    /// For a shark or deer, the possible state IDs after each number of moves. Extended on demand.
    ids_after_moves: Vec<Vec<u32>>,
}

impl<const N: usize> Pursuer<N> {
    /// Returns `None` if the threat does not see the player. State IDs have at most `bits` bits.
    pub fn new(spawned: Threat, bits: u32) -> Option<Self> {
        Some(Self {
            is_stale: spawned.view()? == View::Stale,
            spawned,
            keys: Vec::new(),
            keys_max: 1 << bits.min(KEY_BITS),
            tiles: Vec::new(),
            ids: HashMap::new(),
            computed: Vec::new(),
            merged: Vec::new(),
            merged_indices: HashMap::new(),
            merged_by_tile: Vec::new(),
            ids_after_moves: Vec::new(),
        })
    }

    pub fn style(&self) -> Style {
        self.spawned.style
    }

    pub fn is_hawk(&self) -> bool {
        self.style() == Style::Hawk
    }

    pub fn is_stale(&self) -> bool {
        self.is_stale
    }

    pub fn moment(&self, board: &Board<N>, tick: usize) -> IndexedMoment {
        board.moment(tick, self.style() == Style::Owl, self.is_stale)
    }

    pub fn tile(&self, id: u32) -> u16 {
        self.tiles[key_id(id) as usize]
    }

    /// Returns the exact state IDs that a state ID without a draw count stands for.
    fn exact_ids<'a>(&'a self, id: &'a u32) -> &'a [u32] {
        match self.keys[*id as usize].merged {
            0 => std::slice::from_ref(id),
            place => &self.merged[place - 1],
        }
    }

    /// Returns the steps that `compute_steps` has computed so far. Ignores the draw count in the
    /// state ID.
    pub fn steps(&self, id: u32, (_, index): IndexedMoment) -> &[Step<N>] {
        &self.computed[key_id(id) as usize][index].steps
    }

    /// Ensures that the steps from a state ID are computed for a player on any of `player_tiles`.
    #[inline]
    pub fn compute_steps(
        &mut self,
        board: &Board<N>,
        id: u32,
        moment: IndexedMoment,
        player_tiles: &Tiles<N>,
    ) -> Result<(), String> {
        let key = key_id(id);
        let computed = self.computed.get(key as usize).and_then(|computed| computed.get(moment.1));
        if computed.is_some_and(|computed| player_tiles.without(&computed.covered).is_empty()) {
            Ok(())
        } else {
            self.add_steps(board, key, moment, player_tiles)
        }
    }

    #[cold]
    fn add_steps(
        &mut self,
        board: &Board<N>,
        id: u32,
        (moment, index): IndexedMoment,
        player_tiles: &Tiles<N>,
    ) -> Result<(), String> {
        if self.computed.len() <= id as usize {
            self.computed.resize(self.keys.len(), Vec::new());
        }
        let computed_by_moment = &mut self.computed[id as usize];
        if computed_by_moment.len() <= index {
            computed_by_moment.resize(index + 1, ComputedSteps { covered: Tiles::EMPTY, steps: Vec::new() });
        }
        let ComputedSteps { mut covered, mut steps } = computed_by_moment[index].clone();
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
                Some((_, tiles)) => tiles.insert(tile),
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
        self.computed[id as usize][index] = ComputedSteps { covered: covered.or(player_tiles), steps };
        Ok(())
    }

    /// Returns the state ID after a tick in which threats move. `player_tiles` must hold one tile.
    pub fn follow(&mut self, board: &Board<N>, id: u32, tick: usize, player_tiles: &Tiles<N>) -> Result<u32, String> {
        let moment = self.moment(board, tick);
        self.compute_steps(board, id, moment, player_tiles)?;
        let step = self.steps(id, moment).iter().find(|step| !step.when.and(player_tiles).is_empty());
        let next = step.map(|step| step.next).ok_or("a step is missing")?;
        self.with_draw_count(board, id, next)
    }

    /// Returns the exact state ID of the state of `threat` if `id` stands for this state and has
    /// no draw count. Otherwise, returns `id`.
    pub fn resolve(&self, id: u32, threat: &Threat) -> u32 {
        if Self::is_counted(id) {
            return id;
        }
        let key = self.key(threat);
        self.exact_ids(&id).iter().copied().find(|&exact| self.keys[exact as usize] == key).unwrap_or(id)
    }

    /// Returns `next` with the draw count of `id`, plus one if the step draws a post. If draws
    /// are counted, the literal hawk picks this post.
    pub fn with_draw_count(&self, board: &Board<N>, id: u32, next: u32) -> Result<u32, String> {
        let (key, counted) = (key_id(id), id >> KEY_BITS);
        if counted == 0 || self.keys[key as usize].merged != 0 {
            return Ok(next);
        }
        if !self.draws_post(key, next) {
            return Ok(next | counted << KEY_BITS);
        }
        board.spend_acts(1)?;
        let mut hawk = Threat { seed: self.spawned.seed + counted as i32 - 1, ..self.threat(key) };
        hawk.act(&board.navigation, &board.layout, None);
        let is_picked = |&&id: &&u32| self.keys[id as usize] == self.key(&hawk);
        let picked = *self.exact_ids(&next).iter().find(is_picked).ok_or("a hawk picks none of its posts")?;
        // Counting ends when the count would not fit into its bits.
        let counted = if counted + 1 < 1 << DRAW_BITS { counted + 1 } else { 0 };
        Ok(picked | counted << KEY_BITS)
    }

    pub fn begin_counting(id: u32) -> u32 {
        id | 1 << KEY_BITS
    }

    pub fn is_counted(id: u32) -> bool {
        id >> KEY_BITS != 0
    }

    /// Returns true if a hawk picks a post in the step from `before` to `after`.
    fn draws_post(&self, before: u32, after: u32) -> bool {
        let has_post = |id: &u32| self.keys[*id as usize].memory.post.is_some();
        !self.exact_ids(&before).iter().any(has_post) && self.exact_ids(&after).iter().all(has_post)
    }

    /// Returns true if two state IDs may stand for the same state.
    pub fn overlap(&self, one: u32, other: u32) -> bool {
        if !self.is_hawk() {
            return one == other;
        }
        let (key, other_key) = (key_id(one), key_id(other));
        have_same_draws(one, other) && (key == other_key || intersect(self.exact_ids(&key), self.exact_ids(&other_key)))
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
        Key { position: threat.position, direction, memory, merged: 0 }
    }

    fn threat(&self, id: u32) -> Threat {
        let Key { position, direction, memory, .. } = self.keys[id as usize];
        Threat { position, direction, memory, ..self.spawned.clone() }
    }

    /// Returns a threat that differs from `threat` in fields outside the key, such as the seed. The
    /// twin of an owl that looks also remembers the owl's spawn, which the look overwrites.
    fn twin(&self, threat: &Threat, noticed: Option<Position>) -> Threat {
        let elsewhere = Some(self.spawned.spawn);
        let mut twin = Threat {
            seed: threat.seed + 1,
            ticks_since_move: 1,
            stale_player: self.spawned.spawn,
            memory: Memory { remembered: elsewhere, seen: elsewhere, post: elsewhere, idle_rounds: 1 },
            ..threat.clone()
        };
        if threat.style != Style::Deer {
            twin.direction = threat.direction.reverse();
            twin.spawn = threat.position;
        }
        match threat.style {
            Style::Owl if noticed.is_none() => twin.memory.remembered = threat.memory.remembered,
            Style::Hawk => twin.memory = Memory { remembered: elsewhere, ..threat.memory },
            _ => {}
        }
        twin
    }

    fn add(&mut self, key: Key, board: &Board<N>) -> Result<u32, String> {
        if let Some(&id) = self.ids.get(&key) {
            return Ok(id);
        }
        if self.keys.len() == self.keys_max {
            return Err(format!("the {} has more than {} keys", self.style(), self.keys_max));
        }
        let id = self.keys.len() as u32;
        self.keys.push(key);
        self.tiles.push(board.tile(key.position));
        self.ids.insert(key, id);
        Ok(id)
    }

    fn add_merged(&mut self, mut ids: Vec<u32>, board: &Board<N>) -> Result<u32, String> {
        ids.sort_unstable();
        ids.dedup();
        if ids.len() == 1 {
            return Ok(ids[0]);
        }
        board.spend(ids.len())?;
        let Key { position, direction, .. } = self.keys[ids[0] as usize];
        let place = match self.merged_indices.get(ids.as_slice()) {
            Some(&place) => place,
            None => {
                let ids: Rc<[u32]> = ids.into();
                self.merged.push(ids.clone());
                self.merged_indices.insert(ids, self.merged.len());
                self.merged.len()
            }
        };
        self.add(Key { position, direction, memory: Memory::default(), merged: place }, board)
    }

    pub fn first(&mut self, board: &Board<N>) -> Result<u32, String> {
        let first = self.spawned.clone();
        match first.style {
            Style::Owl => self.add_owl(board, first, board.owl_moves[1]),
            _ => self.add(self.key(&first), board),
        }
    }

    pub fn shark_on(&mut self, board: &Board<N>, tile: u16) -> Result<u32, String> {
        let shark = Threat { position: board.positions[usize::from(tile)], ..self.spawned.clone() };
        self.add(self.key(&shark), board)
    }

    /// Returns every possible state ID at the start of a tick. Fails for an owl that moves before
    /// it looks again, because its memory then matters.
    pub fn possible_ids(&mut self, board: &Board<N>, tick: usize) -> Result<Vec<u32>, String> {
        match self.style() {
            Style::Owl if board.owl_moves[tick] != 0 => {
                Err(format!("an owl cannot join in tick {tick}, when its memory matters"))
            }
            Style::Owl => {
                let owl = |&position: &Position| Threat { position, ..self.spawned.clone() };
                let owls: Vec<Threat> = board.positions.iter().map(owl).collect();
                owls.into_iter().map(|owl| self.add_owl(board, owl, 0)).collect()
            }
            Style::Hawk => {
                if self.merged_by_tile.is_empty() {
                    self.merged_by_tile = self.merged_hawks(board)?;
                }
                Ok(self.merged_by_tile.clone())
            }
            _ => self.possible_ids_after(board, board.moves[..tick].iter().filter(|moves| **moves).count()),
        }
    }

    /// Returns, for each tile, the key that merges all memories that a hawk can have there. Fails
    /// if the literal hawk starts with another memory, or if a step leads to one.
    fn merged_hawks(&mut self, board: &Board<N>) -> Result<Vec<u32>, String> {
        let (positions, rules) = (&board.positions, self.spawned.rules);
        let posts = board.navigation.posts().into_owned();
        let (patience, rest) = (i32::from(rules.hawk_patience_moves), i32::from(rules.hawk_rest_moves));
        let none = Memory::default();
        let mut hawks = Vec::new();
        for &position in positions {
            let hawk = Threat { position, ..self.spawned.clone() };
            board.spend(positions.len())?;
            let seen = positions.iter().filter_map(|&seen| hawk.notices(&board.layout, false, seen));
            let seen = seen.map(|seen| Memory { seen: Some(seen), ..none });
            let sent = posts.iter().map(|&post| Memory { post: Some(post), ..none });
            let first = if posts.contains(&position) { -rest } else { 0 };
            let rests = (first..=patience).map(|idle_rounds| Memory { idle_rounds, ..none });
            let memories: Vec<Memory> = seen.chain(sent).chain(rests).collect();
            let keys = memories.into_iter().map(|memory| self.add(self.key(&Threat { memory, ..hawk.clone() }), board));
            let keys: Vec<u32> = keys.collect::<Result<_, _>>()?;
            hawks.push(self.add_merged(keys, board)?);
        }
        let is_covered = |pursuer: &Self, next: u32| {
            let all = pursuer.exact_ids(&hawks[usize::from(pursuer.tile(next))]);
            pursuer.exact_ids(&next).iter().all(|id| all.binary_search(id).is_ok())
        };
        let first = self.first(board)?;
        let mut covered = is_covered(self, first);
        for &id in &hawks {
            for moment in [self.moment(board, 1), self.moment(board, 2)] {
                self.compute_steps(board, id, moment, &board.open)?;
                covered &= self.steps(id, moment).iter().all(|step| is_covered(self, step.next));
            }
        }
        if covered {
            Ok(hawks)
        } else {
            Err("a hawk starts with, or reaches, a memory that is not listed for its tile".to_owned())
        }
    }

    fn step(
        &mut self,
        board: &Board<N>,
        id: u32,
        moment: Moment,
        noticed: Option<Position>,
    ) -> Result<Vec<u32>, String> {
        let mut found: Vec<u32> = Vec::new();
        for exact in self.exact_ids(&id).to_vec() {
            self.step_exact(board, exact, moment, noticed, &mut found)?;
        }
        if found.len() == 1 {
            return Ok(found);
        }
        let mut by_tile: BTreeMap<u16, Vec<u32>> = BTreeMap::new();
        for id in found {
            by_tile.entry(self.tile(id)).or_default().push(id);
        }
        by_tile.into_values().map(|ids| self.add_merged(ids, board)).collect()
    }

    /// Adds the next state ID of an exact key to `found`, or one state ID per post if a hawk draws.
    fn step_exact(
        &mut self,
        board: &Board<N>,
        id: u32,
        moment: Moment,
        noticed: Option<Position>,
        found: &mut Vec<u32>,
    ) -> Result<(), String> {
        board.spend_acts(2)?;
        let mut threat = self.threat(id);
        let mut twin = self.twin(&threat, noticed);
        let before = threat.memory;
        threat.act(&board.navigation, &board.layout, noticed);
        twin.act(&board.navigation, &board.layout, noticed);
        let posts = board.navigation.posts();
        let drawn = threat.memory.post.filter(|_| before.post.is_none());
        if drawn.is_some() {
            if ![threat.memory.post, twin.memory.post].iter().flatten().all(|post| posts.contains(post)) {
                return Err("a hawk is sent to a tile that is not one of its posts".to_owned());
            }
            twin.memory.post = drawn;
        }
        if self.key(&threat) != self.key(&twin) {
            return Err(format!("the step of the {} depends on more than its key", self.style()));
        }
        if drawn.is_some() {
            for &post in posts.iter() {
                threat.memory.post = Some(post);
                found.push(self.add(self.key(&threat), board)?);
            }
        } else if threat.style == Style::Owl && (moment.looks || moment.moves_left == 0) {
            found.push(self.add_owl(board, threat, moment.moves_left)?);
        } else {
            found.push(self.add(self.key(&threat), board)?);
        }
        Ok(())
    }

    /// Returns the state ID of an owl with `moves_left` moves before it looks again. In its key,
    /// the tile where these moves end replaces the remembered position; without such moves, `None`
    /// does. Fails if the replacement changes the path.
    fn add_owl(&mut self, board: &Board<N>, owl: Threat, moves_left: u16) -> Result<u32, String> {
        let mut same = owl.clone();
        same.memory.remembered = None;
        if moves_left == 0 {
            return self.add(self.key(&same), board);
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
        self.add(key, board)
    }

    /// Returns every possible state ID of a shark or deer after `moves` moves.
    fn possible_ids_after(&mut self, board: &Board<N>, moves: usize) -> Result<Vec<u32>, String> {
        if self.ids_after_moves.is_empty() {
            let first = self.first(board)?;
            self.ids_after_moves.push(vec![first]);
        }
        let ticks = (1..).filter(|&tick| board.moves[tick]).skip(self.ids_after_moves.len() - 1);
        for tick in ticks.take((moves + 1).saturating_sub(self.ids_after_moves.len())) {
            let moment = self.moment(board, tick);
            let mut found: Vec<u32> = Vec::new();
            let mut is_found = Vec::new();
            for id in self.ids_after_moves[self.ids_after_moves.len() - 1].clone() {
                board.spend(1)?;
                // A living player is not on the threat's tile at the start of a tick. If jumps are
                // forbidden, the player is not on this tile after its own move either.
                let mut elsewhere = board.open;
                if self.is_stale || board.no_jump {
                    elsewhere.remove(self.tile(id));
                }
                self.compute_steps(board, id, moment, &elsewhere)?;
                for step in self.steps(id, moment) {
                    let next = step.next as usize;
                    is_found.resize(is_found.len().max(next + 1), false);
                    let can_follow = moment.0.is_off_grid || !step.when.and(&elsewhere).is_empty();
                    if can_follow && !std::mem::replace(&mut is_found[next], true) {
                        found.push(step.next);
                    }
                }
            }
            self.ids_after_moves.push(found);
        }
        Ok(self.ids_after_moves[moves].clone())
    }
}

fn have_same_draws(one: u32, other: u32) -> bool {
    let (one, other) = (one >> KEY_BITS, other >> KEY_BITS);
    one == other || one == 0 || other == 0
}

fn intersect(one: &[u32], other: &[u32]) -> bool {
    let mut rest = other.iter().peekable();
    one.iter().any(|id| {
        while rest.next_if(|&other| other < id).is_some() {}
        rest.peek() == Some(&id)
    })
}
