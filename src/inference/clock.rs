//! When threats move: which periods and phases explain it.
//!
//! All threats move on the same ticks. A hypothesis is a phase, its period, and the ticks since the
//! last move; phases may begin at any clock, with any period. [`ClockFilter`] keeps, for each of
//! them, the history nearest to the expected rules, so that it can return the best explanation
//! after every tick; [`clock_sets`] finds every value that a parameter has under any explanation.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use super::variants::{period_mut, phase_clock_mut};
use crate::game::{Personality, Rules};

/// Cost of a parameter that differs from the expected rules; the size of the difference is added.
const CHANGE_COST: u32 = 10_000;

/// A phase that is overdue is taken to begin this many ticks after it was expected, or a multiple.
const OVERDUE_TICKS: u16 = 200;

/// What a tick shows of the clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockEvidence {
    /// The tick that was played.
    pub tick: u16,
    /// Whether the threats moved; `None` if that is unknown.
    pub moved: Option<bool>,
    /// The personality that the next message reports.
    pub personality: Option<Personality>,
}

/// The index of a phase, its period in ticks, and the ticks since the last move.
type Phase = (u8, u8, u8);

/// The history of a hypothesis.
#[derive(Clone, Copy, Debug)]
struct History {
    cost: u32,
    periods: [u8; 5],
    /// When the phases after lazy began, for those that have.
    clocks: [u16; 4],
}

/// The explanations of a game so far, one for each phase.
#[derive(Clone, Debug)]
pub struct ClockFilter {
    expected: Rules,
    /// Whether the personalities in the messages are taken as the phases.
    trusts_personalities: bool,
    alive: BTreeMap<Phase, History>,
    clock: u16,
}

impl ClockFilter {
    /// Every explanation at the start of a game.
    pub fn new(expected: &Rules, trusts_personalities: bool) -> Self {
        let mut filter = Self { expected: *expected, trusts_personalities, alive: BTreeMap::new(), clock: 0 };
        let PeriodsAndClocks { periods, clocks } = PeriodsAndClocks::of(expected);
        for period in 1..=u8::MAX {
            let mut history = History { cost: 0, periods, clocks };
            history.periods[0] = period;
            history.cost = cost(period.into(), periods[0].into());
            filter.alive.insert((0, period, 0), history);
        }
        filter
    }

    /// Whether anything explains the game.
    pub fn explains(&self) -> bool {
        !self.alive.is_empty()
    }

    /// Drops what does not explain a tick.
    pub fn update(&mut self, evidence: &ClockEvidence) {
        self.clock = evidence.tick - 1;
        let expected = PeriodsAndClocks::of(&self.expected);
        let personality = evidence.personality.filter(|_| self.trusts_personalities);
        let mut after: BTreeMap<Phase, History> = BTreeMap::new();
        let mut add = |phase: u8, since: u8, history: History| {
            let period = history.periods[usize::from(phase)];
            if personality.is_some_and(|personality| personality as u8 != phase) {
                return;
            }
            let Some(since) = after_tick(period, since, evidence.moved) else { return };
            let best = after.entry((phase, period, since)).or_insert(history);
            if history.cost < best.cost {
                *best = history;
            }
        };
        // By phase and ticks since the last move, the cheapest history: the next phase starts from
        // it.
        let mut cheapest: BTreeMap<(u8, u8), History> = BTreeMap::new();
        for (&(phase, _, since), &history) in &self.alive {
            add(phase, since, history);
            let best = cheapest.entry((phase, since)).or_insert(history);
            if history.cost < best.cost {
                *best = history;
            }
        }
        for (&(phase, since), before) in cheapest.iter().filter(|_| self.clock > 0) {
            let mut history = *before;
            for next in phase + 1..5 {
                let index = usize::from(next);
                history.clocks[index - 1] = self.clock - 1;
                history.cost += cost(self.clock - 1, expected.clocks[index - 1]);
                if personality.is_some_and(|personality| personality as u8 != next) {
                    continue;
                }
                for period in 1..=u8::MAX {
                    let mut entered = history;
                    entered.periods[index] = period;
                    entered.cost += cost(period.into(), expected.periods[index].into());
                    add(next, since, entered);
                }
            }
        }
        self.alive = after;
    }

