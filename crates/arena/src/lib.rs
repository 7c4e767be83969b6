//! Compares planners by their games, with confidence intervals and significance tests.
//!
//! In each *sample* of a [`Series`], every planner plays one game on every map.
//!
//! ```
//! use std::ops::ControlFlow;
//! use std::sync::atomic::AtomicBool;
//!
//! use getaway::game::{Layout, Rules};
//! use getaway::map::Map;
//! use getaway::search::Budget;
//! use getaway_arena::{Games, MARGIN_DEFAULT, Match, Series, SeriesOptions};
//!
//! let layout = Layout::parse("#######\n#P....#\n#.###.#\n#....S#\n#######")?;
//! let map = Map { name: "ring".into(), kind: "example".into(), difficulty: "easy".into(), layout };
//! let planners = vec!["survival".into(), "random".into()];
//! let (rules, budget) = (Rules::BLITZ_2025, Budget::ticks(1000));
//! let series = Series::new(&[map], SeriesOptions { planners, samples: 10, seed: 1, rules, budget })?;
//! let mut games = Games::new();
//! let _: ControlFlow<()> =
//!     series.play(&mut games, 2, &AtomicBool::new(false), |_, _| ControlFlow::Continue(()))?;
//! let result = Match::of(&series, &games, [0, 1], None, MARGIN_DEFAULT);
//! assert!(result.verdict.sentence.starts_with("survival is better than random: "));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod comparison;
mod dataset;
mod entrant;
mod eval;
mod external;
mod external_summary;
mod game;
mod ladder;
mod matches;
mod phrases;
mod rating;
mod record;
mod remote;
mod report;
mod results;
mod series;
mod sprt;
mod tournament;
mod verdict;

pub use comparison::{Comparison, pairs};
pub use dataset::{Dataset, DatasetError, DatasetOptions, GAME_STATES, Observation, SHARD_STATES, ShardHash};
pub use entrant::{Entrant, shown_names};
pub use eval::{MapEvaluation, MeanCost, PlannerEvaluation, Summary, evaluate};
pub use external::{
    BridgeError, BridgeReport, ExternalBot, ExternalHost, ExternalOptions, Program, ProgramEnd, SILENT_TICKS_MAX,
    STARTUP_TIME, Transport, bridge,
};
pub use external_summary::{ExternalSummary, LATE_SHARE, external_summaries};
pub use game::{Answer, GameError, Host, PlayedGame, Player, PlayerSpec, TEAM};
pub use ladder::{
    EntrantState, LadderError, LadderGame, LadderNews, LadderOptions, LadderRequest, LadderRow, LadderStanding,
    LadderText, PairResult, VersionTest, entrant_names, ladder_page, request, run_ladder,
};
pub use matches::{MapComparison, Match};
pub use phrases::p_value;
pub use rating::{RatedPairs, ratings};
pub use record::{Cost, ExternalRecord, Failure, FailureKind, GameRecord, SourceCounts, Times};
pub use report::{Judgement, ReportReplays, ReportText, csv, report};
pub use results::{GameSettings, resume};
pub use series::{GameKey, GameSlice, Games, Series, SeriesError, SeriesMap, SeriesOptions};
pub use sprt::{SprtMonitor, SprtReport};
pub use tournament::{RATING_MODEL, Standing, Tournament, TournamentMonitor, TournamentOptions, TournamentPair};
pub use verdict::{FurtherGames, GameUnit, MARGIN_DEFAULT, Outcome, Question, Verdict};
