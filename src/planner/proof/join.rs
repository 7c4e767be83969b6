//! Several threats at once: layers of the states in which the player can be, for each combination
//! of their keys.
//!
//! A combination holds the keys of some threats, each at its own bits, which are the same in every
//! layer: a threat is left out by clearing its bits.

use std::ops::Range;

use super::model::{Automaton, Model};
use super::projection::Projection;
use super::tile_set::TileSet;

/// The position of a threat's key in a combination.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slot {
    /// The automaton's index in the model.
    pub automaton: usize,
    shift: u32,
    bits: u32,
    /// The bits of a memory that is unknown when all of them are set; none for most threats.
    memory_bits: u64,
    /// For a hawk whose random draws are counted: how many it had made at the root, and the
    /// position of the number of later ones in a combination. Otherwise a draw counts as any.
    draws: Option<(u16, u32)>,
}

/// Bits of a hawk's number of draws since the root: a hawk moves at most 1,300 times in a game, and
/// at least seven times for a draw.
const DRAW_BITS: u32 = 8;

impl Slot {
    /// The threat's key.
    #[inline]
    pub fn key(&self, combination: u64) -> u32 {
        (combination >> self.shift & ((1 << self.bits) - 1)) as u32
    }

    /// The key at its place.
    #[inline]
    pub fn place(&self, key: u32) -> u64 {
        u64::from(key) << self.shift
    }

    /// The bits of the slot.
    pub fn mask(&self) -> u64 {
        ((1 << self.bits) - 1) << self.shift
    }

    /// The bits of a hawk's number of draws, if they are counted.
    fn draws_mask(&self) -> u64 {
        self.draws.map_or(0, |(_, shift)| ((1 << DRAW_BITS) - 1) << shift)
    }
}

/// The slots with every hawk's draws counted above all of their bits, as the game does: a hawk's
/// random pick is then the one that it makes. `draws` gives the number that an automaton had made
/// at the root. `None` if some threat has no slot or there is no room.
pub(super) fn counting_slots<const N: usize>(
    model: &Model<N>,
    slots: &[Slot],
    draws: impl Fn(usize) -> u16,
) -> Option<Vec<Slot>> {
    let mut shift = slots.iter().map(|slot| slot.shift + slot.bits).max().unwrap_or(0);
    let mut counting = slots.to_vec();
    for slot in counting.iter_mut().filter(|slot| slot.memory_bits != 0) {
        slot.draws = Some((draws(slot.automaton), shift));
        shift += DRAW_BITS;
    }
    (slots.len() == model.automata.len() && shift < u64::BITS).then_some(counting)
}

/// For each slot of a mask whose memory may be unknown: the bits of that memory.
pub(super) fn memory_bits_of(slots: &[Slot], mask: u64) -> Vec<u64> {
    slots.iter().map(|slot| slot.memory_bits & mask).filter(|&bits| bits != 0).collect()
}

/// A slot for each automaton in this order that still fits.
pub(super) fn slots_of<const N: usize>(model: &Model<N>, order: &[usize]) -> Vec<Slot> {
    let mut shift = 0;
    let mut slots = Vec::new();
    for &automaton in order {
        let bits = usize::BITS - model.keys(&model.automata[automaton]).leading_zeros();
        if shift + bits < u64::BITS {
            let is_hawk = matches!(model.automata[automaton], Automaton::Hawk { .. });
            let memory_bits = if is_hawk { u64::from(model.unknown_memory()) << shift } else { 0 };
            slots.push(Slot { automaton, shift, bits, memory_bits, draws: None });
            shift += bits;
        }
    }
    slots
}

/// The states of a tick: for each combination of keys, the places of the player.
#[derive(Clone, Debug, Default)]
pub(super) struct Layer<const N: usize> {
    /// Distinct combinations.
    pub keys: Vec<u64>,
    /// For each of them the places, at least one.
    pub sets: Vec<TileSet<N>>,
}

impl<const N: usize> Layer<N> {
    /// Bytes of a combination with its places.
    pub const KEY_BYTES: usize = size_of::<u64>() + size_of::<TileSet<N>>();

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

