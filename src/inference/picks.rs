//! Picks: which order of the options, first seed and scale explain the choices of goldfish, bulls
//! and hawks.
//!
//! Every threat draws from the same stream of numbers, so each choice bounds one number in it. For
//! a given seed, the scales that bring a number into its bounds are intervals that repeat; the
//! sieve intersects those of all draws, the slowest first, so that few intervals are open at a
//! time.

use super::orders::{Orders, index_of};
use crate::game::picks as game_picks;
use crate::game::{Direction, Rules};

/// Bounds of a number in twelfths: picks from lists of up to four entries change at whole twelfths.
const WHOLE: (u8, u8) = (0, 12);
/// Maximum number of intervals of scales that are followed for one seed.
const INTERVALS_MAX: usize = 50_000;
/// Bits of evidence from which an explanation counts as more than a coincidence.
const BITS_MIN: f64 = 60.0;

/// The limits of a search.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// First seeds up to this size with the expected scale.
    pub seed_max: i32,
    /// Scales up to this size with the expected seed.
    pub scale_max: f64,
    /// First seeds up to this size with any scale.
    pub both_seed_max: i32,
}

impl Effort {
    /// For a recording: a few seconds at most.
    pub const WHOLE: Self = Self { seed_max: 1_000_000, scale_max: 1e6, both_seed_max: 2_000 };
    /// For a tick of a game.
    pub const TICK: Self = Self { seed_max: 2_000, scale_max: 1e5, both_seed_max: 0 };
}

/// A choice that a threat made.
#[derive(Clone, Copy, Debug)]
pub struct Pick {
    /// How often the threat had drawn before.
    pub draw: u16,
    /// Its options as bits.
    pub options: u8,
    /// The option it took.
    pub direction: Direction,
}

/// The bounds of the numbers, by order of the options.
#[derive(Clone, Debug)]
pub struct Picks {
    /// The orders under which no two choices contradict each other.
    pub orders: Orders,
    /// By order, then by draw: the bounds in twelfths.
    bounds: Vec<Vec<(u8, u8)>>,
    /// Choices so far.
    pub count: u32,
}

/// An order, a seed and scales that explain every choice.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PickExplanation {
    /// The order of the options.
    pub order: [Direction; 4],
    /// The first seed.
    pub first_seed: i32,
    /// The scale: the simplest number of the range, or the expected one.
    pub scale: f64,
    /// The scales that explain the choices: from the first to the second.
    pub scales: (f64, f64),
}

/// What explains the choices.
#[derive(Clone, Debug, Default)]
pub struct PickExplanations {
    /// The explanations that were found, those that change fewest of the expected rules first.
    pub found: Vec<PickExplanation>,
    /// Whether there is enough evidence to rule out other explanations.
    pub is_decisive: bool,
}

impl Default for Picks {
    fn default() -> Self {
        Self { orders: Orders::ALL, bounds: vec![Vec::new(); 24], count: 0 }
    }
}

impl Picks {
    /// Adds a choice; returns false, and changes nothing, if no order explains it together with the
    /// others.
    pub fn add(&mut self, pick: Pick) -> bool {
        let draw = usize::from(pick.draw);
        let bounds = |order: [Direction; 4], before: (u8, u8)| {
            let options = || order.iter().filter(|&&direction| pick.options >> direction as u8 & 1 == 1);
            let twelfths = 12 / options().count().max(1) as u8;
            let index = options().position(|&direction| direction == pick.direction)? as u8;
            let (low, high) = ((index * twelfths).max(before.0), ((index + 1) * twelfths).min(before.1));
            (low < high).then_some((low, high))
        };
        let before = |order: usize| self.bounds[order].get(draw).copied().unwrap_or(WHOLE);
        let alive: Vec<(usize, (u8, u8))> =
            self.orders.iter().filter_map(|(index, order)| Some((index, bounds(order, before(index))?))).collect();
        if alive.is_empty() {
            return false;
        }
        self.orders = alive.iter().fold(Orders::NONE, |orders, &(index, _)| orders.or(Orders::single(index)));
        for (index, found) in alive {
            let all = &mut self.bounds[index];
            if all.len() <= draw {
                all.resize(draw + 1, WHOLE);
            }
            all[draw] = found;
        }
        self.count += 1;
        true
    }

    /// Bits of evidence about the numbers, under an order.
    fn bits(&self, order: usize) -> f64 {
        self.bounds[order].iter().map(|(low, high)| libm::log2(12.0 / f64::from(high - low))).sum()
    }

    /// Whether the numbers of a seed and a scale are within the bounds.
    pub fn explains(&self, order: [Direction; 4], first_seed: i32, scale: f64) -> bool {
        let bounds = &self.bounds[index_of(order)];
        let within = |(draw, &(low, high)): (usize, &(u8, u8))| {
            (low, high) == WHOLE || (low..high).contains(&twelfth(first_seed, draw, scale))
        };
        self.orders.contains(order) && bounds.iter().enumerate().all(within)
    }

