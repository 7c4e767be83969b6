//! Every component finds the best leaf of a small tree, and evaluates exactly as often as its
//! definition says.

use std::cell::Cell;
use std::time::{Duration, Instant};

use proptest::prelude::*;

use getaway::search::{
    Budget, Component, Expression, Installed, Line, ManualTimeSource, Policy, Problem, Random, Search, SearchOutcome,
    StopReason, TimeSource, install,
};

#[derive(Clone, Debug)]
enum Tree {
    Leaf(f64),
    Fork(Vec<Tree>),
}

use Tree::{Fork, Leaf};

impl Problem for Tree {
    type State = Vec<u8>;
    type Action = u8;

    fn actions(&self, state: &Vec<u8>, actions: &mut Vec<u8>) {
        assert!(actions.is_empty(), "the list is empty");
        if let Fork(children) = self.at(state) {
            actions.extend(0..children.len() as u8);
        }
    }

    fn apply(&self, state: &mut Vec<u8>, action: u8) {
        state.push(action);
    }

    fn is_final(&self, state: &Vec<u8>) -> bool {
        matches!(self.at(state), Leaf(_))
    }

    fn reward(&self, state: &Vec<u8>) -> f64 {
        match self.at(state) {
            Leaf(reward) => *reward,
            Fork(_) => state.len() as f64,
        }
    }

    fn greedy(&self, state: &Vec<u8>, actions: &mut Vec<u8>, _: &mut Random, _: &mut u64) -> u8 {
        actions.clear();
        self.actions(state, actions);
        *actions.last().expect("not final")
    }
}

impl Tree {
    fn at(&self, state: &[u8]) -> &Tree {
        state.iter().fold(self, |tree, &action| match tree {
            Fork(children) => &children[usize::from(action)],
            Leaf(_) => panic!("a leaf has no children"),
        })
    }

    fn highest(&self) -> f64 {
        match self {
            Leaf(reward) => *reward,
            Fork(children) => children.iter().map(Tree::highest).fold(f64::NEG_INFINITY, f64::max),
        }
    }

    fn leaves(&self) -> usize {
        match self {
            Leaf(_) => 1,
            Fork(children) => children.iter().map(Tree::leaves).sum(),
        }
    }
}

/// A tree with eleven leaves at depths 1 to 3. The best leaf has reward 9, and its siblings have
/// low rewards.
fn literal() -> Tree {
    Fork(vec![
        Fork(vec![Leaf(5.0), Leaf(6.0), Fork(vec![Leaf(4.0), Leaf(5.5)])]),
        Leaf(7.0),
        Fork(vec![Fork(vec![Leaf(1.0), Leaf(9.0), Leaf(0.0)]), Fork(vec![Leaf(2.0), Leaf(1.0)]), Leaf(3.0)]),
    ])
}

const BEST: [u8; 3] = [2, 0, 1];

fn search(expression: &str, seed: u64) -> Search<u8> {
    Search::new(expression.parse().expect(expression), seed)
}

fn run(tree: &Tree, expression: &str, seed: u64, budget: Budget) -> SearchOutcome<u8> {
    search(expression, seed).run(tree, &vec![], budget)
}

#[test]
fn every_component_finds_the_best_leaf() {
    for expression in [
        "simulate",
        "repeat(10, simulate)",
        "lookahead(simulate)",
        "step(simulate)",
        "select(1, simulate)",
        "select(0, simulate(greedy))",
        "step(repeat(5, simulate))",
        "step(lookahead(simulate))",
        "step(lookahead(step(lookahead(simulate))))",
        "step(repeat(3, select(1.41, simulate)))",
        "lookahead(select(1, simulate))",
        "select(1, lookahead(simulate))",
        "select(1, step(repeat(2, simulate)))",
        "select(0.5, select(1, simulate))",
        "beam(2, simulate)",
        "beam(3, beam(2, simulate))",
        "adapt(1, 5, 1)",
        "adapt(2, 3, 0.5, 2, prior)",
        "step(adapt(1, 5, 1))",
        "anneal(50, 1, 0.1)",
        "step(anneal(10, 1, 0))",
        "repeat(3, anneal(30, 0.5, 0.5))",
    ] {
        for seed in 0..50 {
            let outcome = run(&literal(), expression, seed, Budget::evaluations(300));
            let best = outcome.best.expect("leaves were evaluated");
            assert_eq!(best, Line { reward: 9.0, actions: BEST.to_vec() }, "{expression}, seed {seed}");
        }
    }
}

