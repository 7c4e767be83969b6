//! Threats that see the player: what determines their future as one number, and the steps from
//! number to number, each made by the literal threat.

use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use getaway::game::{Direction, Position, Style, View};

use super::board::{Board, Moment};
use super::tiles::Tiles;
use crate::random::pick;
use crate::sight::line_of_sight;
use crate::ways::Ways;
use crate::{Memory, Threat};

/// Bits of a key's number.
pub(super) const KEY_BITS: u32 = 18;
/// A hawk's number has the number of its draws above its key's number, plus one; zero if they are
/// not counted.
pub(super) const DRAW_BITS: u32 = 8;

/// The number of a hawk's key.
fn key_number(number: u32) -> u32 {
    number & ((1 << KEY_BITS) - 1)
}

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

/// A step of a threat: the number that can follow when it sees the player on one of these tiles.
#[derive(Clone, Debug)]
pub(super) struct Way<const N: usize> {
    pub when: Tiles<N>,
    pub next: u32,
    /// The tile of the next number.
    pub tile: u16,
}

/// The steps from a number in a case, as far as they have been needed.
#[derive(Clone, Debug)]
struct Row<const N: usize> {
    asked: Tiles<N>,
    ways: Vec<Way<N>>,
}

/// A threat that sees the player: its keys by number, and what follows from them.
pub(super) struct Pursuer<const N: usize> {
    pub spawned: Threat,
    pub view: View,
    /// A clock at which owls do not look.
    blind_clock: u16,
    keys: Vec<Key>,
    tiles: Vec<u16>,
    numbers: HashMap<Key, u32>,
    /// Number -> case -> steps.
    rows: Vec<Vec<Row<N>>>,
    /// Hawk: keys, by their numbers in ascending order, for which one key stands.
    several: Vec<Rc<[u32]>>,
    several_places: HashMap<Rc<[u32]>, usize>,
    /// By number of moves, every key that it can then have, as far as they have been needed.
    closures: Vec<Vec<u32>>,
}

impl<const N: usize> Pursuer<N> {
    pub fn new(spawned: Threat) -> Self {
        let rules = &spawned.rules;
        let view = match spawned.style {
            Style::Shark => rules.shark_view,
            Style::Deer => rules.deer_view,
            Style::Owl => rules.owl_view,
            _ => rules.hawk_view,
        };
        Self {
            view,
            blind_clock: rules.owl_window_ticks,
            spawned,
            keys: Vec::new(),
            tiles: Vec::new(),
            numbers: HashMap::new(),
            rows: Vec::new(),
            several: Vec::new(),
            several_places: HashMap::new(),
            closures: Vec::new(),
        }
    }

    pub fn is_hawk(&self) -> bool {
        self.spawned.style == Style::Hawk
    }

    /// Whether there are more keys than their bits can tell apart.
    pub fn has_too_many_keys(&self) -> bool {
        self.keys.len() > 1 << KEY_BITS
    }

    /// The tile of a number.
    pub fn tile(&self, number: u32) -> u16 {
        self.tiles[key_number(number) as usize]
    }

    /// The keys for which one key stands, by their numbers.
    fn exact<'a>(&'a self, number: &'a u32) -> &'a [u32] {
        match self.keys[*number as usize].several {
            0 => std::slice::from_ref(number),
            place => &self.several[place - 1],
        }
    }

    /// The steps from a number in a tick in which threats move, for a player that it sees on one of
    /// the tiles that have been asked for, or on others. The number of draws plays no part.
    pub fn ways(&self, number: u32, moment: Moment) -> &[Way<N>] {
        &self.rows[key_number(number) as usize][moment.case].ways
    }

    /// Adds the steps from a number for a player that it sees on one of these tiles.
    pub fn ask(&mut self, board: &Board<N>, number: u32, moment: Moment, seen: &Tiles<N>) {
        let number = key_number(number) as usize;
        if self.rows.len() <= number {
            self.rows.resize(self.keys.len().max(number + 1), Vec::new());
        }
        if self.rows[number].is_empty() {
            self.rows[number] = vec![Row { asked: Tiles::EMPTY, ways: Vec::new() }; board.cases()];
        }
        if !seen.without(&self.rows[number][moment.case].asked).is_empty() {
            self.add_ways(board, number as u32, moment, seen);
        }
    }

    #[cold]
    fn add_ways(&mut self, board: &Board<N>, number: u32, moment: Moment, seen: &Tiles<N>) {
        let mut row = std::mem::replace(
            &mut self.rows[number as usize][moment.case],
            Row { asked: Tiles::EMPTY, ways: Vec::new() },
        );
        if moment.is_blind {
            let all: Tiles<N> = (0..board.positions.len() as u16).collect();
            let found = self.step(board, number, moment, Position::new(-1, -1));
            row.ways = found.into_iter().map(|next| Way { when: all, next, tile: self.tile(next) }).collect();
            row.asked = all;
        }
        for tile in seen.without(&row.asked).iter() {
            for next in self.step(board, number, moment, board.positions[usize::from(tile)]) {
                match row.ways.iter_mut().find(|way| way.next == next) {
                    Some(way) => way.when.insert(tile),
                    None => row.ways.push(Way { when: Tiles::of(tile), next, tile: self.tile(next) }),
                }
            }
        }
        row.asked = row.asked.or(seen);
        self.rows[number as usize][moment.case] = row;
    }

