//! Runs an expression. Implements `simulate`, `repeat`, `lookahead`, `step` and `select`. During an
//! invocation, a component keeps the best sequence evaluated by the components within it.

use super::adapter::{AdaptOptions, Adapter};
use super::budget::{Budget, BudgetMeter, StopReason};
use super::expression::{Component, Expression, Policy};
use super::problem::{Problem, Random};
use super::tree::{TREE_NODES_MAX, Tree};

/// A sequence of actions and its reward.
#[derive(Clone, Debug, PartialEq)]
pub struct Line<A> {
    /// The reward of the sequence's last state.
    pub reward: f64,
    /// All actions, from the state in which the run started.
    pub actions: Vec<A>,
}

/// The result of a run and its cost.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct SearchOutcome<A> {
    /// The best sequence evaluated since the search was created or last reset, if any.
    pub best: Option<Line<A>>,
    /// The number of sequences evaluated in this run.
    pub evaluations: u64,
    /// The number of simulated steps in this run, including trial steps of the `greedy` policy.
    pub simulated_ticks: u64,
    /// Completed invocations of the outermost component in this run, except an invocation that
    /// found nothing left to explore.
    pub passes: u64,
    /// The reason for stopping.
    pub ending: StopReason,
}

#[derive(Clone)]
pub(super) struct Record<A> {
    pub(super) reward: Option<f64>,
    /// Valid only if there is a reward; otherwise kept to reuse the allocation.
    pub(super) actions: Vec<A>,
}

impl<A: Copy> Record<A> {
    const fn new() -> Self {
        Self { reward: None, actions: Vec::new() }
    }

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

/// A search that keeps the best sequence and the trees between runs. After playing an action, call
/// [`advance`](Self::advance). Before a run from a state that the played actions do not lead to,
/// call [`reset`](Self::reset).
#[derive(Clone)]
pub struct Search<A> {
    expression: Expression,
    pub(super) random: Random,
    pub(super) best: Record<A>,
    pub(super) records: Vec<Record<A>>,
    trees: Vec<Tree<A>>,
    pub(super) action_buffers: Vec<Vec<A>>,
    pub(super) path: Vec<A>,
    pub(super) adapter: Adapter,
    pub(super) sequence: Vec<A>,
}

impl<A: Copy + Eq> Search<A> {
    /// Creates a search. `seed` determines its random numbers.
    pub fn new(expression: Expression, seed: u64) -> Self {
        let count = expression.components().len();
        Self {
            expression,
            random: Random::from_seed(seed),
            best: Record::new(),
            records: vec![Record::new(); count],
            trees: vec![Tree::new(TREE_NODES_MAX); count],
            action_buffers: vec![Vec::new(); count],
            path: Vec::new(),
            adapter: Adapter::default(),
            sequence: Vec::new(),
        }
    }

    /// Limits each tree to this many nodes instead of 2^20, and drops existing trees.
    #[must_use]
    #[doc(hidden)]
    pub fn with_tree_nodes_max(mut self, nodes_max: usize) -> Self {
        self.trees.fill(Tree::new(nodes_max));
        self
    }

    /// The expression being run.
    pub fn expression(&self) -> &Expression {
        &self.expression
    }

    /// Searches from `state` until the budget is used up or nothing is left to find. First replays
    /// the best sequence of earlier runs to update its reward, which costs no ticks or evaluations.
    /// Resets the search if the sequence cannot be played from `state`, or if the sequence is empty
    /// and `state` is not final.
    pub fn run<P>(&mut self, problem: &P, state: &P::State, budget: Budget) -> SearchOutcome<A>
    where
        P: Problem<Action = A>,
    {
        self.replay(problem, state);
        self.path.clear();
        self.trees.iter_mut().for_each(Tree::reset_path);
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
        SearchOutcome { best, evaluations, simulated_ticks, passes, ending }
    }

    /// Moves the root to the state after `action`. If the best sequence starts with `action`, keeps
    /// the rest of the sequence and the subtrees, and returns true. Otherwise, resets the search
    /// and returns false: with kept trees, the search would skip explored subtrees, whose sequences
    /// it does not store.
    pub fn advance(&mut self, action: A) -> bool {
        let follows = self.best.reward.is_some() && self.best.actions.first() == Some(&action);
        if follows {
            self.best.actions.remove(0);
            self.trees.iter_mut().for_each(|tree| tree.advance(action));
        } else {
            self.reset();
        }
        follows
    }

    /// Drops the best sequence and the trees, but keeps the state of the random number generator.
    pub fn reset(&mut self) {
        self.best.reward = None;
        self.trees.iter_mut().for_each(Tree::clear);
    }

    fn replay<P: Problem<Action = A>>(&mut self, problem: &P, state: &P::State) {
        if self.best.reward.is_none() {
            return;
        }
        let mut state = state.clone();
        let actions = &mut self.action_buffers[0];
        for &action in &self.best.actions {
            actions.clear();
            if !problem.is_final(&state) {
                problem.actions(&state, actions);
            }
            if !actions.contains(&action) {
                return self.reset();
            }
            problem.apply(&mut state, action);
        }
        if self.best.actions.is_empty() && !problem.is_final(&state) {
            return self.reset();
        }
        self.best.reward = Some(problem.reward(&state));
    }
}

pub(super) struct Stop(StopReason);

pub(super) struct Run<'a, P: Problem> {
    pub(super) problem: &'a P,
    root: &'a P::State,
    pub(super) search: &'a mut Search<P::Action>,
    meter: BudgetMeter,
    best_possible: f64,
}

