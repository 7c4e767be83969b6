//! Guarantees: `game` and the reference model agree on every field of every tick, and on the paths
//! between all tiles. `cargo run --release --example lockstep` compares them for at least
//! 10,000,000 ticks.

use getaway::game::{Action, Direction, Layout, Rules, World};
use getaway_reference::Game;
use getaway_reference::lockstep::{Coverage, Dice, RulesDraw, play, play_seed};
use proptest::prelude::*;

const TICKS: u64 = 150_000;
/// Far above the default seeds of the example `lockstep`, so that this test plays other games.
const FIRST_SEED: u64 = 1_000_000_000;

#[test]
fn both_models_agree_on_random_games() {
    let mut coverage = Coverage::default();
    let mut seed = FIRST_SEED;
    while coverage.ticks < TICKS {
        if let Err(failure) = play_seed(seed, RulesDraw::Any, &mut coverage) {
            panic!("{failure}");
        }
        seed += 1;
    }
    println!("{coverage}");
    assert_eq!(coverage.gaps(), [""; 0], "these games do not cover every rule");
}

#[test]
fn both_models_agree_on_games_from_bytes() {
    let mut coverage = Coverage::default();
    for seed in 0..50 {
        let mut dice = Dice::from_seed(seed);
        let bytes: Vec<u8> = (0..2000).map(|_| dice.below(256) as u8).collect();
        let played = play(&mut Dice::from_bytes(&bytes), RulesDraw::Any, &mut coverage);
        assert_eq!(played, Ok(()), "the bytes of seed {seed}");
    }
    assert!(coverage.ticks > 1000, "{coverage}");
}

fn odd_streets() -> Layout {
    Layout::parse("P..~.#.\n.#.#.##\n...~...").expect("a drawing")
}

#[test]
fn move_to_rounds_the_largest_number_below_one_half_down() {
    // For this number, `(x + 0.5).floor()` is 1, but JavaScript's `Math.round` returns 0.
    let below_half = 0.5_f64.next_down();
    let layout = odd_streets();
    let world = World::new(&layout, &Rules::BLITZ_2025).expect("a map");
    let down = world.attempt(&world.start(), &Action::MoveTo { x: below_half, y: 2.0 });
    assert_eq!(down, Ok(Some(Direction::Down)), "(0, 2), not (1, 2)");
    let here = world.attempt(&world.start(), &Action::MoveTo { x: below_half, y: -below_half });
    assert!(here.is_err(), "expected an error, because the player is already at (0, 0): {here:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn both_models_round_move_to_alike(
        x in prop_oneof![any::<f64>(), -2.0..9.0, (-4..18_i32).prop_map(|x| f64::from(x) / 2.0)],
        y in prop_oneof![any::<f64>(), -2.0..5.0, (-4..10_i32).prop_map(|y| f64::from(y) / 2.0)],
    ) {
        let layout = odd_streets();
        let world = World::new(&layout, &Rules::BLITZ_2025).expect("a map");
        let action = Action::MoveTo { x, y };
        let found = world.attempt(&world.start(), &action).map(|step| step.map(|d| layout.player.towards(d)));
        prop_assert_eq!(found, Game::new(&layout, &Rules::BLITZ_2025).try_action(&action));
    }
}
