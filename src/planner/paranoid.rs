//! `paranoid`: minimax. The threats are taken as free adversaries who see the player's move, may turn back or stay, and act together; of the
//! rules they keep only their pace.
//!
//! Depth-first with alpha-beta cuts, deeper by a tick at a time as far as the limit lets it. A threat that cannot get to the player before the
//! horizon, whatever both do, is not moved. It remembers nothing from tick to tick.

use super::safest::Safest;
use super::streets::{Streets, Timetable, UNREACHED, Walker};
use super::{Budget, Choice, Planner, Source, meter_with_default};
use crate::game::{Move, Rules, State, World};
use crate::search::BudgetMeter;

/// How many ticks `paranoid` looks ahead if it is not told.
pub const PARANOID_TICKS: u16 = 6;
/// The most ticks it looks ahead: the search is a recursion.
const PARANOID_TICKS_MAX: u16 = 64;

/// The value of getting through to the horizon, to which the distance of the nearest threat is added; a catch is worth the ticks until it.
const THROUGH: i32 = 1000;

/// Plays by minimax to a fixed depth.
#[derive(Clone, Debug)]
pub struct Paranoid {
    depth_ticks: u16,
    timetable: Timetable,
    distances: Option<Distances>,
    safest: Safest,
}

impl Paranoid {
    /// A planner that looks at most `depth_ticks` ahead, 1 to 64.
    pub fn new(depth_ticks: u16) -> Self {
        let depth_ticks = depth_ticks.clamp(1, PARANOID_TICKS_MAX);
        Self { depth_ticks, timetable: Timetable::new(), distances: None, safest: Safest::new() }
    }
}

impl Planner for Paranoid {
    fn decide(&mut self, world: &World, state: &State, budget: Budget) -> Choice {
        let distances = Distances::refresh(&mut self.distances, world);
        let streets = &distances.streets;
        let threats: Vec<u16> = world.threats(state).filter_map(|threat| streets.tile(threat.position)).collect();
        let player = world.tile_after(state, Move::Stay);
        let mut game = Game {
            rules: *world.rules(),
            moves_before: moves_before(&self.timetable, state.tick(), self.depth_ticks),
            distances,
            threats,
            depth: 0,
            meter: meter_with_default(budget),
        };
        let mut moves: Vec<(Move, u16)> = game.distances.streets.moves(player).collect();
        let mut best = None;
        for depth in 1..=usize::from(self.depth_ticks) {
            game.depth = depth;
            match game.best_move(&moves) {
                Ok((place, value)) => {
                    // First in the next round: among equals, what looked best before counts, also when all is lost further on.
                    moves[..=place].rotate_right(1);
                    best = Some((moves[0].0, depth));
                    // Caught before the horizon whatever happens: looking further would show the same.
                    if value < THROUGH {
                        break;
                    }
                }
                Err(Stop) => break,
            }
        }
        let simulated_ticks = game.meter.ticks();
        match best {
            Some((player_move, depth)) => {
                let planned_tick = Some(state.tick() + depth as u16);
                Choice { player_move, source: Source::Search, planned_tick, simulated_ticks }
            }
            None => self.safest.fall_back(world, state, simulated_ticks),
        }
    }
}

/// How many moves the threats have made before the tick that lies 0, 1, ... ticks ahead.
fn moves_before(timetable: &Timetable, tick: u16, depth_ticks: u16) -> Vec<u16> {
    let delays: Vec<u16> = timetable.delays(tick).take_while(|&delay| delay <= depth_ticks).collect();
    (0..=depth_ticks).map(|ahead| delays.partition_point(|&delay| delay <= ahead) as u16).collect()
}

/// Distances for threats between any two tiles, measured when they are first asked for.
#[derive(Clone, Debug)]
struct Distances {
    streets: Streets,
    /// Tile -> the distance of every tile from it; empty while nobody has asked.
    rows: Vec<Vec<u16>>,
}

