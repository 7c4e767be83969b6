use crate::game::{BreadthFirst, Direction, Layout, Mover, Position, StreetGraph, Tile};

pub(super) struct Streets {
    pub width: i32,
    pub height: i32,
    open: Vec<bool>,
}

impl Streets {
    pub fn new(width: i32, height: i32) -> Self {
        Self { width, height, open: vec![false; (width * height) as usize] }
    }

    pub fn index(&self, position: Position) -> Option<usize> {
        let Position { x, y } = position;
        let is_on_grid = x >= 0 && y >= 0 && x < self.width && y < self.height;
        is_on_grid.then(|| (y * self.width + x) as usize)
    }

    pub fn is_open(&self, position: Position) -> bool {
        self.index(position).is_some_and(|index| self.open[index])
    }

    pub fn set(&mut self, position: Position, open: bool) {
        if let Some(index) = self.index(position) {
            self.open[index] = open;
        }
    }

    /// A layout with these streets and no threats. The player's position is a placeholder.
    pub fn layout(&self) -> Layout {
        let tiles = self.open.iter().map(|&open| if open { Tile::Open } else { Tile::Wall }).collect();
        let (width, height) = (self.width, self.height);
        Layout { width, height, tiles, player: Position::new(0, 0), threats: Vec::new() }
    }

    pub fn open_positions(&self) -> Vec<Position> {
        (0..self.height)
            .flat_map(|y| (0..self.width).map(move |x| Position::new(x, y)))
            .filter(|&position| self.is_open(position))
            .collect()
    }

    pub fn open_neighbours(&self, position: Position) -> usize {
        Direction::ALL.into_iter().filter(|&direction| self.is_open(position.towards(direction))).count()
    }
}

/// The reachable positions that are at least `distance` steps from `start`.
pub(super) fn positions_from(graph: &StreetGraph, start: Position, distance: u16) -> Vec<Position> {
    let (mut search, mut steps) = (BreadthFirst::default(), Vec::new());
    let sources = graph.tile(start).map(|tile| (tile, 0));
    let reached = search.fill(graph, Mover::Player, sources, &mut steps, |_, _| true);
    let far = reached.iter().filter(|&&tile| steps[usize::from(tile)] >= distance);
    far.map(|&tile| graph.position(tile)).collect()
}
