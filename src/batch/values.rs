//! Values that occur in several observations.

use super::Shape;
use crate::game::{LAST_TICK, MAX_OPEN_TILES, World};

impl Shape {
    /// Stands in for the number of steps to a tile that a threat cannot reach. Features also use this
    /// value in other cases: see [`Self::FEATURES_ACTION`].
    pub const FAR_STEPS: i16 = MAX_OPEN_TILES as i16;
}

pub(super) fn ticks_until_move(world: &World, tick: u16) -> u8 {
    world.clock().move_ticks(tick).next().map_or(u8::MAX, |next| (next - tick).min(255) as u8)
}

pub(super) fn scaled_tick(tick: u16) -> u8 {
    (u32::from(tick) * 255 / u32::from(LAST_TICK + 1)) as u8
}
