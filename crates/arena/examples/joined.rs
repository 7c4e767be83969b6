//! Plays games in which a second bot takes over from the first in one of `TICKS`. The second bot
//! has not seen earlier ticks, so it does not know the threats' memories, seeds or idle moves.
//!
//! ```sh
//! cargo run --release -p getaway-arena --example joined -- --maps path/to/maps
//! ```

use std::error::Error;
use std::time::Duration;

use getaway::bot::{Bot, BotOptions};
use getaway::game::{LAST_TICK, Rules, World};
use getaway::map::{Map, MapEntry, MapLibrary};
use getaway::protocol::GameMessage;
use getaway::search::Budget;
use getaway::solve::{Solver, SolverOptions};

const TICKS: [u16; 5] = [50, 300, 700, 901, 1200];
const SEEDS: u64 = 3;
/// Budget of the search that follows a loss of the second bot. The search starts from the state at
/// the takeover, and knows the threats' memories.
const SOLVER_BUDGET: Budget = Budget::ticks(300_000);

fn main() -> Result<(), Box<dyn Error>> {
    let mut budget = Budget::time(Duration::from_millis(75));
    let mut maps: Vec<Map> = Vec::new();
    let mut only: Option<(String, u64, u16)> = None;
    let mut variants = vec![("with jumping", Rules::BLITZ_2025), ("without jumping", Rules::NO_JUMP)];
    let mut arguments = std::env::args().skip(1);
    while let Some(name) = arguments.next() {
        let value = arguments.next().ok_or_else(|| format!("{name}: expected a value"))?;
        match name.as_str() {
            "--budget-ticks" => budget = Budget::ticks(value.parse()?),
            "--maps" => {
                maps = MapLibrary::new([&value]).list()?.iter().map(MapEntry::load).collect::<Result<_, _>>()?;
            }
            "--game" => {
                let [map, seed, tick] = value.split(',').collect::<Vec<_>>()[..] else {
                    return Err(format!("{value}: expected MAP,SEED,TICK").into());
                };
                only = Some((map.to_owned(), seed.parse()?, tick.parse()?));
            }
            "--only" => variants.retain(|(name, _)| *name == value),
            _ => return Err(format!("{name}: expected --maps, --budget-ticks, --game or --only").into()),
        }
    }
    if maps.is_empty() {
        return Err("expected --maps with a folder of maps".into());
    }
    for (variant, rules) in variants {
        let (mut survived, mut games) = (0, 0);
        for map in &maps {
            let world = World::new(&map.layout, &rules)?;
            for seed in 0..SEEDS {
                let options = BotOptions { budget, rules, seed, ..BotOptions::default() };
                let is_wanted = |&joined: &u16| {
                    only.as_ref()
                        .is_none_or(|game| (game.0.as_str(), game.1, game.2) == (map.name.as_str(), seed, joined))
                };
                for joined in TICKS.into_iter().filter(is_wanted) {
                    let mut host = Bot::new(options.clone())?;
                    let mut guest = Bot::new(options.clone())?;
                    let mut state = world.start();
                    let mut at_joining = None;
                    while !state.is_over() {
                        let bot = if state.tick() < joined { &mut host } else { &mut guest };
                        if state.tick() == joined {
                            at_joining = Some(state.clone());
                        }
                        let player_move = bot.next_action(&GameMessage::of(&world, &state, "us"))?.player_move;
                        world.step_unchecked(&mut state, player_move);
                    }
                    if state.tick() < joined {
                        println!("{variant}, {} seed {seed}: already over in tick {}", map.name, state.tick());
                        continue;
                    }
                    games += 1;
                    let lives = state.tick() > LAST_TICK;
                    survived += u32::from(lives);
                    if !lives {
                        let missed = guest.mispredictions_by_threat();
                        let search = Solver::survival_search(SolverOptions::default());
                        let solution = at_joining.map(|state| { search }.solve(&world, &state, SOLVER_BUDGET));
                        let known = solution.map_or("none", |solution| solution.outcome.name());
                        println!(
                            "{variant}, {} seed {seed} joined in tick {joined}: over in tick {}, mispredictions {missed:?}; a search that knows the memories: {known}",
                            map.name,
                            state.tick()
                        );
                    }
                }
            }
        }
        println!("{variant}: {survived} of {games} games survived");
    }
    Ok(())
}
