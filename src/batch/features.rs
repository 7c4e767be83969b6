//! The observation `features`: numbers computed from the exact state after each action.

use crate::game::{BreadthFirst, LAST_TICK, MAX_THREATS, Move, Mover, State, Style, Tile, UNREACHED, World};

use super::Shape;
use super::values::ticks_until_move;

impl Shape {
    /// The number of features before those of the actions: the tick; the ticks until the threats move,
    /// 0 if they move in the next step; and the ticks from one of their moves to the next.
    pub const FEATURES_HEADER: usize = 3;
    /// The number of features per action (left, right, up, down, stay). All are -1 if the action is
    /// blocked or the game is over. Otherwise, they describe the state after the tick in which the
    /// action is played:
    ///
    /// 1. the steps from the nearest threat to the player along the streets: 0 if the player is caught,
    ///    [`Self::FAR_STEPS`] if no threat is within 254 steps;
    /// 2. the number of tiles that the player reaches within 254 steps and before every threat, by
    ///    shortest paths and at the threats' current pace, including the player's own tile; 0 if the
    ///    player is caught;
    /// 3. the depth of the player's dead end: the steps to the nearest tile outside the dead end, 0 if
    ///    the player is not in a dead end, [`Self::FAR_STEPS`] on streets without a loop;
    /// 4. the number of exits of the player's tile, 0 to 4;
    /// 5. the largest *lead* at any tile: the ticks from the player's arrival to the first threat's
    ///    arrival, with paths and pace as in feature 2, 0 to 255; 0 if the player is caught;
    /// 6. the sum of the leads over all tiles, each at most [`Self::LEAD_TICKS_MAX`]; 0 if the player is
    ///    caught;
    /// 7. the *life*: the number of further ticks that the player can survive, found by exact search,
    ///    at most [`Self::LIFE_TICKS_MAX`]; 0 if the player is caught; ticks after the end of the game count
    ///    as survived;
    /// 8. and the five features after it: for each style of [`Style::ALL`], the steps from the nearest
    ///    threat of this style to the player; [`Self::FAR_STEPS`] if no such threat is within 254 steps.
    pub const FEATURES_ACTION: usize = FEATURES_STYLES + Style::ALL.len();
    /// The maximum contribution of a tile's lead to the sum of the leads, in ticks.
    pub const LEAD_TICKS_MAX: u8 = 4;
    /// The maximum *life* (see [`Self::FEATURES_ACTION`]), in ticks.
    pub const LIFE_TICKS_MAX: u16 = 4;
    /// The total number of features.
    pub const FEATURES: usize = Self::FEATURES_HEADER + Self::FEATURES_ACTION * Move::ALL.len();
}
const FEATURES_STYLES: usize = 7;

/// Tiles per pass: a multiple of [`LANES`]. This number and a lane's sum of leads fit into a byte.
const BLOCK: usize = 240;
const _: () = {
    assert!(BLOCK.is_multiple_of(LANES) && BLOCK <= u8::MAX as usize);
    assert!(BLOCK / LANES * Shape::LEAD_TICKS_MAX as usize <= u8::MAX as usize);
};
const LANES: usize = 16;
/// Stands for 255 or more steps or ticks, and for unreachable tiles.
const FAR: u8 = u8::MAX;

#[derive(Clone, Debug)]
pub(super) struct Features {
    /// Row length of the tables: the number of tiles, rounded up to a multiple of [`LANES`].
    row: usize,
    /// The player's steps between two tiles, at most [`FAR`], at index `from * row + to`.
    player_steps: Vec<u8>,
    /// The same for a threat's steps.
    threat_steps: Vec<u8>,
    /// Each period of the threats' moves, with a table indexed like the two above: the ticks until
    /// a threat arrives if it moves in the next tick, at most [`FAR`]; 0 on the threat's own tile.
    arrivals: Vec<(u8, Vec<u8>)>,
    /// For each tile, the depth of its dead end, and the number of its exits.
    places: Vec<[i16; 2]>,
    paces: Vec<Pace>,
    /// How often a threat moves in the `ticks` ticks from `tick` on, at index `[tick][ticks]`.
    moves_within: Vec<[u8; Shape::LIFE_TICKS_MAX as usize + 1]>,
    /// The styles of [`World::lane_styles`] in their order, each with its number of threats.
    styles: Vec<(Style, usize)>,
}

