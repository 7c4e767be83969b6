//! Every planner stops within a few clock readings after its deadline, and reads the clock often
//! enough. A manual clock advances by a fixed time per reading, so the test is deterministic.

use std::time::Duration;

use crate::common;
use getaway::game::{Rules, World};
use getaway::planner::{by_name, names};
use getaway::search::{Budget, ManualTimeSource, TimeSource, install};

const DECISIONS: usize = 12;
/// The clock's advance per reading: about the time that a planner needs between readings.
const READING: Duration = Duration::from_micros(15);
/// The longest interval between two readings, 512 ticks, plus a margin for ticks that are counted
/// without a check of the deadline, such as trial steps of the `greedy` policy.
const TICKS_PER_READING_MAX: u64 = 512 + 10;

#[test]
fn every_planner_stops_at_the_first_reading_past_its_deadline() {
    let maps = common::our_maps();
    let map = maps.iter().find(|map| map.name == "metropolis").expect("our largest map");
    let world = World::new(&map.layout, &Rules::BLITZ_2025).expect("a map within the limits");
    let expressions = ["step(lookahead(select(1, simulate)))", "repeat(1000000, simulate(greedy, 10))"];
    for name in names().map(|(name, _)| name).chain(expressions) {
        for time in [0, 5].map(Duration::from_millis) {
            let mut planner = by_name(name, 1).expect("a planner");
            let mut state = world.start();
            for _ in 0..DECISIONS {
                if state.is_over() {
                    break;
                }
                let clock = install(ManualTimeSource::with_reading(READING));
                let start = clock.now();
                let budget = Budget::until(start + time);
                let choice = planner.decide(&world, &state, budget).expect("a move");
                let (readings, elapsed) = (clock.readings(), clock.now() - start);
                // At most four readings are past the deadline: the planner's last, the test's, and
                // two by a nested search.
                assert!(elapsed <= time + 4 * READING, "{name}: {elapsed:?} of {time:?}");
                let ticks_max = readings * TICKS_PER_READING_MAX;
                assert!(
                    choice.simulated_ticks <= ticks_max,
                    "{name}: {} ticks, {readings} readings",
                    choice.simulated_ticks
                );
                world.step_unchecked(&mut state, choice.player_move);
            }
        }
    }
}
