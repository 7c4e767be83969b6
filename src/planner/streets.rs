//! The street graph: which tiles the player and the threats can enter, and the distances between
//! them, without the rules.
//!
//! For the planners that do not predict. Tile numbers are those of the [`World`] of the same
//! layout: by x, then by y.

use crate::game::{Clock, Direction, Layout, Move, Position, Rules, Tile};

/// The distance of an unreachable tile.
pub(super) const UNREACHED: u16 = u16::MAX;

/// No tile.
const NONE: u16 = u16::MAX;

/// The kind of mover: threats enter see-through tiles, the player does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Walker {
    Player,
    Threat,
}

/// A map's open tiles and their neighbours.
#[derive(Clone, Debug)]
pub(super) struct Streets {
    layout: Layout,
    positions: Vec<Position>,
    /// Position, as `y * width + x` -> tile or [`NONE`].
    tiles: Vec<u16>,
    /// Tile, then direction -> the neighbour, or the tile itself at a wall.
    neighbours: [Vec<[u16; 4]>; 2],
    /// Tile -> whether it is part of a dead end for the player.
    dead_ends: Vec<bool>,
    queue: Vec<u16>,
}

impl Streets {
    pub fn new(layout: &Layout) -> Self {
        let positions: Vec<Position> = layout.open_positions().collect();
        let mut tiles = vec![NONE; layout.tiles.len()];
        for (tile, position) in positions.iter().enumerate() {
            tiles[(position.y * layout.width + position.x) as usize] = tile as u16;
        }
        let mut streets = Self {
            layout: layout.clone(),
            positions,
            tiles,
            neighbours: [Vec::new(), Vec::new()],
            dead_ends: Vec::new(),
            queue: Vec::new(),
        };
        streets.neighbours = [Walker::Player, Walker::Threat].map(|walker| streets.link(walker));
        streets.mark_dead_ends();
        streets
    }

    /// The graph of `layout`; rebuilt only if the layout has changed.
    pub fn refresh<'a>(known: &'a mut Option<Self>, layout: &Layout) -> &'a mut Self {
        if known.as_ref().is_none_or(|streets| !streets.are_of(layout)) {
            *known = Some(Self::new(layout));
        }
        known.as_mut().expect("filled just now")
    }

    /// Whether this graph was built from `layout`.
    pub fn are_of(&self, layout: &Layout) -> bool {
        self.layout == *layout
    }

    fn link(&self, walker: Walker) -> Vec<[u16; 4]> {
        let enters = |position: Position| match walker {
            Walker::Player => self.layout.tile(position) == Tile::Open,
            Walker::Threat => self.layout.is_open(position),
        };
        let link = |(tile, &position): (usize, &Position)| {
            Direction::ALL.map(|direction| {
                let next = position.towards(direction);
                if enters(next) { self.tile(next).unwrap_or(tile as u16) } else { tile as u16 }
            })
        };
        self.positions.iter().enumerate().map(link).collect()
    }

    /// Removes tiles with at most one exit until none is left; the removed tiles are the dead ends.
    fn mark_dead_ends(&mut self) {
        let neighbours = &self.neighbours[Walker::Player as usize];
        let mut dead = vec![false; neighbours.len()];
        let ways_out = |dead: &[bool], tile: usize| {
            let others = neighbours[tile].iter().map(|&next| usize::from(next));
            others.filter(|&next| next != tile && !dead[next]).count()
        };
        for start in 0..neighbours.len() {
            let mut tile = start;
            while !dead[tile] && ways_out(&dead, tile) <= 1 {
                dead[tile] = true;
                let next = neighbours[tile].iter().map(|&next| usize::from(next)).find(|&next| !dead[next]);
                tile = next.unwrap_or(tile);
            }
        }
        self.dead_ends = dead;
    }

    pub fn len(&self) -> usize {
        self.positions.len()
    }

    /// The tile at a position, if it is open.
    pub fn tile(&self, position: Position) -> Option<u16> {
        let Layout { width, height, .. } = self.layout;
        let Position { x, y } = position;
        if x < 0 || y < 0 || x >= width || y >= height {
            return None;
        }
        Some(self.tiles[(y * width + x) as usize]).filter(|&tile| tile != NONE)
    }

    /// The neighbours of a tile by direction, or the tile itself where there is no neighbour.
    pub fn neighbours(&self, walker: Walker, tile: u16) -> [u16; 4] {
        self.neighbours[walker as usize][usize::from(tile)]
    }

    /// The player's distinct moves from a tile and their targets: open directions in the order
    /// left, right, up, down, then staying.
    pub fn moves(&self, tile: u16) -> impl Iterator<Item = (Move, u16)> + use<> {
        let [left, right, up, down] = self.neighbours(Walker::Player, tile);
        let all = Move::ALL.into_iter().zip([left, right, up, down, tile]);
        all.filter(move |&(player_move, next)| player_move == Move::Stay || next != tile)
    }

    pub fn is_dead_end(&self, tile: u16) -> bool {
        self.dead_ends[usize::from(tile)]
    }

    /// Fills `steps` with each tile's distance from the nearest source.
    pub fn measure(&mut self, walker: Walker, sources: impl IntoIterator<Item = u16>, steps: &mut Vec<u16>) {
        self.measure_safe(walker, sources.into_iter().map(|source| (source, 0)), steps, |_, _| true);
    }

    /// Like [`measure`](Self::measure), but enters a tile only if `enters(tile, steps)` holds.
    /// Sources come with an initial distance, in ascending order, and are always entered.
    pub fn measure_safe(
        &mut self,
        walker: Walker,
        sources: impl IntoIterator<Item = (u16, u16)>,
        steps: &mut Vec<u16>,
        enters: impl Fn(u16, u16) -> bool,
    ) {
        steps.clear();
        steps.resize(self.len(), UNREACHED);
        self.queue.clear();
        for (source, made) in sources {
            if steps[usize::from(source)] == UNREACHED {
                steps[usize::from(source)] = made;
                self.queue.push(source);
            }
        }
        let mut head = 0;
        while let Some(&tile) = self.queue.get(head) {
            head += 1;
            let made = steps[usize::from(tile)] + 1;
            for next in self.neighbours[walker as usize][usize::from(tile)] {
                if steps[usize::from(next)] == UNREACHED && enters(next, made) {
                    steps[usize::from(next)] = made;
                    self.queue.push(next);
                }
            }
        }
    }
}

