//! The rules of the game as one value. In JSON, a missing field takes the server's value.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::{Direction, Personality};
use crate::files::object;

/// The rules of a game. To change some, write `Rules { hawk_posts: 3, ..Rules::BLITZ_2025 }`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Rules {
    /// If true, the player loses as soon as it steps onto a threat's tile, before the threats move.
    /// If false, as on the server, the player and a threat can swap tiles without a catch.
    pub no_jump: bool,
    /// The ticks from one move of the threats to the next, by personality.
    #[serde(deserialize_with = "object")]
    pub period_ticks: PeriodTicks,
    /// For each personality except lazy, the clock value after which it begins.
    #[serde(deserialize_with = "object")]
    pub phase_clocks: PhaseClocks,
    /// The order of a tile's open directions. It affects random picks and how deer break ties.
    pub option_order: [Direction; 4],
    /// The order in which owls, hawks and `MOVE_TO` look for a neighbour nearer to their target.
    pub shared_path_order: [Direction; 4],
    /// The order in which the shark's breadth-first search visits neighbours.
    pub shark_path_order: [Direction; 4],
    /// The list from which a threat picks its first direction.
    pub spawn_order: [Direction; 4],
    /// The seed of a threat's first pick, from -1,000,000,000 to 1,000,000,000. Each pick adds 1.
    pub first_seed: i32,
    /// A pick uses `x - floor(x)`, where `x` is `pick_scale * sin(seed)`. Must be finite.
    pub pick_scale: f64,
    /// A deer's target is its spawn, not the player, if the squared straight-line distance between
    /// the deer and the player is at most this value.
    pub deer_shy_distance_squared: u32,
    /// The player position that deer react to.
    pub deer_view: View,
    /// The player position that sharks chase.
    pub shark_view: View,
    /// The length of the owls' cycles in ticks. The first cycle starts at tick 1. At least 1.
    pub owl_minute_ticks: u16,
    /// In this many ticks at the start of each cycle, owls look at the player when they move. At
    /// most `owl_minute_ticks`.
    pub owl_window_ticks: u16,
    /// The player position that an owl remembers from a look.
    pub owl_view: View,
    /// A hawk picks a post when its idle rounds (see
    /// [`Threat::idle_rounds`](super::Threat::idle_rounds)) exceed this number. At most 100.
    pub hawk_patience_moves: u8,
    /// The number of extra moves that a hawk waits at a post: its idle rounds start at minus this
    /// number. At most 100.
    pub hawk_rest_moves: u8,
    /// A hawk picks its posts from at most this many intersections: see
    /// [`World::best_intersections`](super::World::best_intersections).
    pub hawk_posts: u16,
    /// The player position that a hawk looks for.
    pub hawk_view: View,
    /// The words in messages, which do not affect the game.
    #[serde(deserialize_with = "object")]
    pub wire: Wire,
}

/// The words for styles and personalities in messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Wire {
    /// The words for the styles.
    pub style_names: StyleNames,
    /// The reported personalities.
    pub personalities: Personalities,
}

/// The words for the styles in messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StyleNames {
    /// The server's words.
    Server,
    /// One meaningless word for each style.
    Unknown,
}

/// The personalities in messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Personalities {
    /// The threats' true personalities.
    Server,
    /// No personality.
    Missing,
    /// Wrong personalities.
    Mismatched,
}

/// The ticks from one move of the threats to the next, by personality. Each is at least 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PeriodTicks {
    /// The period of lazy threats.
    pub lazy: u8,
    /// The period of teasing threats.
    pub tease: u8,
    /// The period of awake threats.
    pub awake: u8,
    /// The period of hungry threats.
    pub hungry: u8,
    /// The period of insane threats.
    pub insane: u8,
}

impl PeriodTicks {
    /// The period of a personality.
    pub const fn of(&self, personality: Personality) -> u8 {
        match personality {
            Personality::Lazy => self.lazy,
            Personality::Tease => self.tease,
            Personality::Awake => self.awake,
            Personality::Hungry => self.hungry,
            Personality::Insane => self.insane,
        }
    }
}

/// The clock values (tick - 1) after which the personalities begin, in ascending order. While the
/// clock is at most `tease`, threats are lazy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PhaseClocks {
    /// Threats tease once the clock is above this value.
    pub tease: u16,
    /// Threats are awake once the clock is above this value.
    pub awake: u16,
    /// Threats are hungry once the clock is above this value.
    pub hungry: u16,
    /// Threats are insane once the clock is above this value.
    pub insane: u16,
}

