//! Runs a solver on many instances, in threads or in other processes.
//!
//! Guarantees: the process that calls [`run_all`] checks every answer. A process with another
//! build refuses the work.

use std::fs;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use getaway::protocol::to_json;
use getaway::search::{InterruptClock, install};
use getaway_runs::{BUILD, Jobs, WorkerError, Workers, check_build};
use serde::{Deserialize, Serialize};

use crate::run::{Attempt, attempt, run};
use crate::{Answer, Benchmark, BenchmarkError, Instance, InstanceWithMap, Limits, Settings, Solver, failed};

#[derive(Debug, Serialize, Deserialize)]
struct Spec {
    benchmark: SpecRun,
}

#[derive(Debug, Serialize, Deserialize)]
struct SpecRun {
    /// The sender's [`BUILD`].
    version: String,
    settings: Settings,
    instances: Vec<InstanceWithMap>,
}

/// Returns one line of JSON that describes the instances and the solver, for [`attempts`].
fn spec(benchmark: &Benchmark, instances: &[&Instance], settings: &Settings) -> Result<String, BenchmarkError> {
    let with_map =
        |&instance: &&Instance| Ok(InstanceWithMap { instance: instance.clone(), text: benchmark.map_text(instance)? });
    let instances = instances.iter().map(with_map).collect::<Result<_, BenchmarkError>>()?;
    Ok(to_json(&Spec { benchmark: SpecRun { version: BUILD.to_owned(), settings: settings.clone(), instances } }))
}

/// Runs a solver on the instances at these indices. `spec`, a line of JSON from [`run_all`],
/// describes the solver and the instances. Returns the answers as JSON, unchecked. Fails if `spec`
/// or a map in it is invalid, if `spec` is from a different build, if an index is too high, or if a
/// temporary file or the shell cannot be used.
pub fn attempts(spec: &str, indices: &[usize]) -> Result<Vec<String>, BenchmarkError> {
    let spec: Spec = serde_json::from_str(spec).map_err(|error| BenchmarkError::Spec(error.to_string()))?;
    let SpecRun { version, settings, instances } = spec.benchmark;
    check_build(&version).map_err(BenchmarkError::Spec)?;
    let solver: Solver = settings.solver.parse()?;
    let solve = |&index: &usize| {
        let found = instances.get(index).ok_or_else(|| BenchmarkError::Spec(format!("no instance {index}")))?;
        let folder = tempfile::tempdir().map_err(failed(std::env::temp_dir()))?;
        let instance = Instance { map: "map.txt".to_owned(), ..found.instance.clone() };
        let benchmark = Benchmark { folder: folder.path().to_owned(), instances: Vec::new() };
        let path = benchmark.map_path(&instance);
        fs::write(&path, &found.text).map_err(failed(path))?;
        Ok(to_json(&attempt(&benchmark, &instance, &solver, settings.limits(), &|| false)?))
    };
    indices.iter().map(solve).collect()
}

/// Another process returns unchecked attempts.
#[derive(Deserialize)]
#[serde(untagged)]
enum Returned {
    Unchecked(Attempt),
    #[serde(skip)]
    Checked(Answer),
}

