//! The survival search: the whole game as one search problem, on exact predictions.
//!
//! A *layer* holds distinct states of one tick. The next layer is made of moves drawn at random, at most a share of them to one tile of the
//! player, until it holds as many states as the beam is wide: chance and spread beat every score that was tried, because scored beams
//! fill up with states that are alike and die together. A narrow beam runs ahead; where it dies, it goes back some ticks, further and
//! wider each time that it dies near the same place. A layer that was never cut short holds *every* state that can be reached, so when one
//! such layer has no successor the search was exhaustive: nobody survives longer, proven.
//!
//! Promise: with a limit in expansions, the answer depends on the world, the state, the seed and the limit alone. Memory stays
//! below the bound that was given.

use rand_pcg::rand_core::SeedableRng;

use crate::game::{LAST_TICK, Move, State, World};
use crate::search::{Budget, BudgetMeter, Generator, below};

/// States in a layer at first.
const WIDTH_MIN: usize = 2;
/// How far the search goes back when it first dies at a place.
const RETREAT_MIN_TICKS: usize = 16;
/// How far past a place where it died the beam stays wide.
const CAUTION_TICKS: usize = 8;
/// Layers from one whose states are kept to the next.
const CHECKPOINT_TICKS: usize = 8;
/// A layer holds at most one more than this share of its width on one tile of the player.
const TILE_SHARE: usize = 32;

/// What a search found out about a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The moves lead to the end of the game.
    Survives,
    /// No moves lead to the end of the game, and none lead further than these.
    Doomed,
    /// The limit came first; the moves are the longest life found.
    Undecided,
}

impl Outcome {
    /// The word that the command line prints.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Survives => "survives",
            Self::Doomed => "doomed",
            Self::Undecided => "undecided",
        }
    }
}

/// An answer, with the moves that prove it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Solution {
    /// What is known.
    pub outcome: Outcome,
    /// From the state that was asked about to the end of the life found.
    pub moves: Vec<Move>,
    /// The tick in which that life ends: 2001 for a survivor.
    pub final_tick: u16,
    /// States stepped in this call.
    pub simulated_ticks: u64,
}

/// How a search is set up.
#[derive(Clone, Copy, Debug)]
pub struct SurvivalOptions {
    /// The seed of every random draw.
    pub seed: u64,
    /// The most memory that layers may take.
    pub memory_max_bytes: usize,
}

impl Default for SurvivalOptions {
    fn default() -> Self {
        Self { seed: 0, memory_max_bytes: 256 << 20 }
    }
}

/// How a state of a layer came about.
#[derive(Clone, Copy, Debug)]
struct Node {
    /// Its parent's place in the layer before.
    parent: u32,
    player_move: Move,
}

/// The states of one tick: a stretch of the nodes, and of the kept states if the layer is a checkpoint.
#[derive(Clone, Copy, Debug)]
struct Layer {
    first_node: usize,
    first_kept: usize,
    is_checkpoint: bool,
    /// Whether every state that can be reached is here.
    complete: bool,
}

/// A life that ended: where, and by which last move.
#[derive(Clone, Copy, Debug)]
struct Death {
    final_tick: u16,
    parent: u32,
    last_move: Move,
}

/// A search that can be asked again and goes on where it stopped.
#[derive(Debug)]
pub struct Survival {
    options: SurvivalOptions,
    random: Generator,
    root: Option<State>,
    /// Layers from the root's on. The search goes forth and back along them, so that they and what is in them are stacks.
    layers: Vec<Layer>,
    nodes: Vec<Node>,
    /// The states of checkpoints.
    kept: Vec<State>,
    /// The states of the last layer.
    frontier: Vec<State>,
    /// The states of the layer that is being made.
    next: Vec<State>,
    drawing: Drawing,
    width: usize,
    retreat_ticks: usize,
    /// The beam narrows again past this layer.
    caution_until: usize,
    /// Whether memory made a layer narrower than wanted since the last retreat.
    is_squeezed: bool,
    best: Solution,
}

