//! Paths and posts for this crate's threats, computed from scratch or cached.

use std::borrow::Cow;
use std::cell::{Cell, OnceCell};

use getaway::game::{Layout, Position, Rules};

use super::paths::{shared_path_step, shared_path_steps, shark_path, shark_path_steps};
use super::sight::best_intersections;

pub trait Navigation {
    fn shark_step(&self, from: Position, to: Position) -> Option<Position>;
    fn shared_step(&self, from: Position, to: Position) -> Option<Position>;
    fn posts(&self) -> Cow<'_, [Position]>;
}

/// Computes every answer from scratch, like the server.
pub struct UncachedNavigation<'a> {
    layout: &'a Layout,
    rules: Rules,
}

impl<'a> UncachedNavigation<'a> {
    pub fn new(layout: &'a Layout, rules: &Rules) -> Self {
        Self { layout, rules: *rules }
    }
}

impl Navigation for UncachedNavigation<'_> {
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

/// Runs each of the two path searches at most once per tile, when a result is first needed.
pub struct CachedNavigation {
    layout: Layout,
    rules: Rules,
    /// At index `y * width + x`, the number of the open tile at (x, y), or `None` for a wall.
    tiles: Vec<Option<usize>>,
    /// For each open start tile, the first steps to all open tiles.
    shark: Vec<OnceCell<Steps>>,
    /// For each open target tile, the first steps from all open tiles.
    shared: Vec<OnceCell<Steps>>,
    posts: Vec<Position>,
    /// Work since the last call of `take_work`, in steps of the verifier (see `STEPS_MAX`).
    work: Cell<u64>,
}

type Steps = Vec<Option<Position>>;

impl CachedNavigation {
    pub fn new(layout: &Layout, rules: &Rules) -> Self {
        let mut tiles = vec![None; layout.tiles.len()];
        for (tile, position) in layout.open_positions().enumerate() {
            tiles[(position.y * layout.width + position.x) as usize] = Some(tile);
        }
        let searches = vec![OnceCell::new(); layout.open_positions().count()];
        Self {
            layout: layout.clone(),
            rules: *rules,
            tiles,
            shark: searches.clone(),
            shared: searches,
            posts: best_intersections(layout, rules),
            work: Cell::new(0),
        }
    }

    pub fn take_work(&self) -> u64 {
        self.work.take()
    }

    fn tile(&self, position: Position) -> Option<usize> {
        let is_inside = (0..self.layout.width).contains(&position.x) && position.y >= 0;
        let place = position.y * self.layout.width + position.x;
        self.tiles.get(place as usize).copied().flatten().filter(|_| is_inside)
    }

    fn steps(&self, work: usize, search: impl FnOnce() -> Vec<(Position, Option<Position>)>) -> Steps {
        self.work.set(self.work.get() + (work * self.shared.len()) as u64);
        search().into_iter().map(|(_, step)| step).collect()
    }
}

impl Navigation for CachedNavigation {
    fn shark_step(&self, from: Position, to: Position) -> Option<Position> {
        // The server's search sorts its list of tiles once per tile, so its work is counted as the
        // number of tiles squared.
        let work = self.shark.len();
        let search = || self.steps(work, || shark_path_steps(&self.layout, &self.rules, from));
        self.shark[self.tile(from)?].get_or_init(search)[self.tile(to)?]
    }

    fn shared_step(&self, from: Position, to: Position) -> Option<Position> {
        let search = || self.steps(1, || shared_path_steps(&self.layout, &self.rules, to));
        self.shared[self.tile(to)?].get_or_init(search)[self.tile(from)?]
    }

    fn posts(&self) -> Cow<'_, [Position]> {
        self.posts.as_slice().into()
    }
}
