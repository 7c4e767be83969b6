use super::tables::DIRECTIONS;
use super::threats::{LANES, lane_rank};
use super::{Direction, State, Style, World};

impl World {
    /// A threat's tile number (see [`World::graph`]) and direction. Panics like [`World::threat`].
    #[inline]
    pub fn threat_pose(&self, state: &State, index: usize) -> (u16, Direction) {
        let (block, lane) = state.lane(self.lanes[index]);
        let pose = block.poses[lane];
        (pose / DIRECTIONS as u16, Direction::ALL[usize::from(pose) % DIRECTIONS])
    }

    /// The styles of all threats, in the order in which a state stores the threats.
    pub fn lane_styles(&self) -> Vec<Style> {
        let mut styles: Vec<Style> = self.layout.threats.iter().map(|threat| threat.style).collect();
        styles.sort_by_key(|&style| lane_rank(style));
        styles
    }

    /// Writes the tile number of every threat to `tiles`, in the order of [`World::lane_styles`].
    ///
    /// # Panics
    /// If the length of `tiles` differs from the number of threats.
    #[inline]
    pub fn write_threat_tiles(&self, state: &State, tiles: &mut [u16]) {
        assert_eq!(tiles.len(), self.threat_count(), "{} tiles: expected one per threat", tiles.len());
        let blocks = std::iter::once(&state.first).chain(&state.more);
        for (tiles, block) in tiles.chunks_mut(LANES).zip(blocks) {
            tiles.iter_mut().zip(block.poses).for_each(|(tile, pose)| *tile = pose / DIRECTIONS as u16);
        }
    }
}
