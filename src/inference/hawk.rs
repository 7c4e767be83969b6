//! Hawks: which view, order, patience and rest explain their steps, and where they were sent.
//!
//! The values of one hypothesis belong together: a patience may be possible with one rest, or with
//! certain posts, only. A [`HawkExplanation`] has values that go together.

use super::orders::Orders;
use super::paths::orders_of_step;
use super::picks::pick;
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
    /// The posts it was sent to, as ranks among the intersections, or [`FORGOTTEN`].
    posts: Vec<u16>,
    /// For each post that was forgotten: the ranks that it may have had, as bits. These are kept
    /// together so that hypotheses do not multiply.
    forgotten: Vec<u128>,
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
    /// The number of its first posts of which the draw is known: all, unless ticks were missed.
    counted_posts: usize,
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

    /// Forgets what the hawk was doing, after missed ticks.
    pub fn forget(&mut self) {
        let fewest = self.hypotheses.iter().map(|hypothesis| hypothesis.posts.len()).min().unwrap_or(0);
        self.counted_posts = self.counted_posts.min(fewest);
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
        let mut after = Self { hypotheses: after, ..*self };
        after.merge();
        if after.hypotheses.len() > HYPOTHESES_MAX {
            after.hypotheses.truncate(HYPOTHESES_MAX);
            after.is_truncated = true;
        }
        Some(after)
    }

    /// Merges hypotheses that differ only in the orders or in posts that no longer matter.
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

    /// Whether some hypothesis about this hawk has these values.
    pub fn explains(&self, values: &HawkExplanation, draws: &PostDraws) -> bool {
        let explains = |hypothesis: &HawkHypothesis| {
            hypothesis.view == values.view
                && hypothesis.explanation(draws, self.counted_posts, values.counts).and(values).is_some()
        };
        self.hypotheses.iter().any(explains)
    }

    /// What explains this hawk, given where the draws send it on a map.
    fn explanations(&self, draws: &PostDraws) -> Vec<HawkExplanation> {
        let explanation = |hypothesis: &HawkHypothesis| hypothesis.explanation(draws, self.counted_posts, u128::MAX);
        let mut found: Vec<HawkExplanation> =
            self.hypotheses.iter().map(explanation).filter(HawkExplanation::is_possible).collect();
        found.sort_unstable();
        found.dedup();
        found
    }
}

/// Where draws would send a hawk on a map, for every number of posts.
pub struct PostDraws {
    /// By draw from 1, then by number of posts from 1: the rank of the intersection.
    ranks: Vec<Vec<u16>>,
}

/// The most posts that are told apart on any map, and on a map with few intersections.
pub const POSTS_MAX: usize = 100;
pub const FEW_POSTS_MAX: usize = 20;

/// The most posts that are told apart on a map with these many intersections.
pub fn posts_told_apart(intersections: usize) -> usize {
    intersections.clamp(FEW_POSTS_MAX, POSTS_MAX)
}

impl PostDraws {
    /// The draws from a first seed and with a scale, for hawks on a map with these many
    /// intersections.
    pub fn new(first_seed: i32, scale: f64, intersections: usize, hawks: &[&Hawk]) -> Self {
        let lengths = hawks.iter().flat_map(|hawk| hawk.hypotheses.iter().map(|hypothesis| hypothesis.posts.len()));
        let most = posts_told_apart(intersections);
        let rank = |draw: usize, count: usize| pick(first_seed, draw, scale, count.min(intersections)) as u16;
        let ranks = (1..=lengths.max().unwrap_or(0)).map(|draw| (1..=most).map(|count| rank(draw, count)).collect());
        Self { ranks: ranks.collect() }
    }

