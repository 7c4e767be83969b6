//! The search signature: one number for what the planners do with a fixed seed and a fixed budget on all our maps, in both variants.
//!
//! It catches what changes a search without meaning to: a change that keeps the number is no functional change, and one that does not says so by
//! minting it anew, `GETAWAY_MINT_SIGNATURE=1 cargo test --test signature`, and committing `tests/signature.txt`.

mod common;

use std::path::Path;

use getaway::game::{Move, World};
use getaway::planner::{Limit, Survival, SurvivalOptions, by_name};

const SEED: u64 = 2025;
/// States that the survival search may step on each map.
const EXPANSIONS: u64 = 20_000;
/// Planners that play the first ticks of each map, and with how many evaluations or expansions a tick.
const PLAYERS: [(&str, u64); 5] = [
    ("uct-greedy", 12),
    ("step(repeat(4, select(0.5, simulate)))", 12),
    ("lookahead:4", 300),
    ("paranoid:3", 300),
    ("cautious", 0),
];
const TICKS: usize = 12;

/// FNV-1a: Fowler, Noll and Vo, *The FNV Non-Cryptographic Hash Algorithm* (IETF draft), 64 bits.
struct Fold(u64);

impl Fold {
    fn bytes(&mut self, bytes: impl IntoIterator<Item = u8>) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }

    fn number(&mut self, number: u64) {
        self.bytes(number.to_le_bytes());
    }

    fn moves(&mut self, moves: impl IntoIterator<Item = Move>) {
        self.bytes(moves.into_iter().map(|player_move| player_move.letter() as u8));
    }
}

/// Adds a solution of the survival search.
fn fold_survival(fold: &mut Fold, world: &World) {
    let options = SurvivalOptions { seed: SEED, ..SurvivalOptions::default() };
    let limit = Limit { expansions: Some(EXPANSIONS), ..Limit::default() };
    let solution = Survival::new(options).solve(world, &world.start(), limit);
    fold.bytes(solution.outcome.name().bytes());
    fold.number(u64::from(solution.final_tick));
    fold.number(solution.expanded);
    fold.moves(solution.moves);
}

/// Adds the first ticks of a game.
fn fold_game(fold: &mut Fold, world: &World, name: &str, expansions: u64) {
    let mut planner = by_name(name, SEED).expect("a planner");
    let mut state = world.start();
    let limit = Limit { expansions: Some(expansions), ..Limit::default() };
    for _ in 0..TICKS {
        if state.is_over() {
            return;
        }
        let choice = planner.decide(world, &state, limit);
        fold.moves([choice.player_move]);
        fold.number(choice.evaluations);
        fold.number(u64::from(choice.planned_tick.unwrap_or(0)));
        world.step(&mut state, choice.player_move);
    }
}

#[test]
fn the_planners_do_what_they_did() {
    let mut fold = Fold(0xcbf2_9ce4_8422_2325);
    for map in common::our_maps() {
        for no_jump in [false, true] {
            let world = World::new(&map.layout, no_jump).expect("a map within the limits");
            fold_survival(&mut fold, &world);
            PLAYERS.into_iter().for_each(|(name, expansions)| fold_game(&mut fold, &world, name, expansions));
        }
    }
    let found = format!("{:016x}", fold.0);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/signature.txt");
    if std::env::var_os("GETAWAY_MINT_SIGNATURE").is_some_and(|value| value == "1") {
        std::fs::write(&path, format!("{found}\n")).expect("the signature can be written");
        return;
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(
        kept.trim(),
        found,
        "the planners do something else than before; if that is meant, mint the signature anew with GETAWAY_MINT_SIGNATURE=1"
    );
}
