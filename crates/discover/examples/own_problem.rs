//! Defines a custom problem, runs five expressions of the search grammar on it, and discovers small
//! expressions that do well on it.

use std::error::Error;
use std::sync::atomic::AtomicBool;

use getaway::search::{Budget, Expression, Problem, Random, Search};
use getaway_discover::{Budgets, Discovery, Distribution, DistributionBank, Settings, Vocabulary};

/// The knapsack problem: take or leave one item after another. An item is a pair (weight, value).
struct Knapsack(Vec<(u32, u32)>);

/// The number of items decided so far, the remaining capacity, and the value of the items taken.
#[derive(Clone)]
struct Packed(usize, u32, u32);

impl Problem for Knapsack {
    type State = Packed;
    type Action = bool;

    fn actions(&self, &Packed(item, room, _): &Packed, actions: &mut Vec<bool>) {
        actions.extend([false, true].into_iter().take(1 + usize::from(self.0[item].0 <= room)));
    }

    fn apply(&self, Packed(item, room, value): &mut Packed, is_taken: bool) {
        let (weight_of, value_of) = self.0[*item];
        (*item, *room, *value) =
            (*item + 1, *room - weight_of * u32::from(is_taken), *value + value_of * u32::from(is_taken));
    }

    fn is_final(&self, packed: &Packed) -> bool {
        packed.0 == self.0.len()
    }

    fn reward(&self, packed: &Packed) -> f64 {
        packed.2.into()
    }
}

/// Draws problems with forty random items. The capacity is about a fifth of their total weight.
struct RandomKnapsacks;

impl Distribution for RandomKnapsacks {
    type Problem = Knapsack;

    fn draw(&self, number: u64) -> Knapsack {
        let mut random = Random::from_seed(number);
        Knapsack((0..40).map(|_| (1 + random.below(100) as u32, 1 + random.below(100) as u32)).collect())
    }

    fn start(&self, _: &Knapsack) -> Packed {
        Packed(0, 400, 0)
    }

    fn scale(&self) -> f64 {
        1500.0
    }
}

pub(crate) fn main() -> Result<(), Box<dyn Error>> {
    let knapsack = RandomKnapsacks.draw(1);
    for text in [
        "simulate",
        "step(repeat(10, simulate))",
        "step(lookahead(simulate))",
        "step(lookahead(step(lookahead(simulate))))",
        "step(repeat(100, select(0.5, simulate)))",
    ] {
        let mut search = Search::new(text.parse::<Expression>()?, 1);
        let best = search.run(&knapsack, &RandomKnapsacks.start(&knapsack), Budget::evaluations(1000)).best;
        println!("{:>6}  {text}", best.map_or(0.0, |line| line.reward));
    }

    let vocabulary = Vocabulary::paper();
    let settings = Settings {
        problem: "knapsack".to_owned(),
        grammar: "paper".to_owned(),
        operators: 2,
        budget_evals: 100,
        plays: 20,
        c: 1.0,
        seed: 1,
        unseen: 100,
        finalists: 3,
    };
    let candidates = vocabulary.candidates(settings.operators).expressions;
    let bank = DistributionBank::new(RandomKnapsacks, settings.seed);
    let mut discovery = Discovery::new(settings, candidates, &bank, None)?;
    let report = discovery.run(2, Budgets::Own, &AtomicBool::new(false), |_| {})?;
    for row in &report.ranking {
        println!("{:>6.1}  {} {}", row.mean, row.expression, row.name.as_deref().unwrap_or("(discovered)"));
    }
    assert_eq!(report.ranking.len(), 3 + 6, "three discovered and six named algorithms");
    Ok(())
}
