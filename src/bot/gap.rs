//! Ticks whose messages never came: which way the player went through them.

use std::collections::VecDeque;
use std::time::Instant;

use rand_pcg::rand_core::SeedableRng;

use crate::game::{Direction, Layout, Move, Position, Tile};
use crate::search::{Generator, below};

use super::pursuit::Sent;

/// Ways that are tried at random, once the likely ones have failed.
const RANDOM_WAYS_MAX: usize = 256;
/// Commands whose delay is considered, and ticks of delay.
const DELAY_TICKS_MAX: usize = 16;

/// Where the player stood at the start of each tick, from the last that was seen to the next.
pub(super) type Path = Vec<Position>;

/// Some ticks between two observations.
#[derive(Clone, Copy, Debug)]
pub(super) struct Gap<'a> {
    pub layout: &'a Layout,
    pub from: Position,
    pub to: Position,
    pub first_tick: u16,
    pub ticks: usize,
}

impl Gap<'_> {
    /// The first way that makes all `threats` come out right as `count_right` counts them, or the one that makes the most: the commands as
    /// sent, none of them, one of them late, any way at random. If no way leads there, the player stood still and then jumped.
    pub fn explain(
        &self,
        sent: &[Sent],
        threats: usize,
        count_right: impl Fn(&Path) -> usize,
        deadline: Instant,
    ) -> Path {
        let mut best: Option<(usize, Path)> = None;
        let random = self.random_ways();
        for path in self.likely_ways(sent).into_iter().map(Some).chain(random) {
            if let Some(path) = path.filter(|path| path.last() == Some(&self.to)) {
                let right = count_right(&path);
                if best.as_ref().is_none_or(|&(most, _)| right > most) {
                    best = Some((right, path));
                }
                if right == threats {
                    break;
                }
            }
            if Instant::now() >= deadline {
                break;
            }
        }
        best.map_or_else(|| self.jump(), |(_, path)| path)
    }

    fn likely_ways(&self, sent: &[Sent]) -> Vec<Path> {
        let none = vec![Move::Stay; self.ticks];
        let offset = |sent: &Sent| usize::from(sent.tick.saturating_sub(self.first_tick));
        let mut all = none.clone();
        for sent in sent {
            if let Some(slot) = all.get_mut(offset(sent)) {
                *slot = sent.player_move;
            }
        }
        let mut ways = vec![self.walk(&all), self.walk(&none)];
        for sent in sent {
            for tick in (offset(sent)..self.ticks).take(DELAY_TICKS_MAX) {
                let mut late = none.clone();
                late[tick] = sent.player_move;
                ways.push(self.walk(&late));
            }
        }
        ways
    }

    /// Where moves lead: a move that is not possible is a stay.
    fn walk(&self, moves: &[Move]) -> Path {
        let mut path = vec![self.from];
        let mut position = self.from;
        for player_move in moves {
            let next = player_move.direction().map_or(position, |direction| position.towards(direction));
            if self.layout.tile(next) == Tile::Open {
                position = next;
            }
            path.push(position);
        }
        path
    }

    /// Ways that arrive in time, each step drawn from those that can still make it; nothing if none can.
    fn random_ways(&self) -> impl Iterator<Item = Option<Path>> {
        // Only made when the likely ways have failed.
        let mut drawn: Option<(Vec<u32>, Generator)> = None;
        (0..RANDOM_WAYS_MAX).map(move |_| {
            let (distances, random) =
                drawn.get_or_insert_with(|| (self.distances(), Generator::seed_from_u64(self.first_tick.into())));
            self.random_way(distances, random)
        })
    }

    fn random_way(&self, distances: &[u32], random: &mut Generator) -> Option<Path> {
        let mut path = vec![self.from];
        let mut position = self.from;
        for left in (0..self.ticks).rev() {
            let neighbours = Direction::ALL.map(|direction| position.towards(direction));
            let arrives = |next: &Position| {
                self.layout.tile(*next) == Tile::Open && distances[self.index(*next)] as usize <= left
            };
            let choices: Vec<Position> = neighbours.into_iter().chain([position]).filter(arrives).collect();
            if choices.is_empty() {
                return None;
            }
            position = choices[below(random, choices.len())];
            path.push(position);
        }
        Some(path)
    }

    /// Steps of the player from each tile to where he is seen next.
    fn distances(&self) -> Vec<u32> {
        let mut distances = vec![u32::MAX; self.layout.tiles.len()];
        distances[self.index(self.to)] = 0;
        let mut queue = VecDeque::from([self.to]);
        while let Some(position) = queue.pop_front() {
            let steps = distances[self.index(position)] + 1;
            for next in Direction::ALL.map(|direction| position.towards(direction)) {
                if self.layout.tile(next) == Tile::Open && distances[self.index(next)] == u32::MAX {
                    distances[self.index(next)] = steps;
                    queue.push_back(next);
                }
            }
        }
        distances
    }

    fn index(&self, position: Position) -> usize {
        (position.y * self.layout.width + position.x) as usize
    }

    /// No way leads there.
    fn jump(&self) -> Path {
        let mut path = vec![self.from; self.ticks + 1];
        path[self.ticks] = self.to;
        path
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn far_deadline() -> Instant {
        Instant::now() + std::time::Duration::from_secs(60)
    }

    #[test]
    fn the_command_as_sent_comes_first_and_a_late_one_is_found() {
        let layout = Layout::parse("P...\n.##.\n....").expect("a drawing");
        let gap = Gap { layout: &layout, from: layout.player, to: Position::new(1, 0), first_tick: 7, ticks: 3 };
        let sent = [Sent { tick: 7, player_move: Move::Right, is_timely: true }];
        let here = layout.player;
        assert_eq!(gap.explain(&sent, 1, |_| 1, far_deadline()), [here, gap.to, gap.to, gap.to]);
        let late = |path: &Path| usize::from(path[2] == here);
        assert_eq!(gap.explain(&sent, 1, late, far_deadline()), [here, here, here, gap.to]);
    }

    #[test]
    fn any_way_is_found_without_commands() {
        let layout = Layout::parse("P...\n.##.\n....").expect("a drawing");
        let gap = Gap { layout: &layout, from: layout.player, to: Position::new(0, 2), first_tick: 7, ticks: 4 };
        let waited = |path: &Path| usize::from(path[1] == layout.player && path[3] == Position::new(0, 1));
        let path = gap.explain(&[], 1, waited, far_deadline());
        assert_eq!(waited(&path), 1, "{path:?}");
    }

    #[test]
    fn where_no_way_leads_the_player_jumps() {
        let layout = Layout::parse("P#.").expect("a drawing");
        let to = Position::new(2, 0);
        let gap = Gap { layout: &layout, from: layout.player, to, first_tick: 7, ticks: 2 };
        assert_eq!(gap.explain(&[], 0, |_| 0, far_deadline()), [layout.player, layout.player, to]);
    }
}
