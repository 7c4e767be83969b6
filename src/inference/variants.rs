use std::fmt;

use serde_json::{Value, json};

use crate::game::{Direction, Personalities, Personality, Rules, Style, StyleNames, World, WorldError};
use crate::search::Generator;

use super::clock::PeriodsAndClocks;

/// Lists the parameters: each with its field in a rules file, and the styles whose threats' moves
/// depend on it (none if all threats' moves do).
macro_rules! parameters {
    ($($(#[$doc:meta])* $name:ident: $field:literal [$($style:ident)*],)*) => {
        /// A value in the rules that a [`variant`] can change.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Parameter {
            /// The period of a personality.
            PeriodTicks(Personality),
            /// The clock value (tick - 1) after which a personality begins. The lazy personality
            /// has none, because it begins in the first tick.
            PhaseClock(Personality),
            $($(#[$doc])* $name,)*
        }

        impl Parameter {
            /// Every parameter.
            pub const ALL: [Self; 27] = [
                Self::PeriodTicks(Personality::Lazy),
                Self::PeriodTicks(Personality::Tease),
                Self::PeriodTicks(Personality::Awake),
                Self::PeriodTicks(Personality::Hungry),
                Self::PeriodTicks(Personality::Insane),
                Self::PhaseClock(Personality::Tease),
                Self::PhaseClock(Personality::Awake),
                Self::PhaseClock(Personality::Hungry),
                Self::PhaseClock(Personality::Insane),
                $(Self::$name,)*
            ];

            /// The name of the field in a rules file, such as `hawk_posts` or `wire.style_names`.
            pub fn name(self) -> String {
                match self {
                    Self::PeriodTicks(personality) => format!("period_ticks.{personality}"),
                    Self::PhaseClock(personality) => format!("phase_clocks.{personality}"),
                    $(Self::$name => $field.to_owned(),)*
                }
            }

            /// The styles whose threats' moves depend on the parameter. Empty if all threats' moves
            /// do.
            pub fn styles(self) -> &'static [Style] {
                match self {
                    Self::PeriodTicks(_) | Self::PhaseClock(_) => &[],
                    $(Self::$name => &[$(Style::$style),*],)*
                }
            }
        }
    };
}

parameters! {
    /// The order in which a tile's options are listed.
    OptionOrder: "option_order" [Goldfish Bull Deer],
    /// The order of directions on the shared path (owls, hawks and `MOVE_TO`).
    SharedPathOrder: "shared_path_order" [Owl Hawk],
    /// The order of directions on the shark path.
    SharkPathOrder: "shark_path_order" [Shark],
    /// The list from which a threat's first direction is picked.
    FirstDirection: "spawn_order" [],
    /// The seed of a threat's first pick.
    FirstSeed: "first_seed" [Goldfish Bull],
    /// The factor by which the sine of a seed is multiplied for a pick.
    PickScale: "pick_scale" [Goldfish Bull],
    /// The squared distance from the player up to which a deer heads for its spawn.
    DeerShyDistance: "deer_shy_distance_squared" [Deer],
    /// The player position that a deer uses.
    DeerView: "deer_view" [Deer],
    /// The player position that a shark uses.
    SharkView: "shark_view" [Shark],
    /// The player position that an owl looks at.
    OwlView: "owl_view" [Owl],
    /// The player position that a hawk looks for.
    HawkView: "hawk_view" [Hawk],
    /// The cycle of the owls' looks, in ticks.
    OwlMinute: "owl_minute_ticks" [Owl],
    /// The number of ticks at the start of a cycle in which owls look.
    OwlWindow: "owl_window_ticks" [Owl],
    /// A hawk gets a post once it has waited for more moves than this number.
    HawkPatience: "hawk_patience_moves" [Hawk],
    /// The number of extra moves that a hawk waits at a post.
    HawkRest: "hawk_rest_moves" [Hawk],
    /// The number of best intersections from which hawks pick their posts.
    HawkPosts: "hawk_posts" [Hawk],
    /// The words for the styles in messages.
    StyleNames: "wire.style_names" [],
    /// The personalities in messages.
    Personalities: "wire.personalities" [],
}

impl Parameter {
    fn pointer(self) -> String {
        format!("/{}", self.name().replace('.', "/"))
    }

    /// The parameter's value in these rules, as text.
    pub fn value(self, rules: &Rules) -> String {
        let rules = serde_json::to_value(rules).expect("rules are JSON");
        match rules.pointer(&self.pointer()) {
            Some(Value::Array(directions)) => {
                directions.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", ")
            }
            Some(Value::String(name)) => name.clone(),
            Some(number) => number.as_f64().map_or_else(String::new, |number| number.to_string()),
            // The lazy phase begins with the game.
            None => "0".to_owned(),
        }
    }

    /// A sentence that explains the parameter's value in these rules.
    pub fn sentence(self, rules: &Rules) -> String {
        let value = self.value(rules);
        match self {
            Self::PeriodTicks(personality) => match value.as_str() {
                "1" => format!("{personality} threats move every tick"),
                _ => format!("{personality} threats move every {value} ticks"),
            },
            Self::PhaseClock(personality) => {
                let tick = u32::from(PeriodsAndClocks::from_rules(rules).clocks[personality as usize - 1]) + 2;
                format!("threats are {personality} from tick {tick} on")
            }
            Self::OptionOrder => format!("a tile's options are listed in the order {value}"),
            Self::SharedPathOrder => format!("the path of owls and hawks prefers {value}, in this order"),
            Self::SharkPathOrder => format!("the shark's path prefers {value}, in this order"),
            Self::FirstDirection => match first_direction(rules) {
                Ok(direction) => format!("threats spawn facing {direction}"),
                Err(_) => format!("a threat's first direction is picked from {value}"),
            },
            Self::FirstSeed => format!("the first seed is {value}"),
            Self::PickScale => format!("picks multiply the sine of the seed by {value}"),
            Self::DeerShyDistance => {
                let squared = rules.deer_shy_distance_squared;
                let tiles = squared.isqrt();
                match tiles * tiles == squared {
                    true => format!("the deer heads for its spawn within a distance of {tiles} from the player"),
                    false => {
                        format!("the deer heads for its spawn within a squared distance of {squared} from the player")
                    }
                }
            }
            Self::DeerView | Self::SharkView | Self::OwlView | Self::HawkView => {
                let name = self.name();
                let style = name.trim_end_matches("_view");
                match value.as_str() {
                    "stale" => format!("the {style} uses the player's tile from one tick ago"),
                    _ => format!("the {style} uses the player's current tile"),
                }
            }
            Self::OwlMinute | Self::OwlWindow => {
                let (window, minute) = (rules.owl_window_ticks, rules.owl_minute_ticks);
                match window {
                    0 => "the owl never looks".to_owned(),
                    _ if window == minute => "the owl always looks".to_owned(),
                    1 => format!("the owl looks in the first of every {minute} ticks"),
                    _ => format!("the owl looks in ticks 0 to {} of every {minute}", window - 1),
                }
            }
            Self::HawkPatience => format!("the hawk gets a post once it has waited for more moves than {value}"),
            Self::HawkRest => format!("the hawk waits for {value} extra moves at a post"),
            Self::HawkPosts => format!("the hawk's posts are the best intersections, at most {value}"),
            Self::StyleNames => match rules.wire.style_names {
                StyleNames::Server => "messages name the styles".to_owned(),
                StyleNames::Unknown => "messages name the styles by unknown words".to_owned(),
            },
            Self::Personalities => match rules.wire.personalities {
                Personalities::Server => "messages report the personalities".to_owned(),
                Personalities::Missing => "messages report no personalities".to_owned(),
                Personalities::Mismatched => "messages report personalities that do not match the periods".to_owned(),
            },
        }
    }

    /// The rules with a random value of the parameter; `None` if they are invalid.
    fn draw(self, rules: &Rules, random: &mut Generator) -> Option<Rules> {
        let shuffled = |mut order: [Direction; 4], random: &mut Generator| {
            random.shuffle(&mut order);
            json!(order)
        };
        let mut between = |low: u16, high: u16| low + random.below(usize::from(high - low) + 1) as u16;
        let value: Value = match self {
            Self::PeriodTicks(_) => between(1, 7).into(),
            Self::PhaseClock(personality) => {
                let clock = PeriodsAndClocks::from_rules(rules).clocks[personality as usize - 1];
                (clock + between(0, 180)).saturating_sub(90).into()
            }
            Self::OptionOrder => shuffled(rules.option_order, random),
            Self::SharedPathOrder => shuffled(rules.shared_path_order, random),
            Self::SharkPathOrder => shuffled(rules.shark_path_order, random),
            Self::FirstDirection => {
                let mut order = rules.spawn_order;
                order.swap(0, between(1, 3).into());
                json!(order)
            }
            Self::FirstSeed => (i32::from(between(0, 2000)) - 1000).into(),
            Self::PickScale => {
                let digits = between(10, 9999);
                f64::from(if digits < 1000 { digits.into() } else { u32::from(digits) * 10 }).into()
            }
            Self::DeerShyDistance => between(0, 11).pow(2).into(),
            Self::DeerView | Self::SharkView | Self::OwlView | Self::HawkView => {
                ["stale", "present"][usize::from(between(0, 1))].into()
            }
            Self::OwlMinute => {
                let shortest = rules.owl_window_ticks.max(12);
                between(shortest, shortest.max(120)).into()
            }
            Self::OwlWindow => between(1, rules.owl_minute_ticks).into(),
            Self::HawkPatience | Self::HawkRest => between(0, 12).into(),
            Self::HawkPosts => between(1, 20).into(),
            Self::StyleNames => "unknown".into(),
            Self::Personalities => ["missing", "mismatched"][usize::from(between(0, 1))].into(),
        };
        let mut changed = serde_json::to_value(rules).ok()?;
        *changed.pointer_mut(&self.pointer())? = value;
        serde_json::from_value(changed).ok().filter(|rules: &Rules| rules.validate().is_ok())
    }
}

impl fmt::Display for Parameter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.name())
    }
}

