//! Repeats the line and the sweeps of a certificate.

use getaway::game::{Action, Layout};
use getaway::solve::{Certificate, Step};
use getaway_reference::{Game, Threat};

use super::bits::Tiles;
use super::board::Board;
use super::layer::{Combination, Cover, Group, Layer, Merger, Slot};
use super::pursuer::{DRAW_BITS, Pursuer, id_bits};
use super::target::{Target, Transition, Transitions};
use super::{BYTES_MAX, Checked, LAST_TICK};

/// A known set of one tick. It contains the state, in this tick, of every game that reaches the
/// target.
struct Known<const N: usize, const W: usize> {
    cover: Cover<N, W>,
    /// The bits of the set's threats. Includes a hawk's draw bits only if all states of the set
    /// count its draws.
    detail: Combination<W>,
    projection: Option<Cover<N, W>>,
}

impl<const N: usize, const W: usize> Known<N, W> {
    fn mask(&self) -> &Combination<W> {
        &self.cover.layer.mask
    }
}

/// A layer and its tick.
type TickLayer<const N: usize, const W: usize> = (usize, Layer<N, W>);

pub(super) struct Verifier<const N: usize, const W: usize> {
    pub board: Board<N>,
    pursuers: Vec<Pursuer<N>>,
    /// For each tick of the line, the player's tile and the pursuers' state IDs at its start.
    line: Vec<(u16, Vec<u32>)>,
    target: Target<N>,
    /// The known sets of each tick. No set's `detail` lies within the `detail` of another set of
    /// the same tick.
    known: Vec<Vec<Known<N, W>>>,
    checkpoint_bytes_max: usize,
    merger: Merger<N, W>,
    transitions: Transitions<N, W>,
}

impl<const N: usize, const W: usize> Verifier<N, W> {
    pub fn new(certificate: &Certificate, layout: &Layout, steps_max: u64) -> Checked<Self> {
        let bits = id_bits(layout);
        // A combination may be too small for all threats, so threats that join a sweep get the
        // lowest bits.
        let joins = || certificate.steps.iter().flat_map(|step| &step.joins);
        let is_joined = |threat: &usize| joins().any(|&(_, other)| usize::from(other) == *threat);
        let (mut order, others): (Vec<usize>, Vec<usize>) = (0..bits.len()).partition(is_joined);
        order.extend(others);
        let slots = Slot::adjacent(order.iter().map(|&threat| bits[threat]));
        let threat = |threat: usize| Threat::new(layout.threats[threat], &certificate.rules);
        let pursuers = order.iter().zip(slots).filter_map(|(&index, slot)| Pursuer::new(threat(index), index, slot));
        let mut pursuers: Vec<Pursuer<N>> = pursuers.collect();
        pursuers.sort_unstable_by_key(|pursuer| pursuer.threat);
        Ok(Self {
            board: Board::new(layout, &certificate.rules, steps_max)?,
            pursuers,
            line: Vec::new(),
            target: Target::default(),
            known: (0..=LAST_TICK).map(|_| Vec::new()).collect(),
            checkpoint_bytes_max: BYTES_MAX,
            merger: Merger::default(),
            transitions: Transitions::default(),
        })
    }

    pub fn replay(&mut self, certificate: &Certificate) -> Checked {
        let Self { board, pursuers, line, .. } = self;
        let mut game = Game::new(&board.layout, &certificate.rules);
        let first = pursuers.iter_mut().map(|pursuer| pursuer.first(board, true));
        let mut ids: Vec<u32> = first.collect::<Result<_, _>>()?;
        for (index, &player_move) in certificate.moves.iter().enumerate() {
            if game.over() {
                return Err(format!("the game is over before move {}", index + 1));
            }
            board.spend_acts(1 + game.threats.len())?;
            let (tick, from) = (usize::from(game.tick), board.tile(game.player));
            let action: Vec<Action> = player_move.direction().map(Action::Move).into_iter().collect();
            game.step_by(&action, |threat, layout, clock, player| {
                threat.update_by(&board.navigation, layout, clock, player)
            });
            let to = board.tile(game.player);
            line.push((from, ids.clone()));
            if usize::from(game.tick) == tick {
                continue;
            }
            for (pursuer, id) in pursuers.iter_mut().zip(&mut ids) {
                let threat = &game.threats[pursuer.threat];
                if board.ticks[tick].moves {
                    let seen = if pursuer.is_stale() { from } else { to };
                    *id = pursuer.follow(board, *id, tick, seen, threat)?;
                }
                if board.positions[usize::from(pursuer.tile(*id))] != threat.position {
                    let index = pursuer.threat;
                    return Err(format!("tick {tick}: threat {index} is not on the tile that the verifier computed"));
                }
            }
        }
        let (found, claimed) = (game.tick, certificate.final_tick);
        if found != claimed {
            return Err(format!("the line ends at tick {found}, not at {claimed}"));
        }
        if claimed > certificate.bound_tick {
            return Err(format!("the line ends at tick {claimed}, after the bound of {}", certificate.bound_tick));
        }
        Ok(())
    }

