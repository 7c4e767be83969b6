use thiserror::Error;

use super::routes::RouteBuilder;
use super::tables::{MAX_OPEN_TILES, MAX_THREATS, Tables};
use super::{Clock, Layout, Position, Rules, RulesError, StreetGraph, Tile, World};

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
/// while !builder.advance() {}
/// assert_eq!(builder.finish().start(), World::new(&layout, &Rules::BLITZ_2025)?.start());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct WorldBuilder {
    layout: Layout,
    rules: Rules,
    graph: StreetGraph,
    routes: RouteBuilder,
}

impl WorldBuilder {
    /// Prepares to build a world. Fails in the same cases as [`World::new`].
    pub fn new(layout: &Layout, rules: &Rules) -> Result<Self, WorldError> {
        rules.validate()?;
        check(layout)?;
        let graph = StreetGraph::new(layout);
        Ok(Self { layout: layout.clone(), rules: *rules, routes: RouteBuilder::new(&graph), graph })
    }

    /// Builds the routes to at most 128 more tiles, which takes at most a few milliseconds.
    /// Returns true once all routes are built.
    pub fn advance(&mut self) -> bool {
        self.routes.advance(&self.graph)
    }

    /// The map.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Builds the remaining routes and returns the world.
    pub fn finish(mut self) -> World {
        while !self.advance() {}
        let tables = Tables::new(self.graph, self.routes.finish(), &self.rules);
        World::of_tables(&self.layout, tables, Clock::new(&self.rules))
    }
}

impl World {
    /// Builds a world. On the competition's maps, this takes less than 0.1 ms.
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
        *self = self.rebuilt(layout, self.rules())?;
        Ok(())
    }

    /// Builds a world with another layout and other rules. With the same walls, it shares the
    /// tables that do not depend on what differs. Fails in the same cases as [`World::new`].
    pub fn rebuilt(&self, layout: &Layout, rules: &Rules) -> Result<Self, WorldError> {
        if !self.has_walls_of(layout) {
            return Self::new(layout, rules);
        }
        rules.validate()?;
        check(layout)?;
        let mut world = self.clone();
        if *rules != *self.rules() {
            world.tables.set_rules(rules);
            world.clock = self.clock.changed(rules);
        }
        if layout.tiles != self.layout.tiles {
            world.tables.set_layout(layout);
        }
        if *layout == *self.layout { Ok(world) } else { Ok(Self::of_tables(layout, world.tables, world.clock)) }
    }

    fn has_walls_of(&self, layout: &Layout) -> bool {
        let is_same_size = (layout.width, layout.height) == (self.layout.width, self.layout.height);
        let old = self.layout.tiles.iter().map(|tile| tile.is_open());
        is_same_size && layout.tiles.iter().map(|tile| tile.is_open()).eq(old)
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
