//! Reconstructs the player's path through ticks with missed messages.

use crate::game::{Direction, Move, Mover, Position, Threat, Tile, World};
use crate::inference::ObservedPose;
use crate::search::{Deadline, Random};

use super::observation::agrees;
use super::records::Sent;

const RANDOM_PATHS_MAX: usize = 256;
const DELAY_TICKS_MAX: usize = 16;

pub(super) type Path = Vec<Position>;

#[derive(Clone, Copy, Debug)]
pub(super) struct Gap<'a> {
    pub world: &'a World,
    pub from: Position,
    pub to: Position,
    pub first_tick: u16,
    pub ticks: usize,
}

impl Gap<'_> {
    /// Returns the first path that explains the moves of all threats, or else the path that explains
    /// the most threats among those tried before `deadline`. Tries, in this order: all commands as
    /// sent, no command, each command alone (on time or late), and random paths. If none of these paths
    /// ends at `to`, returns a path on which the player stays, and jumps to `to` in the last tick.
    pub fn find_path(
        &self,
        sent: &[Sent],
        threats: usize,
        count_explained: impl Fn(&Path) -> usize,
        deadline: Deadline,
    ) -> Path {
        let (distances, mut random) = (self.distances(), Random::from_seed(self.first_tick.into()));
        let likely = self.likely_paths(sent).into_iter().filter(|path| path.last() == Some(&self.to));
        let random = (0..RANDOM_PATHS_MAX).filter_map(|_| self.random_path(&distances, &mut random));
        let mut best: Option<(usize, Path)> = None;
        for path in likely.chain(random) {
            let explained = count_explained(&path);
            if best.as_ref().is_none_or(|&(most, _)| explained > most) {
                best = Some((explained, path));
            }
            if explained == threats || deadline.is_past() {
                break;
            }
        }
        best.map_or_else(|| self.jump(), |(_, path)| path)
    }

    /// `threats` holds each threat before the gap (in world order) and its observation after the gap.
    pub fn count_explained(&self, path: &Path, threats: &[(Threat, ObservedPose)]) -> usize {
        let is_explained = |&(index, &(threat, observed)): &(usize, &(Threat, ObservedPose))| {
            let ticks = path.windows(2).zip(self.first_tick..);
            let after = ticks.fold(threat, |threat, (step, tick)| {
                self.world.threat_after(index, &threat, tick, step[0], step[1]).unwrap_or(threat)
            });
            agrees(observed, &after)
        };
        threats.iter().enumerate().filter(is_explained).count()
    }

    fn likely_paths(&self, sent: &[Sent]) -> Vec<Path> {
        let none = vec![Move::Stay; self.ticks];
        let offset = |sent: &Sent| usize::from(sent.tick.saturating_sub(self.first_tick));
        let mut all = none.clone();
        for sent in sent {
            if let Some(slot) = all.get_mut(offset(sent)) {
                *slot = sent.player_move;
            }
        }
        let mut paths = vec![self.walk(&all), self.walk(&none)];
        for sent in sent {
            for tick in (offset(sent)..self.ticks).take(DELAY_TICKS_MAX) {
                let mut late = none.clone();
                late[tick] = sent.player_move;
                paths.push(self.walk(&late));
            }
        }
        paths
    }

    /// A move to a tile that is not open counts as staying.
    fn walk(&self, moves: &[Move]) -> Path {
        let mut path = vec![self.from];
        let mut position = self.from;
        for &player_move in moves {
            let next = position.after(player_move);
            if self.world.layout().tile(next) == Tile::Open {
                position = next;
            }
            path.push(position);
        }
        path
    }

    fn random_path(&self, distances: &[u16], random: &mut Random) -> Option<Path> {
        let mut path = vec![self.from];
        let mut position = self.from;
        for ticks_left in (0..self.ticks).rev() {
            let neighbours = Direction::ALL.map(|direction| position.towards(direction));
            let arrives = |next: &Position| {
                let tile = self.world.graph().tile(*next).filter(|_| self.world.layout().tile(*next) == Tile::Open);
                tile.is_some_and(|tile| usize::from(distances[usize::from(tile)]) <= ticks_left)
            };
            let choices: Vec<Position> = neighbours.into_iter().chain([position]).filter(arrives).collect();
            if choices.is_empty() {
                return None;
            }
            position = choices[random.below(choices.len())];
            path.push(position);
        }
        Some(path)
    }

    fn distances(&self) -> Vec<u16> {
        let graph = self.world.graph();
        let to = graph.tile(self.to).expect("the player is observed on an open tile");
        graph.distances(Mover::Player, to)
    }

    fn jump(&self) -> Path {
        let mut path = vec![self.from; self.ticks + 1];
        path[self.ticks] = self.to;
        path
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::game::{Layout, Rules};

    fn world(drawing: &str) -> World {
        World::new(&Layout::parse(drawing).expect("a drawing"), &Rules::BLITZ_2025).expect("a map")
    }

    fn gap(world: &World, to: Position, ticks: usize) -> Gap<'_> {
        Gap { world, from: world.layout().player, to, first_tick: 7, ticks }
    }

    #[test]
    fn command_as_sent_is_preferred_and_late_command_is_found() {
        let world = world("P...\n.##.\n....");
        let gap = gap(&world, Position::new(1, 0), 3);
        let sent = [Sent { tick: 7, player_move: Move::Right, is_timely: true }];
        let here = gap.from;
        assert_eq!(gap.find_path(&sent, 1, |_| 1, Deadline::NEVER), [here, gap.to, gap.to, gap.to]);
        let late = |path: &Path| usize::from(path[2] == here);
        assert_eq!(gap.find_path(&sent, 1, late, Deadline::NEVER), [here, here, here, gap.to]);
    }

    #[test]
    fn path_is_found_without_commands() {
        let world = world("P...\n.##.\n....");
        let gap = gap(&world, Position::new(0, 2), 4);
        let waited = |path: &Path| usize::from(path[1] == gap.from && path[3] == Position::new(0, 1));
        let path = gap.find_path(&[], 1, waited, Deadline::NEVER);
        assert_eq!(waited(&path), 1, "{path:?}");
    }

    #[test]
    fn unreachable_position_is_a_jump() {
        let world = world("P#.");
        let gap = gap(&world, Position::new(2, 0), 2);
        assert_eq!(gap.find_path(&[], 0, |_| 0, Deadline::NEVER), [gap.from, gap.from, gap.to]);
    }
}
