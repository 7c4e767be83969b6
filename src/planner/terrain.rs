use crate::game::{BreadthFirst, Clock, Direction, Layout, Move, Mover, StreetGraph, UNREACHED};

/// The streets of a map, with a table of threats' distances between tiles, computed on demand. The
/// distances take at most 32 MiB.
#[derive(Clone, Debug)]
pub(super) struct Terrain {
    layout: Layout,
    pub graph: StreetGraph,
    dead_ends: Vec<bool>,
    search: BreadthFirst,
    /// For each tile, its distances from all tiles; empty until they are needed.
    rows: Vec<Vec<u16>>,
}

impl Terrain {
    pub fn new(layout: &Layout) -> Self {
        let graph = StreetGraph::new(layout);
        let dead_ends = dead_ends(graph.neighbours(Mover::Player));
        let rows = vec![Vec::new(); graph.len()];
        Self { layout: layout.clone(), graph, dead_ends, search: BreadthFirst::default(), rows }
    }

    /// Returns the terrain of a map. Creates it unless `cache` is already for this map.
    pub fn cached<'a>(cache: &'a mut Option<Self>, layout: &Layout) -> &'a mut Self {
        if cache.as_ref().is_none_or(|terrain| terrain.layout != *layout) {
            *cache = Some(Self::new(layout));
        }
        cache.as_mut().expect("filled just now")
    }

    /// Returns the tiles to which the moves in [`Move::ALL`] lead.
    pub fn targets(&self, mover: Mover, tile: u16) -> [u16; Move::ALL.len()] {
        let [left, right, up, down] = self.graph.neighbours(mover)[usize::from(tile)];
        [left, right, up, down, tile]
    }

    /// Returns the distinct player moves from a tile, in [`Move::ALL`] order, with their targets.
    pub fn moves(&self, tile: u16) -> impl Iterator<Item = (Move, u16)> + use<> {
        let all = Move::ALL.into_iter().zip(self.targets(Mover::Player, tile));
        all.filter(move |&(player_move, next)| player_move == Move::Stay || next != tile)
    }

    pub fn is_dead_end(&self, tile: u16) -> bool {
        self.dead_ends[usize::from(tile)]
    }

    /// Returns the distance in steps, or [`UNREACHED`] if there is no path.
    pub fn distance(&mut self, player: u16, threat: u16) -> u16 {
        self.distances_from(player)[usize::from(threat)]
    }

    pub fn distances_from(&mut self, tile: u16) -> &[u16] {
        let row = &mut self.rows[usize::from(tile)];
        if row.is_empty() {
            self.search.fill(&self.graph, Mover::Threat, [(tile, 0)], row, |_, _| true);
        }
        row
    }

    pub fn distances(&mut self, mover: Mover, sources: impl IntoIterator<Item = u16>, steps: &mut Vec<u16>) {
        self.distances_where(mover, sources.into_iter().map(|source| (source, 0)), steps, |_, _| true);
    }

    /// See [`BreadthFirst::fill`] for the meaning of `sources` and `enters`.
    pub fn distances_where(
        &mut self,
        mover: Mover,
        sources: impl IntoIterator<Item = (u16, u16)>,
        steps: &mut Vec<u16>,
        enters: impl Fn(u16, u16) -> bool,
    ) {
        self.search.fill(&self.graph, mover, sources, steps, enters);
    }
}

fn dead_ends(neighbours: &[[u16; Direction::ALL.len()]]) -> Vec<bool> {
    let mut dead = vec![false; neighbours.len()];
    let exits = |dead: &[bool], tile: usize| {
        let others = neighbours[tile].iter().map(|&next| usize::from(next));
        others.filter(|&next| next != tile && !dead[next]).count()
    };
    for start in 0..neighbours.len() {
        let mut tile = start;
        while !dead[tile] && exits(&dead, tile) <= 1 {
            dead[tile] = true;
            let next = neighbours[tile].iter().map(|&next| usize::from(next)).find(|&next| !dead[next]);
            tile = next.unwrap_or(tile);
        }
    }
    dead
}

/// Returns the numbers of ticks, from the start of `tick`, until threats have made 1, 2, ... moves.
pub(super) fn move_delays(clock: &Clock, tick: u16) -> impl Iterator<Item = u16> + '_ {
    clock.move_ticks(tick).map(move |other| other - tick + 1)
}

/// Returns the number of ticks until a threat has made `steps` moves: by its own period if it has
/// one, otherwise by `delays`. Returns [`UNREACHED`] if `steps` is [`UNREACHED`] or `delays` is too
/// short.
#[inline]
pub(super) fn steps_delay(steps: u16, period_ticks: Option<u8>, delays: &[u16]) -> u16 {
    match (steps, period_ticks) {
        (UNREACHED, _) => UNREACHED,
        (0, _) => 0,
        (steps, Some(period)) => (steps - 1).saturating_mul(u16::from(period)).saturating_add(1),
        (steps, None) => delays.get(usize::from(steps) - 1).copied().unwrap_or(UNREACHED),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::game::{Position, Rules, World};

    fn terrain(drawing: &str) -> Terrain {
        Terrain::new(&Layout::parse(drawing).expect("a drawing"))
    }

    #[test]
    fn tile_numbers_match_the_world() {
        let layout = Layout::parse("P.#\n.~.").expect("a drawing");
        let (terrain, world) = (Terrain::new(&layout), World::new(&layout, &Rules::BLITZ_2025).expect("a map"));
        let state = world.start();
        let player = terrain.graph.tile(layout.player).expect("an open tile");
        let by_world: Vec<(Move, u16)> = world.legal_moves(&state).map(|m| (m, world.tile_after(&state, m))).collect();
        assert_eq!(terrain.moves(player).collect::<Vec<_>>(), by_world);
    }

    #[test]
    fn threats_enter_see_through_tiles_and_the_player_does_not() {
        let mut terrain = terrain("P~.");
        let mut steps = Vec::new();
        terrain.distances(Mover::Threat, [0], &mut steps);
        assert_eq!(steps, [0, 1, 2]);
        terrain.distances(Mover::Player, [0], &mut steps);
        assert_eq!(steps, [0, UNREACHED, UNREACHED]);
    }

    #[test]
    fn spurs_are_dead_ends_and_the_ring_is_not() {
        let terrain = terrain("P..##\n.#...\n...##");
        let dead: Vec<bool> =
            (0..5).filter_map(|x| terrain.graph.tile(Position::new(x, 1))).map(|t| terrain.is_dead_end(t)).collect();
        assert_eq!(dead, [false, false, true, true]);
    }
}