    /// The expected rules with the clock of the best explanation; phases that have not begun are as
    /// expected, if they can be.
    pub fn best(&self) -> Option<Rules> {
        let expected = PeriodsAndClocks::of(&self.expected);
        let total = |&(&(phase, ..), history): &(&Phase, &History)| {
            let late = (usize::from(phase)..4).filter(|&index| expected.clocks[index] < self.clock).count();
            (history.cost + late as u32 * CHANGE_COST, phase)
        };
        let (&(phase, ..), history) = self.alive.iter().min_by_key(total)?;
        let mut found = PeriodsAndClocks { periods: history.periods, clocks: history.clocks };
        let mut least = self.clock;
        for index in usize::from(phase)..4 {
            least = self.next_guess(expected.clocks[index]).max(least);
            found.clocks[index] = least;
        }
        Some(found.apply(&self.expected))
    }
}

impl ClockFilter {
    /// When a phase that has not begun may begin: as expected, or, once it is overdue, some time
    /// from now. A guess that moved with every tick would invalidate every plan.
    fn next_guess(&self, expected: u16) -> u16 {
        match self.clock.checked_sub(expected) {
            None | Some(0) => expected,
            Some(overdue) => expected.saturating_add(overdue.div_ceil(OVERDUE_TICKS) * OVERDUE_TICKS),
        }
    }
}

/// The numbers of the clock as arrays.
#[derive(Clone, Copy, Debug)]
struct PeriodsAndClocks {
    periods: [u8; 5],
    clocks: [u16; 4],
}

impl PeriodsAndClocks {
    fn of(rules: &Rules) -> Self {
        let clocks = rules.phase_clocks;
        Self {
            periods: Personality::ALL.map(|personality| rules.period_ticks.of(personality)),
            clocks: [clocks.tease, clocks.awake, clocks.hungry, clocks.insane],
        }
    }

    fn apply(&self, rules: &Rules) -> Rules {
        let mut rules = *rules;
        for (index, personality) in Personality::ALL.into_iter().enumerate() {
            *period_mut(&mut rules.period_ticks, personality) = self.periods[index];
            if index > 0 {
                *phase_clock_mut(&mut rules.phase_clocks, personality) = self.clocks[index - 1];
            }
        }
        rules
    }
}

/// The cost of a number that differs from the expected one.
fn cost(found: u16, expected: u16) -> u32 {
    if found == expected { 0 } else { CHANGE_COST + u32::from(found.abs_diff(expected)) }
}

/// The ticks since the last move after one more tick; `None` if the evidence rules it out.
fn after_tick(period: u8, since: u8, moved: Option<bool>) -> Option<u8> {
    let since = since.saturating_add(1);
    let moves = since >= period;
    moved.is_none_or(|moved| moved == moves).then_some(if moves { 0 } else { since })
}

/// The values of the clock's parameters under every explanation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClockSets {
    /// By personality: its periods.
    pub periods: [BTreeSet<u8>; 5],
    /// By phase after lazy: the clocks at which it may begin.
    pub clocks: [BTreeSet<u16>; 4],
    /// By personality: the first and the last tick of the evidence in which threats had it under
    /// some explanation; (0, 0) if in none.
    pub seen: [(u16, u16); 5],
}

impl ClockSets {
    /// Every value.
    pub fn any() -> Self {
        Self {
            periods: std::array::from_fn(|_| (1..=u8::MAX).collect()),
            clocks: std::array::from_fn(|_| (0..=3000).collect()),
            seen: [(0, 0); 5],
        }
    }

    /// The values that explain both.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        let both = |left: (u16, u16), right: (u16, u16)| match (left, right) {
            ((0, 0), seen) | (seen, (0, 0)) => seen,
            (left, right) => (left.0.min(right.0), left.1.max(right.1)),
        };
        Self {
            periods: std::array::from_fn(|index| &self.periods[index] & &other.periods[index]),
            clocks: std::array::from_fn(|index| &self.clocks[index] & &other.clocks[index]),
            seen: std::array::from_fn(|index| both(self.seen[index], other.seen[index])),
        }
    }

    /// Whether nothing explains the evidence.
    pub fn is_empty(&self) -> bool {
        self.periods.iter().any(BTreeSet::is_empty) || self.clocks.iter().any(BTreeSet::is_empty)
    }
}

