//! `cautious`: no prediction at all. What a threat *could* do decides, for when what it *will* do is not known.
//!
//! The *timing* of a tile is the earliest moment at which any threat could stand there if it only tried: its steps to the tile, at the pace of the
//! threats. A *safe walk* enters each tile before its timing. The moves then pass through a cascade of filters, each of which keeps the best
//! by one measure and hands them on: not caught in this tick, a life that is not short, not into a dead end, the most room, not straight back.
//!
//! [`Caution`] is the core and takes positions only, so that it works against threats of any kind, on a server that keeps other rules. Threats that
//! *are* predictable can be predicted beside those that are not: see [`Caution::choose_beside`].

use std::collections::{BTreeMap, HashSet};

use rand_pcg::rand_core::SeedableRng;

use super::streets::{Streets, Timetable, UNREACHED, Walker};
use super::{Budget, Choice, Planner, Source, meter_with_default};
use crate::game::{Layout, Move, Position, State, World};
use crate::search::{BudgetMeter, Generator, below};

/// How far ahead walks are followed where some threats are predicted.
const HORIZON_TICKS: u16 = 40;
/// The most states of a tick that are followed there.
const LAYER_STATES_MAX: usize = 384;
/// Lives are compared up to this length; beyond, room counts for more. Longer and shorter ones did worse on most maps.
const LONG_LIFE_TICKS: u16 = 4;
/// Being ahead of the threats on a tile counts up to so many ticks.
const AHEAD_TICKS_MAX: u16 = 4;

/// A threat of which nothing is known but where it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pursuer {
    /// Where it stands. Off the streets it is ignored.
    pub position: Position,
    /// Ticks from one of its moves to the next, the first being possible at once; without, it moves when the server's clock lets threats move.
    pub period_ticks: Option<u8>,
}

impl Pursuer {
    /// A threat that moves when the server's clock lets threats move.
    pub const fn at(position: Position) -> Self {
        Self { position, period_ticks: None }
    }
}

/// What there is to see at the start of a tick.
#[derive(Clone, Copy, Debug)]
pub struct Sighting<'a> {
    /// The tick that is about to be played; only the threats' pace depends on it.
    pub tick: u16,
    /// Where the player is.
    pub player: Position,
    /// Where the threats are.
    pub pursuers: &'a [Pursuer],
}

/// Chooses moves from positions alone. It keeps the tables of one map, and where the player was, so as not to run to and fro.
#[derive(Clone, Debug)]
pub struct Caution {
    streets: Option<Streets>,
    timetable: Timetable,
    random: Generator,
    /// The last tick seen, and where the player was then.
    last: Option<(u16, Position)>,
    timings: Vec<u16>,
    steps: Vec<u16>,
}

impl Default for Caution {
    fn default() -> Self {
        Self::new()
    }
}

/// What is known about a move. More is better, in every field.
#[derive(Clone, Copy, Debug)]
struct Verdict {
    player_move: Move,
    /// For how many ticks from now a walk that begins so is safe; 0 if this tick is not.
    life_ticks: u16,
    /// Whether such a walk gets somewhere that is no dead end.
    gets_out: bool,
    /// The tiles that such walks reach, and by how many ticks they are ahead of the threats there.
    room: u32,
    /// Whether the move does not undo the last one.
    goes_on: bool,
    /// The timing of the tile that it leads to.
    timing: u16,
}

/// A filter's measure of a move.
type Measure = fn(&Verdict) -> u32;

/// The filters, in the order in which they are applied.
const CASCADE: [Measure; 6] = [
    |verdict| u32::from(verdict.life_ticks > 0),
    |verdict| u32::from(verdict.life_ticks.min(LONG_LIFE_TICKS)),
    |verdict| u32::from(verdict.gets_out),
    |verdict| verdict.room,
    |verdict| u32::from(verdict.goes_on),
    |verdict| u32::from(verdict.timing),
];

impl Caution {
    /// A core that has seen no map yet.
    pub fn new() -> Self {
        Self {
            streets: None,
            timetable: Timetable::new(),
            random: Generator::seed_from_u64(0),
            last: None,
            timings: Vec::new(),
            steps: Vec::new(),
        }
    }

