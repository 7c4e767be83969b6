use std::collections::BTreeSet;

use serde::Serialize;

use super::clock::{ClockEvidence, ClockFilter, Reports};
use super::clock_sets::{ClockSets, clock_sets};
use super::learner::{Decided, Learner, Unexplained};
use super::orders::Orders;
use super::paths::OWL_MINUTE_MAX;
use super::picks::PickExplanation;
use super::sets::post_counts;
use super::variants::Parameter;
use crate::game::{Clock, Direction, Personalities, Rules, Style};
use crate::search::Deadline;

/// The text of [`Finding::open`] if no value explains the observations.
const NO_EXPLANATION: &str = "nothing explains it";

/// The findings about a parameter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The name of the parameter's field in a rules file.
    pub field: String,
    /// The parameter's value in the best explanation.
    pub value: String,
    /// True if the evidence leaves no other plausible value.
    pub is_certain: bool,
    /// The remaining values, or the reason why they are unknown; empty if the value is certain.
    pub open: String,
    /// If the value is certain and the learner recorded it, the observation that made it certain.
    pub decided: Option<Decided>,
    /// A sentence that explains the value.
    pub sentence: String,
}

/// The findings about a server.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Findings {
    /// The best explanation, with few changes to the expected rules.
    pub rules: Rules,
    /// One finding per parameter.
    pub parameters: Vec<Finding>,
    /// The unknown words for styles whose meaning was inferred, each with the inferred style.
    pub words: Vec<(String, Style)>,
    /// The threats whose moves the learner cannot explain.
    pub unexplained: Vec<Unexplained>,
    /// Sentences about other observations that the learner cannot explain.
    pub conflicts: Vec<String>,
}

impl Learner {
    /// Returns the findings about all games.
    pub fn findings(&mut self) -> Findings {
        self.reconcile();
        // The posts of hawks are picked from the same random numbers.
        let (posts, scale) = (self.posts(Deadline::NEVER).unwrap_or_default(), self.expected.pick_scale);
        let explains_posts = |first_seed| !post_counts(&posts, first_seed, scale).is_empty();
        self.sets.picks.retain(|first_seed| if explains_posts(first_seed) { Orders::ALL } else { Orders::NONE });
        let mut rules = self.best();
        let mut conflicts = Vec::new();
        let all_evidence: Vec<&[ClockEvidence]> = self.games.iter().map(|game| game.evidence.as_slice()).collect();
        let (clock, trust) = clocks_of(&all_evidence);
        match &clock {
            Some(sets) => best_clock(&all_evidence, trust, sets, self.expected(), &mut rules),
            None => conflicts.push("no periods and phases explain when the threats move".to_owned()),
        }
        let reports = self.games.iter().all(|game| game.reports_personalities);
        rules.wire.personalities = match (reports, trust) {
            (false, _) => Personalities::Missing,
            (true, Reports::Trusted) => self.expected().wire.personalities,
            (true, Reports::Ignored) => Personalities::Mismatched,
        };
        if self.sets.picks.are_decisive() && self.pick_explanations().is_empty() {
            conflicts.push("no first seed within 1,000 of the expected one explains the picks".to_owned());
        }
        let words = self.words();
        let is_shared = |style| words.iter().filter(|(_, other)| *other == style).count() > 1;
        let parameters = Parameter::ALL.into_iter().map(|parameter| {
            let open = self.open(parameter, &rules, clock.as_ref());
            let unclear = parameter.styles().iter().find(|&&style| is_shared(style));
            let open = unclear.map(|style| format!("unclear, because several words may mean the {style}")).or(open);
            let decided = self.decided.get(&parameter).map(|&(_, decided)| decided);
            Finding {
                field: parameter.name(),
                value: parameter.value(&rules),
                is_certain: open.is_none(),
                decided: decided.filter(|_| open.is_none()),
                open: open.unwrap_or_default(),
                sentence: parameter.sentence(&rules),
            }
        });
        Findings { parameters: parameters.collect(), words, unexplained: self.unexplained(), conflicts, rules }
    }

    fn pick_explanations(&self) -> Vec<PickExplanation> {
        self.sets.picks.explanations(&self.expected, self.sets.deer.orders(0).or(self.sets.deer.orders(1)))
    }

