use std::io::{ErrorKind, Write};
use std::ops::ControlFlow;
use std::path::PathBuf;

use clap::{Args, Subcommand};

use getaway_benchmark::{
    Answer, Benchmark, BenchmarkError, Instance, Record, Results, Row, Settings, Solver, cactus, generate, rows,
    run_all, write_instances,
};

use crate::arguments::{MapArgs, WorkerArgs, input_files, integer, seed};
use crate::error::{at, unwritable};
use crate::interrupt::{check_interrupt, stop_on_interrupt};
use crate::output::{OutputArgs, Progress, Say, count, write_table};
use crate::{CliError, Result, failed};

/// The value of `--track` that selects all instances without a record, or with a record that can be
/// improved.
const OPEN: &str = "open";

/// Run solvers on the public benchmark, and check and merge their records
#[derive(Args)]
pub(crate) struct BenchmarkArgs {
    #[command(subcommand)]
    command: BenchmarkCommand,
    /// Folder of the benchmark
    #[arg(long, value_name = "DIR", default_value = "instances", global = true)]
    benchmark: PathBuf,
}

#[derive(Subcommand)]
enum BenchmarkCommand {
    /// Check records: replay their lines, and repeat their proofs in a literal model of the rules
    Check {
        /// Records, or folders of records [default: all records of the benchmark]
        #[arg(value_name = "FILE")]
        files: Vec<PathBuf>,
    },
    /// Run a solver on every instance of a track, or continue an interrupted run
    Run(RunArgs),
    /// Compare runs on the same track
    Table {
        /// Folders of runs
        #[arg(value_name = "DIR", required = true)]
        runs: Vec<PathBuf>,
        /// Plot the number of decided instances against the time, as an SVG file
        #[arg(long, alias = "cactus", value_name = "FILE")]
        plot: Option<PathBuf>,
        #[command(flatten)]
        output: OutputArgs,
    },
    /// Check a run's records, and merge longer lines and tighter bounds into those of the benchmark
    Submit {
        /// Records, or folders of records
        #[arg(value_name = "FILE", required = true)]
        files: Vec<PathBuf>,
    },
    /// Write the public instances, or fresh instances like them, into a new folder
    Instances {
        /// Folder to create
        #[arg(long, value_name = "DIR")]
        out: PathBuf,
        /// Seed of fresh instances, which do not include the track real-like
        /// [default: write the public instances]
        #[arg(long, value_name = "N", value_parser = seed)]
        seed: Option<u64>,
    },
}

#[derive(Args)]
#[command(mut_arg("threads", |arg| arg.default_value("1").help("Number of instances to run at the same time")))]
struct RunArgs {
    /// The track: real-like, mazes, crowds, large or changed-rules; or `open`, all
    /// instances whose best line is not proven to be optimal
    #[arg(long, value_name = "T")]
    track: String,
    /// Time limit per instance in seconds: of elapsed time for planners, and of
    /// processor time for other solvers
    #[arg(long, value_name = "S", value_parser = integer::<u64>(1..=1_000_000))]
    time_limit: u64,
    /// Maximum address space of each process of an external solver, in MiB
    #[arg(long, value_name = "MIB", default_value_t = 4096, value_parser = integer::<u64>(1..=1_000_000))]
    memory_limit: u64,
    /// The solver: `getaway`, a planner's name or expression, or exec:COMMAND;
    /// the command gets the paths of a map and a rules file, and prints lines
    /// of moves or a certificate
    #[arg(long, value_name = "SOLVER", default_value = "getaway")]
    solver: String,
    #[command(flatten)]
    workers: WorkerArgs,
    /// Folder of the results and records; created if missing
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
}

