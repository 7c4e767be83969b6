//! Plays made by other processes: the description of the problems, and the exchange of plays and
//! scores.
//!
//! Guarantees: a score depends only on the problems and the play, so it is the same wherever the
//! play is made; a process of another version or build is refused.

use std::any::Any;
use std::io::{BufRead, Write};
use std::ops::ControlFlow;

use getaway::game::{Rules, Style, variant};
use getaway::map::{GeneratorKind, GeneratorOptions};
use getaway_arena::BUILD;
use serde::{Deserialize, Serialize};

use crate::bank::{Bank, Play, Split};
use crate::problem::{MapOptions, ProblemError, bank};

/// The problems of a discovery as JSON.
#[derive(Debug, Serialize, Deserialize)]
struct Spec {
    discovery: SpecProblems,
}

#[derive(Debug, Serialize, Deserialize)]
struct SpecProblems {
    /// [`BUILD`].
    version: String,
    problem: String,
    seed: u64,
    kind: String,
    width: i32,
    height: i32,
    threats: usize,
    styles: Vec<Style>,
    braid_permille: u32,
    #[serde(rename = "no_jump", with = "variant")]
    rules: Rules,
}

/// Why plays cannot be made elsewhere, or for another process.
#[derive(Debug, thiserror::Error)]
pub enum RemoteError {
    /// The text does not describe a discovery, or is of another build.
    #[error("the discovery: {0}")]
    Spec(String),
    /// The problem.
    #[error(transparent)]
    Problem(#[from] ProblemError),
    /// The other process: its own message, or what is wrong with its output.
    #[error("the cluster: {0}")]
    Remote(String),
}

/// The problems as a line of JSON, from which [`bank_of_spec`] makes their bank elsewhere.
pub fn spec(problem: &str, maps: &MapOptions, seed: u64) -> String {
    let MapOptions { generator, rules } = maps;
    let &GeneratorOptions { kind, width, height, threats, ref styles, braid_permille } = generator;
    let discovery = SpecProblems {
        version: BUILD.to_owned(),
        problem: problem.to_owned(),
        seed,
        kind: kind.name().to_owned(),
        width,
        height,
        threats,
        styles: styles.clone(),
        braid_permille,
        rules: *rules,
    };
    serde_json::to_string(&Spec { discovery }).expect("a discovery is valid JSON")
}

/// The bank that a line of JSON describes.
///
/// # Errors
/// When it does not describe a discovery, is of another build, or names an unknown problem.
pub fn bank_of_spec(spec: &str) -> Result<Box<dyn Bank>, RemoteError> {
    let spec: Spec = serde_json::from_str(spec).map_err(|error| RemoteError::Spec(error.to_string()))?;
    let SpecProblems { version, problem, seed, kind, width, height, threats, styles, braid_permille, rules } =
        spec.discovery;
    if version != BUILD {
        return Err(RemoteError::Spec(format!("made by getaway {version}, but this is getaway {BUILD}")));
    }
    let kinds = [GeneratorKind::Maze, GeneratorKind::Labyrinth, GeneratorKind::City];
    let kind = kinds.into_iter().find(|found| found.name() == kind);
    let kind = kind.ok_or_else(|| RemoteError::Spec("expected maze, labyrinth or city as kind".to_owned()))?;
    let generator = GeneratorOptions { kind, width, height, threats, styles, braid_permille };
    Ok(bank(&problem, &MapOptions { generator, rules }, seed)?)
}

/// A play that is made elsewhere.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct RemotePlay(pub String, pub Split, pub u64, pub u64);

impl RemotePlay {
    pub(crate) fn new(expression: String, play: Play) -> Self {
        Self(expression, play.split, play.number, play.budget_evals)
    }

