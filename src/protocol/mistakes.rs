use serde::{Deserialize, Serialize};

use crate::game::{Action, ActionError};
use crate::text::clipped;

const EXAMPLE_MAX_CHARS: usize = 100;

/// The mistakes in a bot's messages, by kind. The author of a bot sees one line per kind, however
/// often the bot repeats the mistake.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Mistakes(Vec<Mistake>);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Mistake {
    /// The kind as a singular noun, such as `invalid action`.
    kind: String,
    /// The tick of the first mistake of this kind.
    tick: u32,
    /// The first action or message, without its middle if it has more than [`EXAMPLE_MAX_CHARS`]
    /// characters.
    example: String,
    error: String,
    count: u64,
}

impl Mistakes {
    /// Counts the invalid actions of a command for `tick`. Returns a description of the first of
    /// each new kind, such as `the invalid action {"type":"LEFT"}: expected {"type": T}, ...`.
    pub fn add_actions(&mut self, tick: u32, actions: &[Action]) -> Vec<String> {
        let invalid = actions.iter().filter_map(Action::invalid);
        let add = |(json, error): (&str, ActionError)| {
            let kind = if error == ActionError::Unknown { "invalid action" } else { "invalid MOVE_TO action" };
            self.add(kind, tick, json, &error.to_string())
        };
        invalid.filter_map(add).collect()
    }

    /// Counts a mistake. Returns a description if the mistake is the first of its kind.
    pub fn add(&mut self, kind: &str, tick: u32, example: &str, error: &str) -> Option<String> {
        let example = clipped(example, EXAMPLE_MAX_CHARS);
        let description = format!("the {kind} {example}: {error}");
        let (kind, error) = (kind.to_owned(), error.to_owned());
        self.merge_one(Mistake { kind, tick, example, error, count: 1 }).then_some(description)
    }

    /// Adds the mistakes of another game.
    pub fn merge(&mut self, other: &Self) {
        for mistake in &other.0 {
            self.merge_one(mistake.clone());
        }
    }

    /// Returns true if the kind is new.
    fn merge_one(&mut self, mistake: Mistake) -> bool {
        let known = self.0.iter_mut().find(|known| known.kind == mistake.kind);
        let is_new = known.is_none();
        match known {
            Some(known) => known.count = known.count.saturating_add(mistake.count),
            None => self.0.push(mistake),
        }
        is_new
    }

    /// True if there are no mistakes.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Each kind with its count and its first example, such as `57 invalid actions, the first
    /// {"type":"LEFT"} at tick 1: expected {"type": T}, ...`.
    pub fn words(&self) -> String {
        let words = self.0.iter().map(|Mistake { kind, tick, example, error, count }| match count {
            1 => format!("1 {kind}, {example} at tick {tick}: {error}"),
            _ => format!("{count} {kind}s, the first {example} at tick {tick}: {error}"),
        });
        words.collect::<Vec<String>>().join("; ")
    }
}