    /// The move to make, from the map and from what there is to see. `planned_tick` is how long a safe walk lasts.
    ///
    /// Takes some tens of microseconds. A player that stands on no open tile stays.
    pub fn choose(&mut self, layout: &Layout, sighting: &Sighting) -> Choice {
        let Sighting { tick, player, pursuers } = *sighting;
        let came_from = self.look(layout, tick, player, pursuers);
        let Self { streets, timings, steps, .. } = self;
        let Some((streets, tile)) =
            streets.as_mut().and_then(|streets| streets.tile(player).map(|tile| (streets, tile)))
        else {
            return choice_of(tick, &[]);
        };
        let moves: Vec<(Move, u16)> = streets.moves(tile).collect();
        let verdicts: Vec<Verdict> = moves
            .into_iter()
            .map(|(player_move, next)| {
                let timing = timings[usize::from(next)];
                // After `made` ticks the player is there, and so could a threat be from the end of tick `timing` on.
                let starts = (timing > 1).then_some((next, 1));
                streets.measure_safe(Walker::Player, starts, steps, |tile, made| made < timings[usize::from(tile)]);
                let reached = || (0..steps.len()).filter(|&tile| steps[tile] != UNREACHED);
                Verdict {
                    player_move,
                    life_ticks: reached().map(|tile| timings[tile] - 1).max().unwrap_or(0),
                    gets_out: reached().any(|tile| !streets.is_dead_end(tile as u16)),
                    room: reached().map(|tile| u32::from(AHEAD_TICKS_MAX.min(timings[tile] - steps[tile]))).sum(),
                    goes_on: came_from != Some(next),
                    timing,
                }
            })
            .collect();
        choice_of(tick, &verdicts)
    }

    /// The move to make where some threats are predictable and others are not: `world` is the map with the predictable threats alone and `state`
    /// where they stand (see [`World::state_at`]); `strangers` are all the others, of whom the worst is expected.
    ///
    /// Follows the predictions some tens of ticks ahead, as far as the limit lets it. With no strangers it is an honest search, with nothing
    /// to predict it is [`choose`](Self::choose).
    pub fn choose_beside(&mut self, world: &World, state: &State, strangers: &[Pursuer], budget: Budget) -> Choice {
        let (tick, player) = (state.tick(), world.player(state));
        if world.threat_count() == 0 {
            return self.choose(world.layout(), &Sighting { tick, player, pursuers: strangers });
        }
        let came_from = self.look(world.layout(), tick, player, strangers);
        let mut walks = Walks::new(world, state, &self.timings);
        let mut meter = meter_with_default(budget);
        for _ in 0..HORIZON_TICKS.min(crate::game::LAST_TICK + 1 - tick) {
            if !walks.grow(&mut self.random, &mut meter) {
                break;
            }
        }
        let streets = self.streets.as_ref().expect("looked at just now");
        let verdicts: Vec<Verdict> = world
            .moves(state)
            .map(|player_move| {
                let next = world.tile_after(state, player_move);
                let reached = walks.tiles_reached(player_move);
                Verdict {
                    player_move,
                    life_ticks: walks.life_ticks[player_move as usize],
                    gets_out: reached.iter().any(|&tile| !streets.is_dead_end(tile)),
                    room: reached.len() as u32,
                    goes_on: came_from != Some(next),
                    timing: self.timings[usize::from(next)],
                }
            })
            .collect();
        Choice { simulated_ticks: meter.ticks(), ..choice_of(tick, &verdicts) }
    }

    /// The timing of each open tile, by x, then by y: for how many ticks from the start of `tick` it is certain that none of the pursuers stands
    /// there, whatever they do. 0 where one stands; `None` where none ever comes.
    pub fn timings(&mut self, layout: &Layout, tick: u16, pursuers: &[Pursuer]) -> impl Iterator<Item = Option<u16>> {
        self.measure_timings(layout, tick, pursuers);
        self.timings.iter().map(|&timing| (timing != UNREACHED).then_some(timing))
    }

    fn measure_timings(&mut self, layout: &Layout, tick: u16, pursuers: &[Pursuer]) {
        let streets = Streets::refresh(&mut self.streets, layout);
        let delays: Vec<u16> = self.timetable.delays(tick).take(streets.len()).collect();
        self.timings.clear();
        self.timings.resize(streets.len(), UNREACHED);
        // Threats that keep the same time are measured at once: the nearest of them is the first. A message may show more than a thousand.
        let mut companies: BTreeMap<Option<u8>, Vec<u16>> = BTreeMap::new();
        for pursuer in pursuers {
            if let Some(tile) = streets.tile(pursuer.position) {
                companies.entry(pursuer.period_ticks).or_default().push(tile);
            }
        }
        for (period_ticks, tiles) in companies {
            streets.measure(Walker::Threat, tiles, &mut self.steps);
            for (timing, &steps) in self.timings.iter_mut().zip(&self.steps) {
                let at = match (steps, period_ticks) {
                    (UNREACHED, _) => UNREACHED,
                    (0, _) => 0,
                    (steps, Some(period)) => (steps - 1).saturating_mul(u16::from(period)).saturating_add(1),
                    (steps, None) => delays.get(usize::from(steps) - 1).copied().unwrap_or(UNREACHED),
                };
                *timing = (*timing).min(at);
            }
        }
    }

