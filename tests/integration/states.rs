//! Guarantees: a state determines its future. Fingerprints distinguish all fields that affect the
//! future, and ignore directions that do not.

use std::collections::HashMap;

use getaway::game::{
    Action, Direction, Game, Layout, Move, PlayError, Position, Rules, State, Status, Style, Threat, World,
};
use getaway_reference::lockstep::{Dice, random_layout, surviving_plan};

fn random_games(seeds: std::ops::Range<u64>) -> impl Iterator<Item = (World, Vec<State>)> {
    seeds.map(|seed| {
        let mut dice = Dice::from_seed(seed);
        let world = World::new(&random_layout(&mut dice), &Rules { no_jump: dice.one_in(2), ..Rules::BLITZ_2025 })
            .expect("random maps are within the limits");
        let states = world.states_along(&world.start(), &surviving_plan(&world, 8, seed));
        (world, states)
    })
}

fn future(world: &World, state: &State, seed: u64, ticks: usize) -> Vec<(bool, u64)> {
    let (mut state, mut dice) = (state.clone(), Dice::from_seed(seed));
    let mut future = vec![(state.is_caught(), world.fingerprint(&state))];
    for _ in 0..ticks {
        if state.is_over() {
            break;
        }
        world.step_unchecked(&mut state, dice.pick(&Move::ALL));
        future.push((state.is_caught(), world.fingerprint(&state)));
    }
    future
}

fn rebuilt(world: &World, state: &State, change: impl FnOnce(&mut [Threat])) -> State {
    let mut threats: Vec<Threat> = world.threats(state).collect();
    change(&mut threats);
    world.state_at(state.tick(), world.player(state), &threats).expect("only open tiles")
}

#[test]
fn rebuilt_state_is_equal() {
    for (world, states) in random_games(0..60) {
        for state in &states {
            assert_eq!(&rebuilt(&world, state, |_| {}), state);
        }
    }
}

#[test]
fn clone_is_equal_and_independent() {
    for (world, states) in random_games(100..120) {
        for state in states.iter().filter(|state| !state.is_over()) {
            let mut other = state.clone();
            assert_eq!((&other, world.fingerprint(&other)), (state, world.fingerprint(state)));
            world.step_unchecked(&mut other, Move::Stay);
            assert_ne!(&other, state, "the clone equals the original after a step");
        }
    }
}

#[test]
fn checked_moves_are_played_or_change_nothing() {
    for (world, states) in random_games(300..320) {
        for state in &states {
            let possible: Vec<Move> = world.legal_moves(state).collect();
            for player_move in Move::ALL {
                let mut next = state.clone();
                let result = world.step(&mut next, player_move);
                let expected = match player_move.direction() {
                    _ if state.is_over() => Err(PlayError::GameOver),
                    Some(direction) if !possible.contains(&player_move) => Err(PlayError::Blocked(direction)),
                    _ => Ok(()),
                };
                assert_eq!(result, expected);
                assert_eq!(next, if result.is_ok() { world.after(state, player_move) } else { state.clone() });
            }
        }
    }
}

#[test]
fn game_plays_in_a_world_of_its_own() {
    let layout = Layout::parse("P..B").unwrap();
    let mut game = Game::new(&layout, &Rules::BLITZ_2025).unwrap();
    assert_eq!(game.step_command(&[Action::Move(Direction::Left)]), Ok(Move::Stay));
    while !game.state().is_over() {
        game.step(Move::Stay).unwrap();
    }
    assert_eq!((game.step(Move::Stay), game.step_command(&[])), (Err(PlayError::GameOver), Err(PlayError::GameOver)));
    assert_eq!(game.score(), game.world().score(game.state()));
}

#[test]
fn different_states_have_different_fingerprints() {
    let mut states = 0;
    for (world, games) in random_games(200..300) {
        // The fields that determine the future, by fingerprint. Only bulls and deer use directions.
        let mut known: HashMap<u64, (u16, Position, bool, Vec<Threat>)> = HashMap::new();
        let branches = games.iter().flat_map(|state| world.successors(state).map(|(_, next)| next));
        for state in branches {
            let threats = world.threats(&state).map(|threat| match threat.style {
                Style::Bull | Style::Deer => threat,
                _ => Threat { direction: Direction::Up, ..threat },
            });
            let described = (state.tick(), world.player(&state), state.is_caught(), threats.collect());
            let other = known.entry(world.fingerprint(&state)).or_insert_with(|| described.clone());
            assert_eq!(other, &described, "two different states with the same fingerprint");
            states += 1;
        }
    }
    assert!(states > 100_000, "{states} states");
}

#[test]
fn fingerprints_and_futures_ignore_irrelevant_directions() {
    for (world, states) in random_games(300..340) {
        for (index, state) in states.iter().enumerate().step_by(37) {
            let turned = rebuilt(&world, state, |threats| {
                for threat in threats.iter_mut().filter(|t| !matches!(t.style, Style::Bull | Style::Deer)) {
                    threat.direction = threat.direction.reverse();
                }
            });
            let seed = index as u64;
            assert_eq!(future(&world, &turned, seed, 40), future(&world, state, seed, 40));
        }
    }
}

