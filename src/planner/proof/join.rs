//! Several threats at once: layers of the states in which the player can be, for each combination
//! of their keys, stepped forwards and back.
//!
//! What the other threats do is found once for all combinations of a run, and their successors are
//! looked up in the same small part of the next layer.

#[cfg(test)]
use std::collections::HashMap;
use std::ops::Range;

use super::builder::Builder;
use super::combination::{Combination, MemorySlots, Slot};
use super::layer::{Chains, Cursor, Index, Layer, Lookup};
use super::moves::{Group, JoinContext, extend, successors};
use super::tile_set::TileSet;
use crate::search::BudgetMeter;

/// Combinations between two checks of the budget: about a hundred microseconds.
pub(super) const CHUNK: usize = 512;
/// Combinations followed between two checks.
const FOLLOWED_SLICE: usize = 2 * CHUNK;

/// The buffers of joins, kept from layer to layer.
#[derive(Debug, Default)]
pub(super) struct Join<const N: usize> {
    index: Index,
    builder: Builder<N>,
    groups: Vec<Group<N>>,
    spare: Vec<Group<N>>,
    /// What is left of each combination of a run.
    lives: Vec<TileSet<N>>,
    /// How many combinations of a layer have been advanced, and how many of these are left if the
    /// threats do not move.
    done: usize,
    kept: usize,
}

impl<const N: usize> Join<N> {
    /// Bytes of a combination of a new layer while it is under construction, beside those in the
    /// layer itself.
    pub const KEY_BYTES: usize = Builder::<N>::KEY_BYTES;

    /// The number of combinations that the layer under construction has at least.
    pub fn len(&self) -> usize {
        self.builder.len()
    }

    /// Whether a part of a layer has been advanced.
    pub fn is_advancing(&self) -> bool {
        self.done > 0
    }

    /// Drops the layer under construction.
    pub fn restart(&mut self) {
        (self.done, self.kept) = (0, 0);
        self.builder.begin();
    }