    /// The numbers of posts in a set of bits under which a hawk is sent to posts with these ranks,
    /// as bits.
    fn counts(&self, posts: &[u128], counted: usize, within: u128) -> u128 {
        let most = self.ranks.first().map_or(POSTS_MAX, Vec::len);
        let explains = |count: usize| {
            let mut posts = posts.iter().zip(&self.ranks).enumerate();
            posts.all(|(index, (post, ranks))| {
                let sent_to = if index < counted { rank_bit(ranks[count - 1]) } else { (1 << count) - 1 };
                post & sent_to != 0
            })
        };
        (1..=most).filter(|&count| within >> count & 1 == 1 && explains(count)).fold(0, |bits, count| bits | 1 << count)
    }
}

/// Parameters of hawks that go together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct HawkExplanation {
    /// 0 if hawks look for the player's stale position, 1 for the present one.
    pub view: usize,
    /// The orders of the shared path.
    pub orders: Orders,
    /// Values of the patience, as bits.
    pub patience: u128,
    /// Values of the rest, as bits.
    pub rest: u128,
    /// Numbers of posts, as bits.
    pub counts: u128,
}

impl HawkExplanation {
    fn is_possible(&self) -> bool {
        !self.orders.is_empty() && self.patience != 0 && self.rest != 0 && self.counts != 0
    }

    fn and(&self, other: &Self) -> Option<Self> {
        let both = Self {
            view: self.view,
            orders: self.orders.and(other.orders),
            patience: self.patience & other.patience,
            rest: self.rest & other.rest,
            counts: self.counts & other.counts,
        };
        (self.view == other.view && both.is_possible()).then_some(both)
    }
}

/// Maximum number of explanations that are followed from one hawk to the next.
const EXPLANATIONS_MAX: usize = 256;

/// The explanations of all hawks that are within some of these, those of the lowest cost first.
/// Hawks that contradict all others are ignored.
pub fn explanations_of_all(
    hawks: &[&Hawk],
    draws: &PostDraws,
    within: Vec<HawkExplanation>,
    cost: impl Fn(&HawkExplanation) -> u32,
) -> Vec<HawkExplanation> {
    let mut found = within;
    for explanations in hawks.iter().map(|hawk| hawk.explanations(draws)) {
        let both = found.iter().flat_map(|one| explanations.iter().filter_map(|other| one.and(other)));
        let mut both: Vec<HawkExplanation> = both.collect();
        if both.is_empty() {
            continue;
        }
        both.sort_unstable();
        both.dedup();
        both.sort_by_cached_key(&cost);
        both.truncate(EXPLANATIONS_MAX);
        found = both;
    }
    found.sort_by_cached_key(&cost);
    found
}

impl HawkHypothesis {
    /// By post: the ranks that it may have had, as bits.
    fn ranks(&self) -> impl Iterator<Item = u128> {
        let mut forgotten = self.forgotten.iter().copied();
        self.posts.iter().map(move |&post| match post {
            FORGOTTEN => forgotten.next().unwrap_or(u128::MAX),
            rank => rank_bit(rank),
        })
    }

    /// The values that go together, with numbers of posts from a set of bits.
    fn explanation(&self, draws: &PostDraws, counted_posts: usize, counts: u128) -> HawkExplanation {
        let ranks: Vec<u128> = self.ranks().collect();
        HawkExplanation {
            view: self.view,
            orders: self.orders,
            patience: bits(self.patience),
            rest: bits(self.rest),
            counts: draws.counts(&ranks, counted_posts, counts),
        }
    }

    /// Adds the successors of this hypothesis, if it explains the step.
    fn advance(&self, streets: &Streets, step: &Step, threat: usize, after: &mut Vec<Self>) {
        let (tile, direction) = step.threats[threat];
        let player = step.player.of(self.view);
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

    /// Adds the successors of one more idle move: the hawk keeps waiting, or is sent to any
    /// intersection.
    fn wait(&self, streets: &Streets, waited: u8, rests: bool, after: &mut Vec<Self>) {
        let aim = Aim::Idle { waited, rests };
        for patience in self.patience.0..=self.patience.1 {
            // It waits while the count, which starts at minus the rest, is at most the patience.
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

/// A rank among the intersections as a bit; the highest ones share one.
fn rank_bit(rank: u16) -> u128 {
    1 << rank.min(127)
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
