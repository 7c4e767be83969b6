//! Writes the plans in `benches/plans/`, one for each of `OUR_MAPS`. A plan survives a whole game,
//! even in the no-jump variant. It has one letter per tick: L, R, U, D, or `.` to stay.

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use getaway::game::{LAST_TICK, Move, Rules, World};
use getaway::map::Map;
use getaway_reference::lockstep::surviving_plan;

#[path = "../../../benches/games/mod.rs"]
#[allow(dead_code, reason = "only the names of the maps are needed")]
mod games;

const BEAM_WIDTH: usize = 512;
const MAX_ATTEMPTS: u64 = 20;
const LINE_LENGTH: usize = 100;

fn main() -> ExitCode {
    let here = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    for name in games::OUR_MAPS {
        let map = Map::load(here.join("maps").join(name)).unwrap_or_else(|error| panic!("{error}"));
        let world = World::new(&map.layout, &Rules::NO_JUMP).expect("our maps are within the limits");
        let mut plans = (1..=MAX_ATTEMPTS).map(|seed| surviving_plan(&world, BEAM_WIDTH, seed));
        let Some(plan) = plans.find(|plan| plan.len() == usize::from(LAST_TICK)) else {
            println!("{name}: no plan survives");
            return ExitCode::FAILURE;
        };
        let letters: Vec<char> = plan.into_iter().map(Move::letter).collect();
        let lines: String = letters.chunks(LINE_LENGTH).map(|line| line.iter().collect::<String>() + "\n").collect();
        let path = here.join("benches/plans").join(name).with_extension("txt");
        fs::write(&path, lines).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        println!("{name}: a plan of {} ticks", letters.len());
    }
    ExitCode::SUCCESS
}
