//! The moves of hawks, and the sets of memories that they lead to.

use std::collections::HashMap;

use super::combination::Memories;
use super::model::{IDLE_FIRST, IDLE_LAST, Model, POSTS_MAX};

/// Minimum moves of a hawk per draw of a post: six idle moves, and one in which it has a target.
pub(super) const MOVES_PER_DRAW: usize = 7;

impl<const N: usize> Model<N> {
    #[inline]
    pub fn hawk_seeing(&self, key: u32, place: u16) -> u32 {
        let target = usize::from(self.board.tiles[usize::from(place)]);
        let next = usize::from(self.paths.next[self.hawk_tile(key) * (self.tiles() + 1) + target]);
        self.hawk_key(next, target as u32)
    }

    /// Returns the possible next keys of a hawk that does not see the player. A hawk that draws may
    /// get any post, because its key does not hold the number of draws.
    pub fn hawk_blind(&self, key: u32) -> impl Iterator<Item = u32> + Clone + '_ {
        let (tile, memory) = (self.hawk_tile(key), (key & self.memory_mask()) as usize);
        let is_exact = memory < self.exact_memories();
        let only = is_exact.then(|| {
            let (tile, memory) = self.hawk_blind_exact(tile, memory).unwrap_or((tile, self.hawks.memories.any_post));
            self.hawk_key(tile, memory as u32)
        });
        let several = if is_exact { &[] } else { self.hawks.memories.successors(memory, tile) };
        only.into_iter().chain(several.iter().map(|&(tile, memory)| self.hawk_key(tile.into(), memory.into())))
    }

    #[inline]
    pub fn hawk_draws(&self, key: u32) -> bool {
        !self.hawks.posts.is_empty() && key & self.memory_mask() == self.idle_memory(IDLE_LAST)
    }

    #[inline]
    pub fn hawk_drawing(&self, key: u32, draws: u16) -> u32 {
        let post = self.hawks.picks.get(usize::from(draws)).copied().unwrap_or(0);
        self.hawk_key(self.hawk_tile(key), (self.tiles() + usize::from(post)) as u32)
    }

    /// Returns the next tile and memory of a hawk that does not see the player; `None` if it draws a
    /// post.
    fn hawk_blind_exact(&self, tile: usize, memory: usize) -> Option<(usize, usize)> {
        if memory < self.tiles() + POSTS_MAX {
            let is_post = memory >= self.tiles();
            let target = if is_post { usize::from(self.hawks.posts[memory - self.tiles()]) } else { memory };
            if target == tile {
                return Some((tile, self.idle_memory(if is_post { IDLE_FIRST } else { 0 }) as usize));
            }
            return Some((usize::from(self.paths.next[tile * (self.tiles() + 1) + target]), memory));
        }
        let rounds = (memory - self.tiles() - POSTS_MAX) as i8 + IDLE_FIRST;
        if rounds < IDLE_LAST {
            Some((tile, memory + 1))
        } else if self.hawks.posts.is_empty() {
            Some((tile, self.idle_memory(0) as usize))
        } else {
            None
        }
    }

    /// Returns the exact memories that a hawk on `tile` can have: its own tile, the tiles that it
    /// sees, the posts, and the numbers of idle rounds, which are negative only on a post.
    pub fn memories_on(&self, tile: usize) -> impl Iterator<Item = usize> + '_ {
        let seen = self.paths.sees[tile].iter().map(|place| usize::from(self.board.tiles[usize::from(place)]));
        let posts = (0..self.hawks.posts.len()).map(|post| self.tiles() + post);
        let first = if self.hawks.posts.iter().any(|&post| usize::from(post) == tile) { IDLE_FIRST } else { 0 };
        let idle = (first..=IDLE_LAST).map(|rounds| self.idle_memory(rounds) as usize);
        seen.chain([tile]).chain(posts).chain(idle)
    }
}

/// Finds the sets of memories that can develop from those in `on` and from `any_post`, up to the
/// maximum number of memories.
#[derive(Debug, Default)]
pub(super) struct MemoriesBuilder {
    pub memories: Memories,
    numbers: HashMap<Box<[u64]>, u16>,
    found: Vec<(u16, u16)>,
    done: usize,
}

