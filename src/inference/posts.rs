//! The posts of hawks: which values of `hawk_posts` explain them.

use super::hawk::{below, values};
use super::picks::pick;

/// Maximum value of `hawk_posts` to search for.
pub const POSTS_MAX: usize = 100;
const FEW_POSTS_MAX: usize = 20;

/// The rank of the post that each draw picks, for each post count (a value of `hawk_posts`).
pub struct PostDraws {
    /// `counts[draw - 1][rank]`: the post counts with which this draw picks this rank, as bits.
    counts: Vec<[u128; 128]>,
    /// The largest value of `hawk_posts` to search for. If the map has at most [`POSTS_MAX`]
    /// intersections, larger values have the same effect.
    pub most: u16,
}

impl PostDraws {
    /// The first `draws` draws on a map with this number of intersections.
    pub fn new(first_seed: i32, scale: f64, intersections: usize, draws: usize) -> Self {
        let most = intersections.clamp(FEW_POSTS_MAX, POSTS_MAX);
        let counts = |draw: usize| {
            let mut counts = [0; 128];
            for count in 1..=most {
                let rank = pick(first_seed, draw, scale, count.min(intersections));
                counts[rank.min(127)] |= 1 << count;
            }
            counts
        };
        Self { counts: (1..=draws).map(counts).collect(), most: most as u16 }
    }

    /// The set of post counts, as bits, for which a hawk can pick these posts. `counted` is the
    /// number of posts whose draw numbers are known.
    pub fn counts(&self, posts: &[u128], counted: usize) -> u128 {
        let all = below(self.most as u8 + 1) & !1;
        posts.iter().zip(&self.counts).enumerate().fold(all, |counts, (index, (post, sent_to))| {
            if index >= counted {
                return counts & u128::MAX.checked_shl(post.trailing_zeros() + 1).unwrap_or(0);
            }
            counts & values(*post).fold(0, |explained, rank| explained | sent_to[usize::from(rank)])
        })
    }
}

/// The distinguishable values of `hawk_posts` with which this first seed and scale pick these posts.
pub(super) fn post_counts(posts: &[(u16, u16, u16)], first_seed: i32, scale: f64) -> Vec<u16> {
    let most = posts.iter().map(|&(.., places)| places).max().unwrap_or(0).max(FEW_POSTS_MAX as u16);
    let explains = |count: u16| {
        posts.iter().all(|&(draw, place, places)| {
            let len = usize::from(count.min(places));
            pick(first_seed, draw.into(), scale, len) == usize::from(place) && place < count
        })
    };
    (1..=most).filter(|&count| posts.is_empty() || explains(count)).collect()
}
