//! Builds the automata of a world.

use std::sync::Arc;

use super::closure::ClosureBuilder;
use super::combination::DRAW_BITS;
use super::hawk::{MOVES_PER_DRAW, MemoriesBuilder};
use super::model::{Automaton, DIRECTIONS, Hawks, Model, OWL_SHIFT, Origin, POSTS_MAX, Paths, Timetable};
use super::tiles::{Board, Branch, TileSet};
use crate::game::{Direction, LAST_TICK, Position, Rules, Spawn, State, Style, Threat, World};
use crate::search::BudgetMeter;

impl<const N: usize> Model<N> {
    fn without_tables(world: &World, state: &State) -> Option<Self> {
        if !is_modelled(world) {
            return None;
        }
        let layout = world.layout();
        let positions: Vec<Position> = layout.open_positions().collect();
        let (left, right) = (positions.iter().map(|p| p.x).min()?, positions.iter().map(|p| p.x).max()?);
        let (top, bottom) = (positions.iter().map(|p| p.y).min()?, positions.iter().map(|p| p.y).max()?);
        let (width, height) = (right - left + 1, bottom - top + 1);
        let upright = height <= width;
        let stride = width.min(height) + 1;
        if stride > 63 || stride * width.max(height) > 64 * N as i32 {
            return None;
        }
        let place_of = |p: &Position| {
            let (x, y) = (p.x - left, p.y - top);
            (if upright { x * stride + y } else { y * stride + x }) as u16
        };
        let places: Vec<u16> = positions.iter().map(place_of).collect();
        let mut tile_at = vec![u16::MAX; 64 * N];
        let mut open = TileSet::EMPTY;
        for (tile, &place) in places.iter().enumerate() {
            tile_at[usize::from(place)] = tile as u16;
            if layout.tile(positions[tile]) == crate::game::Tile::Open {
                open.insert(place);
            }
        }
        let tile_of = |p: Position| positions.binary_search(&p).ok().map(|tile| tile as u16);
        let player = places[usize::from(tile_of(world.player(state))?)];

        let last = usize::from(LAST_TICK);
        let (mut moves, mut looks) = (vec![false; last + 2], vec![false; last + 2]);
        for tick in 1..=last {
            moves[tick] = world.clock().threats_move(tick as u16);
            looks[tick] = world.clock().owls_look(tick as u16);
        }
        let first_tick = usize::from(state.tick());
        let mut moves_before = vec![0; last + 2];
        for tick in first_tick..=last {
            moves_before[tick + 1] = moves_before[tick] + usize::from(moves[tick]);
        }
        let mut owl_moves = vec![0; last + 2];
        for tick in (1..=last).rev() {
            let looks = moves[tick] && looks[tick];
            owl_moves[tick] = if looks { 0 } else { owl_moves[tick + 1] + u16::from(moves[tick]) };
        }
        let posts: Vec<u16> = world.best_intersections().into_iter().filter_map(tile_of).collect();
        let post_drawn = |draws| {
            let tile = world.hawk_post_drawn(draws);
            posts.iter().position(|&post| post == tile).unwrap_or(0) as u8
        };
        let picks = (0..=LAST_TICK).map(post_drawn).collect();
        let always_from = 1 + moves[..=last].iter().rposition(|moves| !moves).unwrap_or(0);
        let taken = vec![TileSet::EMPTY; last + 2];
        let times = Timetable { first_tick, always_from, moves, moves_before, looks, owl_moves, taken };
        let owl_reciprocal = (1u64 << OWL_SHIFT).div_ceil(positions.len() as u64 + 1);
        let (stride, no_jump) = (stride as u32, world.rules().no_jump);
        Some(Self {
            board: Board { places, tiles: tile_at, stride, open, positions, player, no_jump },
            times,
            paths: Paths { owl_reciprocal, ..Paths::default() },
            hawks: Hawks { posts, picks, ..Hawks::default() },
            automata: Vec::new(),
            origins: Vec::new(),
            closures: Vec::new(),
            slots: Vec::new(),
        })
    }

    fn add_tile(&mut self, world: &World, tile: usize) {
        let (positions, tiles) = (&self.board.positions, self.tiles());
        let tile_of = |p: Position| positions.binary_search(&p).ok();
        let from = positions[tile];
        let next: Vec<u16> = (0..=tiles)
            .map(|target| {
                let step = positions.get(target).and_then(|&to| world.shared_step(from, to));
                step.map_or(tile, |direction| tile_of(from.towards(direction)).expect("a path keeps to open tiles"))
                    as u16
            })
            .collect();
        let seen = (0..tiles).filter(|&other| world.sees(from, positions[other]));
        let seen = seen.fold(TileSet::EMPTY, |set, other| set.or(&TileSet::of(self.board.places[other])));
        self.paths.owl_branches.push(self.board.branches(|target| u32::from(next[target])));
        self.paths.sees.push(seen);
        self.paths.next.extend(next);
    }

