//! Explanations of the picks of goldfish and bulls. All threats draw the same sequence of random
//! numbers, so each pick sets bounds on one number: the fractional part of `sin(seed) * scale`. For
//! a given seed, the scales that bring a number into its bounds form periodic intervals. [`Sieve`]
//! intersects the intervals of all draws, longest period first, to hold few at a time.

use super::orders::{Orders, index_of};
use crate::game::picks as game_picks;
use crate::game::{Direction, Rules};

/// The bounds of an unknown number, in units of 1/12. In this unit, the bounds set by a pick from
/// up to four options are integers.
const UNBOUNDED: (u8, u8) = (0, 12);
const INTERVALS_MAX: usize = 50_000;
/// Maximum number of intervals to check per step of a search, so that a step is short.
const INTERVALS_PER_STEP: usize = 256;
/// Minimum number of known draws for a search for seeds. With fewer, too many seeds are possible.
const DRAWS_MIN: usize = 8;
/// With at least this much evidence, in bits, an explanation is not considered a coincidence.
const BITS_MIN: f64 = 60.0;

/// The limits of a search.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Maximum absolute value of the first seed, in the search with the expected scale.
    pub seed_max: i32,
    /// Maximum absolute value of the scale. In the search for both the seed and the scale, the
    /// maximum is at most 100,000.
    pub scale_max: f64,
    /// Maximum absolute value of the first seed, in the search for both the seed and the scale.
    pub both_seed_max: i32,
    /// Maximum number of explanations. A search keeps those that change the fewest expected rules.
    pub found_max: usize,
}

impl Effort {
    /// The limits for recorded games. A search can take seconds.
    pub const WHOLE: Self = Self { seed_max: 1_000_000, scale_max: 1e6, both_seed_max: 2_000, found_max: usize::MAX };
    /// The limits for a running game.
    pub const TICK: Self = Self { seed_max: 2_000, scale_max: 1e5, both_seed_max: 0, found_max: 4_000 };
}

/// A threat's pick.
#[derive(Clone, Copy, Debug)]
pub struct Pick {
    /// The number of the threat's earlier draws.
    pub draw: u16,
    /// The threat's options, as bits.
    pub options: u8,
    /// The picked option.
    pub direction: Direction,
}

/// The bounds that the picks set on the drawn numbers, for each option order.
#[derive(Clone, Debug)]
pub struct Picks {
    /// The possible orders. Under each of them, no two picks contradict each other.
    pub orders: Orders,
    /// For each order and draw, the inclusive lower and exclusive upper bound, in units of 1/12.
    bounds: Vec<Vec<(u8, u8)>>,
    /// The number of picks so far.
    pub count: u32,
}

/// An option order, a first seed and a scale that explain every pick.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PickExplanation {
    /// The option order.
    pub order: [Direction; 4],
    /// The first seed.
    pub first_seed: i32,
    /// The expected scale if it is in the range `scales`, otherwise a round number from the range.
    /// If this scale does not explain the picks because of rounding, the middle of the range.
    pub scale: f64,
    /// The range around `scale` that explained the picks in the search, apart from rounding: the
    /// lowest and the highest scale.
    pub scales: (f64, f64),
}

/// The result of a search for explanations of the picks.
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

    /// True if this option order, first seed and scale explain every pick.
    pub fn explains(&self, order: [Direction; 4], first_seed: i32, scale: f64) -> bool {
        let bounds = &self.bounds[index_of(order)];
        let within = |(draw, &(low, high)): (usize, &(u8, u8))| {
            (low, high) == UNBOUNDED || (low..high).contains(&twelfth(first_seed, draw, scale))
        };
        self.orders.contains(order) && bounds.iter().enumerate().all(within)
    }

    /// True if the explanation's option order is possible, and its number for this draw is within
    /// the bounds.
    pub fn explains_draw(&self, one: &PickExplanation, draw: u16) -> bool {
        let bounds = self.bounds[index_of(one.order)].get(usize::from(draw));
        let within = |&(low, high): &(u8, u8)| {
            (low, high) == UNBOUNDED || (low..high).contains(&twelfth(one.first_seed, draw.into(), one.scale))
        };
        self.orders.contains(one.order) && bounds.is_none_or(within)
    }

    /// Searches for explanations with one of the allowed option orders, within the limits `effort`.
    pub fn explanations(&self, expected: &Rules, allowed: Orders, effort: Effort) -> PickExplanations {
        let mut search = PickSearch::new(self, expected, allowed, effort);
        while search.advance() {}
        search.finish()
    }

    /// Intervals of scales that explain the picks, each with one of its scales. `None` if there are
    /// too many intervals.
    fn sieve(&self, order: usize, first_seed: i32, scale_max: f64, expected: f64) -> Option<Vec<(f64, (f64, f64))>> {
        let mut search = ScaleSearch::new(self, order, first_seed, scale_max);
        while search.advance(self, expected) {}
        search.is_within_limits().then_some(search.found)
    }

    fn sieve_near(&self, order: usize, first_seed: i32, scale: f64) -> (f64, f64) {
        let (sign, size) = (scale.signum(), scale.abs());
        let mut sieve = Sieve::new(self, order, first_seed, sign, ((size - 2.0).max(0.0), size + 2.0));
        while sieve.advance() {}
        let found = sieve.alive.unwrap_or_default();
        let around = found.into_iter().find(|(low, high)| (*low..=*high).contains(&size)).unwrap_or((size, size));
        if sign < 0.0 { (-around.1, -around.0) } else { around }
    }
}

