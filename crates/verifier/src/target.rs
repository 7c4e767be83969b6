//! Bounds on the player's tiles in games that reach a target tick, and the transitions of a tick.

use getaway::game::Style;

use super::bits::Tiles;
use super::board::{Board, Moment};
use super::layer::Combination;
use super::pursuer::Pursuer;
use super::{BYTES_MAX, Checked};

#[derive(Default)]
pub(super) struct Target<const N: usize> {
    pub tick: usize,
    /// For each tick, a superset of the player's tiles in all games that reach the target.
    pub allowed: Vec<Tiles<N>>,
    /// The results of [`Self::project`], by threat.
    projections: Vec<Vec<Vec<Tiles<N>>>>,
}

impl<const N: usize> Target<N> {
    /// Creates a target. Also restricts `allowed` to the tiles of `earlier`, in the ticks up to that
    /// earlier target.
    pub fn new(board: &Board<N>, pursuers: &mut [Pursuer<N>], tick: usize, earlier: &Self) -> Checked<Self> {
        board.spend(tick)?;
        let allowed = board.ticks.iter().map(|tick| board.open.without(&tick.occupied)).collect();
        let mut target = Self { tick, allowed, projections: Vec::new() };
        target.allowed[1] = target.allowed[1].and(&Tiles::single(board.tile(board.layout.player)));
        for tick in (1..tick).rev() {
            let enterable = board.enterable(tick, &target.allowed[tick + 1]);
            target.allowed[tick] = target.allowed[tick].and(&board.reachable(&enterable));
        }
        for pursuer in pursuers {
            let layers = target.project(board, pursuer)?;
            target.projections.push(layers);
        }
        for (allowed, earlier) in target.allowed.iter_mut().zip(&earlier.allowed).take(earlier.tick + 1) {
            *allowed = allowed.and(earlier);
        }
        Ok(target)
    }

    /// For a shark with a stale view, returns, by tick and shark tile, a superset of the tiles from
    /// which the player can reach the target. Restricts `allowed` in each tick before the target to
    /// the union of that tick's sets. Returns an empty table for other threats, or if all tables
    /// together would exceed [`BYTES_MAX`].
    fn project(&mut self, board: &Board<N>, shark: &mut Pursuer<N>) -> Checked<Vec<Vec<Tiles<N>>>> {
        let sets = self.tick * board.positions.len();
        let others = self.projections.iter().flatten().flatten().count();
        let is_too_large = (others + sets) * size_of::<Tiles<N>>() > BYTES_MAX;
        if shark.style() != Style::Shark || !shark.is_stale() || is_too_large {
            return Ok(Vec::new());
        }
        board.spend(sets)?;
        let ids = shark.on_each_tile(board)?;
        for (&id, tick) in ids.iter().flat_map(|id| [(id, 1), (id, 2)]) {
            shark.compute_steps(board, id, shark.moment(board, tick), &board.open)?;
        }
        let tiles = board.positions.len() as u16;
        let mut layers = vec![Vec::new(); self.tick + 1];
        let free = |shark: u16, tiles: Tiles<N>| tiles.without(&Tiles::single(shark));
        layers[self.tick] = (0..tiles).map(|shark| free(shark, self.allowed[self.tick])).collect();
        for tick in (1..self.tick).rev() {
            let enterable = board.enterable(tick, &self.allowed[tick + 1]);
            let moment = shark.moment(board, tick);
            // The tiles from which the player can enter the next layer if the shark goes from
            // `shark` to `moved`.
            let before = |shark: u16, moved: u16| {
                let to = layers[tick + 1][usize::from(moved)].and(&enterable);
                board.reachable(&if board.no_jump { free(shark, to) } else { to })
            };
            let layer = |from: u16| {
                let safe = if board.ticks[tick].moves {
                    let steps = shark.steps(ids[usize::from(from)], moment).iter();
                    steps.fold(Tiles::EMPTY, |safe, step| safe.or(&before(from, step.tile).and(&step.when)))
                } else {
                    before(from, from)
                };
                free(from, safe.and(&self.allowed[tick]))
            };
            let layer: Vec<Tiles<N>> = (0..tiles).map(layer).collect();
            self.allowed[tick] = layer.iter().fold(Tiles::EMPTY, |all, safe| all.or(safe));
            layers[tick] = layer;
        }
        Ok(layers)
    }

