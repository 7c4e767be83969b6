//! The streets as a graph. Open tiles are numbered from 0, in the server's order: by x, then by y.
//! A [`World`](super::World) uses the same numbers.

use std::sync::Arc;

use super::{Direction, Layout, Position, Tile};

/// The distance to an unreachable tile.
pub const UNREACHED: u16 = u16::MAX;

const WALL: u16 = u16::MAX;

/// The kind of mover. Threats can enter see-through tiles, but the player cannot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mover {
    /// Enters open tiles.
    Player,
    /// Enters open and see-through tiles. Sight and the paths of `MOVE_TO` pass through both, too.
    Threat,
}

/// The open tiles of a map, including see-through tiles, and the edges between them. Clones share
/// their memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreetGraph {
    width: i32,
    height: i32,
    positions: Arc<[Position]>,
    /// The number of the tile at (x, y), or [`WALL`], at index `y * width + x`.
    tiles: Arc<[u16]>,
    /// For each mover, tile and direction: the neighbour, or the tile itself if the way is blocked.
    neighbours: [Arc<[[u16; 4]]>; 2],
}

impl StreetGraph {
    /// Builds the graph of a layout.
    ///
    /// # Panics
    /// If the layout has 65,535 open tiles or more, or fewer than `width * height` tiles. A
    /// [`World`](super::World) allows at most 4,096 open tiles.
    pub fn new(layout: &Layout) -> Self {
        let positions: Arc<[Position]> = layout.open_positions().collect();
        assert!(positions.len() < usize::from(WALL), "{} open tiles: expected fewer than {WALL}", positions.len());
        let mut tiles = vec![WALL; layout.tiles.len()];
        for (tile, position) in positions.iter().enumerate() {
            tiles[(position.y * layout.width + position.x) as usize] = tile as u16;
        }
        let (width, height) = (layout.width, layout.height);
        let neighbours = [Arc::default(), Arc::default()];
        let mut graph = Self { width, height, positions, tiles: tiles.into(), neighbours };
        graph.neighbours = [Mover::Player, Mover::Threat].map(|mover| graph.link(layout, mover));
        graph
    }

    /// The graph of a layout with the same walls.
    pub(super) fn with_player_ways(&self, layout: &Layout) -> Self {
        let [_, threat] = &self.neighbours;
        Self { neighbours: [self.link(layout, Mover::Player), Arc::clone(threat)], ..self.clone() }
    }

    fn link(&self, layout: &Layout, mover: Mover) -> Arc<[[u16; 4]]> {
        let is_entered = |position: Position| match mover {
            Mover::Player => layout.tile(position) == Tile::Open,
            Mover::Threat => true,
        };
        let link = |(tile, &position): (u16, &Position)| {
            let mut ways = [tile; 4];
            for direction in Direction::ALL {
                let next = position.towards(direction);
                if let Some(next) = self.tile(next).filter(|_| is_entered(next)) {
                    ways[direction as usize] = next;
                }
            }
            ways
        };
        (0..).zip(&*self.positions).map(link).collect()
    }

    /// The number of open tiles.
    pub fn len(&self) -> usize {
        self.positions.len()
    }

    /// True if the layout has no open tiles.
    pub fn is_empty(&self) -> bool {
        self.positions.is_empty()
    }

    /// Columns of the grid.
    pub fn width(&self) -> i32 {
        self.width
    }

    /// Rows of the grid.
    pub fn height(&self) -> i32 {
        self.height
    }

    /// The positions of all tiles, in the order of their numbers.
    pub fn positions(&self) -> &[Position] {
        &self.positions
    }

    /// The position of a tile. Panics if the tile does not exist.
    pub fn position(&self, tile: u16) -> Position {
        self.positions[usize::from(tile)]
    }

    /// The number of the tile at a position; `None` for a wall or a position off the grid.
    pub fn tile(&self, position: Position) -> Option<u16> {
        let Position { x, y } = position;
        if x < 0 || y < 0 || x >= self.width || y >= self.height {
            return None;
        }
        Some(self.tiles[(y * self.width + x) as usize]).filter(|&tile| tile != WALL)
    }

    /// For every tile and direction: the neighbour, or the tile itself if the direction is blocked.
    pub fn neighbours(&self, mover: Mover) -> &[[u16; 4]] {
        &self.neighbours[mover as usize]
    }

    /// A tile's open directions, in the order left, right, up, down, each with the neighbour.
    /// Panics if the tile does not exist.
    pub fn ways(&self, mover: Mover, tile: u16) -> impl Iterator<Item = (Direction, u16)> + use<> {
        let neighbours = self.neighbours[mover as usize][usize::from(tile)];
        Direction::ALL.into_iter().zip(neighbours).filter(move |&(_, next)| next != tile)
    }

