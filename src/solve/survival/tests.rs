//! Tests of the survival search.

use super::*;
use crate::game::{Layout, Rules};

const RING: &str = "
    #########
    #P......#
    #.##.##.#
    #..S...B#
    #.##.##.#
    #......G#
    #########";

fn world(drawing: &str, rules: &Rules) -> World {
    World::new(&Layout::parse(drawing).unwrap(), rules).unwrap()
}

fn options(seed: u64) -> SolverOptions {
    SolverOptions { seed, ..SolverOptions::default() }
}

fn replay(world: &World, from: &State, solution: &Solution) -> State {
    let mut state = from.clone();
    for &player_move in &solution.moves {
        assert!(!state.is_over(), "no move follows the end");
        world.step_unchecked(&mut state, player_move);
    }
    state
}

#[test]
fn dead_end_street_is_doomed_with_the_longest_line() {
    let world = world("####\n#P.S\n####", &Rules::NO_JUMP);
    let solution = SurvivalSearch::new(options(1)).solve(&world, &world.start(), Budget::UNLIMITED);
    assert_eq!(solution.outcome, Outcome::Doomed);
    let end = replay(&world, &world.start(), &solution);
    assert!(end.is_caught());
    // The shark moves in ticks 5 and 10. Its second move catches the player at the dead end.
    assert_eq!((end.tick(), solution.final_tick), (11, 11));
}

#[test]
fn search_resumes_where_it_stopped() {
    for rules in [Rules::BLITZ_2025, Rules::NO_JUMP] {
        let world = world(RING, &rules);
        let mut survival = SurvivalSearch::new(options(3));
        let mut state = world.start();
        while !state.is_over() {
            let solution = survival.solve(&world, &state, Budget::ticks(40));
            assert!(solution.simulated_ticks <= 40);
            assert_eq!(replay(&world, &state, &solution).tick(), solution.final_tick);
            world.step_unchecked(&mut state, solution.moves.first().copied().unwrap_or(Move::Stay));
        }
        assert_eq!(state.tick(), LAST_TICK + 1, "40 ticks per call suffice when no state is expanded twice");
    }
}

#[test]
fn states_that_another_first_move_also_reaches_are_not_lost() {
    // The player survives only in the recess below its start. In later ticks, the search first
    // reaches the recess by lines that begin with a step to the left. After a step to the
    // right, the player can still go back to the recess.
    let world = world("B.P.........\n##.#########", &Rules::NO_JUMP);
    let mut survival = SurvivalSearch::new(options(1));
    survival.solve(&world, &world.start(), Budget::ticks(1));
    survival.beam.width = 1000;
    survival.beam.wide_until = usize::MAX;
    let solution = survival.solve(&world, &world.start(), Budget::ticks(300));
    assert_eq!(solution.outcome, Outcome::Undecided);
    let next = world.after(&world.start(), Move::Right);
    assert_eq!(survival.solve(&world, &next, Budget::UNLIMITED).outcome, Outcome::Survives);
}

#[test]
fn unrelated_root_restarts_the_search() {
    let world = world(RING, &Rules::BLITZ_2025);
    let mut survival = SurvivalSearch::new(options(5));
    survival.solve(&world, &world.start(), Budget::UNLIMITED);
    let mut elsewhere = world.start();
    for player_move in [Move::Down, Move::Down, Move::Right] {
        world.step_unchecked(&mut elsewhere, player_move);
    }
    let solution = survival.solve(&world, &elsewhere, Budget::UNLIMITED);
    assert_eq!(solution.outcome, Outcome::Survives);
    assert_eq!(replay(&world, &elsewhere, &solution).tick(), LAST_TICK + 1);
}

#[test]
fn another_world_restarts_the_search() {
    let [with_jumps, without] = [Rules::BLITZ_2025, Rules::NO_JUMP].map(|rules| world("P....S", &rules));
    assert_eq!(with_jumps.start(), without.start());
    let mut survival = SurvivalSearch::new(options(1));
    let first = survival.solve(&with_jumps, &with_jumps.start(), Budget::UNLIMITED);
    let second = survival.solve(&without, &without.start(), Budget::UNLIMITED);
    assert_ne!(first, second);
    assert_eq!(replay(&without, &without.start(), &second).tick(), second.final_tick);
}

#[test]
fn answer_depends_on_seed_and_limit_only() {
    let world = world(RING, &Rules::NO_JUMP);
    let solve = |seed| SurvivalSearch::new(options(seed)).solve(&world, &world.start(), Budget::ticks(5_000));
    assert_eq!(solve(1), solve(1));
    assert_ne!(solve(1).moves, solve(2).moves);
}

#[test]
fn memory_stays_below_its_bound() {
    let world = world("..........\n.O......O.\n..........\n....P.....\n..........\n.O......H.", &Rules::BLITZ_2025);
    let memory_max_bytes = 2_000_000;
    let mut survival = SurvivalSearch::new(SolverOptions { seed: 1, memory_max_bytes });
    survival.solve(&world, &world.start(), Budget::ticks(1));
    survival.beam.width = usize::MAX;
    survival.beam.wide_until = usize::MAX;
    let solution = survival.solve(&world, &world.start(), Budget::ticks(400_000));
    assert!(survival.tree.nodes.capacity() > 5_000, "layers should be wide: {}", survival.tree.nodes.capacity());
    assert_eq!(replay(&world, &world.start(), &solution).tick(), solution.final_tick);
    let states = survival.tree.checkpoint_states.capacity()
        + survival.tree.frontier.states.capacity()
        + survival.tree.next.states.capacity();
    let nodes = survival.tree.nodes.capacity() * size_of::<Node>();
    let bytes = states * world.state_bytes() + nodes + survival.sampler.bytes();
    assert!(bytes <= memory_max_bytes, "{bytes}");
}