#[derive(Clone, Debug)]
pub struct PickSearch {
    picks: Picks,
    expected: Rules,
    allowed: Orders,
    effort: Effort,
    stage: Stage,
    found: Vec<PickExplanation>,
    is_decisive: bool,
}

#[derive(Clone, Debug)]
enum Stage {
    /// Searches for scales with the expected seed. Holds the remaining orders, and the search with
    /// the current order.
    Scales(Vec<usize>, Option<ScaleSearch>),
    /// Tries other seeds with the expected scale. Holds the known draws and the next seed.
    Seeds(Vec<usize>, i32),
    Both,
    Finished,
}

impl PickSearch {
    pub fn new(picks: &Picks, expected: &Rules, allowed: Orders, effort: Effort) -> Self {
        let allowed = picks.orders.and(allowed);
        let bits = allowed.iter().map(|(order, _)| picks.bits(order)).fold(f64::INFINITY, f64::min);
        let mut orders: Vec<usize> = allowed.iter().map(|(index, _)| index).collect();
        orders.reverse();
        Self {
            picks: picks.clone(),
            expected: *expected,
            allowed,
            effort,
            stage: Stage::Scales(orders, None),
            found: Vec::new(),
            is_decisive: bits >= BITS_MIN,
        }
    }

    pub fn advance(&mut self) -> bool {
        let (expected, effort) = (self.expected, self.effort);
        self.stage = match std::mem::replace(&mut self.stage, Stage::Finished) {
            Stage::Scales(orders, Some(mut search)) => {
                let is_running = search.advance(&self.picks, expected.pick_scale);
                self.add_scales(&mut search, !is_running);
                Stage::Scales(orders, Some(search).filter(|_| is_running))
            }
            Stage::Scales(mut orders, None) => match orders.pop() {
                Some(order) => {
                    let search = ScaleSearch::new(&self.picks, order, expected.first_seed, effort.scale_max);
                    Stage::Scales(orders, Some(search))
                }
                None => {
                    let draws = self.known_draws();
                    let seed = if draws.len() < DRAWS_MIN { i32::MAX } else { -effort.seed_max };
                    Stage::Seeds(draws, seed)
                }
            },
            Stage::Seeds(draws, seed) if seed <= effort.seed_max && self.found.len() <= INTERVALS_MAX => {
                if seed != expected.first_seed {
                    let found = explanations_with_seed(&self.picks, self.allowed, &draws, seed, expected.pick_scale);
                    self.add(found);
                }
                Stage::Seeds(draws, seed + 1)
            }
            Stage::Seeds(..) if self.found.is_empty() && self.is_decisive => Stage::Both,
            Stage::Both => {
                self.try_both();
                Stage::Finished
            }
            Stage::Seeds(..) | Stage::Finished => return false,
        };
        true
    }

    pub fn finish(mut self) -> PickExplanations {
        self.sort();
        PickExplanations { found: self.found, is_decisive: self.is_decisive }
    }

    fn add(&mut self, found: impl IntoIterator<Item = PickExplanation>) {
        self.found.extend(found);
        // The list may grow to about twice its limit, so that it is rarely sorted.
        if self.found.len() / 2 > self.effort.found_max {
            self.sort();
        }
    }

