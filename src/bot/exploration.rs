//! Looks for see-through tiles, which the player cannot enter, before a plan leads onto one.
//!
//! Messages show see-through tiles like open tiles. An unvisited tile *refuses* the player if a
//! timely command to enter the tile has no effect. While a tile that has refused the player is
//! still unvisited, every unvisited open tile is an *unknown tile*. Before tick
//! [`EXPLORE_UNTIL_TICK`], the player tries to enter the nearest unknown tile, provided that the
//! player can survive for some time whether or not the tile refuses it.
//!
//! Without a safe exploring step, the planned step is kept if the player survives the game with
//! unknown tiles open (*optimistic*), and for some time with them closed (*pessimistic*).

use std::cell::{Cell, OnceCell, RefCell};

use crate::game::{BreadthFirst, LAST_TICK, Move, Mover, Position, State, Tile, World};
use crate::planner::{Choice, Source};
use crate::search::{Budget, BudgetMeter};

use super::lines::longest_survival;
use super::records::KnownMap;
use super::tracker::Tracker;

const EXPLORE_UNTIL_TICK: u16 = 700;
const PESSIMISTIC_TICKS: u16 = 60;
/// With an exploring step, the player must survive this many ticks, or the rest of the game, if
/// unknown tiles are open.
const OPTIMISTIC_TICKS: u16 = 300;
/// Searches on the bundled maps need far fewer states.
const OPTIMISTIC_STATES_MAX: u64 = 30_000;
const PESSIMISTIC_STATES_MAX: u64 = 4_000;

impl KnownMap {
    /// True if the unvisited tiles are unknown, because a tile has refused the player.
    pub fn should_explore(&self) -> bool {
        !self.refusals.is_empty() && !self.unvisited.is_empty()
    }
}

pub(super) struct Explorer<'a> {
    tracker: &'a Tracker,
    state: &'a State,
    seed: u64,
    meter: RefCell<BudgetMeter>,
    /// The last world with closed tiles, kept because a change of tiles takes longer than other
    /// changes.
    closed: &'a Cell<Option<World>>,
    /// The result of [`longest_survival`] on visited tiles after [`Move::Stay`].
    survival_staying: OnceCell<u16>,
}

impl<'a> Explorer<'a> {
    pub fn new(
        tracker: &'a Tracker,
        state: &'a State,
        closed: &'a Cell<Option<World>>,
        seed: u64,
        budget: Budget,
    ) -> Self {
        let meter = RefCell::new(BudgetMeter::new(budget));
        Self { tracker, state, seed, meter, closed, survival_staying: OnceCell::new() }
    }

    pub fn simulated_ticks(&self) -> u64 {
        self.meter.borrow().ticks()
    }

    /// Replaces an unsafe move of a surviving plan if a safer move is found. `ahead` are the moves of
    /// the plan after the chosen move.
    pub fn check(&self, choice: Choice, ahead: &[Move]) -> Choice {
        let moves = std::iter::once(choice.player_move).chain(ahead.iter().copied());
        if !choice.survives() || self.keeps_to_visited_tiles(moves) {
            return choice;
        }
        let changed = self.choose(choice.player_move).filter(|&player_move| player_move != choice.player_move);
        changed.map_or(choice, |player_move| Choice { player_move, source: Source::Search, ..choice })
    }

    /// True if the moves of a surviving plan keep to visited tiles for long enough, so that no search is
    /// necessary.
    fn keeps_to_visited_tiles(&self, moves: impl Iterator<Item = Move>) -> bool {
        let ticks = usize::from(self.target_tick() - self.state.tick());
        let mut at = self.tracker.player;
        let visits = moves.take(ticks).take_while(|&player_move| {
            at = at.after(player_move);
            !self.tracker.map.unvisited.contains(&at)
        });
        visits.count() == ticks
    }

    fn target_tick(&self) -> u16 {
        (self.state.tick() + PESSIMISTIC_TICKS).min(LAST_TICK + 1)
    }

    /// A safe exploring step, or `None` if none is found, or if it is too late in the game.
    pub fn exploring_step(&self) -> Option<Choice> {
        if self.state.tick() >= EXPLORE_UNTIL_TICK {
            return None;
        }
        let moves = self.tracker.beliefs.world.legal_moves(self.state);
        let onto = moves.filter(|&player_move| self.unknown_target(player_move).is_some());
        let towards = || self.approach().filter(|&player_move| self.unknown_target(player_move).is_none());
        let mut moves = onto.chain(std::iter::once_with(towards).flatten());
        let target_tick = self.target_tick();
        let optimistic_tick = (self.state.tick() + OPTIMISTIC_TICKS).min(LAST_TICK + 1);
        let player_move = moves.find(|&player_move| {
            self.pessimistic_survival(player_move) >= target_tick
                && self.survives_optimistic(player_move, optimistic_tick)
        })?;
        Some(Choice { player_move, source: Source::Search, planned_tick: Some(target_tick), simulated_ticks: 0 })
    }

