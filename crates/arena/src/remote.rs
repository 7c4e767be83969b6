//! A series played by other processes: its description, and the exchange of games and results.
//!
//! Guarantees: a game depends only on the series and its index, so its record is the same wherever
//! it is played, except for its times; a process of another version or build is refused.

use std::collections::HashSet;
use std::io::{BufRead, Write};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::external::ExternalOptions;
use super::game::GameRecord;
use super::series::{Games, Series, SeriesError, SeriesMap, SeriesOptions};
use getaway::game::{Layout, Position, Rules, Spawn, Style, Tile, variant};
use getaway::map::Map;
use getaway::protocol::to_json;
use getaway::search::Budget;

/// The version and the build of getaway, which must be the same everywhere: equal builds are made
/// from equal sources of everything that games and plays depend on.
pub const BUILD: &str = concat!(env!("CARGO_PKG_VERSION"), "+", env!("GETAWAY_BUILD"));

/// A series as JSON.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Spec {
    /// [`BUILD`].
    version: String,
    maps: Vec<SpecMap>,
    planners: Vec<String>,
    samples: u32,
    seed: u64,
    #[serde(rename = "no_jump", with = "variant")]
    rules: Rules,
    budget: Budget,
    tick_ms: u64,
    restart: bool,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct SpecMap {
    name: String,
    /// A letter per tile, row by row.
    tiles: Vec<String>,
    player: (i32, i32),
    /// Style and position, in the map's order.
    threats: Vec<(Style, i32, i32)>,
}

impl SpecMap {
    fn of(map: &SeriesMap) -> Self {
        let layout = map.layout();
        let row = |tiles: &[Tile]| tiles.iter().map(|tile| tile.letter()).collect();
        let Position { x, y } = layout.player;
        Self {
            name: map.name.clone(),
            tiles: layout.tiles.chunks(layout.width.max(1) as usize).map(row).collect(),
            player: (x, y),
            threats: layout.threats.iter().map(|spawn| (spawn.style, spawn.position.x, spawn.position.y)).collect(),
        }
    }

    fn map(self) -> Result<Map, SeriesError> {
        let tile = |letter: char| match letter {
            '.' => Ok(Tile::Open),
            '~' => Ok(Tile::SeeThrough),
            '#' => Ok(Tile::Wall),
            _ => Err(SeriesError::Spec(format!("the map {}: expected tiles ., ~ and #, found {letter}", self.name))),
        };
        let (width, height) = (self.tiles.first().map_or(0, |row| row.chars().count()), self.tiles.len());
        let tiles: Vec<Tile> = self.tiles.iter().flat_map(|row| row.chars()).map(tile).collect::<Result<_, _>>()?;
        if tiles.len() != width * height {
            return Err(SeriesError::Spec(format!("the map {}: expected rows of one length", self.name)));
        }
        let spawn = |(style, x, y)| Spawn { style, position: Position::new(x, y) };
        let layout = Layout {
            width: width as i32,
            height: height as i32,
            tiles,
            player: Position::new(self.player.0, self.player.1),
            threats: self.threats.into_iter().map(spawn).collect(),
        };
        Ok(Map { name: self.name, kind: String::new(), difficulty: String::new(), layout })
    }
}

/// A message from the process that distributes the games.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Message {
    /// It can take this many more games.
    Want(usize),
    /// A game was played.
    Played(usize, Box<GameRecord>),
    /// The games cannot be played.
    Error(String),
}

impl Series {
    /// The series as JSON, which [`Series::from_spec`] reads.
    pub fn spec(&self) -> String {
        let &SeriesOptions { ref planners, samples, seed, rules, budget } = self.options();
        let tick_ms = u64::try_from(self.external().tick_time.as_millis()).unwrap_or(u64::MAX);
        to_json(&Spec {
            version: BUILD.to_owned(),
            maps: self.maps().iter().map(SpecMap::of).collect(),
            planners: planners.clone(),
            samples,
            seed,
            rules,
            budget,
            tick_ms,
            restart: self.external().restart,
        })
    }

    /// A series from its JSON.
    ///
    /// # Errors
    /// When it is not a series, comes from another version or build, or cannot be played.
    pub fn from_spec(spec: &str) -> Result<Self, SeriesError> {
        let spec: Spec = serde_json::from_str(spec).map_err(|error| SeriesError::Spec(error.to_string()))?;
        let Spec { version, maps, planners, samples, seed, rules, budget, tick_ms, restart } = spec;
        if version != BUILD {
            return Err(SeriesError::Spec(format!("made by getaway {version}, but this is getaway {BUILD}")));
        }
        let maps = maps.into_iter().map(SpecMap::map).collect::<Result<Vec<Map>, SeriesError>>()?;
        let external = ExternalOptions { tick_time: Duration::from_millis(tick_ms), restart, logs: None };
        Ok(Self::new(&maps, SeriesOptions { planners, samples, seed, rules, budget })?.with_external(external))
    }

    /// Plays the games at these indices in the calling thread; returns them as lines of JSON.
    ///
    /// # Errors
    /// As for [`Series::play`].
    pub fn play_lines(&self, indices: &[usize]) -> Result<Vec<String>, SeriesError> {
        let wanted: HashSet<usize> = indices.iter().copied().collect();
        let mut games = Games::new();
        let flow =
            self.play_wanted(&mut games, 1, &AtomicBool::new(false), &|index| wanted.contains(&index), |_, _| {
                ControlFlow::<()>::Continue(())
            })?;
        debug_assert!(flow.is_continue());
        let line = |&index: &usize| games.get(index).and_then(Option::as_ref).map(to_json);
        indices.iter().map(|index| line(index).ok_or_else(|| SeriesError::Spec(format!("no game {index}")))).collect()
    }

