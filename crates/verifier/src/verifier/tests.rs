use super::*;
use getaway::game::{PeriodTicks, Rules, Style, View};
use getaway::map::{GeneratorKind, GeneratorOptions, generate_nth};
use getaway::solve::ProofEnd;

const TARGET_TICK: usize = 200;

fn verifier() -> Verifier<6, 2> {
    let options = GeneratorOptions {
        kind: GeneratorKind::Maze,
        width: 15,
        height: 13,
        threats: 4,
        styles: vec![Style::Shark, Style::Owl, Style::Deer, Style::Hawk],
        braid_permille: 500,
    };
    let mut layout = generate_nth(&options, 5, 0).expect("a map").layout;
    layout.threats.sort_by_key(|spawn| options.styles.iter().position(|style| *style == spawn.style));
    let certificate = Certificate {
        rules: Rules::NO_JUMP,
        moves: Vec::new(),
        final_tick: 1,
        bound_tick: TARGET_TICK as u16,
        steps: Vec::new(),
        end: ProofEnd::Empty,
    };
    Verifier::new(&certificate, &layout, u64::MAX).expect("a map")
}

fn step(from: usize, until: usize, threats: &[u16], counts_draws: bool) -> Step {
    let [target_tick, from_tick, until_tick] = [TARGET_TICK, from, until].map(|tick| tick as u16);
    let joins = threats.iter().map(|&threat| (from_tick, threat)).collect();
    Step { target_tick, from_tick, until_tick, counts_draws, joins, known: (from_tick..=until_tick).collect() }
}

fn sweep(verifier: &mut Verifier<6, 2>, threats: &[u16], until: usize, counts_draws: bool) {
    assert_eq!(verifier.sweep(&step(1, until, threats, counts_draws)), Ok(false), "the player lives until then");
}

fn known(verifier: &Verifier<6, 2>, tick: usize) -> Vec<(Vec<usize>, usize)> {
    let layers = verifier.known[tick].iter().map(|known| &known.cover.layer);
    let states = |layer: &Layer<6, 2>| layer.groups.iter().map(|(_, tiles)| tiles.iter().count()).sum();
    layers.map(|layer| (verifier.members(layer.mask).collect(), states(layer))).collect()
}

#[test]
fn backward_pass_with_few_checkpoints_keeps_the_same_states() {
    let (mut all, mut few) = (verifier(), verifier());
    few.checkpoint_bytes_max = 1;
    for verifier in [&mut all, &mut few] {
        sweep(verifier, &[0, 2], 100, false);
    }
    assert!(all.board.steps() < few.board.steps(), "layers are repeated");
    for tick in 1..=100 {
        assert_eq!(all.target.allowed[tick], few.target.allowed[tick], "tick {tick}");
        assert_eq!(known(&all, tick), known(&few, tick), "tick {tick}");
    }
    assert_eq!(known(&all, 101), [], "nothing is known beyond");
}

#[test]
fn known_sets_over_different_threats_are_kept_until_one_covers_them() {
    let mut verifier = verifier();
    let threats = |verifier: &Verifier<6, 2>| -> Vec<Vec<usize>> {
        known(verifier, 61).into_iter().map(|(threats, _)| threats).collect()
    };
    sweep(&mut verifier, &[0], 81, false);
    sweep(&mut verifier, &[0, 1], 81, false);
    assert_eq!(threats(&verifier), [[0, 1]], "in place of the shark alone");
    sweep(&mut verifier, &[0, 2], 81, false);
    assert_eq!(threats(&verifier), [[0, 1], [0, 2]]);
    assert_eq!(verifier.sweep(&step(31, 71, &[0, 1, 2], false)), Ok(false));
    assert_eq!(threats(&verifier), [[0, 1, 2]], "both are joined");
    sweep(&mut verifier, &[0, 2], 81, false);
    assert_eq!(threats(&verifier), [[0, 1, 2]], "a set over fewer threats is not added");
}

#[test]
fn known_sets_with_counted_draws_replace_sets_without() {
    let mut verifier = verifier();
    let is_counted = |verifier: &Verifier<6, 2>| {
        let (ids, _) = verifier.known[41][0].cover.layer.groups[0];
        Pursuer::<6>::is_counted(ids.id(verifier.pursuers[3].slot))
    };
    sweep(&mut verifier, &[3], 61, false);
    assert!(!is_counted(&verifier));
    sweep(&mut verifier, &[3], 61, true);
    assert!(is_counted(&verifier));
    let counted = known(&verifier, 41);
    sweep(&mut verifier, &[3], 61, false);
    assert!(is_counted(&verifier), "they are not replaced");
    assert_eq!(known(&verifier, 41), counted);
}

#[test]
fn threats_that_have_not_seen_the_player_are_at_their_spawns() {
    let layout = Layout::parse("P..S..").expect("a drawing");
    let period_ticks = PeriodTicks { lazy: 1, ..PeriodTicks::default() };
    for (shark_view, expected) in [(View::Stale, vec![3]), (View::Present, vec![2, 4])] {
        let rules = Rules { period_ticks, shark_view, ..Rules::NO_JUMP };
        let board = Board::<6>::new(&layout, &rules, u64::MAX).expect("a map");
        let mut shark = Pursuer::new(Threat::new(layout.threats[0], &rules), 0, Slot::adjacent([3])[0])
            .expect("it sees the player");
        let ids = shark.possible_ids(&board, 2).expect("enough steps");
        let mut tiles: Vec<u16> = ids.into_iter().map(|id| shark.tile(id)).collect();
        tiles.sort_unstable();
        assert_eq!(tiles, expected, "{shark_view:?}");
    }
}

#[test]
fn owl_whose_memory_matters_joins_only_from_a_known_set() {
    let mut verifier = verifier();
    let remembers = (21..60).find(|&tick| verifier.board.ticks[tick].owl_moves > 0);
    let tick = remembers.expect("it looks in ten ticks of sixty");
    let step = Step { known: Vec::new(), ..step(tick, 70, &[1], false) };
    let error = verifier.sweep(&step).expect_err("it can remember anything");
    assert!(error.contains("an owl cannot join at tick"), "{error}");
    sweep(&mut verifier, &[1], 80, false);
    assert_eq!(verifier.sweep(&step), Ok(false));
}