impl PhaseClocks {
    /// Returns the personality at a clock value (tick - 1).
    pub const fn personality(&self, clock: u16) -> Personality {
        match clock {
            _ if clock > self.insane => Personality::Insane,
            _ if clock > self.hungry => Personality::Hungry,
            _ if clock > self.awake => Personality::Awake,
            _ if clock > self.tease => Personality::Tease,
            _ => Personality::Lazy,
        }
    }
}

/// The player position that a threat reacts to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum View {
    /// The player's position at the end of the previous tick. In the first tick, (-1, -1).
    Stale,
    /// The player's position after its move in the current tick.
    Present,
}

/// The error for invalid rules.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("rules: {field} is {found}: expected {expected}")]
#[non_exhaustive]
pub struct RulesError {
    /// The field's name in JSON.
    pub field: &'static str,
    /// The value found.
    pub found: String,
    /// The expected value.
    pub expected: &'static str,
}

/// Maximum absolute value of `first_seed`. Every seed of a game then fits into an `i32`.
const FIRST_SEED_MAX: i32 = 1_000_000_000;
/// Limit on a hawk's patience and on its rest, so that idle rounds fit into an `i8`.
const HAWK_MOVES_MAX: u8 = 100;

impl Rules {
    /// The rules of the server at Blitz 2025, Coveo's programming competition.
    pub const BLITZ_2025: Self = Self {
        no_jump: false,
        period_ticks: PeriodTicks { lazy: 5, tease: 4, awake: 3, hungry: 2, insane: 1 },
        phase_clocks: PhaseClocks { tease: 300, awake: 500, hungry: 700, insane: 900 },
        option_order: [Direction::Left, Direction::Right, Direction::Up, Direction::Down],
        shared_path_order: [Direction::Left, Direction::Right, Direction::Up, Direction::Down],
        shark_path_order: [Direction::Right, Direction::Down, Direction::Up, Direction::Left],
        spawn_order: [Direction::Up, Direction::Down, Direction::Left, Direction::Right],
        first_seed: 0,
        pick_scale: 10_000.0,
        deer_shy_distance_squared: 36,
        deer_view: View::Stale,
        shark_view: View::Stale,
        owl_minute_ticks: 60,
        owl_window_ticks: 10,
        owl_view: View::Present,
        hawk_patience_moves: 5,
        hawk_rest_moves: 5,
        hawk_posts: 10,
        hawk_view: View::Present,
        wire: Wire { style_names: StyleNames::Server, personalities: Personalities::Server },
    };

    /// The no-jump variant: the server's rules, except that `no_jump` is true.
    pub const NO_JUMP: Self = Self { no_jump: true, ..Self::BLITZ_2025 };

    pub(super) fn owls_look_at(&self, clock: u16) -> bool {
        clock % self.owl_minute_ticks.max(1) < self.owl_window_ticks
    }

    pub(super) fn clamp_idle_rounds(&self, rounds: i8) -> i8 {
        rounds.clamp(-(self.hawk_rest_moves as i8), self.hawk_patience_moves as i8)
    }

    /// Checks that every field is valid.
    ///
    /// # Errors
    /// If a field is invalid. The error names the first invalid field.
    pub fn validate(&self) -> Result<(), RulesError> {
        for personality in Personality::ALL {
            let period_ticks = self.period_ticks.of(personality);
            check(period_ticks >= 1, "period_ticks", format!("{period_ticks} ({personality})"), "1 to 255 ticks")?;
        }
        let PhaseClocks { tease, awake, hungry, insane } = self.phase_clocks;
        let clocks = [tease, awake, hungry, insane];
        check(clocks.is_sorted(), "phase_clocks", format!("{clocks:?}"), "an ascending order")?;
        let orders = [
            ("option_order", self.option_order),
            ("shared_path_order", self.shared_path_order),
            ("shark_path_order", self.shark_path_order),
            ("spawn_order", self.spawn_order),
        ];
        for (field, order) in orders {
            let is_permutation = Direction::ALL.iter().all(|direction| order.contains(direction));
            let found = order.map(Direction::name).join(", ");
            check(is_permutation, field, found, "each of the four directions once")?;
        }
        let is_exact = (-FIRST_SEED_MAX..=FIRST_SEED_MAX).contains(&self.first_seed);
        check(is_exact, "first_seed", self.first_seed, "-1000000000 to 1000000000")?;
        check(self.pick_scale.is_finite(), "pick_scale", self.pick_scale, "a finite number")?;
        check(self.owl_minute_ticks >= 1, "owl_minute_ticks", self.owl_minute_ticks, "at least 1")?;
        let fits = self.owl_window_ticks <= self.owl_minute_ticks;
        check(fits, "owl_window_ticks", self.owl_window_ticks, "at most owl_minute_ticks")?;
        let (patience, rest) = (self.hawk_patience_moves, self.hawk_rest_moves);
        check(patience <= HAWK_MOVES_MAX, "hawk_patience_moves", patience, "at most 100")?;
        check(rest <= HAWK_MOVES_MAX, "hawk_rest_moves", rest, "at most 100")
    }
}

