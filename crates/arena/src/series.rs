//! A series of games: every sample of every map by every planner, on several threads.
//!
//! The promise: what a game is depends on the series and its place in it alone, so with a budget in evaluations a series has one outcome, whatever
//! the number of threads and however often it was interrupted. The planners of a series play a sample with the same seed: the games are pairs.

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;

use rand_pcg::rand_core::{Rng, SeedableRng};
use rayon::ThreadPoolBuilder;
use rayon::iter::{ParallelBridge, ParallelIterator};
use thiserror::Error;

use super::game::{Budget, GameError, GameRecord, SourceCounts, Times, play};
use getaway::bot::{Bot, BotOptions};
use std::hash::Hasher;

use getaway::fnv::FnvHasher;
use getaway::game::{Layout, Rules, World, WorldError};
use getaway::map::Map;
use getaway::planner::{self, PlannerError};
use getaway::search::Generator;

/// Bits of a seed, so that every reader of JSON reads it exactly.
const SEED_BITS: u32 = 53;

/// What a series consists of.
#[derive(Clone, Debug)]
pub struct SeriesOptions {
    /// Names of planners, or expressions.
    pub planners: Vec<String>,
    /// Games by each planner on each map.
    pub samples: u32,
    /// Where all seeds come from.
    pub seed: u64,
    /// The rules of the games.
    pub rules: Rules,
    /// What a decision may cost.
    pub budget: Budget,
}

/// Why a series cannot be played.
#[derive(Debug, Error)]
pub enum SeriesError {
    /// Two maps of a name: results could not be told apart.
    #[error("two maps are named {0}, expected every name once")]
    MapTwice(String),
    /// Two planners of a name.
    #[error("{0} is named twice, expected every planner once")]
    PlannerTwice(String),
    /// A planner that does not exist.
    #[error(transparent)]
    Planner(#[from] PlannerError),
    /// A map that cannot be played.
    #[error("{map}: {source}")]
    World {
        /// The map.
        map: String,
        /// Why not.
        source: WorldError,
    },
    /// A game that cannot be played on.
    #[error("{map}, {planner}, seed {seed}: {source}")]
    Game {
        /// The map.
        map: String,
        /// Who played.
        planner: String,
        /// The seed of the game.
        seed: u64,
        /// What happened.
        source: Box<GameError>,
    },
    /// The system gives no threads.
    #[error("no threads ({0})")]
    Threads(#[from] rayon::ThreadPoolBuildError),
}

/// A map of a series.
#[derive(Clone, Debug)]
pub struct SeriesMap {
    /// Its name.
    pub name: String,
    /// A fingerprint of its tiles and spawns.
    pub layout: String,
    world: World,
}

/// Games to be played, in order: sample by sample, in each map by map, on each planner by planner.
#[derive(Clone, Debug)]
pub struct Series {
    options: SeriesOptions,
    maps: Vec<SeriesMap>,
}

/// The games of a series by their place in it; those that were not played are missing.
pub type Games = Vec<Option<GameRecord>>;

/// Which game one is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The sample, from 0.
    pub sample: u32,
    /// The map, by its place among the maps.
    pub map: usize,
    /// The planner, by its place among the planners.
    pub planner: usize,
}

impl Series {
    /// Gets a series ready: the tables of every map are made here.
    ///
    /// # Errors
    /// When a planner or map cannot play, or comes twice.
    pub fn new(maps: &[Map], options: SeriesOptions) -> Result<Self, SeriesError> {
        let mut names = HashSet::new();
        for name in &options.planners {
            planner::by_name(name, 0)?;
            if !names.insert(name.trim()) {
                return Err(SeriesError::PlannerTwice(name.clone()));
            }
        }
        let mut names = HashSet::new();
        if let Some(map) = maps.iter().find(|map| !names.insert(&map.name)) {
            return Err(SeriesError::MapTwice(map.name.clone()));
        }
        let ready = |map: &Map| {
            let name = map.name.clone();
            let world = World::new(&map.layout, &options.rules)
                .map_err(|source| SeriesError::World { map: name.clone(), source })?;
            Ok(SeriesMap { name, layout: fingerprint(&map.layout), world })
        };
        let maps = maps.iter().map(ready).collect::<Result<_, SeriesError>>()?;
        Ok(Self { options, maps })
    }