    /// Returns true if the line reaches the tick.
    pub fn is_reached(&self, tick: usize) -> bool {
        tick <= self.line.len()
    }

    /// Returns the indices of the pursuers in the mask.
    fn members(&self, mask: Combination<W>) -> impl Iterator<Item = usize> {
        (0..self.pursuers.len()).filter(move |&at| self.pursuers[at].slot.is_in(&mask))
    }

    fn cover(&self, layer: Layer<N, W>) -> Cover<N, W> {
        let by = layer.mask;
        Cover::new(layer, by, &self.pursuers)
    }

    /// The exhaustive search: a sweep from the first tick with all threats and counted draws.
    pub fn search(&self, target_tick: u16) -> Step {
        let joins = self.pursuers.iter().map(|pursuer| (1, pursuer.threat as u16)).collect();
        let known = Vec::new();
        Step { target_tick, from_tick: 1, until_tick: target_tick, counts_draws: true, joins, known }
    }

    /// Sweeps forwards and, if states are left, backwards to the first layer that becomes a known
    /// set. Returns true if the forward pass leaves no states.
    pub fn sweep(&mut self, step: &Step) -> Checked<bool> {
        let target_tick = usize::from(step.target_tick);
        if target_tick != self.target.tick {
            if target_tick < self.target.tick {
                self.known.iter_mut().for_each(Vec::clear);
                self.target = Target::default();
            }
            self.target = Target::new(&self.board, &mut self.pursuers, target_tick, &self.target)?;
        }
        let (from, until) = (usize::from(step.from_tick), usize::from(step.until_tick));
        let players = (Combination::EMPTY, self.target.allowed[from]);
        let mut first = Layer { mask: Combination::EMPTY, groups: vec![players] };
        self.prepare(from, step, &mut first)?;
        let mut layers = self.advance((from, first), until, step)?;
        let (mut after_tick, mut after) = layers.pop().expect("the last layer");
        if after.groups.is_empty() || step.known.is_empty() {
            return Ok(after.groups.is_empty());
        }
        while let Some((tick, layer)) = layers.pop() {
            if tick + 1 == after_tick {
                (after_tick, after) = (tick, self.trim((tick, layer), after, step)?);
            } else {
                layers.append(&mut self.advance((tick, layer), after_tick - 1, step)?);
            }
        }
        self.add_known(after_tick, after, step)?;
        Ok(false)
    }

    /// Sweeps from a layer to the tick `until`, or until no state is left. Returns *checkpoints*,
    /// evenly spaced layers for the backward pass, and the last layer. The interval of checkpoints
    /// doubles while there are more than two and their total size exceeds the limit.
    fn advance(&mut self, first: TickLayer<N, W>, until: usize, step: &Step) -> Checked<Vec<TickLayer<N, W>>> {
        let (mut tick, mut layer) = first;
        let first_kept = step.known.first().map_or(usize::MAX, |&known| tick.max(known.into()));
        let (mut layers, mut interval) = (Vec::new(), 1);
        while tick < until && !layer.groups.is_empty() {
            let next = self.forwards(tick, &layer)?;
            let before = std::mem::replace(&mut layer, next);
            if tick >= first_kept && (tick - first_kept).is_multiple_of(interval) {
                layers.push((tick, before));
                // Keep at least two layers: with only the first, the backward pass would keep
                // repeating the same range of ticks.
                let bytes = |layers: &[TickLayer<N, W>]| layers.iter().map(|(_, layer)| layer.bytes()).sum::<usize>();
                while layers.len() > 2 && bytes(&layers) > self.checkpoint_bytes_max {
                    interval *= 2;
                    layers.retain(|(tick, _)| (tick - first_kept).is_multiple_of(interval));
                }
            }
            tick += 1;
            self.prepare(tick, step, &mut layer)?;
        }
        layers.push((tick, layer));
        Ok(layers)
    }

    fn prepare(&mut self, tick: usize, step: &Step, layer: &mut Layer<N, W>) -> Checked {
        self.board.spend(1 + step.joins.len())?;
        self.narrow(tick, layer)?;
        for &(_, threat) in step.joins.iter().filter(|(at, _)| usize::from(*at) == tick) {
            self.join(tick, threat.into(), step.counts_draws, layer)?;
            self.narrow(tick, layer)?;
        }
        Ok(())
    }