    /// The distance in steps from a tile to every tile; [`UNREACHED`] if there is no path. Panics
    /// if the tile does not exist.
    pub fn distances(&self, mover: Mover, from: u16) -> Vec<u16> {
        let mut steps = Vec::new();
        BreadthFirst::default().fill(self, mover, [(from, 0)], &mut steps, |_, _| true);
        steps
    }
}

/// A breadth-first search that reuses its memory between runs.
#[derive(Clone, Debug, Default)]
pub struct BreadthFirst {
    queue: Vec<u16>,
}

impl BreadthFirst {
    /// Fills `steps` with every tile's distance from the nearest source, or [`UNREACHED`]. A source
    /// is a tile and its initial distance, to which the search adds its steps. Initial distances
    /// must be in ascending order and differ by at most 1. Enters a tile that is not a source only
    /// if `enters(tile, distance)` is true. Returns the reached tiles in breadth-first order
    /// (neighbours: left, right, up, down). Panics if a source is not a tile.
    pub fn fill(
        &mut self,
        graph: &StreetGraph,
        mover: Mover,
        sources: impl IntoIterator<Item = (u16, u16)>,
        steps: &mut Vec<u16>,
        mut enters: impl FnMut(u16, u16) -> bool,
    ) -> &[u16] {
        steps.clear();
        steps.resize(graph.len(), UNREACHED);
        self.queue.clear();
        for (source, made) in sources {
            if steps[usize::from(source)] == UNREACHED {
                steps[usize::from(source)] = made;
                self.queue.push(source);
            }
        }
        let neighbours = graph.neighbours(mover);
        let mut head = 0;
        while let Some(&tile) = self.queue.get(head) {
            head += 1;
            let made = steps[usize::from(tile)] + 1;
            for next in neighbours[usize::from(tile)] {
                if steps[usize::from(next)] == UNREACHED && enters(next, made) {
                    steps[usize::from(next)] = made;
                    self.queue.push(next);
                }
            }
        }
        &self.queue
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(drawing: &str) -> StreetGraph {
        StreetGraph::new(&Layout::parse(drawing).expect("a drawing"))
    }

    #[test]
    fn tiles_are_numbered_by_column() {
        let graph = graph("P.#\n.~.");
        assert_eq!((graph.len(), graph.width(), graph.height()), (5, 3, 2));
        let places = [(0, 0), (0, 1), (1, 0), (1, 1), (2, 1)].map(|(x, y)| Position::new(x, y));
        assert_eq!(graph.positions(), places);
        for (tile, place) in (0..).zip(places) {
            assert_eq!((graph.tile(place), graph.position(tile)), (Some(tile), place));
        }
        for (x, y) in [(2, 0), (-1, 0), (0, -1), (3, 1), (0, 2)] {
            assert_eq!(graph.tile(Position::new(x, y)), None, "({x}, {y})");
        }
    }

    #[test]
    fn threats_pass_where_the_player_does_not() {
        let graph = graph("P~.");
        assert_eq!(graph.distances(Mover::Threat, 0), [0, 1, 2]);
        assert_eq!(graph.distances(Mover::Player, 0), [0, UNREACHED, UNREACHED]);
        assert_eq!(graph.ways(Mover::Threat, 1).collect::<Vec<_>>(), [(Direction::Left, 0), (Direction::Right, 2)]);
        assert_eq!(graph.ways(Mover::Player, 0).count(), 0);
    }

    #[test]
    fn ways_of_the_player_follow_the_layout() {
        let mut layout = Layout::parse("P~.").expect("a drawing");
        let graph = StreetGraph::new(&layout);
        layout.tiles[1] = Tile::Open;
        assert_eq!(graph.with_player_ways(&layout), StreetGraph::new(&layout));
    }

    #[test]
    fn nearest_source_counts_and_tiles_can_be_refused() {
        let graph = graph("P....\n.###.\n.....");
        let (mut search, mut steps) = (BreadthFirst::default(), Vec::new());
        let tile = |x, y| graph.tile(Position::new(x, y)).expect("an open tile");
        let reached = search.fill(&graph, Mover::Player, [(tile(0, 0), 0), (tile(4, 2), 1)], &mut steps, |_, _| true);
        assert_eq!(reached.len(), graph.len());
        assert_eq!([tile(2, 0), tile(4, 1), tile(4, 0)].map(|tile| steps[usize::from(tile)]), [2, 2, 3]);
        let refused = tile(2, 0);
        search.fill(&graph, Mover::Player, [(tile(0, 0), 0)], &mut steps, |tile, made| tile != refused && made <= 6);
        assert_eq!(
            [tile(2, 0), tile(1, 0), tile(4, 2), tile(4, 1)].map(|tile| steps[usize::from(tile)]),
            [UNREACHED, 1, 6, UNREACHED]
        );
    }
}