    fn open(&self, parameter: Parameter, rules: &Rules, clock: Option<&ClockSets>) -> Option<String> {
        let sets = &self.sets;
        let views = |alive: [bool; 2]| match alive {
            [true, true] => Some("stale or present".to_owned()),
            [true, false] | [false, true] => None,
            [false, false] => Some(NO_EXPLANATION.to_owned()),
        };
        let shared = sets
            .owls
            .as_ref()
            .map_or(Orders::ALL, |owls| owls.orders())
            .and(sets.hawks.orders[0].or(sets.hawks.orders[1]));
        match parameter {
            Parameter::PeriodTicks(_) | Parameter::PhaseClock(_) if clock.is_none() => Some(NO_EXPLANATION.to_owned()),
            Parameter::PeriodTicks(personality) => {
                let sets = clock?;
                if sets.seen[personality as usize] == (0, 0) {
                    return Some("not observed".to_owned());
                }
                numbers(sets.periods[personality as usize].iter().map(|&period| u32::from(period)), u8::MAX.into())
            }
            Parameter::PhaseClock(personality) => {
                let index = personality as usize;
                numbers(clock?.clocks[index.checked_sub(1)?].iter().map(|&clock| u32::from(clock)), 3000)
            }
            Parameter::OptionOrder => {
                let of_deer = sets.deer.orders(0).or(sets.deer.orders(1));
                let of_picks = if sets.picks.are_decisive() { sets.picks.orders() } else { Orders::ALL };
                orders(of_deer.and(of_picks), rules.option_order)
            }
            Parameter::SharedPathOrder => orders(shared, rules.shared_path_order),
            Parameter::SharkPathOrder => orders(sets.sharks.0[0].or(sets.sharks.0[1]), rules.shark_path_order),
            Parameter::FirstDirection => match self.first_direction {
                Some(_) => None,
                None => Some("not observed".to_owned()),
            },
            Parameter::FirstSeed => self.open_seed(),
            Parameter::PickScale => Some("not searched for".to_owned()),
            Parameter::DeerShyDistance => {
                let alive = || sets.deer.0.iter().flatten().filter(|(low, high)| low <= high);
                let low = alive().map(|range| range.0).min()?;
                let high = alive().map(|range| range.1).max()?;
                match (low, high) {
                    (low, high) if low == high => None,
                    (0, u32::MAX) => Some("not observed".to_owned()),
                    (low, u32::MAX) => Some(format!("{low} or more")),
                    (low, high) => Some(format!("{low} to {high}")),
                }
            }
            Parameter::SharkView => views(sets.sharks.0.map(|orders| !orders.is_empty())),
            Parameter::OwlView => match &sets.owls {
                Some(owls) => {
                    views([0, 1].map(|view: usize| owls.minutes[view].iter().any(|windows| !windows.is_empty())))
                }
                None => Some("not observed".to_owned()),
            },
            Parameter::HawkView => views(sets.hawks.orders.map(|orders| !orders.is_empty())),
            Parameter::DeerView => views([0, 1].map(|view| !sets.deer.orders(view).is_empty())),
            Parameter::OwlMinute => {
                let Some(owls) = &sets.owls else { return Some("not observed".to_owned()) };
                let minutes = owls.minutes.iter().flat_map(|minutes| (1u32..).zip(minutes));
                numbers(
                    minutes.filter(|(_, windows)| !windows.is_empty()).map(|(minute, _)| minute),
                    OWL_MINUTE_MAX.into(),
                )
            }
            Parameter::OwlWindow => {
                let Some(owls) = &sets.owls else { return Some("not observed".to_owned()) };
                let windows: BTreeSet<u32> = owls
                    .minutes
                    .iter()
                    .flatten()
                    .flatten()
                    .flat_map(|window| (window.from..=window.to).map(u32::from))
                    .collect();
                numbers(windows.into_iter(), OWL_MINUTE_MAX.into())
            }
            Parameter::HawkPatience => numbers(bits(sets.hawks.patience), 100),
            Parameter::HawkRest => numbers(bits(sets.hawks.rest), 100),
            Parameter::HawkPosts => {
                let posts = self.posts(Deadline::NEVER).unwrap_or_default();
                let counts: BTreeSet<u32> = match sets.picks.are_decisive() {
                    true => self
                        .pick_explanations()
                        .into_iter()
                        .flat_map(|one| post_counts(&posts, one.first_seed, rules.pick_scale))
                        .map(u32::from)
                        .collect(),
                    false => (1..=20).collect(),
                };
                numbers(counts.into_iter(), 20)
            }
            Parameter::StyleNames | Parameter::Personalities => None,
        }
    }

    fn open_seed(&self) -> Option<String> {
        let picks = &self.sets.picks;
        if picks.count() == 0 {
            return Some("not observed".to_owned());
        }
        if !picks.are_decisive() {
            return Some(format!("too few choices to tell ({})", picks.count()));
        }
        let seeds: BTreeSet<i32> = self.pick_explanations().iter().map(|one| one.first_seed).collect();
        match seeds.len() {
            0 => Some(NO_EXPLANATION.to_owned()),
            1 => None,
            _ => Some(seeds.iter().take(6).map(i32::to_string).collect::<Vec<_>>().join(" or ")),
        }
    }
}

