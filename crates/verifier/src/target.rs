//! Bounds on the player's tiles in games that reach a target tick, and the transitions of a tick.

use getaway::game::Style;

use super::BYTES_MAX;
use super::board::Board;
use super::layer::{Combination, Pursuers, Slot};
use super::pursuer::IndexedMoment;
use super::tiles::Tiles;

pub(super) struct Target<const N: usize> {
    pub tick: usize,
    /// For each tick, a superset of the player's tiles in all games that reach the target.
    pub allowed: Vec<Tiles<N>>,
    /// The results of [`Self::project`], by threat.
    projections: Vec<Vec<Vec<Tiles<N>>>>,
}

impl<const N: usize> Target<N> {
    /// Returns an empty target, used until the first target is set.
    pub fn none() -> Self {
        Self { tick: 0, allowed: Vec::new(), projections: Vec::new() }
    }

    /// Creates a target. If `earlier` is given, also restricts `allowed` to the tiles of `earlier`,
    /// in the ticks up to the target tick of `earlier`.
    pub fn new(
        board: &Board<N>,
        pursuers: &mut Pursuers<N>,
        tick: usize,
        earlier: Option<&Self>,
    ) -> Result<Self, String> {
        board.spend(tick)?;
        let allowed = board.occupied.iter().map(|occupied| board.open.without(occupied)).collect();
        let mut target = Self { tick, allowed, projections: Vec::new() };
        target.allowed[1] = target.allowed[1].and(&Tiles::single(board.start));
        for tick in (1..tick).rev() {
            let enterable = board.enterable(tick, &target.allowed[tick + 1]);
            target.allowed[tick] = target.allowed[tick].and(&board.reachable(&enterable));
        }
        for threat in 0..pursuers.len() {
            let layers = target.project(board, pursuers, threat)?;
            target.projections.push(layers);
        }
        if let Some(earlier) = earlier {
            for (allowed, earlier) in target.allowed.iter_mut().zip(&earlier.allowed).take(earlier.tick + 1) {
                *allowed = allowed.and(earlier);
            }
        }
        Ok(target)
    }

    /// For a shark with a stale view, returns, by tick and shark tile, a superset of the tiles from
    /// which the player can reach the target. Restricts `allowed` in each tick before the target to
    /// the union of that tick's sets. Returns an empty table for other threats, or if all tables
    /// together would exceed [`BYTES_MAX`].
    fn project(
        &mut self,
        board: &Board<N>,
        pursuers: &mut Pursuers<N>,
        threat: usize,
    ) -> Result<Vec<Vec<Tiles<N>>>, String> {
        let pursuer = pursuers[threat].as_mut();
        let Some(shark) = pursuer.filter(|it| it.style() == Style::Shark && it.is_stale()) else {
            return Ok(Vec::new());
        };
        let sets = self.tick * board.positions.len();
        let others = self.projections.iter().flatten().flatten().count();
        if (others + sets) * size_of::<Tiles<N>>() > BYTES_MAX {
            return Ok(Vec::new());
        }
        board.spend(sets)?;
        // By shark tile: the shark's next tiles, each with the player's tiles that send the shark
        // there.
        let mut steps_in = |tick: usize| -> Result<Vec<Vec<(Tiles<N>, u16)>>, String> {
            let moment = shark.moment(board, tick);
            let steps = (0..board.positions.len() as u16).map(|tile| {
                let id = shark.shark_on(board, tile)?;
                shark.compute_steps(board, id, moment, &board.open)?;
                Ok(shark.steps(id, moment).iter().map(|step| (step.when, step.tile)).collect())
            });
            steps.collect()
        };
        let (first_steps, later_steps) = (steps_in(1)?, steps_in(2)?);
        let tiles = board.positions.len() as u16;
        let mut layers = vec![Vec::new(); self.tick + 1];
        let free = |shark: u16, tiles: Tiles<N>| tiles.without(&Tiles::single(shark));
        layers[self.tick] = (0..tiles).map(|shark| free(shark, self.allowed[self.tick])).collect();
        for tick in (1..self.tick).rev() {
            let enterable = board.enterable(tick, &self.allowed[tick + 1]);
            let next: &[Tiles<N>] = &layers[tick + 1];
            let steps = if tick == 1 { &first_steps } else { &later_steps };
            // The tiles from which the player can enter the next layer if the shark goes from
            // `shark` to `moved`.
            let before = |shark: u16, moved: u16| {
                let to = next[usize::from(moved)].and(&enterable);
                board.reachable(&if board.no_jump { free(shark, to) } else { to })
            };
            let layer = |shark: u16| {
                let safe = if board.moves[tick] {
                    let steps = steps[usize::from(shark)].iter();
                    steps.fold(Tiles::EMPTY, |safe, (when, moved)| safe.or(&before(shark, *moved).and(when)))
                } else {
                    before(shark, shark)
                };
                free(shark, safe.and(&self.allowed[tick]))
            };
            let layer: Vec<Tiles<N>> = (0..tiles).map(layer).collect();
            self.allowed[tick] = layer.iter().fold(Tiles::EMPTY, |all, safe| all.or(safe));
            layers[tick] = layer;
        }
        Ok(layers)
    }

    /// Returns the tiles where the player may be at the start of a tick, in a game that reaches the
    /// target, if the threat is on `tile`.
    pub fn player_tiles(&self, tick: usize, threat: usize, tile: u16) -> Tiles<N> {
        match self.projections[threat].get(tick) {
            Some(layer) => layer[usize::from(tile)],
            None => self.allowed[tick].without(&Tiles::single(tile)),
        }
    }

