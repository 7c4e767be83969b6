//! Explanations of the picks of goldfish and bulls. All threats draw the same sequence of random
//! numbers, so each pick sets bounds on one number of this sequence. A first seed explains the picks
//! if it brings every number into its bounds.

use super::orders::{Orders, index_of};
use crate::game::picks as game_picks;
use crate::game::{Direction, Rules};

/// The bounds of an unknown number, in units of 1/12. In this unit, the bounds set by a pick from
/// up to four options are integers.
const UNBOUNDED: (u8, u8) = (0, 12);
/// A search tries first seeds up to this far from the expected one.
const SEED_DISTANCE_MAX: i32 = 1000;
/// Number of seeds to try per step of a search. A step takes a fraction of a millisecond.
const SEEDS_PER_STEP: usize = 100;
/// Minimum number of known draws for a search for other seeds. With fewer, too many are possible.
const DRAWS_MIN: usize = 8;
/// With at least this much evidence, in bits, an explanation is not considered a coincidence. A
/// search tries about 2^16 pairs of an order and a seed.
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

/// The bounds that the picks set on the drawn numbers, for each option order.
#[derive(Clone, Debug)]
pub struct Picks {
    /// The possible orders. Under each of them, no two picks contradict each other.
    pub orders: Orders,
    /// For each order and draw, the inclusive lower and exclusive upper bound, in units of 1/12.
    bounds: Vec<Vec<(u8, u8)>>,
    pub count: u32,
}

/// An option order and a first seed that explain every pick.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PickExplanation {
    pub order: [Direction; 4],
    pub first_seed: i32,
}

#[derive(Clone, Debug, Default)]
pub struct PickExplanations {
    /// The explanations found, in ascending order of the number of changed rules.
    pub found: Vec<PickExplanation>,
    /// True if there is so much evidence that an explanation is not considered a coincidence.
    pub is_decisive: bool,
}

impl Default for Picks {
    fn default() -> Self {
        Self { orders: Orders::ALL, bounds: vec![Vec::new(); 24], count: 0 }
    }
}

impl Picks {
    /// Adds a pick. If no order explains all picks, changes nothing and returns false.
    pub fn add(&mut self, pick: Pick) -> bool {
        let draw = usize::from(pick.draw);
        let bounds = |order: [Direction; 4], before: (u8, u8)| {
            let options = || order.iter().filter(|&&direction| pick.options >> direction as u8 & 1 == 1);
            let twelfths = 12 / options().count().max(1) as u8;
            let index = options().position(|&direction| direction == pick.direction)? as u8;
            let (low, high) = ((index * twelfths).max(before.0), ((index + 1) * twelfths).min(before.1));
            (low < high).then_some((low, high))
        };
        let before = |order: usize| self.bounds[order].get(draw).copied().unwrap_or(UNBOUNDED);
        let alive: Vec<(usize, (u8, u8))> =
            self.orders.iter().filter_map(|(index, order)| Some((index, bounds(order, before(index))?))).collect();
        if alive.is_empty() {
            return false;
        }
        self.orders = alive.iter().fold(Orders::NONE, |orders, &(index, _)| orders.or(Orders::single(index)));
        for (index, found) in alive {
            let all = &mut self.bounds[index];
            if all.len() <= draw {
                all.resize(draw + 1, UNBOUNDED);
            }
            all[draw] = found;
        }
        self.count += 1;
        true
    }

    fn bits(&self, order: usize) -> f64 {
        self.bounds[order].iter().map(|(low, high)| libm::log2(12.0 / f64::from(high - low))).sum()
    }

    /// True if the explanation's option order is possible, and its number for this draw is within
    /// the bounds.
    pub fn explains_draw(&self, one: &PickExplanation, draw: usize, scale: f64) -> bool {
        let bounds = self.bounds[index_of(one.order)].get(draw).copied().unwrap_or(UNBOUNDED);
        let is_within = || (bounds.0..bounds.1).contains(&(pick(one.first_seed, draw, scale, 12) as u8));
        self.orders.contains(one.order) && (bounds == UNBOUNDED || is_within())
    }

