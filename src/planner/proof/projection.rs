//! Projections on one shark: for each place of it, the places from which the player can survive
//! until a target tick against this shark and the threats with fixed paths alone. A shark has few
//! keys, so a layer is a row of bit sets and a whole game takes milliseconds.

use super::model::{Branch, Model};
use super::tile_set::TileSet;

/// By tick, by key: the places from which the player survives. A tick without a layer is
/// unrestricted.
pub(super) type Projection<const N: usize> = Vec<Vec<TileSet<N>>>;

impl<const N: usize> Model<N> {
    /// The places that the threats with fixed paths leave to the player after its move in a tick.
    #[inline]
    pub fn landing(&self, tick: usize, allowed: &[TileSet<N>]) -> TileSet<N> {
        if self.rules.no_jump { allowed[tick + 1].without(&self.taken[tick]) } else { allowed[tick + 1] }
    }

    /// A layer of the projection on a shark: that of the target, the last one, or one before a
    /// layer that is there. Restricts `allowed` to the remaining places.
    pub fn project_shark(
        &self,
        branches: &[Vec<Branch<N>>],
        tick: usize,
        layers: &mut Projection<N>,
        allowed: &mut [TileSet<N>],
    ) {
        if tick + 1 == layers.len() {
            layers[tick] =
                (0..branches.len()).map(|tile| allowed[tick].without(&TileSet::of(self.board.places[tile]))).collect();
            return;
        }
        layers[tick] = self.shark_layer_before(branches, tick, &layers[tick + 1], allowed);
        let any = layers[tick].iter().fold(TileSet::EMPTY, |any, set| any.or(set));
        allowed[tick] = allowed[tick].and(&any);
    }

    fn shark_layer_before(
        &self,
        branches: &[Vec<Branch<N>>],
        tick: usize,
        next: &[TileSet<N>],
        allowed: &[TileSet<N>],
    ) -> Vec<TileSet<N>> {
        let landing = self.landing(tick, allowed);
        // The places from which to land on `to`, with the shark on `place` before it moves.
        let from = |to: &TileSet<N>, place: u16| {
            let mut to = to.and(&landing);
            if self.rules.no_jump {
                to.remove(place);
            }
            self.board.reach(&to)
        };
        let layer_at = |tile: usize| {
            let place = self.board.places[tile];
            let mut set = if self.moves[tick] {
                branches[tile].iter().fold(TileSet::EMPTY, |set, branch| {
                    set.or(&from(&next[branch.key as usize], place).and(&branch.when))
                })
            } else {
                from(&next[tile], place)
            };
            set.remove(place);
            set.and(&allowed[tick])
        };
        (0..branches.len()).map(layer_at).collect()
    }
}
