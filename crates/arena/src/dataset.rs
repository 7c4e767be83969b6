//! Datasets: states from planners' games, each with an observation and with verdicts on the
//! possible moves.
//!
//! A dataset consists of shards of [`SHARD_STATES`] states. Each shard is a `.npy` file: an array
//! of records in version 1.0 of NumPy's format. With built-in planners and a budget in simulated
//! ticks, the content of a shard depends only on the dataset's settings and the shard's index, not
//! on threads or machines.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use data_encoding::BASE64;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use thiserror::Error;

use super::entrant::Entrant;
use super::game::{Host, PlayerSpec};
use super::results::{GameSettings, same_in_run};
use super::series::{Series, SeriesError};
use getaway::batch::{Batch, Shape};
use getaway::game::{Move, State, World};
use getaway::planner::{PlannerError, PlannerSpec};
use getaway::protocol::to_json;
use getaway::search::{Budget, Random};
use getaway::solve::{Outcome, SolverOptions, judge_moves};
use getaway_runs::{BUILD, FileKind, Jobs, Journal, JournalError, WorkerError, Workers, fnv};

/// Number of states per shard; the last shard may have fewer.
pub const SHARD_STATES: u64 = 1024;
/// Maximum number of states from one game.
pub const GAME_STATES: usize = 64;

const KIND: FileKind = FileKind { name: "dataset", version: 1 };
const MOVES: usize = Move::ALL.len();
const MEMORY_MAX_BYTES: usize = 64 << 20;
/// The header of a `.npy` file ends at a multiple of this many bytes.
const NPY_ALIGNMENT: usize = 64;

/// The format of a dataset's observations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Observation {
    /// Written by [`BatchPart::write_features`](getaway::batch::BatchPart::write_features).
    Features,
    /// Written by [`BatchPart::write_compact`](getaway::batch::BatchPart::write_compact).
    Compact,
    /// Written by [`BatchPart::write_windows`](getaway::batch::BatchPart::write_windows).
    Window,
    /// Written by [`BatchPart::write_planes`](getaway::batch::BatchPart::write_planes).
    Planes,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DatasetOptions {
    pub states: u64,
    pub observation: Observation,
    /// Probability of a random move instead of the planner's, in thousandths.
    pub random_moves_permille: u32,
    /// Budget of the search for the verdict on each move, in simulated ticks.
    pub label_ticks: u64,
}

