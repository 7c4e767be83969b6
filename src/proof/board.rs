use super::tile_set::TileSet;
use crate::game::Position;

/// The next key of a threat if the player's place is in `when`.
#[derive(Clone, Debug)]
pub(super) struct Branch<const N: usize> {
    pub when: TileSet<N>,
    pub key: u32,
}

/// Places (bits of [`TileSet`]s) are numbered by column, or by row if the map is taller than wide.
/// After each column (or row), one number is unused, so that a step past its end leads to no tile.
#[derive(Clone, Debug)]
pub(super) struct Board<const N: usize> {
    pub positions: Vec<Position>,
    pub places: Vec<u16>,
    pub tiles: Vec<u16>,
    pub stride: u32,
    pub open: TileSet<N>,
}

impl<const N: usize> Board<N> {
    /// Groups the player's places by a threat's next key, which `next` returns for a player tile.
    pub fn branches(&self, next: impl Fn(usize) -> u32) -> Vec<Branch<N>> {
        let mut branches: Vec<Branch<N>> = Vec::new();
        for (target, &place) in self.places.iter().enumerate() {
            if !self.open.contains(place) {
                continue;
            }
            let key = next(target);
            match branches.iter_mut().find(|branch| branch.key == key) {
                Some(branch) => branch.when.insert(place),
                None => branches.push(Branch { when: TileSet::of(place), key }),
            }
        }
        branches
    }

    /// Returns the places that the player can reach from the places `from` in one tick.
    #[inline]
    pub fn reach(&self, from: &TileSet<N>) -> TileSet<N> {
        from.spread(self.stride).and(&self.open)
    }
}