/// The ticks until the threats move (0: in the next step), and between two of their moves.
#[derive(Clone, Copy, Debug)]
struct Pace {
    wait: u8,
    period: u8,
}

impl Features {
    pub fn new(world: &World) -> Self {
        let graph = world.graph();
        let row = graph.len().next_multiple_of(LANES);
        let rows = |mover| -> Vec<u8> {
            let row_of = |tile| {
                let steps = graph.distances(mover, tile).into_iter().chain(std::iter::repeat(UNREACHED));
                steps.take(row).map(|steps| steps.min(FAR.into()) as u8)
            };
            (0..graph.len() as u16).flat_map(row_of).collect()
        };
        let pace =
            |tick: u16| Pace { wait: ticks_until_move(world, tick), period: world.clock().period_ticks_at(tick) };
        let threat_steps = rows(Mover::Threat);
        let paces: Vec<Pace> = (0..=LAST_TICK + 1).map(pace).collect();
        let mut arrivals: Vec<(u8, Vec<u8>)> = Vec::new();
        for &Pace { period, .. } in &paces {
            if arrivals.iter().all(|&(known, _)| known != period) {
                let ticks = |&steps: &u8| match steps {
                    0 | FAR => steps,
                    steps => (steps - 1).saturating_mul(period).saturating_add(1),
                };
                arrivals.push((period, threat_steps.iter().map(ticks).collect()));
            }
        }
        let exits = (0..graph.len() as u16).map(|tile| graph.ways(Mover::Player, tile).count() as i16);
        Self {
            row,
            player_steps: rows(Mover::Player),
            threat_steps,
            arrivals,
            moves_within: moves_within(&paces),
            places: dead_end_depths(world).into_iter().zip(exits).map(|(depth, exits)| [depth, exits]).collect(),
            paces,
            styles: (world.lane_styles().chunk_by(|one, other| one == other))
                .map(|group| (group[0], group.len()))
                .collect(),
        }
    }

    pub fn write(&self, world: &World, state: &State, out: &mut [i16]) {
        let now = self.paces[usize::from(state.tick())];
        let (header, actions) = out.split_at_mut(Shape::FEATURES_HEADER);
        header.copy_from_slice(&[state.tick() as i16, now.wait.into(), now.period.into()]);
        actions.fill(-1);
        if state.is_over() {
            return;
        }
        let pace = self.paces[usize::from(state.tick()) + 1];
        let mut outcomes = Outcomes::new(world, state);
        // Successive moves of this loop share an `Outcomes` if the threats end the tick on the same
        // tiles.
        for player_move in world.legal_moves(state) {
            if now.wait == 0 {
                let mut next = state.clone();
                world.step_unchecked(&mut next, player_move);
                let moved = threat_tiles(world, &next);
                if moved[..outcomes.threat_count] != outcomes.threats[..outcomes.threat_count] {
                    if outcomes.count > 0 {
                        self.write_outcomes(world, state, &outcomes, pace, actions);
                    }
                    (outcomes.threats, outcomes.count) = (moved, 0);
                }
            }
            outcomes.push(player_move, world.tile_after(state, player_move));
        }
        self.write_outcomes(world, state, &outcomes, pace, actions);
    }

    fn write_outcomes(&self, world: &World, state: &State, outcomes: &Outcomes, pace: Pace, actions: &mut [i16]) {
        let moves = &outcomes.moves[..outcomes.count];
        let threats = &outcomes.threats[..outcomes.threat_count];
        let leads = self.leads(moves, threats, pace);
        for (&(player_move, player), leads) in moves.iter().zip(leads) {
            let out = &mut actions[player_move as usize * Shape::FEATURES_ACTION..][..Shape::FEATURES_ACTION];
            let (out, by_style) = out.split_at_mut(FEATURES_STYLES);
            by_style.fill(Shape::FAR_STEPS);
            // The distance between two tiles is the same in both directions.
            let steps = &self.threat_steps[self.at(player)..][..self.row];
            let (mut nearest, mut rest) = (FAR, threats);
            for &(style, threats) in &self.styles {
                let (of_style, others) = rest.split_at(threats);
                let least = of_style.iter().map(|&threat| steps[usize::from(threat)]).fold(FAR, u8::min);
                by_style[style as usize] = to_steps(least);
                (nearest, rest) = (least.min(nearest), others);
            }
            let [depth, exits] = self.places[usize::from(player)];
            let life = if nearest == 0 {
                0
            } else if state.tick() == LAST_TICK
                || self.is_out_of_reach(nearest, state.tick() + 1, Shape::LIFE_TICKS_MAX)
            {
                Shape::LIFE_TICKS_MAX
            } else {
                self.life(world, &world.after(state, player_move), Shape::LIFE_TICKS_MAX)
            };
            let Leads { tiles, most, sum } = if nearest == 0 { Leads::default() } else { leads };
            out.copy_from_slice(&[to_steps(nearest), tiles as i16, depth, exits, most.into(), sum as i16, life as i16]);
        }
    }