    /// Takes in what there is to see: fills `timings`, and says where the player came from if he has just moved.
    fn look(&mut self, layout: &Layout, tick: u16, player: Position, pursuers: &[Pursuer]) -> Option<u16> {
        self.measure_timings(layout, tick, pursuers);
        let streets = self.streets.as_ref().expect("measured just now");
        let last = self.last.replace((tick, player));
        let before = last.filter(|&(before, position)| before + 1 == tick && position != player);
        before.and_then(|(_, position)| streets.tile(position))
    }
}

/// Passes the moves through the cascade.
fn choice_of(tick: u16, verdicts: &[Verdict]) -> Choice {
    let mut left = verdicts.to_vec();
    for measure in CASCADE {
        let best = left.iter().map(measure).max();
        left.retain(|verdict| Some(measure(verdict)) == best);
    }
    let first = left.first();
    Choice {
        player_move: first.map_or(Move::Stay, |verdict| verdict.player_move),
        source: Source::Fallback,
        planned_tick: first.map(|verdict| tick.saturating_add(verdict.life_ticks)),
        simulated_ticks: 0,
    }
}

/// The walks that are safe from strangers by their timings and from the others by prediction, followed a tick at a time.
struct Walks<'a> {
    world: &'a World,
    timings: &'a [u16],
    layer: Vec<Walk>,
    ticks: u16,
    /// By first move, for how many ticks a walk goes on.
    life_ticks: [u16; Move::ALL.len()],
}

/// A state, and which first moves lead to it: a bit a move.
struct Walk {
    state: State,
    first_moves: u8,
}

impl<'a> Walks<'a> {
    fn new(world: &'a World, state: &State, timings: &'a [u16]) -> Self {
        let layer = vec![Walk { state: state.clone(), first_moves: 0 }];
        Self { world, timings, layer, ticks: 0, life_ticks: [0; Move::ALL.len()] }
    }

    /// Follows all walks for one more tick; false if none goes on or the limit came first.
    fn grow(&mut self, random: &mut Generator, meter: &mut BudgetMeter) -> bool {
        let mut next: Vec<Walk> = Vec::new();
        let mut known: Vec<(u64, usize)> = Vec::new();
        for walk in &self.layer {
            for player_move in self.world.moves(&walk.state) {
                let tile = self.world.tile_after(&walk.state, player_move);
                if self.ticks + 1 >= self.timings[usize::from(tile)] {
                    continue;
                }
                let mut state = walk.state.clone();
                if meter.tick().is_err() {
                    return false;
                }
                self.world.step(&mut state, player_move);
                if !state.is_caught() {
                    let first_moves = if self.ticks == 0 { 1 << player_move as u8 } else { walk.first_moves };
                    known.push((self.world.fingerprint(&state), next.len()));
                    next.push(Walk { state, first_moves });
                }
            }
        }
        merge(&mut next, known);
        thin(&mut next, random);
        if next.is_empty() {
            return false;
        }
        self.ticks += 1;
        self.layer = next;
        for player_move in Move::ALL {
            if self.layer.iter().any(|walk| walk.begins_with(player_move)) {
                self.life_ticks[player_move as usize] = self.ticks;
            }
        }
        true
    }

    /// The tiles on which walks that begin with a move end, each once.
    fn tiles_reached(&self, player_move: Move) -> HashSet<u16> {
        let walks = self.layer.iter().filter(|walk| walk.begins_with(player_move));
        walks.map(|walk| self.world.tile_after(&walk.state, Move::Stay)).collect()
    }
}

impl Walk {
    fn begins_with(&self, player_move: Move) -> bool {
        self.first_moves >> player_move as u8 & 1 == 1
    }
}

/// Makes one walk of those that lead to the same state; `known` has the fingerprint and the place of each.
fn merge(walks: &mut Vec<Walk>, mut known: Vec<(u64, usize)>) {
    known.sort_unstable();
    for same in known.chunk_by(|one, other| one.0 == other.0) {
        let kept = same[0].1;
        for &(_, place) in &same[1..] {
            walks[kept].first_moves |= walks[place].first_moves;
            walks[place].first_moves = 0;
        }
    }
    walks.retain(|walk| walk.first_moves != 0);
}

/// Keeps as many walks as are followed, at random: see `survival` for why not by a score.
fn thin(walks: &mut Vec<Walk>, random: &mut Generator) {
    if walks.len() <= LAYER_STATES_MAX {
        return;
    }
    for place in 0..LAYER_STATES_MAX {
        let picked = place + below(random, walks.len() - place);
        walks.swap(place, picked);
    }
    walks.truncate(LAYER_STATES_MAX);
}

