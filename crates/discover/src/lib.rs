//! Discovers search algorithms for a distribution of problems: a bandit plays expressions of the
//! search grammar on training problems, and the leaders are ranked on unseen problems (Maes, Lupien
//! St-Pierre and Ernst, *Monte Carlo Search Algorithm Discovery for One Player Games*, arXiv
//! 1208.4692).
//!
//! A [`Vocabulary`] enumerates the [`Candidates`], a [`Bandit`] chooses which candidate to play,
//! and a [`Bank`] plays it.
//!
//! ```
//! use std::sync::atomic::AtomicBool;
//!
//! use getaway_discover::{Budgets, Discovery, DistributionBank, Settings, Vocabulary};
//! use getaway_problems::morpion::Morpion;
//!
//! let bank = DistributionBank::new(Morpion::named("4D").unwrap(), 1);
//! let arms = Vocabulary::paper().candidates(1).expressions;
//! let settings = Settings {
//!     problem: "morpion-4d".into(), grammar: "paper".into(), operators: 1, budget_evals: 20,
//!     plays: 5, c: 5.0, seed: 1, unseen: 10, finalists: 2,
//! };
//! let mut discovery = Discovery::new(settings, arms, &bank, None)?;
//! let report = discovery.run(2, Budgets::Own, &AtomicBool::new(false), |_| {})?;
//! assert_eq!((report.arms, report.plays_in_all, report.ranking.len()), (7, 35, 8));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod bandit;
mod bank;
mod candidates;
mod discovery;
mod page;
mod problem;
mod ranking;
mod seed;

pub use bandit::{Arm, Bandit};
pub use bank::{Bank, DistributionBank, Play, Split};
pub use candidates::{Candidates, OPERATORS_MAX, Vocabulary};
pub use discovery::{
    BudgetCurve, Budgets, Convergence, Discovery, DiscoveryError, DiscoveryReport, Progress, Ranked, Settings, Stage,
};
pub use getaway_problems::Distribution;
pub use page::page;
pub use problem::{MapOptions, PROBLEMS, ProblemError, bank};
pub use ranking::{Comparison, holm, paired_test};
pub use seed::mix;
