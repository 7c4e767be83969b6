//! Finds the places from which the player can survive a shark, bulls and goldfish until the target.

use super::model::{Automaton, Model, Projection};
use super::tiles::TileSet;

impl<const N: usize> Model<N> {
    /// Returns the places to which the player may move in a tick. In the no-jump variant, these
    /// exclude the tiles on which bulls and goldfish start the tick.
    #[inline]
    pub fn landing(&self, tick: usize, allowed: &[TileSet<N>]) -> TileSet<N> {
        if self.board.no_jump { allowed[tick + 1].without(&self.times.taken[tick]) } else { allowed[tick + 1] }
    }

    /// Fills the layer of a tick from the next one, and restricts the allowed places of the tick.
    pub fn project(&self, shark: &Automaton<N>, tick: usize, layers: &mut Projection<N>, allowed: &mut [TileSet<N>]) {
        let (next, landing) = (layers.get(tick + 1), self.landing(tick, allowed));
        let from = |to: &TileSet<N>, place: u16| {
            let mut to = to.and(&landing);
            if self.board.no_jump {
                to.remove(place);
            }
            self.board.reach(&to)
        };
        let layer_at = |tile: usize| {
            let place = self.board.places[tile];
            let mut set = match next {
                None => allowed[tick],
                Some(next) if self.times.moves[tick] => {
                    shark.branches(tick, tile as u32).iter().fold(TileSet::EMPTY, |set, branch| {
                        set.or(&from(&next[branch.key as usize], place).and(&branch.when))
                    })
                }
                Some(next) => from(&next[tile], place),
            };
            set.remove(place);
            set.and(&allowed[tick])
        };
        let layer: Vec<TileSet<N>> = (0..self.tiles()).map(layer_at).collect();
        if next.is_some() {
            let any = layer.iter().fold(TileSet::EMPTY, |any, set| any.or(set));
            allowed[tick] = allowed[tick].and(&any);
        }
        layers[tick] = layer;
    }
}
