//! Makes the plays of a discovery in other processes.
//!
//! Guarantees: the score of a play does not depend on the process. A process with another build
//! refuses the work.

use std::ops::ControlFlow;

use getaway::game::{Rules, Style};
use getaway::map::{GeneratorKind, GeneratorOptions};
use getaway::protocol::to_json;
use getaway_arena::{BUILD, Channel, Jobs, RemoteError, check_build};
use serde::{Deserialize, Serialize};

use crate::bank::{Bank, Play};
use crate::problem::{MapOptions, ProblemError, bank};

#[derive(Debug, Serialize, Deserialize)]
struct Spec {
    discovery: SpecProblems,
}

#[derive(Debug, Serialize, Deserialize)]
struct SpecProblems {
    /// The sender's [`BUILD`].
    version: String,
    problem: String,
    seed: u64,
    kind: String,
    width: i32,
    height: i32,
    threats: usize,
    styles: Vec<Style>,
    braid_permille: u32,
    rules: Rules,
}

#[derive(Debug, thiserror::Error)]
pub enum SpecError {
    #[error("the discovery: {0}")]
    Spec(String),
    #[error(transparent)]
    Problem(#[from] ProblemError),
}

/// Returns one line of JSON that describes a bank, for [`bank_of_spec`].
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
    to_json(&Spec { discovery })
}

/// Creates the bank that a line of JSON from [`spec`] describes. Fails if the line is invalid, is
/// from another build, or describes a bank that cannot be created.
pub fn bank_of_spec(spec: &str) -> Result<Box<dyn Bank>, SpecError> {
    let spec: Spec = serde_json::from_str(spec).map_err(|error| SpecError::Spec(error.to_string()))?;
    let SpecProblems { version, problem, seed, kind, width, height, threats, styles, braid_permille, rules } =
        spec.discovery;
    check_build(&version).map_err(SpecError::Spec)?;
    let kinds = [GeneratorKind::Maze, GeneratorKind::Labyrinth, GeneratorKind::City];
    let kind = kinds.into_iter().find(|found| found.name() == kind);
    let kind = kind.ok_or_else(|| SpecError::Spec("expected maze, labyrinth or city as kind".to_owned()))?;
    let generator = GeneratorOptions { kind, width, height, threats, styles, braid_permille };
    Ok(bank(&problem, &MapOptions { generator, rules }, seed)?)
}

#[derive(Serialize, Deserialize)]
pub(crate) struct RemotePlay {
    pub expression: String,
    #[serde(flatten)]
    pub play: Play,
}

impl RemotePlay {
    fn score(&self, bank: &dyn Bank) -> Result<String, SpecError> {
        let text = &self.expression;
        let expression = text.parse().map_err(|error| SpecError::Spec(format!("{text}: {error}")))?;
        Ok(to_json(&bank.play(&expression, self.play)))
    }
}

/// Makes the plays in a JSON array, and returns each score as JSON. Fails on invalid input.
pub fn scores(bank: &dyn Bank, plays: &str) -> Result<Vec<String>, SpecError> {
    let plays: Vec<RemotePlay> = serde_json::from_str(plays).map_err(|error| SpecError::Spec(error.to_string()))?;
    plays.iter().map(|play| play.score(bank)).collect()
}

pub struct Cluster<'a> {
    pub spec: String,
    pub start: Box<dyn FnMut() -> Result<Channel, String> + Send + 'a>,
}

impl Cluster<'_> {
    pub(crate) fn make<P: Jobs>(&mut self, plan: &mut P) -> Result<ControlFlow<P::Break>, RemoteError> {
        (self.start)().map_err(RemoteError)?.run(&self.spec, plan)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bank::Split;

    fn maps() -> MapOptions {
        let generator = GeneratorOptions { width: 15, height: 13, braid_permille: 500, ..GeneratorOptions::default() };
        MapOptions { generator, rules: Rules::NO_JUMP }
    }

    #[test]
    fn play_elsewhere_has_the_same_score() {
        for problem in ["survival", "morpion-4d", "samegame"] {
            let here = bank(problem, &maps(), 7).expect("a bank");
            let there = bank_of_spec(&spec(problem, &maps(), 7)).expect("the bank");
            let plays = [2, 3].map(|number| Play { split: Split::Unseen, number, budget_evals: 20 });
            let sent = to_json(&plays.map(|play| RemotePlay { expression: "simulate".to_owned(), play }));
            let score = scores(&*there, &sent).expect("two scores").remove(1);
            let expected = here.play(&"simulate".parse().expect("an expression"), plays[1]);
            assert_eq!(serde_json::from_str::<f64>(&score).expect("a score"), expected, "{problem}");
        }
        let other = spec("samegame", &maps(), 7).replace(BUILD, "9.9.9");
        assert!(
            scores(&*bank_of_spec(&spec("samegame", &maps(), 7)).expect("the bank"), r#"[{"expression": "wander"}]"#)
                .is_err()
        );
        let error = bank_of_spec(&other).err().expect("an error").to_string();
        assert_eq!(error, format!("the discovery: made by getaway 9.9.9, but this is getaway {BUILD}"));
    }
}
