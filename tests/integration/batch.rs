//! Guarantees: a game in a batch has the same states as the same game stepped alone, whatever the
//! other games are and however the batch is divided. Observations agree with the states.

use std::collections::HashSet;
use std::sync::Arc;

use crate::batch_traces;
use crate::common;
use getaway::batch::{Batch, Shape};
use getaway::game::{Layout, Move, Mover, Rules, State, Style, UNREACHED, World};
use getaway_reference::lockstep::{Dice, random_layout};

#[test]
fn batch_agrees_with_the_bundled_traces() {
    batch_traces::check(&common::root().join("tests/golden"), &|map| common::root().join("maps").join(map));
}

fn random_worlds(seeds: std::ops::Range<u64>) -> Vec<Arc<World>> {
    let world = |seed| {
        let mut dice = Dice::from_seed(seed);
        let rules = Rules { no_jump: dice.one_in(2), ..Rules::BLITZ_2025 };
        Arc::new(World::new(&random_layout(&mut dice), &rules).expect("random maps are within the limits"))
    };
    seeds.map(world).collect()
}

fn random_batch(dice: &mut Dice, games: usize) -> Batch {
    let first = dice.below(1000) as u64;
    let worlds = random_worlds(first..first + 12);
    let mut world_of = Vec::new();
    while world_of.len() < games {
        let world = dice.below(worlds.len());
        world_of.extend(std::iter::repeat_n(world, 1 + dice.below(90)));
    }
    world_of.truncate(games);
    Batch::new(worlds, world_of)
}

/// Returns the number of games that were reset.
fn compare_batch_with_games_stepped_alone(seed: u64) -> usize {
    let mut dice = Dice::from_seed(seed);
    let mut batch = random_batch(&mut dice, 700);
    let (mut rewards, mut terminations) = (vec![9.0; 700], vec![true; 700]);
    let mut single: Vec<State> = batch.states().to_vec();
    let mut resets = 0;
    for _ in 0..400 {
        let moves: Vec<Move> = single.iter().map(|_| dice.pick(&Move::ALL)).collect();
        batch.step(&moves, &mut rewards, &mut terminations);
        for (game, state) in single.iter_mut().enumerate() {
            let world = batch.world(game);
            let expected = if state.is_over() {
                (*state, resets) = (world.start(), resets + 1);
                (0.0, false)
            } else {
                let tick = state.tick();
                world.step_unchecked(state, moves[game]);
                (f32::from(state.tick() - tick), state.is_over())
            };
            assert_eq!((rewards[game], terminations[game]), expected, "game {game}");
            assert_eq!(&batch.states()[game], state, "game {game}");
        }
    }
    resets
}

#[test]
fn games_of_a_batch_equal_games_stepped_alone() {
    assert!(compare_batch_with_games_stepped_alone(14) > 1000);
}

#[test]
#[ignore = "takes seconds"]
fn ten_million_ticks_of_batches_equal_games_stepped_alone() {
    assert!((1000..1036).map(compare_batch_with_games_stepped_alone).sum::<usize>() > 10_000);
}

#[test]
fn parts_of_a_batch_play_like_the_whole_batch() {
    let mut dice = Dice::from_seed(15);
    let mut whole = random_batch(&mut dice, 333);
    let mut divided = whole.clone();
    let (compact, planes) = (whole.shape().compact(), whole.shape().planes().iter().product::<usize>());
    for count in [1, 2, 3, 7, 333, 1000] {
        for _ in 0..30 {
            let moves: Vec<Move> = (0..333).map(|_| dice.pick(&Move::ALL)).collect();
            let mut results = [0, 1].map(|_| (vec![0.0; 333], vec![false; 333], vec![0; 333 * compact]));
            let mut pictures = [vec![0; 333 * planes], vec![0; 333 * planes]];
            for (batch, parts, (rewards, terminations, observations), pictures) in
                [(&mut whole, 1), (&mut divided, count)]
                    .into_iter()
                    .zip(&mut results)
                    .zip(&mut pictures)
                    .map(|(((batch, parts), results), pictures)| (batch, parts, results, pictures))
            {
                let games = batch.part_games(parts);
                let mut from = 0;
                for mut part in batch.parts(parts) {
                    let games = from..from + games.min(part.len());
                    part.step(&moves[games.clone()], &mut rewards[games.clone()], &mut terminations[games.clone()]);
                    part.write_compact(&mut observations[games.start * compact..games.end * compact]);
                    part.write_planes(&mut pictures[games.start * planes..games.end * planes]);
                    from = games.end;
                }
                assert_eq!(from, 333);
            }
            assert!(results[0] == results[1] && pictures[0] == pictures[1], "{count} parts");
        }
    }
    assert_eq!(whole.states(), divided.states());
}

