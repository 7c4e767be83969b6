//! Hypotheses about the hawks, narrowed down by their observed steps.

use std::collections::BTreeMap;

use super::orders::Orders;
use super::paths::orders_of_step;
use super::streets::{Step, Streets};

/// Maximum value of `hawk_patience_moves` and `hawk_rest_moves`.
pub const MOVES_MAX: u8 = 100;
/// Maximum number of hypotheses for a hawk, before equal ones are merged.
const HYPOTHESES_MAX: usize = 16_000;

/// The target of a hawk, if known; if it has no target, the number of moves for which it has
/// waited. `rests` is true if it waits at a post.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Aim {
    Unknown,
    /// The tile where the hawk last saw the player.
    Seen(u16),
    Post(u16),
    Idle {
        waited: u8,
        rests: bool,
    },
}

/// Sets of values of the rules about hawks. All combinations of them count as possible.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct HawkValues {
    pub orders: Orders,
    /// The possible values of `hawk_patience_moves`, as bits.
    pub patience: u128,
    /// The possible values of `hawk_rest_moves`, as bits.
    pub rest: u128,
}

impl HawkValues {
    pub const ANY: Self = Self { orders: Orders::ALL, patience: below(MOVES_MAX + 1), rest: below(MOVES_MAX + 1) };
    pub const NONE: Self = Self { orders: Orders::NONE, patience: 0, rest: 0 };

    pub fn is_possible(&self) -> bool {
        !self.orders.is_empty() && self.patience != 0 && self.rest != 0
    }

    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        let (patience, rest) = (self.patience & other.patience, self.rest & other.rest);
        Self { orders: self.orders.and(other.orders), patience, rest }
    }

    #[must_use]
    fn or(&self, other: &Self) -> Self {
        let (patience, rest) = (self.patience | other.patience, self.rest | other.rest);
        Self { orders: self.orders.or(other.orders), patience, rest }
    }
}

/// The values in each view (0 stale, 1 present) of the player.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HawkSets(pub [HawkValues; 2]);

impl HawkSets {
    pub const ANY: Self = Self([HawkValues::ANY; 2]);

    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        Self([0, 1].map(|view| self.0[view].and(&other.0[view])))
    }

    pub fn is_possible(&self) -> bool {
        self.0.iter().any(HawkValues::is_possible)
    }

    pub fn of<'a>(hypotheses: impl IntoIterator<Item = &'a HawkHypothesis>) -> Self {
        hypotheses.into_iter().fold(Self([HawkValues::NONE; 2]), |mut sets, HawkHypothesis { view, values, .. }| {
            sets.0[*view] = sets.0[*view].or(values);
            sets
        })
    }

    /// The values that are possible in some view.
    pub fn of_any_view(&self) -> HawkValues {
        self.0.iter().filter(|values| values.is_possible()).fold(HawkValues::NONE, |all, values| all.or(values))
    }
}

/// Rules that explain the moves of a hawk, and the hidden state of the hawk under these rules.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct HawkHypothesis {
    /// 0 if the hawk uses the player's stale position, 1 if it uses the present position.
    pub view: usize,
    pub aim: Aim,
    /// For each of the hawk's known posts, its possible ranks among the map's intersections, as bits.
    pub(super) posts: Vec<u128>,
    pub values: HawkValues,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hawk {
    pub hypotheses: Vec<HawkHypothesis>,
    /// The number of posts, from the first, whose draw numbers are known; `usize::MAX` if no tick
    /// of the game was missed.
    pub(super) counted_posts: usize,
}

impl Hawk {
    pub fn new(sets: &HawkSets, is_spawned: bool) -> Self {
        let aim = if is_spawned { Aim::Idle { waited: 0, rests: false } } else { Aim::Unknown };
        let hypothesis = |(view, &values)| HawkHypothesis { view, aim, posts: Vec::new(), values };
        let views = sets.0.iter().enumerate().filter(|(_, values)| values.is_possible());
        let counted_posts = if is_spawned { usize::MAX } else { 0 };
        Self { hypotheses: views.map(hypothesis).collect(), counted_posts }
    }

    pub fn forget(&mut self) {
        let fewest = self.hypotheses.iter().map(|hypothesis| hypothesis.posts.len()).min().unwrap_or(0);
        self.counted_posts = self.counted_posts.min(fewest);
        self.hypotheses.iter_mut().for_each(|hypothesis| hypothesis.aim = Aim::Unknown);
        self.merge();
    }

    /// `None` if no hypothesis explains the step. Starts over if there are too many hypotheses.
    pub fn after(&self, streets: &Streets, step: &Step, threat: usize) -> Option<Self> {
        let mut hypotheses = Vec::with_capacity(self.hypotheses.len());
        for hypothesis in &self.hypotheses {
            hypothesis.advance(streets, step, threat, &mut hypotheses);
            if hypotheses.len() > HYPOTHESES_MAX {
                return Some(Self::new(&HawkSets::ANY, false));
            }
        }
        let mut after = Self { hypotheses, ..*self };
        after.merge();
        (!after.hypotheses.is_empty()).then_some(after)
    }

    /// Merges hypotheses with the same future. Their posts are then no longer told apart.
    fn merge(&mut self) {
        let future = |one: &HawkHypothesis| (one.view, one.aim, one.values.patience, one.values.rest, one.posts.len());
        self.hypotheses.sort_by_key(future);
        self.hypotheses.dedup_by(|next, kept| {
            let is_same = future(next) == future(kept);
            if is_same {
                kept.posts.iter_mut().zip(&next.posts).for_each(|(kept, next)| *kept |= next);
                kept.values = kept.values.or(&next.values);
            }
            is_same
        });
    }

