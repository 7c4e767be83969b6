//! Explanations of the picks of goldfish and bulls. All threats draw the same sequence of random
//! numbers. The first seed determines this sequence, and the option order determines which option a
//! number picks.

use std::collections::BTreeMap;

use super::orders::Orders;
use crate::game::picks as game_picks;
use crate::game::{Direction, Rules};

/// The first seeds that are considered are up to this far from the expected one.
const SEED_DISTANCE_MAX: i32 = 1000;
/// With fewer known draws, only the expected seed is considered, because too many are possible.
const DRAWS_MIN: usize = 8;
/// With at least this much evidence, in bits, an explanation is not considered a coincidence. There
/// are about 2^16 pairs of an order and a seed.
const BITS_MIN: f64 = 30.0;

/// A threat's pick.
#[derive(Clone, Copy, Debug)]
pub struct Pick {
    /// The number of the threat's earlier draws.
    pub draw: u16,
    /// The threat's options, as bits.
    pub options: u8,
    pub direction: Direction,
}

/// The option orders and first seeds that explain every pick.
#[derive(Clone, Debug)]
pub struct Picks {
    expected_seed: i32,
    scale: f64,
    /// The possible seeds, nearest to the expected one first, each with its possible orders.
    seeds: Vec<(i32, Orders)>,
    /// The known draws, each with the largest number of options that it picked from.
    draws: BTreeMap<u16, u32>,
}

/// An option order and a first seed that explain every pick.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PickExplanation {
    pub order: [Direction; 4],
    pub first_seed: i32,
}

impl Picks {
    pub fn new(expected: &Rules) -> Self {
        let Rules { first_seed: expected_seed, pick_scale: scale, .. } = *expected;
        let offsets = [0].into_iter().chain((1..=SEED_DISTANCE_MAX).flat_map(|distance| [distance, -distance]));
        let seeds = offsets.filter_map(|offset| expected_seed.checked_add(offset));
        let seeds = seeds.map(|seed| (seed, Orders::ALL)).collect();
        Self { expected_seed, scale, seeds, draws: BTreeMap::new() }
    }

    /// Drops the orders and seeds that contradict the pick.
    pub fn add(&mut self, pick: Pick) {
        let count = pick.options.count_ones();
        let known = self.draws.entry(pick.draw).or_insert(count);
        *known = count.max(*known);
        let of_place: Vec<Orders> =
            (0..count as usize).map(|place| Orders::with_option_at(pick.options, place, pick.direction)).collect();
        self.seeds.retain_mut(|(seed, orders)| {
            let place = self::pick(*seed, pick.draw.into(), self.scale, of_place.len());
            *orders = orders.and(of_place[place]);
            !orders.is_empty()
        });
    }

    pub fn count(&self) -> usize {
        self.draws.len()
    }

    /// True if there is so much evidence that an explanation is not considered a coincidence.
    pub fn are_decisive(&self) -> bool {
        self.draws.values().map(|&count| libm::log2(count.into())).sum::<f64>() >= BITS_MIN
    }

    /// True if no seed and order explain the picks, and there is too much evidence for a coincidence.
    pub fn are_unexplained(&self) -> bool {
        self.are_decisive() && self.seeds.is_empty()
    }

    /// The possible orders; all of them if no seed explains the picks.
    pub fn orders(&self) -> Orders {
        match self.seeds.iter().fold(Orders::NONE, |all, (_, orders)| all.or(*orders)) {
            Orders::NONE => Orders::ALL,
            orders => orders,
        }
    }

    /// Drops the orders that are not allowed with a first seed.
    pub fn retain(&mut self, allowed: impl Fn(i32) -> Orders) {
        self.seeds.retain_mut(|(seed, orders)| {
            *orders = orders.and(allowed(*seed));
            !orders.is_empty()
        });
    }

    /// The explanations with one of the allowed orders, in ascending order of the number of changed
    /// rules.
    pub fn explanations(&self, expected: &Rules, allowed: Orders) -> Vec<PickExplanation> {
        if self.draws.is_empty() {
            return Vec::new();
        }
        let is_considered = |first_seed| self.draws.len() >= DRAWS_MIN || first_seed == self.expected_seed;
        let seeds = self.seeds.iter().filter(|(first_seed, _)| is_considered(*first_seed));
        let mut found: Vec<PickExplanation> = seeds
            .flat_map(|&(first_seed, orders)| {
                orders.and(allowed).iter().map(move |(_, order)| PickExplanation { order, first_seed })
            })
            .collect();
        found.sort_by_key(|one| {
            usize::from(one.order != expected.option_order) + usize::from(one.first_seed != expected.first_seed)
        });
        found
    }
}

pub fn pick(first_seed: i32, draw: usize, scale: f64, len: usize) -> usize {
    game_picks::pick(game_picks::number(i64::from(first_seed) + draw as i64, scale), len)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::game::{Layout, Move, World};

    fn choices(expected: &Rules, rules: &Rules, draws: u16) -> Picks {
        let (mut picks, options) = (Picks::new(expected), [0b1111, 0b1011, 0b0111, 0b0101]);
        for draw in 1..draws {
            let options = options[usize::from(draw) % options.len()];
            let list: Vec<Direction> =
                rules.option_order.into_iter().filter(|&direction| options >> direction as u8 & 1 == 1).collect();
            let direction = list[pick(rules.first_seed, draw.into(), rules.pick_scale, list.len())];
            picks.add(Pick { draw, options, direction });
        }
        picks
    }

    #[test]
    fn order_and_seed_are_found_from_the_choices() {
        let blitz = Rules::BLITZ_2025;
        let other = [Direction::Down, Direction::Left, Direction::Up, Direction::Right];
        for (expected, first_seed, order, is_near) in [
            (0, 0, blitz.option_order, true),
            (0, 417, blitz.option_order, true),
            (0, -1000, other, true),
            (0, 1001, other, false),
            (i32::MAX, i32::MAX - 1000, other, true),
        ] {
            let expected = Rules { first_seed: expected, ..blitz };
            let picks = choices(&expected, &Rules { first_seed, option_order: order, ..blitz }, 150);
            assert!(picks.are_decisive());
            assert_eq!(
                picks.explanations(&expected, Orders::ALL),
                Vec::from_iter(is_near.then_some(PickExplanation { order, first_seed }))
            );
        }
    }

    #[test]
    fn picks_are_those_of_the_game() {
        assert_eq!(pick(0, 1, 10_000.0, 4), 2, "the reference model's test expects the same pick");
        let layout = Layout::parse("G...\n.##.\n....\n####\nP...").expect("a drawing");
        for rules in [Rules::BLITZ_2025, Rules { first_seed: -77, pick_scale: 431.5, ..Rules::BLITZ_2025 }] {
            let world = World::new(&layout, &rules).expect("a map");
            let (mut state, mut moves) = (world.start(), 0);
            for _ in 0..500 {
                let before = world.threat(&state, 0);
                world.step_unchecked(&mut state, Move::Stay);
                let after = world.threat(&state, 0);
                if after.position == before.position {
                    continue;
                }
                let options: Vec<Direction> = rules
                    .option_order
                    .into_iter()
                    .filter(|&direction| layout.is_open(before.position.towards(direction)))
                    .collect();
                let index = pick(rules.first_seed, usize::from(before.draws), rules.pick_scale, options.len());
                assert_eq!(before.position.towards(options[index]), after.position, "tick {}", state.tick());
                moves += 1;
            }
            assert!(moves > 100, "{moves} moves");
        }
    }
}
