//! Runs a discovery, from the first play to the ranking.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use getaway::protocol::to_json;
use getaway::search::{Component, Expression, Policy};
use getaway_runs::stats::{CONFIDENCE, Interval, average, mean};
use getaway_runs::{FileKind, Journal, JournalError};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::bandit::Bandit;
use crate::bank::{Bank, Play, Split};
use crate::ranking::Comparison;

const UCT_CONSTANTS: [f64; 9] = [0.0, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.41, 2.0];
/// Numbers of UCT iterations per step that tuning tries. `None` stands for UCT without steps: all
/// iterations start at the initial state.
const UCT_REPEATS: [Option<u32>; 3] = [None, Some(10), Some(100)];
/// Plays per thread between two checks of the stop flag, in the stages after [`Stage::Bandit`].
const CHUNK_PER_THREAD: usize = 16;
/// Maximum number of points of each [`Convergence`].
const CURVE_POINTS: usize = 100;
/// Maximum number of problems per budget of a [`BudgetCurve`].
const CURVE_PROBLEMS_MAX: u64 = 100;
/// Maximum number of finalists that get a [`BudgetCurve`].
const CURVE_FINALISTS: usize = 3;

const KIND: FileKind = FileKind { name: "discovery", version: 1 };

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
enum Entry {
    Play {
        arm: usize,
        score: f64,
    },
    Score {
        #[serde(flatten)]
        play: Play,
        expression: String,
        score: f64,
    },
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    pub problem: String,
    pub grammar: String,
    pub operators: usize,
    pub budget_evals: u64,
    /// The bandit's plays per arm, on average, and the number of training problems for tuning.
    pub plays: u64,
    /// The constant C of the bandit's index, as a multiple of [`Bank::scale`].
    pub c: f64,
    pub seed: u64,
    pub unseen: u64,
    pub finalists: usize,
}

impl Settings {
    /// Fails if `found` differs in a setting other than `plays`, `unseen` and `finalists`.
    fn check(&self, found: &Self) -> Result<(), String> {
        let &Self { plays, unseen, finalists, .. } = self;
        if (Self { plays, unseen, finalists, ..found.clone() }) == *self {
            return Ok(());
        }
        let [found, expected] = [found, self].map(to_json);
        Err(format!("the settings are {found}, but this run has {expected}"))
    }
}

#[derive(Clone, Debug)]
pub struct Progress<'a> {
    pub stage: Stage,
    /// Number of this stage's plays with known scores, including scores from earlier runs and
    /// stages.
    pub done: u64,
    /// Number of plays since the previous progress report.
    pub made: u64,
    pub total: u64,
    pub bandit: &'a Bandit,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    Bandit,
    /// UCT's constant and its number of iterations per step are chosen on the training problems.
    Tuning,
    /// The finalists and the known searches, such as UCT, play the unseen problems.
    Ranking,
    Budgets,
}

impl Stage {
    pub const fn unit(self) -> &'static str {
        match self {
            Self::Bandit => "plays",
            Self::Tuning => "plays to tune UCT",
            Self::Ranking => "plays to rank the leaders",
            Self::Budgets => "plays at other budgets",
        }
    }
}

