//! The bot signature: a hash of the bot's decisions on the bundled maps and in a hall, against
//! servers that follow the rules and servers that break them. The hash does not depend on the speed
//! of the machine, because each call of the bot has either plenty of time or none.
//!
//! Every test run checks the signature of a sample of games. The full signature takes minutes: add
//! `-- --ignored` to `cargo test --release --package getaway-tests bot_signature`. After a change that
//! is meant to change decisions, update `tests/bot_signature.txt` with `GETAWAY_UPDATE_SIGNATURE=1`
//! before this command and `-- --include-ignored` after it.

use std::hash::Hasher;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::common::our_maps;
use fnv::FnvHasher;
use getaway::bot::{Bot, BotOptions, Decision};
use getaway::game::{Direction, LAST_TICK, Layout, Move, Position, Rules, State, Style, Threat, World};
use getaway::protocol::{GameMessage, Name};
use getaway::search::Budget;
use getaway::search::Random;

const SEED: u64 = 2025;
/// Limit on the simulated ticks per decision: enough for a plan on most maps, but not on all.
const TICKS: u64 = 20_000;
const BUDGET: Duration = Duration::from_secs(600);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Script {
    Prompt,
    NoJump,
    /// Like `Prompt`, but the bot plans without slack for late commands.
    WithoutSlack,
    /// On average, one command in twenty is too late to be played.
    LateCommands,
    MissedMessages,
    /// The bot misses 209 messages in a row, while another bot plays.
    LongSilence,
    /// Sometimes the bot has no time left when it is called.
    LateBot,
    Join(u16),
    UnknownStyle,
    /// A threat changes its style, and messages report the new style.
    AnnouncedStyle,
    /// A threat changes its style, but messages report its old style. Another threat is moved by
    /// one tile, and some messages are lost.
    Liar,
    ThreatInWall,
    /// Sometimes a message is repeated, either unchanged or with a false position for one threat.
    Repeated,
    /// Some open tiles of the map are replaced by see-through tiles.
    Water,
}

impl Script {
    fn rules(self) -> Rules {
        Rules { no_jump: self == Self::NoJump, ..Rules::BLITZ_2025 }
    }
}

const SCRIPTS: [Script; 16] = [
    Script::Prompt,
    Script::NoJump,
    Script::WithoutSlack,
    Script::LateCommands,
    Script::MissedMessages,
    Script::LongSilence,
    Script::LateBot,
    Script::Join(30),
    Script::Join(400),
    Script::Join(1100),
    Script::UnknownStyle,
    Script::AnnouncedStyle,
    Script::Liar,
    Script::ThreatInWall,
    Script::Repeated,
    Script::Water,
];

#[derive(Clone, Copy, Debug)]
struct Coverage {
    /// One in this many pairs of a map and a script (or planner) is played.
    pairs_per_game: usize,
    /// Games stop after this tick.
    last_tick: u16,
}

const SAMPLE: Coverage = Coverage { pairs_per_game: 4, last_tick: 1200 };
const EVERYTHING: Coverage = Coverage { pairs_per_game: 1, last_tick: LAST_TICK };

/// Planners other than the default. They play only the start of a `Prompt` game.
const PLANNERS: [&str; 3] = ["safest", "lookahead:4", "cautious"];
const PLANNER_TICKS: u16 = 200;

fn options(planner: &str, script: Script) -> BotOptions {
    let mut options = BotOptions {
        // Off if a style is unknown: the bot would identify the style, which `inference.rs` tests.
        learns: script != Script::UnknownStyle,
        planner: planner.parse().expect("a planner"),
        budget: Budget::time(BUDGET).and(Budget::ticks(TICKS)),
        seed: SEED,
        rules: script.rules(),
        ..BotOptions::default()
    };
    if script == Script::WithoutSlack {
        options.slack_moves = 0;
    }
    options
}

