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

    /// The projection on a shark, from the target back to the first tick. Restricts `allowed` to
    /// the remaining places.
    pub fn project_shark(
        &self,
        branches: &[Vec<Branch<N>>],
        target_tick: usize,
        allowed: &mut [TileSet<N>],
    ) -> Projection<N> {
        let mut layers: Projection<N> = vec![Vec::new(); target_tick + 1];
        layers[target_tick] = (0..branches.len())
            .map(|tile| allowed[target_tick].without(&TileSet::of(self.board.places[tile])))
            .collect();
        for tick in (self.first_tick..target_tick).rev() {
            layers[tick] = self.shark_layer_before(branches, tick, &layers[tick + 1], allowed);
            let any = layers[tick].iter().fold(TileSet::EMPTY, |any, set| any.or(set));
            allowed[tick] = allowed[tick].and(&any);
        }
        layers
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