#[test]
fn each_component_evaluates_as_often_as_defined() {
    let bush = Fork((0..3).map(|_| Fork((0..4).map(|leaf| Leaf(f64::from(leaf))).collect())).collect());
    for (expression, evaluations) in [
        ("simulate", 1),
        ("repeat(7, simulate)", 7),
        ("repeat(7, repeat(3, simulate))", 21),
        ("lookahead(simulate)", 3),
        // The twelve leaves are final, so a component that starts at a leaf evaluates that leaf.
        ("lookahead(lookahead(simulate))", 12),
        ("lookahead(lookahead(lookahead(simulate)))", 12),
        ("step(simulate)", 2),
        // Three evaluations at the root, four after the first action, and none in the final state.
        ("step(lookahead(simulate))", 7),
        ("step(repeat(5, simulate))", 10),
        ("select(1, repeat(5, simulate))", 5),
        ("step(select(1, simulate))", 2),
        ("beam(1, simulate)", 7),
        // Three successors of the root, then four of each of the two successors that are kept.
        ("beam(2, simulate)", 11),
        ("adapt(2, 5, 1)", 25),
        ("adapt(1, 5, 1, 4)", 20),
        ("anneal(9, 1, 0.1)", 9),
    ] {
        let outcome = run(&bush, expression, 3, Budget::passes(1));
        assert_eq!(outcome.evaluations, evaluations, "{expression}");
        assert_eq!((outcome.passes, outcome.ending), (1, StopReason::Passes), "{expression}");
    }
}

/// A walk of at most ten steps. The policy `greedy` takes a step in its first ten calls, and leaves
/// the walk in all later calls.
struct Guided(Cell<u32>);

impl Problem for Guided {
    /// The distance walked, and whether the walk was left early.
    type State = (u32, bool);
    type Action = bool;

    fn actions(&self, _: &(u32, bool), actions: &mut Vec<bool>) {
        actions.extend([false, true]);
    }

    fn apply(&self, (distance, is_left): &mut (u32, bool), leave: bool) {
        *distance += u32::from(!leave);
        *is_left = leave;
    }

    fn is_final(&self, &(distance, is_left): &(u32, bool)) -> bool {
        is_left || distance == 10
    }

    fn reward(&self, &(distance, _): &(u32, bool)) -> f64 {
        f64::from(distance)
    }

    fn greedy(&self, _: &(u32, bool), _: &mut Vec<bool>, _: &mut Random, _: &mut u64) -> bool {
        let calls = self.0.get();
        self.0.set(calls + 1);
        calls >= 10
    }
}

#[test]
fn beam_of_one_state_is_nested_search() {
    let tree = forest(7, 3);
    for (beam, nested) in [
        ("beam(1, simulate)", "step(lookahead(simulate))"),
        ("beam(1, beam(1, simulate))", "step(lookahead(step(lookahead(simulate))))"),
    ] {
        for seed in 0..20 {
            // Simulated ticks differ: `step` replays the action that it plays, but a beam does not.
            let of = |expression| {
                let mut outcome = run(&tree, expression, seed, Budget::passes(2));
                outcome.simulated_ticks = 0;
                outcome
            };
            assert_eq!(of(beam), of(nested), "{beam}, seed {seed}");
        }
    }
}

#[test]
fn wider_beams_find_more_in_one_pass() {
    let tree = forest(8, 3);
    let mean = |expression| {
        let rewards = (0..40).map(|seed| run(&tree, expression, seed, Budget::passes(1)).best.expect("leaves").reward);
        rewards.sum::<f64>() / 40.0
    };
    let (narrow, wide) = (mean("beam(1, simulate)"), mean("beam(8, simulate)"));
    assert!(wide > narrow + 5.0, "{wide}, {narrow}");
}

/// Builds a word of 40 bits. The reward is the number of bits that match a secret word.
struct Password;

impl Problem for Password {
    type State = (u32, u32);
    type Action = bool;

    fn actions(&self, _: &(u32, u32), actions: &mut Vec<bool>) {
        actions.extend([false, true]);
    }

