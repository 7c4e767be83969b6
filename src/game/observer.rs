//! Queries about paths, sight, posts and single threats. Threats do not interact, so one threat can
//! be simulated without the others.

use super::picks::FIRST_DRAWS;
use super::routes::{ROUTE_BYTES, SEES};
use super::state::split_lane;
use super::tables::{DIRECTIONS, NONE, NOWHERE, pose, squared_length};
use super::threats::{Block, LANES, PlayerView};
use super::{Direction, FIRST_TICK, LAST_TICK, Move, PlacementError, Position, Rules, State, Threat, View, World};

impl World {
    /// The state of a threat after a tick in which the player moved from `stale` to `now`. `threat`
    /// is its state before the tick, and `index` its index in map order. The threat moves as in
    /// [`World::step_unchecked`], even if the player has been caught.
    ///
    /// # Errors
    /// If the index or the tick (1 to 2000) is out of range, or a position is not an open tile.
    pub fn threat_after(
        &self,
        index: usize,
        threat: &Threat,
        tick: u16,
        stale: Position,
        now: Position,
    ) -> Result<Threat, PlacementError> {
        if index >= self.lanes.len() {
            return Err(PlacementError::NoThreat { index, count: self.lanes.len() });
        }
        if !(FIRST_TICK..=LAST_TICK).contains(&tick) {
            return Err(PlacementError::NotPlayed(tick));
        }
        let clock_tick = self.clock.tick(tick);
        let (present, stale) = (self.open_tile(now)?, self.open_tile(stale)?);
        let stale = if tick == FIRST_TICK { self.tables.nowhere() } else { stale };
        let player = PlayerView { present, stale, owls_look: clock_tick.owls_look };
        let (number, lane) = split_lane(self.lanes[index]);
        // The other lanes of the block move too, so they need a tile. Tile 0 always exists.
        let mut block =
            Block { poses: [pose(0, Direction::Up); LANES], draws: [FIRST_DRAWS; LANES], ..self.vacant_block() };
        self.place((&mut block, lane), index, threat)?;
        if clock_tick.threats_move() {
            block.advance(&self.lane_maps[number], &self.tables, player);
        }
        Ok(self.threat_in((&block, lane), index))
    }

    /// Like [`World::threat_after`], but for a deer whose spawn is assumed to be `home`. Fails only
    /// if the deer's position, `stale` or `now` is not an open tile.
    #[doc(hidden)]
    pub fn deer_after(
        &self,
        deer: &Threat,
        home: Position,
        tick: u16,
        stale: Position,
        now: Position,
    ) -> Result<Threat, PlacementError> {
        let tile = self.open_tile(deer.position)?;
        self.open_tile(stale)?;
        self.open_tile(now)?;
        if !self.clock.threats_move(tick) {
            return Ok(*deer);
        }
        let player = match self.rules().deer_view {
            View::Stale if tick == FIRST_TICK => NOWHERE,
            View::Stale => stale,
            View::Present => now,
        };
        let target = if self.rules().is_deer_shy(deer.position, player) { home } else { player };
        let offset = (target.x - deer.position.x, target.y - deer.position.y);
        let pose = self.tables.deer_step(pose(tile, deer.direction), offset);
        let position = self.tables.graph.position(pose / DIRECTIONS as u16);
        Ok(Threat { position, direction: Direction::ALL[usize::from(pose) % DIRECTIONS], ..*deer })
    }

    /// Plays [`Move::Stay`] until the threats have moved `moves` times or the game is over. Panics
    /// like [`World::step_unchecked`].
    pub fn wait(&self, state: &mut State, moves: u8) {
        for _ in 0..moves {
            while !state.is_over() && !self.threats_move(state) {
                state.tick += 1;
            }
            if state.is_over() {
                return;
            }
            self.step_unchecked(state, Move::Stay);
        }
    }

    /// True if the next tick is in the owls' window: if owls move in that tick, they look at the
    /// player.
    pub fn owls_look(&self, state: &State) -> bool {
        self.clock.owls_look(state.tick())
    }

    /// The first step of the shared path, which owls, hawks and `MOVE_TO` take. `None` if the
    /// positions are equal or not connected, or if one of them is not an open tile.
    pub fn shared_step(&self, from: Position, to: Position) -> Option<Direction> {
        self.first_step(&self.tables.shared_step, from, to)
    }

    /// The first step of the shark path; `None` in the same cases as [`World::shared_step`].
    pub fn shark_step(&self, from: Position, to: Position) -> Option<Direction> {
        self.first_step(&self.tables.shark_step, from, to)
    }

    fn first_step(&self, steps: &[u16], from: Position, to: Position) -> Option<Direction> {
        let (from, to) = (self.tables.graph.tile(from)?, self.tables.graph.tile(to)?);
        let pose = steps[usize::from(from) * ROUTE_BYTES + usize::from(self.tables.route(to, from))];
        (pose != NONE).then(|| Direction::ALL[usize::from(pose) % DIRECTIONS])
    }

    /// True if both positions are open tiles in the same row or column, with no wall between them.
    pub fn sees(&self, from: Position, to: Position) -> bool {
        let tiles = self.tables.graph.tile(from).zip(self.tables.graph.tile(to));
        tiles.is_some_and(|(from, to)| self.tables.route(to, from) & SEES != 0)
    }

    /// Bits 0 to 3: the directions (left, right, up, down) from `tile` that lead nearer to
    /// `target`. Bit 4: `tile` and `target` see each other. No bit is set if `target` is the tile
    /// count.
    pub(crate) fn route_bits(&self, target: u16, tile: u16) -> u8 {
        self.tables.route(target, tile)
    }

    /// At most [`Rules::hawk_posts`] intersections, from which hawks pick their posts: those that
    /// see the most tiles, best first. An intersection is an open tile with at least three open
    /// neighbours that is not on the map's edge.
    pub fn best_intersections(&self) -> Vec<Position> {
        self.tables.best_intersections().iter().map(|&tile| self.tables.graph.position(tile)).collect()
    }

    /// The tile of a hawk's next post after this many draws; the tile count if there are no posts.
    pub(crate) fn hawk_post_drawn(&self, draws: u16) -> u16 {
        self.tables.hawk_post(draws).tile()
    }
}

impl Rules {
    /// True if a deer is so close to the player that its target is its spawn.
    pub fn is_deer_shy(&self, deer: Position, player: Position) -> bool {
        let offset = (player.x - deer.x, player.y - deer.y);
        squared_length(offset) <= self.deer_shy_distance_squared.into()
    }

    /// The number of moves for which a hawk without a target will continue to wait if it does not
    /// see the player.
    pub fn hawk_waits_moves(&self, hawk: &Threat) -> u8 {
        let (patience, rest) = (i16::from(self.hawk_patience_moves), i16::from(self.hawk_rest_moves));
        (patience + 1 - i16::from(hawk.idle_rounds).clamp(-rest, patience)) as u8
    }
}
