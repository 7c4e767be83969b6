//! Guarantees: stepping a state in a world that did not create it panics, or gives a valid state of
//! that world. No step reads a table out of bounds; `tools/sanitize.sh` checks this.

use std::panic::{AssertUnwindSafe, catch_unwind};

use getaway::game::{Direction, Layout, Move, Position, Rules, Spawn, State, Style, Threat, Tile, World};
use proptest::prelude::*;

/// In this tick all threats move and no owl looks, so a step reads memories before it writes them.
const TICK: u16 = 1001;

fn world(layout: &Layout) -> World {
    World::new(layout, &Rules::BLITZ_2025).expect("a map")
}

fn streets(style: Style) -> World {
    let mut layout = Layout::parse("#####\n#P..#\n#.#.#\n#..B#\n#####").expect("a drawing");
    layout.threats[0].style = style;
    world(&layout)
}

fn steps(world: &World, state: &mut State) -> bool {
    let stepped = catch_unwind(AssertUnwindSafe(|| world.step_unchecked(state, Move::Stay)));
    if let Err(panic) = &stepped {
        let message = panic.downcast_ref::<&str>().expect("a message without values");
        assert!(message.contains("belongs to a world with other tiles or threats"), "{message}");
    }
    stepped.is_ok()
}

fn assert_valid(world: &World, state: &State) {
    let threats: Vec<Threat> = world.threats(state).collect();
    let twin = world.state_at(state.tick(), world.player(state), &threats).expect("positions of this world");
    assert_eq!(world.threats(&twin).collect::<Vec<_>>(), threats);
    assert_eq!((twin.tick(), world.player(&twin)), (state.tick(), world.player(state)));
    for from in world.legal_moves(state).filter_map(Move::direction) {
        assert!(world.layout().is_open(world.player(state).towards(from)));
    }
}

#[test]
fn hawk_state_with_a_post_is_rejected_by_an_owl_world() {
    let (hawks, owls) = (streets(Style::Hawk), streets(Style::Owl));
    let hawk = hawks.threat(&hawks.start(), 0);
    let threat = Threat { post: Some(hawk.position), ..hawk };
    let mut state = hawks.state_at(TICK, hawks.layout().player, &[threat]).expect("a state");
    assert!(!steps(&owls, &mut state));
}

#[test]
fn state_of_one_style_steps_only_in_worlds_of_that_style() {
    for made in Style::ALL {
        for stepped in Style::ALL {
            let (maker, stepper) = (streets(made), streets(stepped));
            let threat = maker.threat(&maker.start(), 0);
            let place = Some(Position::new(3, 1));
            let memories = [(None, None, None), (place, None, None), (None, place, None), (None, None, place)];
            for (remembered, seen, post) in memories {
                let threat = Threat { remembered, seen, post, ..threat };
                let mut state = maker.state_at(TICK, maker.layout().player, &[threat]).expect("a state");
                assert_eq!(steps(&stepper, &mut state), made == stepped, "{made} in a world of {stepped}");
                if made == stepped {
                    assert_valid(&stepper, &state);
                }
            }
        }
    }
}

#[test]
fn state_of_one_style_is_rejected_after_the_layout_is_set_to_another() {
    for made in Style::ALL {
        for other in Style::ALL {
            let mut world = streets(made);
            let mut state = world.start();
            world.set_layout(streets(other).layout()).expect("a map");
            assert_eq!(steps(&world, &mut state), made == other, "{made}, then {other}");
        }
    }
}

#[test]
fn order_of_threats_in_the_map_does_not_affect_the_lanes() {
    let [one, other] =
        ["P..#\n.#BH\n#S.O", "P..#\n.#OH\n#S.B"].map(|drawing| Layout::parse(drawing).expect("a drawing"));
    let (one, other) = (world(&one), world(&other));
    let mut state = one.start();
    while !state.is_over() && state.tick() < 400 {
        assert!(steps(&other, &mut state));
        assert_valid(&other, &state);
    }
}

fn layouts() -> impl Strategy<Value = (Layout, Layout)> {
    let spawns = prop::collection::vec((0..Style::ALL.len(), any::<prop::sample::Index>()), 0..12);
    let tiles = (1..7_i32, 1..7_i32).prop_flat_map(|(width, height)| {
        let tiles = prop::collection::vec(0..4_u8, (width * height) as usize);
        (Just(width), Just(height), tiles.clone().prop_shuffle(), tiles)
    });
    (tiles, any::<prop::sample::Index>(), spawns, any::<prop::sample::Index>(), 0..4_u8).prop_flat_map(
        |((width, height, tiles, others), player, spawns, odd_one, kinship)| {
            let map = |tiles: &[u8], spawns: &[(usize, prop::sample::Index)]| {
                let mut tiles: Vec<Tile> = tiles
                    .iter()
                    .map(|&tile| [Tile::Wall, Tile::Open, Tile::Open, Tile::SeeThrough][usize::from(tile)])
                    .collect();
                let at = |index: usize| Position::new(index as i32 % width, index as i32 / width);
                let spot = player.index(tiles.len());
                tiles[spot] = Tile::Open;
                let open: Vec<usize> = (0..tiles.len()).filter(|&index| tiles[index].is_open()).collect();
                let threats = spawns
                    .iter()
                    .map(|(style, index)| Spawn {
                        style: Style::ALL[*style],
                        position: at(open[index.index(open.len())]),
                    })
                    .collect();
                Layout { width, height, tiles, player: at(spot), threats }
            };
            let one = map(&tiles, &spawns);
            // `kinship` says how the second map differs from the first: 1 and 3 change the style of
            // a threat (if any); 2 draws new tiles; 3 reverses the order of the tiles.
            let mut cast = spawns.clone();
            if kinship % 2 == 1 && !cast.is_empty() {
                let odd_one = odd_one.index(cast.len());
                cast[odd_one].0 = (cast[odd_one].0 + 1) % Style::ALL.len();
            }
            let other = match kinship {
                0 | 1 => map(&tiles, &cast),
                2 => map(&others, &cast),
                _ => map(&tiles.iter().rev().copied().collect::<Vec<_>>(), &cast),
            };
            (Just(one), Just(other))
        },
    )
}

fn arbitrary_threats(world: &World, numbers: &[u32]) -> Vec<Threat> {
    let open: Vec<Position> = world.layout().open_positions().collect();
    let place = |number: u32| open.get(number as usize % (open.len() + 1)).copied();
    let think = |(threat, &number): (Threat, &u32)| Threat {
        position: place(number).unwrap_or(threat.position),
        direction: Direction::ALL[number as usize >> 6 & 3],
        draws: (number >> 16) as u16 % 1000,
        remembered: place(number >> 8),
        seen: place(number >> 10),
        post: place(number >> 12),
        idle_rounds: number as i8,
        ..threat
    };
    world.threats(&world.start()).zip(numbers).map(think).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn any_state_in_any_other_world_is_rejected_or_valid(
        (made, stepped) in layouts(),
        numbers in prop::collection::vec(any::<u32>(), 12),
        tick in prop_oneof![Just(TICK), 1..=1990_u16],
        does_set_layout in any::<bool>(),
    ) {
        let (maker, mut stepper) = (world(&made), world(&stepped));
        let player = maker.layout().player;
        let mut state = maker.state_at(tick, player, &arbitrary_threats(&maker, &numbers)).expect("positions of this world");
        if does_set_layout {
            stepper = maker;
            stepper.set_layout(&stepped).expect("a map");
        }
        for _ in 0..10 {
            if state.is_over() || !steps(&stepper, &mut state) {
                break;
            }
            assert_valid(&stepper, &state);
        }
    }
}