impl MemoriesBuilder {
    pub fn new<const N: usize>(model: &Model<N>) -> Self {
        let (tiles, exact) = (model.tiles(), model.exact_memories());
        let words = exact.div_ceil(64);
        let mut builder = Self { memories: Memories { tiles, exact, words, ..Memories::default() }, ..Self::default() };
        for memory in 0..exact {
            builder.number(builder.set_of([memory]));
        }
        for tile in 0..tiles {
            let on = builder.number(builder.set_of(model.memories_on(tile))).expect("one per tile");
            builder.memories.on.push(on);
        }
        let posts = (0..model.hawks.posts.len()).map(|post| tiles + post);
        builder.memories.any_post = builder.number(builder.set_of(posts)).expect("one more").into();
        for tile in 0..tiles {
            builder.find(tile, builder.memories.on[tile]);
            builder.find(tile, builder.memories.any_post as u16);
        }
        builder
    }

    fn set_of(&self, memories: impl IntoIterator<Item = usize>) -> Box<[u64]> {
        let mut set = vec![0; self.memories.words];
        memories.into_iter().for_each(|memory| set[memory / 64] |= 1 << (memory % 64));
        set.into()
    }

    /// Returns the number of a set, or `None` for a new set beyond the maximum number of memories.
    fn number(&mut self, set: Box<[u64]>) -> Option<u16> {
        let count = self.numbers.len();
        if let Some(&number) = self.numbers.get(&set) {
            return Some(number);
        }
        if count >= Memories::MAX.max(self.memories.exact + self.memories.tiles + 1) {
            return None;
        }
        self.memories.sets.extend(&set);
        self.numbers.insert(set, count as u16);
        Some(count as u16)
    }

    fn find(&mut self, tile: usize, memory: u16) {
        let Some(row) = usize::from(memory).checked_sub(self.memories.exact) else { return };
        let row = row * self.memories.tiles + tile;
        if self.memories.rows.len() <= row {
            self.memories.rows.resize((row / self.memories.tiles + 1) * self.memories.tiles, (0, 0));
        }
        if self.memories.rows[row] == (0, 0) {
            self.memories.rows[row] = (0, 1);
            self.found.push((tile as u16, memory));
        }
    }

    /// Finds the steps from the next pair of tile and set. Returns true if no pair was left.
    pub fn advance<const N: usize>(&mut self, model: &Model<N>) -> bool {
        let Some(&(tile, memory)) = self.found.get(self.done) else { return true };
        self.done += 1;
        let words = self.memories.words;
        // The list is short, because it holds at most the hawk's tile and its neighbours.
        let mut sets: Vec<(usize, Box<[u64]>)> = Vec::new();
        let mut add = |to: usize, memory: usize| {
            let place = sets.iter().position(|(tile, _)| *tile == to).unwrap_or_else(|| {
                sets.push((to, vec![0; words].into()));
                sets.len() - 1
            });
            sets[place].1[memory / 64] |= 1 << (memory % 64);
        };
        for (word, &bits) in self.memories.set(memory.into()).iter().enumerate() {
            let exact = (0..64).filter(|bit| bits >> bit & 1 == 1).map(|bit| word * 64 + bit);
            for memory in exact {
                match model.hawk_blind_exact(tile.into(), memory) {
                    Some((to, memory)) => add(to, memory),
                    None => (0..model.hawks.posts.len()).for_each(|post| add(tile.into(), model.tiles() + post)),
                }
            }
        }
        let start = self.memories.next.len() as u32;
        for (to, set) in sets {
            let memory = self.number(set).unwrap_or(self.memories.on[to]);
            self.memories.next.push((to as u16, memory));
            self.find(to, memory);
        }
        let row = (usize::from(memory) - self.memories.exact) * self.memories.tiles + usize::from(tile);
        self.memories.rows[row] = (start, self.memories.next.len() as u32);
        false
    }
}

#[cfg(test)]
impl<const N: usize> Model<N> {
    /// Checks that the steps in `rows` include every exact step. Returns the number of rows in use.
    pub fn check_memories(&self) -> usize {
        let memories = &self.hawks.memories;
        let mut checked = 0;
        for (row, &(start, end)) in memories.rows.iter().enumerate().filter(|(_, row)| **row != (0, 0)) {
            let (set, tile) = (memories.set(memories.exact + row / memories.tiles), row % memories.tiles);
            for memory in (0..memories.exact).filter(|memory| set[memory / 64] >> (memory % 64) & 1 == 1) {
                let posts = (0..self.hawks.posts.len()).map(|post| (tile, memories.tiles + post));
                let exact = self.hawk_blind_exact(tile, memory);
                for (to, memory) in exact.into_iter().chain(posts.filter(|_| exact.is_none())) {
                    let next = &memories.next[start as usize..end as usize];
                    let is_covered = next
                        .iter()
                        .any(|&(tile, after)| usize::from(tile) == to && memories.overlap(after.into(), memory as u32));
                    assert!(is_covered, "tile {tile}, memory {memory}");
                }
            }
            checked += 1;
        }
        checked
    }
}
