//! The component `adapt`: nested rollout policy adaptation (Rosin 2011). In each iteration, a level
//! passes a copy of its policy to the level below, and then adapts its own policy to its best
//! sequence. Level 1 plays rollouts instead: one per iteration, or several in the stabilised form.
//! The generalised form adds a prior to the weights. `docs/search.md` names the papers on both forms.

use super::adapter::{AdaptOptions, Adapter};
use super::policy::{Rollout, Weights};
use super::problem::Problem;
use super::run::{Run, Stop};

impl<P: Problem> Run<'_, P> {
    pub(super) fn adapt(
        &mut self,
        component: usize,
        state: &P::State,
        options: AdaptOptions,
    ) -> Result<Option<f64>, Stop> {
        let mut adapter = std::mem::take(&mut self.search.adapter);
        let levels = options.levels as usize;
        adapter.policies.resize_with(levels + 1, Weights::default);
        adapter.bests.resize_with(levels + 1, Rollout::default);
        adapter.policies[levels].clear();
        let result = self.adapt_level(&mut adapter, levels, component, state, options);
        let reward = adapter.bests[levels].reward;
        self.search.adapter = adapter;
        result.map(|()| reward)
    }

    fn adapt_level(
        &mut self,
        adapter: &mut Adapter,
        level: usize,
        component: usize,
        state: &P::State,
        options: AdaptOptions,
    ) -> Result<(), Stop> {
        adapter.bests[level].clear();
        for _ in 0..options.iterations {
            if level == 1 {
                for _ in 0..options.rollouts {
                    self.policy_rollout(adapter, component, state, options.prior)?;
                    // As in Rosin's paper, the later rollout wins a tie.
                    if adapter.current.reward >= adapter.bests[1].reward {
                        std::mem::swap(&mut adapter.current, &mut adapter.bests[1]);
                    }
                }
            } else {
                let (below, above) = adapter.policies.split_at_mut(level);
                below[level - 1].clone_from(&above[0]);
                self.adapt_level(adapter, level - 1, component, state, options)?;
                let (below, above) = adapter.bests.split_at_mut(level);
                if below[level - 1].reward >= above[0].reward {
                    above[0].clone_from(&below[level - 1]);
                }
            }
            let Adapter { policies, bests, scratch, slots, .. } = adapter;
            bests[level].adapt(&mut policies[level], options.alpha, scratch, slots);
        }
        Ok(())
    }

    fn policy_rollout(
        &mut self,
        adapter: &mut Adapter,
        component: usize,
        state: &P::State,
        prior: bool,
    ) -> Result<(), Stop> {
        self.check_limits()?;
        let Adapter { policies, current, scratch, .. } = adapter;
        let start = self.search.path.len();
        let mut state = state.clone();
        current.clear();
        while !self.problem.is_final(&state) {
            let depth = self.search.path.len();
            let actions = &mut self.search.action_buffers[component];
            actions.clear();
            self.problem.actions(&state, actions);
            for (index, &action) in actions.iter().enumerate() {
                let bias = if prior { libm::exp(self.problem.prior(&state, action)) } else { 1.0 };
                current.add_action(self.problem.code(&state, action, depth, index), bias);
            }
            let action = actions[current.draw(&policies[1], &mut self.search.random, scratch)];
            self.apply(&mut state, action)?;
        }
        current.reward = Some(self.evaluate(component, &state));
        self.search.path.truncate(start);
        Ok(())
    }
}
