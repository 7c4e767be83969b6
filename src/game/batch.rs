use super::tables::DIRECTIONS;
use super::threats::{LANES, lane_rank};
use super::{State, Style, World};

impl World {
    /// For each threat in map order, the number of its lane, for [`State::pose`].
    pub(crate) fn lanes(&self) -> &[u8] {
        &self.lanes
    }

    /// The styles of all threats, in the order in which a state stores the threats.
    pub(crate) fn lane_styles(&self) -> Vec<Style> {
        let mut styles: Vec<Style> = self.layout.threats.iter().map(|threat| threat.style).collect();
        styles.sort_by_key(|&style| lane_rank(style));
        styles
    }

    /// Writes the tile number of every threat to `tiles`, in the order of [`World::lane_styles`].
    ///
    /// # Panics
    /// If the length of `tiles` differs from the number of threats.
    #[inline]
    pub(crate) fn write_threat_tiles(&self, state: &State, tiles: &mut [u16]) {
        assert_eq!(tiles.len(), self.threat_count(), "{} tiles: expected one per threat", tiles.len());
        let blocks = std::iter::once(&state.first).chain(&state.more);
        for (tiles, block) in tiles.chunks_mut(LANES).zip(blocks) {
            tiles.iter_mut().zip(block.poses).for_each(|(tile, pose)| *tile = pose / DIRECTIONS as u16);
        }
    }
}

impl State {
    /// The number of the player's tile.
    #[inline]
    pub(crate) fn player_tile(&self) -> u16 {
        self.player
    }

    /// The pose of the threat in a lane of [`World::lanes`]: its tile number times 4, plus its direction.
    #[inline(always)]
    pub(crate) fn pose(&self, lane: u8) -> u16 {
        self.first.poses.get(usize::from(lane)).map_or_else(|| self.later_pose(lane), |&pose| pose)
    }

    #[cold]
    fn later_pose(&self, lane: u8) -> u16 {
        let (block, lane) = self.lane(lane);
        block.poses[lane]
    }
}
