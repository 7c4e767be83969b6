//! Several threats at once: layers of the states in which the player can be, for each combination
//! of their keys.
//!
//! A combination holds the keys of some threats, each at its own bits, which are the same in every
//! layer: a threat is left out by clearing its bits.

use std::ops::Range;
use std::sync::Arc;

use super::model::{Automaton, Memories, Model};
use super::projection::Projection;
use super::tile_set::TileSet;

/// The keys of some threats, each at its own bits.
pub(super) type Combination = u128;

/// The position of a threat's key in a combination.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slot {
    /// The automaton's index in the model.
    pub automaton: usize,
    shift: u32,
    bits: u32,
    /// The bits of a memory of which only a part may be known; none for most threats.
    memory_bits: Combination,
    /// For a hawk: the position of the number of its random draws since the root.
    draws_shift: Option<u32>,
    /// For a hawk whose draws are counted: how many it had made at the root. Otherwise a draw counts
    /// as any.
    draws: Option<u16>,
}

/// Bits of a hawk's number of draws since the root: a hawk moves at most 1,300 times in a game, and
/// at least seven times for a draw.
const DRAW_BITS: u32 = 8;

impl Slot {
    /// The threat's key.
    #[inline]
    pub fn key(&self, combination: Combination) -> u32 {
        (combination >> self.shift & ((1 << self.bits) - 1)) as u32
    }

    /// The key at its place.
    #[inline]
    pub fn place(&self, key: u32) -> Combination {
        Combination::from(key) << self.shift
    }

    /// The bits of the slot.
    pub fn mask(&self) -> Combination {
        ((1 << self.bits) - 1) << self.shift
    }

    /// A hawk's number of draws since the root at its place; other threats have none.
    #[inline]
    pub fn draws_place(&self, draws: impl FnOnce() -> u16) -> Combination {
        self.draws_shift.map_or(0, |shift| Combination::from(draws()) << shift)
    }

    /// The bits of a hawk's number of draws; none for other threats.
    pub fn draws_mask(&self) -> Combination {
        self.draws_shift.map_or(0, |shift| ((1 << DRAW_BITS) - 1) << shift)
    }

    /// The slot with a hawk's draws counted as the game does: a random pick is then the one that it
    /// makes. `at_root` is the number that it had made at the root.
    pub fn counting(self, at_root: u16) -> Self {
        Self { draws: self.draws_shift.map(|_| at_root), ..self }
    }
}

/// The memories in a combination of which only a part may be known.
#[derive(Clone, Debug, Default)]
pub(super) struct MemorySlots {
    /// The position of each, and its bits.
    slots: Vec<(u32, Combination)>,
    memories: Arc<Memories>,
}

impl MemorySlots {
    /// Those in a mask. Where draws are counted, memories are fully known.
    pub fn new(memories: &Arc<Memories>, slots: &[Slot], mask: Combination) -> Self {
        let slots = slots.iter().filter(|slot| slot.memory_bits & mask != 0 && slot.draws_mask() & mask == 0);
        Self { slots: slots.map(|slot| (slot.shift, slot.memory_bits)).collect(), memories: memories.clone() }
    }

    /// The combination with every memory left out.
    #[inline]
    fn without(&self, key: Combination) -> Combination {
        self.slots.iter().fold(key, |key, (_, bits)| key | bits)
    }

    /// Whether two combinations that differ only in memories can stand for the same state.
    #[inline]
    fn overlap(&self, one: Combination, other: Combination) -> bool {
        let memory = |key: Combination, &(shift, bits): &(u32, Combination)| ((key & bits) >> shift) as u32;
        self.slots.iter().all(|slot| self.memories.overlap(memory(one, slot), memory(other, slot)))
    }
}

/// Bits of a combination that threats share. The verifier needs the others for the player.
const SLOT_BITS: u32 = 115;
/// The fewest bits of a hawk: the verifier needs as many.
const HAWK_BITS_MIN: u32 = 26;

/// A slot for each automaton in this order that still fits, with room for the draws of hawks.
pub(super) fn slots_of<const N: usize>(model: &Model<N>, order: &[usize]) -> Vec<Slot> {
    let mut shift = 0;
    let mut slots = Vec::new();
    for &automaton in order {
        let bits = usize::BITS - model.keys(&model.automata[automaton]).leading_zeros();
        let is_hawk = matches!(model.automata[automaton], Automaton::Hawk { .. });
        let needed = if is_hawk { (bits + DRAW_BITS).max(HAWK_BITS_MIN) } else { bits };
        if shift + needed <= SLOT_BITS {
            let memory_bits = if is_hawk { Combination::from(model.memory_mask()) << shift } else { 0 };
            let draws_shift = is_hawk.then_some(shift + bits);
            slots.push(Slot { automaton, shift, bits, memory_bits, draws_shift, draws: None });
            shift += needed;
        }
    }
    slots
}