    fn push(&mut self, key: u64, set: TileSet<N>) {
        self.keys.push(key);
        self.sets.push(set);
    }

    /// Restricts the places of each combination to those that `keep` returns.
    pub fn retain(&mut self, keep: impl Fn(u64) -> TileSet<N>) {
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
    entries: Vec<u32>,
    /// The bits of each memory that may be unknown.
    memory_bits: Vec<u64>,
    /// The layer with every such memory unknown, if there are any.
    coarse: Option<Box<Self>>,
}

impl<const N: usize> Lookup<N> {
    /// Bytes per combination.
    pub const KEY_BYTES: usize = Layer::<N>::KEY_BYTES + 3 * size_of::<u32>();
    const FREE: u32 = u32::MAX;
    /// Unknown memories for which all possibilities are looked up.
    const UNKNOWN_MAX: usize = 2;

    pub fn new(mut layer: Layer<N>, memory_bits: Vec<u64>) -> Self {
        layer.keys.shrink_to_fit();
        layer.sets.shrink_to_fit();
        let mut entries = vec![Self::FREE; (3 * layer.len() / 2 + 1).next_power_of_two()];
        let mask = entries.len() - 1;
        for (place, &key) in layer.keys.iter().enumerate() {
            let mut at = hash(key) & mask;
            while entries[at] != Self::FREE {
                at = (at + 1) & mask;
            }
            entries[at] = place as u32;
        }
        let all = memory_bits.iter().fold(0, |all, bits| all | bits);
        let coarse = (all != 0).then(|| {
            let (mut index, mut coarse) = (Index::default(), Layer::default());
            index.clear(layer.len());
            for (&key, &set) in layer.keys.iter().zip(&layer.sets) {
                index.add(key | all, set, &mut coarse);
            }
            Box::new(Self::new(coarse, Vec::new()))
        });
        Self { layer, entries, memory_bits, coarse }
    }

    pub fn layer(&self) -> &Layer<N> {
        &self.layer
    }

    /// The bytes in use.
    pub fn bytes(&self) -> usize {
        self.layer.len() * Self::KEY_BYTES + self.coarse.as_ref().map_or(0, |coarse| coarse.bytes())
    }

    /// The places of the combinations that can stand for the same state of the game as this one: an
    /// unknown memory stands for every memory.
    #[inline]
    pub fn places(&self, key: u64) -> TileSet<N> {
        let Some(coarse) = &self.coarse else { return self.get(key) };
        self.places_with_unknown(key, coarse)
    }

    fn places_with_unknown(&self, key: u64, coarse: &Self) -> TileSet<N> {
        let is_unknown = |&bits: &u64| key & bits == bits;
        if self.memory_bits.len() > Self::UNKNOWN_MAX || self.memory_bits.iter().any(is_unknown) {
            return coarse.get(self.memory_bits.iter().fold(key, |key, bits| key | bits));
        }
        let first = self.get(key).or(&self.get(key | self.memory_bits[0]));
        match self.memory_bits.get(1) {
            None => first,
            Some(second) => first.or(&self.get(key | second)).or(&self.get(key | self.memory_bits[0] | second)),
        }
    }

