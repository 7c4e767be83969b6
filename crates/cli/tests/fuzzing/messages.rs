//! Fuzzes the bot. It must not panic, and must answer each readable message with an action or an
//! error.

use std::fmt;
use std::path::Path;
use std::time::{Duration, Instant};

use getaway::bot::{Bot, BotOptions};
use getaway::game::{Layout, Move, Rules, World};
use getaway::map::MapLibrary;
use getaway::planner::names;
use getaway::protocol::GameMessage;
use getaway::search::Budget;
use getaway_reference::lockstep::{Dice, random_layout};

use super::clock::{thread_time, wall_time};
use super::{catch_panic, damage, json_like, mutate};

const OVERRUN_MAX: Duration = Duration::from_millis(5);
const MESSAGES_PER_BOT: u64 = 100;
/// Maximum number of further runs of a late bot. With a real slowdown, every run is late.
const TRIALS: usize = 3;

#[derive(Default)]
pub struct Counts {
    pub messages: u64,
    pub read: u64,
    pub decisions: u64,
    /// Number of bots that were late in their first run, but not when run again.
    pub retried: u64,
    /// Largest time by which a bot exceeded its budget. Only a bot's last run counts.
    pub overrun_max: Duration,
    worst: String,
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { messages, read, decisions, retried, overrun_max, .. } = self;
        let worst_ms = overrun_max.as_secs_f64() * 1e3;
        write!(
            f,
            "{messages} messages: {read} read, {decisions} decisions, at most {worst_ms:.2} ms over the budget ({retried} bots were late at first, but not when run again)"
        )
    }
}

/// Sends at least `count` messages to bots. If `is_timed` is set, late bots are failures.
pub fn run(seed: u64, count: u64, is_timed: bool) -> Result<Counts, String> {
    let maps = layouts();
    let mut counts = Counts::default();
    let mut number = seed;
    while counts.messages < count {
        let mut run = play(number, &maps, wall_time)?;
        if is_timed && run.overrun_max > OVERRUN_MAX {
            // Further runs use the thread's CPU clock, which other processes do not affect.
            counts.retried += 1;
            for _ in 0..TRIALS {
                run = play(number, &maps, thread_time)?;
                if run.overrun_max <= OVERRUN_MAX {
                    break;
                }
            }
            if run.overrun_max > OVERRUN_MAX {
                let Counts { overrun_max, worst, .. } = run;
                return Err(format!(
                    "bot {number}, {worst}: late in each of {TRIALS} trials, in the last by {overrun_max:?}"
                ));
            }
        }
        counts.messages += run.messages;
        counts.read += run.read;
        counts.decisions += run.decisions;
        counts.overrun_max = counts.overrun_max.max(run.overrun_max);
        number += 1;
    }
    Ok(counts)
}

/// Returns the bundled maps and two open 64x64 maps, for which the bot needs several ticks to build
/// its tables.
fn layouts() -> Vec<Layout> {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).join("maps");
    let entries = MapLibrary::new([folder]).list().unwrap_or_default();
    let mut layouts: Vec<Layout> = entries.iter().filter_map(|entry| Some(entry.load().ok()?.layout)).collect();
    let mut hall = vec![".".repeat(64); 64];
    hall[10].replace_range(10..12, "PS");
    hall[50].replace_range(50..52, "DH");
    layouts.extend(Layout::parse(&hall.join("\n")));
    hall[40].replace_range(0..60, &"DDOSHD".repeat(10));
    layouts.extend(Layout::parse(&hall.join("\n")));
    layouts
}

fn play(seed: u64, maps: &[Layout], clock: fn() -> Duration) -> Result<Counts, String> {
    let mut dice = Dice::from_seed(seed);
    let layout =
        if dice.one_in(3) { dice.pick(&maps.iter().collect::<Vec<_>>()).clone() } else { random_layout(&mut dice) };
    let options = options(&mut dice, seed);
    let budget = options.budget.time.expect("a limit in time");
    let mut bot = Bot::new(options).map_err(|error| format!("bot {seed}: {error}"))?;
    let world = World::new(&layout, &Rules::BLITZ_2025).map_err(|error| format!("bot {seed}: {error}"))?;
    let mut state = world.start();
    let mut counts = Counts::default();
    while counts.messages < MESSAGES_PER_BOT {
        let bytes = message(&world, &state, &mut dice);
        let (start, arrival) = (clock(), Instant::now());
        let answer = catch_panic("the bot", || {
            let message = GameMessage::parse(&bytes).ok()?;
            Some(bot.next_action_since(&message, arrival).map_err(|error| error.to_string()))
        });
        let elapsed = clock() - start;
        let answer = answer.map_err(|what| format!("bot {seed}, message {}: {what}", counts.messages + 1))?;
        counts.messages += 1;
        counts.read += u64::from(answer.is_some());
        let over = elapsed.saturating_sub(budget);
        if over > counts.overrun_max {
            let (place, size) = (counts.messages, bytes.len());
            let Layout { width, height, .. } = layout;
            let worst = format!(
                "message {place} of {size} bytes, on {width}x{height} tiles, {} with {budget:?}",
                bot.options().planner
            );
            (counts.overrun_max, counts.worst) = (over, worst);
        }
        let player_move = match answer {
            Some(Ok(decision)) => {
                counts.decisions += 1;
                decision.player_move
            }
            Some(Err(error)) if error.is_empty() || error.contains('\n') => {
                return Err(format!("bot {seed}, message {}: not a clear error: {error:?}", counts.messages));
            }
            _ => Move::Stay,
        };
        if state.is_over() || dice.one_in(40) {
            state = world.start();
        } else if !dice.one_in(10) {
            world.step_unchecked(&mut state, player_move);
        }
    }
    Ok(counts)
}

fn options(dice: &mut Dice, seed: u64) -> BotOptions {
    let planner = if dice.one_in(2) { names().nth(dice.below(names().count())).unwrap().0 } else { "survival" };
    let is_unbounded = dice.one_in(25);
    let budget_ms = if is_unbounded { dice.pick(&[0, 1, 2, 5]) } else { dice.pick(&[0, 1, 10, 50]) };
    BotOptions {
        planner: planner.parse().expect("a planner"),
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

fn message(world: &World, state: &getaway::game::State, dice: &mut Dice) -> Vec<u8> {
    if dice.one_in(12) {
        return json_like(dice);
    }
    let Ok(mut json) = serde_json::to_value(GameMessage::of(world, state, "team")) else { return Vec::new() };
    if dice.one_in(40) {
        add_threats(&mut json, dice);
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

fn add_threats(json: &mut serde_json::Value, dice: &mut Dice) {
    let count = dice.pick(&[64, 65, 1000, 1024, 1025]);
    let Some(threats) = json["threats"].as_array_mut() else { return };
    let Some(threat) = threats.first().cloned() else { return };
    threats.resize(count, threat);
}