struct ScriptedGame {
    script: Script,
    layout: Layout,
    world: World,
    state: State,
    bot: Bot,
    random: Random,
    record: Vec<u8>,
}

impl ScriptedGame {
    fn new(layout: &Layout, planner: &str, script: Script) -> Self {
        let mut layout = layout.clone();
        let mut random = Random::from_seed(SEED);
        if script == Script::Water {
            flood(&mut layout, &mut random);
        }
        let world = World::new(&layout, &script.rules()).expect("a map within the limits");
        let bot = Bot::new(options(planner, script)).expect("a planner");
        Self { script, layout, state: world.start(), world, bot, random, record: Vec::new() }
    }

    fn draw(&mut self, count: usize) -> usize {
        self.random.below(count)
    }

    fn message(&self) -> GameMessage {
        GameMessage::of(&self.world, &self.state, "team")
    }

    fn play(&mut self, player_move: Move) {
        if !self.state.is_over() {
            self.world.step_unchecked(&mut self.state, player_move);
        }
    }

    fn decide(&mut self, message: &GameMessage, waited: Duration) -> Move {
        let arrival = Instant::now() - waited;
        let decision = self.bot.next_action_since(message, arrival).expect("a decision");
        assert!(decision.simulated_ticks <= TICKS, "a decision's searches share its budget: {decision:?}");
        self.write(&decision);
        decision.player_move
    }

    fn write(&mut self, decision: &Decision) {
        self.record.extend(decision.tick.to_le_bytes());
        self.record.push(decision.player_move.letter() as u8);
        self.record.extend(decision.source.name().bytes());
        self.record.extend(decision.planned_tick.unwrap_or(0).to_le_bytes());
        self.record.extend(decision.simulated_ticks.to_le_bytes());
    }

    fn hand_over_until(&mut self, tick: u16) {
        let mut other = Bot::new(options("survival", Script::Prompt)).expect("a planner");
        while !self.state.is_over() && self.state.tick() < tick {
            let decision = other.next_action(&self.message()).expect("a decision");
            self.play(decision.player_move);
        }
    }

    fn set_threats(&mut self, change: impl FnOnce(&Layout, Position, &mut [Threat])) {
        let player = self.world.player(&self.state);
        let mut threats: Vec<Threat> = self.world.threats(&self.state).collect();
        change(&self.layout, player, &mut threats);
        self.world = World::new(&self.layout, &self.script.rules()).expect("a map within the limits");
        self.state = self.world.state_at(self.state.tick(), player, &threats).expect("a state");
    }

    fn restyle(&mut self, index: usize) -> Style {
        let reported = self.layout.threats[index].style;
        let number = Style::ALL.iter().position(|&style| style == reported).expect("one of all styles");
        self.layout.threats[index].style = Style::ALL[(number + 1) % Style::ALL.len()];
        self.set_threats(|_, _, _| {});
        reported
    }

    fn record_ticks(&mut self, until: u16) {
        while !self.state.is_over() && self.state.tick() < until {
            let player_move = self.decide(&self.message(), Duration::ZERO);
            self.play(player_move);
        }
    }

