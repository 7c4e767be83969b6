use serde::{Deserialize, Serialize};

use crate::files::object;
use crate::game::{Rules, Style};

use super::options::BotOptions;

/// A bot's knowledge of a server after a game.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Memory {
    /// The rules that best explain the server's games.
    #[serde(deserialize_with = "object")]
    pub rules: Rules,
    /// The server's non-standard names for styles, and the styles that they mean.
    #[serde(default)]
    pub words: Vec<(String, Style)>,
    /// True if any game so far ended while the bot used rules learnt in that game, or before the
    /// bot's plan did.
    #[serde(default)]
    pub doubts_rules: bool,
}

impl Memory {
    /// Returns `options` with this knowledge, for the bot's next game.
    #[must_use]
    pub fn applied_to(self, options: BotOptions) -> BotOptions {
        let Self { rules, words, doubts_rules } = self;
        BotOptions { rules, words, doubts_rules, ..options }
    }
}
