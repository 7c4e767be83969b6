//! Guarantees: moves are legal. Under a limit on ticks, the same seed gives the same game. Planners
//! return a move even after the deadline, and rank as expected on average. The reference model
//! confirms the final tick of every line that the survival search returns.

use std::time::Instant;

use crate::common;
use getaway::game::{Action, Direction, LAST_TICK, Layout, Move, POINTS_PER_TICK, Rules, State, Style, World};
use getaway::map::{GeneratorKind, GeneratorOptions, Map, generate_nth};
use getaway::planner::{CautiousRules, Choice, ObservedThreat, Planner, Source, by_name, names};
use getaway::search::Budget;
use getaway::solve::{Outcome, Solver, SolverOptions};
use getaway_reference as reference;

fn our_map(name: &str) -> Map {
    let maps = common::our_maps();
    maps.into_iter().find(|map| map.name == name).unwrap_or_else(|| panic!("no map {name}"))
}

fn world(layout: &Layout, rules: &Rules) -> World {
    World::new(layout, rules).expect("a map within the limits")
}

fn play(world: &World, planner: &mut dyn Planner, state: &mut State, limit: Budget, ticks: usize) -> Vec<Choice> {
    let mut choices = Vec::new();
    while !state.is_over() && choices.len() < ticks {
        let choice = planner.decide(world, state, limit).expect("a move");
        assert!(
            world.legal_moves(state).any(|legal| legal == choice.player_move),
            "{choice:?} at tick {}",
            state.tick()
        );
        world.step_unchecked(state, choice.player_move);
        choices.push(choice);
    }
    choices
}

fn score(world: &World, name: &str, seed: u64, limit: Budget) -> u32 {
    let mut state = world.start();
    let mut planner = by_name(name, seed).expect("a planner");
    play(world, planner.as_mut(), &mut state, limit, usize::MAX);
    world.score(&state)
}

fn all_planners() -> impl Iterator<Item = &'static str> {
    let expressions = ["step(repeat(3, select(1, simulate(greedy, 30))))", "lookahead(simulate)"];
    names().map(|(name, _)| name).chain(expressions)
}

#[test]
fn every_planner_plays_legal_moves_and_is_reproducible() {
    for map in ["corner-shop", "snail"] {
        for rules in [Rules::BLITZ_2025, Rules::NO_JUMP] {
            let world = world(&our_map(map).layout, &rules);
            for name in all_planners() {
                let [first, second] = [(); 2].map(|()| {
                    let mut planner = by_name(name, 5).expect("a planner");
                    play(&world, planner.as_mut(), &mut world.start(), Budget::ticks(400), 150)
                });
                assert!(!first.is_empty());
                assert_eq!(first, second, "{name} on {map}");
            }
        }
    }
}

#[test]
fn every_planner_adapts_to_an_unexpected_state() {
    let world = world(&our_map("market-square").layout, &Rules::BLITZ_2025);
    for name in all_planners() {
        let mut planner = by_name(name, 1).expect("a planner");
        let mut state = world.start();
        play(&world, planner.as_mut(), &mut state, Budget::ticks(400), 20);
        for player_move in [Move::Left, Move::Up, Move::Stay, Move::Right] {
            world.step_unchecked(&mut state, player_move);
        }
        play(&world, planner.as_mut(), &mut state, Budget::ticks(400), 20);
        play(&world, planner.as_mut(), &mut world.start(), Budget::ticks(400), 20);
        let threats: Vec<_> = world.threats(&world.start()).collect();
        let mut late = world.state_at(1500, world.layout().player, &threats).expect("a state");
        play(&world, planner.as_mut(), &mut late, Budget::ticks(400), 20);
    }
}

