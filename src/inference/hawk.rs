//! Hypotheses about the hawks, narrowed down by their observed steps.

use super::orders::Orders;
use super::paths::orders_of_step;
use super::streets::{Step, Streets};

/// Maximum value of `hawk_patience_moves` and `hawk_rest_moves`.
pub const MOVES_MAX: u8 = 100;
/// Maximum number of hypotheses for a hawk. If there are more, some are dropped.
const HYPOTHESES_MAX: usize = 4_000;
pub(super) const SUCCESSORS_MAX: usize = 4 * HYPOTHESES_MAX;
/// Replaces the rank of a post if the hawk saw the player while the post was its target.
const FORGOTTEN: u16 = u16::MAX;

/// The target of a hawk or, if it has none, the number of moves for which it has waited. `rests` is
/// true if it waits at a post.
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

/// Rules that explain the moves of a hawk, and the hidden state of the hawk under these rules.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct HawkHypothesis {
    /// 0 if the hawk uses the player's stale position, 1 if it uses the present position.
    pub view: usize,
    pub aim: Aim,
    /// Minimum and maximum of the patience, in moves.
    pub patience: (u8, u8),
    pub rest: (u8, u8),
    /// The hawk's known posts: each is a rank among the map's intersections, or [`FORGOTTEN`].
    pub(super) posts: Vec<u16>,
    /// For each forgotten post, its possible ranks, as bits.
    forgotten: Vec<u128>,
    pub orders: Orders,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hawk {
    pub hypotheses: Vec<HawkHypothesis>,
    /// True if hypotheses were dropped because there were too many.
    pub is_truncated: bool,
    /// The number of posts, from the first, whose draw numbers are known; `usize::MAX` if no tick
    /// of the game was missed.
    pub(super) counted_posts: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HawkSets {
    pub orders: [Orders; 2],
    pub patience: u128,
    pub rest: u128,
}

impl HawkSets {
    pub const ANY: Self =
        Self { orders: [Orders::ALL; 2], patience: (1 << (MOVES_MAX + 1)) - 1, rest: (1 << (MOVES_MAX + 1)) - 1 };

    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        Self {
            orders: [0, 1].map(|view| self.orders[view].and(other.orders[view])),
            patience: self.patience & other.patience,
            rest: self.rest & other.rest,
        }
    }
}

impl Hawk {
    pub fn new(sets: &HawkSets, is_spawned: bool) -> Self {
        let aim = if is_spawned { Aim::Idle { waited: 0, rests: false } } else { Aim::Unknown };
        let mut hypotheses = Vec::new();
        for view in 0..2 {
            for patience in ranges(sets.patience) {
                for rest in ranges(sets.rest) {
                    let orders = sets.orders[view];
                    if !orders.is_empty() {
                        hypotheses.push(HawkHypothesis {
                            view,
                            aim,
                            patience,
                            rest,
                            posts: Vec::new(),
                            forgotten: Vec::new(),
                            orders,
                        });
                    }
                }
            }
        }
        Self { hypotheses, is_truncated: false, counted_posts: if is_spawned { usize::MAX } else { 0 } }
    }

    pub fn forget(&mut self) {
        let fewest = self.hypotheses.iter().map(|hypothesis| hypothesis.posts.len()).min().unwrap_or(0);
        self.counted_posts = self.counted_posts.min(fewest);
        self.hypotheses.iter_mut().for_each(|hypothesis| hypothesis.aim = Aim::Unknown);
        self.merge();
    }

    pub fn after(&self, streets: &Streets, step: &Step, threat: usize) -> Option<Self> {
        let mut after = Vec::with_capacity(self.hypotheses.len());
        let mut hypotheses = self.hypotheses.iter();
        while let Some(hypothesis) = hypotheses.next().filter(|_| after.len() <= SUCCESSORS_MAX) {
            hypothesis.advance(streets, step, threat, &mut after);
        }
        if after.is_empty() {
            return None;
        }
        let is_truncated = self.is_truncated || after.len() > SUCCESSORS_MAX;
        let mut after = Self { hypotheses: after, is_truncated, ..*self };
        after.merge();
        if after.hypotheses.len() > HYPOTHESES_MAX {
            after.hypotheses.truncate(HYPOTHESES_MAX);
            after.is_truncated = true;
        }
        Some(after)
    }

