use super::combination::slots_of;
use super::model::{Automaton, Model};
use crate::game::Style;

/// Targets and lines up to this tick are early.
pub(super) const EARLY_TICK: usize = 600;

#[derive(Debug)]
pub(super) struct Orders {
    early: Vec<usize>,
    late: Vec<usize>,
}

impl Orders {
    /// Sharks come first: they follow the player most closely, and soon all stand on one tile. Then
    /// come one owl, one deer and one hawk, a second of each, and so on. If the threats do not fit
    /// into one combination, early targets order the threats by distance from the player.
    pub fn new<const N: usize>(model: &Model<N>) -> Self {
        let rank = |automaton: &Automaton<N>| match automaton {
            Automaton::Chaser { style: Style::Deer, .. } => 2,
            Automaton::Chaser { .. } => 0,
            Automaton::Owl { .. } => 1,
            Automaton::Hawk { .. } => 3,
        };
        let nth = |index: usize| {
            let own = rank(&model.automata[index]);
            model.automata[..index].iter().filter(|other| rank(other) == own).count()
        };
        let mut late: Vec<usize> = (0..model.automata.len()).collect();
        late.sort_by_key(|&index| {
            let rank = rank(&model.automata[index]);
            if rank == 0 { (0, rank) } else { (nth(index), rank) }
        });
        let mut early = late.clone();
        if slots_of(model, &late).len() < late.len() {
            let distances = model.distances(model.player);
            early.sort_by_key(|&index| {
                distances[usize::from(model.place(&model.automata[index], model.origins[index].key))]
            });
        }
        Self { early, late }
    }

    pub fn at(&self, tick: usize) -> &[usize] {
        if tick > EARLY_TICK { &self.late } else { &self.early }
    }
}
