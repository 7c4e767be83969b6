//! Entrants: the planners and external bots that play, with their display names.

use std::path::Path;

use super::external::ExternalBot;
use super::series::SeriesError;

pub(super) const NAME_CHARS_MAX: usize = 64;
/// Short display names omit these commands at the start of a bot's command, because the program
/// that they run describes the bot better.
const INTERPRETERS: [&str; 13] =
    ["bash", "bun", "deno", "env", "exec", "java", "node", "perl", "php", "ruby", "sh", "uv", "zsh"];

/// A planner or external bot, given on a command line as `NAME=SPEC` or only `SPEC`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entrant {
    pub name: Option<String>,
    /// A planner name or expression, `model:FILE`, `MODULE:NAME`, `exec:COMMAND` or `pipe:COMMAND`.
    pub spec: String,
}

impl Entrant {
    /// Parses `NAME=SPEC` or `SPEC`. A name consists of 1 to 64 letters, digits and `._@+-`, and
    /// starts with a letter or digit. Without a name before the first `=`, the whole text is the
    /// spec.
    ///
    /// ```
    /// use getaway_arena::Entrant;
    ///
    /// let entrant = Entrant::parse("mine@2=pipe:python bot.py");
    /// assert_eq!((entrant.label(), entrant.spec.as_str()), ("mine@2", "pipe:python bot.py"));
    /// assert_eq!(Entrant::parse("pipe:A=1 ./bot").label(), "pipe:A=1 ./bot");
    /// ```
    pub fn parse(text: &str) -> Self {
        let text = text.trim();
        match text.split_once('=') {
            Some((name, spec)) if is_name(name) => Self { name: Some(name.to_owned()), spec: spec.trim().to_owned() },
            _ => Self { name: None, spec: text.to_owned() },
        }
    }

    /// Returns the external bot, or `None` for a planner. Fails if the bot has no command, or if a
    /// planner has a text before `=` that is neither a name nor part of an expression or a model.
    pub fn bot(&self) -> Result<Option<ExternalBot>, SeriesError> {
        let spec = &self.spec;
        match (ExternalBot::parse(spec), spec.split_once('=')) {
            (Some(bot), _) if bot.command.is_empty() => {
                let expected = "expected a command after the colon, as in exec:python bot.py";
                Err(SeriesError::Invalid(format!("{spec}: {expected}")))
            }
            (None, Some((name, _))) if self.name.is_none() && !name.contains('(') && !name.starts_with("model:") => {
                Err(SeriesError::Invalid(format!(
                    "{name:?} is not a name for a planner: expected 1 to {NAME_CHARS_MAX} letters, digits and ._@+-, the \
                     first of them a letter or digit"
                )))
            }
            (bot, _) => Ok(bot),
        }
    }

    /// Returns the name, or the spec if the entrant has no name.
    pub fn label(&self) -> &str {
        self.name.as_deref().unwrap_or(&self.spec)
    }

    /// Returns only the given name or, without a given name, all possible names, in order of
    /// preference. If an external bot's command has no shell syntax, the first name is the program
    /// (without interpreter and folder), and each further name adds one argument. The last name is
    /// the whole spec.
    fn candidates(&self) -> Vec<String> {
        if let Some(name) = &self.name {
            return vec![name.clone()];
        }
        let mut candidates = Vec::new();
        let is_simple = |command: &str| !command.contains(['\'', '"', '`', '$', ';', '|', '&', '<', '>', '(', '\\']);
        if let Some(bot) = ExternalBot::parse(&self.spec).filter(|bot| is_simple(&bot.command)) {
            let words: Vec<&str> = bot.command.split_whitespace().collect();
            let mut words = words[words.iter().position(is_program).unwrap_or(0)..].to_vec();
            words.iter_mut().take(1).for_each(|program| *program = file_name(program));
            candidates.extend((1..=words.len()).map(|end| words[..end].join(" ")));
        }
        candidates.push(self.spec.clone());
        candidates
    }
}

pub(super) fn is_name(text: &str) -> bool {
    let is_inner = |c: char| c.is_alphanumeric() || "._@+-".contains(c);
    text.starts_with(char::is_alphanumeric) && text.chars().all(is_inner) && text.chars().count() <= NAME_CHARS_MAX
}

pub(super) fn valid_name(text: &str) -> String {
    if is_name(text) {
        return text.to_owned();
    }
    let words = text.split(|c: char| !c.is_alphanumeric() && !"._".contains(c)).filter(|word| !word.is_empty());
    let joined = words.collect::<Vec<&str>>().join("-");
    let name: String = joined.trim_start_matches(['.', '_']).chars().take(NAME_CHARS_MAX).collect();
    if is_name(&name) { name } else { "entrant".to_owned() }
}