/// The server's rules with `changes` random changes, at most one per parameter. The seed
/// determines the changes.
pub fn variant(seed: u64, changes: usize) -> Rules {
    let mut random = Generator::from_seed(seed);
    let mut parameters = Parameter::ALL.to_vec();
    let mut rules = Rules::BLITZ_2025;
    for _ in 0..changes.min(parameters.len()) {
        let parameter = parameters.remove(random.below(parameters.len()));
        loop {
            let drawn = parameter.draw(&rules, &mut random);
            if let Some(changed) = drawn.filter(|changed| parameter.value(changed) != parameter.value(&rules)) {
                rules = changed;
                break;
            }
        }
    }
    rules
}

/// A field that differs between two sets of rules.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Difference {
    /// The name of the field in a rules file.
    pub field: String,
    /// The value in the first set of rules.
    pub left: String,
    /// The value in the second set of rules.
    pub right: String,
    /// A sentence that explains the second value.
    pub sentence: String,
}

/// The differences: first `no_jump`, then the parameters in the order of [`Parameter::ALL`].
pub fn differences(left: &Rules, right: &Rules) -> Vec<Difference> {
    let mut found = Vec::new();
    if left.no_jump != right.no_jump {
        found.push(Difference {
            field: "no_jump".to_owned(),
            left: left.no_jump.to_string(),
            right: right.no_jump.to_string(),
            sentence: match right.no_jump {
                true => "stepping onto a threat's tile loses the game".to_owned(),
                false => "a player and a threat that swap tiles pass through each other".to_owned(),
            },
        });
    }
    for parameter in Parameter::ALL {
        let (of_left, of_right) = (parameter.value(left), parameter.value(right));
        if of_left != of_right {
            let (field, sentence) = (parameter.name(), parameter.sentence(right));
            found.push(Difference { field, left: of_left, right: of_right, sentence });
        }
    }
    found
}

