//! The tiles from which the player can still survive to a target tick, and the moves between them.

use getaway::game::Style;

use super::BYTES_MAX;
use super::board::Board;
use super::layer::{Combination, Pursuers, Slot};
use super::pursuer::Case;
use super::tiles::Tiles;

pub(super) struct Target<const N: usize> {
    pub tick: usize,
    pub allowed: Vec<Tiles<N>>,
    /// The results of `project`, by threat.
    alone: Vec<Vec<Vec<Tiles<N>>>>,
}

impl<const N: usize> Target<N> {
    /// Returns an empty target, used until the first target is set.
    pub fn none() -> Self {
        Self { tick: 0, allowed: Vec::new(), alone: Vec::new() }
    }

    /// Also applies the `allowed` tiles of an earlier target: they remain valid for a later one.
    pub fn new(
        board: &Board<N>,
        pursuers: &mut Pursuers<N>,
        tick: usize,
        earlier: Option<&Self>,
    ) -> Result<Self, String> {
        board.spend(tick)?;
        let allowed = board.taken.iter().map(|taken| board.open.without(taken)).collect();
        let mut target = Self { tick, allowed, alone: Vec::new() };
        target.allowed[1] = target.allowed[1].and(&Tiles::of(board.start));
        for tick in (1..tick).rev() {
            let landing = board.landing(tick, &target.allowed[tick + 1]);
            target.allowed[tick] = target.allowed[tick].and(&board.reach(&landing));
        }
        for threat in 0..pursuers.len() {
            let layers = target.project(board, pursuers, threat)?;
            target.alone.push(layers);
        }
        if let Some(earlier) = earlier {
            for (allowed, earlier) in target.allowed.iter_mut().zip(&earlier.allowed).take(earlier.tick + 1) {
                *allowed = allowed.and(earlier);
            }
        }
        Ok(target)
    }

    /// Returns the tiles from which the player can still reach the target if a shark is the only
    /// pursuer, by tick and shark tile. Empty for other threats, or above `BYTES_MAX`.
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
        let others = self.alone.iter().flatten().flatten().count();
        if (others + sets) * size_of::<Tiles<N>>() > BYTES_MAX {
            return Ok(Vec::new());
        }
        board.spend(sets)?;
        // By shark tile: the shark's next tiles, each with the player's tiles that send it there.
        let mut steps_in = |tick: usize| -> Result<Vec<Vec<(Tiles<N>, u16)>>, String> {
            let case = shark.case(board, tick);
            let steps = (0..board.positions.len() as u16).map(|tile| {
                let number = shark.shark_on(board, tile)?;
                shark.ask(board, number, case, &board.open)?;
                Ok(shark.steps(number, case).iter().map(|step| (step.when, step.tile)).collect())
            });
            steps.collect()
        };
        let (first_steps, later_steps) = (steps_in(1)?, steps_in(2)?);
        let tiles = board.positions.len() as u16;
        let mut layers = vec![Vec::new(); self.tick + 1];
        let free = |shark: u16, tiles: Tiles<N>| tiles.without(&Tiles::of(shark));
        layers[self.tick] = (0..tiles).map(|shark| free(shark, self.allowed[self.tick])).collect();
        for tick in (1..self.tick).rev() {
            let landing = board.landing(tick, &self.allowed[tick + 1]);
            let next: &[Tiles<N>] = &layers[tick + 1];
            let steps = if tick == 1 { &first_steps } else { &later_steps };
            // The tiles from which the player survives if the shark goes from `shark` to `moved`.
            let before = |shark: u16, moved: u16| {
                let to = next[usize::from(moved)].and(&landing);
                board.reach(&if board.no_jump { free(shark, to) } else { to })
            };
            let layer = |shark: u16| {
                let lives = if board.moves[tick] {
                    let steps = steps[usize::from(shark)].iter();
                    steps.fold(Tiles::EMPTY, |lives, (when, moved)| lives.or(&before(shark, *moved).and(when)))
                } else {
                    before(shark, shark)
                };
                free(shark, lives.and(&self.allowed[tick]))
            };
            let layer: Vec<Tiles<N>> = (0..tiles).map(layer).collect();
            self.allowed[tick] = layer.iter().fold(Tiles::EMPTY, |all, lives| all.or(lives));
            layers[tick] = layer;
        }
        Ok(layers)
    }

    /// Returns the tiles where the player may be at the start of a tick if the threat is on `tile`.
    pub fn lives(&self, tick: usize, threat: usize, tile: u16) -> Tiles<N> {
        match self.alone[threat].get(tick) {
            Some(layer) => layer[usize::from(tile)],
            None => self.allowed[tick].without(&Tiles::of(tile)),
        }
    }

    pub fn moment<'a>(
        &'a self,
        board: &'a Board<N>,
        pursuers: &Pursuers<N>,
        slots: &[Slot],
        tick: usize,
        threats: &[usize],
    ) -> Moment<'a, N> {
        let part = |&threat: &usize| {
            let pursuer = pursuers[threat].as_ref().expect("it sees the player");
            Part {
                threat,
                slot: slots[threat],
                is_stale: pursuer.is_stale(),
                case: pursuer.case(board, tick),
                alone: self.alone[threat].get(tick + 1).map(Vec::as_slice),
            }
        };
        let landing = board.landing(tick, &self.allowed[tick + 1]);
        Moment { board, moves: board.moves[tick], landing, parts: threats.iter().map(part).collect() }
    }
}

