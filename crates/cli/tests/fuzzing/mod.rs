//! Fuzzers and generators of their input. The input of a case depends only on its number, so the
//! case can run alone.

#![allow(dead_code, reason = "each program that includes this uses only a part of it")]

use std::panic::{AssertUnwindSafe, catch_unwind};

use getaway_reference::lockstep::Dice;
use serde_json::{Value, json};

#[path = "../../../../tests/common/clock.rs"]
mod clock;
pub mod expressions;
pub mod files;
pub mod frames;
pub mod messages;
pub mod pictures;

pub fn catch_panic<T>(what: &str, call: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(call)).map_err(|_| format!("{what} panicked"))
}

pub fn noise(dice: &mut Dice, bytes_max: usize) -> Vec<u8> {
    (0..dice.below(bytes_max + 1)).map(|_| dice.below(256) as u8).collect()
}

pub fn damage(bytes: &mut Vec<u8>, dice: &mut Dice) {
    if bytes.is_empty() {
        return;
    }
    let at = dice.below(bytes.len());
    let end = (at + 1 + dice.below(16)).min(bytes.len());
    match dice.below(6) {
        0 => bytes[at] ^= 1 << dice.below(8),
        1 => bytes[at] = dice.pick(&[0, 1, 16, 127, 128, 255]),
        2 => bytes.truncate(at),
        3 => drop(bytes.drain(at..end)),
        4 => {
            let twice = bytes[at..end].to_vec();
            bytes.splice(at..at, twice);
        }
        _ => {
            let noise: Vec<u8> = (0..end - at).map(|_| dice.below(256) as u8).collect();
            bytes.splice(at..end, noise);
        }
    }
}

pub fn mutate(json: &mut Value, dice: &mut Dice) {
    match json {
        Value::Array(list) if !list.is_empty() && !dice.one_in(8) => {
            let place = dice.below(list.len());
            match dice.below(12) {
                0 => drop(list.remove(place)),
                1 => list.push(list[place].clone()),
                2 => {
                    let other = dice.below(list.len());
                    list.swap(place, other);
                }
                _ => mutate(&mut list[place], dice),
            }
        }
        Value::Object(object) if !object.is_empty() && !dice.one_in(12) => {
            let place = dice.below(object.len());
            let key = object.keys().nth(place).cloned().unwrap_or_default();
            if dice.one_in(12) {
                object.remove(&key);
            } else if let Some(value) = object.get_mut(&key) {
                mutate(value, dice);
            }
        }
        Value::Number(number) if !dice.one_in(3) => {
            *json = json!(number.as_i64().unwrap_or(0).saturating_add(dice.between(-2, 2).into()));
        }
        other => *other = arbitrary_value(dice),
    }
}

fn arbitrary_value(dice: &mut Dice) -> Value {
    match dice.below(22) {
        0 => json!(null),
        1 => json!(-1),
        2 => json!(0),
        3 => json!(1),
        4 => json!(2000),
        5 => json!(2001),
        6 => json!(4_294_967_295_u32),
        7 => json!(i64::MIN),
        8 => json!(u64::MAX),
        9 => json!(-2_147_483_648),
        10 => json!(2_147_483_647),
        11 => json!(7.0),
        12 => json!(1e300),
        13 => json!("EMPTY"),
        14 => json!("WALL"),
        15 => json!("ghost"),
        16 => json!("left"),
        17 => json!("x".repeat(1 + dice.below(5000))),
        18 => json!([]),
        19 => json!({}),
        20 => json!(true),
        _ => json!({"x": dice.between(-3, 30), "y": dice.between(-3, 30)}),
    }
}

/// Returns noise, or valid or broken JSON, for example with deep nesting, long numbers, duplicate
/// keys or odd escapes.
pub fn json_like(dice: &mut Dice) -> Vec<u8> {
    let many = dice.pick(&[1, 2, 100, 127, 128, 129, 1000, 20_000]);
    let text = match dice.below(16) {
        0 => "[".repeat(many),
        1 => format!("{}{}", "[".repeat(many), "]".repeat(many)),
        2 => format!("{}null{}", "{\"map\":".repeat(many), "}".repeat(many)),
        3 => "9".repeat(many),
        4 => format!("{{\"tick\":1e{}}}", "9".repeat(many.min(1000))),
        5 => format!("{{\"tick\":-0.{}1}}", "0".repeat(many)),
        6 => format!("\"{}\"", dice.pick(&["\\ud800", "\\u0000", "\\q", "\u{10ffff}", "\u{202e}", "é"]).repeat(many)),
        7 => format!("{{\"{0}\":1,\"{0}\":2}}", "type".repeat(many)),
        8 => format!("{{\"tick\":1,{}\"tick\":2}}", "\"tick\":1,".repeat(many)),
        9 => dice
            .pick(&["", " ", "\0", "\u{feff}{}", "nul", "NaN", "Infinity", "tru", "{]", "[}", "{}{}", "//"])
            .to_owned(),
        10 => return noise(dice, 300),
        11 => format!("[{}1]", "1,".repeat(many)),
        _ => {
            let mut value = json!({"type": dice.pick(&["REGISTER", "VIEWER", "COMMAND", "STATE", "register"]), "tick": dice.below(5),
                "token": "t", "teamName": "n", "actions": [{"type": "MOVE_UP"}, {"type": "MOVE_TO", "position": {"x": 1, "y": 2}}]});
            for _ in 0..dice.below(4) {
                mutate(&mut value, dice);
            }
            value.to_string()
        }
    };
    text.into_bytes()
}