/// How a layer's growth ended.
enum Growth {
    /// A new layer is there.
    Grown,
    /// Every successor is caught; this one lives longest.
    Died(Death),
    /// The limit came first; the last layer is as it was.
    Interrupted,
}

impl Survival {
    /// A search that has not begun.
    pub fn new(options: SurvivalOptions) -> Self {
        let random = Generator::seed_from_u64(options.seed);
        Self {
            options,
            random,
            root: None,
            layers: Vec::new(),
            nodes: Vec::new(),
            kept: Vec::new(),
            frontier: Vec::new(),
            next: Vec::new(),
            drawing: Drawing::default(),
            width: WIDTH_MIN,
            retreat_ticks: RETREAT_MIN_TICKS,
            caution_until: 0,
            is_squeezed: false,
            best: Solution { outcome: Outcome::Undecided, moves: Vec::new(), final_tick: 0, simulated_ticks: 0 },
        }
    }

    /// Searches from `state` until the answer is known or the limit is reached. Asked again about the same state, or about one that
    /// the world makes of it in a tick, it goes on where it stopped. One search serves one world.
    pub fn solve(&mut self, world: &World, state: &State, budget: Budget) -> Solution {
        self.solve_until(world, state, LAST_TICK + 1, budget)
    }

    /// As [`Survival::solve`], but content with a life that reaches a tick: then the outcome is undecided and the life found ends in this tick or later.
    pub fn solve_until(&mut self, world: &World, state: &State, enough_tick: u16, budget: Budget) -> Solution {
        if state.is_over() {
            let outcome = if state.is_complete() { Outcome::Survives } else { Outcome::Doomed };
            return Solution { outcome, moves: Vec::new(), final_tick: state.tick(), simulated_ticks: 0 };
        }
        self.root_at(world, state);
        let mut meter = BudgetMeter::new(budget);
        let mut has_grown = false;
        while self.best.outcome == Outcome::Undecided {
            match self.grow(world, &mut meter) {
                Growth::Grown if self.frontier[0].is_complete() => {
                    self.keep_line(Outcome::Survives, LAST_TICK + 1, None)
                }
                Growth::Grown => {
                    has_grown = true;
                    self.narrow();
                    if self.frontier[0].tick() >= enough_tick {
                        break;
                    }
                }
                Growth::Died(death) => self.die(death),
                Growth::Interrupted => {
                    // A layer so wide that a call cannot make one would never be made.
                    if !has_grown {
                        self.width = WIDTH_MIN;
                    }
                    break;
                }
            }
        }
        if self.best.outcome == Outcome::Undecided && self.frontier[0].tick() > self.best.final_tick {
            self.keep_line(Outcome::Undecided, self.frontier[0].tick(), None);
        }
        Solution { simulated_ticks: meter.ticks(), ..self.best.clone() }
    }

    /// Makes `state` the root: keeps what is known of it, or starts anew.
    fn root_at(&mut self, world: &World, state: &State) {
        if self.root.as_ref() == Some(state) {
            return;
        }
        let played = self.root.as_ref().and_then(|root| {
            world.moves(root).find(|&player_move| {
                let mut successor = root.clone();
                world.step(&mut successor, player_move);
                successor == *state
            })
        });
        if !played.is_some_and(|player_move| self.follow(player_move, state)) {
            let random = self.random.clone();
            *self = Self { random, ..Self::new(self.options) };
            self.plant(state);
            self.best.final_tick = state.tick();
        }
        self.root = Some(state.clone());
    }

    /// Takes a step from the root: keeps what comes after it. Returns whether anything is left.
    fn follow(&mut self, player_move: Move, root: &State) -> bool {
        let on_plan = self.best.moves.first() == Some(&player_move);
        if self.best.outcome != Outcome::Undecided {
            if on_plan {
                self.best.moves.remove(0);
            }
            return on_plan;
        }
        if on_plan {
            self.best.moves.remove(0);
        } else {
            self.best.moves.clear();
            self.best.final_tick = root.tick();
        }
        self.keep_descendants(player_move, root)
    }

