//! The moves of the player and of several threats in a tick, from all places of the player at once.

use super::combination::{Combination, Slot};
use super::model::{Automaton, Model};
use super::projection::Projection;
use super::tile_set::TileSet;

/// The data shared by all combinations of a layer.
#[derive(Clone, Copy, Debug)]
pub(super) struct JoinContext<'a, const N: usize> {
    pub model: &'a Model<N>,
    /// The slots of the layer's threats.
    pub slots: &'a [Slot],
    /// The tick of the layer.
    pub tick: usize,
    /// By tick, the places where the player can be.
    pub allowed: &'a [TileSet<N>],
    /// By automaton, its projection; empty for those without one.
    pub projections: &'a [Projection<N>],
}

/// Places that lead from one combination to another.
#[derive(Clone, Copy, Debug)]
pub(super) struct Group<const N: usize> {
    pub key: Combination,
    /// Where the player was.
    pub from: TileSet<N>,
    /// Where it is then.
    pub to: TileSet<N>,
}

impl<const N: usize> JoinContext<'_, N> {
    /// The threat with the most keys.
    pub fn widest(&self) -> Option<&Slot> {
        self.slots.last()
    }

    /// The threat with the most keys, and the others.
    pub fn split(&self) -> (Option<&Slot>, &[Slot]) {
        self.slots.split_last().map_or((None, &[]), |(slot, others)| (Some(slot), others))
    }

    fn automaton(&self, slot: &Slot) -> &Automaton<N> {
        &self.model.automata[slot.automaton]
    }

    /// Whether the player may not step onto the place of a threat before its move.
    #[inline]
    fn leaves_own(&self) -> bool {
        self.model.rules.no_jump || !self.model.moves[self.tick]
    }

    /// Takes the place of a threat before its move from those where the player can go, if it may
    /// not.
    #[inline]
    fn leave_own(&self, slot: &Slot, key: u32, to: &mut TileSet<N>) {
        if self.leaves_own() {
            to.remove(self.model.place(self.automaton(slot), key));
        }
    }

    /// Keeps the places that a threat's next key leaves to the player.
    #[inline]
    fn leave_next(&self, slot: &Slot, key_next: u32, to: &mut TileSet<N>) {
        match self.projections[slot.automaton].get(self.tick + 1) {
            Some(layer) => *to = to.and(&layer[key_next as usize]),
            None => to.remove(self.model.place(self.automaton(slot), key_next)),
        }
    }
}

