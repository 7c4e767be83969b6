//! `smitsimax`: plays against threats whose moves cannot be predicted, by letting them plan too.
//!
//! Every agent, the player and each unmodelled threat, has a bandit tree of its own moves, and its
//! own reward. In each playout all agents choose at the same time, each by the upper confidence
//! bounds of its own tree, without knowing what the others choose; then each tree learns from its
//! own reward. The other threats are predicted exactly. The method is known from
//! programming contests as Smitsimax, and in the literature as decoupled UCT (Tak, Lanctot and
//! Winands, 2014): no agent sees another's move first, so it finds mixed play where minimax sees only
//! losses, such as passing through a threat at the moment when it attacks.
//!
//! Guarantees: with a budget in ticks, the answer depends on the positions, the seed and the budget
//! alone. [`SmitsimaxRules`] is the core, as [`CautiousRules`](super::CautiousRules) is that of
//! `cautious`; it keeps distances of one map only.

use super::cautious::{ObservedThreat, Sighting};
use super::distances::Distances;
use super::terrain::move_delays;
use super::{Budget, CautiousRules, Choice, Planner, Source, meter_with_default};
use crate::game::{Clock, LAST_TICK, Move, Mover, Position, State, UNREACHED, World};
use crate::search::{BudgetMeter, Generator};

/// How far playouts look ahead: until the threats have moved this often, within these ticks.
const HORIZON_MOVES: usize = 3;
const HORIZON_TICKS: std::ops::RangeInclusive<usize> = 6..=15;
/// The weight of the exploration term of the upper confidence bounds, in units of the range of the
/// rewards seen.
const EXPLORATION: f32 = 0.5;
/// The share of rollout moves in which a threat steps towards the player rather than anywhere.
const ATTACK_PERCENT: usize = 90;
/// The share of rollout moves in which the player avoids the tiles that a threat can reach at once.
const CARE_PERCENT: usize = 90;
/// What a threat gains from being beside the player rather than far away, in the same units.
const CLOSENESS_REWARD: f32 = 0.2;
/// What being caught at once costs the player, in units of the whole map's room.
const CATCH_COST: f32 = 0.5;
/// Cap, per tile, on the number of ticks by which the player arrives before the threats, as for
/// `cautious`.
const AHEAD_TICKS_MAX: u16 = 4;

/// Steps of a threat beyond which it does not matter when it arrives.
const DELAYS_MAX: usize = 64;

/// A move of an agent: the four directions, then staying.
const MOVES: usize = Move::ALL.len();

/// Chooses moves against threats of which only the positions are known.
#[derive(Clone, Debug)]
pub struct SmitsimaxRules {
    distances: Option<Distances>,
    /// The choice when there is no time for a single playout.
    cautious: CautiousRules,
    seed: u64,
}

impl SmitsimaxRules {
    /// Creates the core without a map; all randomness comes from `seed`.
    pub fn new(seed: u64) -> Self {
        Self { distances: None, cautious: CautiousRules::new(), seed }
    }