/// The states of a tick: for each combination of keys, the places of the player.
#[derive(Clone, Debug, Default)]
pub(super) struct Layer<const N: usize> {
    /// Distinct combinations.
    pub keys: Vec<Combination>,
    /// For each of them the places, at least one.
    pub sets: Vec<TileSet<N>>,
}

impl<const N: usize> Layer<N> {
    /// Bytes of a combination with its places.
    pub const KEY_BYTES: usize = size_of::<Combination>() + size_of::<TileSet<N>>();

    /// The number of combinations.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Whether no state is left.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// The number of states.
    pub fn states(&self) -> u64 {
        self.sets.iter().map(|set| u64::from(set.len())).sum()
    }

    /// Every place that occurs in a state.
    pub fn places(&self) -> TileSet<N> {
        self.sets.iter().fold(TileSet::EMPTY, |any, set| any.or(set))
    }

    /// Removes everything but keeps the allocation.
    pub fn clear(&mut self) {
        self.keys.clear();
        self.sets.clear();
    }

    fn push(&mut self, key: Combination, set: TileSet<N>) {
        self.keys.push(key);
        self.sets.push(set);
    }

    /// Restricts the places of each combination to those that `keep` returns.
    pub fn retain(&mut self, keep: impl Fn(Combination) -> TileSet<N>) {
        let mut kept = 0;
        for place in 0..self.keys.len() {
            let set = self.sets[place].and(&keep(self.keys[place]));
            if !set.is_empty() {
                (self.keys[kept], self.sets[kept]) = (self.keys[place], set);
                kept += 1;
            }
        }
        self.keys.truncate(kept);
        self.sets.truncate(kept);
    }

    /// Adds a threat in each of these keys, with the places from which the player can survive
    /// against it; `None` if there would be more than `max_len` combinations.
    pub fn widen(&self, slot: Slot, keys: &[(u32, TileSet<N>)], max_len: usize) -> Option<Self> {
        let mut wide = Self::default();
        for (&key, set) in self.keys.iter().zip(&self.sets) {
            for (own, lives) in keys {
                let set = set.and(lives);
                if set.is_empty() {
                    continue;
                }
                if wide.len() == max_len {
                    return None;
                }
                wide.push(key | slot.place(*own), set);
            }
        }
        Some(wide)
    }
}

/// A layer with an index for lookups.
#[derive(Debug, Default)]
pub(super) struct Lookup<const N: usize> {
    layer: Layer<N>,
    /// The combinations, or with memories the first of those that differ only in these.
    entries: Vec<u32>,
    /// The bits by which combinations are looked up.
    mask: Combination,
    memories: MemorySlots,
    /// With memories or other bits left out: by combination, the next one that differs only in these.
    chain: Vec<u32>,
}

impl<const N: usize> Lookup<N> {
    /// Bytes per combination.
    pub const KEY_BYTES: usize = Layer::<N>::KEY_BYTES + 3 * size_of::<u32>();
    const FREE: u32 = u32::MAX;

    pub fn new(layer: Layer<N>, memories: MemorySlots) -> Self {
        Self::groups(layer, Combination::MAX, memories)
    }

    /// With combinations that are equal in the bits of a mask in one group.
    fn groups(mut layer: Layer<N>, mask: Combination, memories: MemorySlots) -> Self {
        layer.keys.shrink_to_fit();
        layer.sets.shrink_to_fit();
        let entries = vec![Self::FREE; (3 * layer.len() / 2 + 1).next_power_of_two()];
        let is_chained = mask != Combination::MAX || !memories.slots.is_empty();
        let chain = if is_chained { vec![Self::FREE; layer.len()] } else { Vec::new() };
        let mut lookup = Self { layer, entries, mask, memories, chain };
        for place in 0..lookup.layer.len() {
            let at = lookup.entry(lookup.coarse(lookup.layer.keys[place]));
            let first = std::mem::replace(&mut lookup.entries[at], place as u32);
            if let Some(next) = lookup.chain.get_mut(place) {
                *next = first;
            }
        }
        lookup
    }

    pub fn layer(&self) -> &Layer<N> {
        &self.layer
    }

    /// The bytes in use.
    pub fn bytes(&self) -> usize {
        self.layer.len() * Self::KEY_BYTES + self.chain.len() * size_of::<u32>()
    }

