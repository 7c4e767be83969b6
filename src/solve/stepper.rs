//! Steps layers forwards and backwards, one *run* at a time: the combinations of a run differ only in
//! the widest threat, so all other threats move once for the whole run.

#[cfg(test)]
use std::collections::HashMap;
use std::ops::Range;

use super::combination::{Combination, Slot};
use super::layer::{Cursor, Index, Layer, Lookup};
use super::moves::{Groups, StepContext};
use super::tiles::TileSet;
use crate::search::{BudgetMeter, StopReason};

/// Number of combinations between two checks of the budget: about 100 microseconds of work.
const CHUNK: usize = 512;

#[derive(Debug, Default)]
pub(super) struct Stepper<const N: usize> {
    groups: Groups<N>,
    index: Index,
}

impl<const N: usize> Stepper<N> {
    /// Bytes per combination under construction: a growing list is copied to one of twice the size.
    pub const KEY_BYTES: usize = 3 * Layer::<N>::KEY_BYTES;

    /// Returns the layer of the next tick, or `None` if it has more than `max_len` combinations.
    pub fn step(
        &mut self,
        context: &StepContext<'_, N>,
        layer: &Layer<N>,
        max_len: usize,
        meter: &mut BudgetMeter,
    ) -> Result<Option<Layer<N>>, StopReason> {
        if !context.model.times.moves[context.tick] {
            let next = self.leave(context, layer, meter, |_, _, to| to)?;
            return Ok((next.len() <= max_len).then_some(next));
        }
        let (mut next, mut index) = (Layer::default(), std::mem::take(&mut self.index));
        index.clear();
        for places in chunks(layer.len()) {
            self.visit(context, layer, places, meter, |_, key, _, to| {
                index.add(key, &to, &mut next.keys, &mut next.sets);
            })?;
            if next.len() > max_len {
                return Ok(None);
            }
        }
        self.index = index;
        next.arrange(context.widest().map_or(0, Slot::counted_mask));
        Ok(Some(next))
    }

    /// Returns the states from which a step leads into `after`.
    pub fn trim(
        &mut self,
        context: &StepContext<'_, N>,
        layer: &Layer<N>,
        after: &Lookup<N>,
        meter: &mut BudgetMeter,
    ) -> Result<Layer<N>, StopReason> {
        let mut after = Cursor::new(after);
        self.leave(context, layer, meter, |key, from, to| {
            let to = to.and(&after.places(key));
            if to.is_empty() { to } else { context.model.board.reach(&to).and(&from) }
        })
    }

    /// Returns the combinations of a layer, each with the union of the places that `leave` returns
    /// for its steps. `leave` takes a combination of the next layer and the player's places before
    /// and after the move.
    fn leave(
        &mut self,
        context: &StepContext<'_, N>,
        layer: &Layer<N>,
        meter: &mut BudgetMeter,
        mut leave: impl FnMut(Combination, TileSet<N>, TileSet<N>) -> TileSet<N>,
    ) -> Result<Layer<N>, StopReason> {
        let mut lives = vec![TileSet::EMPTY; layer.len()];
        for places in chunks(layer.len()) {
            self.visit(context, layer, places, meter, |at, key, from, to| {
                lives[at] = lives[at].or(&leave(key, from, to));
            })?;
        }
        let mut left = Layer::default();
        let living = layer.keys.iter().zip(lives).filter(|(_, lives)| !lives.is_empty());
        living.for_each(|(&key, lives)| left.push(key, lives));
        Ok(left)
    }

    /// Moves the combinations at `places` in a layer. `push` receives a combination's index, a next
    /// combination, and the player's places before and after its move.
    fn visit(
        &mut self,
        context: &StepContext<'_, N>,
        layer: &Layer<N>,
        mut places: Range<usize>,
        meter: &mut BudgetMeter,
        mut push: impl FnMut(usize, Combination, TileSet<N>, TileSet<N>),
    ) -> Result<(), StopReason> {
        meter.check()?;
        meter.add_ticks(places.len() as u64);
        let (shift, run_mask) = context.widest().map_or((0, 0), |slot| (slot.shift, slot.counted_mask()));
        let others = &context.slots[..context.slots.len().saturating_sub(1)];
        while !places.is_empty() {
            let run = places.start..layer.run_end(places.start, run_mask, places.end);
            let (keys, sets) = (&layer.keys[run.clone()], &layer.sets[run.clone()]);
            let any = sets.iter().fold(TileSet::EMPTY, |any, set| any.or(set));
            context.successors(others, keys[0] & !run_mask, &any, &mut self.groups);
            meter.step(1 + self.groups[0].len() * (1 + run.len()))?;
            for group in &self.groups[0] {
                context.extend(group, (keys, sets), |number, counted, from, to| {
                    push(run.start + number, group.key | Combination::from(counted) << shift, from, to);
                });
            }
            places.start = run.end;
        }
        Ok(())
    }

    /// Finds a state of a layer that leads to the given state of the next layer.
    pub fn predecessor(
        &mut self,
        context: &StepContext<'_, N>,
        layer: &Layer<N>,
        (key, place): (Combination, u16),
    ) -> Option<(Combination, u16)> {
        let near = context.model.board.reach(&TileSet::of(place));
        layer.keys.iter().zip(&layer.sets).find_map(|(&before, set)| {
            context.successors(context.slots, before, set, &mut self.groups);
            let group = self.groups[0].iter().find(|group| group.key == key && group.to.contains(place))?;
            Some((before, group.from.and(&near).iter().next()?))
        })
    }

    /// Like `step` and `trim`, but one combination at a time, to check them. Returns the
    /// next layer, and the states that lead into `after`.
    #[cfg(test)]
    pub fn step_each(
        &mut self,
        context: &StepContext<'_, N>,
        layer: &Layer<N>,
        after: &Lookup<N>,
    ) -> [HashMap<Combination, TileSet<N>>; 2] {
        let (mut next, mut left) = (HashMap::new(), HashMap::new());
        let add = |layer: &mut HashMap<_, TileSet<N>>, key, set: TileSet<N>| {
            let own = layer.entry(key).or_insert(TileSet::EMPTY);
            *own = own.or(&set);
        };
        for (&key, set) in layer.keys.iter().zip(&layer.sets) {
            context.successors(context.slots, key, set, &mut self.groups);
            for group in &self.groups[0] {
                add(&mut next, group.key, group.to);
                let to = group.to.and(&after.places(group.key));
                if !to.is_empty() {
                    add(&mut left, key, context.model.board.reach(&to).and(&group.from));
                }
            }
        }
        [next, left]
    }
}

fn chunks(len: usize) -> impl Iterator<Item = Range<usize>> {
    (0..len).step_by(CHUNK).map(move |start| start..len.min(start + CHUNK))
}
