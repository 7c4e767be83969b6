//! A search that is saved and restored many times gives the same answer as an uninterrupted search,
//! and its certificates verify. A search that continues after moves other than its own stays sound.

use std::time::Duration;

use getaway::game::{LAST_TICK, Layout, Rules, Style, World};
use getaway::map::{GeneratorKind, GeneratorOptions, generate_nth};
use getaway::search::{Budget, ManualTimeSource, Random, TimeSource, install};
use getaway::solve::{Certificate, Solution, Solver, SolverOptions};
use getaway_verifier::verify;

fn worlds(count: u64) -> impl Iterator<Item = (Layout, World)> {
    (0..count).map(|index| {
        let options = GeneratorOptions {
            kind: if index.is_multiple_of(2) { GeneratorKind::Labyrinth } else { GeneratorKind::Maze },
            width: 11,
            height: 9,
            threats: [2, 3, 4][index as usize % 3],
            styles: Style::ALL.to_vec(),
            braid_permille: [0, 250, 500][index as usize / 4 % 3],
        };
        let layout = generate_nth(&options, 31, index).expect("a map").layout;
        let rules = if index % 4 == 3 { Rules::BLITZ_2025 } else { Rules::NO_JUMP };
        let world = World::new(&layout, &rules).expect("a world");
        (layout, world)
    })
}

fn solver() -> Solver {
    Solver::new(SolverOptions::default()).without_search()
}

fn save(solver: &Solver) -> Vec<u8> {
    let mut bytes = Vec::new();
    solver.save(&mut bytes).expect("written");
    bytes
}

fn restore(world: &World, seed: u64, mut bytes: &[u8]) -> std::io::Result<Solver> {
    Solver::restore(SolverOptions { seed, ..SolverOptions::default() }, world, &mut bytes)
}

fn certificate(world: &World, solution: &Solution) -> Certificate {
    Certificate::new(world, solution).expect("a solution for the start")
}

#[test]
fn search_in_pieces_gives_the_answer_of_an_uncut_one() {
    let (doomed, cuts) = check_pieces(9);
    assert!(doomed >= 2 && cuts >= 20, "{doomed} doomed, {cuts} cuts");
}

#[test]
#[ignore = "takes a minute"]
fn search_in_pieces_gives_the_answer_of_an_uncut_one_on_many_maps() {
    let (doomed, cuts) = check_pieces(18);
    assert!(doomed >= 5 && cuts >= 40, "{doomed} doomed, {cuts} cuts");
}

/// Compares cut searches with uncut ones. Returns the number of doomed maps and of cuts.
fn check_pieces(maps: u64) -> (usize, usize) {
    let mut random = Random::from_seed(5);
    let (mut doomed, mut cuts) = (0, 0);
    for (index, (layout, world)) in worlds(maps).enumerate() {
        let whole = solver().solve(&world, &world.start(), Budget::ticks(3_000_000));
        if !whole.is_optimal() {
            continue;
        }
        let mut solver = solver();
        let mut solution = whole.clone();
        for piece in 0..60 {
            // Each piece restarts the search for lines, so later pieces get more ticks on average.
            let ticks = 10_000 << random.below(5 + piece as usize / 10);
            solution = solver.solve(&world, &world.start(), Budget::ticks(ticks));
            let certificate = certificate(&world, &solution);
            assert_eq!(verify(&certificate, &layout), Ok(()), "map {index}, piece {piece}");
            if solution.is_optimal() {
                break;
            }
            solver = restore(&world, piece, &save(&solver)).expect("a saved search");
            let bytes = save(&solver);
            let again = save(&restore(&world, piece, &bytes).expect("a saved search"));
            assert!(again == bytes, "map {index}, piece {piece}: a restored search must be saved as it was");
            cuts += 1;
        }
        assert_eq!((solution.final_tick, solution.bound_tick), (whole.final_tick, whole.bound_tick), "map {index}");
        assert_eq!(solution.outcome, whole.outcome, "map {index}");
        doomed += usize::from(whole.bound_tick <= 2000);
    }
    (doomed, cuts)
}

#[test]
fn search_is_saved_wherever_the_time_is_up() {
    assert!(check_cuts(40) >= 100);
}

#[test]
#[ignore = "takes a minute"]
fn search_is_saved_wherever_the_time_is_up_many_times() {
    assert!(check_cuts(150) >= 300);
}

/// Cuts each search into at most `pieces` pieces. Returns the number of cuts.
fn check_cuts(pieces: u64) -> usize {
    let mut random = Random::from_seed(11);
    let mut cuts = 0;
    for (index, (_, world)) in worlds(10).enumerate() {
        let mut solver = solver();
        for piece in 0..pieces {
            // This clock advances by the same time at every reading, so all machines interrupt the
            // search at the same points.
            let clock = install(ManualTimeSource::with_reading(Duration::from_micros(20)));
            let time = Duration::from_micros(20) * (50 << random.below(8) | random.below(50) as u32);
            let solution = solver.solve(&world, &world.start(), Budget::until(clock.now() + time));
            if solution.is_optimal() {
                break;
            }
            let restored = restore(&world, piece, &save(&solver));
            solver = restored.unwrap_or_else(|error| panic!("map {index}, piece {piece}: {error}"));
            cuts += 1;
        }
    }
    cuts
}