#[test]
fn observations_agree_with_the_state() {
    let mut dice = Dice::from_seed(16);
    let mut batch = random_batch(&mut dice, 200);
    let shape = batch.shape();
    let plane = shape.width * shape.height;
    let (mut compact, mut states) = (vec![7; 200 * shape.compact()], vec![7; 200 * shape.state()]);
    let mut planes = vec![7; 200 * Shape::PLANES * plane];
    for _ in 0..120 {
        let moves: Vec<Move> = (0..200).map(|_| dice.pick(&Move::ALL)).collect();
        batch.step(&moves, &mut [0.0; 200], &mut [false; 200]);
        let part = batch.parts(1).next().expect("a batch of games");
        part.write_compact(&mut compact);
        part.write_states(&mut states);
        part.write_planes(&mut planes);
        for (game, state) in batch.states().iter().enumerate() {
            let world = batch.world(game);
            check_compact(world, state, &compact[game * shape.compact()..][..shape.compact()]);
            check_state(world, state, &states[game * shape.state()..][..shape.state()]);
            check_planes(
                world,
                state,
                shape.width,
                plane,
                &planes[game * Shape::PLANES * plane..][..Shape::PLANES * plane],
            );
        }
    }
}

/// The number of steps that a threat needs between two tiles, or `FAR_STEPS` if there is no path.
/// Does not use the tables of the observations.
fn steps(world: &World, from: u16, to: u16) -> i16 {
    let steps = world.graph().distances(Mover::Threat, from)[usize::from(to)];
    if steps == UNREACHED { Shape::FAR_STEPS } else { steps as i16 }
}

/// The moves that are not blocked, even if the game is over.
fn open_moves(world: &World, state: &State) -> Vec<Move> {
    let tile = |player_move| world.tile_after(state, player_move);
    Move::ALL.into_iter().filter(|&one| one == Move::Stay || tile(one) != tile(Move::Stay)).collect()
}

fn check_compact(world: &World, state: &State, found: &[i16]) {
    let player = world.player(state);
    let wait = (state.tick()..).position(|tick| world.clock().threats_move(tick)).expect("threats move eventually");
    assert_eq!(found[..Shape::CLEARANCE], [state.tick() as i16, wait as i16, player.x as i16, player.y as i16]);
    let tile = |position| world.graph().tile(position).expect("a street");
    let threats: Vec<_> = world.threats(state).collect();
    let open = open_moves(world, state);
    for player_move in Move::ALL {
        let clearance = if open.contains(&player_move) {
            let next = world.tile_after(state, player_move);
            let steps = threats.iter().map(|threat| steps(world, tile(threat.position), next));
            steps.min().unwrap_or(Shape::FAR_STEPS)
        } else {
            -1
        };
        assert_eq!(found[Shape::CLEARANCE + player_move as usize], clearance, "{player_move:?}");
    }
    let mut rows = found[Shape::COMPACT_HEADER..].chunks_exact(Shape::COMPACT_THREAT);
    for (row, threat) in rows.by_ref().zip(&threats) {
        let (place, steps) = (threat.position, steps(world, tile(threat.position), tile(player)));
        let style = Style::ALL.iter().position(|&style| style == threat.style).expect("one of all");
        assert_eq!(row, [place.x as i16, place.y as i16, threat.direction as i16, style as i16, steps]);
    }
    assert!(rows.flatten().all(|&number| number == -1), "rows after the last threat must be -1");
}

