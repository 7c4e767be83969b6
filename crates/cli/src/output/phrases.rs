use std::io::Write;

use getaway::game::Status;
use getaway_arena::ExternalSummary;
use getaway_arena::stats::Interval;

use super::one_line;
use crate::CliError;

pub(crate) fn ending(status: Status, tick: u16) -> String {
    match status {
        Status::Caught => format!("caught in tick {tick}"),
        Status::Complete => "complete".to_owned(),
        Status::Running => format!("ends in tick {tick}, before the game does"),
    }
}

/// `1 file`, `2 files`.
pub(crate) fn count(number: usize, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

pub(crate) fn or_dash(value: Option<String>) -> String {
    value.unwrap_or_else(|| "-".to_owned())
}

pub(crate) fn format_interval(interval: Interval) -> String {
    format!("{:.0} to {:.0}", interval.low, interval.high)
}

pub(crate) fn shell_quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:,=+@%".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

pub(crate) fn write_summaries(summaries: &[ExternalSummary], out: &mut impl Write) -> Result<(), CliError> {
    if summaries.is_empty() {
        return Ok(());
    }
    writeln!(out, "\nexternal bots")?;
    for summary in summaries {
        writeln!(out, "  {}", one_line(&summary.sentence()))?;
        for failure in &summary.failures {
            writeln!(out, "    {}", one_line(failure))?;
        }
    }
    Ok(())
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
