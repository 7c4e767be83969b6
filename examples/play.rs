//! Plays a game on a bundled map with a planner, and prints one line per tick:
//! `cargo run --release --example play -- uct-greedy`.

use std::error::Error;

use getaway::game::{Game, Rules};
use getaway::map::MapLibrary;
use getaway::planner::{DEFAULT_NAME, by_name};
use getaway::search::Budget;

fn main() -> Result<(), Box<dyn Error>> {
    let name = std::env::args().nth(1).unwrap_or_else(|| DEFAULT_NAME.to_owned());
    let map = MapLibrary::default().find("roundabout")?;
    let mut game = Game::new(&map.layout, &Rules::BLITZ_2025)?;
    let mut planner = by_name(&name, 1)?;
    while !game.state().is_over() {
        let choice = planner.decide(game.world(), game.state(), Budget::ticks(20_000))?;
        let (tick, at) = (game.state().tick(), game.player());
        println!("tick {tick}: at ({}, {}), {:?} by {}", at.x, at.y, choice.player_move, choice.source);
        game.step(choice.player_move)?;
    }
    println!("{} points", game.score());
    Ok(())
}