/// Returns the periods and phases that explain the evidence, or `None` if none do. Trusts the
/// reported personalities if they agree with some periods and phases.
fn clocks_of(all: &[&[ClockEvidence]]) -> (Option<ClockSets>, Reports) {
    for reports in [Reports::Trusted, Reports::Ignored] {
        let mut sets = Some(ClockSets::any());
        // The second round applies the values from later games to earlier games.
        for _ in 0..if all.len() > 1 { 2 } else { 1 } {
            for evidence in all {
                sets = sets.and_then(|sets| {
                    let found = clock_sets(evidence, reports, &sets)?;
                    Some(ClockSets { seen: sets.and(&found).seen, ..found })
                });
            }
        }
        if sets.as_ref().is_some_and(|sets| !sets.is_empty()) {
            return (sets, reports);
        }
    }
    (None, Reports::Ignored)
}

fn best_clock(all: &[&[ClockEvidence]], reports: Reports, sets: &ClockSets, expected: &Rules, rules: &mut Rules) {
    let mut candidates = Vec::new();
    for evidence in all {
        let mut filter = ClockFilter::new(expected, reports);
        evidence.iter().for_each(|tick| filter.update(tick));
        candidates.extend(filter.best());
    }
    // A game that ends early leaves later phases open, which another game may decide.
    let decided =
        candidates.iter().map(|candidate| sets.nearest_to(candidate)).filter(|rules| rules.validate().is_ok());
    let candidates: Vec<Rules> = decided.chain(candidates.iter().copied()).collect();
    let explains = |rules: &&Rules| {
        let clock = Clock::new(rules);
        let reported = |tick: &ClockEvidence| tick.personality.filter(|_| reports == Reports::Trusted);
        all.iter().copied().flatten().all(|tick| {
            tick.moved.is_none_or(|moved| moved == clock.threats_move(tick.tick))
                && reported(tick).is_none_or(|personality| personality == clock.personality_at(tick.tick - 1))
        })
    };
    if let Some(best) = candidates.iter().find(explains).or(candidates.last()) {
        (rules.period_ticks, rules.phase_clocks) = (best.period_ticks, best.phase_clocks);
    }
}

fn numbers(values: impl Iterator<Item = u32>, most: u32) -> Option<String> {
    let values: Vec<u32> = values.collect();
    let (Some(&first), Some(&last)) = (values.first(), values.last()) else { return Some(NO_EXPLANATION.to_owned()) };
    if first == last {
        return None;
    }
    if values.len() as u32 == last - first + 1 {
        let is_all = first <= 1 && last >= most;
        return Some(match is_all {
            true => "not observed".to_owned(),
            false if last >= most => format!("{first} or more"),
            false => format!("{first} to {last}"),
        });
    }
    let some: Vec<String> = values.iter().take(6).map(u32::to_string).collect();
    let more = if values.len() > 6 { format!(" and {} more up to {last}", values.len() - 6) } else { String::new() };
    Some(format!("{}{more}", some.join(", ")))
}

fn orders(orders: Orders, best: [Direction; 4]) -> Option<String> {
    let name = |order: [Direction; 4]| order.map(Direction::name).join(", ");
    match orders.len() {
        0 => Some(NO_EXPLANATION.to_owned()),
        1 => None,
        24 => Some("not observed".to_owned()),
        count @ 2..=3 => {
            Some(orders.nearest_to(best).into_iter().take(count as usize).map(name).collect::<Vec<_>>().join("; or "))
        }
        count => Some(format!("{count} of the 24 orders")),
    }
}

fn bits(values: u128) -> impl Iterator<Item = u32> {
    (0..128).filter(move |value| values >> value & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::super::picks::Pick;
    use super::*;
    use crate::game::Personality;

    #[test]
    fn parameter_that_nothing_explains_is_not_certain() {
        let mut learner = Learner::new(&Rules::BLITZ_2025);
        for draw in 0..40 {
            learner.sets.picks.add(Pick { draw, options: 0b1111, direction: Direction::Up });
        }
        for parameter in
            [Parameter::PeriodTicks(Personality::Lazy), Parameter::PhaseClock(Personality::Tease), Parameter::HawkPosts]
        {
            let open = learner.open(parameter, &Rules::BLITZ_2025, None);
            assert_eq!(open.as_deref(), Some(NO_EXPLANATION), "{parameter}");
        }
    }
}
