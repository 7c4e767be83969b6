use std::sync::Arc;

use thiserror::Error;

use super::memory::Memory;
use super::picks::FIRST_DRAWS;
use super::routes;
use super::state::{Shape, State};
use super::tables::{DIRECTIONS, Tables, pose};
use super::threats::{Block, LANES, LaneMap, PlayerView, lane_rank, mix};
use super::{
    Action, ActionError, Clock, Direction, FIRST_TICK, LAST_TICK, Layout, Move, Mover, POINTS_PER_TICK, Personality,
    Position, Rules, Spawn, StreetGraph, Style, StyleMemory, Threat,
};

/// A map and its rules, with the lookup tables that the game needs. Copies share all tables. A
/// world from [`World::rebuilt`] shares those that are the same, so it is cheap if it differs only
/// in its rules, player's start, threats or see-through tiles.
#[derive(Clone, Debug)]
pub struct World {
    pub(super) layout: Arc<Layout>,
    pub(super) tables: Tables,
    pub(super) lane_maps: Arc<[LaneMap]>,
    /// For each threat in map order, the number of its lane. Lane 8 starts the second block.
    pub(super) lanes: Arc<[u8]>,
    pub(super) clock: Clock,
    pub(super) shape: Shape,
}

/// A threat's pose and memory as the numbers that the tables use.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ThreatNumbers {
    pub pose: u16,
    /// The tile to which an owl or a hawk drives; the tile count if it has no target.
    pub target: u16,
    /// True if the target is a hawk's post, not a tile where the threat saw the player.
    pub is_post: bool,
    pub idle_rounds: i8,
}

/// The error for a move that cannot be played.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum PlayError {
    /// The game is already over.
    #[error("the game is over")]
    GameOver,
    /// A wall, a see-through tile or the edge of the map is in the way. See [`World::legal_moves`].
    #[error("the way {0} is blocked")]
    Blocked(Direction),
}

/// The error for invalid arguments of a function that builds a state or moves a single threat.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum PlacementError {
    /// A tick outside the game.
    #[error("tick {0}: expected 1 to 2001")]
    Tick(u16),
    /// A tick that is never played, passed to [`World::threat_after`].
    #[error("tick {0}: expected 1 to 2000")]
    NotPlayed(u16),
    /// The index of a threat that the map does not have.
    #[error("threat {index}: expected an index below {count}, the number of threats")]
    NoThreat {
        /// The given index.
        index: usize,
        /// The number of threats on the map.
        count: usize,
    },
    /// The number of threats differs from the map's.
    #[error("{found} threats: the map has {expected}")]
    Threats {
        /// The number of threats on the map.
        expected: usize,
        /// The given number of threats.
        found: usize,
    },
    /// The style of a threat differs from the style on the map.
    #[error("threat {index}: expected the map's {expected}, found {found}")]
    Style {
        /// The threat's index in map order.
        index: usize,
        /// The style on the map.
        expected: Style,
        /// The given style.
        found: Style,
    },
    /// The player's position is not an open tile.
    #[error("the player's position {0} is not an open tile")]
    OffStreet(Position),
    /// The position of a threat, or a position in its memory, is not an open tile.
    #[error("threat {0}: {1} is not an open tile")]
    ThreatOffStreet(usize, Position),
}

impl World {
    pub(super) fn of_tables(layout: &Layout, tables: Tables, clock: Clock) -> Self {
        let threats = &layout.threats;
        let mut order: Vec<usize> = (0..threats.len()).collect();
        order.sort_by_key(|&index| lane_rank(threats[index].style));
        let mut lanes = vec![0; order.len()];
        for (lane, &index) in order.iter().enumerate() {
            lanes[index] = lane as u8;
        }
        let sorted: Vec<Spawn> = order.iter().map(|&index| threats[index]).collect();
        let (first, more) = sorted.split_at(sorted.len().min(LANES));
        let blocks = std::iter::once(first).chain(more.chunks(LANES));
        Self {
            lane_maps: blocks.map(|block| LaneMap::new(block, &tables.graph)).collect(),
            lanes: lanes.into(),
            shape: Shape::new(tables.len(), threats),
            layout: Arc::new(layout.clone()),
            tables,
            clock,
        }
    }