impl<P: Problem> Run<'_, P> {
    fn passes(&mut self, passes_max: u64) -> (StopReason, u64) {
        if let Err(ending) = self.meter.check() {
            return (ending, 0);
        }
        for pass in 0..passes_max {
            match self.invoke(0, self.root) {
                Err(Stop(ending)) => return (ending, pass),
                Ok(None) => return (StopReason::Exhausted, pass),
                Ok(Some(_)) if self.problem.is_final(self.root) => {
                    return (StopReason::Exhausted, pass + 1);
                }
                Ok(Some(_)) => {}
            }
        }
        (StopReason::Passes, passes_max)
    }

    /// Invokes a component from `state`, or evaluates `state` if it is final. Returns the best
    /// reward of this invocation, or `None` if all states below `state` were explored before.
    pub(super) fn invoke(&mut self, component: usize, state: &P::State) -> Result<Option<f64>, Stop> {
        if self.problem.is_final(state) {
            self.check_limits()?;
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
            Component::Beam(width) => self.beam(component, state, width as usize)?,
            Component::Adapt { levels, iterations, alpha, rollouts, prior } => {
                let options = AdaptOptions { levels, iterations, alpha, rollouts, prior };
                return self.adapt(component, state, options);
            }
            Component::Anneal { iterations, hot, cold } => {
                return self.anneal(component, state, iterations, [hot, cold]);
            }
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
        self.check_limits()?;
        let start = self.search.path.len();
        let mut state = state.clone();
        if policy == Policy::Greedy {
            self.problem.begin_greedy(&mut state);
        }
        let mut remaining = horizon.unwrap_or(u32::MAX);
        while remaining > 0 && !self.problem.is_final(&state) {
            let Search { action_buffers, random, .. } = &mut *self.search;
            let actions = &mut action_buffers[component];
            let action = match policy {
                Policy::Random => self.problem.random(&state, actions, random),
                Policy::Greedy => {
                    let mut trial_ticks = 0;
                    let action = self.problem.greedy(&state, actions, random, &mut trial_ticks);
                    self.meter.add_ticks(trial_ticks);
                    action
                }
            };
            self.apply(&mut state, action)?;
            if horizon.is_some() {
                remaining -= 1;
            }
        }
        let reward = self.evaluate(component, &state);
        // No tree's path has more than `start` actions, so the trees' paths need no truncation.
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
        let mut actions = std::mem::take(&mut self.search.action_buffers[component]);
        actions.clear();
        self.problem.actions(state, &mut actions);
        for &action in &actions {
            let mut successor = state.clone();
            self.apply(&mut successor, action)?;
            self.invoke(component + 1, &successor)?;
            self.truncate_path(start);
        }
        self.search.action_buffers[component] = actions;
        Ok(())
    }

    fn step(&mut self, component: usize, state: &P::State) -> Result<(), Stop> {
        let start = self.search.path.len();
        let mut state = state.clone();
        while !self.problem.is_final(&state) {
            self.invoke(component + 1, &state)?;
            let record = &self.search.records[component];
            let next = record.actions.get(self.search.path.len());
            // Stop if all states below are explored, or if the best sequence ends at a horizon.
            let (Some(_), Some(&action)) = (record.reward, next) else {
                break;
            };
            self.apply(&mut state, action)?;
        }
        self.truncate_path(start);
        Ok(())
    }

    fn select(&mut self, component: usize, state: &P::State, c: f64) -> Result<(), Stop> {
        let start = self.search.path.len();
        if !self.follow_path(component)? {
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
                tree.mark_explored();
            }
            self.truncate_path(start);
            if returned.is_some() {
                break;
            }
        }
        Ok(())
    }

    /// Descends to a leaf: an unvisited node, or a node whose children do not fit into the tree.
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

    /// Descends along the current path, and expands its nodes if the tree has room for their
    /// children. Returns false if the path leaves the tree.
    fn follow_path(&mut self, component: usize) -> Result<bool, Stop> {
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

    fn expand(&mut self, component: usize, state: &P::State) -> bool {
        let Search { trees, action_buffers, .. } = &mut *self.search;
        if trees[component].is_expanded() {
            return true;
        }
        let actions = &mut action_buffers[component];
        actions.clear();
        self.problem.actions(state, actions);
        trees[component].expand(actions)
    }

    #[inline]
    pub(super) fn apply(&mut self, state: &mut P::State, action: P::Action) -> Result<(), Stop> {
        self.count()?;
        self.problem.apply(state, action);
        self.search.path.push(action);
        Ok(())
    }

    pub(super) fn truncate_path(&mut self, length: usize) {
        self.search.path.truncate(length);
        self.search.trees.iter_mut().for_each(|tree| tree.truncate_path(length));
    }

    /// Evaluates `state`, the end of the path. Offers the path as the best sequence to the
    /// enclosing components and to the search.
    pub(super) fn evaluate(&mut self, component: usize, state: &P::State) -> f64 {
        let reward = self.problem.reward(state);
        debug_assert!(reward.is_finite(), "a reward is finite");
        self.meter.count_evaluation();
        let Search { records, best, path, .. } = &mut *self.search;
        if records[..component].iter_mut().rev().all(|record| record.offer(reward, path)) {
            best.offer(reward, path);
        }
        reward
    }

    #[inline]
    pub(super) fn check_limits(&self) -> Result<(), Stop> {
        if self.search.best.reward.is_some_and(|reward| reward >= self.best_possible) {
            return Err(Stop(StopReason::Optimal));
        }
        self.meter.check_evaluation().map_err(Stop)
    }

    #[inline]
    fn count(&mut self) -> Result<(), Stop> {
        self.meter.tick().map_err(Stop)
    }
}
