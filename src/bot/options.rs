use std::time::Duration;

use thiserror::Error;

use crate::game::{Rules, RulesError, Style};
use crate::planner::{PlannerSpec, PlannerSpecError};
use crate::search::Budget;

/// The default time per decision: three quarters of the real server's time per tick.
pub const BUDGET_DEFAULT: Budget = Budget::time(Duration::from_millis(75));
pub(super) const SLACK_MOVES_MAX: u8 = 4;

/// The options of a bot.
#[derive(Clone, Debug)]
pub struct BotOptions {
    /// The planner.
    pub planner: PlannerSpec,
    /// The budget of a decision. Its time counts from the arrival of the message.
    pub budget: Budget,
    /// The seed of the random number generator.
    pub seed: u64,
    /// The expected rules.
    pub rules: Rules,
    /// The server's non-standard names for styles, and the styles that they mean.
    pub words: Vec<(String, Style)>,
    /// True if earlier games cast doubt on the rules. The `survival` planner then keeps away from
    /// the threats where it can.
    pub doubts_rules: bool,
    /// True if the bot infers new rules when the threats break the expected ones.
    pub learns: bool,
    /// The maximum slack of `survival` plans. In each state of a plan with slack `n`, the player
    /// would survive if it stood still for `n` threat moves. Ignored by other planners.
    pub slack_moves: u8,
}

impl Default for BotOptions {
    fn default() -> Self {
        Self {
            planner: PlannerSpec::default(),
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

impl BotOptions {
    /// True if the bot makes plans of its own, because the planner is the default.
    pub(super) fn makes_own_plans(&self) -> bool {
        self.planner == PlannerSpec::default()
    }
}

/// The error for invalid options.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum OptionsError {
    /// The planner does not support a limit of the budget.
    #[error(transparent)]
    Planner(#[from] PlannerSpecError),
    /// The rules are invalid.
    #[error(transparent)]
    Rules(#[from] RulesError),
}