    fn apply(&self, (depth, right): &mut (u32, u32), action: bool) {
        *right += u32::from(action == (0x5a_c3_96_1b_e7_u64 >> *depth & 1 == 1));
        *depth += 1;
    }

    fn is_final(&self, state: &(u32, u32)) -> bool {
        state.0 == 40
    }

    fn reward(&self, state: &(u32, u32)) -> f64 {
        f64::from(state.1)
    }

    fn prior(&self, state: &(u32, u32), action: bool) -> f64 {
        if action == (0x5a_c3_96_1b_e7_u64 >> state.0 & 1 == 1) { 1.0 } else { -1.0 }
    }
}

fn mean_of_password(expression: &str, evaluations: u64) -> f64 {
    let reward = |seed| {
        let mut search = Search::new(expression.parse().expect(expression), seed);
        search.run(&Password, &(0, 0), Budget::evaluations(evaluations)).best.expect("evaluations").reward
    };
    (0..20).map(reward).sum::<f64>() / 20.0
}

#[test]
fn adapted_and_annealed_sequences_are_better_than_sampled_ones() {
    // The best of a thousand random words has about 30 correct bits.
    let sampled = mean_of_password("simulate", 1000);
    assert!(sampled < 33.0, "{sampled}");
    for expression in ["adapt(1, 1000, 1)", "adapt(2, 32, 1)", "adapt(1, 250, 1, 4)", "anneal(1000, 0.1, 0.01)"] {
        let mean = mean_of_password(expression, 1000);
        assert!(mean > 37.0, "{expression}: {mean}");
    }
}

#[test]
fn prior_guides_the_first_rollouts() {
    // With the prior, each bit is correct with probability e / (e + 1/e) = 0.88.
    let (plain, prior) = (mean_of_password("adapt(1, 1, 1)", 1), mean_of_password("adapt(1, 1, 1, prior)", 1));
    assert!((prior - 0.88 * 40.0).abs() < 2.0 && (plain - 20.0).abs() < 3.0, "{prior}, {plain}");
}

#[test]
fn annealing_continues_from_the_best_known_sequence() {
    // If each invocation began with a random word, the best of 50 would have about 33 correct bits.
    let mean = mean_of_password("repeat(50, anneal(20, 0, 0))", 1000);
    assert!(mean > 36.0, "{mean}");
}

#[test]
fn step_follows_the_best_sequence_seen_not_the_last_one() {
    let mut search = Search::new("step(simulate(greedy))".parse().expect("an expression"), 1);
    let outcome = search.run(&Guided(Cell::new(0)), &(0, false), Budget::passes(1));
    // If `step` followed its last rollout, it would leave the walk after one step.
    assert_eq!(outcome.evaluations, 10);
    assert_eq!(outcome.best, Some(Line { reward: 10.0, actions: vec![false; 10] }));
}

#[test]
fn only_a_strictly_better_sequence_replaces_the_best() {
    let tree = Fork(vec![Leaf(1.0), Leaf(1.0), Leaf(1.0)]);
    let outcome = run(&tree, "lookahead(simulate)", 1, Budget::passes(5));
    assert_eq!((outcome.best.expect("three leaves").actions, outcome.evaluations), (vec![0], 15));
    let mut search = search("repeat(20, simulate)", 5);
    let first = search.run(&tree, &vec![], Budget::evaluations(1)).best;
    assert_eq!(search.run(&tree, &vec![], Budget::evaluations(100)).best, first);
}

#[test]
fn evaluation_budgets_are_met_exactly() {
    for expression in [
        "simulate",
        "repeat(7, simulate)",
        "step(lookahead(simulate))",
        "lookahead(lookahead(simulate))",
        "step(repeat(3, simulate))",
        "beam(2, simulate)",
        "adapt(2, 3, 1)",
        "anneal(7, 1, 0.1)",
    ] {
        for budget in 0..40 {
            let outcome = run(&literal(), expression, 1, Budget::evaluations(budget));
            assert_eq!((outcome.evaluations, outcome.ending), (budget, StopReason::Evaluations), "{expression}");
            assert_eq!(outcome.best.is_some(), budget > 0);
        }
    }
}

