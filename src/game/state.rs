//! A game: the [`World`] that does not change, and the [`State`] that does.

use thiserror::Error;

use super::grid::{self, Grid, MAX_OPEN_TILES, MAX_THREATS};
use super::layout::{Direction, Layout, Personality, Position, Spawn, Style, Tile};
use super::threat::{self, Block, LANES, Memory, Prey, Roster, mix};
use super::{Action, ActionError, Clock, FIRST_TICK, LAST_TICK, POINTS_PER_TICK, Rules, StreetGraph, route};

/// What the player does in a tick, once a command has been reduced to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Move {
    /// One step to the left.
    Left = 0,
    /// One step to the right.
    Right = 1,
    /// One step up.
    Up = 2,
    /// One step down.
    Down = 3,
    /// No step.
    Stay = 4,
}

impl Move {
    /// Every move.
    pub const ALL: [Self; 5] = [Self::Left, Self::Right, Self::Up, Self::Down, Self::Stay];

    /// The direction of the step, if there is one.
    pub const fn direction(self) -> Option<Direction> {
        match self {
            Self::Left => Some(Direction::Left),
            Self::Right => Some(Direction::Right),
            Self::Up => Some(Direction::Up),
            Self::Down => Some(Direction::Down),
            Self::Stay => None,
        }
    }

    /// The letter in plans: `L`, `R`, `U`, `D`, and `.` for staying.
    pub const fn letter(self) -> char {
        ['L', 'R', 'U', 'D', '.'][self as usize]
    }

    /// The move of a letter.
    pub fn from_letter(letter: char) -> Option<Self> {
        Self::ALL.into_iter().find(|m| m.letter() == letter)
    }
}

impl From<Direction> for Move {
    fn from(direction: Direction) -> Self {
        Self::ALL[direction as usize]
    }
}

/// Why a layout is not a playable map.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum WorldError {
    /// The tiles do not fill the grid.
    #[error("{tiles} tiles for a grid of {width}x{height}: expected width x height tiles")]
    Size {
        /// Columns.
        width: i32,
        /// Rows.
        height: i32,
        /// Tiles given.
        tiles: usize,
    },
    /// More open tiles than the tables hold.
    #[error("{0} open tiles: expected at most {MAX_OPEN_TILES}")]
    TooManyTiles(usize),
    /// More threats than a state holds.
    #[error("{0} threats: expected at most {MAX_THREATS}")]
    TooManyThreats(usize),
    /// The player starts where it cannot stand.
    #[error("the player starts on {0}, which is no open tile")]
    PlayerOffStreet(Position),
    /// A threat starts in a wall or off the grid.
    #[error("threat {0} starts on {1}, which is no open tile")]
    ThreatOffStreet(usize, Position),
}

/// A map made ready to be played: every table that the rules need, for one variant of the game.
#[derive(Clone, Debug)]
pub struct World {
    layout: Layout,
    grid: Grid,
    rosters: Vec<Roster>,
    /// Threat, in map order -> lane, counted through the blocks.
    lanes: Vec<u8>,
    clock: Clock,
    shape: Shape,
    no_jump: bool,
    /// See [`World::with_patience`].
    patience_moves: u8,
}

/// Where a game stands: plain data, compared and hashed whole. It belongs to the [`World`] that made it.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct State {
    tick: u16,
    player: u16,
    shape: Shape,
    outcome: Outcome,
    first: Block,
    /// Threats from the ninth on; empty, and so without an allocation, on every real map.
    more: Box<[Block]>,
}

// The search keeps millions of states.
const _: () = assert!(size_of::<State>() <= 88);

impl Clone for State {
    #[inline]
    fn clone(&self) -> Self {
        // Written out because the search clones as often as it steps, and the general clone of a box is not inlined.
        let more = if self.more.is_empty() { Box::default() } else { self.more.clone() };
        Self { more, ..*self }
    }
}

/// What a state's numbers count in: how many tiles there are, and how many threats of each style, in whose order the lanes
/// stand. It is packed, not hashed: states of equal shapes agree on the range of every number and on the style of every lane, and so
/// the look-ups of [`World::step`] need no check of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Shape(u64);

impl Shape {
    /// Bits that hold a number of tiles.
    const TILE_BITS: u32 = usize::BITS - MAX_OPEN_TILES.leading_zeros();
    /// Bits that hold a number of threats.
    const COUNT_BITS: u32 = usize::BITS - MAX_THREATS.leading_zeros();

