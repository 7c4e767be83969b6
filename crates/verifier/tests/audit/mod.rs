//! Audits proofs: solves random small maps under random rules with several seeds, verifies every
//! certificate, and compares the claims of the certificates with one another and with an exhaustive
//! search up to a limit. The verifier must refuse a changed or forged certificate if a known line
//! exceeds the bound. The exhaustive search shares only the simulator with the prover.

use std::collections::HashSet;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

use getaway::game::{LAST_TICK, Layout, Move, Rules, State, Style, World};
use getaway::map::{GeneratorKind, GeneratorOptions, generate};
use getaway::search::Budget;
use getaway::solve::{Certificate, Outcome, ProofEnd, Solution, Solver, SolverOptions, Step};
use getaway_reference::lockstep::{Dice, random_rules, small_layout};
use thiserror::Error;

use getaway_verifier::verify_within;

#[derive(Clone, Copy, Debug)]
pub struct Audit {
    pub solves: u64,
    /// Maximum number of simulated ticks per solve.
    pub solve_ticks: u64,
    /// Maximum number of simulated ticks in an exhaustive search.
    pub search_steps: usize,
    /// Limit on the verifier's steps per certificate. An unchanged certificate must verify within
    /// this limit.
    pub verify_steps: u64,
}

#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    pub games: u64,
    pub exhausted: u64,
    /// Games for which a certificate proves that no line survives the whole game.
    pub doomed: u64,
    pub unproven: u64,
    /// Certificates whose proof ends with a sweep that has no states left.
    pub by_sweeps: u64,
    pub by_search: u64,
    /// Certificates counted in `by_search` whose proof has sweeps before the search.
    pub by_both: u64,
    /// Changed or forged certificates that were accepted, and that no known line contradicts.
    pub accepted: u64,
    pub refused: u64,
    /// Certificates counted in `refused` whose verification exceeded the step limit.
    pub exceeded: u64,
}

#[derive(Clone, Debug, Error)]
#[error("seed {seed}: {what}\nrules: {rules}\n{map}")]
pub struct Failure {
    pub seed: u64,
    /// The failure in one sentence, followed by the certificate if there is one.
    pub what: String,
    pub rules: String,
    pub map: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Longest {
    pub tick: u16,
    /// True if the search proves that no line is longer.
    pub is_exact: bool,
}

/// Searches all lines from a state. Stops when a line survives, or after `steps_max` simulated ticks.
pub fn search(world: &World, start: &State, steps_max: usize) -> Longest {
    let mut layer = vec![start.clone()];
    let (mut tick, mut steps) = (start.tick(), 0);
    while !layer.is_empty() {
        let mut next: HashSet<State> = HashSet::new();
        for (_, state) in layer.iter().flat_map(|state| world.successors(state)) {
            tick = tick.max(state.tick());
            steps += 1;
            if tick > LAST_TICK || steps == steps_max {
                return Longest { tick, is_exact: tick > LAST_TICK };
            }
            if !state.is_over() {
                next.insert(state);
            }
        }
        layer = next.into_iter().collect();
    }
    Longest { tick, is_exact: true }
}

pub fn random_game(seed: u64) -> (Layout, Rules) {
    let mut dice = Dice::from_seed(seed);
    let layout = if dice.one_in(2) { small_layout(&mut dice) } else { streets(&mut dice, 1) };
    (layout, rules(&mut dice))
}

fn streets(dice: &mut Dice, size: i32) -> Layout {
    loop {
        let options = GeneratorOptions {
            kind: dice.pick(&[GeneratorKind::Maze, GeneratorKind::Labyrinth, GeneratorKind::City]),
            width: 5 + 2 * dice.between(0, 3 * size),
            height: 5 + 2 * dice.between(0, 2 * size),
            threats: 1 + dice.below(4 * size as usize),
            styles: Style::ALL.to_vec(),
            braid_permille: dice.pick(&[0, 250, 500, 1000]),
        };
        if let Ok(map) = generate(&options, dice.below(1 << 16) as u64) {
            return map.layout;
        }
    }
}

/// Draws random rules. With a probability of at least 1/4, lazy threats move in every tick. With a
/// probability of at least 1/2, the views and the hawks' patience and rest are the server's,
/// because the prover supports only these values.
fn rules(dice: &mut Dice) -> Rules {
    let no_jump = dice.one_in(2);
    let mut rules = Rules { no_jump, ..random_rules(dice) };
    if dice.one_in(4) {
        rules.period_ticks.lazy = 1;
    }
    if dice.one_in(2) {
        let Rules { shark_view, deer_view, owl_view, hawk_view, hawk_patience_moves, hawk_rest_moves, .. } =
            Rules::BLITZ_2025;
        rules = Rules { shark_view, deer_view, owl_view, hawk_view, hawk_patience_moves, hawk_rest_moves, ..rules };
    }
    rules
}

/// Even seeds skip the survival search, which would decide most small maps before any sweep.
fn solve(world: &World, seed: u64, ticks: u64) -> (Solution, Certificate) {
    let mut decider = Solver::new(SolverOptions { seed, ..SolverOptions::default() });
    if seed.is_multiple_of(2) {
        decider = decider.without_search();
    }
    let solution = decider.solve(world, &world.start(), Budget::ticks(ticks));
    let certificate = Certificate::new(world, &solution).expect("a solution for the start");
    (solution, certificate)
}

/// Changes a digit or a letter of a certificate, drops or duplicates a line, or swaps two lines. By
/// chance, the result may equal the original.
pub fn change(text: &str, dice: &mut Dice) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let line = dice.below(lines.len());
    match dice.below(6) {
        0 => drop(lines.remove(line)),
        1 => lines.insert(line, lines[line].clone()),
        2 => {
            let other = dice.below(lines.len());
            lines.swap(line, other);
        }
        _ => {
            let places: Vec<usize> =
                lines[line].char_indices().filter(|(_, old)| old.is_ascii_alphanumeric()).map(|(at, _)| at).collect();
            let at = dice.pick(&places);
            let new = if lines[line].as_bytes()[at].is_ascii_digit() { b"0123456789" } else { b"LRUDetrsfa" };
            lines[line].replace_range(at..=at, &char::from(dice.pick(new)).to_string());
        }
    }
    lines.join("\n")
}