#[test]
fn non_fatal_move_is_returned_after_the_deadline() {
    // The goldfish moves to the player's tile at tick 5, because it has no other option.
    let layout = Layout::parse("P.G\n.##").expect("a drawing");
    let world = world(&layout, &Rules::BLITZ_2025);
    for name in all_planners().filter(|&name| name != "random") {
        let mut state = world.start();
        for player_move in [Move::Right, Move::Stay, Move::Stay, Move::Stay] {
            world.step_unchecked(&mut state, player_move);
        }
        let limit = Budget::until(Instant::now());
        let choice = by_name(name, 1).expect("a planner").decide(&world, &state, limit).expect("a move");
        world.step_unchecked(&mut state, choice.player_move);
        // `cautious` does not predict the goldfish, so it may also move right, past the goldfish.
        assert!(!state.is_caught(), "{name}: {choice:?}");
    }
}

#[test]
fn planners_rank_as_expected() {
    let worlds = ["corner-shop", "crossroads", "canal-quarter"].map(|map| world(&our_map(map).layout, &Rules::NO_JUMP));
    let mean = |name: &str, limit: Budget| {
        let games = || worlds.iter().flat_map(|world| (0..3).map(move |seed| (world, seed)));
        games().map(|(world, seed)| score(world, name, seed, limit)).sum::<u32>() / games().count() as u32
    };
    let budget = Budget::ticks(3000);
    let means = ["random", "sampling", "uct-greedy", "survival"].map(|name| mean(name, budget));
    let [chance, sampling, uct_greedy, survival] = means;
    assert!(2 * chance < sampling && sampling < uct_greedy && uct_greedy <= survival, "{means:?}");
    for name in ["safest", "paranoid:3", "lookahead"] {
        let mean = mean(name, budget);
        assert!(mean > chance, "{name}: {mean} against {chance}");
    }
}

#[test]
fn survival_completes_every_survivable_map() {
    for map in common::our_maps() {
        for rules in [Rules::BLITZ_2025, Rules::NO_JUMP] {
            let world = world(&map.layout, &rules);
            let solution = Solver::survival_search(SolverOptions::default()).solve(
                &world,
                &world.start(),
                Budget::ticks(2_000_000),
            );
            let played = score(&world, "survival", 0, Budget::ticks(200_000));
            match solution.outcome {
                Outcome::Survives => assert_eq!(played, 10_005, "{}, no-jump {}", map.name, rules.no_jump),
                Outcome::Doomed => assert_eq!(played, u32::from(solution.final_tick) * POINTS_PER_TICK, "{}", map.name),
                Outcome::Undecided => {}
            }
        }
    }
}

#[test]
fn complete_plan_is_played_without_searching() {
    let world = world(&our_map("stadium").layout, &Rules::NO_JUMP);
    for name in ["survival", "uct-greedy"] {
        let mut planner = by_name(name, 0).expect("a planner");
        let mut state = world.start();
        let choices = play(&world, planner.as_mut(), &mut state, Budget::ticks(500), usize::MAX);
        assert_eq!(world.score(&state), 10_005, "{name}");
        let planned = choices.iter().position(|choice| choice.planned_tick == Some(2001)).expect("a complete plan");
        let rest = &choices[planned + 1..];
        assert!(rest.iter().all(|choice| choice.source == Source::Plan && choice.simulated_ticks == 0), "{name}");
    }
}

#[test]
fn show_off_survives_and_gets_closer_to_threats_than_survival() {
    let world = world(&our_map("roundabout").layout, &Rules::BLITZ_2025);
    let mean_distance = |name: &str| {
        let mut planner = by_name(name, 3).expect("a planner");
        let mut state = world.start();
        let mut sum = 0;
        while !state.is_over() {
            play(&world, planner.as_mut(), &mut state, Budget::ticks(20_000), 1);
            let player = world.player(&state);
            let distances = world.threats(&state).map(|threat| threat.position.manhattan_distance(player));
            sum += distances.min().expect("a threat");
            // The first 1000 ticks suffice.
            if state.tick() > 1000 {
                break;
            }
        }
        assert!(!state.is_caught(), "{name}");
        f64::from(sum) / 1000.0
    };
    let (shown, plain) = (mean_distance("show-off"), mean_distance("survival"));
    assert!(shown < 0.75 * plain, "{shown} against {plain}");
}

