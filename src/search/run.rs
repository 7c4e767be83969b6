//! Running an expression: bookkeeping of the best, the budget, and the five components.
//!
//! An evaluation is offered to every component on the way to it, from the inside out: each keeps the best score and whole sequence since it was last
//! invoked, and none can hold a better one than the component around it, so the first that is not improved ends the offer.

use rand_pcg::rand_core::SeedableRng;

use super::budget::{Budget, BudgetMeter, Ending};
use super::expression::{Component, Expression, Policy};
use super::problem::{Generator, Problem};
use super::tree::{TREE_NODES_MAX, Tree};

/// A sequence of actions and what it is worth.
#[derive(Clone, Debug, PartialEq)]
pub struct Line<A> {
    /// The reward of the state in which the actions end.
    pub reward: f64,
    /// All actions, from the state in which the search started.
    pub actions: Vec<A>,
}

/// What a search found, and what it took.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome<A> {
    /// The best of all sequences evaluated, in this run or kept from the ones before; nothing if none was.
    pub best: Option<Line<A>>,
    /// States evaluated in this run.
    pub evaluations: u64,
    /// States stepped in this run: actions applied, and the trial steps of policies.
    pub simulated_ticks: u64,
    /// Whole passes of the outermost component in this run.
    pub passes: u64,
    /// Why it stopped.
    pub ending: Ending,
}

/// The best that a component has seen since it was last invoked.
#[derive(Clone)]
struct Record<A> {
    reward: Option<f64>,
    /// Meaningful only beside a reward; kept otherwise for its memory.
    actions: Vec<A>,
}

impl<A: Copy> Record<A> {
    const fn new() -> Self {
        Self { reward: None, actions: Vec::new() }
    }

    /// Replaces the best by a strictly better one; false if it is not better.
    #[inline]
    fn offer(&mut self, reward: f64, actions: &[A]) -> bool {
        let better = self.reward.is_none_or(|best| reward > best);
        if better {
            self.reward = Some(reward);
            self.actions.clear();
            self.actions.extend_from_slice(actions);
        }
        better
    }
}

/// A search that can be run, interrupted by its budget, and run again from where it stopped.
///
/// Between runs it keeps the best sequence and the trees. When an action has really been played, [`advance`](Self::advance) tells it; when
/// anything else has happened, [`forget`](Self::forget) does.
#[derive(Clone)]
pub struct Search<A> {
    expression: Expression,
    random: Generator,
    /// The best of the whole search.
    best: Record<A>,
    /// One for each component.
    records: Vec<Record<A>>,
    /// One for each component, grown only by `select`.
    trees: Vec<Tree<A>>,
    /// The legal actions of a state, one list for each component.
    lists: Vec<Vec<A>>,
    /// The actions decided on the way to where the search is now.
    path: Vec<A>,
}

impl<A: Copy + Eq> Search<A> {
    /// A search that draws all its randomness from `seed`.
    pub fn new(expression: Expression, seed: u64) -> Self {
        let count = expression.components().len();
        Self {
            expression,
            random: Generator::seed_from_u64(seed),
            best: Record::new(),
            records: vec![Record::new(); count],
            trees: vec![Tree::new(TREE_NODES_MAX); count],
            lists: vec![Vec::new(); count],
            path: Vec::new(),
        }
    }

    /// Limits the tree of each `select` to this many nodes instead of [`TREE_NODES_MAX`]; drops the trees there are.
    #[must_use]
    pub fn with_tree_nodes_max(mut self, nodes_max: usize) -> Self {
        self.trees.fill(Tree::new(nodes_max));
        self
    }

    /// What is being run.
    pub fn expression(&self) -> &Expression {
        &self.expression
    }

    /// Searches from `state` until the budget is spent, or earlier if there is nothing left to find.
    ///
    /// A sequence kept from before is replayed first, and counts with the reward it has now; if it cannot be played from `state`, everything
    /// kept is forgotten. This counts neither as evaluation nor as actions applied.
    pub fn run<P>(&mut self, problem: &P, state: &P::State, budget: Budget) -> Outcome<A>
    where
        P: Problem<Action = A>,
    {
        self.replay(problem, state);
        self.path.clear();
        self.trees.iter_mut().for_each(Tree::rewind);
        let mut run = Run {
            problem,
            root: state,
            search: self,
            meter: BudgetMeter::new(budget),
            best_possible: problem.best_possible(),
        };
        let (ending, passes) = run.passes(budget.passes.unwrap_or(u64::MAX));
        let (evaluations, simulated_ticks) = (run.meter.evaluations(), run.meter.ticks());
        let Record { reward, actions } = &self.best;
        let best = reward.map(|reward| Line { reward, actions: actions.clone() });
        Outcome { best, evaluations, simulated_ticks, passes, ending }
    }