    fn new(tiles: usize, threats: &[Spawn]) -> Self {
        const { assert!(Self::TILE_BITS + Style::ALL.len() as u32 * Self::COUNT_BITS <= u64::BITS) };
        let count = |style| threats.iter().filter(|threat| threat.style == style).count() as u64;
        Self(Style::ALL.into_iter().fold(tiles as u64, |shape, style| shape << Self::COUNT_BITS | count(style)))
    }
}

/// Whether a state's game goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
enum Outcome {
    Running,
    Caught,
}

/// A threat as a person would describe it: every field the server keeps that is not the same for all threats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Threat {
    /// How it chooses its moves.
    pub style: Style,
    /// Where it stands.
    pub position: Position,
    /// Where it looks: the direction of its last step.
    pub direction: Direction,
    /// The next seed it draws with.
    pub seed: u16,
    /// Owl: where it last looked at the player.
    pub remembered: Option<Position>,
    /// Hawk: where it last saw the player.
    pub seen: Option<Position>,
    /// Hawk: the intersection it is on its way to.
    pub post: Option<Position>,
    /// Hawk: moves it has waited, from -5.
    pub idle_rounds: i8,
}

impl World {
    /// Makes a map ready: builds the tables, in well under a millisecond for a map of the game's size.
    ///
    /// # Errors
    /// When the layout is larger than [`MAX_OPEN_TILES`] or [`MAX_THREATS`] allow, or somebody starts where nobody can stand.
    pub fn new(layout: &Layout, no_jump: bool) -> Result<Self, WorldError> {
        let mut builder = WorldBuilder::new(layout, no_jump)?;
        builder.advance(usize::MAX);
        Ok(builder.finish())
    }

    /// A stricter variant, ours, for plans with slack: the player is also caught if he comes to stand where standing still through the
    /// threats' next `moves` would be fatal. Who survives this survives the rules themselves, and can lose a command now and then.
    #[must_use]
    pub fn with_patience(mut self, moves: u8) -> Self {
        self.patience_moves = moves;
        self
    }

    /// Changes who plays and where the player may go, as if the world had been made of `layout` from the start; quick where the walls are
    /// the same, because the tables of the streets stay. A state of the world before is not one of this world.
    ///
    /// # Errors
    /// As for [`World::new`]; nothing has changed then.
    pub fn recast(&mut self, layout: &Layout) -> Result<(), WorldError> {
        if *layout == self.layout {
            return Ok(());
        }
        check(layout)?;
        let same_size = (layout.width, layout.height) == (self.layout.width, self.layout.height);
        let mut pairs = layout.tiles.iter().zip(&self.layout.tiles);
        if !same_size || pairs.any(|(new, old)| new.is_open() != old.is_open()) {
            *self = Self::new(layout, self.no_jump)?.with_patience(self.patience_moves);
            return Ok(());
        }
        self.grid.clear_deer_homes();
        self.grid.set_layout(layout);
        self.layout = layout.clone();
        self.cast();
        Ok(())
    }

    /// Gives every threat of the layout its lane.
    fn cast(&mut self) {
        let threats = &self.layout.threats;
        let mut order: Vec<usize> = (0..threats.len()).collect();
        order.sort_by_key(|&index| threat::rank(threats[index].style));
        self.lanes = vec![0; order.len()];
        for (lane, &index) in order.iter().enumerate() {
            self.lanes[index] = lane as u8;
        }
        let sorted: Vec<Spawn> = order.iter().map(|&index| threats[index]).collect();
        self.rosters = sorted.chunks(LANES).map(|block| Roster::new(block, &mut self.grid)).collect();
        if self.rosters.is_empty() {
            self.rosters.push(Roster::new(&[], &mut self.grid));
        }
        self.shape = Shape::new(self.grid.len(), threats);
    }

    /// The map as it was given.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// When the threats move.
    pub fn clock(&self) -> &Clock {
        &self.clock
    }

    /// The streets, and the numbers of their tiles.
    pub fn graph(&self) -> &StreetGraph {
        &self.grid.graph
    }

    /// Whether this is the no-jump variant.
    pub fn no_jump(&self) -> bool {
        self.no_jump
    }

    /// How many open tiles the map has.
    pub fn open_tiles(&self) -> usize {
        self.grid.len()
    }

    /// How many threats the map has.
    pub fn threat_count(&self) -> usize {
        self.lanes.len()
    }

