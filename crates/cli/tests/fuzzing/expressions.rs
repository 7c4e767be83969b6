//! Fuzzes the parser of expressions. A valid expression must round-trip, and every 50th is run as a
//! planner for one decision. Any other text must give an error of one line, with a position in the
//! text or at its end.

use std::fmt;
use std::time::{Duration, Instant};

use getaway::game::{Layout, Rules, World};
use getaway::planner::{by_name, names};
use getaway::search::{Budget, Expression};
use getaway_reference::lockstep::Dice;

use super::clock::thread_time;
use super::{catch_panic, damage, noise};

const DECISION_EVERY: u64 = 50;
const BUDGET: Duration = Duration::from_millis(2);
const OVERRUN_MAX: Duration = Duration::from_millis(5);
/// Maximum number of trials of a decision. With a real slowdown, every trial is late.
const TRIALS: usize = 3;

#[derive(Default)]
pub struct Counts {
    pub texts: u64,
    pub expressions: u64,
    pub decisions: u64,
    pub overrun_max: Duration,
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { texts, expressions, decisions, overrun_max } = self;
        let worst_ms = overrun_max.as_secs_f64() * 1e3;
        write!(
            f,
            "{texts} texts: {expressions} expressions, {decisions} decisions, at most {worst_ms:.2} ms over the budget"
        )
    }
}

/// Tests `count` generated texts. If `is_timed` is set, late decisions are failures.
pub fn run(seed: u64, count: u64, is_timed: bool) -> Result<Counts, String> {
    let layout =
        Layout::parse("#########\n#P......#\n#.##.##.#\n#.#...#.#\n#...#..S#\n#########").map_err(|e| e.to_string())?;
    let world = World::new(&layout, &Rules::BLITZ_2025).map_err(|e| e.to_string())?;
    let mut counts = Counts::default();
    for number in seed..seed.saturating_add(count) {
        let text = text(&mut Dice::from_seed(number));
        let fail = |what: String| format!("text {number}, {text:.200?}: {what}");
        counts.texts += 1;
        if catch_panic("the reader", || check(&text)).and_then(|checked| checked).map_err(fail)? {
            counts.expressions += 1;
            if counts.expressions % DECISION_EVERY == 1 {
                let over = catch_panic("the planner", || overrun(&text, number, &world)).map_err(fail)?;
                if is_timed && over > OVERRUN_MAX {
                    return Err(fail(format!("at least {over:?} over the budget in each of {TRIALS} trials")));
                }
                counts.decisions += 1;
                counts.overrun_max = counts.overrun_max.max(over);
            }
        }
    }
    Ok(counts)
}

fn check(text: &str) -> Result<bool, String> {
    match text.parse::<Expression>() {
        Ok(expression) if expression.components().len() > Expression::DEPTH_MAX => {
            Err("deeper than the limit".to_owned())
        }
        Ok(expression) if expression.to_string().parse().as_ref() != Ok(&expression) => {
            Err("does not round-trip".to_owned())
        }
        Ok(_) => Ok(true),
        Err(error) if error.position() > text.chars().count() => {
            Err(format!("an error position beyond the end: {error}"))
        }
        Err(error) if error.to_string().contains('\n') => Err(format!("a multi-line error: {error}")),
        Err(_) if names().any(|(name, _)| text.trim_start().starts_with(name)) => Ok(false),
        Err(_) if by_name(text, 1).is_ok() => Err("not an expression, but accepted as a planner".to_owned()),
        Err(_) => Ok(false),
    }
}

fn overrun(text: &str, seed: u64, world: &World) -> Duration {
    let mut least = Duration::MAX;
    for _ in 0..TRIALS {
        let Ok(mut planner) = by_name(text, seed) else { return Duration::ZERO };
        let (own_start, start) = (thread_time(), Instant::now());
        let limit = Budget::until(start + BUDGET);
        planner.decide(world, &world.start(), limit).expect("a move");
        least = least.min((thread_time() - own_start).saturating_sub(BUDGET));
        if least <= OVERRUN_MAX {
            break;
        }
    }
    least
}

fn text(dice: &mut Dice) -> String {
    match dice.below(10) {
        0 => String::from_utf8_lossy(&noise(dice, 200)).into_owned(),
        1 => words(dice),
        2 => {
            let many = dice.pick(&[30, 31, 32, 33, 500, 1300]);
            let wrap = dice.pick(&["step(", "lookahead(", "repeat(2,", "repeat(1000000000,", "select(0.5,", "("]);
            format!("{}simulate{}", wrap.repeat(many), ")".repeat(many))
        }
        3 => {
            let digits = dice.pick(&["9", "0", "1e", ".", "-", "é", "٣"]).repeat(1 + dice.below(5000));
            format!("{}({digits}, simulate)", dice.pick(&["repeat", "select"]))
        }
        4..=6 => valid(dice),
        _ => {
            let mut bytes = valid(dice).into_bytes();
            (0..1 + dice.below(3)).for_each(|_| damage(&mut bytes, dice));
            String::from_utf8_lossy(&bytes).into_owned()
        }
    }
}

fn words(dice: &mut Dice) -> String {
    const WORDS: [&str; 18] = [
        "simulate",
        "repeat",
        "lookahead",
        "step",
        "select",
        "random",
        "greedy",
        "(",
        "(",
        ")",
        ")",
        ",",
        " ",
        "1",
        "0.5",
        "1e6",
        "1000000000",
        "1000001",
    ];
    (0..dice.below(24)).map(|_| dice.pick(&WORDS)).collect()
}

fn valid(dice: &mut Dice) -> String {
    let depth = if dice.one_in(4) { dice.below(Expression::DEPTH_MAX) } else { dice.below(6) };
    let mut text = String::new();
    for _ in 0..depth {
        text += &match dice.below(4) {
            0 => "step(".to_owned(),
            1 => "lookahead(".to_owned(),
            2 => format!("repeat({}, ", dice.pick(&[1, 2, 10, 100, 1_000_000_000])),
            _ => format!("select({}, ", dice.pick(&["0", "0.5", "1.41", "1000000", "1e-300", "1e6"])),
        };
    }
    text += dice.pick(&[
        "simulate",
        "simulate(random)",
        "simulate(greedy)",
        "simulate(greedy, 1000000)",
        "simulate(random, 1)",
    ]);
    text + &")".repeat(depth)
}
