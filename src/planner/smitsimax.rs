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

use std::collections::HashMap;
use std::hash::Hasher;

use super::cautious::{LEAD_TICKS_MAX, ObservedThreat, Sighting};
use super::distances::Distances;
use super::terrain::{move_delays, steps_delay};
use super::{Budget, CautiousRules, Choice, Planner, PlannerFailure, Source, meter_with_default};
use crate::fnv::FnvHasher;
use crate::game::{Clock, LAST_TICK, Layout, Move, Mover, Position, State, UNREACHED, World};
use crate::search::BudgetMeter;

const HORIZON_TICKS: usize = 40;
/// Weight of exploration in the player's choices, for rewards scaled to the range 0 to 1.
const EXPLORATION: f32 = 0.2;
/// The prior value of each player move counts as this many visits.
const EXPECTATION_VISITS: f32 = 2.0;
/// Weight of exploration in the threats' choices, for rewards divided by the size of their range.
const ATTACK_EXPLORATION: f32 = 0.7;
/// Prior probability that a threat moves towards the player, if it can.
const ATTACK_SHARE: f32 = 0.9;
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

/// A threat is waiting after it has stayed this many times in a row.
const WAITING_STAYS: u8 = 3;

const MOVES: usize = Move::ALL.len();

/// Chooses moves against threats with known positions, whether or not their rules are known.
#[derive(Clone, Debug)]
pub struct SmitsimaxRules {
    distances: Option<Distances>,
    cautious: CautiousRules,
    habits: Vec<Habit>,
    last_tick: Option<u16>,
}

impl Default for SmitsimaxRules {
    fn default() -> Self {
        Self::new()
    }
}

impl SmitsimaxRules {
    /// Creates rules without tables. The first choice builds the tables for its map.
    pub fn new() -> Self {
        Self { distances: None, cautious: CautiousRules::new(), habits: Vec::new(), last_tick: None }
    }