    /// The map.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The rules of the game.
    pub fn rules(&self) -> &Rules {
        &self.tables.rules
    }

    /// The schedule of the threats' moves.
    pub fn clock(&self) -> &Clock {
        &self.clock
    }

    /// The open tiles with their numbers, and the edges between them.
    pub fn graph(&self) -> &StreetGraph {
        &self.tables.graph
    }

    /// The number of open tiles, including see-through tiles.
    pub fn open_tile_count(&self) -> usize {
        self.tables.len()
    }

    /// The number of threats.
    pub fn threat_count(&self) -> usize {
        self.lanes.len()
    }

    /// The size of a state in bytes, including heap allocations.
    pub(crate) fn state_bytes(&self) -> usize {
        size_of::<State>() + (self.lane_maps.len() - 1) * size_of::<Block>()
    }

    /// The state at the start of tick 1.
    pub fn start(&self) -> State {
        let vacant = self.vacant_block();
        let mut state = State {
            tick: FIRST_TICK,
            player: self.tile(self.layout.player),
            is_caught: false,
            shape: self.shape,
            first: vacant,
            more: vec![vacant; self.lane_maps.len() - 1].into(),
        };
        for (index, spawn) in self.layout.threats.iter().enumerate() {
            let (block, lane) = state.lane_mut(self.lanes[index]);
            block.poses[lane] = pose(self.tile(spawn.position), self.tables.first_direction);
            block.draws[lane] = FIRST_DRAWS;
        }
        state.check_caught();
        state
    }

    pub(super) fn vacant_block(&self) -> Block {
        Block { memories: [self.nothing(); LANES], ..Block::EMPTY }
    }

    fn nothing(&self) -> Memory {
        Memory::of_player(self.tables.nowhere())
    }

    /// Builds the state at the start of a tick, for example when a bot joins a game late. Uses the
    /// map's styles, not those of `threats`, ignores memories that a style does not use, and clamps
    /// draws and idle rounds.
    ///
    /// # Errors
    /// If the tick is not from 1 to 2001, the number of threats differs from the map's, or a
    /// position is not an open tile.
    pub fn state_at(&self, tick: u16, player: Position, threats: &[Threat]) -> Result<State, PlacementError> {
        if !(FIRST_TICK..=LAST_TICK + 1).contains(&tick) {
            return Err(PlacementError::Tick(tick));
        }
        if threats.len() != self.lanes.len() {
            return Err(PlacementError::Threats { expected: self.lanes.len(), found: threats.len() });
        }
        let mut state = State { tick, player: self.open_tile(player)?, is_caught: false, ..self.start() };
        for (index, threat) in threats.iter().enumerate() {
            self.place(state.lane_mut(self.lanes[index]), index, threat)?;
        }
        state.check_caught();
        Ok(state)
    }

    pub(super) fn place(
        &self,
        (block, lane): (&mut Block, usize),
        index: usize,
        threat: &Threat,
    ) -> Result<(), PlacementError> {
        let open_tile =
            |position| self.open_tile(position).map_err(|_| PlacementError::ThreatOffStreet(index, position));
        let tile = open_tile(threat.position)?;
        let (place, is_post) = match self.layout.threats[index].style.memory() {
            StyleMemory::Nothing | StyleMemory::Spawn => (None, false),
            StyleMemory::LastLook => (threat.remembered, false),
            StyleMemory::Target => (threat.seen.or(threat.post), threat.seen.is_none()),
        };
        let memory = if is_post { Memory::of_post } else { Memory::of_player };
        block.memories[lane] = place.map_or(Ok(self.nothing()), |place| open_tile(place).map(memory))?;
        block.poses[lane] = pose(tile, threat.direction);
        block.draws[lane] = threat.draws.clamp(FIRST_DRAWS, LAST_TICK + 1);
        block.idle_rounds[lane] = self.rules().clamp_idle_rounds(threat.idle_rounds);
        Ok(())
    }

    pub(super) fn open_tile(&self, position: Position) -> Result<u16, PlacementError> {
        self.tables.graph.tile(position).ok_or(PlacementError::OffStreet(position))
    }

