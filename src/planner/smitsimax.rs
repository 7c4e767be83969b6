//! `smitsimax`: a search in which the player and each *unmodelled* threat (one with unknown rules)
//! choose their own moves, as in decoupled UCT (Tak, Lanctot and Winands, 2014).
//!
//! Each of these agents has its own rewards and its own tree of bandits. Whenever an agent moves in
//! a playout, it chooses by the confidence bounds of the bandit for its current observation. The
//! player observes all threats. A threat observes its own tile and the player's tile after the
//! player's move. The moves of modelled threats follow their known rules.
//!
//! A playout ends when the player is caught, makes a new observation or reaches the horizon. Unless
//! the player is caught, the playout's value is the highest prior of the player's next moves. A
//! move's prior is the *room* after the move (the tiles that the player reaches first, weighted by
//! its lead over the threats), or the reward of a catch if the move may be fatal.
//!
//! A threat on the server's clock is *waiting* if it has stayed on its tile several times in a row
//! when it could have moved. The search expects the threat to stay until the player comes nearer to
//! it than at any of these times.

mod bandit;
mod threat;

use std::hash::Hasher;

use self::bandit::{Bandit, Tree};
use self::threat::{Habit, UnmodelledThreat};
use super::cautious::{LEAD_TICKS_MAX, ObservedThreat, Sighting};
use super::terrain::{Terrain, move_delays, steps_delay};
use super::{Budget, CautiousRules, Choice, Planner, PlannerError, Source, meter_with_default};
use crate::game::{Clock, LAST_TICK, Layout, Move, Mover, Position, State, UNREACHED, World};
use crate::search::BudgetMeter;
use fnv::FnvHasher;

const HORIZON_TICKS: usize = 40;
/// A threat that ends a playout `d` tiles from the player gets 1 / (1 + d) of this reward.
const CLOSENESS_REWARD: f32 = 0.02;
const CATCH_COST: f32 = 0.3;
const DEAD_END_SHARE: f32 = 0.5;
/// Maximum number of ticks for which an evaluation simulates the modelled threats.
const PREDICTED_TICKS: u16 = 6;

/// Threats on the server's clock are assumed to reach no tile more than this many moves away.
const DELAYS_MAX: usize = 64;

/// A search visits, or a loop processes, about this many tiles per microsecond.
const TILES_PER_STEP: usize = 64;

/// Chooses moves against threats with known positions, whether or not their rules are known.
#[derive(Clone, Debug, Default)]
pub struct SmitsimaxRules {
    terrain: Option<Terrain>,
    cautious: CautiousRules,
    habits: Vec<Habit>,
    last_tick: Option<u16>,
}

impl SmitsimaxRules {
    /// Creates rules without tables. The first choice builds the tables for its map.
    pub fn new() -> Self {
        Self::default()
    }

    fn observe(&mut self, world: &World, state: &State, unmodelled: &[ObservedThreat]) {
        let tick = state.tick();
        let is_next = self.last_tick.replace(tick).is_some_and(|last| last + 1 == tick);
        if !is_next || self.habits.len() != unmodelled.len() {
            self.habits = unmodelled.iter().map(|threat| Habit::at(threat.position)).collect();
            return;
        }
        let terrain = Terrain::cached(&mut self.terrain, world.layout());
        let player = terrain.graph.tile(world.player(state));
        for (habit, threat) in self.habits.iter_mut().zip(unmodelled) {
            let is_due = threat.period_ticks.is_none() && world.clock().threats_move(tick - 1);
            let [from, to] = [habit.position, threat.position].map(|at| terrain.graph.tile(at));
            match from.zip(to).zip(player) {
                Some(((from, to), player)) if terrain.distance(to, from) <= 1 => {
                    if is_due || from != to {
                        habit.learn(threat.position, terrain.distance(player, from));
                    }
                }
                _ => *habit = Habit::at(threat.position),
            }
        }
    }