    /// The number that follows another if its draws are counted, for a step of its key: it picks
    /// the post that it picks in the game.
    pub fn counted(&self, board: &Board<N>, number: u32, next: u32) -> u32 {
        let (key, counted) = (key_number(number), number >> KEY_BITS);
        if counted == 0 {
            return next;
        }
        if !self.picks(key, next) {
            return next | counted << KEY_BITS;
        }
        let mut seed = self.spawned.seed + counted as i32 - 1;
        let post = pick(&mut seed, board.rules.pick_scale, &board.ways.posts());
        let is_picked = |&&number: &&u32| self.keys[number as usize].post == post;
        let picked = *self.exact(&next).iter().find(is_picked).expect("a pick is one of the posts");
        // Draws beyond what the bits can hold are not counted from here on.
        let counted = if counted + 1 < 1 << DRAW_BITS { counted + 1 } else { 0 };
        picked | counted << KEY_BITS
    }

    /// The number of a hawk that has not drawn yet and counts from here on.
    pub fn begin_counting(number: u32) -> u32 {
        number | 1 << KEY_BITS
    }

    /// Whether a hawk's number counts its draws.
    pub fn is_counted(number: u32) -> bool {
        number >> KEY_BITS != 0
    }

    /// Whether a hawk draws a post between these two of its keys. Without posts, its draws do not
    /// matter.
    fn picks(&self, before: u32, after: u32) -> bool {
        let has_post = |number: &u32| self.keys[*number as usize].post.is_some();
        !self.exact(&before).iter().any(has_post) && self.exact(&after).iter().all(has_post)
    }

    /// Whether two of a hawk's numbers on the same tile may stand for the same of its states.
    pub fn overlap(&self, one: u32, other: u32) -> bool {
        let (key, other_key) = (key_number(one), key_number(other));
        have_same_draws(one, other) && (key == other_key || intersect(self.exact(&key), self.exact(&other_key)))
    }

    /// The number of a threat in its current state, without an owl's memory where no move is left
    /// before it looks.
    fn add(&mut self, threat: &Threat, moves_left: u16, board: &Board<N>) -> u32 {
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
        self.add_key(key, board)
    }

    fn add_key(&mut self, key: Key, board: &Board<N>) -> u32 {
        *self.numbers.entry(key).or_insert_with(|| {
            self.keys.push(key);
            self.tiles.push(board.tile(key.position));
            (self.keys.len() - 1) as u32
        })
    }

    /// The number of a key that stands for these, which are on one tile.
    fn add_several(&mut self, mut numbers: Vec<u32>, board: &Board<N>) -> u32 {
        numbers.sort_unstable();
        numbers.dedup();
        if numbers.len() == 1 {
            return numbers[0];
        }
        let position = self.keys[numbers[0] as usize].position;
        let place = match self.several_places.get(numbers.as_slice()) {
            Some(&place) => place,
            None => {
                let numbers: Rc<[u32]> = numbers.into();
                self.several.push(numbers.clone());
                self.several_places.insert(numbers, self.several.len());
                self.several.len()
            }
        };
        let key =
            Key { position, direction: 0, remembered: None, seen: None, post: None, idle_rounds: 0, several: place };
        self.add_key(key, board)
    }

    /// The number of the threat as it has spawned. An owl that sees the player in tick 1 has this
    /// many moves left before that.
    pub fn first(&mut self, board: &Board<N>) -> u32 {
        let (first, moves_left) = (self.spawned.clone(), board.owl_moves[1]);
        if first.style == Style::Owl { self.add_ahead(board, first, moves_left) } else { self.add(&first, 0, board) }
    }

    /// The number of a shark on a tile.
    pub fn shark_on(&mut self, board: &Board<N>, tile: u16) -> u32 {
        let shark = Threat { position: board.positions[usize::from(tile)], ..self.spawned.clone() };
        self.add(&shark, 0, board)
    }

    /// Every number that it can have in a tick, if these are known: an owl's memory must not
    /// matter.
    pub fn anywhere(&mut self, board: &Board<N>, tick: usize) -> Option<Vec<u32>> {
        match self.spawned.style {
            Style::Owl if board.owl_moves[tick] != 0 => None,
            Style::Owl => {
                let owl = |&position: &Position| Threat { position, ..self.spawned.clone() };
                let owls: Vec<Threat> = board.positions.iter().map(owl).collect();
                Some(owls.iter().map(|owl| self.add(owl, 0, board)).collect())
            }
            Style::Hawk => Some(self.hawks_anywhere(board)),
            _ => Some(self.closure(board, board.moves_before(tick))),
        }
    }

