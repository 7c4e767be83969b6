//! Tests that every planner keeps to its deadline, whatever it is doing.
//!
//! This is the only test in the file, so that no other test competes for the processor. On a shared
//! machine a thread is preempted for whole time slices, which a planner cannot prevent, so the
//! lower quartile is tested, and a single decision fails only after an extreme delay.

mod common;

use std::time::{Duration, Instant};

use getaway::game::World;
use getaway::planner::{Limit, NAMES, by_name};

const DECISIONS: usize = 40;
const OVERRUN_MAX: Duration = Duration::from_millis(1);
const ABSURD: Duration = Duration::from_secs(1);

#[test]
fn no_planner_overruns_its_deadline() {
    let maps = common::our_maps();
    let map = maps.iter().find(|map| map.name == "metropolis").expect("our largest map");
    let world = World::new(&map.layout, false).expect("a map within the limits");
    let expressions = ["step(lookahead(select(1, simulate)))", "repeat(1000000, simulate(greedy, 10))"];
    for name in NAMES.into_iter().map(|(name, _)| name).chain(expressions) {
        for budget in [0, 5].map(Duration::from_millis) {
            let mut planner = by_name(name, 1).expect("a planner");
            let mut state = world.start();
            let mut took = Vec::new();
            while took.len() < DECISIONS && !state.is_over() {
                let begun = Instant::now();
                let choice = planner.decide(&world, &state, Limit { deadline: Some(begun + budget), expansions: None });
                took.push(begun.elapsed());
                world.step(&mut state, choice.player_move);
            }
            // The first decision builds tables.
            let first = took.remove(0);
            took.sort();
            let quartile = took[took.len() / 4];
            assert!(quartile <= budget + OVERRUN_MAX, "{name}: {quartile:?} of {budget:?}");
            assert!(took.iter().chain([&first]).all(|&took| took < budget + ABSURD), "{name}: {first:?}, {took:?}");
        }
    }
}
