use std::collections::BTreeSet;
use std::fmt;

use serde::{Serialize, Serializer};

use super::clock::{ClockEvidence, Reports};
use super::clock_sets::{ClockSets, clock_sets};
use super::hawk::{MOVES_MAX, values};
use super::learner::{Decided, Learner, Unexplained};
use super::observed_game::ObservedGame;
use super::orders::Orders;
use super::paths::{OWL_MINUTE_MAX, Owls};
use super::picks::PickExplanation;
use super::posts::post_counts;
use super::sets::Sets;
use super::variants::{Difference, Parameter};
use crate::game::{Clock, Direction, Personalities, Rules, Style};

/// Maximum count of numbers to list in a text.
const LISTED_MAX: usize = 6;

/// The findings about a parameter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The name of the parameter's field in a rules file.
    pub field: String,
    /// The parameter's value in the best explanation. For `spawn_order`, only the first direction
    /// that messages show, if they do.
    pub value: String,
    /// True if the evidence leaves no other plausible value.
    pub is_certain: bool,
    /// The values that are possible.
    pub open: Open,
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
    /// One finding for each of [`Parameter::ALL`].
    pub parameters: Vec<Finding>,
    /// The unknown words for styles whose meaning was inferred, each with the inferred style. If a
    /// word may mean several styles, it is listed with each of them.
    pub words: Vec<(String, Style)>,
    /// The threats whose moves the learner cannot explain.
    pub unexplained: Vec<Unexplained>,
    /// Other observations that the learner cannot explain.
    pub conflicts: Vec<Conclusion>,
}

/// The values of a parameter that are possible, as far as the games tell. Serialised as its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Open {
    /// No other value is possible.
    Certain,
    /// No value explains the observations.
    Nothing,
    /// The games do not depend on the value, or do not show it.
    NotObserved,
    /// The learner does not search for the value.
    NotSearched,
    /// The given number of picks is too small.
    FewPicks(usize),
    /// It is not known which word means this style.
    UnclearWord(Style),
    /// Either view of the player is possible.
    Views,
    /// All numbers in an inclusive range are possible.
    Range(u32, u32),
    /// All numbers from this one on are possible.
    AtLeast(u32),
    /// These numbers are possible.
    Numbers(Vec<i32>),
    /// These orders are possible, the nearest to the best explanation first.
    Orders(Vec<[Direction; 4]>),
}

/// A conclusion about a server. Serialised as its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Conclusion {
    /// A rule differs from the expected rule.
    Rule(Difference),
    /// An unknown word for a style, and the style that it means.
    Word(String, Style),
    /// No rules explain a threat's move.
    Unexplained(Unexplained),
    /// No periods and phases explain when the threats move.
    UnexplainedClock,
    /// No first seed near the expected one explains the picks.
    UnexplainedPicks,
}

impl fmt::Display for Conclusion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rule(difference) => f.write_str(&difference.sentence),
            Self::Word(word, style) => write!(f, "{word} is the {style}"),
            Self::Unexplained(unexplained) => unexplained.fmt(f),
            Self::UnexplainedClock => f.write_str("no periods and phases explain when the threats move"),
            Self::UnexplainedPicks => f.write_str("no first seed within 1,000 of the expected one explains the picks"),
        }
    }
}