    /// The places of a combination.
    #[inline]
    fn get(&self, key: u64) -> TileSet<N> {
        let mask = self.entries.len() - 1;
        let mut at = hash(key) & mask;
        loop {
            match self.entries[at] {
                Self::FREE => return TileSet::EMPTY,
                place if self.layer.keys[place as usize] == key => return self.layer.sets[place as usize],
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
}

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
    fn find(&self, key: u64, keys: &[u64]) -> Result<usize, usize> {
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
    fn add<const N: usize>(&mut self, key: u64, set: TileSet<N>, layer: &mut Layer<N>) {
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

    #[cold]
    fn grow(&mut self, keys: &[u64]) {
        self.clear(2 * keys.len());
        for (place, &key) in keys.iter().enumerate() {
            if let Err(at) = self.find(key, keys) {
                self.entries[at] = (self.stamp, place as u32);
            }
        }
    }
}

#[inline]
fn hash(key: u64) -> usize {
    let product = u128::from(key ^ 0x9e37_79b9_7f4a_7c15) * 0xe703_7ed1_a0b4_28db_u128;
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
            for group in &groups {
                self.index.add(group.key, group.to, next);
            }
        }
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
        (key, place): (u64, u16),
    ) -> Option<(u64, u16)> {
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
    pub fn project(&mut self, layer: &Layer<N>, mask: u64) -> Layer<N> {
        let mut narrow = Layer::default();
        self.begin(layer.len(), &mut narrow);
        for (&key, &set) in layer.keys.iter().zip(&layer.sets) {
            self.index.add(key & mask, set, &mut narrow);
        }
        narrow
    }

    /// The states that are in both layers, over the threats of either: `mask` holds the bits of the
    /// layer's own.
    pub fn natural(layer: Layer<N>, mask: u64, memory_bits: Vec<u64>, known: &Layer<N>) -> Layer<N> {
        let own = Lookup::new(layer, memory_bits);
        let mut both = Layer::default();
        for (&key, lives) in known.keys.iter().zip(&known.sets) {
            let set = own.places(key & mask).and(lives);
            if !set.is_empty() {
                both.push(key, set);
            }
        }
        both
    }
}

/// Places that lead from one combination to another.
#[derive(Clone, Copy, Debug)]
struct Group<const N: usize> {
    key: u64,
    /// Where the player was.
    from: TileSet<N>,
    /// Where it is then.
    to: TileSet<N>,
}

/// Every next combination of keys with the places where the player can be then, into `groups`.
fn successors<const N: usize>(
    context: &JoinContext<'_, N>,
    landing: &TileSet<N>,
    key: u64,
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
    let draws = slots.iter().fold(0, |mask, slot| mask | slot.draws_mask());
    groups.push(Group { key: key & draws, from: *set, to: *set });
    for slot in slots {
        // Threats that use the player's previous position.
        let Automaton::Chaser { branches, .. } = &model.automata[slot.automaton] else { continue };
        spare.clear();
        for group in groups.iter() {
            for branch in &branches[slot.key(key) as usize] {
                let from = group.from.and(&branch.when);
                if !from.is_empty() {
                    spare.push(Group { key: group.key | slot.place(branch.key), from, to: from });
                }
            }
        }
        std::mem::swap(groups, spare);
    }
    for group in groups.iter_mut() {
        group.to = model.board.reach(&group.from).and(&free);
    }
    for slot in slots {
        spare.clear();
        let known = projections[slot.automaton].get(tick + 1);
        land(context, slot, slot.key(key), groups, |group, key_next, to| {
            let mut to = to;
            match known {
                Some(layer) => to = to.and(&layer[key_next as usize]),
                None => to.remove(model.place(&model.automata[slot.automaton], key_next)),
            }
            if !to.is_empty() {
                spare.push(Group { key: group.key | slot.place(key_next), from: group.from, to });
            }
        });
        std::mem::swap(groups, spare);
        if groups.is_empty() {
            return;
        }
    }
}

/// Every next key of a threat for each group, with the places of the player for it.
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
        Automaton::Chaser { .. } => groups.iter().for_each(|group| push(group, slot.key(group.key), group.to)),
        Automaton::Owl { .. } => {
            let forgets = model.forgets[tick + 1];
            if !model.looks[tick] {
                let next = model.owl_step(key, forgets);
                groups.iter().for_each(|group| push(group, next, group.to));
                return;
            }
            for group in groups {
                for branch in &model.owl_branches[model.owl_tile(key)] {
                    let to = group.to.and(&branch.when);
                    if forgets {
                        push(group, model.owl_key(branch.key, None), to);
                    } else {
                        for place in to.iter() {
                            push(group, model.owl_key(branch.key, Some(place)), TileSet::of(place));
                        }
                    }
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
                    Some((at_root, shift)) => {
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