#[derive(Debug, Error)]
#[non_exhaustive]
pub enum DatasetError {
    /// One of the planners is an external bot.
    #[error("{0}: expected a planner, found an external bot, which cannot play a dataset's games")]
    ExternalBot(String),
    #[error("the dataset: {0}")]
    Spec(String),
    #[error(transparent)]
    Series(#[from] SeriesError),
    #[error(transparent)]
    Workers(#[from] WorkerError),
    #[error("{map}, {planner}: {source}")]
    Planner { map: String, planner: String, source: PlannerError },
}

/// A run continues an existing dataset only if the run has the settings in the dataset's file.
#[derive(Serialize, Deserialize)]
struct Settings {
    build: String,
    /// Names of the maps. The dataset's records refer to maps and planners by index.
    maps: Vec<String>,
    planners: Vec<String>,
    /// A fingerprint of the maps' layouts.
    layouts: String,
    #[serde(flatten)]
    games: GameSettings,
    #[serde(flatten)]
    options: DatasetOptions,
}

fn check_settings(found: &Settings, expected: &Settings) -> Result<(), String> {
    same_in_run("the build", &found.build, &expected.build)?;
    same_in_run("the list of maps", found.maps.join(", "), expected.maps.join(", "))?;
    same_in_run("the list of planners", found.planners.join(", "), expected.planners.join(", "))?;
    same_in_run("the fingerprint of the maps", &found.layouts, &expected.layouts)?;
    found.games.check(&expected.games)?;
    same_in_run("the dataset", to_json(&found.options), to_json(&expected.options))
}

/// The line of a shard in the dataset's file. It is written before the shard's own file.
#[derive(Serialize, Deserialize)]
pub struct ShardHash {
    pub shard: usize,
    /// The FNV-1a hash of the shard's file in hexadecimal.
    pub hash: String,
}

impl ShardHash {
    pub fn new(shard: usize, content: &[u8]) -> Self {
        Self { shard, hash: format!("{:016x}", fnv(&[content])) }
    }
}

/// The content of a shard's file. In JSON, it is text in base64.
struct Shard(Vec<u8>);

impl<'de> Deserialize<'de> for Shard {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        BASE64.decode(text.as_bytes()).map(Self).map_err(D::Error::custom)
    }
}

#[derive(Serialize, Deserialize)]
struct Spec {
    dataset: DatasetOptions,
    series: String,
}

/// A field of the records.
struct Field {
    /// Its description in the header of the file.
    text: String,
    bytes: usize,
}

impl Field {
    fn new(name: &str, kind: &str, shape: &[usize]) -> Self {
        let sides: Vec<String> = shape.iter().map(|side| format!("{side},")).collect();
        let sides = if shape.is_empty() { String::new() } else { format!(", ({})", sides.join(" ")) };
        let item_bytes: usize = kind[2..].parse().expect("a kind such as <u4, which ends with its size");
        Self { text: format!("('{name}', '{kind}'{sides})"), bytes: item_bytes * shape.iter().product::<usize>() }
    }
}

#[derive(Debug)]
pub struct Dataset {
    series: Series,
    planners: Vec<PlannerSpec>,
    options: DatasetOptions,
    /// One game per map. A state is copied into the game of its map to be observed.
    observed: Batch,
}

impl Dataset {
    /// Creates a dataset from a series, whose number of samples is ignored.
    ///
    /// # Errors
    /// If one of the planners is an external bot.
    pub fn new(series: Series, options: DatasetOptions) -> Result<Self, DatasetError> {
        let planner = |(player, entrant): (&PlayerSpec, &Entrant)| match player {
            PlayerSpec::Planner(planner) => Ok(planner.clone()),
            PlayerSpec::External(_) => Err(DatasetError::ExternalBot(entrant.spec.clone())),
        };
        let planners = series.players.iter().zip(&series.entrants).map(planner).collect::<Result<_, _>>()?;
        let worlds: Vec<Arc<World>> = series.maps.iter().map(|map| Arc::new(map.world.clone())).collect();
        let games = (0..worlds.len()).collect();
        Ok(Self { observed: Batch::new(worlds, games), planners, series, options })
    }

    /// Returns the dataset's settings as one line of JSON for [`Dataset::from_spec`].
    pub fn spec(&self) -> String {
        to_json(&Spec { dataset: self.options, series: self.series.spec() })
    }

    /// Reads a dataset from JSON. `host` finds external planners.
    ///
    /// # Errors
    /// If the JSON is invalid or comes from a different build, or a map or planner cannot be used.
    pub fn from_spec(spec: &str, host: Host<'_>) -> Result<Self, DatasetError> {
        let spec: Spec = serde_json::from_str(spec).map_err(|error| DatasetError::Spec(error.to_string()))?;
        Self::new(Series::from_spec(&spec.series, host)?, spec.dataset)
    }

    /// Opens or creates the dataset's settings file, locks it, and returns its journal.
    ///
    /// # Errors
    /// If the file cannot be read or written, is in use, or contains anything but the dataset's
    /// settings and the hashes of its shards.
    pub fn open(&self, path: &Path) -> Result<(Journal, HashMap<usize, String>), JournalError> {
        let options = &self.series.options;
        let layouts: Vec<&[u8]> = self.series.maps.iter().map(|map| map.layout.as_bytes()).collect();
        let settings = Settings {
            build: BUILD.to_owned(),
            maps: self.series.maps.iter().map(|map| map.name.clone()).collect(),
            planners: options.planners.clone(),
            layouts: format!("{:016x}", fnv(&layouts)),
            games: GameSettings::of(options),
            options: self.options,
        };
        let mut hashes = HashMap::new();
        let read = |ShardHash { shard, hash }| {
            hashes.insert(shard, hash);
            Ok(())
        };
        let journal = Journal::open(path, KIND, &settings, |found| check_settings(&found, &settings), read)?;
        Ok((journal, hashes))
    }

