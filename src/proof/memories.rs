//! What hawks remember.

use std::sync::Arc;

#[derive(Clone, Debug, Default)]
pub(super) struct Hawks {
    /// The tiles of the posts.
    pub posts: Vec<u16>,
    /// By a hawk's number of draws so far: the index of the post that it draws next.
    pub picks: Vec<u8>,
    pub memories: Arc<Memories>,
    /// Bits of a memory in a hawk's key; 0 until the memories are found.
    pub bits: u32,
}

/// The memories of hawks by number: first the *exact* ones (a tile, a post or idle rounds), then
/// sets of these.
///
/// A set holds the memories that agree with the tiles of a hawk out of sight. So a hawk cannot wait
/// longer than in the game, or turn back on its way to a post.
#[derive(Clone, Debug, Default)]
pub(super) struct Memories {
    pub tiles: usize,
    pub exact: usize,
    /// Words per set.
    pub words: usize,
    /// By memory: the set of exact memories, a single one for an exact memory.
    pub sets: Vec<u64>,
    /// By tile: the set of all memories that are possible there.
    pub on: Vec<u16>,
    /// The set of all posts, for a hawk that has drawn one.
    pub any_post: usize,
    /// By set and tile: the range of its steps in `next`.
    pub rows: Vec<(u32, u32)>,
    /// Tiles and memories.
    pub next: Vec<(u16, u16)>,
}

impl Memories {
    /// Maximum number of memories. Beyond it, the memories in `on` replace new sets.
    pub const MAX: usize = 1 << 12;

    pub fn set(&self, memory: usize) -> &[u64] {
        &self.sets[memory * self.words..][..self.words]
    }

    /// Whether two memories have an exact memory in common.
    #[inline]
    pub fn overlap(&self, one: u32, other: u32) -> bool {
        one == other || {
            let (one, other) = (self.set(one as usize), self.set(other as usize));
            one.iter().zip(other).any(|(one, other)| one & other != 0)
        }
    }

    pub fn successors(&self, memory: usize, tile: usize) -> &[(u16, u16)] {
        let (start, end) = self.rows[(memory - self.exact) * self.tiles + tile];
        &self.next[start as usize..end as usize]
    }
}
