//! Checks proofs against known lines and against exhaustive searches.

use std::collections::{BTreeSet, HashSet};
use std::ops::Range;

use super::beam::{SetBeam, keep_evenly};
use super::binary::{read_value, write_value};
use super::knowledge::Knowledge;
use super::model::{Automaton, Model};
use super::model_builder::ModelBuilder;
use super::options::SolverOptions;
use super::prover::{Prover, SMALL, Tried};
use super::queue::{Aim, Queue, Task};
use super::solution::{Outcome, Solution};
use super::solver::Solver;
use super::starts::Start;
use super::survival::SurvivalSearch;
use super::tiles::TileSet;
use crate::game::{Layout, Rules, Style, Threat, View, World};
use crate::map::{GeneratorKind, GeneratorOptions, generate_nth};
use crate::search::{Budget, BudgetMeter};

pub(super) fn unlimited() -> BudgetMeter {
    BudgetMeter::new(Budget::UNLIMITED)
}

pub(super) fn options(memory_max_bytes: usize) -> SolverOptions {
    SolverOptions { seed: 0, memory_max_bytes }
}

pub(super) fn worlds(sizes: &[(i32, i32)], threats: &[usize], count: u64) -> impl Iterator<Item = World> {
    let (sizes, threats) = (sizes.to_vec(), threats.to_vec());
    (0..count).map(move |index| {
        let kinds = GeneratorKind::ALL;
        let (width, height) = sizes[index as usize % sizes.len()];
        let options = GeneratorOptions {
            kind: kinds[index as usize / 2 % kinds.len()],
            width,
            height,
            threats: threats[index as usize % threats.len()],
            styles: Style::ALL.to_vec(),
            braid_permille: (index as u32 * 250) % 1250,
        };
        let map = generate_nth(&options, 2025, index).expect("a map");
        let rules = if index % 5 == 4 { Rules::BLITZ_2025 } else { Rules::NO_JUMP };
        World::new(&map.layout, &rules).expect("a world")
    })
}

#[test]
fn beam_keeps_as_many_of_each_kind() {
    let kind = |place: usize| match place {
        17 | 61 => 0,
        _ if place.is_multiple_of(9) => 1 << 100,
        _ => 1,
    };
    let order: Vec<usize> = (0..100).rev().collect();
    for (width, expected) in [(1, [0, 1, 0]), (3, [1, 1, 1]), (7, [2, 2, 3]), (22, [2, 10, 10]), (50, [2, 12, 36])] {
        let kept = keep_evenly(&order, width, kind);
        let count = |wanted| kept.iter().filter(|&&place| kind(place) == wanted).count();
        assert_eq!([count(0), count(1 << 100), count(1)], expected, "{width}");
        assert_eq!(kept.iter().collect::<HashSet<_>>().len(), width);
        let first = |wanted, count| order.iter().filter(move |&&place| kind(place) == wanted).take(count);
        assert!(
            [0, 1 << 100, 1]
                .into_iter()
                .zip(expected)
                .all(|(kind, count)| first(kind, count).all(|place| kept.contains(place)))
        );
    }
}

pub(super) fn model(world: &World, slice: Budget) -> Model<SMALL> {
    let (mut model, mut builder) = ModelBuilder::begin(world, &world.start()).expect("a small map");
    while !builder.advance(&mut model, world, &mut BudgetMeter::new(slice)) {}
    model
}

/// Every rule is listed here. Either the automata ask the world for it, or `is_modelled` must refuse
/// other values, because a proof about other threats would be false.
#[test]
fn rules_that_the_automata_do_not_ask_the_world_for_are_refused() {
    let server = Rules::BLITZ_2025;
    let other = |view: View| if view == View::Stale { View::Present } else { View::Stale };
    // The automata ask the world for the rules that are ignored. A rule that this pattern does not
    // name is a compile error.
    let Rules {
        no_jump: _,
        period_ticks: _,
        phase_clocks: _,
        option_order: _,
        shared_path_order: _,
        shark_path_order: _,
        spawn_order: _,
        first_seed: _,
        pick_scale: _,
        deer_shy_distance_squared: _,
        owl_minute_ticks: _,
        owl_window_ticks: _,
        wire: _,
        deer_view,
        shark_view,
        owl_view,
        hawk_view,
        hawk_patience_moves,
        hawk_rest_moves,
        hawk_posts,
    } = server;
    let refused = [
        Rules { deer_view: other(deer_view), ..server },
        Rules { shark_view: other(shark_view), ..server },
        Rules { owl_view: other(owl_view), ..server },
        Rules { hawk_view: other(hawk_view), ..server },
        Rules { hawk_patience_moves: hawk_patience_moves + 1, ..server },
        Rules { hawk_rest_moves: hawk_rest_moves + 1, ..server },
        Rules { hawk_posts: hawk_posts + 1, ..server },
    ];
    let is_modelled = |rules: &Rules| {
        let world = World::new(&Layout::parse("P....H\n.#.##.\n...S..").expect("a drawing"), rules).expect("a map");
        ModelBuilder::begin::<SMALL>(&world, &world.start()).is_some()
    };
    assert!(is_modelled(&server) && is_modelled(&Rules { hawk_posts: hawk_posts - 1, ..server }));
    for rules in &refused {
        assert!(!is_modelled(rules), "{rules:?}");
    }
}