    pub fn shards(&self) -> usize {
        self.options.states.div_ceil(SHARD_STATES) as usize
    }

    pub fn shard_states(&self, shard: usize) -> u64 {
        (self.options.states - shard as u64 * SHARD_STATES).min(SHARD_STATES)
    }

    fn shard_header(&self, shard: usize) -> Vec<u8> {
        let fields: Vec<String> = self.fields().into_iter().map(|field| field.text).collect();
        let states = self.shard_states(shard);
        let text = format!("{{'descr': [{}], 'fortran_order': False, 'shape': ({states},), }}", fields.join(", "));
        // The magic string, the version and the length of the text take ten bytes.
        let length = (10 + text.len() + 1).next_multiple_of(NPY_ALIGNMENT) - 10;
        let text = format!("{text:<width$}\n", width = length - 1);
        [b"\x93NUMPY\x01\x00", &(length as u16).to_le_bytes()[..], text.as_bytes()].concat()
    }

    pub fn shard_bytes(&self, shard: usize) -> usize {
        let record: usize = self.fields().iter().map(|field| field.bytes).sum();
        self.shard_header(shard).len() + record * self.shard_states(shard) as usize
    }

    /// Plays a shard's games, judges the moves, and returns the content of the shard's file. Calls
    /// `on_state` after each state. Returns `None` once `is_stopped` returns true.
    ///
    /// # Errors
    /// If a planner fails.
    pub fn shard(
        &self,
        shard: usize,
        on_state: &dyn Fn(),
        is_stopped: &dyn Fn() -> bool,
    ) -> Result<Option<Vec<u8>>, DatasetError> {
        let (mut content, mut observed) = (self.shard_header(shard), self.observed.clone());
        let (mut number, mut left) = (shard as u64 * SHARD_STATES, self.shard_states(shard) as usize);
        while left > 0 {
            let game = self.play(number)?;
            for state in game.states.iter().take(left) {
                self.write(&game, state, &mut observed, &mut content);
                on_state();
                if is_stopped() {
                    return Ok(None);
                }
            }
            number += 1;
            left = left.saturating_sub(game.states.len());
        }
        Ok(Some(content))
    }

    /// Computes shards for another process. Returns the content of each shard's file in base64, as JSON.
    ///
    /// # Errors
    /// If a shard does not exist or a planner fails.
    pub fn encoded_shards(&self, shards: &[usize]) -> Result<Vec<String>, DatasetError> {
        let encoded = |&shard: &usize| {
            if shard >= self.shards() {
                return Err(DatasetError::Spec(format!("expected a shard below {}, found {shard}", self.shards())));
            }
            Ok(to_json(&BASE64.encode(&self.shard(shard, &|| (), &|| false)?.expect("not stopped"))))
        };
        shards.iter().map(encoded).collect()
    }

    /// Makes the shards at these indices. Calls `on_state` after each state of a thread, and
    /// `on_shard` with the content of each shard's file, in any order. Once `stop` is set, no more
    /// shards start, and threads abandon theirs.
    ///
    /// # Errors
    /// If a planner or a worker fails.
    pub fn make_shards<B>(
        &self,
        shards: &[usize],
        workers: Workers,
        stop: &AtomicBool,
        on_state: &(dyn Fn() + Sync),
        mut on_shard: impl FnMut(usize, &[u8]) -> ControlFlow<B>,
    ) -> Result<ControlFlow<B>, DatasetError> {
        let mut shards = shards.iter().copied();
        let jobs = Jobs {
            shared: self.spec(),
            next: &mut |count| shards.by_ref().take(count).collect(),
            work: &|&shard, is_stopped| Ok(self.shard(shard, on_state, is_stopped)?.map(Shard)),
            done: &mut |shard, Shard(content)| {
                if !self.is_shard(shard, &content) {
                    return Err(WorkerError::Process(format!("expected shard {shard}, found other data")));
                }
                Ok(on_shard(shard, &content))
            },
        };
        jobs.run(workers, stop)
    }