    /// Notes that `action` has been played and the next run starts from the successor. If the best sequence begins so, it goes on without
    /// the action, and of each tree the part below it is kept. Otherwise everything is forgotten and the answer is false: the trees alone would be of
    /// no use, for what they have fully explored would never be seen again.
    pub fn advance(&mut self, action: A) -> bool {
        let follows = self.best.reward.is_some() && self.best.actions.first() == Some(&action);
        if follows {
            self.best.actions.remove(0);
            self.trees.iter_mut().for_each(|tree| tree.advance(action));
        } else {
            self.forget();
        }
        follows
    }

    /// Forgets the best sequence and the trees, as is right when the next state is not where the search expects to be. Randomness goes on.
    pub fn forget(&mut self) {
        self.best.reward = None;
        self.trees.iter_mut().for_each(Tree::clear);
    }

    /// Values the kept sequence anew; forgets everything if it cannot be played, or if it has run out where more could follow.
    fn replay<P: Problem<Action = A>>(&mut self, problem: &P, state: &P::State) {
        if self.best.reward.is_none() {
            return;
        }
        let mut state = state.clone();
        let list = &mut self.lists[0];
        for &action in &self.best.actions {
            list.clear();
            if !problem.is_final(&state) {
                problem.actions(&state, list);
            }
            if !list.contains(&action) {
                return self.forget();
            }
            problem.apply(&mut state, action);
        }
        if self.best.actions.is_empty() && !problem.is_final(&state) {
            return self.forget();
        }
        self.best.reward = Some(problem.reward(&state));
    }
}

/// The search must stop, for this reason.
struct Stop(Ending);

/// One run of a search.
struct Run<'a, P: Problem> {
    problem: &'a P,
    root: &'a P::State,
    search: &'a mut Search<P::Action>,
    meter: BudgetMeter,
    best_possible: f64,
}