fn check(holds: bool, field: &'static str, found: impl ToString, expected: &'static str) -> Result<(), RulesError> {
    if holds { Ok(()) } else { Err(RulesError { field, found: found.to_string(), expected }) }
}

/// Serde functions that store rules in two fields of a larger object: the flag `no_jump`, and, if
/// any other rule differs from the server's, the complete object `rules`. To use them, write
/// `#[serde(flatten, with = "getaway::game::rules_fields")]`.
#[doc(hidden)]
pub mod rules_fields {
    use serde::de::Error as _;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::Rules;
    use crate::files::Object;

    #[derive(Serialize)]
    struct Fields<'a> {
        no_jump: bool,
        #[serde(skip_serializing_if = "Option::is_none")]
        rules: Option<&'a Rules>,
    }

    #[derive(Deserialize)]
    struct Found {
        #[serde(default)]
        no_jump: NoJump,
        rules: Option<Object<Rules>>,
    }

    /// The value of the field `no_jump`: a flag, or, in older files, the rules object.
    #[derive(Deserialize)]
    #[serde(untagged, expecting = "no_jump: expected true or false")]
    enum NoJump {
        Flag(bool),
        Rules(Box<Object<Rules>>),
    }

    impl Default for NoJump {
        fn default() -> Self {
            Self::Flag(false)
        }
    }

    /// Writes the rules. Fails only if the serialiser fails.
    pub fn serialize<S: Serializer>(rules: &Rules, serializer: S) -> Result<S::Ok, S::Error> {
        let is_variant = *rules == Rules { no_jump: rules.no_jump, ..Rules::BLITZ_2025 };
        Fields { no_jump: rules.no_jump, rules: (!is_variant).then_some(rules) }.serialize(serializer)
    }

    /// Reads the rules, with the server's values for missing fields. Fails if the flag `no_jump` is
    /// set and the object `rules` exists and does not set it. Does not call [`Rules::validate`].
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Rules, D::Error> {
        let Found { no_jump, rules } = Found::deserialize(deserializer)?;
        Ok(match (rules, no_jump) {
            (Some(Object(Rules { no_jump: false, .. })), NoJump::Flag(true)) => {
                return Err(D::Error::custom("no_jump: expected false, as in rules, found true"));
            }
            (Some(Object(rules)), _) => rules,
            (None, NoJump::Rules(rules)) => rules.0,
            (None, NoJump::Flag(no_jump)) => Rules { no_jump, ..Rules::BLITZ_2025 },
        })
    }
}

impl Default for Rules {
    fn default() -> Self {
        Self::BLITZ_2025
    }
}

impl Default for PeriodTicks {
    fn default() -> Self {
        Rules::BLITZ_2025.period_ticks
    }
}

impl Default for PhaseClocks {
    fn default() -> Self {
        Rules::BLITZ_2025.phase_clocks
    }
}

