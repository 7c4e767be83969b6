//! Plays games against threats that the library does not model: hunters that cooperate, look ahead,
//! sleep or lurk.
//!
//! In the first comparison, all planners play on the same maps against the same hunters, and know
//! only the hunters' positions. In the other two comparisons, half of the threats have known
//! styles. A player that treats all threats as unmodelled is compared with a player that predicts
//! the known half, and with the bot.
//!
//! ```sh
//! cargo run --release -p getaway-arena --example hunters -- --pairs 100 --budget-ticks 4000
//! ```

use std::error::Error;
use std::time::Duration;

use getaway::bot::{Bot, BotOptions};
use getaway::game::{Clock, Layout, Move, Mover, Position, Rules, Spawn, State, StreetGraph, Style, World};
use getaway::map::{GeneratorKind, GeneratorOptions, generate_nth};
use getaway::planner::{ObservedThreat, Planner, SmitsimaxRules, by_name};
use getaway::protocol::{GameMessage, MessageThreat, Name};
use getaway::search::{Budget, Random};
use getaway_runs::stats::{WinDrawLoss, sign_test};

/// Games start in this tick, with all threats at their spawns. It is the first tick in which
/// threats have the personality *awake*.
const TICK_FIRST: u16 = 502;
const TICK_MAX: u16 = 1500;
const MINIMAX_DEPTH: u16 = 4;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Hunter {
    /// The first hunter, and each hunter within 3 tiles of the player, chases the player. Any other
    /// hunter heads for the crossing nearest to the player among those to which no other hunter is
    /// closer. If it is on this crossing, or there is no such crossing, it chases the player.
    Pincer,
    /// Minimises the distance to a fleeing player, [`MINIMAX_DEPTH`] moves ahead.
    Minimax,
    /// Sleeps until `wake_tick` or until the player is within [`NEAR`] tiles, then plays `Minimax`.
    Sleeper,
    /// Chases the player while it is within [`NEAR`] tiles; otherwise stays.
    Lurker,
}

const HUNTERS: [Hunter; 4] = [Hunter::Pincer, Hunter::Minimax, Hunter::Sleeper, Hunter::Lurker];

const NEAR: u16 = 8;

struct Streets {
    graph: StreetGraph,
    distances: Vec<Vec<u16>>,
    crossings: Vec<u16>,
}

impl Streets {
    fn new(layout: &Layout) -> Self {
        let graph = StreetGraph::new(layout);
        let tiles = 0..graph.len() as u16;
        let distances = tiles.clone().map(|tile| graph.distances(Mover::Threat, tile)).collect();
        let crossings = tiles.filter(|&tile| graph.ways(Mover::Threat, tile).count() >= 3).collect();
        Self { graph, distances, crossings }
    }

    fn distance(&self, from: u16, to: u16) -> u16 {
        self.distances[usize::from(from)][usize::from(to)]
    }

    fn next_tiles(&self, tile: u16) -> impl Iterator<Item = u16> + '_ {
        self.graph.ways(Mover::Threat, tile).map(|(_, next)| next)
    }

    fn towards(&self, from: u16, to: u16) -> u16 {
        self.next_tiles(from).find(|&next| self.distance(next, to) < self.distance(from, to)).unwrap_or(from)
    }

    /// Returns the distance after `depth` moves of each side if the hunter minimises and the player
    /// maximises it, or 0 if the hunter catches the player earlier.
    fn minimax(&self, hunter: u16, player: u16, depth: u16) -> u16 {
        if hunter == player || depth == 0 {
            return self.distance(hunter, player);
        }
        self.next_tiles(hunter).map(|next| self.value_of_step(next, player, depth)).min().unwrap_or(u16::MAX)
    }

    /// Returns the minimax value if the hunter steps to `next`. `depth` counts this step.
    fn value_of_step(&self, next: u16, player: u16, depth: u16) -> u16 {
        if next == player {
            return 0;
        }
        let flights = std::iter::once(player).chain(self.next_tiles(player));
        flights.map(|flight| self.minimax(next, flight, depth - 1)).max().unwrap_or(0)
    }
}

