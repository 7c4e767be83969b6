//! A server that breaks the rules, and maps for its games.

#![allow(dead_code, reason = "each package uses only a part of this module")]

use super::common::{maps_in, our_maps, shared_folder};
use getaway::game::{Action, Direction, LAST_TICK, Layout, Move, Position, Rules, State, Style, Threat, World};
use getaway::inference::variant;
use getaway::map::{GeneratorKind, GeneratorOptions, generate_nth};
use getaway::protocol::{GameMessage, Name};
use getaway::search::Random;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disturbance {
    /// A threat is placed on an open neighbouring tile other than the player's, if there is one.
    Misplace,
    Teleport,
    Swap,
    Freeze,
    Turn,
    /// Messages report an unknown style for a threat, for a while or until the end of the game.
    Rename,
    /// Messages report a random style for a threat, for a while or until the end of the game.
    Restyle,
    Rules,
    Skip,
    /// A new bot takes over; the caller creates it.
    Rejoin,
}

pub const DISTURBANCES: [Disturbance; 10] = [
    Disturbance::Misplace,
    Disturbance::Teleport,
    Disturbance::Swap,
    Disturbance::Freeze,
    Disturbance::Turn,
    Disturbance::Rename,
    Disturbance::Restyle,
    Disturbance::Rules,
    Disturbance::Skip,
    Disturbance::Rejoin,
];

pub struct Maps {
    known: Vec<(String, Layout)>,
}

impl Maps {
    pub fn new() -> Self {
        let real = maps_in(&shared_folder().join("maps"));
        let known = real.into_iter().chain(our_maps()).map(|map| (map.name, map.layout)).collect();
        Self { known }
    }

    pub fn draw(&self, random: &mut Random) -> (String, Layout) {
        if random.below(2) == 0 {
            return self.known[random.below(self.known.len())].clone();
        }
        if random.below(12) == 0 {
            return hall(random);
        }
        let kind = [GeneratorKind::Maze, GeneratorKind::Labyrinth, GeneratorKind::City][random.below(3)];
        let side = |random: &mut Random| {
            let most = if random.below(6) == 0 { 45 } else { 12 };
            9 + 2 * random.below(most) as i32
        };
        loop {
            let threats = if random.below(6) == 0 { 60 } else { 1 + random.below(12) };
            let (width, height) = (side(random), side(random));
            let braid_permille = random.below(1001) as u32;
            let options =
                GeneratorOptions { kind, width, height, threats, braid_permille, ..GeneratorOptions::default() };
            if let Ok(map) = generate_nth(&options, random.below(1 << 30) as u64, 0) {
                return (format!("{} with {threats}", map.name), map.layout);
            }
        }
    }
}

/// A square hall without walls. The largest has 64 * 64 open tiles, the maximum for a map.
fn hall(random: &mut Random) -> (String, Layout) {
    let side = [24, 32, 48, 64][random.below(4)];
    let mut drawing: Vec<Vec<u8>> = vec![vec![b'.'; side]; side];
    let threats = [6, 20, 60][random.below(3)];
    drawing[side / 2][side / 2] = b'P';
    for index in 0..threats {
        let (x, y) = (random.below(side), random.below(side));
        if drawing[y][x] == b'.' {
            drawing[y][x] = b"BGOSDH"[index % 6];
        }
    }
    let rows: Vec<String> = drawing.into_iter().map(|row| String::from_utf8(row).expect("ASCII")).collect();
    (format!("hall of {side} with {threats}"), Layout::parse(&rows.join("\n")).expect("a drawing"))
}

pub fn draw_disturbances(random: &mut Random) -> Vec<(u16, Disturbance)> {
    let mut drawn: Vec<(u16, Disturbance)> = (0..1 + random.below(4))
        .map(|_| (1 + random.below(1900) as u16, DISTURBANCES[random.below(DISTURBANCES.len())]))
        .collect();
    drawn.sort_unstable_by_key(|&(tick, _)| tick);
    drawn
}

pub struct Server {
    layout: Layout,
    world: World,
    pub state: State,
    random: Random,
    /// The index of a threat that does not move, and the tick from which it may move again.
    frozen: Option<(usize, u16)>,
    /// A threat's index, the style to report for it, and the tick in which its true style returns.
    renamed: Option<(usize, Name<Style>, u16)>,
}

impl Server {
    pub fn new(layout: Layout, rules: &Rules, random: Random) -> Self {
        let world = World::new(&layout, rules).expect("a map within the limits");
        Self { layout, state: world.start(), world, random, frozen: None, renamed: None }
    }

    pub fn tick(&self) -> u16 {
        self.state.tick()
    }

    pub fn resolve(&self, command: &[Action]) -> Move {
        self.world.resolve(&self.state, command)
    }

