use crate::game::{Direction, Personalities, Rules, StyleNames, View};
use crate::search::Deadline;

use super::clock::Reports;
use super::hawk::{Hawk, HawkSets};
use super::hawk_explanation::{HawkExplanation, POSTS_MAX, PostDraws, cheapest_explanation, distinguishable_posts};
use super::learner::Learner;
use super::observed_game::ObservedGame;
use super::orders::Orders;
use super::paths::{Deer, Owls};
use super::picks::{PickExplanation, pick};
use super::sets::{Sets, post_counts};

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
        let hawks = self.hawks(deadline)?;
        let hawk_orders = hawks.orders[0].or(hawks.orders[1]);
        let owl_orders = owls.as_ref().map_or(Orders::ALL, Owls::orders);
        let shared = if owl_orders.and(hawk_orders).is_empty() {
            owl_orders.or(hawk_orders)
        } else {
            owl_orders.and(hawk_orders)
        };
        rules.shared_path_order = nearest(shared, expected.shared_path_order);
        if let Some(owls) = owls {
            best_owls(owls, &mut rules, expected);
        }
        let present = hawks.orders[1].contains(rules.shared_path_order);
        let stale = hawks.orders[0].contains(rules.shared_path_order);
        rules.hawk_view = best_view(expected.hawk_view, [stale, present]);
        rules.hawk_patience_moves = nearest_bit(hawks.patience, expected.hawk_patience_moves);
        rules.hawk_rest_moves = nearest_bit(hawks.rest, expected.hawk_rest_moves);
        rules.shark_view = best_view(expected.shark_view, [0, 1].map(|view| !sharks.0[view].is_empty()));
        let view = view_order(rules.shark_view);
        let orders = sharks.0[view];
        let other = sharks.0[1 - view];
        if !orders.contains(expected.shark_path_order) && other.contains(expected.shark_path_order) {
            rules.shark_view = other_view(rules.shark_view);
            rules.shark_path_order = expected.shark_path_order;
        } else {
            rules.shark_path_order = nearest(orders, expected.shark_path_order);
        }
        // The deer narrow down the option order. The picks' seed determines the posts.
        let deer_orders = deer.orders(0).or(deer.orders(1));
        let picks = self.sets.picks.explanations(expected, deer_orders).into_iter().next();
        let posts = self.posts(deadline)?;
        self.best_options(deer, picks, &mut rules);
        self.best_posts(&posts, &mut rules);
        rules = self.adjusted_to_hawks(&rules, owl_orders, deadline)?;
        self.best_wire(&mut rules);
        Some(if rules.validate().is_ok() { rules } else { *expected })
    }

    pub(super) fn hawks(&self, deadline: Deadline) -> Option<HawkSets> {
        let mut of_game = self.games.last().into_iter().flat_map(ObservedGame::hawks);
        of_game.try_fold(self.sets.hawks, |sets, hawk| {
            let both = sets.and(&hawk.sets());
            let sets = if both.patience == 0 || both.rest == 0 { sets } else { both };
            (!deadline.is_past()).then_some(sets)
        })
    }

    pub(super) fn best_clock(&self) -> Rules {
        let of_game = self.games.last().map(|game| game.clock.1);
        of_game.unwrap_or(self.expected)
    }

    fn best_options(&self, deer: &Deer, picks: Option<PickExplanation>, rules: &mut Rules) {
        let expected = &self.expected;
        let deer_orders = [0, 1].map(|view| deer.orders(view));
        let any = deer_orders[0].or(deer_orders[1]);
        match picks {
            Some(PickExplanation { order, first_seed }) => {
                (rules.option_order, rules.first_seed) = (order, first_seed);
            }
            None => {
                let both = any.and(self.sets.picks.orders());
                rules.option_order = nearest(if both.is_empty() { any } else { both }, expected.option_order);
            }
        }
        let views = deer_orders.map(|orders| orders.contains(rules.option_order));
        rules.deer_view = best_view(expected.deer_view, views);
        let index = super::orders::index_of(rules.option_order);
        let ranges = [0, 1].map(|view| deer.0[view][index]);
        let holds = |(low, high): (u32, u32)| (low..=high).contains(&expected.deer_shy_distance_squared);
        let mut view = view_order(rules.deer_view);
        if views[1 - view] && !holds(ranges[view]) && holds(ranges[1 - view]) {
            rules.deer_view = other_view(rules.deer_view);
            view = 1 - view;
        }
        rules.deer_shy_distance_squared = simplest_square(ranges[view], expected.deer_shy_distance_squared);
    }

    fn best_posts(&self, posts: &[(u16, u16, u16)], rules: &mut Rules) {
        let expected = &self.expected;
        let counts = post_counts(posts, rules.first_seed, rules.pick_scale);
        if !counts.is_empty() && !counts.contains(&expected.hawk_posts) {
            let distance = |count: &u16| count.abs_diff(expected.hawk_posts);
            rules.hawk_posts = counts.into_iter().min_by_key(distance).unwrap_or(expected.hawk_posts);
        }
        if let Some(direction) = self.first_direction {
            let place = pick(rules.first_seed, 0, rules.pick_scale, 4);
            let found = rules.spawn_order.iter().position(|&other| other == direction).unwrap_or(place);
            rules.spawn_order.swap(place, found);
        }
    }

    /// Returns `rules` if they explain the moves of every hawk in this game, or if `hawk_posts` is
    /// too large to check. Otherwise, returns rules with other values for hawks and owls. `None` if
    /// the deadline passes first.
    fn adjusted_to_hawks(&self, rules: &Rules, owl_orders: Orders, deadline: Deadline) -> Option<Rules> {
        let Some(game) = self.games.last() else { return Some(*rules) };
        let hawks: Vec<&Hawk> = game.hawks().collect();
        let places = game.streets.intersections.len();
        let draws = PostDraws::new(rules.first_seed, rules.pick_scale, places, &hawks);
        let bit = |value: u16| 1u128.checked_shl(value.into()).unwrap_or(0);
        let current = HawkExplanation {
            view: view_order(rules.hawk_view),
            orders: Orders::of(rules.shared_path_order),
            patience: bit(rules.hawk_patience_moves.into()),
            rest: bit(rules.hawk_rest_moves.into()),
            counts: bit(rules.hawk_posts.min(distinguishable_posts(places) as u16)),
        };
        let is_distinguishable = usize::from(rules.hawk_posts) <= POSTS_MAX || places <= POSTS_MAX;
        let explained = hawks.iter().take_while(|hawk| !deadline.is_past() && hawk.explains(&current, &draws));
        if !is_distinguishable || explained.count() == hawks.len() {
            return Some(*rules);
        }
        let Sets { posts, hawks: sets, .. } = &self.sets;
        let counts = if posts.is_empty() {
            u128::MAX
        } else {
            post_counts(posts, rules.first_seed, rules.pick_scale).into_iter().fold(0, |bits, count| bits | bit(count))
        };
        let within = [0, 1].map(|view| HawkExplanation {
            view,
            orders: sets.orders[view].and(owl_orders),
            patience: sets.patience,
            rest: sets.rest,
            counts,
        });
        let expected = &self.expected;
        let cost = |one: &HawkExplanation| {
            let changes = [
                one.view != view_order(expected.hawk_view),
                !one.orders.contains(rules.shared_path_order),
                one.patience & bit(expected.hawk_patience_moves.into()) == 0,
                one.rest & bit(expected.hawk_rest_moves.into()) == 0,
                one.counts & bit(expected.hawk_posts) == 0,
            ];
            changes.into_iter().filter(|&is_change| is_change).count() as u32
        };
        let best = cheapest_explanation(&hawks, &draws, within, cost, deadline)?;
        let mut adjusted = Rules {
            hawk_view: view_of(best.view),
            shared_path_order: nearest(best.orders, rules.shared_path_order),
            hawk_patience_moves: nearest_bit(best.patience, expected.hawk_patience_moves),
            hawk_rest_moves: nearest_bit(best.rest, expected.hawk_rest_moves),
            hawk_posts: nearest_bit(best.counts, expected.hawk_posts.min(POSTS_MAX as u16) as u8).into(),
            ..*rules
        };
        if let Some(owls) = &self.sets.owls {
            best_owls(owls, &mut adjusted, expected);
        }
        Some(adjusted)
    }

    fn best_wire(&self, rules: &mut Rules) {
        let threats = self.games.last().into_iter().flat_map(|game| &game.threats);
        let has_unknown_words = !self.past_words.is_empty() || { threats }.any(|threat| threat.named.style.is_none());
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

fn view_of(view: usize) -> View {
    if view == 0 { View::Stale } else { View::Present }
}

fn view_order(view: View) -> usize {
    match view {
        View::Stale => 0,
        View::Present => 1,
    }
}

fn other_view(view: View) -> View {
    view_of(1 - view_order(view))
}

fn best_view(expected: View, is_possible: [bool; 2]) -> View {
    if is_possible[view_order(expected)] || !is_possible[1 - view_order(expected)] {
        expected
    } else {
        other_view(expected)
    }
}

fn nearest(orders: Orders, expected: [Direction; 4]) -> [Direction; 4] {
    orders.nearest_to(expected).first().copied().unwrap_or(expected)
}

fn nearest_bit(values: u128, expected: u8) -> u8 {
    let found = (0..=100u8).filter(|value| values >> value & 1 == 1);
    found.min_by_key(|value| value.abs_diff(expected)).unwrap_or(expected)
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
                let changes = [view != view_order(expected.owl_view), other_minute > 0, other_window > 0];
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