/// Every next combination of the keys of some threats with the places where the player can be then,
/// into `groups`.
pub(super) fn successors<const N: usize>(
    context: &JoinContext<'_, N>,
    slots: &[Slot],
    landing: &TileSet<N>,
    key: Combination,
    set: &TileSet<N>,
    groups: &mut Vec<Group<N>>,
    spare: &mut Vec<Group<N>>,
) {
    let &JoinContext { model, tick, .. } = context;
    groups.clear();
    let (mut free, mut fixed) = (*landing, 0);
    // By slot, one bit each: the threats that use the player's previous position, and those whose
    // moves depend on its next one.
    let (mut chasers, mut watchers) = (0u32, 0u32);
    for (index, slot) in slots.iter().enumerate() {
        let key_now = slot.key(key);
        context.leave_own(slot, key_now, &mut free);
        match context.automaton(slot) {
            _ if !model.moves[tick] => {
                fixed |= key & slot.own_mask();
                context.leave_next(slot, key_now, &mut free);
            }
            Automaton::Owl { .. } if !model.looks[tick] => {
                let key_next = model.owl_step(key_now, model.forgets(tick + 1));
                fixed |= slot.place(key_next);
                context.leave_next(slot, key_next, &mut free);
            }
            Automaton::Chaser { .. } => chasers |= 1 << index,
            Automaton::Owl { .. } | Automaton::Hawk { .. } => watchers |= 1 << index,
        }
    }
    let those = |bits: u32| slots.iter().enumerate().filter(move |(index, _)| bits >> index & 1 == 1).map(|(_, s)| s);
    groups.push(Group { key: fixed, from: *set, to: free });
    for slot in those(chasers) {
        let Automaton::Chaser { branches, .. } = context.automaton(slot) else { continue };
        spare.clear();
        for group in groups.iter() {
            for branch in &branches[slot.key(key) as usize] {
                let from = group.from.and(&branch.when);
                if !from.is_empty() {
                    let mut to = group.to;
                    context.leave_next(slot, branch.key, &mut to);
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
            land(context, slot, slot.own(key), &group.to, |own, to| {
                spare.push(Group { key: group.key | slot.place(own), from: group.from, to });
            });
        }
        std::mem::swap(groups, spare);
    }
}

/// Adds the widest threat to a group of the others, for the combinations of a run: `push` gets the
/// number in the run, the threat's next key with a hawk's draws, and the player's places before and
/// after.
#[inline]
pub(super) fn extend<const N: usize>(
    context: &JoinContext<'_, N>,
    widest: Option<&Slot>,
    (group_from, group_to): (&TileSet<N>, &TileSet<N>),
    (keys, sets): (&[Combination], &[TileSet<N>]),
    mut push: impl FnMut(usize, u32, TileSet<N>, TileSet<N>),
) {
    let &JoinContext { model, tick, .. } = context;
    let places = &model.board.places[..];
    let reach = |from: &TileSet<N>| from.spread(model.board.stride).and(group_to);
    let Some(slot) = widest else {
        for (number, set) in sets.iter().enumerate() {
            let from = group_from.and(set);
            let to = reach(&from);
            if !to.is_empty() {
                push(number, 0, from, to);
            }
        }
        return;
    };
    let leaves_own = context.leaves_own();
    let projection = context.projections[slot.automaton].get(tick + 1).map(|layer| &layer[..]);
    // What is left of the places where the player can go, with the threat on these tiles before and
    // after its move.
    let leave = |to: &mut TileSet<N>, key_next: u32, tile: usize, tile_next: usize| {
        if leaves_own {
            to.remove(places[tile]);
        }
        match projection {
            Some(layer) => *to = to.and(&layer[key_next as usize]),
            None => to.remove(places[tile_next]),
        }
    };
    let automaton = context.automaton(slot);
    // Of each combination that leads anywhere: its number, the player's places, and the threat's key.
    let starts = keys.iter().zip(sets).enumerate().filter_map(|(number, (&key, set))| {
        let from = group_from.and(set);
        let to = reach(&from);
        (!to.is_empty()).then(|| (number, from, to, slot.own(key)))
    });
    match automaton {
        Automaton::Chaser { branches, .. } if model.moves[tick] => {
            for (number, from, _, key) in starts {
                let tile = model.tile(automaton, key);
                for branch in &branches[key as usize] {
                    let from = from.and(&branch.when);
                    let mut to = reach(&from);
                    leave(&mut to, branch.key, tile, model.tile(automaton, branch.key));
                    if !to.is_empty() {
                        push(number, branch.key, from, to);
                    }
                }
            }
        }
        Automaton::Owl { .. } if model.moves[tick] && !model.looks[tick] => {
            let forgets = model.forgets(tick + 1);
            for (number, from, mut to, key) in starts {
                let key_next = model.owl_step(key, forgets);
                leave(&mut to, key_next, model.owl_tile(key), model.owl_tile(key_next));
                if !to.is_empty() {
                    push(number, key_next, from, to);
                }
            }
        }
        _ if !model.moves[tick] => {
            for (number, from, mut to, own) in starts {
                let tile = model.tile(automaton, slot.own_key(own));
                leave(&mut to, slot.own_key(own), tile, tile);
                if !to.is_empty() {
                    push(number, own, from, to);
                }
            }
        }
        _ => {
            for (number, from, mut to, own) in starts {
                context.leave_own(slot, slot.own_key(own), &mut to);
                land(context, slot, own, &to, |own, to| push(number, own, from, to));
            }
        }
    }
}

/// Every next key of an owl that looks, or of a hawk with its draws, with the places of the player
/// for it.
#[inline]
fn land<const N: usize>(
    context: &JoinContext<'_, N>,
    slot: &Slot,
    own: u32,
    to: &TileSet<N>,
    mut push: impl FnMut(u32, TileSet<N>),
) {
    let &JoinContext { model, tick, .. } = context;
    let key = slot.own_key(own);
    let mut push = |key: u32, draws: u32, mut to: TileSet<N>| {
        context.leave_next(slot, key, &mut to);
        if !to.is_empty() {
            push(key | draws, to);
        }
    };
    match context.automaton(slot) {
        Automaton::Chaser { .. } => unreachable!("sharks and deer have moved before the player"),
        Automaton::Owl { .. } => {
            for branch in &model.owl_branches[model.owl_tile(key)] {
                let to = to.and(&branch.when);
                if model.forgets(tick + 1) {
                    push(model.owl_key(branch.key, 0, tick + 1), 0, to);
                    continue;
                }
                // Memories that lead to the same moves are one.
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
            let (sees, draws) = (&model.sees[model.hawk_tile(key)], own - key);
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
