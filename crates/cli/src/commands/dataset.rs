//! Guarantees: if the planners are deterministic for a given seed, the files do not depend on the
//! number of threads, on a cluster or on interruptions. The command keeps files that do not belong
//! to the dataset.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use serde_json::json;

use getaway::files;
use getaway::protocol::write_line;
use getaway::search::Budget;
use getaway_arena::{Dataset, DatasetOptions, Observation, Series, SeriesOptions, ShardHash};
use getaway_runs::Journal;

use crate::arguments::{ANY, MapArgs, RulesArgs, WorkerArgs, integer, parse_permille, seed};
use crate::error::{at, unreadable, unwritable};
use crate::interrupt::{check_interrupt, stop_on_interrupt};
use crate::output::{Progress, Say, count};
use crate::{Invocation, Result};

const MAX_STATES: u64 = 1_000_000_000;
/// Name of the file with the dataset's settings and the hashes of its shards. The command locks this
/// file while it runs.
const DESCRIPTION: &str = "dataset.jsonl";

/// Write NumPy files of states from planners' games, with an exact search's verdict on each move
///
/// Each file, such as DIR/shard-00000.npy, is an array of at most 1,024 records. Rerun the same
/// command to continue after an interruption.
#[derive(Args)]
pub(crate) struct DatasetArgs {
    /// Maps to play, by name or path [default: all maps of every
    /// --maps DIR, or the bundled maps]
    #[arg(value_name = "MAP")]
    names: Vec<String>,
    #[command(flatten)]
    maps: MapArgs,
    /// Number of states; a game contributes at most 64
    #[arg(long, value_name = "N", value_parser = integer::<u64>(1..=MAX_STATES))]
    states: u64,
    /// Output folder; created if missing
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Planner that plays the games; repeatable: each game uses one at random
    #[arg(long = "planner", value_name = "NAME|EXPRESSION", default_value = "cautious")]
    planners: Vec<String>,
    /// Probability that a move is random, from 0 to 1; random moves make the
    /// states more diverse
    #[arg(long, value_name = "SHARE", default_value = "0.1", value_parser = parse_permille)]
    random_moves: u32,
    /// Maximum simulated ticks per decision of a planner
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = integer::<u64>(ANY))]
    budget_ticks: u64,
    /// Maximum simulated ticks of the search that judges a move; if the search
    /// needs more, the verdict is undecided
    #[arg(long, value_name = "N", default_value_t = 20_000, value_parser = integer::<u64>(ANY))]
    label_ticks: u64,
    /// Form of the observations
    #[arg(long, value_name = "OBSERVATION", default_value = "features", value_parser = observation())]
    observation: Observation,
    #[command(flatten)]
    rules: RulesArgs,
    /// Seed of the games
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = seed)]
    seed: u64,
    #[command(flatten)]
    workers: WorkerArgs,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &DatasetArgs, invocation: &Invocation<'_>, out: &mut impl Write) -> Result {
    let maps = args.maps.load(&args.names)?;
    let (planners, rules) = (args.planners.clone(), args.rules.rules()?);
    let options =
        SeriesOptions { planners, samples: 1, seed: args.seed, rules, budget: Budget::ticks(args.budget_ticks) };
    let series = Series::with_host(&maps, options, invocation.host)?;
    let &DatasetArgs { states, observation, random_moves: random_moves_permille, label_ticks, .. } = args;
    let dataset = Dataset::new(series, DatasetOptions { states, observation, random_moves_permille, label_ticks })?;
    fs::create_dir_all(&args.out).map_err(|error| unwritable(&args.out, &error))?;
    let (journal, hashes) = dataset.open(&args.out.join(DESCRIPTION))?;
    let mut folder = Shards { dataset: &dataset, folder: &args.out, hashes, journal };
    let mut missing = Vec::new();
    for shard in 0..dataset.shards() {
        if !folder.has(shard)? {
            missing.push(shard);
        }
    }
    let stop = stop_on_interrupt()?;
    let states_missing: u64 = missing.iter().map(|&shard| dataset.shard_states(shard)).sum();
    let progress = Progress::resumed(states, "states", states - states_missing);
    let on_shard = |shard: usize, content: &[u8]| {
        if args.workers.ray.is_some() {
            progress.inc(dataset.shard_states(shard));
        }
        folder.write(shard, content).map_or_else(ControlFlow::Break, ControlFlow::Continue)
    };
    let flow = dataset.make_shards(&missing, args.workers.workers()?, &stop, &|| progress.inc(1), on_shard)?;
    drop(progress);
    flow.break_value().map_or(Ok(()), Err)?;
    check_interrupt(&stop, "interrupted: rerun the same command to continue")?;
    let (shards, kept) = (dataset.shards(), dataset.shards() - missing.len());
    let name = args.out.display().to_string();
    if args.json {
        let report = json!({ "folder": name, "states": states, "shards": shards, "kept": kept });
        return Ok(write_line(out, &report)?);
    }
    let kept = if kept > 0 { format!(", {} from earlier runs", count(kept, "shard")) } else { String::new() };
    out.say(format!("{name}: {} in {}{kept}", count(states as usize, "state"), count(shards, "shard")))
}

fn observation() -> impl TypedValueParser<Value = Observation> {
    PossibleValuesParser::new(Observation::NAMES)
        .map(|name| serde_json::from_value(name.into()).expect("a possible value"))
}

struct Shards<'a> {
    dataset: &'a Dataset,
    folder: &'a Path,
    /// The hashes of the shards that earlier runs wrote.
    hashes: HashMap<usize, String>,
    journal: Journal,
}

impl Shards<'_> {
    fn path(&self, shard: usize) -> PathBuf {
        self.folder.join(format!("shard-{shard:05}.npy"))
    }

    /// Returns false if the shard's file is missing. Fails if the file cannot be read, or is not the
    /// file that an earlier run wrote.
    fn has(&self, shard: usize) -> Result<bool> {
        let path = self.path(shard);
        if path.symlink_metadata().is_err() {
            return Ok(false);
        }
        let limit_bytes = self.dataset.shard_bytes(shard) as u64;
        let content = files::read(&path, limit_bytes).map_err(|error| unreadable(&path, &error))?;
        if self.hashes.get(&shard) == Some(&ShardHash::new(shard, &content).hash) {
            return Ok(true);
        }
        let why = "expected a shard of this dataset, found another file or a damaged shard, which was not overwritten";
        Err(at(&path, why))
    }

    /// Records the shard's hash, writes a temporary file and renames it, so that a killed run leaves
    /// no incomplete shard, and the next run replaces what it left.
    fn write(&mut self, shard: usize, content: &[u8]) -> Result {
        let path = self.path(shard);
        let partial = self.folder.join(format!(".shard-{shard:05}.partial"));
        let write = || {
            if partial.symlink_metadata().is_ok() {
                if !content.starts_with(&files::read(&partial, content.len() as u64)?) {
                    let partial = partial.display();
                    return Err(io::Error::other(format!("{partial} is not part of this shard, so it was kept")));
                }
                fs::remove_file(&partial)?;
            }
            File::create_new(&partial)?.write_all(content)?;
            fs::rename(&partial, &path)
        };
        let hash = ShardHash::new(shard, content);
        self.journal.append(&[hash])?;
        write().map_err(|error| unwritable(&path, &error))
    }
}