    /// The state at the start of tick 1.
    pub fn start(&self) -> State {
        let nowhere = self.nowhere();
        let mut state = State {
            tick: FIRST_TICK,
            player: self.tile(self.layout.player),
            shape: self.shape,
            outcome: Outcome::Running,
            first: nowhere,
            more: vec![nowhere; self.rosters.len() - 1].into(),
        };
        for (index, spawn) in self.layout.threats.iter().enumerate() {
            let (block, lane) = state.lane_mut(self.lanes[index]);
            block.poses[lane] = grid::pose(self.tile(spawn.position), threat::FIRST_DIRECTION);
            block.seeds[lane] = threat::FIRST_SEED;
        }
        state.look_around();
        state
    }

    /// A block of threats that are not there and remember nothing.
    fn nowhere(&self) -> Block {
        Block { memories: [self.nothing(); LANES], ..Block::EMPTY }
    }

    /// The memory of a threat that remembers nothing.
    fn nothing(&self) -> Memory {
        Memory::of_player(self.grid.len() as u16)
    }

    /// The state at the start of a tick, put together by hand: for games that are joined late, and for what-ifs.
    ///
    /// What the given styles do not remember is ignored, and seeds and idle rounds are taken into the range that games reach.
    ///
    /// # Errors
    /// When the tick is not one of 1 to 2001, the number of threats is another than the map's, or a position is no open tile.
    pub fn state_at(&self, tick: u16, player: Position, threats: &[Threat]) -> Result<State, PlacementError> {
        if !(FIRST_TICK..=LAST_TICK + 1).contains(&tick) {
            return Err(PlacementError::Tick(tick));
        }
        if threats.len() != self.lanes.len() {
            return Err(PlacementError::Threats { expected: self.lanes.len(), found: threats.len() });
        }
        let mut state = self.start();
        state.tick = tick;
        state.outcome = Outcome::Running;
        state.player = self.open_tile(player)?;
        for (index, threat) in threats.iter().enumerate() {
            self.place(state.lane_mut(self.lanes[index]), index, threat)?;
        }
        state.look_around();
        Ok(state)
    }

    /// Puts a threat into its lane.
    fn place(&self, (block, lane): (&mut Block, usize), index: usize, threat: &Threat) -> Result<(), PlacementError> {
        let tile = self.open_tile(threat.position)?;
        let memory = self.memory_of(self.layout.threats[index].style, threat)?;
        block.poses[lane] = grid::pose(tile, threat.direction);
        block.seeds[lane] = threat.seed.clamp(threat::FIRST_SEED, LAST_TICK);
        block.memories[lane] = memory;
        block.idle_rounds[lane] = threat::clamp_idle_rounds(threat.idle_rounds);
        Ok(())
    }

    /// What one threat does in a tick, for an observer who saw the player go from `stale` to `now`, by whatever way. Threats do not see one
    /// another, so this needs no state; it is what [`World::step`] does to this threat, be the player caught or not.
    ///
    /// # Errors
    /// When there is no such threat or tick, or a position is no open tile.
    pub fn threat_after(
        &self,
        index: usize,
        threat: &Threat,
        tick: u16,
        stale: Position,
        now: Position,
    ) -> Result<Threat, PlacementError> {
        if index >= self.lanes.len() {
            return Err(PlacementError::Threats { expected: self.lanes.len(), found: index + 1 });
        }
        if !(FIRST_TICK..=LAST_TICK).contains(&tick) {
            return Err(PlacementError::Tick(tick));
        }
        let clock = self.clock.tick(tick);
        let prey = Prey { now: self.open_tile(now)?, stale: self.open_tile(stale)?, owls_look: clock.owls_look };
        let (number, lane) = split_lane(self.lanes[index]);
        // The other lanes of the block move, too, wherever their threats are: on the first tile.
        let mut block = Block {
            poses: [grid::pose(0, threat::FIRST_DIRECTION); LANES],
            seeds: [threat::FIRST_SEED; LANES],
            ..self.nowhere()
        };
        self.place((&mut block, lane), index, threat)?;
        if clock.threats_move() {
            block.advance(&self.rosters[number], &self.grid, prey);
        }
        Ok(self.threat_in((&block, lane), index))
    }