fn check_state(world: &World, state: &State, found: &[i16]) {
    let position = |x: i16, y: i16| getaway::game::Position::new(i32::from(x), i32::from(y));
    let rows = found[Shape::STATE_HEADER..].chunks_exact(Shape::STATE_THREAT).take(world.threat_count());
    let threats: Vec<_> = rows
        .map(|row| {
            let place = (row[5] > 0).then(|| position(row[6], row[7]));
            let style = Style::ALL[row[3] as usize];
            getaway::game::Threat {
                style,
                position: position(row[0], row[1]),
                direction: getaway::game::Direction::ALL[row[2] as usize],
                draws: row[4] as u16,
                remembered: place.filter(|_| style == Style::Owl),
                seen: place.filter(|_| style == Style::Hawk && row[5] == 1),
                post: place.filter(|_| row[5] == 2),
                idle_rounds: row[8] as i8,
            }
        })
        .collect();
    let again = world.state_at(found[0] as u16, position(found[2], found[3]), &threats).expect("a state of this world");
    assert_eq!(&again, state);
    assert_eq!(found[1], i16::from(world.ticks_since_move(state)));
}

fn check_planes(world: &World, state: &State, width: usize, plane: usize, found: &[u8]) {
    let layout = world.layout();
    let at = |number: usize, x: i32, y: i32| found[number * plane + y as usize * width + x as usize];
    let sum = |number: usize| found[number * plane..][..plane].iter().map(|&value| u32::from(value)).sum::<u32>();
    for (y, x) in (0..layout.height).flat_map(|y| (0..layout.width).map(move |x| (y, x))) {
        let position = getaway::game::Position::new(x, y);
        assert_eq!(at(0, x, y) == 1, layout.tile(position) == getaway::game::Tile::Open);
        assert_eq!(at(1, x, y) == 1, layout.is_open(position));
    }
    let player = world.player(state);
    assert_eq!((at(2, player.x, player.y), sum(2)), (1, 1));
    let threats: Vec<_> = world.threats(state).collect();
    for threat in &threats {
        let same = |other: &&getaway::game::Threat| other.position == threat.position;
        let alike = threats.iter().filter(same).filter(|other| other.style == threat.style).count();
        let heading = threats.iter().filter(same).filter(|other| other.direction == threat.direction).count();
        assert_eq!(usize::from(at(3 + threat.style as usize, threat.position.x, threat.position.y)), alike);
        assert_eq!(usize::from(at(9 + threat.direction as usize, threat.position.x, threat.position.y)), heading);
    }
    assert_eq!((3..9).map(sum).sum::<u32>() as usize, threats.len());
    assert_eq!((9..13).map(sum).sum::<u32>() as usize, threats.len());
    assert_eq!(u32::from(found[14 * plane]), u32::from(state.tick()) * 255 / 2001);
}

#[test]
fn observations_of_the_largest_maps_agree_with_the_state() {
    let row = ".".repeat(63);
    let rows = [format!("P{row}"), format!(".{}H", &row[1..])];
    let drawing = rows.into_iter().chain((2..64).map(|_| format!(".{row}"))).collect::<Vec<_>>().join("\n");
    let layout = Layout::parse(&drawing).expect("a hall of the largest size");
    let world = World::new(&layout, &Rules::BLITZ_2025).expect("a hall of the largest size");
    let mut batch = Batch::new(vec![Arc::new(world)], vec![0]);
    let mut compact = vec![0; batch.shape().compact()];
    for player_move in [Move::Stay, Move::Down, Move::Right, Move::Up, Move::Left, Move::Stay] {
        batch.step(&[player_move], &mut [0.0], &mut [false]);
        batch.parts(1).next().expect("a game").write_compact(&mut compact);
        check_compact(batch.world(0), &batch.states()[0], &compact);
    }
}

