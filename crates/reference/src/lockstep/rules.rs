use serde_json::{Map, Value};

use getaway::game::{Direction, PeriodTicks, Personalities, PhaseClocks, Rules, StyleNames, View, Wire};

use super::Dice;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RulesDraw {
    /// The server's rules, sometimes in the no-jump variant.
    Server,
    /// Random rules that [`Rules::validate`] accepts.
    Any,
}

impl RulesDraw {
    pub(super) fn draw(self, dice: &mut Dice) -> Rules {
        let no_jump = dice.one_in(3);
        match self {
            Self::Server => Rules { no_jump, ..Rules::BLITZ_2025 },
            Self::Any => Rules { no_jump, ..random_rules(dice) },
        }
    }
}

/// Scales whose random numbers have many, few or no fractional bits, or can round up to 1.
const PICK_SCALES: [f64; 8] = [1.0, 3.5, -12.0, 100.0, -9_999.5, 1e15, 0.0, -1e-30];

/// The fields that `draw_others` does not change, because they are drawn individually.
const OWN_DRAWS: [&str; 20] = [
    "no_jump",
    "period_ticks",
    "phase_clocks",
    "option_order",
    "shared_path_order",
    "shark_path_order",
    "spawn_order",
    "first_seed",
    "pick_scale",
    "deer_shy_distance_squared",
    "deer_view",
    "shark_view",
    "owl_minute_ticks",
    "owl_window_ticks",
    "owl_view",
    "hawk_patience_moves",
    "hawk_rest_moves",
    "hawk_posts",
    "hawk_view",
    "wire",
];

/// Returns random rules. Each field in `OWN_DRAWS` except `no_jump` is redrawn with the same
/// probability, which is 1/8, 1/2 or 7/8. With few changes, the cause of a divergence is easier to
/// find.
pub fn random_rules(dice: &mut Dice) -> Rules {
    let blitz = Rules::BLITZ_2025;
    let mut rules = blitz;
    let changed_eighths = dice.pick(&[1, 4, 7]);
    let changes = |dice: &mut Dice| dice.below(8) < changed_eighths;
    if changes(dice) {
        rules.period_ticks = period_ticks(dice);
    }
    if changes(dice) {
        rules.phase_clocks = phase_clocks(dice);
    }
    let orders =
        [&mut rules.option_order, &mut rules.shared_path_order, &mut rules.shark_path_order, &mut rules.spawn_order];
    for order in orders {
        if changes(dice) {
            *order = Direction::ALL;
            dice.shuffle(order);
        }
    }
    if changes(dice) {
        rules.first_seed = match dice.below(4) {
            0 => dice.pick(&[1, -1, 1_000_000_000, -1_000_000_000]),
            _ => dice.between(-3000, 3000),
        };
    }
    if changes(dice) {
        rules.pick_scale = dice.pick(&PICK_SCALES);
    }
    if changes(dice) {
        rules.deer_shy_distance_squared = dice.pick(&[0, 1, 2, 9, 37, 100, u32::MAX]);
    }
    if changes(dice) {
        let minute = dice.between(1, 120) as u16;
        rules.owl_minute_ticks = dice.pick(&[minute, minute, 1, 60, u16::MAX]);
        let window = dice.between(0, rules.owl_minute_ticks.into()) as u16;
        rules.owl_window_ticks = dice.pick(&[window, window, 0, 1, rules.owl_minute_ticks]);
    }
    if changes(dice) {
        rules.hawk_patience_moves = dice.pick(&[0, 1, 4, 6, 12, 100]);
    }
    if changes(dice) {
        rules.hawk_rest_moves = dice.pick(&[0, 1, 4, 6, 12, 100]);
    }
    if changes(dice) {
        rules.hawk_posts = dice.pick(&[0, 1, 2, 3, 11, 30, u16::MAX]);
    }
    for view in [&mut rules.deer_view, &mut rules.shark_view, &mut rules.owl_view, &mut rules.hawk_view] {
        if changes(dice) {
            *view = dice.pick(&[View::Stale, View::Present]);
        }
    }
    if changes(dice) {
        let style_names = dice.pick(&[StyleNames::Server, StyleNames::Unknown]);
        let personalities = dice.pick(&[Personalities::Server, Personalities::Missing, Personalities::Mismatched]);
        rules.wire = Wire { style_names, personalities };
    }
    draw_others(rules, dice)
}

/// Randomly changes the fields that are not in `OWN_DRAWS`, so that a rule without its own draw is
/// fuzzed as well.
fn draw_others(mut rules: Rules, dice: &mut Dice) -> Rules {
    let names = fields(&rules).into_iter().map(|(name, _)| name).filter(|name| !OWN_DRAWS.contains(&&**name));
    for name in names.collect::<Vec<_>>() {
        if dice.one_in(2) {
            continue;
        }
        let mut changed = fields(&rules);
        let field = &mut changed[&name];
        match field {
            Value::Bool(flag) => *flag = !*flag,
            Value::Number(_) => *field = dice.between(0, 12).into(),
            Value::Array(order) => dice.shuffle(order),
            Value::Null | Value::String(_) | Value::Object(_) => panic!("{name}: expected an entry in OWN_DRAWS"),
        }
        let changed: Rules = serde_json::from_value(Value::Object(changed)).expect("values of the same kinds");
        if changed.validate().is_ok() {
            rules = changed;
        }
    }
    rules
}

fn fields(rules: &Rules) -> Map<String, Value> {
    match serde_json::to_value(rules) {
        Ok(Value::Object(fields)) => fields,
        other => panic!("rules: expected a JSON object, found {other:?}"),
    }
}

fn period_ticks(dice: &mut Dice) -> PeriodTicks {
    let mut period = || match dice.below(20) {
        0 => dice.between(1, 255) as u8,
        1..4 => dice.pick(&[1, 255]),
        _ => dice.between(1, 7) as u8,
    };
    PeriodTicks { lazy: period(), tease: period(), awake: period(), hungry: period(), insane: period() }
}

fn phase_clocks(dice: &mut Dice) -> PhaseClocks {
    let longest = dice.pick(&[0, 10, 300, 1200, 3000, u16::MAX]);
    let mut clocks = [0; 4].map(|_: u16| dice.between(0, longest.into()) as u16);
    clocks.sort_unstable();
    let [tease, awake, hungry, insane] = clocks;
    PhaseClocks { tease, awake, hungry, insane }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_rules_are_playable_and_change_every_field() {
        let all: Vec<Rules> = (0..500).map(|seed| random_rules(&mut Dice::from_seed(seed))).collect();
        for rules in &all {
            assert_eq!(rules.validate(), Ok(()), "{rules:?}");
        }
        let blitz = fields(&Rules::BLITZ_2025);
        for (name, value) in blitz.iter().filter(|(name, _)| *name != "no_jump") {
            let changed = all.iter().filter(|rules| fields(rules)[name] != *value).count();
            assert!((100..450).contains(&changed), "{name} is changed in {changed} of 500 draws");
        }
    }
}
