//! For each tile of a shark, where the player survives it, bulls and goldfish until the target.

use super::model::{Automaton, Model};
use super::tile_set::TileSet;

/// The places where the player survives, by tick and key. Ticks without a layer are unrestricted.
pub(super) type Projection<const N: usize> = Vec<Vec<TileSet<N>>>;

impl<const N: usize> Model<N> {
    /// The allowed places after the player's move in a tick, without bulls and goldfish.
    #[inline]
    pub fn landing(&self, tick: usize, allowed: &[TileSet<N>]) -> TileSet<N> {
        if self.rules.no_jump { allowed[tick + 1].without(&self.times.taken[tick]) } else { allowed[tick + 1] }
    }

    pub fn project_shark(
        &self,
        shark: &Automaton<N>,
        tick: usize,
        layers: &mut Projection<N>,
        allowed: &mut [TileSet<N>],
    ) {
        if tick + 1 == layers.len() {
            layers[tick] =
                (0..self.tiles()).map(|tile| allowed[tick].without(&TileSet::of(self.board.places[tile]))).collect();
            return;
        }
        layers[tick] = self.shark_layer_before(shark, tick, &layers[tick + 1], allowed);
        let any = layers[tick].iter().fold(TileSet::EMPTY, |any, set| any.or(set));
        allowed[tick] = allowed[tick].and(&any);
    }

    fn shark_layer_before(
        &self,
        shark: &Automaton<N>,
        tick: usize,
        next: &[TileSet<N>],
        allowed: &[TileSet<N>],
    ) -> Vec<TileSet<N>> {
        let landing = self.landing(tick, allowed);
        let from = |to: &TileSet<N>, place: u16| {
            let mut to = to.and(&landing);
            if self.rules.no_jump {
                to.remove(place);
            }
            self.board.reach(&to)
        };
        let layer_at = |tile: usize| {
            let place = self.board.places[tile];
            let mut set = if self.times.moves[tick] {
                shark.branches(tick, tile as u32).iter().fold(TileSet::EMPTY, |set, branch| {
                    set.or(&from(&next[branch.key as usize], place).and(&branch.when))
                })
            } else {
                from(&next[tile], place)
            };
            set.remove(place);
            set.and(&allowed[tick])
        };
        (0..self.tiles()).map(layer_at).collect()
    }
}