    /// Returns the player's move. `world` and `state` contain only the modelled threats (see
    /// [`World::state_at`]). Each of the `unmodelled` threats is an agent.
    pub fn choose(&mut self, world: &World, state: &State, unmodelled: &[ObservedThreat], budget: Budget) -> Choice {
        let mut meter = meter_with_default(budget);
        self.observe(world, state, unmodelled);
        let terrain = Terrain::cached(&mut self.terrain, world.layout());
        let sighting = Sighting { tick: state.tick(), player: world.player(state), threats: unmodelled };
        let shortlist = self.cautious.shortlist(world.layout(), &sighting);
        let mut agents = Agents::new(world, state, unmodelled, &self.habits, shortlist, terrain);
        while agents.play_out(&mut meter) {}
        let Some(player_move) = agents.best_move() else {
            let choice = self.cautious.choose_with_predictions(world, state, unmodelled, meter.remaining());
            return Choice { simulated_ticks: meter.ticks() + choice.simulated_ticks, ..choice };
        };
        Choice {
            player_move,
            source: Source::Search,
            planned_tick: Some(agents.mean_final_tick()),
            simulated_ticks: meter.ticks(),
        }
    }
}

struct Agents<'a> {
    world: &'a World,
    state: &'a State,
    terrain: &'a mut Terrain,
    player: Tree,
    unmodelled: Vec<UnmodelledThreat>,
    /// The moves that the player may choose in the first tick, as a bit set; 0 allows all moves.
    shortlist: u8,
    /// The ticks of all playouts together, including those in which the player is caught.
    survived_ticks: u64,
    arrivals: Arrivals,
}

#[derive(Default)]
struct Arrivals {
    /// For each tile, the earliest arrival of a threat.
    ticks: Vec<u16>,
    /// Pairs `(ticks, tile)`: if the player stays for `ticks` ticks, a modelled threat is then on
    /// the tile.
    occupied: Vec<(u16, u16)>,
    /// The player's steps to each tile.
    steps: Vec<u16>,
}

impl<'a> Agents<'a> {
    fn new(
        world: &'a World,
        state: &'a State,
        unmodelled: &[ObservedThreat],
        habits: &[Habit],
        shortlist: u8,
        terrain: &'a mut Terrain,
    ) -> Self {
        let (clock, tick) = (world.clock(), state.tick());
        let threat = |(threat, habit): (&ObservedThreat, &Habit)| {
            let tile = terrain.graph.tile(threat.position)?;
            let moves = moves_ahead(clock, tick, threat.period_ticks);
            let (period_ticks, waiting_distance) = (threat.period_ticks, habit.waiting_distance);
            Some(UnmodelledThreat { start: tile, tile, period_ticks, waiting_distance, moves, tree: Tree::new() })
        };
        let unmodelled = unmodelled.iter().zip(habits).filter_map(threat).collect();
        let (player, survived_ticks, arrivals) = (Tree::new(), 0, Arrivals::default());
        Self { world, state, terrain, player, unmodelled, shortlist, survived_ticks, arrivals }
    }

    /// Plays one playout and updates the trees. Returns false if the budget is used up first.
    fn play_out(&mut self, meter: &mut BudgetMeter) -> bool {
        self.player.path.clear();
        for threat in &mut self.unmodelled {
            threat.tile = threat.start;
            threat.tree.path.clear();
        }
        let mut state = self.state.clone();
        let horizon = HORIZON_TICKS.min(usize::from(LAST_TICK + 1 - state.tick().min(LAST_TICK)));
        let mut ahead = 0;
        let reward = loop {
            let observation = self.player_observation(&state, ahead);
            let Some(&index) = self.player.by_observation.get(&observation) else {
                let Some((bandit, worth)) = self.evaluate(&state, ahead, meter) else { return false };
                self.player.add(observation, bandit);
                break worth;
            };
            if ahead >= horizon || state.is_over() {
                let bandit = self.player.bandits[index as usize];
                break bandit.moves().map(|number| bandit.expected[number]).fold(f32::NEG_INFINITY, f32::max);
            }
            if meter.tick().is_err() {
                return false;
            }
            let moves = if ahead == 0 && self.shortlist != 0 { self.shortlist } else { u8::MAX };
            let number = self.player.select_by_bound(index, moves);
            let is_caught = self.play_tick(&mut state, Move::ALL[number], ahead);
            ahead += 1;
            if is_caught {
                break catch_reward(ahead);
            }
        };
        self.player.back_up(reward);
        let player = self.world.tile_after(&state, Move::Stay);
        for threat in &mut self.unmodelled {
            let distance = self.terrain.distance(player, threat.tile).min(1000);
            threat.tree.back_up(CLOSENESS_REWARD / (1.0 + f32::from(distance)) - reward);
        }
        self.survived_ticks += ahead as u64;
        true
    }