    fn record(mut self, last_tick: u16) -> Vec<u8> {
        let threats = self.layout.threats.len();
        let odd = self.draw(threats);
        let mut reported = None;
        if let Script::Join(tick) = self.script {
            self.hand_over_until(tick);
        }
        let script = self.script;
        while !self.state.is_over() && self.state.tick() <= last_tick {
            let tick = self.state.tick();
            let mut message = self.message();
            match script {
                Script::UnknownStyle => message.threats[odd].style = Name::Other("ghost".to_owned()),
                Script::AnnouncedStyle if tick == 200 => {
                    self.restyle(odd);
                }
                Script::Liar if tick == 200 => reported = Some(self.restyle(odd)),
                Script::Liar if tick == 500 => self.set_threats(|layout, player, threats| {
                    shift(layout, player, &mut threats[(odd + 1) % layout.threats.len()]);
                }),
                Script::ThreatInWall if self.draw(10) == 0 => message.threats[odd].position = Position::new(0, 0),
                _ => {}
            }
            if matches!(script, Script::AnnouncedStyle | Script::Liar) {
                message = self.message();
            }
            if let Some(reported) = reported {
                message.threats[odd].style = Name::Known(reported);
            }
            let waited = if script == Script::LateBot && self.draw(10) == 0 { 2 * BUDGET } else { Duration::ZERO };
            let mut player_move = self.decide(&message, waited);
            if script == Script::Repeated && self.draw(100) == 0 {
                if self.draw(2) == 0 {
                    let position = message.threats[(odd + 1) % threats].position;
                    message.threats[odd].position = position;
                }
                player_move = self.decide(&message, Duration::ZERO);
            }
            match script {
                Script::LateCommands if self.draw(20) == 0 => self.play(Move::Stay),
                Script::MissedMessages if self.draw(25) == 0 => self.miss(player_move),
                Script::Liar if self.draw(100) == 0 => self.miss(player_move),
                Script::LongSilence if tick == 100 => self.hand_over_until(tick + 210),
                _ => self.play(player_move),
            }
        }
        self.record.extend(self.state.tick().to_le_bytes());
        self.record.extend(self.bot.mispredictions_by_threat().into_iter().flat_map(u32::to_le_bytes));
        self.record
    }

    /// Plays two to six ticks without further messages. The command is on time, late, or lost.
    fn miss(&mut self, player_move: Move) {
        let missed = 1 + self.draw(5);
        let applied_at = self.draw(4);
        for tick in 0..=missed {
            self.play(if tick == applied_at { player_move } else { Move::Stay });
        }
    }
}

fn flood(layout: &mut Layout, random: &mut Random) {
    for position in layout.open_positions().collect::<Vec<_>>() {
        if position != layout.player && random.below(12) == 0 {
            layout.set_tile(position, getaway::game::Tile::SeeThrough);
        }
    }
}

fn shift(layout: &Layout, player: Position, threat: &mut Threat) {
    let neighbours = Direction::ALL.map(|direction| threat.position.towards(direction));
    let free = neighbours.into_iter().find(|&next| layout.is_open(next) && next != player);
    threat.position = free.unwrap_or(threat.position);
}

fn record_planner(layout: &Layout, planner: &str) -> Vec<u8> {
    let mut game = ScriptedGame::new(layout, planner, Script::Prompt);
    while !game.state.is_over() && game.state.tick() < PLANNER_TICKS {
        let player_move = game.decide(&game.message(), Duration::ZERO);
        game.play(player_move);
    }
    game.record
}

/// Plays in a hall with a bot that has no time, so building the world takes 7 messages. At tick 90,
/// when the bot has processed all queued observations, a threat is moved.
fn record_hall() -> Vec<u8> {
    let mut drawing: Vec<String> = vec![".".repeat(28); 28];
    drawing[2].replace_range(2..3, "P");
    drawing[25].replace_range(20..26, "BGOSDH");
    let layout = Layout::parse(&drawing.join("\n")).expect("a drawing");
    let mut game = ScriptedGame::new(&layout, "survival", Script::Prompt);
    game.bot = Bot::new(BotOptions { budget: Budget::time(Duration::ZERO), ..options("survival", Script::Prompt) })
        .expect("a planner");
    game.record_ticks(90);
    game.set_threats(|layout, player, threats| shift(layout, player, &mut threats[0]));
    game.record_ticks(200);
    game.record.extend(game.bot.mispredictions_by_threat().into_iter().flat_map(u32::to_le_bytes));
    game.record
}

const KINDS: usize = SCRIPTS.len() + PLANNERS.len();