#[test]
fn windows_features_and_masks_agree_with_slow_implementations() {
    const SIDE: usize = 5;
    let mut dice = Dice::from_seed(17);
    let worlds = random_worlds(20..30);
    let world_of = (0..60).map(|game| game % worlds.len()).collect();
    let mut batch = Batch::with_window(worlds, world_of, SIDE);
    let window = Shape::WINDOW_PLANES * SIDE * SIDE;
    assert_eq!(batch.shape().windows(), [Shape::WINDOW_PLANES, SIDE, SIDE]);
    let (mut windows, mut features) = (vec![7; 60 * window], vec![7; 60 * Shape::FEATURES]);
    let mut checked_moves = 0;
    for round in 0..60 {
        if round == 40 {
            for game in 0..60 {
                let (world, state) = (Arc::clone(batch.world(game)), &batch.states()[game]);
                let threats: Vec<_> = world.threats(state).collect();
                let tick = 290 + 100 * dice.below(10) as u16;
                batch.set_state(game, world.state_at(tick, world.player(state), &threats).expect("a state"));
            }
        }
        let moves: Vec<Move> = (0..60).map(|_| dice.pick(&Move::ALL)).collect();
        batch.step(&moves, &mut [0.0; 60], &mut [false; 60]);
        let part = batch.part(0..60);
        part.write_windows(&mut windows);
        part.write_features(&mut features);
        let masks = batch.action_masks(&batch.player_tiles()).expect("tiles of the players");
        for (game, state) in batch.states().iter().enumerate() {
            let world = batch.world(game);
            check_window(world, state, SIDE, &windows[game * window..][..window]);
            check_features(world, state, &features[game * Shape::FEATURES..][..Shape::FEATURES]);
            let open = open_moves(world, state);
            assert_eq!(masks[game * 5..][..5], Move::ALL.map(|player_move| i8::from(open.contains(&player_move))));
            checked_moves += open.len();
        }
    }
    assert!(checked_moves > 5000, "{checked_moves} moves");
}

fn check_window(world: &World, state: &State, side: usize, found: &[u8]) {
    let (player, half) = (world.player(state), side as i32 / 2);
    let threats: Vec<_> = world.threats(state).collect();
    let wait = (state.tick()..).position(|tick| world.clock().threats_move(tick)).expect("threats move eventually");
    for (row, column) in (0..side).flat_map(|row| (0..side).map(move |column| (row, column))) {
        let place = getaway::game::Position::new(player.x + column as i32 - half, player.y + row as i32 - half);
        let tile = world.layout().tile(place);
        let mut expected = vec![u8::from(tile == getaway::game::Tile::Open), u8::from(tile.is_open())];
        let count = |keeps: &dyn Fn(&getaway::game::Threat) -> bool| {
            threats.iter().filter(|threat| threat.position == place && keeps(threat)).count() as u8
        };
        expected.extend(Style::ALL.iter().map(|&style| count(&|threat| threat.style == style)));
        expected.extend(getaway::game::Direction::ALL.iter().map(|&way| count(&|threat| threat.direction == way)));
        expected.extend([wait as u8, (u32::from(state.tick()) * 255 / 2001) as u8]);
        let values: Vec<u8> = found.chunks_exact(side * side).map(|plane| plane[row * side + column]).collect();
        assert_eq!(values, expected, "row {row}, column {column}");
    }
}

/// The number of further ticks that the player can survive, at most `ticks`. Ticks after the end of
/// a survived game count.
fn life(world: &World, state: &State, ticks: u16) -> i16 {
    let mut layer = HashSet::from([state.clone()]);
    layer.retain(|state| !state.is_caught());
    for tick in 0..ticks {
        if layer.iter().any(State::is_over) {
            return ticks as i16;
        }
        let next = layer.iter().flat_map(|state| world.successors(state)).map(|(_, next)| next);
        layer = next.filter(|next| !next.is_caught()).collect();
        if layer.is_empty() {
            return tick as i16;
        }
    }
    ticks as i16
}

