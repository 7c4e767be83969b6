//! What a search asks of a problem, and nothing else.

use rand_pcg::rand_core::Rng;

/// The one source of randomness of a search: small, fast, and the same stream on every platform.
pub type Generator = rand_pcg::Pcg64Mcg;

/// A uniformly random index below `count`, from one draw of 32 bits.
///
/// Multiplies instead of dividing (Lemire, *Fast Random Integer Generation in an Interval*, 2019, section 4, without the rejection step): no index
/// is off its fair share by more than one part in `2^32 / count`. `count` must not be 0; counts above `2^32` are not supported.
#[inline]
pub fn below(random: &mut Generator, count: usize) -> usize {
    debug_assert!(count > 0 && count as u64 <= 1 << 32);
    ((u64::from(random.next_u32()) * count as u64) >> 32) as usize
}

/// A one-player problem with known, deterministic consequences.
///
/// The methods are called tens of millions of times a second, so they take a reusable buffer where they need one and return nothing that
/// must be freed. A state that is plain data makes a search free of allocation.
pub trait Problem {
    /// Everything that decides what happens next. Cloned once per rollout.
    type State: Clone;
    /// What is decided in a state.
    type Action: Copy + Eq;

    /// Appends the legal actions of `state`, each once, always in the same order, to `actions`, which comes empty. A state that is not
    /// final has at least one.
    fn actions(&self, state: &Self::State, actions: &mut Vec<Self::Action>);

    /// Plays `action`, which is legal in `state`.
    fn apply(&self, state: &mut Self::State, action: Self::Action);

    /// Whether nothing can follow. Every play must get there, unless its rollouts have a horizon or the search a deadline.
    fn is_final(&self, state: &Self::State) -> bool;

    /// How good it is to end in `state`; higher is better, always finite. Asked of final states, and of those where a rollout meets its horizon.
    fn reward(&self, state: &Self::State) -> f64;

    /// A reward that cannot be exceeded: a search that reaches it stops there.
    fn best_possible(&self) -> f64 {
        f64::INFINITY
    }

    /// A uniformly random action of `state`, which is not final. `actions` is scratch space with unspecified contents; a problem that can draw
    /// an action without listing all of them should do so.
    #[inline]
    fn random(&self, state: &Self::State, actions: &mut Vec<Self::Action>, random: &mut Generator) -> Self::Action {
        actions.clear();
        self.actions(state, actions);
        actions[below(random, actions.len())]
    }

    /// The action of `state`, which is not final, that the problem's own rule of thumb prefers; the policy `greedy`. `actions` is scratch space
    /// with unspecified contents. A problem without such a rule plays at random.
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
}