    /// Returns `None` if the threat does not see the player.
    fn automaton(index: usize, style: Style) -> Option<Automaton<N>> {
        Some(match style {
            Style::Shark | Style::Deer => Automaton::Chaser { index, style, branches: Vec::new(), first: Vec::new() },
            Style::Owl => Automaton::Owl { index },
            Style::Hawk => Automaton::Hawk { index },
            Style::Bull | Style::Goldfish => return None,
        })
    }

    fn branches_of(&self, world: &World, threat: Threat, home: Position, key: usize) -> (Vec<Branch<N>>, Branch<N>) {
        let positions = &self.board.positions;
        let tile_of = |p: Position| positions.binary_search(&p).expect("threats keep to open tiles") as u32;
        let first = |key: u32| Branch { when: self.board.open, key };
        if threat.style == Style::Shark {
            let from = positions[key];
            let step = |to: Position| {
                world.shark_step(from, to).map_or(key as u32, |direction| tile_of(from.towards(direction)))
            };
            // In tick 1, sharks see the player off the grid, so they find no path and stay.
            return (self.board.branches(|target| step(positions[target])), first(key as u32));
        }
        let (from, direction) = (positions[key / DIRECTIONS], Direction::ALL[key % DIRECTIONS]);
        let step = |tick: usize, stale: Position| {
            let deer = Threat { position: from, direction, ..threat };
            let next = world.deer_after(&deer, home, tick as u16, stale, stale).expect("open tiles");
            tile_of(next.position) * DIRECTIONS as u32 + next.direction as u32
        };
        // After tick 1, a deer's step is the same in every tick in which threats move: use the last
        // such tick.
        let later = self.times.moves.iter().rposition(|&moves| moves).unwrap_or(1);
        (self.board.branches(|target| step(later, positions[target])), first(step(1, from)))
    }

    /// Marks the tile of a bull or goldfish as taken in each tick from the model's first tick on.
    /// Stops early if the threat's position is invalid.
    fn add_fixed(&mut self, world: &World, index: usize, mut threat: Threat) {
        let player = self.board.positions[usize::from(self.board.tiles[usize::from(self.board.player)])];
        for tick in self.times.first_tick..=usize::from(LAST_TICK) + 1 {
            let Ok(tile) = self.board.positions.binary_search(&threat.position) else { return };
            self.times.taken[tick].insert(self.board.places[tile]);
            if tick <= usize::from(LAST_TICK) {
                let Ok(next) = world.threat_after(index, &threat, tick as u16, player, player) else { return };
                threat = next;
            }
        }
    }

    /// Returns false for a hawk whose memory is impossible on its tile. Only states built by hand have
    /// such hawks.
    fn is_possible(&self, automaton: &Automaton<N>, threat: &Threat, key: u32) -> bool {
        let tile = self.board.positions.binary_search(&threat.position).unwrap_or(0);
        let mut possible = self.memories_on(tile).map(|memory| self.hawk_key(tile, memory as u32));
        !matches!(automaton, Automaton::Hawk { .. }) || possible.any(|possible| possible == key)
    }
}

/// Builds the tables of a model, piece by piece.
#[derive(Debug)]
pub(super) struct ModelBuilder {
    root: State,
    memories: Option<MemoriesBuilder>,
    /// The indices of all threats, in the order in which they are added to the model.
    order: Vec<usize>,
    /// The number of threats of `order` that have been added or omitted.
    threats: usize,
    is_branching: bool,
    closure: Option<ClosureBuilder>,
}

impl ModelBuilder {
    /// Returns an empty model and its builder, or `None` if the automata do not implement the rules,
    /// or the map is too large for `N`.
    pub fn begin<const N: usize>(world: &World, state: &State) -> Option<(Model<N>, Self)> {
        let model = Model::without_tables(world, state)?;
        let order = order_of(&world.layout().threats);
        let root = state.clone();
        Some((model, Self { root, memories: None, order, threats: 0, is_branching: false, closure: None }))
    }