/// Returns a certificate for the same line, with a random bound and a random proof.
fn forge(honest: &Certificate, threats: usize, dice: &mut Dice) -> Certificate {
    let tick = |dice: &mut Dice, from: u16| {
        let any = dice.between(from.min(LAST_TICK).into(), LAST_TICK.into()) as u16;
        dice.pick(&[from, any, any, LAST_TICK])
    };
    let bound_tick = tick(dice, honest.final_tick.min(LAST_TICK));
    let mut steps = Vec::new();
    for _ in 0..dice.pick(&[1, 1, 3, 15]) {
        let any = tick(dice, 2);
        let target_tick = dice.pick(&[bound_tick, any]);
        let any = tick(dice, 1);
        let from_tick = dice.pick(&[1, any]).min(target_tick);
        let any = tick(dice, from_tick);
        let until_tick = dice.pick(&[target_tick, any]).min(target_tick);
        let joins = (0..dice.below(2 * threats + 2)).map(|_| {
            let any = tick(dice, from_tick);
            (dice.pick(&[from_tick, from_tick, any]), dice.below(threats + 1) as u16)
        });
        let joins = joins.collect();
        let known = (from_tick..=until_tick).step_by(dice.pick(&[1, 5, 5, 60])).collect();
        steps.push(Step { target_tick, from_tick, until_tick, counts_draws: dice.one_in(2), joins, known });
    }
    let end = dice.pick(&[ProofEnd::Empty, ProofEnd::Empty, ProofEnd::Search]);
    Certificate { bound_tick, steps, end, ..honest.clone() }
}

impl Audit {
    /// Low limits, so that many games can be audited.
    pub const SMALL: Self = Self { solves: 4, solve_ticks: 120_000, search_steps: 20_000, verify_steps: 1_000_000_000 };

    /// Solves the map of [`random_game`] with several search seeds. Fails on conflicting results, a
    /// refused certificate or a panic.
    pub fn check(&self, seed: u64, counts: &mut Counts) -> Result<(), Failure> {
        let (layout, rules) = random_game(seed);
        self.check_game(&layout, &rules, counts).map_err(|what| failure(seed, what, &layout, &rules))
    }

    /// Verifies changed certificates. Fails if the verifier panics, or accepts a bound that a known
    /// line exceeds.
    pub fn check_changed(&self, seed: u64, changes: usize, counts: &mut Counts) -> Result<(), Failure> {
        let (layout, rules) = random_game(seed);
        let (world, mut dice) = (world(&layout, &rules), Dice::from_seed(seed));
        let (_, certificate) = solve(&world, seed, self.solve_ticks);
        let longest = search(&world, &world.start(), self.search_steps).tick.max(certificate.final_tick);
        let text = certificate.to_string();
        for _ in 0..changes {
            let Ok(changed) = change(&text, &mut dice).parse() else {
                counts.refused += 1;
                continue;
            };
            self.check_verdict(&changed, &layout, &rules, longest, counts)
                .map_err(|what| failure(seed, what, &layout, &rules))?;
        }
        Ok(())
    }

    /// Verifies a forged certificate for a random map. For about half of the seeds, the map may be
    /// larger than those of [`random_game`]. Fails if the verifier panics, or accepts a bound that
    /// a known line exceeds.
    pub fn check_forged(&self, seed: u64, counts: &mut Counts) -> Result<(), Failure> {
        let mut dice = Dice::from_seed(seed);
        let (layout, rules) =
            if dice.one_in(2) { random_game(seed) } else { (streets(&mut dice, 4), rules(&mut dice)) };
        let world = world(&layout, &rules);
        let (_, honest) = solve(&world, seed, self.solve_ticks);
        let longest = search(&world, &world.start(), self.search_steps).tick.max(honest.final_tick);
        let forged = forge(&honest, layout.threats.len(), &mut dice);
        self.check_verdict(&forged, &layout, &rules, longest, counts)
            .map_err(|what| failure(seed, what, &layout, &rules))
    }