    /// The places of the combinations that can stand for the same state of the game as this one.
    #[inline]
    pub fn places(&self, key: Combination) -> TileSet<N> {
        if self.chain.is_empty() {
            let at = self.entries[self.entry(key)];
            return if at == Self::FREE { TileSet::EMPTY } else { self.layer.sets[at as usize] };
        }
        self.group(key).fold(TileSet::EMPTY, |places, (_, set)| places.or(set))
    }

    /// Every combination that can stand for the same state of the game as this one in the bits by
    /// which they are looked up.
    fn group(&self, key: Combination) -> impl Iterator<Item = (Combination, &TileSet<N>)> {
        let first = self.entries[self.entry(self.coarse(key))];
        let next = |&at: &u32| self.chain.get(at as usize).copied().filter(|&at| at != Self::FREE);
        let places = std::iter::successors(Some(first).filter(|&at| at != Self::FREE), next);
        let group = places.map(|at| (self.layer.keys[at as usize], &self.layer.sets[at as usize]));
        group.filter(move |&(other, _)| self.memories.overlap(key, other))
    }

    /// What the combinations of a group have in common.
    #[inline]
    fn coarse(&self, key: Combination) -> Combination {
        self.memories.without(key & self.mask)
    }

    /// The entry of what the combinations of a group have in common, or the free one for it.
    #[inline]
    fn entry(&self, key: Combination) -> usize {
        let mask = self.entries.len() - 1;
        let mut at = hash(key) & mask;
        loop {
            match self.entries[at] {
                Self::FREE => return at,
                place if self.coarse(self.layer.keys[place as usize]) == key => return at,
                _ => at = (at + 1) & mask,
            }
        }
    }
}

/// Finds a combination in the layer under construction: open addressing; an entry is valid if it
/// has the layer's stamp.
#[derive(Debug, Default)]
struct Index {
    entries: Vec<(u32, u32)>,
    stamp: u32,
    /// A buffer of [`Self::add_all`].
    places: Vec<u32>,
}

/// How many combinations are looked up at the same time.
const PENDING: usize = 64;

impl Index {
    fn clear(&mut self, len: usize) {
        self.stamp = self.stamp.wrapping_add(1);
        let entries = (2 * len).next_power_of_two().max(1024);
        if self.entries.len() < entries || self.stamp == 0 {
            self.entries = vec![(0, 0); entries];
            self.stamp = 1;
        }
    }

    /// The index of a combination, or the slot for a new one.
    #[inline]
    fn find(&self, key: Combination, keys: &[Combination]) -> Result<usize, usize> {
        let mask = self.entries.len() - 1;
        let mut at = hash(key) & mask;
        loop {
            let (stamp, place) = self.entries[at];
            if stamp != self.stamp {
                return Err(at);
            }
            if keys[place as usize] == key {
                return Ok(place as usize);
            }
            at = (at + 1) & mask;
        }
    }

    /// Adds places to a combination of the layer.
    #[inline]
    fn add<const N: usize>(&mut self, key: Combination, set: TileSet<N>, layer: &mut Layer<N>) {
        match self.find(key, &layer.keys) {
            Ok(place) => layer.sets[place] = layer.sets[place].or(&set),
            Err(at) => {
                self.entries[at] = (self.stamp, layer.len() as u32);
                layer.push(key, set);
                if 2 * layer.len() > self.entries.len() {
                    self.grow(&layer.keys);
                }
            }
        }
    }

    /// Adds the places of several combinations, in their order. What the index will read is read
    /// before, so that the processor fetches it for all of them at the same time.
    fn add_all<const N: usize>(&mut self, pending: &mut Vec<(Combination, TileSet<N>)>, layer: &mut Layer<N>) {
        let mask = self.entries.len() - 1;
        let places = pending.iter().map(|(key, _)| self.entries[hash(*key) & mask]);
        self.places.clear();
        self.places.extend(places.map(|(stamp, place)| if stamp == self.stamp { place } else { 0 }));
        let read = |&place: &u32| layer.keys.get(place as usize).map_or(0, |key| *key as u64);
        std::hint::black_box(self.places.iter().map(read).fold(0, u64::wrapping_add));
        for (key, set) in pending.drain(..) {
            self.add(key, set, layer);
        }
    }

    #[cold]
    fn grow(&mut self, keys: &[Combination]) {
        self.clear(2 * keys.len());
        for (place, &key) in keys.iter().enumerate() {
            if let Err(at) = self.find(key, keys) {
                self.entries[at] = (self.stamp, place as u32);
            }
        }
    }
}

