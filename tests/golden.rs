//! Promise: on every recorded tick, each model says what the server said.
//!
//! The traces of the shared folder were recorded by an independent implementation on the server's own JavaScript engine: whole
//! games on the real maps, on mazes, and on maps made to be odd, under actions made to be odd. A mismatch names the file, the line
//! and the field; where rules and recordings disagree, the recordings win.
//!
//! Those of `tests/golden/` are our own: the reference, when it agreed with every trace above, on our own maps. They need nothing
//! but this repository and hold both models to what was true then. To record them anew, after a change of the maps:
//! `cargo test --release --test golden -- --ignored record_golden`.

mod common;

use std::fmt::Debug;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use getaway::game::{Action, Layout, Rules, State, World};
use getaway::map::Map;
use getaway::protocol::{Trace, TraceHeader, TraceThreat, TraceTick, write_line};
use getaway_reference as reference;
use getaway_reference::lockstep::{Dice, disguise, random_command, surviving_plan};

/// Something that plays by the rules and can be compared with a trace.
trait Model {
    /// The game before its first tick.
    fn new(layout: &Layout, rules: &Rules) -> Self;
    /// Plays one tick.
    fn step(&mut self, actions: &[Action]);
    /// The state as a trace tells it, without actions.
    fn observe(&self) -> TraceTick;
}

impl Model for reference::Game {
    fn new(layout: &Layout, rules: &Rules) -> Self {
        Self::new(layout, rules)
    }

    fn step(&mut self, actions: &[Action]) {
        self.step(actions);
    }

    fn observe(&self) -> TraceTick {
        let threat = |threat: &reference::Threat| TraceThreat {
            position: threat.position,
            direction: threat.direction,
            personality: threat.personality,
        };
        TraceTick {
            actions: None,
            tick: self.tick,
            player: self.player,
            threats: self.threats.iter().map(threat).collect(),
            over: self.over(),
            caught: self.caught(),
        }
    }
}

/// The fast model: a world and a state in it.
struct Fast {
    world: World,
    state: State,
}

impl Model for Fast {
    fn new(layout: &Layout, rules: &Rules) -> Self {
        let world = World::new(layout, &rules).expect("the maps of the traces are within the limits");
        let state = world.start();
        Self { world, state }
    }

    fn step(&mut self, actions: &[Action]) {
        self.world.play(&mut self.state, actions).expect("a trace ends with its game");
    }

    fn observe(&self) -> TraceTick {
        TraceTick::of_state(&self.world, &self.state)
    }
}

#[test]
fn the_game_follows_every_trace() {
    follow_every_trace::<Fast>();
}

#[test]
fn the_reference_follows_every_trace() {
    follow_every_trace::<reference::Game>();
}

#[test]
fn the_game_follows_our_own_traces() {
    follow_our_traces::<Fast>();
}

#[test]
fn the_reference_follows_our_own_traces() {
    follow_our_traces::<reference::Game>();
}

#[test]
fn traces_are_written_byte_for_byte_as_they_were_recorded() {
    let Some(shared) = common::shared_folder() else { return };
    for path in common::files_ending(&shared.join("golden/traces"), ".trace.jsonl.gz") {
        let text = read_gz(&path);
        let trace = parse(&path, &text);
        let written = std::iter::once(line_of(&trace.header)).chain(trace.ticks.iter().map(line_of));
        for ((written, recorded), line) in written.zip(text.lines()).zip(1..) {
            // An unknown action loses its name when it is read.
            let expected = recorded.replace(r#"{"type":"DANCE"}"#, "{}").replace(r#"{"type":""}"#, "{}");
            assert_eq!(written, expected, "{}, line {line}", path.display());
        }
        assert_eq!(trace.ticks.len() + 1, text.lines().count(), "{}", path.display());
    }
}

/// Runs a model over every trace of the shared folder, if it is there.
fn follow_every_trace<M: Model>() {
    let Some(shared) = common::shared_folder() else { return };
    follow_traces::<M>(&shared.join("golden/traces"), &|map| common::map_folder(&shared, map));
}

/// Runs a model over our own traces.
fn follow_our_traces<M: Model>() {
    follow_traces::<M>(&our_traces(), &our_map);
}

/// Runs a model over the traces of a folder.
fn follow_traces<M: Model>(folder: &Path, map_folder: &dyn Fn(&str) -> PathBuf) {
    let traces = common::files_ending(folder, ".trace.jsonl.gz");
    assert!(!traces.is_empty(), "no traces in {}", folder.display());
    let lines: usize = traces.iter().map(|path| follow::<M>(path, map_folder)).sum();
    println!("{} traces, {lines} lines", traces.len());
}

/// Runs a model over one trace and returns how many lines it has.
fn follow<M: Model>(path: &Path, map_folder: &dyn Fn(&str) -> PathBuf) -> usize {
    let trace = parse(path, &read_gz(path));
    let header = &trace.header;
    let layout = load_layout(&map_folder(&header.map));
    let file = path.file_name().unwrap_or_default().to_string_lossy();
    let mut model = M::new(&layout, &header.rules);
    check_header(&Place { file: &file, line: 1 }, header, &layout, &model.observe());
    for (tick, line) in trace.ticks.iter().zip(2..) {
        model.step(tick.actions.as_deref().unwrap_or_default());
        check_tick(&Place { file: &file, line }, tick, &model.observe());
    }
    trace.ticks.len() + 1
}

/// Where our own traces are.
fn our_traces() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden")
}

