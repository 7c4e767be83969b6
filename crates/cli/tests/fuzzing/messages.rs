//! Arbitrary messages to [`Bot::next_action_since`]: an action or a clear error, never a panic,
//! never late.

use std::fmt;
use std::path::Path;
use std::time::{Duration, Instant};

use getaway::bot::{Bot, BotOptions};
use getaway::game::{Layout, Move, Rules, World};
use getaway::map::MapLibrary;
use getaway::planner::NAMES;
use getaway::protocol::GameMessage;
use getaway::search::Budget;
use getaway_reference::lockstep::{Dice, random_layout};

use super::{damage, mutate, own_time, unpanicked, wall_time, wild_json};

/// Tolerance of a decision beyond its budget.
const OVERTIME: Duration = Duration::from_millis(5);
/// Number of messages per bot, in one or several games.
const MESSAGES_PER_BOT: u64 = 100;
/// How often a late bot is repeated: a slow one is slow every time.
const TRIALS: usize = 3;

/// Statistics of the messages.
#[derive(Default)]
pub struct Tally {
    pub messages: u64,
    /// Messages that could be read.
    pub read: u64,
    pub decisions: u64,
    /// Bots that were late only once.
    pub disturbed: u64,
    /// The largest overrun of a budget, ignoring disturbed bots.
    pub worst_over: Duration,
    /// A description of that decision.
    worst: String,
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { messages, read, decisions, disturbed, worst_over, .. } = self;
        let worst_ms = worst_over.as_secs_f64() * 1e3;
        write!(
            f,
            "{messages} messages: {read} read, {decisions} decisions, at most {worst_ms:.2} ms over the budget ({disturbed} bots were late once and not again)"
        )
    }
}

/// Sends at least `count` messages to bots. `is_timed` makes a late decision a failure.
pub fn run(seed: u64, count: u64, is_timed: bool) -> Result<Tally, String> {
    let maps = layouts();
    let mut tally = Tally::default();
    let mut number = seed;
    while tally.messages < count {
        let mut run = play(number, &maps, wall_time)?;
        if is_timed && run.worst_over > OVERTIME {
            // Repeat with the CPU time of the thread.
            tally.disturbed += 1;
            for _ in 0..TRIALS {
                run = play(number, &maps, own_time)?;
                if run.worst_over <= OVERTIME {
                    break;
                }
            }
            if run.worst_over > OVERTIME {
                let Tally { worst_over, worst, .. } = run;
                return Err(format!("bot {number}, {worst}: {worst_over:?} over its budget, {TRIALS} times"));
            }
        }
        tally.messages += run.messages;
        tally.read += run.read;
        tally.decisions += run.decisions;
        tally.worst_over = tally.worst_over.max(run.worst_over);
        number += 1;
    }
    Ok(tally)
}

/// The bundled maps, and halls of the maximum size with few and with many threats, whose worlds are
/// built over several ticks.
fn layouts() -> Vec<Layout> {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).join("maps");
    let entries = MapLibrary::new([folder]).list().unwrap_or_default();
    let mut layouts: Vec<Layout> = entries.iter().filter_map(|entry| Some(entry.load().ok()?.layout)).collect();
    let mut hall = vec![".".repeat(64); 64];
    hall[10].replace_range(10..12, "Ps");
    hall[50].replace_range(50..52, "dh");
    layouts.extend(Layout::parse(&hall.join("\n")));
    hall[40].replace_range(0..60, &"ddoshd".repeat(10));
    layouts.extend(Layout::parse(&hall.join("\n")));
    layouts
}

