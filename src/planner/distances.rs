//! Threats' distances between tiles, on demand. Two bytes per pair: 32 MiB for the largest map.

use super::terrain::Terrain;
use crate::game::{Mover, World};

#[derive(Clone, Debug)]
pub(super) struct Distances {
    pub terrain: Terrain,
    rows: Vec<Vec<u16>>,
}

impl Distances {
    /// The distances for the map of `world`. Clears them if the map has changed.
    pub fn refresh<'a>(known: &'a mut Option<Self>, world: &World) -> &'a mut Self {
        if known.as_ref().is_none_or(|distances| !distances.terrain.is_for(world.layout())) {
            let terrain = Terrain::new(world.layout());
            let rows = vec![Vec::new(); terrain.graph.len()];
            *known = Some(Self { terrain, rows });
        }
        known.as_mut().expect("filled just now")
    }

    /// The distance in steps, or [`UNREACHED`](crate::game::UNREACHED).
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
