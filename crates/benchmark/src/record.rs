//! Records: the longest known line of an instance, and the lowest proven bound on the final tick of
//! any line, with its proof.

use std::fmt;
use std::fs;
use std::path::Path;

use getaway::files;
use getaway::game::{LAST_TICK, Rules};
use getaway::solve::Certificate;

use crate::{Benchmark, BenchmarkError, failed};

const RECORD_BYTES_MAX: u64 = 1 << 22;
const FIRST_LINE: &str = "bench-1 record ";
const CREDITS: [&str; 2] = ["line by: ", "bound by: "];
/// Number of lines before the certificate.
const HEADER_LINES: usize = 1 + CREDITS.len();

/// In text form, the first three fields take one line each, and the certificate follows.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    pub instance: String,
    /// The solver that found the line, and its budget.
    pub line_by: String,
    /// The solver that found the bound, and its budget.
    pub bound_by: String,
    pub certificate: Certificate,
}

impl fmt::Display for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { instance, line_by, bound_by, certificate } = self;
        let [line, bound] = CREDITS;
        write!(f, "{FIRST_LINE}{instance}\n{line}{line_by}\n{bound}{bound_by}\n{certificate}")
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Merge {
    pub line: bool,
    pub bound: bool,
}

impl Record {
    /// Parses the text form. An error names the invalid line of the text.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut parts = text.splitn(4, '\n');
        let mut next = |line: usize, start: &str| {
            let found = parts.next().and_then(|text| text.strip_prefix(start));
            found.map(str::to_owned).ok_or_else(|| format!("line {line}: expected {start:?}"))
        };
        let instance = next(1, FIRST_LINE)?;
        let (line_by, bound_by) = (next(2, CREDITS[0])?, next(3, CREDITS[1])?);
        let certificate: Result<Certificate, _> = parts.next().unwrap_or("").parse();
        let certificate =
            certificate.map_err(|error| format!("line {}: {}", HEADER_LINES + error.line, error.message))?;
        Ok(Self { instance, line_by, bound_by, certificate })
    }

    pub fn load(path: &Path) -> Result<Self, BenchmarkError> {
        let text = files::read_text(path, RECORD_BYTES_MAX).map_err(failed(path))?;
        Self::parse(&text).map_err(|why| BenchmarkError::Content { path: path.to_owned(), why })
    }

    /// True if the line survives or ends at the bound, so that neither can be improved.
    pub fn is_closed(&self) -> bool {
        self.certificate.final_tick >= self.certificate.bound_tick.min(LAST_TICK + 1)
    }

    /// Replays the line and repeats the proof in the literal model, `getaway_reference`. Fails if
    /// the record is wrong, the benchmark lacks the instance, or the map cannot be loaded.
    pub fn check(&self, benchmark: &Benchmark) -> Result<(), String> {
        self.check_after(HEADER_LINES, benchmark)
    }

    /// Like [`Self::check`], but the line numbers in errors assume `lines` lines of text before the
    /// certificate.
    pub(crate) fn check_after(&self, lines: usize, benchmark: &Benchmark) -> Result<(), String> {
        let instance = benchmark.find(&self.instance).map_err(|error| error.to_string())?;
        let layout = benchmark.layout(instance).map_err(|error| error.to_string())?;
        let Certificate { rules, .. } = self.certificate;
        rules.validate().map_err(|error| format!("line {}: {error}", lines + 1))?;
        if (Rules { wire: instance.rules.wire, ..rules }) != instance.rules {
            return Err(format!("line {}: the rules are not those of the instance", lines + 1));
        }
        getaway_verifier::verify(&self.certificate, &layout)
            .map_err(|error| format!("line {}: {}", lines + error.line, error.message))
    }

    /// Takes the line of `other` if it is longer, and the bound of `other` if it is lower. Returns
    /// which parts were taken. Fails if the records are of different instances, or if a line ends
    /// after the bound of the other record: one record must then be wrong.
    pub fn merge(&mut self, other: &Self) -> Result<Merge, String> {
        if self.instance != other.instance {
            return Err(format!("a record of {}: expected a record of {}", self.instance, other.instance));
        }
        let (own, new) = (&mut self.certificate, &other.certificate);
        if own.final_tick > new.bound_tick || new.final_tick > own.bound_tick {
            return Err(format!(
                "a line ends after a proven bound (ticks {}, {} and bounds {}, {})",
                own.final_tick, new.final_tick, own.bound_tick, new.bound_tick
            ));
        }
        let merge = Merge { line: new.final_tick > own.final_tick, bound: new.bound_tick < own.bound_tick };
        if merge.line {
            (own.moves, own.final_tick) = (new.moves.clone(), new.final_tick);
            self.line_by.clone_from(&other.line_by);
        }
        if merge.bound {
            (own.steps, own.end, own.bound_tick) = (new.steps.clone(), new.end, new.bound_tick);
            self.bound_by.clone_from(&other.bound_by);
        }
        Ok(merge)
    }

    /// Saves the record in a file named after its instance, replacing an earlier record. Fails if
    /// the file cannot be written, or if an existing file is not a readable record of this
    /// instance.
    pub fn save(&self, folder: &Path) -> Result<(), BenchmarkError> {
        let path = folder.join(format!("{}.txt", self.instance));
        let track = path.parent().unwrap_or(folder);
        fs::create_dir_all(track).map_err(failed(track))?;
        if path.symlink_metadata().is_ok() {
            let found = Self::load(&path)?.instance;
            if found != self.instance {
                let why = format!("a record of {found}: expected a record of {}", self.instance);
                return Err(BenchmarkError::Content { path, why });
            }
        }
        let mut partial = tempfile::NamedTempFile::new_in(track).map_err(failed(&path))?;
        std::io::Write::write_all(&mut partial, self.to_string().as_bytes()).map_err(failed(&path))?;
        partial.persist(&path).map_err(|error| BenchmarkError::File { path, source: error.error })?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use getaway::solve::ProofEnd;

    use super::*;

    fn record(instance: &str, final_tick: u16, bound_tick: u16) -> Record {
        let (rules, end) = (Rules::NO_JUMP, ProofEnd::None);
        Record {
            instance: instance.to_owned(),
            line_by: format!("line {final_tick}"),
            bound_by: format!("bound {bound_tick}"),
            certificate: Certificate { rules, moves: Vec::new(), final_tick, bound_tick, steps: Vec::new(), end },
        }
    }

    #[test]
    fn records_of_different_instances_are_not_merged() {
        let mut known = record("t/a", 50, 90);
        let merge = known.merge(&record("t/a", 60, 80)).expect("the same instance");
        assert_eq!((merge, &known), (Merge { line: true, bound: true }, &record("t/a", 60, 80)));
        assert!(known.merge(&record("t/b", 70, 75)).is_err());
        assert!(known.merge(&record("t/a", 85, 90)).is_err(), "a line after the bound");
        assert_eq!(known, record("t/a", 60, 80));
    }
}