    /// Returns the first step, starting with the planned step, that is safe in the optimistic and
    /// in the pessimistic world. If there is no such step, returns the step that survives longest
    /// in the pessimistic world among those that are safe in the optimistic world.
    fn choose(&self, planned: Move) -> Option<Move> {
        let others = self.tracker.beliefs.world.legal_moves(self.state).filter(|&player_move| player_move != planned);
        let is_known = |player_move| player_move == planned && self.unknown_target(planned).is_none();
        let survives = |player_move| is_known(player_move) || self.survives_optimistic(player_move, LAST_TICK + 1);
        let mut too_short: Vec<(u16, Move)> = Vec::new();
        for player_move in std::iter::once(planned).chain(others) {
            let final_tick = self.pessimistic_survival(player_move);
            if final_tick < self.target_tick() {
                too_short.push((final_tick, player_move));
            } else if survives(player_move) {
                return Some(player_move);
            }
        }
        too_short.sort_by_key(|&(final_tick, _)| std::cmp::Reverse(final_tick));
        too_short.into_iter().map(|(_, player_move)| player_move).find(|&player_move| survives(player_move))
    }

    fn survives_optimistic(&self, player_move: Move, until_tick: u16) -> bool {
        let survives = |world: &World, state: State, player_move: Move| {
            self.survival_after(world, state, player_move, OPTIMISTIC_STATES_MAX, until_tick) >= until_tick
        };
        if !survives(&self.tracker.beliefs.world, self.state.clone(), player_move) {
            return false;
        }
        let Some(target) = self.unknown_target(player_move) else { return true };
        self.world_without(std::iter::once(target)).is_some_and(|(world, state)| survives(&world, state, Move::Stay))
    }

    fn pessimistic_survival(&self, player_move: Move) -> u16 {
        let survival = |player_move: Move| {
            let Some((world, state)) = self.visited_world(player_move) else { return 0 };
            self.survival_after(&world, state, player_move, PESSIMISTIC_STATES_MAX, self.target_tick())
        };
        let survival_staying = || *self.survival_staying.get_or_init(|| survival(Move::Stay));
        match self.unknown_target(player_move) {
            Some(_) => survival(player_move).min(survival_staying()),
            None if player_move == Move::Stay => survival_staying(),
            None => survival(player_move),
        }
    }

    fn survival_after(
        &self,
        world: &World,
        mut state: State,
        player_move: Move,
        states_max: u64,
        target_tick: u16,
    ) -> u16 {
        if !state.is_over() {
            world.step_unchecked(&mut state, player_move);
        }
        longest_survival(world, &state, target_tick, (states_max, self.seed), &mut self.meter.borrow_mut())
    }

    fn unknown_target(&self, player_move: Move) -> Option<Position> {
        let target = self.tracker.player.towards(player_move.direction()?);
        self.tracker.map.unvisited.contains(&target).then_some(target)
    }

    fn approach(&self) -> Option<Move> {
        let Tracker { player, map, beliefs, .. } = self.tracker;
        let graph = beliefs.world.graph();
        let start = graph.tile(*player)?;
        let (mut search, mut steps) = (BreadthFirst::default(), Vec::new());
        let reached = search.fill(graph, Mover::Player, [(start, 0)], &mut steps, |_, _| true);
        let nearest = *reached.iter().find(|&&tile| map.unvisited.contains(&graph.position(tile)))?;
        let distances = graph.distances(Mover::Player, nearest);
        let steps = steps[usize::from(nearest)];
        let mut ways = graph.ways(Mover::Player, start);
        let is_on_path = |&(_, next): &(_, u16)| distances[usize::from(next)].saturating_add(1) == steps;
        ways.find(is_on_path).map(|(direction, _)| Move::from(direction))
    }

    fn visited_world(&self, player_move: Move) -> Option<(World, State)> {
        let player = self.tracker.player;
        let target = player.after(player_move);
        self.world_without(self.tracker.map.unvisited.iter().copied().filter(|&position| position != target))
    }

    fn world_without(&self, tiles: impl Iterator<Item = Position>) -> Option<(World, State)> {
        let Tracker { tick, player, beliefs, .. } = self.tracker;
        let mut layout = beliefs.layout.clone();
        tiles.for_each(|position| layout.set_tile(position, Tile::SeeThrough));
        let cached = self.closed.take().filter(|world| world.rules() == beliefs.world.rules());
        let mut world = cached.unwrap_or_else(|| beliefs.world.clone());
        world.set_layout(&layout).ok()?;
        self.closed.set(Some(world.clone()));
        let state = world.state_at(*tick, *player, &beliefs.best).ok()?;
        Some((world, state))
    }
}