pub(crate) fn run(args: &BenchmarkArgs, out: &mut impl Write) -> Result {
    let load = || {
        Benchmark::load(&args.benchmark).map_err(|error| match error {
            BenchmarkError::File { path, source } if source.kind() == ErrorKind::NotFound => {
                at(&path, "no such file: expected the folder of the benchmark as --benchmark DIR")
            }
            error => error.into(),
        })
    };
    match &args.command {
        BenchmarkCommand::Check { files } => check(files, &load()?, out),
        BenchmarkCommand::Run(command) => run_track(command, &load()?, out),
        BenchmarkCommand::Table { runs, plot, output } => {
            let file = plot.as_ref().map(|path| output.file(path)).transpose()?;
            let runs = write_rows(runs, out)?;
            file.map_or(Ok(()), |file| file.write(cactus(&runs).as_bytes()))
        }
        BenchmarkCommand::Submit { files } => submit(files, &load()?, out),
        BenchmarkCommand::Instances { out: folder, seed } => {
            let generated = generate(&MapArgs::default().load(&[])?, *seed).map_err(CliError::Input)?;
            write_instances(folder, &generated)?;
            out.say(format!("{} in {}", count(generated.len(), "instance"), folder.display()))
        }
    }
}

/// Checks records, and calls `act` with each correct record. `act` returns a text to print, if any, or
/// the reason why it refuses the record. `passed_word` describes the records for which it returns a text.
fn check_all(
    files: &[PathBuf],
    benchmark: &Benchmark,
    passed_word: &str,
    out: &mut impl Write,
    mut act: impl FnMut(Record) -> Result<Result<Option<String>, String>>,
) -> Result {
    let (mut passed, mut refused) = (0, 0);
    for path in input_files(files, &[".txt"], true, "no records: expected files whose names end with .txt")? {
        let checked = match Record::load(&path) {
            Ok(record) => {
                let checked = record.check(benchmark).map_or_else(|why| Ok(Err(why)), |()| act(record))?;
                checked.map_err(|why| format!("{}: refused: {why}", path.display()))
            }
            Err(error) => Err(error.to_string()),
        };
        match &checked {
            Ok(text) => passed += usize::from(text.is_some()),
            Err(_) => refused += 1,
        }
        checked.unwrap_or_else(Some).map_or(Ok(()), |text| out.say(text))?;
    }
    writeln!(out, "{} {passed_word}, {refused} refused", count(passed, "record"))?;
    if refused > 0 {
        return Err(failed!("{} refused", count(refused, "record")));
    }
    Ok(())
}

fn check(files: &[PathBuf], benchmark: &Benchmark, out: &mut impl Write) -> Result {
    let all = [benchmark.folder.join("records")];
    let files = if files.is_empty() { &all } else { files };
    check_all(files, benchmark, "confirmed", out, |Record { instance, certificate, .. }| {
        let (line, bound) = (certificate.final_tick, certificate.bound_tick);
        Ok(Ok(Some(format!("{instance}: the line ends at tick {line}, the bound is {bound}"))))
    })
}

