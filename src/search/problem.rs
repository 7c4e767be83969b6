//! The interface that a search requires of a problem.

use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::{Rng, SeedableRng};

/// The random number generator of every search: small, fast, with the same stream on every
/// platform. It is PCG XSL 128/64 (MCG): O'Neill, *PCG: A Family of Simple Fast Space-Efficient
/// Statistically Good Algorithms for Random Number Generation*, 2014.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Generator(Pcg64Mcg);

impl Generator {
    /// The generator of this seed.
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

    /// A uniformly random index below `count`, from one draw of 32 bits.
    ///
    /// Multiplies instead of dividing (Lemire, *Fast Random Integer Generation in an Interval*,
    /// 2019, section 4, without the rejection step): each index deviates from its exact probability
    /// by at most one part in `2^32 / count`. `count` must not be 0; counts above `2^32` are not
    /// supported.
    #[inline]
    pub fn below(&mut self, count: usize) -> usize {
        debug_assert!(count > 0 && count as u64 <= 1 << 32);
        ((u64::from(self.next_u32()) * count as u64) >> 32) as usize
    }

    /// A uniformly random multiple of 2^-53 from 0 to below 1, from one draw of 64 bits.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        const SCALE: f64 = 1.0 / (1_u64 << 53) as f64;
        (self.next_u64() >> 11) as f64 * SCALE
    }

    /// Puts items into a uniformly random order (Fisher and Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }
}

/// A deterministic one-player problem.
///
/// The methods are called tens of millions of times a second, so they take a reusable buffer where
/// they need one and return nothing that must be freed. If a state is plain data, the search does
/// not allocate.
pub trait Problem {
    /// Everything that determines the future. Cloned once per rollout.
    type State: Clone;
    /// A decision in a state.
    type Action: Copy + Eq;

    /// Appends the legal actions of `state` to `actions`, which is empty: each one once, always in
    /// the same order. A state that is not final has at least one legal action.
    fn actions(&self, state: &Self::State, actions: &mut Vec<Self::Action>);

    /// Plays `action`, which is legal in `state`.
    fn apply(&self, state: &mut Self::State, action: Self::Action);

    /// Whether the state is final. Every sequence must end in a final state, unless rollouts have a
    /// horizon or the search a deadline.
    fn is_final(&self, state: &Self::State) -> bool;

    /// The reward of ending in `state`; higher is better, always finite. Called for final states
    /// and for states where a rollout reaches its horizon.
    fn reward(&self, state: &Self::State) -> f64;

    /// An upper bound of the reward; a search that reaches it stops.
    fn best_possible(&self) -> f64 {
        f64::INFINITY
    }

    /// A uniformly random action of `state`, which is not final. `actions` is scratch space with
    /// unspecified contents; a problem that can draw an action without listing them all should
    /// override this.
    #[inline]
    fn random(&self, state: &Self::State, actions: &mut Vec<Self::Action>, random: &mut Generator) -> Self::Action {
        actions.clear();
        self.actions(state, actions);
        actions[random.below(actions.len())]
    }

    /// Called with the state in which a rollout with the policy `greedy` starts, for policies that
    /// decide there what holds for the whole rollout; they keep it in the state, and it changes
    /// nothing else. Does nothing by default.
    #[inline]
    fn begin_greedy(&self, _state: &mut Self::State) {}

    /// The action that the problem's heuristic prefers in `state`, which is not final; the policy
    /// `greedy`. `actions` is scratch space with unspecified contents. The default is a random
    /// action.
    #[inline]
    fn greedy(
        &self,
        state: &Self::State,
        actions: &mut Vec<Self::Action>,
        random: &mut Generator,
        _trial_ticks: &mut u64,
    ) -> Self::Action {
        self.random(state, actions, random)
    }

    /// The code of `action`, which is legal in `state` after `depth` actions and has the number
    /// `index` among the legal actions. Learnt policies give actions with the same code the same
    /// weight, so a good code captures what matters about an action and leaves out the rest. By
    /// default it is `depth` and `index`.
    #[inline]
    fn code(&self, _state: &Self::State, _action: Self::Action, depth: usize, index: usize) -> u64 {
        (depth as u64) << 32 | index as u64
    }

    /// The prior weight of `action`, legal in `state`: before anything is learnt, an action is
    /// played with a probability proportional to the exponential of this weight. By default 0 for
    /// all, that is, uniformly at random.
    #[inline]
    fn prior(&self, _state: &Self::State, _action: Self::Action) -> f64 {
        0.0
    }
}
