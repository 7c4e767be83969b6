//! Checks that a model of the rules reproduces recorded traces.

use std::fmt::Debug;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;
use getaway::game::{Action, Layout, Rules, State, World};
use getaway::map::Map;
use getaway::protocol::{Trace, TraceHeader, TraceThreat, TraceTick, write_line};
use getaway_reference as reference;

use crate::common;

pub trait Model {
    fn new(layout: &Layout, rules: &Rules) -> Self;
    fn step(&mut self, actions: &[Action]);
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

pub struct FastModel {
    world: World,
    state: State,
}

impl Model for FastModel {
    fn new(layout: &Layout, rules: &Rules) -> Self {
        let world = World::new(layout, rules).expect("the maps of the traces are within the limits");
        let state = world.start();
        Self { world, state }
    }

    fn step(&mut self, actions: &[Action]) {
        self.world.step_command(&mut self.state, actions).expect("a trace ends with its game");
    }

    fn observe(&self) -> TraceTick {
        TraceTick::of_state(&self.world, &self.state)
    }
}

pub fn follow_traces<M: Model>(folder: &Path, map_folder: &dyn Fn(&str) -> PathBuf) {
    let traces = common::files_ending(folder, ".trace.jsonl.gz");
    assert!(!traces.is_empty(), "no traces in {}", folder.display());
    let lines: usize = traces.iter().map(|path| follow::<M>(path, map_folder)).sum();
    println!("{} traces, {lines} lines", traces.len());
}

fn follow<M: Model>(path: &Path, map_folder: &dyn Fn(&str) -> PathBuf) -> usize {
    let trace = parse(path, &read_gz(path));
    let header = &trace.header;
    let layout = load_layout(&map_folder(&header.map));
    let file = path.file_name().unwrap_or_default().to_string_lossy();
    let mut model = M::new(&layout, &header.rules());
    check_header(&Place { file: &file, line: 1 }, header, &layout, &model.observe());
    for (tick, line) in trace.ticks.iter().zip(2..) {
        model.step(tick.actions.as_deref().unwrap_or_default());
        check_tick(&Place { file: &file, line }, tick, &model.observe());
    }
    trace.ticks.len() + 1
}

pub fn round_trip(folder: &Path) {
    let traces = common::files_ending(folder, ".trace.jsonl.gz");
    assert!(!traces.is_empty(), "no traces in {}", folder.display());
    for path in traces {
        let text = read_gz(&path);
        let trace = parse(&path, &text);
        let written = std::iter::once(line_of(&trace.header)).chain(trace.ticks.iter().map(line_of));
        for ((written, recorded), line) in written.zip(text.lines()).zip(1..) {
            assert_eq!(written, recorded, "{}, line {line}", path.display());
        }
        assert_eq!(trace.ticks.len() + 1, text.lines().count(), "{}", path.display());
    }
}

pub fn load_layout(folder: &Path) -> Layout {
    Map::load(folder).unwrap_or_else(|error| panic!("{error}")).layout
}

struct Place<'a> {
    file: &'a str,
    line: usize,
}

impl Place<'_> {
    #[track_caller]
    fn same<T: PartialEq + Debug>(&self, field: &str, expected: T, found: T) {
        let Self { file, line } = self;
        assert!(expected == found, "{file}, line {line}, {field}: expected {expected:?}, found {found:?}");
    }
}

fn check_header(place: &Place, expected: &TraceHeader, layout: &Layout, first: &TraceTick) {
    let world = World::new(layout, &expected.rules()).expect("the maps of the traces are within the limits");
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

pub fn read_gz(path: &Path) -> String {
    let file = File::open(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut text = String::new();
    GzDecoder::new(file).read_to_string(&mut text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    text
}

fn parse(path: &Path, text: &str) -> Trace {
    Trace::parse(text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

pub fn line_of(value: &impl serde::Serialize) -> String {
    let mut line = Vec::new();
    write_line(&mut line, value).expect("memory can be written to");
    String::from_utf8(line).expect("JSON is text").trim_end().to_owned()
}