    fn sort(&mut self) {
        let expected = &self.expected;
        self.found.sort_by_cached_key(|one| {
            let changes = usize::from(one.order != expected.option_order)
                + usize::from(one.first_seed != expected.first_seed)
                + usize::from(one.scale != expected.pick_scale);
            (changes, one.first_seed.unsigned_abs(), decimals(one.scale), one.scale < 0.0)
        });
        self.found.truncate(self.effort.found_max);
    }

    /// Adds a search's new scales. At the end, also adds the expected scale if it explains the
    /// picks but was missed.
    fn add_scales(&mut self, search: &mut ScaleSearch, has_ended: bool) {
        let (first_seed, expected) = (self.expected.first_seed, self.expected.pick_scale);
        let order = order_of(search.order);
        let mut scales = std::mem::take(&mut search.found);
        search.has_expected |= scales.iter().any(|&(scale, _)| scale == expected);
        if has_ended && !search.has_expected && self.picks.explains(order, first_seed, expected) {
            scales.push((expected, (expected, expected)));
        }
        self.add(scales.into_iter().map(|(scale, scales)| PickExplanation { order, first_seed, scale, scales }));
    }

    fn known_draws(&self) -> Vec<usize> {
        let of_orders = |draw: usize| {
            let mut bounds = self.allowed.iter().filter_map(|(order, _)| self.picks.bounds[order].get(draw));
            bounds.any(|&bounds| bounds != UNBOUNDED)
        };
        (0..self.picks.bounds.iter().map(Vec::len).max().unwrap_or(0)).filter(|&draw| of_orders(draw)).collect()
    }

    fn try_both(&mut self) {
        let expected = self.expected.pick_scale;
        for size in 1..=self.effort.both_seed_max {
            for first_seed in [size, -size] {
                for (index, order) in self.allowed.iter() {
                    let scales = self.picks.sieve(index, first_seed, self.effort.scale_max.min(1e5), expected);
                    self.found.extend(scales.into_iter().flatten().map(|(scale, scales)| PickExplanation {
                        order,
                        first_seed,
                        scale,
                        scales,
                    }));
                }
            }
            if !self.found.is_empty() {
                return;
            }
        }
    }
}

fn explanations_with_seed(
    picks: &Picks,
    mut alive: Orders,
    draws: &[usize],
    first_seed: i32,
    scale: f64,
) -> Vec<PickExplanation> {
    for &draw in draws {
        let number = twelfth(first_seed, draw, scale);
        let kept = alive.iter().filter(|&(order, _)| {
            picks.bounds[order].get(draw).is_none_or(|&(low, high)| (low..high).contains(&number))
        });
        alive = kept.fold(Orders::NONE, |orders, (order, _)| orders.or(Orders::single(order)));
        if alive.is_empty() {
            break;
        }
    }
    let explanation = |(index, order)| {
        let scales = picks.sieve_near(index, first_seed, scale);
        PickExplanation { order, first_seed, scale, scales }
    };
    alive.iter().map(explanation).collect()
}

#[derive(Clone, Debug)]
struct ScaleSearch {
    order: usize,
    first_seed: i32,
    scale_max: f64,
    /// One sieve per sign of the scale. When both have ended, their intervals are checked.
    sieves: Vec<Sieve>,
    checked: usize,
    /// The checked intervals that explain the picks, each with one of its scales.
    found: Vec<(f64, (f64, f64))>,
    has_expected: bool,
}

impl ScaleSearch {
    fn new(picks: &Picks, order: usize, first_seed: i32, scale_max: f64) -> Self {
        let sieves = vec![Sieve::new(picks, order, first_seed, SIGNS[0], (0.0, scale_max))];
        Self { order, first_seed, scale_max, sieves, checked: 0, found: Vec::new(), has_expected: false }
    }

    fn advance(&mut self, picks: &Picks, expected: f64) -> bool {
        if self.sieves.last_mut().is_some_and(Sieve::advance) {
            return true;
        }
        if let Some(&sign) = SIGNS.get(self.sieves.len()) {
            self.sieves.push(Sieve::new(picks, self.order, self.first_seed, sign, (0.0, self.scale_max)));
            return true;
        }
        let [Sieve { alive: Some(above), .. }, Sieve { alive: Some(below), .. }] = self.sieves.as_slice() else {
            return false;
        };
        let order = order_of(self.order);
        let intervals = above.iter().copied().chain(below.iter().map(|&(low, high)| (-high, -low)));
        let before = self.checked;
        for (low, high) in intervals.skip(before).take(INTERVALS_PER_STEP) {
            let scale = if (low..=high).contains(&expected) { expected } else { simplest(low, high) };
            let middle = (low + high) / 2.0;
            // Near an interval's end, rounding may push a number past its bound: check the scale.
            let exact = [scale, middle].into_iter().find(|&scale| picks.explains(order, self.first_seed, scale));
            self.found.extend(exact.map(|scale| (scale, (low, high))));
            self.checked += 1;
        }
        self.checked > before
    }

