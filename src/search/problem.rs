//! The interface of the problems that the search grammar can solve, and the random generator.

use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::{Rng, SeedableRng};

/// Folds a seed of 128 bits, which NumPy recommends, into 64. A seed below 2^64 stays as it is.
pub fn fold_seed(seed: u128) -> u64 {
    (seed as u64) ^ ((seed >> 64) as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// The random number generator PCG XSL 128/64 (MCG) by O'Neill (2014). Equal seeds give equal
/// numbers on all platforms.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Random(Pcg64Mcg);

impl Random {
    /// Creates a generator from a seed.
    pub fn from_seed(seed: u64) -> Self {
        Self(Pcg64Mcg::seed_from_u64(seed))
    }

    /// 32 uniformly random bits.
    #[inline]
    pub fn next_u32(&mut self) -> u32 {
        self.0.next_u32()
    }

    /// 64 uniformly random bits.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A random index below `count` (1 to `2^32`), from one draw of 32 bits. Multiplies as in
    /// Lemire 2019, section 4, but does not reject draws, so an index's probability deviates from
    /// `1 / count` by a relative error of at most `count / 2^32`.
    #[inline]
    pub fn below(&mut self, count: usize) -> usize {
        debug_assert!(count > 0 && count as u64 <= 1 << 32);
        ((u64::from(self.next_u32()) * count as u64) >> 32) as usize
    }

    /// A uniformly random multiple of 2^-53 in [0, 1), from one draw of 64 bits.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        const SCALE: f64 = 1.0 / (1_u64 << 53) as f64;
        (self.next_u64() >> 11) as f64 * SCALE
    }

    /// Shuffles the items with the Fisher-Yates algorithm.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }
}

/// A deterministic one-player problem. Callers pass in a list for actions and reuse it, so that no
/// call needs to allocate a list.
pub trait Problem {
    /// A state: everything on which the legal actions, their effects and the reward depend. Every
    /// rollout clones a state.
    type State: Clone;
    /// An action: one decision.
    type Action: Copy + Eq;

    /// Appends the legal actions of `state`, each once and always in the same order, to the empty
    /// list `actions`. A state that is not final has at least one legal action.
    fn actions(&self, state: &Self::State, actions: &mut Vec<Self::Action>);

    /// Plays a legal action.
    fn apply(&self, state: &mut Self::State, action: Self::Action);

    /// Returns true if the state is final. If some sequences of actions never reach a final
    /// state, the budget must limit ticks or time.
    fn is_final(&self, state: &Self::State) -> bool;

    /// The finite reward of a sequence that ends in `state` or is cut off there. Higher is better.
    fn reward(&self, state: &Self::State) -> f64;

    /// An upper bound on the reward. A search stops when its best reward reaches the bound.
    fn best_possible(&self) -> f64 {
        f64::INFINITY
    }

    /// A uniformly random legal action of the non-final `state`. `actions` is scratch space with
    /// unspecified contents. Override this to draw an action without listing all actions.
    #[inline]
    fn random(&self, state: &Self::State, actions: &mut Vec<Self::Action>, random: &mut Random) -> Self::Action {
        actions.clear();
        self.actions(state, actions);
        actions[random.below(actions.len())]
    }

    /// Prepares the first state of a rollout that follows the `greedy` policy. An implementation
    /// may store parameters of the policy in the state, but must not change the state otherwise.
    #[inline]
    fn begin_greedy(&self, _state: &mut Self::State) {}

    /// The action of the `greedy` policy in the non-final `state`, by default a random one.
    /// `actions` is scratch space. The method must add the number of steps that it simulates to
    /// `_trial_ticks`.
    #[inline]
    fn greedy(
        &self,
        state: &Self::State,
        actions: &mut Vec<Self::Action>,
        random: &mut Random,
        _trial_ticks: &mut u64,
    ) -> Self::Action {
        self.random(state, actions, random)
    }

    /// The code of a legal action. Actions with the same code share a learnt weight in `adapt`, so
    /// a code should depend only on features that matter. `depth` is the number of actions from the
    /// start of the run to `_state`, and `index` is the action's index among the legal actions. By
    /// default, the code combines `depth` and `index`.
    #[inline]
    fn code(&self, _state: &Self::State, _action: Self::Action, depth: usize, index: usize) -> u64 {
        (depth as u64) << 32 | index as u64
    }

    /// The prior weight of a legal action for `adapt` with `prior`; 0 by default. Before learning,
    /// an action's probability is proportional to the exponential of its prior weight.
    #[inline]
    fn prior(&self, _state: &Self::State, _action: Self::Action) -> f64 {
        0.0
    }
}
