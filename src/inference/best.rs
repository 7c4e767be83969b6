use crate::game::{Direction, Personalities, Rules, StyleNames, View};
use crate::search::Deadline;

use super::clock::Reports;
use super::hawk::{HawkHypothesis, HawkSets, HawkValues, values};
use super::learner::Learner;
use super::observed_game::ObservedGame;
use super::orders::Orders;
use super::paths::{Deer, Owls};
use super::picks::{PickExplanation, pick};
use super::posts::{POSTS_MAX, PostDraws, post_counts};
use super::sets::Sets;

impl Learner {
    /// Returns the best explanation of the games so far: rules with few changes to the expected
    /// rules. They may not explain every move.
    pub fn best(&self) -> Rules {
        self.best_until(Deadline::NEVER).expect("time without end")
    }

    pub(crate) fn best_until(&self, deadline: Deadline) -> Option<Rules> {
        let expected = &self.expected;
        let mut rules = self.best_clock();
        let Sets { sharks, deer, owls, .. } = &self.sets;
        let orders = sharks.0.map(|orders| orders.contains(expected.shark_path_order));
        rules.shark_view = best_view(expected.shark_view, sharks.0.map(|orders| !orders.is_empty()), orders);
        rules.shark_path_order = nearest(sharks.0[rules.shark_view as usize], expected.shark_path_order);
        self.best_options(deer, &mut rules);
        self.best_first_direction(&mut rules);
        self.best_hawks(&mut rules, deadline)?;
        if let Some(owls) = owls {
            best_owls(owls, &mut rules, expected);
        }
        self.best_wire(&mut rules);
        Some(if rules.validate().is_ok() { rules } else { *expected })
    }

    /// The values that explain the moves of all hawks. Ignores a hawk that contradicts the hawks before
    /// it.
    pub(super) fn hawks(&self) -> HawkSets {
        OpenHawks::new(self.games.last(), self.sets.hawks).sets
    }

    pub(super) fn best_clock(&self) -> Rules {
        let of_game = self.games.last().map(|game| game.clock.1);
        of_game.unwrap_or(self.expected)
    }

    fn best_options(&self, deer: &Deer, rules: &mut Rules) {
        let expected = &self.expected;
        let deer_orders = [0, 1].map(|view| deer.orders(view));
        let any = deer_orders[0].or(deer_orders[1]);
        match self.pick_explanations().into_iter().next() {
            Some(PickExplanation { order, first_seed }) => {
                (rules.option_order, rules.first_seed) = (order, first_seed);
            }
            None => {
                let both = any.and(self.sets.picks.orders());
                rules.option_order = nearest(if both.is_empty() { any } else { both }, expected.option_order);
            }
        }
        let views = deer_orders.map(|orders| orders.contains(rules.option_order));
        let index = super::orders::index_of(rules.option_order);
        let ranges = [0, 1].map(|view| deer.0[view][index]);
        let holds = |(low, high): (u32, u32)| (low..=high).contains(&expected.deer_shy_distance_squared);
        rules.deer_view = best_view(expected.deer_view, views, ranges.map(holds));
        rules.deer_shy_distance_squared =
            simplest_square(ranges[rules.deer_view as usize], expected.deer_shy_distance_squared);
    }

