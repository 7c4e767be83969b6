//! A series: in each sample, every planner plays one game on every map.
//!
//! Guarantees: in each sample, all planners play a map with the same seed, so their games form
//! pairs. If the budget has no time limit, the moves of a built-in planner do not depend on the
//! number of threads or on interruptions.

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::entrant::{Entrant, NAME_CHARS_MAX, shown_names};
use super::external::{ExternalHost, ExternalOptions};
use super::game::{GameError, Host, PlayedGame, PlayerSpec};
use super::record::GameRecord;
use getaway::bot::{BotOptions, OptionsError};
use getaway::game::{Layout, POINTS_PER_TICK, Rules, World};
use getaway::map::Map;
use getaway::planner::PlannerSpecError;
use getaway::search::{Budget, Random};
use getaway::solve::solve;
use getaway_runs::{Jobs, WorkerError, Workers, fnv};

/// Size of a seed in bits: JSON parsers that use doubles round some larger integers.
const SEED_BITS: u32 = 53;
/// Budget of the search for the best score on a map, in simulated ticks: about a tenth of a second.
const BEST_TICKS: u64 = 1_000_000;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SeriesOptions {
    /// The planners and external bots, each as `SPEC` or `NAME=SPEC`; see [`Entrant::spec`].
    pub planners: Vec<String>,
    /// Number of games per planner and map.
    pub samples: u32,
    /// The seed from which the seeds of all games are derived.
    pub seed: u64,
    pub rules: Rules,
    pub budget: Budget,
}

