use std::collections::HashMap;

use super::*;
use crate::search::Budget;
use crate::solve::combination::Slot;
use crate::solve::knowledge::{Knowledge, index};
use crate::solve::tests::{model, options, unlimited, worlds};

#[test]
fn runs_have_the_successors_of_their_combinations() {
    assert!(check_runs(&[(9, 7), (13, 11)], &[4, 6], 2) > 10_000);
}

#[test]
#[ignore = "takes minutes"]
fn runs_on_many_maps_have_the_successors_of_their_combinations() {
    assert!(check_runs(&[(9, 7), (13, 11), (15, 13)], &[4, 6, 9], 12) > 50_000);
}

/// Compares two ways to find successors. Returns the number of compared combinations.
fn check_runs(sizes: &[(i32, i32)], threats: &[usize], maps: u64) -> usize {
    let mut compared = 0;
    for (number, world) in worlds(sizes, threats, maps).enumerate() {
        let model = model(&world, Budget::UNLIMITED);
        let knowledge = Knowledge::new(&model, 300, options(1 << 20), None, &mut unlimited()).expect("no limit");
        // The masks select all threats, all threats with counted draws, and all but the first.
        let (all, _) = model.masks();
        let first = model.slots.first().map_or(0, Slot::mask);
        for mask in [all, Combination::MAX, all & !first] {
            let slots = model.slots_in(mask);
            let key = slots.iter().map(|slot| slot.place(model.origins[slot.automaton].key)).sum();
            let mut layer = Layer { keys: vec![key], sets: vec![TileSet::of(model.board.player)] };
            let mut stepper = Stepper::default();
            for tick in 1..300 {
                let context = knowledge.context(&model, &slots, tick);
                let next = stepper.step(&context, &layer, usize::MAX, &mut unlimited());
                let next = next.expect("no deadline").expect("no limit");
                let mut known = next.clone();
                let keep = |key| if key % 3 == 0 { TileSet::EMPTY } else { knowledge.allowed[tick + 1] };
                known.retain(keep);
                let known = index(&model, known, mask);
                let [all, lives] = step_each(&context, &layer, &known);
                let left = stepper.trim(&context, &layer, &known, &mut unlimited()).expect("no deadline");
                for (layer, expected) in [(&next, all), (&left, lives)] {
                    assert_eq!(layer.len(), expected.len(), "map {number}, tick {tick}");
                    for (key, set) in layer.keys.iter().zip(&layer.sets) {
                        assert_eq!(expected.get(key), Some(set), "map {number}, tick {tick}");
                    }
                }
                compared += next.len();
                layer = next;
                if layer.is_empty() || layer.len() > 3000 {
                    break;
                }
            }
        }
    }
    compared
}

/// Like [`Stepper::step`] and [`Stepper::trim`], but one combination at a time. Returns the next layer,
/// and the states that lead into `after`.
fn step_each<const N: usize>(
    context: &StepContext<'_, N>,
    layer: &Layer<N>,
    after: &Lookup<N>,
) -> [HashMap<Combination, TileSet<N>>; 2] {
    let (mut next, mut left, mut groups) = (HashMap::new(), HashMap::new(), Groups::default());
    let add = |layer: &mut HashMap<_, TileSet<N>>, key, set: TileSet<N>| {
        let own = layer.entry(key).or_insert(TileSet::EMPTY);
        *own = own.or(&set);
    };
    for (&key, set) in layer.keys.iter().zip(&layer.sets) {
        context.successors(context.slots, key, set, &mut groups);
        for group in &groups[0] {
            add(&mut next, group.key, group.to);
            let to = group.to.and(&after.places(group.key));
            if !to.is_empty() {
                add(&mut left, key, context.model.board.reach(&to).and(&group.from));
            }
        }
    }
    [next, left]
}