    fn tile(&self, position: Position) -> u16 {
        self.tables.graph.tile(position).expect("positions of a checked layout are open tiles")
    }

    /// Plays one tick like [`World::step`], without checking that the game is running: if it is
    /// over, the state becomes one that no game has. A blocked move counts as staying. With
    /// [`Rules::no_jump`], a step onto a threat's tile ends the game before the threats move.
    ///
    /// # Panics
    /// If the state's world differs from this one in its number of tiles, or of threats of any
    /// style. In debug builds, also if the game is over.
    #[inline]
    pub fn step_unchecked(&self, state: &mut State, player_move: Move) {
        debug_assert!(!state.is_over(), "a game that is over has no next tick");
        self.check_shape(state);
        let stale = state.player;
        let present = self.tile_after(state, player_move);
        state.player = present;
        if self.tables.rules.no_jump && state.is_threat_on(present) {
            state.is_caught = true;
            return;
        }
        let tick = self.clock.tick(state.tick);
        state.tick += 1;
        if tick.threats_move() {
            // In the first tick, there is no previous position.
            let stale = if state.tick == FIRST_TICK + 1 { self.tables.nowhere() } else { stale };
            self.advance(state, PlayerView { present, stale, owls_look: tick.owls_look });
        }
        state.check_caught();
    }

    /// Panics if numbers in the state may be out of range for this world; see [`Shape`].
    #[inline(always)]
    pub(super) fn check_shape(&self, state: &State) {
        assert!(state.shape == self.shape, "the state belongs to a world with other tiles or threats");
    }

    #[inline(always)]
    pub(super) fn advance(&self, state: &mut State, player: PlayerView) {
        state.first.advance(&self.lane_maps[0], &self.tables, player);
        if !state.more.is_empty() {
            self.advance_more(state, player);
        }
    }

    /// Not inlined, because it is rarely called: the competition's maps have at most eight threats.
    #[inline(never)]
    fn advance_more(&self, state: &mut State, player: PlayerView) {
        for (block, map) in state.more.iter_mut().zip(&self.lane_maps[1..]) {
            block.advance(map, &self.tables, player);
        }
    }

    /// Plays `moves`, and stops early if the game ends; a blocked move counts as staying. Returns the
    /// number of moves played. Faster than [`World::step_unchecked`] for each move.
    ///
    /// # Panics
    /// If the state's world differs from this one in its number of tiles, or of threats of any
    /// style.
    pub fn play(&self, state: &mut State, moves: &[Move]) -> usize {
        self.check_shape(state);
        // Copies of the tick and the player can stay in registers.
        let (mut tick, mut player, no_jump) = (state.tick, state.player, self.tables.rules.no_jump);
        let mut played = 0;
        while played < moves.len() && tick <= LAST_TICK && !state.is_caught {
            let stale = if tick == FIRST_TICK { self.tables.nowhere() } else { player };
            player = self.tables.player_next[usize::from(player)][moves[played] as usize];
            played += 1;
            if no_jump && state.is_threat_on(player) {
                state.is_caught = true;
                break;
            }
            let clock_tick = self.clock.tick(tick);
            tick += 1;
            if clock_tick.threats_move() {
                self.advance(state, PlayerView { present: player, stale, owls_look: clock_tick.owls_look });
            }
            state.is_caught = state.is_threat_on(player);
        }
        (state.tick, state.player) = (tick, player);
        played
    }

    /// The state after a move; a blocked move counts as staying. Panics like
    /// [`World::step_unchecked`], and if the game is over.
    pub fn after(&self, state: &State, player_move: Move) -> State {
        assert!(!state.is_over(), "the game is over");
        let mut next = state.clone();
        self.step_unchecked(&mut next, player_move);
        next
    }

    /// Plays `moves`, and stops early if the game ends; a blocked move counts as staying. Returns
    /// `state` and the state after each played move. Panics like [`World::step_unchecked`].
    pub fn states_along(&self, state: &State, moves: &[Move]) -> Vec<State> {
        let mut states = vec![state.clone()];
        for &player_move in moves {
            let last = &states[states.len() - 1];
            if last.is_over() {
                break;
            }
            states.push(self.after(last, player_move));
        }
        states
    }

