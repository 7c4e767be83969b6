use serde::{Deserialize, Serialize};

use crate::game::{Rules, Style};

use super::options::BotOptions;

/// A bot's knowledge of a server after a game.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Memory {
    /// The rules of the best explanation.
    pub rules: Rules,
    /// The unexpected words for styles, with their styles.
    #[serde(default)]
    pub words: Vec<(String, Style)>,
    /// True if a threat made an unexpected move, or the game ended despite a plan.
    #[serde(default)]
    pub doubts_rules: bool,
}

impl Memory {
    /// The options of a bot that starts with this knowledge.
    #[must_use]
    pub fn applied_to(self, options: BotOptions) -> BotOptions {
        let Self { rules, words, doubts_rules } = self;
        BotOptions { rules, words, doubts_rules, ..options }
    }
}