#[test]
fn cautious_outlives_random_against_lawless_threats() {
    let map = our_map("canal-quarter");
    let mean =
        |cautious: bool| (0..6).map(|seed| survival_against_lawless(&map.layout, seed, cautious)).sum::<u32>() / 6;
    let (careful, careless) = (mean(true), mean(false));
    assert!(careful > 2 * careless, "{careful} against {careless}");
}

fn survival_against_lawless(layout: &Layout, seed: u64, cautious: bool) -> u32 {
    use rand::{RngExt, SeedableRng};
    let mut random = rand_pcg::Pcg32::seed_from_u64(seed);
    let mut threats: Vec<_> = layout.threats.iter().map(|spawn| spawn.position).collect();
    let (mut player, mut caution) = (layout.player, CautiousRules::new());
    for tick in 1..=2000 {
        let pursuers: Vec<_> =
            threats.iter().map(|&position| ObservedThreat { position, period_ticks: Some(2) }).collect();
        let sighting = getaway::planner::Sighting { tick, player, threats: &pursuers };
        let player_move = match cautious {
            true => caution.choose(layout, &sighting).player_move,
            false => Move::ALL[random.random_range(0..5)],
        };
        let step = |position: getaway::game::Position, direction: Direction| {
            let next = position.towards(direction);
            if layout.is_open(next) { next } else { position }
        };
        player = player_move.direction().map_or(player, |direction| step(player, direction));
        if tick % 2 == 0 {
            threats.iter_mut().for_each(|threat| *threat = step(*threat, Direction::ALL[random.random_range(0..4)]));
        }
        if threats.contains(&player) {
            return u32::from(tick);
        }
    }
    2000
}

#[test]
fn fewer_unpredictable_threats_mean_longer_survival() {
    let maps = ["crossroads", "harbour", "canal-quarter", "market-square"].map(our_map);
    let mean = |unpredictable: Option<usize>| {
        let lives = maps
            .iter()
            .map(|map| survival_with_unpredictable(&map.layout, unpredictable.unwrap_or(map.layout.threats.len())));
        lives.sum::<u32>() / maps.len() as u32
    };
    let [none, one, all] = [Some(0), Some(1), None].map(mean);
    assert!(none > one && 2 * one > 3 * all, "{none}, {one}, {all}");
}

fn survival_with_unpredictable(layout: &Layout, unpredictable: usize) -> u32 {
    let full = world(layout, &Rules::NO_JUMP);
    let mut known_layout = layout.clone();
    known_layout.threats.drain(..unpredictable);
    let known = world(&known_layout, &Rules::NO_JUMP);
    let mut caution = CautiousRules::new();
    let mut state = full.start();
    while !state.is_over() {
        let threats: Vec<_> = full.threats(&state).collect();
        let (unknown, predicted) = threats.split_at(unpredictable);
        let pursuers: Vec<_> = unknown.iter().map(|threat| ObservedThreat::at(threat.position)).collect();
        let known_state = known.state_at(state.tick(), full.player(&state), predicted).expect("a state of the game");
        let choice = caution.choose_with_predictions(&known, &known_state, &pursuers, Budget::ticks(1500));
        full.step_unchecked(&mut state, choice.player_move);
    }
    u32::from(state.tick())
}

#[test]
fn every_solution_is_confirmed_by_the_reference_model() {
    check_solutions(2, 3, 1);
}

#[test]
#[ignore = "takes a minute"]
fn every_solution_on_many_maps_is_confirmed_by_the_reference_model() {
    check_solutions(1, 12, 2);
}

