//! Moves the player and several threats by one tick, for all of the player's places at once.

use super::combination::{Combination, Slot};
use super::model::{Automaton, Model, Projection};
use super::tiles::TileSet;

#[derive(Clone, Copy, Debug)]
pub(super) struct StepContext<'a, const N: usize> {
    pub model: &'a Model<N>,
    pub slots: &'a [Slot],
    pub tick: usize,
    /// The places to which the player may move (see [`Model::landing`]).
    pub landing: TileSet<N>,
    pub projections: &'a [Projection<N>],
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Group<const N: usize> {
    pub key: Combination,
    pub from: TileSet<N>,
    pub to: TileSet<N>,
}

/// The groups of a step, and a buffer.
pub(super) type Groups<const N: usize> = [Vec<Group<N>>; 2];

impl<const N: usize> StepContext<'_, N> {
    pub fn widest(&self) -> Option<&Slot> {
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
    pub fn successors(&self, slots: &[Slot], key: Combination, set: &TileSet<N>, [groups, spare]: &mut Groups<N>) {
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
    pub fn extend(
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
