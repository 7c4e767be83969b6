//! Plays games under rules that the bot does not know: seeded variants with one to three changed
//! rules. On each map, the bot plays a first game without a memory, and a second with the memory of
//! the first.
//!
//! Skips each map that the solver does not survive under the variant within its budget. For each
//! changed rule, the table shows the tick from which the bot knew the rule: the median over those
//! first games that ended with the rule known. `--true-rules` adds games of a bot that knows the
//! rules; `--trace` prints the estimated rules when they change. `--known` instead compares
//! decision times with and without learning under the server's rules.
//!
//! ```sh
//! cargo run --release -p getaway-arena --example variants -- --variants 100 --maps path/to/maps
//! ```

use std::collections::BTreeMap;
use std::error::Error;
use std::time::Duration;

use getaway::bot::{Bot, BotOptions};
use getaway::game::{LAST_TICK, Rules, World};
use getaway::inference::{Parameter, differences, variant};
use getaway::map::{Map, MapEntry, MapLibrary};
use getaway::protocol::GameMessage;
use getaway::search::Budget;
use getaway::solve::{Outcome, Solver, SolverOptions};

const SOLVER_TICKS: u64 = 3_000_000;
const ROUNDS: usize = 10;
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

#[derive(Clone, Default)]
struct Tally {
    games: u32,
    first: u32,
    second: u32,
    /// Number of games survived by a bot that was told the true rules.
    told: u32,
    points: u64,
    /// For each first game that ended with the parameter's value known, the tick from which the bot
    /// knew it.
    known: Vec<u16>,
}

#[derive(Clone, Copy)]
struct LastTicks {
    first: u16,
    second: u16,
    told: Option<u16>,
}

struct Settings {
    variants: u64,
    first_seed: u64,
    budget: Budget,
    learns: bool,
    plays_told: bool,
    traces: bool,
    is_known: bool,
    maps: Vec<Map>,
    stride: usize,
}

fn main() -> Result<(), Box<dyn Error>> {
    let settings = settings()?;
    if settings.is_known {
        return compare_times(&settings);
    }
    let mut all = Tally::default();
    let mut by_parameter: BTreeMap<String, Tally> = BTreeMap::new();
    let pairs = (0..settings.variants).flat_map(|seed| settings.maps.iter().map(move |map| (seed, map)));
    for (seed, map) in pairs.step_by(settings.stride) {
        let seed = settings.first_seed + seed;
        let truth = variant(seed, 1 + seed as usize % 3);
        let world = World::new(&map.layout, &truth)?;
        let solver = Solver::survival_search(SolverOptions::default());
        let outcome = { solver }.solve(&world, &world.start(), Budget::ticks(SOLVER_TICKS)).outcome;
        if outcome != Outcome::Survives {
            println!("{seed} {}: {outcome}, not counted", map.name);
            continue;
        }
        let options = BotOptions { budget: settings.budget, learns: settings.learns, ..BotOptions::default() };
        let changed: Vec<Parameter> = Parameter::ALL
            .into_iter()
            .filter(|parameter| parameter.value(&truth) != parameter.value(&Rules::BLITZ_2025))
            .collect();
        let first = play(&world, options.clone(), &changed, settings.traces)?;
        let memory = first.bot.memory();
        let second = play(&world, memory.applied_to(options.clone()), &changed, settings.traces)?;
        let told = match settings.plays_told {
            true => {
                let words = second.bot.memory().words;
                Some(play(&world, BotOptions { rules: truth, words, ..options }, &[], false)?.last_tick)
            }
            false => None,
        };
        let ticks = LastTicks { first: first.last_tick, second: second.last_tick, told };
        let names: Vec<String> = changed.iter().map(|parameter| parameter.name()).collect();
        let told = told.map_or_else(String::new, |tick| format!(", with the true rules {tick}"));
        println!(
            "{seed} {}: last tick of the first game {}, of the second {}{told}; {}",
            map.name,
            ticks.first,
            ticks.second,
            names.join(", ")
        );
        for (name, known) in names.into_iter().zip(&first.known) {
            by_parameter.entry(name).or_default().add(ticks, *known);
        }
        all.add(ticks, None);
    }
    println!(
        "\n{:<28} {:>6} {:>12} {:>12} {:>12} {:>8} {:>18}",
        "PARAMETER", "GAMES", "FIRST GAME", "SECOND GAME", "TOLD", "POINTS", "KNOWN FROM TICK"
    );
    for (name, tally) in &mut by_parameter {
        tally.print(name, settings.plays_told);
    }
    all.print("all games", settings.plays_told);
    Ok(())
}

fn compare_times(settings: &Settings) -> Result<(), Box<dyn Error>> {
    let mut times = [Duration::ZERO; 2];
    let mut decisions = [0u32; 2];
    for map in &settings.maps {
        let world = World::new(&map.layout, &Rules::BLITZ_2025)?;
        for _ in 0..ROUNDS {
            let mut moves = [const { Vec::new() }; 2];
            for (index, learns) in [true, false].into_iter().enumerate() {
                let mut bot = Bot::new(BotOptions { budget: settings.budget, learns, ..BotOptions::default() })?;
                let mut state = world.start();
                while !state.is_over() {
                    let decision = bot.next_action(&GameMessage::of(&world, &state, "us"))?;
                    times[index] += decision.elapsed;
                    decisions[index] += 1;
                    moves[index].push(decision.player_move);
                    world.step_unchecked(&mut state, decision.player_move);
                }
            }
            if moves[0] != moves[1] {
                return Err(format!("{}: learning changes the game", map.name).into());
            }
        }
    }
    let mean = |index: usize| times[index].as_secs_f64() * 1e6 / f64::from(decisions[index].max(1));
    println!(
        "{} decisions each, with equal moves: {:.2} µs with learning, {:.2} µs without, ratio {:.3}",
        decisions[0],
        mean(0),
        mean(1),
        mean(0) / mean(1)
    );
    Ok(())
}

