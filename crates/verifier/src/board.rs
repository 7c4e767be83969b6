//! Tables of a map, computed with the literal model, and the limit on the verifier's work.

use std::cell::Cell;

use getaway::game::{Action, Direction, Layout, Position, Rules};
use getaway_reference::navigation::CachedNavigation;
use getaway_reference::{Game, Threat, owls_look};

use super::LAST_TICK;
use super::tiles::Tiles;

/// The work, in steps (see `STEPS_MAX`), that is counted for one move of a literal threat.
const ACT_STEPS: u64 = 16;

pub(super) struct Board<const N: usize> {
    pub layout: Layout,
    pub no_jump: bool,
    pub navigation: CachedNavigation,
    pub positions: Vec<Position>,
    /// The player's start, and the tiles that are not see-through and have an open neighbour.
    pub open: Tiles<N>,
    /// For each tile, the tiles where the player can be one tick later, including the tile itself.
    /// Moves between tiles of `open` can be reversed.
    neighbours: Vec<Tiles<N>>,
    pub start: u16,
    /// For each tick, true if the threats move in this tick.
    pub moves: Vec<bool>,
    looks: Vec<bool>,
    /// For each tick, the number of moves that an owl makes from this tick on before it looks again
    /// or the game ends.
    pub owl_moves: Vec<u16>,
    owl_moments: Vec<Moment>,
    /// For each tick, the tiles of the bulls and goldfish at the start of the tick.
    pub occupied: Vec<Tiles<N>>,
    steps_max: u64,
    steps_left: Cell<u64>,
}

/// The properties of a tick that affect a threat's step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Moment {
    /// True in the first tick if the threat's view is stale: the view is then off the grid.
    pub is_off_grid: bool,
    pub looks: bool,
    /// For an owl, the number of moves after this tick before it looks again or the game ends,
    /// capped at 1 if owls do not look in this tick. For other styles, 0.
    pub moves_left: u16,
}

impl<const N: usize> Board<N> {
    /// Fails if the player's start is a wall, a move of the player cannot be reversed, or the
    /// threats do not all move in the same ticks.
    pub fn new(layout: &Layout, rules: &Rules, steps_max: u64) -> Result<Self, String> {
        let Rules {
            no_jump,
            // The literal model applies the rules below. A rule that this pattern does not name is
            // a compile error.
            period_ticks: _,
            phase_clocks: _,
            option_order: _,
            shared_path_order: _,
            shark_path_order: _,
            spawn_order: _,
            first_seed: _,
            pick_scale: _,
            deer_shy_distance_squared: _,
            deer_view: _,
            shark_view: _,
            owl_minute_ticks: _,
            owl_window_ticks: _,
            owl_view: _,
            hawk_patience_moves: _,
            hawk_rest_moves: _,
            hawk_posts: _,
            hawk_view: _,
            // Not used: the words in messages do not affect the game.
            wire: _,
        } = *rules;
        let positions: Vec<Position> = layout.open_positions().collect();
        let tile_of = |position: Position| positions.binary_search(&position).ok().map(|tile| tile as u16);
        let mut board = Self {
            no_jump,
            navigation: CachedNavigation::new(layout, rules),
            open: Tiles::EMPTY,
            neighbours: Vec::new(),
            start: tile_of(layout.player).ok_or("the player starts in a wall")?,
            moves: vec![false; LAST_TICK + 2],
            looks: (0..LAST_TICK as u16 + 2).map(|tick| tick > 0 && owls_look(rules, tick - 1)).collect(),
            owl_moves: vec![0; LAST_TICK + 2],
            owl_moments: Vec::new(),
            occupied: vec![Tiles::EMPTY; LAST_TICK + 2],
            steps_max,
            steps_left: Cell::new(steps_max),
            layout: layout.clone(),
            positions,
        };
        board.add_neighbours(&mut Game::new(layout, rules))?;
        for (index, &spawn) in layout.threats.iter().enumerate() {
            board.add_threat(Threat::new(spawn, rules), index == 0)?;
        }
        for tick in (1..=LAST_TICK).rev() {
            let is_overwritten = board.moves[tick] && board.looks[tick];
            board.owl_moves[tick] =
                if is_overwritten { 0 } else { board.owl_moves[tick + 1] + u16::from(board.moves[tick]) };
        }
        let moments = (1..=LAST_TICK).flat_map(|tick| [false, true].map(|is_stale| board.owl_moment(tick, is_stale)));
        board.owl_moments = moments.collect();
        board.owl_moments.sort_unstable();
        board.owl_moments.dedup();
        Ok(board)
    }

