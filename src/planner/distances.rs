//! A table of a threat's distances between tiles, computed on demand. The distances take at most
//! 32 MiB.

use super::terrain::Terrain;
use crate::game::{Mover, World};

#[derive(Clone, Debug)]
pub(super) struct Distances {
    pub terrain: Terrain,
    rows: Vec<Vec<u16>>,
}

impl Distances {
    /// Returns the table for the map of `world`. Creates it unless `known` is already for this map.
    pub fn refresh<'a>(known: &'a mut Option<Self>, world: &World) -> &'a mut Self {
        if known.as_ref().is_none_or(|distances| !distances.terrain.is_for(world.layout())) {
            let terrain = Terrain::new(world.layout());
            let rows = vec![Vec::new(); terrain.graph.len()];
            *known = Some(Self { terrain, rows });
        }
        known.as_mut().expect("filled just now")
    }

    /// Returns the distance in steps, or [`UNREACHED`](crate::game::UNREACHED) if there is no path.
    pub fn distance(&mut self, player: u16, threat: u16) -> u16 {
        self.row(player)[usize::from(threat)]
    }

    pub fn row(&mut self, tile: u16) -> &[u16] {
        let row = &mut self.rows[usize::from(tile)];
        if row.is_empty() {
            self.terrain.distances(Mover::Threat, [tile], row);
        }
        row
    }
}