/// Plays by [`Caution::choose`]: it is given states and uses the positions only.
#[derive(Clone, Debug, Default)]
pub struct Cautious {
    caution: Caution,
}

impl Cautious {
    /// A planner that has not begun.
    pub fn new() -> Self {
        Self::default()
    }
}

impl Planner for Cautious {
    fn decide(&mut self, world: &World, state: &State, _: Budget) -> Choice {
        let pursuers: Vec<Pursuer> = world.threats(state).map(|threat| Pursuer::at(threat.position)).collect();
        let sighting = Sighting { tick: state.tick(), player: world.player(state), pursuers: &pursuers };
        self.caution.choose(world.layout(), &sighting)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::game::Rules;

    fn layout(drawing: &str) -> Layout {
        Layout::parse(drawing).expect("a drawing")
    }

    fn sighting(tick: u16, player: Position, pursuers: &[Pursuer]) -> Sighting<'_> {
        Sighting { tick, player, pursuers }
    }

    #[test]
    fn it_runs_from_what_could_come_and_not_into_a_dead_end() {
        let layout = layout("..#....\n.P...#.\n..#....");
        let pursuers = [Pursuer::at(Position::new(0, 0))];
        let choice = Caution::new().choose(&layout, &sighting(1000, Position::new(1, 1), &pursuers));
        assert_eq!(choice.player_move, Move::Right);
    }

    #[test]
    fn a_pursuer_with_a_pace_of_its_own_is_not_asked_for_the_clock() {
        // On tick 1 the server's threats wait until tick 5. This one does not.
        let layout = layout("P...");
        let at = Position::new(2, 0);
        let slow = Caution::new().choose(&layout, &sighting(1, Position::new(0, 0), &[Pursuer::at(at)]));
        let quick = Pursuer { position: at, period_ticks: Some(1) };
        let quick = Caution::new().choose(&layout, &sighting(1, Position::new(0, 0), &[quick]));
        // Two moves away: after the tenth tick, after the second.
        assert_eq!((slow.planned_tick, quick.planned_tick), (Some(10), Some(2)));
    }

    #[test]
    fn a_crowd_is_measured_at_once_and_comes_out_as_one_by_one() {
        let layout = layout("P....#...\n.##.....#\n.##.#.#..\n.........");
        let open: Vec<Position> = layout.open_positions().collect();
        let periods = [None, Some(1), Some(2), Some(5)];
        let crowd: Vec<Pursuer> = (0..1024)
            .map(|number| Pursuer { position: open[3 + number * 7 % 4], period_ticks: periods[number / 4 % 4] })
            .collect();
        let mut caution = Caution::new();
        let at_once: Vec<Option<u16>> = caution.timings(&layout, 77, &crowd).collect();
        let mut one_by_one = vec![None; open.len()];
        for pursuer in &crowd {
            for (first, timing) in
                one_by_one.iter_mut().zip(caution.timings(&layout, 77, std::slice::from_ref(pursuer)))
            {
                *first = [*first, timing].into_iter().flatten().min();
            }
        }
        assert_eq!(at_once, one_by_one);
        assert!(at_once.contains(&Some(0)) && at_once.iter().flatten().any(|&timing| timing > 5), "{at_once:?}");
    }

    #[test]
    fn strangers_and_predictions_are_minded_at_once() {
        // The bull comes from the left and will not do otherwise; the stranger could come from the right; the way out is down.
        let layout = layout("b.P...\n##.###\n##....");
        let world = World::new(&layout, &Rules::BLITZ_2025).expect("a map");
        let mut threat = world.threat(&world.start(), 0);
        threat.direction = crate::game::Direction::Right;
        let state = world.state_at(1000, layout.player, &[threat]).expect("a state");
        let strangers = [Pursuer::at(Position::new(4, 0))];
        let choice = Caution::new().choose_beside(&world, &state, &strangers, Budget::UNLIMITED);
        assert_eq!(choice.player_move, Move::Down);
    }

    #[test]
    fn nonsense_gets_a_move_all_the_same() {
        let layout = layout("P.#");
        let off = Position::new(-3, 99);
        let choice = Caution::new().choose(&layout, &sighting(0, off, &[Pursuer::at(off)]));
        assert_eq!(choice.player_move, Move::Stay);
        let there = Position::new(0, 0);
        let choice = Caution::new().choose(&layout, &sighting(60_000, there, &[Pursuer::at(off), Pursuer::at(there)]));
        assert!(choice.planned_tick.is_some());
    }
}
