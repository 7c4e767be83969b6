//! Tables of a map, computed with the literal model, and the limit on the verifier's work.

use std::cell::Cell;

use getaway::game::{Action, Direction, Layout, Position, Rules};
use getaway_reference::navigation::CachedNavigation;
use getaway_reference::{Game, Threat, owls_look};

use super::bits::Tiles;
use super::{Checked, LAST_TICK};

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
    pub ticks: Vec<Tick<N>>,
    work: Work,
}

pub(super) struct Tick<const N: usize> {
    /// True if the threats move in this tick.
    pub moves: bool,
    /// The number of moves that an owl makes from this tick on before it looks again or the game
    /// ends.
    pub owl_moves: u16,
    looks: bool,
    /// The tiles of the bulls and goldfish at the start of the tick.
    pub occupied: Tiles<N>,
}

/// The properties of a tick that affect a threat's step.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moment {
    /// True in the first tick if the threat's view is stale: the view is then off the grid.
    pub is_off_grid: bool,
    pub looks: bool,
    /// For an owl, the number of moves after this tick before it looks again or the game ends,
    /// capped at 1 if owls do not look in this tick. For other styles, 0.
    pub moves_left: u16,
}

/// A limit on work, and the work so far, in steps.
struct Work {
    steps_max: u64,
    steps: Cell<u64>,
}

impl<const N: usize> Board<N> {
    /// Fails if the player's start is a wall, a move of the player cannot be reversed, or the
    /// threats do not all move in the same ticks.
    pub fn new(layout: &Layout, rules: &Rules, steps_max: u64) -> Checked<Self> {
        let positions: Vec<Position> = layout.open_positions().collect();
        if !positions.contains(&layout.player) {
            return Err("the player starts in a wall".to_owned());
        }
        let looks = |tick: usize| tick > 0 && owls_look(rules, tick as u16 - 1);
        let tick = |tick| Tick { moves: false, owl_moves: 0, looks: looks(tick), occupied: Tiles::EMPTY };
        let mut board = Self {
            layout: layout.clone(),
            no_jump: rules.no_jump,
            navigation: CachedNavigation::new(layout, rules),
            positions,
            open: Tiles::EMPTY,
            neighbours: Vec::new(),
            ticks: (0..LAST_TICK + 2).map(tick).collect(),
            work: Work { steps_max, steps: Cell::new(0) },
        };
        board.add_neighbours(&mut Game::new(layout, rules))?;
        for (index, &spawn) in layout.threats.iter().enumerate() {
            board.add_threat(Threat::new(spawn, rules), index == 0)?;
        }
        for tick in (1..=LAST_TICK).rev() {
            let Tick { moves, looks, .. } = board.ticks[tick];
            let owl_moves = if moves && looks { 0 } else { board.ticks[tick + 1].owl_moves + u16::from(moves) };
            board.ticks[tick].owl_moves = owl_moves;
        }
        Ok(board)
    }

    fn add_neighbours(&mut self, game: &mut Game) -> Checked {
        for (tile, &position) in self.positions.iter().enumerate() {
            game.player = position;
            let mut neighbours = Tiles::single(tile as u16);
            for direction in Direction::ALL {
                if let Ok(Some(next)) = game.try_action(&Action::Move(direction)) {
                    let next = Tiles::single(self.tile(next));
                    (neighbours, self.open) = (neighbours.or(&next), self.open.or(&next));
                }
            }
            self.neighbours.push(neighbours);
        }
        self.open = self.open.or(&Tiles::single(self.tile(self.layout.player)));
        let has = |from: u16, to: u16| Tiles::single(to).is_within(&self.neighbours[usize::from(from)]);
        let is_two_way = |tile: u16| self.neighbours[usize::from(tile)].iter().all(|next| has(next, tile));
        if self.open.iter().all(is_two_way) {
            Ok(())
        } else {
            Err("a move of the player cannot be reversed".to_owned())
        }
    }

    /// Records the ticks in which the threat moves and, for a bull or goldfish, its tile at the
    /// start of each tick.
    fn add_threat(&mut self, mut threat: Threat, is_first: bool) -> Checked {
        let mut clock = threat.clone();
        for tick in 1..=LAST_TICK {
            let moves = clock.is_due(tick as u16 - 1);
            if !is_first && moves != self.ticks[tick].moves {
                return Err(format!(
                    "tick {tick}: some threats move and others do not: expected all threats to move in the same ticks"
                ));
            }
            self.ticks[tick].moves = moves;
        }
        if threat.view().is_none() {
            for tick in 1..=LAST_TICK + 1 {
                let tile = Tiles::single(self.tile(threat.position));
                self.ticks[tick].occupied = self.ticks[tick].occupied.or(&tile);
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
        if self.no_jump { allowed.without(&self.ticks[tick].occupied) } else { *allowed }
    }

    pub fn moment(&self, tick: usize, is_owl: bool, is_stale: bool) -> Moment {
        let looks = is_owl && self.ticks[tick].looks;
        let moves_max = if looks { u16::MAX } else { u16::from(is_owl) };
        Moment { is_off_grid: tick == 1 && is_stale, looks, moves_left: self.ticks[tick + 1].owl_moves.min(moves_max) }
    }

    pub fn steps(&self) -> u64 {
        self.work.steps.get()
    }

    #[inline]
    pub fn spend(&self, sets: usize) -> Checked {
        self.spend_steps(sets as u64 * N as u64)
    }

    /// Counts the work of literal threats: their moves, and the path searches since the last call.
    pub fn spend_acts(&self, acts: usize) -> Checked {
        self.spend_steps(acts as u64 * ACT_STEPS + self.navigation.take_work())
    }

    #[inline]
    fn spend_steps(&self, steps: u64) -> Checked {
        let Work { steps_max, steps: before } = &self.work;
        if steps > steps_max - before.get() {
            return Err(format!("verification takes more than {steps_max} steps"));
        }
        before.set(before.get() + steps);
        Ok(())
    }
}
