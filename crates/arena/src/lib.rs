//! Which planner is better, and how sure we are: in this game a change is believed only after games.
//!
//! A [`Series`] is every sample of every map by every planner. [`evaluate`] sums up what each planner scores, a [`Battle`] compares two on pairs of games
//! with the same map and seed, [`stats`] says how sure that is, a [`ResultsFile`] keeps what was played, and [`report()`] draws it. Data comes back; nothing
//! is printed here.
//!
//! ```
//! use std::ops::ControlFlow;
//! use std::sync::atomic::AtomicBool;
//!
//! use getaway_arena::{Battle, Budget, Games, Series, SeriesOptions};
//! use getaway::game::{Layout, Rules};
//! use getaway::map::Map;
//!
//! let layout = Layout::parse("#######\n#P....#\n#.###.#\n#....S#\n#######")?;
//! let map = Map { name: "ring".into(), kind: "example".into(), difficulty: "easy".into(), layout };
//! let planners = vec!["survival".into(), "random".into()];
//! let budget = Budget::evaluations(1000);
//! let series = Series::new(&[map], SeriesOptions { planners, samples: 10, seed: 1, rules: Rules::BLITZ_2025, budget })?;
//! let mut games = Games::new();
//! let _: ControlFlow<()> = series.play(&mut games, 2, &AtomicBool::new(false), |_, _| ControlFlow::Continue(()))?;
//! let battle = Battle::of(&series, &games, [0, 1], None);
//! assert!(battle.sentence().starts_with("survival beats random: 10 wins, 0 ties and 0 losses"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod battle;
mod eval;
mod game;
mod report;
mod results;
mod series;
pub mod stats;

pub use battle::{Battle, Comparison, MapComparison, Referee, SprtReport, p_value, pairs};
pub use eval::{MapEvaluation, PlannerEvaluation, Summary, evaluate};
pub use game::{Budget, GameError, GameRecord, SourceCounts, TEAM, Times, play};
pub use report::{ReportText, report};
pub use results::{ResultsError, ResultsFile};
pub use series::{Games, Place, Series, SeriesError, SeriesMap, SeriesOptions};
