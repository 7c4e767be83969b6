//! Every planner keeps to its deadline, whatever it is doing when the deadline is reached.
//!
//! Time is a manual clock that advances by a fixed time at each reading, so that nothing here
//! depends on the machine. The tests check that a planner stops at the first reading past its
//! deadline, and that it never simulates many ticks without a reading. How long those ticks take on
//! a real machine is measured by the soak test and the benches.

mod common;

use std::time::Duration;

use getaway::game::{Rules, World};
use getaway::planner::{Budget, NAMES, by_name};
use getaway::search::{ManualTimeSource, TimeSource};

const DECISIONS: usize = 12;
/// Time per reading: about as long as planners should work between two readings.
const READING: Duration = Duration::from_micros(15);
/// Simulated ticks between two readings, plus a fallback rule that is not interrupted.
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
                // One reading at the deadline, one by this test, and the first two of a second
                // meter.
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