impl<P: Problem> Run<'_, P> {
    /// Invokes the outermost component until something ends it: why, and how many times it came to its end.
    fn passes(&mut self, passes_max: u64) -> (Ending, u64) {
        if let Err(ending) = self.meter.check() {
            return (ending, 0);
        }
        for pass in 0..passes_max {
            match self.invoke(0, self.root) {
                Err(Stop(ending)) => return (ending, pass),
                Ok(None) => return (Ending::Exhausted, pass),
                // Nothing can follow a final state, so once is enough.
                Ok(Some(_)) if self.problem.is_final(self.root) => {
                    return (Ending::Exhausted, pass + 1);
                }
                Ok(Some(_)) => {}
            }
        }
        (Ending::Passes, passes_max)
    }

    /// Evaluates `state` if it is final, and otherwise runs the component there. Answers with the best reward of this invocation alone;
    /// with nothing if all below was seen before.
    fn invoke(&mut self, component: usize, state: &P::State) -> Result<Option<f64>, Stop> {
        if self.problem.is_final(state) {
            self.admit()?;
            return Ok(Some(self.evaluate(component, state)));
        }
        self.search.records[component].reward = None;
        match self.search.expression.components()[component] {
            Component::Simulate { policy, horizon } => {
                return self.simulate(component, state, policy, horizon).map(Some);
            }
            Component::Repeat(count) => self.repeat(component, state, count)?,
            Component::Lookahead => self.lookahead(component, state)?,
            Component::Step => self.step(component, state)?,
            Component::Select(c) => self.select(component, state, c)?,
        }
        Ok(self.search.records[component].reward)
    }

    fn simulate(
        &mut self,
        component: usize,
        state: &P::State,
        policy: Policy,
        horizon: Option<u32>,
    ) -> Result<f64, Stop> {
        self.admit()?;
        let start = self.search.path.len();
        let mut state = state.clone();
        let mut left = horizon.unwrap_or(u32::MAX);
        while left > 0 && !self.problem.is_final(&state) {
            let Search { lists, random, .. } = &mut *self.search;
            let list = &mut lists[component];
            let action = match policy {
                Policy::Random => self.problem.random(&state, list, random),
                Policy::Greedy => {
                    let mut trial_ticks = 0;
                    let action = self.problem.greedy(&state, list, random, &mut trial_ticks);
                    self.meter.add_ticks(trial_ticks);
                    action
                }
            };
            self.apply(&mut state, action)?;
            if horizon.is_some() {
                left -= 1;
            }
        }
        let reward = self.evaluate(component, &state);
        // Trees reach no further than where this began, so there is nothing to cut from them.
        self.search.path.truncate(start);
        Ok(reward)
    }

    fn repeat(&mut self, component: usize, state: &P::State, count: u32) -> Result<(), Stop> {
        for _ in 0..count {
            if self.invoke(component + 1, state)?.is_none() {
                break;
            }
        }
        Ok(())
    }

    fn lookahead(&mut self, component: usize, state: &P::State) -> Result<(), Stop> {
        let start = self.search.path.len();
        let mut list = std::mem::take(&mut self.search.lists[component]);
        list.clear();
        self.problem.actions(state, &mut list);
        for &action in &list {
            let mut successor = state.clone();
            self.apply(&mut successor, action)?;
            self.invoke(component + 1, &successor)?;
            self.cut(start);
        }
        self.search.lists[component] = list;
        Ok(())
    }

    fn step(&mut self, component: usize, state: &P::State) -> Result<(), Stop> {
        let start = self.search.path.len();
        let mut state = state.clone();
        while !self.problem.is_final(&state) {
            self.invoke(component + 1, &state)?;
            // The best sequence begins with the path, for the path was played from it.
            let record = &self.search.records[component];
            let next = record.actions.get(self.search.path.len());
            // Nothing is next if all below was seen before, or where the horizon of the best rollout was.
            let (Some(_), Some(&action)) = (record.reward, next) else {
                break;
            };
            self.apply(&mut state, action)?;
        }
        self.cut(start);
        Ok(())
    }

    fn select(&mut self, component: usize, state: &P::State, c: f64) -> Result<(), Stop> {
        let start = self.search.path.len();
        if !self.locate(component)? {
            // The tree is full and does not reach here.
            return self.invoke(component + 1, state).map(|_| ());
        }
        while !self.search.trees[component].is_explored() {
            let leaf = self.descend(component, state, c)?;
            let returned = self.invoke(component + 1, &leaf)?;
            let tree = &mut self.search.trees[component];
            if let Some(reward) = returned {
                tree.back_up(reward);
            }
            if returned.is_none() || self.problem.is_final(&leaf) {
                tree.close();
            }
            self.cut(start);
            if returned.is_some() {
                break;
            }
        }
        Ok(())
    }

    /// Goes down the tree of a `select` from `state` to a leaf: a node never visited, or one that the tree has no room to expand.
    fn descend(&mut self, component: usize, state: &P::State, c: f64) -> Result<P::State, Stop> {
        let mut state = state.clone();
        while self.expand(component, &state) {
            let Search { trees, random, .. } = &mut *self.search;
            let action = trees[component].descend(c, random);
            self.apply(&mut state, action)?;
            if !self.search.trees[component].is_visited() {
                break;
            }
        }
        Ok(state)
    }

    /// Follows the whole path in the tree of a `select`, listing what it does not have yet; false if there is no room.
    fn locate(&mut self, component: usize) -> Result<bool, Stop> {
        let mut replayed: Option<P::State> = None;
        loop {
            let depth = self.search.trees[component].depth();
            if depth == self.search.path.len() {
                return Ok(true);
            }
            let action = self.search.path[depth];
            let is_expanded = self.search.trees[component].is_expanded();
            if !is_expanded && replayed.is_none() {
                let mut state = self.root.clone();
                for index in 0..depth {
                    self.count()?;
                    self.problem.apply(&mut state, self.search.path[index]);
                }
                replayed = Some(state);
            }
            if let Some(state) = &mut replayed {
                if !self.expand(component, state) {
                    return Ok(false);
                }
                self.count()?;
                self.problem.apply(state, action);
            }
            if !self.search.trees[component].follow(action) {
                return Ok(false);
            }
        }
    }

    /// Lists the actions of `state` at the node where the tree of a `select` is, if it has not yet; false if there is no room.
    fn expand(&mut self, component: usize, state: &P::State) -> bool {
        let Search { trees, lists, .. } = &mut *self.search;
        if trees[component].is_expanded() {
            return true;
        }
        let list = &mut lists[component];
        list.clear();
        self.problem.actions(state, list);
        trees[component].expand(list)
    }

    /// Plays `action` and adds it to the path.
    #[inline]
    fn apply(&mut self, state: &mut P::State, action: P::Action) -> Result<(), Stop> {
        self.count()?;
        self.problem.apply(state, action);
        self.search.path.push(action);
        Ok(())
    }

    /// Takes back all but the first `length` actions of the path.
    fn cut(&mut self, length: usize) {
        self.search.path.truncate(length);
        self.search.trees.iter_mut().for_each(|tree| tree.cut(length));
    }

    /// Offers the path to every component around, from the inside out, and to the search.
    fn evaluate(&mut self, component: usize, state: &P::State) -> f64 {
        let reward = self.problem.reward(state);
        debug_assert!(reward.is_finite(), "a reward is finite");
        self.meter.count_evaluation();
        let Search { records, best, path, .. } = &mut *self.search;
        if records[..component].iter_mut().rev().all(|record| record.offer(reward, path)) {
            best.offer(reward, path);
        }
        reward
    }

    /// Whether another evaluation may begin. Asked before, not after, so that the last one is still handed up and backed up in full.
    #[inline]
    fn admit(&self) -> Result<(), Stop> {
        if self.search.best.reward.is_some_and(|reward| reward >= self.best_possible) {
            return Err(Stop(Ending::Optimal));
        }
        self.meter.check_evaluation().map_err(Stop)
    }

    /// Counts a state stepped, unless the budget is used up.
    #[inline]
    fn count(&mut self) -> Result<(), Stop> {
        self.meter.tick().map_err(Stop)
    }
}