#[test]
fn same_seed_gives_the_same_result() {
    for expression in
        ["step(repeat(3, select(1.41, simulate)))", "step(lookahead(simulate))", "select(0.7, step(simulate))"]
    {
        let outcomes = |seed| {
            (0..10)
                .map(|count| run(&forest(8, 3), expression, seed, Budget::evaluations(count * 10)))
                .collect::<Vec<_>>()
        };
        assert_eq!(outcomes(1), outcomes(1));
        assert_ne!(outcomes(1), outcomes(2));
    }
}

/// A full tree with pseudo-random rewards that are the same on every machine.
fn forest(depth: u32, width: usize) -> Tree {
    fn grow(depth: u32, width: usize, number: &mut u64) -> Tree {
        if depth == 0 {
            *number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            return Leaf((*number >> 54) as f64);
        }
        Fork((0..width).map(|_| grow(depth - 1, width, number)).collect())
    }
    grow(depth, width, &mut 1)
}

#[test]
fn results_are_pinned() {
    // The results depend on the generator, the order of its draws and each component's definition.
    let tree = forest(8, 3);
    let signature: Vec<_> = [
        "simulate",
        "step(lookahead(simulate))",
        "select(0.5, simulate)",
        "step(repeat(10, select(1.41, simulate(greedy))))",
        "beam(4, simulate)",
        "adapt(2, 10, 1)",
        "anneal(100, 0.1, 0.001)",
    ]
    .map(|expression| {
        let best = run(&tree, expression, 42, Budget::evaluations(200)).best.expect("200 leaves");
        let digits: String = best.actions.iter().map(u8::to_string).collect();
        (digits, best.reward)
    })
    .into();
    let expected = [
        ("20001111", 1016.0),
        ("12220112", 1015.0),
        ("10100120", 1023.0),
        ("12121022", 1022.0),
        ("11000002", 1008.0),
        ("12111010", 1020.0),
        ("00120120", 1011.0),
    ];
    assert_eq!(signature, expected.map(|(digits, reward)| (digits.to_owned(), reward)));
}

#[test]
fn fully_explored_tree_ends_the_search() {
    for seed in 0..50 {
        let tree = literal();
        let outcome = run(&tree, "select(1, simulate)", seed, Budget::evaluations(1_000_000));
        assert_eq!(outcome.ending, StopReason::Exhausted);
        // `select` descends to each leaf at most once, but a rollout may have evaluated it before.
        assert!(outcome.evaluations <= 2 * tree.leaves() as u64, "{}", outcome.evaluations);
        for nested in [
            "step(repeat(2, select(1, simulate)))",
            "select(1, select(1, simulate))",
            "repeat(1000000000, repeat(1000000000, select(1, simulate)))",
        ] {
            let outcome = run(&tree, nested, seed, Budget::evaluations(1_000_000));
            assert_eq!(
                (outcome.ending, outcome.best.expect("leaves").reward),
                (StopReason::Exhausted, 9.0),
                "{nested}"
            );
        }
    }
}

#[test]
fn exhausted_search_still_returns_its_result() {
    let mut search = search("select(1, simulate)", 1);
    let first = search.run(&literal(), &vec![], Budget::evaluations(1000));
    let again = search.run(&literal(), &vec![], Budget::evaluations(1000));
    assert_eq!((again.best, again.evaluations, again.ending), (first.best, 0, StopReason::Exhausted));
}

#[test]
fn final_state_is_evaluated_once() {
    let outcome = run(&Leaf(4.0), "step(repeat(5, simulate))", 1, Budget::evaluations(100));
    assert_eq!(outcome.best, Some(Line { reward: 4.0, actions: vec![] }));
    assert_eq!((outcome.evaluations, outcome.ending), (1, StopReason::Exhausted));
}

#[test]
fn reward_scale_and_offset_do_not_matter() {
    fn map(tree: &Tree, change: &dyn Fn(f64) -> f64) -> Tree {
        match tree {
            Leaf(reward) => Leaf(change(*reward)),
            Fork(children) => Fork(children.iter().map(|child| map(child, change)).collect()),
        }
    }
    let tree = forest(7, 3);
    for seed in 0..10 {
        for expression in ["select(0.4, simulate)", "step(repeat(20, select(1.41, simulate)))"] {
            let plain = run(&tree, expression, seed, Budget::evaluations(500));
            for (scale, shift) in [(1.0, 10_000.0), (1.0, -12_345.0), (1024.0, 0.0), (0.125, 77.0)] {
                let changed =
                    run(&map(&tree, &|reward| reward * scale + shift), expression, seed, Budget::evaluations(500));
                let (plain, changed) = (plain.best.as_ref().expect("leaves"), changed.best.expect("leaves"));
                assert_eq!((&changed.actions, changed.reward), (&plain.actions, plain.reward * scale + shift));
            }
        }
    }
}