impl fmt::Display for Open {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Certain => Ok(()),
            Self::Nothing => f.write_str("nothing explains it"),
            Self::NotObserved => f.write_str("not observed"),
            Self::NotSearched => f.write_str("not searched for"),
            Self::FewPicks(count) => write!(f, "too few picks to tell ({count})"),
            Self::UnclearWord(style) => write!(f, "unclear, because it is not known which word means the {style}"),
            Self::Views => f.write_str("stale or present"),
            Self::Range(first, last) => write!(f, "{first} to {last}"),
            Self::AtLeast(first) => write!(f, "{first} or more"),
            Self::Numbers(values) => {
                let listed: Vec<String> = values.iter().take(LISTED_MAX).map(i32::to_string).collect();
                f.write_str(&listed.join(", "))?;
                match (values.len().saturating_sub(LISTED_MAX), values.last()) {
                    (0, _) | (_, None) => Ok(()),
                    (more, Some(last)) => write!(f, " and {more} more up to {last}"),
                }
            }
            Self::Orders(orders) if orders.len() > 3 => write!(f, "{} of the 24 orders", orders.len()),
            Self::Orders(orders) => {
                let names = orders.iter().map(|order| order.map(Direction::name).join(", "));
                f.write_str(&names.collect::<Vec<_>>().join("; or "))
            }
        }
    }
}

impl Serialize for Conclusion {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl Serialize for Open {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl Open {
    /// `values` are in ascending order. Values from `most` on have the same effect.
    fn numbers(values: impl Iterator<Item = u32>, most: u32) -> Self {
        let values: Vec<u32> = values.collect();
        let (Some(&first), Some(&last)) = (values.first(), values.last()) else { return Self::Nothing };
        match (values.len() as u32 == last - first + 1, last >= most) {
            _ if first == last => Self::Certain,
            (false, _) => Self::Numbers(values.into_iter().map(|value| value as i32).collect()),
            (true, true) if first <= 1 => Self::NotObserved,
            (true, true) => Self::AtLeast(first),
            (true, false) => Self::Range(first, last),
        }
    }

    /// `ranges` are inclusive. All numbers from `most` on have the same effect.
    fn ranges(ranges: impl Iterator<Item = (u32, u32)>, most: u32) -> Self {
        let all = ranges.reduce(|all, range| (all.0.min(range.0), all.1.max(range.1)));
        match all {
            None => Self::Nothing,
            Some((0, last)) if last >= most => Self::NotObserved,
            Some((first, last)) if last >= most => Self::AtLeast(first),
            Some((first, last)) if first < last => Self::Range(first, last),
            Some(_) => Self::Certain,
        }
    }

    fn orders(orders: Orders, best: [Direction; 4]) -> Self {
        match orders.len() {
            0 => Self::Nothing,
            1 => Self::Certain,
            24 => Self::NotObserved,
            _ => Self::Orders(orders.nearest_to(best)),
        }
    }

    fn views(are_possible: [bool; 2]) -> Self {
        match are_possible {
            [true, true] => Self::Views,
            [false, false] => Self::Nothing,
            _ => Self::Certain,
        }
    }
}

impl Learner {
    /// Returns the findings about all games. If messages use unknown words for styles, learn twice:
    /// show the games to a first learner and call [`Self::identify_words`], then show them again to a
    /// second learner, created [with the words](Self::with_words_of) of the first. Only the findings of
    /// the second learner are reliable.
    pub fn findings(&mut self) -> Findings {
        self.reconcile();
        // The posts of hawks are picked with the same random numbers.
        let (posts, scale) = (self.posts(), self.expected.pick_scale);
        let explains_posts = |first_seed| !post_counts(&posts, first_seed, scale).is_empty();
        self.sets.picks.retain(|first_seed| if explains_posts(first_seed) { Orders::ALL } else { Orders::NONE });
        let mut rules = self.best();
        let mut conflicts = Vec::new();
        let (clock, trust) = clocks_of(&self.games);
        match &clock {
            Some(sets) => best_clock(&self.games, trust, sets, &mut rules),
            None => conflicts.push(Conclusion::UnexplainedClock),
        }
        let reports = self.games.iter().all(|game| game.reports_personalities);
        rules.wire.personalities = match (reports, trust) {
            (false, _) => Personalities::Missing,
            (true, Reports::Trusted) => self.expected().wire.personalities,
            (true, Reports::Ignored) => Personalities::Mismatched,
        };
        if self.sets.picks.are_decisive() && self.pick_explanations().is_empty() {
            conflicts.push(Conclusion::UnexplainedPicks);
        }
        let words = self.words();
        let with = |one: &(String, Style)| words.iter().filter(|two| two.0 == one.0 || two.1 == one.1).count();
        let is_unclear = |style: &Style| words.iter().any(|one| one.1 == *style && with(one) > 1);
        let parameters = Parameter::ALL.into_iter().map(|parameter| {
            let open = self.open(parameter, &rules, clock.as_ref());
            let unclear = parameter.styles().iter().find(|style| is_unclear(style));
            let open = unclear.map_or(open, |&style| Open::UnclearWord(style));
            let is_certain = open == Open::Certain;
            let decided = self.decided.get(&parameter).copied();
            // Messages do not show the list from which the first direction is picked.
            let facing = self.first_direction.filter(|_| parameter == Parameter::FirstDirection);
            Finding {
                field: parameter.name(),
                value: facing.map_or_else(|| parameter.value(&rules), |direction| direction.to_string()),
                is_certain,
                decided: decided.filter(|_| is_certain),
                open,
                sentence: parameter.sentence(&rules),
            }
        });
        Findings { parameters: parameters.collect(), words, unexplained: self.unexplained(), conflicts, rules }
    }

