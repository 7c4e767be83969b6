//! Plays the games of a series or a ladder in other processes.
//!
//! Guarantees: if the budget has no time limit, a built-in planner's game has the same record on
//! every machine, except for its times and cost. A process with a different build refuses the work.

use std::fmt::Display;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::external::{ExternalHost, ExternalOptions};
use super::game::Host;
use super::series::{Series, SeriesError, SeriesMap, SeriesOptions};
use getaway::map::Map;
use getaway::protocol::to_json;
use getaway_runs::{BUILD, check_build};

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Spec {
    version: String,
    maps: Vec<Map>,
    #[serde(flatten)]
    options: SeriesOptions,
    external: ExternalOptions,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(untagged)]
enum RemoteGame {
    /// The game of a series at this index.
    OfSeries(usize),
    OfLadder(LadderJob),
}

/// A game of a ladder.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct LadderJob {
    /// The entrant, as `NAME=SPEC`.
    pub entrant: String,
    /// A map and a seed: the index of the game among the entrant's games.
    pub unit: usize,
    /// The series and the index with which this process plays the game.
    #[serde(skip)]
    pub here: Option<(Arc<Series>, usize)>,
}

fn invalid(error: impl Display) -> SeriesError {
    SeriesError::Invalid(format!("the series: {error}"))
}

impl Series {
    /// Returns the series as JSON for [`Series::from_spec`], without the folder for logs.
    pub fn spec(&self) -> String {
        let map = |map: &SeriesMap| Map {
            name: map.name.clone(),
            kind: String::new(),
            difficulty: String::new(),
            layout: map.world.layout().clone(),
        };
        to_json(&Spec {
            version: BUILD.to_owned(),
            maps: self.maps.iter().map(map).collect(),
            options: self.options.clone(),
            external: self.external.clone(),
        })
    }

    /// Reads a series from JSON. `host` finds external planners.
    pub fn from_spec(spec: &str, host: Host<'_>) -> Result<Self, SeriesError> {
        let spec: Spec = serde_json::from_str(spec).map_err(invalid)?;
        let Spec { version, maps, options, external } = spec;
        check_build(&version).map_err(invalid)?;
        Ok(Self { external, ..Self::with_host(&maps, options, host)? })
    }

    /// Plays the games listed in a JSON array, in this thread. Returns one line of JSON per game.
    pub fn play_lines(&self, games: &str, host: Host<'_>) -> Result<Vec<String>, SeriesError> {
        let games: Vec<RemoteGame> = serde_json::from_str(games).map_err(invalid)?;
        let bots = ExternalHost::new(self.external.clone());
        let play = |game: RemoteGame| {
            let (index, of_ladder) = match game {
                RemoteGame::OfSeries(index) => (index, None),
                RemoteGame::OfLadder(job) => (job.unit, Some(self.with_planners(vec![job.entrant], host)?)),
            };
            let series = of_ladder.as_ref().unwrap_or(self);
            let game = if index < series.len() { series.play_one(index, &bots, &|| false)? } else { None };
            game.as_ref().map(to_json).ok_or_else(|| invalid(format!("no game {index}")))
        };
        games.into_iter().map(play).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::ops::ControlFlow;
    use std::sync::atomic::AtomicBool;

    use super::*;
    use crate::record::GameRecord;
    use crate::series::Games;
    use getaway::game::{Layout, Rules};
    use getaway::search::Budget;
    use getaway_runs::{Channel, Workers};

    fn series() -> Series {
        let layout = Layout::parse("P..~.\n.###.\n....S").expect("a drawing");
        let mut map = Map { name: "hall".to_owned(), kind: String::new(), difficulty: String::new(), layout };
        // A drawing cannot show this second threat on the same tile, but the JSON must include it.
        map.layout.threats.push(map.layout.threats[0]);
        let planners = vec!["random".to_owned(), "safest".to_owned()];
        let options =
            SeriesOptions { planners, samples: 4, seed: 5, rules: Rules::BLITZ_2025, budget: Budget::ticks(9) };
        Series::new(&[map], options).expect("a series")
    }

    fn process(script: String) -> Workers {
        let input = Box::new(io::Cursor::new(script));
        Workers::Process(Channel { input, output: Box::new(io::sink()), process: Box::new(()) })
    }

    fn play_here(series: &Series) -> Vec<GameRecord> {
        let mut games = Games::new();
        let flow = series.play(&mut games, 1, &AtomicBool::new(false), |_, _| ControlFlow::<()>::Continue(()));
        assert!(matches!(flow, Ok(ControlFlow::Continue(()))));
        games.into_iter().map(|game| game.expect("a game").without_times()).collect()
    }

    #[test]
    fn series_read_from_its_json_plays_the_same_games() {
        let series = series();
        let again = Series::from_spec(&series.spec(), None).expect("a series");
        assert_eq!(again.maps[0].layout, series.maps[0].layout);
        let lines = again.play_lines("[5, 2]", None).expect("games");
        let here = play_here(&series);
        for (line, index) in lines.iter().zip([5, 2]) {
            let game: GameRecord = serde_json::from_str(line).expect("a game");
            assert_eq!(game.without_times(), here[index]);
        }
        let unknown =
            Series::from_spec(&series.spec().replace(".###.", ".#?#."), None).expect_err("an error").to_string();
        assert!(unknown.starts_with("the series: expected tiles ., ~ and #, found '?'"), "{unknown}");
        let (version, build) = BUILD.split_once('+').expect("a version and a build");
        assert_eq!((version, build.len()), (env!("CARGO_PKG_VERSION"), 16));
        for other in [format!("9.9.9+{build}"), format!("{version}+0123456789abcdef")] {
            let error =
                Series::from_spec(&series.spec().replace(BUILD, &other), None).expect_err("an error").to_string();
            assert_eq!(error, format!("the series: made by getaway {other}, but this is getaway {BUILD}"));
        }
    }

    #[test]
    fn games_played_elsewhere_are_accepted_in_any_order() {
        let series = series();
        let here = play_here(&series);
        let played = |index: usize| format!("{{\"played\": [{index}, {}]}}\n", to_json(&here[index]));
        let script = format!(
            "{}{}{}{}{}{}",
            "{\"want\": 3}\n",
            played(2),
            "{\"want\": 9}\n",
            played(0),
            played(1),
            (3..8).rev().map(played).collect::<String>()
        );
        let mut games = Games::new();
        let mut arrivals = Vec::new();
        let flow = series.play_wanted(
            &mut games,
            process(script),
            &AtomicBool::new(false),
            &|_| true,
            &mut || {},
            |index, _| {
                arrivals.push(index);
                ControlFlow::<()>::Continue(())
            },
        );
        assert!(matches!(flow, Ok(ControlFlow::Continue(()))));
        assert_eq!(arrivals, [2, 0, 1, 7, 6, 5, 4, 3]);
        assert_eq!(games.into_iter().flatten().collect::<Vec<_>>(), here);
        let mut stopped = 0;
        let flow = series.play_wanted(
            &mut Games::new(),
            process(format!("{{\"want\": 9}}\n{}", played(0))),
            &AtomicBool::new(true),
            &|_| true,
            &mut || {},
            |_, _| {
                stopped += 1;
                ControlFlow::<()>::Continue(())
            },
        );
        assert!(matches!(flow, Ok(ControlFlow::Continue(()))) && stopped == 1);
    }
}