impl Hunter {
    fn step(self, streets: &Streets, hunters: &mut [Hunting], tick: u16, player: u16) {
        let tiles: Vec<u16> = hunters.iter().map(|hunter| hunter.tile).collect();
        let step = |(index, hunter): (usize, &mut Hunting)| {
            let tile = hunter.tile;
            let is_near = streets.distance(tile, player) <= NEAR;
            hunter.is_awake |= is_near || tick >= hunter.wake_tick;
            hunter.tile = match self {
                Self::Pincer => step_of_pincer(streets, &tiles, index, player),
                Self::Sleeper if !hunter.is_awake => tile,
                Self::Minimax | Self::Sleeper => {
                    let value = |next: u16| streets.value_of_step(next, player, MINIMAX_DEPTH);
                    let next = streets.next_tiles(tile);
                    next.min_by_key(|&next| (value(next), streets.distance(next, player))).unwrap_or(tile)
                }
                Self::Lurker if is_near => streets.towards(tile, player),
                Self::Lurker => tile,
            };
        };
        hunters.iter_mut().enumerate().for_each(step);
    }
}

fn step_of_pincer(streets: &Streets, tiles: &[u16], index: usize, player: u16) -> u16 {
    let tile = tiles[index];
    if streets.distance(tile, player) <= 3 || index == 0 {
        return streets.towards(tile, player);
    }
    let is_mine = |crossing: &&u16| {
        let mine = streets.distance(tile, **crossing);
        let mut others = tiles.iter().enumerate().filter(|&(other, _)| other != index);
        others.all(|(_, &at)| streets.distance(at, **crossing) >= mine)
    };
    let mine = streets.crossings.iter().filter(is_mine);
    let nearest = mine.min_by_key(|&&crossing| streets.distance(crossing, player));
    streets.towards(tile, *nearest.filter(|&&crossing| crossing != tile).unwrap_or(&player))
}

struct Hunting {
    tile: u16,
    wake_tick: u16,
    is_awake: bool,
}

struct HunterGame {
    streets: Streets,
    world: World,
    state: State,
    clock: Clock,
    hunter: Hunter,
    hunters: Vec<Hunting>,
}

impl HunterGame {
    fn new(layout: &Layout, hunter: Hunter, known: usize) -> Self {
        let (modelled, hunters) = layout.threats.split_at(known.min(layout.threats.len()));
        let streets = Streets::new(layout);
        // The seed depends only on the map, so hunters wake in the same ticks in compared games.
        let crossings = streets.crossings.iter().map(|&tile| u64::from(tile));
        let mut random = Random::from_seed(crossings.fold(0, |seed, tile| seed.wrapping_mul(31) + tile));
        let tiles = hunters.iter().filter_map(|threat| streets.graph.tile(threat.position));
        let hunters = tiles.map(|tile| Hunting {
            tile,
            wake_tick: TICK_FIRST + random.below(usize::from(TICK_MAX - TICK_FIRST)) as u16,
            is_awake: false,
        });
        let hunters = hunters.collect();
        let world =
            World::new(&Layout { threats: modelled.to_vec(), ..layout.clone() }, &Rules::BLITZ_2025).expect("a map");
        let threats: Vec<_> = world.threats(&world.start()).collect();
        let state = world.state_at(TICK_FIRST, layout.player, &threats).expect("a state");
        Self { streets, state, world, clock: Clock::new(&Rules::BLITZ_2025), hunter, hunters }
    }

    fn positions(&self) -> Vec<Position> {
        self.hunters.iter().map(|hunter| self.streets.graph.position(hunter.tile)).collect()
    }