#[test]
fn lines_that_reach_the_target_are_never_hopeless() {
    assert_eq!(check_lines(0..2, 10) + check_lines(71..72, 10), 3);
}

#[test]
#[ignore = "takes minutes"]
fn lines_on_many_maps_are_never_hopeless() {
    assert!(check_lines(0..120, 40) >= 80);
}

/// Checks that sweeps exclude no line that reaches the target. Returns the number of checked maps.
fn check_lines(maps: Range<u64>, rounds: usize) -> usize {
    let mut checked = 0;
    for (index, world) in
        worlds(&[(15, 13), (21, 17), (11, 9)], &[6, 3, 10, 4], maps.end).enumerate().skip(maps.start as usize)
    {
        let found = SurvivalSearch::new(SolverOptions::default()).solve(&world, &world.start(), Budget::ticks(60_000));
        if found.final_tick < 61 {
            continue;
        }
        let line = world.states_along(&world.start(), &found.moves);
        let mut prover: Prover<SMALL> =
            Prover::new(&world, &world.start(), SolverOptions::default()).expect("a small map");
        assert!(prover.build(&world, &mut unlimited()));
        let mut queue = Queue::default();
        // Both targets are ticks that the line reaches: it is alive until the tick before its last.
        let (near, far) = (found.final_tick - 4, found.final_tick - 1);
        let mut best = Solution { final_tick: near, bound_tick: far + 1, ..found.clone() };
        for round in 0..rounds {
            prover.aim(&best, &mut queue, &mut unlimited()).expect("no limit");
            let Some(job) = queue.pop(Some(if round % 2 == 0 { Aim::Near } else { Aim::Far })) else { break };
            if matches!(job.task, Task::Survival | Task::Beam) {
                continue;
            }
            let mut meter = BudgetMeter::new(Budget::ticks(300_000));
            if let Ok(Some(proof)) = prover.sweep(&job, &best, &mut queue, &mut meter) {
                let bound = proof.bound_tick;
                assert!(
                    bound >= found.final_tick,
                    "map {index}: bound {bound}, but a line reaches {}",
                    found.final_tick
                );
            }
            for aim in [Aim::Near, Aim::Far] {
                let Some(target_tick) = prover.target_tick(aim).filter(|tick| *tick < found.final_tick) else {
                    continue;
                };
                for state in line.iter().filter(|state| state.tick() <= target_tick) {
                    let tick = state.tick();
                    let is_excluded = prover.excludes(aim, &world, state);
                    assert!(!is_excluded, "map {index}, target {target_tick}: excluded at {tick}");
                }
            }
            // Later, a known set for the near target also restricts a later one.
            best.final_tick = if round < rounds / 2 { near } else { near + 1 };
        }
        checked += 1;
    }
    checked
}

#[test]
fn projections_keep_to_their_memory() {
    let world = worlds(&[(15, 13)], &[18], 1).next().expect("a map");
    let model = model(&world, Budget::UNLIMITED);
    let bytes = [0, 1 << 20, 64 << 20, 1 << 30].map(|memory_max_bytes| {
        let knowledge =
            Knowledge::new(&model, 2000, options(memory_max_bytes), None, &mut unlimited()).expect("no limit");
        let bytes = knowledge.projection_bytes();
        assert!(bytes <= memory_max_bytes, "{bytes} of {memory_max_bytes}");
        bytes
    });
    assert!(bytes[0] == 0 && bytes[3] > bytes[2] && bytes[2] > 0, "{bytes:?}");
}

#[test]
fn lines_of_the_beam_over_combinations_are_lines_of_the_game() {
    let (lines, longest) = check_beam(3, 15);
    assert!(lines >= 3 && longest > 300, "{lines} lines, none alive in tick {longest}");
}

