//! Look-ups about a map for the hypotheses, and the observations on it.

use crate::game::routes::{NEARER, SEES};
use crate::game::{Direction, Layout, Mover, Personality, Position, Rules, StreetGraph, Style, World, WorldError};
use crate::protocol::GameMessage;

/// The streets of a map: routes, views and intersections.
#[derive(Clone, Debug)]
pub struct Streets {
    world: World,
    /// Every intersection that a hawk may be sent to, best first.
    pub intersections: Vec<u16>,
    /// By tile: its options as bits.
    options: Vec<u8>,
}

impl Streets {
    /// The streets of a layout.
    ///
    /// # Errors
    /// When the layout cannot be played.
    pub fn new(layout: &Layout) -> Result<Self, WorldError> {
        let streets = Layout { threats: Vec::new(), ..layout.clone() };
        let world = World::new(&streets, &Rules { hawk_posts: u16::MAX, ..Rules::BLITZ_2025 })?;
        let graph = world.graph();
        let intersections = world.best_intersections().into_iter().filter_map(|post| graph.tile(post)).collect();
        let options = (0..graph.len() as u16)
            .map(|tile| graph.ways(Mover::Threat, tile).fold(0, |bits, (direction, _)| bits | 1 << direction as u8))
            .collect();
        Ok(Self { world, intersections, options })
    }

    /// The graph that numbers the tiles.
    pub fn graph(&self) -> &StreetGraph {
        self.world.graph()
    }

    /// The number that stands for no tile.
    pub fn nowhere(&self) -> u16 {
        self.graph().len() as u16
    }

    /// The options of a tile as bits 0 to 3.
    pub fn options(&self, tile: u16) -> u8 {
        self.options[usize::from(tile)]
    }

    /// The directions from a tile that lead one step nearer to a target; none if it is the target
    /// itself, nowhere, or unreachable.
    pub fn nearer(&self, target: u16, tile: u16) -> u8 {
        self.world.route_bits(target, tile) & NEARER
    }

    /// Whether a tile sees another along a row or column.
    pub fn sees(&self, target: u16, tile: u16) -> bool {
        self.world.route_bits(target, tile) & SEES != 0
    }

    /// The position of a tile; (-1, -1) for nowhere.
    pub fn position(&self, tile: u16) -> Position {
        self.graph().positions().get(usize::from(tile)).copied().unwrap_or(Position::new(-1, -1))
    }
}

/// What a message shows at the start of a tick.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sight {
    /// The tick that is about to be played.
    pub tick: u16,
    /// Where the player is.
    pub player: Position,
    /// The threats in message order: where they are and the direction they face, if it is known.
    pub threats: Vec<(Position, Option<Direction>)>,
    /// The personality that all threats are reported to have; `None` if there is none, or more than
    /// one.
    pub personality: Option<Personality>,
}

impl Sight {
    /// What a message shows; `None` if its tick is not one of a game.
    pub fn of(message: &GameMessage) -> Option<Self> {
        let personality = |index: usize| message.threats.get(index)?.personality.as_ref()?.known();
        let is_shared = (1..message.threats.len()).all(|index| personality(index) == personality(0));
        Some(Self {
            tick: u16::try_from(message.tick).ok()?,
            player: message.your_character.position,
            threats: message.threats.iter().map(|threat| (threat.position, threat.direction.known())).collect(),
            personality: personality(0).filter(|_| is_shared),
        })
    }
}

/// One tick between two sights.
#[derive(Clone, Debug)]
pub struct Step {
    /// The tick that was played.
    pub tick: u16,
    /// The player's tile at its start, and after its command. In the first tick, in which the
    /// threats have not seen the player yet, the first is nowhere.
    pub player: Views,
    /// By threat: its tile before, and the direction of its step if it made one.
    pub threats: Vec<(u16, Option<Direction>)>,
    /// By threat: the direction that it faced before the step, if it is known.
    pub facing: Vec<Option<Direction>>,
}

/// The player as threats see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Views {
    /// Where it was.
    pub stale: u16,
    /// Where it is.
    pub present: u16,
}

impl Views {
    /// By number: 0 for stale, 1 for present.
    pub fn of(self, view: usize) -> u16 {
        if view == 0 { self.stale } else { self.present }
    }
}

/// What the messages say about a threat's style.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    /// The word for its style.
    pub word: String,
    /// The style, if the word is known.
    pub style: Option<Style>,
}
