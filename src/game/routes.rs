//! All-pairs routing table for the shared path, the shark path and lines of sight: one byte per
//! pair of tiles.
//!
//! The byte for a target and a tile says which of the tile's neighbours are one step nearer to the
//! target (bits 0 to 3: left, right, up, down) and whether the two see each other (bit 4). That is
//! enough for both paths, whatever their order of directions:
//!
//! - The *shared path* takes the first nearer neighbour in its order, by definition.
//! - The *shark path* comes from a first-in-first-out breadth-first search from the shark, which
//!   looks at neighbours in its own order (the server's is right, down, up, left). Such a search
//!   reaches every tile by the shortest path that is first in the lexicographic order of its
//!   directions: within a round, tiles leave the queue in the order of their paths, and a tile
//!   keeps the first that reaches it. The first step of that path is the first direction, in that
//!   order, that begins any shortest path: the first nearer neighbour.
//!
//! The reference model computes both paths literally, and tests compare the two for every pair of
//! tiles.

use super::Direction;

/// The bit of a route byte that is set when the two tiles see each other.
pub(crate) const SEES: u8 = 1 << 4;
/// The bits of a route byte that mark the nearer neighbours.
pub(crate) const NEARER: u8 = 0b1111;
/// Number of distinct byte values.
pub(super) const ROUTE_BYTES: usize = 32;

/// The first direction of `nearer` in an order: the shared path's, or the shark path's.
pub(super) fn first_nearer(nearer: u8, order: [Direction; 4]) -> Option<Direction> {
    order.into_iter().find(|&direction| nearer >> direction as u8 & 1 == 1)
}

/// Builds the table row by row, so that a caller with a deadline can build it in steps.
#[derive(Debug)]
pub(super) struct RouteBuilder {
    table: Vec<u8>,
    /// Tile -> number of tiles visible from it, itself included.
    views: Vec<u16>,
    search: Search,
}

impl RouteBuilder {
    /// Creates an empty table. Rows are zeroed as they are built, because zeroing the whole table
    /// of the largest map takes milliseconds.
    pub fn new(tiles: usize) -> Self {
        let search = Search { distance: vec![0; tiles], queue: vec![0; tiles + 1] };
        Self { table: Vec::with_capacity((tiles + 1) * tiles), views: Vec::with_capacity(tiles), search }
    }

    /// Builds at most `rows` more rows and returns whether the table is complete.
    /// `neighbours[tile][direction]` is the neighbour's tile, or the tile itself where there is a
    /// wall.
    pub fn advance(&mut self, neighbours: &[[u16; 4]], rows: usize) -> bool {
        let tiles = neighbours.len();
        let built = self.views.len();
        for target in built..tiles.min(built.saturating_add(rows)) {
            self.table.resize((target + 1) * tiles, 0);
            let row = &mut self.table[target * tiles..];
            self.search.fill(neighbours, target, row);
            self.views.push(mark_visible(neighbours, target, row));
        }
        self.views.len() == tiles
    }

    /// Returns the table (one row per target, one byte per tile, and a final all-zero row for "no
    /// target") and, for each tile, the number of tiles visible from it, itself included.
    pub fn into_tables(mut self) -> (Vec<u8>, Vec<u16>) {
        self.table.resize(self.table.len() + self.views.len(), 0);
        (self.table, self.views)
    }
}

/// The breadth-first search of [`StreetGraph`](super::StreetGraph), once more: without branches,
/// because it runs once per tile and its time is most of a world's, and noting for each tile which
/// neighbours are nearer.
#[derive(Debug)]
struct Search {
    /// Steps from the target plus one; 0 while not reached.
    distance: Vec<u16>,
    /// Tiles in the order they are reached; one slot longer than the tile count, because the
    /// branchless write goes one past the end.
    queue: Vec<u16>,
}

impl Search {
    /// Breadth-first search from `target`: when a tile is dequeued, its nearer neighbours are those
    /// reached one round earlier.
    fn fill(&mut self, neighbours: &[[u16; 4]], target: usize, row: &mut [u8]) {
        self.distance.fill(0);
        self.distance[target] = 1;
        self.queue[0] = target as u16;
        let (mut head, mut tail) = (0, 1);
        while head < tail {
            let tile = usize::from(self.queue[head]);
            head += 1;
            let distance = self.distance[tile];
            let mut nearer = 0;
            for (direction, &neighbour) in neighbours[tile].iter().enumerate() {
                let other = &mut self.distance[usize::from(neighbour)];
                nearer |= u8::from(*other == distance - 1) << direction;
                // Without a branch: the neighbour is always written, and kept only if it is new.
                let new = *other == 0;
                *other = if new { distance + 1 } else { *other };
                self.queue[tail] = neighbour;
                tail += usize::from(new);
            }
            // A neighbour that is not reached yet has distance 0, which equals `distance - 1` only
            // at the target.
            row[tile] = if distance == 1 { 0 } else { nearer };
        }
    }
}

/// Marks the tiles that see the target along a row or column of open tiles, the target itself
/// included, and counts them.
fn mark_visible(neighbours: &[[u16; 4]], target: usize, row: &mut [u8]) -> u16 {
    row[target] |= SEES;
    let mut count = 1;
    for direction in Direction::ALL {
        let mut tile = target;
        loop {
            let next = usize::from(neighbours[tile][direction as usize]);
            if next == tile {
                break;
            }
            row[next] |= SEES;
            count += 1;
            tile = next;
        }
    }
    count
}
