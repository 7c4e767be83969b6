use std::fmt;

use serde_json::Value;

use crate::game::{Direction, Personality, Rules, Style, World, WorldError};
use crate::search::Random;

/// A parameter's row in the table.
struct Row {
    field: &'static str,
    styles: &'static [Style],
    /// A sentence, in which the value replaces `{}`. Empty if the sentence is not that simple.
    sentence: &'static str,
    /// For a value that is a word: each word, with the text that replaces it in the sentence.
    words: &'static [(&'static str, &'static str)],
}

/// Lists the parameters: each with its field in a rules file, its [`Parameter::styles`], and a
/// sentence about its value.
macro_rules! parameters {
    ($($(#[$doc:meta])* $name:ident: $field:literal [$($style:ident)*] $sentence:literal $words:expr;)*) => {
        /// A value in the rules.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Parameter {
            /// True if stepping onto a threat's tile loses the game. A [`variant`] never changes it.
            NoJump,
            /// The period of a personality.
            PeriodTicks(Personality),
            /// The clock value (tick - 1) after which a personality begins. The lazy personality
            /// has none, because it begins in the first tick.
            PhaseClock(Personality),
            $($(#[$doc])* $name,)*
        }

        impl Parameter {
            /// Every parameter that a [`variant`] can change.
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

            fn row(self) -> Row {
                match self {
                    Self::NoJump => Row { field: "no_jump", styles: &[], sentence: "{}", words: &SWAPS },
                    Self::PeriodTicks(_) => Row { field: "period_ticks", styles: &[], sentence: "", words: &[] },
                    Self::PhaseClock(_) => Row { field: "phase_clocks", styles: &[], sentence: "", words: &[] },
                    $(Self::$name => Row {
                        field: $field, styles: &[$(Style::$style),*], sentence: $sentence, words: &$words,
                    },)*
                }
            }
        }
    };
}

const SWAPS: [(&str, &str); 2] = [
    ("true", "stepping onto a threat's tile loses the game"),
    ("false", "a player and a threat that swap tiles pass through each other"),
];
const VIEWS: [(&str, &str); 2] = [("stale", "tile from one tick ago"), ("present", "current tile")];
const STYLE_NAMES: [(&str, &str); 2] = [("server", "the styles"), ("unknown", "the styles by unknown words")];
const PERSONALITIES: [(&str, &str); 3] = [
    ("server", "the personalities"),
    ("missing", "no personalities"),
    ("mismatched", "personalities that do not match the periods"),
];

parameters! {
    /// The order in which a tile's options are listed.
    OptionOrder: "option_order" [Goldfish Bull Deer] "a tile's options are listed in the order {}" [];
    /// The order of directions on the shared path (owls, hawks and `MOVE_TO`).
    SharedPathOrder: "shared_path_order" [Owl Hawk] "the path of owls and hawks prefers {}, in this order" [];
    /// The order of directions on the shark path.
    SharkPathOrder: "shark_path_order" [Shark] "the shark's path prefers {}, in this order" [];
    /// The list from which a threat's first direction is picked.
    FirstDirection: "spawn_order" [] "" [];
    /// The seed of a threat's first pick.
    FirstSeed: "first_seed" [Goldfish Bull] "the first seed is {}" [];
    /// The factor by which the sine of a seed is multiplied for a pick.
    PickScale: "pick_scale" [Goldfish Bull] "picks multiply the sine of the seed by {}" [];
    /// The squared distance from the player up to which a deer heads for its spawn.
    DeerShyDistance: "deer_shy_distance_squared" [Deer]
        "the deer heads for its spawn within a squared distance of {} from the player" [];
    /// The player position that a deer uses.
    DeerView: "deer_view" [Deer] "the deer uses the player's {}" VIEWS;
    /// The player position that a shark uses.
    SharkView: "shark_view" [Shark] "the shark uses the player's {}" VIEWS;
    /// The player position that an owl looks at.
    OwlView: "owl_view" [Owl] "the owl uses the player's {}" VIEWS;
    /// The player position that a hawk looks for.
    HawkView: "hawk_view" [Hawk] "the hawk uses the player's {}" VIEWS;
    /// The cycle of the owls' looks, in ticks.
    OwlMinute: "owl_minute_ticks" [Owl] "" [];
    /// The number of ticks at the start of a cycle in which owls look.
    OwlWindow: "owl_window_ticks" [Owl] "" [];
    /// A hawk gets a post once it has waited for more moves than this number.
    HawkPatience: "hawk_patience_moves" [Hawk] "the hawk gets a post once it has waited for more moves than {}" [];
    /// The number of extra moves that a hawk waits at a post.
    HawkRest: "hawk_rest_moves" [Hawk] "the hawk waits for {} extra moves at a post" [];
    /// The maximum number of best intersections from which hawks pick their posts.
    HawkPosts: "hawk_posts" [Hawk] "the hawk's posts are the best intersections, at most {}" [];
    /// The words for the styles in messages.
    StyleNames: "wire.style_names" [] "messages name {}" STYLE_NAMES;
    /// The personalities in messages.
    Personalities: "wire.personalities" [] "messages report {}" PERSONALITIES;
}

impl Parameter {
    /// The name of the field in a rules file, such as `hawk_posts` or `wire.style_names`.
    pub fn name(self) -> String {
        let field = self.row().field;
        match self {
            Self::PeriodTicks(personality) | Self::PhaseClock(personality) => format!("{field}.{personality}"),
            _ => field.to_owned(),
        }
    }

    /// The styles whose moves show the parameter directly. Empty if all styles' moves do, or none.
    pub fn styles(self) -> &'static [Style] {
        self.row().styles
    }

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
            Some(Value::Bool(is_set)) => is_set.to_string(),
            Some(number) => number.as_f64().map_or_else(String::new, |number| number.to_string()),
            // The lazy phase begins with the game.
            None => "0".to_owned(),
        }
    }

    /// A sentence that explains the parameter's value in these rules.
    pub fn sentence(self, rules: &Rules) -> String {
        let (value, tiles) = (self.value(rules), rules.deer_shy_distance_squared.isqrt());
        match self {
            Self::PeriodTicks(personality) if value == "1" => format!("{personality} threats move every tick"),
            Self::PeriodTicks(personality) => format!("{personality} threats move every {value} ticks"),
            Self::PhaseClock(personality) => {
                let clock: u32 = value.parse().unwrap_or(0);
                format!("threats are {personality} from tick {} on", clock + 2)
            }
            Self::FirstDirection => match first_direction(rules) {
                Ok(direction) => format!("threats spawn facing {direction}"),
                Err(_) => format!("a threat's first direction is picked from {value}"),
            },
            Self::DeerShyDistance if tiles.pow(2) == rules.deer_shy_distance_squared => {
                format!("the deer heads for its spawn within a distance of {tiles} from the player")
            }
            Self::OwlMinute | Self::OwlWindow => match (rules.owl_window_ticks, rules.owl_minute_ticks) {
                (0, _) => "the owl never looks".to_owned(),
                (window, minute) if window == minute => "the owl always looks".to_owned(),
                (1, minute) => format!("the owl looks in the first of every {minute} ticks"),
                (window, minute) => format!("the owl looks in ticks 0 to {} of every {minute}", window - 1),
            },
            _ => {
                let Row { sentence, words, .. } = self.row();
                let text = words.iter().find(|(word, _)| *word == value).map_or(&*value, |(_, text)| text);
                sentence.replace("{}", text)
            }
        }
    }

    /// The rules with a random value of the parameter; `None` if they are invalid.
    fn draw(self, rules: &Rules, random: &mut Random) -> Option<Rules> {
        let mut between = |low: i64, high: i64| low + random.below((high - low) as usize + 1) as i64;
        let window_ticks = i64::from(rules.owl_window_ticks);
        let mut changed = serde_json::to_value(rules).ok()?;
        match (self, changed.pointer_mut(&self.pointer())?) {
            (Self::FirstDirection, Value::Array(order)) => order.swap(0, between(1, 3) as usize),
            (_, Value::Array(order)) => random.shuffle(order),
            (Self::StyleNames, word) => *word = "unknown".into(),
            (Self::Personalities, word) => *word = PERSONALITIES[between(1, 2) as usize].0.into(),
            (_, word @ Value::String(_)) => *word = VIEWS[between(0, 1) as usize].0.into(),
            (Self::PeriodTicks(_), ticks) => *ticks = between(1, 7).into(),
            (Self::PhaseClock(_), clock) => *clock = (clock.as_i64()? + between(-90, 90)).max(0).into(),
            (Self::FirstSeed, seed) => *seed = between(-1000, 1000).into(),
            (Self::PickScale, scale) => {
                let digits = between(10, 9999);
                *scale = if digits < 1000 { digits } else { digits * 10 }.into();
            }
            (Self::DeerShyDistance, squared) => *squared = between(0, 11).pow(2).into(),
            (Self::OwlMinute, ticks) => *ticks = between(window_ticks.max(12), window_ticks.max(120)).into(),
            (Self::OwlWindow, ticks) => *ticks = between(1, rules.owl_minute_ticks.into()).into(),
            (Self::HawkPosts, count) => *count = between(1, 20).into(),
            (_, moves) => *moves = between(0, 12).into(),
        }
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
    let mut random = Random::from_seed(seed);
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
    let parameters = std::iter::once(Parameter::NoJump).chain(Parameter::ALL);
    let difference = |parameter: Parameter| {
        let (of_left, of_right) = (parameter.value(left), parameter.value(right));
        (of_left != of_right).then(|| Difference {
            field: parameter.name(),
            left: of_left,
            right: of_right,
            sentence: parameter.sentence(right),
        })
    };
    parameters.filter_map(difference).collect()
}

/// The direction that all threats face at the start. Fails if the rules are invalid.
#[doc(hidden)]
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
