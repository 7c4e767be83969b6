//! The ways for the threats: computed from scratch each time, or once for all tiles.

use std::borrow::Cow;

use getaway::game::{Layout, Position, Rules};

use super::paths::{shared_path_step, shared_path_steps, shark_path, shark_path_steps};
use super::sight::best_intersections;

/// The threats' queries about a map.
pub(crate) trait Ways {
    /// The first tile of the shark path.
    fn shark_step(&self, from: Position, to: Position) -> Option<Position>;
    /// The next tile on the shared path.
    fn shared_step(&self, from: Position, to: Position) -> Option<Position>;
    /// The intersections that a hawk picks from.
    fn posts(&self) -> Cow<'_, [Position]>;
}

/// Works every answer out from scratch, as the server does.
pub(crate) struct Literal<'a> {
    layout: &'a Layout,
    rules: Rules,
}

impl<'a> Literal<'a> {
    pub fn new(layout: &'a Layout, rules: &Rules) -> Self {
        Self { layout, rules: *rules }
    }
}

impl Ways for Literal<'_> {
    fn shark_step(&self, from: Position, to: Position) -> Option<Position> {
        shark_path(self.layout, &self.rules, from, to)?.first().copied()
    }

    fn shared_step(&self, from: Position, to: Position) -> Option<Position> {
        shared_path_step(self.layout, &self.rules, from, to)
    }

    fn posts(&self) -> Cow<'_, [Position]> {
        best_intersections(self.layout, &self.rules).into()
    }
}

/// The same answers from one search for each tile.
pub(crate) struct Surveyed {
    /// Position, as `y * width + x` -> open tile.
    tiles: Vec<Option<usize>>,
    width: i32,
    /// From -> to -> first tile.
    shark: Vec<Vec<Option<Position>>>,
    /// To -> from -> next tile.
    shared: Vec<Vec<Option<Position>>>,
    posts: Vec<Position>,
}

impl Surveyed {
    pub fn new(layout: &Layout, rules: &Rules) -> Self {
        let mut tiles = vec![None; layout.tiles.len()];
        for (tile, position) in layout.open_positions().enumerate() {
            tiles[(position.y * layout.width + position.x) as usize] = Some(tile);
        }
        let steps = |steps: Vec<(Position, Option<Position>)>| steps.into_iter().map(|(_, step)| step).collect();
        Self {
            tiles,
            width: layout.width,
            shark: layout.open_positions().map(|from| steps(shark_path_steps(layout, rules, from))).collect(),
            shared: layout.open_positions().map(|to| steps(shared_path_steps(layout, rules, to))).collect(),
            posts: best_intersections(layout, rules),
        }
    }

    fn tile(&self, position: Position) -> Option<usize> {
        let is_inside = (0..self.width).contains(&position.x) && position.y >= 0;
        self.tiles.get((position.y * self.width + position.x) as usize).copied().flatten().filter(|_| is_inside)
    }
}

impl Ways for Surveyed {
    fn shark_step(&self, from: Position, to: Position) -> Option<Position> {
        self.shark[self.tile(from)?][self.tile(to)?]
    }

    fn shared_step(&self, from: Position, to: Position) -> Option<Position> {
        self.shared[self.tile(to)?][self.tile(from)?]
    }

    fn posts(&self) -> Cow<'_, [Position]> {
        self.posts.as_slice().into()
    }
}