/// The allowed values that explain a game. The evidence has every tick from 1 on, in order.
///
/// The hypotheses of every tick are found forwards; those that do not explain the rest of the game
/// are dropped backwards.
pub fn clock_sets(evidence: &[ClockEvidence], trusts_personalities: bool, allowed: &ClockSets) -> Option<ClockSets> {
    let start: HashSet<Phase> = allowed.periods[0].iter().map(|&period| (0, period, 0)).collect();
    let mut forward: Vec<HashSet<Phase>> = vec![start];
    for tick in evidence {
        let before = forward.last()?;
        let mut after: HashSet<Phase> =
            before.iter().filter_map(|&from| stays(from, tick, trusts_personalities, allowed)).collect();
        for group in groups(before) {
            after.extend(begins(group, tick, trusts_personalities, allowed));
        }
        if after.is_empty() {
            return None;
        }
        forward.push(after);
    }
    let last_clock = evidence.last().map_or(0, |last| last.tick - 1);
    let mut sets = ClockSets { periods: Default::default(), clocks: Default::default(), seen: [(0, 0); 5] };
    let mut alive = forward.last()?.clone();
    let reached = alive.iter().map(|&(phase, ..)| phase).min().unwrap_or(0);
    for index in usize::from(reached)..4 {
        sets.clocks[index].extend(allowed.clocks[index].iter().filter(|&&clock| clock >= last_clock));
    }
    for (tick, before) in evidence.iter().zip(&forward).rev() {
        for &(phase, period, _) in &alive {
            let index = usize::from(phase);
            sets.periods[index].insert(period);
            let seen = &mut sets.seen[index];
            *seen = (tick.tick, if seen.1 == 0 { tick.tick } else { seen.1 });
        }
        let mut begun = BTreeSet::new();
        for group in groups(before) {
            for (next, ..) in begins(group, tick, trusts_personalities, allowed).filter(|to| alive.contains(to)) {
                begun.insert(group);
                for index in usize::from(group.0)..usize::from(next) {
                    sets.clocks[index].insert(tick.tick - 2);
                }
            }
        }
        let is_kept = |from: &&Phase| -> bool {
            let (phase, _, since) = **from;
            begun.contains(&(phase, since))
                || stays(**from, tick, trusts_personalities, allowed).is_some_and(|to| alive.contains(&to))
        };
        let kept = before.iter().filter(is_kept).copied().collect();
        alive = kept;
    }
    for &(phase, period, _) in &alive {
        sets.periods[usize::from(phase)].insert(period);
    }
    // A phase without evidence may have any period.
    for index in 0..5 {
        let is_skipped = index > 0 && index < 4 && !sets.clocks[index - 1].is_disjoint(&sets.clocks[index]);
        if sets.periods[index].is_empty() || is_skipped || index > usize::from(reached) {
            sets.periods[index] = allowed.periods[index].clone();
        }
    }
    Some(sets)
}

/// The hypotheses' phases and ticks since the last move: the next phase depends on nothing else.
fn groups(phases: &HashSet<Phase>) -> BTreeSet<(u8, u8)> {
    phases.iter().map(|&(phase, _, since)| (phase, since)).collect()
}

/// Whether a phase agrees with the personality that a message reports.
fn is_reported(phase: u8, evidence: &ClockEvidence, trusts_personalities: bool) -> bool {
    !trusts_personalities || evidence.personality.is_none_or(|personality| personality as u8 == phase)
}

/// A hypothesis after a tick in which its phase continues, if it explains the tick.
fn stays(
    (phase, period, since): Phase,
    evidence: &ClockEvidence,
    trusts_personalities: bool,
    allowed: &ClockSets,
) -> Option<Phase> {
    // The next phase must still be able to begin.
    let clocks = allowed.clocks.get(usize::from(phase));
    let can_wait = clocks.is_none_or(|clocks| clocks.last().is_some_and(|&last| last >= evidence.tick - 1));
    if !can_wait || !is_reported(phase, evidence, trusts_personalities) {
        return None;
    }
    after_tick(period, since, evidence.moved).map(|since| (phase, period, since))
}