pub(super) struct Moment<'a, const N: usize> {
    board: &'a Board<N>,
    moves: bool,
    /// The tiles that the player may enter, before the threats that see it are considered.
    landing: Tiles<N>,
    parts: Vec<Part<'a, N>>,
}

struct Part<'a, const N: usize> {
    threat: usize,
    slot: Slot,
    /// True if the threat sees the player's position before the player's move.
    is_stale: bool,
    case: Case,
    /// For a shark with a projection: the player's possible tiles after the tick, by shark tile.
    alone: Option<&'a [Tiles<N>]>,
}

impl<const N: usize> Part<'_, N> {
    fn leave(&self, to: &Tiles<N>, tile: u16) -> Tiles<N> {
        match self.alone {
            Some(layer) => to.and(&layer[usize::from(tile)]),
            None => to.without(&Tiles::of(tile)),
        }
    }
}

/// One step of the threats to the states `numbers` while the player moves from `from` into `to`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Path<const N: usize, const W: usize> {
    pub numbers: Combination<W>,
    pub from: Tiles<N>,
    pub to: Tiles<N>,
}

#[derive(Default)]
pub(super) struct Paths<const N: usize, const W: usize> {
    pub found: Vec<Path<N, W>>,
    spare: Vec<Path<N, W>>,
}

impl<const N: usize, const W: usize> Paths<N, W> {
    /// Stores in `found` all paths from the threats' states `numbers` and the player's `tiles`.
    pub fn find(
        &mut self,
        moment: &Moment<'_, N>,
        pursuers: &mut Pursuers<N>,
        numbers: &Combination<W>,
        tiles: &Tiles<N>,
    ) -> Result<(), String> {
        let (board, parts) = (moment.board, &moment.parts);
        self.found.clear();
        let mut free = moment.landing;
        for part in parts {
            let pursuer = pursuers[part.threat].as_ref().expect("it sees the player");
            let tile = pursuer.tile(numbers.number(part.slot));
            if board.no_jump {
                free.remove(tile);
            }
            if !moment.moves {
                free = part.leave(&free, tile);
            }
        }
        if !moment.moves {
            let to = board.reach(tiles).and(&free);
            if !to.is_empty() {
                self.found.push(Path { numbers: *numbers, from: *tiles, to });
            }
            return board.spend(2 + self.found.len());
        }
        // First splits `from` by the threats that see the player before its move. Meanwhile, `to`
        // may contain tiles that the player cannot reach from `from`.
        self.found.push(Path { numbers: Combination::EMPTY, from: *tiles, to: free });
        for part in parts.iter().filter(|part| part.is_stale) {
            self.split(part, board, pursuers, numbers, tiles, |path| &mut path.from)?;
        }
        self.found.retain_mut(|path| {
            path.to = path.to.and(&board.reach(&path.from));
            !path.to.is_empty()
        });
        for part in parts.iter().filter(|part| !part.is_stale) {
            let seen = self.found.iter().fold(Tiles::EMPTY, |all, path| all.or(&path.to));
            self.split(part, board, pursuers, numbers, &seen, |path| &mut path.to)?;
        }
        Ok(())
    }

    /// Splits the paths by the steps of one threat. `side` returns the tiles where the threat sees
    /// the player: `from` if its view is stale, otherwise `to`.
    #[inline]
    fn split(
        &mut self,
        part: &Part<'_, N>,
        board: &Board<N>,
        pursuers: &mut Pursuers<N>,
        numbers: &Combination<W>,
        seen: &Tiles<N>,
        side: impl Fn(&mut Path<N, W>) -> &mut Tiles<N>,
    ) -> Result<(), String> {
        let number = numbers.number(part.slot);
        let pursuer = pursuers[part.threat].as_mut().expect("it sees the player");
        pursuer.ask(board, number, part.case, seen)?;
        let steps = pursuer.steps(number, part.case);
        board.spend(1 + self.found.len() * steps.len())?;
        self.spare.clear();
        for path in &self.found {
            for step in steps {
                let mut split = *path;
                let side = side(&mut split);
                *side = side.and(&step.when);
                if side.is_empty() {
                    continue;
                }
                split.to = part.leave(&split.to, step.tile);
                if !split.to.is_empty() {
                    split.numbers = split.numbers.with(part.slot, pursuer.counted(board, number, step.next)?);
                    self.spare.push(split);
                }
            }
        }
        std::mem::swap(&mut self.found, &mut self.spare);
        Ok(())
    }
}