#[test]
#[ignore = "takes minutes"]
fn lines_of_the_beam_on_many_maps_are_lines_of_the_game() {
    let (lines, longest) = check_beam(12, 40);
    assert!(lines >= 12 && longest > 1000, "{lines} lines, none alive in tick {longest}");
}

/// Plays the lines that the beam finds. Returns their number, and the first tick in which none is alive.
fn check_beam(maps: u64, rounds: usize) -> (usize, u16) {
    let (mut lines, mut longest) = (0, 0);
    for (index, world) in worlds(&[(15, 13), (21, 17), (11, 9)], &[6, 4], maps).enumerate() {
        let root = world.start();
        let model = model(&world, Budget::UNLIMITED);
        let knowledge = Knowledge::new(&model, 2000, options(1 << 20), None, &mut unlimited()).expect("no limit");
        assert!(!model.has_excess_threats());
        let mut beam =
            SetBeam::new(&model, &world, &root, SolverOptions { seed: index as u64, memory_max_bytes: 8 << 20 }, 1);
        let mut longest_tick = 1;
        for _ in 0..rounds {
            let mut meter = BudgetMeter::new(Budget::ticks(5_000));
            let Some(moves) = beam.advance(&model, &knowledge, longest_tick, &mut meter) else { continue };
            let mut state = root.clone();
            assert_eq!(world.play(&mut state, &moves), moves.len(), "map {index}");
            assert!(!state.is_caught() && state.tick() >= longest_tick, "map {index}: alive in tick {}", state.tick());
            longest_tick = state.tick() + 1;
            lines += 1;
        }
        longest = longest.max(longest_tick);
    }
    (lines, longest)
}

#[test]
fn hawk_with_an_impossible_memory_is_left_out() {
    let mut checked = 0;
    for world in worlds(&[(15, 13), (21, 17), (9, 7)], &[6], 6) {
        let Some(index) = world.layout().threats.iter().position(|spawn| spawn.style == Style::Hawk) else { continue };
        let automata = |idle_rounds| {
            let mut threats: Vec<Threat> = world.threats(&world.start()).collect();
            threats[index].idle_rounds = idle_rounds;
            let state = world.state_at(1, world.layout().player, &threats).expect("a state");
            let (mut model, mut builder) = ModelBuilder::begin::<SMALL>(&world, &state).expect("a small map");
            while !builder.advance(&mut model, &world, &mut BudgetMeter::new(Budget::UNLIMITED)) {}
            model.automata.len()
        };
        // A negative number of idle rounds means that the hawk rests, which it does only on a post.
        checked += automata(0) - automata(-5);
    }
    assert!(checked >= 2, "{checked} hawks");
}

#[test]
fn sets_of_memories_cover_every_step_of_a_hawk() {
    let mut checked = 0;
    for world in worlds(&[(15, 13), (21, 17), (9, 7)], &[6], 6) {
        let model = model(&world, Budget::UNLIMITED);
        checked += model.check_memories();
    }
    assert!(checked > 1000, "{checked} sets");
}

#[test]
fn an_owls_key_has_the_moves_that_its_memory_leads_to() {
    let mut merged = 0;
    for world in worlds(&[(15, 13), (21, 17), (9, 7)], &[6], 6) {
        let model = model(&world, Budget::UNLIMITED);
        let Some(index) = world.layout().threats.iter().position(|spawn| spawn.style == Style::Owl) else { continue };
        let player = world.player(&world.start());
        let row = model.tiles() as u32 + 1;
        assert!((0..row * (row - 1)).all(|key| model.owl_tile(key) == (key / row) as usize));
        for (tick, tile) in [(16, 3), (330, 11), (560, 20), (715, 7), (915, 17), (1990, 1)] {
            let mut keys = HashSet::new();
            for target in 0..model.tiles() {
                let mut owl = world.threat(&world.start(), index);
                owl.position = model.board.positions[tile];
                owl.remembered = Some(model.board.positions[target]);
                let mut key = model.owl_key(tile as u32, target as u32, tick);
                keys.insert(key);
                for tick in (tick..=2000).take_while(|&tick| !(model.times.moves[tick] && model.times.looks[tick])) {
                    owl = world.threat_after(index, &owl, tick as u16, player, player).expect("open tiles");
                    if model.times.moves[tick] {
                        key = model.owl_step(key, model.forgets(tick + 1));
                    }
                    assert_eq!(owl.position, model.board.positions[model.owl_tile(key)], "tick {tick}");
                    assert_eq!(key % row == row - 1, model.forgets(tick + 1), "tick {tick}");
                }
            }
            merged += model.tiles() - keys.len();
        }
    }
    assert!(merged > 1000, "{merged} memories merged");
}