    fn play(&mut self, mut choose: impl FnMut(&World, &State, &[Position]) -> Move) -> u16 {
        loop {
            let player = self.world.player(&self.state);
            let is_caught = self.positions().contains(&player);
            if is_caught || self.state.is_over() || self.state.tick() >= TICK_MAX {
                return self.state.tick();
            }
            let player_move = choose(&self.world, &self.state, &self.positions());
            let tick = self.state.tick();
            self.world.step_unchecked(&mut self.state, player_move);
            let player = self.streets.graph.tile(self.world.player(&self.state)).expect("an open tile");
            if self.clock.threats_move(tick) {
                self.hunter.step(&self.streets, &mut self.hunters, tick, player);
            }
        }
    }
}

/// Returns a world and a state for a planner. Their only threats are the `hunters`, with the style
/// *goldfish*.
fn disguised(world: &World, state: &State, hunters: &[Position]) -> (World, State) {
    let spawns = hunters.iter().map(|&position| Spawn { style: Style::Goldfish, position }).collect();
    let layout = Layout { threats: spawns, ..world.layout().clone() };
    let seen = World::new(&layout, world.rules()).expect("a map");
    let threats: Vec<_> = seen.threats(&seen.start()).collect();
    let state = seen.state_at(state.tick(), world.player(state), &threats).expect("a state");
    (seen, state)
}

struct Settings {
    hunters: Vec<Hunter>,
    first: u64,
    pairs: u64,
    budget: Budget,
    only: Option<String>,
}

const COMPARISONS: [&str; 3] = ["rivals", "bot", "known"];

impl Settings {
    fn compares(&self, comparison: &str) -> bool {
        self.only.as_ref().is_none_or(|only| only == comparison)
    }

    fn layouts(&self) -> impl Iterator<Item = Layout> {
        let options = GeneratorOptions { kind: GeneratorKind::Maze, ..GeneratorOptions::default() };
        (self.first..self.first + self.pairs)
            .map(move |number| generate_nth(&options, 7, number).expect("a map").layout)
    }

    fn play(&self, layout: &Layout, hunter: Hunter, planner: &mut dyn Planner) -> u16 {
        HunterGame::new(layout, hunter, 0).play(|world, state, hunters| {
            let (world, state) = disguised(world, state, hunters);
            planner.decide(&world, &state, self.budget).expect("a move").player_move
        })
    }

    /// Plays `smitsimax` with all threats unmodelled, even those of known style. Returns the final
    /// tick.
    fn play_unmodelled(&self, layout: &Layout, hunter: Hunter, known: usize) -> Result<u16, Box<dyn Error>> {
        let mut planner = by_name("smitsimax", 1)?;
        Ok(HunterGame::new(layout, hunter, known).play(|world, state, hunters| {
            let known = world.threats(state).map(|threat| threat.position);
            let all: Vec<Position> = known.chain(hunters.iter().copied()).collect();
            let (world, state) = disguised(world, state, &all);
            planner.decide(&world, &state, self.budget).expect("a move").player_move
        }))
    }
}

#[derive(Default)]
struct Pairs {
    counts: WinDrawLoss,
    sums: [u32; 2],
}

impl Pairs {
    fn add(&mut self, first: u16, second: u16) {
        self.counts.add(first, second);
        self.sums[0] += u32::from(first);
        self.sums[1] += u32::from(second);
    }