#[inline]
fn hash(key: Combination) -> usize {
    let (low, high) = (key as u64 ^ 0x9e37_79b9_7f4a_7c15, (key >> 64) as u64 ^ 0xe703_7ed1_a0b4_28db);
    let product = u128::from(low) * u128::from(high);
    (product as u64 ^ (product >> 64) as u64) as usize
}

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

/// The buffers of joins, kept from layer to layer.
#[derive(Debug, Default)]
pub(super) struct Join<const N: usize> {
    index: Index,
    groups: Vec<Group<N>>,
    spare: Vec<Group<N>>,
    /// Combinations with their places that are still to be added to the next layer.
    pending: Vec<(Combination, TileSet<N>)>,
}

impl<const N: usize> Join<N> {
    /// Starts a layer of about `len` combinations.
    pub fn begin(&mut self, len: usize, next: &mut Layer<N>) {
        next.clear();
        self.index.clear(len);
    }

    /// Adds the successors of some of the layer's combinations to the next layer.
    pub fn step(&mut self, context: &JoinContext<'_, N>, layer: &Layer<N>, places: Range<usize>, next: &mut Layer<N>) {
        let (mut groups, mut spare) = (std::mem::take(&mut self.groups), std::mem::take(&mut self.spare));
        let landing = context.model.landing(context.tick, context.allowed);
        for place in places {
            successors(context, &landing, layer.keys[place], &layer.sets[place], &mut groups, &mut spare);
            if !context.model.moves[context.tick] {
                // The keys stay as they are, and distinct.
                groups.iter().for_each(|group| next.push(group.key, group.to));
                continue;
            }
            self.pending.extend(groups.iter().map(|group| (group.key, group.to)));
            if self.pending.len() >= PENDING {
                self.index.add_all(&mut self.pending, next);
            }
        }
        self.index.add_all(&mut self.pending, next);
        (self.groups, self.spare) = (groups, spare);
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
        let landing = context.model.landing(context.tick, context.allowed);
        for place in places {
            let (key, set) = (layer.keys[place], layer.sets[place]);
            successors(context, &landing, key, &set, &mut self.groups, &mut self.spare);
            let mut lives = TileSet::EMPTY;
            for group in &self.groups {
                let to = group.to.and(&after.places(group.key));
                if !to.is_empty() {
                    lives = lives.or(&context.model.board.reach(&to).and(&group.from));
                }
            }
            if !lives.is_empty() {
                left.push(key, lives);
            }
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
            successors(context, &landing, layer.keys[index], &layer.sets[index], &mut self.groups, &mut self.spare);
            let group = self.groups.iter().find(|group| group.key == key && group.to.contains(place));
            if let Some(from) = group.and_then(|group| group.from.and(&near).iter().next()) {
                return Some((layer.keys[index], from));
            }
        }
        None
    }

