//! Games for the benches. Each plan must survive its game, and each replay must end in the same
//! state as the first run of the plan.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;
use getaway::game::{LAST_TICK, Move, Rules, State, World};
use getaway::map::Map;
use getaway::protocol::Trace;

/// The bundled maps on which these games are played, from small to large. The last map has more
/// threats than a [`State`] can store without a heap allocation.
pub const OUR_MAPS: [&str; 6] = ["corner-shop", "crossroads", "twin-bridges", "harbour", "old-town", "metropolis"];

const HERE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

pub struct BenchGame {
    pub name: String,
    pub folder: PathBuf,
    pub map: Map,
    pub jump: PlannedGame,
    pub no_jump: PlannedGame,
}

pub struct PlannedGame {
    pub world: World,
    pub plan: Vec<Move>,
    pub checksum: u64,
}

impl PlannedGame {
    fn new(map: &Map, rules: &Rules, plan: Vec<Move>) -> Self {
        let world = World::new(&map.layout, rules).unwrap_or_else(|error| panic!("{}: {error}", map.name));
        let mut end = world.start();
        for &player_move in &plan {
            assert!(!end.is_over(), "{}: the plan continues after the end of the game", map.name);
            world.step_unchecked(&mut end, player_move);
        }
        assert_eq!((end.tick(), end.is_caught()), (LAST_TICK + 1, false), "{}: the plan does not survive", map.name);
        let checksum = world.fingerprint(&end);
        Self { world, plan, checksum }
    }

    #[inline]
    pub fn replay(&self, start: &State) -> u64 {
        let mut state = start.clone();
        for &player_move in &self.plan {
            self.world.step_unchecked(&mut state, player_move);
        }
        let checksum = self.world.fingerprint(&state);
        assert_eq!(checksum, self.checksum, "the replay ended in a different state");
        checksum
    }
}

/// Returns the games on [`OUR_MAPS`], and on the challenge's six maps if the folder
/// `GETAWAY_SHARED` (default: `../shared`) exists.
pub fn all() -> Vec<BenchGame> {
    let here = Path::new(HERE);
    let ours = OUR_MAPS.map(our_game);
    let named = std::env::var_os("GETAWAY_SHARED").map(PathBuf::from);
    let shared = named.unwrap_or_else(|| here.join("../shared"));
    let real = (1..=6).filter(|_| shared.is_dir()).map(|number| real_game(&shared, &format!("challenge{number}")));
    ours.into_iter().chain(real).collect()
}

/// Both variants use the same plan, which never steps onto a threat's tile.
pub fn our_game(name: &str) -> BenchGame {
    let here = Path::new(HERE);
    let path = here.join("benches/plans").join(name).with_extension("txt");
    let letters = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let plan = letters
        .split_whitespace()
        .flat_map(str::chars)
        .map(|letter| Move::try_from(letter).unwrap_or_else(|error| panic!("{}: {error}", path.display())));
    let plan: Vec<Move> = plan.collect();
    game(here.join("maps").join(name), |_, _| plan.clone())
}

fn real_game(shared: &Path, name: &str) -> BenchGame {
    game(shared.join("maps").join(name), |map, rules| {
        let kind = if rules.no_jump { "nojump" } else { "beam1" };
        recorded_plan(map, rules, &shared.join(format!("golden/traces/{name}-{kind}.trace.jsonl.gz")))
    })
}

fn game(folder: PathBuf, plan: impl Fn(&Map, &Rules) -> Vec<Move>) -> BenchGame {
    let map = Map::load(&folder).unwrap_or_else(|error| panic!("{error}"));
    let [jump, no_jump] =
        [Rules::BLITZ_2025, Rules::NO_JUMP].map(|rules| PlannedGame::new(&map, &rules, plan(&map, &rules)));
    BenchGame { name: map.name.clone(), folder, map, jump, no_jump }
}

fn recorded_plan(map: &Map, rules: &Rules, path: &Path) -> Vec<Move> {
    let mut text = String::new();
    let file = File::open(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    GzDecoder::new(file).read_to_string(&mut text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let trace = Trace::parse(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let world = World::new(&map.layout, rules).expect("a map that is played in a trace");
    let mut state = world.start();
    let mut play = |actions: &[_]| world.step_command(&mut state, actions).expect("a trace ends with its game");
    trace.ticks.iter().map(|tick| play(tick.actions.as_deref().unwrap_or_default())).collect()
}

/// Plays `ticks` random moves, and starts again when the game is over. Returns a checksum of the
/// ticks in which games ended and of the last state.
#[inline]
pub fn play_at_random(world: &World, start: &State, ticks: u32) -> u64 {
    let (mut state, mut checksum) = (start.clone(), 0_u64);
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    for _ in 0..ticks {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let choice = ((random >> 32) * Move::ALL.len() as u64) >> 32;
        world.step_unchecked(&mut state, Move::ALL[choice as usize]);
        if state.is_over() {
            checksum = checksum.rotate_left(5) ^ u64::from(state.tick());
            state.clone_from(start);
        }
    }
    checksum ^ world.fingerprint(&state)
}