struct Played {
    last_tick: u16,
    bot: Bot,
    /// For each changed parameter, the tick from which the bot's value was correct until the end,
    /// or `None` if the value was wrong at the end.
    known: Vec<Option<u16>>,
}

fn play(world: &World, options: BotOptions, changed: &[Parameter], traces: bool) -> Result<Played, Box<dyn Error>> {
    let (truth, expected) = (world.rules(), options.rules);
    let mut bot = Bot::new(options)?;
    let mut state = world.start();
    let mut known: Vec<Option<u16>> = vec![None; changed.len()];
    let mut said = Vec::new();
    while !state.is_over() {
        let decision = bot.next_action(&GameMessage::of(world, &state, "us"))?;
        if !changed.is_empty() {
            let rules = bot.rules();
            for (parameter, known) in changed.iter().zip(&mut known) {
                *known = match (parameter.value(&rules) == parameter.value(truth), *known) {
                    (true, None) => Some(state.tick()),
                    (true, known) => known,
                    (false, _) => None,
                };
            }
            let learnt: Vec<String> =
                differences(&expected, &rules).into_iter().map(|one| format!("{} {}", one.field, one.right)).collect();
            if traces && learnt != said {
                let missed = bot.mispredictions_by_threat();
                println!(
                    "  {}: {}; {missed:?}, planned to {:?}",
                    state.tick(),
                    learnt.join("; "),
                    decision.planned_tick
                );
                said = learnt;
            }
        }
        if traces && !decision.learnt.is_empty() {
            println!("  {}: learnt: {}", decision.tick, decision.learnt.join("; "));
        }
        world.step_unchecked(&mut state, decision.player_move);
    }
    if traces {
        let missed = bot.mispredictions_by_threat();
        let right: Vec<String> = changed.iter().map(|one| format!("{} {}", one.name(), one.value(truth))).collect();
        println!("  ended in tick {}; mispredictions {missed:?}; true rules: {}", state.tick(), right.join("; "));
    }
    Ok(Played { last_tick: state.tick(), bot, known })
}

impl Tally {
    fn add(&mut self, ticks: LastTicks, known: Option<u16>) {
        let survives = |tick: u16| u32::from(tick > LAST_TICK);
        self.games += 1;
        self.first += survives(ticks.first);
        self.second += survives(ticks.second);
        self.told += ticks.told.map_or(0, survives);
        self.points += u64::from(ticks.first) * 5;
        self.known.extend(known);
    }

    fn print(&mut self, name: &str, has_told: bool) {
        let share =
            |survived: u32| format!("{survived} ({:.0}%)", 100.0 * f64::from(survived) / f64::from(self.games.max(1)));
        let points = self.points / u64::from(self.games.max(1));
        let (first, second) = (share(self.first), share(self.second));
        let told = if has_told { share(self.told) } else { String::new() };
        self.known.sort_unstable();
        let known = match self.known.get(self.known.len() / 2) {
            Some(median) => format!("{median} ({} of {})", self.known.len(), self.games),
            None => String::new(),
        };
        println!("{name:<28} {:>6} {first:>12} {second:>12} {told:>12} {points:>8} {known:>18}", self.games);
    }
}

fn settings() -> Result<Settings, Box<dyn Error>> {
    let mut settings = Settings {
        variants: 100,
        first_seed: 0,
        budget: Budget::time(Duration::from_millis(75)),
        learns: true,
        plays_told: false,
        traces: false,
        is_known: false,
        maps: Vec::new(),
        stride: 1,
    };
    let ours = MapLibrary::default();
    for name in OURS {
        settings.maps.push(ours.find(name)?);
    }
    let mut arguments = std::env::args().skip(1);
    while let Some(name) = arguments.next() {
        match name.as_str() {
            "--no-learning" => settings.learns = false,
            "--true-rules" => settings.plays_told = true,
            "--trace" => settings.traces = true,
            "--known" => settings.is_known = true,
            _ => read_setting(&mut settings, &name, arguments.next())?,
        }
    }
    Ok(settings)
}

fn read_setting(settings: &mut Settings, name: &str, value: Option<String>) -> Result<(), Box<dyn Error>> {
    let value = value.ok_or_else(|| format!("{name}: expected a value"))?;
    match name {
        "--variants" => settings.variants = value.parse()?,
        "--seed" => settings.first_seed = value.parse()?,
        "--stride" => settings.stride = value.parse::<usize>()?.max(1),
        "--budget-ticks" => settings.budget = Budget::ticks(value.parse()?),
        "--map" => settings.maps.retain(|map| map.name == value),
        "--maps" => {
            let found: Vec<Map> =
                MapLibrary::new([&value]).list()?.iter().map(MapEntry::load).collect::<Result<_, _>>()?;
            settings.maps.splice(0..0, found);
        }
        _ => {
            let known = "--variants, --seed, --stride, --budget-ticks, --maps, --map, --true-rules, --trace, --known or --no-learning";
            return Err(format!("{name}: expected {known}").into());
        }
    }
    Ok(())
}
