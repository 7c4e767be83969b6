//! Makes untrusted text safe to print on one line of a terminal.

/// Returns true for control characters, line and paragraph separators, bidirectional formatting
/// characters (Unicode Standard Annex #9) and deprecated format characters (Unicode Standard,
/// section 23.3).
fn is_control(c: char) -> bool {
    let is_format =
        matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{206f}');
    c.is_control() || is_format
}

/// Writes control characters, line separators and bidirectional formatting characters as JSON
/// escapes (`\n`, `\u001b`), so JSON strings in the text keep their values.
///
/// ```
/// assert_eq!(getaway::text::one_line("red \x1b[31m\nçödé"), "red \\u001b[31m\\nçödé");
/// ```
pub fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' => line.push_str("\\n"),
            '\r' => line.push_str("\\r"),
            '\t' => line.push_str("\\t"),
            c if is_control(c) => line.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => line.push(c),
        }
    }
    line
}

/// Replaces the middle of a text of more than `chars_max` characters by `…`.
pub fn clipped(text: &str, chars_max: usize) -> String {
    let length = text.chars().count();
    if length <= chars_max {
        return text.to_owned();
    }
    let part = chars_max / 2;
    text.chars().take(part).chain(['…']).chain(text.chars().skip(length - part)).collect()
}

/// Returns ` (did you mean NAME?)` for the name that is most like `name`, or nothing if no name is
/// similar enough.
pub(crate) fn did_you_mean<'a>(name: &str, names: impl IntoIterator<Item = &'a str>) -> String {
    let rated = names.into_iter().map(|known| (strsim::jaro_winkler(name, known), known));
    let best = rated.max_by(|(one, _), (other, _)| one.total_cmp(other)).filter(|&(likeness, _)| likeness > 0.8);
    best.map_or_else(String::new, |(_, known)| format!(" (did you mean {known}?)"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_that_acts_on_a_terminal_is_escaped() {
        let controls =
            (0..0x20).chain(0x7f..0xa0).chain([0x61c, 0x200e, 0x200f]).chain(0x2028..0x202f).chain(0x2066..0x2070);
        let controls: Vec<char> = controls.filter_map(char::from_u32).collect();
        for c in (0..=0x10_ffff).filter_map(char::from_u32) {
            let text = String::from(c);
            let line = one_line(&text);
            if controls.contains(&c) {
                assert!(line.is_ascii() && line.chars().all(|c| c.is_ascii_graphic()), "{c:?} is {line}");
                assert_eq!(serde_json::from_str::<String>(&format!("\"{line}\"")).expect("JSON"), text);
            } else {
                assert_eq!(line, text);
            }
        }
    }

    #[test]
    fn similar_names_are_suggested() {
        let names = ["snail", "stadium", "survival", "uct-greedy"];
        for (name, hint) in [("snal", "snail"), ("Survival", "survival"), ("uctgreedy", "uct-greedy"), ("atlantis", "")]
        {
            let expected = if hint.is_empty() { String::new() } else { format!(" (did you mean {hint}?)") };
            assert_eq!(did_you_mean(name, names), expected);
        }
    }
}
