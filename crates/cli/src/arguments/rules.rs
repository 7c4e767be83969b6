use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::Value;

use getaway::files;
use getaway::game::Rules;

use crate::Result;
use crate::error::{TEXT_BYTES_MAX, at, unreadable};
use crate::output::shell_quoted;

#[derive(Args, Clone, Debug, Default)]
pub struct RulesArgs {
    /// No-jump variant: stepping onto a threat's tile loses the game
    #[arg(long = "no-jump")]
    forbids_jumps: bool,
    /// JSON file with the rules of play; missing fields take the server's values
    #[arg(long = "rules", value_name = "FILE")]
    file: Option<PathBuf>,
}

impl RulesArgs {
    pub fn rules(&self) -> Result<Rules> {
        let rules = self.file.as_deref().map_or(Ok(Rules::BLITZ_2025), read_rules)?;
        Ok(Rules { no_jump: rules.no_jump || self.forbids_jumps, ..rules })
    }

    pub fn given(&self) -> Result<Option<Rules>> {
        if self.file.is_some() || self.forbids_jumps { self.rules().map(Some) } else { Ok(None) }
    }

    /// Returns the given options as quoted words of a shell command.
    pub fn words(&self) -> Vec<String> {
        let file = self.file.iter().flat_map(|path| ["--rules".to_owned(), shell_quoted(&path.display().to_string())]);
        self.forbids_jumps.then(|| "--no-jump".to_owned()).into_iter().chain(file).collect()
    }
}

pub(crate) fn read_rules(path: &Path) -> Result<Rules> {
    let text = files::read_text(path, TEXT_BYTES_MAX).map_err(|error| unreadable(path, &error))?;
    let rules: Rules = serde_json::from_str(&text).map_err(|error| at(path, error))?;
    // Derived parsers also accept the fields of an object as an array.
    let (found, expected) = (serde_json::from_str(&text)?, serde_json::to_value(rules)?);
    check_objects("rules", &found, &expected).map_err(|error| at(path, error))?;
    rules.validate().map_err(|error| at(path, error))?;
    Ok(rules)
}

fn check_objects(name: &str, found: &Value, expected: &Value) -> Result<(), String> {
    match (found, expected) {
        (Value::Object(found), Value::Object(expected)) => {
            found.iter().try_for_each(|(name, found)| check_objects(name, found, &expected[name]))
        }
        (_, Value::Object(_)) => Err(format!("{name}: expected an object, found an array")),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn rules_come_from_the_file_and_the_flag() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("rules.json");
        let of = |json: &str, forbids_jumps| {
            fs::write(&path, json).expect("a file");
            RulesArgs { forbids_jumps, file: Some(path.clone()) }.rules().map_err(|error| error.report().0)
        };
        assert_eq!(RulesArgs::default().rules().ok(), Some(Rules::BLITZ_2025));
        let args = RulesArgs { forbids_jumps: true, file: None };
        assert_eq!((args.rules().ok(), args.words()), (Some(Rules::NO_JUMP), vec!["--no-jump".to_owned()]));
        let hawks = Rules { hawk_posts: 3, ..Rules::BLITZ_2025 };
        assert_eq!(of(r#"{"hawk_posts": 3}"#, false), Ok(hawks));
        assert_eq!(of(r#"{"hawk_posts": 3}"#, true), Ok(Rules { no_jump: true, ..hawks }));
        assert_eq!(of(r#"{"no_jump": true}"#, false), Ok(Rules::NO_JUMP));
        let error =
            |json| of(json, false).unwrap_err().expect("a message").replace(&path.display().to_string(), "FILE");
        assert_eq!(error(r#"{"owl_minute_ticks": 0}"#), "FILE: rules: owl_minute_ticks is 0: expected at least 1");
        assert_eq!(error("[]"), "FILE: rules: expected an object, found an array");
        assert_eq!(error(r#"{"wire": []}"#), "FILE: wire: expected an object, found an array");
        assert!(error(r#"{"owls": 3}"#).starts_with("FILE: unknown field `owls`, expected one of"));
    }
}
