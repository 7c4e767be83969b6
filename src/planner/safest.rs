//! `safest`, the fallback of other planners: avoids an immediate catch if possible, and moves
//! towards the tile with the most *margin*, an estimate of the ticks from the player's arrival to
//! the first threat's arrival.

use super::terrain::Terrain;
use super::{Budget, Choice, Planner, PlannerError, Source};
use crate::game::{Move, Mover, State, UNREACHED, World};

/// Avoids an immediate catch if possible, and moves towards the tile where the player's estimated
/// lead over the threats is largest.
#[derive(Clone, Debug, Default)]
pub struct SafestPlanner {
    terrain: Option<Terrain>,
    threat_steps: Vec<u16>,
    player_steps: Vec<u16>,
}

impl SafestPlanner {
    /// Creates the planner.
    pub fn new() -> Self {
        Self::default()
    }

    pub(super) fn fall_back(&mut self, world: &World, state: &State, simulated_ticks: u64) -> Choice {
        let player_move = self.choose(world, state);
        Choice { player_move, source: Source::Fallback, planned_tick: None, simulated_ticks }
    }

    fn choose(&mut self, world: &World, state: &State) -> Move {
        let terrain = Terrain::cached(&mut self.terrain, world.layout());
        let threats =
            world.threats(state).filter_map(|threat| terrain.graph.tile(threat.position)).collect::<Vec<u16>>();
        terrain.distances(Mover::Threat, threats, &mut self.threat_steps);
        let period_ticks = i32::from(world.clock().period_ticks_at(state.tick()));
        let (mut best, mut best_rank) = (Move::Stay, None);
        for player_move in world.legal_moves(state) {
            let tile = world.tile_after(state, player_move);
            terrain.distances(Mover::Player, [tile], &mut self.player_steps);
            let reached = self.player_steps.iter().zip(&self.threat_steps).filter(|&(&steps, _)| steps != UNREACHED);
            let margin = |(&player, &threat)| i32::from(threat) * period_ticks - i32::from(player);
            let most_margin = reached.map(margin).max().unwrap_or(0);
            let is_caught = world.after(state, player_move).is_caught();
            let rank = (!is_caught, most_margin, self.threat_steps[usize::from(tile)]);
            if best_rank.is_none_or(|best| rank > best) {
                (best, best_rank) = (player_move, Some(rank));
            }
        }
        best
    }
}

impl Planner for SafestPlanner {
    fn decide(&mut self, world: &World, state: &State, _: Budget) -> Result<Choice, PlannerError> {
        Ok(self.fall_back(world, state, 0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::game::{Layout, Rules};

    #[test]
    fn runs_to_the_far_end_away_from_the_threat() {
        let world = World::new(&Layout::parse("B.P......").expect("a drawing"), &Rules::BLITZ_2025).expect("a map");
        let mut safest = SafestPlanner::new();
        assert_eq!(
            safest.decide(&world, &world.start(), Budget::UNLIMITED).map(|choice| choice.player_move),
            Ok(Move::Right)
        );
    }

    #[test]
    fn avoids_a_catch_one_tick_ahead() {
        // In tick 5, the goldfish must move left, onto the tile to the right of the player. From
        // this tile, the player would reach the far end with the most margin.
        let layout = Layout::parse("#P.G\n##.#\n##.#\n##.#").expect("a drawing");
        let world = World::new(&layout, &Rules::BLITZ_2025).expect("a map");
        let mut state = world.start();
        for _ in 0..4 {
            world.step_unchecked(&mut state, Move::Stay);
        }
        assert_eq!(
            SafestPlanner::new().decide(&world, &state, Budget::UNLIMITED).map(|choice| choice.player_move),
            Ok(Move::Stay)
        );
    }
}