    /// Makes a layer of a state alone.
    fn plant(&mut self, root: &State) {
        self.layers.push(Layer { first_node: 0, first_kept: 0, is_checkpoint: true, complete: true });
        self.nodes.push(Node { parent: 0, player_move: Move::Stay });
        self.kept.push(root.clone());
        self.frontier.push(root.clone());
    }

    /// Drops every node that does not come from the root by `player_move`, and goes back to the last layer whose states are known.
    fn keep_descendants(&mut self, player_move: Move, root: &State) -> bool {
        let (layers, nodes, kept) =
            (std::mem::take(&mut self.layers), std::mem::take(&mut self.nodes), std::mem::take(&mut self.kept));
        self.frontier.clear();
        self.plant(root);
        // Where the nodes of the layer before went; those of the first layer went to the new root, or nowhere.
        let mut places: Vec<Option<u32>> = Vec::new();
        for (depth, layer) in layers.iter().enumerate().skip(1) {
            let nodes_end = layers.get(depth + 1).map_or(nodes.len(), |next| next.first_node);
            let of_layer = &nodes[layer.first_node..nodes_end];
            if depth == 1 {
                places = of_layer.iter().map(|node| (node.player_move == player_move).then_some(0)).collect();
                continue;
            }
            let (first_node, first_kept) = (self.nodes.len(), self.kept.len());
            let mut next_places = Vec::with_capacity(of_layer.len());
            for (index, node) in of_layer.iter().enumerate() {
                let place = places[node.parent as usize].map(|parent| {
                    self.nodes.push(Node { parent, ..*node });
                    if layer.is_checkpoint {
                        self.kept.push(kept[layer.first_kept + index].clone());
                    }
                    (self.nodes.len() - first_node - 1) as u32
                });
                next_places.push(place);
            }
            if self.nodes.len() == first_node {
                break;
            }
            self.layers.push(Layer { first_node, first_kept, ..*layer });
            places = next_places;
        }
        self.caution_until = self.caution_until.saturating_sub(1);
        self.go_back_to(self.layers.len() - 1);
        places.iter().any(Option::is_some)
    }

    /// Goes back to the last layer at or before `depth` whose states are known.
    fn go_back_to(&mut self, depth: usize) {
        let nodes_end =
            |layers: &[Layer], depth: usize, all: usize| layers.get(depth + 1).map_or(all, |next| next.first_node);
        let depth = (0..=depth).rev().find(|&depth| self.layers[depth].is_checkpoint).unwrap_or(0);
        let layer = self.layers[depth];
        self.nodes.truncate(nodes_end(&self.layers, depth, self.nodes.len()));
        self.layers.truncate(depth + 1);
        self.kept.truncate(layer.first_kept + self.nodes.len() - layer.first_node);
        self.frontier.clear();
        self.frontier.extend_from_slice(&self.kept[layer.first_kept..]);
    }

    /// The beam is past the place where it died: it can be narrow again.
    fn narrow(&mut self) {
        if self.layers.len() > self.caution_until {
            self.width = WIDTH_MIN;
            self.retreat_ticks = RETREAT_MIN_TICKS;
        }
    }

    /// Nothing lives beyond the last layer: that is a proof, or a reason to go back and look wider.
    fn die(&mut self, death: Death) {
        let depth = self.layers.len() - 1;
        if death.final_tick > LAST_TICK {
            // Caught in the last tick, which is too late to matter: the game is complete.
            self.keep_line(Outcome::Survives, death.final_tick, Some(death));
            return;
        }
        if self.layers[depth].complete {
            self.keep_line(Outcome::Doomed, death.final_tick, Some(death));
            return;
        }
        if death.final_tick > self.best.final_tick {
            self.keep_line(Outcome::Undecided, death.final_tick, Some(death));
        }
        self.caution_until = self.caution_until.max(depth + CAUTION_TICKS);
        self.go_back_to(depth.saturating_sub(self.retreat_ticks));
        // A beam that fills the memory on its way is too wide to arrive; the next attempt is one that fits.
        let is_squeezed = std::mem::take(&mut self.is_squeezed);
        self.width = if is_squeezed { (self.width / 4).max(WIDTH_MIN) } else { self.width.saturating_mul(2) };
        self.retreat_ticks = self.retreat_ticks.saturating_mul(2);
    }

