//! Guarantees: a threat that is stepped alone moves as in the game. A world that is set to a layout
//! equals a world built from that layout. Waiting equals staying tick by tick.

use crate::common::our_maps;
use getaway::game::{Layout, Move, Position, Rules, State, Style, Threat, Tile, World, WorldBuilder};
use getaway::search::Random;
use serde_json::{Value, json};

fn for_each_tick(mut see: impl FnMut(&World, &State, Move, &State)) {
    for map in our_maps() {
        let world = World::new(&map.layout, &Rules::BLITZ_2025).unwrap();
        for seed in 0..4 {
            let mut random = Random::from_seed(seed);
            let mut state = world.start();
            while !state.is_over() {
                let moves: Vec<Move> = world.legal_moves(&state).collect();
                let player_move = moves[random.below(moves.len())];
                let before = state.clone();
                world.step_unchecked(&mut state, player_move);
                see(&world, &before, player_move, &state);
            }
        }
    }
}

#[test]
fn threat_stepped_alone_moves_as_in_the_game() {
    let mut threats = 0;
    for_each_tick(|world, before, _, after| {
        let (stale, now) = (world.player(before), world.player(after));
        for index in 0..world.threat_count() {
            let stepped = world.threat_after(index, &world.threat(before, index), before.tick(), stale, now).unwrap();
            assert_eq!(stepped, world.threat(after, index), "tick {}", before.tick());
            threats += 1;
        }
    });
    assert!(threats > 10_000, "{threats} moves seen");
}

#[test]
fn deer_stepped_with_its_spawn_as_home_moves_as_in_the_game() {
    let mut deer_moves = 0;
    for_each_tick(|world, before, _, after| {
        for (index, spawn) in world.layout().threats.iter().enumerate().filter(|(_, spawn)| spawn.style == Style::Deer)
        {
            let deer = world.threat(before, index);
            let (stale, now) = (world.player(before), world.player(after));
            let next = world.deer_after(&deer, spawn.position, before.tick(), stale, now).unwrap();
            assert_eq!(next, world.threat(after, index), "tick {}", before.tick());
            deer_moves += 1;
        }
    });
    assert!(deer_moves > 1000, "{deer_moves} moves seen");
}

#[test]
fn invalid_queries_are_rejected() {
    let layout = Layout::parse("P.#S").unwrap();
    let world = World::new(&layout, &Rules::BLITZ_2025).unwrap();
    let shark = world.threat(&world.start(), 0);
    let (open, wall) = (layout.player, Position::new(2, 0));
    assert!(world.threat_after(0, &shark, 1, open, open).is_ok());
    let error = |index, tick| world.threat_after(index, &shark, tick, open, open).unwrap_err().to_string();
    assert_eq!(error(1, 1), "threat 1: expected an index below 1, the number of threats");
    assert_eq!([error(0, 0), error(0, 2001)], ["tick 0: expected 1 to 2000", "tick 2001: expected 1 to 2000"]);
    assert!(world.threat_after(0, &shark, 1, wall, open).is_err());
    assert!(world.threat_after(0, &shark, 1, open, wall).is_err());
    assert!(world.threat_after(0, &Threat { position: wall, ..shark }, 1, open, open).is_err());
    assert!(world.deer_after(&Threat { position: wall, ..shark }, open, 1, open, open).is_err());
}

#[test]
fn empty_grid_is_rejected() {
    let (tiles, threats) = (Vec::new(), Vec::new());
    let layout = Layout { width: 0, height: 0, tiles, player: Position::new(0, 0), threats };
    let error = World::new(&layout, &Rules::BLITZ_2025).unwrap_err().to_string();
    assert_eq!(error, "0 tiles for a grid of 0x0: expected width x height tiles, at least one");
}

fn assert_same_game(one: &World, other: &World) {
    assert_eq!(one.layout(), other.layout());
    let mut random = Random::from_seed(5);
    let (mut state, mut twin) = (one.start(), other.start());
    while !state.is_over() {
        let moves: Vec<Move> = one.legal_moves(&state).collect();
        assert_eq!(moves, other.legal_moves(&twin).collect::<Vec<_>>());
        let player_move = moves[random.below(moves.len())];
        one.step_unchecked(&mut state, player_move);
        other.step_unchecked(&mut twin, player_move);
        assert_eq!(state, twin);
    }
}