    /// The move to play: `world` contains only the predictable threats, `state` has their positions
    /// (see [`World::state_at`]), and `unmodelled` are the others, which plan for themselves.
    pub fn choose(&mut self, world: &World, state: &State, unmodelled: &[ObservedThreat], budget: Budget) -> Choice {
        let distances = Distances::refresh(&mut self.distances, world);
        let sighting = Sighting { tick: state.tick(), player: world.player(state), threats: unmodelled };
        let shortlist = self.cautious.shortlist(world.layout(), &sighting);
        let mut meter = meter_with_default(budget);
        let mut random = Generator::from_seed(self.seed.wrapping_add(state.tick().into()));
        let mut agents = Agents::new(world, state, unmodelled, distances);
        agents.shortlist = shortlist;
        while agents.play_out(&mut random, &mut meter) {}
        let best = agents.player.most_visited();
        let Some(player_move) = best.filter(|_| agents.playouts > 0) else {
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

/// A node of an agent's tree: the rewards of its moves from here.
#[derive(Clone, Copy, Debug, Default)]
struct Node {
    /// Move -> the node after it; 0 if there is none yet.
    children: [u32; MOVES],
    visits: [u32; MOVES],
    rewards: [f32; MOVES],
}

/// The bandit tree of one agent: its own moves only, one level for each move that it makes.
#[derive(Clone, Debug)]
struct Tree {
    nodes: Vec<Node>,
    /// The nodes and moves of the current playout.
    path: Vec<(u32, u8)>,
    /// The node of the current playout; `None` once it has left the tree.
    current: Option<u32>,
    /// The least and the greatest reward so far.
    range: (f32, f32),
}

impl Tree {
    fn new() -> Self {
        Self {
            nodes: vec![Node::default()],
            path: Vec::new(),
            current: Some(0),
            range: (f32::INFINITY, f32::NEG_INFINITY),
        }
    }

    fn restart(&mut self) {
        self.path.clear();
        self.current = Some(0);
    }

    /// Chooses one of the moves, given as bits, by upper confidence bounds; a move that was never
    /// tried comes first, the cheapest of several. Outside the tree there is no choice.
    fn select(&mut self, moves: u8, mut cost: impl FnMut(usize) -> u16, random: &mut Generator) -> Option<usize> {
        let index = self.current?;
        let node = &self.nodes[index as usize];
        let is_legal = |&number: &usize| moves >> number & 1 == 1;
        let untried = (0..MOVES).filter(is_legal).filter(|&number| node.visits[number] == 0).count();
        let chosen = match untried {
            0 => {
                let total: u32 = (0..MOVES).filter(is_legal).map(|number| node.visits[number]).sum();
                // Not the standard library's logarithm, whose last bit depends on the platform.
                let log = libm::logf(total.max(1) as f32);
                let bound = |number: usize| {
                    let visits = node.visits[number] as f32;
                    let (low, high) = self.range;
                    let mean = (node.rewards[number] / visits - low) / (high - low).max(1e-6);
                    mean + EXPLORATION * (log / visits).sqrt()
                };
                (0..MOVES).filter(is_legal).max_by(|&left, &right| bound(left).total_cmp(&bound(right)))?
            }
            _ => {
                let costs: [Option<u16>; MOVES] =
                    std::array::from_fn(|number| (is_legal(&number) && node.visits[number] == 0).then(|| cost(number)));
                let least = costs.iter().flatten().min().copied();
                let cheapest = (0..MOVES).filter(|&number| costs[number].is_some() && costs[number] == least);
                random_bit(cheapest.fold(0, |bits, number| bits | 1 << number), random)
            }
        };
        self.path.push((index, chosen as u8));
        self.current = match node.children[chosen] {
            0 if node.visits[chosen] == 0 => None,
            0 => {
                let next = self.nodes.len() as u32;
                self.nodes.push(Node::default());
                self.nodes[index as usize].children[chosen] = next;
                Some(next)
            }
            next => Some(next),
        };
        Some(chosen)
    }

    /// Credits the moves of the playout.
    fn learn(&mut self, reward: f32) {
        self.range = (self.range.0.min(reward), self.range.1.max(reward));
        for &(index, chosen) in &self.path {
            let node = &mut self.nodes[index as usize];
            node.visits[usize::from(chosen)] += 1;
            node.rewards[usize::from(chosen)] += reward;
        }
    }

    fn most_visited(&self) -> Option<Move> {
        let root = &self.nodes[0];
        let mean = |number: usize| root.rewards[number] / root.visits[number] as f32;
        let tried = (0..MOVES).filter(|&number| root.visits[number] > 0);
        let best = tried.max_by(|&left, &right| {
            root.visits[left].cmp(&root.visits[right]).then(mean(left).total_cmp(&mean(right)))
        });
        best.map(|number| Move::ALL[number])
    }
}

/// An unmodelled threat and its tree.
#[derive(Clone, Debug)]
struct Hunter {
    start: u16,
    tile: u16,
    period_ticks: Option<u8>,
    /// By tick ahead: whether it moves.
    moves: Vec<bool>,
    tree: Tree,
}

/// All agents in a position, and what playouts have shown.
struct Agents<'a> {
    world: &'a World,
    state: &'a State,
    distances: &'a mut Distances,
    player: Tree,
    hunters: Vec<Hunter>,
    /// The moves among which the player chooses in the first tick, as bits; 0 for all.
    shortlist: u8,
    /// Ticks that a playout looks ahead.
    horizon: usize,
    playouts: u32,
    survived_ticks: u64,
    /// Scratch space of the evaluation.
    arrivals: Vec<u16>,
    steps: Vec<u16>,
}

impl<'a> Agents<'a> {
    fn new(world: &'a World, state: &'a State, unmodelled: &[ObservedThreat], distances: &'a mut Distances) -> Self {
        let (clock, tick) = (world.clock(), state.tick());
        let left = usize::from(LAST_TICK + 1 - tick.min(LAST_TICK));
        let slowest = unmodelled.iter().map(|threat| moves_ahead(clock, tick, threat.period_ticks));
        let horizon = slowest
            .map(|moves| {
                moves
                    .iter()
                    .enumerate()
                    .filter(|(_, is_move)| **is_move)
                    .nth(HORIZON_MOVES - 1)
                    .map_or(*HORIZON_TICKS.end(), |(ahead, _)| ahead + 1)
            })
            .max()
            .unwrap_or(*HORIZON_TICKS.end())
            .clamp(*HORIZON_TICKS.start(), *HORIZON_TICKS.end())
            .min(left);
        let hunter = |threat: &ObservedThreat| {
            let tile = distances.terrain.graph.tile(threat.position)?;
            let moves = moves_ahead(clock, tick, threat.period_ticks);
            Some(Hunter { start: tile, tile, period_ticks: threat.period_ticks, moves, tree: Tree::new() })
        };
        let hunters = unmodelled.iter().filter_map(hunter).collect();
        Self {
            world,
            state,
            distances,
            player: Tree::new(),
            hunters,
            shortlist: 0,
            horizon,
            playouts: 0,
            survived_ticks: 0,
            arrivals: Vec::new(),
            steps: Vec::new(),
        }
    }

    /// Plays once to the horizon and lets every agent learn; if the budget runs out, returns false
    /// and learns nothing.
    fn play_out(&mut self, random: &mut Generator, meter: &mut BudgetMeter) -> bool {
        self.player.restart();
        for hunter in &mut self.hunters {
            hunter.tile = hunter.start;
            hunter.tree.restart();
        }
        let mut state = self.state.clone();
        let (mut ahead, mut is_caught) = (0, false);
        while ahead < self.horizon && !is_caught {
            if meter.tick().is_err() {
                return false;
            }
            is_caught = self.play_tick(&mut state, ahead, random);
            ahead += 1;
        }
        let player = self.world.tile_after(&state, Move::Stay);
        let reward = match is_caught {
            true => CATCH_COST * (ahead as f32 / self.horizon.max(1) as f32 - 1.0),
            false => self.room(player, &state),
        };
        self.player.learn(reward);
        for hunter in &mut self.hunters {
            let distance = self.distances.distance(player, hunter.tile).min(1000);
            hunter.tree.learn(CLOSENESS_REWARD / (1.0 + f32::from(distance)) - reward);
        }
        self.playouts += 1;
        self.survived_ticks += ahead as u64;
        true
    }

    /// Plays a tick: every agent chooses at the same time. Returns whether the player is caught.
    fn play_tick(&mut self, state: &mut State, ahead: usize, random: &mut Generator) -> bool {
        let world = self.world;
        let before = world.tile_after(state, Move::Stay);
        let legal = world.moves(state).fold(0, |bits, player_move| bits | 1 << player_move as u8);
        let shortlist = legal & self.shortlist;
        let legal = if ahead == 0 && shortlist != 0 { shortlist } else { legal };
        let player_move = match self.player.select(legal, |_| 0, random) {
            Some(number) => Move::ALL[number],
            None => self.rollout_move(before, legal, ahead, random),
        };
        let after = world.tile_after(state, player_move);
        if world.rules().no_jump && self.hunters.iter().any(|hunter| hunter.tile == after) {
            return true;
        }
        for hunter in self.hunters.iter_mut().filter(|hunter| hunter.moves.get(ahead) == Some(&true)) {
            let neighbours = self.distances.terrain.graph.neighbours(Mover::Threat)[usize::from(hunter.tile)];
            let [left, right, up, down] = neighbours;
            let targets = [left, right, up, down, hunter.tile];
            let is_way = |number: &usize| *number == MOVES - 1 || targets[*number] != hunter.tile;
            let legal = (0..MOVES).filter(is_way).fold(0u8, |bits, number| bits | 1 << number);
            let distances = &mut *self.distances;
            let number = match hunter.tree.select(legal, |number| distances.distance(after, targets[number]), random) {
                Some(number) => number,
                // It sees the player's tile after its move, as the server's threats can.
                None if random.below(100) < ATTACK_PERCENT => (0..MOVES)
                    .filter(is_way)
                    .min_by_key(|&number| self.distances.distance(after, targets[number]))
                    .unwrap_or(MOVES - 1),
                None => random_bit(legal, random),
            };
            hunter.tile = targets[number];
        }
        world.step(state, player_move);
        state.is_caught() || self.hunters.iter().any(|hunter| hunter.tile == after)
    }

    /// A move of the player outside its tree: random, but mostly not a plainly fatal one.
    fn rollout_move(&self, tile: u16, legal: u8, ahead: usize, random: &mut Generator) -> Move {
        let graph = &self.distances.terrain.graph;
        let [left, right, up, down] = graph.neighbours(Mover::Player)[usize::from(tile)];
        let targets = [left, right, up, down, tile];
        let is_attacked = |target: u16| {
            self.hunters.iter().any(|hunter| match hunter.moves.get(ahead) == Some(&true) {
                true => graph.neighbours(Mover::Threat)[usize::from(hunter.tile)].contains(&target),
                false => hunter.tile == target,
            })
        };
        let cares = random.below(100) < CARE_PERCENT;
        let safe = if cares {
            (0..MOVES)
                .filter(|&number| legal >> number & 1 == 1 && !is_attacked(targets[number]))
                .fold(0u8, |bits, number| bits | 1 << number)
        } else {
            legal
        };
        Move::ALL[random_bit(if safe == 0 { legal } else { safe }, random)]
    }

    /// The player's room: the tiles that it can reach before any threat could, weighted by the ticks
    /// by which it is first; 1 for the whole map.
    fn room(&mut self, player: u16, state: &State) -> f32 {
        let clock = self.world.clock();
        let arrivals = &mut self.arrivals;
        arrivals.clear();
        arrivals.resize(self.distances.terrain.graph.len(), UNREACHED);
        let known = self.world.threats(state).filter_map(|threat| self.distances.terrain.graph.tile(threat.position));
        let hunters = self.hunters.iter().map(|hunter| (hunter.tile, hunter.period_ticks));
        let threats: Vec<(u16, Option<u8>)> = hunters.chain(known.map(|tile| (tile, None))).collect();
        let delays: Vec<u16> = move_delays(clock, state.tick().min(LAST_TICK)).take(DELAYS_MAX).collect();
        for (tile, period_ticks) in threats {
            for (arrival, &steps) in arrivals.iter_mut().zip(self.distances.row(tile)) {
                let at = match (steps, period_ticks) {
                    (UNREACHED, _) => UNREACHED,
                    (0, _) => 0,
                    (steps, Some(period)) => (steps - 1).saturating_mul(u16::from(period)).saturating_add(1),
                    (steps, None) => delays.get(usize::from(steps) - 1).copied().unwrap_or(UNREACHED),
                };
                *arrival = (*arrival).min(at);
            }
        }
        let steps = &mut self.steps;
        let enters = |tile: u16, made: u16| made < arrivals[usize::from(tile)];
        self.distances.terrain.distances_where(Mover::Player, [(player, 0)], steps, enters);
        let reached = steps.iter().zip(arrivals.iter()).filter(|&(&steps, _)| steps != UNREACHED);
        let ahead = |(&steps, &arrival): (&u16, &u16)| u32::from(AHEAD_TICKS_MAX.min(arrival.saturating_sub(steps)));
        let room: u32 = reached.map(ahead).sum();
        room as f32 / (f32::from(AHEAD_TICKS_MAX) * arrivals.len() as f32)
    }

    /// The mean final tick of the playouts.
    fn mean_final_tick(&self) -> u16 {
        let survived = self.survived_ticks / u64::from(self.playouts.max(1));
        self.state.tick().saturating_add(survived as u16).min(LAST_TICK + 1)
    }
}

/// By tick ahead: whether a threat with this pace moves.
fn moves_ahead(clock: &Clock, tick: u16, period_ticks: Option<u8>) -> Vec<bool> {
    let moves = |ahead: usize| match period_ticks {
        Some(period) => ahead.is_multiple_of(usize::from(period.max(1))),
        None => clock.threats_move((tick + ahead as u16).min(LAST_TICK)),
    };
    (0..*HORIZON_TICKS.end()).map(moves).collect()
}

/// The number of a random bit that is set; 0 if none is.
fn random_bit(bits: u8, random: &mut Generator) -> usize {
    let count = bits.count_ones() as usize;
    let wanted = if count == 0 { 0 } else { random.below(count) };
    (0..8).filter(|number| bits >> number & 1 == 1).nth(wanted).unwrap_or(0)
}

/// Plays by [`SmitsimaxRules::choose`]: it receives states, but treats every threat as unmodelled.
#[derive(Debug)]
pub struct SmitsimaxPlanner {
    rules: SmitsimaxRules,
    /// The streets without threats, for the map played last.
    streets: Option<World>,
}

impl SmitsimaxPlanner {
    /// Creates the planner; all randomness comes from `seed`.
    pub fn new(seed: u64) -> Self {
        Self { rules: SmitsimaxRules::new(seed), streets: None }
    }
}

impl Planner for SmitsimaxPlanner {
    fn decide(&mut self, world: &World, state: &State, budget: Budget) -> Choice {
        let streets = match self.streets.take() {
            Some(streets) if streets.layout().tiles == world.layout().tiles && streets.rules() == world.rules() => {
                streets
            }
            _ => {
                let layout = crate::game::Layout { threats: Vec::new(), ..world.layout().clone() };
                World::new(&layout, world.rules()).expect("the streets of a world are playable")
            }
        };
        let unmodelled: Vec<ObservedThreat> =
            world.threats(state).map(|threat| ObservedThreat::at(threat.position)).collect();
        let player: Position = world.player(state);
        let alone = streets.state_at(state.tick(), player, &[]).expect("the player is on an open tile");
        let choice = self.rules.choose(&streets, &alone, &unmodelled, budget);
        self.streets = Some(streets);
        choice
    }
}