    /// Drops states in which the player is not on an allowed tile. Also drops states that lie
    /// outside a known set of the tick when both are projected to their common threats.
    fn narrow(&mut self, tick: usize, layer: &mut Layer<N, W>) -> Checked {
        let mut known = std::mem::take(&mut self.known[tick]);
        for known in &mut known {
            let own = &known.cover.layer;
            let common = own.mask.and(&layer.mask);
            self.board.spend(layer.groups.len())?;
            if common != own.mask && known.projection.as_ref().is_none_or(|other| other.layer.mask != common) {
                self.board.spend(own.groups.len())?;
                let projection = own.project(common, &mut self.merger);
                known.projection = Some(self.cover(projection));
            }
        }
        let covers = known.iter().filter_map(|known| {
            if known.mask().is_within(&layer.mask) { Some(&known.cover) } else { known.projection.as_ref() }
        });
        let covers: Vec<&Cover<N, W>> = covers.filter(|cover| !cover.layer.mask.is_empty()).collect();
        let allowed = self.target.allowed[tick];
        layer.retain(|ids, tiles| {
            covers.iter().fold(tiles.and(&allowed), |tiles, cover| {
                if tiles.is_empty() { tiles } else { tiles.and(&cover.tiles(ids, &self.pursuers)) }
            })
        });
        self.known[tick] = known;
        Ok(())
    }

    /// Adds a threat, unless the layer contains it already: in tick 1 with its initial state, later
    /// with the states of a known set, or with all possible states if no known set contains the
    /// threat.
    fn join(&mut self, tick: usize, threat: usize, counts_draws: bool, layer: &mut Layer<N, W>) -> Checked {
        let at = self.pursuers.iter().position(|pursuer| pursuer.threat == threat);
        let at = at.ok_or_else(|| format!("threat {threat} does not see the player or does not exist"))?;
        let slot = self.pursuers[at].slot;
        if !slot.fits::<W>() {
            return Err(format!("threat {threat} does not fit into a combination"));
        }
        let mask = slot.mask();
        if mask.is_within(&layer.mask) {
            return Ok(());
        }
        let known = self.known[tick].iter().filter(|known| tick > 1 && mask.is_within(known.mask()));
        // Prefer counted draws, which determine a hawk's state exactly.
        let use_of =
            |known: &&Known<N, W>| (mask.is_within(&known.detail), self.members(known.mask().and(&layer.mask)).count());
        let states = if let Some(known) = known.max_by_key(use_of) {
            let common = known.mask().and(&layer.mask);
            self.board.spend(known.cover.layer.groups.len())?;
            let states = known.cover.layer.project(common.or(&mask), &mut self.merger);
            Cover::new(states, common, &self.pursuers)
        } else {
            let (pursuer, board) = (&mut self.pursuers[at], &self.board);
            let is_first = tick == 1;
            let ids =
                if is_first { vec![pursuer.first(board, counts_draws)?] } else { pursuer.possible_ids(board, tick)? };
            if self
                .line
                .get(tick - 1)
                .is_some_and(|(_, ids_on_line)| !ids.iter().any(|&id| pursuer.overlap(id, ids_on_line[at])))
            {
                return Err(format!("tick {tick}: the state of threat {threat} on the line is not a possible state"));
            }
            let group = |&id| (Combination::EMPTY.with(slot, id), self.target.player_tiles(tick, at, pursuer.tile(id)));
            let groups = ids.iter().map(group).collect();
            Cover::new(Layer { mask, groups }, Combination::EMPTY, &self.pursuers)
        };
        for (ids, tiles) in &layer.groups {
            self.board.spend(1)?;
            for (other, possible) in states.matches(ids, &self.pursuers) {
                self.board.spend(1)?;
                let tiles = tiles.and(possible);
                if !tiles.is_empty() {
                    self.merger.add(ids.with(slot, other.id(slot)), tiles);
                }
            }
            check_size(tick, &self.merger.groups)?;
        }
        *layer = Layer { mask: layer.mask.or(&mask), groups: self.merger.take() };
        Ok(())
    }

    /// Returns the layer of the next tick: the successors that may still reach the target.
    fn forwards(&mut self, tick: usize, layer: &Layer<N, W>) -> Checked<Layer<N, W>> {
        let context = self.target.context(&self.board, &self.pursuers, tick, self.members(layer.mask));
        for (ids, tiles) in &layer.groups {
            self.transitions.find(&context, &mut self.pursuers, ids, tiles)?;
            for transition in &self.transitions.found {
                self.merger.add(transition.ids, transition.to);
            }
            check_size(tick + 1, &self.merger.groups)?;
        }
        Ok(Layer { mask: layer.mask, groups: self.merger.take() })
    }

