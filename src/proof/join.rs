#[cfg(test)]
use std::collections::HashMap;
use std::ops::Range;

use super::builder::Builder;
use super::combination::{Combination, MemorySlots, Slot};
use super::layer::{Chains, Cursor, Index, Layer, Lookup};
use super::moves::{Group, JoinContext, extend, successors};
use super::tile_set::TileSet;
use crate::search::{BudgetMeter, StopReason};

/// Number of combinations between two checks of the budget: about 100 microseconds of work.
pub(super) const CHUNK: usize = 512;
const FOLLOWED_SLICE: usize = CHUNK / 2;

/// Steps layers forwards and backwards, and joins threats to them.
#[derive(Debug, Default)]
pub(super) struct Join<const N: usize> {
    index: Index,
    builder: Builder<N>,
    groups: Vec<Group<N>>,
    spare: Vec<Group<N>>,
    /// For each combination of the current run, the player's places to keep.
    lives: Vec<TileSet<N>>,
    done: usize,
}

impl<const N: usize> Join<N> {
    pub const KEY_BYTES: usize = Builder::<N>::KEY_BYTES;

    /// Returns a lower bound on the number of combinations in the layer under construction.
    pub fn len(&self) -> usize {
        self.builder.len()
    }

    pub fn is_advancing(&self) -> bool {
        self.done > 0
    }

    pub fn restart(&mut self) {
        self.done = 0;
        self.builder.begin();
    }

    /// Continues to build `next`. Returns true once `next` is complete; until then, do not use it.
    pub fn advance(
        &mut self,
        context: &JoinContext<'_, N>,
        layer: &Layer<N>,
        next: &mut Layer<N>,
        meter: &mut BudgetMeter,
    ) -> bool {
        let has_moves = context.model.times.moves[context.tick];
        if !self.is_advancing() {
            self.builder.begin();
            next.clear();
        }
        if !self.builder.is_following() {
            let chunk = self.chunk(self.done, layer.len(), meter);
            while self.done < chunk {
                let from = self.done;
                let stepped = if has_moves {
                    self.step(context, layer, from..chunk, meter)
                } else {
                    self.wait(context, layer, from..chunk, next, meter)
                };
                let Ok(end) = stepped else { return false };
                self.done = end;
            }
            if has_moves && (self.done == layer.len() || self.builder.is_full()) {
                self.builder.begin_following(context);
            }
        }
        if self.builder.is_following() && !self.builder.follow(context, layer, FOLLOWED_SLICE) {
            return false;
        }
        if self.done < layer.len() {
            return false;
        }
        if has_moves {
            self.builder.finish(context.widest().map_or(0, |slot| slot.shift), next);
        }
        self.restart();
        true
    }

    /// Returns the end of the chunk that contains `done`. If the chunk starts at `done`, counts its
    /// combinations as ticks.
    pub fn chunk(&self, done: usize, len: usize, meter: &mut BudgetMeter) -> usize {
        let end = len.min((done / CHUNK + 1) * CHUNK);
        if done.is_multiple_of(CHUNK) {
            meter.add_ticks((end - done) as u64);
        }
        end
    }

    /// Adds the edges from the first run of the combinations `indices`. Returns the end of the run.
    fn step(
        &mut self,
        context: &JoinContext<'_, N>,
        layer: &Layer<N>,
        indices: Range<usize>,
        meter: &mut BudgetMeter,
    ) -> Result<usize, StopReason> {
        let start = indices.start;
        let end = self.branch(context, layer, indices, meter)?;
        self.groups.iter().for_each(|group| self.builder.add(group, &(start..end)));
        Ok(end)
    }

    /// Like [`Self::step`], for ticks in which threats do not move. Adds the results to `next`.
    fn wait(
        &mut self,
        context: &JoinContext<'_, N>,
        layer: &Layer<N>,
        indices: Range<usize>,
        next: &mut Layer<N>,
        meter: &mut BudgetMeter,
    ) -> Result<usize, StopReason> {
        let start = indices.start;
        let end = self.branch(context, layer, indices, meter)?;
        self.leave(context, layer, start..end, meter, |_, _, to| to)?;
        for (index, lives) in (start..end).zip(&self.lives) {
            if !lives.is_empty() {
                next.push(layer.keys[index], *lives);
            }
        }
        Ok(end)
    }

    /// Fills `lives` for the run of the preceding call of [`Self::branch`]. `leave` takes a
    /// combination of the next layer and the player's places before and after the move, and returns
    /// the places to keep.
    fn leave(
        &mut self,
        context: &JoinContext<'_, N>,
        layer: &Layer<N>,
        run: Range<usize>,
        meter: &mut BudgetMeter,
        mut leave: impl FnMut(Combination, TileSet<N>, TileSet<N>) -> TileSet<N>,
    ) -> Result<(), StopReason> {
        let widest = context.widest();
        let shift = widest.map_or(0, |slot| slot.shift);
        let combinations = (&layer.keys[run.clone()], &layer.sets[run.clone()]);
        self.lives.clear();
        self.lives.resize(run.len(), TileSet::EMPTY);
        for group in &self.groups {
            extend(context, widest, (&group.from, &group.to), combinations, |number, counted, from, to| {
                let lives = leave(group.key | Combination::from(counted) << shift, from, to);
                self.lives[number] = self.lives[number].or(&lives);
            });
            meter.step(1 + run.len())?;
        }
        Ok(())
    }