/// The folder of one of our own maps.
fn our_map(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("maps").join(name)
}

/// Our own traces: the map, the rules, and how many states the search for a long game keeps; with none,
/// the player does whatever comes up and is soon caught. Every style in both variants, small maps and large ones.
const RECORDED: [(&str, Rules, usize); 8] = [
    ("corner-shop", Rules::BLITZ_2025, 256),
    ("crossroads", Rules::NO_JUMP, 256),
    ("harbour", Rules::BLITZ_2025, 256),
    ("market-square", Rules::NO_JUMP, 256),
    ("old-town", Rules::NO_JUMP, 256),
    ("roundabout", Rules::BLITZ_2025, 0),
    ("stadium", Rules::NO_JUMP, 0),
    ("twin-bridges", Rules::BLITZ_2025, 256),
];

#[test]
#[ignore = "writes tests/golden/ anew"]
fn record_golden() {
    for (name, rules, plan_width) in RECORDED {
        let trace = record(name, &rules, plan_width);
        let variant = if rules.no_jump { "-nojump" } else { "" };
        let path = our_traces().join(format!("{name}{variant}.trace.jsonl.gz"));
        let file = File::create(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let mut gz = GzEncoder::new(file, Compression::best());
        trace.write(&mut gz).and_then(|()| gz.finish()).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        println!("{}: {} ticks", path.display(), trace.ticks.len());
    }
}

/// A game of the reference on one of our maps, each planned move of which hides among odd actions.
fn record(name: &str, rules: &Rules, plan_width: usize) -> Trace {
    let layout = load_layout(&our_map(name));
    let world = World::new(&layout, &rules).expect("our maps are within the limits");
    let (mut state, mut dice) = (world.start(), Dice::from_seed(2025));
    let mut plan = surviving_plan(&world, plan_width, 2025).into_iter();
    let mut game = reference::Game::new(&layout, &rules);
    let mut trace = Trace { header: TraceHeader::new(name, &world), ticks: Vec::new() };
    while !game.over() {
        let command = match plan.next() {
            Some(planned) => disguise(planned, &world, &state, &mut dice),
            None => random_command(&world, &state, &mut dice),
        };
        // As it is read back: JSON has no word for numbers that are none.
        let command: Vec<Action> = serde_json::from_str(&line_of(&command)).expect("a list of actions");
        world.play(&mut state, &command).expect("the models end a game together");
        game.step(&command);
        trace.ticks.push(TraceTick { actions: Some(command), ..Model::observe(&game) });
    }
    trace
}

/// The layout of a map that must be one.
fn load_layout(folder: &Path) -> Layout {
    Map::load(folder).unwrap_or_else(|error| panic!("{error}")).layout
}

/// Where in the recordings a comparison stands.
struct Place<'a> {
    file: &'a str,
    line: usize,
}

impl Place<'_> {
    /// Fails if a field differs.
    #[track_caller]
    fn same<T: PartialEq + Debug>(&self, field: &str, expected: T, found: T) {
        let Self { file, line } = self;
        assert!(expected == found, "{file}, line {line}, {field}: expected {expected:?}, found {found:?}");
    }
}

/// The first line of a trace against the map and the model's first state.
fn check_header(place: &Place, expected: &TraceHeader, layout: &Layout, first: &TraceTick) {
    let world = World::new(layout, &expected.rules).expect("the maps of the traces are within the limits");
    let found = TraceHeader::new(expected.map.clone(), &world);
    place.same("width", expected.width, found.width);
    place.same("height", expected.height, found.height);
    place.same("player", expected.player, first.player);
    place.same("number of threats", expected.threats.len(), first.threats.len());
    for (index, (expected, (spawn, threat))) in
        expected.threats.iter().zip(found.threats.iter().zip(&first.threats)).enumerate()
    {
        place.same(&format!("threat {index}, style"), expected.style, spawn.style);
        place.same(&format!("threat {index}, position"), expected.position, threat.position);
        place.same(&format!("threat {index}, direction"), expected.direction, threat.direction);
    }
    place.same("over", false, first.over);
    place.same("tick", 1, first.tick);
}

/// A later line of a trace against the model's state after that tick.
fn check_tick(place: &Place, expected: &TraceTick, found: &TraceTick) {
    place.same("tick", expected.tick, found.tick);
    place.same("player", expected.player, found.player);
    place.same("number of threats", expected.threats.len(), found.threats.len());
    for (index, (expected, found)) in expected.threats.iter().zip(&found.threats).enumerate() {
        place.same(&format!("threat {index}, x"), expected.position.x, found.position.x);
        place.same(&format!("threat {index}, y"), expected.position.y, found.position.y);
        place.same(&format!("threat {index}, direction"), expected.direction, found.direction);
        place.same(&format!("threat {index}, personality"), expected.personality, found.personality);
    }
    place.same("over", expected.over, found.over);
    place.same("caught", expected.caught, found.caught);
}

/// The text of a gzipped file.
fn read_gz(path: &Path) -> String {
    let file = File::open(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut text = String::new();
    GzDecoder::new(file).read_to_string(&mut text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    text
}

/// A trace that must be one.
fn parse(path: &Path, text: &str) -> Trace {
    Trace::parse(text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// A value as a line of a trace, without its end.
fn line_of(value: &impl serde::Serialize) -> String {
    let mut line = Vec::new();
    write_line(&mut line, value).expect("memory can be written to");
    String::from_utf8(line).expect("JSON is text").trim_end().to_owned()
}