    /// Returns the states of `layer` that lead into `after`, and passes `after` to `add_known`.
    fn trim(&mut self, at: TickLayer<N, W>, after: Layer<N, W>, step: &Step) -> Checked<Layer<N, W>> {
        let (tick, mut layer) = at;
        self.board.spend(after.groups.len())?;
        let is_same = after.mask == layer.mask;
        let next = if is_same { after.clone() } else { after.project(layer.mask, &mut self.merger) };
        let next = self.cover(next);
        let context = self.target.context(&self.board, &self.pursuers, tick, self.members(layer.mask));
        let mut found = Ok(());
        layer.retain(|ids, tiles| {
            if found.is_ok() {
                found = self.transitions.find(&context, &mut self.pursuers, ids, &tiles);
            }
            self.transitions.found.iter().fold(Tiles::EMPTY, |kept, Transition { ids, from, to }| {
                let to = to.and(&next.tiles(ids, &self.pursuers));
                if to.is_empty() { kept } else { kept.or(&self.board.reachable(&to).and(from)) }
            })
        });
        found?;
        self.add_known(tick + 1, after, step)?;
        Ok(layer)
    }

    /// Restricts the allowed tiles to those of the set. If the step lists the tick, the set also
    /// replaces known sets over its threats or some of them. If there are known sets over its
    /// threats and others, it restricts them. If not, it becomes a known set, unless all known sets
    /// would then exceed `BYTES_MAX`. Counted draws are treated like an additional threat.
    fn add_known(&mut self, tick: usize, layer: Layer<N, W>, step: &Step) -> Checked {
        self.board.spend(layer.groups.len())?;
        let tiles = layer.groups.iter().fold(Tiles::EMPTY, |all, (_, tiles)| all.or(tiles));
        self.target.allowed[tick] = self.target.allowed[tick].and(&tiles);
        if step.known.binary_search(&(tick as u16)).is_err() {
            return Ok(());
        }
        let detail = self.detail(&layer);
        let cover = self.cover(layer);
        let mut known = std::mem::take(&mut self.known[tick]);
        known.retain(|known| !known.detail.is_within(&detail));
        let mut is_covered = false;
        for known in known.iter_mut().filter(|known| detail.is_within(&known.detail)) {
            is_covered = true;
            let mut layer = known.cover.layer.clone();
            self.board.spend(2 * layer.groups.len())?;
            if layer.retain(|ids, _| cover.tiles(ids, &self.pursuers)) {
                (known.cover, known.projection) = (self.cover(layer), None);
            }
        }
        let bytes: usize = self.known.iter().flatten().chain(&known).map(|known| known.cover.layer.bytes()).sum();
        if !is_covered && bytes + cover.layer.bytes() <= BYTES_MAX {
            known.push(Known { cover, detail, projection: None });
        }
        self.known[tick] = known;
        self.check_line(tick)
    }

    /// The bits of the layer's threats. Includes a hawk's draw bits only if all states of the layer
    /// count its draws.
    fn detail(&self, layer: &Layer<N, W>) -> Combination<W> {
        let slots = self.members(layer.mask).filter(|&at| self.pursuers[at].is_hawk()).map(|at| self.pursuers[at].slot);
        slots.fold(layer.mask, |detail, slot| {
            let is_counted = layer.groups.iter().all(|(ids, _)| Pursuer::<N>::is_counted(ids.id(slot)));
            if is_counted { detail } else { detail.without(&slot.upper(DRAW_BITS).mask()) }
        })
    }

    /// If the line reaches the target, checks that the tick's allowed tiles and known sets contain
    /// the line's state.
    fn check_line(&self, tick: usize) -> Checked {
        let Some((player, ids_on_line)) = self.line.get(tick - 1).filter(|_| self.is_reached(self.target.tick)) else {
            return Ok(());
        };
        let player = Tiles::single(*player);
        let has_line = |known: &Known<N, W>| {
            let with_id = |ids: Combination<W>, at: usize| ids.with(self.pursuers[at].slot, ids_on_line[at]);
            let ids = self.members(*known.mask()).fold(Combination::EMPTY, with_id);
            player.is_within(&known.cover.tiles(&ids, &self.pursuers))
        };
        let is_kept = player.is_within(&self.target.allowed[tick]) && self.known[tick].iter().all(has_line);
        if is_kept { Ok(()) } else { Err(format!("the sweep rules out the line at tick {tick}")) }
    }
}

fn check_size<const N: usize, const W: usize>(tick: usize, groups: &[Group<N, W>]) -> Checked {
    if size_of_val(groups) <= BYTES_MAX {
        return Ok(());
    }
    Err(format!("tick {tick}: more than {} combinations of threat states", BYTES_MAX / size_of::<Group<N, W>>()))
}

#[cfg(test)]
mod tests;