    /// Continues the work until the budget is used up. Returns true once the model is complete.
    pub fn advance<const N: usize>(&mut self, model: &mut Model<N>, world: &World, meter: &mut BudgetMeter) -> bool {
        while meter.check().is_ok() {
            if model.paths.sees.len() < model.tiles() {
                model.add_tile(world, model.paths.sees.len());
                meter.add_ticks((model.tiles() / 8) as u64);
            } else if model.hawks.bits == 0 && world.layout().threats.iter().any(|spawn| spawn.style == Style::Hawk) {
                let memories = self.memories.get_or_insert_with(|| MemoriesBuilder::new(model));
                if memories.advance(model) {
                    let memories = self.memories.take().expect("just built").memories;
                    // The number with all bits set stays free, for combinations without memories.
                    let count = memories.sets.len() / memories.words;
                    model.hawks.bits = u32::BITS - (count as u32).leading_zeros();
                    model.hawks.memories = Arc::new(memories);
                }
                meter.add_ticks(1);
            } else if self.is_branching {
                self.add_branches(model, world, meter);
            } else if self.threats < self.order.len() {
                self.add_threat(model, world);
                meter.add_ticks(1);
            } else if let Some(automaton) = model.automata.get(model.closures.len()) {
                let start = model.origins[model.closures.len()].key;
                let closure = self.closure.get_or_insert_with(|| ClosureBuilder::new(model, automaton, start));
                if closure.advance(model, automaton)
                    && let Some(closure) = self.closure.take()
                {
                    model.closures.push(closure.closure);
                }
            } else {
                model.add_slots();
                return true;
            }
        }
        false
    }

    fn add_threat<const N: usize>(&mut self, model: &mut Model<N>, world: &World) {
        let index = self.order[self.threats];
        let threat = world.threat(&self.root, index);
        self.threats += 1;
        let Some(automaton) = Model::automaton(index, threat.style) else {
            model.add_fixed(world, index, threat);
            return;
        };
        // A threat without a key is omitted: fewer threats make an easier game, so proofs hold.
        if let Some(key) = model.key_in(world, &self.root, &automaton)
            && model.is_possible(&automaton, &threat, key)
        {
            self.is_branching = matches!(automaton, Automaton::Chaser { .. });
            model.origins.push(Origin { key, draws: threat.draws });
            model.automata.push(automaton);
        }
    }

    fn add_branches<const N: usize>(&mut self, model: &mut Model<N>, world: &World, meter: &mut BudgetMeter) {
        let index = self.order[self.threats - 1];
        let (threat, home) = (world.threat(&self.root, index), world.layout().threats[index].position);
        let keys_per_tile = if threat.style == Style::Deer { DIRECTIONS } else { 1 };
        let Some(Automaton::Chaser { branches, .. }) = model.automata.last() else { return };
        let tiles = model.tiles();
        let (row, first_branch) = model.branches_of(world, threat, home, branches.len());
        if let Some(Automaton::Chaser { branches, first, .. }) = model.automata.last_mut() {
            branches.push(row);
            first.push(first_branch);
            if branches.len().is_multiple_of(keys_per_tile) {
                meter.add_ticks((tiles / 8) as u64);
            }
            self.is_branching = branches.len() < tiles * keys_per_tile;
        }
    }
}

/// Sharks come first: they follow the player most closely, and several sharks often soon share one
/// tile. Then come one owl, one deer and one hawk, then a second of each, and so on. The place of
/// bulls and goldfish in the order has no effect.
fn order_of(threats: &[Spawn]) -> Vec<usize> {
    let rank = |style| match style {
        Style::Shark => 0,
        Style::Owl => 1,
        Style::Deer => 2,
        Style::Hawk => 3,
        Style::Bull | Style::Goldfish => 4,
    };
    let mut order: Vec<usize> = (0..threats.len()).collect();
    order.sort_by_key(|&index| match threats[index].style {
        Style::Shark => (0, 0),
        style => (threats[..index].iter().filter(|other| other.style == style).count(), rank(style)),
    });
    order
}

fn is_modelled(world: &World) -> bool {
    let (server, rules) = (Rules::BLITZ_2025, world.rules());
    // The automata assume the server's views. The encoding of a hawk's memory assumes the server's
    // numbers of idle and resting moves, and at most `POSTS_MAX` posts. The other rules may have any
    // values: the automata ask the world.
    let expected = Rules {
        shark_view: server.shark_view,
        deer_view: server.deer_view,
        owl_view: server.owl_view,
        hawk_view: server.hawk_view,
        hawk_patience_moves: server.hawk_patience_moves,
        hawk_rest_moves: server.hawk_rest_moves,
        ..*rules
    };
    let has_hawk = world.layout().threats.iter().any(|spawn| spawn.style == Style::Hawk);
    // A hawk's number of draws must fit into `DRAW_BITS` bits.
    let counts_draws = usize::from(world.clock().moves_before(LAST_TICK + 1)) / MOVES_PER_DRAW < 1 << DRAW_BITS;
    *rules == expected && usize::from(rules.hawk_posts) <= POSTS_MAX && (counts_draws || !has_hawk)
}
