//! What a bot keeps from one game for the next.

use serde::{Deserialize, Serialize};

use crate::game::{Rules, Style};

use super::options::BotOptions;

/// What a bot knows of a server after a game.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Memory {
    /// The rules of the best explanation.
    pub rules: Rules,
    /// The words for styles that are not the server's own, with their styles.
    #[serde(default)]
    pub words: Vec<(String, Style)>,
    /// Whether the rules may be others: some threat did something unexpected, or the game ended
    /// although the bot had a plan.
    #[serde(default)]
    pub doubts_rules: bool,
}

impl Memory {
    /// These options, for a bot that knows this.
    #[must_use]
    pub fn applied_to(self, options: BotOptions) -> BotOptions {
        let Self { rules, words, doubts_rules } = self;
        BotOptions { rules, words, doubts_rules, ..options }
    }
}