/// A world with all six styles, and its state at tick 5, in which the threats move. The hawk does
/// not see the player.
fn crossing() -> (World, State) {
    let layout = Layout::parse("B.G.S.O\n.#.#.#.\nD.....H\n.#.#.#.\n....P..").expect("a valid drawing");
    let world = World::new(&layout, &Rules::BLITZ_2025).expect("a map");
    let mut state = world.start();
    (0..4).for_each(|_| world.step_unchecked(&mut state, Move::Stay));
    (world, state)
}

#[test]
fn fingerprints_distinguish_all_relevant_fields() {
    let (world, state) = crossing();
    let original = world.fingerprint(&state);
    let index = |style| world.threats(&state).position(|threat| threat.style == style).expect("one of each style");
    let with = |style, change: fn(&mut Threat)| {
        let state = rebuilt(&world, &state, |threats| change(&mut threats[index(style)]));
        (state.clone(), world.fingerprint(&state))
    };
    let turn: fn(&mut Threat) = |threat| threat.direction = Direction::Left;
    for style in Style::ALL {
        let (other, fingerprint) = with(style, turn);
        assert_ne!(other, state, "{style}: its direction is part of the state");
        let matters = matches!(style, Style::Bull | Style::Deer);
        assert_eq!(fingerprint != original, matters, "{style}: its direction");
        assert_ne!(with(style, |threat| threat.position = Position::new(3, 4)).1, original, "{style}: its position");
        assert_ne!(with(style, |threat| threat.draws = 9).1, original, "{style}: its draws");
    }
    let here = Position::new(2, 2);
    let [mut remembered, mut seen, mut post] = [with(Style::Owl, |_| {}).0, state.clone(), state.clone()];
    remembered = rebuilt(&world, &remembered, |threats| threats[index(Style::Owl)].remembered = Some(here));
    seen = rebuilt(&world, &seen, |threats| threats[index(Style::Hawk)].seen = Some(here));
    post = rebuilt(&world, &post, |threats| threats[index(Style::Hawk)].post = Some(here));
    let idle = rebuilt(&world, &state, |threats| threats[index(Style::Hawk)].idle_rounds = -5);
    let mut all: Vec<u64> =
        [&state, &remembered, &seen, &post, &idle].iter().map(|state| world.fingerprint(state)).collect();
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), 5, "memories and idle rounds are distinguished");
    let later = world.state_at(6, world.player(&state), &world.threats(&state).collect::<Vec<_>>()).expect("a tick");
    assert_ne!(world.fingerprint(&later), original, "the tick");
    let elsewhere = world.state_at(5, here, &world.threats(&state).collect::<Vec<_>>()).expect("an open tile");
    assert_ne!(world.fingerprint(&elsewhere), original, "the player");
}

#[test]
fn direction_of_a_bull_changes_its_future() {
    let (world, state) = crossing();
    let [down, right] =
        [(Direction::Down, Position::new(0, 1)), (Direction::Right, Position::new(1, 0))].map(|(d, position)| {
            let mut turned = rebuilt(&world, &state, |threats| threats[0].direction = d);
            let future = future(&world, &turned, 1, 30);
            world.step_unchecked(&mut turned, Move::Stay);
            assert_eq!(world.threat(&turned, 0).position, position, "a bull moves in its direction");
            future
        });
    assert_ne!(down, right);
}

#[test]
fn states_of_another_world_are_rejected() {
    let worlds = ["P.B", "P..B", "P.BB"]
        .map(|drawing| World::new(&Layout::parse(drawing).expect("a drawing"), &Rules::BLITZ_2025).expect("a map"));
    for (index, world) in worlds.iter().enumerate() {
        for (other, mut state) in worlds.iter().map(World::start).enumerate() {
            let stepped =
                std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| world.step_unchecked(&mut state, Move::Stay)));
            assert_eq!(stepped.is_ok(), index == other, "world {index}, state of world {other}");
        }
    }
}

#[test]
fn successors_are_the_moves_played() {
    for (world, states) in random_games(400..420) {
        for state in states.iter().step_by(13) {
            let successors: Vec<(Move, State)> = world.successors(state).collect();
            if state.is_over() {
                assert!(successors.is_empty());
                continue;
            }
            assert!(successors.iter().map(|&(player_move, _)| player_move).eq(world.legal_moves(state)));
            for (player_move, next) in successors {
                let mut stepped = state.clone();
                world.step_unchecked(&mut stepped, player_move);
                assert_eq!(next, stepped);
            }
        }
    }
}

#[test]
fn played_moves_stop_where_the_game_ends() {
    for (world, states) in random_games(420..440) {
        let end = states.last().expect("the first state");
        let plan = surviving_plan(&world, 8, 0);
        let mut state = world.start();
        let played = world.play(&mut state, &plan);
        assert_eq!(played, usize::from(state.tick() - 1).min(plan.len()));
        let rest = world.play(&mut state, &[Move::Stay; 3000]);
        assert!(state.is_over() && rest < 3000);
        assert_eq!(world.play(&mut state, &plan), 0, "a game that is over has no next tick");
        assert_ne!(state.status(), Status::Running);
        assert_eq!(end.status() == Status::Running, !end.is_over());
        assert_eq!(state.status() == Status::Complete, state.tick() == 2001);
    }
}
