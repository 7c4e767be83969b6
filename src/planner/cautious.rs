//! `cautious`: does not predict the threats, but assumes that they can go anywhere at the real
//! server's pace. A *safe path* enters each of its tiles before the *earliest arrival* of any threat
//! there. Filters narrow down the moves, one criterion after another: safe in this tick, safe for long,
//! not into a dead end, with ample room, not backwards, and onto a tile where threats arrive late.

use std::collections::{BTreeMap, HashSet};

use super::layer::Layer;
use super::terrain::{Terrain, move_delays, steps_delay};
use super::{Budget, Choice, Planner, PlannerError, Source, meter_with_default};
use crate::game::{Clock, LAST_TICK, Layout, Move, Mover, Position, Rules, State, UNREACHED, World};
use crate::search::Random;

const HORIZON_TICKS: u16 = 40;
const LAYER_STATES_MAX: usize = 384;
/// Moves that are safe for at least this long count as equally safe.
const LONG_LIFE_TICKS: u16 = 4;
/// A tile's *lead* is the number of ticks from the player's arrival to the first threat's arrival.
/// Longer leads count as this many ticks.
pub(super) const LEAD_TICKS_MAX: u16 = 4;

/// The observed position and pace of a threat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ObservedThreat {
    /// The position of the threat. A threat that is not on an open tile is ignored.
    pub position: Position,
    /// The number of ticks from one move of the threat to the next. The next move may come as early
    /// as the observed tick. `None` for a threat that moves by the server's clock.
    pub period_ticks: Option<u8>,
}

impl ObservedThreat {
    /// Creates a threat that moves by the server's clock.
    pub const fn at(position: Position) -> Self {
        Self { position, period_ticks: None }
    }
}

/// An observation at the start of a tick.
#[derive(Clone, Copy, Debug)]
pub struct Sighting<'a> {
    /// The tick about to be played. It determines when threats that follow the server's clock move.
    pub tick: u16,
    /// The player's position.
    pub player: Position,
    /// The observed threats.
    pub threats: &'a [ObservedThreat],
}

/// Chooses moves by the criteria of `cautious`. Keeps the tables of the last map and the player's
/// last position.
#[derive(Clone, Debug)]
pub struct CautiousRules {
    terrain: Option<Terrain>,
    /// The real server's clock, because a [`Sighting`] does not include the rules of the game.
    clock: Clock,
    random: Random,
    last: Option<(u16, Position)>,
    arrivals: Vec<u16>,
    steps: Vec<u16>,
}

impl Default for CautiousRules {
    fn default() -> Self {
        Self::new()
    }
}

#[derive(Clone, Copy, Debug)]
struct MoveCriteria {
    player_move: Move,
    /// The length, in ticks, of the longest safe path found with this first move; 0 if there is
    /// none.
    life_ticks: u16,
    avoids_dead_end: bool,
    /// The sum of the player's leads, each at most [`LEAD_TICKS_MAX`], on all tiles of safe paths.
    /// With predictions, the number of tiles that safe paths reach in the last tick of the search.
    room: u32,
    keeps_direction: bool,
    arrival: u16,
}

impl MoveCriteria {
    /// Returns the values of the criteria, the most important first. Higher values are better.
    fn ranks(&self) -> [u32; 6] {
        [
            u32::from(self.life_ticks > 0),
            u32::from(self.life_ticks.min(LONG_LIFE_TICKS)),
            u32::from(self.avoids_dead_end),
            self.room,
            u32::from(self.keeps_direction),
            u32::from(self.arrival),
        ]
    }
}

const SHORTLIST_FILTERS: usize = 3;

impl CautiousRules {
    /// Creates rules without tables. The first choice builds the tables for its map.
    pub fn new() -> Self {
        Self {
            terrain: None,
            clock: Clock::new(&Rules::BLITZ_2025),
            random: Random::from_seed(0),
            last: None,
            arrivals: Vec::new(),
            steps: Vec::new(),
        }
    }