    /// What [`World::threat_after`] says of a deer, were its spawn at `home`: for games that were joined when it had left.
    ///
    /// # Errors
    /// When the deer or the player stands on no open tile.
    pub fn deer_after(
        &self,
        deer: &Threat,
        home: Position,
        tick: u16,
        stale: Position,
    ) -> Result<Threat, PlacementError> {
        let tile = self.open_tile(deer.position)?;
        self.open_tile(stale)?;
        if !self.clock.threats_move(tick) {
            return Ok(*deer);
        }
        let offset = |target: Position| (target.x - deer.position.x, target.y - deer.position.y);
        let (dx, dy) = offset(stale);
        let is_shy = dx * dx + dy * dy <= grid::DEER_SHY_DISTANCE_SQUARED;
        let target = if is_shy { offset(home) } else { (dx, dy) };
        let pose = self.grid.deer_steps(tile, target)[deer.direction as usize];
        let position = self.grid.graph.position(pose / grid::DIRECTIONS as u16);
        Ok(Threat { position, direction: Direction::ALL[usize::from(pose) % grid::DIRECTIONS], ..*deer })
    }

    /// A threat's memory as a block keeps it.
    fn memory_of(&self, style: Style, threat: &Threat) -> Result<Memory, PlacementError> {
        match (style, threat.remembered, threat.seen, threat.post) {
            (Style::Owl, Some(position), _, _) | (Style::Hawk, _, Some(position), _) => {
                self.open_tile(position).map(Memory::of_player)
            }
            (Style::Hawk, _, None, Some(position)) => self.open_tile(position).map(Memory::of_post),
            _ => Ok(self.nothing()),
        }
    }

    fn open_tile(&self, position: Position) -> Result<u16, PlacementError> {
        self.grid.graph.tile(position).ok_or(PlacementError::OffStreet(position))
    }

    /// The tile of a position that is known to be open.
    fn tile(&self, position: Position) -> u16 {
        self.grid.graph.tile(position).expect("positions of a checked layout are open tiles")
    }

    /// Plays one tick: the player's move, then the threats'. A move into a wall is a stay.
    ///
    /// For callers that know the state to be of this world and not over; [`World::play`] checks.
    #[inline]
    pub fn step(&self, state: &mut State, player_move: Move) {
        debug_assert!(!state.is_over(), "a game that is over has no next tick");
        assert!(state.shape == self.shape, "a state is stepped in a world of other tiles or threats than its own");
        let stale = state.player;
        let now = self.grid.player_next[usize::from(stale) * 8 + player_move as usize];
        state.player = now;
        if self.no_jump && state.is_threat_on(now) {
            state.outcome = Outcome::Caught;
            return;
        }
        let clock = self.clock.tick(state.tick);
        state.tick += 1;
        if clock.threats_move() {
            let prey = Prey { now, stale, owls_look: clock.owls_look };
            state.first.advance(&self.rosters[0], &self.grid, prey);
            if !state.more.is_empty() {
                self.advance_more(state, prey);
            }
        }
        state.look_around();
        if self.patience_moves > 0 && !self.can_wait(state) {
            state.outcome = Outcome::Caught;
        }
    }

    /// Whether the player is alive after standing still through the threats' next moves.
    #[inline(never)]
    fn can_wait(&self, state: &State) -> bool {
        let mut ahead = state.clone();
        for _ in 0..self.patience_moves {
            while ahead.tick <= LAST_TICK && !self.threats_move(&ahead) {
                ahead.tick += 1;
            }
            if ahead.is_over() {
                break;
            }
            let owls_look = self.clock.owls_look(ahead.tick);
            let prey = Prey { now: ahead.player, stale: ahead.player, owls_look };
            ahead.tick += 1;
            ahead.first.advance(&self.rosters[0], &self.grid, prey);
            self.advance_more(&mut ahead, prey);
            ahead.look_around();
        }
        !ahead.is_caught()
    }

    /// The threats from the ninth on, out of the way of the maps that have none.
    #[inline(never)]
    fn advance_more(&self, state: &mut State, prey: Prey) {
        for (block, roster) in state.more.iter_mut().zip(&self.rosters[1..]) {
            block.advance(roster, &self.grid, prey);
        }
    }

    /// Plays one tick with a command as it came from the wire: a list of actions, of which the first move that succeeds counts.
    /// Returns what became of it, and changes nothing when the game is over.
    ///
    /// # Errors
    /// When the game is over.
    pub fn play(&self, state: &mut State, command: &[Action]) -> Result<Move, GameOver> {
        if state.is_over() {
            return Err(GameOver);
        }
        let player_move = self.resolve(state, command);
        self.step(state, player_move);
        Ok(player_move)
    }