    fn known_draws(&self) -> Vec<usize> {
        let is_known = |&draw: &usize| {
            self.orders.iter().any(|(order, _)| self.bounds[order].get(draw).is_some_and(|&one| one != UNBOUNDED))
        };
        (0..self.bounds.iter().map(Vec::len).max().unwrap_or(0)).filter(is_known).collect()
    }
}

/// A search for explanations of the picks with one of the allowed option orders and a first seed
/// near the expected one.
#[derive(Clone, Debug)]
pub struct PickSearch {
    picks: Picks,
    expected: Rules,
    draws: Vec<usize>,
    /// The seeds that remain to be tried, the last first.
    seeds: Vec<i32>,
    found: Vec<PickExplanation>,
    is_decisive: bool,
}

impl PickSearch {
    pub fn new(picks: &Picks, expected: &Rules, allowed: Orders) -> Self {
        let picks = Picks { orders: picks.orders.and(allowed), ..picks.clone() };
        let bits = picks.orders.iter().map(|(order, _)| picks.bits(order)).fold(f64::INFINITY, f64::min);
        let draws = picks.known_draws();
        let distance_max = if draws.len() < DRAWS_MIN { 0 } else { SEED_DISTANCE_MAX };
        let offsets = (1..=distance_max).rev().flat_map(|distance| [-distance, distance]).chain([0]);
        let seeds = offsets.filter_map(|offset| expected.first_seed.checked_add(offset)).collect();
        Self { picks, expected: *expected, draws, seeds, found: Vec::new(), is_decisive: bits >= BITS_MIN }
    }

    /// Tries some more seeds. Returns false if none were left.
    pub fn advance(&mut self) -> bool {
        for first_seed in self.seeds.split_off(self.seeds.len().saturating_sub(SEEDS_PER_STEP)).into_iter().rev() {
            let explanations = self.picks.orders.iter().map(|(_, order)| PickExplanation { order, first_seed });
            let (picks, scale) = (&self.picks, self.expected.pick_scale);
            self.found.extend(
                explanations.filter(|one| self.draws.iter().all(|&draw| picks.explains_draw(one, draw, scale))),
            );
        }
        !self.seeds.is_empty()
    }

    pub fn finish(mut self) -> PickExplanations {
        while self.advance() {}
        let expected = &self.expected;
        self.found.sort_by_key(|one| {
            let changes =
                usize::from(one.order != expected.option_order) + usize::from(one.first_seed != expected.first_seed);
            (changes, one.first_seed.abs_diff(expected.first_seed))
        });
        PickExplanations { found: self.found, is_decisive: self.is_decisive }
    }
}

pub fn pick(first_seed: i32, draw: usize, scale: f64, len: usize) -> usize {
    game_picks::pick(game_picks::number(i64::from(first_seed) + draw as i64, scale), len)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::game::{Layout, Move, World};

    fn choices(rules: &Rules, draws: u16) -> Picks {
        let (mut picks, options) = (Picks::default(), [0b1111, 0b1011, 0b0111, 0b0101]);
        for draw in 1..draws {
            let options = options[usize::from(draw) % options.len()];
            let list: Vec<Direction> =
                rules.option_order.into_iter().filter(|&direction| options >> direction as u8 & 1 == 1).collect();
            let direction = list[pick(rules.first_seed, draw.into(), rules.pick_scale, list.len())];
            assert!(picks.add(Pick { draw, options, direction }));
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
            let picks = choices(&Rules { first_seed, option_order: order, ..blitz }, 150);
            let expected = Rules { first_seed: expected, ..blitz };
            let found = PickSearch::new(&picks, &expected, Orders::ALL).finish();
            assert!(found.is_decisive);
            assert_eq!(found.found, Vec::from_iter(is_near.then_some(PickExplanation { order, first_seed })));
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
                world.step(&mut state, Move::Stay);
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
