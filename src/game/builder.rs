use thiserror::Error;

use super::picks::Numbers;
use super::routes::RouteBuilder;
use super::state::Shape;
use super::tables::{MAX_OPEN_TILES, MAX_THREATS, Tables};
use super::{Clock, Layout, Position, Rules, RulesError, Tile, World};

/// The error for a world that cannot be built.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum WorldError {
    /// The number of tiles is not `width * height`, or the grid is empty.
    #[error("{tiles} tiles for a grid of {width}x{height}: expected width x height tiles, at least one")]
    Size {
        /// Columns.
        width: i32,
        /// Rows.
        height: i32,
        /// The number of tiles.
        tiles: usize,
    },
    /// The map has more than [`MAX_OPEN_TILES`] open tiles.
    #[error("{0} open tiles: expected at most {MAX_OPEN_TILES}")]
    TooManyTiles(usize),
    /// The map has more than [`MAX_THREATS`] threats.
    #[error("{0} threats: expected at most {MAX_THREATS}")]
    TooManyThreats(usize),
    /// The player starts on a wall or a see-through tile, or off the grid.
    #[error("the player starts on {0}: expected a tile that the player can enter")]
    PlayerOffStreet(Position),
    /// A threat starts on a wall or off the grid.
    #[error("threat {0} starts on {1}, which is not an open tile")]
    ThreatOffStreet(usize, Position),
    /// The rules are invalid.
    #[error(transparent)]
    Rules(#[from] RulesError),
}

/// Builds a world in steps, so that a bot can build the routes of a very large map over several
/// ticks.
///
/// ```
/// use getaway::game::{Layout, Rules, World, WorldBuilder};
///
/// let layout = Layout::parse("#####\n#P.S#\n#####")?;
/// let mut builder = WorldBuilder::new(&layout, &Rules::BLITZ_2025)?;
/// while !builder.advance(1) {} // the routes to one tile per call
/// assert_eq!(builder.finish().start(), World::new(&layout, &Rules::BLITZ_2025)?.start());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct WorldBuilder {
    world: World,
    routes: RouteBuilder,
    numbers: Numbers,
}

impl WorldBuilder {
    /// Builds the tables that do not need routes. Fails in the same cases as [`World::new`].
    pub fn new(layout: &Layout, rules: &Rules) -> Result<Self, WorldError> {
        // This pattern does not compile unless it names every rule. Each comment names the main
        // user of the rules below it.
        let Rules {
            // `World::step`
            no_jump: _,
            // `Clock`
            period_ticks: _,
            phase_clocks: _,
            owl_minute_ticks: _,
            owl_window_ticks: _,
            // `Tables`
            option_order: _,
            shared_path_order: _,
            shark_path_order: _,
            deer_shy_distance_squared: _,
            hawk_posts: _,
            // `Numbers`
            spawn_order: _,
            first_seed: _,
            pick_scale: _,
            // `ThreatRules`
            deer_view: _,
            shark_view: _,
            owl_view: _,
            hawk_view: _,
            hawk_patience_moves: _,
            hawk_rest_moves: _,
            // None: the words in messages do not affect the game.
            wire: _,
        } = rules;
        rules.validate()?;
        check(layout)?;
        let numbers = Numbers::new(rules);
        let tables = Tables::new(layout, rules, &numbers);
        let routes = RouteBuilder::new(tables.len());
        let world = World {
            layout: layout.clone(),
            rules: *rules,
            tables,
            lane_maps: Vec::new(),
            lanes: Vec::new(),
            clock: Clock::new(rules),
            shape: Shape::new(0, &[]),
            first_direction: numbers.first_direction(rules),
        };
        Ok(Self { world, routes, numbers })
    }

    /// Builds the routes to at most `tiles` more tiles. Returns true once all routes are built.
    pub fn advance(&mut self, tiles: usize) -> bool {
        self.routes.advance(self.world.tables.neighbours(), tiles)
    }

    /// The map.
    pub fn layout(&self) -> &Layout {
        &self.world.layout
    }

    /// Builds the remaining routes and returns the world.
    pub fn finish(mut self) -> World {
        self.advance(usize::MAX);
        self.world.tables.finish(self.routes, &self.world.rules, &self.numbers);
        self.world.assign_lanes();
        self.world
    }
}

impl World {
    /// Builds a world. On the competition's maps, this takes less than a millisecond.
    ///
    /// # Errors
    /// If the layout is empty, has a number of tiles other than width times height, or exceeds
    /// [`MAX_OPEN_TILES`] or [`MAX_THREATS`], if the player or a threat starts on a tile that it
    /// cannot enter, or if the rules are invalid.
    pub fn new(layout: &Layout, rules: &Rules) -> Result<Self, WorldError> {
        Ok(WorldBuilder::new(layout, rules)?.finish())
    }

    /// Replaces the layout. This is fast if the walls stay the same. If the layout differs from the
    /// previous one, earlier states become invalid. Fails in the same cases as [`World::new`]; the
    /// world is then unchanged.
    pub fn set_layout(&mut self, layout: &Layout) -> Result<(), WorldError> {
        if *layout == self.layout {
            return Ok(());
        }
        check(layout)?;
        if !self.has_walls_of(layout) {
            *self = Self::new(layout, &self.rules)?;
            return Ok(());
        }
        self.tables.clear_deer_homes();
        self.tables.set_layout(layout);
        self.layout = layout.clone();
        self.assign_lanes();
        Ok(())
    }

    /// Builds a world with another layout and other rules. If the walls are the same as in this
    /// world, copies the routes instead of computing them. Fails in the same cases as
    /// [`World::new`].
    pub fn rebuilt(&self, layout: &Layout, rules: &Rules) -> Result<Self, WorldError> {
        let mut builder = WorldBuilder::new(layout, rules)?;
        if self.has_walls_of(layout) {
            builder.routes = RouteBuilder::complete(&self.tables.routes, &self.tables.views);
        }
        Ok(builder.finish())
    }

    fn has_walls_of(&self, layout: &Layout) -> bool {
        let is_same_size = (layout.width, layout.height) == (self.layout.width, self.layout.height);
        let mut pairs = layout.tiles.iter().zip(&self.layout.tiles);
        is_same_size && pairs.all(|(new, old)| new.is_open() == old.is_open())
    }
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
