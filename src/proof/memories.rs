use std::sync::Arc;

#[derive(Clone, Debug, Default)]
pub(super) struct Hawks {
    pub posts: Vec<u16>,
    /// For each number of draws so far, the index of the post that a hawk draws next.
    pub picks: Vec<u8>,
    pub memories: Arc<Memories>,
    /// The number of bits of a memory in a hawk's key; 0 until all memories have been found.
    pub bits: u32,
}

/// The numbered memories of hawks. The lowest numbers are *exact* memories: a tile, a post or a
/// number of idle rounds. The others are sets: the exact memories that fit a hawk's moves since it
/// joined a layer or drew a post. Without these sets, a hawk whose memory is unknown could wait
/// longer than in the game, or turn back on its way to a post.
#[derive(Clone, Debug, Default)]
pub(super) struct Memories {
    pub tiles: usize,
    pub exact: usize,
    pub words: usize,
    /// For each memory, its exact memories as a bit set of `words` words.
    pub sets: Vec<u64>,
    /// For each tile, the memory that stands for all memories that a hawk on the tile can have.
    pub on: Vec<u16>,
    /// The memory of a hawk that has drawn a post; it stands for all posts.
    pub any_post: usize,
    /// At index `(set - exact) * tiles + tile`: the range of the next tiles and memories in `next`.
    pub rows: Vec<(u32, u32)>,
    pub next: Vec<(u16, u16)>,
}

impl Memories {
    /// Maximum number of memories, unless the exact memories, `on` and `any_post` already exceed
    /// it. Beyond the maximum, memories in `on` replace new sets.
    pub const MAX: usize = 1 << 12;

    pub fn set(&self, memory: usize) -> &[u64] {
        &self.sets[memory * self.words..][..self.words]
    }

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