    /// Writes down the line to a state of the last layer, and a last move from there, as the best known.
    fn keep_line(&mut self, outcome: Outcome, final_tick: u16, death: Option<Death>) {
        let mut moves: Vec<Move> = death.map(|death| death.last_move).into_iter().collect();
        let mut place = death.map_or(0, |death| death.parent);
        for layer in self.layers[1..].iter().rev() {
            let node = self.nodes[layer.first_node + place as usize];
            moves.push(node.player_move);
            place = node.parent;
        }
        moves.reverse();
        self.best = Solution { outcome, moves, final_tick, simulated_ticks: 0 };
    }

    /// Makes the next layer from the last one.
    fn grow(&mut self, world: &World, meter: &mut BudgetMeter) -> Growth {
        let affordable_width = self.affordable_width(world);
        let width = self.width.min(affordable_width);
        self.is_squeezed |= affordable_width < self.width;
        self.next.clear();
        let first_node = self.nodes.len();
        let mut longest: Option<Death> = None;
        let mut complete = self.layers[self.layers.len() - 1].complete;
        self.drawing.begin(world, &self.frontier, width);
        while let Some(candidate) = self.drawing.draw(world, &self.frontier, &mut self.random) {
            if self.next.len() == width {
                complete = false;
                break;
            }
            if meter.tick().is_err() {
                self.nodes.truncate(first_node);
                return Growth::Interrupted;
            }
            let parent = &self.frontier[candidate.parent as usize];
            let mut state = parent.clone();
            world.step(&mut state, candidate.player_move);
            if state.is_caught() {
                if longest.is_none_or(|death| state.tick() > death.final_tick) {
                    longest = Some(Death {
                        final_tick: state.tick(),
                        parent: candidate.parent,
                        last_move: candidate.player_move,
                    });
                }
            } else if self.drawing.is_new(world, &state, &self.next) {
                self.next.push(state);
                self.nodes.push(candidate);
            }
        }
        if let Some(death) = longest.filter(|_| self.next.is_empty()) {
            return Growth::Died(death);
        }
        std::mem::swap(&mut self.frontier, &mut self.next);
        let is_checkpoint = self.layers.len().is_multiple_of(CHECKPOINT_TICKS);
        self.layers.push(Layer { first_node, first_kept: self.kept.len(), is_checkpoint, complete });
        if is_checkpoint {
            self.kept.extend_from_slice(&self.frontier);
        }
        Growth::Grown
    }

    /// How many states a layer may have before memory runs out. A quarter of the memory is for the layer in the making, where a state is
    /// parent and child, with five candidates in two lists and four places in the table of fingerprints; the rest is for what is
    /// kept of each layer. A vector that grows may take twice what it holds.
    fn affordable_width(&self, world: &World) -> usize {
        let making_bytes = self.options.memory_max_bytes / 4;
        let made_bytes = 2 * world.state_bytes() + 10 * size_of::<Node>() + 4 * size_of::<(u64, u32)>();
        let kept_bytes = self.kept.len() * world.state_bytes() + self.nodes.len() * size_of::<Node>();
        let keeping_bytes = (self.options.memory_max_bytes - making_bytes).saturating_sub(2 * kept_bytes);
        let layer_bytes = world.state_bytes() + size_of::<Node>();
        (making_bytes / (2 * made_bytes)).min(keeping_bytes / (2 * layer_bytes)).max(1)
    }
}

