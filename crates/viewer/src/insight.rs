//! What the simulator knows about a moment of a game: what every threat is doing, when any of them could be where, and where death waits.

use getaway::game::{Direction, LAST_TICK, Position, State, Style, Threat, World};
use getaway::planner::{Caution, Pursuer};

/// Why a threat goes where it goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Mode {
    /// Nothing is known about it.
    Unknown,
    /// A bull with a free way.
    StraightOn,
    /// A bull before a wall.
    Blocked,
    /// A goldfish.
    Wander,
    /// A shark.
    Hunt,
    /// An owl that sees where the player is.
    Look,
    /// An owl on its way to where it last looked.
    Return,
    /// An owl that is there, or has not looked yet.
    Perch,
    /// A deer with one way to go.
    OnlyWay,
    /// A deer that closes in.
    Approach,
    /// A deer that is too close and goes home.
    Shy,
    /// A hawk that sees the player.
    Chase,
    /// A hawk on its way to where it last saw the player.
    Track,
    /// A hawk on its way to an intersection.
    Patrol,
    /// A hawk that waits.
    Idle,
}

impl Mode {
    /// What a person is told, in the order of the modes. `{n}` stands for [`Doing::count`].
    pub const TEXTS: [&str; 15] = [
        "of a style that nobody knows",
        "straight on, as long as it can",
        "a wall ahead: turns a random way",
        "wanders, a random way each move",
        "hunts: the shortest way to where you were a tick ago",
        "looks at you and comes the shortest way",
        "goes to where it last looked at you",
        "is where it last looked, and waits for the next look",
        "takes the only way there is",
        "closes in: the street that lies nearest to you",
        "you are within six tiles: goes home",
        "sees you and chases",
        "lost sight of you: goes to where it last saw you",
        "patrols: on its way to a busy crossing",
        "waits; moves left until it patrols: {n}",
    ];
}

/// What a threat is doing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Doing {
    /// Why it goes where it goes.
    pub mode: Mode,
    /// Where it wants to be.
    pub target: Option<Position>,
    /// Its way there, where the rules have it follow one.
    pub path: Vec<Direction>,
    /// A number that belongs to the mode: moves that a hawk still waits.
    pub count: u8,
}

/// What there is to know about the start of a tick.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Insight {
    /// By threat, in the order of the film.
    pub doings: Vec<Doing>,
    /// By open tile, by x, then by y: for how many ticks no threat can stand there, whatever it does; `None` for ever.
    pub timings: Vec<Option<u16>>,
    /// Where the player would be caught, if it stood there at the end of this tick.
    pub deadly: Vec<Position>,
    /// Whether all of the player's moves but one are fatal, of three or more.
    pub one_way_out: bool,
}

/// Finds out what there is to know; keeps the tables of a map.
pub(super) struct Observer {
    caution: Caution,
    /// The threats' places in the film, which may have others that no world knows.
    places: Vec<usize>,
}

impl Observer {
    /// For worlds whose threats have these places among all that are shown.
    pub fn new(places: Vec<usize>) -> Self {
        Self { caution: Caution::new(), places }
    }

    /// What there is to know in a state; `positions` are those of all threats that are shown.
    pub fn look(&mut self, world: &World, state: &State, positions: &[Position]) -> Insight {
        let pursuers: Vec<Pursuer> = positions.iter().copied().map(Pursuer::at).collect();
        let mut doings = vec![Doing::of(Mode::Unknown); positions.len()];
        for (index, threat) in world.threats(state).enumerate() {
            doings[self.places[index]] = doing(world, state, index, &threat);
        }
        let is_over = state.is_over();
        Insight {
            doings,
            timings: self.caution.timings(world.layout(), state.tick(), &pursuers).collect(),
            deadly: if is_over { Vec::new() } else { deadly(world, state) },
            one_way_out: !is_over && one_way_out(world, state),
        }
    }
}

impl Doing {
    fn of(mode: Mode) -> Self {
        Self { mode, target: None, path: Vec::new(), count: 0 }
    }

    fn towards(mode: Mode, target: Position) -> Self {
        Self { target: Some(target), ..Self::of(mode) }
    }

    /// With the way that the shared path takes, or the shark's own.
    fn along(mut self, from: Position, step: impl Fn(Position, Position) -> Option<Direction>) -> Self {
        let Some(target) = self.target else { return self };
        let mut position = from;
        // Each step is one nearer, so that this ends; the bound is for a reader.
        while let Some(direction) = step(position, target) {
            self.path.push(direction);
            position = position.towards(direction);
        }
        self
    }
}

fn doing(world: &World, state: &State, index: usize, threat: &Threat) -> Doing {
    let player = world.player(state);
    let shared = |from, to| world.shared_step(from, to);
    let at = threat.position;
    match threat.style {
        Style::Bull => {
            let free = world.layout().is_open(at.towards(threat.direction));
            Doing::of(if free { Mode::StraightOn } else { Mode::Blocked })
        }
        Style::Goldfish => Doing::of(Mode::Wander),
        Style::Shark => Doing::towards(Mode::Hunt, player).along(at, |from, to| world.shark_step(from, to)),
        Style::Owl if world.owls_look(state) => Doing::towards(Mode::Look, player).along(at, shared),
        Style::Owl => match threat.remembered.filter(|&place| place != at) {
            Some(place) => Doing::towards(Mode::Return, place).along(at, shared),
            None => Doing::of(Mode::Perch),
        },
        Style::Deer => deer(world, at, world.layout().threats[index].position, player),
        Style::Hawk if world.sees(at, player) => Doing::towards(Mode::Chase, player).along(at, shared),
        Style::Hawk => match (threat.seen, threat.post) {
            (Some(place), _) => Doing::towards(Mode::Track, place).along(at, shared),
            (None, Some(post)) => Doing::towards(Mode::Patrol, post).along(at, shared),
            (None, None) => Doing { count: world.rules().hawk_waits_moves(threat), ..Doing::of(Mode::Idle) },
        },
    }
}

fn deer(world: &World, at: Position, home: Position, player: Position) -> Doing {
    let ways = Direction::ALL.into_iter().filter(|&direction| world.layout().is_open(at.towards(direction))).count();
    match (ways, world.rules().is_deer_shy(at, player)) {
        (1, _) => Doing::of(Mode::OnlyWay),
        (_, true) => Doing::towards(Mode::Shy, home),
        (_, false) => Doing::towards(Mode::Approach, player),
    }
}

/// Where a threat comes to stand if it finds the player there, and, where nobody jumps, where one stands already.
fn deadly(world: &World, state: &State) -> Vec<Position> {
    let (tick, stale) = (state.tick(), world.player(state));
    if tick > LAST_TICK {
        return Vec::new();
    }
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

fn one_way_out(world: &World, state: &State) -> bool {
    let moves: Vec<_> = world.moves(state).collect();
    let survives = |player_move| {
        let mut next = state.clone();
        world.step(&mut next, player_move);
        !next.is_caught()
    };
    moves.len() >= 3 && moves.into_iter().filter(|&player_move| survives(player_move)).count() == 1
}