/// Checks solutions of every `step`th bundled map, and of this many mazes and cities.
fn check_solutions(step: usize, mazes: u64, cities: u64) {
    let mazes = (0..mazes).map(|index| {
        let (width, height) = [(15, 13), (17, 15), (21, 17)][index as usize % 3];
        let options = GeneratorOptions { width, height, braid_permille: 500, ..GeneratorOptions::default() };
        generate_nth(&options, 9, index).expect("a maze")
    });
    let cities = (0..cities).map(|index| {
        let options = GeneratorOptions { kind: GeneratorKind::City, threats: 10, ..GeneratorOptions::default() };
        generate_nth(&options, 9, index).expect("a city")
    });
    // In the no-jump variant, the player is doomed: it cannot get past the shark.
    let trap = Map { layout: Layout::parse("P...S").expect("a drawing"), ..our_map("snail") };
    let mut seen = Vec::new();
    for map in common::our_maps().into_iter().step_by(step).chain(mazes).chain(cities).chain([trap]) {
        for rules in [Rules::BLITZ_2025, Rules::NO_JUMP] {
            // The small limit leaves some results undecided.
            for limit in [Budget::ticks(60_000), Budget::ticks(700)] {
                seen.push(check_solution(&map, &rules, limit));
            }
        }
    }
    for outcome in [Outcome::Survives, Outcome::Doomed, Outcome::Undecided] {
        assert!(seen.contains(&outcome), "no case {outcome:?}");
    }
}

fn check_solution(map: &Map, rules: &Rules, limit: Budget) -> Outcome {
    let world = world(&map.layout, rules);
    let solution = Solver::survival_search(SolverOptions::default()).solve(&world, &world.start(), limit);
    let mut game = reference::Game::new(&map.layout, rules);
    for (index, player_move) in solution.moves.iter().enumerate() {
        assert!(!game.over(), "{}, no-jump {}: over after {index} moves", map.name, rules.no_jump);
        let command: Vec<Action> = player_move.direction().map(Action::Move).into_iter().collect();
        game.step(&command);
    }
    let claimed = u32::from(solution.final_tick) * POINTS_PER_TICK;
    assert_eq!(game.score(), claimed, "{}, no-jump {}, {:?}", map.name, rules.no_jump, solution.outcome);
    match solution.outcome {
        Outcome::Survives => assert!(game.over() && !game.caught()),
        Outcome::Doomed => assert!(game.caught()),
        Outcome::Undecided => assert!(game.caught() || !game.over()),
    }
    solution.outcome
}

/// A labyrinth in which no line survives, with layers too wide for an exhaustive search.
fn doomed(index: u64) -> World {
    let options = GeneratorOptions {
        kind: GeneratorKind::Labyrinth,
        width: 15,
        height: 13,
        threats: 6,
        styles: Style::ALL.to_vec(),
        braid_permille: 250,
    };
    world(&generate_nth(&options, 7, index).expect("a map").layout, &Rules::NO_JUMP)
}

#[test]
fn doomed_game_lasts_as_long_as_possible_and_is_not_searched_again() {
    let world = doomed(19);
    let mut planner = by_name("survival", 0).expect("a planner");
    let mut state = world.start();
    let first = planner.decide(&world, &state, Budget::ticks(2_000_000)).expect("a move");
    let solution = Solver::new(SolverOptions::default()).solve(&world, &state, Budget::ticks(2_000_000));
    assert!(solution.is_optimal() && solution.bound_tick <= LAST_TICK);
    assert_eq!(first.planned_tick, Some(solution.bound_tick));
    world.step_unchecked(&mut state, first.player_move);
    while !state.is_over() {
        let choice = planner.decide(&world, &state, Budget::ticks(2_000_000)).expect("a move");
        assert_eq!((choice.source, choice.simulated_ticks), (Source::Plan, 0));
        world.step_unchecked(&mut state, choice.player_move);
    }
    assert_eq!(state.tick(), solution.bound_tick);
}

#[test]
fn proof_with_small_budgets_continues_while_moves_are_played() {
    let world = doomed(2);
    let mut planner = by_name("survival", 0).expect("a planner");
    let mut state = world.start();
    let mut last_tick_searched = 0;
    while !state.is_over() {
        let choice = planner.decide(&world, &state, Budget::ticks(20_000)).expect("a move");
        assert!(choice.simulated_ticks <= 20_000 + 1024, "{}", choice.simulated_ticks);
        if choice.source == Source::Search {
            last_tick_searched = state.tick();
        }
        world.step_unchecked(&mut state, choice.player_move);
    }
    assert!(last_tick_searched + 50 < state.tick(), "searched until tick {last_tick_searched} of {}", state.tick());
}