    /// The layer without the threats whose bits are not in the mask.
    pub fn project(&mut self, layer: &Layer<N>, mask: Combination) -> Layer<N> {
        let mut narrow = Layer::default();
        self.begin(layer.len(), &mut narrow);
        for (&key, &set) in layer.keys.iter().zip(&layer.sets) {
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
        known: Layer<N>,
        (common, added): (Combination, Combination),
        memories: MemorySlots,
        max_len: usize,
    ) -> Option<Layer<N>> {
        let known = Lookup::groups(known, common, memories);
        let mut both = Layer::default();
        self.begin(layer.len(), &mut both);
        for (&key, set) in layer.keys.iter().zip(&layer.sets) {
            for (other, lives) in known.group(key & common) {
                let set = set.and(lives);
                if !set.is_empty() {
                    self.index.add(key | other & added, set, &mut both);
                }
            }
            if both.len() > max_len {
                return None;
            }
        }
        Some(both)
    }
}

/// Places that lead from one combination to another.
#[derive(Clone, Copy, Debug)]
struct Group<const N: usize> {
    key: Combination,
    /// Where the player was.
    from: TileSet<N>,
    /// Where it is then.
    to: TileSet<N>,
}

/// Every next combination of keys with the places where the player can be then, into `groups`.
fn successors<const N: usize>(
    context: &JoinContext<'_, N>,
    landing: &TileSet<N>,
    key: Combination,
    set: &TileSet<N>,
    groups: &mut Vec<Group<N>>,
    spare: &mut Vec<Group<N>>,
) {
    let &JoinContext { model, slots, tick, projections, .. } = context;
    groups.clear();
    let mut free = *landing;
    if model.rules.no_jump || !model.moves[tick] {
        for slot in slots {
            free.remove(model.place(&model.automata[slot.automaton], slot.key(key)));
        }
    }
    if !model.moves[tick] {
        let mut to = model.board.reach(set).and(&free);
        for slot in slots {
            if let Some(layer) = projections[slot.automaton].get(tick + 1) {
                to = to.and(&layer[slot.key(key) as usize]);
            }
        }
        if !to.is_empty() {
            groups.push(Group { key, from: *set, to });
        }
        return;
    }
    // The places that a threat's next key leaves to the player.
    let leave = |slot: &Slot, key_next: u32, to: &mut TileSet<N>| match projections[slot.automaton].get(tick + 1) {
        Some(layer) => *to = to.and(&layer[key_next as usize]),
        None => to.remove(model.place(&model.automata[slot.automaton], key_next)),
    };
    let draws = slots.iter().filter(|slot| slot.draws.is_some()).fold(0, |mask, slot| mask | slot.draws_mask());
    let mut fixed = key & draws;
    for slot in slots {
        // Where the player goes does not matter to owls that do not look.
        if matches!(model.automata[slot.automaton], Automaton::Owl { .. }) && !model.looks[tick] {
            let next = model.owl_step(slot.key(key), model.forgets(tick + 1));
            fixed |= slot.place(next);
            leave(slot, next, &mut free);
        }
    }
    groups.push(Group { key: fixed, from: *set, to: TileSet::EMPTY });
    for slot in slots {
        // Threats that use the player's previous position.
        let Automaton::Chaser { branches, .. } = &model.automata[slot.automaton] else { continue };
        spare.clear();
        for group in groups.iter() {
            for branch in &branches[slot.key(key) as usize] {
                let from = group.from.and(&branch.when);
                if !from.is_empty() {
                    spare.push(Group { key: group.key | slot.place(branch.key), from, to: TileSet::EMPTY });
                }
            }
        }
        std::mem::swap(groups, spare);
    }
    groups.retain_mut(|group| {
        group.to = model.board.reach(&group.from).and(&free);
        for slot in slots {
            if matches!(model.automata[slot.automaton], Automaton::Chaser { .. }) {
                leave(slot, slot.key(group.key), &mut group.to);
            }
        }
        !group.to.is_empty()
    });
    for slot in slots {
        let is_split = match &model.automata[slot.automaton] {
            Automaton::Chaser { .. } => false,
            Automaton::Owl { .. } => model.looks[tick],
            Automaton::Hawk { .. } => true,
        };
        if !is_split || groups.is_empty() {
            continue;
        }
        spare.clear();
        land(context, slot, slot.key(key), groups, |group, key_next, mut to| {
            leave(slot, key_next, &mut to);
            if !to.is_empty() {
                spare.push(Group { key: group.key | slot.place(key_next), from: group.from, to });
            }
        });
        std::mem::swap(groups, spare);
    }
}

/// Every next key of an owl that looks, or of a hawk, for each group, with the places of the player
/// for it.
#[inline]
fn land<const N: usize>(
    context: &JoinContext<'_, N>,
    slot: &Slot,
    key: u32,
    groups: &[Group<N>],
    mut push: impl FnMut(&Group<N>, u32, TileSet<N>),
) {
    let &JoinContext { model, tick, .. } = context;
    match &model.automata[slot.automaton] {
        Automaton::Chaser { .. } => unreachable!("sharks and deer have moved before the player"),
        Automaton::Owl { .. } => {
            let forgets = model.forgets(tick + 1);
            for group in groups {
                for branch in &model.owl_branches[model.owl_tile(key)] {
                    let to = group.to.and(&branch.when);
                    if forgets {
                        push(group, model.owl_key(branch.key, 0, tick + 1), to);
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
                    ends.into_iter().for_each(|(key, places)| push(group, key, places));
                }
            }
        }
        Automaton::Hawk { .. } => {
            let (sees, blind) = (&model.sees[model.hawk_tile(key)], model.hawk_blind(key));
            for group in groups {
                for place in group.to.and(sees).iter() {
                    push(group, model.hawk_seeing(key, place), TileSet::of(place));
                }
                let hidden = group.to.without(sees);
                if hidden.is_empty() {
                    continue;
                }
                match slot.draws.filter(|_| model.hawk_draws(key)) {
                    Some(at_root) => {
                        let shift = slot.draws_shift.expect("a hawk has one");
                        let draws = at_root + (group.key >> shift & ((1 << DRAW_BITS) - 1)) as u16;
                        push(
                            &Group { key: group.key + (1 << shift), ..*group },
                            model.hawk_drawing(key, draws),
                            hidden,
                        );
                    }
                    None => blind.clone().for_each(|next| push(group, next, hidden)),
                }
            }
        }
    }
}
