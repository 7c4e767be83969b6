//! Rules that explain the steps of several hawks. Values of different parameters depend on one
//! another: a patience may be possible only with a certain rest, or only with certain posts. So
//! there can be several [`HawkExplanation`]s. Each holds a set of values per parameter, and all
//! combinations of these values count as possible.

use super::hawk::{Hawk, HawkHypothesis, SUCCESSORS_MAX, bits};
use super::orders::Orders;
use super::picks::pick;
use crate::search::Deadline;

/// The rank of the post that each draw picks, for each post count (a value of `hawk_posts`).
pub struct PostDraws {
    /// `counts[draw - 1][rank]`: the post counts with which this draw picks this rank, as bits.
    counts: Vec<[u128; 128]>,
    all: u128,
}

pub const POSTS_MAX: usize = 100;
pub const FEW_POSTS_MAX: usize = 20;

pub fn distinguishable_posts(intersections: usize) -> usize {
    intersections.clamp(FEW_POSTS_MAX, POSTS_MAX)
}

impl PostDraws {
    pub fn new(first_seed: i32, scale: f64, intersections: usize, hawks: &[&Hawk]) -> Self {
        let lengths = hawks.iter().flat_map(|hawk| hawk.hypotheses.iter().map(|hypothesis| hypothesis.posts.len()));
        let most = distinguishable_posts(intersections);
        let counts = |draw: usize| {
            let mut counts = [0; 128];
            for count in 1..=most {
                let rank = pick(first_seed, draw, scale, count.min(intersections));
                counts[rank.min(127)] |= 1 << count;
            }
            counts
        };
        let counts: Vec<_> = (1..=lengths.max().unwrap_or(0)).map(counts).collect();
        let all = bits((1, if counts.is_empty() { POSTS_MAX } else { most } as u8));
        Self { counts, all }
    }

    /// The post counts in `within`, as bits, with which a hawk can get these posts.
    fn counts(&self, posts: impl Iterator<Item = u128>, counted: usize, within: u128) -> u128 {
        posts.zip(&self.counts).enumerate().fold(self.all & within, |counts, (index, (post, sent_to))| {
            if index >= counted {
                return counts & u128::MAX.checked_shl(post.trailing_zeros() + 1).unwrap_or(0);
            }
            let mut ranks = post;
            let mut explained = 0;
            while ranks != 0 && counts != 0 {
                explained |= sent_to[ranks.trailing_zeros() as usize];
                ranks &= ranks - 1;
            }
            counts & explained
        })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct HawkExplanation {
    pub view: usize,
    pub orders: Orders,
    pub patience: u128,
    pub rest: u128,
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

const EXPLANATIONS_MAX: usize = 256;

/// Narrows down `within` by the moves of each hawk in turn, and returns the cheapest explanation
/// that is left. Skips a hawk that contradicts all explanations left by the hawks before it. `None`
/// if the deadline passes first.
pub fn cheapest_explanation(
    hawks: &[&Hawk],
    draws: &PostDraws,
    within: [HawkExplanation; 2],
    cost: impl Fn(&HawkExplanation) -> u32,
    deadline: Deadline,
) -> Option<HawkExplanation> {
    let mut found = within.to_vec();
    for hawk in hawks {
        let explanations = hawk.explanations(draws);
        let mut both = Vec::new();
        for one in &found {
            if deadline.is_past() {
                return None;
            }
            both.extend(explanations.iter().filter_map(|other| one.and(other)));
            if both.len() > SUCCESSORS_MAX {
                keep_cheapest(&mut both, &cost);
            }
        }
        if !both.is_empty() {
            keep_cheapest(&mut both, &cost);
            found = both;
        }
    }
    found.into_iter().min_by_key(cost)
}

fn keep_cheapest(found: &mut Vec<HawkExplanation>, cost: impl Fn(&HawkExplanation) -> u32) {
    found.sort_unstable();
    found.dedup();
    found.sort_by_cached_key(cost);
    found.truncate(EXPLANATIONS_MAX);
}

impl Hawk {
    pub fn explains(&self, values: &HawkExplanation, draws: &PostDraws) -> bool {
        let explains = |hypothesis: &HawkHypothesis| {
            hypothesis.view == values.view
                && hypothesis.explanation(draws, self.counted_posts, values.counts).and(values).is_some()
        };
        self.hypotheses.iter().any(explains)
    }

    fn explanations(&self, draws: &PostDraws) -> Vec<HawkExplanation> {
        let explanation = |hypothesis: &HawkHypothesis| hypothesis.explanation(draws, self.counted_posts, u128::MAX);
        let mut found: Vec<HawkExplanation> =
            self.hypotheses.iter().map(explanation).filter(HawkExplanation::is_possible).collect();
        found.sort_unstable();
        found.dedup();
        found
    }
}

impl HawkHypothesis {
    fn explanation(&self, draws: &PostDraws, counted_posts: usize, counts: u128) -> HawkExplanation {
        HawkExplanation {
            view: self.view,
            orders: self.orders,
            patience: bits(self.patience),
            rest: bits(self.rest),
            counts: draws.counts(self.ranks(), counted_posts, counts),
        }
    }
}