/// The hypotheses that explain a tick in which a later phase begins.
fn begins<'a>(
    (phase, since): (u8, u8),
    evidence: &'a ClockEvidence,
    trusts_personalities: bool,
    allowed: &'a ClockSets,
) -> impl Iterator<Item = Phase> + 'a {
    let clock = evidence.tick - 1;
    let mut last = phase;
    while clock > 0 && last < 4 && allowed.clocks[usize::from(last)].contains(&(clock - 1)) {
        last += 1;
    }
    let phases = (phase + 1..=last).filter(move |&next| is_reported(next, evidence, trusts_personalities));
    phases.flat_map(move |next| {
        let periods = allowed.periods[usize::from(next)].iter();
        periods.filter_map(move |&period| after_tick(period, since, evidence.moved).map(|since| (next, period, since)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::game::{Clock, PeriodTicks, PhaseClocks};

    fn evidence(rules: &Rules, ticks: u16, reports: bool) -> Vec<ClockEvidence> {
        let clock = Clock::new(rules);
        let tick = |tick| ClockEvidence {
            tick,
            moved: Some(clock.threats_move(tick)),
            personality: reports.then(|| clock.personality_at(tick - 1)),
        };
        (1..=ticks).map(tick).collect()
    }

    #[test]
    fn clock_of_the_server_is_found_from_the_moves_alone() {
        let all = evidence(&Rules::BLITZ_2025, 1500, false);
        let sets = clock_sets(&all, false, &ClockSets::any()).expect("an explanation");
        assert_eq!(
            sets.periods.clone().map(|periods| periods.into_iter().collect::<Vec<_>>()),
            [[5], [4], [3], [2], [1]]
        );
        for (clocks, expected) in sets.clocks.iter().zip([300, 500, 700, 900]) {
            assert!(clocks.contains(&expected) && clocks.len() <= 5, "{clocks:?}");
        }
        let sets =
            clock_sets(&evidence(&Rules::BLITZ_2025, 1500, true), true, &ClockSets::any()).expect("an explanation");
        assert_eq!(sets.clocks.map(|clocks| clocks.into_iter().collect::<Vec<_>>()), [[300], [500], [700], [900]]);
    }

    #[test]
    fn overdue_phase_is_guessed_anew_only_now_and_then() {
        let rules =
            Rules { phase_clocks: PhaseClocks { insane: 1030, ..Rules::BLITZ_2025.phase_clocks }, ..Rules::BLITZ_2025 };
        let mut filter = ClockFilter::new(&Rules::BLITZ_2025, true);
        let mut guesses = Vec::new();
        for tick in evidence(&rules, 1100, true) {
            filter.update(&tick);
            let best = filter.best().expect("an explanation");
            assert_eq!(best.validate(), Ok(()));
            guesses.push(best.phase_clocks.insane);
        }
        guesses.dedup();
        assert_eq!(guesses, [900, 1100, 1030]);
    }

    #[test]
    fn filter_finds_an_unexpected_clock_while_it_runs() {
        let rules = Rules {
            period_ticks: PeriodTicks { lazy: 3, ..Rules::BLITZ_2025.period_ticks },
            phase_clocks: PhaseClocks { tease: 40, awake: 90, ..Rules::BLITZ_2025.phase_clocks },
            ..Rules::BLITZ_2025
        };
        let clock = Clock::new(&rules);
        for reports in [false, true] {
            let mut filter = ClockFilter::new(&Rules::BLITZ_2025, reports);
            for tick in evidence(&rules, 200, reports) {
                filter.update(&tick);
                assert!(filter.explains(), "tick {}", tick.tick);
            }
            let best = Clock::new(&filter.best().expect("an explanation"));
            for tick in 1..=200 {
                assert_eq!(best.threats_move(tick), clock.threats_move(tick), "tick {tick}");
            }
            if reports {
                assert_eq!(filter.best(), Some(rules));
            }
        }
    }
}
