//! The learnt policy of `adapt`: one weight per action code.

use super::problem::Random;

/// Weights are clamped to ± this value, so that their exponentials stay finite and positive.
const WEIGHT_MAX: f64 = 500.0;
const CAPACITY_FIRST: usize = 64;

#[derive(Clone, Copy, Debug)]
struct Slot {
    code: u64,
    weight: f64,
    /// The exponential of the weight; 0 marks an empty slot.
    factor: f64,
}

impl Slot {
    const EMPTY: Self = Self { code: 0, weight: 0.0, factor: 0.0 };
    /// Marks a factor that must be recomputed from the weight.
    const STALE: f64 = -1.0;

    #[inline]
    const fn is_empty(&self) -> bool {
        self.factor == 0.0
    }
}

/// An open-addressing hash table from action codes to weights; a clone copies one array.
#[derive(Debug, Default)]
pub(super) struct Weights {
    /// The length is 0 or a power of two.
    slots: Vec<Slot>,
    count: usize,
}

/// Not derived, so that `clone_from` can reuse the allocation.
impl Clone for Weights {
    fn clone(&self) -> Self {
        Self { slots: self.slots.clone(), count: self.count }
    }

    fn clone_from(&mut self, other: &Self) {
        self.slots.clone_from(&other.slots);
        self.count = other.count;
    }
}

impl Weights {
    pub(super) fn clear(&mut self) {
        self.slots.clear();
        self.count = 0;
    }

    #[inline]
    fn find(&self, code: u64) -> usize {
        let mask = self.slots.len() - 1;
        let hash = code.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut index = (hash >> 32) as usize & mask;
        while !self.slots[index].is_empty() && self.slots[index].code != code {
            index = (index + 1) & mask;
        }
        index
    }

    #[inline]
    pub(super) fn factor(&self, code: u64) -> f64 {
        if self.slots.is_empty() {
            return 1.0;
        }
        let slot = &self.slots[self.find(code)];
        if slot.is_empty() { 1.0 } else { slot.factor }
    }

    /// Adds the code's slot if it is missing. Returns the slot's index, which is valid until the
    /// table grows.
    #[inline]
    fn slot(&mut self, code: u64) -> usize {
        if (self.count + 1) * 2 > self.slots.len() {
            self.grow();
        }
        let index = self.find(code);
        if self.slots[index].is_empty() {
            self.slots[index] = Slot { code, weight: 0.0, factor: 1.0 };
            self.count += 1;
        }
        index
    }

    #[inline]
    fn add(&mut self, slot: usize, change: f64) {
        let slot = &mut self.slots[slot];
        slot.weight = (slot.weight + change).clamp(-WEIGHT_MAX, WEIGHT_MAX);
        slot.factor = Slot::STALE;
    }

    #[inline]
    fn refresh(&mut self, slot: usize) {
        let slot = &mut self.slots[slot];
        if slot.factor == Slot::STALE {
            // Not `f64::exp`, because its last bit can differ between platforms.
            slot.factor = libm::exp(slot.weight);
        }
    }

    fn grow(&mut self) {
        let capacity = (self.slots.len() * 2).max(CAPACITY_FIRST);
        let slots = std::mem::replace(&mut self.slots, vec![Slot::EMPTY; capacity]);
        for slot in slots.into_iter().filter(|slot| !slot.is_empty()) {
            let index = self.find(slot.code);
            self.slots[index] = slot;
        }
    }
}

/// A recorded rollout: the code and exp(prior weight) of each legal action, and the actions played.
#[derive(Debug, Default)]
pub(super) struct Rollout {
    pub(super) reward: Option<f64>,
    codes: Vec<u64>,
    priors: Vec<f64>,
    steps: Vec<RolloutStep>,
}

#[derive(Clone, Copy, Debug)]
struct RolloutStep {
    end: usize,
    played: usize,
}

impl Clone for Rollout {
    fn clone(&self) -> Self {
        Self { reward: self.reward, codes: self.codes.clone(), priors: self.priors.clone(), steps: self.steps.clone() }
    }

    fn clone_from(&mut self, other: &Self) {
        self.reward = other.reward;
        self.codes.clone_from(&other.codes);
        self.priors.clone_from(&other.priors);
        self.steps.clone_from(&other.steps);
    }
}

impl Rollout {
    pub(super) fn clear(&mut self) {
        self.reward = None;
        self.codes.clear();
        self.priors.clear();
        self.steps.clear();
    }

    #[inline]
    pub(super) fn add_action(&mut self, code: u64, prior: f64) {
        self.codes.push(code);
        self.priors.push(prior);
    }

