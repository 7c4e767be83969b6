//! The verifier accepts the solver's certificates, but no altered certificate with a false claim.

mod audit;

use audit::{Audit, Counts, change};
use getaway::game::{Layout, PeriodTicks, Rules, Style, World};
use getaway::map::{GeneratorKind, GeneratorOptions, generate_nth};
use getaway::search::Budget;
use getaway::solve::{Certificate, Outcome, ProofEnd, Solver, SolverOptions, Step};
use getaway_reference::lockstep::Dice;
use getaway_verifier::{verify, verify_within};

fn decide(index: u64, ticks: u64) -> (Layout, Certificate, Outcome) {
    let options = GeneratorOptions {
        kind: if index.is_multiple_of(2) { GeneratorKind::Labyrinth } else { GeneratorKind::Maze },
        width: 15,
        height: 13,
        threats: 6,
        styles: Style::ALL.to_vec(),
        braid_permille: 250,
    };
    let layout = generate_nth(&options, 77, index).expect("a map").layout;
    let rules = if index % 7 == 6 { Rules::BLITZ_2025 } else { Rules::NO_JUMP };
    let world = World::new(&layout, &rules).expect("a world");
    let mut decider = Solver::new(SolverOptions::default());
    let solution = decider.solve(&world, &world.start(), Budget::ticks(ticks));
    (layout, Certificate::new(&world, &solution).expect("a solution for the start"), solution.outcome)
}

#[test]
fn every_certificate_verifies() {
    let (mut doomed, mut by_sweeps) = (0, 0);
    for index in 0..16 {
        let (layout, certificate, outcome) = decide(index, 3_000_000);
        assert_eq!(verify(&certificate, &layout), Ok(()), "map {index}");
        doomed += usize::from(outcome == Outcome::Doomed);
        by_sweeps += usize::from(certificate.end == ProofEnd::Empty);
    }
    assert!(doomed >= 5 && by_sweeps >= 4, "{doomed} doomed, {by_sweeps} proven by sweeps");
}

#[test]
fn line_on_which_a_hawk_draws_more_often_than_is_counted_verifies() {
    let drawing = "...#..H..\n##.###.##\n.........\n.#######.\n.#.#P....\n##.#####.\n.........";
    let layout = Layout::parse(drawing).expect("a drawing");
    let server = Rules::NO_JUMP;
    let rules = Rules {
        period_ticks: PeriodTicks { lazy: 1, tease: 1, ..server.period_ticks },
        hawk_patience_moves: 1,
        hawk_rest_moves: 0,
        ..server
    };
    let world = World::new(&layout, &rules).expect("a world");
    let mut decider = Solver::new(SolverOptions::default());
    let solution = decider.solve(&world, &world.start(), Budget::ticks(400_000));
    let certificate = Certificate::new(&world, &solution).expect("a solution for the start");
    let mut state = world.start();
    certificate.moves.iter().for_each(|&player_move| world.step_unchecked(&mut state, player_move));
    assert!(world.threats(&state).any(|hawk| hawk.draws > 256), "tick {}", state.tick());
    assert_eq!(verify(&certificate, &layout), Ok(()));
}

#[test]
fn sweeps_after_a_complete_proof_are_ignored() {
    let mut changed = 0;
    for index in 0..6 {
        let (layout, mut certificate, _) = decide(index, 3_000_000);
        if certificate.end == ProofEnd::Empty {
            let wrong = Step { joins: vec![(1, 99)], ..certificate.steps[0].clone() };
            certificate.steps.push(wrong);
            assert_eq!(verify(&certificate, &layout), Ok(()), "map {index}");
            certificate.steps.rotate_right(1);
            assert!(verify(&certificate, &layout).is_err(), "map {index}: accepted a wrong sweep before the proof");
            changed += 1;
        }
    }
    assert!(changed > 0);
}