    /// The explanations with one of the allowed orders.
    pub fn explanations(&self, expected: &Rules, allowed: Orders, effort: Effort) -> PickExplanations {
        let allowed = self.orders.and(allowed);
        let bits = allowed.iter().map(|(order, _)| self.bits(order)).fold(f64::INFINITY, f64::min);
        let mut found = Vec::new();
        for (index, order) in allowed.iter() {
            let scales = self.sieve(index, expected.first_seed, effort.scale_max, expected.pick_scale);
            found.extend(scales.into_iter().flatten().map(|(scale, scales)| PickExplanation {
                order,
                first_seed: expected.first_seed,
                scale,
                scales,
            }));
            let is_expected = |one: &PickExplanation| one.order == order && one.scale == expected.pick_scale;
            if self.explains(order, expected.first_seed, expected.pick_scale) && !found.iter().any(is_expected) {
                let scale = expected.pick_scale;
                found.push(PickExplanation { order, first_seed: expected.first_seed, scale, scales: (scale, scale) });
            }
        }
        self.try_seeds(expected, allowed, effort.seed_max, &mut found);
        if found.is_empty() && bits >= BITS_MIN {
            self.try_both(expected, allowed, effort, &mut found);
        }
        let changes = |one: &PickExplanation| {
            usize::from(one.order != expected.option_order)
                + usize::from(one.first_seed != expected.first_seed)
                + usize::from(one.scale != expected.pick_scale)
        };
        found.sort_by(|one, other| {
            let size = |one: &PickExplanation| (one.first_seed.unsigned_abs(), decimals(one.scale), one.scale < 0.0);
            (changes(one), size(one)).cmp(&(changes(other), size(other)))
        });
        PickExplanations { found, is_decisive: bits >= BITS_MIN }
    }

    /// Tries other seeds with the expected scale.
    fn try_seeds(&self, expected: &Rules, allowed: Orders, seed_max: i32, found: &mut Vec<PickExplanation>) {
        let draws: Vec<usize> = (0..self.bounds.iter().map(Vec::len).max().unwrap_or(0))
            .filter(|&draw| allowed.iter().any(|(order, _)| self.bounds[order].get(draw).is_some_and(|&b| b != WHOLE)))
            .collect();
        if draws.len() < 8 {
            return;
        }
        for first_seed in (-seed_max..=seed_max).filter(|&seed| seed != expected.first_seed) {
            let mut alive = allowed;
            for &draw in &draws {
                let number = twelfth(first_seed, draw, expected.pick_scale);
                let kept = alive.iter().filter(|&(order, _)| {
                    self.bounds[order].get(draw).is_none_or(|&(low, high)| (low..high).contains(&number))
                });
                alive = kept.fold(Orders::NONE, |orders, (order, _)| orders.or(Orders::single(order)));
                if alive.is_empty() {
                    break;
                }
            }
            found.extend(alive.iter().map(|(index, order)| {
                let scale = expected.pick_scale;
                let near = self.sieve_near(index, first_seed, scale);
                PickExplanation { order, first_seed, scale, scales: near }
            }));
            if found.len() > INTERVALS_MAX {
                return;
            }
        }
    }

    /// Tries other seeds with any scale, the smallest seeds first.
    fn try_both(&self, expected: &Rules, allowed: Orders, effort: Effort, found: &mut Vec<PickExplanation>) {
        for size in 1..=effort.both_seed_max {
            for first_seed in [size, -size] {
                for (index, order) in allowed.iter() {
                    let scales = self.sieve(index, first_seed, effort.scale_max.min(1e5), expected.pick_scale);
                    found.extend(scales.into_iter().flatten().map(|(scale, scales)| PickExplanation {
                        order,
                        first_seed,
                        scale,
                        scales,
                    }));
                }
            }
            if !found.is_empty() {
                return;
            }
        }
    }

    /// The scales up to a size, of either sign, that explain the choices with a seed: the simplest
    /// of each interval, and the interval. `None` if there are too many.
    fn sieve(&self, order: usize, first_seed: i32, scale_max: f64, expected: f64) -> Option<Vec<(f64, (f64, f64))>> {
        let mut found = Vec::new();
        for sign in [1.0, -1.0] {
            let whole = vec![(0.0, scale_max)];
            for (low, high) in self.sieve_from(order, first_seed, sign, whole)? {
                let (low, high) = if sign > 0.0 { (low, high) } else { (-high, -low) };
                let scale = if (low..=high).contains(&expected) { expected } else { simplest(low, high) };
                let middle = (low + high) / 2.0;
                let all = Orders::ALL.iter().nth(order)?.1;
                // At the ends of an interval, rounding may move numbers to the other side.
                let exact = [scale, middle].into_iter().find(|&scale| self.explains(all, first_seed, scale));
                found.extend(exact.map(|scale| (scale, (low, high))));
            }
        }
        Some(found)
    }

