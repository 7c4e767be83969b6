//! Planners for this game, from one-step rules to a search that solves the whole game. [`names`]
//! lists the built-in planners, and [`by_name`] creates one, or a planner that runs an expression of
//! the [search grammar](crate::search). The caller of a [`Planner`] passes it the observed or
//! predicted state of each tick. A planner that follows a plan checks that the state is the one that
//! the plan predicts.

mod cautious;
mod choice;
mod follower;
mod grammar;
mod host;
mod layer;
mod learnt;
mod lookahead;
mod paranoid;
mod problem;
mod random;
mod registry;
mod safest;
mod show_off;
mod signature;
mod smitsimax;
mod survival_planner;
mod terrain;

use cautious::CautiousPlanner;
#[doc(hidden)]
pub use cautious::{CautiousRules, ObservedThreat, Sighting};
pub use choice::{Choice, Planner, PlannerError, Source};
use choice::{TICKS_DEFAULT, meter_with_default};
pub(crate) use follower::PlanFollower;
pub use host::{PlannerFactory, PlannerHost};
pub use learnt::{Model, ModelHost};
use lookahead::LookaheadPlanner;
use paranoid::ParanoidPlanner;
pub use problem::SurvivalProblem;
use random::RandomPlanner;
pub use registry::{DEFAULT_NAME, PlannerSpec, PlannerSpecError, by_name, names};
use registry::{Make, Parameter, PlannerEntry};
use safest::SafestPlanner;
use show_off::ShowOffPlanner;
#[doc(hidden)]
pub use signature::signature;
use smitsimax::SmitsimaxPlanner;
#[doc(hidden)]
pub use smitsimax::SmitsimaxRules;
use survival_planner::SurvivalPlanner;

use crate::search::{Budget, Expression};

/// The built-in planners. Their names, help texts and parameter ranges come from this table.
const PLANNERS: &[PlannerEntry] = &[
    PlannerEntry {
        name: "random",
        about: "plays any of the distinct moves with equal probability",
        parameter: None,
        make: Make::Planner(|_, options| Box::new(RandomPlanner::new(options.seed))),
    },
    PlannerEntry {
        name: "safest",
        about: "avoids an immediate catch if it can, and heads for the tile with the largest lead over the threats",
        parameter: None,
        make: Make::Planner(|_, _| Box::new(SafestPlanner::new())),
    },
    PlannerEntry {
        name: "paranoid",
        about: "minimax against threats that may make any move (paranoid:TICKS, default 6)",
        parameter: Some(Parameter { default: 6, max: paranoid::PARANOID_TICKS_MAX }),
        make: Make::Planner(|ticks, _| Box::new(ParanoidPlanner::new(ticks))),
    },
    PlannerEntry {
        name: "lookahead",
        about: "exhaustive search to a depth of TICKS, with exact predictions (lookahead:TICKS, default 8)",
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
        parameter: Some(Parameter { default: 1, max: Expression::DEPTH_MAX as u16 / 2 - 1 }),
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
        about: "tree search with random games that avoid a catch one tick ahead: select(0.2, simulate(greedy))",
        parameter: None,
        make: Make::Expression(|_| "select(0.2, simulate(greedy))".to_owned()),
    },
    PlannerEntry {
        name: "nrpa",
        about: "nested rollout policy adaptation: adapt(1, 100, 1) (nrpa:LEVELS, default 1)",
        parameter: Some(Parameter { default: 1, max: Expression::LEVELS_MAX as u16 }),
        make: Make::Expression(|levels| format!("adapt({levels}, 100, 1)")),
    },
    PlannerEntry {
        name: "anneal",
        about: "simulated annealing of the best game known: anneal(1000, 0.1, 0.001)",
        parameter: None,
        make: Make::Expression(|_| "anneal(1000, 0.1, 0.001)".to_owned()),
    },
    PlannerEntry {
        name: "show-off",
        about: "survives if it can, and lets the threats come close",
        parameter: None,
        make: Make::Planner(|_, options| Box::new(ShowOffPlanner::new(options))),
    },
    PlannerEntry {
        name: "cautious",
        about: "no prediction: prefers paths on which no threat could arrive first",
        parameter: None,
        make: Make::Planner(|_, _| Box::new(CautiousPlanner::new())),
    },
    PlannerEntry {
        name: "smitsimax",
        about: "no prediction: bandit trees for the player and every threat, each maximising its own reward",
        parameter: None,
        make: Make::Planner(|_, _| Box::new(SmitsimaxPlanner::new())),
    },
    PlannerEntry {
        name: "survival",
        about: "solves the whole game if it can, then plays the solution (the default)",
        parameter: None,
        make: Make::Planner(|_, options| Box::new(SurvivalPlanner::new(options))),
    },
];
