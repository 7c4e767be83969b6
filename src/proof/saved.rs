//! The layers of a saved prover. A layer that several targets share is saved once.
//!
//! A saved prover is a line of JSON, followed by the layers: for each layer, all its combinations
//! and then all its sets of places, as little-endian integers. Restoring checks keys and places, so
//! that later steps and lookups cannot panic. Only the verifier checks that the states are correct.

use std::collections::HashMap;
use std::io::{self, BufRead, Read, Write};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::combination::{Combination, Slot};
use super::join::Join;
use super::known::Known;
use super::layer::{Layer, Lookup};
use super::model::Model;
use super::target::Target;
use super::tile_set::TileSet;
use crate::search::{Budget, BudgetMeter};

const LINE_BYTES_MAX: u64 = 1 << 26;
const LAYERS_BYTES_MAX: u64 = 1 << 32;
const LAYERS_MAX: usize = 1 << 20;

pub(crate) fn invalid(found: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("expected the search of this map, found {found}"))
}

pub(crate) fn read_line(input: &mut dyn BufRead) -> io::Result<Vec<u8>> {
    let mut line = Vec::new();
    input.take(LINE_BYTES_MAX).read_until(b'\n', &mut line)?;
    Ok(line)
}

/// A layer over the threats in `mask`. `number` is its index in the list of layers.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SavedLayer {
    pub tick: usize,
    pub mask: Combination,
    pub number: usize,
}

#[derive(Debug, Default)]
pub(super) struct LayersWritten<'a, const N: usize> {
    layers: Vec<&'a Layer<N>>,
    numbers: HashMap<*const Layer<N>, usize>,
}

impl<'a, const N: usize> LayersWritten<'a, N> {
    pub fn add(&mut self, tick: usize, mask: Combination, layer: &'a Layer<N>) -> SavedLayer {
        let number = *self.numbers.entry(layer).or_insert_with(|| {
            self.layers.push(layer);
            self.layers.len() - 1
        });
        SavedLayer { tick, mask, number }
    }

    pub fn lens(&self) -> Vec<usize> {
        self.layers.iter().map(|layer| layer.len()).collect()
    }

    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        for layer in &self.layers {
            layer.keys.iter().try_for_each(|key| out.write_all(&key.to_le_bytes()))?;
            let mut words = layer.sets.iter().flat_map(TileSet::words);
            words.try_for_each(|word| out.write_all(&word.to_le_bytes()))?;
        }
        Ok(())
    }
}

#[derive(Debug)]
pub(super) struct LayersRead<const N: usize> {
    /// `None` for layers that have been taken.
    layers: Vec<Option<Layer<N>>>,
    known: HashMap<usize, Arc<Known<N>>>,
}

impl<const N: usize> LayersRead<N> {
    pub fn read(input: &mut dyn BufRead, lens: &[usize]) -> io::Result<Self> {
        let all = lens.iter().fold(0, |all: u64, &len| all.saturating_add(len as u64));
        if all > LAYERS_BYTES_MAX / Layer::<N>::KEY_BYTES as u64 || lens.len() > LAYERS_MAX {
            return Err(invalid("too many states"));
        }
        let layers = lens.iter().map(|&len| read_layer(input, len).map(Some)).collect::<io::Result<_>>()?;
        Ok(Self { layers, known: HashMap::new() })
    }

    /// Returns a layer. Fails if the layer is missing or invalid, or has been taken before.
    pub fn take(&mut self, model: &Model<N>, target: &Target<N>, saved: SavedLayer) -> io::Result<Layer<N>> {
        let layer = self.layers.get_mut(saved.number).and_then(Option::take);
        layer.filter(|layer| is_valid(model, target, saved.mask, layer)).ok_or_else(|| invalid("invalid states"))
    }

    /// Returns a known set of the target. Several targets may share it.
    pub fn known(&mut self, model: &Model<N>, target: &Target<N>, saved: SavedLayer) -> io::Result<Arc<Known<N>>> {
        let SavedLayer { mask, number, .. } = saved;
        if let Some(known) = self.known.get(&number) {
            let is_same = known.mask == mask && is_valid(model, target, mask, known.lookup.layer());
            return if is_same { Ok(known.clone()) } else { Err(invalid("a set of other threats")) };
        }
        let lookup = self.lookup(model, target, saved)?;
        let meter = &mut BudgetMeter::new(Budget::UNLIMITED);
        let known = target.describe(mask, lookup, &mut Join::default(), meter).expect("the budget is unlimited");
        let known = Arc::new(known);
        self.known.insert(number, known.clone());
        Ok(known)
    }

    pub fn lookup(&mut self, model: &Model<N>, target: &Target<N>, saved: SavedLayer) -> io::Result<Arc<Lookup<N>>> {
        let mut layer = self.take(model, target, saved)?;
        let meter = &mut BudgetMeter::new(Budget::UNLIMITED);
        Ok(target.index(&mut layer, saved.mask, meter).expect("the budget is unlimited"))
    }
}

fn read_layer<const N: usize>(input: &mut dyn BufRead, len: usize) -> io::Result<Layer<N>> {
    let mut layer = Layer::default();
    for _ in 0..len {
        layer.keys.push(Combination::from_le_bytes(read_bytes(input)?));
    }
    for _ in 0..len {
        let mut words = [0; N];
        for word in &mut words {
            *word = u64::from_le_bytes(read_bytes(input)?);
        }
        layer.sets.push(TileSet::from_words(words));
    }
    Ok(layer)
}

fn read_bytes<const LEN: usize>(input: &mut dyn BufRead) -> io::Result<[u8; LEN]> {
    let mut bytes = [0; LEN];
    input.read_exact(&mut bytes)?;
    Ok(bytes)
}

/// Returns true if the mask consists of the keys of some threats, with or without the draws of each
/// hawk, the layer's combinations have valid keys and no bits outside the mask, and all places are
/// open.
fn is_valid<const N: usize>(model: &Model<N>, target: &Target<N>, mask: Combination, layer: &Layer<N>) -> bool {
    let slots = target.slots_in(model, mask);
    let has_keys = |key: &Combination| {
        let has_key = |slot: &Slot| model.has_key(&model.automata[slot.automaton], slot.key(*key));
        key & !mask == 0 && slots.iter().all(has_key)
    };
    mask == slots.iter().fold(0, |all, slot| all | slot.counted_mask())
        && layer.keys.iter().all(has_keys)
        && layer.sets.iter().all(|set| set.without(&model.board.open).is_empty())
}