fn check_features(world: &World, state: &State, found: &[i16]) {
    let pace = |tick: u16| {
        let wait = (tick..).position(|tick| world.clock().threats_move(tick)).expect("threats move eventually");
        (wait as i16, i16::from(world.clock().period_ticks_at(tick)))
    };
    let (wait, period) = pace(state.tick());
    assert_eq!(found[..Shape::FEATURES_HEADER], [state.tick() as i16, wait, period]);
    let open: Vec<Move> = world.legal_moves(state).collect();
    for (player_move, found) in
        Move::ALL.iter().zip(found[Shape::FEATURES_HEADER..].chunks_exact(Shape::FEATURES_ACTION))
    {
        if !open.contains(player_move) {
            assert_eq!(found, [-1; Shape::FEATURES_ACTION]);
            continue;
        }
        let next = world.after(state, *player_move);
        let (graph, (wait, period)) = (world.graph(), pace(next.tick()));
        let player = world.tile_after(&next, Move::Stay);
        let tile_of = |index| graph.tile(world.threat(&next, index).position).expect("an open tile");
        let threats: Vec<u16> = (0..world.threat_count()).map(tile_of).collect();
        let arrival = |tile: u16| {
            let arrivals = threats.iter().map(|&threat| match steps(world, threat, tile) {
                Shape::FAR_STEPS => i16::MAX,
                0 => 0,
                steps => wait + 1 + (steps - 1) * period,
            });
            arrivals.min().unwrap_or(i16::MAX)
        };
        let reached = graph.distances(Mover::Player, player);
        // The library stores each arrival time in one byte, so 255 is the maximum.
        let lead = |tile: u16| arrival(tile).min(255) - reached[usize::from(tile)].min(255) as i16;
        let leads: Vec<i16> = (0..graph.len() as u16).map(lead).filter(|&lead| lead > 0 && !next.is_caught()).collect();
        let nearest_of = |style: Option<Style>| {
            let of_style =
                |&(index, _): &(usize, &u16)| style.is_none_or(|style| world.layout().threats[index].style == style);
            let threats = threats.iter().enumerate().filter(of_style);
            threats.map(|(_, &threat)| steps(world, threat, player)).min().unwrap_or(Shape::FAR_STEPS)
        };
        let mut expected = vec![
            nearest_of(None),
            leads.len() as i16,
            dead_end_depth(world, player),
            graph.ways(Mover::Player, player).count() as i16,
            leads.iter().copied().max().unwrap_or(0),
            leads.iter().map(|&lead| lead.min(Shape::LEAD_TICKS_MAX.into())).sum(),
            life(world, &next, Shape::LIFE_TICKS_MAX),
        ];
        expected.extend(Style::ALL.map(|style| nearest_of(Some(style))));
        assert_eq!(found, expected, "{player_move:?} from {:?}, tick {}", world.player(state), state.tick());
    }
}

/// The number of steps to the nearest tile that is not in a dead end, or `FAR_STEPS` if none can be
/// reached. Removing tiles with at most one exit, until every remaining tile has two or more,
/// removes all dead ends.
fn dead_end_depth(world: &World, tile: u16) -> i16 {
    let graph = world.graph();
    let mut kept: Vec<bool> =
        graph.positions().iter().map(|&place| world.layout().tile(place) == getaway::game::Tile::Open).collect();
    loop {
        let exits = |tile: u16| graph.ways(Mover::Player, tile).filter(|&(_, next)| kept[usize::from(next)]).count();
        let end = (0..graph.len() as u16).find(|&tile| kept[usize::from(tile)] && exits(tile) <= 1);
        let Some(end) = end else { break };
        kept[usize::from(end)] = false;
    }
    let distances = graph.distances(Mover::Player, tile);
    let outside = distances.iter().zip(&kept).filter(|&(_, &kept)| kept).map(|(&steps, _)| steps);
    outside.filter(|&steps| steps != UNREACHED).min().map_or(Shape::FAR_STEPS, |steps| steps as i16)
}

