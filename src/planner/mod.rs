//! The planners for this game, from the one-step rule that most people write first to the search
//! that solves the whole game before the first move.
//!
//! A [`Planner`] is called once per tick with the predicted or observed state. It may keep data
//! between ticks, and checks by itself whether the game developed as it expected. [`by_name`] finds
//! a planner by its name, or builds one from an expression of the search grammar. `search` and
//! `game` do not depend on each other; this module connects them.

mod cautious;
mod certificate;
mod decider;
mod follower;
mod grammar;
mod ladder;
mod lookahead;
mod paranoid;
mod problem;
mod proof;
mod random;
mod safest;
mod show_off;
mod signature;
mod solution;
mod survival;
mod survival_planner;
mod terrain;

pub use cautious::{CautiousPlanner, CautiousRules, ObservedThreat, Sighting};
pub use certificate::{Certificate, CertificateError, ProofEnd};
pub use decider::Decider;
pub use grammar::ExpressionPlanner;
pub use ladder::{DEFAULT_NAME, NAMES, PlannerError, PlannerSpec, by_name};
use ladder::{Make, Parameter, PlannerEntry};
pub use lookahead::LookaheadPlanner;
pub use paranoid::ParanoidPlanner;
pub use problem::SurvivalProblem;
pub use proof::{Proof, Step};
pub use random::RandomPlanner;
pub use safest::SafestPlanner;
pub use show_off::ShowOffPlanner;
pub use signature::signature;
pub use solution::SolutionError;
pub use survival::{Outcome, Solution, SurvivalOptions, SurvivalSearch};
pub use survival_planner::SurvivalPlanner;

use std::fmt;

use crate::game::{LAST_TICK, Move, State, World};
pub use crate::search::Budget;
use crate::search::{BudgetMeter, DEPTH_MAX};

/// Every planner, from the simplest to the strongest. A row is all that the names, the help, the
/// errors and [`by_name`] know about a planner: a new planner is its own file and a row here.
const PLANNERS: &[PlannerEntry] = &[
    PlannerEntry {
        name: "random",
        about: "plays any of the distinct moves with equal probability",
        parameter: None,
        make: Make::Planner(|_, options| Box::new(RandomPlanner::new(options.seed))),
    },
    PlannerEntry {
        name: "safest",
        about: "one tick ahead, then towards the tile with the most margin",
        parameter: None,
        make: Make::Planner(|_, _| Box::new(SafestPlanner::new())),
    },
    PlannerEntry {
        name: "paranoid",
        about: "minimax, with the threats as free adversaries (paranoid:TICKS, default 6)",
        parameter: Some(Parameter { default: 6, max: paranoid::PARANOID_TICKS_MAX }),
        make: Make::Planner(|ticks, _| Box::new(ParanoidPlanner::new(ticks))),
    },
    PlannerEntry {
        name: "lookahead",
        about: "exhaustive search over some ticks, with exact predictions (lookahead:TICKS, default 8)",
        parameter: Some(Parameter { default: 8, max: 64 }),
        make: Make::Planner(|ticks, _| Box::new(LookaheadPlanner::new(ticks))),
    },
    PlannerEntry {
        name: "sampling",
        about: "plays random games and keeps the best: simulate",
        parameter: None,
        make: Make::Expression(|_| "simulate".to_owned()),
    },
    PlannerEntry {
        name: "iterative-sampling",
        about: "plays random games from every step of the best one: step(repeat(100, simulate))",
        parameter: None,
        make: Make::Expression(|_| "step(repeat(100, simulate))".to_owned()),
    },
    PlannerEntry {
        name: "nested",
        about: "nested Monte Carlo search: step(lookahead(simulate)) (nested:LEVEL, default 1)",
        parameter: Some(Parameter { default: 1, max: DEPTH_MAX as u16 / 2 - 1 }),
        make: Make::Expression(|level| {
            let level = usize::from(level);
            format!("{}simulate{}", "step(lookahead(".repeat(level), "))".repeat(level))
        }),
    },
    PlannerEntry {
        name: "uct",
        about: "tree search with random games: step(repeat(1000, select(0.5, simulate)))",
        parameter: None,
        make: Make::Expression(|_| "step(repeat(1000, select(0.5, simulate)))".to_owned()),
    },
    PlannerEntry {
        name: "uct-greedy",
        about: "tree search with games that avoid death one tick ahead: select(0.2, simulate(greedy))",
        parameter: None,
        make: Make::Expression(|_| "select(0.2, simulate(greedy))".to_owned()),
    },
    PlannerEntry {
        name: "show-off",
        about: "survives, and lets the threats come as close as possible",
        parameter: None,
        make: Make::Planner(|_, options| Box::new(ShowOffPlanner::new(options))),
    },
    PlannerEntry {
        name: "cautious",
        about: "no prediction: earliest arrivals of the threats, safe paths and filters",
        parameter: None,
        make: Make::Planner(|_, _| Box::new(CautiousPlanner::new())),
    },
    PlannerEntry {
        name: "survival",
        about: "solves the whole game, then plays the solution (the default)",
        parameter: None,
        make: Make::Planner(|_, options| Box::new(SurvivalPlanner::new(options))),
    },
];

/// How a move was chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Source {
    /// From an existing plan.
    Plan,
    /// By a search in this tick.
    Search,
    /// By a rule without search, because there was no time for one or it found nothing.
    Fallback,
}

impl Source {
    /// The name that reports use.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Plan => "plan",
            Self::Search => "search",
            Self::Fallback => "fallback",
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A planner's answer for one tick.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The move to play.
    pub player_move: Move,
    /// How it was chosen.
    pub source: Source,
    /// The last tick that the planner's line survives to, if it searched: 2001 for the whole game.
    pub planned_tick: Option<u16>,
    /// States stepped in this call, whatever the planner: the unit of [`Budget::ticks`].
    pub simulated_ticks: u64,
}

impl Choice {
    /// Whether the planner has a line that survives to the end of the game.
    pub fn survives(&self) -> bool {
        self.planned_tick.is_some_and(|tick| tick > LAST_TICK)
    }
}

/// A planner decides on the moves, tick by tick.
pub trait Planner: Send {
    /// Decides on a move in a state that is not over, within the budget. Returns a move even if the
    /// budget is already used up. Evaluations and passes limit the search grammar only; a caller
    /// that sets them should first ask [`PlannerSpec::check_budget`].
    fn decide(&mut self, world: &World, state: &State, budget: Budget) -> Choice;
}

/// Ticks that planners without a natural end simulate if the budget has no limit that they know.
const TICKS_DEFAULT: u64 = 100_000;

/// A meter for a planner without a natural end: counts against `budget`, or against a default if it
/// has no limit.
fn meter_with_default(budget: Budget) -> BudgetMeter {
    let has_limit = budget.ticks.is_some() || budget.has_time();
    BudgetMeter::new(if has_limit { budget } else { budget.and(Budget::ticks(TICKS_DEFAULT)) })
}