    fn is_within_limits(&self) -> bool {
        self.sieves.iter().all(|sieve| sieve.alive.is_some())
    }
}

const SIGNS: [f64; 2] = [1.0, -1.0];

/// Finds the intervals of positive or negative scales that explain the picks, as absolute values.
#[derive(Clone, Debug)]
struct Sieve {
    /// For each draw with bounds, the sine of its seed times the sign of the scale, and the bounds
    /// of its number.
    draws: Vec<(f64, (u8, u8))>,
    next: usize,
    /// `None` if there are too many intervals.
    alive: Option<Vec<(f64, f64)>>,
}

impl Sieve {
    fn new(picks: &Picks, order: usize, first_seed: i32, sign: f64, within: (f64, f64)) -> Self {
        let mut draws: Vec<(f64, (u8, u8))> = (0i64..)
            .zip(&picks.bounds[order])
            .filter(|(_, bounds)| **bounds != UNBOUNDED)
            .map(|(draw, bounds)| (sign * libm::sin((i64::from(first_seed) + draw) as f64), *bounds))
            .collect();
        draws.sort_by(|left, right| left.0.abs().total_cmp(&right.0.abs()));
        Self { draws, next: 0, alive: Some(vec![within]) }
    }

    fn advance(&mut self) -> bool {
        let Some(&(sine, bounds)) = self.draws.get(self.next) else { return false };
        let Some(alive) = self.alive.as_ref().filter(|alive| !alive.is_empty()) else { return false };
        self.next += 1;
        self.alive = narrowed(alive, sine, bounds);
        true
    }
}

/// The parts of `intervals` that bring a number into its bounds. `None` if there are too many.
fn narrowed(intervals: &[(f64, f64)], sine: f64, (low, high): (u8, u8)) -> Option<Vec<(f64, f64)>> {
    let (low, high) = (f64::from(low) / 12.0, f64::from(high) / 12.0);
    let (slope, low, high) = if sine < 0.0 { (-sine, 1.0 - high, 1.0 - low) } else { (sine, low, high) };
    if slope == 0.0 {
        return Some(if low > 0.0 { Vec::new() } else { intervals.to_vec() });
    }
    let mut next = Vec::new();
    for &(from, to) in intervals {
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
    Some(next)
}

fn order_of(index: usize) -> [Direction; 4] {
    Orders::ALL.iter().nth(index).map_or(Direction::ALL, |(_, order)| order)
}

pub fn number(first_seed: i32, draw: usize, scale: f64) -> f64 {
    game_picks::number(i64::from(first_seed) + draw as i64, scale)
}

pub fn pick(first_seed: i32, draw: usize, scale: f64, len: usize) -> usize {
    game_picks::pick(number(first_seed, draw, scale), len)
}

/// The drawn number in units of 1/12, rounded down.
fn twelfth(first_seed: i32, draw: usize, scale: f64) -> u8 {
    pick(first_seed, draw, scale, 12) as u8
}

/// Returns the range's lowest multiple of 10^6. If there is none, tries 10^5, and so on down to
/// 10^-9. If the range contains none of these multiples, returns its middle.
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

fn decimals(number: f64) -> u32 {
    (0..10).find(|&digits| (number * 10f64.powi(digits as i32)).fract() == 0.0).unwrap_or(10)
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
            let effort = Effort { seed_max: 1000, scale_max: 1e5, both_seed_max: 40, found_max: 100 };
            let found = choices(&rules, 150).explanations(&blitz, Orders::ALL, effort);
            assert!(found.is_decisive);
            let best = found.found.first().expect("an explanation");
            assert_eq!(
                (best.first_seed, best.scale, best.order),
                (rules.first_seed, rules.pick_scale, rules.option_order)
            );
            assert!(found.found.len() <= 2, "{:?}", found.found);
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