fn run_track(args: &RunArgs, benchmark: &Benchmark, out: &mut impl Write) -> Result {
    args.solver.parse::<Solver>()?;
    let stop = stop_on_interrupt()?;
    let instances = match &*args.track {
        OPEN => open_instances(benchmark)?,
        track => benchmark.track(track)?,
    };
    let settings = Settings {
        solver: args.solver.clone(),
        track: args.track.clone(),
        time_limit_s: args.time_limit as f64,
        memory_mib: args.memory_limit,
    };
    std::fs::create_dir_all(&args.out).map_err(|error| unwritable(&args.out, &error))?;
    let (mut journal, before) = Results::open(&args.out, &settings)?;
    let is_open = |instance: &&Instance| !before.iter().any(|result| result.instance == instance.name);
    let open: Vec<&Instance> = instances.iter().copied().filter(is_open).collect();
    let progress = Progress::resumed(instances.len() as u64, "instances", before.len() as u64);
    let mut on_answer = |instance: &Instance, answer: Answer| {
        if let Some(record) = &answer.record {
            record.save(&args.out)?;
        }
        journal.append(&[Results::new(&instance.name, &answer)])?;
        if let Some(failure) = &answer.failure {
            progress.suspend(|| out.say(format!("{}: {failure}", instance.name)))?;
        }
        progress.inc(1);
        Ok::<(), CliError>(())
    };
    let flow = run_all(benchmark, &open, &settings, args.workers.workers()?, &stop, |instance, answer| {
        on_answer(instance, answer).map_or_else(ControlFlow::Break, ControlFlow::Continue)
    })?;
    flow.break_value().map_or(Ok(()), Err)?;
    drop((progress, journal));
    let runs = write_rows(std::slice::from_ref(&args.out), out)?;
    let results = runs.iter().flat_map(|(_, results)| results);
    let (done, all) = (results.clone().count(), instances.len());
    check_interrupt(&stop, format!("interrupted after {done} of {all} instances; rerun the same command to continue"))?;
    let failures: Option<Vec<&String>> = results.map(|result| result.failure.as_ref()).collect();
    match failures.as_deref() {
        Some([first, ..]) => Err(failed!("the solver failed on every instance; first: {first}")),
        _ => Ok(()),
    }
}

/// Returns the instances without a record, and those whose record can be improved.
fn open_instances(benchmark: &Benchmark) -> Result<Vec<&Instance>> {
    let mut open = Vec::new();
    for instance in &benchmark.instances {
        let path = benchmark.record_path(&instance.name);
        if !path.is_file() || !Record::load(&path)?.is_closed() {
            open.push(instance);
        }
    }
    Ok(open)
}

fn write_rows(folders: &[PathBuf], out: &mut impl Write) -> Result<Vec<(Settings, Vec<Results>)>> {
    let runs = folders.iter().map(|folder| Results::load(folder)).collect::<Result<Vec<_>, _>>()?;
    let expected = &runs[0].0.track;
    if let Some((folder, (settings, _))) = folders.iter().zip(&runs).find(|(_, (run, _))| run.track != *expected) {
        return Err(at(folder, format!("a run on track {}: expected {expected}, like the first", settings.track)));
    }
    let row = |row: Row| {
        vec![
            ("<SOLVER", row.solver),
            ("INSTANCES", row.instances.to_string()),
            ("DECIDED", row.decided.to_string()),
            ("PROVEN", row.proven.to_string()),
            ("FAILED", row.failed.to_string()),
            ("MEAN TICK", format!("{:.1}", row.mean_tick)),
            ("MEAN RANK", format!("{:.2}", row.mean_rank)),
        ]
    };
    write_table(rows(&runs).into_iter().map(row), out)?;
    Ok(runs)
}

/// Merges a record into the known record of its instance, if there is one. Returns the merged
/// record and a description of the improvement, or `None` if nothing has improved.
fn improved(benchmark: &Benchmark, new: Record) -> Result<Option<(Record, &'static str)>, String> {
    let path = benchmark.record_path(&new.instance);
    if !path.is_file() {
        return Ok(Some((new, "first record")));
    }
    let mut known = Record::load(&path).map_err(|error| error.to_string())?;
    let merge = known.merge(&new).map_err(|why| format!("{}: {why}", path.display()))?;
    let words = match (merge.line, merge.bound) {
        (true, true) => "longer line, tighter bound",
        (true, false) => "longer line",
        (false, true) => "tighter bound",
        (false, false) => return Ok(None),
    };
    Ok(Some((known, words)))
}

fn submit(files: &[PathBuf], benchmark: &Benchmark, out: &mut impl Write) -> Result {
    let records = benchmark.folder.join("records");
    check_all(files, benchmark, "improved", out, |new| {
        let improved = improved(benchmark, new);
        if let Ok(Some((record, _))) = &improved {
            record.save(&records)?;
        }
        Ok(improved.map(|improved| improved.map(|(record, words)| format!("{}: {words}", record.instance))))
    })
}