    /// Returns the tiles where the player may be at the start of a tick, in a game that reaches the
    /// target, if the threat is on `tile`.
    #[inline]
    pub fn player_tiles(&self, tick: usize, pursuer: usize, tile: u16) -> Tiles<N> {
        match self.projections[pursuer].get(tick) {
            Some(layer) => layer[usize::from(tile)],
            None => self.allowed[tick].without(&Tiles::single(tile)),
        }
    }

    /// Returns the context of a tick for the pursuers with these indices.
    pub fn context<'a>(
        &'a self,
        board: &'a Board<N>,
        all: &[Pursuer<N>],
        tick: usize,
        pursuers: impl Iterator<Item = usize>,
    ) -> TickContext<'a, N> {
        let enterable = board.enterable(tick, &self.allowed[tick + 1]);
        let threats = pursuers.map(|at| (at, all[at].is_stale(), all[at].moment(board, tick)));
        TickContext { board, target: self, tick, enterable, threats: threats.collect() }
    }
}

pub(super) struct TickContext<'a, const N: usize> {
    board: &'a Board<N>,
    target: &'a Target<N>,
    tick: usize,
    /// The tiles allowed in the next tick. In the no-jump variant, excludes the tiles of bulls and
    /// goldfish at the start of this tick.
    enterable: Tiles<N>,
    /// The pursuers: their indices, true if the view of the player is stale, and their moments.
    threats: Vec<(usize, bool, Moment)>,
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
        pursuers: &mut [Pursuer<N>],
        ids: &Combination<W>,
        tiles: &Tiles<N>,
    ) -> Checked {
        let board = context.board;
        let moves = board.ticks[context.tick].moves;
        self.found.clear();
        let mut free = context.enterable;
        for &(at, ..) in &context.threats {
            let tile = pursuers[at].tile(ids.id(pursuers[at].slot));
            if board.no_jump {
                free = free.without(&Tiles::single(tile));
            }
            if !moves {
                free = free.and(&context.target.player_tiles(context.tick + 1, at, tile));
            }
        }
        if !moves {
            let to = board.reachable(tiles).and(&free);
            if !to.is_empty() {
                self.found.push(Transition { ids: *ids, from: *tiles, to });
            }
            return board.spend(2 + self.found.len());
        }
        // First, split `from` by the steps of the threats with a stale view. Meanwhile, `to` may
        // contain tiles that the player cannot reach from `from`.
        self.found.push(Transition { ids: Combination::EMPTY, from: *tiles, to: free });
        for &(at, _, moment) in context.threats.iter().filter(|(_, is_stale, _)| *is_stale) {
            self.split(context, &mut pursuers[at], (at, moment), ids, tiles, |transition| &mut transition.from)?;
        }
        self.found.retain_mut(|transition| {
            transition.to = transition.to.and(&board.reachable(&transition.from));
            !transition.to.is_empty()
        });
        for &(at, _, moment) in context.threats.iter().filter(|(_, is_stale, _)| !*is_stale) {
            let seen = self.found.iter().fold(Tiles::EMPTY, |all, transition| all.or(&transition.to));
            self.split(context, &mut pursuers[at], (at, moment), ids, &seen, |transition| &mut transition.to)?;
        }
        Ok(())
    }

    /// Splits the transitions by the steps of one threat. `side` returns the player's tiles on
    /// which these steps depend: `from` if the threat's view is stale, otherwise `to`.
    #[inline]
    fn split(
        &mut self,
        context: &TickContext<'_, N>,
        pursuer: &mut Pursuer<N>,
        (at, moment): (usize, Moment),
        ids: &Combination<W>,
        seen: &Tiles<N>,
        side: impl Fn(&mut Transition<N, W>) -> &mut Tiles<N>,
    ) -> Checked {
        let (board, id) = (context.board, ids.id(pursuer.slot));
        pursuer.compute_steps(board, id, moment, seen)?;
        let steps = pursuer.steps(id, moment);
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
                split.to = split.to.and(&context.target.player_tiles(context.tick + 1, at, step.tile));
                if !split.to.is_empty() {
                    split.ids = split.ids.with(pursuer.slot, pursuer.with_draw_count(board, id, step.next)?);
                    self.spare.push(split);
                }
            }
        }
        std::mem::swap(&mut self.found, &mut self.spare);
        Ok(())
    }
}