/// Draws the moves that make a layer: in random order, first at most a share of them to each tile of the player, then the rest.
#[derive(Debug, Default)]
struct Drawing {
    candidates: Vec<Node>,
    /// Candidates whose tile had its share.
    passed_over: Vec<Node>,
    drawn: usize,
    /// Whether everything fits, so that order and shares do not matter.
    roomy: bool,
    share: u32,
    /// By tile of the player: how many candidates were drawn to it, in the layer whose number stands beside.
    shares: Vec<(u32, u32)>,
    layer: u32,
    /// Fingerprints of the layer's states, open addressing; an entry counts if it carries the layer's number.
    known: Vec<(u64, u32)>,
    /// Fingerprints are not needed while each tile of the player is drawn once.
    fingerprinted: usize,
}

impl Drawing {
    /// Lists every move from every state.
    fn begin(&mut self, world: &World, frontier: &[State], width: usize) {
        self.candidates.clear();
        self.passed_over.clear();
        self.drawn = 0;
        for (parent, state) in frontier.iter().enumerate() {
            let parent = parent as u32;
            self.candidates.extend(world.moves(state).map(|player_move| Node { parent, player_move }));
        }
        self.roomy = self.candidates.len() <= width;
        self.share = (width / TILE_SHARE + 1) as u32;
        self.layer += 1;
        self.fingerprinted = 0;
        self.shares.resize(world.open_tiles(), (0, 0));
        let entries = (2 * self.candidates.len().min(width)).next_power_of_two();
        if self.known.len() < entries {
            self.known = vec![(0, 0); entries];
        }
    }

    /// The next move to try, if there is one.
    #[inline]
    fn draw(&mut self, world: &World, frontier: &[State], random: &mut Generator) -> Option<Node> {
        loop {
            if self.drawn == self.candidates.len() {
                if self.passed_over.is_empty() {
                    return None;
                }
                std::mem::swap(&mut self.candidates, &mut self.passed_over);
                self.passed_over.clear();
                self.drawn = 0;
                self.share = u32::MAX;
            }
            if !self.roomy {
                let picked = self.drawn + below(random, self.candidates.len() - self.drawn);
                self.candidates.swap(self.drawn, picked);
            }
            let candidate = self.candidates[self.drawn];
            self.drawn += 1;
            if self.roomy || self.has_share(world, frontier, candidate) {
                return Some(candidate);
            }
            self.passed_over.push(candidate);
        }
    }

    /// Whether the tile that a candidate leads to has a share left, which it then takes.
    #[inline]
    fn has_share(&mut self, world: &World, frontier: &[State], candidate: Node) -> bool {
        let tile = world.tile_after(&frontier[candidate.parent as usize], candidate.player_move);
        let (layer, taken) = &mut self.shares[usize::from(tile)];
        if *layer != self.layer {
            (*layer, *taken) = (self.layer, 0);
        }
        *taken += 1;
        *taken <= self.share
    }

    /// Whether the layer, whose states so far are given, does not hold this state yet.
    #[inline]
    fn is_new(&mut self, world: &World, state: &State, states: &[State]) -> bool {
        if self.share == 1 && !self.roomy {
            return true;
        }
        while self.fingerprinted < states.len() {
            self.insert(world.fingerprint(&states[self.fingerprinted]));
            self.fingerprinted += 1;
        }
        let is_new = self.insert(world.fingerprint(state));
        self.fingerprinted += usize::from(is_new);
        is_new
    }

