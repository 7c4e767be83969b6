//! The options of a bot.

use std::time::Duration;

use thiserror::Error;

use crate::game::{Rules, RulesError, Style};
use crate::planner::{self, Budget, PlannerError};

/// The default time for a decision: three quarters of a tick of the real server.
pub const BUDGET_DEFAULT: Budget = Budget::time(Duration::from_millis(75));
/// The maximum slack, in threat moves.
pub(super) const SLACK_MOVES_MAX: u8 = 4;

/// The options of a bot.
#[derive(Clone, Debug)]
pub struct BotOptions {
    /// The name of a planner or an expression: see [`planner::by_name`].
    pub planner: String,
    /// The budget of a decision. Its time is counted from the call or from the message's arrival.
    pub budget: Budget,
    /// The seed of the random number generator.
    pub seed: u64,
    /// The rules of the game.
    pub rules: Rules,
    /// The server's other names for styles, each with its style.
    pub words: Vec<(String, Style)>,
    /// Whether the rules may be others than these, as an earlier game has shown: plans then keep
    /// out of the threats' reach as far as they can, so that no first surprise is fatal.
    pub doubts_rules: bool,
    /// Whether the bot works out other rules when the threats break these.
    pub learns: bool,
    /// How many threat moves of slack the plans of `survival` try to keep, so that lost commands do
    /// no harm; 0 for plans without slack. Other planners ignore it.
    pub slack_moves: u8,
}

impl Default for BotOptions {
    fn default() -> Self {
        Self {
            planner: planner::DEFAULT_NAME.to_owned(),
            budget: BUDGET_DEFAULT,
            seed: 0,
            rules: Rules::BLITZ_2025,
            words: Vec::new(),
            doubts_rules: false,
            learns: true,
            slack_moves: SLACK_MOVES_MAX,
        }
    }
}

/// Why a bot cannot be created with these options.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum OptionsError {
    /// The planner is unknown, or does not know a limit of the budget.
    #[error(transparent)]
    Planner(#[from] PlannerError),
    /// The rules cannot be played.
    #[error(transparent)]
    Rules(#[from] RulesError),
}
