//! Hawks: which view, order, patience and rest explain their steps, and where they were sent.

use super::orders::Orders;
use super::paths::orders_of_step;
use super::streets::{Step, Streets};

/// The largest patience and rest.
pub const MOVES_MAX: u8 = 100;
/// Maximum number of hypotheses about a hawk; beyond it, nothing is claimed about hawks.
const HYPOTHESES_MAX: usize = 4_000;
/// Marks a post that became unknown when the hawk saw the player on its way there.
const FORGOTTEN: u16 = u16::MAX;

/// Where a hawk is heading.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Aim {
    /// Unknown.
    Unknown,
    /// A tile where it saw the player.
    Seen(u16),
    /// An intersection.
    Post(u16),
    /// Nowhere: it waits.
    Idle {
        /// Moves that it has waited.
        waited: u8,
        /// Whether it rests at a post.
        rests: bool,
    },
}

/// Rules under which a hawk would have done what it did, and its hidden state then.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct HawkHypothesis {
    /// 0 if it looks for the player's stale position, 1 for the present one.
    pub view: usize,
    /// What it walks to.
    pub aim: Aim,
    /// Its patience, least and most, in moves.
    pub patience: (u8, u8),
    /// Its rest, least and most, in moves.
    pub rest: (u8, u8),
    /// The posts it was sent to, as ranks among the intersections.
    pub posts: Vec<u16>,
    /// The orders of the shared path.
    pub orders: Orders,
}

/// The hypotheses about one hawk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hawk {
    /// The hypotheses.
    pub hypotheses: Vec<HawkHypothesis>,
    /// Whether some have been dropped because there were too many.
    pub is_truncated: bool,
}

/// The parameters of hawks under some explanation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HawkSets {
    /// By view: the orders.
    pub orders: [Orders; 2],
    /// Values of the patience, as bits.
    pub patience: u128,
    /// Values of the rest, as bits.
    pub rest: u128,
}

impl HawkSets {
    /// The sets before any observation: everything is possible.
    pub const ANY: Self =
        Self { orders: [Orders::ALL; 2], patience: (1 << (MOVES_MAX + 1)) - 1, rest: (1 << (MOVES_MAX + 1)) - 1 };

    /// The values in both.
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
    /// Every hypothesis within the sets about a hawk that has just spawned, or about an unknown
    /// one.
    pub fn new(sets: &HawkSets, is_spawned: bool) -> Self {
        let aim = if is_spawned { Aim::Idle { waited: 0, rests: false } } else { Aim::Unknown };
        let mut hypotheses = Vec::new();
        for view in 0..2 {
            for patience in ranges(sets.patience) {
                for rest in ranges(sets.rest) {
                    let orders = sets.orders[view];
                    if !orders.is_empty() {
                        hypotheses.push(HawkHypothesis { view, aim, patience, rest, posts: Vec::new(), orders });
                    }
                }
            }
        }
        Self { hypotheses, is_truncated: false }
    }

    /// Forgets what the hawk was doing, after missed ticks.
    pub fn forget(&mut self) {
        self.hypotheses.iter_mut().for_each(|hypothesis| hypothesis.aim = Aim::Unknown);
        self.merge();
    }

    /// The hypotheses that also explain the next step; `None` if there are none.
    pub fn after(&self, streets: &Streets, step: &Step, threat: usize) -> Option<Self> {
        let mut after = Vec::with_capacity(self.hypotheses.len());
        for hypothesis in &self.hypotheses {
            hypothesis.advance(streets, step, threat, &mut after);
        }
        if after.is_empty() {
            return None;
        }
        let mut after = Self { hypotheses: after, is_truncated: self.is_truncated };
        after.merge();
        if after.hypotheses.len() > HYPOTHESES_MAX {
            after.hypotheses.truncate(HYPOTHESES_MAX);
            after.is_truncated = true;
        }
        Some(after)
    }

    /// Merges hypotheses that differ only in the orders or in adjacent ranges.
    fn merge(&mut self) {
        self.hypotheses.sort_unstable();
        self.hypotheses.dedup_by(|next, kept| {
            let is_same = (next.view, next.aim, next.patience, next.rest)
                == (kept.view, kept.aim, kept.patience, kept.rest)
                && next.posts == kept.posts;
            if is_same {
                kept.orders = kept.orders.or(next.orders);
            }
            is_same
        });
    }

    /// The values under any hypothesis.
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

    /// Drops the hypotheses outside the sets.
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

    /// The posts that all hypotheses agree on: the draw that picked each, and its rank.
    pub fn known_posts(&self) -> Vec<(u16, u16)> {
        let Some((first, others)) = self.hypotheses.split_first().filter(|_| !self.is_truncated) else {
            return Vec::new();
        };
        let is_agreed = |&(index, post): &(usize, &u16)| {
            *post != FORGOTTEN && others.iter().all(|hypothesis| hypothesis.posts.get(index) == Some(post))
        };
        first.posts.iter().enumerate().filter(is_agreed).map(|(index, &post)| (index as u16 + 1, post)).collect()
    }
}

impl HawkHypothesis {
    /// Adds the successors of this hypothesis, if it explains the step.
    fn advance(&self, streets: &Streets, step: &Step, threat: usize, after: &mut Vec<Self>) {
        let (tile, direction) = step.threats[threat];
        let player = step.player.of(self.view);
        let sees = streets.sees(player, tile);
        let aim = if sees { Aim::Seen(player) } else { self.aim };
        if sees && matches!(self.aim, Aim::Post(_)) && self.posts.last() != Some(&FORGOTTEN) {
            let mut forgotten = self.clone();
            if let Some(last) = forgotten.posts.last_mut() {
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

    /// Adds the successors of one more idle move: the hawk keeps waiting, or is sent to any
    /// intersection.
    fn wait(&self, streets: &Streets, waited: u8, rests: bool, after: &mut Vec<Self>) {
        let aim = Aim::Idle { waited, rests };
        for patience in self.patience.0..=self.patience.1 {
            // It waits while the count, which starts at minus the rest, is at most the patience.
            let rest = match rests {
                true => (self.rest.0.max(waited.saturating_sub(patience)), self.rest.1),
                false if waited <= patience => self.rest,
                false => (1, 0),
            };
            if rest.0 <= rest.1 {
                let known = after.last_mut().filter(|last| {
                    last.aim == aim
                        && last.view == self.view
                        && last.rest == rest
                        && last.posts == self.posts
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
            let rest = match rests {
                true => match (waited - 1).checked_sub(patience) {
                    Some(most) => (self.rest.0, self.rest.1.min(most)),
                    None => (1, 0),
                },
                false => self.rest,
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

/// A range as bits.
fn bits((low, high): (u8, u8)) -> u128 {
    (low..=high).fold(0, |bits, value| bits | 1 << value)
}

/// The smallest range that holds every value of both; empty if there is none.
fn clip(range: (u8, u8), values: u128) -> (u8, u8) {
    let both = bits(range) & values;
    if both == 0 { (1, 0) } else { (both.trailing_zeros() as u8, 127 - both.leading_zeros() as u8) }
}

/// The runs of values.
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