/// The first of 20 generated maps that a search does not decide within its budget, the map's world,
/// and the saved search.
fn undecided() -> (Layout, World, Vec<u8>) {
    let options = GeneratorOptions {
        kind: GeneratorKind::Labyrinth,
        width: 11,
        height: 9,
        threats: 4,
        styles: Style::ALL.to_vec(),
        braid_permille: 250,
    };
    let tried = (0..20).find_map(|index| {
        let layout = generate_nth(&options, 77, index).expect("a map").layout;
        let world = World::new(&layout, &Rules::NO_JUMP).expect("a world");
        let mut solver = solver();
        let solution = solver.solve(&world, &world.start(), Budget::ticks(200_000));
        let bytes = save(&solver);
        (!solution.is_optimal()).then_some((layout, world, bytes))
    });
    tried.expect("an undecided map")
}

#[test]
fn moves_off_the_best_line_keep_the_bound_sound() {
    for (index, (_, world)) in worlds(12).enumerate() {
        let (mut state, mut solver) = (world.start(), solver());
        let mut solution = solver.solve(&world, &state, Budget::ticks(300_000));
        for step in 0..40 {
            let others = world.successors(&state).filter(|(player_move, next)| {
                !next.is_over() && (step % 8 != 7 || Some(player_move) != solution.moves.first())
            });
            let Some((_, next)) = others.last() else { break };
            state = next;
            solution = solver.solve(&world, &state, Budget::ticks(100_000));
            let other = Solver::new(SolverOptions::default()).solve(&world, &state, Budget::ticks(20_000));
            let is_sound = solution.final_tick <= other.bound_tick && other.final_tick <= solution.bound_tick;
            assert!(is_sound, "map {index}, step {step}: {} to {}", solution.final_tick, solution.bound_tick);
        }
    }
}

/// Returns the end of a number with seven bits per byte, the last of which is below 128.
fn number_end(bytes: &[u8], start: usize) -> Option<usize> {
    bytes.get(start..)?.iter().position(|byte| *byte < 128).map(|length| start + length + 1)
}

/// Replaces the allowed places of both targets, one set of `words` words per tick, with empty sets.
fn forge(bytes: &[u8], ticks: usize, words: u8) -> Vec<u8> {
    let length = [ticks as u8 | 128, (ticks >> 7) as u8];
    let set_end = |at: usize| {
        let has_set = bytes.get(at) == Some(&words);
        has_set.then(|| (0..words).try_fold(at + 1, |at, _| number_end(bytes, at)))?
    };
    let (mut forged, mut at, mut lists) = (Vec::new(), 0, 0);
    while let Some(&byte) = bytes.get(at) {
        forged.push(byte);
        at += 1;
        if bytes[..at].ends_with(&length)
            && let Some(end) = (0..ticks).try_fold(at, |at, _| set_end(at))
        {
            forged.extend((0..ticks).flat_map(|_| [words].into_iter().chain((0..words).map(|_| 0))));
            (at, lists) = (end, lists + 1);
        }
    }
    assert_eq!(lists, 2, "one list for each target");
    forged
}

#[test]
fn proof_from_forged_sets_is_refused() {
    let (layout, world, bytes) = undecided();
    // Without places, the next sweeps run out of states.
    let forged = forge(&bytes, usize::from(LAST_TICK) + 2, 6);
    let mut solver = restore(&world, 0, &forged).expect("a search");
    let solution = solver.solve(&world, &world.start(), Budget::ticks(3_000_000));
    let refused = verify(&certificate(&world, &solution), &layout);
    assert!(refused.is_err(), "a bound of {} for {}", solution.bound_tick, solution.final_tick);
}

#[test]
fn damaged_searches_are_refused_or_do_no_harm() {
    let (_, world, bytes) = undecided();
    let mut random = Random::from_seed(9);
    let header = 4096;
    let (mut refused, mut solved) = (0, 0);
    for number in 0..120 {
        let mut changed = bytes.clone();
        let place = random.below(if number % 2 == 0 { header } else { bytes.len() });
        changed[place] = random.below(256) as u8;
        match restore(&world, 0, &changed) {
            Err(_) => refused += 1,
            Ok(mut solver) => {
                solver.solve(&world, &world.start(), Budget::ticks(100_000));
                solved += 1;
            }
        }
    }
    assert!(refused > 20 && solved > 5, "{refused} refused, {solved} solved");
    for length in (0..bytes.len()).step_by(bytes.len() / 50) {
        assert!(restore(&world, 0, &bytes[..length]).is_err(), "{length} of {} bytes", bytes.len());
    }
    assert!(restore(&world, 0, &[&bytes[..], b"0"].concat()).is_err(), "more data");
    let (_, other) = worlds(1).next().expect("a map");
    assert!(restore(&other, 0, &bytes).is_err(), "another map");
}
