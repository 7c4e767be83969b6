//! All periods and phases that explain when the threats moved in a game.

use std::collections::{BTreeSet, HashSet};

use super::clock::{ClockEvidence, PeriodsAndClocks, Reports, after_tick};
use crate::game::Rules;

/// The index of the current phase, its period, and the ticks since the last move, or since the
/// start of the game.
type Hypothesis = (u8, u8, u8);

/// The possible periods, and the possible clock values after which the phases begin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClockSets {
    /// The possible periods of each personality; all allowed periods if the threats may not have
    /// had it.
    pub periods: [BTreeSet<u8>; 5],
    /// The clock values (tick - 1) after which each phase from tease to insane may begin.
    pub clocks: [BTreeSet<u16>; 4],
}

impl ClockSets {
    /// Sets with all periods, and with all clock values up to 3,000.
    pub fn any() -> Self {
        Self {
            periods: std::array::from_fn(|_| (1..=u8::MAX).collect()),
            clocks: std::array::from_fn(|_| (0..=3000).collect()),
        }
    }

    /// Returns the rules with each period and clock value replaced by the nearest possible one.
    pub fn nearest_to(&self, rules: &Rules) -> Rules {
        fn nearest<T: Copy + Ord + Into<u16>>(value: &mut T, set: &BTreeSet<T>) {
            *value = set.iter().copied().min_by_key(|&one| one.into().abs_diff((*value).into())).unwrap_or(*value);
        }
        let mut found = PeriodsAndClocks::from_rules(rules);
        found.periods.iter_mut().zip(&self.periods).for_each(|(period, set)| nearest(period, set));
        found.clocks.iter_mut().zip(&self.clocks).for_each(|(clock, set)| nearest(clock, set));
        found.apply(rules)
    }

    /// True if some set of periods or of clock values is empty.
    pub fn is_empty(&self) -> bool {
        self.periods.iter().any(BTreeSet::is_empty) || self.clocks.iter().any(BTreeSet::is_empty)
    }
}

/// Returns the allowed values with which a game can be explained, or `None` if no allowed values
/// explain it. `evidence` must hold every tick from 1 to the last observed tick, in order. A
/// backward pass drops hypotheses that contradict later ticks.
pub fn clock_sets(evidence: &[ClockEvidence], reports: Reports, allowed: &ClockSets) -> Option<ClockSets> {
    let start: HashSet<Hypothesis> = allowed.periods[0].iter().map(|&period| (0, period, 0)).collect();
    let mut forward: Vec<HashSet<Hypothesis>> = vec![start];
    for tick in evidence {
        let before = forward.last()?;
        let mut after: HashSet<Hypothesis> =
            before.iter().filter_map(|&from| stays(from, tick, reports, allowed)).collect();
        for group in groups(before) {
            after.extend(begins(group, tick, reports, allowed));
        }
        if after.is_empty() {
            return None;
        }
        forward.push(after);
    }
    let last_clock = evidence.last().map_or(0, |last| last.tick - 1);
    let mut sets = ClockSets { periods: Default::default(), clocks: Default::default() };
    let mut alive = forward.last()?.clone();
    let reached = alive.iter().map(|&(phase, ..)| phase).min().unwrap_or(0);
    for index in usize::from(reached)..4 {
        sets.clocks[index].extend(allowed.clocks[index].iter().filter(|&&clock| clock >= last_clock));
    }
    for (tick, before) in evidence.iter().zip(&forward).rev() {
        for &(phase, period, _) in &alive {
            sets.periods[usize::from(phase)].insert(period);
        }
        let mut begun = BTreeSet::new();
        for group in groups(before) {
            for (next, ..) in begins(group, tick, reports, allowed).filter(|to| alive.contains(to)) {
                begun.insert(group);
                for index in usize::from(group.0)..usize::from(next) {
                    sets.clocks[index].insert(tick.tick - 2);
                }
            }
        }
        let is_kept = |from: &&Hypothesis| -> bool {
            let (phase, _, since) = **from;
            begun.contains(&(phase, since))
                || stays(**from, tick, reports, allowed).is_some_and(|to| alive.contains(&to))
        };
        let kept = before.iter().filter(is_kept).copied().collect();
        alive = kept;
    }
    for &(phase, period, _) in &alive {
        sets.periods[usize::from(phase)].insert(period);
    }
    for index in 0..5 {
        let is_skipped = index > 0 && index < 4 && !sets.clocks[index - 1].is_disjoint(&sets.clocks[index]);
        if sets.periods[index].is_empty() || is_skipped || index > usize::from(reached) {
            sets.periods[index] = allowed.periods[index].clone();
        }
    }
    Some(sets)
}

/// Returns the hypotheses without their periods, which do not affect the next phase.
fn groups(phases: &HashSet<Hypothesis>) -> BTreeSet<(u8, u8)> {
    phases.iter().map(|&(phase, _, since)| (phase, since)).collect()
}

fn is_reported(phase: u8, evidence: &ClockEvidence, reports: Reports) -> bool {
    reports == Reports::Ignored || evidence.personality.is_none_or(|personality| personality as u8 == phase)
}

fn stays(
    (phase, period, since): Hypothesis,
    evidence: &ClockEvidence,
    reports: Reports,
    allowed: &ClockSets,
) -> Option<Hypothesis> {
    // Unless the phase is the last, it can continue only if an allowed start of the next phase
    // still lies ahead.
    let clocks = allowed.clocks.get(usize::from(phase));
    let can_wait = clocks.is_none_or(|clocks| clocks.last().is_some_and(|&last| last >= evidence.tick - 1));
    if !can_wait || !is_reported(phase, evidence, reports) {
        return None;
    }
    after_tick(period, since, evidence.moved).map(|since| (phase, period, since))
}

fn begins<'a>(
    (phase, since): (u8, u8),
    evidence: &'a ClockEvidence,
    reports: Reports,
    allowed: &'a ClockSets,
) -> impl Iterator<Item = Hypothesis> + 'a {
    let clock = evidence.tick - 1;
    let mut last = phase;
    while clock > 0 && last < 4 && allowed.clocks[usize::from(last)].contains(&(clock - 1)) {
        last += 1;
    }
    let phases = (phase + 1..=last).filter(move |&next| is_reported(next, evidence, reports));
    phases.flat_map(move |next| {
        let periods = allowed.periods[usize::from(next)].iter();
        periods.filter_map(move |&period| after_tick(period, since, evidence.moved).map(|since| (next, period, since)))
    })
}