    /// Chooses the shared path order and the values about hawks one after the other. Of the
    /// values that agree with the earlier choices, chooses the one nearest to the expected value:
    /// for example, a patience may be possible only with certain rests or posts. `None` if the
    /// deadline passes first.
    fn best_hawks(&self, rules: &mut Rules, deadline: Deadline) -> Option<()> {
        let expected = &self.expected;
        let in_time = || (!deadline.is_past()).then_some(());
        let mut open = OpenHawks::new(self.games.last(), self.sets.hawks);
        in_time()?;
        let of_owls = self.sets.owls.as_ref().map_or(Orders::ALL, Owls::orders);
        let of_hawks = open.sets.of_any_view().orders;
        let both = of_owls.and(of_hawks);
        let orders = if both.is_empty() { of_owls.or(of_hawks) } else { both };
        rules.shared_path_order = nearest(orders, expected.shared_path_order);
        let orders = Orders::of(rules.shared_path_order);
        open.narrow(|_, values| HawkValues { orders, ..values });
        let views = open.sets.0.map(|values| values.is_possible());
        rules.hawk_view = best_view(expected.hawk_view, views, views);
        let chosen = rules.hawk_view as usize;
        open.narrow(|view, values| if view == chosen { values } else { HawkValues::NONE });
        in_time()?;
        rules.hawk_posts = open.narrow_posts(rules, &self.sets.posts);
        in_time()?;
        rules.hawk_patience_moves = nearest_value(open.sets.of_any_view().patience, expected.hawk_patience_moves);
        open.narrow(|_, values| HawkValues { patience: 1 << rules.hawk_patience_moves, ..values });
        rules.hawk_rest_moves = nearest_value(open.sets.of_any_view().rest, expected.hawk_rest_moves);
        Some(())
    }

    fn best_first_direction(&self, rules: &mut Rules) {
        let Some(direction) = self.first_direction else { return };
        let place = pick(rules.first_seed, 0, rules.pick_scale, 4);
        let found = rules.spawn_order.iter().position(|&other| other == direction).unwrap_or(place);
        rules.spawn_order.swap(place, found);
    }

    fn best_wire(&self, rules: &mut Rules) {
        let threats = self.games.last().into_iter().flat_map(|game| &game.threats);
        let has_unknown_words = !self.possible.is_empty() || { threats }.any(|threat| threat.named.style.is_none());
        rules.wire = self.expected.wire;
        if has_unknown_words {
            rules.wire.style_names = StyleNames::Unknown;
        }
        if let Some(game) = self.games.last() {
            if !game.reports_personalities {
                rules.wire.personalities = Personalities::Missing;
            } else if game.filter.reports == Reports::Ignored && game.filter.explains() {
                rules.wire.personalities = Personalities::Mismatched;
            }
        }
    }
}

/// The hypotheses about the hawks of a game that agree with the values chosen so far.
struct OpenHawks<'a> {
    intersections: usize,
    /// For each hawk, the number of its counted posts, and its hypotheses.
    hawks: Vec<(usize, Vec<&'a HawkHypothesis>)>,
    /// The values that are left.
    sets: HawkSets,
}

impl<'a> OpenHawks<'a> {
    fn new(game: Option<&'a ObservedGame>, sets: HawkSets) -> Self {
        let intersections = game.map_or(0, |game| game.streets.intersections.len());
        let hawks = game.into_iter().flat_map(ObservedGame::hawks);
        let hawks = hawks.map(|hawk| (hawk.counted_posts, hawk.hypotheses.iter().collect())).collect();
        let mut open = Self { intersections, hawks, sets };
        open.narrow(|_, values| values);
        open
    }

    /// Narrows down the values to `chosen` of each view, unless none are then left.
    fn narrow(&mut self, chosen: impl Fn(usize, HawkValues) -> HawkValues) {
        let sets = HawkSets([0, 1].map(|view| self.sets.0[view].and(&chosen(view, self.sets.0[view]))));
        if sets.is_possible() {
            self.sets = sets;
        }
        for (_, hypotheses) in &mut self.hawks {
            let sets = self.sets;
            // A hawk that contradicts the hawks before it does not change the sets.
            if keep(hypotheses, |one| sets.0[one.view].and(&one.values).is_possible()) {
                self.sets = sets.and(&HawkSets::of(hypotheses.iter().copied()));
            }
        }
    }

