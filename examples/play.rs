//! Plays a game with a planner and prints one line per tick:
//! `cargo run --example play -- uct-greedy`.

use std::error::Error;

use getaway::game::{Game, Layout, Rules};
use getaway::planner::{DEFAULT_NAME, by_name};
use getaway::search::Budget;

const MAP: &str = "
    ###########
    #P........#
    #.###.###.#
    #...#.#...#
    #.#.....#.#
    #....S..G.#
    ###########";

fn main() -> Result<(), Box<dyn Error>> {
    let name = std::env::args().nth(1).unwrap_or_else(|| DEFAULT_NAME.to_owned());
    let mut game = Game::new(&Layout::parse(MAP)?, &Rules::BLITZ_2025)?;
    let mut planner = by_name(&name, 1)?;
    while !game.state().is_over() {
        let (world, state) = (game.world(), game.state());
        let choice = planner.decide(world, state, Budget::ticks(20_000))?;
        let at = world.player(state);
        println!("tick {}: at ({}, {}), {:?} by {}", state.tick(), at.x, at.y, choice.player_move, choice.source);
        game.play(choice.player_move)?;
    }
    println!("{} points", game.score());
    Ok(())
}
