//! The component `anneal`: simulated annealing over the sequence of actions.

use super::problem::Problem;
use super::run::{Run, Stop};

impl<P: Problem> Run<'_, P> {
    /// Starts from the best known sequence if it passes through `state`, otherwise from a random
    /// one. Each iteration replaces a randomly chosen action by another legal action, if there is
    /// one. Later actions that have become illegal, or are missing, are replaced by random ones. A
    /// worse sequence is accepted with probability exp(-loss / temperature), where the loss is the
    /// decrease in reward divided by the range of the rewards seen so far in this invocation.
    pub(super) fn anneal(
        &mut self,
        component: usize,
        state: &P::State,
        iterations: u32,
        [hot, cold]: [f64; 2],
    ) -> Result<Option<f64>, Stop> {
        let start = self.search.path.len();
        let mut current = std::mem::take(&mut self.search.sequence);
        current.clear();
        let best = &self.search.best;
        let mut reward = best.reward.filter(|_| best.actions.starts_with(&self.search.path));
        if reward.is_some() {
            current.extend_from_slice(&best.actions[start..]);
        }
        let (mut low, mut high) = (reward.unwrap_or(f64::INFINITY), reward.unwrap_or(f64::NEG_INFINITY));
        let mut returned: Option<f64> = None;
        for iteration in 0..iterations {
            let changed = self.change(component, state, &current)?;
            low = low.min(changed);
            high = high.max(changed);
            returned = Some(returned.map_or(changed, |returned: f64| returned.max(changed)));
            let loss = reward.map_or(0.0, |reward| (reward - changed) / (high - low));
            // The loss is NaN when all rewards are equal.
            let is_accepted = loss.is_nan() || loss <= 0.0 || {
                let temperature = temperature(f64::from(iteration) / f64::from(iterations), hot, cold);
                self.search.random.unit() < libm::exp(-loss / temperature)
            };
            if is_accepted {
                reward = Some(changed);
                current.clear();
                current.extend_from_slice(&self.search.path[start..]);
            }
            self.search.path.truncate(start);
        }
        self.search.sequence = current;
        Ok(returned)
    }

    /// Changes one action of `sequence`, appends the changed sequence to the path, and returns the
    /// reward. Plays at random if `sequence` is empty.
    fn change(&mut self, component: usize, state: &P::State, sequence: &[P::Action]) -> Result<f64, Stop> {
        self.check_limits()?;
        let mut state = state.clone();
        let changed = if sequence.is_empty() { 0 } else { self.search.random.below(sequence.len()) };
        for &action in &sequence[..changed] {
            self.apply(&mut state, action)?;
        }
        let mut next = changed;
        while !self.problem.is_final(&state) {
            let actions = &mut self.search.action_buffers[component];
            actions.clear();
            self.problem.actions(&state, actions);
            let planned = sequence.get(next).copied();
            let random = &mut self.search.random;
            let action = match planned {
                Some(action) if next > changed && actions.contains(&action) => action,
                Some(action) if next == changed && actions.len() > 1 => {
                    let others = actions.iter().filter(|&&other| other != action);
                    let count = others.clone().count();
                    *others.clone().nth(random.below(count)).expect("an index below the count")
                }
                _ => actions[random.below(actions.len())],
            };
            next += 1;
            self.apply(&mut state, action)?;
        }
        Ok(self.evaluate(component, &state))
    }
}

/// Interpolates from `hot` to `cold`: linearly if either is 0, otherwise geometrically.
fn temperature(share: f64, hot: f64, cold: f64) -> f64 {
    if hot > 0.0 && cold > 0.0 { hot * libm::pow(cold / hot, share) } else { hot + (cold - hot) * share }
}
