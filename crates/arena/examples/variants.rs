//! Plays games on servers whose rules the bot does not know: seeded variants of the rules with one
//! to three changes, on every map given, a first game without and a second with memory.
//!
//! Only games that the solver survives with the true rules count. One line per game is printed, and
//! at the end a table by changed parameter.
//!
//! ```sh
//! cargo run --release -p getaway-arena --example variants -- --variants 100 --maps path/to/maps
//! ```

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::error::Error;
use std::ops::ControlFlow;
use std::time::Duration;

use getaway::bot::{Bot, BotOptions};
use getaway::game::{LAST_TICK, Rules, World};
use getaway::inference::{differences, variant};
use getaway::map::{Map, MapEntry, MapLibrary};
use getaway::planner::{Budget, Outcome, SurvivalOptions, SurvivalSearch};

/// Limit of the solver with the true rules.
const SOLVER_TICKS: u64 = 3_000_000;
/// The bundled maps of the test.
const OURS: [&str; 10] = [
    "roundabout",
    "old-town",
    "harbour",
    "market-square",
    "crossroads",
    "stadium",
    "ring-road",
    "twin-bridges",
    "corner-shop",
    "canal-quarter",
];

/// Games survived, out of those that can be survived.
#[derive(Clone, Copy, Default)]
struct Tally {
    games: u32,
    first: u32,
    second: u32,
    /// Points of the first games.
    points: u64,
}

struct Settings {
    variants: u64,
    first_seed: u64,
    budget: Budget,
    learns: bool,
    maps: Vec<Map>,
    /// Play every n-th pair of a variant and a map.
    stride: usize,
}

fn main() -> Result<(), Box<dyn Error>> {
    let settings = settings()?;
    let mut all = Tally::default();
    let mut by_parameter: BTreeMap<String, Tally> = BTreeMap::new();
    let pairs = (0..settings.variants).flat_map(|seed| settings.maps.iter().map(move |map| (seed, map)));
    for (seed, map) in pairs.step_by(settings.stride) {
        let seed = settings.first_seed + seed;
        let truth = variant(seed, 1 + seed as usize % 3);
        let world = World::new(&map.layout, &truth)?;
        let solver = SurvivalSearch::new(SurvivalOptions::default());
        let outcome = { solver }.solve(&world, &world.start(), Budget::ticks(SOLVER_TICKS)).outcome;
        if outcome != Outcome::Survives {
            println!("{seed} {}: {outcome}, not counted", map.name);
            continue;
        }
        let options = BotOptions { budget: settings.budget, learns: settings.learns, ..BotOptions::default() };
        let (first, bot) = play(&world, options.clone())?;
        let (rules, words) = bot.memory();
        let (second, _) = play(&world, BotOptions { rules, words, ..options })?;
        let changed = differences(&Rules::BLITZ_2025, &truth);
        let names: Vec<&str> = changed.iter().map(|difference| difference.field.as_str()).collect();
        println!("{seed} {}: first game to tick {first}, second to {second}; {}", map.name, names.join(", "));
        for name in &names {
            by_parameter.entry((*name).to_owned()).or_default().add(first, second);
        }
        all.add(first, second);
    }
    println!("\n{:<28} {:>6} {:>12} {:>12} {:>8}", "PARAMETER", "GAMES", "FIRST GAME", "SECOND GAME", "POINTS");
    for (name, tally) in &by_parameter {
        tally.print(name);
    }
    all.print("all games");
    Ok(())
}

/// Plays a game; returns its last tick and the bot.
fn play(world: &World, options: BotOptions) -> Result<(u16, Bot), Box<dyn Error>> {
    let mut bot = Bot::new(options)?;
    let ControlFlow::Continue(state) =
        getaway_arena::play(world, &mut bot, |_, _| ControlFlow::<Infallible>::Continue(()))?;
    Ok((state.tick(), bot))
}

impl Tally {
    fn add(&mut self, first: u16, second: u16) {
        self.games += 1;
        self.first += u32::from(first > LAST_TICK);
        self.second += u32::from(second > LAST_TICK);
        self.points += u64::from(first) * 5;
    }

    fn print(&self, name: &str) {
        let share =
            |survived: u32| format!("{survived} ({:.0}%)", 100.0 * f64::from(survived) / f64::from(self.games.max(1)));
        let points = self.points / u64::from(self.games.max(1));
        println!("{name:<28} {:>6} {:>12} {:>12} {points:>8}", self.games, share(self.first), share(self.second));
    }
}

fn settings() -> Result<Settings, Box<dyn Error>> {
    let mut settings = Settings {
        variants: 100,
        first_seed: 0,
        budget: Budget::time(Duration::from_millis(75)),
        learns: true,
        maps: Vec::new(),
        stride: 1,
    };
    let ours = MapLibrary::with_our_maps(&[] as &[&str]);
    for name in OURS {
        settings.maps.push(ours.find(name)?);
    }
    let mut arguments = std::env::args().skip(1);
    while let Some(name) = arguments.next() {
        if name == "--no-learning" {
            settings.learns = false;
            continue;
        }
        let value = arguments.next().ok_or_else(|| format!("{name}: expected a value"))?;
        match name.as_str() {
            "--variants" => settings.variants = value.parse()?,
            "--seed" => settings.first_seed = value.parse()?,
            "--stride" => settings.stride = value.parse::<usize>()?.max(1),
            "--budget-ticks" => settings.budget = Budget::ticks(value.parse()?),
            "--maps" => {
                let found: Vec<Map> =
                    MapLibrary::new([&value]).list()?.iter().map(MapEntry::load).collect::<Result<_, _>>()?;
                settings.maps.splice(0..0, found);
            }
            _ => {
                return Err(format!(
                    "{name}: expected --variants, --seed, --stride, --budget-ticks, --maps or --no-learning"
                )
                .into());
            }
        }
    }
    Ok(settings)
}