    fn merge(&mut self) {
        self.hypotheses.sort_unstable();
        self.hypotheses.dedup_by(|next, kept| {
            let is_same = (next.view, next.aim, next.patience, next.rest)
                == (kept.view, kept.aim, kept.patience, kept.rest)
                && next.posts == kept.posts;
            if is_same {
                kept.forgotten.iter_mut().zip(&next.forgotten).for_each(|(kept, next)| *kept |= next);
                kept.orders = kept.orders.or(next.orders);
            }
            is_same
        });
    }

    pub fn sets(&self) -> HawkSets {
        let none = HawkSets { orders: [Orders::NONE; 2], patience: 0, rest: 0 };
        if self.is_truncated {
            return HawkSets::ANY;
        }
        self.hypotheses.iter().fold(none, |mut sets, hypothesis| {
            sets.orders[hypothesis.view] = sets.orders[hypothesis.view].or(hypothesis.orders);
            sets.patience |= bits(hypothesis.patience);
            sets.rest |= bits(hypothesis.rest);
            sets
        })
    }

    pub fn retain(&mut self, sets: &HawkSets) {
        for hypothesis in &mut self.hypotheses {
            hypothesis.orders = hypothesis.orders.and(sets.orders[hypothesis.view]);
            hypothesis.patience = clip(hypothesis.patience, sets.patience);
            hypothesis.rest = clip(hypothesis.rest, sets.rest);
        }
        let is_open = |range: (u8, u8)| range.0 <= range.1;
        self.hypotheses.retain(|hypothesis| {
            !hypothesis.orders.is_empty() && is_open(hypothesis.patience) && is_open(hypothesis.rest)
        });
    }

    pub fn known_posts(&self) -> Vec<(u16, u16)> {
        let mut hypotheses = self.hypotheses.iter().filter(|_| !self.is_truncated);
        let Some(first) = hypotheses.next() else { return Vec::new() };
        let mut ranks: Vec<u128> = first.ranks().take(self.counted_posts).collect();
        for hypothesis in hypotheses {
            ranks.truncate(hypothesis.posts.len());
            ranks.iter_mut().zip(hypothesis.ranks()).for_each(|(all, one)| *all |= one);
        }
        let known = (1..).zip(ranks).filter(|(_, ranks)| ranks.is_power_of_two() && *ranks < rank_bit(u16::MAX));
        known.map(|(draw, ranks)| (draw, ranks.trailing_zeros() as u16)).collect()
    }
}

impl HawkHypothesis {
    pub(super) fn ranks(&self) -> impl Iterator<Item = u128> {
        let mut forgotten = self.forgotten.iter().copied();
        self.posts.iter().map(move |&post| match post {
            FORGOTTEN => forgotten.next().unwrap_or(u128::MAX),
            rank => rank_bit(rank),
        })
    }

