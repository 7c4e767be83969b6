//! `paranoid`: minimax search against threats that cooperate and see the player's move. Threats may
//! turn back or stay, but keep their pace. The search is depth-first, with alpha-beta pruning and
//! iterative deepening. Threats too far away to catch the player within the depth do not move.

use super::safest::SafestPlanner;
use super::terrain::{Terrain, move_delays};
use super::{Budget, Choice, Planner, PlannerError, Source, meter_with_default};
use crate::game::{Clock, Move, Mover, Rules, State, UNREACHED, World};
use crate::search::{BudgetMeter, StopReason};

/// Maximum search depth in ticks. The search is recursive, so the depth must be limited.
pub(super) const PARANOID_TICKS_MAX: u16 = 64;

/// The value of a line without a catch up to the search depth is this number plus the distance, in
/// steps, to the nearest threat. The value of a line that ends in a catch is the number of ticks
/// that it completes.
const SURVIVES_VALUE: i32 = 1000;

/// Searches by minimax up to a maximum depth.
#[derive(Clone, Debug)]
pub struct ParanoidPlanner {
    depth_ticks: u16,
    terrain: Option<Terrain>,
    safest: SafestPlanner,
}

impl ParanoidPlanner {
    /// Creates a planner that searches up to `depth_ticks` ahead, clamped to the range 1 to 64.
    pub fn new(depth_ticks: u16) -> Self {
        let depth_ticks = depth_ticks.clamp(1, PARANOID_TICKS_MAX);
        Self { depth_ticks, terrain: None, safest: SafestPlanner::new() }
    }
}

impl Planner for ParanoidPlanner {
    fn decide(&mut self, world: &World, state: &State, budget: Budget) -> Result<Choice, PlannerError> {
        let meter = meter_with_default(budget);
        let terrain = Terrain::cached(&mut self.terrain, world.layout());
        let threats: Vec<u16> = world.threats(state).filter_map(|threat| terrain.graph.tile(threat.position)).collect();
        let player = world.tile_after(state, Move::Stay);
        let mut game = GameSearch {
            rules: *world.rules(),
            moves_before: moves_before(world.clock(), state.tick(), self.depth_ticks),
            terrain,
            threats,
            depth: 0,
            meter,
        };
        let mut moves: Vec<(Move, u16)> = game.terrain.moves(player).collect();
        let mut best = None;
        for depth in 1..=usize::from(self.depth_ticks) {
            game.depth = depth;
            match game.best_move(&moves) {
                Ok((index, value)) => {
                    // The next iteration searches the best move first, so that it wins ties.
                    moves[..=index].rotate_right(1);
                    best = Some((moves[0].0, depth));
                    // If the threats can force a catch, a deeper search would give the same value.
                    if value < SURVIVES_VALUE {
                        break;
                    }
                }
                Err(_) => break,
            }
        }
        let simulated_ticks = game.meter.ticks();
        Ok(match best {
            Some((player_move, depth)) => {
                let planned_tick = Some(state.tick() + depth as u16);
                Choice { player_move, source: Source::Search, planned_tick, simulated_ticks }
            }
            None => self.safest.fall_back(world, state, simulated_ticks),
        })
    }
}

fn moves_before(clock: &Clock, tick: u16, depth_ticks: u16) -> Vec<u16> {
    let delays: Vec<u16> = move_delays(clock, tick).take_while(|&delay| delay <= depth_ticks).collect();
    (0..=depth_ticks).map(|ahead| delays.partition_point(|&delay| delay <= ahead) as u16).collect()
}

struct GameSearch<'a> {
    terrain: &'a mut Terrain,
    rules: Rules,
    moves_before: Vec<u16>,
    threats: Vec<u16>,
    depth: usize,
    meter: BudgetMeter,
}