impl Distances {
    /// The distances on the map of `world`: those that are there already if it is the same map.
    fn refresh<'a>(known: &'a mut Option<Self>, world: &World) -> &'a mut Self {
        if known.as_ref().is_none_or(|distances| !distances.streets.are_of(world.layout())) {
            let streets = Streets::new(world.layout());
            let rows = vec![Vec::new(); streets.len()];
            *known = Some(Self { streets, rows });
        }
        known.as_mut().expect("filled just now")
    }

    fn between(&mut self, player: u16, threat: u16) -> u16 {
        let row = &mut self.rows[usize::from(player)];
        if row.is_empty() {
            self.streets.measure(Walker::Threat, [player], row);
        }
        row[usize::from(threat)]
    }
}

/// The limit is reached.
struct Stop;

/// The game as a paranoiac sees it.
struct Game<'a> {
    distances: &'a mut Distances,
    rules: Rules,
    moves_before: Vec<u16>,
    threats: Vec<u16>,
    /// Ticks to the horizon.
    depth: usize,
    meter: BudgetMeter,
}

impl Game<'_> {
    /// The place of the player's best move, the first of equals, and its value.
    fn best_move(&mut self, moves: &[(Move, u16)]) -> Result<(usize, i32), Stop> {
        let mut best = (0, i32::MIN);
        for (place, &(_, next)) in moves.iter().enumerate() {
            let value = self.after_player(next, 0, best.1, i32::MAX)?;
            if value > best.1 {
                best = (place, value);
            }
        }
        Ok(best)
    }

    /// The value of a position in which the player moves, `ahead` ticks from now.
    fn player(&mut self, player: u16, ahead: usize, mut alpha: i32, beta: i32) -> Result<i32, Stop> {
        if ahead == self.depth {
            return Ok(THROUGH + self.nearest_threat(player));
        }
        let mut best = i32::MIN;
        for (_, next) in self.distances.streets.moves(player) {
            best = best.max(self.after_player(next, ahead, alpha, beta)?);
            alpha = alpha.max(best);
            if alpha >= beta {
                break;
            }
        }
        Ok(best)
    }

    fn after_player(&mut self, player: u16, ahead: usize, alpha: i32, beta: i32) -> Result<i32, Stop> {
        self.meter.tick().map_err(|_| Stop)?;
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

    /// The value of a position in which the threats from this one on have yet to move.
    fn threat(&mut self, index: usize, player: u16, ahead: usize, alpha: i32, mut beta: i32) -> Result<i32, Stop> {
        let Some(&tile) = self.threats.get(index) else {
            return self.player(player, ahead + 1, alpha, beta);
        };
        let distance = self.distances.between(player, tile);
        if distance <= 1 {
            return Ok(ahead as i32 + 1);
        }
        // The player can come to meet it in every tick that is left but this one.
        let meeting = usize::from(self.moves_before[self.depth] - self.moves_before[ahead]) + self.depth - ahead - 1;
        if usize::from(distance) > meeting {
            return self.threat(index + 1, player, ahead, alpha, beta);
        }
        let [left, right, up, down] = self.distances.streets.neighbours(Walker::Threat, tile);
        let mut options = [left, right, up, down, tile];
        options.sort_by_cached_key(|&option| (self.distances.between(player, option), option));
        let mut worst = i32::MAX;
        for (place, &option) in options.iter().enumerate() {
            if place > 0 && option == options[place - 1] {
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
        let mut nearest = UNREACHED;
        for index in 0..self.threats.len() {
            nearest = nearest.min(self.distances.between(player, self.threats[index]));
        }
        i32::from(nearest)
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
            world.step(&mut state, Move::Stay);
        }
        Paranoid::new(6).decide(&world, &state, Budget::UNLIMITED)
    }

    #[test]
    fn it_does_not_wait_for_a_threat_that_could_come() {
        // A bull that looks up and cannot go there would not come, but it could.
        let choice = first_move("..Pb", 4);
        assert_eq!((choice.player_move, choice.planned_tick), (Move::Left, Some(11)));
    }

    #[test]
    fn it_notices_when_all_is_lost_and_looks_no_further() {
        let choice = first_move("Pb", 4);
        assert_eq!(choice.planned_tick, Some(6));
    }
}
