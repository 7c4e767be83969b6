//! The threats' targets and paths, the ticks until a threat can reach each tile, and deadly tiles.

use getaway::game::{Direction, Position, State, Style, Threat, World};
use getaway::planner::{CautiousRules, ObservedThreat};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
#[repr(u8)]
pub enum IntentKind {
    Unknown,
    BullStraightOn,
    BullBlocked,
    GoldfishWandering,
    SharkChasing,
    OwlLooking,
    /// An owl on its way to the position where it saw the player at its last look.
    OwlReturning,
    /// An owl that has reached the position where it last saw the player, or has not looked yet.
    OwlWaiting,
    DeerSingleOption,
    DeerApproaching,
    /// A deer that heads for its spawn because the player is close.
    DeerShy,
    HawkChasing,
    /// A hawk whose target is the position where it last saw the player.
    HawkTracking,
    HawkPatrolling,
    HawkWaiting,
}

impl IntentKind {
    /// The texts that the viewer shows, by the kinds' numbers; `{n}` stands for [`Intent::count`].
    pub const TEXTS: [&str; 15] = [
        "unknown style",
        "goes straight on until a wall",
        "wall ahead: its seed picks one of the open directions",
        "wanders: its seed picks an open direction for every move",
        "hunts: takes a shortest path to you",
        "looks at you if it moves in this tick, and takes a shortest path",
        "goes to where you were at its last look",
        "waits for its next look at you",
        "takes its only open direction",
        "approaches without turning back: takes the open tile nearest to you",
        "you are near: heads for its spawn",
        "sees you and chases",
        "lost sight of you: heads for where it last saw you",
        "patrols: heads for an intersection with a wide view",
        "waits; moves until it patrols: {n}",
    ];
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Intent {
    pub kind: IntentKind,
    pub target: Option<Position>,
    pub path: Vec<Direction>,
    /// The number of moves until a waiting hawk patrols; 0 for all other intents.
    pub count: u8,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Annotation {
    pub intents: Vec<Intent>,
    /// For each open tile, ordered by x and then by y, the number of ticks until a threat can be on
    /// it, or `None` if no threat can ever reach it. Assumes that threats move in the same ticks as
    /// under the server's rules.
    pub arrivals: Vec<Option<u16>>,
    pub deadly: Vec<Position>,
    /// True if the game is not over, the player has at least three moves (staying is one of them),
    /// and all of them but one lead to a catch in this tick.
    pub has_single_safe_move: bool,
}

#[derive(Debug)]
pub(super) struct Annotator {
    caution: CautiousRules,
    indices: Vec<usize>,
}

impl Annotator {
    /// `indices` holds, for each threat of the world, its index in the replay.
    pub fn new(indices: Vec<usize>) -> Self {
        Self { caution: CautiousRules::new(), indices }
    }

    /// `positions` holds the positions of all threats, including those of unknown style.
    pub fn annotate(&mut self, world: &World, state: &State, positions: &[Position]) -> Annotation {
        let pursuers: Vec<ObservedThreat> = positions.iter().copied().map(ObservedThreat::at).collect();
        let mut intents = vec![Intent::of(IntentKind::Unknown); positions.len()];
        for (index, threat) in world.threats(state).enumerate() {
            intents[self.indices[index]] = intent(world, state, index, &threat);
        }
        let is_over = state.is_over();
        Annotation {
            intents,
            arrivals: self.caution.arrivals(world.layout(), state.tick(), &pursuers).collect(),
            deadly: if is_over { Vec::new() } else { deadly(world, state) },
            has_single_safe_move: !is_over && has_single_safe_move(world, state),
        }
    }
}

impl Intent {
    fn of(kind: IntentKind) -> Self {
        Self { kind, target: None, path: Vec::new(), count: 0 }
    }

    fn towards(kind: IntentKind, target: Position) -> Self {
        Self { target: Some(target), ..Self::of(kind) }
    }

    fn along(mut self, from: Position, step: impl Fn(Position, Position) -> Option<Direction>) -> Self {
        let Some(target) = self.target else { return self };
        let mut position = from;
        // Each step reduces the distance to the target, so the loop ends.
        while let Some(direction) = step(position, target) {
            self.path.push(direction);
            position = position.towards(direction);
        }
        self
    }
}

fn intent(world: &World, state: &State, index: usize, threat: &Threat) -> Intent {
    let player = world.player(state);
    let shared = |from, to| world.shared_step(from, to);
    let at = threat.position;
    match threat.style {
        Style::Bull => {
            let free = world.layout().is_open(at.towards(threat.direction));
            Intent::of(if free { IntentKind::BullStraightOn } else { IntentKind::BullBlocked })
        }
        Style::Goldfish => Intent::of(IntentKind::GoldfishWandering),
        Style::Shark => {
            Intent::towards(IntentKind::SharkChasing, player).along(at, |from, to| world.shark_step(from, to))
        }
        Style::Owl if world.owls_look(state) => Intent::towards(IntentKind::OwlLooking, player).along(at, shared),
        Style::Owl => match threat.remembered.filter(|&place| place != at) {
            Some(place) => Intent::towards(IntentKind::OwlReturning, place).along(at, shared),
            None => Intent::of(IntentKind::OwlWaiting),
        },
        Style::Deer => deer(world, at, world.layout().threats[index].position, player),
        Style::Hawk if world.sees(at, player) => Intent::towards(IntentKind::HawkChasing, player).along(at, shared),
        Style::Hawk => match (threat.seen, threat.post) {
            (Some(place), _) => Intent::towards(IntentKind::HawkTracking, place).along(at, shared),
            (None, Some(post)) => Intent::towards(IntentKind::HawkPatrolling, post).along(at, shared),
            (None, None) => {
                Intent { count: world.rules().hawk_waits_moves(threat), ..Intent::of(IntentKind::HawkWaiting) }
            }
        },
    }
}

fn deer(world: &World, at: Position, home: Position, player: Position) -> Intent {
    let options = Direction::ALL.into_iter().filter(|&direction| world.layout().is_open(at.towards(direction))).count();
    match (options, world.rules().is_deer_shy(at, player)) {
        (1, _) => Intent::of(IntentKind::DeerSingleOption),
        (_, true) => Intent::towards(IntentKind::DeerShy, home),
        (_, false) => Intent::towards(IntentKind::DeerApproaching, player),
    }
}

/// The tiles on which a threat of the world would catch the player if the player moved there in
/// this tick. In the no-jump variant, these include the tiles of the threats.
fn deadly(world: &World, state: &State) -> Vec<Position> {
    let (tick, stale) = (state.tick(), world.player(state));
    let mut tiles = Vec::new();
    for (index, threat) in world.threats(state).enumerate() {
        let at = threat.position;
        let around = Direction::ALL.map(|direction| at.towards(direction));
        for tile in [at].into_iter().chain(around).filter(|&tile| world.layout().is_open(tile)) {
            let meets = || {
                let after = world.threat_after(index, &threat, tick, stale, tile);
                after.is_ok_and(|after| after.position == tile)
            };
            if (world.rules().no_jump && tile == at) || meets() {
                tiles.push(tile);
            }
        }
    }
    tiles.sort_unstable();
    tiles.dedup();
    tiles
}

fn has_single_safe_move(world: &World, state: &State) -> bool {
    let moves: Vec<_> = world.legal_moves(state).collect();
    let survives = |player_move| !world.after(state, player_move).is_caught();
    moves.len() >= 3 && moves.into_iter().filter(|&player_move| survives(player_move)).count() == 1
}