    fn leads(&self, moves: &[(Move, u16)], threats: &[u16], pace: Pace) -> [Leads; Move::ALL.len()] {
        let table = self.arrivals.iter().find(|&&(period, _)| period == pace.period);
        let arrivals = table.map_or(&[][..], |(_, arrivals)| arrivals);
        let mut leads = [Leads::default(); Move::ALL.len()];
        for start in (0..self.row).step_by(BLOCK) {
            let length = BLOCK.min(self.row - start);
            // A tile that the player cannot reach has no lead, because the player's steps to it are
            // `FAR`, and arrivals of threats are at most `FAR`.
            let mut ticks = [FAR.saturating_sub(pace.wait); BLOCK];
            let row = |threat: u16| &arrivals[self.at(threat) + start..][..length];
            let mut fours = threats.chunks_exact(4);
            for four in fours.by_ref() {
                // A pass with four threats is faster than four passes with one threat.
                let [one, two, three, four] = [0, 1, 2, 3].map(|index| row(four[index]));
                let rows = one.iter().zip(two).zip(three.iter().zip(four));
                for (ticks, ((one, two), (three, four))) in ticks[..length].iter_mut().zip(rows) {
                    *ticks = (*one.min(two)).min(*three.min(four)).min(*ticks);
                }
            }
            for &threat in fours.remainder() {
                ticks[..length].iter_mut().zip(row(threat)).for_each(|(ticks, &row)| *ticks = row.min(*ticks));
            }
            // A threat waits before its first step, unless it is already on the tile.
            ticks[..length].iter_mut().for_each(|ticks| *ticks += if *ticks == 0 { 0 } else { pace.wait });
            for (leads, &(_, player)) in leads.iter_mut().zip(moves) {
                leads.add(&self.player_steps[self.at(player) + start..][..length], &ticks[..length]);
            }
        }
        leads
    }

    /// True if no threat that is at least `nearest_steps` steps from a tile can arrive there in the
    /// `ticks` ticks from `tick` on.
    #[inline]
    fn is_out_of_reach(&self, nearest_steps: u8, tick: u16, ticks: u16) -> bool {
        nearest_steps > self.moves_within[usize::from(tick)][usize::from(ticks)]
    }

    /// The ticks that the player can survive, at most `ticks`. Ticks after the end of the game
    /// count as survived. The game must not be over.
    #[cold]
    fn life(&self, world: &World, state: &State, ticks: u16) -> u16 {
        let mut longest = 0;
        for (_, next) in world.successors(state).filter(|(_, next)| !next.is_caught()) {
            let left = ticks - 1;
            let is_safe = || self.is_out_of_reach(self.nearest(world, &next), next.tick(), left);
            let life = if left == 0 || next.is_over() || is_safe() { left } else { self.life(world, &next, left) };
            longest = longest.max(1 + life);
            if longest == ticks {
                break;
            }
        }
        longest
    }

    fn nearest(&self, world: &World, state: &State) -> u8 {
        let steps = &self.threat_steps[self.at(state.player_tile())..][..self.row];
        let threats = &threat_tiles(world, state)[..world.threat_count()];
        threats.iter().map(|&threat| steps[usize::from(threat)]).fold(FAR, u8::min)
    }

    fn at(&self, tile: u16) -> usize {
        usize::from(tile) * self.row
    }
}