    /// Has the games missing in `games` played by another process, as [`Series::play_wanted`] plays
    /// them here. The process is given the series as a line on `output`, and then a line with an
    /// array of indices for each of its `{"want": COUNT}`, empty when there are no more. It writes
    /// `{"played": [INDEX, GAME]}` for each game, in any order, or `{"error": TEXT}`, and ends its
    /// output when all are played.
    ///
    /// # Errors
    /// When the process reports an error, sends anything else, or ends early.
    pub fn play_remotely<B>(
        &self,
        games: &mut Games,
        (input, mut output): (impl BufRead, impl Write),
        stop: &AtomicBool,
        is_wanted: &dyn Fn(usize) -> bool,
        mut on_game: impl FnMut(usize, &Games) -> ControlFlow<B>,
    ) -> Result<ControlFlow<B>, SeriesError> {
        let failed = |error: String| SeriesError::Remote(error);
        games.resize(self.len(), None);
        let missing: Vec<usize> = (0..self.len()).filter(|&index| games[index].is_none()).collect();
        let mut missing = missing.into_iter().peekable();
        let mut in_progress = 0_usize;
        writeln!(output, "{}", self.spec()).and_then(|()| output.flush()).map_err(|error| failed(error.to_string()))?;
        for line in input.lines() {
            if stop.load(Ordering::Relaxed) {
                return Ok(ControlFlow::Continue(()));
            }
            let line = line.map_err(|error| failed(error.to_string()))?;
            let message = serde_json::from_str(&line).map_err(|error| failed(format!("{error} in {line:.200}")))?;
            match message {
                Message::Want(count) => {
                    let next: Vec<usize> = missing.by_ref().filter(|&index| is_wanted(index)).take(count).collect();
                    in_progress += next.len();
                    let sent = writeln!(output, "{}", to_json(&next)).and_then(|()| output.flush());
                    sent.map_err(|error| failed(error.to_string()))?;
                }
                Message::Played(index, game) => {
                    in_progress = in_progress.saturating_sub(1);
                    let Some(slot) = games.get_mut(index) else { return Err(failed(format!("a game {index}"))) };
                    *slot = Some(*game);
                    if let ControlFlow::Break(result) = on_game(index, games) {
                        return Ok(ControlFlow::Break(result));
                    }
                }
                Message::Error(error) => return Err(failed(error)),
            }
        }
        if stop.load(Ordering::Relaxed) || (in_progress == 0 && missing.all(|index| !is_wanted(index))) {
            return Ok(ControlFlow::Continue(()));
        }
        Err(failed("it ended before all games were played".to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series() -> Series {
        let layout = Layout::parse("P..~.\n.###.\n....S").expect("a drawing");
        let mut map = Map { name: "hall".to_owned(), kind: String::new(), difficulty: String::new(), layout };
        // A second threat on the first one's tile, which a drawing cannot show.
        map.layout.threats.push(map.layout.threats[0]);
        let planners = vec!["random".to_owned(), "safest".to_owned()];
        let options =
            SeriesOptions { planners, samples: 4, seed: 5, rules: Rules::BLITZ_2025, budget: Budget::ticks(9) };
        Series::new(&[map], options).expect("a series")
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
        let again = Series::from_spec(&series.spec()).expect("a series");
        assert_eq!(again.maps()[0].layout, series.maps()[0].layout);
        let lines = again.play_lines(&[5, 2]).expect("games");
        let here = play_here(&series);
        for (line, index) in lines.iter().zip([5, 2]) {
            let game: GameRecord = serde_json::from_str(line).expect("a game");
            assert_eq!(game.without_times(), here[index]);
        }
        let unknown = Series::from_spec(&series.spec().replace(".###.", ".#?#.")).expect_err("an error").to_string();
        assert_eq!(unknown, "the series: the map hall: expected tiles ., ~ and #, found ?");
        let (version, build) = BUILD.split_once('+').expect("a version and a build");
        assert_eq!((version, build.len()), (env!("CARGO_PKG_VERSION"), 16));
        for other in [format!("9.9.9+{build}"), format!("{version}+0123456789abcdef")] {
            let error = Series::from_spec(&series.spec().replace(BUILD, &other)).expect_err("an error").to_string();
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
        let mut sent = Vec::new();
        let mut arrivals = Vec::new();
        let flow = series.play_remotely(
            &mut games,
            (script.as_bytes(), &mut sent),
            &AtomicBool::new(false),
            &|_| true,
            |index, _| {
                arrivals.push(index);
                ControlFlow::<()>::Continue(())
            },
        );
        assert!(matches!(flow, Ok(ControlFlow::Continue(()))));
        assert_eq!(arrivals, [2, 0, 1, 7, 6, 5, 4, 3]);
        assert_eq!(games.into_iter().flatten().collect::<Vec<_>>(), here);
        let sent = String::from_utf8(sent).expect("text");
        assert_eq!(sent.lines().skip(1).collect::<Vec<&str>>(), ["[0,1,2]", "[3,4,5,6,7]"]);
    }

    #[test]
    fn errors_of_the_other_process_are_reported() {
        let series = series();
        let error = |script: &str| {
            let flow = series.play_remotely(
                &mut Games::new(),
                (script.as_bytes(), Vec::new()),
                &AtomicBool::new(false),
                &|_| true,
                |_, _| ControlFlow::<()>::Continue(()),
            );
            flow.expect_err("an error").to_string()
        };
        assert!(error("{\"error\": \"node 3 has getaway 0.0.1\"}\n").ends_with("node 3 has getaway 0.0.1"));
        assert!(error("").ends_with("it ended before all games were played"));
        assert!(error("hello\n").contains("hello"));
    }
}
