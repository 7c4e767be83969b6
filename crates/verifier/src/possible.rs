//! The states in which a threat can join a sweep.

use std::collections::HashSet;

use getaway::game::{Position, Style};
use getaway_reference::navigation::Navigation;
use getaway_reference::{Memory, Threat};

use super::Checked;
use super::bits::Tiles;
use super::board::Board;
use super::pursuer::{Pursuer, Step};

impl<const N: usize> Pursuer<N> {
    /// Returns the state ID of the threat with its initial memory, on each tile.
    pub fn on_each_tile(&mut self, board: &Board<N>) -> Checked<Vec<u32>> {
        let threat = |&position: &Position| Threat { position, ..self.spawned.clone() };
        let threats: Vec<Threat> = board.positions.iter().map(threat).collect();
        threats.iter().map(|threat| self.add_exact(threat, board)).collect()
    }

    /// Returns every possible state ID at the start of a tick. Fails for an owl that moves before
    /// it looks again, because its memory then matters.
    pub fn possible_ids(&mut self, board: &Board<N>, tick: usize) -> Checked<Vec<u32>> {
        match self.style() {
            Style::Owl if board.ticks[tick].owl_moves != 0 => {
                Err(format!("an owl cannot join at tick {tick}, when its memory matters"))
            }
            Style::Owl => self.on_each_tile(board),
            Style::Hawk => {
                if self.merged_by_tile.is_empty() {
                    self.merged_by_tile = self.merged_hawks(board)?;
                }
                Ok(self.merged_by_tile.clone())
            }
            _ => {
                while self.ids_by_tick.len() <= tick {
                    let ids = self.possible_ids_after(board, self.ids_by_tick.len())?;
                    self.ids_by_tick.push(ids);
                }
                Ok(self.ids_by_tick[tick].clone())
            }
        }
    }

    /// Returns, for each tile, the key that merges all memories that a hawk can have there. Fails
    /// if the literal hawk starts with another memory, or if a step leads to one.
    fn merged_hawks(&mut self, board: &Board<N>) -> Checked<Vec<u32>> {
        let (positions, rules) = (&board.positions, self.spawned.rules);
        let posts = board.navigation.posts().into_owned();
        let (patience, rest) = (i32::from(rules.hawk_patience_moves), i32::from(rules.hawk_rest_moves));
        let none = Memory::default();
        let (mut hawks, mut listed) = (Vec::new(), HashSet::new());
        for &position in positions {
            let hawk = Threat { position, ..self.spawned.clone() };
            board.spend(positions.len())?;
            let seen = positions.iter().filter_map(|&seen| hawk.notices(&board.layout, false, seen));
            let seen = seen.map(|seen| Memory { seen: Some(seen), ..none });
            let sent = posts.iter().map(|&post| Memory { post: Some(post), ..none });
            let first = if posts.contains(&position) { -rest } else { 0 };
            let rests = (first..=patience).map(|idle_rounds| Memory { idle_rounds, ..none });
            let memories: Vec<Memory> = seen.chain(sent).chain(rests).collect();
            let keys = memories.into_iter().map(|memory| self.add_exact(&Threat { memory, ..hawk.clone() }, board));
            let keys: Vec<u32> = keys.collect::<Checked<_>>()?;
            listed.extend(keys.clone());
            hawks.push(self.add_merged(keys, board)?);
        }
        let is_listed = |pursuer: &Self, next| pursuer.exact_ids(&next).iter().all(|id| listed.contains(id));
        let first = self.first(board, false)?;
        let mut are_listed = is_listed(self, first);
        for &id in &hawks {
            for moment in [self.moment(board, 1), self.moment(board, 2)] {
                self.compute_steps(board, id, moment, &board.open)?;
                are_listed &= self.steps(id, moment).iter().all(|step| is_listed(self, step.next));
            }
        }
        let error = "a hawk starts with, or reaches, a memory that is not listed for its tile";
        if are_listed { Ok(hawks) } else { Err(error.to_owned()) }
    }

    /// Returns every possible state ID of a shark or deer at the start of a tick. Those of the tick
    /// before are known.
    fn possible_ids_after(&mut self, board: &Board<N>, tick: usize) -> Checked<Vec<u32>> {
        let mut ids = match tick {
            0 => Vec::new(),
            1 => vec![self.first(board, false)?],
            _ => self.ids_by_tick[tick - 1].clone(),
        };
        if tick < 2 || !board.ticks[tick - 1].moves {
            return Ok(ids);
        }
        let moment = self.moment(board, tick - 1);
        for id in std::mem::take(&mut ids) {
            board.spend(1)?;
            // A living player is not on the threat's tile at the start of a tick. If jumps are
            // forbidden, the player is not on this tile after its own move either.
            let own = Tiles::single(self.tile(id));
            let elsewhere = if self.is_stale() || board.no_jump { board.open.without(&own) } else { board.open };
            self.compute_steps(board, id, moment, &elsewhere)?;
            let can_follow = |step: &&Step<N>| moment.is_off_grid || !step.when.and(&elsewhere).is_empty();
            ids.extend(self.steps(id, moment).iter().filter(can_follow).map(|step| step.next));
        }
        ids.sort_unstable();
        ids.dedup();
        Ok(ids)
    }
}