    /// Chooses a move. Chooses to stay if the player is not on an open tile. If the threats keep
    /// their pace, the player can stay alive at least until the start of the choice's
    /// `planned_tick`.
    pub fn choose(&mut self, layout: &Layout, sighting: &Sighting) -> Choice {
        choice_of(sighting.tick, &self.criteria(layout, sighting))
    }

    /// Returns the moves that pass the first [`SHORTLIST_FILTERS`] filters, as a bit mask; 0 if the
    /// player is not on an open tile.
    pub(super) fn shortlist(&mut self, layout: &Layout, sighting: &Sighting) -> u8 {
        let criteria = self.criteria(layout, sighting);
        let best = criteria.iter().map(MoveCriteria::ranks).max().unwrap_or_default();
        let is_listed = |criteria: &&MoveCriteria| criteria.ranks().starts_with(&best[..SHORTLIST_FILTERS]);
        criteria.iter().filter(is_listed).fold(0, |bits, criteria| bits | 1 << criteria.player_move as u8)
    }

    fn criteria(&mut self, layout: &Layout, sighting: &Sighting) -> Vec<MoveCriteria> {
        let Sighting { tick, player, threats } = *sighting;
        let came_from = self.observe(layout, tick, player, threats);
        let Self { terrain, arrivals, steps, .. } = self;
        let Some((terrain, tile)) =
            terrain.as_mut().and_then(|terrain| terrain.graph.tile(player).map(|tile| (terrain, tile)))
        else {
            return Vec::new();
        };
        let moves: Vec<(Move, u16)> = terrain.moves(tile).collect();
        moves
            .into_iter()
            .map(|(player_move, next)| {
                let arrival = arrivals[usize::from(next)];
                let starts = (arrival > 1).then_some((next, 1));
                terrain
                    .distances_where(Mover::Player, starts, steps, |tile, ticks| ticks < arrivals[usize::from(tile)]);
                let reached = || (0..steps.len()).filter(|&tile| steps[tile] != UNREACHED);
                MoveCriteria {
                    player_move,
                    life_ticks: reached().map(|tile| arrivals[tile] - 1).max().unwrap_or(0),
                    avoids_dead_end: reached().any(|tile| !terrain.is_dead_end(tile as u16)),
                    room: reached().map(|tile| u32::from(LEAD_TICKS_MAX.min(arrivals[tile] - steps[tile]))).sum(),
                    keeps_direction: came_from != Some(next),
                    arrival,
                }
            })
            .collect()
    }

    /// Chooses a move by a search up to 40 ticks ahead. `world` and `state` (see
    /// [`World::state_at`]) contain only the modelled threats, whose moves are predicted. The
    /// search assumes that the `unmodelled` threats can go anywhere at their pace. Without modelled
    /// threats, the result is the same as that of [`choose`](Self::choose).
    pub fn choose_with_predictions(
        &mut self,
        world: &World,
        state: &State,
        unmodelled: &[ObservedThreat],
        budget: Budget,
    ) -> Choice {
        let (tick, player) = (state.tick(), world.player(state));
        if world.threat_count() == 0 {
            return self.choose(world.layout(), &Sighting { tick, player, threats: unmodelled });
        }
        let came_from = self.observe(world.layout(), tick, player, unmodelled);
        // The states on safe paths: no modelled threat catches the player, and unmodelled threats
        // cannot arrive first.
        let mut layer = Layer::default();
        layer.start(state);
        let mut life_ticks = [0; Move::ALL.len()];
        let mut meter = meter_with_default(budget);
        for ticks in 1..=HORIZON_TICKS.min(LAST_TICK + 1 - tick) {
            let is_safe = |state: &State, player_move: Move, _| {
                let tile = world.tile_after(state, player_move);
                let is_first = ticks < self.arrivals[usize::from(tile)];
                (!is_first || meter.tick().is_ok()).then_some(is_first)
            };
            if !layer.grow(world, is_safe, |_, _| ()) {
                break;
            }
            layer.sample(LAYER_STATES_MAX, &mut self.random);
            for player_move in Move::ALL.into_iter().filter(|&first| layer.after(first).next().is_some()) {
                life_ticks[player_move as usize] = ticks;
            }
        }
        let terrain = self.terrain.as_ref().expect("built by `observe` above");
        let criteria: Vec<MoveCriteria> = world
            .legal_moves(state)
            .map(|player_move| {
                let next = world.tile_after(state, player_move);
                let reached: HashSet<u16> =
                    layer.after(player_move).map(|state| world.tile_after(state, Move::Stay)).collect();
                MoveCriteria {
                    player_move,
                    life_ticks: life_ticks[player_move as usize],
                    avoids_dead_end: reached.iter().any(|&tile| !terrain.is_dead_end(tile)),
                    room: reached.len() as u32,
                    keeps_direction: came_from != Some(next),
                    arrival: self.arrivals[usize::from(next)],
                }
            })
            .collect();
        Choice { simulated_ticks: meter.ticks(), ..choice_of(tick, &criteria) }
    }