/// One bot and the messages of a faulty server.
fn play(seed: u64, maps: &[Layout], clock: fn() -> Duration) -> Result<Tally, String> {
    let mut dice = Dice::from_seed(seed);
    let layout =
        if dice.one_in(3) { dice.pick(&maps.iter().collect::<Vec<_>>()).clone() } else { random_layout(&mut dice) };
    let options = options(&mut dice, seed);
    let budget = options.budget.time.expect("a limit in time");
    let mut bot = Bot::new(options).map_err(|error| format!("bot {seed}: {error}"))?;
    let world = World::new(&layout, &Rules::BLITZ_2025).map_err(|error| format!("bot {seed}: {error}"))?;
    let mut state = world.start();
    let mut tally = Tally::default();
    while tally.messages < MESSAGES_PER_BOT {
        let bytes = message(&world, &state, &mut dice);
        let (start, arrival) = (clock(), Instant::now());
        let answer = unpanicked("the bot", || {
            let message = GameMessage::parse(&bytes).ok()?;
            Some(bot.next_action_since(&message, arrival).map_err(|error| error.to_string()))
        });
        let elapsed = clock() - start;
        let answer = answer.map_err(|what| format!("bot {seed}, message {}: {what}", tally.messages + 1))?;
        tally.messages += 1;
        tally.read += u64::from(answer.is_some());
        let over = elapsed.saturating_sub(budget);
        if over > tally.worst_over {
            let (place, size) = (tally.messages, bytes.len());
            let Layout { width, height, .. } = layout;
            let worst = format!(
                "message {place} of {size} bytes, on {width}x{height} tiles, {} with {budget:?}",
                bot.options().planner
            );
            (tally.worst_over, tally.worst) = (over, worst);
        }
        let player_move = match answer {
            Some(Ok(decision)) => {
                tally.decisions += 1;
                decision.player_move
            }
            Some(Err(error)) if error.is_empty() || error.contains('\n') => {
                return Err(format!("bot {seed}, message {}: not a clear error: {error:?}", tally.messages));
            }
            _ => Move::Stay,
        };
        if state.is_over() || dice.one_in(40) {
            state = world.start();
        } else if !dice.one_in(10) {
            world.step(&mut state, player_move);
        }
    }
    Ok(tally)
}

/// A random planner with a small budget. Most are limited in evaluations, because a million
/// messages have to be answered. Most are bounded by what they evaluate, since a million messages
/// have to be answered.
fn options(dice: &mut Dice, seed: u64) -> BotOptions {
    let planner = if dice.one_in(2) { NAMES[dice.below(NAMES.len())].0 } else { "survival" };
    let is_unbounded = dice.one_in(25);
    let budget_ms = if is_unbounded { dice.pick(&[0, 1, 2, 5]) } else { dice.pick(&[0, 1, 10, 50]) };
    BotOptions {
        planner: planner.to_owned(),
        budget: Budget {
            time: Some(Duration::from_millis(budget_ms)),
            ticks: (!is_unbounded).then(|| dice.pick(&[0, 1, 30, 100])),
            ..Budget::UNLIMITED
        },
        seed,
        rules: Rules { no_jump: dice.one_in(2), ..Rules::BLITZ_2025 },
        ..BotOptions::default()
    }
}

/// A valid message, a mutated one, a damaged one, or arbitrary bytes.
fn message(world: &World, state: &getaway::game::State, dice: &mut Dice) -> Vec<u8> {
    if dice.one_in(12) {
        return wild_json(dice);
    }
    let Ok(mut json) = serde_json::to_value(GameMessage::of(world, state, "team")) else { return Vec::new() };
    if dice.one_in(40) {
        crowd(&mut json, dice);
    }
    if !dice.one_in(4) {
        (0..1 + dice.below(3)).for_each(|_| mutate(&mut json, dice));
    }
    let mut bytes = json.to_string().into_bytes();
    if dice.one_in(12) {
        (0..1 + dice.below(3)).for_each(|_| damage(&mut bytes, dice));
    }
    bytes
}

/// Adds more threats than a world accepts, or than a message may have.
fn crowd(json: &mut serde_json::Value, dice: &mut Dice) {
    let count = dice.pick(&[64, 65, 1000, 1024, 1025]);
    let Some(threats) = json["threats"].as_array_mut() else { return };
    let Some(threat) = threats.first().cloned() else { return };
    threats.resize(count, threat);
}
