//! The routing table: one byte per pair of tiles, for the shared path, the shark path and sight.
//!
//! The byte for a target and a tile shows which of the tile's neighbours are one step nearer to the
//! target (bits 0 to 3: left, right, up, down), and whether the target and the tile see each other
//! (bit 4). The *shared path* steps to the first nearer neighbour in `shared_path_order`. The
//! *shark path* does the same in `shark_path_order`. The server finds the shark path differently,
//! by a breadth-first search from the shark that expands neighbours in that order. Such a search
//! finds the lexicographically first of the shortest paths, so the result is the same.

use super::Direction;

pub(crate) const SEES: u8 = 1 << 4;
pub(crate) const NEARER: u8 = 0b1111;
pub(super) const ROUTE_BYTES: usize = 32;

pub(super) fn first_nearer(nearer: u8, order: [Direction; 4]) -> Option<Direction> {
    order.into_iter().find(|&direction| nearer >> direction as u8 & 1 == 1)
}

/// Builds the table row by row, so that a caller can stop at a deadline and continue later.
#[derive(Debug)]
pub(super) struct RouteBuilder {
    table: Vec<u8>,
    /// For each row built so far, the number of tiles that its target sees, including itself.
    views: Vec<u16>,
    search: Search,
}

impl RouteBuilder {
    /// Does not zero the table, because that can take milliseconds. `advance` zeroes each new row.
    pub fn new(tiles: usize) -> Self {
        let search = Search { distance: vec![0; tiles], queue: vec![0; tiles + 1] };
        Self { table: Vec::with_capacity((tiles + 1) * tiles), views: Vec::with_capacity(tiles), search }
    }

    /// A builder with a complete table, copied from a world with the same walls.
    pub fn complete(table: &[u8], views: &[u16]) -> Self {
        let tiles = views.len();
        let mut routes = Self::new(tiles);
        routes.table.extend_from_slice(&table[..tiles * tiles]);
        routes.views.extend_from_slice(views);
        routes
    }

    /// Builds at most `rows` more rows. Returns true once the table is complete. `neighbours` holds
    /// each tile's neighbour in each direction, or the tile itself if the direction is blocked.
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

    /// Returns the table (one row per target, then a row of zeros for "no target") and the views.
    /// The table must be complete.
    pub fn into_tables(mut self) -> (Vec<u8>, Vec<u16>) {
        self.table.resize(self.table.len() + self.views.len(), 0);
        (self.table, self.views)
    }
}

/// A breadth-first search with a branchless inner loop. It dominates the time to build a world.
#[derive(Debug)]
struct Search {
    /// For each tile, the distance from the target plus one; 0 if the tile is not reached.
    distance: Vec<u16>,
    /// One entry longer than the tile count, because `fill` can write after the last tile.
    queue: Vec<u16>,
}

impl Search {
    /// Fills the row of `target`: for each tile, the directions that lead nearer to `target`.
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
                // The queue is always written, but its tail advances only for a new tile.
                let new = *other == 0;
                *other = if new { distance + 1 } else { *other };
                self.queue[tail] = neighbour;
                tail += usize::from(new);
            }
            // At the target (distance 1), unreached neighbours (distance 0) would count as nearer.
            row[tile] = if distance == 1 { 0 } else { nearer };
        }
    }
}

/// Marks the tiles that the target sees. Returns their number, including the target.
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