    /// Returns the best value of `hawk_posts`, and keeps the hypotheses that agree with it. `posts` are
    /// the known posts of earlier games.
    fn narrow_posts(&mut self, rules: &Rules, posts: &[(u16, u16, u16)]) -> u16 {
        let draws = self.hawks.iter().flat_map(|(_, hypotheses)| hypotheses).map(|one| one.posts.len()).max();
        let draws = PostDraws::new(rules.first_seed, rules.pick_scale, self.intersections, draws.unwrap_or(0));
        if usize::from(rules.hawk_posts.min(self.intersections as u16)) > POSTS_MAX {
            return rules.hawk_posts;
        }
        let of_earlier =
            post_counts(posts, rules.first_seed, rules.pick_scale).into_iter().filter(|_| !posts.is_empty());
        let bit = |count: u16| 1u128.checked_shl(count.into()).unwrap_or(0);
        let of_earlier = of_earlier.map(bit).reduce(|all, one| all | one).unwrap_or(u128::MAX);
        let counts = self.hawks.iter().fold(of_earlier, |counts, (counted, hypotheses)| {
            let of_hawk = hypotheses.iter().fold(0, |all, one| all | draws.counts(&one.posts, *counted));
            if counts & of_hawk == 0 { counts } else { counts & of_hawk }
        });
        let expected = rules.hawk_posts.min(draws.most);
        let best = u16::from(nearest_value(counts, expected as u8));
        for (counted, hypotheses) in &mut self.hawks {
            keep(hypotheses, |one| draws.counts(&one.posts, *counted) >> best & 1 == 1);
        }
        if best == expected { rules.hawk_posts } else { best }
    }
}

/// Keeps the hypotheses that `is_kept` accepts. If it accepts none, keeps all and returns false.
pub(super) fn keep<T: Copy>(hypotheses: &mut Vec<T>, is_kept: impl Fn(&T) -> bool) -> bool {
    let kept: Vec<T> = hypotheses.iter().copied().filter(is_kept).collect();
    let is_any = !kept.is_empty();
    if is_any {
        *hypotheses = kept;
    }
    is_any
}

fn view_of(view: usize) -> View {
    if view == 0 { View::Stale } else { View::Present }
}

/// The expected view if it is possible, unless only the other one agrees with the expected value of
/// another parameter.
fn best_view(expected: View, is_possible: [bool; 2], agrees: [bool; 2]) -> View {
    let (this, other) = (expected as usize, 1 - expected as usize);
    let is_other_better = !is_possible[this] || (agrees[other] && !agrees[this]);
    if is_possible[other] && is_other_better { view_of(other) } else { expected }
}

fn nearest(orders: Orders, expected: [Direction; 4]) -> [Direction; 4] {
    orders.nearest_to(expected).first().copied().unwrap_or(expected)
}

fn nearest_value(bits: u128, expected: u8) -> u8 {
    values(bits).min_by_key(|value| value.abs_diff(expected)).unwrap_or(expected)
}

/// Returns `expected` if it is in the range or if the range is empty. Otherwise, returns the lowest
/// square in the range, or `low` if the range contains no square.
fn simplest_square((low, high): (u32, u32), expected: u32) -> u32 {
    if low > high || (low..=high).contains(&expected) {
        return expected;
    }
    let root = low.isqrt() + u32::from(low.isqrt().pow(2) < low);
    root.checked_mul(root).filter(|&square| square <= high).unwrap_or(low)
}

/// Sets the owls' view, minute and window to values that explain the owls' moves with the shared
/// path order of `rules`: those with the fewest, then the smallest changes to `expected`.
fn best_owls(owls: &Owls, rules: &mut Rules, expected: &Rules) {
    let mut best = None;
    for (view, minutes) in owls.minutes.iter().enumerate() {
        for (minute, windows) in (1_u16..).zip(minutes) {
            for range in windows.iter().filter(|range| range.orders.contains(rules.shared_path_order)) {
                let window = expected.owl_window_ticks.clamp(range.from, range.to);
                let (other_minute, other_window) =
                    (minute.abs_diff(expected.owl_minute_ticks), window.abs_diff(expected.owl_window_ticks));
                let changes = [view != expected.owl_view as usize, other_minute > 0, other_window > 0];
                let changes = changes.into_iter().filter(|&is_change| is_change).count();
                let choice = (changes, u32::from(other_minute) + u32::from(other_window), (view, minute, window));
                best = best.into_iter().chain([choice]).min();
            }
        }
    }
    if let Some((.., (view, minute, window))) = best {
        (rules.owl_view, rules.owl_minute_ticks, rules.owl_window_ticks) = (view_of(view), minute, window);
    }
}