    fn player_observation(&self, state: &State, ahead: usize) -> u64 {
        let mut hash = FnvHasher::default();
        hash.write(&(ahead as u16).to_le_bytes());
        hash.write(&self.world.tile_after(state, Move::Stay).to_le_bytes());
        if self.world.threat_count() > 0 {
            hash.write(&self.world.fingerprint(state).to_le_bytes());
        }
        self.unmodelled.iter().for_each(|threat| hash.write(&threat.tile.to_le_bytes()));
        hash.finish()
    }

    fn play_tick(&mut self, state: &mut State, player_move: Move, ahead: usize) -> bool {
        let world = self.world;
        let after = world.tile_after(state, player_move);
        if world.rules().no_jump && self.unmodelled.iter().any(|threat| threat.tile == after) {
            return true;
        }
        for threat in self.unmodelled.iter_mut().filter(|threat| threat.moves.get(ahead) == Some(&true)) {
            threat.step(self.terrain, after, ahead);
        }
        world.step_unchecked(state, player_move);
        state.is_caught() || self.unmodelled.iter().any(|threat| threat.tile == after)
    }

    fn evaluate(&mut self, state: &State, ahead: usize, meter: &mut BudgetMeter) -> Option<(Bandit, f32)> {
        self.measure_arrivals(state, meter)?;
        let player = self.world.tile_after(state, Move::Stay);
        let mut bandit = Bandit::default();
        let mut best = f32::NEG_INFINITY;
        for (player_move, next) in self.terrain.moves(player) {
            meter.step(self.arrivals.ticks.len() / TILES_PER_STEP).ok()?;
            let worth = self.room(next).unwrap_or_else(|| catch_reward(ahead + 1));
            bandit.legal |= 1 << player_move as u8;
            bandit.expected[player_move as usize] = worth;
            best = best.max(worth);
        }
        Some((bandit, best))
    }

    /// Fills `ticks` and `occupied` of the arrivals. For `occupied`, simulates a few ticks in which
    /// the player stays. A waiting threat is assumed to reach only tiles that are nearer to it than
    /// its waiting distance. Returns `None` if the budget is used up.
    fn measure_arrivals(&mut self, state: &State, meter: &mut BudgetMeter) -> Option<()> {
        self.arrivals.occupied.clear();
        let mut later = state.clone();
        let tile = |terrain: &Terrain, position: Position| terrain.graph.tile(position);
        for ahead in (1..=PREDICTED_TICKS).take_while(|_| self.world.threat_count() > 0) {
            if later.is_over() {
                break;
            }
            meter.tick().ok()?;
            self.world.step_unchecked(&mut later, Move::Stay);
            let tiles = self.world.threats(&later).filter_map(|threat| tile(self.terrain, threat.position));
            self.arrivals.occupied.extend(tiles.map(|tile| (ahead, tile)));
        }
        let clock = self.world.clock();
        let [delays, later_delays] = [state, &later]
            .map(|state| -> Vec<u16> { move_delays(clock, state.tick().min(LAST_TICK)).take(DELAYS_MAX).collect() });
        let predicted_ticks = later.tick() - state.tick();
        let player = self.world.tile_after(state, Move::Stay);
        let Self { world, terrain, unmodelled, arrivals: Arrivals { ticks: arrivals, .. }, .. } = self;
        arrivals.clear();
        arrivals.resize(terrain.graph.len(), UNREACHED);
        let steps = arrivals.len() / TILES_PER_STEP;
        for threat in unmodelled.iter() {
            meter.step(steps).ok()?;
            let reach = if threat.is_waiting(terrain, player) { threat.waiting_distance } else { UNREACHED };
            for (arrival, &steps) in arrivals.iter_mut().zip(terrain.distances_from(threat.tile)) {
                if steps < reach {
                    *arrival = (*arrival).min(steps_delay(steps, threat.period_ticks, &delays));
                }
            }
        }
        for threat in world.threats(&later) {
            meter.step(steps).ok()?;
            let Some(tile) = tile(terrain, threat.position) else { continue };
            for (arrival, &steps) in arrivals.iter_mut().zip(terrain.distances_from(tile)) {
                let delay = steps_delay(steps, None, &later_delays);
                *arrival = (*arrival).min(delay.saturating_add(predicted_ticks));
            }
        }
        Some(())
    }