#[test]
fn ticks_of_ignored_sweeps_are_checked() {
    let layout = Layout::parse("P.S").expect("a drawing");
    let line_of_error = |[from_tick, until_tick, target_tick]: [u16; 3]| {
        let step =
            Step { target_tick, from_tick, until_tick, counts_draws: false, joins: Vec::new(), known: Vec::new() };
        let (rules, moves, steps, end) = (Rules::NO_JUMP, Vec::new(), vec![step], ProofEnd::None);
        let certificate = Certificate { rules, moves, final_tick: 1, bound_tick: 2001, steps, end };
        verify(&certificate, &layout).map_err(|error| error.line)
    };
    assert_eq!(line_of_error([1, 1, 2]), Ok(()));
    for ticks in [[0, 1, 2], [2, 1, 2], [1, 3, 2], [1, 1, 1], [1, 1, 2001]] {
        assert_eq!(line_of_error(ticks), Err(2), "{ticks:?}");
    }
}

fn search(options: &GeneratorOptions, index: u64, rules: &Rules) -> (Layout, Certificate) {
    let layout = generate_nth(options, 11, index).expect("a map").layout;
    let world = World::new(&layout, rules).expect("a world");
    let mut decider = Solver::new(SolverOptions::default());
    let solution = decider.solve(&world, &world.start(), Budget::ticks(90_000));
    (layout, Certificate::new(&world, &solution).expect("a solution for the start"))
}

#[test]
fn searches_with_many_threats_and_with_jumping_verify() {
    let many_threats = GeneratorOptions {
        kind: GeneratorKind::Labyrinth,
        width: 21,
        height: 17,
        threats: 32,
        styles: Style::ALL.to_vec(),
        braid_permille: 1000,
    };
    let (layout, certificate) = search(&many_threats, 6, &Rules::NO_JUMP);
    assert_eq!(verify(&certificate, &layout), Ok(()), "a map with 32 threats");
    let small = GeneratorOptions { width: 9, height: 7, threats: 4, braid_permille: 0, ..many_threats };
    let searched = (0..120).filter(|&index| {
        let (layout, certificate) = search(&small, index, &Rules::BLITZ_2025);
        assert_eq!(verify(&certificate, &layout), Ok(()), "map {index}");
        certificate.end == ProofEnd::Search
    });
    let searched = searched.count();
    assert!(searched >= 3, "{searched} proofs ended with a search");
}

#[test]
fn changed_certificates_are_refused_or_still_true() {
    check_changed(36, 12);
}

#[test]
#[ignore = "takes 15 s"]
fn a_thousand_changed_certificates_are_refused_or_still_true() {
    check_changed(1000, 40);
}

fn check_changed(changes: usize, changes_per_map: usize) {
    let mut dice = Dice::from_seed(3);
    let (mut refused, mut accepted) = (0, 0);
    for index in 0.. {
        if refused + accepted == changes {
            break;
        }
        let (layout, certificate, outcome) = decide(index, 300_000);
        if outcome != Outcome::Doomed {
            continue;
        }
        for _ in 0..changes_per_map.min(changes - refused - accepted) {
            let text = change(&certificate.to_string(), &mut dice);
            let verdict = text.parse::<Certificate>().map_err(|error| error.line).and_then(|changed| {
                verify_within(&changed, &layout, 300_000_000).map(|_| changed).map_err(|error| error.line)
            });
            match verdict {
                Ok(changed) => {
                    // With unchanged rules, the original certificate's line survives until its
                    // final tick, so a bound below this tick is false.
                    let is_true = changed.rules != certificate.rules || changed.bound_tick >= certificate.final_tick;
                    assert!(is_true, "map {index}: a bound of {} was accepted", changed.bound_tick);
                    accepted += 1;
                }
                Err(line) => {
                    assert!((1..=text.lines().count().max(1)).contains(&line), "line {line} of {text}");
                    refused += 1;
                }
            }
        }
    }
    println!("{refused} refused, {accepted} still true");
    assert!(refused > accepted, "{refused} refused, {accepted} still true");
}