    /// Draws one of the actions added since the last draw, with a probability proportional to
    /// exp(weight + prior weight). Returns its index among these actions.
    #[inline]
    pub(super) fn draw(&mut self, weights: &Weights, random: &mut Random, factors: &mut Vec<f64>) -> usize {
        let first = self.steps.last().map_or(0, |step| step.end);
        factors.clear();
        factors.extend(
            self.codes[first..].iter().zip(&self.priors[first..]).map(|(&code, prior)| weights.factor(code) * prior),
        );
        let mut left = random.unit() * factors.iter().sum::<f64>();
        let mut chosen = 0;
        while chosen + 1 < factors.len() && left >= factors[chosen] {
            left -= factors[chosen];
            chosen += 1;
        }
        self.steps.push(RolloutStep { end: self.codes.len(), played: first + chosen });
        chosen
    }

    /// For each step, adds `alpha` to the weight of the played action, and subtracts from each
    /// legal action's weight `alpha` times its probability (Rosin 2011). `changes` and `slots` are
    /// scratch space.
    pub(super) fn adapt(&self, weights: &mut Weights, alpha: f64, changes: &mut Vec<f64>, slots: &mut Vec<usize>) {
        let capacity = weights.slots.len();
        slots.clear();
        slots.extend(self.codes.iter().map(|&code| weights.slot(code)));
        if weights.slots.len() != capacity {
            slots.clear();
            slots.extend(self.codes.iter().map(|&code| weights.slot(code)));
        }
        changes.clear();
        let mut first = 0;
        for step in &self.steps {
            let codes = first..step.end;
            changes.extend(codes.clone().map(|at| weights.slots[slots[at]].factor * self.priors[at]));
            let sum: f64 = changes[first..].iter().sum();
            for at in codes {
                changes[at] = alpha * (f64::from(u8::from(at == step.played)) - changes[at] / sum);
            }
            first = step.end;
        }
        // The weights change only after all probabilities are computed, because a code can occur in
        // several steps. For the same reason, the exponentials are computed only at the end.
        for (&slot, &change) in slots.iter().zip(changes.iter()) {
            weights.add(slot, change);
        }
        for &slot in slots.iter() {
            weights.refresh(slot);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn add(weights: &mut Weights, code: u64, change: f64) {
        let slot = weights.slot(code);
        weights.add(slot, change);
        weights.refresh(slot);
    }

    #[test]
    fn weights_survive_growing_and_are_cleared() {
        let mut weights = Weights::default();
        assert_eq!(weights.factor(3), 1.0);
        for code in 0..1000 {
            add(&mut weights, code << 40, code as f64 / 100.0);
            add(&mut weights, code << 40, 1.0);
        }
        for code in 0..1000 {
            assert_eq!(weights.factor(code << 40), libm::exp(code as f64 / 100.0 + 1.0));
        }
        assert_eq!((weights.count, weights.factor(1)), (1000, 1.0));
        let copy = weights.clone();
        weights.clear();
        assert_eq!((weights.factor(5 << 40), copy.factor(5 << 40)), (1.0, libm::exp(1.05)));
    }

    fn rollout(played: &[usize], weights: &Weights) -> Rollout {
        (0..10_000)
            .map(|seed| {
                let mut random = Random::from_seed(seed);
                let mut rollout = Rollout::default();
                let drawn: Vec<usize> = (0..played.len() as u64)
                    .map(|step| {
                        (0..3).for_each(|action| rollout.add_action(step << 8 | action, 1.0));
                        rollout.draw(weights, &mut random, &mut Vec::new())
                    })
                    .collect();
                (drawn, rollout)
            })
            .find(|(drawn, _)| drawn == played)
            .expect("every draw is possible")
            .1
    }

    #[test]
    fn adaptation_is_one_step_of_the_gradient() {
        let mut weights = Weights::default();
        rollout(&[2, 0], &weights).adapt(&mut weights, 1.0, &mut Vec::new(), &mut Vec::new());
        let (up, down) = (libm::exp(1.0 - 1.0 / 3.0), libm::exp(-1.0 / 3.0));
        let factors: Vec<f64> = [0, 1, 2, 256, 257, 258].iter().map(|&code| weights.factor(code)).collect();
        assert_eq!(factors, [down, down, up, up, down, down]);
    }

    #[test]
    fn draws_follow_weights_and_priors() {
        let mut weights = Weights::default();
        add(&mut weights, 1, 2.0_f64.ln());
        let mut random = Random::from_seed(1);
        let mut counts = [0_u32; 3];
        for _ in 0..40_000 {
            let mut rollout = Rollout::default();
            [1.0, 0.5, 2.0].into_iter().enumerate().for_each(|(code, prior)| rollout.add_action(code as u64, prior));
            counts[rollout.draw(&weights, &mut random, &mut Vec::new())] += 1;
        }
        for (count, expected) in counts.into_iter().zip([10_000, 10_000, 20_000]) {
            assert!(count.abs_diff(expected) < 400, "{counts:?}");
        }
    }

    #[test]
    fn weights_stay_finite() {
        let mut weights = Weights::default();
        (0..100).for_each(|_| add(&mut weights, 7, 1000.0));
        (0..100).for_each(|_| add(&mut weights, 8, -1000.0));
        assert!(weights.factor(7).is_finite() && weights.factor(8) > 0.0);
    }
}