    fn check_game(&self, layout: &Layout, rules: &Rules, counts: &mut Counts) -> Result<(), String> {
        let world = world(layout, rules);
        let longest = search(&world, &world.start(), self.search_steps);
        counts.games += 1;
        counts.exhausted += u64::from(longest.is_exact);
        let (mut tick, mut bound) = (longest.tick, if longest.is_exact { longest.tick } else { LAST_TICK + 1 });
        let mut is_doomed = false;
        for seed in 0..self.solves {
            let solved = catch_unwind(AssertUnwindSafe(|| solve(&world, seed, self.solve_ticks)));
            let (solution, certificate) = solved.map_err(|_| format!("solve panics with seed {seed}"))?;
            let text = certificate.to_string();
            let context = |what: &str| format!("{what}, with seed {seed} of the search\n{text}");
            let read = text.parse::<Certificate>().map_err(|error| context(&error.to_string()))?;
            let verified = catch_unwind(AssertUnwindSafe(|| verify_within(&read, layout, self.verify_steps)));
            let verified = verified.map_err(|_| context("verify panics"))?;
            (tick, bound) = (tick.max(solution.final_tick), bound.min(solution.bound_tick));
            if tick > bound {
                let verdict = verified.map_or_else(|error| format!("refused, {error}"), |_| "accepted".to_owned());
                return Err(context(&format!("a line ends at tick {tick}, after the bound of {bound}: {verdict}")));
            }
            verified.map_err(|error| context(&format!("a true certificate is refused, {error}")))?;
            is_doomed |= solution.outcome == Outcome::Doomed;
            match certificate.end {
                ProofEnd::None => counts.unproven += 1,
                ProofEnd::Empty => counts.by_sweeps += 1,
                ProofEnd::Search => {
                    counts.by_search += 1;
                    counts.by_both += u64::from(!certificate.steps.is_empty());
                }
            }
        }
        counts.doomed += u64::from(is_doomed);
        self.check_moves(&world, &mut Dice::from_seed(tick.into()))
    }

    /// Continues solvers after random moves. Fails if a line is longer than a solver's bound.
    fn check_moves(&self, world: &World, dice: &mut Dice) -> Result<(), String> {
        let options = SolverOptions::default();
        let mut solvers = [("solver", Solver::new(options)), ("solver for play", Solver::for_play(options))];
        let mut state = world.start();
        while state.tick() <= 8 && !state.is_over() {
            let longest = search(world, &state, self.search_steps / 8);
            for (name, solver) in &mut solvers {
                let bound = solver.solve(world, &state, Budget::ticks(self.solve_ticks / 32)).bound_tick;
                if bound < longest.tick {
                    return Err(format!(
                        "{name} at tick {}: a line is alive until tick {}, after the bound of {bound}",
                        state.tick(),
                        longest.tick
                    ));
                }
            }
            let moves: Vec<Move> = world.legal_moves(&state).collect();
            world.step_unchecked(&mut state, dice.pick(&moves));
        }
        Ok(())
    }

    /// Fails if the verifier panics, or accepts a bound that a known line exceeds.
    fn check_verdict(
        &self,
        certificate: &Certificate,
        layout: &Layout,
        rules: &Rules,
        longest: u16,
        counts: &mut Counts,
    ) -> Result<(), String> {
        let verified = catch_unwind(AssertUnwindSafe(|| verify_within(certificate, layout, self.verify_steps)));
        match verified.map_err(|_| format!("verify panics\n{certificate}"))? {
            Ok(_) => {
                let longest = if certificate.rules == *rules {
                    longest
                } else {
                    let other = world(layout, &certificate.rules);
                    search(&other, &other.start(), self.search_steps).tick
                };
                if certificate.bound_tick < longest {
                    return Err(format!("accepted, but a line ends at tick {longest}\n{certificate}"));
                }
                counts.accepted += 1;
            }
            Err(error) => {
                counts.refused += 1;
                counts.exceeded += u64::from(error.message.contains("takes more than"));
            }
        }
        Ok(())
    }
}

fn world(layout: &Layout, rules: &Rules) -> World {
    World::new(layout, rules).expect("random maps and rules are valid")
}

fn failure(seed: u64, what: String, layout: &Layout, rules: &Rules) -> Failure {
    let rules = serde_json::to_string(rules).unwrap_or_else(|error| error.to_string());
    Failure { seed, what, rules, map: layout.rows().join("\n") }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { games, exhausted, doomed, unproven, by_sweeps, by_search, by_both, .. } = self;
        writeln!(f, "{games} games, {exhausted} of them decided by exhaustive search, {doomed} doomed")?;
        write!(f, "{} certificates verified: {unproven} without a proof, ", unproven + by_sweeps + by_search)?;
        writeln!(f, "{by_sweeps} by sweeps, {by_search} by search, {by_both} of them after sweeps")?;
        let Self { accepted, refused, exceeded, .. } = self;
        write!(f, "changed or forged: {accepted} accepted as true, {refused} refused, {exceeded} of them at the limit")
    }
}