    /// The one move that a command amounts to.
    pub fn resolve(&self, state: &State, command: &[Action]) -> Move {
        let successes = command.iter().filter_map(|action| self.attempt(state, action).ok().flatten());
        successes.map(Move::from).next().unwrap_or(Move::Stay)
    }

    /// What an action does if it is the first to succeed: a step, or nothing, silently, where the player may not go.
    ///
    /// # Errors
    /// What the server would log.
    pub fn attempt(&self, state: &State, action: &Action) -> Result<Option<Direction>, ActionError> {
        let direction = match *action {
            Action::Move(direction) => direction,
            Action::MoveTo { x, y } => self.first_step_to(state.player, x, y)?,
            Action::MoveNowhere => return Err(ActionError::NoPosition),
            Action::Unknown => return Err(ActionError::Unknown),
        };
        let exits = self.grid.player_exits[usize::from(state.player)];
        Ok((exits >> direction as u8 & 1 == 1).then_some(direction))
    }

    fn first_step_to(&self, player: u16, x: f64, y: f64) -> Result<Direction, ActionError> {
        if !x.is_finite() || !y.is_finite() {
            return Err(ActionError::NoPosition);
        }
        let position = Position::new(math_round(x), math_round(y));
        let off_grid =
            position.x < 0 || position.y < 0 || position.x >= self.layout.width || position.y >= self.layout.height;
        if off_grid {
            return Err(ActionError::OffGrid);
        }
        let target = self.grid.graph.tile(position).ok_or(ActionError::Wall(position))?;
        if target == player {
            return Err(ActionError::AlreadyThere(position));
        }
        route::shared_direction(self.grid.route(target, player) & route::NEARER)
            .ok_or(ActionError::Unreachable(position))
    }

    /// The moves that differ: the open ways in the order left, right, up, down, then staying.
    pub fn moves(&self, state: &State) -> impl Iterator<Item = Move> + use<> {
        let exits = self.grid.player_exits[usize::from(state.player)];
        Move::ALL.into_iter().filter(move |&m| m == Move::Stay || exits >> m as u8 & 1 == 1)
    }

    /// Bytes that a state takes, those behind its pointer included.
    pub fn state_bytes(&self) -> usize {
        size_of::<State>() + (self.rosters.len() - 1) * size_of::<Block>()
    }

    /// Where a move leads the player, as the number of a tile: below [`World::open_tiles`].
    #[inline]
    pub(crate) fn tile_after(&self, state: &State, player_move: Move) -> u16 {
        self.grid.player_next[usize::from(state.player) * 8 + player_move as usize]
    }

    /// Ticks that the threats have counted since their last move: the same for all of them.
    pub fn ticks_since_move(&self, state: &State) -> u8 {
        self.clock.ticks_since_move(state.tick - 1)
    }

    /// Whether the threats move in the tick that this state is about to play.
    pub fn threats_move(&self, state: &State) -> bool {
        self.clock.threats_move(state.tick)
    }

    /// Whether owls look at the player in the tick that this state is about to play.
    pub fn owls_look(&self, state: &State) -> bool {
        self.clock.owls_look(state.tick)
    }

    /// Whether a deer here is so close to a player there that it makes for its spawn instead.
    pub const fn is_deer_shy(deer: Position, player: Position) -> bool {
        let (dx, dy) = (player.x - deer.x, player.y - deer.y);
        dx * dx + dy * dy <= grid::DEER_SHY_DISTANCE_SQUARED
    }

    /// How many more of its moves a hawk waits that has nothing to make for.
    pub fn hawk_waits_moves(hawk: &Threat) -> u8 {
        (threat::HAWK_PATIENCE_MOVES + 1 - threat::clamp_idle_rounds(hawk.idle_rounds)) as u8
    }

    /// Where the player is.
    pub fn player(&self, state: &State) -> Position {
        self.grid.graph.position(state.player)
    }

    /// A threat, by its place in map order.
    ///
    /// # Panics
    /// When there is no such threat.
    pub fn threat(&self, state: &State, index: usize) -> Threat {
        self.threat_in(state.lane(self.lanes[index]), index)
    }

