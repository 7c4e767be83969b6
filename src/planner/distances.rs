//! Distances between tiles for threats, computed on demand. They take two bytes per pair of tiles,
//! or 32 MiB for the largest map.

use super::terrain::Terrain;
use crate::game::{Mover, World};

#[derive(Clone, Debug)]
pub(super) struct Distances {
    pub terrain: Terrain,
    /// By tile, the distances from it to every tile; empty until requested.
    rows: Vec<Vec<u16>>,
}

impl Distances {
    /// The distances for the map of `world`, cleared if the map has changed.
    pub fn refresh<'a>(known: &'a mut Option<Self>, world: &World) -> &'a mut Self {
        if known.as_ref().is_none_or(|distances| !distances.terrain.is_for(world.layout())) {
            let terrain = Terrain::new(world.layout());
            let rows = vec![Vec::new(); terrain.graph.len()];
            *known = Some(Self { terrain, rows });
        }
        known.as_mut().expect("filled just now")
    }

    /// The steps from the threat's tile to the player's, or [`UNREACHED`](crate::game::UNREACHED).
    pub fn distance(&mut self, player: u16, threat: u16) -> u16 {
        self.row(player)[usize::from(threat)]
    }

    /// The steps between this tile and every tile, in either direction.
    pub fn row(&mut self, tile: u16) -> &[u16] {
        let row = &mut self.rows[usize::from(tile)];
        if row.is_empty() {
            self.terrain.distances(Mover::Threat, [tile], row);
        }
        row
    }
}