    /// True if the shard exists and the content has the shard's length and header.
    fn is_shard(&self, shard: usize, content: &[u8]) -> bool {
        shard < self.shards()
            && content.len() == self.shard_bytes(shard)
            && content.starts_with(&self.shard_header(shard))
    }

    fn play(&self, number: u64) -> Result<Game, DatasetError> {
        let options = &self.series.options;
        let mut random = Random::from_seed(fnv(&[&number.to_le_bytes(), &options.seed.to_le_bytes()]));
        let (map, planner) = (random.below(self.series.maps.len()), random.below(options.planners.len()));
        let world = &self.series.maps[map].world;
        let mut player = self.planners[planner].build(random.next_u64());
        let (mut states, mut state) = (Vec::new(), world.start());
        while !state.is_over() {
            let player_move = if random.below(1000) < self.options.random_moves_permille as usize {
                let moves: Vec<Move> = world.legal_moves(&state).collect();
                moves[random.below(moves.len())]
            } else {
                let choice = player.decide(world, &state, options.budget).map_err(|source| {
                    let (map, planner) = (self.series.maps[map].name.clone(), options.planners[planner].clone());
                    DatasetError::Planner { map, planner, source }
                })?;
                choice.player_move
            };
            states.push(state.clone());
            world.step_unchecked(&mut state, player_move);
        }
        let mut picked: Vec<usize> = (0..states.len()).collect();
        random.shuffle(&mut picked);
        picked.truncate(GAME_STATES);
        picked.sort_unstable();
        Ok(Game { number, map, planner, states: picked.into_iter().map(|index| states[index].clone()).collect() })
    }

    fn write(&self, game: &Game, state: &State, observed: &mut Batch, content: &mut Vec<u8>) {
        let world = &self.series.maps[game.map].world;
        content.extend((game.number as u32).to_le_bytes());
        content.extend((game.map as u16).to_le_bytes());
        content.extend((game.planner as u16).to_le_bytes());
        observed.set_state(game.map, state.clone());
        let (shape, part) = (observed.shape(), observed.part(game.map..game.map + 1));
        let length = self.options.observation.format(shape).1.iter().product();
        let words = |words: Vec<i16>| words.into_iter().flat_map(i16::to_le_bytes);
        content.extend(words(filled(shape.state(), |out| part.write_states(out))));
        match self.options.observation {
            Observation::Features => content.extend(words(filled(length, |out| part.write_features(out)))),
            Observation::Compact => content.extend(words(filled(length, |out| part.write_compact(out)))),
            Observation::Window => content.extend(filled(length, |out| part.write_windows(out))),
            Observation::Planes => content.extend(filled(length, |out| part.write_planes(out))),
        }
        let mut outcomes = [-1_i8; MOVES];
        let (mut final_ticks, mut bound_ticks) = ([0_u16; MOVES], [0_u16; MOVES]);
        let options = SolverOptions { memory_max_bytes: MEMORY_MAX_BYTES, ..SolverOptions::default() };
        for verdict in judge_moves(world, state, Budget::ticks(self.options.label_ticks), options) {
            let index = verdict.player_move as usize;
            outcomes[index] = match verdict.solution.outcome {
                Outcome::Doomed => 0,
                Outcome::Undecided => 1,
                Outcome::Survives => 2,
            };
            (final_ticks[index], bound_ticks[index]) = (verdict.solution.final_tick, verdict.solution.bound_tick);
        }
        content.extend(outcomes.iter().flat_map(|outcome| outcome.to_le_bytes()));
        content.extend(final_ticks.iter().chain(&bound_ticks).flat_map(|tick| tick.to_le_bytes()));
    }