    /// Returns each of [`World::legal_moves`] with the state after it. Panics like [`World::step_unchecked`].
    pub fn successors<'a>(&'a self, state: &'a State) -> impl Iterator<Item = (Move, State)> + 'a {
        self.legal_moves(state).map(|player_move| (player_move, self.after(state, player_move)))
    }

    /// Plays one tick: moves the player, then the threats if they move in this tick.
    ///
    /// # Errors
    /// If the game is over or the move is blocked. The state is then unchanged.
    ///
    /// # Panics
    /// Like [`World::step_unchecked`].
    pub fn step(&self, state: &mut State, player_move: Move) -> Result<(), PlayError> {
        if state.is_over() {
            return Err(PlayError::GameOver);
        }
        if let Some(direction) = player_move.direction()
            && self.tile_after(state, player_move) == state.player
        {
            return Err(PlayError::Blocked(direction));
        }
        self.step_unchecked(state, player_move);
        Ok(())
    }

    /// Plays one tick with a command, as the server does: the player makes the move that
    /// [`World::resolve`] returns. Returns that move.
    ///
    /// # Errors
    /// [`PlayError::GameOver`] if the game is over. The state is then unchanged.
    ///
    /// # Panics
    /// Like [`World::step_unchecked`].
    pub fn step_command(&self, state: &mut State, command: &[Action]) -> Result<Move, PlayError> {
        let player_move = self.resolve(state, command);
        self.step(state, player_move)?;
        Ok(player_move)
    }

    /// Returns the move of the first action that moves the player; [`Move::Stay`] if none does.
    pub fn resolve(&self, state: &State, command: &[Action]) -> Move {
        let successes = command.iter().filter_map(|action| self.attempt(state, action).ok().flatten());
        successes.map(Move::from).next().unwrap_or(Move::Stay)
    }

    /// Returns the direction in which an action moves the player, or `None` if the player may not
    /// enter the adjacent tile. If the action itself is invalid, returns an error.
    pub fn attempt(&self, state: &State, action: &Action) -> Result<Option<Direction>, ActionError> {
        let direction = match *action {
            Action::Move(direction) => direction,
            Action::MoveTo { x, y } => self.first_step_to(state.player, x, y)?,
            Action::MoveNowhere(_) => return Err(ActionError::NoPosition),
            Action::Unknown(_) => return Err(ActionError::Unknown),
        };
        Ok((self.tile_after(state, direction.into()) != state.player).then_some(direction))
    }

    fn first_step_to(&self, player: u16, x: f64, y: f64) -> Result<Direction, ActionError> {
        if !x.is_finite() || !y.is_finite() {
            return Err(ActionError::NoPosition);
        }
        let position = Position::new(math_round(x), math_round(y));
        self.layout.place(position).ok_or(ActionError::OffGrid)?;
        let target = self.tables.graph.tile(position).ok_or(ActionError::Wall(position))?;
        if target == player {
            return Err(ActionError::AlreadyThere(position));
        }
        let nearer = self.tables.route(target, player) & routes::NEARER;
        routes::first_nearer(nearer, self.rules().shared_path_order).ok_or(ActionError::Unreachable(position))
    }

    /// Returns the legal moves: the open directions (left, right, up, down), then staying; none if
    /// the game is over.
    pub fn legal_moves(&self, state: &State) -> impl Iterator<Item = Move> + use<> {
        let possible = if state.is_over() { 0 } else { self.tiles_after(state).1 };
        Move::ALL.into_iter().filter(move |&m| possible >> m as u8 & 1 == 1)
    }

    /// The player's tile after each of [`Move::ALL`], and one bit per move, set if it is possible.
    #[inline]
    pub(crate) fn tiles_after(&self, state: &State) -> ([u16; Move::ALL.len()], u16) {
        let [left, right, up, down, stay, possible, ..] = self.tables.player_next[usize::from(state.player)];
        ([left, right, up, down, stay], possible)
    }

    /// Returns the player's tile after a move, as a tile number of [`World::graph`].
    #[inline]
    pub fn tile_after(&self, state: &State, player_move: Move) -> u16 {
        self.tables.player_next[usize::from(state.player)][player_move as usize]
    }

