//! The results of a run, in a journal from which an interrupted run can continue.

use std::path::Path;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use getaway::files;
use getaway_runs::{FileKind, Journal};

use crate::{Answer, BenchmarkError, Limits, failed};

pub const RESULTS_FILE: &str = "results.jsonl";
const RESULTS_BYTES_MAX: u64 = 1 << 26;
const KIND: FileKind = FileKind { name: "benchmark run", version: 1 };

/// The settings of a run. An interrupted run can be continued only with the same settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    pub solver: String,
    pub track: String,
    /// Time limit per instance in seconds.
    pub time_limit_s: f64,
    /// Maximum address space of each process of an external solver in MiB.
    pub memory_mib: u64,
}

impl Settings {
    pub fn limits(&self) -> Limits {
        Limits { time: Duration::from_secs_f64(self.time_limit_s), memory_mib: self.memory_mib }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Results {
    pub instance: String,
    /// The tick in which the solver's line ends; `None` if the answer does not count.
    pub final_tick: Option<u16>,
    pub bound_tick: Option<u16>,
    pub seconds: f64,
    pub failure: Option<String>,
}

impl Results {
    pub fn new(instance: &str, answer: &Answer) -> Self {
        let certificate = answer.record.as_ref().map(|record| &record.certificate);
        Self {
            instance: instance.to_owned(),
            final_tick: certificate.map(|certificate| certificate.final_tick),
            bound_tick: certificate.map(|certificate| certificate.bound_tick),
            seconds: (answer.seconds * 1e3).round() / 1e3,
            failure: answer.failure.clone(),
        }
    }

    /// Opens or creates the journal of a run, and returns it with the results so far. Fails if the
    /// file is damaged or in use, is not the journal of a run with these settings, or cannot be
    /// read or written.
    pub fn open(folder: &Path, settings: &Settings) -> Result<(Journal, Vec<Self>), BenchmarkError> {
        let mut results = Vec::new();
        let check = |found: Settings| match found == *settings {
            true => Ok(()),
            false => {
                let [found, expected] = [&found, settings].map(getaway::protocol::to_json);
                Err(format!("the settings are {found}, but this run has {expected}"))
            }
        };
        let read = |result: Self| {
            results.push(result);
            Ok(())
        };
        let journal = Journal::open(folder.join(RESULTS_FILE), KIND, settings, check, read)?;
        Ok((journal, results))
    }

    /// Returns a run's settings, and its results sorted by instance. Does not change the journal.
    pub fn load(folder: &Path) -> Result<(Settings, Vec<Self>), BenchmarkError> {
        let path = folder.join(RESULTS_FILE);
        // Opens a copy, because `Journal::open` removes an incomplete last line from the file.
        let copies = tempfile::tempdir().map_err(failed(std::env::temp_dir()))?;
        let copy = copies.path().join(RESULTS_FILE);
        let bytes = files::read(&path, RESULTS_BYTES_MAX).map_err(failed(&path))?;
        std::fs::write(&copy, bytes).map_err(failed(&copy))?;
        let none = Settings { solver: String::new(), track: String::new(), time_limit_s: 0.0, memory_mib: 0 };
        let (mut settings, mut results) = (None, Vec::new());
        let check = |found: Settings| {
            settings = Some(found);
            Ok(())
        };
        let read = |result: Self| {
            results.push(result);
            Ok(())
        };
        Journal::open(&copy, KIND, &none, check, read).map_err(|error| {
            let why = error.to_string();
            let why = why.trim_start_matches(&copy.display().to_string()).trim_start_matches([':', ',', ' ']);
            BenchmarkError::Content { path, why: why.to_owned() }
        })?;
        results.sort_by(|left: &Self, right| left.instance.cmp(&right.instance));
        Ok((settings.unwrap_or(none), results))
    }
}
