//! The routing table: one byte per pair of tiles, for the shared path, the shark path and sight.
//!
//! The byte for a target and a tile shows which of the tile's neighbours are one step nearer to the
//! target (bits 0 to 3: left, right, up, down), and whether the target and the tile see each other
//! (bit 4). The *shared path* steps to the first nearer neighbour in `shared_path_order`. The
//! *shark path* does the same in `shark_path_order`. The server finds the shark path differently,
//! by a search from the shark that is equivalent to a breadth-first search with neighbours in that
//! order. Such a search finds the lexicographically first of the shortest paths, so the result is
//! the same.

use super::{Direction, Mover, StreetGraph};

pub(crate) const SEES: u8 = 1 << 4;
pub(crate) const NEARER: u8 = 0b1111;
pub(super) const ROUTE_BYTES: usize = 32;

/// One bit for each target of a search. Operations on two words compile to vector instructions.
type Targets = [u64; WORDS];
const WORDS: usize = 2;
/// The number of targets from which one search starts.
const TARGETS: usize = 64 * WORDS;
/// At most this many bytes of a table are prepared at a time.
const PREPARED_BYTES: usize = 1 << 20;
/// A search continues with the next step at once until its steps have looked at this many tiles.
const SEARCHED_TILES: usize = 1 << 16;
/// On maps with at most this many tiles, each step of a search looks at all tiles. On larger maps, a
/// step lists the tiles beside those that the search has just reached, unless these are more than a
/// third of all tiles.
const DENSE_TILES_MAX: usize = 256;

pub(super) fn first_nearer(nearer: u8, order: [Direction; 4]) -> Option<Direction> {
    order.into_iter().find(|&direction| nearer >> direction as u8 & 1 == 1)
}

#[derive(Debug)]
pub(super) struct Routes {
    /// The byte for a target and a tile at index `tile * row + target`. The bytes for the target
    /// that is the tile count are 0.
    pub table: Vec<u8>,
    pub row: usize,
}

/// Builds the table for up to [`TARGETS`] targets at a time, so that a caller can stop at a deadline
/// and continue later. Each search is a breadth-first search from all of them.
#[derive(Debug)]
pub(super) struct RouteBuilder {
    routes: Routes,
    built: usize,
    /// The distance that the running search has reached, or 0.
    distance: u32,
    // For each tile:
    reached: Vec<Targets>,
    /// The second-lowest bits of the distances.
    halves: Vec<Targets>,
    /// The targets at the current distance, and at the next one.
    front: Vec<Targets>,
    next: Vec<Targets>,
    /// For each tile, the distance at which it was last added to `beside`.
    beside_at: Vec<u32>,
    /// The tiles that may have a target at the next distance. One entry longer than the tile count,
    /// because a search can write after the last tile.
    beside: Vec<u16>,
    all: Vec<u16>,
    /// The tiles that have a target at the current distance. On small maps, only whether it is empty
    /// counts after the first distance.
    active: Vec<u16>,
}

impl RouteBuilder {
    pub fn new(graph: &StreetGraph) -> Self {
        let tiles = graph.len();
        let row = (tiles + 1).next_multiple_of(8);
        Self {
            routes: Routes { table: Vec::with_capacity(tiles * row), row },
            built: 0,
            distance: 0,
            reached: vec![[0; WORDS]; tiles],
            halves: vec![[0; WORDS]; tiles],
            front: vec![[0; WORDS]; tiles],
            next: vec![[0; WORDS]; tiles],
            beside_at: vec![0; tiles],
            beside: vec![0; tiles + 1],
            all: (0..tiles as u16).collect(),
            active: Vec::with_capacity(tiles),
        }
    }

    /// Prepares a part of a large table, continues a search, or writes the routes to its targets.
    /// Returns true once the table is complete.
    pub fn advance(&mut self, graph: &StreetGraph) -> bool {
        // The first write to each page is slow, and a search writes to all of them.
        let Routes { table, row } = &mut self.routes;
        table.resize((table.len() + PREPARED_BYTES).min(graph.len() * *row), 0);
        if table.len() < graph.len() * *row {
            return false;
        }
        let (first, tiles) = (self.built, graph.len());
        if first == tiles {
            return true;
        }
        if !self.search(graph.neighbours(Mover::Threat), first) {
            return false;
        }
        for word in 0..WORDS {
            self.write_nearer(graph, first + 64 * word, word);
        }
        for target in (first..tiles).take(TARGETS) {
            for_each_visible(graph, target, |tile| self.routes.table[tile * self.routes.row + target] |= SEES);
        }
        (self.built, self.distance) = (tiles.min(first + TARGETS), 0);
        self.built == tiles
    }

    /// The table, which must be complete.
    pub fn finish(self) -> Routes {
        self.routes
    }