    /// True if a threat is on or next to the move's target tile, and so may catch the player there.
    #[doc(hidden)]
    pub fn is_within_reach(&self, state: &State, player_move: Move) -> bool {
        self.is_beside_threat(state, self.tile_after(state, player_move))
    }

    /// True if a threat is on or next to the tile.
    #[inline]
    pub(crate) fn is_beside_threat(&self, state: &State, tile: u16) -> bool {
        let [left, right, up, down] = self.tables.graph.neighbours(Mover::Threat)[usize::from(tile)];
        state.is_any_threat(|at| (at == tile) | (at == left) | (at == right) | (at == up) | (at == down))
    }

    /// The player's position.
    pub fn player(&self, state: &State) -> Position {
        self.tables.graph.position(state.player)
    }

    /// Returns the threat at an index in map order. Panics if the index is out of range.
    pub fn threat(&self, state: &State, index: usize) -> Threat {
        self.threat_in(state.lane(self.lanes[index]), index)
    }

    pub(super) fn threat_in(&self, (block, lane): (&Block, usize), index: usize) -> Threat {
        let style = self.layout.threats[index].style;
        let memory = block.memories[lane];
        let place = self.tables.graph.positions().get(usize::from(memory.tile())).copied();
        let is_post = memory.is_post();
        let pose = block.poses[lane];
        Threat {
            style,
            position: self.tables.graph.position(pose / DIRECTIONS as u16),
            direction: Direction::ALL[usize::from(pose) % DIRECTIONS],
            draws: block.draws[lane],
            remembered: place.filter(|_| style.memory() == StyleMemory::LastLook),
            seen: place.filter(|_| style.memory() == StyleMemory::Target && !is_post),
            post: place.filter(|_| style.memory() == StyleMemory::Target && is_post),
            idle_rounds: block.idle_rounds[lane],
        }
    }

    #[inline]
    pub(crate) fn threat_numbers(&self, state: &State, index: usize) -> ThreatNumbers {
        let (block, lane) = state.lane(self.lanes[index]);
        let memory = block.memories[lane];
        ThreatNumbers {
            pose: block.poses[lane],
            target: memory.tile(),
            is_post: memory.is_post(),
            idle_rounds: block.idle_rounds[lane],
        }
    }

    /// Returns every threat, in map order.
    pub fn threats<'a>(&'a self, state: &'a State) -> impl Iterator<Item = Threat> + 'a {
        (0..self.threat_count()).map(|index| self.threat(state, index))
    }

    /// True if the threats move in the next tick to be played.
    pub fn threats_move(&self, state: &State) -> bool {
        self.clock.threats_move(state.tick)
    }

    /// The ticks since the threats last moved, or since the start of the game if they have not
    /// moved. All threats move in the same ticks.
    pub fn ticks_since_move(&self, state: &State) -> u8 {
        self.clock.ticks_since_move(state.tick - 1)
    }

    /// Returns the threats' personality in the previous tick, which the server's next message
    /// reports. At the start of tick 1, returns the personality in this tick.
    pub fn reported_personality(&self, state: &State) -> Personality {
        self.clock.personality_at(state.tick.saturating_sub(1))
    }

    /// Returns the player's score if the game ends in this state.
    pub fn score(&self, state: &State) -> u32 {
        u32::from(state.tick) * POINTS_PER_TICK
    }

    /// Returns a hash of the state. Ignores directions, except those of bulls and deer, because the
    /// moves of other styles do not depend on directions.
    #[inline]
    pub fn fingerprint(&self, state: &State) -> u64 {
        let header = u64::from(state.tick) | u64::from(state.player) << 16 | u64::from(state.is_caught) << 32;
        let first = mix(header, state.first.digest(&self.lane_maps[0]));
        state.more.iter().zip(&self.lane_maps[1..]).fold(first, |hash, (block, map)| mix(hash, block.digest(map)))
    }
}

/// Rounds halves up, as JavaScript's `Math.round` does. The cast of a huge value saturates.
fn math_round(value: f64) -> i32 {
    let floor = value.floor();
    // `(value + 0.5).floor()` would round the largest number below one half up to 1.
    (floor + f64::from(u8::from(value - floor >= 0.5))) as i32
}
