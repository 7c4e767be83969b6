//! Map lookups for hypotheses, and the observations that hypotheses must explain.

use crate::game::routes::{NEARER, SEES};
use crate::game::{
    Direction, FIRST_TICK, LAST_TICK, Layout, Mover, Personality, Position, Rules, StreetGraph, Style, World,
    WorldError,
};
use crate::protocol::{GameMessage, MessageThreat};

/// Rules under which every intersection can be a post.
const RULES: Rules = Rules { hawk_posts: u16::MAX, ..Rules::BLITZ_2025 };

#[derive(Clone, Debug)]
pub struct Streets {
    world: World,
    /// The tiles of the map's intersections, best first. Hawks pick their posts from the first
    /// `hawk_posts` of these tiles.
    pub intersections: Vec<u16>,
    options: Vec<u8>,
}

impl Streets {
    pub fn new(layout: &Layout) -> Result<Self, WorldError> {
        World::new(&Layout { threats: Vec::new(), ..layout.clone() }, &RULES).map(Self::from_world)
    }

    /// Creates streets that reuse the routes of `world`.
    pub fn of(world: &World) -> Result<Self, WorldError> {
        let layout = Layout { threats: Vec::new(), ..world.layout().clone() };
        world.rebuilt(&layout, &RULES).map(Self::from_world)
    }

    fn from_world(world: World) -> Self {
        let graph = world.graph();
        let intersections = world.best_intersections().into_iter().filter_map(|post| graph.tile(post)).collect();
        let options = (0..graph.len() as u16)
            .map(|tile| graph.ways(Mover::Threat, tile).fold(0, |bits, (direction, _)| bits | 1 << direction as u8))
            .collect();
        Self { world, intersections, options }
    }

    pub fn graph(&self) -> &StreetGraph {
        self.world.graph()
    }

    pub fn nowhere(&self) -> u16 {
        self.graph().len() as u16
    }

    pub fn options(&self, tile: u16) -> u8 {
        self.options[usize::from(tile)]
    }

    /// The directions from `tile` that lead one step nearer to `target`, as bits; 0 if none does.
    pub fn nearer(&self, target: u16, tile: u16) -> u8 {
        self.world.route_bits(target, tile) & NEARER
    }

    pub fn sees(&self, target: u16, tile: u16) -> bool {
        self.world.route_bits(target, tile) & SEES != 0
    }

    pub fn position(&self, tile: u16) -> Position {
        self.graph().positions().get(usize::from(tile)).copied().unwrap_or(Position::new(-1, -1))
    }
}

/// The parts of a message that the learner uses: the state at the start of a tick.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sight {
    /// The tick, which has not been played yet.
    pub tick: u16,
    /// The player's position.
    pub player: Position,
    /// The threats, in the order of the message.
    pub threats: Vec<ObservedPose>,
    /// The personality that the message reports for all threats; `None` if there are no threats, if
    /// their personalities differ, or if one is unknown.
    pub personality: Option<Personality>,
}

impl Sight {
    /// The observation in a message; `None` if the message's tick is not from 1 to 2000.
    pub fn of(message: &GameMessage) -> Option<Self> {
        let tick = u16::try_from(message.tick).ok().filter(|tick| (FIRST_TICK..=LAST_TICK).contains(tick))?;
        Some(Self::at(tick, message))
    }

    /// The observation in a message, as if its tick were `tick`.
    pub(crate) fn at(tick: u16, message: &GameMessage) -> Self {
        let personality = |index: usize| message.threats.get(index)?.personality.as_ref()?.known();
        let is_shared = (1..message.threats.len()).all(|index| personality(index) == personality(0));
        let observe =
            |threat: &MessageThreat| ObservedPose { position: threat.position, direction: threat.direction.known() };
        Self {
            tick,
            player: message.your_character.position,
            threats: message.threats.iter().map(observe).collect(),
            personality: personality(0).filter(|_| is_shared),
        }
    }
}

/// A threat's observed position and direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ObservedPose {
    /// The position.
    pub position: Position,
    /// The direction that the threat faces; `None` for an unknown word.
    pub direction: Option<Direction>,
}

/// The moves of one tick, from two consecutive observations.
#[derive(Clone, Debug)]
pub struct Step {
    pub tick: u16,
    /// The player's tile in each view (0 stale, 1 present). In the first tick, the stale tile is
    /// [`Streets::nowhere`], because there is no previous tick.
    pub player: [u16; 2],
    /// Each threat's tile before the step, and the step's direction; `None` if the threat stayed.
    pub threats: Vec<(u16, Option<Direction>)>,
    /// Each threat's direction before the step, if known.
    pub facing: Vec<Option<Direction>>,
}

/// A style and its word in the messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StyleWord {
    /// The word for the style.
    pub word: String,
    /// The style, if the word is known.
    pub style: Option<Style>,
}