#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SeriesError {
    /// A map, the list of maps or planners, the name or command of an entrant, or the JSON of a series is
    /// invalid.
    #[error("{0}")]
    Invalid(String),
    #[error(transparent)]
    Workers(#[from] WorkerError),
    /// The log of an external bot cannot be written.
    #[error(transparent)]
    External(GameError),
    #[error(transparent)]
    Planner(#[from] PlannerSpecError),
    #[error(transparent)]
    Bot(#[from] OptionsError),
    #[error("{map}, {planner}, seed {seed}: {source}")]
    Game { map: String, planner: String, seed: u64, source: Box<GameError> },
}

#[derive(Clone, Debug)]
pub struct SeriesMap {
    pub name: String,
    /// A fingerprint of the map's tiles and spawns.
    pub layout: String,
    pub world: World,
    best_score: Arc<OnceLock<Option<u32>>>,
}

impl SeriesMap {
    /// The best possible score, if a short search finds a line and proves that no line is longer. The
    /// first call searches.
    pub fn best_score(&self) -> Option<u32> {
        *self.best_score.get_or_init(|| {
            let solution = solve(&self.world, &self.world.start(), Budget::ticks(BEST_TICKS));
            solution.is_optimal().then(|| u32::from(solution.final_tick) * POINTS_PER_TICK)
        })
    }
}

/// A list of games to play, ordered by sample, then by map, then by planner.
#[derive(Clone, Debug)]
pub struct Series {
    pub options: SeriesOptions,
    pub external: ExternalOptions,
    pub entrants: Vec<Entrant>,
    /// The display names of the entrants, in the order of [`SeriesOptions::planners`].
    pub names: Vec<String>,
    pub(super) players: Vec<PlayerSpec>,
    pub maps: Arc<[SeriesMap]>,
}

/// The games of a series by index; `None` for a game that has not been played yet.
pub type Games = Vec<Option<GameRecord>>;
/// Like [`Games`], but can end before the series does.
pub type GameSlice = [Option<GameRecord>];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GameKey {
    /// The sample, from 0.
    pub sample: u32,
    pub map: usize,
    pub planner: usize,
}

impl Series {
    /// Finds the planners and builds the lookup tables of every map, but plays no game.
    ///
    /// # Errors
    /// If a planner or bot is invalid, a map cannot be played, or two entrants or two maps have
    /// the same name.
    pub fn new(maps: &[Map], options: SeriesOptions) -> Result<Self, SeriesError> {
        Self::with_host(maps, options, None)
    }

    /// Like [`Series::new`], but `host` finds external planners.
    pub fn with_host(maps: &[Map], options: SeriesOptions, host: Host<'_>) -> Result<Self, SeriesError> {
        let mut map_names = HashSet::new();
        if let Some(map) = maps.iter().find(|map| !map_names.insert(&map.name)) {
            return Err(SeriesError::Invalid(format!("two maps are named {}: map names must be unique", map.name)));
        }
        let prepare = |map: &Map| {
            let name = map.name.clone();
            let invalid = |error| SeriesError::Invalid(format!("{name}: {error}"));
            let world = World::new(&map.layout, &options.rules).map_err(invalid)?;
            Ok(SeriesMap { name, layout: fingerprint(&map.layout), world, best_score: Arc::default() })
        };
        let maps = maps.iter().map(prepare).collect::<Result<_, SeriesError>>()?;
        let planners = options.planners.clone();
        let (entrants, names, players) = (Vec::new(), Vec::new(), Vec::new());
        let empty = Self { options, external: ExternalOptions::default(), entrants, names, players, maps };
        empty.with_planners(planners, host)
    }

    /// Returns a series with these planners and the same maps and settings.
    ///
    /// # Errors
    /// If a planner is invalid, a bot has no command, or two entrants have the same name.
    pub(super) fn with_planners(&self, planners: Vec<String>, host: Host<'_>) -> Result<Self, SeriesError> {
        let entrants: Vec<Entrant> = planners.iter().map(|text| Entrant::parse(text)).collect();
        let (mut labels, mut players) = (HashSet::new(), Vec::new());
        for entrant in &entrants {
            players.push(PlayerSpec::find(entrant, host)?);
            let label = entrant.label();
            if !labels.insert(label) {
                let expected = "expected NAME=PLANNER with different names";
                return Err(SeriesError::Invalid(format!("two planners are named {label}: {expected}")));
            }
        }
        let names = shown_names(&entrants);
        let options = SeriesOptions { planners, ..self.options.clone() };
        let (external, maps) = (self.external.clone(), Arc::clone(&self.maps));
        Ok(Self { options, external, entrants, names, players, maps })
    }

    pub fn len(&self) -> usize {
        self.options.samples as usize * self.maps.len() * self.options.planners.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn key(&self, index: usize) -> GameKey {
        let (rest, planner) = (index / self.options.planners.len(), index % self.options.planners.len());
        GameKey { sample: (rest / self.maps.len()) as u32, map: rest % self.maps.len(), planner }
    }

    pub fn index(&self, key: GameKey) -> usize {
        (key.sample as usize * self.maps.len() + key.map) * self.options.planners.len() + key.planner
    }

    /// Returns a planner's game in a unit, which is a map and a sample.
    pub fn game<'a>(&self, games: &'a GameSlice, unit: usize, planner: usize) -> Option<&'a GameRecord> {
        games.get(unit * self.options.planners.len() + planner)?.as_ref()
    }

    /// Returns the numbers of the units in the order of the series, on one map or on all maps.
    pub(super) fn units(&self, map: Option<usize>) -> impl Iterator<Item = usize> + use<> {
        let (maps, units) = (self.maps.len(), self.options.samples as usize * self.maps.len());
        (0..units).filter(move |unit| map.is_none_or(|map| unit % maps == map))
    }

    /// Returns the played games of a planner in the order of the series, on one map or on all maps.
    pub fn games_of<'a>(
        &'a self,
        games: &'a GameSlice,
        planner: usize,
        map: Option<usize>,
    ) -> impl Iterator<Item = &'a GameRecord> {
        self.units(map).filter_map(move |unit| self.game(games, unit, planner))
    }

    /// Returns the seed that all planners use on a map in a sample.
    pub fn seed(&self, map: usize, sample: u32) -> u64 {
        let name = self.maps[map].name.as_bytes();
        let hash = fnv(&[name, &sample.to_le_bytes(), &self.options.seed.to_le_bytes()]);
        Random::from_seed(hash).next_u64() >> (u64::BITS - SEED_BITS)
    }

    /// Plays the missing games on `threads` threads (at least one) until all are played, `stop` is
    /// set or `on_game` breaks. `on_game` gets the index of each finished game and all games so
    /// far. When the series stops early, it abandons the games in progress.
    ///
    /// # Errors
    /// If a game is aborted by an error, a bot's log cannot be written, or threads cannot start.
    pub fn play<B>(
        &self,
        games: &mut Games,
        threads: usize,
        stop: &AtomicBool,
        on_game: impl FnMut(usize, &Games) -> ControlFlow<B>,
    ) -> Result<ControlFlow<B>, SeriesError> {
        self.play_wanted(games, Workers::Threads(threads), stop, &|_| true, &mut || {}, on_game)
    }

    /// Like [`Series::play`], but on any workers, and only games for which `is_wanted` returns true.
    /// Calls `wait` on this thread at least every 50 ms.
    pub fn play_wanted<B>(
        &self,
        games: &mut Games,
        workers: Workers,
        stop: &AtomicBool,
        is_wanted: &dyn Fn(usize) -> bool,
        wait: &mut dyn FnMut(),
        mut on_game: impl FnMut(usize, &Games) -> ControlFlow<B>,
    ) -> Result<ControlFlow<B>, SeriesError> {
        games.resize(self.len(), None);
        let host = ExternalHost::new(self.external.clone());
        // Games start sample by sample, so that an interrupted series covers the maps evenly.
        let missing: Vec<usize> = (0..self.len()).filter(|&index| games[index].is_none()).collect();
        let mut missing = missing.into_iter().filter(|&index| is_wanted(index));
        let jobs = Jobs {
            shared: self.spec(),
            next: &mut |count| {
                wait();
                missing.by_ref().take(count).collect()
            },
            work: &|&index: &usize, is_stopped| self.play_one(index, &host, is_stopped),
            done: &mut |index, game| {
                let unknown = || WorkerError::Process(format!("unknown game {index}"));
                *games.get_mut(index).ok_or_else(unknown)? = Some(game);
                Ok(on_game(index, games))
            },
        };
        jobs.run(workers, stop)
    }

    /// Plays a game. Returns `None` if the game was abandoned.
    pub(super) fn play_one(
        &self,
        index: usize,
        host: &ExternalHost,
        is_stopped: &dyn Fn() -> bool,
    ) -> Result<Option<GameRecord>, SeriesError> {
        let GameKey { sample, map, planner } = self.key(index);
        let (SeriesMap { name, layout, world, .. }, seed) = (&self.maps[map], self.seed(map, sample));
        let SeriesOptions { rules, budget, .. } = self.options;
        let options = BotOptions { seed, rules, budget, ..BotOptions::default() };
        let file: String = file_name(&self.names[planner]).chars().take(NAME_CHARS_MAX).collect();
        let log_name = format!("{}-{file}-{}-{}.log", planner + 1, file_name(name), sample + 1);
        let played = self.players[planner].player(options)?.play(world, (host, &log_name), is_stopped, &mut |_, _| {});
        let played = played.map_err(|source| match source {
            GameError::Log(_) => SeriesError::External(source),
            source => {
                let planner = self.names[planner].clone();
                SeriesError::Game { map: name.clone(), planner, seed, source: Box::new(source) }
            }
        });
        let Some(PlayedGame { record, .. }) = played? else { return Ok(None) };
        let entrant = &self.entrants[planner];
        let spec = entrant.name.as_ref().map(|_| entrant.spec.clone());
        let (map, layout, planner) = (name.clone(), layout.clone(), entrant.label().to_owned());
        Ok(Some(GameRecord { map, layout, planner, spec, sample, seed, rules, budget, ..record }))
    }
}