    fn add_neighbours(&mut self, game: &mut Game) -> Result<(), String> {
        for (tile, &position) in self.positions.iter().enumerate() {
            game.player = position;
            let mut neighbours = Tiles::single(tile as u16);
            for direction in Direction::ALL {
                if let Ok(Some(next)) = game.try_action(&Action::Move(direction)) {
                    neighbours.insert(self.tile(next));
                    self.open.insert(self.tile(next));
                }
            }
            self.neighbours.push(neighbours);
        }
        self.open.insert(self.start);
        let open: Vec<u16> = self.open.iter().collect();
        let has = |from: u16, to: u16| !self.neighbours[usize::from(from)].and(&Tiles::single(to)).is_empty();
        let is_two_way = |&tile: &u16| self.neighbours[usize::from(tile)].iter().all(|next| has(next, tile));
        if open.iter().all(is_two_way) { Ok(()) } else { Err("a move of the player cannot be reversed".to_owned()) }
    }

    /// Records the ticks in which the threat moves and, for a bull or goldfish, its tile at the
    /// start of each tick.
    fn add_threat(&mut self, mut threat: Threat, is_first: bool) -> Result<(), String> {
        let mut clock = threat.clone();
        for tick in 1..=LAST_TICK {
            let moves = clock.is_due(tick as u16 - 1);
            if !is_first && moves != self.moves[tick] {
                return Err(format!(
                    "tick {tick}: some threats move and others do not: expected all threats to move in the same ticks"
                ));
            }
            self.moves[tick] = moves;
        }
        if threat.view().is_none() {
            for tick in 1..=LAST_TICK + 1 {
                let tile = self.tile(threat.position);
                self.occupied[tick].insert(tile);
                threat.update_by(&self.navigation, &self.layout, tick as u16 - 1, self.layout.player);
            }
        }
        Ok(())
    }

    pub fn tile(&self, position: Position) -> u16 {
        self.positions.binary_search(&position).expect("threats and the player stay on open tiles") as u16
    }

    /// Returns the tiles where a player on a tile of `from` can be one tick later. Because moves
    /// can be reversed, these are also the player's possible tiles one tick earlier.
    pub fn reachable(&self, from: &Tiles<N>) -> Tiles<N> {
        from.union(&self.neighbours)
    }

    /// Returns `allowed`, but in the no-jump variant without the tiles where bulls and goldfish are
    /// at the start of the tick.
    pub fn enterable(&self, tick: usize, allowed: &Tiles<N>) -> Tiles<N> {
        if self.no_jump { allowed.without(&self.occupied[tick]) } else { *allowed }
    }

    fn owl_moment(&self, tick: usize, is_stale: bool) -> Moment {
        let (looks, moves_left) = (self.looks[tick], self.owl_moves[tick + 1]);
        let moves_left = if looks { moves_left } else { moves_left.min(1) };
        Moment { is_off_grid: tick == 1 && is_stale, looks, moves_left }
    }

    /// Returns the moment of a tick, and its index among the moments of owls or, if `is_owl` is
    /// false, of other threats.
    pub fn moment(&self, tick: usize, is_owl: bool, is_stale: bool) -> (Moment, usize) {
        if !is_owl {
            let is_off_grid = tick == 1 && is_stale;
            return (Moment { is_off_grid, ..Moment::default() }, is_off_grid.into());
        }
        let moment = self.owl_moment(tick, is_stale);
        (moment, self.owl_moments.binary_search(&moment).expect("the moments of all ticks"))
    }

    pub fn steps(&self) -> u64 {
        self.steps_max - self.steps_left.get()
    }

    #[inline]
    pub fn spend(&self, sets: usize) -> Result<(), String> {
        self.spend_steps(sets as u64 * N as u64)
    }

    /// Counts the work of literal threats: their moves, and the path searches since the last call.
    pub fn spend_acts(&self, acts: usize) -> Result<(), String> {
        self.spend_steps(acts as u64 * ACT_STEPS + self.navigation.take_work())
    }

    #[inline]
    fn spend_steps(&self, steps: u64) -> Result<(), String> {
        match self.steps_left.get().checked_sub(steps) {
            Some(left) => {
                self.steps_left.set(left);
                Ok(())
            }
            None => Err(format!("verification takes more than {} steps", self.steps_max)),
        }
    }
}
