use std::time::Duration;

use clap::Args;
use getaway::search::Budget;

use super::{ANY, integer};

const MAX_BUDGET_MS: u64 = 3_600_000;

#[derive(Args)]
pub(crate) struct BudgetArgs {
    /// Time limit per decision in milliseconds; makes results depend
    /// on the machine [default for play: 75 if no other limit is given]
    #[arg(long, value_name = "MS", value_parser = integer::<u64>(0..=MAX_BUDGET_MS))]
    budget_ms: Option<u64>,
    /// Maximum simulated ticks per decision; results are reproducible
    /// if --budget-ms is not given [default of eval, battle, ladder
    /// and tournament: 20000 if no other limit is given]
    #[arg(long, value_name = "N", value_parser = integer::<u64>(ANY))]
    budget_ticks: Option<u64>,
    /// Maximum evaluations of complete sequences of moves per decision;
    /// only for search expressions
    #[arg(long, value_name = "N", value_parser = integer::<u64>(ANY))]
    budget_evals: Option<u64>,
}

impl BudgetArgs {
    pub fn is_given(&self) -> bool {
        self.or(Budget::UNLIMITED) != Budget::UNLIMITED
    }

    pub fn or(&self, default: Budget) -> Budget {
        let time = self.budget_ms.map(Duration::from_millis);
        let budget = Budget { time, ticks: self.budget_ticks, evaluations: self.budget_evals, ..Budget::UNLIMITED };
        if budget == Budget::UNLIMITED { default } else { budget }
    }
}