#[test]
fn closures_are_the_keys_after_each_number_of_moves() {
    let mut periods = 0;
    for world in worlds(&[(9, 7), (11, 9), (15, 13)], &[3, 6], 18) {
        let model = model(&world, Budget::UNLIMITED);
        for ((automaton, origin), closure) in model.automata.iter().zip(&model.origins).zip(&model.closures) {
            let Automaton::Chaser { branches, .. } = automaton else { continue };
            let mut keys = BTreeSet::from([origin.key]);
            for moves in 0..1300 {
                let found: Vec<u32> = keys.iter().copied().collect();
                assert_eq!(closure.after(moves), found, "after {moves} moves");
                let own = |key: u32| TileSet::<SMALL>::of(model.place(automaton, key));
                let reached = keys.iter().flat_map(|&key| {
                    let branches = branches[key as usize].iter();
                    branches.filter(move |branch| !branch.when.without(&own(key)).is_empty()).map(|branch| branch.key)
                });
                keys = reached.collect();
            }
            periods += usize::from(closure.after(1000) != closure.after(1002));
        }
    }
    assert!(periods > 0, "every closure has a period of 1 or 2");
}

#[test]
fn exhaustive_search_agrees_in_score() {
    assert!(check_scores(8) >= 4);
}

#[test]
#[ignore = "takes minutes"]
fn exhaustive_search_agrees_in_score_on_many_maps() {
    assert!(check_scores(480) >= 300);
}

/// Compares the solver with exhaustive searches. Returns the number of maps that they decide.
fn check_scores(maps: u64) -> usize {
    let (mut exhausted, mut optimal) = (0, 0);
    for (index, world) in worlds(&[(7, 7), (9, 7), (9, 9), (11, 9)], &[2, 3, 4], maps).enumerate() {
        let root = world.start();
        let judge = SurvivalSearch::new(SolverOptions { seed: 1, ..SolverOptions::default() });
        let truth = { judge }.solve(&world, &root, Budget::ticks(300_000));
        if truth.outcome == Outcome::Undecided {
            continue;
        }
        exhausted += 1;
        let mut solver = Solver::new(SolverOptions::default()).without_search();
        let best = solver.solve(&world, &root, Budget::ticks(1_200_000));
        assert!(best.bound_tick >= truth.final_tick, "map {index}: bound {} of {}", best.bound_tick, truth.final_tick);
        assert!(best.final_tick <= truth.final_tick, "map {index}");
        optimal += usize::from(best.is_optimal());
    }
    assert!(optimal * 10 >= exhausted * 9, "{optimal} of {exhausted} were decided");
    exhausted
}

#[test]
fn known_ticks_are_ascending_ticks_of_a_game() {
    for (ranges, is_valid) in [
        ("[[0,2001,1]]", true),
        ("[[4,8,2],[9,9,1]]", true),
        ("[[0,65535,1]]", false),
        ("[[2002,2002,1]]", false),
        ("[[5,4,1]]", false),
        ("[[4,9,2]]", false),
        ("[[4,8,0]]", false),
        ("[[4,8,2],[8,9,1]]", false),
    ] {
        let json = format!(
            r#"{{"target_tick":9,"from_tick":1,"until_tick":2,"counts_draws":false,"joins":[],"known":{ranges}}}"#
        );
        assert_eq!(serde_json::from_str::<super::proof::Step>(&json).is_ok(), is_valid, "{ranges}");
    }
}

/// In a compressed file, a list of a million small values takes little space.
#[test]
fn long_lists_of_a_saved_search_are_refused() {
    let sizes = [1 << 17, (1 << 17) + 1];
    for starts in sizes {
        for done in sizes {
            let start = Start { tick: 1, mask: 0, limit: 0 };
            let tried = Tried { starts: vec![start; starts], done: vec![Task::Beam; done], since: 1 };
            let mut bytes = Vec::new();
            write_value(&tried, &mut bytes).unwrap();
            let is_read = read_value::<Tried>(&mut bytes.as_slice()).is_ok();
            assert_eq!(is_read, starts.max(done) == 1 << 17, "{starts} starts, {done} sweeps");
        }
    }
}