/// The direction that all threats face at the start. Fails if the rules are invalid.
pub fn first_direction(rules: &Rules) -> Result<Direction, WorldError> {
    let layout = crate::game::Layout::parse("PG").expect("a drawing");
    let world = World::new(&layout, rules)?;
    Ok(world.threat(&world.start(), 0).direction)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::game::View;

    #[test]
    fn variants_differ_from_the_server_in_as_many_parameters_as_asked() {
        let mut fields = std::collections::BTreeSet::new();
        for seed in 0..400 {
            let changes = 1 + seed as usize % 3;
            let rules = variant(seed, changes);
            assert_eq!(rules.validate(), Ok(()));
            let differences = differences(&Rules::BLITZ_2025, &rules);
            assert_eq!(differences.len(), changes, "seed {seed}: {differences:?}");
            assert_eq!(rules, variant(seed, changes));
            fields.extend(differences.into_iter().map(|difference| difference.field));
        }
        assert_eq!(fields.len(), Parameter::ALL.len(), "{fields:?}");
    }

    #[test]
    fn differences_are_sentences() {
        let rules =
            Rules { shark_view: View::Present, owl_window_ticks: 20, owl_minute_ticks: 40, ..Rules::BLITZ_2025 };
        let sentences: Vec<String> =
            differences(&Rules::BLITZ_2025, &rules).into_iter().map(|difference| difference.sentence).collect();
        let owl = "the owl looks in ticks 0 to 19 of every 40";
        assert_eq!(sentences, ["the shark uses the player's current tile", owl, owl]);
        assert_eq!(differences(&rules, &rules), []);
        let always = Rules { owl_window_ticks: 1, owl_minute_ticks: 1, ..Rules::BLITZ_2025 };
        assert_eq!(Parameter::OwlWindow.sentence(&always), "the owl always looks");
    }
}