    fn print(&self, [first, second]: [&str; 2], pairs: u64) {
        let mean = |sum: u32| f64::from(sum) / pairs.max(1) as f64;
        println!(
            "mean last tick: {first} {:.0}, {second} {:.0}; {} won, {} lost, p = {:.1e}",
            mean(self.sums[0]),
            mean(self.sums[1]),
            self.counts.wins,
            self.counts.losses,
            sign_test(self.counts)
        );
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let settings = settings()?;
    for &hunter in settings.hunters.iter().filter(|_| settings.compares("rivals")) {
        let others = ["cautious", "safest"];
        let mut pairs = [Pairs::default(), Pairs::default()];
        for layout in settings.layouts() {
            let first = settings.play(&layout, hunter, by_name("smitsimax", 1)?.as_mut());
            for (name, pairs) in others.into_iter().zip(&mut pairs) {
                pairs.add(first, settings.play(&layout, hunter, by_name(name, 1)?.as_mut()));
            }
        }
        for (name, pairs) in others.into_iter().zip(&pairs) {
            print!("{hunter:?}: ");
            pairs.print(["smitsimax", name], settings.pairs);
        }
    }
    if settings.compares("bot") {
        compare_bot(&settings)?.print(["the bot", "guessing all"], settings.pairs);
    }
    if settings.compares("known") {
        compare_known(&settings)?.print(["predicting the known half", "guessing all"], settings.pairs);
    }
    Ok(())
}

fn compare_known(settings: &Settings) -> Result<Pairs, Box<dyn Error>> {
    let mut pairs = Pairs::default();
    for (number, layout) in settings.layouts().enumerate() {
        let hunter = settings.hunters[number % settings.hunters.len()];
        let known = layout.threats.len() / 2;
        let mut rules = SmitsimaxRules::new();
        let predicts = HunterGame::new(&layout, hunter, known).play(|world, state, hunters| {
            let unmodelled: Vec<_> = hunters.iter().map(|&position| ObservedThreat::at(position)).collect();
            rules.choose(world, state, &unmodelled, settings.budget).player_move
        });
        pairs.add(predicts, settings.play_unmodelled(&layout, hunter, known)?);
    }
    Ok(pairs)
}

fn compare_bot(settings: &Settings) -> Result<Pairs, Box<dyn Error>> {
    let mut pairs = Pairs::default();
    for (number, layout) in settings.layouts().enumerate() {
        let hunter = settings.hunters[number % settings.hunters.len()];
        let known = layout.threats.len() / 2;
        let mut bot = Bot::new(BotOptions { budget: settings.budget, ..BotOptions::default() })?;
        let mut longest = Duration::ZERO;
        let tick = HunterGame::new(&layout, hunter, known).play(|world, state, hunters| {
            let mut message = GameMessage::of(world, state, "us");
            message.threats.extend(hunters.iter().map(|&position| MessageThreat {
                position,
                direction: Name::Other(String::new()),
                personality: None,
                style: Name::Other("hunter".to_owned()),
            }));
            let decision = bot.next_action(&message).expect("a decision");
            longest = longest.max(decision.elapsed);
            decision.player_move
        });
        let guessed = settings.play_unmodelled(&layout, hunter, known)?;
        println!("{hunter:?} {number}: last tick: bot {tick}, guessing all {guessed}; longest decision {longest:?}");
        pairs.add(tick, guessed);
    }
    Ok(pairs)
}

fn settings() -> Result<Settings, Box<dyn Error>> {
    let mut settings =
        Settings { hunters: HUNTERS.to_vec(), first: 0, pairs: 10, budget: Budget::ticks(4_000), only: None };
    let mut arguments = std::env::args().skip(1);
    while let Some(name) = arguments.next() {
        let value = arguments.next().ok_or_else(|| format!("{name}: expected a value"))?;
        match name.as_str() {
            "--pairs" => settings.pairs = value.parse()?,
            "--budget-ticks" => settings.budget = Budget::ticks(value.parse()?),
            "--budget-ms" => settings.budget = Budget::time(Duration::from_millis(value.parse()?)),
            "--only" => {
                if !COMPARISONS.contains(&value.as_str()) {
                    return Err(format!("{value}: expected one of {}", COMPARISONS.join(", ")).into());
                }
                settings.only = Some(value);
            }
            "--first" => settings.first = value.parse()?,
            "--hunter" => {
                settings.hunters.retain(|hunter| format!("{hunter:?}").to_lowercase() == value);
                if settings.hunters.is_empty() {
                    return Err(format!("{value}: expected pincer, minimax, sleeper or lurker").into());
                }
            }
            _ => {
                let options = "--pairs, --first, --budget-ticks, --budget-ms, --hunter or --only";
                return Err(format!("{name}: expected {options}").into());
            }
        }
    }
    Ok(settings)
}