#[test]
fn select_finds_more_than_sampling_with_the_same_evaluations() {
    // Each `true` adds one to the reward, so `select` soon prefers `true`.
    struct Ladder;
    impl Problem for Ladder {
        type State = (u32, u32);
        type Action = bool;
        fn actions(&self, _: &(u32, u32), actions: &mut Vec<bool>) {
            actions.extend([false, true]);
        }
        fn apply(&self, (depth, ones): &mut (u32, u32), action: bool) {
            *depth += 1;
            *ones += u32::from(action);
        }
        fn is_final(&self, state: &(u32, u32)) -> bool {
            state.0 == 40
        }
        fn reward(&self, state: &(u32, u32)) -> f64 {
            f64::from(state.1)
        }
    }
    let total = |expression: &str| -> f64 {
        let rewards = (0..20).map(|seed| {
            let mut search = Search::new(expression.parse().expect(expression), seed);
            search.run(&Ladder, &(0, 0), Budget::evaluations(2000)).best.expect("2000 leaves").reward
        });
        rewards.sum()
    };
    // The best of 2000 series of 40 coin tosses has about 31 heads.
    let sampled = total("simulate");
    assert!(sampled < 20.0 * 35.0);
    for tree in ["select(0.2, simulate)", "step(repeat(50, select(0.2, simulate)))"] {
        assert!(total(tree) > sampled + 20.0 * 3.0, "{tree}: {}, sampling {sampled}", total(tree));
    }
}

#[test]
fn trees_stay_within_their_limit() {
    for nodes_max in [0, 1, 4, 10, 100] {
        let mut search = search("step(repeat(5, select(1, simulate)))", 1).with_tree_nodes_max(nodes_max);
        let outcome = search.run(&forest(6, 3), &vec![], Budget::evaluations(500));
        assert_eq!((outcome.evaluations, outcome.ending), (500, StopReason::Evaluations), "{nodes_max}");
    }
}

#[test]
fn best_sequence_is_kept_after_its_first_action() {
    for expression in ["simulate", "select(1, simulate)", "step(repeat(3, select(1, simulate)))"] {
        let tree = literal();
        let mut search = search(expression, 1);
        let mut state = vec![];
        let mut best = search.run(&tree, &state, Budget::evaluations(300)).best.expect("leaves");
        assert_eq!(best.actions, BEST);
        for action in BEST {
            assert!(search.advance(action));
            state.push(action);
            best.actions.remove(0);
            assert_eq!(search.run(&tree, &state, Budget::evaluations(0)).best.as_ref(), Some(&best));
        }
    }
}

#[test]
fn other_action_resets_the_search() {
    for expression in ["simulate", "select(1, simulate)"] {
        let tree = literal();
        let mut search = search(expression, 1);
        search.run(&tree, &vec![], Budget::evaluations(300));
        assert!(!search.advance(0));
        let outcome = search.run(&tree, &vec![0], Budget::evaluations(300));
        assert_eq!(outcome.best, Some(Line { reward: 6.0, actions: vec![1] }), "{expression}");
    }
}

#[test]
fn unplayable_sequence_resets_the_search() {
    let tree = literal();
    let mut search = search("select(1, simulate)", 1);
    search.run(&tree, &vec![], Budget::evaluations(300));
    // `advance` was not called, so the kept sequence is illegal in this state: it must be dropped.
    let outcome = search.run(&tree, &vec![2, 1], Budget::evaluations(300));
    assert_eq!(outcome.best, Some(Line { reward: 2.0, actions: vec![0] }));
    search.reset();
    assert_eq!(search.run(&tree, &vec![], Budget::evaluations(0)).best, None);
}

#[test]
fn kept_tree_is_continued() {
    let tree = forest(6, 3);
    let mut search = search("select(1, simulate)", 1);
    let first = search.run(&tree, &vec![], Budget::evaluations(600)).best.expect("leaves");
    search.advance(first.actions[0]);
    let state = vec![first.actions[0]];
    let rest = search.run(&tree, &state, Budget::evaluations(1_000_000));
    let fresh = run_from(&tree, &state);
    assert_eq!(rest.ending, StopReason::Exhausted);
    assert_eq!(rest.best.expect("leaves").reward, fresh.best.expect("leaves").reward);
    assert!(rest.evaluations < fresh.evaluations);
}