    /// Starts or continues a search from the targets from `first` on. Returns true at its end.
    fn search(&mut self, neighbours: &[[u16; 4]], first: usize) -> bool {
        if self.distance == 0 {
            self.reached.fill([0; WORDS]);
            self.halves.fill([0; WORDS]);
            self.beside_at.fill(0);
            for (bit, target) in (first..neighbours.len()).take(TARGETS).enumerate() {
                self.active.push(target as u16);
                self.reached[target][bit / 64] = 1 << (bit % 64);
                self.front[target][bit / 64] = 1 << (bit % 64);
            }
        }
        let is_small = neighbours.len() <= DENSE_TILES_MAX;
        let mut tiles = 0;
        while !self.active.is_empty() && tiles < SEARCHED_TILES {
            self.distance += 1;
            let is_dense = is_small || 3 * self.active.len() > neighbours.len();
            let count = if is_dense { 0 } else { self.list_beside(neighbours) };
            let beside = if is_dense { &self.all } else { &self.beside[..count] };
            tiles += beside.len();
            let half = u64::from(self.distance & 2 != 0).wrapping_neg();
            let mut any_anywhere = 0;
            for &tile in beside {
                let tile = usize::from(tile);
                let [left, right, up, down] = neighbours[tile];
                let [left, right] = [self.front[usize::from(left)], self.front[usize::from(right)]];
                let [up, down] = [self.front[usize::from(up)], self.front[usize::from(down)]];
                let (reached, halves, next) = (&mut self.reached[tile], &mut self.halves[tile], &mut self.next[tile]);
                for word in 0..WORDS {
                    let new = (left[word] | right[word] | up[word] | down[word]) & !reached[word];
                    reached[word] |= new;
                    halves[word] |= new & half;
                    next[word] = new;
                    any_anywhere |= new;
                }
            }
            if is_small {
                self.active.truncate(usize::from(any_anywhere != 0));
            } else {
                self.active.drain(..).for_each(|tile| self.front[usize::from(tile)] = [0; WORDS]);
                self.active.extend(beside.iter().filter(|&&tile| self.next[usize::from(tile)] != [0; WORDS]));
            }
            std::mem::swap(&mut self.front, &mut self.next);
        }
        self.active.is_empty()
    }

    /// Lists the tiles beside active tiles, and returns their number.
    fn list_beside(&mut self, neighbours: &[[u16; 4]]) -> usize {
        let mut count = 0;
        for &tile in &self.active {
            for neighbour in neighbours[usize::from(tile)] {
                // The list is always written, but its length counts only new tiles.
                self.beside[count] = neighbour;
                let known = std::mem::replace(&mut self.beside_at[usize::from(neighbour)], self.distance);
                count += usize::from(known != self.distance);
            }
        }
        count
    }

    /// Writes the directions that lead nearer to the targets of a word. `first` is the first of
    /// these targets. A step leads from a white to a black tile of a chessboard or back, so it
    /// changes the distance by one, and the second-lowest bits of two adjacent distances show which
    /// is smaller: from an odd distance, the nearer tile has the same bit, and from an even
    /// distance, the farther one.
    fn write_nearer(&mut self, graph: &StreetGraph, first: usize, word: usize) {
        let targets = (first..graph.len()).take(64);
        let whites = targets.fold(0, |bits, target| bits | is_white(graph, target) & 1 << (target - first));
        let rows = self.routes.table.chunks_exact_mut(self.routes.row);
        for (tile, (row, ways)) in rows.zip(graph.neighbours(Mover::Threat)).enumerate() {
            let (reached, half) = (self.reached[tile][word], self.halves[tile][word]);
            let odd = whites ^ is_white(graph, tile);
            let mut nearer = [0; 4];
            for (nearer, &next) in nearer.iter_mut().zip(ways) {
                let is_open = u64::from(usize::from(next) != tile).wrapping_neg();
                *nearer = (self.halves[usize::from(next)][word] ^ half ^ odd) & reached & is_open;
            }
            for (chunk, bytes) in row.chunks_exact_mut(8).skip(first / 8).take(8).enumerate() {
                let bytes_of = |direction: usize| spread((nearer[direction] >> (8 * chunk)) as u8) << direction;
                let all = bytes_of(0) | bytes_of(1) | bytes_of(2) | bytes_of(3);
                bytes.copy_from_slice(&all.to_be_bytes());
            }
        }
    }
}

/// All ones if the tile is white, otherwise 0.
fn is_white(graph: &StreetGraph, tile: usize) -> u64 {
    let position = graph.positions()[tile];
    u64::from((position.x ^ position.y) & 1 != 0).wrapping_neg()
}

/// The bits as eight bytes, the lowest bit in the highest byte. The product holds eight copies of
/// the bits that do not overlap, and each byte's highest bit belongs to a different copy.
fn spread(bits: u8) -> u64 {
    u64::from(bits).wrapping_mul(0x8040_2010_0804_0201) >> 7 & 0x0101_0101_0101_0101
}

/// Calls `see` with each tile that a tile sees, including itself.
pub(super) fn for_each_visible(graph: &StreetGraph, from: usize, mut see: impl FnMut(usize)) {
    see(from);
    for direction in Direction::ALL {
        let mut tile = from;
        loop {
            let next = usize::from(graph.neighbours(Mover::Threat)[tile][direction as usize]);
            if next == tile {
                break;
            }
            see(next);
            tile = next;
        }
    }
}