    /// What the series consists of.
    pub fn options(&self) -> &SeriesOptions {
        &self.options
    }

    /// The maps, in order.
    pub fn maps(&self) -> &[SeriesMap] {
        &self.maps
    }

    /// How many games there are.
    pub fn len(&self) -> usize {
        self.options.samples as usize * self.maps.len() * self.options.planners.len()
    }

    /// Whether there are no games.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Which game stands at this index.
    pub fn place(&self, index: usize) -> Place {
        let (rest, planner) = (index / self.options.planners.len(), index % self.options.planners.len());
        Place { sample: (rest / self.maps.len()) as u32, map: rest % self.maps.len(), planner }
    }

    /// Where a game stands.
    pub fn index(&self, place: Place) -> usize {
        (place.sample as usize * self.maps.len() + place.map) * self.options.planners.len() + place.planner
    }

    /// The games by a planner, on one map or on all, in order.
    pub fn games_of<'a>(
        &'a self,
        games: &'a Games,
        planner: usize,
        map: Option<usize>,
    ) -> impl Iterator<Item = &'a GameRecord> {
        let is_asked = move |place: Place| place.planner == planner && map.is_none_or(|map| place.map == map);
        let asked = games.iter().enumerate().filter(move |&(index, _)| is_asked(self.place(index)));
        asked.filter_map(|(_, game)| game.as_ref())
    }

    /// The seed of a sample on a map: the same for every planner.
    pub fn seed(&self, map: usize, sample: u32) -> u64 {
        let mut hash = FnvHasher::default();
        hash.write(self.maps[map].name.as_bytes());
        hash.write(&sample.to_le_bytes());
        hash.write(&self.options.seed.to_le_bytes());
        Generator::seed_from_u64(hash.finish()).next_u64() >> (u64::BITS - SEED_BITS)
    }

    /// Plays the games that `games` misses, on so many threads, until all are there, `stop` is set or `on_game` breaks off; games that are under way are
    /// given up then. `on_game` is shown the index of each game as it ends, with all games so far.
    ///
    /// # Errors
    /// When a game cannot be played on, or there are no threads.
    pub fn play<B>(
        &self,
        games: &mut Games,
        threads: usize,
        stop: &AtomicBool,
        mut on_game: impl FnMut(usize, &Games) -> ControlFlow<B>,
    ) -> Result<ControlFlow<B>, SeriesError> {
        games.resize(self.len(), None);
        let missing: Vec<usize> = (0..self.len()).filter(|&index| games[index].is_none()).collect();
        let pool = ThreadPoolBuilder::new().num_threads(threads.max(1)).build()?;
        let over = AtomicBool::new(false);
        let is_stopped = || stop.load(Ordering::Relaxed) || over.load(Ordering::Relaxed);
        let (sender, receiver) = mpsc::channel();
        let play_one = |sender: &mut mpsc::Sender<_>, index| {
            if !is_stopped()
                && let Some(result) = self.play_one(index, is_stopped).transpose()
            {
                // Nobody listens any more once the series has been broken off.
                let _ = sender.send((index, result));
            }
        };
        thread::scope(|scope| {
            // Games are handed out one by one and in order: what is known after an interruption is spread over all maps.
            scope.spawn(move || pool.install(|| missing.into_iter().par_bridge().for_each_with(sender, play_one)));
            for (index, result) in receiver {
                let flow = result.map(|game| {
                    games[index] = Some(game);
                    on_game(index, games)
                });
                if !matches!(flow, Ok(ControlFlow::Continue(()))) {
                    over.store(true, Ordering::Relaxed);
                    return flow;
                }
            }
            Ok(ControlFlow::Continue(()))
        })
    }

    /// Plays a game; nothing if it was given up.
    fn play_one(&self, index: usize, is_stopped: impl Fn() -> bool) -> Result<Option<GameRecord>, SeriesError> {
        let Place { sample, map, planner } = self.place(index);
        let SeriesMap { name, layout, world } = &self.maps[map];
        let SeriesOptions { rules, budget, ref planners, .. } = self.options;
        let (planner, seed) = (&planners[planner], self.seed(map, sample));
        let mut bot = Bot::new(BotOptions { planner: planner.clone(), seed, rules, ..budget.bot_options() })?;
        let (mut evaluations, mut sources, mut times) = (0, SourceCounts::default(), Times::default());
        let played = play(world, &mut bot, |_, decision| {
            evaluations += decision.evaluations;
            sources.add(decision.source);
            times.add(decision.elapsed);
            if is_stopped() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        let ended = played.map_err(|source| {
            let (map, planner) = (name.clone(), planner.clone());
            SeriesError::Game { map, planner, seed, source: Box::new(source) }
        })?;
        let ControlFlow::Continue(state) = ended else { return Ok(None) };
        Ok(Some(GameRecord {
            map: name.clone(),
            layout: layout.clone(),
            planner: planner.clone(),
            sample,
            seed,
            rules,
            budget,
            score: world.score(&state),
            final_tick: state.tick(),
            caught: state.is_caught(),
            evaluations,
            sources,
            mispredictions: bot.mispredictions().iter().sum(),
            times,
        }))
    }
}

/// Tells layouts apart.
fn fingerprint(layout: &Layout) -> String {
    let mut hash = FnvHasher::default();
    for row in layout.rows() {
        hash.write(row.as_bytes());
        hash.write(b"\n");
    }
    // A drawing shows one spawn a tile; there may be more.
    for spawn in &layout.threats {
        hash.write(format!("{} {}\n", spawn.style, spawn.position).as_bytes());
    }
    format!("{:016x}", hash.finish())
}

#[cfg(test)]
mod tests {
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
            budget: Budget::evaluations(5),
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
    fn places_and_indices_are_the_same_thing() {
        let series = series(&["random", "safest", "sampling"]);
        assert_eq!(series.len(), 18);
        for index in 0..series.len() {
            assert_eq!(series.index(series.place(index)), index);
        }
        assert_eq!(series.place(17), Place { sample: 2, map: 1, planner: 2 });
    }

    #[test]
    fn threads_do_not_change_the_games() {
        let series = series(&["random", "sampling"]);
        let games = play_all(&series, 1);
        assert_eq!(games, play_all(&series, 2));
        assert_eq!(games, play_all(&series, 5));
        for (index, game) in games.iter().enumerate() {
            let place = series.place(index);
            assert_eq!((game.sample, game.map.as_str()), (place.sample, series.maps()[place.map].name.as_str()));
            assert_eq!(game.seed, series.seed(place.map, place.sample));
        }
        let scores: HashSet<u32> = games.iter().map(|game| game.score).collect();
        assert!(scores.len() > 3, "games differ: {scores:?}");
    }

    #[test]
    fn pairs_share_their_seed_and_nothing_else_does() {
        let series = series(&["random"]);
        let seeds: HashSet<u64> = (0..6).map(|index| series.seed(index % 2, index as u32 / 2)).collect();
        assert_eq!(seeds.len(), 6);
        assert!(seeds.iter().all(|&seed| seed < 1 << SEED_BITS));
        let other = Series::new(&[map("one"), map("two")], SeriesOptions { seed: 2, ..options(&["random"]) });
        assert_ne!(other.expect("a series").seed(0, 0), series.seed(0, 0));
    }

    #[test]
    fn a_series_that_was_broken_off_goes_on_where_it_was() {
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
    fn what_cannot_be_told_apart_is_refused() {
        let error = |maps: &[Map], planners| Series::new(maps, options(planners)).expect_err("an error").to_string();
        assert_eq!(error(&[map("a"), map("a")], &["random"]), "two maps are named a, expected every name once");
        let twice = error(&[map("a")], &["random", " random"]);
        assert_eq!(twice, " random is named twice, expected every planner once");
        assert!(error(&[map("a")], &["clever"]).starts_with("no planner named clever"));
    }

    #[test]
    fn layouts_have_fingerprints() {
        let other = Layout::parse("#######\n#P....#\n#.###.#\n#....G#\n#######").expect("a drawing");
        assert_ne!(fingerprint(&other), fingerprint(&map("a").layout));
        assert_eq!(fingerprint(&map("b").layout), fingerprint(&map("a").layout));
    }
}