    /// Fills `groups` with the steps from the first run of `indices`, by all threats except the
    /// widest. Returns the end of the run.
    fn branch(
        &mut self,
        context: &JoinContext<'_, N>,
        layer: &Layer<N>,
        indices: Range<usize>,
        meter: &mut BudgetMeter,
    ) -> Result<usize, StopReason> {
        let (widest, others) = context.split();
        let run_mask = widest.map_or(0, Slot::counted_mask);
        let end = layer.run_end(indices.start, run_mask, indices.end);
        let landing = context.model.landing(context.tick, context.allowed);
        let any = layer.sets[indices.start..end].iter().fold(TileSet::EMPTY, |any, set| any.or(set));
        let rest = layer.keys[indices.start] & !run_mask;
        successors(context, others, &landing, rest, &any, &mut self.groups, &mut self.spare);
        meter.step(1 + self.groups.len())?;
        Ok(end)
    }

    /// Adds to `left` those states of the combinations `indices` from which a step leads into
    /// `after`. Returns the end of the processed combinations: `indices.end`, unless the deadline
    /// passes.
    pub fn trim(
        &mut self,
        context: &JoinContext<'_, N>,
        layer: &Layer<N>,
        indices: Range<usize>,
        (after, left): (&Lookup<N>, &mut Layer<N>),
        meter: &mut BudgetMeter,
    ) -> usize {
        let mut after = Cursor::new(after);
        let mut start = indices.start;
        while start < indices.end {
            let Ok(end) = self.branch(context, layer, start..indices.end, meter) else { break };
            let trimmed = self.leave(context, layer, start..end, meter, |key, from, to| {
                let to = to.and(&after.places(key));
                if to.is_empty() { to } else { context.model.board.reach(&to).and(&from) }
            });
            if trimmed.is_err() {
                break;
            }
            for (index, lives) in (start..end).zip(&self.lives) {
                if !lives.is_empty() {
                    left.push(layer.keys[index], *lives);
                }
            }
            start = end;
        }
        start
    }

    /// Finds a state of the combinations `indices` that leads to the given state of the next layer.
    pub fn predecessor(
        &mut self,
        context: &JoinContext<'_, N>,
        layer: &Layer<N>,
        indices: Range<usize>,
        (key, place): (Combination, u16),
        meter: &mut BudgetMeter,
    ) -> Result<Option<(Combination, u16)>, StopReason> {
        let landing = context.model.landing(context.tick, context.allowed);
        let near = context.model.board.reach(&TileSet::of(place));
        for index in indices {
            let (before, set) = (layer.keys[index], &layer.sets[index]);
            successors(context, context.slots, &landing, before, set, &mut self.groups, &mut self.spare);
            meter.step(1 + self.groups.len())?;
            let group = self.groups.iter().find(|group| group.key == key && group.to.contains(place));
            if let Some(from) = group.and_then(|group| group.from.and(&near).iter().next()) {
                return Ok(Some((before, from)));
            }
        }
        Ok(None)
    }

    /// Like `step`, `wait` and `trim`, but one combination at a time, to check them. Returns the
    /// next layer, and the states that lead into `after`.
    #[cfg(test)]
    pub fn step_each(
        &mut self,
        context: &JoinContext<'_, N>,
        layer: &Layer<N>,
        after: &Lookup<N>,
    ) -> [HashMap<Combination, TileSet<N>>; 2] {
        let landing = context.model.landing(context.tick, context.allowed);
        let (mut next, mut left) = (HashMap::new(), HashMap::new());
        let add = |layer: &mut HashMap<_, TileSet<N>>, key, set: TileSet<N>| {
            let own = layer.entry(key).or_insert(TileSet::EMPTY);
            *own = own.or(&set);
        };
        for (&key, set) in layer.keys.iter().zip(&layer.sets) {
            successors(context, context.slots, &landing, key, set, &mut self.groups, &mut self.spare);
            for group in &self.groups {
                add(&mut next, group.key, group.to);
                let to = group.to.and(&after.places(group.key));
                if !to.is_empty() {
                    add(&mut left, key, context.model.board.reach(&to).and(&group.from));
                }
            }
        }
        [next, left]
    }

    pub fn project(
        &mut self,
        layer: &Layer<N>,
        mask: Combination,
        meter: &mut BudgetMeter,
    ) -> Result<Layer<N>, StopReason> {
        let mut narrow = Layer::default();
        self.index.clear(0);
        for (&key, set) in layer.keys.iter().zip(&layer.sets) {
            meter.step(1)?;
            self.index.add(key & mask, set, &mut narrow);
        }
        Ok(narrow)
    }

    /// Joins the threat with the bits `added`. Each state gets the threat's keys in those states of
    /// `known` that have the same place and the same bits in `common` (`memories` need only
    /// overlap). Returns `None` if the result would exceed `max_len` combinations.
    pub fn join_known(
        &mut self,
        layer: &Layer<N>,
        known: &Layer<N>,
        (common, added): (Combination, Combination),
        memories: MemorySlots,
        max_len: usize,
        meter: &mut BudgetMeter,
    ) -> Result<Option<Layer<N>>, StopReason> {
        let chains = Chains::new(&known.keys, common, memories, meter)?;
        let mut both = Layer::default();
        self.index.clear(layer.len());
        for (&key, set) in layer.keys.iter().zip(&layer.sets) {
            for at in chains.matches(key & common, &known.keys) {
                meter.step(1)?;
                let set = set.and(&known.sets[at]);
                if !set.is_empty() {
                    self.index.add(key | known.keys[at] & added, &set, &mut both);
                }
            }
            if both.len() > max_len {
                return Ok(None);
            }
        }
        Ok(Some(both))
    }
}