fn run_from(tree: &Tree, state: &Vec<u8>) -> SearchOutcome<u8> {
    search("select(1, simulate)", 1).run(tree, state, Budget::evaluations(1_000_000))
}

#[test]
fn rollout_ends_at_its_horizon_and_is_evaluated_there() {
    // `step` plays an action after each rollout, so even rollouts of two actions reach a leaf.
    let deep = forest(5, 2);
    let outcome = run(&deep, "simulate(greedy, 2)", 1, Budget::passes(1));
    assert_eq!(outcome.best, Some(Line { reward: 2.0, actions: vec![1, 1] }));
    let outcome = run(&deep, "step(simulate(greedy, 2))", 1, Budget::passes(1));
    assert_eq!(outcome.best.expect("a pass").actions.len(), 5);
    let (near, far) =
        (run(&deep, "simulate", 1, Budget::passes(9)), run(&deep, "simulate(random, 6)", 1, Budget::passes(9)));
    assert_eq!(near, far);
}

#[test]
fn best_possible_reward_ends_the_search() {
    struct Known(Tree);
    impl Problem for Known {
        type State = Vec<u8>;
        type Action = u8;
        fn actions(&self, state: &Vec<u8>, actions: &mut Vec<u8>) {
            self.0.actions(state, actions);
        }
        fn apply(&self, state: &mut Vec<u8>, action: u8) {
            self.0.apply(state, action);
        }
        fn is_final(&self, state: &Vec<u8>) -> bool {
            self.0.is_final(state)
        }
        fn reward(&self, state: &Vec<u8>) -> f64 {
            self.0.reward(state)
        }
        fn best_possible(&self) -> f64 {
            9.0
        }
    }
    let known = Known(literal());
    for expression in ["simulate", "step(lookahead(simulate))", "select(1, simulate)"] {
        let mut search = search(expression, 1);
        let outcome = search.run(&known, &vec![], Budget::evaluations(1_000_000));
        assert!(outcome.evaluations < 500 && outcome.best.is_some_and(|best| best.actions == BEST));
        assert!(matches!(outcome.ending, StopReason::Optimal | StopReason::Exhausted));
        assert!(search.advance(BEST[0]));
        let outcome = search.run(&known, &vec![BEST[0]], Budget::evaluations(1000));
        assert_eq!(outcome.evaluations, 0, "a kept sequence with the best possible reward needs no search");
    }
}

struct Endless {
    step_time: Duration,
    clock: Installed<ManualTimeSource>,
    steps: Cell<u64>,
}

impl Problem for Endless {
    type State = ();
    type Action = u8;

    fn actions(&self, (): &(), actions: &mut Vec<u8>) {
        actions.extend([0, 1]);
    }

    fn apply(&self, (): &mut (), _: u8) {
        self.steps.set(self.steps.get() + 1);
        self.clock.advance(self.step_time);
    }

    fn is_final(&self, (): &()) -> bool {
        false
    }

    fn reward(&self, (): &()) -> f64 {
        0.0
    }
}

#[test]
fn deadline_discards_the_interrupted_rollout() {
    for step_time_us in [1, 5, 100] {
        let step_time = Duration::from_micros(step_time_us);
        let walk = Endless { step_time, clock: install(ManualTimeSource::new()), steps: Cell::new(0) };
        let mut search: Search<u8> = search("step(repeat(3, select(1, simulate)))", 1);
        let deadline = walk.clock.now() + Duration::from_millis(20);
        let budget = Budget::until(deadline);
        let outcome = search.run(&walk, &(), budget);
        assert_eq!((outcome.best, outcome.evaluations, outcome.ending), (None, 0, StopReason::Deadline));
        let overrun = walk.clock.now() - deadline;
        assert!(overrun <= Duration::from_micros(40).max(step_time), "{step_time:?} per step: {overrun:?} late");
        assert_eq!(walk.steps.get(), outcome.simulated_ticks);
    }
}