/// Like [`run`] on each of the instances, but on `workers`. Calls `on_answer` with each
/// checked answer, in any order. Once `stop` is set, abandons the instances in progress. Fails if
/// the solver is invalid, a map cannot be read or has a wrong hash, or a worker fails.
pub fn run_all<B>(
    benchmark: &Benchmark,
    instances: &[&Instance],
    settings: &Settings,
    workers: Workers,
    stop: &Arc<AtomicBool>,
    mut on_answer: impl FnMut(&Instance, Answer) -> ControlFlow<B>,
) -> Result<ControlFlow<B>, BenchmarkError> {
    let (solver, limits): (Solver, Limits) = (settings.solver.parse()?, settings.limits());
    let mut indices = 0..instances.len();
    let jobs = Jobs {
        shared: spec(benchmark, instances, settings)?,
        next: &mut |count| indices.by_ref().take(count).collect(),
        work: &|&index: &usize, is_stopped| {
            let _clock = install(InterruptClock(Arc::clone(stop)));
            let answer = run(benchmark, instances[index], &solver, limits, is_stopped)?;
            Ok(answer.map(Returned::Checked))
        },
        done: &mut |index, returned| {
            let unknown = || WorkerError::Process(format!("unknown instance {index}"));
            let &instance = instances.get(index).ok_or_else(unknown)?;
            let answer = match returned {
                Returned::Checked(answer) => answer,
                Returned::Unchecked(attempt) => attempt.check(benchmark, instance, &solver, limits),
            };
            Ok(on_answer(instance, answer))
        },
    };
    jobs.run(workers, stop)
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;
    use getaway_runs::Channel;

    fn settings() -> Settings {
        Settings { solver: "random".into(), track: "real-like".into(), time_limit_s: 1.0, memory_mib: 1024 }
    }

    fn benchmark() -> Benchmark {
        Benchmark::load(concat!(env!("CARGO_MANIFEST_DIR"), "/../../instances")).expect("the benchmark")
    }

    fn answers(benchmark: &Benchmark, instances: &[&Instance], script: String) -> Result<Vec<Answer>, String> {
        let input = Box::new(io::Cursor::new(script));
        let process = Workers::Process(Channel { input, output: Box::new(io::sink()), process: Box::new(()) });
        let mut answers = Vec::new();
        let flow = run_all(benchmark, instances, &settings(), process, &Arc::default(), |_, answer| {
            answers.push(Answer { seconds: 0.0, ..answer });
            ControlFlow::<()>::Continue(())
        });
        flow.map(|_| answers).map_err(|error| error.to_string())
    }

    #[test]
    fn answer_from_elsewhere_is_the_same_and_is_checked() {
        let benchmark = benchmark();
        let instances = &benchmark.track("real-like").expect("a track")[..3];
        let spec = spec(&benchmark, instances, &settings()).expect("a spec");
        let sent = attempts(&spec, &[2, 0]).expect("two attempts");
        let lie = sent[1].replace(r#"final_tick\":"#, r#"final_tick\":1"#);
        let hangs = r#"{"certificate": {"Err": "hangs"}, "seconds": 3}"#;
        let played = |index: usize, attempt: &str| format!("{{\"played\": [{index}, {attempt}]}}\n");
        let script = "{\"want\": 3}\n".to_owned() + &played(2, &sent[0]) + &played(0, &lie) + &played(1, hangs);
        let found = answers(&benchmark, instances, script).expect("answers");
        let solver = settings().solver.parse().expect("a solver");
        let here = run(&benchmark, instances[2], &solver, settings().limits(), &|| false).expect("no error");
        assert_eq!(found[0], Answer { seconds: 0.0, ..here.expect("an answer") });
        let refusal = found[1].failure.as_ref().expect("a lie is refused");
        assert!(found[1].record.is_none() && refusal.starts_with("refused: line 1: "), "{refusal}");
        assert_eq!(found[2], Answer { record: None, failure: Some("hangs".into()), seconds: 0.0 });
    }

    #[test]
    fn other_builds_and_unknown_instances_are_refused() {
        let benchmark = benchmark();
        let instances = &benchmark.track("real-like").expect("a track")[..1];
        let spec = spec(&benchmark, instances, &settings()).expect("a spec");
        let error = |spec: &str, index| attempts(spec, &[index]).expect_err("an error").to_string();
        let other = spec.replace(BUILD, "9.9.9");
        assert_eq!(error(&other, 0), format!("the benchmark: made by getaway 9.9.9, but this is getaway {BUILD}"));
        assert_eq!(error(&spec, 1), "the benchmark: no instance 1");
        let script = r#"{"played": [1, {"certificate": {"Err": "hangs"}, "seconds": 3}]}"#;
        let error = answers(&benchmark, instances, script.into()).expect_err("an error");
        assert_eq!(error, "the cluster: unknown instance 1");
    }
}
