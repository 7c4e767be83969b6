//! Certificates: those of the decider are accepted, and altered ones are refused or still true.
//!
//! Guarantees: a certificate that `verify` accepts says nothing false about its map.

use getaway::game::{Layout, Rules, Style, World};
use getaway::map::{GeneratorKind, GeneratorOptions, generate_nth};
use getaway::planner::{Budget, Certificate, Decider, Outcome, ProofEnd, SurvivalOptions};
use getaway_reference::{verify, verify_within};
use rand_pcg::rand_core::{Rng, SeedableRng};

/// A map of the kinds that are mostly doomed, with the decider's result.
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
    let mut decider = Decider::new(SurvivalOptions::default());
    let solution = decider.solve(&world, &world.start(), Budget::ticks(ticks));
    (layout, Certificate::new(&rules, &solution, decider.proof()), solution.outcome)
}

#[test]
fn every_certificate_verifies() {
    let (mut doomed, mut by_sweeps) = (0, 0);
    for index in 0..16 {
        let (layout, certificate, outcome) = decide(index, 400_000);
        assert_eq!(verify(&certificate, &layout), Ok(()), "map {index}");
        doomed += usize::from(outcome == Outcome::Doomed);
        by_sweeps += usize::from(certificate.end == ProofEnd::Empty);
    }
    assert!(doomed >= 5 && by_sweeps >= 4, "{doomed} doomed, {by_sweeps} proven by sweeps");
}

#[test]
fn a_sweep_after_the_one_that_proves_does_no_harm() {
    let mut changed = 0;
    for index in 0..6 {
        let (layout, mut certificate, _) = decide(index, 400_000);
        if certificate.end == ProofEnd::Empty {
            certificate.steps.push(certificate.steps[0].clone());
            assert_eq!(verify(&certificate, &layout), Ok(()), "map {index}");
            changed += 1;
        }
    }
    assert!(changed > 0);
}

/// The certificate of a map that the search decides alone.
fn search(options: &GeneratorOptions, index: u64, rules: &Rules) -> (Layout, Certificate) {
    let layout = generate_nth(options, 11, index).expect("a map").layout;
    let world = World::new(&layout, rules).expect("a world");
    let mut decider = Decider::new(SurvivalOptions::default());
    let solution = decider.solve(&world, &world.start(), Budget::ticks(90_000));
    (layout, Certificate::new(rules, &solution, decider.proof()))
}

#[test]
fn searches_of_a_crowd_and_with_jumping_verify() {
    let crowd = GeneratorOptions {
        kind: GeneratorKind::Labyrinth,
        width: 21,
        height: 17,
        threats: 32,
        styles: Style::ALL.to_vec(),
        braid_permille: 1000,
    };
    let (layout, certificate) = search(&crowd, 6, &Rules::NO_JUMP);
    assert_eq!(verify(&certificate, &layout), Ok(()), "32 threats do not fit into one number");
    let small = GeneratorOptions { width: 9, height: 7, threats: 4, braid_permille: 0, ..crowd };
    let searched = (0..120).filter(|&index| {
        let (layout, certificate) = search(&small, index, &Rules::BLITZ_2025);
        assert_eq!(verify(&certificate, &layout), Ok(()), "map {index}");
        certificate.end == ProofEnd::Search
    });
    let searched = searched.count();
    assert!(searched >= 3, "{searched} maps were decided by searching alone");
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

/// Makes this many changes to certificates of doomed maps, some to each.
fn check_changed(changes: usize, changes_per_map: usize) {
    let mut random = rand_pcg::Pcg32::seed_from_u64(3);
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
            let text = change(&certificate.to_string(), &mut random);
            let verdict = text.parse::<Certificate>().map_err(|error| error.line).and_then(|changed| {
                verify_within(&changed, &layout, 3_000_000).map(|()| changed).map_err(|error| error.line)
            });
            match verdict {
                Ok(changed) => {
                    // The line of the original is a fact about the map under its own rules.
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

/// Changes a digit or a letter, or drops, doubles or moves a line.
fn change(text: &str, random: &mut impl Rng) -> String {
    let mut below = |limit: usize| random.next_u64() as usize % limit;
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let line = below(lines.len());
    match below(6) {
        0 => drop(lines.remove(line)),
        1 => lines.insert(line, lines[line].clone()),
        2 => {
            let other = below(lines.len());
            lines.swap(line, other);
        }
        _ => {
            let places: Vec<usize> = lines[line]
                .bytes()
                .enumerate()
                .filter(|(_, byte)| byte.is_ascii_alphanumeric())
                .map(|(place, _)| place)
                .collect();
            let place = places[below(places.len())];
            let new = char::from(if lines[line].as_bytes()[place].is_ascii_digit() {
                b'0' + below(10) as u8
            } else {
                b"LRUDetrs"[below(8)]
            });
            lines[line].replace_range(place..=place, &new.to_string());
        }
    }
    lines.join("\n")
}