    /// The explanations of the picks with an option order that also explains the deer.
    pub(super) fn pick_explanations(&self) -> Vec<PickExplanation> {
        self.sets.picks.explanations(&self.expected, self.sets.deer.orders(0).or(self.sets.deer.orders(1)))
    }

    pub(super) fn open(&self, parameter: Parameter, rules: &Rules, clock: Option<&ClockSets>) -> Open {
        let Sets { sharks, deer, owls, picks, .. } = &self.sets;
        let numbers = |bits| Open::numbers(values(bits).map(u32::from), MOVES_MAX.into());
        let (owls, hawks) = (owls.as_ref(), || self.hawks());
        match parameter {
            Parameter::PeriodTicks(personality) => match clock {
                None => Open::Nothing,
                Some(sets) => {
                    let periods = sets.periods[personality as usize].iter();
                    Open::numbers(periods.map(|&period| period.into()), u8::MAX.into())
                }
            },
            Parameter::PhaseClock(personality) => {
                let clocks = clock.map(|sets| &sets.clocks[personality as usize - 1]);
                Open::numbers(clocks.into_iter().flatten().map(|&clock| clock.into()), 3000)
            }
            Parameter::OptionOrder => {
                let of_picks = if picks.are_decisive() { picks.orders() } else { Orders::ALL };
                Open::orders(deer.orders(0).or(deer.orders(1)).and(of_picks), rules.option_order)
            }
            Parameter::SharedPathOrder => {
                let of_owls = owls.map_or(Orders::ALL, Owls::orders);
                let of_hawks = hawks().of_any_view().orders;
                Open::orders(of_owls.and(of_hawks), rules.shared_path_order)
            }
            Parameter::SharkPathOrder => Open::orders(sharks.0[0].or(sharks.0[1]), rules.shark_path_order),
            Parameter::FirstDirection if self.first_direction.is_none() => Open::NotObserved,
            Parameter::FirstSeed if picks.count() == 0 => Open::NotObserved,
            Parameter::FirstSeed if !picks.are_decisive() => Open::FewPicks(picks.count()),
            Parameter::FirstSeed => {
                let seeds: BTreeSet<i32> = self.pick_explanations().iter().map(|one| one.first_seed).collect();
                match seeds.len() {
                    0 => Open::Nothing,
                    1 => Open::Certain,
                    _ => Open::Numbers(seeds.into_iter().collect()),
                }
            }
            Parameter::NoJump | Parameter::PickScale => Open::NotSearched,
            Parameter::DeerShyDistance => {
                let alive = deer.0.iter().flatten().filter(|(low, high)| low <= high);
                Open::ranges(alive.copied(), u32::MAX)
            }
            Parameter::DeerView => Open::views([0, 1].map(|view| !deer.orders(view).is_empty())),
            Parameter::SharkView => Open::views(sharks.0.map(|orders| !orders.is_empty())),
            Parameter::HawkView => Open::views(hawks().0.map(|values| values.is_possible())),
            Parameter::OwlView | Parameter::OwlMinute | Parameter::OwlWindow => {
                let Some(Owls { minutes }) = owls else { return Open::NotObserved };
                let windows =
                    || minutes.iter().flat_map(|minutes| (1u32..).zip(minutes)).filter(|(_, all)| !all.is_empty());
                match parameter {
                    Parameter::OwlView => {
                        Open::views([0, 1].map(|view: usize| !minutes[view].iter().all(Vec::is_empty)))
                    }
                    Parameter::OwlMinute => {
                        let possible: BTreeSet<u32> = windows().map(|(minute, _)| minute).collect();
                        Open::numbers(possible.into_iter(), OWL_MINUTE_MAX.into())
                    }
                    _ => {
                        let ranges = windows().flat_map(|(_, windows)| windows);
                        Open::ranges(ranges.map(|one| (one.from.into(), one.to.into())), u32::MAX)
                    }
                }
            }
            Parameter::HawkPatience => numbers(hawks().of_any_view().patience),
            Parameter::HawkRest => numbers(hawks().of_any_view().rest),
            Parameter::HawkPosts if !picks.are_decisive() => Open::NotObserved,
            Parameter::HawkPosts => {
                let posts = self.posts();
                let explanations = self.pick_explanations().into_iter();
                let counts = explanations.flat_map(|one| post_counts(&posts, one.first_seed, rules.pick_scale));
                Open::numbers(BTreeSet::from_iter(counts).into_iter().map(u32::from), 20)
            }
            Parameter::FirstDirection | Parameter::StyleNames | Parameter::Personalities => Open::Certain,
        }
    }
}

/// Returns the periods and phases that explain the evidence, or `None` if none do. Trusts the
/// reported personalities if they agree with some periods and phases.
fn clocks_of(games: &[ObservedGame]) -> (Option<ClockSets>, Reports) {
    for reports in [Reports::Trusted, Reports::Ignored] {
        // The second round applies the values from later games to earlier games.
        let rounds = games.iter().chain(games.iter().filter(|_| games.len() > 1));
        let sets = { rounds }.try_fold(ClockSets::any(), |sets, game| clock_sets(&game.evidence, reports, &sets));
        if sets.as_ref().is_some_and(|sets| !sets.is_empty()) {
            return (sets, reports);
        }
    }
    (None, Reports::Ignored)
}

fn best_clock(games: &[ObservedGame], reports: Reports, sets: &ClockSets, rules: &mut Rules) {
    let found: Vec<Rules> = games.iter().filter_map(|game| game.filter.best()).collect();
    // A game that ends early does not determine the later phases, but another game may.
    let decided = found.iter().map(|found| sets.nearest_to(found)).filter(|rules| rules.validate().is_ok());
    let candidates: Vec<Rules> = decided.chain(found.iter().copied()).collect();
    let explains = |rules: &&Rules| {
        let clock = Clock::new(rules);
        let reported = |tick: &ClockEvidence| tick.personality.filter(|_| reports == Reports::Trusted);
        games.iter().flat_map(|game| &game.evidence).all(|tick| {
            tick.moved.is_none_or(|moved| moved == clock.threats_move(tick.tick))
                && reported(tick).is_none_or(|personality| personality == clock.personality_at(tick.tick))
        })
    };
    if let Some(best) = candidates.iter().find(explains).or(candidates.last()) {
        (rules.period_ticks, rules.phase_clocks) = (best.period_ticks, best.phase_clocks);
    }
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
            assert_eq!(open, Open::Nothing, "{parameter}");
        }
    }
}