/// The budgets within which algorithms play the unseen problems.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Budgets {
    /// The budget in the settings.
    Own,
    /// The budget in the settings and, for the page's chart, 1/10, 1/3, 3 and 10 times this budget.
    /// Fractions are rounded down, and budgets of 0 are left out.
    Several,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Ranked {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    pub expression: String,
    /// The number of times that the bandit played the expression; `None` if it is not a candidate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plays: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub training_mean: Option<f64>,
    pub mean: f64,
    pub low: f64,
    pub high: f64,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Convergence {
    pub expression: String,
    /// Pairs: a number of plays of all arms together, and this expression's mean score after them.
    pub points: Vec<(u64, f64)>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BudgetCurve {
    pub name: Option<String>,
    pub expression: String,
    /// For each budget: the budget, the mean score, and the bounds of its 95% interval.
    pub points: Vec<(u64, f64, f64, f64)>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DiscoveryReport {
    #[serde(flatten)]
    pub settings: Settings,
    pub arms: usize,
    pub plays_in_all: u64,
    /// The algorithms, sorted by mean score on the unseen problems, highest first.
    pub ranking: Vec<Ranked>,
    /// Compares the best finalist on the unseen problems with each known search. The p-values
    /// are corrected for the comparisons of all finalists with all known searches.
    pub comparisons: Vec<Comparison>,
    #[serde(skip)]
    pub convergence: Vec<Convergence>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub budgets: Vec<BudgetCurve>,
}

#[derive(Debug, thiserror::Error)]
pub enum DiscoveryError {
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error("cannot start threads: {0}")]
    Threads(String),
    #[error("stopped after {done} of {total} plays of the bandit")]
    Stopped { done: u64, total: u64 },
}

#[derive(Clone)]
struct Contender {
    name: Option<String>,
    expression: Expression,
}

impl Contender {
    fn named(name: &str, policy: Policy, operators: &[Component]) -> Self {
        let name = match policy {
            Policy::Random => name.to_owned(),
            Policy::Greedy => format!("{name}, {}", policy.name()),
        };
        let rollout = Component::Simulate { policy, horizon: None };
        let expression = Expression::new([operators, &[rollout]].concat()).expect("valid components");
        Self { name: Some(name), expression }
    }
}

pub struct Discovery<'b> {
    settings: Settings,
    arms: Vec<Expression>,
    bank: &'b dyn Bank,
    bandit: Bandit,
    history: Vec<(u32, f64)>,
    scores: HashMap<(Play, String), f64>,
    journal: Option<Journal>,
    made: u64,
    elapsed: Duration,
}

impl<'b> Discovery<'b> {
    /// Creates a discovery. If `state` is a path, the discovery records its results in this file,
    /// and continues after the results that the file already contains. Fails if the file cannot be
    /// used, or differs in a setting other than `plays`, `unseen` and `finalists`.
    pub fn new(
        settings: Settings,
        arms: Vec<Expression>,
        bank: &'b dyn Bank,
        state: Option<&Path>,
    ) -> Result<Self, JournalError> {
        // Scales the constant, not the scores, because dividing the scores could round them.
        let bandit = Bandit::new(arms.len(), settings.c * bank.scale());
        let (history, scores) = (Vec::new(), HashMap::new());
        let (journal, made, elapsed) = (None, 0, Duration::ZERO);
        let mut discovery = Self { settings, arms, bank, bandit, history, scores, journal, made, elapsed };
        if let Some(path) = state {
            let settings = discovery.settings.clone();
            let check = |found: Settings| settings.check(&found);
            discovery.journal = Some(Journal::open(path, KIND, &settings, check, |entry| discovery.replay(entry))?);
        }
        Ok(discovery)
    }

    fn replay(&mut self, entry: Entry) -> Result<(), String> {
        match entry {
            // The run that wrote the file had more plays per arm. Ignore the surplus.
            Entry::Play { .. } if self.history.len() as u64 == self.plays_in_all() => Ok(()),
            Entry::Play { arm, .. } if arm != self.bandit.next_arm() => {
                Err(format!("arm {arm}, expected {}", self.bandit.next_arm()))
            }
            Entry::Play { arm, score } if score.is_finite() => {
                self.bandit.record(score);
                self.history.push((arm as u32, score));
                Ok(())
            }
            Entry::Play { .. } => Err("expected a finite score".to_owned()),
            Entry::Score { play, expression, score } => {
                self.scores.insert((play, expression), score);
                Ok(())
            }
        }
    }

    pub fn arms(&self) -> &[Expression] {
        &self.arms
    }

    pub fn plays_in_all(&self) -> u64 {
        self.settings.plays * self.arms.len() as u64
    }

    /// Returns the number of new plays per second of running time; 0 if there were no new plays.
    pub fn plays_per_s(&self) -> f64 {
        if self.made == 0 { 0.0 } else { self.made as f64 / self.elapsed.as_secs_f64() }
    }

    /// Runs all stages ([`Stage::Budgets`] only with [`Budgets::Several`]), calls `progress` after
    /// each group of plays, and returns the report. Fails if `stop` ends the run early, the file
    /// cannot be written, or threads cannot start.
    pub fn run(
        &mut self,
        threads: usize,
        budgets: Budgets,
        stop: &AtomicBool,
        mut progress: impl FnMut(&Progress<'_>) + Send,
    ) -> Result<DiscoveryReport, DiscoveryError> {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        let pool = pool.map_err(|error| DiscoveryError::Threads(error.to_string()))?;
        let start = Instant::now();
        let result = pool.install(|| self.run_here(budgets, stop, &mut progress));
        self.elapsed += start.elapsed();
        result
    }

    fn run_here(
        &mut self,
        budgets: Budgets,
        stop: &AtomicBool,
        progress: &mut (impl FnMut(&Progress<'_>) + Send),
    ) -> Result<DiscoveryReport, DiscoveryError> {
        self.run_bandit(stop, progress)?;
        let leaders = self.leaders();
        let mut contenders = vec![];
        contenders.extend(leaders.iter().map(|&arm| Contender { name: None, expression: self.arms[arm].clone() }));
        contenders.extend(self.named(stop, progress)?);
        let unseen = |number| Play { split: Split::Unseen, number, budget_evals: self.settings.budget_evals };
        let plays: Vec<Play> = (0..self.settings.unseen).map(unseen).collect();
        let scores = self.scores_of(Stage::Ranking, &contenders, &plays, stop, progress)?;
        let budgets =
            if budgets == Budgets::Several { self.budget_curves(&contenders, stop, progress)? } else { Vec::new() };
        Ok(DiscoveryReport {
            arms: self.arms.len(),
            plays_in_all: self.history.len() as u64,
            ranking: self.ranking(&contenders, &scores),
            comparisons: compare(&contenders, &scores),
            convergence: self.convergence(&leaders),
            budgets,
            settings: self.settings.clone(),
        })
    }

    fn run_bandit(
        &mut self,
        stop: &AtomicBool,
        progress: &mut impl FnMut(&Progress<'_>),
    ) -> Result<(), DiscoveryError> {
        let total = self.plays_in_all();
        let Self { arms, bank, bandit, history, journal, settings, made, .. } = self;
        let budget_evals = settings.budget_evals;
        let training = |number: u64| Play { split: Split::Training, number, budget_evals };
        let stopped = |done| DiscoveryError::Stopped { done, total };
        if stop.load(Ordering::Relaxed) {
            return Err(stopped(history.len() as u64));
        }
        let report = |bandit: &Bandit, taken: &[(usize, f64)]| {
            let entries: Vec<Entry> = taken.iter().map(|&(arm, score)| Entry::Play { arm, score }).collect();
            history.extend(taken.iter().map(|&(arm, score)| (arm as u32, score)));
            *made += taken.len() as u64;
            if let Some(journal) = journal
                && let Err(error) = journal.append(&entries)
            {
                return ControlFlow::Break(error.into());
            }
            let done = history.len() as u64;
            progress(&Progress { stage: Stage::Bandit, done, made: taken.len() as u64, total, bandit });
            if stop.load(Ordering::Relaxed) && done < total {
                return ControlFlow::Break(stopped(done));
            }
            ControlFlow::Continue(())
        };
        match bandit.run(total, |arm, number| bank.play(&arms[arm], training(number)), report) {
            ControlFlow::Break(error) => Err(error),
            ControlFlow::Continue(()) => Ok(()),
        }
    }

    /// Returns the finalists, best training mean first. Skips an arm if it shares training problems
    /// with an earlier finalist and has the same score on all of them: the two are probably forms
    /// of the same algorithm.
    fn leaders(&self) -> Vec<usize> {
        let mut scores = vec![Vec::new(); self.arms.len()];
        for &(arm, score) in &self.history {
            scores[arm as usize].push(score);
        }
        let mut chosen: Vec<usize> = Vec::new();
        for arm in self.bandit.leaders() {
            let is_like = |&other: &usize| {
                let both = scores[arm].len().min(scores[other].len());
                both > 0 && scores[arm][..both] == scores[other][..both]
            };
            if chosen.len() < self.settings.finalists && !chosen.iter().any(is_like) {
                chosen.push(arm);
            }
        }
        chosen
    }

    fn scores_of(
        &mut self,
        stage: Stage,
        contenders: &[Contender],
        plays: &[Play],
        stop: &AtomicBool,
        progress: &mut impl FnMut(&Progress<'_>),
    ) -> Result<Vec<Vec<f64>>, DiscoveryError> {
        let texts: Vec<String> = contenders.iter().map(|contender| contender.expression.to_string()).collect();
        let all = || (0..contenders.len()).flat_map(|index| plays.iter().map(move |&play| (index, play)));
        let known =
            |scores: &HashMap<_, f64>, (index, play): (usize, Play)| scores.get(&(play, texts[index].clone())).copied();
        let missing: Vec<(usize, Play)> = all().filter(|&task| known(&self.scores, task).is_none()).collect();
        let total = (contenders.len() * plays.len()) as u64;
        let mut done = total - missing.len() as u64;
        for chunk in missing.chunks(CHUNK_PER_THREAD * rayon::current_num_threads()) {
            if stop.load(Ordering::Relaxed) {
                return Err(DiscoveryError::Stopped { done: self.history.len() as u64, total: self.plays_in_all() });
            }
            let bank = self.bank;
            let scores: Vec<f64> =
                chunk.par_iter().map(|&(index, play)| bank.play(&contenders[index].expression, play)).collect();
            let of_chunk =
                || chunk.iter().zip(&scores).map(|(&(index, play), &score)| (play, texts[index].clone(), score));
            if let Some(journal) = &mut self.journal {
                let entry = |(play, expression, score)| Entry::Score { play, expression, score };
                journal.append(&of_chunk().map(entry).collect::<Vec<_>>())?;
            }
            self.scores.extend(of_chunk().map(|(play, expression, score)| ((play, expression), score)));
            let count = chunk.len() as u64;
            done += count;
            self.made += count;
            progress(&Progress { stage, done, made: count, total, bandit: &self.bandit });
        }
        let scores: Vec<f64> = all().map(|task| known(&self.scores, task).expect("it was played")).collect();
        Ok(scores.chunks(plays.len().max(1)).map(<[f64]>::to_vec).collect())
    }

    /// Returns the known searches, such as tuned UCT, for each rollout policy that the candidates
    /// use and the problem has.
    fn named(
        &mut self,
        stop: &AtomicBool,
        progress: &mut impl FnMut(&Progress<'_>),
    ) -> Result<Vec<Contender>, DiscoveryError> {
        let policies: Vec<Policy> = Policy::ALL.into_iter().filter(|&policy| self.has_rollouts(policy)).collect();
        let training = |number| Play { split: Split::Training, number, budget_evals: self.settings.budget_evals };
        let plays: Vec<Play> = (0..self.settings.plays).map(training).collect();
        let operators = || UCT_REPEATS.into_iter().flat_map(|repeats| UCT_CONSTANTS.map(|c| uct(repeats, c)));
        let of_policy =
            |&policy: &Policy| operators().map(move |operators| Contender::named("UCT", policy, &operators));
        let variants: Vec<Contender> = policies.iter().flat_map(of_policy).collect();
        let scores = self.scores_of(Stage::Tuning, &variants, &plays, stop, progress)?;
        let count = UCT_REPEATS.len() * UCT_CONSTANTS.len();
        let mut variants = variants.into_iter();
        let mut named = Vec::new();
        for (index, (&policy, tuned)) in policies.iter().zip(scores.chunks(count)).enumerate() {
            let mut variants = variants.by_ref().take(count);
            if scores.chunks(count).take(index).any(|earlier| earlier == tuned) {
                // An earlier policy has the same scores, probably because the problem lacks this
                // policy and uses random rollouts instead.
                variants.for_each(drop);
                continue;
            }
            let mean_of = |index: usize| average(&tuned[index]).unwrap_or(0.0);
            // Ties go to the first variant.
            let best = (0..count).rev().max_by(|&left, &right| mean_of(left).total_cmp(&mean_of(right)));
            let sampling = if policy == Policy::Random { "random sampling" } else { "sampling" };
            named.push(Contender::named(sampling, policy, &[]));
            named.push(Contender::named("iterative sampling", policy, &[Component::Step, Component::Repeat(100)]));
            named.extend((1..=3).map(|levels| {
                let operators = [Component::Step, Component::Lookahead].repeat(levels);
                Contender::named(&format!("nested {levels}"), policy, &operators)
            }));
            named.extend(variants.nth(best.expect("there are variants")));
            variants.for_each(drop);
        }
        Ok(named)
    }

    fn has_rollouts(&self, policy: Policy) -> bool {
        let is_rollout =
            |component: &Component| matches!(component, Component::Simulate { policy: of, .. } if *of == policy);
        self.arms.iter().any(|arm| arm.components().iter().any(is_rollout))
    }

    fn ranking(&self, contenders: &[Contender], scores: &[Vec<f64>]) -> Vec<Ranked> {
        let row = |(contender, scores): (&Contender, &Vec<f64>)| {
            let arm = self.arms.iter().position(|arm| *arm == contender.expression).map(|arm| self.bandit.arms()[arm]);
            let Interval { estimate, low, high } = interval(scores);
            Ranked {
                name: contender.name.clone(),
                expression: contender.expression.to_string(),
                plays: arm.map(|arm| arm.plays),
                training_mean: arm.and_then(|arm| arm.mean()),
                mean: estimate,
                low,
                high,
            }
        };
        let mut rows: Vec<Ranked> = contenders.iter().zip(scores).map(row).collect();
        rows.sort_by(|left, right| right.mean.total_cmp(&left.mean));
        rows
    }

    fn convergence(&self, leaders: &[usize]) -> Vec<Convergence> {
        let moment = |index: usize| self.history.len() * (index + 1) / CURVE_POINTS;
        let mut convergence: Vec<Convergence> = leaders
            .iter()
            .map(|&arm| Convergence { expression: self.arms[arm].to_string(), points: Vec::new() })
            .collect();
        let mut sums = vec![(0_u64, 0.0); leaders.len()];
        let mut made = 0;
        for index in 0..CURVE_POINTS {
            for &(arm, score) in &self.history[made..moment(index)] {
                if let Some(leader) = leaders.iter().position(|&leader| leader == arm as usize) {
                    sums[leader] = (sums[leader].0 + 1, sums[leader].1 + score);
                }
            }
            made = moment(index);
            for (curve, &(plays, sum)) in convergence.iter_mut().zip(&sums) {
                if plays > 0 {
                    curve.points.push((made as u64, sum / plays as f64));
                }
            }
        }
        convergence
    }

    fn budget_curves(
        &mut self,
        contenders: &[Contender],
        stop: &AtomicBool,
        progress: &mut impl FnMut(&Progress<'_>),
    ) -> Result<Vec<BudgetCurve>, DiscoveryError> {
        let middle = self.settings.budget_evals;
        let mut budgets = vec![middle / 10, middle / 3, middle, middle * 3, middle * 10];
        budgets.retain(|&budget| budget > 0);
        let finalists = contenders.iter().filter(|contender| contender.name.is_none()).take(CURVE_FINALISTS);
        let named = contenders.iter().filter(|contender| contender.name.is_some());
        let chosen: Vec<Contender> = finalists.chain(named).cloned().collect();
        let problems = self.settings.unseen.min(CURVE_PROBLEMS_MAX);
        let play = |budget_evals| (0..problems).map(move |number| Play { split: Split::Unseen, number, budget_evals });
        let plays: Vec<Play> = budgets.iter().flat_map(|&budget| play(budget)).collect();
        let scores = self.scores_of(Stage::Budgets, &chosen, &plays, stop, progress)?;
        let point = |(&budget, scores): (&u64, &[f64])| {
            let Interval { estimate, low, high } = interval(scores);
            (budget, estimate, low, high)
        };
        let curve = |(contender, scores): (Contender, &Vec<f64>)| BudgetCurve {
            name: contender.name,
            expression: contender.expression.to_string(),
            points: budgets.iter().zip(scores.chunks(problems.max(1) as usize)).map(point).collect(),
        };
        Ok(chosen.into_iter().zip(&scores).map(curve).collect())
    }
}

fn uct(repeats: Option<u32>, c: f64) -> Vec<Component> {
    let select = Component::Select(c);
    repeats.map_or(vec![select], |count| vec![Component::Step, Component::Repeat(count), select])
}

/// Returns the mean (0 without scores) and its confidence interval, which has width 0 for fewer
/// than two scores.
fn interval(scores: &[f64]) -> Interval {
    let estimate = average(scores).unwrap_or(0.0);
    mean(scores, CONFIDENCE).unwrap_or(Interval { estimate, low: estimate, high: estimate })
}

fn compare(contenders: &[Contender], scores: &[Vec<f64>]) -> Vec<Comparison> {
    let (finalists, named): (Vec<usize>, Vec<usize>) =
        (0..contenders.len()).partition(|&index| contenders[index].name.is_none());
    let mean_of = |index: usize| average(&scores[index]).unwrap_or(0.0);
    let winner = finalists.iter().rev().max_by(|&&left, &&right| mean_of(left).total_cmp(&mean_of(right)));
    let Some(&winner) = winner else { return Vec::new() };
    let pairs = finalists.iter().flat_map(|&left| named.iter().map(move |&right| (left, right)));
    let comparison = |(left, right): (usize, usize)| {
        let text = |index: usize| contenders[index].expression.to_string();
        let name = contenders[right].name.clone().unwrap_or_default();
        Comparison::new(&text(left), &name, &text(right), &scores[left], &scores[right])
    };
    let mut comparisons: Vec<Comparison> = pairs.map(comparison).collect();
    Comparison::correct(&mut comparisons);
    let winner = contenders[winner].expression.to_string();
    comparisons.retain(|comparison| comparison.left == winner);
    comparisons
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{MapOptions, Vocabulary, bank};
    use getaway::game::Rules;
    use getaway::map::GeneratorOptions;

    fn problems(problem: &str) -> Box<dyn Bank> {
        let maps = MapOptions { generator: GeneratorOptions::default(), rules: Rules::NO_JUMP };
        bank(problem, &maps, 1).expect("a bank")
    }

    fn settings(problem: &str) -> Settings {
        Settings {
            problem: problem.to_owned(),
            grammar: "grown".to_owned(),
            operators: 0,
            budget_evals: 5,
            plays: 1,
            c: 5.0,
            seed: 1,
            unseen: 1,
            finalists: 1,
        }
    }

    #[test]
    fn tuning_counts_every_play_once_and_finds_a_search_for_each_policy() {
        // Morpion Solitaire has no greedy policy, so only random rollouts remain.
        for (problem, policies) in [("morpion-4d", 1), ("samegame", 2)] {
            let bank = problems(problem);
            let arms = Vocabulary::grown().candidates(0).expressions;
            let mut discovery = Discovery::new(settings(problem), arms, &*bank, None).expect("a discovery");
            let mut tuning = (0, 0);
            let stop = AtomicBool::new(false);
            let report = discovery.run(1, Budgets::Own, &stop, |at| {
                if at.stage == Stage::Tuning {
                    tuning = (tuning.0 + at.made, at.total);
                }
            });
            assert_eq!(tuning, (2 * 27, 2 * 27), "{problem}");
            let ranking = report.expect("a report").ranking;
            let named = |name: &str| ranking.iter().filter(|row| row.name.as_deref() == Some(name)).collect::<Vec<_>>();
            assert_eq!(ranking.len(), 1 + 6 * policies, "{problem}");
            assert_eq!(named("nested 2")[0].expression, "step(lookahead(step(lookahead(simulate))))");
            assert!(named("UCT")[0].expression.contains("select("));
            assert_eq!(named("UCT, greedy").len(), policies - 1, "{problem}");
            assert!(named("UCT, greedy").iter().all(|row| row.expression.contains("simulate(greedy)")));
        }
    }

    #[test]
    fn every_algorithm_has_one_budget_curve_even_if_there_are_few_candidates() {
        let bank = problems("morpion-4d");
        let settings = Settings { finalists: 3, ..settings("morpion-4d") };
        let arms = Vocabulary::paper().candidates(0).expressions;
        let mut discovery = Discovery::new(settings, arms, &*bank, None).expect("a discovery");
        let report = discovery.run(1, Budgets::Several, &AtomicBool::new(false), |_| {}).expect("a report");
        let names: Vec<&str> =
            report.budgets.iter().map(|curve| curve.name.as_deref().unwrap_or("discovered")).collect();
        let expected =
            ["discovered", "random sampling", "iterative sampling", "nested 1", "nested 2", "nested 3", "UCT"];
        assert_eq!(names, expected);
    }
}
