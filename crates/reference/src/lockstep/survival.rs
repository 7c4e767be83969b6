//! Searches for surviving plans, because random moves usually end a game long before threats are
//! insane (from tick 902 under the server's rules). The search uses no heuristic, so it favours no
//! move and no tile.

use std::collections::HashSet;

use super::Dice;
use getaway::game::{Move, State, World};

type Step = (u32, Move);

/// Returns a plan that survives the whole game, if the search finds one, or else the longest plan
/// found. The beam of each tick is a uniform sample of at most `width` distinct surviving
/// successors of the previous beam.
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

fn expand(world: &World, beam: &[State]) -> Vec<(State, Step)> {
    let mut known = HashSet::new();
    let mut survivors = Vec::new();
    for (parent, state) in (0..).zip(beam) {
        for player_move in world.legal_moves(state) {
            let next = world.after(state, player_move);
            if !next.is_caught() && known.insert(world.fingerprint(&next)) {
                survivors.push((next, (parent, player_move)));
            }
        }
    }
    survivors
}

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

    fn follow(world: &World, plan: &[Move]) -> State {
        let mut state = world.start();
        for &player_move in plan {
            assert!(!state.is_over());
            world.step_unchecked(&mut state, player_move);
        }
        state
    }

    #[test]
    fn plan_survives_a_whole_game_on_a_ring() {
        let layout =
            Layout::parse("#########\n#P......#\n#.##.##.#\n#..S...B#\n#.##.##.#\n#......G#\n#########").unwrap();
        let world = World::new(&layout, &Rules::NO_JUMP).unwrap();
        let plan = surviving_plan(&world, 64, 1);
        let end = follow(&world, &plan);
        assert!(end.is_over() && !end.is_caught(), "caught at tick {}", end.tick());
        assert_eq!(plan, surviving_plan(&world, 64, 1), "the same seed gives the same plan");
    }

    #[test]
    fn plan_stops_where_every_move_is_fatal() {
        let world = World::new(&Layout::parse("P..S").unwrap(), &Rules::NO_JUMP).unwrap();
        let end = follow(&world, &surviving_plan(&world, 64, 1));
        assert!(!end.is_over());
        assert!(world.successors(&end).all(|(_, next)| next.is_caught()));
    }

    #[test]
    fn finished_game_has_an_empty_plan() {
        let mut layout = Layout::parse("PB").unwrap();
        layout.threats[0].position = layout.player;
        let world = World::new(&layout, &Rules::BLITZ_2025).unwrap();
        assert_eq!(surviving_plan(&world, 8, 1), []);
        let world = World::new(&Layout::parse("P.B").unwrap(), &Rules::BLITZ_2025).unwrap();
        assert_eq!(surviving_plan(&world, 0, 1), [], "a beam of width 0 gives an empty plan as well");
    }
}