    /// Returns the earliest arrival of a threat at each open tile, in ticks from the start of
    /// `tick`: 0 on a threat's tile, `None` if no threat can arrive. Tiles ascend by x, then by y.
    pub fn arrivals(
        &mut self,
        layout: &Layout,
        tick: u16,
        threats: &[ObservedThreat],
    ) -> impl Iterator<Item = Option<u16>> {
        self.measure_arrivals(layout, tick, threats);
        self.arrivals.iter().map(|&arrival| (arrival != UNREACHED).then_some(arrival))
    }

    fn measure_arrivals(&mut self, layout: &Layout, tick: u16, threats: &[ObservedThreat]) {
        let terrain = Terrain::cached(&mut self.terrain, layout);
        let delays: Vec<u16> = move_delays(&self.clock, tick).take(terrain.graph.len()).collect();
        self.arrivals.clear();
        self.arrivals.resize(terrain.graph.len(), UNREACHED);
        // Search once per pace, because an observation may list over a thousand threats.
        let mut by_period: BTreeMap<Option<u8>, Vec<u16>> = BTreeMap::new();
        for threat in threats {
            if let Some(tile) = terrain.graph.tile(threat.position) {
                by_period.entry(threat.period_ticks).or_default().push(tile);
            }
        }
        for (period_ticks, tiles) in by_period {
            terrain.distances(Mover::Threat, tiles, &mut self.steps);
            for (arrival, &steps) in self.arrivals.iter_mut().zip(&self.steps) {
                *arrival = (*arrival).min(steps_delay(steps, period_ticks, &delays));
            }
        }
    }

    fn observe(&mut self, layout: &Layout, tick: u16, player: Position, threats: &[ObservedThreat]) -> Option<u16> {
        self.measure_arrivals(layout, tick, threats);
        let terrain = self.terrain.as_ref().expect("built by `measure_arrivals` above");
        let last = self.last.replace((tick, player));
        let before = last.filter(|&(before, position)| before + 1 == tick && position != player);
        before.and_then(|(_, position)| terrain.graph.tile(position))
    }
}

fn choice_of(tick: u16, criteria: &[MoveCriteria]) -> Choice {
    // Of several equal moves, the first wins.
    let first = criteria.iter().rev().max_by_key(|criteria| criteria.ranks());
    Choice {
        player_move: first.map_or(Move::Stay, |criteria| criteria.player_move),
        source: Source::Fallback,
        planned_tick: first.map(|criteria| tick.saturating_add(criteria.life_ticks)),
        simulated_ticks: 0,
    }
}

/// Plays the moves that [`CautiousRules::choose`] returns.
#[derive(Clone, Debug, Default)]
pub struct CautiousPlanner {
    caution: CautiousRules,
}

impl CautiousPlanner {
    /// Creates the planner.
    pub fn new() -> Self {
        Self::default()
    }
}

impl Planner for CautiousPlanner {
    fn decide(&mut self, world: &World, state: &State, _: Budget) -> Result<Choice, PlannerError> {
        let threats: Vec<ObservedThreat> =
            world.threats(state).map(|threat| ObservedThreat::at(threat.position)).collect();
        let sighting = Sighting { tick: state.tick(), player: world.player(state), threats: &threats };
        Ok(self.caution.choose(world.layout(), &sighting))
    }
}

#[cfg(test)]
mod tests;