    fn fields(&self) -> [Field; 8] {
        let shape = self.observed.shape();
        let (kind, sides) = self.options.observation.format(shape);
        [
            Field::new("game", "<u4", &[]),
            Field::new("map", "<u2", &[]),
            Field::new("planner", "<u2", &[]),
            Field::new("state", "<i2", &[shape.state()]),
            Field::new("observation", kind, &sides),
            Field::new("outcomes", "|i1", &[MOVES]),
            Field::new("final_ticks", "<u2", &[MOVES]),
            Field::new("bound_ticks", "<u2", &[MOVES]),
        ]
    }
}

impl Observation {
    /// The names of the formats in JSON.
    pub const NAMES: [&str; 4] = ["features", "compact", "window", "planes"];

    /// The kind of the numbers, as in NumPy, and the shape of an observation.
    fn format(self, shape: Shape) -> (&'static str, Vec<usize>) {
        match self {
            Self::Features => ("<i2", vec![Shape::FEATURES]),
            Self::Compact => ("<i2", vec![shape.compact()]),
            Self::Window => ("|u1", shape.windows().to_vec()),
            Self::Planes => ("|u1", shape.planes().to_vec()),
        }
    }
}

/// Returns `length` numbers that `write` sets.
fn filled<T: Clone + Default>(length: usize, write: impl FnOnce(&mut [T])) -> Vec<T> {
    let mut numbers = vec![T::default(); length];
    write(&mut numbers);
    numbers
}

struct Game {
    number: u64,
    map: usize,
    planner: usize,
    states: Vec<State>,
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use crate::series::SeriesOptions;
    use getaway::game::{Layout, Rules};
    use getaway::map::Map;

    fn dataset(states: u64, observation: Observation, planner: &str) -> Result<Dataset, DatasetError> {
        let map = |name: &str, drawing: &str| {
            let layout = Layout::parse(drawing).expect("a drawing");
            Map { name: name.to_owned(), kind: String::new(), difficulty: String::new(), layout }
        };
        let maps = [map("hall", "P....\n.###.\n....S"), map("ring", "P..\n.#.\n...")];
        let planners = vec![planner.to_owned(), "random".to_owned()];
        let options = SeriesOptions { planners, samples: 1, seed: 9, rules: Rules::NO_JUMP, budget: Budget::ticks(9) };
        let series = Series::new(&maps, options).expect("a series");
        Dataset::new(series, DatasetOptions { states, observation, random_moves_permille: 100, label_ticks: 500 })
    }

    #[test]
    fn shards_have_the_announced_size_and_do_not_depend_on_each_other() {
        for name in Observation::NAMES {
            let observation = serde_json::from_value(name.into()).expect("a format");
            let whole = dataset(SHARD_STATES + 40, observation, "safest").expect("a dataset");
            assert_eq!((whole.shards(), whole.shard_states(0), whole.shard_states(1)), (2, SHARD_STATES, 40));
            let shard = whole.shard(1, &|| (), &|| false).expect("a shard").expect("not stopped");
            assert_eq!(shard.len(), whole.shard_bytes(1));
            assert!(whole.is_shard(1, &shard) && whole.shard_header(1).len().is_multiple_of(NPY_ALIGNMENT));
            let elsewhere = Dataset::from_spec(&whole.spec(), None).expect("a dataset");
            let sent = elsewhere.encoded_shards(&[1]).expect("a shard");
            let Shard(read) = serde_json::from_str(&sent[0]).expect("a shard");
            assert!(read == shard && !whole.is_shard(0, &shard) && !whole.is_shard(2, &shard));
        }
        let states = Cell::new(0);
        let stopped = dataset(40, Observation::Features, "safest").expect("a dataset");
        let stopped = stopped.shard(0, &|| states.set(states.get() + 1), &|| states.get() == 7);
        assert!(stopped.expect("no shard").is_none() && states.get() == 7);
    }

    #[test]
    fn external_bots_are_refused() {
        let error = dataset(1, Observation::Features, "exec:./bot").expect_err("an error").to_string();
        assert!(error.starts_with("exec:./bot: expected a planner, found an external bot"), "{error}");
    }
}
