//! Distances between any two tiles for threats, computed on demand.

use super::terrain::Terrain;
use crate::game::{Mover, World};

/// Threat distances between any two tiles of a map.
#[derive(Clone, Debug)]
pub(super) struct Distances {
    pub terrain: Terrain,
    /// Tile -> the distance of every tile from it; empty until requested.
    rows: Vec<Vec<u16>>,
}

impl Distances {
    /// The distances on the map of `world`; cleared only if the map has changed.
    pub fn refresh<'a>(known: &'a mut Option<Self>, world: &World) -> &'a mut Self {
        if known.as_ref().is_none_or(|distances| !distances.terrain.is_for(world.layout())) {
            let terrain = Terrain::new(world.layout());
            let rows = vec![Vec::new(); terrain.graph.len()];
            *known = Some(Self { terrain, rows });
        }
        known.as_mut().expect("filled just now")
    }

    /// The distance of a threat from the player.
    pub fn distance(&mut self, player: u16, threat: u16) -> u16 {
        self.require(player);
        self.rows[usize::from(player)][usize::from(threat)]
    }

    /// Computes the distances from a tile, if they are not known.
    pub fn require(&mut self, tile: u16) {
        let row = &mut self.rows[usize::from(tile)];
        if row.is_empty() {
            self.terrain.distances(Mover::Threat, [tile], row);
        }
    }

    /// The distance of every tile from a required one.
    pub fn row(&self, tile: u16) -> &[u16] {
        &self.rows[usize::from(tile)]
    }
}
