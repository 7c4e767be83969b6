//! The observation `window`: the streets and threats around the player.

use crate::game::{Direction, Position, State, Style, Tile, World};

use super::Shape;
use super::observation::Observer;

impl Shape {
    /// The default number of rows and columns of a window.
    pub const WINDOW_SIDE: usize = 9;
    /// The largest number of rows and columns of a window.
    pub const WINDOW_SIDE_MAX: usize = 63;
    /// The number of planes of a window: tiles that the player may enter; tiles that threats may enter;
    /// threats by style (six planes); threats by direction (four planes); a constant plane with the
    /// ticks until the threats move; and a constant plane with the tick, scaled to 0 to 255.
    pub const WINDOW_PLANES: usize = PLANE_TICK + 1;
}

const PLANE_STYLES: usize = 2;
const PLANE_DIRECTIONS: usize = PLANE_STYLES + Style::ALL.len();
const PLANE_WAIT: usize = PLANE_DIRECTIONS + Direction::ALL.len();
const PLANE_TICK: usize = PLANE_WAIT + 1;

/// For each tile, the two planes of streets around a player on this tile.
fn streets(world: &World, side: usize) -> Vec<u8> {
    let reach = (side / 2) as i32;
    let mut streets = Vec::with_capacity(world.graph().len() * PLANE_STYLES * side * side);
    for centre in world.graph().positions() {
        for is_street in [|tile| tile == Tile::Open, |tile| tile != Tile::Wall] {
            let rows = (-reach..=reach).flat_map(|y| (-reach..=reach).map(move |x| (x, y)));
            let tiles = rows.map(|(x, y)| world.layout().tile(Position::new(centre.x + x, centre.y + y)));
            streets.extend(tiles.map(|tile| u8::from(is_street(tile))));
        }
    }
    streets
}

impl Observer {
    pub fn write_windows(&self, world: &World, state: &State, out: &mut [u8]) {
        let side = self.shape.window;
        let plane = side * side;
        let player = usize::from(state.player_tile());
        let (own_streets, rest) = out.split_at_mut(PLANE_STYLES * plane);
        let all_streets = self.window_streets.get_or_init(|| streets(world, side));
        own_streets.copy_from_slice(&all_streets[player * PLANE_STYLES * plane..][..PLANE_STYLES * plane]);
        let (threats, constants) = rest.split_at_mut((PLANE_WAIT - PLANE_STYLES) * plane);
        threats.fill(0);
        let [left, top] = self.places[player].map(|middle| middle - (side / 2) as i16);
        for &(lane, style) in &self.threats {
            let pose = state.pose(lane);
            let [x, y] = self.places[usize::from(pose / 4)];
            // The casts make negative offsets large, so one comparison per axis is enough.
            let (x, y) = ((x - left) as u16 as usize, (y - top) as u16 as usize);
            if x < side && y < side {
                let place = y * side + x;
                threats[usize::from(style) * plane + place] += 1;
                threats[(PLANE_DIRECTIONS - PLANE_STYLES + usize::from(pose % 4)) * plane + place] += 1;
            }
        }
        let [wait, tick] = self.ticks[usize::from(state.tick())];
        let (waits, ticks) = constants.split_at_mut(plane);
        waits.fill(wait);
        ticks.fill(tick);
    }
}
