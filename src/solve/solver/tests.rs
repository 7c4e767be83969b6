//! Tests of the solver and of the judge.

use super::*;
use crate::game::{Layout, Rules};
use crate::solve::neighbourhood::tests::crowded_maze;
use crate::solve::{Verdict, judge_moves};

fn world(drawing: &str) -> World {
    World::new(&Layout::parse(drawing).expect("a drawing"), &Rules::NO_JUMP).expect("a map")
}

/// A map on which no line survives. The survival search alone cannot prove this.
const DOOMED: &str = "
    #############
    #P..#.......#
    ###.#.#####.#
    #...#.....#.#
    #.#######.#.#
    #.......#.#.#
    #######.#.#.#
    #.......#..S#
    #.#######.#.#
    #....D..O.H.#
    #############";

#[test]
fn bounds_only_come_down_and_lines_only_grow() {
    let world = world(DOOMED);
    let root = world.start();
    let mut solver = Solver::new(SolverOptions::default());
    let mut last = Solution::unknown(1);
    for _ in 0..40 {
        let solution = solver.solve(&world, &root, Budget::ticks(50_000));
        assert!(solution.final_tick >= last.final_tick && solution.bound_tick <= last.bound_tick);
        assert!(solution.final_tick <= solution.bound_tick);
        let mut state = root.clone();
        assert_eq!(world.play(&mut state, &solution.moves), solution.moves.len());
        assert_eq!(state.tick(), solution.final_tick);
        last = solution;
    }
    assert_eq!(last.outcome, Outcome::Doomed);
}

#[test]
fn another_world_starts_afresh() {
    let layout = Layout::parse("P....S").expect("a drawing");
    let [with_jumps, without] =
        [Rules::BLITZ_2025, Rules::NO_JUMP].map(|rules| World::new(&layout, &rules).expect("a map"));
    assert_eq!(with_jumps.start(), without.start());
    let solve = |solver: &mut Solver, world: &World| solver.solve(world, &world.start(), Budget::ticks(200_000));
    let mut solver = Solver::new(SolverOptions::default());
    let first = solve(&mut solver, &with_jumps);
    let second = solve(&mut solver, &without);
    assert_ne!(first, second);
    assert_eq!(second, solve(&mut Solver::new(SolverOptions::default()), &without));
}

#[test]
fn exhaustive_search_decides_maps_with_excess_threats() {
    let world = world("P.....HHHHHS");
    let root = world.start();
    let solve = |memory_max_bytes| {
        let options = SolverOptions { memory_max_bytes, ..SolverOptions::default() };
        Solver::new(options).without_search().solve(&world, &root, Budget::ticks(3_000_000))
    };
    let judge = SurvivalSearch::new(SolverOptions::default()).solve(&world, &root, Budget::UNLIMITED);
    for solution in [solve(256 << 20), solve(64 << 10)] {
        assert_eq!((solution.outcome, solution.final_tick), (Outcome::Doomed, judge.final_tick));
        assert!(solution.is_optimal());
    }
}

#[test]
fn same_slices_and_seed_give_the_same_answer() {
    let world = world(DOOMED);
    let solve = |seed, slices: u64| {
        let mut solver = Solver::new(SolverOptions { seed, ..SolverOptions::default() });
        let solutions: Vec<Solution> =
            (0..slices).map(|_| solver.solve(&world, &world.start(), Budget::ticks(600_000 / slices))).collect();
        solutions
    };
    assert_eq!(solve(1, 1), solve(1, 1));
    assert_eq!(solve(2, 6), solve(2, 6));
}

#[test]
fn bound_still_holds_after_moves_are_played() {
    let world = world(DOOMED);
    let mut state = world.start();
    let mut solver = Solver::new(SolverOptions::default());
    let first = solver.solve(&world, &state, Budget::ticks(2_000_000));
    assert_eq!(first.outcome, Outcome::Doomed);
    for &player_move in first.moves.iter().take(5) {
        world.step_unchecked(&mut state, player_move);
        let next = solver.solve(&world, &state, Budget::ticks(1_000));
        assert_eq!((next.outcome, next.final_tick), (Outcome::Doomed, next.final_tick.max(first.final_tick)));
        assert!(next.bound_tick <= first.bound_tick);
    }
}

fn longest(world: &World, state: &State, until: u16) -> u16 {
    if state.is_over() || state.tick() >= until {
        return state.tick();
    }
    world.successors(state).map(|(_, next)| longest(world, &next, until)).max().unwrap_or(state.tick())
}

#[test]
fn verdicts_agree_with_playing_every_line() {
    for rules in [Rules::BLITZ_2025, Rules::NO_JUMP] {
        let world = World::new(&Layout::parse("..P..S").expect("a drawing"), &rules).expect("a map");
        for tick in [1, 650, 950] {
            let threats: Vec<_> = world.threats(&world.start()).collect();
            let mut state = world.state_at(tick, world.layout().player, &threats).expect("a state");
            for _ in 0..12 {
                let verdicts = judge_moves(&world, &state, Budget::ticks(200_000), SolverOptions::default());
                let moves: Vec<Move> = verdicts.iter().map(|verdict| verdict.player_move).collect();
                let expected: Vec<Move> = world.legal_moves(&state).collect();
                assert_eq!(moves, expected);
                for Verdict { player_move, solution } in &verdicts {
                    let mut end = state.clone();
                    assert_eq!(world.play(&mut end, &solution.moves), solution.moves.len());
                    assert_eq!((end.tick(), solution.moves.first()), (solution.final_tick, Some(player_move)));
                    let horizon = state.tick() + 9;
                    let known = longest(&world, &world.after(&state, *player_move), horizon);
                    match solution.outcome {
                        Outcome::Doomed => assert!(solution.bound_tick.min(horizon) >= known),
                        _ => assert_eq!(known, horizon),
                    }
                }
                let Some(best) = verdicts.iter().max_by_key(|verdict| verdict.solution.final_tick) else { break };
                world.step_unchecked(&mut state, best.player_move);
            }
        }
    }
}

#[test]
fn last_tick_is_survived_by_every_move() {
    let world = World::new(&Layout::parse("P.").expect("a drawing"), &Rules::BLITZ_2025).expect("a map");
    let state = world.state_at(LAST_TICK, world.layout().player, &[]).expect("a state");
    let verdicts = judge_moves(&world, &state, Budget::UNLIMITED, SolverOptions::default());
    assert!(verdicts.iter().all(|verdict| verdict.solution.outcome == Outcome::Survives));
    assert_eq!(verdicts.len(), 2);
    let over = world.after(&state, Move::Stay);
    assert!(judge_moves(&world, &over, Budget::UNLIMITED, SolverOptions::default()).is_empty());
}

/// In play, only every other decision begins with the survival search. So after a move off the line,
/// the solver may have no line.
#[test]
fn solver_in_play_ends_without_a_line() {
    let world = crowded_maze();
    let mut solver = Solver::for_play(SolverOptions::default());
    let mut state = world.start();
    while state.tick() < 6 && !state.is_over() {
        let best = solver.solve(&world, &state, Budget::ticks(200_000));
        let other = world.legal_moves(&state).find(|other| best.moves.first() != Some(other)).expect("two moves");
        world.step_unchecked(&mut state, other);
    }
}