    pub fn message(&self) -> GameMessage {
        let mut message = GameMessage::of(&self.world, &self.state, "us");
        if let Some((index, name, until)) = &self.renamed
            && self.tick() < *until
        {
            message.threats[*index].style = name.clone();
        }
        message
    }

    fn set_threats(&mut self, change: impl FnOnce(&Layout, Position, &mut [Threat], &mut Random)) {
        let player = self.world.player(&self.state);
        let mut threats: Vec<Threat> = self.world.threats(&self.state).collect();
        change(&self.layout, player, &mut threats, &mut self.random);
        self.state = self.world.state_at(self.tick(), player, &threats).expect("a state");
    }

    pub fn play(&mut self, player_move: Move) {
        let before: Vec<Threat> = self.world.threats(&self.state).collect();
        self.world.step_unchecked(&mut self.state, player_move);
        if let Some((index, until)) = self.frozen
            && self.tick() < until
        {
            self.set_threats(|_, _, threats, _| threats[index] = before[index]);
        }
    }

    /// Moves the threats on the player's tile to random other open tiles, so that the game can go
    /// on. Under the no-jump rules, also advances the tick. Does nothing if no tick is left.
    pub fn revive(&mut self) {
        let tick = self.tick();
        let player = self.world.player(&self.state);
        let mut threats: Vec<Threat> = self.world.threats(&self.state).collect();
        let open: Vec<Position> = self.layout.open_positions().filter(|&tile| tile != player).collect();
        for threat in &mut threats {
            if threat.position == player {
                threat.position = open[self.random.below(open.len())];
            }
        }
        let tick = if self.world.rules().no_jump { tick + 1 } else { tick };
        if tick <= LAST_TICK {
            self.state = self.world.state_at(tick, player, &threats).expect("a state");
        }
    }

    /// Plays at most `ticks` ticks without messages. Draws each move from the moves that are not
    /// fatal at once; if there are none, the player stays.
    fn skip(&mut self, ticks: usize) {
        for _ in 0..ticks {
            if self.state.is_over() {
                return;
            }
            let successors: Vec<Move> = self
                .world
                .successors(&self.state)
                .filter(|(_, state)| !state.is_caught())
                .map(|(player_move, _)| player_move)
                .collect();
            let player_move = match successors.len() {
                0 => Move::Stay,
                count => successors[self.random.below(count)],
            };
            self.play(player_move);
        }
    }

    pub fn disturb(&mut self, disturbance: Disturbance) {
        let count = self.layout.threats.len();
        let (one, other) = (self.random.below(count), self.random.below(count));
        let long = [1, 3, 30, 3000][self.random.below(4)];
        let until = self.tick().saturating_add(long);
        match disturbance {
            Disturbance::Misplace => self.set_threats(|layout, player, threats, random| {
                let from = threats[one].position;
                let near: Vec<Position> = Direction::ALL
                    .into_iter()
                    .map(|direction| from.towards(direction))
                    .filter(|&next| layout.is_open(next) && next != player)
                    .collect();
                if !near.is_empty() {
                    threats[one].position = near[random.below(near.len())];
                }
            }),
            Disturbance::Teleport => self.set_threats(|layout, player, threats, random| {
                let open: Vec<Position> = layout.open_positions().filter(|&tile| tile != player).collect();
                threats[one].position = open[random.below(open.len())];
            }),
            Disturbance::Swap => self.set_threats(|_, _, threats, _| {
                let position = threats[one].position;
                threats[one].position = threats[other].position;
                threats[other].position = position;
            }),
            Disturbance::Freeze => self.frozen = Some((one, until)),
            Disturbance::Turn => self.set_threats(|_, _, threats, random| {
                threats[one].direction = Direction::ALL[random.below(4)];
            }),
            Disturbance::Rename => self.renamed = Some((one, Name::Other("ghost".to_owned()), until)),
            Disturbance::Restyle => {
                self.renamed = Some((one, Name::Known(Style::ALL[self.random.below(6)]), until));
            }
            Disturbance::Rules => {
                let no_jump = self.world.rules().no_jump;
                let rules = variant(self.random.below(1 << 20) as u64, 1 + self.random.below(3));
                let player = self.world.player(&self.state);
                let threats: Vec<Threat> = self.world.threats(&self.state).collect();
                self.world = World::new(&self.layout, &Rules { no_jump, ..rules }).expect("a world");
                self.state = self.world.state_at(self.tick(), player, &threats).expect("a state");
            }
            Disturbance::Skip => {
                let ticks = [1, 2, 5, 40, 250][self.random.below(5)];
                self.skip(ticks);
            }
            Disturbance::Rejoin => {}
        }
    }
}