    fn observe(&mut self, world: &World, state: &State, unmodelled: &[ObservedThreat]) {
        let tick = state.tick();
        let is_next = self.last_tick.replace(tick).is_some_and(|last| last + 1 == tick);
        if !is_next || self.habits.len() != unmodelled.len() {
            self.habits = unmodelled.iter().map(|threat| Habit::at(threat.position)).collect();
            return;
        }
        let distances = Distances::refresh(&mut self.distances, world);
        let player = distances.terrain.graph.tile(world.player(state));
        for (habit, threat) in self.habits.iter_mut().zip(unmodelled) {
            let is_due = threat.period_ticks.is_none() && world.clock().threats_move(tick - 1);
            let [from, to] = [habit.position, threat.position].map(|at| distances.terrain.graph.tile(at));
            match from.zip(to).zip(player) {
                Some(((from, to), player)) if distances.distance(to, from) <= 1 => {
                    if is_due || from != to {
                        habit.learn(threat.position, distances.distance(player, from));
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
        let distances = Distances::refresh(&mut self.distances, world);
        let sighting = Sighting { tick: state.tick(), player: world.player(state), threats: unmodelled };
        let shortlist = self.cautious.shortlist(world.layout(), &sighting);
        let mut agents = Agents::new(world, state, unmodelled, &self.habits, shortlist, distances);
        while agents.play_out(&mut meter) {}
        let best = agents.best_move();
        let Some(player_move) = best.filter(|_| agents.playouts > 1) else {
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

#[derive(Clone, Copy, Debug)]
struct Habit {
    position: Position,
    /// The number of times in a row that the threat stayed on its tile when it could have moved.
    stays: u8,
    /// The player's minimum distance from the threat during these stays.
    nearest: u16,
    /// The threat waits if the player is at least this far away; [`UNREACHED`] if it never waits.
    waiting_distance: u16,
}

impl Habit {
    fn at(position: Position) -> Self {
        Self { position, stays: 0, nearest: UNREACHED, waiting_distance: UNREACHED }
    }

    /// `distance` is the player's new distance from the threat's previous position.
    fn learn(&mut self, position: Position, distance: u16) {
        if position != self.position {
            let is_surprise = distance >= self.waiting_distance;
            let waiting_distance = if is_surprise { UNREACHED } else { self.waiting_distance };
            *self = Self { waiting_distance, ..Self::at(position) };
            return;
        }
        self.stays = self.stays.saturating_add(1);
        self.nearest = self.nearest.min(distance);
        if self.stays >= WAITING_STAYS {
            self.waiting_distance = self.waiting_distance.min(self.nearest);
        }
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Bandit {
    legal: u8,
    visits: [u32; MOVES],
    rewards: [f32; MOVES],
    /// Each move's prior: for the player, the expected reward; for a threat, the share of visits.
    expected: [f32; MOVES],
}

impl Bandit {
    fn moves(self) -> impl Iterator<Item = usize> {
        (0..MOVES).filter(move |number| self.legal >> number & 1 == 1)
    }

    fn total_visits(&self) -> u32 {
        self.visits.iter().sum()
    }

    fn mean(&self, number: usize) -> f32 {
        let expected = EXPECTATION_VISITS * self.expected[number];
        (self.rewards[number] + expected) / (self.visits[number] as f32 + EXPECTATION_VISITS)
    }
}

#[derive(Clone, Debug)]
struct Tree {
    bandits: Vec<Bandit>,
    by_observation: HashMap<u64, u32>,
    path: Vec<(u32, u8)>,
    range: (f32, f32),
}

impl Tree {
    fn new() -> Self {
        Self {
            bandits: Vec::new(),
            by_observation: HashMap::new(),
            path: Vec::new(),
            range: (f32::INFINITY, f32::NEG_INFINITY),
        }
    }

    fn back_up(&mut self, reward: f32) {
        self.range = (self.range.0.min(reward), self.range.1.max(reward));
        for &(index, chosen) in &self.path {
            let bandit = &mut self.bandits[index as usize];
            bandit.visits[usize::from(chosen)] += 1;
            bandit.rewards[usize::from(chosen)] += reward;
        }
    }

    fn select_by_bound(&mut self, index: u32, moves: u8) -> usize {
        let bandit = self.bandits[index as usize];
        let (low, span) = (self.range.0, self.span());
        // Not `f32::ln`, because its last bit differs between platforms.
        let log = libm::logf((bandit.total_visits() + 1) as f32);
        self.select(index, moves, |number| {
            let exploration = (log / (bandit.visits[number] as f32 + 1.0)).sqrt();
            (bandit.mean(number) - low) / span + EXPLORATION * exploration
        })
    }

    /// Chooses by the mean reward plus a bonus that grows with the move's prior share and falls
    /// with its number of visits (the PUCB of Rosin, 2011, in AlphaZero's form).
    fn select_by_share(&mut self, index: u32) -> usize {
        let bandit = self.bandits[index as usize];
        let (total, span) = (bandit.total_visits(), self.span());
        let mean = bandit.rewards.iter().sum::<f32>() / total.max(1) as f32;
        let root = ((total + 1) as f32).sqrt();
        self.select(index, u8::MAX, |number| {
            let visits = bandit.visits[number] as f32;
            let gain = (bandit.rewards[number] + mean) / (visits + 1.0) - mean;
            gain / span + ATTACK_EXPLORATION * bandit.expected[number] * root / (1.0 + visits)
        })
    }

    fn select(&mut self, index: u32, moves: u8, score: impl Fn(usize) -> f32) -> usize {
        let bandit = self.bandits[index as usize];
        let scored = bandit.moves().filter(|number| moves >> number & 1 == 1).map(|number| (number, score(number)));
        let best = scored.reduce(|best, next| if next.1 > best.1 { next } else { best });
        let chosen = best.map_or(MOVES - 1, |(number, _)| number);
        self.path.push((index, chosen as u8));
        chosen
    }

    fn span(&self) -> f32 {
        (self.range.1 - self.range.0).max(1e-6)
    }

    fn add(&mut self, observation: u64, bandit: Bandit) -> u32 {
        let index = self.bandits.len() as u32;
        self.bandits.push(bandit);
        self.by_observation.insert(observation, index);
        index
    }
}

#[derive(Clone, Debug)]
struct UnmodelledThreat {
    start: u16,
    tile: u16,
    period_ticks: Option<u8>,
    waiting_distance: u16,
    moves: Vec<bool>,
    tree: Tree,
}

impl UnmodelledThreat {
    fn is_waiting(&self, distances: &mut Distances, player: u16) -> bool {
        self.waiting_distance != UNREACHED && distances.distance(player, self.tile) >= self.waiting_distance
    }

    fn step(&mut self, distances: &mut Distances, player: u16, ahead: usize) {
        if self.is_waiting(distances, player) {
            return;
        }
        let neighbours = distances.terrain.graph.neighbours(Mover::Threat)[usize::from(self.tile)];
        let [left, right, up, down] = neighbours;
        let targets = [left, right, up, down, self.tile];
        let observation = ahead as u64 | u64::from(self.tile) << 16 | u64::from(player) << 32;
        let index = match self.tree.by_observation.get(&observation) {
            Some(&index) => index,
            None => self.tree.add(observation, self.bandit(&targets, distances.row(player))),
        };
        self.tile = targets[self.tree.select_by_share(index)];
    }

    fn bandit(&self, targets: &[u16; MOVES], steps: &[u16]) -> Bandit {
        let is_legal = |&number: &usize| number == MOVES - 1 || targets[number] != self.tile;
        let legal = (0..MOVES).filter(is_legal).fold(0, |bits, number| bits | 1 << number);
        let mut bandit = Bandit { legal, ..Bandit::default() };
        let here = steps[usize::from(self.tile)];
        let is_attack = |number: usize| match here {
            0 => number == MOVES - 1,
            _ => steps[usize::from(targets[number])] < here,
        };
        let (attacks, others): (Vec<usize>, Vec<usize>) = bandit.moves().partition(|&number| is_attack(number));
        let share = match (attacks.len(), others.len()) {
            (0, _) => 0.0,
            (_, 0) => 1.0,
            _ => ATTACK_SHARE,
        };
        attacks.iter().for_each(|&number| bandit.expected[number] = share / attacks.len() as f32);
        others.iter().for_each(|&number| bandit.expected[number] = (1.0 - share) / others.len() as f32);
        bandit
    }
}

struct Agents<'a> {
    world: &'a World,
    state: &'a State,
    distances: &'a mut Distances,
    player: Tree,
    unmodelled: Vec<UnmodelledThreat>,
    /// The moves that the player may choose in the first tick, as a bit set; 0 allows all moves.
    shortlist: u8,
    horizon: usize,
    playouts: u32,
    survived_ticks: u64,
    arrivals: Vec<u16>,
    steps: Vec<u16>,
    /// Pairs `(ticks, tile)`: if the player stays for `ticks` ticks, a modelled threat is then on
    /// the tile.
    occupied: Vec<(u16, u16)>,
}

impl<'a> Agents<'a> {
    fn new(
        world: &'a World,
        state: &'a State,
        unmodelled: &[ObservedThreat],
        habits: &[Habit],
        shortlist: u8,
        distances: &'a mut Distances,
    ) -> Self {
        let (clock, tick) = (world.clock(), state.tick());
        let left = usize::from(LAST_TICK + 1 - tick.min(LAST_TICK));
        let horizon = HORIZON_TICKS.min(left);
        let threat = |(threat, habit): (&ObservedThreat, &Habit)| {
            let tile = distances.terrain.graph.tile(threat.position)?;
            let moves = moves_ahead(clock, tick, threat.period_ticks);
            let (period_ticks, waiting_distance) = (threat.period_ticks, habit.waiting_distance);
            Some(UnmodelledThreat { start: tile, tile, period_ticks, waiting_distance, moves, tree: Tree::new() })
        };
        let unmodelled = unmodelled.iter().zip(habits).filter_map(threat).collect();
        Self {
            world,
            state,
            distances,
            player: Tree::new(),
            unmodelled,
            shortlist,
            horizon,
            playouts: 0,
            survived_ticks: 0,
            arrivals: Vec::new(),
            steps: Vec::new(),
            occupied: Vec::new(),
        }
    }

    /// Plays one playout and updates the trees. Returns false if the budget is used up first.
    fn play_out(&mut self, meter: &mut BudgetMeter) -> bool {
        self.player.path.clear();
        for threat in &mut self.unmodelled {
            threat.tile = threat.start;
            threat.tree.path.clear();
        }
        let mut state = self.state.clone();
        let mut ahead = 0;
        let reward = loop {
            let observation = self.player_observation(&state, ahead);
            let Some(&index) = self.player.by_observation.get(&observation) else {
                let Some((bandit, worth)) = self.evaluate(&state, ahead, meter) else { return false };
                self.player.add(observation, bandit);
                break worth;
            };
            if ahead >= self.horizon || state.is_over() {
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
            let distance = self.distances.distance(player, threat.tile).min(1000);
            threat.tree.back_up(CLOSENESS_REWARD / (1.0 + f32::from(distance)) - reward);
        }
        self.playouts += 1;
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
            threat.step(self.distances, after, ahead);
        }
        world.step(state, player_move);
        state.is_caught() || self.unmodelled.iter().any(|threat| threat.tile == after)
    }

    fn evaluate(&mut self, state: &State, ahead: usize, meter: &mut BudgetMeter) -> Option<(Bandit, f32)> {
        self.measure_arrivals(state, meter)?;
        let player = self.world.tile_after(state, Move::Stay);
        let mut bandit = Bandit::default();
        let mut best = f32::NEG_INFINITY;
        for (player_move, next) in self.distances.terrain.moves(player) {
            meter.step(self.arrivals.len() / TILES_PER_STEP).ok()?;
            let worth = self.room(next).unwrap_or_else(|| catch_reward(ahead + 1));
            bandit.legal |= 1 << player_move as u8;
            bandit.expected[player_move as usize] = worth;
            best = best.max(worth);
        }
        Some((bandit, best))
    }

    /// Fills `arrivals` and `occupied`. For `occupied`, simulates a few ticks in which the player
    /// stays. A waiting threat is assumed to reach only tiles that are nearer to it than its
    /// waiting distance. Returns `None` if the budget is used up.
    fn measure_arrivals(&mut self, state: &State, meter: &mut BudgetMeter) -> Option<()> {
        self.occupied.clear();
        let mut later = state.clone();
        let tile = |distances: &Distances, position: Position| distances.terrain.graph.tile(position);
        for ahead in (1..=PREDICTED_TICKS).take_while(|_| self.world.threat_count() > 0) {
            if later.is_over() {
                break;
            }
            meter.tick().ok()?;
            self.world.step(&mut later, Move::Stay);
            let tiles = self.world.threats(&later).filter_map(|threat| tile(self.distances, threat.position));
            self.occupied.extend(tiles.map(|tile| (ahead, tile)));
        }
        let clock = self.world.clock();
        let [delays, later_delays] = [state, &later]
            .map(|state| -> Vec<u16> { move_delays(clock, state.tick().min(LAST_TICK)).take(DELAYS_MAX).collect() });
        let predicted_ticks = later.tick() - state.tick();
        let player = self.world.tile_after(state, Move::Stay);
        let Self { world, distances, unmodelled, arrivals, .. } = self;
        arrivals.clear();
        arrivals.resize(distances.terrain.graph.len(), UNREACHED);
        let steps = arrivals.len() / TILES_PER_STEP;
        for threat in unmodelled.iter() {
            meter.step(steps).ok()?;
            let reach = if threat.is_waiting(distances, player) { threat.waiting_distance } else { UNREACHED };
            for (arrival, &steps) in arrivals.iter_mut().zip(distances.row(threat.tile)) {
                if steps < reach {
                    *arrival = (*arrival).min(steps_delay(steps, threat.period_ticks, &delays));
                }
            }
        }
        for threat in world.threats(&later) {
            meter.step(steps).ok()?;
            let Some(tile) = tile(distances, threat.position) else { continue };
            for (arrival, &steps) in arrivals.iter_mut().zip(distances.row(tile)) {
                let delay = steps_delay(steps, None, &later_delays);
                *arrival = (*arrival).min(delay.saturating_add(predicted_ticks));
            }
        }
        Some(())
    }

    /// Returns the player's room after a move to `next`, from 0 to 1, or `None` if the move may be
    /// fatal. The square root makes each tile count more when room is scarce.
    fn room(&mut self, next: u16) -> Option<f32> {
        let (arrivals, occupied) = (&self.arrivals, &self.occupied);
        let enters = |tile: u16, made: u16| made < arrivals[usize::from(tile)] && !occupied.contains(&(made, tile));
        if !enters(next, 1) {
            return None;
        }
        let terrain = &mut self.distances.terrain;
        terrain.distances_where(Mover::Player, [(next, 1)], &mut self.steps, enters);
        let (mut room, mut is_open) = (0, false);
        for (tile, (&steps, &arrival)) in self.steps.iter().zip(arrivals).enumerate() {
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
        let survived = self.survived_ticks / u64::from(self.playouts.max(1));
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
    fn decide(&mut self, world: &World, state: &State, budget: Budget) -> Result<Choice, PlannerFailure> {
        let budget = budget.started();
        let is_same = |streets: &World| {
            let (known, layout) = (streets.layout(), world.layout());
            known.width == layout.width && known.tiles == layout.tiles && streets.rules() == world.rules()
        };
        let streets = self.streets.take().filter(is_same).unwrap_or_else(|| {
            let mut streets = world.clone();
            let layout = Layout { threats: Vec::new(), ..world.layout().clone() };
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
mod tests {
    use super::*;
    use crate::game::{Direction, Rules};

    fn world(drawing: &str, rules: &Rules) -> World {
        World::new(&Layout::parse(drawing).expect("a drawing"), rules).expect("a map")
    }

    #[test]
    fn choice_depends_on_the_budget_alone_and_keeps_to_it() {
        let world = world("P....#...\n.##.....#\n.##.#.#..\n.........", &Rules::BLITZ_2025);
        let state = world.state_at(1000, Position::new(3, 1), &[]).expect("a state");
        let threats = [(8, 3), (0, 3), (6, 0)].map(|(x, y)| ObservedThreat::at(Position::new(x, y)));
        let choose = |ticks| SmitsimaxRules::new().choose(&world, &state, &threats, Budget::ticks(ticks));
        for ticks in [0, 1, 50, 2_000] {
            let choice = choose(ticks);
            assert_eq!(choice, choose(ticks));
            assert!(choice.simulated_ticks <= ticks, "{} of {ticks} ticks", choice.simulated_ticks);
        }
        assert_eq!(choose(2_000).source, Source::Search);
    }

    #[test]
    fn map_of_another_shape_is_another_map() {
        let mut planner = SmitsimaxPlanner::new();
        for drawing in ["P.\n..\n.S", "..P\nS.."] {
            let world = world(drawing, &Rules::BLITZ_2025);
            let choice = planner.decide(&world, &world.start(), Budget::ticks(50)).expect("a move");
            assert!(world.moves(&world.start()).any(|player_move| player_move == choice.player_move));
        }
    }

    #[test]
    fn flees_between_a_predicted_and_an_unmodelled_threat() {
        let world = world("B.P...\n##.###\n##....", &Rules::BLITZ_2025);
        let bull = crate::game::Threat { direction: Direction::Right, ..world.threat(&world.start(), 0) };
        let state = world.state_at(1000, Position::new(2, 0), &[bull]).expect("a state");
        let unmodelled = [ObservedThreat::at(Position::new(4, 0))];
        let choice = SmitsimaxRules::new().choose(&world, &state, &unmodelled, Budget::ticks(2_000));
        assert_eq!(choice.player_move, Move::Down);
    }

    #[test]
    fn threat_waits_for_a_near_player_until_it_moves_while_the_player_is_far() {
        let [here, beside] = [0, 1].map(|x| Position::new(x, 0));
        let mut habit = Habit::at(here);
        [12, 9].into_iter().for_each(|distance| habit.learn(here, distance));
        assert_eq!(habit.waiting_distance, UNREACHED);
        habit.learn(here, 10);
        assert_eq!(habit.waiting_distance, 9);
        habit.learn(beside, 5);
        assert_eq!(habit.waiting_distance, 9, "it chases a player that is near");
        habit.learn(here, 11);
        assert_eq!(habit.waiting_distance, UNREACHED, "it has woken");
    }

    #[test]
    fn habits_are_learnt_from_one_choice_to_the_next() {
        let world = world("P.........", &Rules::BLITZ_2025);
        let mut rules = SmitsimaxRules::new();
        let mut waiting = |threats: &[(u16, i32)]| -> Vec<u16> {
            let distances = threats.iter().map(|&(tick, x)| {
                let state = world.state_at(tick, Position::new(0, 0), &[]).expect("a state");
                rules.choose(&world, &state, &[ObservedThreat::at(Position::new(x, 0))], Budget::ticks(50));
                rules.habits[0].waiting_distance
            });
            distances.collect()
        };
        assert_eq!(waiting(&[(1000, 8), (1001, 8), (1002, 8), (1003, 8)]), [UNREACHED, UNREACHED, UNREACHED, 8]);
        assert_eq!(waiting(&[(1004, 7)]), [UNREACHED], "it has moved");
        assert_eq!(waiting(&[(1005, 7), (1006, 7), (1007, 7), (1009, 7)])[2..], [7, UNREACHED], "a tick is missing");
    }

    #[test]
    fn threat_learns_to_follow_the_player_wherever_it_goes() {
        // On a ring, a threat that did not observe the player's moves would soon lose the player.
        let world = world("P..\n.#.\n...", &Rules::BLITZ_2025);
        let state = world.state_at(1000, Position::new(1, 0), &[]).expect("a state");
        let mut distances = None;
        let distances = Distances::refresh(&mut distances, &world);
        let threats = [ObservedThreat::at(Position::new(0, 2))];
        let habits = threats.map(|threat| Habit::at(threat.position));
        let mut agents = Agents::new(&world, &state, &threats, &habits, 0, distances);
        let mut meter = BudgetMeter::new(Budget::ticks(5_000));
        while agents.play_out(&mut meter) {}
        let tree = &agents.unmodelled[0].tree;
        let followed = tree.bandits.iter().filter(|bandit| bandit.total_visits() >= 10);
        let is_followed = |bandit: &Bandit| {
            let most = bandit.moves().max_by_key(|&number| bandit.visits[number]).expect("a move");
            bandit.expected[most] >= ATTACK_SHARE / 2.0
        };
        let (kept, all) =
            followed.fold((0, 0), |(kept, all), bandit| (kept + usize::from(is_followed(bandit)), all + 1));
        assert!(all >= 5 && kept * 10 >= all * 8, "{kept} of {all} observations");
    }
}