fn record((name, layout): &(String, Layout), kind: usize, coverage: Coverage) -> (String, Vec<u8>) {
    match SCRIPTS.get(kind) {
        Some(&script) => {
            (format!("{name} {script:?}"), ScriptedGame::new(layout, "survival", script).record(coverage.last_tick))
        }
        None => {
            let planner = PLANNERS[kind - SCRIPTS.len()];
            (format!("{name} {planner}"), record_planner(layout, planner))
        }
    }
}

fn hash<'a>(records: impl IntoIterator<Item = &'a [u8]>) -> u64 {
    let mut fnv = FnvHasher::default();
    records.into_iter().for_each(|record| fnv.write(record));
    fnv.finish()
}

fn signature(coverage: Coverage) -> String {
    let layouts: Vec<(String, Layout)> = our_maps().into_iter().map(|map| (map.name, map.layout)).collect();
    let pairs = (0..layouts.len()).flat_map(|map| (0..KINDS).map(move |kind| (map, kind)));
    let games: Vec<_> = pairs.filter(|(map, kind)| (map + kind) % coverage.pairs_per_game == 0).collect();
    let waiting = Mutex::new(0..games.len());
    let next = || waiting.lock().expect("no game panics while it holds the lock").next();
    let work = || {
        let play = |number: usize| (number, record(&layouts[games[number].0], games[number].1, coverage));
        std::iter::from_fn(next).map(play).collect::<Vec<_>>()
    };
    let threads = thread::available_parallelism().map_or(2, usize::from);
    let mut records = thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        workers.into_iter().flat_map(|worker| worker.join().expect("bots do not panic")).collect::<Vec<_>>()
    });
    records.sort_unstable_by_key(|&(number, _)| number);
    assert_eq!(records.len(), games.len());
    records.push((games.len(), ("hall".to_owned(), record_hall())));
    // If the test fails, compare these lines with those of another commit to find the games that
    // differ.
    for (_, (name, record)) in &records {
        println!("{:016x} {name}", hash([record.as_slice()]));
    }
    format!("{:016x}", hash(records.iter().map(|(_, (_, record))| record.as_slice())))
}

fn check(name: &str, coverage: Coverage) {
    // Two tests update the file, and may run at the same time.
    static FILE: Mutex<()> = Mutex::new(());
    let found = format!("{name} {}", signature(coverage));
    let _guard = FILE.lock().unwrap_or_else(PoisonError::into_inner);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("bot_signature.txt");
    let text = std::fs::read_to_string(&path).unwrap_or_default();
    let is_named = |line: &&str| line.split(' ').next() == Some(name);
    if std::env::var_os("GETAWAY_UPDATE_SIGNATURE").is_some_and(|value| value == "1") {
        let mut lines: Vec<&str> = text.lines().filter(|line| !is_named(line)).chain([&*found]).collect();
        lines.sort_unstable();
        std::fs::write(&path, lines.join("\n") + "\n").expect("the signature can be written");
        return;
    }
    assert_eq!(
        text.lines().find(is_named),
        Some(&*found),
        "the bot decides differently; if this is intended, update the signature with GETAWAY_UPDATE_SIGNATURE=1"
    );
}

#[test]
fn bot_signature_of_a_sample_is_unchanged() {
    check("sample", SAMPLE);
}

#[test]
#[ignore = "takes minutes: every script on every map to the end of the game"]
fn bot_signature_of_every_game_is_unchanged() {
    check("everything", EVERYTHING);
}

#[test]
fn every_script_changes_the_game() {
    let map = our_maps().into_iter().find(|map| map.name == "market-square").expect("our map");
    let record = |script| ScriptedGame::new(&map.layout, "survival", script).record(SAMPLE.last_tick);
    let prompt = record(Script::Prompt);
    assert_eq!(prompt, record(Script::Prompt), "a game must be reproducible");
    for script in SCRIPTS.into_iter().skip(1) {
        assert_ne!(record(script), prompt, "{script:?} has no effect");
    }
    assert!(prompt.len() > usize::from(SAMPLE.last_tick));
}