    fn advance(&self, streets: &Streets, step: &Step, threat: usize, after: &mut Vec<Self>) {
        let (tile, direction) = step.threats[threat];
        let player = step.player[self.view];
        let sees = streets.sees(player, tile);
        let aim = if sees { Aim::Seen(player) } else { self.aim };
        if sees && matches!(self.aim, Aim::Post(_)) && self.posts.last() != Some(&FORGOTTEN) {
            let mut forgotten = self.clone();
            if let Some(last) = forgotten.posts.last_mut() {
                forgotten.forgotten.push(rank_bit(*last));
                *last = FORGOTTEN;
            }
            forgotten.advance(streets, step, threat, after);
            return;
        }
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
                let orders = self.orders.and(orders_of_step(streets, target, tile, direction));
                if !orders.is_empty() {
                    after.push(Self { aim, orders, ..self.clone() });
                }
            }
            Aim::Idle { waited, rests } if stays => self.wait(streets, waited.saturating_add(1), rests, after),
            Aim::Idle { .. } => {}
        }
    }

    fn wait(&self, streets: &Streets, waited: u8, rests: bool, after: &mut Vec<Self>) {
        let aim = Aim::Idle { waited, rests };
        for patience in self.patience.0..=self.patience.1 {
            // A hawk gets a post once `waited` exceeds its patience, plus its rest if it `rests`.
            let rest = if rests {
                (self.rest.0.max(waited.saturating_sub(patience)), self.rest.1)
            } else if waited <= patience {
                self.rest
            } else {
                (1, 0)
            };
            if rest.0 <= rest.1 {
                let known = after.last_mut().filter(|last| {
                    last.aim == aim
                        && last.view == self.view
                        && last.rest == rest
                        && last.posts == self.posts
                        && last.forgotten == self.forgotten
                        && last.orders == self.orders
                        && last.patience.1.checked_add(1) == Some(patience)
                });
                match known {
                    Some(last) => last.patience.1 = patience,
                    None => after.push(Self { aim, patience: (patience, patience), rest, ..self.clone() }),
                }
            }
        }
        for patience in self.patience.0..=self.patience.1.min(waited.saturating_sub(1)) {
            let rest = if !rests {
                self.rest
            } else if let Some(most) = (waited - 1).checked_sub(patience) {
                (self.rest.0, self.rest.1.min(most))
            } else {
                (1, 0)
            };
            if rest.0 > rest.1 {
                continue;
            }
            let sent = Self { patience: (patience, patience), rest, ..self.clone() };
            if streets.intersections.is_empty() {
                after.push(Self { aim: Aim::Idle { waited: 0, rests: false }, ..sent });
                continue;
            }
            for (place, &post) in (0..).zip(&streets.intersections) {
                let posts = self.posts.iter().copied().chain([place]).collect();
                after.push(Self { aim: Aim::Post(post), posts, ..sent.clone() });
            }
        }
    }
}

/// Ranks of 127 and above share one bit.
pub(super) fn rank_bit(rank: u16) -> u128 {
    1 << rank.min(127)
}

/// The values from `low` to `high` (inclusive), as bits. `high` must be at most 126.
pub(super) fn bits((low, high): (u8, u8)) -> u128 {
    if low > high { 0 } else { (1 << (high + 1)) - (1 << low) }
}

/// The smallest range that contains all values common to both arguments; an empty range if there
/// are no common values.
fn clip(range: (u8, u8), values: u128) -> (u8, u8) {
    let both = bits(range) & values;
    if both == 0 { (1, 0) } else { (both.trailing_zeros() as u8, 127 - both.leading_zeros() as u8) }
}

fn ranges(values: u128) -> Vec<(u8, u8)> {
    let mut found: Vec<(u8, u8)> = Vec::new();
    for value in (0..=MOVES_MAX).filter(|value| values >> value & 1 == 1) {
        match found.last_mut().filter(|(_, high)| high + 1 == value) {
            Some((_, high)) => *high = value,
            None => found.push((value, value)),
        }
    }
    found
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
            patience: (patience, patience),
            rest: (0, 5),
            posts: vec![FORGOTTEN],
            forgotten: vec![rank_bit(rank)],
            orders: Orders::ALL,
        };
        let hypotheses = vec![hypothesis(3, 0), hypothesis(4, 1)];
        let hawk = Hawk { hypotheses, is_truncated: false, counted_posts: usize::MAX };
        let player = [0, 0];
        let waits = Step { tick: 5, player, threats: vec![(1, None)], facing: vec![None] };
        let after = hawk.after(&streets, &waits, 0).expect("an explanation");
        let found: Vec<_> = after.hypotheses.into_iter().map(|one| (one.patience, one.forgotten)).collect();
        assert_eq!(found, [((3, 3), vec![1]), ((4, 4), vec![2])]);
    }
}
