//! Steps layers forwards and backwards: moves the player and the threats by one tick, for all of the
//! player's places at once, one *run* at a time. The combinations of a run differ only in the widest
//! threat, so all other threats move once for the whole run.

use std::ops::Range;

use super::combination::{Combination, Slot};
use super::layer::{Cursor, Index, Layer, Lookup};
use super::model::{Automaton, StepContext};
use super::tiles::TileSet;
use crate::search::{BudgetMeter, StopReason};

/// Number of combinations between two checks of the budget: about 100 microseconds of work.
const CHUNK: usize = 512;

/// A combination that can come next, with the player's places before and after its move.
#[derive(Clone, Copy, Debug)]
struct Group<const N: usize> {
    key: Combination,
    from: TileSet<N>,
    to: TileSet<N>,
}

/// The groups of a step, and a buffer.
type Groups<const N: usize> = [Vec<Group<N>>; 2];

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
}

fn chunks(len: usize) -> impl Iterator<Item = Range<usize>> {
    (0..len).step_by(CHUNK).map(move |start| start..len.min(start + CHUNK))
}

impl<const N: usize> StepContext<'_, N> {
    fn widest(&self) -> Option<&Slot> {
        self.slots.last()
    }

    fn automaton(&self, slot: &Slot) -> &Automaton<N> {
        &self.model.automata[slot.automaton]
    }

    #[inline]
    fn excludes_own_tile(&self) -> bool {
        self.model.board.no_jump || !self.model.times.moves[self.tick]
    }

    #[inline]
    fn exclude_own_tile(&self, slot: &Slot, key: u32, to: &mut TileSet<N>) {
        if self.excludes_own_tile() {
            to.remove(self.model.place(self.automaton(slot), key));
        }
    }

    #[inline]
    fn exclude_next_tile(&self, slot: &Slot, key_next: u32, to: &mut TileSet<N>) {
        match self.projections[slot.automaton].get(self.tick + 1) {
            Some(layer) => *to = to.and(&layer[key_next as usize]),
            None => to.remove(self.model.place(self.automaton(slot), key_next)),
        }
    }

    /// Replaces `groups` with the combinations of `slots` that can follow `key`.
    fn successors(&self, slots: &[Slot], key: Combination, set: &TileSet<N>, [groups, spare]: &mut Groups<N>) {
        let &Self { model, tick, .. } = self;
        groups.clear();
        let (mut free, mut fixed) = (self.landing, 0);
        // Chasers react to the player's place before its move, watchers to its place after the move.
        let (mut chasers, mut watchers) = (0u32, 0u32);
        for (index, slot) in slots.iter().enumerate() {
            let key_now = slot.key(key);
            self.exclude_own_tile(slot, key_now, &mut free);
            match self.automaton(slot) {
                _ if !model.times.moves[tick] => {
                    fixed |= key & slot.counted_mask();
                    self.exclude_next_tile(slot, key_now, &mut free);
                }
                Automaton::Owl { .. } if !model.times.looks[tick] => {
                    let key_next = model.owl_step(key_now, model.forgets(tick + 1));
                    fixed |= slot.place(key_next);
                    self.exclude_next_tile(slot, key_next, &mut free);
                }
                Automaton::Chaser { .. } => chasers |= 1 << index,
                Automaton::Owl { .. } | Automaton::Hawk { .. } => watchers |= 1 << index,
            }
        }
        let those =
            |bits: u32| slots.iter().enumerate().filter(move |(index, _)| bits >> index & 1 == 1).map(|(_, s)| s);
        groups.push(Group { key: fixed, from: *set, to: free });
        for slot in those(chasers) {
            let branches = self.automaton(slot).branches(tick, slot.key(key));
            spare.clear();
            for group in groups.iter() {
                for branch in branches {
                    let from = group.from.and(&branch.when);
                    if !from.is_empty() {
                        let mut to = group.to;
                        self.exclude_next_tile(slot, branch.key, &mut to);
                        spare.push(Group { key: group.key | slot.place(branch.key), from, to });
                    }
                }
            }
            std::mem::swap(groups, spare);
        }
        groups.retain_mut(|group| {
            group.to = group.from.spread(model.board.stride).and(&group.to);
            !group.to.is_empty()
        });
        for slot in those(watchers) {
            spare.clear();
            for group in groups.iter() {
                self.watcher_successors(slot, slot.counted_key(key), &group.to, |counted, to| {
                    spare.push(Group { key: group.key | slot.place(counted), from: group.from, to });
                });
            }
            std::mem::swap(groups, spare);
        }
    }

    /// Moves the widest threat of each combination in a run. `push` receives the combination's index in
    /// the run, the threat's next counted key, and the player's places before and after its move.
    #[inline]
    fn extend(
        &self,
        group: &Group<N>,
        (keys, sets): (&[Combination], &[TileSet<N>]),
        mut push: impl FnMut(usize, u32, TileSet<N>, TileSet<N>),
    ) {
        let &Self { model, tick, .. } = self;
        let places = &model.board.places[..];
        let reach = |from: &TileSet<N>| from.spread(model.board.stride).and(&group.to);
        let Some(slot) = self.widest() else {
            for (number, set) in sets.iter().enumerate() {
                let from = group.from.and(set);
                let to = reach(&from);
                if !to.is_empty() {
                    push(number, 0, from, to);
                }
            }
            return;
        };
        let excludes_own_tile = self.excludes_own_tile();
        let projection = self.projections[slot.automaton].get(tick + 1).map(|layer| &layer[..]);
        let leave = |to: &mut TileSet<N>, key_next: u32, tile: usize, tile_next: usize| {
            if excludes_own_tile {
                to.remove(places[tile]);
            }
            match projection {
                Some(layer) => *to = to.and(&layer[key_next as usize]),
                None => to.remove(places[tile_next]),
            }
        };
        let automaton = self.automaton(slot);
        // For each combination in which the player can move: index, places before and after, and
        // counted key.
        let starts = keys.iter().zip(sets).enumerate().filter_map(|(number, (&key, set))| {
            let from = group.from.and(set);
            let to = reach(&from);
            (!to.is_empty()).then(|| (number, from, to, slot.counted_key(key)))
        });
        let is_owl = matches!(automaton, Automaton::Owl { .. });
        let is_watching = model.times.moves[tick] && (!is_owl || model.times.looks[tick]);
        match automaton {
            Automaton::Chaser { .. } if model.times.moves[tick] => {
                for (number, from, _, key) in starts {
                    let tile = model.tile(automaton, key);
                    for branch in automaton.branches(tick, key) {
                        let from = from.and(&branch.when);
                        let mut to = reach(&from);
                        leave(&mut to, branch.key, tile, model.tile(automaton, branch.key));
                        if !to.is_empty() {
                            push(number, branch.key, from, to);
                        }
                    }
                }
            }
            Automaton::Owl { .. } | Automaton::Hawk { .. } if is_watching => {
                for (number, from, mut to, counted) in starts {
                    self.exclude_own_tile(slot, slot.key_of(counted), &mut to);
                    self.watcher_successors(slot, counted, &to, |counted, to| push(number, counted, from, to));
                }
            }
            _ => {
                let forgets = model.forgets(tick + 1);
                for (number, from, mut to, counted) in starts {
                    let counted_next = if model.times.moves[tick] { model.owl_step(counted, forgets) } else { counted };
                    let [key, key_next] = [counted, counted_next].map(|counted| slot.key_of(counted));
                    leave(&mut to, key_next, model.tile(automaton, key), model.tile(automaton, key_next));
                    if !to.is_empty() {
                        push(number, counted_next, from, to);
                    }
                }
            }
        }
    }

    /// Moves a hawk, or an owl that looks. `push` receives each next counted key and the player's new
    /// places.
    #[inline]
    fn watcher_successors(&self, slot: &Slot, counted: u32, to: &TileSet<N>, mut push: impl FnMut(u32, TileSet<N>)) {
        let &Self { model, tick, .. } = self;
        let key = slot.key_of(counted);
        let mut push = |key: u32, draws: u32, mut to: TileSet<N>| {
            self.exclude_next_tile(slot, key, &mut to);
            if !to.is_empty() {
                push(key | draws, to);
            }
        };
        match self.automaton(slot) {
            Automaton::Chaser { .. } => unreachable!("sharks and deer are not watchers"),
            Automaton::Owl { .. } => {
                for branch in &model.paths.owl_branches[model.owl_tile(key)] {
                    let to = to.and(&branch.when);
                    if model.forgets(tick + 1) {
                        push(model.owl_key(branch.key, 0, tick + 1), 0, to);
                        continue;
                    }
                    // Two remembered tiles give the same key if they lead to the same moves before the
                    // next look.
                    let mut ends: Vec<(u32, TileSet<N>)> = Vec::new();
                    for place in to.iter() {
                        let seen = model.board.tiles[usize::from(place)];
                        let next = model.owl_key(branch.key, seen.into(), tick + 1);
                        match ends.iter_mut().find(|(key, _)| *key == next) {
                            Some((_, places)) => places.insert(place),
                            None => ends.push((next, TileSet::of(place))),
                        }
                    }
                    ends.into_iter().for_each(|(key, places)| push(key, 0, places));
                }
            }
            Automaton::Hawk { .. } => {
                let (sees, draws) = (&model.paths.sees[model.hawk_tile(key)], counted - key);
                for place in to.and(sees).iter() {
                    push(model.hawk_seeing(key, place), draws, TileSet::of(place));
                }
                let hidden = to.without(sees);
                if hidden.is_empty() {
                    return;
                }
                match slot.draws.filter(|_| model.hawk_draws(key)) {
                    Some(at_root) => {
                        let next = model.hawk_drawing(key, at_root + (draws >> slot.bits) as u16);
                        push(next, draws + (1 << slot.bits), hidden);
                    }
                    None => model.hawk_blind(key).for_each(|next| push(next, draws, hidden)),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