#[test]
fn states_round_trip_as_numbers() {
    let mut dice = Dice::from_seed(18);
    let mut batch = random_batch(&mut dice, 200);
    let length = batch.shape().state();
    let mut numbers = vec![7; 200 * length];
    for _ in 0..100 {
        let moves: Vec<Move> = (0..200).map(|_| dice.pick(&Move::ALL)).collect();
        batch.step(&moves, &mut [0.0; 200], &mut [false; 200]);
        batch.part(0..200).write_states(&mut numbers);
        for (game, numbers) in numbers.chunks_exact(length).enumerate() {
            assert_eq!(batch.state_of_numbers(game, numbers).as_ref(), Ok(&batch.states()[game]));
        }
    }
}

#[test]
fn numbers_that_are_not_a_state_are_refused() {
    let world = World::new(&Layout::parse("P..B\n#.#.").unwrap(), &Rules::BLITZ_2025).unwrap();
    let mut batch = Batch::new(vec![Arc::new(world)], vec![0]);
    let mut numbers = vec![0; batch.shape().state()];
    batch.part(0..1).write_states(&mut numbers);
    let error = |index: usize, number: i16| {
        let mut wrong = numbers.clone();
        wrong[index] = number;
        batch.state_of_numbers(0, &wrong).expect_err("an error").to_string()
    };
    assert_eq!(error(0, 3000), "tick 3000: expected 1 to 2001");
    assert_eq!(error(0, -1), "tick -1: expected 1 to 2001");
    assert_eq!(error(1, 9), "ticks since the threats moved 9: expected the number that follows from the tick");
    assert_eq!(error(2, 9), "the player's position (9, 0) is not an open tile");
    assert_eq!(error(Shape::STATE_HEADER + 2, 4), "direction 4: expected 0 to 3");
    assert_eq!(error(Shape::STATE_HEADER + 3, 5), "style 5: expected that of the map's threat");
    assert_eq!(error(Shape::STATE_HEADER + 5, 3), "kind of remembered position 3: expected 0 to 2");
    assert_eq!(error(Shape::STATE_HEADER + 8, 500), "idle rounds 500: expected -128 to 127");
    assert_eq!(
        batch.state_of_numbers(0, &numbers[1..]).expect_err("an error").to_string(),
        "12 numbers: expected at least 13"
    );
}

#[test]
fn every_missing_threat_is_minus_one() {
    let drawings = ["P...S", "P..BS", "P.OBS", "PDOBS"];
    let worlds = drawings.map(|drawing| Layout::parse(drawing).expect("a drawing"));
    let worlds = worlds.map(|layout| Arc::new(World::new(&layout, &Rules::BLITZ_2025).expect("a world")));
    let mut batch = Batch::new(worlds.to_vec(), (0..drawings.len()).collect());
    let (compact, numbers) = (batch.shape().compact(), batch.shape().state());
    let (mut rows, mut states) = (vec![7; drawings.len() * compact], vec![7; drawings.len() * numbers]);
    batch.part(0..drawings.len()).write_compact(&mut rows);
    batch.part(0..drawings.len()).write_states(&mut states);
    for game in 0..drawings.len() {
        for (row, header, threat) in [
            (&rows[game * compact..][..compact], Shape::COMPACT_HEADER, Shape::COMPACT_THREAT),
            (&states[game * numbers..][..numbers], Shape::STATE_HEADER, Shape::STATE_THREAT),
        ] {
            let (present, missing) = row[header..].split_at((game + 1) * threat);
            assert!(present.chunks_exact(threat).all(|row| row[0] >= 0), "{row:?}");
            assert!(missing.iter().all(|&number| number == -1), "{row:?}");
        }
    }
}
