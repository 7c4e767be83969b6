//! The observation `features`: what each action leads to, in the exact state after the tick.

use crate::game::{BreadthFirst, LAST_TICK, Move, Mover, State, Tile, UNREACHED, World};

use super::observation::{FAR_STEPS, ticks_until_move};

/// Numbers of the features before the actions': the tick; the ticks until the threats move, 0 if
/// they move in the next step; and the ticks between two of their moves.
pub const FEATURES_HEADER: usize = 3;
/// Numbers of the features for each action (left, right, up, down, stay), all about the state after
/// the tick in which it is played, and all -1 where the way is blocked or the game is over:
///
/// 1. the steps from the nearest threat to the player along the streets: 0 if the player is caught,
///    [`FAR_STEPS`] if no threat is within 254 steps;
/// 2. the number of tiles that the player reaches before every threat, by shortest paths and at
///    the threats' current pace, its own tile included; 0 if it is caught;
/// 3. the depth of the dead end in which the player is: the steps to the nearest tile outside it,
///    0 if it is in none, [`FAR_STEPS`] on streets without a loop;
/// 4. the exits of its tile, 0 to 4.
pub const FEATURES_ACTION: usize = 4;
/// Numbers of all features.
pub const FEATURES: usize = FEATURES_HEADER + FEATURES_ACTION * Move::ALL.len();

/// Tiles whose arrivals are computed together.
const BLOCK: usize = 256;
/// Rows are padded to a multiple of a vector register.
const LANES: usize = 16;
/// Steps or ticks above the largest that a row can hold.
const FAR: u8 = u8::MAX;

/// The tables from which the features of a world are computed.
#[derive(Clone, Debug)]
pub(super) struct Features {
    /// Length of a row.
    row: usize,
    /// `player * row + tile` -> steps of the player to the tile, at most [`FAR`].
    player_steps: Vec<u8>,
    /// `threat * row + tile` -> steps of a threat to the tile, at most [`FAR`].
    threat_steps: Vec<u8>,
    /// Tile -> the depth of its dead end, and its exits.
    places: Vec<[i16; 2]>,
    /// Tick -> the threats' pace.
    paces: Vec<Pace>,
}