    #[inline]
    fn insert(&mut self, fingerprint: u64) -> bool {
        let mask = self.known.len() - 1;
        let mut place = fingerprint as usize & mask;
        while self.known[place].1 == self.layer {
            if self.known[place].0 == fingerprint {
                return false;
            }
            place = (place + 1) & mask;
        }
        self.known[place] = (fingerprint, self.layer);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::game::{Layout, Rules};

    const RING: &str = "
        #########
        #P......#
        #.##.##.#
        #..s...b#
        #.##.##.#
        #......g#
        #########";

    fn world(drawing: &str, rules: &Rules) -> World {
        World::new(&Layout::parse(drawing).unwrap(), &rules).unwrap()
    }

    fn options(seed: u64) -> SurvivalOptions {
        SurvivalOptions { seed, ..SurvivalOptions::default() }
    }

    /// Where the moves of a solution lead.
    fn replay(world: &World, from: &State, solution: &Solution) -> State {
        let mut state = from.clone();
        for &player_move in &solution.moves {
            assert!(!state.is_over(), "no move comes after the end");
            world.step(&mut state, player_move);
        }
        state
    }

    #[test]
    fn a_dead_end_street_is_doomed_and_the_longest_life_is_found() {
        let world = world("####\n#P.s\n####", &Rules::NO_JUMP);
        let solution = Survival::new(options(1)).solve(&world, &world.start(), Budget::UNLIMITED);
        assert_eq!(solution.outcome, Outcome::Doomed);
        let end = replay(&world, &world.start(), &solution);
        assert!(end.is_caught());
        // The shark moves on ticks 5 and 10: staying in the corner is caught by its second move, which ends the game at tick 11.
        assert_eq!((end.tick(), solution.final_tick), (11, 11));
    }

    #[test]
    fn a_search_goes_on_where_it_stopped() {
        for rules in [Rules::BLITZ_2025, Rules::NO_JUMP] {
            let world = world(RING, &rules);
            let mut survival = Survival::new(options(3));
            let mut state = world.start();
            while !state.is_over() {
                let solution = survival.solve(&world, &state, Budget::ticks(40));
                assert!(solution.simulated_ticks <= 40);
                assert_eq!(replay(&world, &state, &solution).tick(), solution.final_tick);
                world.step(&mut state, solution.moves.first().copied().unwrap_or(Move::Stay));
            }
            assert_eq!(state.tick(), LAST_TICK + 1, "forty states a tick are enough when none is looked at twice");
        }
    }

    #[test]
    fn a_root_elsewhere_starts_anew() {
        let world = world(RING, &Rules::BLITZ_2025);
        let mut survival = Survival::new(options(5));
        survival.solve(&world, &world.start(), Budget::UNLIMITED);
        let mut elsewhere = world.start();
        for player_move in [Move::Down, Move::Down, Move::Right] {
            world.step(&mut elsewhere, player_move);
        }
        let solution = survival.solve(&world, &elsewhere, Budget::UNLIMITED);
        assert_eq!(solution.outcome, Outcome::Survives);
        assert_eq!(replay(&world, &elsewhere, &solution).tick(), LAST_TICK + 1);
    }

    #[test]
    fn the_seed_and_the_limit_decide_the_answer() {
        let world = world(RING, &Rules::NO_JUMP);
        let solve = |seed| Survival::new(options(seed)).solve(&world, &world.start(), Budget::ticks(5_000));
        assert_eq!(solve(1), solve(1));
        assert_ne!(solve(1).moves, solve(2).moves);
    }

    #[test]
    fn memory_stays_below_its_bound() {
        let world = world("..........\n.o......o.\n..........\n....P.....\n..........\n.o......h.", &Rules::BLITZ_2025);
        let memory_max_bytes = 2_000_000;
        let mut survival = Survival::new(SurvivalOptions { seed: 1, memory_max_bytes });
        survival.solve(&world, &world.start(), Budget::ticks(1));
        survival.width = usize::MAX;
        survival.caution_until = usize::MAX;
        let solution = survival.solve(&world, &world.start(), Budget::ticks(400_000));
        assert!(survival.nodes.capacity() > 5_000, "layers were wide: {}", survival.nodes.capacity());
        assert_eq!(replay(&world, &world.start(), &solution).tick(), solution.final_tick);
        let drawing = &survival.drawing;
        let states = survival.kept.capacity() + survival.frontier.capacity() + survival.next.capacity();
        let nodes = survival.nodes.capacity() + drawing.candidates.capacity() + drawing.passed_over.capacity();
        let bytes = states * world.state_bytes()
            + nodes * size_of::<Node>()
            + drawing.known.capacity() * size_of::<(u64, u32)>();
        assert!(bytes <= memory_max_bytes, "{bytes}");
    }
}
