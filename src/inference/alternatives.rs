//! Other explanations than the best: rules that differ from it in one parameter, and early phases.

use serde_json::{Value, json};

use super::clock::PeriodsAndClocks;
use super::learner::Learner;
use super::observed_game::ObservedGame;
use super::orders::Orders;
use super::picks::PickExplanation;
use super::variants::Parameter;
use crate::game::{Personality, Rules};

/// A phase that began unnoticed is assumed to have begun at most this many ticks before the tick of
/// the last message.
const EARLY_PHASE_TICKS: u16 = 8;
const EARLY_PERIOD_MAX: u8 = 7;

impl Learner {
    /// Returns rules that differ from `best` in the value of one parameter of a style in the game,
    /// or in the order and the seed of the picks. Moves in the game may contradict them.
    pub fn alternatives(&self, best: &Rules) -> Vec<Rules> {
        let is_present = |parameter: &Parameter| {
            self.games.last().is_some_and(|game| parameter.styles().iter().any(|&style| game.has(style)))
        };
        let explanations = self.sets.picks.explanations(&self.expected, Orders::ALL);
        let picked = explanations.into_iter().map(|PickExplanation { order, first_seed }| Rules {
            option_order: order,
            first_seed,
            ..*best
        });
        let parameters = Parameter::ALL.into_iter().filter(is_present);
        picked
            .chain(parameters.flat_map(|parameter| parameter.neighbours(best)))
            .filter(|rules| rules != best)
            .collect()
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
                let mut changed = PeriodsAndClocks::from_rules(best);
                changed.clocks[next as usize - 1] = begun;
                changed.periods[next as usize] = period_ticks;
                let rules = changed.apply(best);
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
        let expected = PeriodsAndClocks::from_rules(&self.expected).clocks;
        phase_after(&self.best_clock(), tick).is_some_and(|next| expected[next as usize - 1].saturating_add(1) < tick)
    }
}

impl Parameter {
    /// Valid rules with the parameter's other plausible values. Empty for parameters that concern
    /// all styles, and for the seed and the scale.
    fn neighbours(self, rules: &Rules) -> Vec<Rules> {
        let numbers = |values: std::ops::RangeInclusive<u32>| values.map(|value| json!(value)).collect();
        let values: Vec<Value> = match self {
            Self::OptionOrder | Self::SharedPathOrder | Self::SharkPathOrder => {
                Orders::ALL.iter().map(|(_, order)| json!(order)).collect()
            }
            Self::DeerView | Self::SharkView | Self::OwlView | Self::HawkView => vec![json!("stale"), json!("present")],
            Self::DeerShyDistance => (0..=11).map(|tiles| json!(tiles * tiles)).collect(),
            Self::OwlMinute | Self::OwlWindow => numbers(0..=120),
            Self::HawkPatience | Self::HawkRest => numbers(0..=12),
            Self::HawkPosts => numbers(1..=20),
            _ => Vec::new(),
        };
        let changed = |value: Value| {
            let mut found = serde_json::to_value(rules).ok()?;
            found[self.name()] = value;
            serde_json::from_value(found).ok()
        };
        values.into_iter().filter_map(changed).filter(|rules: &Rules| rules.validate().is_ok()).collect()
    }
}

fn phase_after(rules: &Rules, tick: u16) -> Option<Personality> {
    let phase = rules.phase_clocks.personality_at(tick.saturating_sub(2));
    Personality::ALL.into_iter().find(|&later| later > phase)
}
