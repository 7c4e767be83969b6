//! Checks that a batch of games reproduces recorded traces.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use flate2::read::GzDecoder;
use getaway::batch::Batch;
use getaway::game::{Move, World};
use getaway::map::Map;
use getaway::protocol::{Trace, TraceTick};

use crate::common;

pub fn check(folder: &Path, map_folder: &dyn Fn(&str) -> PathBuf) {
    let files = common::files_ending(folder, ".trace.jsonl.gz");
    let traces: Vec<Trace> = files.iter().map(|path| read_trace(path)).collect();
    assert!(!traces.is_empty(), "no traces in {}", folder.display());
    let world = |trace: &Trace| {
        let map = Map::load(map_folder(&trace.header.map)).unwrap_or_else(|error| panic!("{error}"));
        Arc::new(World::new(&map.layout, &trace.header.rules()).expect("the maps of the traces are within the limits"))
    };
    let mut batch = Batch::new(traces.iter().map(world).collect(), (0..traces.len()).collect());
    let (mut rewards, mut terminations) = (vec![0.0; traces.len()], vec![false; traces.len()]);
    let mut lines = 0;
    for line in 0..traces.iter().map(|trace| trace.ticks.len()).max().unwrap_or_default() {
        let moves: Vec<Move> = (0..traces.len())
            .map(|game| match traces[game].ticks.get(line) {
                Some(tick) => {
                    batch.world(game).resolve(&batch.states()[game], tick.actions.as_deref().unwrap_or_default())
                }
                // After the end of its trace, a game is not compared, so its moves do not matter.
                None => Move::Stay,
            })
            .collect();
        batch.step(&moves, &mut rewards, &mut terminations);
        for (game, (trace, path)) in traces.iter().zip(&files).enumerate() {
            let Some(tick) = trace.ticks.get(line) else { continue };
            let found = TraceTick::of_state(batch.world(game), &batch.states()[game]);
            assert_eq!(found, TraceTick { actions: None, ..tick.clone() }, "{}, line {}", path.display(), line + 2);
            assert_eq!(terminations[game], tick.over, "{}, line {}", path.display(), line + 2);
            lines += 1;
        }
    }
    println!("{} traces, {lines} lines", traces.len());
}

fn read_trace(path: &Path) -> Trace {
    let file = std::fs::File::open(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut text = String::new();
    GzDecoder::new(file).read_to_string(&mut text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    Trace::parse(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