fn file_name(map: &str) -> String {
    map.chars().map(|c| if c.is_alphanumeric() || "-_.".contains(c) { c } else { '_' }).collect()
}

fn fingerprint(layout: &Layout) -> String {
    let rows: String = layout.rows().iter().map(|row| format!("{row}\n")).collect();
    // A drawing shows only one spawn per tile, so the hash also includes the list of spawns.
    let spawns = layout.threats.iter().map(|spawn| format!("{} {}\n", spawn.style, spawn.position));
    format!("{:016x}", fnv(&[rows.as_bytes(), spawns.collect::<String>().as_bytes()]))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;

    use super::*;

    fn map(name: &str) -> Map {
        let layout = Layout::parse("#######\n#P....#\n#.###.#\n#....S#\n#######").expect("a drawing");
        Map { name: name.to_owned(), kind: String::new(), difficulty: String::new(), layout }
    }

    fn options(planners: &[&str]) -> SeriesOptions {
        SeriesOptions {
            planners: planners.iter().map(ToString::to_string).collect(),
            samples: 3,
            seed: 1,
            rules: Rules::BLITZ_2025,
            budget: Budget::ticks(5),
        }
    }

    fn series(planners: &[&str]) -> Series {
        Series::new(&[map("one"), map("two")], options(planners)).expect("a series")
    }

    fn play_all(series: &Series, threads: usize) -> Vec<GameRecord> {
        let mut games = Games::new();
        let flow = series.play(&mut games, threads, &AtomicBool::new(false), |_, _| ControlFlow::<()>::Continue(()));
        assert!(matches!(flow, Ok(ControlFlow::Continue(()))));
        games.into_iter().map(|game| game.expect("every game").without_times()).collect()
    }

    #[test]
    fn keys_and_indices_correspond() {
        let series = series(&["random", "safest", "sampling"]);
        assert_eq!(series.len(), 18);
        for index in 0..series.len() {
            assert_eq!(series.index(series.key(index)), index);
        }
        assert_eq!(series.key(17), GameKey { sample: 2, map: 1, planner: 2 });
    }

    #[test]
    fn threads_do_not_change_the_games() {
        let series = series(&["random", "sampling"]);
        let games = play_all(&series, 1);
        assert_eq!(games, play_all(&series, 2));
        assert_eq!(games, play_all(&series, 5));
        for (index, game) in games.iter().enumerate() {
            let key = series.key(index);
            assert_eq!((game.sample, game.map.as_str()), (key.sample, series.maps[key.map].name.as_str()));
            assert_eq!(game.seed, series.seed(key.map, key.sample));
        }
        let scores: HashSet<u32> = games.iter().map(|game| game.score).collect();
        assert!(scores.len() > 3, "games differ: {scores:?}");
    }

    #[test]
    fn pairs_share_their_seed_and_all_other_seeds_differ() {
        let series = series(&["random"]);
        let seeds: HashSet<u64> = (0..6).map(|index| series.seed(index % 2, index as u32 / 2)).collect();
        assert_eq!(seeds.len(), 6);
        assert!(seeds.iter().all(|&seed| seed < 1 << SEED_BITS));
        let other = Series::new(&[map("one"), map("two")], SeriesOptions { seed: 2, ..options(&["random"]) });
        assert_ne!(other.expect("a series").seed(0, 0), series.seed(0, 0));
    }

    #[test]
    fn interrupted_series_resumes() {
        let series = series(&["random", "safest"]);
        let stop = AtomicBool::new(false);
        let mut games = Games::new();
        let mut seen = 0;
        let flow = series.play(&mut games, 2, &stop, |_, _| {
            seen += 1;
            if seen == 4 { ControlFlow::Break("enough") } else { ControlFlow::Continue(()) }
        });
        assert!(matches!(flow, Ok(ControlFlow::Break("enough"))));
        assert_eq!(games.iter().flatten().count(), 4);
        let mut later = Vec::new();
        let flow = series.play(&mut games, 1, &stop, |index, _| {
            later.push(index);
            ControlFlow::<()>::Continue(())
        });
        assert!(matches!(flow, Ok(ControlFlow::Continue(()))));
        assert_eq!(later.len(), 8);
        let games: Vec<GameRecord> = games.into_iter().flatten().map(GameRecord::without_times).collect();
        assert_eq!(games, play_all(&series, 1));
        let mut none = Games::new();
        stop.store(true, Ordering::Relaxed);
        let flow = series.play(&mut none, 2, &stop, |_, _| ControlFlow::<()>::Continue(()));
        assert!(matches!(flow, Ok(ControlFlow::Continue(()))) && none.iter().all(Option::is_none));
    }

    #[test]
    fn duplicate_maps_and_planners_are_rejected() {
        let error = |maps: &[Map], planners| Series::new(maps, options(planners)).expect_err("an error").to_string();
        assert_eq!(error(&[map("a"), map("a")], &["random"]), "two maps are named a: map names must be unique");
        let twice = error(&[map("a")], &["random", " random"]);
        assert_eq!(twice, "two planners are named random: expected NAME=PLANNER with different names");
        assert!(error(&[map("a")], &["clever"]).starts_with("no planner named clever"));
    }

    #[test]
    fn fingerprint_depends_on_the_layout_only() {
        let other = Layout::parse("#######\n#P....#\n#.###.#\n#....G#\n#######").expect("a drawing");
        assert_ne!(fingerprint(&other), fingerprint(&map("a").layout));
        assert_eq!(fingerprint(&map("b").layout), fingerprint(&map("a").layout));
    }
}
