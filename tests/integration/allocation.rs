//! Guarantees: playing a game allocates nothing, and cloning a state allocates nothing if it has at
//! most eight threats. States are small. Building the tables of the largest map stays within limits
//! on memory and time.

use std::time::Duration;

use crate::clock::thread_time;
use crate::counting::measure;
use getaway::game::{Action, Direction, Layout, Position, Rules, Spawn, State, Style, Tile, World};

const MAX_STATE_BYTES: usize = 96;
const MAX_HALL_BYTES: usize = 100_000_000;
/// Maximum processor time to build the largest map's tables, in a release build.
const MAX_HALL_TIME: Duration = Duration::from_millis(200);
/// Multiplies the time limit, to allow for debug builds, slow machines and small slowdowns.
const SLOWDOWN: u32 = if cfg!(debug_assertions) { 20 } else { 3 };

fn layout_with(threats: usize) -> Layout {
    let drawing =
        "#############\n#P..........#\n#.##.###.##.#\n#...........#\n#.##.###.##.#\n#B.G.S.O.D.H#\n#############";
    let mut layout = Layout::parse(drawing).expect("a drawing");
    let six = layout.threats.clone();
    layout.threats = six.iter().copied().cycle().take(threats).collect();
    layout
}

fn hall() -> Layout {
    let threat = |(index, style)| Spawn { style, position: Position::new(60 - index, 60) };
    Layout {
        width: 64,
        height: 64,
        tiles: vec![Tile::Open; 64 * 64],
        player: Position::new(0, 0),
        threats: (0..).zip(Style::ALL).map(threat).collect(),
    }
}

fn commands() -> Vec<Vec<Action>> {
    let to = |x, y| Action::MoveTo { x, y };
    let mut commands: Vec<Vec<Action>> =
        Direction::ALL.iter().map(|&direction| vec![Action::Move(direction)]).collect();
    commands.extend([
        vec![],
        vec![
            Action::Unknown("{}".into()),
            Action::MoveNowhere("{}".into()),
            to(1e300, 0.0),
            to(0.0, 0.0),
            to(11.0, 5.0),
        ],
        vec![to(f64::NAN, 1.0), to(6.4, 3.0), Action::Move(Direction::Up)],
    ]);
    commands
}

fn play(world: &World, commands: &[Vec<Action>], ticks: usize) -> u64 {
    let start = world.start();
    let (mut state, mut checksum) = (start.clone(), 0);
    for command in commands.iter().cycle().take(ticks) {
        if world.step_command(&mut state, command).is_err() {
            state.clone_from(&start);
        }
        let copy = state.clone();
        checksum ^= world.fingerprint(&copy).rotate_left(u32::from(copy.tick()) % 64);
    }
    checksum
}

#[test]
fn state_is_small() {
    assert!(size_of::<State>() <= MAX_STATE_BYTES, "a state takes {} bytes", size_of::<State>());
}

#[test]
fn games_of_up_to_eight_threats_do_not_allocate() {
    let commands = commands();
    for threats in [0, 1, 6, 8] {
        let world =
            World::new(&layout_with(threats), &Rules { no_jump: threats == 6, ..Rules::BLITZ_2025 }).expect("a map");
        let (_, allocated) = measure(|| play(&world, &commands, 20_000));
        assert_eq!(allocated.allocations, 0, "{threats} threats: {allocated:?}");
    }
}

#[test]
fn with_more_threats_only_cloning_allocates() {
    let (world, commands) = (World::new(&layout_with(16), &Rules::BLITZ_2025).expect("a map"), commands());
    let mut state = world.start();
    let ((), allocated) = measure(|| {
        for command in &commands {
            let _ = world.step_command(&mut state, command);
            std::hint::black_box(world.fingerprint(&state));
        }
    });
    assert_eq!(allocated.allocations, 0, "{allocated:?}");
    assert_eq!(measure(|| state.clone()).1.allocations, 1);
}

#[test]
fn largest_map_takes_little_memory_and_time() {
    let start = thread_time();
    let (world, allocated) = measure(|| World::new(&hall(), &Rules::BLITZ_2025).expect("a map"));
    let time = thread_time() - start;
    println!("hall of {} tiles: {allocated:?}, {time:?}", world.open_tile_count());
    assert_eq!(world.open_tile_count(), 4096);
    assert!(allocated.peak_bytes < MAX_HALL_BYTES, "{allocated:?}");
    assert!(time < MAX_HALL_TIME * SLOWDOWN, "building the hall took {time:?}");
}