impl Default for Wire {
    fn default() -> Self {
        Rules::BLITZ_2025.wire
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_fields_are_the_servers() {
        let rules: Rules = serde_json::from_str("{}").unwrap();
        assert_eq!(rules, Rules::BLITZ_2025);
        let rules: Rules =
            serde_json::from_str(r#"{"no_jump": true, "period_ticks": {"lazy": 7}, "owl_view": "stale"}"#).unwrap();
        let period_ticks = PeriodTicks { lazy: 7, ..PeriodTicks::default() };
        assert_eq!(rules, Rules { period_ticks, owl_view: View::Stale, ..Rules::NO_JUMP });
    }

    #[test]
    fn rules_round_trip_through_json() {
        let rules = Rules {
            shark_path_order: [Direction::Up, Direction::Left, Direction::Down, Direction::Right],
            first_seed: -12,
            pick_scale: 0.1 + 0.2,
            hawk_view: View::Stale,
            ..Rules::NO_JUMP
        };
        let json = serde_json::to_string(&rules).unwrap();
        assert_eq!(serde_json::from_str::<Rules>(&json).unwrap(), rules, "{json}");
    }

    #[test]
    fn rules_object_is_written_only_if_more_than_the_flag_differs() {
        #[derive(Debug, PartialEq, Serialize, Deserialize)]
        struct Saved {
            #[serde(flatten, with = "rules_fields")]
            rules: Rules,
        }
        let other = Rules { hawk_posts: 3, ..Rules::NO_JUMP };
        let object = serde_json::to_string(&other).unwrap();
        for (rules, json) in [
            (Rules::BLITZ_2025, r#"{"no_jump":false}"#.to_owned()),
            (Rules::NO_JUMP, r#"{"no_jump":true}"#.to_owned()),
            (other, format!(r#"{{"no_jump":true,"rules":{object}}}"#)),
        ] {
            assert_eq!(serde_json::to_string(&Saved { rules }).unwrap(), json);
            assert_eq!(serde_json::from_str::<Saved>(&json).unwrap(), Saved { rules });
        }
        for (rules, older) in [(other, format!(r#"{{"no_jump":{object}}}"#)), (Rules::BLITZ_2025, "{}".to_owned())] {
            assert_eq!(serde_json::from_str::<Saved>(&older).unwrap(), Saved { rules });
        }
        let error = serde_json::from_str::<Saved>(r#"{"no_jump":1}"#).unwrap_err().to_string();
        assert!(error.starts_with("no_jump: expected true or false"), "{error}");
    }

    #[test]
    fn unknown_fields_are_rejected() {
        let error = |json| serde_json::from_str::<Rules>(json).unwrap_err().to_string();
        assert!(error(r#"{"noJump": true}"#).contains("unknown field `noJump`, expected one of `no_jump`"));
        assert!(error(r#"{"period_ticks": {"idle": 3}}"#).contains("unknown field `idle`"));
        assert!(error(r#"{"owl_view": "blind"}"#).contains("unknown variant `blind`"));
    }

    #[test]
    fn rules_out_of_range_name_the_field_and_what_is_expected() {
        let error = |rules: Rules| rules.validate().unwrap_err().to_string();
        let blitz = Rules::BLITZ_2025;
        assert_eq!(blitz.validate(), Ok(()));
        assert_eq!(
            error(Rules { period_ticks: PeriodTicks { awake: 0, ..blitz.period_ticks }, ..blitz }),
            "rules: period_ticks is 0 (awake): expected 1 to 255 ticks"
        );
        assert_eq!(
            error(Rules { phase_clocks: PhaseClocks { awake: 299, ..blitz.phase_clocks }, ..blitz }),
            "rules: phase_clocks is [300, 299, 700, 900]: expected an ascending order"
        );
        assert_eq!(
            error(Rules { spawn_order: [Direction::Up; 4], ..blitz }),
            "rules: spawn_order is up, up, up, up: expected each of the four directions once"
        );
        assert_eq!(
            error(Rules { first_seed: i32::MIN, ..blitz }),
            "rules: first_seed is -2147483648: expected -1000000000 to 1000000000"
        );
        assert_eq!(
            error(Rules { pick_scale: f64::NAN, ..blitz }),
            "rules: pick_scale is NaN: expected a finite number"
        );
        assert_eq!(
            error(Rules { owl_minute_ticks: 0, owl_window_ticks: 0, ..blitz }),
            "rules: owl_minute_ticks is 0: expected at least 1"
        );
        assert_eq!(
            error(Rules { owl_window_ticks: 61, ..blitz }),
            "rules: owl_window_ticks is 61: expected at most owl_minute_ticks"
        );
        assert_eq!(
            error(Rules { hawk_rest_moves: 101, ..blitz }),
            "rules: hawk_rest_moves is 101: expected at most 100"
        );
    }
}