#[test]
fn tick_budget_is_met_exactly_and_discards_the_interrupted_rollout() {
    let walk = Endless { step_time: Duration::ZERO, clock: install(ManualTimeSource::new()), steps: Cell::new(0) };
    for expression in ["simulate", "step(repeat(3, select(1, simulate)))", "lookahead(simulate)"] {
        walk.steps.set(0);
        let outcome = search(expression, 1).run(&walk, &(), Budget::ticks(1234));
        assert_eq!((outcome.best, outcome.simulated_ticks, outcome.ending), (None, 1234, StopReason::Ticks));
        assert_eq!(walk.steps.get(), 1234, "{expression}");
    }
}

#[test]
fn expired_deadline_allows_no_search() {
    let outcome = run(&literal(), "simulate", 1, Budget::until(Instant::now()));
    assert_eq!((outcome.best, outcome.simulated_ticks, outcome.ending), (None, 0, StopReason::Deadline));
}

#[test]
fn deadline_ends_a_search_of_short_rollouts() {
    let clock = install(ManualTimeSource::with_reading(Duration::from_micros(15)));
    let budget = Budget::time(Duration::from_millis(20));
    let outcome = run(&forest(8, 3), "step(lookahead(simulate))", 1, budget);
    assert!(outcome.evaluations > 20 && outcome.best.is_some() && outcome.ending == StopReason::Deadline);
    assert!(clock.readings() > 1000, "{} readings", clock.readings());
}

fn any_tree() -> impl Strategy<Value = Tree> {
    (-20..20)
        .prop_map(|reward| Leaf(f64::from(reward)))
        .prop_recursive(5, 60, 4, |inner| proptest::collection::vec(inner, 1..4).prop_map(Fork))
}

fn any_expression() -> impl Strategy<Value = Expression> {
    let component = prop_oneof![
        (1_u32..4).prop_map(Component::Repeat),
        Just(Component::Lookahead),
        Just(Component::Step),
        (0.0..2.0).prop_map(Component::Select),
        (1_u32..4).prop_map(Component::Beam),
    ];
    let policy = prop_oneof![Just(Policy::Random), Just(Policy::Greedy)];
    let simulate = policy.prop_map(|policy| Component::Simulate { policy, horizon: None });
    let adapt = (1_u32..3, 1_u32..5, 0.0..2.0, 1_u32..3, any::<bool>()).prop_map(
        |(levels, iterations, alpha, rollouts, prior)| Component::Adapt { levels, iterations, alpha, rollouts, prior },
    );
    let anneal =
        (1_u32..9, 0.0..1.0, 0.0..1.0).prop_map(|(iterations, hot, cold)| Component::Anneal { iterations, hot, cold });
    let leaf = prop_oneof![simulate, adapt, anneal];
    (proptest::collection::vec(component, 0..4), leaf).prop_map(|(mut components, leaf)| {
        components.push(leaf);
        Expression::new(components).expect("well formed")
    })
}

proptest! {
    #[test]
    fn every_search_of_every_tree_keeps_its_guarantees(
        tree in any_tree(),
        expression in any_expression(),
        seed in any::<u64>(),
        budget in 1_u64..200,
        nodes_max in prop_oneof![Just(1 << 20), 0_usize..20],
    ) {
        let mut search = Search::new(expression, seed).with_tree_nodes_max(nodes_max);
        let outcome = search.run(&tree, &vec![], Budget::evaluations(budget));
        let best = outcome.best.expect("every budget allows an evaluation");
        prop_assert!(tree.is_final(&best.actions));
        prop_assert_eq!(tree.reward(&best.actions), best.reward);
        match outcome.ending {
            StopReason::Evaluations => prop_assert_eq!(outcome.evaluations, budget),
            StopReason::Exhausted => {
                prop_assert!(outcome.evaluations <= budget);
                prop_assert_eq!(best.reward, tree.highest());
            }
            ending => prop_assert!(false, "{:?}", ending),
        }
        // While the best sequence is followed to its end, the best reward never falls.
        let mut state = vec![];
        let mut best = best;
        while !tree.is_final(&state) {
            prop_assert!(search.advance(best.actions[0]));
            state.push(best.actions[0]);
            let next = search.run(&tree, &state, Budget::evaluations(5)).best.expect("it was kept");
            prop_assert!(next.reward >= best.reward);
            best = next;
        }
        prop_assert_eq!(tree.reward(&state), best.reward);
    }
}