#[derive(Clone, Copy, Debug)]
struct Pace {
    /// Ticks until the threats move; 0 if they move in the next step.
    wait: u8,
    /// Ticks between two moves.
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
        let pace = |tick: u16| Pace {
            wait: ticks_until_move(world, tick),
            period: world.clock().period_ticks_at(tick.saturating_sub(1)),
        };
        let exits = (0..graph.len() as u16).map(|tile| graph.ways(Mover::Player, tile).count() as i16);
        Self {
            row,
            player_steps: rows(Mover::Player),
            threat_steps: rows(Mover::Threat),
            places: dead_end_depths(world).into_iter().zip(exits).map(|(depth, exits)| [depth, exits]).collect(),
            paces: (0..=LAST_TICK + 1).map(pace).collect(),
        }
    }

    pub fn write(&self, world: &World, state: &State, out: &mut [i16]) {
        let now = self.paces[usize::from(state.tick())];
        let (header, actions) = out.split_at_mut(FEATURES_HEADER);
        header.copy_from_slice(&[state.tick() as i16, now.wait.into(), now.period.into()]);
        actions.fill(-1);
        if state.is_over() {
            return;
        }
        // Without a move of the threats, they are in the same places whatever the player does.
        let tiles = Move::ALL.map(|player_move| world.tile_after(state, player_move));
        let is_open = |index: usize| index == Move::Stay as usize || tiles[index] != tiles[Move::Stay as usize];
        let results = if now.wait > 0 {
            let pace = self.paces[usize::from(state.tick()) + 1];
            self.outlooks(threat_tiles(world, state), pace, tiles)
        } else {
            let mut results = [Outlook::default(); Move::ALL.len()];
            for player_move in world.moves(state) {
                let mut next = state.clone();
                world.step(&mut next, player_move);
                let pace = self.paces[usize::from(next.tick())];
                let index = player_move as usize;
                [results[index]] = self.outlooks(threat_tiles(world, &next), pace, [tiles[index]]);
            }
            results
        };
        for (index, out) in actions.chunks_exact_mut(FEATURES_ACTION).enumerate().filter(|&(index, _)| is_open(index)) {
            let [depth, exits] = self.places[usize::from(tiles[index])];
            let Outlook { steps, first_tiles } = results[index];
            out.copy_from_slice(&match steps {
                0 => [0, 0, depth, exits],
                FAR => [FAR_STEPS, first_tiles, depth, exits],
                steps => [steps.into(), first_tiles, depth, exits],
            });
        }
    }

    /// The outlook of a player on each of these tiles, with the threats on theirs.
    #[inline]
    fn outlooks<const N: usize>(
        &self,
        threats: impl Iterator<Item = u16> + Clone,
        pace: Pace,
        players: [u16; N],
    ) -> [Outlook; N] {
        let mut outlooks = players.map(|player| Outlook {
            steps: threats
                .clone()
                .map(|threat| self.threat_steps[self.at(threat) + usize::from(player)])
                .min()
                .unwrap_or(FAR),
            first_tiles: 0,
        });
        for start in (0..self.row).step_by(BLOCK) {
            let length = BLOCK.min(self.row - start);
            let mut steps = [FAR; BLOCK];
            for threat in threats.clone() {
                let row = &self.threat_steps[self.at(threat) + start..][..length];
                steps[..length].iter_mut().zip(row).for_each(|(steps, &row)| *steps = row.min(*steps));
            }
            let mut ticks = [pace.wait.saturating_add(1); BLOCK];
            for _ in 0..pace.period {
                let further = ticks[..length].iter_mut().zip(&steps);
                further.for_each(|(ticks, &steps)| *ticks = ticks.saturating_add(steps.saturating_sub(1)));
            }
            for (ticks, &steps) in ticks[..length].iter_mut().zip(&steps) {
                *ticks = if steps == 0 { 0 } else { *ticks };
            }
            for (outlook, player) in outlooks.iter_mut().zip(players) {
                let row = &self.player_steps[self.at(player) + start..][..length];
                outlook.first_tiles += count_earlier(row, &ticks[..length]);
            }
        }
        outlooks
    }

    fn at(&self, tile: u16) -> usize {
        usize::from(tile) * self.row
    }
}

/// What a player can expect on a tile.
#[derive(Clone, Copy, Debug, Default)]
struct Outlook {
    /// Steps from the nearest threat, or [`FAR`].
    steps: u8,
    first_tiles: i16,
}

fn threat_tiles<'a>(world: &'a World, state: &'a State) -> impl Iterator<Item = u16> + Clone + 'a {
    (0..world.threat_count()).map(|index| world.threat_pose(state, index).0)
}

/// The number of tiles with fewer steps than ticks; at most [`BLOCK`] of them, a multiple of
/// [`LANES`].
#[inline]
fn count_earlier(steps: &[u8], ticks: &[u8]) -> i16 {
    let mut counts = [0_u8; LANES];
    for (steps, ticks) in steps.chunks_exact(LANES).zip(ticks.chunks_exact(LANES)) {
        for ((count, steps), ticks) in counts.iter_mut().zip(steps).zip(ticks) {
            *count += u8::from(steps < ticks);
        }
    }
    counts.into_iter().map(i16::from).sum()
}

/// For every tile, the player's steps to the nearest tile that is in no dead end: 0 for those,
/// [`FAR_STEPS`] on streets without a loop.
fn dead_end_depths(world: &World) -> Vec<i16> {
    let graph = world.graph();
    let ways = |tile| graph.ways(Mover::Player, tile).map(|(_, next)| usize::from(next));
    let is_open = |tile: u16| world.layout().tile(graph.position(tile)) == Tile::Open;
    let mut exits: Vec<usize> =
        (0..graph.len() as u16).map(|tile| if is_open(tile) { ways(tile).count() } else { 0 }).collect();
    // What is left after removing every dead end, from its last tile on.
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
    steps.into_iter().map(|steps| if steps == UNREACHED { FAR_STEPS } else { steps as i16 }).collect()
}
