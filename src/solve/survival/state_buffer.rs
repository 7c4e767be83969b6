use std::ops::Deref;

use crate::game::State;

/// A list of states that reuses the states that it no longer contains.
#[derive(Debug, Default)]
pub(super) struct StateBuffer {
    pub states: Vec<State>,
    len: usize,
}

impl StateBuffer {
    pub fn clear(&mut self) {
        self.len = 0;
    }

    pub fn pop(&mut self) {
        self.len -= 1;
    }

    /// Returns the copy, and the states before it.
    #[inline]
    pub fn push_copy(&mut self, state: &State) -> (&mut State, &[State]) {
        match self.states.get_mut(self.len) {
            Some(old) => old.clone_from(state),
            None => self.states.push(state.clone()),
        }
        self.len += 1;
        let (others, rest) = self.states.split_at_mut(self.len - 1);
        (&mut rest[0], others)
    }
}

impl Deref for StateBuffer {
    type Target = [State];

    #[inline]
    fn deref(&self) -> &[State] {
        &self.states[..self.len]
    }
}
