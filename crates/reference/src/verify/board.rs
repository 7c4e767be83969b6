//! What is the same in every game on a map: its tiles, the ticks in which threats move and owls
//! look, and the paths of the threats that do not see the player.

use std::collections::BTreeSet;

use getaway::game::{Layout, Move, Position, Rules, Spawn, Style, Tile};

use super::LAST_TICK;
use super::tiles::Tiles;
use crate::Threat;
use crate::ways::Surveyed;

pub(super) struct Board<const N: usize> {
    pub layout: Layout,
    pub rules: Rules,
    pub ways: Surveyed,
    /// By tile.
    pub positions: Vec<Position>,
    /// The tiles where the player can stand.
    pub open: Tiles<N>,
    /// Tile -> where the player can be one tick later. Between tiles where it can stand, it can go
    /// either way.
    landings: Vec<Tiles<N>>,
    pub start: u16,
    /// By tick: whether threats move, and whether owls that move look.
    pub moves: Vec<bool>,
    pub looks: Vec<bool>,
    /// By tick: how often owls move before they look again, and each of these numbers that occurs
    /// after a look.
    pub owl_moves: Vec<u16>,
    owl_moves_after_look: Vec<u16>,
    /// By tick: where threats stand that do not see the player.
    pub taken: Vec<Tiles<N>>,
}

/// What a threat's step in a tick depends on, apart from the player.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moment {
    /// Steps in the same case are the same; see [`Board::moment`].
    pub case: usize,
    pub clock: u16,
    /// Owl: moves that are left after the step before it looks again.
    pub moves_left: u16,
    /// Whether an owl does not look, or no threat has seen the player yet.
    pub is_blind: bool,
}

impl<const N: usize> Board<N> {
    pub fn new(layout: &Layout, rules: &Rules) -> Self {
        let positions: Vec<Position> = layout.open_positions().collect();
        let tile_of = |position: Position| positions.binary_search(&position).ok().map(|tile| tile as u16);
        let can_stand = |position: Position| layout.tile(position) == Tile::Open;
        let landings = positions.iter().enumerate().map(|(tile, &position)| {
            let ways = Move::ALL.into_iter().filter_map(|player_move| {
                let next = position.towards(player_move.direction()?);
                can_stand(next).then(|| tile_of(next)).flatten()
            });
            ways.chain([tile as u16]).collect()
        });
        let landings = landings.collect();
        // A threat that is never able to leave its tile shows when threats move.
        let any = Spawn { style: Style::Shark, position: layout.player };
        let mut watch = Threat::new(layout.threats.first().copied().unwrap_or(any), rules);
        let (mut moves, mut looks) = (vec![false; LAST_TICK + 2], vec![false; LAST_TICK + 2]);
        let ways = Surveyed::new(layout, rules);
        for tick in 1..=LAST_TICK {
            let clock = tick as u16 - 1;
            watch.update_by(&ways, layout, clock, layout.player);
            moves[tick] = watch.ticks_since_move == 0;
            looks[tick] = clock % rules.owl_minute_ticks < rules.owl_window_ticks;
        }
        let mut owl_moves = vec![0; LAST_TICK + 2];
        for tick in (1..=LAST_TICK).rev() {
            let is_overwritten = moves[tick] && looks[tick];
            owl_moves[tick] = if is_overwritten { 0 } else { owl_moves[tick + 1] + u16::from(moves[tick]) };
        }
        let after_looks = (1..=LAST_TICK).filter(|&tick| moves[tick] && looks[tick]).map(|tick| owl_moves[tick + 1]);
        let owl_moves_after_look = BTreeSet::from_iter(after_looks).into_iter().collect();
        let open = (0..positions.len()).filter(|&tile| can_stand(positions[tile])).map(|tile| tile as u16).collect();
        let mut board = Self {
            layout: layout.clone(),
            rules: *rules,
            ways,
            open,
            landings,
            start: tile_of(layout.player).expect("the player starts on an open tile"),
            moves,
            looks,
            owl_moves,
            owl_moves_after_look,
            taken: vec![Tiles::EMPTY; LAST_TICK + 2],
            positions,
        };
        board.add_paths();
        board
    }

    fn add_paths(&mut self) {
        for &spawn in self.layout.threats.iter().filter(|spawn| !sees_player(spawn.style)) {
            let mut threat = Threat::new(spawn, &self.rules);
            for tick in 1..=LAST_TICK + 1 {
                let tile = self.tile(threat.position);
                self.taken[tick].insert(tile);
                threat.update_by(&self.ways, &self.layout, tick as u16 - 1, self.layout.player);
            }
        }
    }

    pub fn tile(&self, position: Position) -> u16 {
        self.positions.binary_search(&position).expect("threats keep to open tiles") as u16
    }

    /// Where the player can be one tick later, or one tick earlier.
    pub fn reach(&self, from: &Tiles<N>) -> Tiles<N> {
        from.union(&self.landings)
    }

    /// Where the threats that do not see the player let it go in a tick, if it may be in `allowed`
    /// afterwards.
    pub fn landing(&self, tick: usize, allowed: &Tiles<N>) -> Tiles<N> {
        if self.rules.no_jump { allowed.without(&self.taken[tick]) } else { *allowed }
    }

    /// How often threats have moved before a tick.
    pub fn moves_before(&self, tick: usize) -> usize {
        self.moves[..tick].iter().filter(|moves| **moves).count()
    }

    /// The number of cases.
    pub fn cases(&self) -> usize {
        3 + self.owl_moves_after_look.len()
    }

    /// A tick in which threats move, for a threat of a style. An owl that looks depends on the
    /// moves until it looks again; one that does not, on whether its memory matters afterwards. In
    /// the first tick, threats may see the player where it was before the game: nowhere.
    pub fn moment(&self, tick: usize, style: Style, is_stale: bool) -> Moment {
        let (looks, moves_left) = (self.looks[tick], self.owl_moves[tick + 1]);
        let is_nowhere = tick == 1 && is_stale;
        let case = if is_nowhere {
            2 + self.owl_moves_after_look.len()
        } else if style != Style::Owl {
            0
        } else if looks {
            2 + self.owl_moves_after_look.binary_search(&moves_left).expect("the moves after a look")
        } else {
            usize::from(moves_left == 0)
        };
        let clock = if looks { 0 } else { self.rules.owl_window_ticks };
        Moment { case, clock, moves_left, is_blind: is_nowhere || (style == Style::Owl && !looks) }
    }
}

/// Whether threats of a style see the player.
pub(super) fn sees_player(style: Style) -> bool {
    !matches!(style, Style::Bull | Style::Goldfish)
}