#[test]
fn world_with_a_new_layout_equals_one_built_from_it() {
    let maps = our_maps();
    let mut world = World::new(&maps[0].layout, &Rules::NO_JUMP).unwrap();
    for map in &maps {
        let mut layout = map.layout.clone();
        // Change 0 keeps the map. The other changes remove a threat, set the style of a threat, and
        // close a tile, one after the other.
        for change in 0..4 {
            match change {
                1 => drop(layout.threats.pop()),
                2 => layout.threats[0].style = Style::Deer,
                3 => {
                    let closed = layout.open_positions().find(|&position| position != layout.player).unwrap();
                    layout.set_tile(closed, Tile::SeeThrough);
                }
                _ => {}
            }
            world.set_layout(&layout).unwrap();
            assert_same_game(&world, &World::new(&layout, &Rules::NO_JUMP).unwrap());
        }
    }
    let before = world.layout().clone();
    let all_walls = Layout { tiles: vec![Tile::Wall; before.tiles.len()], ..before.clone() };
    assert!(world.set_layout(&all_walls).is_err());
    assert_eq!(world.layout(), &before);
}

/// Another valid value of a rule, given the rule's name and value in JSON.
fn changed(name: &str, value: &Value) -> Value {
    match value {
        Value::Bool(is_on) => json!(!is_on),
        Value::Number(number) if number.is_f64() => json!(number.as_f64().unwrap() + 1.0),
        Value::Number(number) => json!(number.as_i64().unwrap() + 1),
        Value::Array(order) => order.iter().rev().cloned().collect(),
        Value::Object(fields) => fields.iter().map(|(name, value)| (name.clone(), changed(name, value))).collect(),
        Value::String(word) => match (name, word.as_str()) {
            ("style_names", _) => json!("unknown"),
            ("personalities", _) => json!("missing"),
            (_, "stale") => json!("present"),
            (_, "present") => json!("stale"),
            _ => panic!("no other value is known for {name}"),
        },
        Value::Null => panic!("{name} has no value"),
    }
}

#[test]
fn world_with_another_rule_equals_one_built_with_it() {
    let server = serde_json::to_value(Rules::BLITZ_2025).unwrap();
    for map in our_maps() {
        let world = World::new(&map.layout, &Rules::BLITZ_2025).unwrap();
        for (name, value) in server.as_object().unwrap() {
            let mut fields = server.clone();
            fields[name] = changed(name, value);
            let rules: Rules = serde_json::from_value(fields).unwrap();
            assert_ne!(rules, Rules::BLITZ_2025, "{name}");
            let other = world.rebuilt(&map.layout, &rules).unwrap();
            assert_eq!(other.rules(), &rules);
            assert_eq!(other.best_intersections(), World::new(&map.layout, &rules).unwrap().best_intersections());
            assert_same_game(&other, &World::new(&map.layout, &rules).unwrap());
            assert_same_game(&other.rebuilt(&map.layout, &Rules::BLITZ_2025).unwrap(), &world);
        }
    }
}

#[test]
fn world_built_in_slices_equals_one_built_at_once() {
    for map in our_maps() {
        let mut builder = WorldBuilder::new(&map.layout, &Rules::BLITZ_2025).unwrap();
        assert_eq!(builder.layout(), &map.layout);
        let mut slices = 1;
        while !builder.advance() {
            slices += 1;
        }
        let world = World::new(&map.layout, &Rules::BLITZ_2025).unwrap();
        assert_eq!(slices, world.open_tile_count().div_ceil(128));
        assert_same_game(&builder.finish(), &world);
        assert_same_game(&WorldBuilder::new(&map.layout, &Rules::BLITZ_2025).unwrap().finish(), &world);
    }
}

#[test]
fn waiting_equals_staying_tick_by_tick() {
    for_each_tick(|world, _, _, after| {
        let (mut waited, mut stayed) = (after.clone(), after.clone());
        world.wait(&mut waited, 3);
        let mut moves = 0;
        while !stayed.is_over() && moves < 3 {
            moves += u8::from(world.threats_move(&stayed));
            world.step_unchecked(&mut stayed, Move::Stay);
        }
        assert_eq!(waited, stayed, "after tick {}", after.tick());
    });
}