    pub fn context<'a>(
        &'a self,
        board: &'a Board<N>,
        pursuers: &Pursuers<N>,
        slots: &[Slot],
        tick: usize,
        threats: &[usize],
    ) -> TickContext<'a, N> {
        let context = |&threat: &usize| {
            let pursuer = pursuers[threat].as_ref().expect("it sees the player");
            ThreatContext {
                index: threat,
                slot: slots[threat],
                is_stale: pursuer.is_stale(),
                moment: pursuer.moment(board, tick),
                projection: self.projections[threat].get(tick + 1).map(Vec::as_slice),
            }
        };
        let enterable = board.enterable(tick, &self.allowed[tick + 1]);
        TickContext { board, moves: board.moves[tick], enterable, threats: threats.iter().map(context).collect() }
    }
}

pub(super) struct TickContext<'a, const N: usize> {
    board: &'a Board<N>,
    moves: bool,
    /// The tiles allowed in the next tick. In the no-jump variant, excludes the tiles of bulls and
    /// goldfish at the start of this tick.
    enterable: Tiles<N>,
    threats: Vec<ThreatContext<'a, N>>,
}

struct ThreatContext<'a, const N: usize> {
    index: usize,
    slot: Slot,
    /// True if the threat has a stale view of the player.
    is_stale: bool,
    moment: IndexedMoment,
    /// For a shark with a projection: the player's possible tiles after the tick, by shark tile.
    projection: Option<&'a [Tiles<N>]>,
}

impl<const N: usize> ThreatContext<'_, N> {
    /// Returns the tiles of `to` where the player may be when the tick ends with the threat on
    /// `tile`.
    fn restrict(&self, to: &Tiles<N>, tile: u16) -> Tiles<N> {
        match self.projection {
            Some(layer) => to.and(&layer[usize::from(tile)]),
            None => to.without(&Tiles::single(tile)),
        }
    }
}

/// A step of the threats to the states `ids`, for a player that moves from a tile of `from` to
/// a tile of `to`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Transition<const N: usize, const W: usize> {
    pub ids: Combination<W>,
    pub from: Tiles<N>,
    pub to: Tiles<N>,
}

#[derive(Default)]
pub(super) struct Transitions<const N: usize, const W: usize> {
    pub found: Vec<Transition<N, W>>,
    spare: Vec<Transition<N, W>>,
}

impl<const N: usize, const W: usize> Transitions<N, W> {
    /// Stores in `found` the transitions from the threats' `ids` and the player's `tiles` that
    /// may still reach the target.
    pub fn find(
        &mut self,
        context: &TickContext<'_, N>,
        pursuers: &mut Pursuers<N>,
        ids: &Combination<W>,
        tiles: &Tiles<N>,
    ) -> Result<(), String> {
        let (board, threats) = (context.board, &context.threats);
        self.found.clear();
        let mut free = context.enterable;
        for threat in threats {
            let pursuer = pursuers[threat.index].as_ref().expect("it sees the player");
            let tile = pursuer.tile(ids.id(threat.slot));
            if board.no_jump {
                free.remove(tile);
            }
            if !context.moves {
                free = threat.restrict(&free, tile);
            }
        }
        if !context.moves {
            let to = board.reachable(tiles).and(&free);
            if !to.is_empty() {
                self.found.push(Transition { ids: *ids, from: *tiles, to });
            }
            return board.spend(2 + self.found.len());
        }
        // First, split `from` by the steps of the threats with a stale view. Meanwhile, `to` may
        // contain tiles that the player cannot reach from `from`.
        self.found.push(Transition { ids: Combination::EMPTY, from: *tiles, to: free });
        for threat in threats.iter().filter(|threat| threat.is_stale) {
            self.split(threat, board, pursuers, ids, tiles, |transition| &mut transition.from)?;
        }
        self.found.retain_mut(|transition| {
            transition.to = transition.to.and(&board.reachable(&transition.from));
            !transition.to.is_empty()
        });
        for threat in threats.iter().filter(|threat| !threat.is_stale) {
            let seen = self.found.iter().fold(Tiles::EMPTY, |all, transition| all.or(&transition.to));
            self.split(threat, board, pursuers, ids, &seen, |transition| &mut transition.to)?;
        }
        Ok(())
    }

    /// Splits the transitions by the steps of one threat. `side` returns the player's tiles on
    /// which these steps depend: `from` if the threat's view is stale, otherwise `to`.
    #[inline]
    fn split(
        &mut self,
        threat: &ThreatContext<'_, N>,
        board: &Board<N>,
        pursuers: &mut Pursuers<N>,
        ids: &Combination<W>,
        seen: &Tiles<N>,
        side: impl Fn(&mut Transition<N, W>) -> &mut Tiles<N>,
    ) -> Result<(), String> {
        let id = ids.id(threat.slot);
        let pursuer = pursuers[threat.index].as_mut().expect("it sees the player");
        pursuer.compute_steps(board, id, threat.moment, seen)?;
        let steps = pursuer.steps(id, threat.moment);
        board.spend(1 + self.found.len() * steps.len())?;
        self.spare.clear();
        for transition in &self.found {
            for step in steps {
                let mut split = *transition;
                let side = side(&mut split);
                *side = side.and(&step.when);
                if side.is_empty() {
                    continue;
                }
                split.to = threat.restrict(&split.to, step.tile);
                if !split.to.is_empty() {
                    split.ids = split.ids.with(threat.slot, pursuer.with_draw_count(board, id, step.next)?);
                    self.spare.push(split);
                }
            }
        }
        std::mem::swap(&mut self.found, &mut self.spare);
        Ok(())
    }
}