    fn score(&self, bank: &dyn Bank) -> Result<String, RemoteError> {
        let &Self(ref text, split, number, budget_evals) = self;
        let expression = text.parse().map_err(|error| RemoteError::Spec(format!("{text}: {error}")))?;
        let score = bank.play(&expression, Play { split, number, budget_evals });
        Ok(serde_json::to_string(&score).expect("a score is finite"))
    }
}

/// Makes plays, an array of JSON; returns the score of each as JSON.
///
/// # Errors
/// When a play is malformed.
pub fn scores(bank: &dyn Bank, plays: &str) -> Result<Vec<String>, RemoteError> {
    let plays: Vec<RemotePlay> = serde_json::from_str(plays).map_err(|error| RemoteError::Spec(error.to_string()))?;
    plays.iter().map(|play| play.score(bank)).collect()
}

/// The process that distributes plays, and the pipes to it.
pub struct Channel {
    /// What it writes.
    pub input: Box<dyn BufRead + Send>,
    /// What it reads.
    pub output: Box<dyn Write + Send>,
    /// Dropped when the plays are made.
    pub process: Box<dyn Any + Send>,
}

/// A cluster that makes plays.
pub struct Cluster<'a> {
    /// The line with the problems.
    pub spec: String,
    /// Starts the process, or says why it cannot be started.
    pub start: Box<dyn FnMut() -> Result<Channel, String> + Send + 'a>,
}

/// A message from the process.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Message {
    /// It can take this many more plays.
    Want(usize),
    /// A play was made.
    Played(RemotePlay, f64),
    /// The plays cannot be made.
    Error(String),
}

/// Chooses the plays that are made elsewhere, and receives their scores.
pub(crate) trait Plan<B> {
    /// At most `count` plays to make next; none if there are no more.
    fn next(&mut self, count: usize) -> Vec<RemotePlay>;
    /// Takes the score of a play.
    fn played(&mut self, play: &RemotePlay, score: f64) -> ControlFlow<B>;
}

