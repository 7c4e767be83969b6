//! Long games for tests and benches: the plainest search that stays alive.
//!
//! Games of random moves end within a few hundred ticks, while more than half of a full game is played against insane
//! threats. This search has no cunning at all, which suits tests: it prefers no move and no place.

use std::collections::HashSet;

use super::Dice;
use getaway::game::{Move, State, World};

/// A step of some line of play: the node it came from, by its place in the tick before, and the move.
type Step = (u32, Move);

/// A plan that lives as long as a beam of `width` random survivors does: after every tick, so many of the distinct states that are
/// left are kept, each as likely as any other. The plan reaches the end of the game or the last tick at which any of them lived.
pub fn surviving_plan(world: &World, width: usize, seed: u64) -> Vec<Move> {
    let mut dice = Dice::from_seed(seed);
    let mut beam = vec![world.start()];
    let mut history: Vec<Vec<Step>> = Vec::new();
    while beam.first().is_some_and(|state| !state.is_over()) {
        let mut survivors = expand(world, &beam);
        dice.shuffle(&mut survivors);
        survivors.truncate(width);
        if survivors.is_empty() {
            break;
        }
        let (states, steps) = survivors.into_iter().unzip();
        beam = states;
        history.push(steps);
    }
    trace_back(&history)
}

/// Every distinct state that the beam's states reach alive, with the step that reached it first.
fn expand(world: &World, beam: &[State]) -> Vec<(State, Step)> {
    let mut known = HashSet::new();
    let mut survivors = Vec::new();
    for (parent, state) in (0..).zip(beam) {
        for player_move in world.moves(state) {
            let mut next = state.clone();
            world.step(&mut next, player_move);
            if !next.is_caught() && known.insert(world.fingerprint(&next)) {
                survivors.push((next, (parent, player_move)));
            }
        }
    }
    survivors
}

/// The moves that lead to the first state of the last tick.
fn trace_back(history: &[Vec<Step>]) -> Vec<Move> {
    let mut node = 0;
    let mut plan: Vec<Move> = history
        .iter()
        .rev()
        .map(|steps| {
            let (parent, player_move) = steps[node];
            node = parent as usize;
            player_move
        })
        .collect();
    plan.reverse();
    plan
}

#[cfg(test)]
mod tests {
    use super::*;
    use getaway::game::{Layout, Rules};

    /// Plays a plan and returns the state it ends in.
    fn follow(world: &World, plan: &[Move]) -> State {
        let mut state = world.start();
        for &player_move in plan {
            assert!(!state.is_over());
            world.step(&mut state, player_move);
        }
        state
    }

    #[test]
    fn a_plan_survives_a_whole_game_where_there_is_room() {
        let layout =
            Layout::parse("#########\n#P......#\n#.##.##.#\n#..s...b#\n#.##.##.#\n#......g#\n#########").unwrap();
        let world = World::new(&layout, &Rules::NO_JUMP).unwrap();
        let plan = surviving_plan(&world, 64, 1);
        let end = follow(&world, &plan);
        assert!(end.is_over() && !end.is_caught(), "caught on tick {}", end.tick());
        assert_eq!(plan, surviving_plan(&world, 64, 1), "the same seed gives the same plan");
    }

    #[test]
    fn a_plan_stops_before_a_certain_end() {
        let world = World::new(&Layout::parse("P..s").unwrap(), &Rules::NO_JUMP).unwrap();
        let end = follow(&world, &surviving_plan(&world, 64, 1));
        assert!(!end.is_over());
        assert!(world.moves(&end).all(|player_move| {
            let mut next = end.clone();
            world.step(&mut next, player_move);
            next.is_caught()
        }));
    }

    #[test]
    fn a_game_that_is_over_has_an_empty_plan() {
        let mut layout = Layout::parse("Pb").unwrap();
        layout.threats[0].position = layout.player;
        let world = World::new(&layout, &Rules::BLITZ_2025).unwrap();
        assert_eq!(surviving_plan(&world, 8, 1), []);
        let world = World::new(&Layout::parse("P.b").unwrap(), &Rules::BLITZ_2025).unwrap();
        assert_eq!(surviving_plan(&world, 0, 1), [], "nor does a beam of no width get anywhere");
    }
}