/// Moves after which the threats are on the same tiles.
struct Outcomes {
    threats: [u16; MAX_THREATS],
    threat_count: usize,
    /// The moves and the player's tiles after them. Only the first `count` entries are used.
    moves: [(Move, u16); Move::ALL.len()],
    count: usize,
}

impl Outcomes {
    fn new(world: &World, state: &State) -> Self {
        let moves = [(Move::Stay, 0); Move::ALL.len()];
        Self { threats: threat_tiles(world, state), threat_count: world.threat_count(), moves, count: 0 }
    }

    fn push(&mut self, player_move: Move, player: u16) {
        self.moves[self.count] = (player_move, player);
        self.count += 1;
    }
}

#[inline]
fn threat_tiles(world: &World, state: &State) -> [u16; MAX_THREATS] {
    let mut tiles = [0; MAX_THREATS];
    world.write_threat_tiles(state, &mut tiles[..world.threat_count()]);
    tiles
}

fn to_steps(steps: u8) -> i16 {
    if steps == FAR { Shape::FAR_STEPS } else { steps.into() }
}

/// Features 2, 5 and 6 of a move.
#[derive(Clone, Copy, Debug, Default)]
struct Leads {
    tiles: u16,
    most: u8,
    sum: u16,
}

impl Leads {
    /// Adds at most [`BLOCK`] tiles, given the player's steps and the first threat's ticks to each.
    #[inline]
    fn add(&mut self, steps: &[u8], ticks: &[u8]) {
        // One sum and one maximum per lane, so that the compiler emits vector instructions.
        let (mut tiles, mut most, mut sums) = ([0_u8; LANES], [0_u8; LANES], [0_u8; LANES]);
        for (steps, ticks) in steps.as_chunks::<LANES>().0.iter().zip(ticks.as_chunks::<LANES>().0) {
            for lane in 0..LANES {
                let lead = ticks[lane].saturating_sub(steps[lane]);
                tiles[lane] += lead.min(1);
                most[lane] = lead.max(most[lane]);
                sums[lane] += lead.min(Shape::LEAD_TICKS_MAX);
            }
        }
        self.tiles += u16::from(tiles.iter().sum::<u8>());
        for half in [LANES / 2, LANES / 4, LANES / 8, LANES / 16] {
            for lane in 0..half {
                most[lane] = most[lane + half].max(most[lane]);
            }
        }
        self.most = most[0].max(self.most);
        self.sum += sums.into_iter().map(u16::from).sum::<u16>();
    }
}

fn moves_within(paces: &[Pace]) -> Vec<[u8; Shape::LIFE_TICKS_MAX as usize + 1]> {
    let moves = |tick: usize, ticks: usize| paces[tick..].iter().take(ticks).filter(|pace| pace.wait == 0).count();
    (0..paces.len()).map(|tick| std::array::from_fn(|ticks| moves(tick, ticks) as u8)).collect()
}

/// For each tile, the steps out of its dead end: 0 outside dead ends, [`Shape::FAR_STEPS`] on streets
/// without a loop.
fn dead_end_depths(world: &World) -> Vec<i16> {
    let graph = world.graph();
    let ways = |tile| graph.ways(Mover::Player, tile).map(|(_, next)| usize::from(next));
    let is_open = |tile: u16| world.layout().tile(graph.position(tile)) == Tile::Open;
    let mut exits: Vec<usize> =
        (0..graph.len() as u16).map(|tile| if is_open(tile) { ways(tile).count() } else { 0 }).collect();
    let mut ends: Vec<usize> = (0..graph.len()).filter(|&tile| exits[tile] == 1).collect();
    while let Some(end) = ends.pop() {
        exits[end] = 0;
        for beside in ways(end as u16) {
            exits[beside] = exits[beside].saturating_sub(1);
            if exits[beside] == 1 {
                ends.push(beside);
            }
        }
    }
    let outside = (0..graph.len()).filter(|&tile| exits[tile] > 1).map(|tile| (tile as u16, 0));
    let mut steps = Vec::new();
    BreadthFirst::default().fill(graph, Mover::Player, outside, &mut steps, |_, _| true);
    steps.into_iter().map(|steps| if steps == UNREACHED { Shape::FAR_STEPS } else { steps as i16 }).collect()
}