impl GameSearch<'_> {
    fn best_move(&mut self, moves: &[(Move, u16)]) -> Result<(usize, i32), StopReason> {
        let mut best = (0, i32::MIN);
        for (index, &(_, next)) in moves.iter().enumerate() {
            let value = self.after_player_move(next, 0, best.1, i32::MAX)?;
            if value > best.1 {
                best = (index, value);
            }
        }
        Ok(best)
    }

    /// Returns the value of a position after `ahead` ticks, with the player to move.
    fn player(&mut self, player: u16, ahead: usize, mut alpha: i32, beta: i32) -> Result<i32, StopReason> {
        if ahead == self.depth {
            return Ok(SURVIVES_VALUE + self.nearest_threat(player));
        }
        let mut best = i32::MIN;
        for (_, next) in self.terrain.moves(player) {
            best = best.max(self.after_player_move(next, ahead, alpha, beta)?);
            alpha = alpha.max(best);
            if alpha >= beta {
                break;
            }
        }
        Ok(best)
    }

    fn after_player_move(&mut self, player: u16, ahead: usize, alpha: i32, beta: i32) -> Result<i32, StopReason> {
        self.meter.tick()?;
        if self.rules.no_jump && self.threats.contains(&player) {
            return Ok(ahead as i32);
        }
        if self.moves_before[ahead + 1] > self.moves_before[ahead] {
            return self.threat(0, player, ahead, alpha, beta);
        }
        if self.threats.contains(&player) {
            return Ok(ahead as i32 + 1);
        }
        self.player(player, ahead + 1, alpha, beta)
    }

    /// Returns the value of a position in which threat `index` and all later threats move next.
    fn threat(
        &mut self,
        index: usize,
        player: u16,
        ahead: usize,
        alpha: i32,
        mut beta: i32,
    ) -> Result<i32, StopReason> {
        let Some(&tile) = self.threats.get(index) else {
            return self.player(player, ahead + 1, alpha, beta);
        };
        let distance = self.terrain.distance(player, tile);
        if distance <= 1 {
            return Ok(ahead as i32 + 1);
        }
        let closing_max =
            usize::from(self.moves_before[self.depth] - self.moves_before[ahead]) + self.depth - ahead - 1;
        if usize::from(distance) > closing_max {
            return self.threat(index + 1, player, ahead, alpha, beta);
        }
        let mut options = self.terrain.targets(Mover::Threat, tile);
        options.sort_by_cached_key(|&option| (self.terrain.distance(player, option), option));
        let mut worst = i32::MAX;
        for (rank, &option) in options.iter().enumerate() {
            if rank > 0 && option == options[rank - 1] {
                continue;
            }
            self.threats[index] = option;
            let value = self.threat(index + 1, player, ahead, alpha, beta);
            self.threats[index] = tile;
            worst = worst.min(value?);
            beta = beta.min(worst);
            if alpha >= beta {
                break;
            }
        }
        Ok(worst)
    }

    fn nearest_threat(&mut self, player: u16) -> i32 {
        let distances = self.threats.iter().map(|&threat| self.terrain.distance(player, threat));
        i32::from(distances.min().unwrap_or(UNREACHED))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::game::Layout;

    fn first_move(drawing: &str, waits: usize) -> Choice {
        let world = World::new(&Layout::parse(drawing).expect("a drawing"), &Rules::BLITZ_2025).expect("a map");
        let mut state = world.start();
        for _ in 0..waits {
            world.step_unchecked(&mut state, Move::Stay);
        }
        ParanoidPlanner::new(6).decide(&world, &state, Budget::UNLIMITED).expect("a move")
    }

    #[test]
    fn does_not_wait_beside_a_threat_that_could_attack() {
        // If the player stays, the bull can move onto the player's tile in tick 5.
        let choice = first_move("..PB", 4);
        assert_eq!((choice.player_move, choice.planned_tick), (Move::Left, Some(11)));
    }

    #[test]
    fn stops_deepening_when_every_line_loses() {
        let choice = first_move("PB", 4);
        assert_eq!(choice.planned_tick, Some(6));
    }
}