    /// Returns the player's room after a move to `next`, from 0 to 1, or `None` if the move may be
    /// fatal. The square root makes each tile count more when room is scarce.
    fn room(&mut self, next: u16) -> Option<f32> {
        let Arrivals { ticks: arrivals, occupied, steps } = &mut self.arrivals;
        let enters = |tile: u16, made: u16| made < arrivals[usize::from(tile)] && !occupied.contains(&(made, tile));
        if !enters(next, 1) {
            return None;
        }
        let terrain = &mut self.terrain;
        terrain.distances_where(Mover::Player, [(next, 1)], steps, enters);
        let (mut room, mut is_open) = (0, false);
        for (tile, (&steps, &arrival)) in steps.iter().zip(arrivals.iter()).enumerate() {
            if steps != UNREACHED {
                room += u32::from(LEAD_TICKS_MAX.min(arrival - steps));
                is_open |= !terrain.is_dead_end(tile as u16);
            }
        }
        let share = room as f32 / (f32::from(LEAD_TICKS_MAX) * arrivals.len() as f32);
        Some(share.sqrt() * if is_open { 1.0 } else { DEAD_END_SHARE })
    }

    fn best_move(&self) -> Option<Move> {
        let root = self.player.bandits.first()?;
        let best = root.moves().filter(|&number| root.visits[number] > 0).max_by(|&left, &right| {
            root.visits[left].cmp(&root.visits[right]).then(root.mean(left).total_cmp(&root.mean(right)))
        });
        best.map(|number| Move::ALL[number])
    }

    fn mean_final_tick(&self) -> u16 {
        // The first playout makes only the root, and visits none of its moves.
        let playouts = 1 + self.player.bandits.first().map_or(0, Bandit::total_visits);
        let survived = self.survived_ticks / u64::from(playouts);
        self.state.tick().saturating_add(survived as u16).min(LAST_TICK + 1)
    }
}

fn catch_reward(ahead: usize) -> f32 {
    CATCH_COST * (ahead as f32 / HORIZON_TICKS as f32 - 1.0)
}

fn moves_ahead(clock: &Clock, tick: u16, period_ticks: Option<u8>) -> Vec<bool> {
    let moves = |ahead: usize| match period_ticks {
        Some(period) => ahead.is_multiple_of(usize::from(period.max(1))),
        None => clock.threats_move((tick + ahead as u16).min(LAST_TICK)),
    };
    (0..HORIZON_TICKS).map(moves).collect()
}

/// A planner that uses [`SmitsimaxRules::choose`] and treats every threat as unmodelled.
#[derive(Debug, Default)]
pub struct SmitsimaxPlanner {
    rules: SmitsimaxRules,
    streets: Option<World>,
}

impl SmitsimaxPlanner {
    /// Creates the planner.
    pub fn new() -> Self {
        Self::default()
    }
}

impl Planner for SmitsimaxPlanner {
    fn decide(&mut self, world: &World, state: &State, budget: Budget) -> Result<Choice, PlannerError> {
        let budget = budget.started();
        let layout = Layout { threats: Vec::new(), ..world.layout().clone() };
        let is_same = |streets: &World| *streets.layout() == layout && streets.rules() == world.rules();
        let streets = self.streets.take().filter(is_same).unwrap_or_else(|| {
            let mut streets = world.clone();
            streets.set_layout(&layout).expect("the streets of a world are playable");
            streets
        });
        let unmodelled: Vec<ObservedThreat> =
            world.threats(state).map(|threat| ObservedThreat::at(threat.position)).collect();
        let without_threats =
            streets.state_at(state.tick(), world.player(state), &[]).expect("the player is on an open tile");
        let choice = self.rules.choose(&streets, &without_threats, &unmodelled, budget);
        self.streets = Some(streets);
        Ok(choice)
    }
}

#[cfg(test)]
mod tests;