/// The ticks on which threats move, by the server's clock.
#[derive(Clone, Debug)]
pub(super) struct Timetable {
    clock: Clock,
}

impl Timetable {
    /// Runs the server's counter to the end of any game.
    pub fn new() -> Self {
        Self { clock: Clock::new(&Rules::BLITZ_2025) }
    }

    /// The number of ticks, from the start of `tick`, until a threat has made 1, 2, ... moves.
    pub fn delays(&self, tick: u16) -> impl Iterator<Item = u16> + '_ {
        self.clock.move_ticks(tick).map(move |other| other - tick + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::game::World;

    fn streets(drawing: &str) -> Streets {
        Streets::new(&Layout::parse(drawing).expect("a drawing"))
    }

    #[test]
    fn tile_numbers_match_the_world() {
        let layout = Layout::parse("P.#\n.~.").expect("a drawing");
        let (streets, world) = (Streets::new(&layout), World::new(&layout, &Rules::BLITZ_2025).expect("a map"));
        let state = world.start();
        let player = streets.tile(layout.player).expect("an open tile");
        let by_world: Vec<(Move, u16)> = world.moves(&state).map(|m| (m, world.tile_after(&state, m))).collect();
        assert_eq!(streets.moves(player).collect::<Vec<_>>(), by_world);
    }

    #[test]
    fn threats_enter_see_through_tiles_and_the_player_does_not() {
        let mut streets = streets("P~.");
        let mut steps = Vec::new();
        streets.measure(Walker::Threat, [0], &mut steps);
        assert_eq!(steps, [0, 1, 2]);
        streets.measure(Walker::Player, [0], &mut steps);
        assert_eq!(steps, [0, UNREACHED, UNREACHED]);
    }

    #[test]
    fn spurs_are_dead_ends_and_the_ring_is_not() {
        let streets = streets("P..##\n.#...\n...##");
        let dead: Vec<bool> =
            (0..5).filter_map(|x| streets.tile(Position::new(x, 1))).map(|t| streets.is_dead_end(t)).collect();
        assert_eq!(dead, [false, false, true, true]);
    }

    #[test]
    fn timetable_matches_the_world() {
        let world = World::new(&Layout::parse("P#b").expect("a drawing"), &Rules::BLITZ_2025).expect("a map");
        let timetable = Timetable::new();
        let mut state = world.start();
        while !state.is_over() {
            assert_eq!(
                timetable.delays(state.tick()).next() == Some(1),
                world.threats_move(&state),
                "{}",
                state.tick()
            );
            world.step(&mut state, Move::Stay);
        }
    }
}