impl Cluster<'_> {
    /// Makes the plays of `plan`. The process is given the problems as a line, and then a line
    /// with an array of plays for each of its `{"want": COUNT}`, empty when there are no more. It
    /// writes `{"played": [PLAY, SCORE]}` for each, in any order, or `{"error": TEXT}`, and ends its
    /// output when all are made.
    pub(crate) fn make<B>(&mut self, plan: &mut dyn Plan<B>) -> Result<ControlFlow<B>, RemoteError> {
        let mut channel = (self.start)().map_err(RemoteError::Remote)?;
        let failed = |error: &dyn std::fmt::Display| RemoteError::Remote(error.to_string());
        let mut send = |line: &str| writeln!(channel.output, "{line}").and_then(|()| channel.output.flush());
        send(&self.spec).map_err(|error| failed(&error))?;
        let (mut awaited, mut is_complete) = (0_usize, false);
        for line in channel.input.lines() {
            let line = line.map_err(|error| failed(&error))?;
            match serde_json::from_str(&line).map_err(|error| failed(&format!("{error} in {line:.200}")))? {
                Message::Want(count) => {
                    let next = if is_complete { Vec::new() } else { plan.next(count) };
                    (awaited, is_complete) = (awaited + next.len(), next.is_empty());
                    let line = serde_json::to_string(&next).expect("plays are valid JSON");
                    send(&line).map_err(|error| failed(&error))?;
                }
                Message::Played(play, score) => {
                    awaited = awaited.saturating_sub(1);
                    if let ControlFlow::Break(result) = plan.played(&play, score) {
                        return Ok(ControlFlow::Break(result));
                    }
                }
                Message::Error(error) => return Err(RemoteError::Remote(error)),
            }
        }
        if awaited > 0 || !is_complete {
            return Err(failed(&"it ended before all plays were made"));
        }
        Ok(ControlFlow::Continue(()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn maps() -> MapOptions {
        let generator = GeneratorOptions { width: 15, height: 13, braid_permille: 500, ..GeneratorOptions::default() };
        MapOptions { generator, rules: Rules::NO_JUMP }
    }

    /// Makes `plays` with a process that writes `script`; returns their scores and what the process
    /// was sent.
    fn make(script: &'static str, mut plays: Vec<RemotePlay>) -> (Result<Vec<f64>, String>, String) {
        struct List<'a>(&'a mut Vec<RemotePlay>, Vec<f64>);
        impl Plan<()> for List<'_> {
            fn next(&mut self, count: usize) -> Vec<RemotePlay> {
                self.0.drain(..count.min(self.0.len())).collect()
            }
            fn played(&mut self, _: &RemotePlay, score: f64) -> ControlFlow<()> {
                self.1.push(score);
                ControlFlow::Continue(())
            }
        }
        let file = tempfile::NamedTempFile::new().expect("a file");
        let output = file.reopen().expect("the file");
        let start = move || {
            let output = Box::new(output.try_clone().map_err(|error| error.to_string())?);
            Ok(Channel { input: Box::new(script.as_bytes()), output, process: Box::new(()) })
        };
        let mut cluster = Cluster { spec: "{}".to_owned(), start: Box::new(start) };
        let mut list = List(&mut plays, Vec::new());
        let result = cluster.make(&mut list).map_err(|error| error.to_string());
        (result.map(|_| list.1), std::fs::read_to_string(file.path()).expect("text"))
    }

    fn play(number: u64) -> RemotePlay {
        RemotePlay("simulate".to_owned(), Split::Unseen, number, 20)
    }

    #[test]
    fn play_elsewhere_has_the_same_score() {
        for problem in ["survival", "morpion-4d", "samegame"] {
            let here = bank(problem, &maps(), 7).expect("a bank");
            let there = bank_of_spec(&spec(problem, &maps(), 7)).expect("the bank");
            let plays = r#"[["simulate", "unseen", 2, 20], ["simulate", "unseen", 3, 20]]"#;
            let score = scores(&*there, plays).expect("two scores").remove(1);
            let expected = here.play(
                &"simulate".parse().expect("an expression"),
                Play { split: Split::Unseen, number: 3, budget_evals: 20 },
            );
            assert_eq!(serde_json::from_str::<f64>(&score).expect("a score"), expected, "{problem}");
        }
        let other = spec("samegame", &maps(), 7).replace(BUILD, "9.9.9");
        assert!(scores(&*bank_of_spec(&spec("samegame", &maps(), 7)).expect("the bank"), "[[\"wander\"]]").is_err());
        let error = bank_of_spec(&other).err().expect("an error").to_string();
        assert_eq!(error, format!("the discovery: made by getaway 9.9.9, but this is getaway {BUILD}"));
    }

    #[test]
    fn plays_are_sent_when_they_are_wanted_and_taken_in_any_order() {
        let script = concat!(
            "{\"want\": 2}\n{\"played\": [[\"simulate\", \"unseen\", 1, 20], 5.5]}\n{\"want\": 5}\n{\"want\": 5}\n",
            "{\"played\": [[\"simulate\", \"unseen\", 2, 20], 7]}\n{\"played\": [[\"simulate\", \"unseen\", 0, 20], 6]}\n",
        );
        let (scores, sent) = make(script, (0..3).map(play).collect());
        assert_eq!(scores, Ok(vec![5.5, 7.0, 6.0]));
        let lines: Vec<&str> = sent.lines().collect();
        assert_eq!(lines[1], r#"[["simulate","unseen",0,20],["simulate","unseen",1,20]]"#);
        assert_eq!(lines[2..], [r#"[["simulate","unseen",2,20]]"#, "[]"]);
    }

    #[test]
    fn errors_of_the_other_process_are_reported() {
        let error = |script| make(script, vec![play(0)]).0.expect_err("an error");
        assert_eq!(error("{\"error\": \"node 3 is gone\"}\n"), "the cluster: node 3 is gone");
        assert_eq!(error("{\"want\": 1}\n"), "the cluster: it ended before all plays were made");
        assert!(error("hello\n").contains("hello"));
    }
}