    fn threat_in(&self, (block, lane): (&Block, usize), index: usize) -> Threat {
        let style = self.layout.threats[index].style;
        let memory = block.memories[lane];
        let place = self.grid.graph.positions().get(usize::from(memory.tile())).copied();
        let is_post = memory.is_post();
        let pose = block.poses[lane];
        Threat {
            style,
            position: self.grid.graph.position(pose / grid::DIRECTIONS as u16),
            direction: Direction::ALL[usize::from(pose) % grid::DIRECTIONS],
            seed: block.seeds[lane],
            remembered: place.filter(|_| style == Style::Owl),
            seen: place.filter(|_| style == Style::Hawk && !is_post),
            post: place.filter(|_| style == Style::Hawk && is_post),
            idle_rounds: block.idle_rounds[lane],
        }
    }

    /// Every threat in map order.
    pub fn threats<'a>(&'a self, state: &'a State) -> impl Iterator<Item = Threat> + 'a {
        (0..self.threat_count()).map(|index| self.threat(state, index))
    }

    /// The first step of the shared path (owl, hawk, `MOVE_TO`) between two positions; none when it is already there, when there is no
    /// path, or when either is no open tile.
    pub fn shared_step(&self, from: Position, to: Position) -> Option<Direction> {
        self.first_step(&self.grid.shared_step, from, to)
    }

    /// The first step of the shark path between two positions; none as for [`World::shared_step`].
    pub fn shark_step(&self, from: Position, to: Position) -> Option<Direction> {
        self.first_step(&self.grid.shark_step, from, to)
    }

    /// What a table of steps, which the rules look up, says about a pair of positions.
    fn first_step(&self, steps: &[u16], from: Position, to: Position) -> Option<Direction> {
        let (from, to) = (self.grid.graph.tile(from)?, self.grid.graph.tile(to)?);
        let pose = steps[usize::from(from) * route::ROUTE_BYTES + usize::from(self.grid.route(to, from))];
        (pose != grid::NONE).then(|| Direction::ALL[usize::from(pose) % grid::DIRECTIONS])
    }

    /// Whether two positions share a row or a column with only open tiles from one to the other.
    pub fn sees(&self, from: Position, to: Position) -> bool {
        let tiles = self.grid.graph.tile(from).zip(self.grid.graph.tile(to));
        tiles.is_some_and(|(from, to)| self.grid.route(to, from) & route::SEES != 0)
    }

    /// The posts that a hawk picks from: at most ten intersections, those with the longest views first.
    pub fn best_intersections(&self) -> Vec<Position> {
        let posts = &self.grid.best_intersections;
        posts.iter().map(|&tile| self.grid.graph.position(tile)).collect()
    }

    /// What the player scores if the game ends in this state.
    pub fn score(&self, state: &State) -> u32 {
        u32::from(state.tick) * POINTS_PER_TICK
    }

    /// A 64-bit hash of all that decides the state's future, and of nothing else: two states that differ only in where a threat
    /// looks that never cares for it have one fingerprint.
    #[inline]
    pub fn fingerprint(&self, state: &State) -> u64 {
        let header = u64::from(state.tick) | u64::from(state.player) << 16 | (state.outcome as u64) << 32;
        let first = mix(header, state.first.digest(&self.rosters[0]));
        state.more.iter().zip(&self.rosters[1..]).fold(first, |hash, (block, roster)| mix(hash, block.digest(roster)))
    }
}

/// The block of a lane, and its place there.
fn split_lane(lane: u8) -> (usize, usize) {
    (usize::from(lane) / LANES, usize::from(lane) % LANES)
}

/// JavaScript's `Math.round`: halves go up. The cast saturates, which leaves what is off the grid off the grid.
fn math_round(value: f64) -> i32 {
    let floor = value.floor();
    // Not `(value + 0.5).floor()`: the sum of the largest number below one half and one half is 1.
    (floor + f64::from(u8::from(value - floor >= 0.5))) as i32
}

/// A world that is being made, for those who are short of time: the routes of the largest maps take longer than a tick, and can be made in
/// pieces.
///
/// ```
/// use getaway::game::{Layout, World, WorldBuilder};
///
/// let layout = Layout::parse("#####\n#P.s#\n#####")?;
/// let mut builder = WorldBuilder::new(&layout, false)?;
/// while !builder.advance(1) {} // one tile's routes at a time
/// assert_eq!(builder.finish().start(), World::new(&layout, false)?.start());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct WorldBuilder {
    world: World,
    survey: route::Survey,
}