    /// Replaces a part of a layer by its successors: each call continues with the next part, or follows
    /// more of the edges to the next layer. Returns true once the layer is that of the next tick; it may
    /// not be used before.
    pub fn advance(&mut self, context: &JoinContext<'_, N>, layer: &mut Layer<N>, meter: &mut BudgetMeter) -> bool {
        let has_moves = context.model.moves[context.tick];
        if self.done == 0 {
            self.builder.begin();
        }
        if !self.builder.is_following() {
            let end = layer.len().min(self.done + CHUNK);
            if has_moves {
                self.step(context, layer, self.done..end);
            } else {
                self.wait(context, layer, self.done..end);
            }
            meter.add_ticks((end - self.done) as u64);
            self.done = end;
            if has_moves && (end == layer.len() || self.builder.is_full()) {
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
            layer.clear();
            self.builder.finish(context.widest().map_or(0, |slot| slot.shift), layer);
        } else {
            layer.truncate(self.kept);
        }
        self.restart();
        true
    }

    /// Adds the edges from some of the layer's combinations to the layer under construction.
    fn step(&mut self, context: &JoinContext<'_, N>, layer: &Layer<N>, places: Range<usize>) {
        let mut start = places.start;
        while start < places.end {
            let end = self.branch(context, layer, start..places.end);
            self.groups.iter().for_each(|group| self.builder.add(group, &(start..end)));
            start = end;
        }
    }

    /// Moves the player in some of the layer's combinations in a tick in which the threats do not
    /// move. The combinations stay as they are; those that are left come first.
    fn wait(&mut self, context: &JoinContext<'_, N>, layer: &mut Layer<N>, places: Range<usize>) {
        let mut start = places.start;
        while start < places.end {
            let end = self.branch(context, layer, start..places.end);
            self.leave(context, layer, start..end, |_, _, to| to);
            for (place, lives) in (start..end).zip(&self.lives) {
                if !lives.is_empty() {
                    (layer.keys[self.kept], layer.sets[self.kept]) = (layer.keys[place], *lives);
                    self.kept += 1;
                }
            }
            start = end;
        }
    }

    /// Finds what is left of each combination of a run, whose other threats have been branched:
    /// `leave` returns the places for a next combination and the player's places before and after.
    fn leave(
        &mut self,
        context: &JoinContext<'_, N>,
        layer: &Layer<N>,
        run: Range<usize>,
        mut leave: impl FnMut(Combination, TileSet<N>, TileSet<N>) -> TileSet<N>,
    ) {
        let widest = context.widest();
        let shift = widest.map_or(0, |slot| slot.shift);
        let combinations = (&layer.keys[run.clone()], &layer.sets[run.clone()]);
        self.lives.clear();
        self.lives.resize(run.len(), TileSet::EMPTY);
        for group in &self.groups {
            extend(context, widest, (&group.from, &group.to), combinations, |number, own, from, to| {
                let lives = leave(group.key | Combination::from(own) << shift, from, to);
                self.lives[number] = self.lives[number].or(&lives);
            });
        }
    }

    /// Finds what the threats but the widest do, for all combinations of the first run of a part of
    /// the layer; returns its end.
    fn branch(&mut self, context: &JoinContext<'_, N>, layer: &Layer<N>, places: Range<usize>) -> usize {
        let (widest, others) = context.split();
        let run_mask = widest.map_or(0, Slot::own_mask);
        let end = layer.run_end(places.start, run_mask, places.end);
        let landing = context.model.landing(context.tick, context.allowed);
        let any = layer.sets[places.start..end].iter().fold(TileSet::EMPTY, |any, set| any.or(set));
        let rest = layer.keys[places.start] & !run_mask;
        successors(context, others, &landing, rest, &any, &mut self.groups, &mut self.spare);
        end
    }

    /// Adds those of some of the layer's states to `left` that lead into the layer after it.
    pub fn trim(
        &mut self,
        context: &JoinContext<'_, N>,
        layer: &Layer<N>,
        places: Range<usize>,
        after: &Lookup<N>,
        left: &mut Layer<N>,
    ) {
        let mut after = Cursor::new(after);
        let mut start = places.start;
        while start < places.end {
            let end = self.branch(context, layer, start..places.end);
            self.leave(context, layer, start..end, |key, from, to| {
                let to = to.and(&after.places(key));
                if to.is_empty() { to } else { context.model.board.reach(&to).and(&from) }
            });
            for (place, lives) in (start..end).zip(&self.lives) {
                if !lives.is_empty() {
                    left.push(layer.keys[place], *lives);
                }
            }
            start = end;
        }
    }

    /// A state in this part of a layer that leads to a state of the next layer, which is given by
    /// its combination and the player's place.
    pub fn predecessor(
        &mut self,
        context: &JoinContext<'_, N>,
        layer: &Layer<N>,
        places: Range<usize>,
        (key, place): (Combination, u16),
    ) -> Option<(Combination, u16)> {
        let landing = context.model.landing(context.tick, context.allowed);
        let near = context.model.board.reach(&TileSet::of(place));
        for index in places {
            let (own, set) = (layer.keys[index], &layer.sets[index]);
            successors(context, context.slots, &landing, own, set, &mut self.groups, &mut self.spare);
            let group = self.groups.iter().find(|group| group.key == key && group.to.contains(place));
            if let Some(from) = group.and_then(|group| group.from.and(&near).iter().next()) {
                return Some((own, from));
            }
        }
        None
    }

    /// The layer after another one, and of that one the states that lead into `after`: each
    /// combination by itself. The slow twin of [`Self::step`], [`Self::wait`] and [`Self::trim`].
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

    /// The layer without the threats whose bits are not in the mask.
    pub fn project(&mut self, layer: &Layer<N>, mask: Combination) -> Layer<N> {
        let mut narrow = Layer::default();
        self.index.clear(0);
        for (&key, set) in layer.keys.iter().zip(&layer.sets) {
            self.index.add(key & mask, set, &mut narrow);
        }
        narrow
    }

    /// The states of a layer with one more threat, whose bits are `added`, in each key for which
    /// `known` has a state that can be the same; `None` if there would be more than `max_len`
    /// combinations. `memories` are those in what both have in common, `common`.
    pub fn natural(
        &mut self,
        layer: &Layer<N>,
        known: &Layer<N>,
        (common, added): (Combination, Combination),
        memories: MemorySlots,
        max_len: usize,
    ) -> Option<Layer<N>> {
        let chains = Chains::new(&known.keys, common, memories);
        let mut both = Layer::default();
        self.index.clear(layer.len());
        for (&key, set) in layer.keys.iter().zip(&layer.sets) {
            for at in chains.matches(key & common, &known.keys) {
                let set = set.and(&known.sets[at]);
                if !set.is_empty() {
                    self.index.add(key | known.keys[at] & added, &set, &mut both);
                }
            }
            if both.len() > max_len {
                return None;
            }
        }
        Some(both)
    }
}