    /// The interval around a scale that explains the choices.
    fn sieve_near(&self, order: usize, first_seed: i32, scale: f64) -> (f64, f64) {
        let (sign, size) = (scale.signum(), scale.abs());
        let near = vec![((size - 2.0).max(0.0), size + 2.0)];
        let found = self.sieve_from(order, first_seed, sign, near).unwrap_or_default();
        let around = found.into_iter().find(|(low, high)| (*low..=*high).contains(&size)).unwrap_or((size, size));
        if sign < 0.0 { (-around.1, -around.0) } else { around }
    }

    fn sieve_from(
        &self,
        order: usize,
        first_seed: i32,
        sign: f64,
        mut alive: Vec<(f64, f64)>,
    ) -> Option<Vec<(f64, f64)>> {
        let mut draws: Vec<(f64, (u8, u8))> = (0i64..)
            .zip(&self.bounds[order])
            .filter(|(_, bounds)| **bounds != WHOLE)
            .map(|(draw, bounds)| (sign * libm::sin((i64::from(first_seed) + draw) as f64), *bounds))
            .collect();
        draws.sort_by(|left, right| left.0.abs().total_cmp(&right.0.abs()));
        for (sine, (low, high)) in draws {
            let (low, high) = (f64::from(low) / 12.0, f64::from(high) / 12.0);
            let (slope, low, high) = if sine < 0.0 { (-sine, 1.0 - high, 1.0 - low) } else { (sine, low, high) };
            if slope == 0.0 {
                if low > 0.0 {
                    return Some(Vec::new());
                }
                continue;
            }
            let mut next = Vec::new();
            for &(from, to) in &alive {
                let mut whole = (from * slope - high).ceil().max(0.0);
                while (whole + low) / slope < to {
                    let (start, end) = (((whole + low) / slope).max(from), ((whole + high) / slope).min(to));
                    if start < end {
                        next.push((start, end));
                    }
                    whole += 1.0;
                    if next.len() > INTERVALS_MAX {
                        return None;
                    }
                }
            }
            alive = next;
            if alive.is_empty() {
                break;
            }
        }
        Some(alive)
    }
}

/// The number of a draw, from 0 to 1.
pub fn number(first_seed: i32, draw: usize, scale: f64) -> f64 {
    game_picks::number(i64::from(first_seed) + draw as i64, scale)
}

/// The index that a draw picks from a list of `len` entries.
pub fn pick(first_seed: i32, draw: usize, scale: f64, len: usize) -> usize {
    game_picks::pick(number(first_seed, draw, scale), len)
}

fn twelfth(first_seed: i32, draw: usize, scale: f64) -> u8 {
    pick(first_seed, draw, scale, 12) as u8
}

/// The number with the fewest digits between two numbers.
fn simplest(low: f64, high: f64) -> f64 {
    for exponent in (-9..=6).rev() {
        let digits = 10f64.powi(-exponent);
        let number = (low * digits).ceil() / digits;
        if number <= high {
            return number;
        }
    }
    (low + high) / 2.0
}

/// Digits after the point, at most ten.
fn decimals(number: f64) -> u32 {
    (0..10).find(|&digits| (number * 10f64.powi(digits as i32)).fract() == 0.0).unwrap_or(10)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::game::{Layout, Move, World};

    /// The choices of a goldfish in a hall.
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
    fn seed_and_scale_are_found_from_the_choices() {
        let blitz = Rules::BLITZ_2025;
        let other = [Direction::Down, Direction::Left, Direction::Up, Direction::Right];
        for rules in [
            blitz,
            Rules { first_seed: 417, ..blitz },
            Rules { pick_scale: 7310.0, ..blitz },
            Rules { option_order: other, pick_scale: 42_180.0, ..blitz },
            Rules { first_seed: -31, pick_scale: 123.0, ..blitz },
        ] {
            let effort = Effort { seed_max: 1000, scale_max: 1e5, both_seed_max: 40 };
            let found = choices(&rules, 150).explanations(&blitz, Orders::ALL, effort);
            assert!(found.is_decisive);
            let best = found.found.first().expect("an explanation");
            assert_eq!(
                (best.first_seed, best.scale, best.order),
                (rules.first_seed, rules.pick_scale, rules.option_order)
            );
            // The reverse order with the negative scale makes the same choices.
            assert!(found.found.len() <= 2, "{:?}", found.found);
        }
    }

    #[test]
    fn picks_are_those_of_the_game() {
        assert_eq!(pick(0, 1, 10_000.0, 4), 2, "the reference model's test has the same");
        // The player and the goldfish do not meet: a wall parts them.
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