#[test]
fn random_pairs_of_map_and_rules_have_no_false_proof() {
    let (audit, mut counts) = (Audit::SMALL, Counts::default());
    for seed in 0..40 {
        audit.check(seed, &mut counts).unwrap_or_else(|failure| panic!("{failure}"));
    }
    assert!(counts.exhausted >= 10 && counts.by_sweeps > 0 && counts.by_search > 0, "{counts}");
    let audit = Audit { verify_steps: 20_000_000, ..audit };
    for seed in 0..12 {
        audit.check_changed(seed, 10, &mut counts).unwrap_or_else(|failure| panic!("{failure}"));
        audit.check_forged(seed, &mut counts).unwrap_or_else(|failure| panic!("{failure}"));
    }
    assert!(counts.refused > counts.accepted, "{counts}");
}

#[test]
fn threats_that_move_in_tick_1_have_not_seen_the_player() {
    let period_ticks = PeriodTicks { lazy: 1, tease: 2, awake: 1, hungry: 1, insane: 1 };
    let rules = Rules { period_ticks, ..Rules::NO_JUMP };
    for (index, final_tick) in [(108, 85), (117, 41), (139, 46), (153, 36), (162, 28), (198, 15)] {
        let options = GeneratorOptions {
            kind: [GeneratorKind::Maze, GeneratorKind::Labyrinth, GeneratorKind::City][index as usize % 3],
            width: [9, 11, 13][index as usize / 3 % 3],
            height: [7, 9, 11][index as usize / 3 % 3],
            threats: [2, 3, 4, 5][index as usize % 4],
            styles: vec![Style::Shark, Style::Deer, Style::Shark, Style::Owl],
            braid_permille: [250, 500, 1000][index as usize % 3],
        };
        let layout = generate_nth(&options, 5, index).expect("a map").layout;
        let world = World::new(&layout, &rules).expect("a world");
        let mut decider = Solver::new(SolverOptions::default()).without_search();
        let solution = decider.solve(&world, &world.start(), Budget::ticks(2_000_000));
        assert_eq!((solution.final_tick, solution.bound_tick), (final_tick, final_tick), "map {index}");
        let certificate = Certificate::new(&world, &solution).expect("a solution for the start");
        assert_eq!(verify(&certificate, &layout), Ok(()), "map {index}");
    }
}

fn searched(drawing: &str, rules: &Rules) -> (Layout, Certificate) {
    let layout = Layout::parse(drawing).expect("a drawing");
    let world = World::new(&layout, rules).expect("a world");
    let solution = Solver::new(SolverOptions::default()).solve(&world, &world.start(), Budget::UNLIMITED);
    (layout, Certificate::new(&world, &solution).expect("a solution for the start"))
}

#[test]
fn extreme_rules_and_a_game_that_is_over_at_the_start_verify() {
    let window = |owl_window_ticks, owl_minute_ticks| Rules { owl_window_ticks, owl_minute_ticks, ..Rules::NO_JUMP };
    for rules in [window(1, 60), window(0, 1), window(60, 60), window(1, u16::MAX), window(1, 1)] {
        let (layout, certificate) = searched("P.....S\n##.####\n##O####", &rules);
        assert_eq!(certificate.end, ProofEnd::Search);
        assert_eq!(verify(&certificate, &layout), Ok(()), "{rules:?}");
    }
    let (mut layout, _) = searched("P.S", &Rules::BLITZ_2025);
    layout.threats[0].position = layout.player;
    let world = World::new(&layout, &Rules::BLITZ_2025).expect("a world");
    let solution = Solver::new(SolverOptions::default()).solve(&world, &world.start(), Budget::UNLIMITED);
    let certificate = Certificate::new(&world, &solution).expect("a solution for the start");
    assert_eq!((certificate.bound_tick, verify(&certificate, &layout)), (1, Ok(())));
}

#[test]
fn work_is_counted_and_limited() {
    let (layout, certificate, _) = decide(0, 3_000_000);
    let steps = verify_within(&certificate, &layout, u64::MAX).expect("it is true");
    assert_eq!(verify_within(&certificate, &layout, steps), Ok(steps));
    let error = verify_within(&certificate, &layout, steps - 1).expect_err("one step less");
    assert_eq!(error.message, format!("verification takes more than {} steps", steps - 1));
}
