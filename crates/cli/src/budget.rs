//! The budget of a decision, as options.

use std::time::Duration;

use clap::Args;
use getaway::search::Budget;

use super::number::{ANY, integer};

/// The longest budget that can be requested.
const MAX_BUDGET_MS: u64 = 3_600_000;

/// The budget of each decision.
#[derive(Args)]
pub(super) struct BudgetArgs {
    /// Time limit per decision in milliseconds; results then depend on the machine
    /// [default of play: 75, unless there is another limit]
    #[arg(long, value_name = "MS", value_parser = integer::<u64>(0..=MAX_BUDGET_MS))]
    budget_ms: Option<u64>,
    /// Maximum number of ticks simulated per decision, whatever the planner; without --budget-ms,
    /// results are reproducible [default of eval and battle: 20000, unless there is another limit]
    #[arg(long, value_name = "N", value_parser = integer::<u64>(ANY))]
    budget_ticks: Option<u64>,
    /// Maximum number of evaluations of whole sequences per decision; for expressions only
    #[arg(long, value_name = "N", value_parser = integer::<u64>(ANY))]
    budget_evals: Option<u64>,
}

impl BudgetArgs {
    /// Whether any option sets a limit.
    pub fn is_given(&self) -> bool {
        self.or(Budget::UNLIMITED) != Budget::UNLIMITED
    }

    /// The budget, or `default` if no option sets a limit.
    pub fn or(&self, default: Budget) -> Budget {
        let time = self.budget_ms.map(Duration::from_millis);
        let budget = Budget { time, ticks: self.budget_ticks, evaluations: self.budget_evals, ..Budget::UNLIMITED };
        if budget == Budget::UNLIMITED { default } else { budget }
    }
}
