//! Other explanations than the best: other rules for one style, and early phases.

use super::best::{best_owls, bits_nearest_to, other_view, owl_choices, view_of, view_order};
use super::learner::Learner;
use super::observed_game::ObservedGame;
use super::orders::{Orders, index_of};
use super::paths::Owls;
use super::picks::PickExplanation;
use super::variants::{period_mut, phase_clock, phase_clock_mut};
use crate::game::{Personality, Rules, Style};
use crate::search::Deadline;

/// A phase that began unnoticed is assumed to have begun at most this many ticks before the tick of
/// the last message.
const EARLY_PHASE_TICKS: u16 = 8;
const EARLY_PERIOD_MAX: u8 = 7;

impl Learner {
    /// Returns at most `count` other sets of rules that may explain the game. Each differs from
    /// `best` only in the values for one style, for the picks, or for owls and the shared path.
    pub fn alternatives(&self, best: &Rules, count: usize) -> Vec<Rules> {
        self.alternatives_until(best, count, Deadline::NEVER)
    }

    pub(crate) fn alternatives_until(&self, best: &Rules, count: usize, deadline: Deadline) -> Vec<Rules> {
        let breadth = count / 2;
        let mut found: Vec<Rules> = Vec::new();
        let mut add = |rules: Rules| {
            if rules != *best && rules.validate().is_ok() && !found.contains(&rules) {
                found.push(rules);
            }
        };
        let has = |style| self.games.last().is_some_and(|game| game.has(style));
        if has(Style::Shark) {
            for view in 0..2 {
                for order in self.sets.sharks.0[view].nearest_to(best.shark_path_order).into_iter().take(breadth) {
                    add(Rules { shark_view: view_of(view), shark_path_order: order, ..*best });
                }
            }
        }
        if has(Style::Deer) {
            let deer = &self.sets.deer;
            for view in 0..2 {
                for order in deer.orders(view).nearest_to(best.option_order).into_iter().take(breadth.max(2) - 1) {
                    let (low, high) = deer.0[view][index_of(order)];
                    let near = best.deer_shy_distance_squared.clamp(low, high);
                    for distance in [near, low, high.min(low.saturating_add(200))] {
                        let is_picked = order == best.option_order || self.sets.picks.count() == 0;
                        if is_picked {
                            add(Rules {
                                deer_view: view_of(view),
                                option_order: order,
                                deer_shy_distance_squared: distance,
                                ..*best
                            });
                        }
                    }
                }
            }
        }
        if has(Style::Goldfish) || has(Style::Bull) {
            let deer_orders = self.sets.deer.orders(view_order(best.deer_view));
            let explanations = self.sets.picks.explanations(&self.expected, deer_orders);
            for PickExplanation { order, first_seed } in explanations.into_iter().take(breadth + 1) {
                add(Rules { option_order: order, first_seed, ..*best });
            }
        }
        if has(Style::Owl) || has(Style::Hawk) {
            let owl_orders = self.sets.owls.as_ref().map_or(Orders::ALL, Owls::orders);
            let hawk_orders = self.sets.hawks.orders[view_order(best.hawk_view)];
            for order in owl_orders.and(hawk_orders).nearest_to(best.shared_path_order).into_iter().take(breadth) {
                let mut rules = Rules { shared_path_order: order, ..*best };
                if deadline.is_past() {
                    break;
                }
                if let Some(owls) = &self.sets.owls {
                    best_owls(owls, &mut rules, best);
                }
                add(rules);
            }
        }
        if let Some(owls) = self.sets.owls.as_ref().filter(|_| has(Style::Owl)) {
            for (view, minute, window) in owl_choices(owls, best).into_iter().take(breadth + 1) {
                add(Rules { owl_view: view_of(view), owl_minute_ticks: minute, owl_window_ticks: window, ..*best });
            }
        }
        if has(Style::Hawk) {
            add(Rules { hawk_view: other_view(best.hawk_view), ..*best });
            let hawks = self.hawks(deadline).unwrap_or(self.sets.hawks);
            for moves in bits_nearest_to(hawks.patience, best.hawk_patience_moves).take(breadth) {
                add(Rules { hawk_patience_moves: moves, ..*best });
            }
            for moves in bits_nearest_to(hawks.rest, best.hawk_rest_moves).take(breadth) {
                add(Rules { hawk_rest_moves: moves, ..*best });
            }
        }
        found.truncate(count);
        found
    }

    /// Returns variants of `best` in which the phase after that of `tick - 1` begins in `tick` (the
    /// tick of the last message) or shortly before it. Moves in earlier ticks may contradict a
    /// variant.
    pub fn early_phases(&self, best: &Rules, tick: u16) -> Vec<Rules> {
        let clock = tick.saturating_sub(1);
        let Some(next) = phase_after(best, tick) else { return Vec::new() };
        // Reported personalities would have shown a phase that began before `tick`.
        let reports = self.games.last().is_some_and(ObservedGame::trusts_reports);
        let earliest = if reports { clock } else { clock.saturating_sub(EARLY_PHASE_TICKS) };
        let expected = best.period_ticks.of(next);
        let periods = std::iter::once(expected).chain((1..=EARLY_PERIOD_MAX).filter(|&period| period != expected));
        let mut found = Vec::new();
        for period_ticks in periods {
            for begun in (earliest.max(1)..=clock).rev().map(|clock| clock - 1) {
                let mut rules = *best;
                *phase_clock_mut(&mut rules.phase_clocks, next) = begun;
                *period_mut(&mut rules.period_ticks, next) = period_ticks;
                if rules != *best && rules.validate().is_ok() {
                    found.push(rules);
                }
            }
        }
        found
    }

    /// True if the phase after the assumed phase of `tick - 1` was expected to begin in `tick` or
    /// earlier.
    pub fn is_overdue(&self, tick: u16) -> bool {
        phase_after(&self.best_clock(), tick)
            .is_some_and(|next| phase_clock(self.expected.phase_clocks, next).saturating_add(1) < tick)
    }
}

fn phase_after(rules: &Rules, tick: u16) -> Option<Personality> {
    let phase = rules.phase_clocks.personality_at(tick.saturating_sub(2));
    Personality::ALL.into_iter().find(|&later| later > phase)
}
