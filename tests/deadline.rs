//! Every planner keeps to its deadline, whatever it is doing when the deadline is reached.
//!
//! Time is a manual clock that advances by a fixed time at each reading, so that nothing here
//! depends on the machine: what is tested is that a planner stops at the first reading past its
//! deadline, and that it never simulates many ticks without a reading. How long a reading's worth
//! of ticks takes on a real machine is a matter for the soak and the benches.

mod common;

use std::time::Duration;

use getaway::game::{Rules, World};
use getaway::planner::{Budget, NAMES, by_name};
use getaway::search::{ManualTimeSource, TimeSource};

const DECISIONS: usize = 12;
/// What a reading takes: about as long as planners are meant to work between two.
const READING: Duration = Duration::from_micros(15);
/// Simulated ticks between two readings, and a rule of thumb that is not interrupted.
const TICKS_PER_READING_MAX: u64 = 512 + 10;

#[test]
fn every_planner_stops_at_the_first_reading_past_its_deadline() {
    let maps = common::our_maps();
    let map = maps.iter().find(|map| map.name == "metropolis").expect("our largest map");
    let world = World::new(&map.layout, &Rules::BLITZ_2025).expect("a map within the limits");
    let expressions = ["step(lookahead(select(1, simulate)))", "repeat(1000000, simulate(greedy, 10))"];
    for name in NAMES.into_iter().map(|(name, _)| name).chain(expressions) {
        for time in [0, 5].map(Duration::from_millis) {
            let mut planner = by_name(name, 1).expect("a planner");
            let mut state = world.start();
            for _ in 0..DECISIONS {
                if state.is_over() {
                    break;
                }
                let clock = ManualTimeSource::leak_with_reading(READING);
                let start = clock.now();
                let budget = Budget::until(start + time).with_time_source(clock);
                let choice = planner.decide(&world, &state, budget);
                let (readings, elapsed) = (clock.readings(), clock.now() - start);
                // One reading for the deadline that was reached, one for this test's own, and a
                // second meter's first two.
                assert!(elapsed <= time + 4 * READING, "{name}: {elapsed:?} of {time:?}");
                let ticks_max = readings * TICKS_PER_READING_MAX;
                assert!(
                    choice.simulated_ticks <= ticks_max,
                    "{name}: {} ticks, {readings} readings",
                    choice.simulated_ticks
                );
                world.step(&mut state, choice.player_move);
            }
        }
    }
}
