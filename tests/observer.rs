//! Promise: what an observer asks of a world is what the game does. One threat followed alone does what it does among the others, a world that is recast is
//! the world that would have been built, and who survives a patient world can wait.

mod common;

use common::our_maps;
use getaway::game::{Layout, Move, Position, Rules, State, Style, Threat, Tile, World, WorldBuilder};
use getaway::planner::{Budget, Outcome, SurvivalOptions, SurvivalSearch};
use getaway::search::{Generator, below};
use rand_pcg::rand_core::SeedableRng;

/// Plays random games on our maps and shows every tick: the world, the state before, the move, the state after.
fn for_each_tick(mut see: impl FnMut(&World, &State, Move, &State)) {
    for map in our_maps() {
        let world = World::new(&map.layout, &Rules::BLITZ_2025).unwrap();
        for seed in 0..4 {
            let mut random = Generator::seed_from_u64(seed);
            let mut state = world.start();
            while !state.is_over() {
                let moves: Vec<Move> = world.moves(&state).collect();
                let player_move = moves[below(&mut random, moves.len())];
                let before = state.clone();
                world.step(&mut state, player_move);
                see(&world, &before, player_move, &state);
            }
        }
    }
}

#[test]
fn a_threat_followed_alone_does_what_it_does_among_the_others() {
    let mut threats = 0;
    for_each_tick(|world, before, _, after| {
        let (stale, now) = (world.player(before), world.player(after));
        for index in 0..world.threat_count() {
            let alone = world.threat_after(index, &world.threat(before, index), before.tick(), stale, now).unwrap();
            assert_eq!(alone, world.threat(after, index), "tick {}", before.tick());
            threats += 1;
        }
    });
    assert!(threats > 10_000, "{threats} moves seen");
}

#[test]
fn a_deer_with_its_spawn_for_a_home_does_what_it_does() {
    let mut deers = 0;
    for_each_tick(|world, before, _, after| {
        for (index, spawn) in world.layout().threats.iter().enumerate().filter(|(_, spawn)| spawn.style == Style::Deer)
        {
            let deer = world.threat(before, index);
            let (stale, now) = (world.player(before), world.player(after));
            let next = world.deer_after(&deer, spawn.position, before.tick(), stale, now).unwrap();
            assert_eq!(next, world.threat(after, index), "tick {}", before.tick());
            deers += 1;
        }
    });
    assert!(deers > 1000, "{deers} moves seen");
}

#[test]
fn what_cannot_be_followed_is_refused() {
    let layout = Layout::parse("P.#s").unwrap();
    let world = World::new(&layout, &Rules::BLITZ_2025).unwrap();
    let shark = world.threat(&world.start(), 0);
    let (open, wall) = (layout.player, Position::new(2, 0));
    assert!(world.threat_after(0, &shark, 1, open, open).is_ok());
    assert!(world.threat_after(1, &shark, 1, open, open).is_err());
    assert!(world.threat_after(0, &shark, 0, open, open).is_err());
    assert!(world.threat_after(0, &shark, 2001, open, open).is_err());
    assert!(world.threat_after(0, &shark, 1, wall, open).is_err());
    assert!(world.threat_after(0, &shark, 1, open, wall).is_err());
    assert!(world.threat_after(0, &Threat { position: wall, ..shark }, 1, open, open).is_err());
    assert!(world.deer_after(&Threat { position: wall, ..shark }, open, 1, open, open).is_err());
}

/// Two worlds that play the same random game.
fn assert_same_game(one: &World, other: &World) {
    assert_eq!(one.layout(), other.layout());
    let mut random = Generator::seed_from_u64(5);
    let (mut state, mut twin) = (one.start(), other.start());
    while !state.is_over() {
        let moves: Vec<Move> = one.moves(&state).collect();
        assert_eq!(moves, other.moves(&twin).collect::<Vec<_>>());
        let player_move = moves[below(&mut random, moves.len())];
        one.step(&mut state, player_move);
        other.step(&mut twin, player_move);
        assert_eq!(state, twin);
    }
}

#[test]
fn a_recast_world_is_the_world_that_would_have_been_built() {
    let maps = our_maps();
    let mut world = World::new(&maps[0].layout, &Rules::NO_JUMP).unwrap();
    for map in &maps {
        let mut layout = map.layout.clone();
        // Another map, then the same with a threat less, another style, and a tile that is closed to the player.
        for change in 0..4 {
            match change {
                1 => drop(layout.threats.pop()),
                2 => layout.threats[0].style = Style::Deer,
                3 => {
                    let closed = layout.open_positions().find(|&position| position != layout.player).unwrap();
                    layout.tiles[(closed.y * layout.width + closed.x) as usize] = Tile::SeeThrough;
                }
                _ => {}
            }
            world.set_layout(&layout).unwrap();
            assert_same_game(&world, &World::new(&layout, &Rules::NO_JUMP).unwrap());
        }
    }
    let before = world.layout().clone();
    let nobody = Layout { tiles: vec![Tile::Wall; before.tiles.len()], ..before.clone() };
    assert!(world.set_layout(&nobody).is_err());
    assert_eq!(world.layout(), &before);
}

#[test]
fn a_world_made_in_pieces_is_the_world() {
    for map in our_maps() {
        let mut builder = WorldBuilder::new(&map.layout, &Rules::BLITZ_2025).unwrap();
        assert_eq!(builder.layout(), &map.layout);
        let mut pieces = 1;
        while !builder.advance(7) {
            pieces += 1;
        }
        let world = World::new(&map.layout, &Rules::BLITZ_2025).unwrap();
        assert_eq!(pieces, world.open_tiles().div_ceil(7));
        assert_same_game(&builder.finish(), &world);
        // What is missing is made at the end.
        assert_same_game(&WorldBuilder::new(&map.layout, &Rules::BLITZ_2025).unwrap().finish(), &world);
    }
}

#[test]
fn who_survives_a_patient_world_can_wait_at_any_time() {
    const PATIENCE_MOVES: u8 = 2;
    for map in our_maps() {
        let world = World::new(&map.layout, &Rules::NO_JUMP).unwrap();
        let patient = world.clone().with_patience(PATIENCE_MOVES);
        let limit = Budget::ticks(1_000_000);
        let solution = SurvivalSearch::new(SurvivalOptions::default()).solve(&patient, &patient.start(), limit);
        assert_eq!(solution.outcome, Outcome::Survives, "{}", map.name);
        let mut state = world.start();
        for &player_move in &solution.moves {
            world.step(&mut state, player_move);
            let mut waiting = state.clone();
            let mut moves = 0;
            while !waiting.is_over() && moves < PATIENCE_MOVES {
                moves += u8::from(world.threats_move(&waiting));
                world.step(&mut waiting, Move::Stay);
            }
            assert!(!waiting.is_caught(), "{}: waiting in tick {}", map.name, state.tick());
        }
        assert_eq!(state.tick(), 2001);
    }
}