fn file_name(word: &str) -> &str {
    Path::new(word).file_name().and_then(|name| name.to_str()).unwrap_or(word)
}

fn is_program(word: &&str) -> bool {
    let name = file_name(word);
    let is_python =
        name.strip_prefix("python").is_some_and(|version| version.chars().all(|c| "0123456789.".contains(c)));
    !word.starts_with('-') && !name.contains('=') && !is_python && !INTERPRETERS.contains(&name)
}

/// Returns each entrant's given name, or otherwise a short name. Equal names are lengthened until
/// they differ, as far as possible.
pub fn shown_names(entrants: &[Entrant]) -> Vec<String> {
    let mut candidates: Vec<Vec<String>> = entrants.iter().map(Entrant::candidates).collect();
    loop {
        let names: Vec<String> = candidates.iter().map(|candidates| candidates[0].clone()).collect();
        let is_shared = |name: &String| names.iter().filter(|&other| other == name).count() > 1;
        let can_grow = |candidates: &&mut Vec<String>| candidates.len() > 1 && is_shared(&candidates[0]);
        let growing: Vec<&mut Vec<String>> = candidates.iter_mut().filter(can_grow).collect();
        if growing.is_empty() {
            return names;
        }
        growing.into_iter().for_each(|candidates| drop(candidates.remove(0)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(entrants: &[&str]) -> Vec<String> {
        shown_names(&entrants.iter().map(|text| Entrant::parse(text)).collect::<Vec<_>>())
    }

    #[test]
    fn shortest_name_tells_entrants_apart() {
        assert_eq!(names(&["pipe:python fled.py", "pipe:python fled2.py"]), ["fled.py", "fled2.py"]);
        assert_eq!(names(&["exec:.venv/bin/python3.12 -u bots/a.py", "random"]), ["a.py", "random"]);
        let same = ["pipe:python bot.py crash 1", "pipe:python bot.py hang 1", "exec:python bot.py hang 1"];
        assert_eq!(names(&same), ["bot.py crash", "pipe:python bot.py hang 1", "exec:python bot.py hang 1"]);
        assert_eq!(names(&["exec:./random", "random"]), ["exec:./random", "random"]);
        let shell = "pipe:while read -r x; do echo hello; done";
        assert_eq!(names(&[shell, "pipe:cat", "select(0.2, greedy)"]), [shell, "cat", "select(0.2, greedy)"]);
    }

    #[test]
    fn any_text_gives_a_valid_name() {
        let texts = ["mine@2", "lookahead:4", "select(0.2, simulate(greedy))", "pipe:echo oops >&2", "", "&&", "_x"];
        let names =
            ["mine@2", "lookahead-4", "select-0.2-simulate-greedy", "pipe-echo-oops-2", "entrant", "entrant", "x"];
        assert_eq!(texts.map(valid_name), names);
        assert!(is_name(&valid_name(&"ab ".repeat(100))));
    }

    #[test]
    fn given_names_are_shown() {
        assert_eq!(names(&["a=random", "b@2=random", "é=pipe:x=1 ./y"]), ["a", "b@2", "é"]);
        for text in ["=random", "a b=random", "-a=random", "pipe:x=1", &format!("{}=random", "a".repeat(65))] {
            assert_eq!(Entrant::parse(text).name, None, "{text}");
        }
    }

    #[test]
    fn invalid_names_are_errors() {
        let long = format!("{}=random", "a".repeat(65));
        for text in ["my bot=pipe:./bot", "a:b=random", "=random", "-a=exec:x", "é!=random", "a/b=MODULE:NAME", &long]
        {
            let error = Entrant::parse(text).bot().expect_err("an error").to_string();
            let name = text.split('=').next().unwrap_or_default();
            let expected = "expected 1 to 64 letters, digits and ._@+-, the first of them a letter or digit";
            assert_eq!(error, format!("{name:?} is not a name for a planner: {expected}"));
        }
        let sha = "0123456789abcdef0123456789abcdef01234567=random";
        for text in [sha, "a=b=c", "model:a=b", "select(0.2, x=1)", "random", "bot-v1@2+x=MODULE:NAME"] {
            assert!(matches!(Entrant::parse(text).bot(), Ok(None)), "{text}");
        }
        assert!(matches!(Entrant::parse("pipe:A=1 ./bot").bot(), Ok(Some(_))));
    }
}