impl WorldBuilder {
    /// Begins a world: everything but the routes.
    ///
    /// # Errors
    /// As for [`World::new`].
    pub fn new(layout: &Layout, no_jump: bool) -> Result<Self, WorldError> {
        check(layout)?;
        let grid = Grid::new(layout);
        let survey = route::Survey::new(grid.len());
        let shape = Shape::new(0, &[]);
        let (layout, rosters, lanes) = (layout.clone(), Vec::new(), Vec::new());
        Ok(Self {
            world: World {
                layout,
                grid,
                rosters,
                lanes,
                clock: Clock::new(&Rules::BLITZ_2025.with_no_jump(no_jump)),
                shape,
                no_jump,
                patience_moves: 0,
            },
            survey,
        })
    }

    /// Makes the routes to at most `tiles` more tiles; says whether all are made.
    pub fn advance(&mut self, tiles: usize) -> bool {
        self.survey.advance(self.world.grid.neighbours(), tiles)
    }

    /// The map as it was given.
    pub fn layout(&self) -> &Layout {
        &self.world.layout
    }

    /// The world; makes what is missing.
    pub fn finish(mut self) -> World {
        self.advance(usize::MAX);
        self.world.grid.finish(self.survey);
        self.world.cast();
        self.world
    }
}

/// The game is over: there is no tick to play.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the game is over")]
pub struct GameOver;

/// Why a state cannot be put together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum PlacementError {
    /// A tick that no game has.
    #[error("tick {0}: expected 1 to 2001")]
    Tick(u16),
    /// Another number of threats than the map's.
    #[error("{found} threats: expected the map's {expected}")]
    Threats {
        /// The map's threats.
        expected: usize,
        /// The threats given.
        found: usize,
    },
    /// Somebody stands where nobody can, or remembers such a place.
    #[error("{0} is no open tile")]
    OffStreet(Position),
}

fn check(layout: &Layout) -> Result<(), WorldError> {
    let Layout { width, height, ref tiles, player, ref threats } = *layout;
    if width < 1 || height < 1 || i64::from(width) * i64::from(height) != tiles.len() as i64 {
        return Err(WorldError::Size { width, height, tiles: tiles.len() });
    }
    let open = tiles.iter().filter(|tile| tile.is_open()).count();
    if open > MAX_OPEN_TILES {
        return Err(WorldError::TooManyTiles(open));
    }
    if threats.len() > MAX_THREATS {
        return Err(WorldError::TooManyThreats(threats.len()));
    }
    if layout.tile(player) != Tile::Open {
        return Err(WorldError::PlayerOffStreet(player));
    }
    let stray = threats.iter().position(|threat| !layout.is_open(threat.position));
    stray.map_or(Ok(()), |index| Err(WorldError::ThreatOffStreet(index, threats[index].position)))
}

impl State {
    /// The tick that is about to be played, from 1; 2001 when the game is complete.
    pub fn tick(&self) -> u16 {
        self.tick
    }

    /// Whether the game is over: caught, or complete.
    #[inline]
    pub fn is_over(&self) -> bool {
        self.outcome == Outcome::Caught || self.is_complete()
    }

    /// Whether every tick has been survived. Who is caught in the tick after the last has survived them all the same.
    #[inline]
    pub fn is_complete(&self) -> bool {
        self.tick > LAST_TICK
    }

    /// Whether a threat stands on the player's tile.
    #[inline]
    pub fn is_caught(&self) -> bool {
        self.outcome == Outcome::Caught
    }

    /// The threats' personality as messages tell it: the one that was set in the tick before.
    pub fn personality(&self) -> Personality {
        Personality::at_clock(self.tick.saturating_sub(2))
    }

    #[inline(always)]
    fn is_threat_on(&self, tile: u16) -> bool {
        self.first.stands_on(tile) || (!self.more.is_empty() && self.more.iter().any(|block| block.stands_on(tile)))
    }

    #[inline(always)]
    fn look_around(&mut self) {
        if self.is_threat_on(self.player) {
            self.outcome = Outcome::Caught;
        }
    }

    fn lane(&self, lane: u8) -> (&Block, usize) {
        let (block, lane) = split_lane(lane);
        (if block == 0 { &self.first } else { &self.more[block - 1] }, lane)
    }

    fn lane_mut(&mut self, lane: u8) -> (&mut Block, usize) {
        let (block, lane) = split_lane(lane);
        (if block == 0 { &mut self.first } else { &mut self.more[block - 1] }, lane)
    }
}
