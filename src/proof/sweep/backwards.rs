use super::{CHECKPOINT_TICKS, End, Joined, Phase, StoredLayer, Sweep};
use crate::proof::layer::Layer;
use crate::proof::model::Model;
use crate::proof::target::Target;
use crate::proof::tuning::{LARGE_LEN, SAME_SHARE, SHORT_WORK};
use crate::search::{BudgetMeter, StopReason};

impl<const N: usize> Sweep<N> {
    pub(super) fn rebuild(
        &mut self,
        model: &Model<N>,
        target: &Target<N>,
        until: usize,
        meter: &mut BudgetMeter,
    ) -> Result<Option<End>, StopReason> {
        if !self.front.is_ready {
            self.narrow(model, target, meter)?;
            // To match the later layers, a hawk counts draws only if it did so in the forward pass.
            let now = self.joins.iter().filter(|joined| joined.tick == self.front.tick);
            for Joined { slot: index, counts_draws: counts, .. } in now.copied().collect::<Vec<Joined>>() {
                if target.slots[index].mask() & self.front.mask == 0 {
                    let has_joined = self.add_slot(model, target, (index, counts), usize::MAX, meter)?;
                    assert!(has_joined, "no limit is reached");
                    target.narrow(self.front.tick, self.front.mask, &mut self.join, &mut self.front.layer, meter)?;
                    if counts != (self.front.mask & target.slots[index].draws_mask() != 0) {
                        // The known set that held the hawk's draws is gone.
                        return Ok(Some(End::TooBig));
                    }
                }
            }
            self.front.is_ready = true;
        }
        let is_new = self.kept.segment.last().is_none_or(|stored| stored.tick < self.front.tick);
        if is_new
            && !self.kept.segment.is_empty()
            && (self.kept.segment.len() >= CHECKPOINT_TICKS || self.kept.segment_bytes > self.limits.kept_bytes)
        {
            // The segment is full. A new segment starts here. The dropped layers are rebuilt later.
            self.kept.segment.clear();
            self.kept.segment_bytes = 0;
            self.kept.checkpoints.push(StoredLayer {
                tick: self.front.tick,
                mask: self.front.mask,
                layer: self.front.layer.clone(),
            });
        }
        if self.front.tick + 1 == until {
            self.store();
            self.front.is_ready = false;
            self.phase = Phase::Backwards;
            return Ok(None);
        }
        if is_new {
            self.kept.segment_bytes += self.front.layer.len() * Layer::<N>::KEY_BYTES;
            self.store();
        }
        self.step(model, target, meter);
        Ok(None)
    }

    fn store(&mut self) {
        let layer = std::mem::take(&mut self.front.layer);
        self.kept.segment.push(StoredLayer { tick: self.front.tick, mask: self.front.mask, layer });
    }

    pub(super) fn backwards(
        &mut self,
        model: &Model<N>,
        target: &mut Target<N>,
        meter: &mut BudgetMeter,
    ) -> Result<Option<End>, StopReason> {
        let Some((tick, mask, len)) =
            self.kept.segment.last().map(|stored| (stored.tick, stored.mask, stored.layer.len()))
        else {
            let until = self.front.tick;
            self.kept.checkpoints.pop_if(|checkpoint| checkpoint.tick == until);
            let Some(checkpoint) = self.kept.checkpoints.last() else {
                // The sweep began at its target.
                self.phase = Phase::Over;
                return self.finish(target, meter);
            };
            (self.front.tick, self.front.mask, self.front.layer) =
                (checkpoint.tick, checkpoint.mask, checkpoint.layer.clone());
            self.kept.segment_bytes = 0;
            (self.front.is_ready, self.phase) = (true, Phase::Rebuild { until });
            return Ok(None);
        };
        if self.front.done < len {
            self.trim(model, target, meter)?;
            if self.front.done < len {
                return Ok(None);
            }
        }
        self.record(target, tick + 1, meter)?;
        let lookup = target.index(&mut self.front.next, mask, meter)?;
        let stored = self.kept.segment.pop().expect("just seen");
        self.kept.segment_states += stored.layer.states();
        self.kept.segment_kept += lookup.layer().states();
        (self.front.done, self.front.tick) = (0, tick);
        let mut is_over = tick == self.begin.from;
        if self.kept.segment.is_empty() {
            // Few narrow sweeps start before a large layer, so a long wide sweep ends there. It goes
            // on to a layer of twice the size while it drops states.
            let dropped = self.kept.segment_states - self.kept.segment_kept;
            let is_same = SAME_SHARE * dropped < self.kept.segment_states;
            let len = lookup.layer().len();
            let is_large = len > 2 * LARGE_LEN || is_same && len > LARGE_LEN;
            is_over |= self.limits.is_wide && is_large && self.work > SHORT_WORK;
            (self.kept.segment_states, self.kept.segment_kept) = (0, 0);
        }
        self.after = Some((mask, lookup));
        if is_over {
            self.phase = Phase::Over;
            return self.finish(target, meter);
        }
        Ok(None)
    }

    pub(super) fn finish(
        &mut self,
        target: &mut Target<N>,
        meter: &mut BudgetMeter,
    ) -> Result<Option<End>, StopReason> {
        self.record(target, self.front.tick, meter)?;
        Ok(Some(End::Recorded))
    }

    /// Processes a chunk of the segment's last layer: adds its states that lead into `after` to
    /// `front.next`.
    fn trim(&mut self, model: &Model<N>, target: &mut Target<N>, meter: &mut BudgetMeter) -> Result<(), StopReason> {
        let Some(stored) = self.kept.segment.last() else { return Ok(()) };
        let (after_mask, after) = self.after.as_ref().expect("a layer comes after");
        if self.front.done == 0 {
            self.front.next.clear();
            if *after_mask != stored.mask {
                let mut narrow = self.join.project(after.layer(), stored.mask, meter)?;
                let narrow = target.index(&mut narrow, stored.mask, meter)?;
                target.record(stored.tick + 1, *after_mask, after, &mut self.join, meter)?;
                self.after = Some((stored.mask, narrow));
            }
        }
        let slots = target.slots_in(model, stored.mask);
        let context = target.context(model, &slots, stored.tick);
        let (_, after) = self.after.as_ref().expect("a layer comes after");
        let chunk = self.join.chunk(self.front.done, stored.layer.len(), meter);
        let states = (&**after, &mut self.front.next);
        self.front.done = self.join.trim(&context, &stored.layer, self.front.done..chunk, states, meter);
        Ok(())
    }

    fn record(&mut self, target: &mut Target<N>, tick: usize, meter: &mut BudgetMeter) -> Result<(), StopReason> {
        if let Some((mask, after)) = &self.after {
            target.record(tick, *mask, after, &mut self.join, meter)?;
            self.after = None;
        }
        Ok(())
    }
}