    pub fn retain(&mut self, sets: &HawkSets) {
        self.hypotheses.retain_mut(|HawkHypothesis { view, values, .. }| {
            *values = values.and(&sets.0[*view]);
            values.is_possible()
        });
    }

    pub fn known_posts(&self) -> Vec<(u16, u16)> {
        let mut hypotheses = self.hypotheses.iter();
        let Some(first) = hypotheses.next() else { return Vec::new() };
        let mut ranks: Vec<u128> = first.posts.iter().copied().take(self.counted_posts).collect();
        for hypothesis in hypotheses {
            ranks.truncate(hypothesis.posts.len());
            ranks.iter_mut().zip(&hypothesis.posts).for_each(|(all, one)| *all |= one);
        }
        let known = (1..).zip(ranks).filter(|(_, ranks)| ranks.is_power_of_two() && *ranks < rank_bit(u16::MAX));
        known.map(|(draw, ranks)| (draw, ranks.trailing_zeros() as u16)).collect()
    }
}

impl HawkHypothesis {
    fn advance(&self, streets: &Streets, step: &Step, threat: usize, after: &mut Vec<Self>) {
        let (tile, direction) = step.threats[threat];
        let player = step.player[self.view];
        let sees = streets.sees(player, tile);
        let aim = if sees { Aim::Seen(player) } else { self.aim };
        let stays = direction.is_none();
        match aim {
            Aim::Unknown => after.push(self.clone()),
            Aim::Seen(target) | Aim::Post(target) if target == tile => {
                let rests = matches!(aim, Aim::Post(_));
                if stays {
                    after.push(Self { aim: Aim::Idle { waited: 0, rests }, ..self.clone() });
                }
            }
            Aim::Seen(target) | Aim::Post(target) => {
                let orders = self.values.orders.and(orders_of_step(streets, target, tile, direction));
                if !orders.is_empty() {
                    after.push(Self { aim, values: HawkValues { orders, ..self.values }, ..self.clone() });
                }
            }
            Aim::Idle { waited, rests } if stays => self.wait(streets, waited.saturating_add(1), rests, after),
            Aim::Idle { .. } => {}
        }
    }

    /// Splits the hypothesis: some values let the hawk keep waiting, and others send it to a post.
    fn wait(&self, streets: &Streets, waited: u8, rests: bool, after: &mut Vec<Self>) {
        let HawkValues { patience, rest, orders } = self.values;
        // The patience for each set of rests. The sets that let the hawk wait come first.
        let mut split: BTreeMap<(bool, u128), u128> = BTreeMap::new();
        for moves in values(patience) {
            // A hawk gets a post once `waited` exceeds its patience, plus its rest if it `rests`.
            let sent = match rests {
                true => below(waited.saturating_sub(moves)),
                false if waited > moves => u128::MAX,
                false => 0,
            };
            for key in [(false, rest & !sent), (true, rest & sent)].into_iter().filter(|&(_, rest)| rest != 0) {
                *split.entry(key).or_default() |= 1 << moves;
            }
        }
        for ((is_sent, rest), patience) in split {
            let values = HawkValues { orders, patience, rest };
            let with_aim = |aim| Self { aim, values, ..self.clone() };
            if !is_sent {
                after.push(with_aim(Aim::Idle { waited, rests }));
            } else if streets.intersections.is_empty() {
                after.push(with_aim(Aim::Idle { waited: 0, rests: false }));
            } else {
                after.extend((0..).zip(&streets.intersections).map(|(place, &post)| {
                    let mut sent = with_aim(Aim::Post(post));
                    sent.posts.push(rank_bit(place));
                    sent
                }));
            }
        }
    }
}

/// Ranks of 127 and above share one bit.
pub(super) fn rank_bit(rank: u16) -> u128 {
    1 << rank.min(127)
}

/// The numbers below `end`, as bits; all 128 bits if `end` is 128 or more.
pub(super) const fn below(end: u8) -> u128 {
    if end < 128 { (1 << end) - 1 } else { u128::MAX }
}

/// The numbers whose bits are set, in ascending order.
pub(super) fn values(bits: u128) -> impl Iterator<Item = u8> {
    (0..128).filter(move |value| bits >> value & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::game::Layout;

    #[test]
    fn waiting_hawks_with_different_forgotten_posts_stay_apart() {
        let streets = Streets::new(&Layout::parse("P#.#.").expect("a drawing")).expect("streets");
        let hypothesis = |patience: u8, rank: u16| HawkHypothesis {
            view: 0,
            aim: Aim::Idle { waited: 0, rests: false },
            posts: vec![rank_bit(rank)],
            values: HawkValues { orders: Orders::ALL, patience: 1 << patience, rest: below(6) },
        };
        let hypotheses = vec![hypothesis(3, 0), hypothesis(4, 1)];
        let hawk = Hawk { hypotheses, counted_posts: usize::MAX };
        let player = [0, 0];
        let waits = Step { tick: 5, player, threats: vec![(1, None)], facing: vec![None] };
        let after = hawk.after(&streets, &waits, 0).expect("an explanation");
        let found: Vec<_> = after.hypotheses.into_iter().map(|one| (one.values.patience, one.posts)).collect();
        assert_eq!(found, [(1 << 3, vec![1]), (1 << 4, vec![2])]);
    }
}
