use getaway::game::Status;
use getaway_runs::stats::Interval;

pub(crate) fn ending(status: Status, tick: u16) -> String {
    match status {
        Status::Caught => format!("caught at tick {tick}"),
        Status::Complete => "complete".to_owned(),
        Status::Running => format!("ends at tick {tick}, before the game does"),
    }
}

/// `1 file`, `2 files`.
pub fn count(number: usize, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

pub fn or_dash(value: Option<String>) -> String {
    value.unwrap_or_else(|| "-".to_owned())
}

/// Formats a rounded number; a negative zero has no sign.
pub(crate) fn points(value: f64) -> String {
    let text = format!("{value:.0}");
    if text == "-0" { "0".to_owned() } else { text }
}

pub(crate) fn format_interval(interval: Interval) -> String {
    format!("{} to {}", points(interval.low), points(interval.high))
}

/// Formats a rounded number with its sign: `+12`, `-3`, `+0`.
pub(crate) fn signed(value: f64) -> String {
    let text = points(value);
    if text.starts_with('-') { text } else { format!("+{text}") }
}

pub(crate) fn signed_interval(interval: Interval) -> String {
    format!("{} to {}", signed(interval.low), signed(interval.high))
}

pub(crate) fn shell_quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:,=+@%".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// Formats a number with at least two significant digits, but at most three decimals.
pub(crate) fn milliseconds(ms: f64) -> String {
    let digits = match ms {
        ms if ms < 0.1 => 3,
        ms if ms < 1.0 => 2,
        ms if ms < 10.0 => 1,
        _ => 0,
    };
    format!("{ms:.digits$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_for_the_shell() {
        assert_eq!(
            ["a-b/c.d", "", "a b", "it's", "step(x)"].map(shell_quoted),
            ["a-b/c.d", "''", "'a b'", r"'it'\''s'", "'step(x)'"]
        );
    }
}