    /// For each tile, a key that stands for every memory that a hawk can have there. It has seen
    /// the player in a straight line from there, or is sent to a post, or rests: for longer on a
    /// post.
    fn hawks_anywhere(&mut self, board: &Board<N>) -> Vec<u32> {
        let (positions, rules) = (&board.positions, &board.rules);
        let posts = board.ways.posts().into_owned();
        let (patience, rest) = (i32::from(rules.hawk_patience_moves), i32::from(rules.hawk_rest_moves));
        let on_tile = |&position: &Position| {
            let seen = positions.iter().copied();
            let seen = seen.filter(|&seen| seen == position || line_of_sight(&board.layout, position, seen));
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
            let numbers: Vec<u32> = hawks.iter().map(|hawk| self.add(hawk, 0, board)).collect();
            self.add_several(numbers, board)
        };
        hawks.into_iter().map(number).collect()
    }

    /// The numbers that follow a number when the threat moves and sees the player at a position.
    fn step(&mut self, board: &Board<N>, number: u32, moment: Moment, sees: Position) -> Vec<u32> {
        let mut found: Vec<u32> = Vec::new();
        for exact in self.exact(&number).to_vec() {
            found.extend(self.step_exact(board, exact, moment, sees));
        }
        if !self.is_hawk() {
            return found;
        }
        // One key for each tile stands for all that the hawk may remember there.
        let mut by_tile: BTreeMap<u16, Vec<u32>> = BTreeMap::new();
        for number in found {
            by_tile.entry(self.tile(number)).or_default().push(number);
        }
        by_tile.into_values().map(|numbers| self.add_several(numbers, board)).collect()
    }

    /// The numbers that follow one exact key; for a hawk that draws, one for each post.
    fn step_exact(&mut self, board: &Board<N>, number: u32, moment: Moment, sees: Position) -> Vec<u32> {
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
        threat.update_by(&board.ways, &board.layout, moment.clock, sees);
        if key.post.is_none() && threat.memory.post.is_some() {
            let picks = board.ways.posts().into_owned().into_iter().map(|post| {
                let mut picked = threat.clone();
                picked.memory.post = Some(post);
                picked
            });
            return picks.map(|picked| self.add(&picked, 0, board)).collect();
        }
        if threat.style == Style::Owl && moment.clock != self.blind_clock {
            return vec![self.add_ahead(board, threat, moment.moves_left)];
        }
        vec![self.add(&threat, moment.moves_left, board)]
    }

    /// The number of an owl that has this many moves left before it looks again, with the tile that
    /// these lead to in place of the one that it remembers: the moves are the same.
    fn add_ahead(&mut self, board: &Board<N>, mut threat: Threat, moves_left: u16) -> u32 {
        let mut ahead = threat.clone();
        for _ in 0..moves_left {
            ahead.ticks_since_move = u8::MAX - 1;
            ahead.update_by(&board.ways, &board.layout, self.blind_clock, ahead.position);
        }
        threat.memory.remembered = Some(ahead.position);
        self.add(&threat, moves_left, board)
    }

    /// Every number that a shark or a deer can have after some moves, wherever the player goes. The
    /// player is never on its tile, or it is caught.
    fn closure(&mut self, board: &Board<N>, moves: usize) -> Vec<u32> {
        if self.closures.is_empty() {
            let first = self.first(board);
            self.closures.push(vec![first]);
        }
        let moment = Moment { case: 0, clock: 0, moves_left: 0, is_blind: false };
        while self.closures.len() <= moves {
            let mut found: Vec<u32> = Vec::new();
            let mut is_found = Vec::new();
            for number in self.closures[self.closures.len() - 1].clone() {
                let mut elsewhere: Tiles<N> = (0..board.positions.len() as u16).collect();
                elsewhere.remove(self.tile(number));
                self.ask(board, number, moment, &elsewhere);
                for way in self.ways(number, moment) {
                    let next = way.next as usize;
                    is_found.resize(is_found.len().max(next + 1), false);
                    if !way.when.and(&elsewhere).is_empty() && !std::mem::replace(&mut is_found[next], true) {
                        found.push(way.next);
                    }
                }
            }
            self.closures.push(found);
        }
        self.closures[moves].clone()
    }
}

/// Whether two numbers of a hawk may have the same number of draws: one that is not counted can be
/// any.
fn have_same_draws(one: u32, other: u32) -> bool {
    let (one, other) = (one >> KEY_BITS, other >> KEY_BITS);
    one == other || one == 0 || other == 0
}

/// Whether two ascending lists have a number in common.
fn intersect(one: &[u32], other: &[u32]) -> bool {
    let mut rest = other.iter().peekable();
    one.iter().any(|number| {
        while rest.next_if(|&other| other < number).is_some() {}
        rest.peek() == Some(&number)
    })
}
